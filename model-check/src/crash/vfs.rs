//! A VFS around SQLite's own for Unix: it notes what is done to files, and makes it fail on request.
//!
//! Everything is passed on to the real VFS; shared memory and locks pass through and are never
//! noted. The one module with unsafe code: SQLite calls it through a table of C functions, and it
//! calls the real VFS in the same way.
//!
//! Where the real VFS syncs the folder, which it does inside other calls, the log says so as well:
//! after the first sync of a journal or write-ahead log since it was opened (`UNIXFILE_DIRSYNC` in
//! `unixOpen` and `unixSync`), and after a delete that asks for it (`unixDelete`).
//!
//! Memory is never mapped: the table is of version 2, which has no `xFetch`, so each read and write
//! comes through here.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::ffi;

use super::fault::{Effect, Fault, Op};
use super::log::{Event, Files, Inode, Log, Mark};

/// What all handles of one VFS share.
struct Shared {
    notes: Mutex<Notes>,
    open_handles: AtomicUsize,
    real: *mut ffi::sqlite3_vfs,
}

// SAFETY: the real VFS is a static of SQLite that is never unregistered; everything else is Sync.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

#[derive(Default)]
struct Notes {
    /// `None`: nothing is noted.
    log: Option<Log>,
    names: BTreeMap<String, Inode>,
    inodes: Inode,
    fault: Option<Fault>,
    /// How many operations each kind has seen since the fault was armed, or the log begun.
    seen: BTreeMap<Op, u64>,
    failed: u64,
    /// When the armed fault struck first.
    struck: Option<Instant>,
    syncs_lie: bool,
}

impl Shared {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    fn add(&mut self, event: Event) {
        if let Some(log) = &mut self.log {
            log.events.push(event);
        }
    }

    /// Counts an operation. Does it fail, how, and what has it done nevertheless?
    fn next(&mut self, op: Op) -> Option<(c_int, Effect)> {
        let count = self.seen.entry(op).or_default();
        *count += 1;
        let fault = self.fault.as_ref().filter(|fault| fault.op == op)?;
        if fault.hits(*count)
            && self
                .struck
                .is_none_or(|first| first.elapsed() < Fault::LASTS)
        {
            self.struck.get_or_insert_with(Instant::now);
            self.failed += 1;
            return Some((fault.result_code(), fault.effect));
        }
        None
    }
}

/// A registered VFS. Open databases on it by [`Vfs::name`].
///
/// SQLite keeps pointers to a VFS for as long as a connection lives, and pooled connections are
/// closed on threads of the pool. So a VFS is never freed: it is lent, and lent again once no file is
/// open on it.
pub struct Vfs {
    shared: &'static Shared,
    name: &'static str,
}

static IDLE: Mutex<Vec<Vfs>> = Mutex::new(Vec::new());
static MADE: AtomicUsize = AtomicUsize::new(0);

/// A file was still open after ten seconds.
#[derive(Debug, thiserror::Error)]
#[error("{0} files of the recording VFS are still open after 10 s")]
pub struct StillOpen(usize);

impl Vfs {
    /// One that nobody uses, made when there is none.
    pub fn lend() -> Self {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(register)
    }

    /// Its name for SQLite.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Begins a log. `initial` are the files that are there, in the folder that will be used.
    pub fn record(&self, initial: Files) {
        let mut notes = self.shared.notes();
        let names = initial.iter().map(|(name, _)| name.clone()).zip(0..);
        *notes = Notes {
            names: names.collect(),
            inodes: Inode::try_from(initial.len()).unwrap_or(Inode::MAX),
            log: Some(Log {
                initial,
                events: Vec::new(),
            }),
            ..Notes::default()
        };
    }

    /// Notes something that the workload did.
    pub fn mark(&self, mark: Mark) {
        self.shared.notes().add(Event::Mark(mark));
    }

    /// How many events the log has by now.
    pub fn position(&self) -> usize {
        let notes = self.shared.notes();
        notes.log.as_ref().map_or(0, |log| log.events.len())
    }

    /// The log so far.
    pub fn log_so_far(&self) -> Log {
        self.shared.notes().log.clone().unwrap_or_default()
    }

    /// From now on a sync says that it is done, and does nothing.
    pub fn let_syncs_lie(&self) {
        self.shared.notes().syncs_lie = true;
    }

    /// Makes an operation fail, counted from now; `None`: nothing fails any more.
    pub fn arm(&self, fault: Option<Fault>) {
        let mut notes = self.shared.notes();
        notes.fault = fault;
        notes.struck = None;
        notes.seen.clear();
    }

    /// How many operations have failed since the log was begun.
    pub fn failed(&self) -> u64 {
        self.shared.notes().failed
    }

    /// How many operations of a kind there were since the last [`Vfs::arm`].
    pub fn seen(&self, op: Op) -> u64 {
        self.shared.notes().seen.get(&op).copied().unwrap_or(0)
    }

    /// Sets these counts, so that [`Vfs::seen`] gives them.
    pub fn restore_counts(&self, counts: &[(Op, u64)]) {
        self.shared.notes().seen = counts.iter().copied().collect();
    }

    /// Waits until no file is open.
    ///
    /// # Errors
    /// [`StillOpen`] after ten seconds.
    pub fn wait_closed(&self) -> Result<(), StillOpen> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match self.shared.open_handles.load(Ordering::Acquire) {
                0 => return Ok(()),
                open if Instant::now() > deadline => return Err(StillOpen(open)),
                _ => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    /// Ends the log and gives it out.
    pub fn finish(&self) -> Log {
        let mut notes = self.shared.notes();
        notes.fault = None;
        notes.log.take().unwrap_or_default()
    }
}

impl Drop for Vfs {
    fn drop(&mut self) {
        *self.shared.notes() = Notes::default();
        if self.wait_closed().is_ok() {
            let again = Self {
                shared: self.shared,
                name: self.name,
            };
            IDLE.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(again);
        }
    }
}

/// Makes SQLite's random numbers (salts of the write-ahead log) start from this seed, in the whole process.
pub fn seed_random_numbers(seed: u32) {
    let seed = c_int::from_ne_bytes((seed | 1).to_ne_bytes()); // 0 would mean: no seed
    // SAFETY: the verb takes an int and a pointer to a connection, which may be null. SQLite is built
    // with threading, and takes its own lock.
    unsafe {
        ffi::sqlite3_test_control(
            ffi::SQLITE_TESTCTRL_PRNG_SEED,
            seed,
            ptr::null_mut::<ffi::sqlite3>(),
        );
    }
}

fn register() -> Vfs {
    // SAFETY: SQLite may be initialised any number of times; finding the default VFS has no condition.
    let real = unsafe {
        ffi::sqlite3_initialize();
        ffi::sqlite3_vfs_find(c"unix".as_ptr())
    };
    assert!(!real.is_null(), "SQLite has no VFS called unix");
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let name = CString::new(format!("recording-{number}")).expect("no zero byte");
    let name: &'static CStr = Box::leak(name.into_boxed_c_str());
    let shared: &'static Shared = Box::leak(Box::new(Shared {
        notes: Mutex::default(),
        open_handles: AtomicUsize::new(0),
        real,
    }));
    // SAFETY: `real` is a valid VFS, copied as plain data; its pointers to functions stay valid. The
    // functions that are not replaced take no account of which VFS they are called for.
    let mut vfs = unsafe { ptr::read(real) };
    vfs.iVersion = 2; // without system calls to be replaced
    vfs.szOsFile += c_int::try_from(size_of::<File>()).expect("small");
    vfs.pNext = ptr::null_mut();
    vfs.zName = name.as_ptr();
    vfs.pAppData = ptr::from_ref(shared).cast_mut().cast();
    vfs.xOpen = Some(open);
    vfs.xDelete = Some(delete);
    // SAFETY: the VFS is leaked, so it outlives every use, and it is registered once.
    let registered = unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(vfs)), 0) };
    assert_eq!(registered, ffi::SQLITE_OK, "SQLite takes the VFS");
    Vfs {
        shared,
        name: name.to_str().expect("ASCII"),
    }
}

/// An open file. The file of the real VFS follows it in memory.
#[repr(C)]
struct File {
    base: ffi::sqlite3_file,
    shared: &'static Shared,
    /// `None`: a temporary file, or nothing is noted.
    inode: Option<Inode>,
    /// The next sync syncs the folder, too.
    syncs_folder: bool,
}

/// Our part of an open file, and the real file behind it.
///
/// # Safety
/// `file` was opened by [`open`], and SQLite uses one handle from one thread at a time.
unsafe fn parts<'a>(file: *mut ffi::sqlite3_file) -> (&'a mut File, *mut ffi::sqlite3_file) {
    // SAFETY: SQLite allotted `szOsFile` bytes, which are our part and the real one; `open` wrote ours.
    unsafe { (&mut *file.cast::<File>(), file.cast::<File>().add(1).cast()) }
}

/// Calls a method of the real file.
macro_rules! real {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        let real = $file;
        // SAFETY: the real VFS opened this file and set its methods; the arguments are those that
        // SQLite gave for this very call.
        unsafe {
            match (*(*real).pMethods).$method {
                Some(method) => method(real $(, $argument)*),
                None => ffi::SQLITE_IOERR.into(),
            }
        }
    }};
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// The last part of a path.
fn name_of(path: &CStr) -> String {
    let path = path.to_string_lossy();
    path.rsplit('/').next().unwrap_or(&path).to_owned()
}

/// # Safety
/// Called by SQLite as `xOpen` of a VFS made by [`register`].
unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    path: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    const JOURNALS: c_int =
        ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL;
    // SAFETY: `register` put a leaked `Shared` there.
    let shared: &'static Shared = unsafe { &*(*vfs).pAppData.cast::<Shared>() };
    // SAFETY: SQLite allotted room for both parts.
    let real = unsafe { file.cast::<File>().add(1).cast::<ffi::sqlite3_file>() };
    // SAFETY: the memory is ours to write; a null table says that there is nothing to close.
    unsafe {
        (*file).pMethods = ptr::null();
        (*real).pMethods = ptr::null();
    }
    // SAFETY: a path that is not null is a C string.
    let name = (!path.is_null()).then(|| name_of(unsafe { CStr::from_ptr(path) }));
    let mut notes = shared.notes();
    if name.is_some()
        && let Some((code, _)) = notes.next(Op::Open)
    {
        return code;
    }
    // SAFETY: the arguments are those that SQLite gave, for the VFS that they are meant for.
    let result = unsafe {
        match (*shared.real).xOpen {
            Some(open) => open(shared.real, path, real, flags, out_flags),
            None => ffi::SQLITE_CANTOPEN,
        }
    };
    if result != ffi::SQLITE_OK {
        // SAFETY: `real` was written by the real `xOpen`, or is still null.
        if unsafe { !(*real).pMethods.is_null() } {
            real!(real, xClose);
        }
        return result;
    }
    let inode = name.filter(|_| notes.log.is_some()).map(|name| {
        if let Some(inode) = notes.names.get(&name) {
            return *inode;
        }
        let inode = notes.inodes;
        notes.inodes += 1;
        notes.names.insert(name.clone(), inode);
        notes.add(Event::Create { inode, name });
        inode
    });
    shared.open_handles.fetch_add(1, Ordering::AcqRel);
    // SAFETY: the first part of the memory is ours; it has no value yet that would need to be dropped.
    unsafe {
        file.cast::<File>().write(File {
            base: ffi::sqlite3_file {
                pMethods: &raw const METHODS,
            },
            shared,
            inode,
            syncs_folder: flags & ffi::SQLITE_OPEN_CREATE != 0 && flags & JOURNALS != 0,
        });
    }
    ffi::SQLITE_OK
}

/// # Safety
/// Called by SQLite as `xDelete` of a VFS made by [`register`].
unsafe extern "C" fn delete(
    vfs: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    sync_folder: c_int,
) -> c_int {
    // SAFETY: `register` put a leaked `Shared` there.
    let shared: &'static Shared = unsafe { &*(*vfs).pAppData.cast::<Shared>() };
    // SAFETY: SQLite gives a C string.
    let name = name_of(unsafe { CStr::from_ptr(path) });
    let mut notes = shared.notes();
    let fault = notes.next(Op::Delete);
    if let Some((code, Effect::Nothing)) = fault {
        return code;
    }
    // SAFETY: the arguments are those that SQLite gave, for the VFS that they are meant for.
    let result = unsafe {
        match (*shared.real).xDelete {
            Some(delete) => delete(shared.real, path, sync_folder),
            None => ffi::SQLITE_IOERR,
        }
    };
    if result == ffi::SQLITE_OK && notes.names.remove(&name).is_some() {
        notes.add(Event::Delete { name });
        if sync_folder & 1 != 0 && !notes.syncs_lie {
            notes.add(Event::SyncDirectory);
        }
    }
    fault.map_or(result, |(code, _)| code)
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: an open file of ours.
    let (ours, real) = unsafe { parts(file) };
    let result = real!(real, xClose);
    ours.shared.open_handles.fetch_sub(1, Ordering::AcqRel);
    result
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: an open file of ours.
    let (_, real) = unsafe { parts(file) };
    real!(real, xRead, buffer, amount, offset)
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: an open file of ours.
    let (ours, real) = unsafe { parts(file) };
    let Some(inode) = ours.inode else {
        return real!(real, xWrite, buffer, amount, offset);
    };
    let mut notes = ours.shared.notes();
    let fault = notes.next(Op::Write);
    let written = match fault {
        Some((code, Effect::Nothing)) => return code,
        Some((_, Effect::Half)) => amount / 2,
        Some((_, Effect::All)) | None => amount,
    };
    let result = real!(real, xWrite, buffer, written, offset);
    if result == ffi::SQLITE_OK && notes.log.is_some() {
        let length = usize::try_from(written).unwrap_or(0);
        // SAFETY: SQLite gives a buffer of at least `amount` bytes.
        let data = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) };
        notes.add(Event::Write {
            inode,
            offset: u64::try_from(offset).unwrap_or(0),
            data: data.into(),
        });
    }
    fault.map_or(result, |(code, _)| code)
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    // SAFETY: an open file of ours.
    let (ours, real) = unsafe { parts(file) };
    let Some(inode) = ours.inode else {
        return real!(real, xTruncate, size);
    };
    let mut notes = ours.shared.notes();
    let fault = notes.next(Op::Truncate);
    if let Some((code, Effect::Nothing)) = fault {
        return code;
    }
    let result = real!(real, xTruncate, size);
    if result == ffi::SQLITE_OK {
        notes.add(Event::Truncate {
            inode,
            size: u64::try_from(size).unwrap_or(0),
        });
    }
    fault.map_or(result, |(code, _)| code)
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: an open file of ours.
    let (ours, real) = unsafe { parts(file) };
    let Some(inode) = ours.inode else {
        return real!(real, xSync, flags);
    };
    let mut notes = ours.shared.notes();
    let fault = notes.next(if ours.syncs_folder {
        Op::FolderSync
    } else {
        Op::Sync
    });
    let effect = fault.map_or(Effect::All, |(_, effect)| effect);
    if let Some((code, Effect::Nothing)) = fault {
        return code;
    }
    // The real file is on a memory file system or does not matter: what a sync does is in the log.
    if !notes.syncs_lie {
        notes.add(Event::Sync { inode, flags });
        if effect == Effect::All && std::mem::take(&mut ours.syncs_folder) {
            notes.add(Event::SyncDirectory);
        }
    }
    fault.map_or(ffi::SQLITE_OK, |(code, _)| code)
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    // SAFETY: an open file of ours.
    let (_, real) = unsafe { parts(file) };
    real!(real, xFileSize, size)
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: an open file of ours.
    let (ours, real) = unsafe { parts(file) };
    if let Some((code, _)) = ours.shared.notes().next(Op::Lock) {
        return code;
    }
    real!(real, xLock, level)
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: an open file of ours.
    let (_, real) = unsafe { parts(file) };
    real!(real, xUnlock, level)
}

unsafe extern "C" fn check_reserved_lock(
    file: *mut ffi::sqlite3_file,
    reserved: *mut c_int,
) -> c_int {
    // SAFETY: an open file of ours.
    let (_, real) = unsafe { parts(file) };
    real!(real, xCheckReservedLock, reserved)
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    verb: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: an open file of ours.
    let (_, real) = unsafe { parts(file) };
    real!(real, xFileControl, verb, argument)
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: an open file of ours.
    let (_, real) = unsafe { parts(file) };
    real!(real, xSectorSize)
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: an open file of ours.
    let (_, real) = unsafe { parts(file) };
    real!(real, xDeviceCharacteristics)
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    memory: *mut *mut c_void,
) -> c_int {
    // SAFETY: an open file of ours.
    let (_, real) = unsafe { parts(file) };
    real!(real, xShmMap, region, size, extend, memory)
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: an open file of ours.
    let (ours, real) = unsafe { parts(file) };
    if flags & ffi::SQLITE_SHM_LOCK != 0
        && let Some((code, _)) = ours.shared.notes().next(Op::Lock)
    {
        return code;
    }
    real!(real, xShmLock, offset, count, flags)
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    // SAFETY: an open file of ours, whose real file has methods.
    unsafe {
        let (_, real) = parts(file);
        if let Some(barrier) = (*(*real).pMethods).xShmBarrier {
            barrier(real);
        }
    }
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: an open file of ours.
    let (_, real) = unsafe { parts(file) };
    real!(real, xShmUnmap, delete)
}

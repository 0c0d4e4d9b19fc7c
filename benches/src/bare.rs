//! The yardsticks: what the disk and SQLite give to a loop that does nothing else.
//!
//! They use the store's own file, settings and statements, and none of its code.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Statement, params};
use soldonce::transition::Sql;
use soldonce::{HoldDuration, OwnerId, SeatId, SqliteStore, Timestamp};

use crate::error::Error;

/// A connection to a store's file with the store's settings, each read back.
///
/// # Errors
/// [`Error::Sqlite`]; [`Error::Answer`] when a setting reads otherwise than the store's.
pub fn connection(store: &SqliteStore) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(store.path(), flags)
        .map_err(Error::sqlite("opening a database"))?;
    for (name, value) in &store.settings().pragmas {
        if name == "user_version" {
            continue;
        }
        set(&connection, name, value)?;
    }
    Ok(connection)
}

/// Sets a pragma and reads it back.
///
/// # Errors
/// [`Error::Sqlite`]; [`Error::Answer`] when it reads otherwise.
pub fn set(connection: &Connection, name: &str, value: &str) -> Result<(), Error> {
    let set = || -> rusqlite::Result<String> {
        connection.pragma_update(None, name, value)?;
        connection.pragma_query_value(None, name, |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Integer(number) => number.to_string(),
                other => other.as_str()?.to_owned(),
            })
        })
    };
    let read = set().map_err(Error::sqlite("setting up a connection"))?;
    if read == value {
        return Ok(());
    }
    Err(Error::Answer {
        doing: "setting up a connection",
        expected: "the setting that was asked for",
        got: format!("{name} = {read} instead of {value}"),
    })
}

/// Writes the log of a store once to its full length, as it is after its first round: SQLite begins it
/// anew when it has been written back, and overwriting is synced faster than making a file longer.
///
/// # Errors
/// As [`write_log`].
pub fn write_log_once(store: &SqliteStore) -> Result<(), Error> {
    write_log(store, log_shape(store)?.1)
}

/// Writes the log of a store until it has at least so many frames.
///
/// A transaction that is too large for its cache writes its pages to the log before it ends, and this one
/// is rolled back: nothing but the length of the log stays.
///
/// # Errors
/// [`Error::Sqlite`], [`Error::File`]; [`Error::Answer`] when the log is shorter than was meant.
pub fn write_log(store: &SqliteStore, frames: u64) -> Result<(), Error> {
    /// So many pages may stay in the cache. The last of the transaction are not written.
    const CACHE: u64 = 16;
    /// More than stay there, and than the log needs.
    const MARGIN: u64 = 8 * CACHE;
    let connection = connection(store)?;
    let (page, _) = log_shape(store)?;
    let fill = || -> rusqlite::Result<()> {
        connection.pragma_update(None, "cache_size", CACHE.to_string())?;
        connection.execute_batch("BEGIN IMMEDIATE; CREATE TABLE filler (bytes BLOB)")?;
        let length = page * (frames + MARGIN);
        connection.execute_batch(&format!("INSERT INTO filler VALUES (zeroblob({length}))"))?;
        connection.execute_batch("ROLLBACK")
    };
    fill().map_err(Error::sqlite("writing a log once"))?;
    let mut log = store.path().as_os_str().to_owned();
    log.push("-wal");
    let log = Path::new(&log);
    let length = File::open(log)
        .and_then(|file| file.sync_all().and_then(|()| file.metadata()))
        .map_err(Error::file(log))?
        .len();
    if length < FrameLog::LOG_HEADER + frames * (FrameLog::FRAME_HEADER + page) {
        return Err(Error::Answer {
            doing: "writing a log once",
            expected: "a log of its full length",
            got: format!("{length} bytes"),
        });
    }
    Ok(())
}

/// How long a page is, and how many of them are in the log when it is written back.
///
/// # Errors
/// [`Error::Answer`] when the store does not say.
pub fn log_shape(store: &SqliteStore) -> Result<(u64, u64), Error> {
    Ok((
        setting(store, "page_size")?,
        setting(store, "wal_autocheckpoint")?,
    ))
}

/// A loop that commits so many holds at a time: `BEGIN IMMEDIATE`, the store's own `UPDATE` for each
/// seat, `COMMIT`, each a prepared statement.
#[derive(Debug)]
pub struct Updates<'c> {
    begin: Statement<'c>,
    hold: Statement<'c>,
    commit: Statement<'c>,
}

impl<'c> Updates<'c> {
    /// Prepares the statements.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn prepare(connection: &'c Connection) -> Result<Self, Error> {
        let prepare = |sql: &str| {
            connection
                .prepare(sql)
                .map_err(Error::sqlite("preparing a statement"))
        };
        Ok(Self {
            begin: prepare("BEGIN IMMEDIATE")?,
            hold: prepare(&Sql::default().hold)?,
            commit: prepare("COMMIT")?,
        })
    }

    /// Holds these seats in one transaction.
    ///
    /// # Errors
    /// [`Error::Sqlite`]; a seat that can not be held is one.
    pub fn commit<'s>(
        &mut self,
        seats: impl IntoIterator<Item = &'s SeatId>,
        owner: &OwnerId,
        ttl: HoldDuration,
        now: Timestamp,
    ) -> Result<(), Error> {
        let all = || {
            self.begin.execute([])?;
            for seat in seats {
                let changed = self.hold.execute(params![
                    seat.as_str(),
                    now.as_unix_millis(),
                    owner.as_str(),
                    ttl.as_millis()
                ])?;
                if changed != 1 {
                    return Err(rusqlite::Error::StatementChangedRows(changed));
                }
            }
            self.commit.execute([]).map(drop)
        };
        all().map_err(Error::sqlite("committing bare updates"))
    }
}

/// The store's own `SELECT` of one seat, prepared once; every column is looked at, none is copied.
#[derive(Debug)]
pub struct Read<'c> {
    find: Statement<'c>,
}

impl<'c> Read<'c> {
    /// Prepares the statement.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn prepare(connection: &'c Connection) -> Result<Self, Error> {
        let find = connection
            .prepare(&Sql::default().find_seat)
            .map_err(Error::sqlite("preparing a statement"))?;
        Ok(Self { find })
    }

    /// Reads the seat, in a transaction of its own.
    ///
    /// # Errors
    /// [`Error::Sqlite`]; a seat that is not there is one.
    pub fn seat(&mut self, seat: &SeatId) -> Result<(), Error> {
        let mut read = || {
            let columns = self.find.column_count();
            self.find.query_row([seat.as_str()], |row| {
                (0..columns).try_for_each(|column| {
                    row.get_ref(column).map(|value| {
                        black_box(value);
                    })
                })
            })
        };
        read().map_err(Error::sqlite("reading a seat"))
    }
}

/// How a frame is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// `fsync`: what SQLite calls in the build that `rusqlite` bundles. Its `os_unix.c` makes
    /// `fdatasync` another name for it unless `HAVE_FDATASYNC` is set.
    All,
    /// `fdatasync`: data, and of the file's own facts only what is needed to read them.
    Data,
}

/// A plain file that is written and synced as SQLite's write-ahead log is for a change of one page.
///
/// That is one frame: a header of 24 bytes and the page, two writes (`walWriteOneFrame` in `wal.c`),
/// then one sync (`sqlite3WalFrames`). The frame is not repeated to fill a sector, since SQLite takes
/// a disk for one that does not harm its neighbours (`SQLITE_POWERSAFE_OVERWRITE`). The log begins
/// anew when it has been written back after so many pages (`wal_autocheckpoint`), so all but the first of
/// its rounds overwrite what is there: here, too.
#[derive(Debug)]
pub struct FrameLog {
    file: File,
    next: u64,
    frames: u64,
    page: Vec<u8>,
}

impl FrameLog {
    /// Before the first frame.
    const LOG_HEADER: u64 = 32;
    /// Before the page.
    const FRAME_HEADER: u64 = 24;

    /// Makes the file, with the pages of this store, written once to its full length and synced.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Answer`] when the store does not say how long its pages and its log are.
    pub fn make(path: &Path, store: &SqliteStore) -> Result<Self, Error> {
        let (page, frames) = log_shape(store)?;
        let make = || -> io::Result<Self> {
            let file = OpenOptions::new().write(true).create_new(true).open(path)?;
            let mut log = Self {
                file,
                next: 0,
                frames,
                page: vec![0; usize::try_from(page).expect("a page fits in memory")],
            };
            for _ in 0..frames {
                log.frame()?;
            }
            log.file.sync_all()?;
            Ok(log)
        };
        make().map_err(Error::file(path))
    }

    /// Writes the next frame.
    fn frame(&mut self) -> io::Result<()> {
        let number = self.next;
        self.next += 1;
        let stamp = number.to_le_bytes();
        self.page[..stamp.len()].copy_from_slice(&stamp);
        let mut header = [0; 24];
        header[..stamp.len()].copy_from_slice(&stamp);
        let frame = Self::FRAME_HEADER + self.page.len() as u64;
        let at = Self::LOG_HEADER + (number % self.frames) * frame;
        write_at(&mut self.file, &header, at)?;
        write_at(&mut self.file, &self.page, at + Self::FRAME_HEADER)
    }

    /// Writes the next frame and makes it durable.
    ///
    /// # Errors
    /// What the system said.
    pub fn commit(&mut self, sync: Sync) -> io::Result<()> {
        self.frame()?;
        match sync {
            Sync::All => self.file.sync_all(),
            Sync::Data => self.file.sync_data(),
        }
    }
}

/// A setting of the store that is a number.
fn setting(store: &SqliteStore, name: &str) -> Result<u64, Error> {
    let pragmas = &store.settings().pragmas;
    let value = pragmas.iter().find(|(pragma, _)| pragma == name);
    value
        .and_then(|(_, value)| value.parse().ok())
        .ok_or_else(|| Error::Answer {
            doing: "reading the settings of a store",
            expected: "a number",
            got: format!("{name} = {value:?}"),
        })
}

#[cfg(unix)]
fn write_at(file: &mut File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_at(file: &mut File, bytes: &[u8], at: u64) -> io::Result<()> {
    use std::io::{Seek as _, SeekFrom, Write as _};
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::{Scratch, add, seat_ids};
    use soldonce::SeatStore as _;

    #[test]
    fn the_bare_loops_do_to_the_file_what_the_store_does() {
        let parent = tempfile::tempdir().expect("a folder");
        let scratch = Scratch::below(parent.path());
        let store = scratch
            .store("seats", SqliteStore::options())
            .expect("opened");
        let (seats, owner) = (seat_ids(0..5), OwnerId::new("bare").expect("valid"));
        add(&store, &seats).expect("added");
        let connection = connection(&store).expect("the same settings");
        let mut updates = Updates::prepare(&connection).expect("prepared");
        let ttl = HoldDuration::MAX;
        updates
            .commit(&seats[..4], &owner, ttl, store.now())
            .expect("held");
        let held = store.seat(&seats[3]).expect("read");
        assert_eq!(held.version.get(), 1);
        assert_eq!(store.seat(&seats[4]).expect("read").version.get(), 0);
        assert_eq!(store.audit().expect("audited"), []);

        let mut read = Read::prepare(&connection).expect("prepared");
        read.seat(&seats[3]).expect("there");
        assert!(read.seat(&SeatId::new("nowhere").expect("valid")).is_err());
    }

    #[test]
    fn a_log_is_written_to_its_full_length_and_nothing_else_is_changed() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("seats.sqlite");
        let store = SqliteStore::options().open(&path).expect("opened");
        add(&store, &seat_ids(0..5)).expect("added");
        let file = std::fs::read(&path).expect("read");
        let length = || {
            let log = parent.path().join("seats.sqlite-wal");
            std::fs::metadata(log).expect("there").len()
        };
        assert!(length() < 100_000);
        write_log_once(&store).expect("written");
        let full = length();
        assert!(full > 16_000 * (24 + 1024));
        assert_eq!(std::fs::read(&path).expect("read"), file);
        assert_eq!(store.snapshot().expect("read").seats.len(), 5);
        assert_eq!(store.audit().expect("audited"), []);
        add(&store, &seat_ids(5..9)).expect("added");
        assert_eq!(length(), full);
        write_log(&store, 20_000).expect("written");
        assert!(length() > 20_000 * (24 + 1024));
    }

    #[test]
    fn a_short_log_is_written_as_well() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("seats.sqlite");
        let store = SqliteStore::options().open(&path).expect("opened");
        for frames in [1, 100, 4_000] {
            write_log(&store, frames).expect("written");
        }
    }

    #[test]
    fn a_log_of_frames_is_overwritten_from_its_beginning() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("log");
        let store = SqliteStore::options().open(parent.path().join("seats.sqlite"));
        let mut log = FrameLog::make(&path, &store.expect("opened")).expect("made");
        let length = std::fs::metadata(&path).expect("there").len();
        assert_eq!(length, 32 + 16_000 * (24 + 1024));
        log.commit(Sync::All).expect("written");
        log.commit(Sync::Data).expect("written");
        assert_eq!(std::fs::metadata(&path).expect("there").len(), length);
        let bytes = std::fs::read(&path).expect("read");
        assert_eq!(bytes[32..40], 16_000_u64.to_le_bytes());
        assert_eq!(bytes[56..64], 16_000_u64.to_le_bytes());
    }
}

//! An operation on a file that fails: which one, how, and what it has done nevertheless.

use std::fmt;
use std::time::Duration;

use rusqlite::ffi;

/// A kind of operation that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Writing bytes.
    Write,
    /// Syncing a file.
    Sync,
    /// The sync of a new log or journal that syncs the folder with it.
    FolderSync,
    /// Opening or making a file.
    Open,
    /// Cutting a file.
    Truncate,
    /// Taking a file away.
    Delete,
    /// Taking a lock, in the database file or in shared memory.
    Lock,
}

impl Op {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Write,
        Self::Sync,
        Self::FolderSync,
        Self::Open,
        Self::Truncate,
        Self::Delete,
        Self::Lock,
    ];

    /// How it can fail.
    pub const fn codes(self) -> &'static [Code] {
        match self {
            Self::Write | Self::Sync | Self::FolderSync => &[Code::IoErr, Code::Full],
            Self::Open | Self::Truncate | Self::Delete => &[Code::IoErr],
            Self::Lock => &[Code::Busy, Code::IoErr],
        }
    }

    /// What it can have done when it fails. A lock that is taken and not reported is none that
    /// anybody could give back, so a failing lock has done nothing.
    pub const fn effects(self) -> &'static [Effect] {
        match self {
            Self::Write | Self::FolderSync => &[Effect::Nothing, Effect::Half, Effect::All],
            Self::Sync | Self::Truncate | Self::Delete => &[Effect::Nothing, Effect::All],
            Self::Open | Self::Lock => &[Effect::Nothing],
        }
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Sync => "sync",
            Self::FolderSync => "folder-sync",
            Self::Open => "open",
            Self::Truncate => "truncate",
            Self::Delete => "delete",
            Self::Lock => "lock",
        }
    }
}

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// An I/O error.
    IoErr,
    /// No room left.
    Full,
    /// Somebody else is at it.
    Busy,
}

impl Code {
    /// Its name in reports, as SQLite calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IoErr => "IOERR",
            Self::Full => "FULL",
            Self::Busy => "BUSY",
        }
    }
}

/// What a failed operation has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Nothing.
    Nothing,
    /// Half of the bytes were written; or the file was synced, and not its folder.
    Half,
    /// All, and only the report is false.
    All,
}

impl Effect {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "undone",
            Self::Half => "half",
            Self::All => "done",
        }
    }
}

/// A fault to be planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fault {
    /// Which kind of operation.
    pub op: Op,
    /// Which of them, from 1.
    pub nth: u64,
    /// All after it as well.
    pub lasting: bool,
    /// How it fails.
    pub code: Code,
    /// What it has done.
    pub effect: Effect,
}

impl Fault {
    /// A fault that lasts is over after this time at the latest: a store that opens its connections
    /// may wait for as long as they fail.
    pub const LASTS: Duration = Duration::from_millis(300);

    /// Does the operation of this number fail? A lock that is busy is so six times in a row where it
    /// lasts: SQLite asks for a reader's lock a hundred times over ten seconds before it gives up.
    pub const fn hits(&self, number: u64) -> bool {
        let lasts = match (self.lasting, self.code) {
            (false, _) => 1,
            (true, Code::Busy) => 6,
            (true, Code::IoErr | Code::Full) => u64::MAX,
        };
        number >= self.nth && number - self.nth < lasts
    }

    /// What SQLite is told.
    pub const fn result_code(&self) -> i32 {
        match (self.code, self.op) {
            (Code::Full, _) => ffi::SQLITE_FULL,
            (Code::Busy, _) => ffi::SQLITE_BUSY,
            (Code::IoErr, Op::Write) => ffi::SQLITE_IOERR_WRITE,
            (Code::IoErr, Op::Sync | Op::FolderSync) => ffi::SQLITE_IOERR_FSYNC,
            (Code::IoErr, Op::Open) => ffi::SQLITE_CANTOPEN,
            (Code::IoErr, Op::Truncate) => ffi::SQLITE_IOERR_TRUNCATE,
            (Code::IoErr, Op::Delete) => ffi::SQLITE_IOERR_DELETE,
            (Code::IoErr, Op::Lock) => ffi::SQLITE_IOERR_LOCK,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            op, nth, lasting, ..
        } = self;
        let (op, code, effect) = (op.name(), self.code.name(), self.effect.name());
        let lasting = if *lasting { " and all after it" } else { "" };
        write!(f, "{op} {nth}{lasting}: {code}, {effect}")
    }
}

impl Fault {
    /// The case by which `replay` makes it again.
    pub fn case(&self, store: &str, seed: u64, ops: usize) -> String {
        let lasting = if self.lasting { "lasting" } else { "once" };
        let (op, code, effect) = (self.op.name(), self.code.name(), self.effect.name());
        let nth = self.nth;
        format!("faults/{store}/{seed}/{ops}/{op}/{nth}/{lasting}/{code}/{effect}")
    }

    /// What a case says: the store, seed and steps of the workload, and the fault.
    ///
    /// # Errors
    /// A line that says what a case looks like.
    pub fn of_case(case: &str) -> Result<(String, (u64, usize), Self), String> {
        let parsed = || {
            let parts: [&str; 9] = case.split('/').collect::<Vec<_>>().try_into().ok()?;
            let [_, store, seed, ops, op, nth, lasting, code, effect] = parts;
            let op = Op::ALL.into_iter().find(|one| one.name() == op)?;
            let fault = Self {
                op,
                nth: nth.parse().ok().filter(|nth| *nth > 0)?,
                lasting: match lasting {
                    "once" => false,
                    "lasting" => true,
                    _ => return None,
                },
                code: *op.codes().iter().find(|one| one.name() == code)?,
                effect: *op.effects().iter().find(|one| one.name() == effect)?,
            };
            Some((
                store.to_owned(),
                (
                    seed.parse().ok()?,
                    ops.parse().ok().filter(|ops| (3..=10_000).contains(ops))?,
                ),
                fault,
            ))
        };
        parsed().ok_or_else(|| {
            format!(
                "{case:?} is no case; a case is faults/STORE/SEED/OPS/OPERATION/N/once|lasting/CODE/EFFECT, as a violation shows it"
            )
        })
    }
}

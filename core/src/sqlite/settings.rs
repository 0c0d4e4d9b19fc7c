//! The settings of a connection: set, then read back, on every one.
//!
//! Nothing is left to a default, since a default may change with the library. `synchronous = FULL`
//! in WAL mode syncs the log at each commit; with anything less an acknowledged sale can be lost when
//! the power fails, which killing a process never shows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use super::error::failed_while;
use crate::error::StoreError;
use crate::transition::Sql;

/// What a setting must read as, and how it is set.
struct Setting {
    pragma: &'static str,
    value: &'static str,
    reads_as: &'static str,
}

/// Everything but `busy_timeout`, which the caller chooses.
const SETTINGS: [Setting; 10] = [
    set("journal_mode", "WAL", "wal"),
    set("synchronous", "FULL", "2"),
    set("fullfsync", "ON", "1"), // macOS: a sync that reaches the disk
    set("checkpoint_fullfsync", "ON", "1"), // macOS: the same for checkpoints
    set("wal_autocheckpoint", "16000", "16000"), // pages, 16 MB: fewer pages are copied into the file twice
    set("locking_mode", "NORMAL", "normal"),     // other processes may use the file
    set("read_uncommitted", "OFF", "0"),
    set("recursive_triggers", "ON", "1"), // so that REPLACE can not go round a delete trigger
    set("ignore_check_constraints", "OFF", "0"),
    set("trusted_schema", "OFF", "0"),
];

/// The size of a page of a new file, in bytes; a file that is there keeps its own. A change of a seat writes
/// the page that it is on, so a quarter of SQLite's usual size is a quarter to write and to sync.
const PAGE_SIZE: i64 = 1024;

const fn set(pragma: &'static str, value: &'static str, reads_as: &'static str) -> Setting {
    Setting {
        pragma,
        value,
        reads_as,
    }
}

/// What model-check changes about a connection. Nothing without the feature `planted-faults`, so
/// always for a real sale.
#[derive(Debug, Clone, Default)]
pub(super) struct Planted {
    /// The SQL of the transitions.
    pub(super) sql: Arc<Sql>,
    /// A VFS other than the system's own.
    pub(super) vfs: Option<String>,
    /// Settings other than [`SETTINGS`]: the pragma, and what it reads as.
    pub(super) settings: Vec<(&'static str, &'static str)>,
}

impl Planted {
    fn over(&self, setting: &Setting) -> Setting {
        let planted = self.settings.iter().find(|(p, _)| *p == setting.pragma);
        let (value, reads_as) =
            planted.map_or((setting.value, setting.reads_as), |(_, v)| (*v, *v));
        set(setting.pragma, value, reads_as)
    }
}

/// The database and its settings as they were read back from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The version of SQLite, as `3.53.0`.
    pub sqlite_version: String,
    /// The exact source of that SQLite.
    pub sqlite_source_id: String,
    /// Names and values as SQLite gives them, sorted by name.
    pub pragmas: Vec<(String, String)>,
    /// How SQLite was compiled, as it says itself (`PRAGMA compile_options`).
    pub compile_options: Vec<String>,
}

/// Sets everything on a fresh connection and reads it back.
pub(super) fn apply(
    connection: &Connection,
    busy_timeout: Duration,
    planted: &Planted,
) -> Result<(), StoreError> {
    connection.set_prepared_statement_cache_capacity(32);
    connection
        .pragma_update(None, "page_size", PAGE_SIZE)
        .map_err(failed_while("setting up a connection"))?;
    let deadline = Instant::now() + busy_timeout;
    for setting in SETTINGS.iter().map(|right| planted.over(right)) {
        // A change of the journal mode does not ask the busy handler, so it is repeated here.
        while let Err(error) = write(connection, &setting) {
            let busy = error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
            if !busy || Instant::now() >= deadline {
                return Err(failed_while("setting up a connection")(error));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        check(connection, setting.pragma, setting.reads_as)?;
    }
    check(
        connection,
        "busy_timeout",
        &busy_timeout.as_millis().to_string(),
    )
}

/// Makes SQLite refuse every write on this connection.
pub(super) fn refuse_writes(connection: &Connection) -> Result<(), StoreError> {
    let setting = set("query_only", "ON", "1");
    write(connection, &setting).map_err(failed_while("setting up a connection"))?;
    check(connection, setting.pragma, setting.reads_as)
}

fn write(connection: &Connection, setting: &Setting) -> rusqlite::Result<()> {
    let sql = format!("PRAGMA {} = {}", setting.pragma, setting.value);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

fn check(connection: &Connection, pragma: &str, expected: &str) -> Result<(), StoreError> {
    let found = read(connection, pragma).map_err(failed_while("reading a setting back"))?;
    if found == expected {
        return Ok(());
    }
    Err(StoreError::Database {
        doing: "reading a setting back",
        source: format!("{pragma} is {found}, and can not be made {expected} on this file").into(),
    })
}

fn read(connection: &Connection, pragma: &str) -> rusqlite::Result<String> {
    connection.query_row(&format!("PRAGMA {pragma}"), [], |row| {
        Ok(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            other => other.as_str()?.to_owned(),
        })
    })
}

/// Reads the settings back, for a report.
pub(super) fn of(connection: &Connection) -> Result<Settings, StoreError> {
    let failed = failed_while("reading the settings back");
    let mut pragmas = SETTINGS
        .iter()
        .map(|setting| setting.pragma)
        .chain(["busy_timeout", "page_size", "cache_size", "user_version"])
        .map(|pragma| Ok((pragma.to_owned(), read(connection, pragma)?)))
        .collect::<rusqlite::Result<Vec<_>>>()
        .map_err(&failed)?;
    pragmas.sort();
    let (sqlite_version, sqlite_source_id) = connection
        .query_row("SELECT sqlite_version(), sqlite_source_id()", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .map_err(&failed)?;
    let compile_options = connection
        .prepare("PRAGMA compile_options")
        .and_then(|mut all| all.query_map([], |row| row.get(0))?.collect())
        .map_err(&failed)?;
    Ok(Settings {
        sqlite_version,
        sqlite_source_id,
        pragmas,
        compile_options,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_locked_for_a_moment_is_set_up_and_one_that_stays_locked_is_busy() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("seats.sqlite");
        let set_up = |timeout| {
            let connection = Connection::open(&path).expect("opened");
            connection.busy_timeout(timeout).expect("set");
            apply(&connection, timeout, &Planted::default())
        };
        // SQLite's busy handler waits for the first of these locks only.
        for lock in ["BEGIN EXCLUSIVE", "BEGIN IMMEDIATE"] {
            let other = Connection::open(&path).expect("opened");
            let locked =
                format!("PRAGMA journal_mode = DELETE; CREATE TABLE IF NOT EXISTS t (x); {lock}");
            other.execute_batch(&locked).expect("locked");
            let (asked, timeout) = (Instant::now(), Duration::from_millis(100));
            assert!(matches!(set_up(timeout), Err(StoreError::Busy { .. })));
            assert!(asked.elapsed() >= timeout, "{lock}: it gave up early");
            std::thread::scope(|scope| {
                let waits = scope.spawn(|| set_up(Duration::from_secs(20)));
                std::thread::sleep(Duration::from_millis(100));
                other.execute_batch("COMMIT").expect("let go");
                drop(other);
                waits.join().expect("no panic").expect(lock);
            });
        }
    }

    #[test]
    fn a_setting_that_does_not_take_is_an_error_that_names_it() {
        // A database in memory can not have a write-ahead log.
        let connection = Connection::open_in_memory().expect("opened");
        let error = apply(&connection, Duration::ZERO, &Planted::default()).expect_err("no log");
        let StoreError::Database { source, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!(
            source.to_string(),
            "journal_mode is memory, and can not be made wal on this file"
        );
    }
}

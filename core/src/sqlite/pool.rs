//! Pooled connections that are never lent again once something is doubtful about them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use r2d2::{ManageConnection, Pool, PooledConnection};
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::OpenFlags;

use super::connection::Connection;
use super::settings::Planted;
use super::{schema, settings};
use crate::error::StoreError;

/// Held by everything that has a store's file open.
#[derive(Clone, Default)]
pub(super) struct Open(Arc<()>);

/// Closes a store: waits, when it is dropped, until nothing has the file open any more.
///
/// The pool opens connections on threads of its own, which keep it alive a moment longer than its
/// owner does. Whoever copies or removes the file after the store is gone must not meet them.
pub(super) struct Closing(Open);

impl Closing {
    /// Waits for those that hold a clone of this.
    pub(super) const fn new(open: Open) -> Self {
        Self(open)
    }

    /// Whether nothing has the file open any more, before so much time is over.
    fn is_closed_within(&self, patience: Duration) -> bool {
        let since = Instant::now();
        while Arc::strong_count(&self.0.0) > 1 {
            if since.elapsed() > patience {
                return false;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        true
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        if !self.is_closed_within(Duration::from_secs(5)) {
            tracing::warn!("a connection of a closed store is still open after 5 s");
        }
    }
}

/// Opens connections with their settings read back. It wraps the manager of `r2d2_sqlite`, which
/// never calls a connection broken.
pub(crate) struct Manager {
    inner: SqliteConnectionManager,
    path: PathBuf,
    busy_timeout: Duration,
    planted: Planted,
    role: Role,
    open: Open,
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It may write.
    Writer,
    /// It is refused every write by SQLite itself.
    Reader,
}

impl Manager {
    pub(super) fn new(
        path: &Path,
        busy_timeout: Duration,
        planted: Planted,
        role: Role,
        open: Open,
    ) -> Self {
        let path = as_a_file(path);
        Self {
            inner: SqliteConnectionManager::file(&path).with_flags(flags()),
            planted,
            path,
            busy_timeout,
            role,
            open,
        }
    }
}

/// A file called `file:x?mode=memory` is a file of that name. The bundled SQLite is compiled to take it
/// for a URI whatever the flags say, so it must not begin like one.
fn as_a_file(path: &Path) -> PathBuf {
    if path.as_os_str().as_encoded_bytes().starts_with(b"file:") {
        Path::new(".").join(path)
    } else {
        path.to_owned()
    }
}

/// Without `SQLITE_OPEN_URI`.
fn flags() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

impl ManageConnection for Manager {
    type Connection = Connection;
    type Error = StoreError;

    fn connect(&self) -> Result<Connection, StoreError> {
        let sqlite = match &self.planted.vfs {
            None => self.inner.connect(),
            Some(vfs) => {
                rusqlite::Connection::open_with_flags_and_vfs(&self.path, flags(), vfs.as_str())
            }
        }
        .map_err(super::failed_while("opening the database"))?;
        sqlite
            .busy_timeout(self.busy_timeout)
            .map_err(super::failed_while("setting busy_timeout"))?;
        // First of all, since setting the journal mode changes the file: is it ours?
        schema::version_of(&sqlite, &self.path)?;
        settings::apply(&sqlite, self.busy_timeout, &self.planted)?;
        if self.role == Role::Reader {
            settings::refuse_writes(&sqlite)?;
        }
        Ok(Connection::new(
            sqlite,
            Arc::clone(&self.planted.sql),
            self.busy_timeout,
            self.open.clone(),
        ))
    }

    fn is_valid(&self, connection: &mut Connection) -> Result<(), StoreError> {
        connection
            .execute_batch("")
            .map_err(super::failed_while("testing a connection"))
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        !connection.may_be_lent_again()
    }
}

/// How long the first connections of a pool may take to open. The busy timeout is for calls: it may be
/// far too short for this.
const OPENING: Duration = Duration::from_secs(30);

/// A pool of up to `size` connections.
pub(super) fn of(manager: Manager, size: u32) -> Result<Pool<Manager>, StoreError> {
    Pool::builder()
        .max_size(size)
        .min_idle(Some(size.min(8)))
        .test_on_check_out(false)
        // Connections to a file do not age. Without these two the pool needs no reaper, whose threads
        // would outlive a closed store for half a minute.
        .max_lifetime(None)
        .idle_timeout(None)
        .connection_timeout(OPENING)
        .error_handler(Box::new(LogErrors))
        .build(manager)
        .map_err(|source| StoreError::Database {
            doing: "opening the pool",
            source: source.into(),
        })
}

/// Borrows a connection. None to be had in time is [`StoreError::Busy`].
pub(super) fn lend(
    pool: &Pool<Manager>,
    timeout: Duration,
) -> Result<PooledConnection<Manager>, StoreError> {
    let asked = Instant::now();
    pool.get_timeout(timeout.max(Duration::from_millis(1)))
        .map_err(|source| StoreError::Busy {
            waited: asked.elapsed(),
            source: source.into(),
        })
}

/// The pool opens connections on threads of its own; what goes wrong there goes to the log.
#[derive(Debug)]
pub(super) struct LogErrors;

impl r2d2::HandleError<StoreError> for LogErrors {
    fn handle_error(&self, error: StoreError) {
        tracing::warn!(%error, "a pooled connection could not be opened");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use r2d2::Pool;

    use super::*;

    fn pool_of_one(folder: &tempfile::TempDir) -> Pool<Manager> {
        let manager = Manager::new(
            &folder.path().join("seats.sqlite"),
            Duration::from_millis(500),
            Planted::default(),
            Role::Writer,
            Open::default(),
        );
        let first = manager.connect().expect("a connection");
        schema::migrate(&first, Path::new("seats.sqlite")).expect("made");
        Pool::builder()
            .max_size(1)
            .test_on_check_out(false)
            .build(manager)
            .expect("a pool")
    }

    #[test]
    fn a_connection_that_comes_back_inside_a_transaction_is_never_lent_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pool = pool_of_one(&folder);
        let add = |id: &str, connection: &Connection| {
            connection
                .execute(
                    "INSERT INTO seats (seat_id, changed_at) VALUES (?1, 0)",
                    [id],
                )
                .expect("added")
        };
        {
            let lent = pool.get().expect("a connection");
            lent.execute_batch("BEGIN IMMEDIATE").expect("begun");
            add("forgotten", &lent);
        }
        let next = pool.get().expect("another connection");
        assert!(
            next.is_autocommit(),
            "the transaction came back with the connection"
        );
        add("acknowledged", &next);
        drop(next);
        let reader = pool.get().expect("a connection");
        let seats: Vec<String> = reader
            .prepare("SELECT seat_id FROM seats")
            .and_then(|mut all| all.query_map([], |row| row.get(0))?.collect())
            .expect("read");
        assert_eq!(seats, ["acknowledged"]);
    }

    #[test]
    fn a_connection_has_the_file_open_as_long_as_it_is_there() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let open = Open::default();
        let path = folder.path().join("seats.sqlite");
        let wait = Duration::from_millis(20);
        let manager = Manager::new(&path, wait, Planted::default(), Role::Writer, open.clone());
        let connection = manager.connect().expect("a connection");
        drop(manager);
        let closing = Closing::new(open);
        assert!(!closing.is_closed_within(Duration::ZERO));
        drop(connection);
        assert!(closing.is_closed_within(Duration::ZERO));
    }

    #[test]
    fn a_pool_needs_no_reaper() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("seats.sqlite");
        let wait = Duration::from_millis(20);
        let manager = Manager::new(
            &path,
            wait,
            Planted::default(),
            Role::Writer,
            Open::default(),
        );
        let pool = of(manager, 1).expect("a pool");
        assert_eq!((pool.max_lifetime(), pool.idle_timeout()), (None, None));
    }

    #[test]
    fn closing_waits_for_what_is_open_but_not_for_ever() {
        let open = Open::default();
        let closing = Closing::new(open.clone());
        assert!(!closing.is_closed_within(Duration::from_millis(20)));
        let closed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let closed = &closed;
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                closed.store(true, Ordering::SeqCst);
                drop(open);
            });
            drop(closing);
            assert!(closed.load(Ordering::SeqCst), "it did not wait");
        });
    }

    #[test]
    fn a_path_that_looks_like_a_uri_is_a_path() {
        let strange = Path::new("file:seats?mode=memory");
        assert_eq!(as_a_file(strange), Path::new("./file:seats?mode=memory"));
        for plain in ["seats.sqlite", "/tmp/file:x", "./file:x"] {
            assert_eq!(as_a_file(Path::new(plain)), Path::new(plain));
        }
    }

    #[test]
    fn a_doubtful_connection_is_closed_when_it_comes_back() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pool = pool_of_one(&folder);
        let mark = |connection: &Connection| connection.execute_batch("PRAGMA cache_size = 77");
        let marked = |connection: &Connection| -> bool {
            connection
                .query_row("PRAGMA cache_size", [], |row| row.get::<_, i64>(0))
                .expect("read")
                == 77
        };
        mark(&pool.get().expect("a connection")).expect("marked");
        let again = pool.get().expect("the same connection");
        assert!(marked(&again));
        again.doubt();
        drop(again);
        assert!(!marked(&pool.get().expect("another connection")));
    }

    #[test]
    fn every_pooled_connection_has_the_settings_that_were_read_back() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let manager = Manager::new(
            &folder.path().join("seats.sqlite"),
            Duration::from_millis(1234),
            Planted::default(),
            Role::Writer,
            Open::default(),
        );
        let first = manager.connect().expect("a connection");
        schema::migrate(&first, Path::new("seats.sqlite")).expect("made");
        let expected = settings::of(&first).expect("read back");
        for (name, value) in [
            ("journal_mode", "wal"),
            ("synchronous", "2"),
            ("page_size", "1024"),
            ("wal_autocheckpoint", "16000"),
            ("busy_timeout", "1234"),
        ] {
            assert!(
                expected
                    .pragmas
                    .contains(&(name.to_owned(), value.to_owned())),
                "{expected:?}"
            );
        }
        let pool = Pool::builder().max_size(5).build(manager).expect("a pool");
        let all: Vec<_> = (0..5).map(|_| pool.get().expect("a connection")).collect();
        for connection in &all {
            assert_eq!(settings::of(connection).expect("read back"), expected);
        }
    }
}

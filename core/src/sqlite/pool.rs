//! Pooled connections that are never lent again once something is doubtful about them.

use std::cell::Cell;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use r2d2::ManageConnection;
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::OpenFlags;

use super::{schema, settings};
use crate::error::StoreError;

/// A pooled connection, and whether it may be lent again.
pub(crate) struct Connection {
    sqlite: rusqlite::Connection,
    doubtful: Cell<bool>,
}

impl Connection {
    /// Never lend this connection again: it is closed when it comes back.
    pub(super) fn doubt(&self) {
        self.doubtful.set(true);
    }
}

impl Deref for Connection {
    type Target = rusqlite::Connection;

    fn deref(&self) -> &rusqlite::Connection {
        &self.sqlite
    }
}

/// Opens connections with their settings read back. It wraps the manager of `r2d2_sqlite`, which
/// never calls a connection broken.
pub(crate) struct Manager {
    inner: SqliteConnectionManager,
    path: PathBuf,
    busy_timeout: Duration,
}

impl Manager {
    pub(super) fn new(path: &Path, busy_timeout: Duration) -> Self {
        // Without SQLITE_OPEN_URI: a file called `file:x?mode=memory` is a file of that name.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self {
            inner: SqliteConnectionManager::file(path).with_flags(flags),
            path: path.to_owned(),
            busy_timeout,
        }
    }
}

impl ManageConnection for Manager {
    type Connection = Connection;
    type Error = StoreError;

    fn connect(&self) -> Result<Connection, StoreError> {
        let sqlite = self
            .inner
            .connect()
            .map_err(super::failed_while("opening the database"))?;
        sqlite
            .busy_timeout(self.busy_timeout)
            .map_err(super::failed_while("setting busy_timeout"))?;
        // First of all, since setting the journal mode changes the file: is it ours?
        schema::version_of(&sqlite, &self.path)?;
        settings::apply(&sqlite, self.busy_timeout)?;
        Ok(Connection {
            sqlite,
            doubtful: Cell::new(false),
        })
    }

    fn is_valid(&self, connection: &mut Connection) -> Result<(), StoreError> {
        self.inner
            .is_valid(&mut connection.sqlite)
            .map_err(super::failed_while("testing a connection"))
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        connection.doubtful.get() || !connection.sqlite.is_autocommit()
    }
}

/// The pool opens connections on threads of its own; what goes wrong there goes to the log.
#[derive(Debug)]
pub(super) struct LogErrors;

impl r2d2::HandleError<StoreError> for LogErrors {
    fn handle_error(&self, error: StoreError) {
        tracing::warn!(%error, "a pooled connection could not be opened");
    }
}

//! Transactions that are over when they are dropped, and a commit whose every result is told apart.
//!
//! There is no other way to write: no statement runs in autocommit, so the error of a commit can not
//! hide behind the last row of a statement, and a connection can not go back to the pool with a
//! transaction open and be lent again.

use std::ops::Deref;
use std::time::{Duration, Instant};

use rusqlite::ErrorCode;

use super::error::failed_while;
use super::pool::Connection;
use crate::error::StoreError;

/// An open transaction; dropped without a commit, it is rolled back.
pub(super) struct Transaction<'c> {
    connection: &'c Connection,
    open: bool,
}

impl<'c> Transaction<'c> {
    /// Takes the write lock, waiting up to `wait` for it, for a caller that has waited `since` then.
    pub(super) fn immediate(
        connection: &'c Connection,
        wait: Duration,
        since: Instant,
    ) -> Result<Self, StoreError> {
        let set = |timeout| {
            connection
                .busy_timeout(timeout)
                .map_err(failed_while("setting busy_timeout"))
        };
        let full = connection.full_timeout();
        if wait < full {
            set(wait)?;
        }
        let begun = Self::begin(connection, "BEGIN IMMEDIATE");
        if wait < full {
            set(full)?;
        }
        begun.map_err(|error| match error {
            StoreError::Busy { source, .. } => StoreError::Busy {
                waited: since.elapsed(),
                source,
            },
            other => other,
        })
    }

    /// For reads that belong together: they see one snapshot.
    pub(super) fn deferred(connection: &'c Connection) -> Result<Self, StoreError> {
        Self::begin(connection, "BEGIN DEFERRED")
    }

    fn begin(connection: &'c Connection, sql: &str) -> Result<Self, StoreError> {
        run(connection, sql).map_err(failed_while("beginning a transaction"))?;
        Ok(Self {
            connection,
            open: true,
        })
    }

    /// Commits, and says what is certain about it.
    ///
    /// # Errors
    /// [`StoreError::Busy`]: rolled back, certainly not applied. [`StoreError::Unknown`]: anything else.
    pub(super) fn commit(mut self) -> Result<(), StoreError> {
        match run(self.connection, "COMMIT") {
            Ok(()) => {
                self.open = false;
                Ok(())
            }
            // The transaction is still open, so nothing of it can have been committed.
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && !self.connection.is_autocommit() =>
            {
                Err(failed_while("committing")(error))
            }
            Err(error) => {
                tracing::warn!(%error, "a commit gave no result");
                self.connection.doubt();
                Err(StoreError::Unknown(error.into()))
            }
        }
    }
}

impl Deref for Transaction<'_> {
    type Target = rusqlite::Connection;

    fn deref(&self) -> &rusqlite::Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SQLite may have rolled back by itself.
        if self.open
            && !self.connection.is_autocommit()
            && let Err(error) = run(self.connection, "ROLLBACK")
        {
            tracing::warn!(%error, "a rollback failed; the connection is closed");
            self.connection.doubt();
        }
    }
}

fn run(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

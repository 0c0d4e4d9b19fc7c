//! Transactions that are over when they are dropped, and a commit whose every result is told apart.
//!
//! There is no other way to write: no statement runs in autocommit, so the error of a commit can not
//! hide behind the last row of a statement, and a connection can not go back to the pool with a
//! transaction open and be lent again.

use std::ops::Deref;
use std::time::Duration;

use rusqlite::ErrorCode;

use super::connection::Connection;
use super::error::failed_while;
use crate::error::StoreError;
use crate::transition::Statements;

/// An open transaction; dropped without a commit, it is rolled back.
pub(super) struct Transaction<'c> {
    connection: &'c Connection,
    open: bool,
}

impl<'c> Transaction<'c> {
    /// Takes the write lock, waiting up to `wait` for it.
    pub(super) fn immediate(
        connection: &'c Connection,
        wait: Duration,
    ) -> Result<Self, StoreError> {
        connection
            .busy_timeout(wait)
            .map_err(failed_while("setting busy_timeout"))?;
        Self::begin(connection, "BEGIN IMMEDIATE")
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

    /// Uses the statements of the transitions.
    pub(super) fn statements<T>(&self, using: impl FnOnce(&Statements<'_>) -> T) -> T {
        self.connection.statements(using)
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
                self.connection.doubt();
                tracing::warn!(%error, "a commit gave no result");
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
            self.connection.doubt();
            tracing::warn!(%error, "a rollback failed; the connection is closed");
        }
    }
}

fn run(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

#[cfg(test)]
mod tests {
    use r2d2::ManageConnection;
    use tempfile::TempDir;

    use super::super::pool::{Manager, Open, Role};
    use super::super::schema;
    use super::super::settings::Planted;
    use super::*;

    /// A connection with this journal, and the path of its file.
    fn connection(journal: &'static str) -> (TempDir, Manager, Connection) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("seats.sqlite");
        let planted = Planted {
            settings: vec![("journal_mode", journal)],
            ..Planted::default()
        };
        let wait = Duration::from_millis(20);
        let manager = Manager::new(&path, wait, planted, Role::Writer, Open::default());
        let connection = manager.connect().expect("a connection");
        schema::migrate(&connection, &path).expect("made");
        (folder, manager, connection)
    }

    fn seats(connection: &rusqlite::Connection) -> i64 {
        connection
            .query_row("SELECT count(*) FROM seats", [], |row| row.get(0))
            .expect("read")
    }

    /// Adds a seat and commits.
    fn add(connection: &Connection) -> Result<(), StoreError> {
        let wait = Duration::from_millis(20);
        let transaction = Transaction::immediate(connection, wait)?;
        transaction
            .execute(
                "INSERT INTO seats (seat_id, changed_at) VALUES ('A', 0)",
                [],
            )
            .expect("added");
        transaction.commit()
    }

    #[test]
    fn a_transaction_that_is_dropped_is_over_and_leaves_nothing() {
        let (_folder, manager, mut connection) = connection("wal");
        let wait = Duration::from_millis(20);
        let transaction = Transaction::immediate(&connection, wait).expect("free");
        transaction
            .execute(
                "INSERT INTO seats (seat_id, changed_at) VALUES ('A', 0)",
                [],
            )
            .expect("added");
        drop(transaction);
        assert!(connection.is_autocommit());
        assert_eq!(seats(&connection), 0);
        assert!(!manager.has_broken(&mut connection), "it is as good as new");
    }

    #[test]
    fn a_commit_that_finds_a_lock_is_rolled_back_and_said_to_be_busy() {
        let (folder, manager, mut connection) = connection("delete");
        let reader =
            rusqlite::Connection::open(folder.path().join("seats.sqlite")).expect("the file opens");
        reader.execute_batch("BEGIN").expect("begun");
        assert_eq!(seats(&reader), 0);
        let refused = add(&connection);
        assert!(
            matches!(refused, Err(StoreError::Busy { .. })),
            "{refused:?}"
        );
        assert!(!manager.has_broken(&mut connection), "it is as good as new");
        reader.execute_batch("ROLLBACK").expect("let go");
        assert_eq!(seats(&connection), 0, "nothing was applied");
        add(&connection).expect("now it is free");
        assert_eq!(seats(&connection), 1);
    }

    #[test]
    fn a_commit_that_fails_otherwise_is_unknown_although_the_transaction_is_open() {
        let (_folder, manager, mut connection) = connection("wal");
        connection
            .execute_batch(
                "CREATE TABLE nowhere (at INTEGER REFERENCES nowhere (id) DEFERRABLE INITIALLY DEFERRED,
                     id INTEGER UNIQUE);
                 CREATE TRIGGER fails AFTER INSERT ON seats BEGIN INSERT INTO nowhere (at) VALUES (1); END",
            )
            .expect("planted");
        let failed = add(&connection);
        assert!(matches!(failed, Err(StoreError::Unknown(_))), "{failed:?}");
        assert!(connection.is_autocommit(), "rolled back");
        assert!(manager.has_broken(&mut connection), "never lent again");
    }
}

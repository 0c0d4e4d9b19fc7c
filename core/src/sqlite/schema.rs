//! The version of a database file: made, migrated, or refused.

use std::path::Path;

use rusqlite::ErrorCode;

use super::connection::Connection;
use super::error::failed_while;
use super::transaction::Transaction;
use crate::error::{Invalid, StoreError};

/// Marks a file as ours: `PRAGMA application_id`, the bytes "Sold".
const APPLICATION_ID: i64 = 0x536f_6c64;

/// Each step leads from its version to the next; a new file starts at 0. Never change a step: add one.
const MIGRATIONS: [(i64, &str); 1] = [(0, include_str!("schema.sql"))];

/// The version that this code reads and writes.
const VERSION: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0 + 1;

/// Brings the file to [`VERSION`], in one transaction, or refuses it unchanged.
pub(super) fn migrate(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    if version_of(connection, path)? == VERSION {
        return Ok(());
    }
    let transaction = Transaction::immediate(connection, connection.full_timeout())?;
    // Again, now under the lock: another process may have been faster.
    let version = version_of(&transaction, path)?;
    for (from, step) in MIGRATIONS.into_iter().filter(|(from, _)| *from >= version) {
        tracing::info!(from, to = from + 1, "migrating the database");
        transaction
            .execute_batch(step)
            .map_err(failed_while("migrating the database"))?;
    }
    transaction
        .execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
        ))
        .map_err(failed_while("migrating the database"))?;
    transaction.commit()
}

/// The version of the file; 0 for an empty one. Refuses what is not ours or is newer.
pub(super) fn version_of(
    connection: &rusqlite::Connection,
    path: &Path,
) -> Result<i64, StoreError> {
    let number = |sql: &str| {
        connection
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .map_err(|error| match error.sqlite_error_code() {
                Some(ErrorCode::NotADatabase) => {
                    not_ours(format!("{} is not an SQLite database", path.display()))
                }
                _ => failed_while("reading the version of the database")(error),
            })
    };
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let is_empty = number("SELECT count(*) FROM sqlite_schema")? == 0;
    let problem = if application == APPLICATION_ID {
        if (1..=VERSION).contains(&version) {
            return Ok(version);
        }
        format!("{} has version {version}", path.display())
    } else if is_empty && application == 0 && version == 0 {
        return Ok(0);
    } else {
        format!("{} is a database of another program", path.display())
    };
    Err(not_ours(problem))
}

fn not_ours(problem: String) -> StoreError {
    Invalid::new(
        "database file",
        problem,
        format!("a soldonce database of version 1 to {VERSION}, or a file that does not exist yet"),
    )
    .into()
}

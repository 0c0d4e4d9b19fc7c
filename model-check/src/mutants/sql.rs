//! How a fault is planted in the SQL of the transitions, with or without the schema's constraints.

use std::path::Path;

use rusqlite::Connection;
use soldonce::transition::Sql;
use soldonce::{Commit, SeatStore, SqliteStore, StoreError};

use crate::fault::LostAnswers;
use crate::store_choice::{World, open_sqlite};

/// The tables with their columns only. What the real schema adds would refuse many a fault.
const BARE_SCHEMA: &str = "
    DROP TABLE payments;
    DROP TABLE seats;
    CREATE TABLE seats (
        seat_id TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL DEFAULT 'free',
        version INTEGER NOT NULL DEFAULT 0, owner TEXT, hold_id INTEGER, expires INTEGER,
        payment_id TEXT, changed_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE payments (
        seq INTEGER NOT NULL PRIMARY KEY, payment_id TEXT NOT NULL, seat_id TEXT NOT NULL,
        owner TEXT NOT NULL, hold_id INTEGER NOT NULL, decision TEXT NOT NULL, reason TEXT,
        version INTEGER NOT NULL, decided_at INTEGER NOT NULL
    ) STRICT;";

/// The real store with other SQL, on the real schema.
pub(super) fn patched(
    path: &Path,
    world: &World,
    plant: impl FnOnce(&mut Sql),
) -> Result<Box<dyn SeatStore>, StoreError> {
    let mut sql = Sql::default();
    plant(&mut sql);
    // Without the queue, or a refusal would be answered from a snapshot and never meet the statement.
    let options = SqliteStore::options().sql(sql).commit(Commit::PerCall);
    let store = open_sqlite(options, path, world)?;
    Ok(Box::new(LostAnswers::new(store, world)))
}

/// The real store with other SQL, on tables without constraints.
pub(super) fn bare(
    path: &Path,
    world: &World,
    plant: impl FnOnce(&mut Sql),
) -> Result<Box<dyn SeatStore>, StoreError> {
    if !path.exists() {
        drop(open_sqlite(SqliteStore::options(), path, world)?);
        on_file(path, |connection| connection.execute_batch(BARE_SCHEMA))?;
    }
    patched(path, world, plant)
}

/// Does something to the file past the store.
pub(super) fn on_file<T>(
    path: &Path,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    Connection::open(path)
        .and_then(|connection| work(&connection))
        .map_err(|source| StoreError::Database {
            doing: "planting a fault",
            source: source.into(),
        })
}

/// Replaces a part of a statement, wherever it stands.
pub(super) fn plant(statement: &mut String, part: &str, by: &str) {
    assert!(
        statement.contains(part),
        "the fault can not be planted: {part:?} does not stand in {statement:?}"
    );
    *statement = statement.replace(part, by);
}

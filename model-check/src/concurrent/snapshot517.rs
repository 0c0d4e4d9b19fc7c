//! L01: transactions that read first and write later.
//!
//! Begun with `BEGIN DEFERRED`, such a transaction fails on SQLite when somebody else has committed
//! since it read: the database answers "busy snapshot" (517) at once, and no busy timeout helps. This
//! breaks no promise to a buyer, it costs him his call; so it has a verdict of its own, by load.

use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;

/// How a transaction begins that reads first and writes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// As the fault does it.
    Deferred,
    /// With the write lock from the start, as the store does it.
    Immediate,
}

/// What writers saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BusySnapshots {
    /// Transactions that were begun.
    pub transactions: u64,
    /// Of those, the ones that failed with a busy snapshot.
    pub busy_snapshots: u64,
}

/// The extended code of SQLite for it.
const BUSY_SNAPSHOT: i32 = rusqlite::ffi::SQLITE_BUSY_SNAPSHOT;

/// So many threads each run so many transactions that read one row, yield, and write it.
///
/// # Errors
/// What SQLite says, but for a busy snapshot.
pub fn busy_snapshots(
    path: &Path,
    begin: Begin,
    threads: usize,
    each: u64,
) -> rusqlite::Result<BusySnapshots> {
    let setup = open(path)?;
    setup
        .execute_batch("CREATE TABLE IF NOT EXISTS one (n INTEGER); INSERT INTO one VALUES (0)")?;
    let seen = AtomicU64::new(0);
    let start = Barrier::new(threads);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let connection = open(path);
                    start.wait();
                    let connection = connection?;
                    for _ in 0..each {
                        if write(&connection, begin)? {
                            seen.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    Ok::<(), rusqlite::Error>(())
                })
            })
            .collect();
        writers.into_iter().try_for_each(|writer| {
            writer
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    Ok(BusySnapshots {
        transactions: threads as u64 * each,
        busy_snapshots: seen.into_inner(),
    })
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(30))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    Ok(connection)
}

/// One transaction. Was it refused as a busy snapshot?
fn write(connection: &Connection, begin: Begin) -> rusqlite::Result<bool> {
    connection.execute_batch(match begin {
        Begin::Deferred => "BEGIN DEFERRED",
        Begin::Immediate => "BEGIN IMMEDIATE",
    })?;
    let read: rusqlite::Result<i64> =
        connection.query_row("SELECT n FROM one", [], |row| row.get(0));
    std::thread::yield_now();
    let written = read.and_then(|n| connection.execute("UPDATE one SET n = ?1", [n + 1]));
    match written {
        Ok(_) => connection.execute_batch("COMMIT").map(|()| false),
        Err(error) => {
            connection.execute_batch("ROLLBACK")?;
            match error.sqlite_error() {
                Some(code) if code.extended_code == BUSY_SNAPSHOT => Ok(true),
                // Somebody else was writing: one that reads already is not made to wait, either.
                Some(code) if code.extended_code == rusqlite::ffi::SQLITE_BUSY => Ok(false),
                _ => Err(error),
            }
        }
    }
}

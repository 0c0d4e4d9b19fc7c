//! The store on an embedded SQLite file.
//!
//! Every transaction that may write begins with `BEGIN IMMEDIATE`, on a pooled connection whose
//! settings were read back, and is answered only after its commit returned. A statement's guard
//! decides; see [`crate::transition`]. Any number of stores, in any number of processes on one
//! machine, may use one file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use r2d2::{ManageConnection as _, Pool, PooledConnection};
use rusqlite::params;

use crate::command::{Command, HoldRequest};
use crate::error::{Invalid, StoreError};
use crate::id::{PaymentId, SeatId, Version};
use crate::invariant::Snapshot;
use crate::outcome::{ConfirmOutcome, HoldOutcome, Outcome, Receipt, ReleaseOutcome};
use crate::seat::{Claim, PaymentRecord, Seat};
use crate::store::{RefundCursor, RefundsDue, SeatStore, SeatsAdded};
use crate::time::{Clock, SystemClock, Timestamp};
use crate::transition::record::{self, decided_at};
use crate::transition::{self, Sql};

pub(crate) mod error;
mod pool;
mod schema;
mod settings;
mod transaction;

pub use settings::Settings;

use error::failed_while;
use pool::Manager;
use settings::Planted;
use transaction::Transaction;

/// How a [`SqliteStore`] is opened. Start with [`SqliteStore::options`].
#[must_use = "options do nothing until `open`"]
pub struct SqliteOptions {
    pool_size: u32,
    busy_timeout: Duration,
    clock: Arc<dyn Clock>,
    sql: Sql,
    planted: Planted,
}

impl SqliteOptions {
    /// How many connections the pool holds: 1 to 1,024. Default: 8.
    pub const fn pool_size(mut self, connections: u32) -> Self {
        self.pool_size = connections;
        self
    }

    /// How long a call waits for a connection, and then for the write lock, before it answers
    /// [`StoreError::Busy`]: 0 to 1 hour, in whole milliseconds. Default: 5 seconds.
    pub const fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Where the time comes from. Default: a [`SystemClock`].
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Other SQL for the transitions: how model-check plants a fault. Never for a real sale.
    #[cfg(feature = "planted-faults")]
    pub fn sql(mut self, sql: Sql) -> Self {
        self.sql = sql;
        self
    }

    /// The SQLite VFS of this name in place of the system's own: how model-check sees every write and
    /// sync, and makes them fail. Never for a real sale.
    #[cfg(feature = "planted-faults")]
    pub fn vfs(mut self, name: impl Into<String>) -> Self {
        self.planted.vfs = Some(name.into());
        self
    }

    /// A setting of every connection in place of the right one, given as SQLite reads it back
    /// (`synchronous` and `0`): how model-check plants a fault. Never for a real sale.
    #[cfg(feature = "planted-faults")]
    pub fn setting(mut self, pragma: &'static str, reads_as: &'static str) -> Self {
        self.planted.settings.push((pragma, reads_as));
        self
    }

    /// Opens the file, or makes it when it is not there, and migrates it when it is of an older version.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] when the path or the file can not be a store (a folder, a read-only
    /// file, no database, another program's database, one of a newer version), and the file is left
    /// as it was; [`StoreError::Busy`] when another process held the file for too long.
    pub fn open(self, path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
        let path = path.as_ref();
        if !(1..=1024).contains(&self.pool_size) {
            return Err(Invalid::new(
                "pool size",
                format!("it is {}", self.pool_size),
                "1 to 1024 connections",
            )
            .into());
        }
        if self.busy_timeout > Duration::from_hours(1) {
            return Err(Invalid::new(
                "busy timeout",
                format!("it is {} s", self.busy_timeout.as_secs()),
                "0 to 3600 s",
            )
            .into());
        }
        check_path(path)?;
        let manager = Manager::new(path, self.busy_timeout, self.planted);
        // The first connection is opened by hand: its errors are plain, those of the pool are time-outs.
        let first = manager.connect()?;
        schema::migrate(&first, path)?;
        let settings = settings::of(&first)?;
        drop(first);
        let pool = Pool::builder()
            .max_size(self.pool_size)
            .min_idle(Some(self.pool_size.min(8)))
            .test_on_check_out(false)
            .connection_timeout(self.busy_timeout.max(Duration::from_millis(1)))
            .error_handler(Box::new(pool::LogErrors))
            .build(manager)
            .map_err(|source| StoreError::Database {
                doing: "opening the pool",
                source: source.into(),
            })?;
        Ok(SqliteStore {
            path: path.to_owned(),
            pool,
            clock: self.clock,
            sql: self.sql,
            settings,
        })
    }
}

/// What can be known of a path before SQLite touches it.
fn check_path(path: &Path) -> Result<(), StoreError> {
    const ALLOWED: &str =
        "the path of a writable file, or of one to be made in a folder that exists";
    let refuse = |problem: String| Err(Invalid::new("database file", problem, ALLOWED).into());
    let shown = path.display();
    if path.as_os_str().is_empty() {
        return refuse("its path is empty".to_owned());
    }
    if path.as_os_str().as_encoded_bytes().starts_with(b":") {
        return refuse(format!("{shown} is a name that SQLite keeps for itself"));
    }
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => refuse(format!("{shown} is a folder")),
        Ok(found) if !found.is_file() => refuse(format!("{shown} is not a regular file")),
        Ok(found) if found.permissions().readonly() => refuse(format!("{shown} is read-only")),
        Ok(_) => Ok(()),
        Err(_) => match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
                refuse(format!("there is no folder {}", folder.display()))
            }
            Some(_) | None => Ok(()),
        },
    }
}

/// A seat store on an SQLite file.
///
/// ```
/// use soldonce::{HoldDuration, HoldOutcome, HoldRequest, OwnerId, SeatId, SeatStore, SqliteStore};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("seats.sqlite");
/// let store = SqliteStore::options().open(path)?;
/// store.add_seats(&[SeatId::new("A1")?])?;
/// let held = store.hold(&HoldRequest {
///     seat: SeatId::new("A1")?,
///     owner: OwnerId::new("alice")?,
///     ttl: HoldDuration::from_secs(600)?,
/// })?;
/// assert!(matches!(held.outcome, HoldOutcome::Held { .. }));
/// # Ok(())
/// # }
/// ```
///
/// # Cost
/// A command is one transaction with one sync of the write-ahead log; two to five statements, each
/// by primary key. A read is one statement. Of writers, one runs at a time.
pub struct SqliteStore {
    path: PathBuf,
    pool: Pool<Manager>,
    clock: Arc<dyn Clock>,
    sql: Sql,
    settings: Settings,
}

impl SqliteStore {
    /// Options with their defaults: 8 connections, 5 seconds, the system's clock.
    pub fn options() -> SqliteOptions {
        SqliteOptions {
            pool_size: 8,
            busy_timeout: Duration::from_secs(5),
            clock: Arc::new(SystemClock::default()),
            sql: Sql::default(),
            planted: Planted::default(),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The settings of the database as they were read back. Every pooled connection was checked
    /// against the same values when it was opened.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The time on the store's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn connection(&self) -> Result<PooledConnection<Manager>, StoreError> {
        let asked = Instant::now();
        self.pool.get().map_err(|source| StoreError::Busy {
            waited: asked.elapsed(),
            source: source.into(),
        })
    }

    /// Runs `work` in one write transaction at one time, and answers after the commit.
    fn write<T>(
        &self,
        work: impl FnOnce(&rusqlite::Connection, Timestamp) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = self.connection()?;
        let transaction = Transaction::immediate(&connection)?;
        let answer = work(&transaction, self.clock.now())?;
        transaction.commit()?;
        Ok(answer)
    }

    fn command(&self, command: &Command) -> Result<Receipt<Outcome>, StoreError> {
        self.write(|tx, now| transition::run(tx, &self.sql, command, now))
    }
}

impl SeatStore for SqliteStore {
    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        self.write(|tx, now| transition::hold::run(tx, &self.sql, request, now))
    }

    fn release(&self, claim: &Claim) -> Result<Receipt<ReleaseOutcome>, StoreError> {
        self.write(|tx, now| transition::release::run(tx, &self.sql, claim, now))
    }

    fn confirm_payment(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        self.write(|tx, now| transition::confirm::run(tx, &self.sql, payment, claim, now))
    }

    fn seat(&self, seat: &SeatId) -> Result<Receipt<Option<Seat>>, StoreError> {
        let connection = self.connection()?;
        let outcome = record::find_seat(&connection, &self.sql, seat)?;
        let now = self.clock.now();
        Ok(Receipt {
            version: outcome.as_ref().map_or(Version::ZERO, |seat| seat.version),
            at: outcome.as_ref().map_or(now, |seat| decided_at(now, seat)),
            outcome,
        })
    }

    fn payment(&self, payment: &PaymentId) -> Result<Receipt<Option<PaymentRecord>>, StoreError> {
        let connection = self.connection()?;
        let reading = Transaction::deferred(&connection)?;
        let outcome = record::find_payment(&reading, &self.sql, payment)?;
        let seat = match &outcome {
            Some(recorded) => record::find_seat(&reading, &self.sql, &recorded.claim.seat)?,
            None => None,
        };
        let now = self.clock.now();
        let at = seat.as_ref().map_or(now, |seat| decided_at(now, seat));
        Ok(Receipt {
            version: seat.map_or(Version::ZERO, |seat| seat.version),
            at: outcome
                .as_ref()
                .map_or(at, |recorded| at.max(recorded.decided_at)),
            outcome,
        })
    }

    fn refunds_due(&self, after: RefundCursor, limit: u32) -> Result<RefundsDue, StoreError> {
        const DOING: &str = "reading refunds";
        let connection = self.connection()?;
        let mut statement = connection
            .prepare_cached(record::REFUNDS_DUE)
            .map_err(failed_while(DOING))?;
        let mut rows = statement
            .query(params![after.to_raw(), limit])
            .map_err(failed_while(DOING))?;
        let mut page = RefundsDue {
            refunds: Vec::new(),
            next: after,
        };
        while let Some(row) = rows.next().map_err(failed_while(DOING))? {
            page.refunds.push(record::payment_of(row)?);
            page.next = RefundCursor::from_raw(row.get(8).map_err(failed_while(DOING))?);
        }
        Ok(page)
    }

    fn add_seats(&self, seats: &[SeatId]) -> Result<SeatsAdded, StoreError> {
        self.write(|tx, now| {
            let mut added = 0;
            for seat in seats {
                let new = record::execute(
                    tx,
                    record::ADD_SEAT,
                    params![seat.as_str(), now.as_unix_millis()],
                )
                .map_err(failed_while("adding seats"))?;
                added += u64::from(new);
            }
            Ok(SeatsAdded {
                added,
                already_there: seats.len() as u64 - added,
            })
        })
    }

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let connection = self.connection()?;
        let reading = Transaction::deferred(&connection)?;
        Ok(Snapshot {
            seats: every_row(&reading, record::ALL_SEATS, record::seat_of)?,
            payments: every_row(&reading, record::ALL_PAYMENTS, record::payment_of)?,
        })
    }

    fn execute(&self, command: &Command) -> Result<Receipt<Outcome>, StoreError> {
        self.command(command)
    }
}

fn every_row<T>(
    reading: &rusqlite::Connection,
    sql: &str,
    read: impl Fn(&rusqlite::Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    const DOING: &str = "reading everything";
    let mut statement = reading.prepare_cached(sql).map_err(failed_while(DOING))?;
    let mut rows = statement.query([]).map_err(failed_while(DOING))?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(failed_while(DOING))? {
        all.push(read(row)?);
    }
    Ok(all)
}

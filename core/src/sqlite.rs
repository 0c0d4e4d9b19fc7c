//! The store on an embedded SQLite file.
//!
//! Every transaction that may write begins with `BEGIN IMMEDIATE`, on a pooled connection whose
//! settings were read back, and is answered only after its commit returned. A statement's guard
//! decides; see [`crate::transition`]. Any number of stores, in any number of processes on one
//! machine, may use one file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::params;

use crate::command::{Command, HoldRequest};
use crate::error::StoreError;
use crate::id::{PaymentId, SeatId, Version};
use crate::invariant::Snapshot;
use crate::outcome::{ConfirmOutcome, HoldOutcome, Outcome, Receipt, ReleaseOutcome};
use crate::seat::{Claim, PaymentRecord, Seat};
use crate::store::{RefundCursor, RefundsDue, SeatStore, SeatsAdded};
use crate::time::{Clock, Timestamp};
use crate::transition::record;
use crate::transition::{self, Statements};

mod commit;
mod connection;
pub(crate) mod error;
mod looks;
mod options;
mod pool;
mod queue;
#[cfg(test)]
mod queue_tests;
mod readers;
mod schema;
mod settings;
mod shelf;
#[cfg(test)]
mod shelf_tests;
/// The locks of the commit queue; its tests compile it again with others.
mod sync {
    pub(super) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
}
/// What the shelf is made of; its tests compile it again with others.
mod shelf_sync {
    pub(super) use std::sync::atomic::{AtomicUsize, Ordering};
    pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};
}
mod transaction;

pub use commit::Commits;
pub use options::{Commit, SqliteOptions};
pub use settings::Settings;

use commit::Writer;
use error::failed_while;
use looks::Looks;
use pool::Closing;
use readers::Readers;
use transaction::Transaction;

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
/// Dropping it closes the file before it returns, so that the file can be copied or moved away then; it
/// waits up to 5 seconds for a connection that the pool is just opening.
///
/// # Cost
/// A command that changes nothing is a read or two by primary key, from a snapshot, and waits for
/// nobody, unless nearly all calls of its kind change something: then the reads would be in vain, and it
/// goes to the writer like them. One that changes something is two to five statements by primary key and
/// its share of one sync of the write-ahead log. Of writers, one runs at a time.
///
/// # Why an answer from a snapshot is right
/// A read in WAL mode sees everything committed before it began, and it begins inside the call; so
/// the answer was the truth at an instant inside the call, and it can take effect there. Nothing is
/// remembered between calls. The clock is read after the snapshot was taken: a hold that is called
/// live had not expired when the answer was made. Whatever may change something goes to the writer,
/// and there the guard decides again, whatever the snapshot said.
pub struct SqliteStore {
    path: PathBuf,
    readers: Readers,
    /// Dropped between the pools: the connection that writes is closed last, and it copies the log into
    /// the database. Of two that close at once each may leave that to the other.
    _readers_closing: Closing,
    clock: Arc<dyn Clock>,
    settings: Settings,
    holds: Looks,
    releases: Looks,
    payments: Looks,
    writer: Writer,
    /// Dropped after the pools.
    _closing: Closing,
}

impl SqliteStore {
    /// Options with their defaults: 8 connections, 5 seconds, the commit queue, the system's clock.
    pub fn options() -> SqliteOptions {
        SqliteOptions::default()
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

    /// How well commits have filled since the store was opened.
    pub fn commits(&self) -> Commits {
        self.writer.commits()
    }

    /// How a seat stands, at the time now.
    fn stand(
        &self,
        statements: &Statements<'_>,
        seat: &SeatId,
    ) -> Result<(Version, Timestamp), StoreError> {
        record::look_at_seat(statements, seat, |seat| {
            record::stand(seat, self.clock.now())
        })
    }

    /// How many callers are in the line of [`Commit::Queue`], the one that leads included: how
    /// model-check makes a batch of calls whose order it knows.
    #[cfg(feature = "planted-faults")]
    pub fn in_line(&self) -> Option<usize> {
        self.writer.in_line()
    }

    /// A hold that changes nothing, answered from a snapshot; `None` when it may change something.
    fn hold_unchanged(
        &self,
        request: &HoldRequest,
    ) -> Result<Option<Receipt<HoldOutcome>>, StoreError> {
        let reader = self.readers.lend()?;
        reader.statements(|statements| {
            record::look_at_seat(statements, &request.seat, |seat| {
                transition::hold::refusal(seat, request, self.clock.now())
            })
        })?
    }

    /// A release that changes nothing, answered from a snapshot; `None` when it may change something.
    fn release_unchanged(
        &self,
        claim: &Claim,
    ) -> Result<Option<Receipt<ReleaseOutcome>>, StoreError> {
        let reader = self.readers.lend()?;
        reader.statements(|statements| {
            record::look_at_seat(statements, &claim.seat, |seat| {
                transition::release::refusal(seat, claim, self.clock.now())
            })
        })
    }

    /// The answer about a payment that is known; `None` when it is not. Its record never changes, so
    /// the seat may be read after it: the answer takes effect at the second read.
    fn known_payment(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Option<Receipt<ConfirmOutcome>>, StoreError> {
        let reader = self.readers.lend()?;
        reader.statements(|statements| {
            let Some(recorded) = record::find_payment(statements, payment)? else {
                return Ok(None);
            };
            let stand = self.stand(statements, &recorded.claim.seat)?;
            Ok(Some(transition::confirm::answer_known(
                recorded, claim, stand,
            )))
        })
    }
}

impl SeatStore for SqliteStore {
    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        self.holds.guide(
            || self.hold_unchanged(request),
            || {
                let receipt = self.writer.command(Command::Hold(request.clone()))?;
                Ok(receipt.map(|outcome| match outcome {
                    Outcome::Hold(outcome) => outcome,
                    other => unreachable!("a hold is answered with {other}"),
                }))
            },
            |outcome| matches!(outcome, HoldOutcome::Held { .. }),
        )
    }

    fn release(&self, claim: &Claim) -> Result<Receipt<ReleaseOutcome>, StoreError> {
        self.releases.guide(
            || self.release_unchanged(claim),
            || {
                let receipt = self.writer.command(Command::Release(claim.clone()))?;
                Ok(receipt.map(|outcome| match outcome {
                    Outcome::Release(outcome) => outcome,
                    other => unreachable!("a release is answered with {other}"),
                }))
            },
            |outcome| matches!(outcome, ReleaseOutcome::Released),
        )
    }

    fn confirm_payment(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        self.payments.guide(
            || self.known_payment(payment, claim),
            || {
                let (payment, claim) = (payment.clone(), claim.clone());
                let command = Command::ConfirmPayment { payment, claim };
                Ok(self.writer.command(command)?.map(|outcome| match outcome {
                    Outcome::Confirm(outcome) => outcome,
                    other => unreachable!("a payment is answered with {other}"),
                }))
            },
            |outcome| outcome.recorded().is_none(),
        )
    }

    fn seat(&self, seat: &SeatId) -> Result<Receipt<Option<Seat>>, StoreError> {
        let reader = self.readers.lend()?;
        let outcome = reader.statements(|statements| record::find_seat(statements, seat))?;
        let now = self.clock.now();
        let (version, at) = outcome.as_ref().map_or((Version::ZERO, now), |seat| {
            (seat.version, now.max(seat.changed_at))
        });
        Ok(Receipt {
            outcome,
            version,
            at,
        })
    }

    fn payment(&self, payment: &PaymentId) -> Result<Receipt<Option<PaymentRecord>>, StoreError> {
        let reader = self.readers.lend()?;
        reader.statements(|statements| {
            let outcome = record::find_payment(statements, payment)?;
            // The record never changes, so the seat may be read after it; see `known_payment`.
            let (version, at) = match &outcome {
                Some(recorded) => {
                    let (version, at) = self.stand(statements, &recorded.claim.seat)?;
                    (version, at.max(recorded.decided_at))
                }
                None => (Version::ZERO, self.clock.now()),
            };
            Ok(Receipt {
                outcome,
                version,
                at,
            })
        })
    }

    fn refunds_due(&self, after: RefundCursor, limit: u32) -> Result<RefundsDue, StoreError> {
        const DOING: &str = "reading refunds";
        let connection = self.readers.lend()?;
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
        self.writer.add_seats(seats)
    }

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let connection = self.readers.lend()?;
        let reading = Transaction::deferred(&connection)?;
        Ok(Snapshot {
            seats: every_row(&reading, record::ALL_SEATS, record::seat_of)?,
            payments: every_row(&reading, record::ALL_PAYMENTS, record::payment_of)?,
        })
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

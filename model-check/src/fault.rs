//! Faults that are injected while a store works: a held lock, a commit that fails, a lost answer.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use soldonce::invariant::Snapshot;
use soldonce::{
    Claim, Command, ConfirmOutcome, HoldOutcome, HoldRequest, Outcome, PaymentId, PaymentRecord,
    Receipt, RefundCursor, RefundsDue, ReleaseOutcome, Seat, SeatId, SeatStore, SeatsAdded,
    StoreError,
};

use crate::store_choice::World;

/// Something that is on or off, shared by who switches and who looks.
#[derive(Debug, Clone, Default)]
pub struct Switch(Arc<AtomicBool>);

impl Switch {
    /// Switches it.
    pub fn set(&self, on: bool) {
        self.0.store(on, Ordering::Release);
    }

    /// Is it on?
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A store whose answers are lost on the way while the world's switch is on: the call takes effect,
/// and the caller is told [`StoreError::Unknown`].
pub struct LostAnswers<S> {
    inner: S,
    lose: Switch,
}

impl<S> LostAnswers<S> {
    /// Wraps a store.
    pub fn new(inner: S, world: &World) -> Self {
        Self {
            inner,
            lose: world.lose_answers.clone(),
        }
    }

    fn deliver<T>(&self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        match answer {
            Ok(_) if self.lose.is_on() => Err(StoreError::Unknown("the answer was lost".into())),
            other => other,
        }
    }
}

impl<S: SeatStore> SeatStore for LostAnswers<S> {
    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        self.deliver(self.inner.hold(request))
    }

    fn release(&self, claim: &Claim) -> Result<Receipt<ReleaseOutcome>, StoreError> {
        self.deliver(self.inner.release(claim))
    }

    fn confirm_payment(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        self.deliver(self.inner.confirm_payment(payment, claim))
    }

    fn seat(&self, seat: &SeatId) -> Result<Receipt<Option<Seat>>, StoreError> {
        self.inner.seat(seat)
    }

    fn payment(&self, payment: &PaymentId) -> Result<Receipt<Option<PaymentRecord>>, StoreError> {
        self.inner.payment(payment)
    }

    fn refunds_due(&self, after: RefundCursor, limit: u32) -> Result<RefundsDue, StoreError> {
        self.inner.refunds_due(after, limit)
    }

    fn add_seats(&self, seats: &[SeatId]) -> Result<SeatsAdded, StoreError> {
        self.inner.add_seats(seats)
    }

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.inner.snapshot()
    }

    fn execute(&self, command: &Command) -> Result<Receipt<Outcome>, StoreError> {
        self.deliver(self.inner.execute(command))
    }
}

/// Plants faults in an SQLite file from outside, as another process would.
pub struct Saboteur {
    connection: Connection,
}

impl Saboteur {
    /// Opens the file beside the store.
    ///
    /// # Errors
    /// SQLite's.
    pub fn new(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(std::time::Duration::ZERO)?;
        Ok(Self { connection })
    }

    /// Takes the write lock and keeps it.
    ///
    /// # Errors
    /// SQLite's; busy when somebody else has it.
    pub fn lock(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")
    }

    /// Lets the write lock go.
    ///
    /// # Errors
    /// SQLite's.
    pub fn unlock(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch("ROLLBACK")
    }

    /// From now on every commit of a change fails: a foreign key that is checked only at the commit
    /// points nowhere.
    ///
    /// # Errors
    /// SQLite's.
    pub fn fail_commits(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch(
            "BEGIN IMMEDIATE;
             CREATE TABLE sabotage (
                 nowhere INTEGER REFERENCES sabotage (rowid_of) DEFERRABLE INITIALLY DEFERRED,
                 rowid_of INTEGER UNIQUE);
             CREATE TRIGGER sabotage_seats AFTER UPDATE ON seats
             BEGIN INSERT INTO sabotage (nowhere) VALUES (1); END;
             CREATE TRIGGER sabotage_payments AFTER INSERT ON payments
             BEGIN INSERT INTO sabotage (nowhere) VALUES (1); END;
             COMMIT",
        )
    }

    /// Commits succeed again.
    ///
    /// # Errors
    /// SQLite's; busy when a failed transaction still holds the write lock.
    pub fn mend_commits(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch(
            "BEGIN IMMEDIATE;
             DROP TRIGGER sabotage_seats; DROP TRIGGER sabotage_payments; DROP TABLE sabotage;
             COMMIT",
        )
    }
}

//! The trait that stores share.

use crate::command::{Command, HoldRequest};
use crate::error::StoreError;
use crate::id::{PaymentId, SeatId};
use crate::invariant::{Snapshot, Violation, audit};
use crate::outcome::{ConfirmOutcome, HoldOutcome, Outcome, Receipt, ReleaseOutcome};
use crate::seat::{Claim, PaymentRecord, Seat};

/// A store of seats.
///
/// The SQLite store is one; the broken stores that model-check plants are others. Every method may
/// be called from any thread. What each command answers is the table in [`crate::transition`]; the
/// errors are those of [`StoreError`], and every one says whether the call took effect.
pub trait SeatStore: Send + Sync {
    /// Takes a seat for a while, for an owner.
    ///
    /// # Errors
    /// [`StoreError::UnknownSeat`] for a seat that was never added; otherwise see [`StoreError`].
    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError>;

    /// Gives a hold back before it ends.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn release(&self, claim: &Claim) -> Result<Receipt<ReleaseOutcome>, StoreError>;

    /// Decides about a payment, once for ever: it buys the seat, or a refund is required.
    ///
    /// # Errors
    /// See [`StoreError`]. After any of them the payment is *not* decided for the caller: repeat the
    /// call until it answers, or money is neither a sale nor a refund.
    fn confirm_payment(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError>;

    /// One seat as it is now; `None` if it was never added.
    ///
    /// # Errors
    /// See [`StoreError`]; a read never ends in [`StoreError::Unknown`].
    fn seat(&self, seat: &SeatId) -> Result<Receipt<Option<Seat>>, StoreError>;

    /// What was decided about a payment; `None` if it is not known. The receipt names the present
    /// version of the recorded seat, or zero for an unknown payment.
    ///
    /// # Errors
    /// See [`StoreError`]; a read never ends in [`StoreError::Unknown`].
    fn payment(&self, payment: &PaymentId) -> Result<Receipt<Option<PaymentRecord>>, StoreError>;

    /// The payments that must be given back, in the order in which they were decided, up to `limit`
    /// of them after the cursor. A refund that is decided later always comes after every cursor
    /// given out before, so a reader that keeps its cursor misses none.
    ///
    /// # Errors
    /// See [`StoreError`]; a read never ends in [`StoreError::Unknown`].
    fn refunds_due(&self, after: RefundCursor, limit: u32) -> Result<RefundsDue, StoreError>;

    /// Adds seats, all of them or none. A seat that is there already stays as it is.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn add_seats(&self, seats: &[SeatId]) -> Result<SeatsAdded, StoreError>;

    /// Everything that is stored, as of one instant: for [`audit`] and for tests, not for a sale.
    ///
    /// # Errors
    /// See [`StoreError`]; a row of the wrong shape is [`StoreError::Corrupt`].
    fn snapshot(&self) -> Result<Snapshot, StoreError>;

    /// Checks the invariants on everything stored, as of one instant. Empty when all hold.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn audit(&self) -> Result<Vec<Violation>, StoreError> {
        self.snapshot().map(|snapshot| audit(&snapshot))
    }

    /// Runs a command that is given as a value.
    ///
    /// # Errors
    /// Those of the method that the command stands for.
    fn execute(&self, command: &Command) -> Result<Receipt<Outcome>, StoreError> {
        match command {
            Command::Hold(request) => self.hold(request).map(|r| r.map(Outcome::Hold)),
            Command::Release(claim) => self.release(claim).map(|r| r.map(Outcome::Release)),
            Command::ConfirmPayment { payment, claim } => self
                .confirm_payment(payment, claim)
                .map(|r| r.map(Outcome::Confirm)),
        }
    }
}

/// A place in the list of refunds. Durable: it may be kept across restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RefundCursor(i64);

impl RefundCursor {
    /// Before the first refund.
    pub const START: Self = Self(0);

    /// A cursor that was kept as a number.
    pub const fn from_raw(raw: i64) -> Self {
        Self(raw)
    }

    /// The cursor as a number, to keep it.
    pub const fn to_raw(self) -> i64 {
        self.0
    }
}

/// A page of [`SeatStore::refunds_due`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundsDue {
    /// The refunds, in the order in which they were decided.
    pub refunds: Vec<PaymentRecord>,
    /// After the last of them. Give it to the next call; when a page has no refunds, there are none now.
    pub next: RefundCursor,
}

/// What [`SeatStore::add_seats`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SeatsAdded {
    /// Seats that are new.
    pub added: u64,
    /// Seats that were there already, or stood twice in the list.
    pub already_there: u64,
}

//! A store that differs from the one inside it only by what it overrides.

use soldonce::invariant::Snapshot;
use soldonce::{
    Claim, ConfirmOutcome, HoldOutcome, HoldRequest, PaymentId, PaymentRecord, Receipt,
    RefundCursor, RefundsDue, ReleaseOutcome, Seat, SeatId, SeatStore, SeatsAdded, StoreError,
};

/// The methods of [`SeatStore`], each passed on to the store inside unless it is overridden.
///
/// A trait of its own, because in [`SeatStore`] a method that was forgotten must not compile.
#[expect(missing_docs, reason = "each is documented at SeatStore")]
#[expect(clippy::missing_errors_doc, reason = "each is documented at SeatStore")]
pub trait Wrap: Send + Sync {
    /// The store inside.
    fn inner(&self) -> &dyn SeatStore;

    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        self.inner().hold(request)
    }

    fn release(&self, claim: &Claim) -> Result<Receipt<ReleaseOutcome>, StoreError> {
        self.inner().release(claim)
    }

    fn confirm(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        self.inner().confirm_payment(payment, claim)
    }

    fn seat(&self, seat: &SeatId) -> Result<Receipt<Option<Seat>>, StoreError> {
        self.inner().seat(seat)
    }

    fn payment(&self, payment: &PaymentId) -> Result<Receipt<Option<PaymentRecord>>, StoreError> {
        self.inner().payment(payment)
    }

    fn refunds_due(&self, after: RefundCursor, limit: u32) -> Result<RefundsDue, StoreError> {
        self.inner().refunds_due(after, limit)
    }

    fn add_seats(&self, seats: &[SeatId]) -> Result<SeatsAdded, StoreError> {
        self.inner().add_seats(seats)
    }

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.inner().snapshot()
    }
}

/// A [`Wrap`] as a store.
pub struct Wrapped<W>(pub W);

impl<W: Wrap> SeatStore for Wrapped<W> {
    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        self.0.hold(request)
    }

    fn release(&self, claim: &Claim) -> Result<Receipt<ReleaseOutcome>, StoreError> {
        self.0.release(claim)
    }

    fn confirm_payment(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        self.0.confirm(payment, claim)
    }

    fn seat(&self, seat: &SeatId) -> Result<Receipt<Option<Seat>>, StoreError> {
        self.0.seat(seat)
    }

    fn payment(&self, payment: &PaymentId) -> Result<Receipt<Option<PaymentRecord>>, StoreError> {
        self.0.payment(payment)
    }

    fn refunds_due(&self, after: RefundCursor, limit: u32) -> Result<RefundsDue, StoreError> {
        self.0.refunds_due(after, limit)
    }

    fn add_seats(&self, seats: &[SeatId]) -> Result<SeatsAdded, StoreError> {
        self.0.add_seats(seats)
    }

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.0.snapshot()
    }
}

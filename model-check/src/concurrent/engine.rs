//! A store in memory that is made of statements and transactions, so that a fault between two of them
//! is a line of code.
//!
//! A transaction holds one lock, as SQLite's single writer does; what is not in one transaction is open
//! to others in between. Every border of a statement yields to other threads, which makes the windows
//! likely without sleeping in the store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use soldonce::invariant::Snapshot;
use soldonce::{
    Claim, Clock, Command, ConfirmOutcome, Decision, HoldOutcome, HoldRequest, Outcome, PaymentId,
    PaymentRecord, Receipt, RefundCursor, RefundsDue, ReleaseOutcome, Seat, SeatId, SeatStore,
    SeatsAdded, StoreError, Timestamp,
};

use crate::reference::{Decided, Rejected, State, decide};

/// A store with a way of its own to run a command; everything else is right.
pub(super) struct Engine<C> {
    pub(super) state: Mutex<State>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) commands: C,
}

/// How a store runs commands and reads.
pub(super) trait Commands: Send + Sync {
    /// Runs a command.
    fn run(&self, db: &Db<'_>, command: &Command) -> Result<Receipt<Outcome>, Rejected> {
        db.transaction(|state, now| {
            let decided = decide(state.view(command), command, now)?;
            write(state, &decided);
            Ok(decided.receipt)
        })
    }

    /// Reads a seat.
    fn seat(&self, db: &Db<'_>, seat: &SeatId) -> Receipt<Option<Seat>> {
        db.transaction(|state, now| state.seat(seat, now))
    }
}

/// The database, as a command sees it.
pub(super) struct Db<'e> {
    state: &'e Mutex<State>,
    clock: &'e dyn Clock,
}

impl Db<'_> {
    /// One transaction: nobody else is in one meanwhile. The clock is read inside.
    pub(super) fn transaction<T>(&self, work: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        self.border();
        let mut state = lock(self.state);
        let done = work(&mut state, self.clock.now());
        drop(state);
        self.border();
        done
    }

    /// The border of a statement.
    #[expect(clippy::unused_self, reason = "reads as part of the database")]
    pub(super) fn border(&self) {
        std::thread::yield_now();
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes what was decided, whatever is there by now.
pub(super) fn write(state: &mut State, decided: &Decided) {
    if let Some(seat) = &decided.seat {
        state.seats.insert(seat.id.clone(), seat.clone());
    }
    if let Some(record) = &decided.record {
        state
            .payments
            .insert(record.payment.clone(), record.clone());
    }
}

impl<C: Commands> Engine<C> {
    pub(super) fn new(clock: Arc<dyn Clock>, commands: C) -> Self {
        Self {
            state: Mutex::new(State::default()),
            clock,
            commands,
        }
    }

    fn db(&self) -> Db<'_> {
        Db {
            state: &self.state,
            clock: &*self.clock,
        }
    }

    fn run(&self, command: &Command) -> Result<Receipt<Outcome>, StoreError> {
        self.commands
            .run(&self.db(), command)
            .map_err(|rejected| match rejected {
                Rejected::UnknownSeat => StoreError::UnknownSeat(command.seat().clone()),
                Rejected::EndsTooLate => {
                    soldonce::Invalid::new("length of a hold", "too long", "less").into()
                }
            })
    }
}

/// The outcome of a command of this kind.
macro_rules! only {
    ($receipt:expr, $kind:ident) => {{
        let receipt = $receipt;
        match receipt.outcome {
            Outcome::$kind(outcome) => Ok(Receipt {
                outcome,
                version: receipt.version,
                at: receipt.at,
            }),
            other => unreachable!("{other} is the answer to another command"),
        }
    }};
}

impl<C: Commands> SeatStore for Engine<C> {
    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        only!(self.run(&Command::Hold(request.clone()))?, Hold)
    }

    fn release(&self, claim: &Claim) -> Result<Receipt<ReleaseOutcome>, StoreError> {
        only!(self.run(&Command::Release(claim.clone()))?, Release)
    }

    fn confirm_payment(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        let (payment, claim) = (payment.clone(), claim.clone());
        only!(
            self.run(&Command::ConfirmPayment { payment, claim })?,
            Confirm
        )
    }

    fn seat(&self, seat: &SeatId) -> Result<Receipt<Option<Seat>>, StoreError> {
        Ok(self.commands.seat(&self.db(), seat))
    }

    fn payment(&self, payment: &PaymentId) -> Result<Receipt<Option<PaymentRecord>>, StoreError> {
        Ok(self
            .db()
            .transaction(|state, now| state.payment(payment, now)))
    }

    /// In the order of their ids, not in that in which they were decided.
    fn refunds_due(&self, after: RefundCursor, limit: u32) -> Result<RefundsDue, StoreError> {
        let state = lock(&self.state);
        let due = state.payments.values().zip(1..);
        let mut next = after;
        let refunds = due
            .filter(|(record, _)| record.decision != Decision::Sold)
            .filter(|(_, place)| *place > after.to_raw())
            .take(limit as usize)
            .map(|(record, place)| {
                next = RefundCursor::from_raw(place);
                record.clone()
            })
            .collect();
        Ok(RefundsDue { refunds, next })
    }

    fn add_seats(&self, seats: &[SeatId]) -> Result<SeatsAdded, StoreError> {
        let now = self.clock.now();
        let mut state = lock(&self.state);
        let added = seats.iter().filter(|seat| state.add(seat, now)).count() as u64;
        Ok(SeatsAdded {
            added,
            already_there: seats.len() as u64 - added,
        })
    }

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let state = lock(&self.state);
        Ok(Snapshot {
            seats: state.seats.values().cloned().collect(),
            payments: state.payments.values().cloned().collect(),
        })
    }
}

/// No fault: the store that every mutant differs from by one.
pub(super) struct Right;

impl Commands for Right {}

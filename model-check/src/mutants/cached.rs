//! Faults of stores that keep something in the memory of the process.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use soldonce::{
    Claim, ConfirmOutcome, Decision, HoldOutcome, HoldRefusal, HoldRequest, PaymentId,
    PaymentRecord, Receipt, RefundCursor, RefundsDue, ReleaseOutcome, Seat, SeatId, SeatStore,
    StoreError, Timestamp, Version,
};

use super::sql::{patched, plant};
use super::wrap::{Wrap, Wrapped};
use super::{Mutant, caught, only_in_sequences};
use crate::sequence::Check::{Fault, Restart, State};
use crate::store_choice::{Real, Subject as _, World};

pub(super) const MUTANTS: [Mutant; 5] = [
    Mutant::new(
        "M21",
        "known payments are remembered by the process only",
        only_in_sequences(Restart),
        |path, world| {
            let forgetful = patched(path, world, |sql| {
                plant(
                    &mut sql.find_payment,
                    "payment_id = ?1",
                    "payment_id = ?1 AND 0",
                );
                plant(
                    &mut sql.record_payment,
                    "?7, ?8)",
                    "?7, ?8) ON CONFLICT (payment_id) DO NOTHING",
                );
            })?;
            Ok(Box::new(Wrapped(Remembered {
                known: Mutex::default(),
                inner: Real::default().open(path, world)?,
                forgetful,
            })))
        },
    ),
    Mutant::new(
        "N30",
        "seats are cached, and forgotten only when this process changes them",
        only_in_sequences(Restart),
        |path, world| {
            Ok(Box::new(Wrapped(CachedSeats {
                seats: Mutex::default(),
                inner: Real::default().open(path, world)?,
            })))
        },
    ),
    Mutant::new(
        "N31",
        "a refusal is cached until the hold ends, whoever releases it meanwhile",
        only_in_sequences(crate::sequence::Check::Answer),
        |path, world| {
            Ok(Box::new(Wrapped(CachedRefusals {
                refused: Mutex::default(),
                inner: Real::default().open(path, world)?,
                world: world.clone(),
            })))
        },
    ),
    Mutant::new(
        "N32",
        "a refund is listed once, and then taken for done",
        caught(State),
        |path, world| {
            Ok(Box::new(Wrapped(ListedOnce {
                listed: Mutex::default(),
                inner: Real::default().open(path, world)?,
            })))
        },
    ),
    Mutant::new(
        "N33",
        "a payment is remembered as sold before its commit is known",
        only_in_sequences(Fault),
        |path, world| {
            Ok(Box::new(Wrapped(TooEarly {
                sold: Mutex::default(),
                inner: Real::default().open(path, world)?,
            })))
        },
    ),
];

/// M21: the set of known payments lives and dies with the process.
struct Remembered {
    known: Mutex<HashSet<PaymentId>>,
    inner: Box<dyn SeatStore>,
    forgetful: Box<dyn SeatStore>,
}

impl Wrap for Remembered {
    fn inner(&self) -> &dyn SeatStore {
        &*self.inner
    }

    fn confirm(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        let known = self.known.lock().expect("not poisoned").contains(payment);
        let store = if known { &self.inner } else { &self.forgetful };
        let answer = store.confirm_payment(payment, claim);
        if !matches!(answer, Err(StoreError::Busy { .. })) {
            self.known
                .lock()
                .expect("not poisoned")
                .insert(payment.clone());
        }
        answer
    }
}

/// N30: reads come from memory.
struct CachedSeats {
    seats: Mutex<HashMap<SeatId, Receipt<Option<Seat>>>>,
    inner: Box<dyn SeatStore>,
}

impl CachedSeats {
    fn forget(&self, seat: &SeatId) {
        self.seats.lock().expect("not poisoned").remove(seat);
    }
}

impl Wrap for CachedSeats {
    fn inner(&self) -> &dyn SeatStore {
        &*self.inner
    }

    fn seat(&self, seat: &SeatId) -> Result<Receipt<Option<Seat>>, StoreError> {
        let fresh = self.inner.seat(seat)?;
        let mut seats = self.seats.lock().expect("not poisoned");
        let cached = seats.entry(seat.clone()).or_insert_with(|| fresh.clone());
        // A missing seat is not cached, and the time is that of the call.
        if cached.outcome.is_none() {
            cached.clone_from(&fresh);
        }
        let mut answer = cached.clone();
        answer.at = fresh.at;
        Ok(answer)
    }

    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        self.forget(&request.seat);
        self.inner.hold(request)
    }

    fn release(&self, claim: &Claim) -> Result<Receipt<ReleaseOutcome>, StoreError> {
        self.forget(&claim.seat);
        self.inner.release(claim)
    }

    fn confirm(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        self.forget(&claim.seat);
        self.inner.confirm_payment(payment, claim)
    }
}

/// N31: who was refused once is refused from memory until the hold would have ended.
struct CachedRefusals {
    refused: Mutex<HashMap<HoldRequest, Receipt<HoldOutcome>>>,
    inner: Box<dyn SeatStore>,
    world: World,
}

impl Wrap for CachedRefusals {
    fn inner(&self) -> &dyn SeatStore {
        &*self.inner
    }

    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        let now = self.world.clock.now();
        let mut refused = self.refused.lock().expect("not poisoned");
        if let Some(cached) = refused.get(request)
            && let HoldOutcome::Refused(HoldRefusal::HeldUntil(expires)) = cached.outcome
            && now < expires
        {
            let mut answer = cached.clone();
            answer.at = answer.at.max(now);
            return Ok(answer);
        }
        let answer = self.inner.hold(request)?;
        refused.insert(request.clone(), answer.clone());
        Ok(answer)
    }
}

/// N32: an outbox that delivers at most once.
struct ListedOnce {
    listed: Mutex<HashSet<PaymentId>>,
    inner: Box<dyn SeatStore>,
}

impl Wrap for ListedOnce {
    fn inner(&self) -> &dyn SeatStore {
        &*self.inner
    }

    fn refunds_due(&self, after: RefundCursor, limit: u32) -> Result<RefundsDue, StoreError> {
        let mut page = self.inner.refunds_due(after, limit)?;
        let mut listed = self.listed.lock().expect("not poisoned");
        page.refunds
            .retain(|refund| listed.insert(refund.payment.clone()));
        Ok(page)
    }
}

/// N33: memory runs ahead of the disk.
struct TooEarly {
    sold: Mutex<HashMap<PaymentId, Claim>>,
    inner: Box<dyn SeatStore>,
}

impl Wrap for TooEarly {
    fn inner(&self) -> &dyn SeatStore {
        &*self.inner
    }

    fn confirm(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        let mut sold = self.sold.lock().expect("not poisoned");
        if sold.get(payment) == Some(claim) {
            let recorded = Box::new(PaymentRecord {
                payment: payment.clone(),
                claim: claim.clone(),
                decision: Decision::Sold,
                version: Version::ZERO,
                decided_at: Timestamp::MIN,
            });
            return Ok(Receipt {
                outcome: ConfirmOutcome::Duplicate { recorded },
                version: Version::ZERO,
                at: Timestamp::MIN,
            });
        }
        let answer = self.inner.confirm_payment(payment, claim);
        if matches!(answer, Err(StoreError::Unknown(_))) {
            sold.insert(payment.clone(), claim.clone());
        }
        answer
    }
}

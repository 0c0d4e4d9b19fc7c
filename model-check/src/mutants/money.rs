//! Faults in what becomes of a payment.

use soldonce::{
    Claim, ConfirmOutcome, Decision, HoldOutcome, HoldRefusal, HoldRequest, PaymentId, Receipt,
    RefundCursor, RefundReason, RefundsDue, SeatStore, StoreError, Timestamp, Version,
};

use super::sql::{bare, patched, plant};
use super::wrap::{Wrap, Wrapped};
use super::{Mutant, caught, only_in_sequences};
use crate::sequence::Check::{Answer, Audit, Fault, State};
use crate::store_choice::{Real, Subject as _};

const OWNER: &str = " AND owner = ?3";
const HOLD: &str = " AND version = ?4";
const LIVE: &str = " AND (max(?2, changed_at) < expires)";
const RECORDED: &str = "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

pub(super) const MUTANTS: [Mutant; 19] = [
    Mutant::new(
        "M06",
        "confirm: accepted at the very instant the hold ends",
        caught(Answer),
        |path, world| {
            patched(path, world, |sql| {
                plant(&mut sql.confirm, ") < expires", ") <= expires");
            })
        },
    ),
    Mutant::new(
        "M08",
        "at the instant a hold ends the seat is free for others and payable by its holder",
        caught(Answer),
        |path, world| {
            patched(path, world, |sql| {
                plant(&mut sql.confirm, ") < expires", ") <= expires");
            })
        },
    )
    .note("the same statement as M06: this store's hold takes the seat at that instant"),
    Mutant::new(
        "M12",
        "confirm: the owner is not compared",
        caught(Answer),
        |path, world| bare(path, world, |sql| plant(&mut sql.confirm, OWNER, "")),
    )
    .bare(),
    Mutant::new(
        "M13",
        "confirm: being held is enough, the expiry is not compared",
        caught(Answer),
        |path, world| patched(path, world, |sql| plant(&mut sql.confirm, LIVE, "")),
    )
    .seen_in("cqrs-journey 392"),
    Mutant::new(
        "M14",
        "confirm: a late payer overwrites the new holder",
        caught(Answer),
        |path, world| {
            bare(path, world, |sql| {
                plant(
                    &mut sql.confirm,
                    " AND owner = ?3 AND version = ?4",
                    " AND (owner = ?3 AND version = ?4 OR ?4 BETWEEN 1 AND version - 1)",
                );
                plant(
                    &mut sql.confirm,
                    "payment_id = ?5,",
                    "payment_id = ?5, owner = ?3, hold_id = ?4,",
                );
            })
        },
    )
    .seen_in("events-made-easy 496")
    .bare(),
    Mutant::new(
        "M15",
        "confirm: matched by owner, so an old payment buys a new hold",
        caught(Answer),
        |path, world| bare(path, world, |sql| plant(&mut sql.confirm, HOLD, "")),
    )
    .bare(),
    Mutant::new(
        "M16",
        "confirm: a known payment id alone makes a duplicate",
        caught(Answer),
        |path, world| {
            Ok(Box::new(Wrapped(Loose {
                inner: Real::default().open(path, world)?,
                same: |_, _| true,
            })))
        },
    ),
    Mutant::new(
        "M17",
        "confirm: payment id and seat make a duplicate, the owner is not compared",
        caught(Answer),
        |path, world| {
            Ok(Box::new(Wrapped(Loose {
                inner: Real::default().open(path, world)?,
                same: |a, b| a.seat == b.seat && a.hold_id == b.hold_id,
            })))
        },
    ),
    Mutant::new(
        "M24",
        "confirm: a payment that can not be honoured leaves no record",
        caught(Audit),
        |path, world| {
            patched(path, world, |sql| {
                plant(
                    &mut sql.record_payment,
                    RECORDED,
                    "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE ?5 = 'sold'",
                );
            })
        },
    )
    .seen_in("pretix 74, saleor 14733"),
    Mutant::new(
        "M26",
        "confirm: a payment once refused is sold when it is delivered again",
        caught(Answer),
        |path, world| {
            bare(path, world, |sql| {
                plant(
                    &mut sql.confirm,
                    "payment_id = ?5)",
                    "payment_id = ?5 AND decision = 'sold')",
                );
            })
        },
    )
    .seen_in("statamic-cargo 190")
    .bare(),
    Mutant::new(
        "M36",
        "a busy database is answered as a refusal or a refund",
        only_in_sequences(Fault),
        |path, world| {
            Ok(Box::new(Wrapped(Hasty {
                inner: Real::default().open(path, world)?,
                hides: |error| matches!(error, StoreError::Busy { .. }),
            })))
        },
    )
    .seen_in("MostroP2P 954"),
    Mutant::new(
        "M37",
        "an unknown commit is answered as a failure, and the money sent back",
        only_in_sequences(Fault),
        |path, world| {
            Ok(Box::new(Wrapped(Hasty {
                inner: Real::default().open(path, world)?,
                hides: |error| matches!(error, StoreError::Unknown(_)),
            })))
        },
    )
    .seen_in("chobble tickets PR 1833"),
    Mutant::new(
        "N20",
        "confirm: money for a seat that does not exist is dropped",
        caught(Audit),
        |path, world| {
            patched(path, world, |sql| {
                plant(
                    &mut sql.record_payment,
                    RECORDED,
                    "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE ?6 IS NOT 'unknown_seat'",
                );
            })
        },
    ),
    Mutant::new(
        "N21",
        "confirm: a payment is known per seat, so one payment buys two seats",
        caught(Answer),
        |path, world| {
            bare(path, world, |sql| {
                plant(
                    &mut sql.confirm,
                    "payment_id = ?5)",
                    "payment_id = ?5 AND seat_id = ?1)",
                );
            })
        },
    )
    .bare(),
    Mutant::new(
        "N22",
        "confirm: a redelivered refund is decided anew",
        caught(State),
        |path, world| {
            patched(path, world, |sql| {
                plant(
                    &mut sql.find_payment,
                    "payment_id = ?1",
                    "payment_id = ?1 AND decision = 'sold'",
                );
                plant(
                    &mut sql.record_payment,
                    RECORDED,
                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (payment_id) DO NOTHING",
                );
            })
        },
    ),
    Mutant::new(
        "N23",
        "confirm: every redelivery is told 'seen already', also that of a refund",
        caught(Answer),
        |path, world| {
            Ok(Box::new(Wrapped(SeenAlready(
                Real::default().open(path, world)?,
            ))))
        },
    ),
    Mutant::new(
        "N24",
        "confirm: the time of the sale is not kept on the seat",
        caught(Audit),
        |path, world| {
            patched(path, world, |sql| {
                plant(
                    &mut sql.confirm,
                    "changed_at = max(?2, changed_at)\n",
                    "changed_at = changed_at\n",
                );
            })
        },
    ),
    Mutant::new(
        "N25",
        "refunds: a page is so many payments, and then those to refund among them",
        only_in_sequences(State),
        |path, world| {
            let inner = Real::default().open(path, world)?;
            Ok(Box::new(Wrapped(LimitBeforeFilter(inner))))
        },
    ),
    Mutant::new(
        "N26",
        "refunds: the limit of a page is not kept",
        only_in_sequences(State),
        |path, world| {
            let inner = Real::default().open(path, world)?;
            Ok(Box::new(Wrapped(WithoutLimit(inner))))
        },
    ),
];

/// Calls two claims the same that are not.
struct Loose {
    inner: Box<dyn SeatStore>,
    same: fn(&Claim, &Claim) -> bool,
}

impl Wrap for Loose {
    fn inner(&self) -> &dyn SeatStore {
        &*self.inner
    }

    fn confirm(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        let answer = self.inner.confirm_payment(payment, claim)?;
        Ok(answer.map(|outcome| match outcome {
            ConfirmOutcome::Conflict { recorded } if (self.same)(&recorded.claim, claim) => {
                match recorded.decision {
                    Decision::Sold => ConfirmOutcome::Duplicate { recorded },
                    Decision::RefundRequired(reason) => ConfirmOutcome::RefundRequired {
                        reason,
                        recorded: Some(recorded),
                    },
                }
            }
            other => other,
        }))
    }
}

/// Makes a verdict of an error that is none.
struct Hasty {
    inner: Box<dyn SeatStore>,
    hides: fn(&StoreError) -> bool,
}

impl Wrap for Hasty {
    fn inner(&self) -> &dyn SeatStore {
        &*self.inner
    }

    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        match self.inner.hold(request) {
            Err(error) if (self.hides)(&error) => {
                Ok(verdict(HoldOutcome::Refused(HoldRefusal::Sold)))
            }
            other => other,
        }
    }

    fn confirm(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        match self.inner.confirm_payment(payment, claim) {
            Err(error) if (self.hides)(&error) => Ok(verdict(ConfirmOutcome::RefundRequired {
                reason: RefundReason::Superseded,
                recorded: None,
            })),
            other => other,
        }
    }
}

fn verdict<T>(outcome: T) -> Receipt<T> {
    Receipt {
        outcome,
        version: Version::ZERO,
        at: Timestamp::MIN,
    }
}

/// Has seen the payment, and does not look at what became of it.
struct SeenAlready(Box<dyn SeatStore>);

impl Wrap for SeenAlready {
    fn inner(&self) -> &dyn SeatStore {
        &*self.0
    }

    fn confirm(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        let answer = self.0.confirm_payment(payment, claim)?;
        Ok(answer.map(|outcome| match outcome {
            ConfirmOutcome::RefundRequired {
                recorded: Some(recorded),
                ..
            } => ConfirmOutcome::Duplicate { recorded },
            other => other,
        }))
    }
}

/// N25: a page without a refund looks like the end.
struct LimitBeforeFilter(Box<dyn SeatStore>);

impl Wrap for LimitBeforeFilter {
    fn inner(&self) -> &dyn SeatStore {
        &*self.0
    }

    fn refunds_due(&self, after: RefundCursor, limit: u32) -> Result<RefundsDue, StoreError> {
        let payments = self.0.snapshot()?.payments;
        let mut page = RefundsDue {
            refunds: Vec::new(),
            next: after,
        };
        let later = (1..)
            .zip(payments)
            .skip_while(|(seq, _)| *seq <= after.to_raw());
        for (seq, record) in later.take(limit as usize) {
            page.next = RefundCursor::from_raw(seq);
            if record.decision != Decision::Sold {
                page.refunds.push(record);
            }
        }
        Ok(page)
    }
}

/// N26: all at once, however many were asked for.
struct WithoutLimit(Box<dyn SeatStore>);

impl Wrap for WithoutLimit {
    fn inner(&self) -> &dyn SeatStore {
        &*self.0
    }

    fn refunds_due(&self, after: RefundCursor, _: u32) -> Result<RefundsDue, StoreError> {
        self.0.refunds_due(after, u32::MAX)
    }
}

//! What a buyer does with an answer: the next calls of their plan, put off until they are due.

use soldonce::{ConfirmOutcome, HoldId, HoldOutcome, HoldRefusal, Outcome};

use super::Client;
use crate::call::Call;
use crate::mix::Plan;
use crate::names::{BuyerKey, ClaimKey, PaymentKey};
use crate::workload::Intent;

/// Added to a hold id, it makes one that is never given in a run.
const NEVER_GIVEN: i64 = 1 << 40;

impl Client<'_> {
    /// What a buyer does after an answer.
    pub(super) fn react(&mut self, call: &Call, outcome: &Outcome, now_ns: u64) {
        match (*call, outcome) {
            (
                Call::Hold {
                    intent,
                    seat,
                    hot,
                    again: false,
                },
                Outcome::Hold(HoldOutcome::Held { hold_id, .. }),
            ) => {
                self.holds(&intent, seat, *hold_id, now_ns);
                if intent.look {
                    self.put_off(Call::Look { seat }, 0, now_ns);
                }
                if intent.repeat_hold {
                    let again = Call::Hold {
                        intent,
                        seat,
                        hot,
                        again: true,
                    };
                    // While they still hold it, unless they are late anyway.
                    let half_ns = intent.wait_us.saturating_mul(500);
                    self.put_off(again, 0, now_ns.saturating_add(half_ns));
                }
            }
            (Call::Hold { seat, .. }, Outcome::Hold(HoldOutcome::Refused(HoldRefusal::Sold))) => {
                self.shared.hot.sold(seat);
            }
            (Call::Release { claim, twice, look }, _) => {
                if twice {
                    let again = Call::Release {
                        claim,
                        twice: false,
                        look: false,
                    };
                    self.put_off(again, 0, now_ns);
                }
                self.looks(look, claim, now_ns);
            }
            (
                Call::Pay {
                    payment,
                    claim,
                    twice,
                    double,
                    renamed,
                    look,
                },
                Outcome::Confirm(outcome),
            ) => {
                self.told(payment, claim, outcome);
                self.looks(look, claim, now_ns);
                let mut pay = |payment, claim| {
                    let call = Call::Pay {
                        payment,
                        claim,
                        twice: false,
                        double: false,
                        renamed: false,
                        look: false,
                    };
                    self.put_off(call, 0, now_ns);
                };
                if twice {
                    pay(payment, claim);
                }
                if renamed {
                    let owner = stranger_to(claim.owner);
                    pay(payment, ClaimKey { owner, ..claim });
                }
                if double {
                    let second = PaymentKey {
                        second: true,
                        ..payment
                    };
                    pay(second, claim);
                }
            }
            (Call::Hold { .. } | Call::Pay { .. } | Call::Look { .. }, _) => {}
        }
    }

    /// A buyer looks at the seat of their claim at once, if they are one who looks.
    fn looks(&mut self, look: bool, claim: ClaimKey, now_ns: u64) {
        if let (true, Some(seat)) = (look, claim.seat) {
            self.put_off(Call::Look { seat }, 0, now_ns);
        }
    }

    /// A buyer got the seat: their plan becomes a call that is due later.
    fn holds(&mut self, intent: &Intent, seat: u32, hold_id: HoldId, now_ns: u64) {
        let owner = self.buyer(intent.number);
        let own = ClaimKey {
            seat: Some(seat),
            owner,
            hold_id,
        };
        let payment = PaymentKey {
            buyer: BuyerKey {
                number: intent.number,
                ..owner
            },
            second: false,
        };
        let pay = |payment, claim| Call::Pay {
            payment,
            claim,
            twice: intent.repeat_next,
            double: intent.plan == Plan::Double,
            renamed: intent.plan == Plan::Renamed,
            look: intent.look,
        };
        let call = match intent.plan {
            Plan::Lapse => return,
            Plan::Release | Plan::Quit => Call::Release {
                claim: own,
                twice: intent.repeat_next,
                look: intent.look,
            },
            Plan::Pay | Plan::Late | Plan::Double | Plan::Renamed => pay(payment, own),
            Plan::Stranger => {
                let claim = ClaimKey {
                    owner: stranger_to(owner),
                    ..own
                };
                let release = Call::Release {
                    claim,
                    twice: false,
                    look: false,
                };
                self.put_off(release, 0, now_ns);
                pay(payment, claim)
            }
            Plan::Reused => pay(self.payments.last().unwrap_or(payment), own),
            Plan::Forged => {
                let hold_id =
                    HoldId::new(hold_id.get().saturating_add(NEVER_GIVEN)).expect("not negative");
                pay(payment, ClaimKey { hold_id, ..own })
            }
            Plan::Nowhere => pay(payment, ClaimKey { seat: None, ..own }),
        };
        let wait_ns = intent.wait_us.saturating_mul(1_000);
        self.put_off(call, 0, now_ns.saturating_add(wait_ns));
    }

    /// A buyer was told what was decided about their payment.
    fn told(&mut self, payment: PaymentKey, claim: ClaimKey, outcome: &ConfirmOutcome) {
        match outcome {
            ConfirmOutcome::Sold => {
                if let Some(seat) = claim.seat {
                    self.shared.hot.sold(seat);
                }
            }
            ConfirmOutcome::Duplicate { .. } | ConfirmOutcome::RefundRequired { .. } => {}
            // The payment was decided for another claim, and that answer came before.
            ConfirmOutcome::Conflict { .. } => return,
        }
        let over = self.payments.decided(payment);
        self.close(over);
    }
}

/// A buyer who is certainly not this one.
const fn stranger_to(buyer: BuyerKey) -> BuyerKey {
    BuyerKey {
        client: buyer.client + 1,
        ..buyer
    }
}

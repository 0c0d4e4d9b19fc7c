//! One answer against one state: what the reference would say, as a question with yes or no.
//!
//! These few comparisons are the reference turned round: not "what is the answer here" but "is this
//! the answer here". They work on the numbers of a history instead of its names, which is what makes
//! the check quick. A test holds every state, call and answer of a small space against
//! [`crate::reference`].

use soldonce::{HoldId, RefundReason, Timestamp, Version};

use super::rules::{Rule, RuleSet};
use crate::history::{Call, ClaimNo, RecordNo, SeatNo, SeatRow, StateNo, Told};

/// A version of a seat, as the call that made it tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    /// Which version.
    pub(crate) version: Version,
    /// `None`: there is no such seat.
    pub(crate) state: Option<StateNo>,
    /// When it was made; `None` when nobody said.
    pub(crate) changed_at: Option<Timestamp>,
}

/// A receipt and the call it answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    pub(crate) call: Call,
    pub(crate) told: Told,
    pub(crate) version: Version,
    pub(crate) at: Timestamp,
}

/// What is wrong, by rule and in words.
pub(crate) type Problem = (Rule, &'static str);

fn ensure<R: RuleSet>(holds: bool, rule: Rule, problem: &'static str) -> Result<(), Problem> {
    if holds || !R::keeps(rule) {
        Ok(())
    } else {
        Err((rule, problem))
    }
}

impl View {
    /// A seat that never changed.
    pub(crate) fn initial(exists: bool, added_at: Option<Timestamp>) -> Self {
        Self {
            version: Version::ZERO,
            state: exists.then_some(StateNo::Free),
            changed_at: added_at.filter(|_| exists),
        }
    }

    /// The seat after a change, which is all in the answer to that change.
    pub(crate) fn after(change: &Answered) -> Self {
        let state = match (change.call, change.told) {
            (Call::Hold { owner, .. }, Told::Held { expires, .. }) => StateNo::Held {
                owner,
                hold_id: HoldId::from(change.version),
                expires,
            },
            (Call::Confirm { payment, claim }, _) => StateNo::Sold {
                owner: claim.owner,
                hold_id: claim.hold_id,
                payment,
            },
            _ => StateNo::Free,
        };
        Self {
            version: change.version,
            state: Some(state),
            changed_at: Some(change.at),
        }
    }

    /// The guard that release and confirm share: held, same owner, the very hold.
    pub(crate) fn is_held_under(&self, claim: &ClaimNo) -> bool {
        matches!(self.state, Some(StateNo::Held { owner, .. }) if owner == claim.owner)
            && claim.hold_id.version() == self.version
    }

    fn live_at(&self, now: Timestamp) -> bool {
        matches!(self.state, Some(StateNo::Held { expires, .. }) if now < expires)
    }

    /// Why a payment for this claim can not buy this seat, given that it can not.
    pub(crate) fn refund_reason(&self, claim: &ClaimNo) -> RefundReason {
        let Some(state) = self.state else {
            return RefundReason::UnknownSeat;
        };
        let hold = claim.hold_id.version();
        match state {
            _ if hold > self.version => RefundReason::NeverHeld,
            StateNo::Free | StateNo::Sold { .. } if hold == self.version => RefundReason::NeverHeld,
            StateNo::Sold { hold_id, .. } if hold_id == claim.hold_id => RefundReason::AlreadySold,
            _ if hold < self.version => RefundReason::Superseded,
            StateNo::Held { owner, .. } if owner != claim.owner => RefundReason::WrongOwner,
            StateNo::Held { .. } | StateNo::Free | StateNo::Sold { .. } => RefundReason::Expired,
        }
    }

    fn not_before_change<R: RuleSet>(&self, at: Timestamp) -> Result<(), Problem> {
        ensure::<R>(
            self.changed_at.is_none_or(|changed_at| changed_at <= at),
            Rule::TimeDoesNotFall,
            "its time is before the version that it names was made",
        )
    }
}

/// Is this kind of answer one to this kind of call, and about the payment that was asked about?
#[inline]
pub(crate) fn belongs<R: RuleSet>(call: &Call, told: &Told) -> Result<(), Problem> {
    let kind = match told {
        Told::Held { .. } | Told::AlreadyHeld { .. } | Told::HeldUntil(_) | Told::SoldOut => {
            matches!(call, Call::Hold { .. })
        }
        Told::Released | Told::NotHeld => matches!(call, Call::Release(_)),
        Told::Sold | Told::Refund(_) => matches!(call, Call::Confirm { .. }),
        Told::RefundAgain(_, record) | Told::Duplicate(record) | Told::Conflict(record) => {
            matches!(call, Call::Confirm { payment, .. } if *payment == record.payment)
        }
        Told::Seat(_) => matches!(call, Call::ReadSeat(_)),
        Told::Payment(None) => matches!(call, Call::ReadPayment(_)),
        Told::Payment(Some(record)) => {
            matches!(call, Call::ReadPayment(payment) if *payment == record.payment)
        }
    };
    ensure::<R>(
        kind,
        Rule::AnswerToItsCall,
        "this is no answer to this call",
    )
}

/// The last time at which a hold of this length can be asked for.
fn ends_in_time(call: &Call, at: Timestamp) -> bool {
    match call {
        Call::Hold { ttl, .. } => at.checked_add(*ttl).is_some(),
        Call::Release(_) | Call::Confirm { .. } | Call::ReadSeat(_) | Call::ReadPayment(_) => true,
    }
}

/// Is this the answer of a call that changed nothing, on the version that it names?
#[inline]
pub(crate) fn read<R: RuleSet>(view: &View, answer: &Answered) -> Result<(), Problem> {
    let Answered { call, told, at, .. } = answer;
    view.not_before_change::<R>(*at)?;
    if let Some(record) = told.record() {
        ensure::<R>(
            record.decided_at <= *at,
            Rule::TimeDoesNotFall,
            "its time is before the record that it carries",
        )?;
        ensure::<R>(
            record.version <= answer.version,
            Rule::RecordAsDecided,
            "it carries a record that was made on a later version than it stands on",
        )?;
    }
    let fits = match (call, told) {
        (Call::Hold { owner, .. }, Told::AlreadyHeld { hold_id, expires }) => {
            view.state
                == Some(StateNo::Held {
                    owner: *owner,
                    hold_id: *hold_id,
                    expires: *expires,
                })
                && at < expires
        }
        (Call::Hold { owner, .. }, Told::HeldUntil(until)) => {
            matches!(view.state, Some(StateNo::Held { owner: holder, expires, .. })
                if holder != *owner && expires == *until)
                && at < until
        }
        (Call::Hold { .. }, Told::SoldOut) => matches!(view.state, Some(StateNo::Sold { .. })),
        (Call::Release(claim), Told::NotHeld) => !view.is_held_under(claim),
        (Call::Confirm { claim, .. }, Told::Refund(reason)) => {
            !(view.is_held_under(claim) && view.live_at(*at))
                && view.refund_reason(claim) == *reason
        }
        (Call::Confirm { claim, .. }, known) => repeats(claim, known),
        (Call::ReadSeat(seat), Told::Seat(row)) => shows(view, *seat, row.as_ref()),
        (Call::ReadPayment(_), Told::Payment(_)) => true,
        _ => return Ok(()), // refused by `belongs`
    };
    ensure::<R>(
        fits && ends_in_time(call, *at),
        Rule::AnswerFits,
        "the reference gives another answer on this version at this time",
    )
}

/// Is this the answer about a known payment, given what it says is recorded?
fn repeats(claim: &ClaimNo, told: &Told) -> bool {
    use soldonce::Decision;
    match told {
        Told::RefundAgain(reason, record) => {
            record.claim == *claim && record.decision == Decision::RefundRequired(*reason)
        }
        Told::Duplicate(record) => record.claim == *claim && record.decision == Decision::Sold,
        Told::Conflict(record) => record.claim != *claim,
        _ => true, // refused by `belongs`
    }
}

/// Is this row the seat at this version?
fn shows(view: &View, seat: SeatNo, row: Option<&SeatRow>) -> bool {
    match (view.state, row) {
        (None, None) => true,
        (Some(state), Some(row)) => {
            row.seat == seat
                && row.state == state
                && row.version == view.version
                && view.changed_at.is_none_or(|at| at == row.changed_at)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Is this change a row of the table, from the version before it?
#[inline]
pub(crate) fn step<R: RuleSet>(before: &View, change: &Answered) -> Result<(), Problem> {
    let Answered { call, told, at, .. } = change;
    before.not_before_change::<R>(*at)?;
    let legal = match (call, told) {
        (Call::Hold { .. }, Told::Held { .. }) => match before.state {
            Some(StateNo::Free) => true,
            Some(StateNo::Held { expires, .. }) => expires <= *at,
            Some(StateNo::Sold { .. }) | None => false,
        },
        (Call::Release(claim), Told::Released) => before.is_held_under(claim),
        (Call::Confirm { claim, .. }, Told::Sold) => {
            before.is_held_under(claim) && before.live_at(*at)
        }
        _ => return Ok(()), // refused by `belongs`
    };
    ensure::<R>(
        legal,
        Rule::LegalStep,
        "no row of the table leads from the version before to this one",
    )
}

/// What a change says of itself: the hold it made is named by its version, and ends when it should.
#[inline]
pub(crate) fn own_words<R: RuleSet>(change: &Answered) -> Result<(), Problem> {
    let holds = match (&change.call, &change.told) {
        (Call::Hold { ttl, .. }, Told::Held { hold_id, expires }) => {
            hold_id.version() == change.version && change.at.checked_add(*ttl) == Some(*expires)
        }
        _ => true,
    };
    ensure::<R>(
        holds && change.version > Version::ZERO,
        Rule::LegalStep,
        "a change makes a version above 0, and a hold is named by it and ends `ttl` after its time",
    )
}

/// The record that a call makes that decides about its payment.
#[inline]
pub(crate) fn record_of(answer: &Answered) -> Option<RecordNo> {
    use soldonce::Decision;
    let decision = match answer.told {
        Told::Sold => Decision::Sold,
        Told::Refund(reason) => Decision::RefundRequired(reason),
        _ => return None,
    };
    match answer.call {
        Call::Confirm { payment, claim } => Some(RecordNo {
            payment,
            claim,
            decision,
            version: answer.version,
            decided_at: answer.at,
        }),
        _ => None,
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;

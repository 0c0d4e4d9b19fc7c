//! A version of a seat that a call of unknown result made: its time is known between bounds only.

use soldonce::{HoldId, RefundReason, Timestamp, Version};

use super::judge::{Answered, View};
use crate::history::{Call, ClaimNo, OwnerNo, RecordNo, SeatRow, StateNo, Told};

/// When a hold ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    At(i64),
    /// So long after the change.
    After(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Missing,
    Free,
    Held { owner: OwnerNo, ends: Ends },
    Sold(StateNo),
}

/// A version whose change happened at some time from `from` to `to`, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loose {
    version: Version,
    state: State,
    from: i64,
    to: i64,
}

impl Loose {
    /// A version of which all is known.
    pub(super) fn known(view: &View) -> Self {
        let state = match view.state {
            None => State::Missing,
            Some(StateNo::Free) => State::Free,
            Some(StateNo::Held { owner, expires, .. }) => State::Held {
                owner,
                ends: Ends::At(expires.as_unix_millis()),
            },
            Some(sold @ StateNo::Sold { .. }) => State::Sold(sold),
        };
        let at = view.changed_at.map_or(0, Timestamp::as_unix_millis);
        Self {
            version: view.version,
            state,
            from: at,
            to: at,
        }
    }

    fn is_possible(self) -> Option<Self> {
        (self.from <= self.to).then_some(self)
    }

    fn is_held_under(&self, claim: &ClaimNo) -> bool {
        matches!(self.state, State::Held { owner, .. } if owner == claim.owner)
            && claim.hold_id.version() == self.version
    }

    /// The next version, made by this call at `earliest` or later; nothing when no row leads there.
    pub(super) fn change(&self, call: &Call, version: Version, earliest: i64) -> Option<Self> {
        let mut next = Self {
            version,
            state: State::Free,
            from: self.from.max(earliest),
            to: Timestamp::MAX.as_unix_millis(),
        };
        match call {
            Call::Hold { owner, ttl, .. } => {
                match self.state {
                    State::Free => {}
                    State::Held {
                        ends: Ends::At(expires),
                        ..
                    } => next.from = next.from.max(expires),
                    State::Held {
                        ends: Ends::After(ttl),
                        ..
                    } => next.from = next.from.max(self.from + ttl),
                    State::Sold(_) | State::Missing => return None,
                }
                next.to -= ttl.as_millis();
                next.state = State::Held {
                    owner: *owner,
                    ends: Ends::After(ttl.as_millis()),
                };
            }
            Call::Release(claim) => {
                if !self.is_held_under(claim) {
                    return None;
                }
            }
            Call::Confirm { payment, claim } => {
                let State::Held { ends, .. } = self.state else {
                    return None;
                };
                if !self.is_held_under(claim) {
                    return None;
                }
                let end = match ends {
                    Ends::At(expires) => expires,
                    Ends::After(ttl) => self.to + ttl,
                };
                next.to = next.to.min(end - 1);
                next.state = State::Sold(StateNo::Sold {
                    owner: claim.owner,
                    hold_id: claim.hold_id,
                    payment: *payment,
                });
            }
            Call::ReadSeat(_) | Call::ReadPayment(_) => return None,
        }
        next.is_possible()
    }

    fn not_after(&mut self, time: i64) {
        self.to = self.to.min(time);
    }

    fn exactly(&mut self, time: i64) {
        self.from = self.from.max(time);
        self.to = self.to.min(time);
    }

    /// The hold ends at this time.
    fn ends_at(&mut self, time: i64) -> Option<()> {
        match self.state {
            State::Held {
                ends: Ends::At(expires),
                ..
            } => (expires == time).then_some(()),
            State::Held {
                ends: Ends::After(ttl),
                ..
            } => {
                self.exactly(time - ttl);
                Some(())
            }
            State::Missing | State::Free | State::Sold(_) => None,
        }
    }

    /// The hold has ended by this time.
    fn ended_by(&mut self, time: i64) -> Option<()> {
        match self.state {
            State::Held {
                ends: Ends::At(expires),
                ..
            } => (expires <= time).then_some(()),
            State::Held {
                ends: Ends::After(ttl),
                ..
            } => {
                self.not_after(time - ttl);
                Some(())
            }
            State::Missing | State::Free | State::Sold(_) => None,
        }
    }

    /// The hold has not ended at this time.
    fn live_at(&mut self, time: i64) -> Option<()> {
        match self.state {
            State::Held {
                ends: Ends::At(expires),
                ..
            } => (time < expires).then_some(()),
            State::Held {
                ends: Ends::After(ttl),
                ..
            } => {
                self.from = self.from.max(time - ttl + 1);
                Some(())
            }
            State::Missing | State::Free | State::Sold(_) => None,
        }
    }

    /// Narrows the time to what this answer on this version allows; nothing when it allows none.
    pub(super) fn explains(&mut self, answer: &Answered) -> Option<()> {
        let at = answer.at.as_unix_millis();
        self.not_after(at);
        match (&answer.call, &answer.told) {
            (Call::Hold { owner, ttl, .. }, told) => {
                answer.at.checked_add(*ttl)?;
                self.explains_hold(*owner, told, at)?;
            }
            (Call::Release(claim), _) => (!self.is_held_under(claim)).then_some(())?,
            (Call::Confirm { claim, .. }, Told::Refund(reason)) => {
                self.explains_refund(claim, *reason, at)?;
            }
            (
                Call::Confirm { claim, .. },
                Told::RefundAgain(..) | Told::Duplicate(_) | Told::Conflict(_),
            ) => {
                let record = answer.told.record()?;
                let decision_fits = match answer.told {
                    Told::RefundAgain(reason, _) => {
                        record.claim == *claim
                            && record.decision == soldonce::Decision::RefundRequired(reason)
                    }
                    Told::Duplicate(_) => {
                        record.claim == *claim && record.decision == soldonce::Decision::Sold
                    }
                    _ => record.claim != *claim,
                };
                (decision_fits && carries(answer, record)).then_some(())?;
            }
            (Call::ReadSeat(seat), Told::Seat(Some(row))) => {
                (row.seat == *seat && row.version == self.version).then_some(())?;
                self.explains_row(row)?;
            }
            (Call::ReadPayment(_), Told::Payment(Some(record))) => {
                carries(answer, record).then_some(())?;
            }
            _ => return None,
        }
        self.is_possible().map(drop)
    }

    fn explains_hold(&mut self, caller: OwnerNo, told: &Told, at: i64) -> Option<()> {
        match (self.state, told) {
            (State::Held { owner, .. }, Told::AlreadyHeld { hold_id, expires }) => {
                let expires = expires.as_unix_millis();
                let fits = owner == caller && hold_id.version() == self.version && at < expires;
                fits.then_some(())?;
                self.ends_at(expires)
            }
            (State::Held { owner, .. }, Told::HeldUntil(until)) => {
                let until = until.as_unix_millis();
                (owner != caller && at < until).then_some(())?;
                self.ends_at(until)
            }
            (State::Sold(_), Told::SoldOut) => Some(()),
            _ => None,
        }
    }

    fn explains_refund(&mut self, claim: &ClaimNo, reason: RefundReason, at: i64) -> Option<()> {
        if self.is_held_under(claim) {
            (reason == RefundReason::Expired).then_some(())?;
            return self.ended_by(at);
        }
        // The reason does not depend on when the hold ends, so any end does.
        let state = match self.state {
            State::Missing => None,
            State::Free => Some(StateNo::Free),
            State::Held { owner, .. } => Some(StateNo::Held {
                owner,
                hold_id: HoldId::from(self.version),
                expires: Timestamp::MAX,
            }),
            State::Sold(sold) => Some(sold),
        };
        let view = View {
            version: self.version,
            state,
            changed_at: None,
        };
        (view.refund_reason(claim) == reason).then_some(())
    }

    fn explains_row(&mut self, row: &SeatRow) -> Option<()> {
        self.exactly(row.changed_at.as_unix_millis());
        match (self.state, row.state) {
            (State::Free, StateNo::Free) => Some(()),
            (
                State::Held { owner, .. },
                StateNo::Held {
                    owner: shown,
                    hold_id,
                    expires,
                },
            ) => {
                (owner == shown && hold_id.version() == self.version).then_some(())?;
                self.ends_at(expires.as_unix_millis())
            }
            (State::Sold(sold), shown) => (sold == shown).then_some(()),
            _ => None,
        }
    }

    /// Narrows the time to what this change, which makes the next version, allows.
    pub(super) fn precedes(&mut self, change: &Answered) -> Option<()> {
        let at = change.at.as_unix_millis();
        self.not_after(at);
        match (&change.call, &change.told) {
            (Call::Hold { .. }, Told::Held { .. }) => match self.state {
                State::Free => {}
                State::Held { .. } => self.ended_by(at)?,
                State::Sold(_) | State::Missing => return None,
            },
            (Call::Release(claim), Told::Released) => self.is_held_under(claim).then_some(())?,
            (Call::Confirm { claim, .. }, Told::Sold) => {
                self.is_held_under(claim).then_some(())?;
                self.live_at(at)?;
            }
            _ => return None,
        }
        self.is_possible().map(drop)
    }
}

/// May this answer carry this record, made no later than it?
fn carries(answer: &Answered, record: &RecordNo) -> bool {
    record.decided_at <= answer.at && record.version <= answer.version
}

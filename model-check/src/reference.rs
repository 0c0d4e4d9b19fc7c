//! The reference: what each command does, as one pure function.
//!
//! It is written from the table of commands, not from the store's code, and shares with the store
//! only the types of commands and answers: no SQL, no clock, no memory. [`decide`] looks at the seat
//! and at what is recorded about the payment, and says what the seat becomes and what the answer is.
//! [`State::apply`] does the same on a whole store.
//!
//! | row | seat is | command | guard | seat becomes | answer |
//! |--|--|--|--|--|--|
//! | 1 | Free | hold | | Held, version + 1 | Held |
//! | 2 | Held, any owner | hold | `expires <= now` | Held, version + 1 | Held |
//! | 3 | Held by the caller | hold | `now < expires` | unchanged | AlreadyHeld, as first said |
//! | 4 | Held by another | hold | `now < expires` | unchanged | Refused(HeldUntil) |
//! | 5 | Sold | hold | | unchanged | Refused(Sold) |
//! | 6 | Held | release | same owner, `hold_id == version` | Free, version + 1 | Released |
//! | 7 | otherwise | release | | unchanged | NotHeld |
//! | 8 | Held | confirm, payment not known | same owner, `hold_id == version`, `now < expires` | Sold, version + 1 | Sold |
//! | 9 | otherwise | confirm, payment not known | | unchanged | RefundRequired, recorded |
//! | 10 | any | confirm, known as sold, same claim | | unchanged | Duplicate |
//! | 11 | any | confirm, known as refund required, same claim | | unchanged | RefundRequired, as first said |
//! | 12 | any | confirm, known with another claim | | unchanged | Conflict |
//!
//! The receipt: an answer that changed the seat names the version it made, any other the version it
//! was decided on, zero for a seat that is not there. "Now" is the clock, or the time of the seat's
//! last change where that is later. An answer about a known payment (rows 10 to 12) is decided on the
//! seat of the *recorded* claim, at no time before the record, and carries the record.

use std::collections::BTreeMap;

use soldonce::{
    Claim, Command, ConfirmOutcome, Decision, HoldId, HoldOutcome, HoldRefusal, HoldRequest,
    Outcome, PaymentId, PaymentRecord, Receipt, RefundReason, ReleaseOutcome, Seat, SeatId,
    SeatState, Timestamp, Version,
};

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Row {
    /// Row 1.
    HoldFree,
    /// Row 2.
    HoldExpired,
    /// Row 3.
    HoldOwn,
    /// Row 4.
    HoldLive,
    /// Row 5.
    HoldSold,
    /// Row 6.
    Release,
    /// Row 7.
    ReleaseNothing,
    /// Row 8.
    Sell,
    /// Row 9.
    Refund,
    /// Row 10.
    SoldAgain,
    /// Row 11.
    RefundAgain,
    /// Row 12.
    OtherClaim,
}

impl Row {
    /// All rows, in the order of the table.
    pub const ALL: [Self; 12] = [
        Self::HoldFree,
        Self::HoldExpired,
        Self::HoldOwn,
        Self::HoldLive,
        Self::HoldSold,
        Self::Release,
        Self::ReleaseNothing,
        Self::Sell,
        Self::Refund,
        Self::SoldAgain,
        Self::RefundAgain,
        Self::OtherClaim,
    ];

    /// Its number in the table, from 1.
    pub const fn number(self) -> usize {
        self as usize + 1
    }

    /// The row in a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HoldFree => "hold, seat free",
            Self::HoldExpired => "hold, last hold expired",
            Self::HoldOwn => "hold, held by the caller",
            Self::HoldLive => "hold, held by another",
            Self::HoldSold => "hold, sold",
            Self::Release => "release",
            Self::ReleaseNothing => "release, not held so",
            Self::Sell => "confirm, sold",
            Self::Refund => "confirm, refund required",
            Self::SoldAgain => "confirm again, sold",
            Self::RefundAgain => "confirm again, refund",
            Self::OtherClaim => "confirm again, other claim",
        }
    }
}

/// All that one command looks at.
#[derive(Debug, Clone, Copy, Default)]
pub struct View<'a> {
    /// The seat that the command names; `None` when it is not there.
    pub seat: Option<&'a Seat>,
    /// What is recorded about the payment that the command names.
    pub known: Option<Known<'a>>,
}

/// A payment that was decided earlier.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The record.
    pub record: &'a PaymentRecord,
    /// The seat that it was recorded for, which need not be the one that the command names.
    pub seat: Option<&'a Seat>,
}

/// What a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The row of the table that applied.
    pub row: Row,
    /// The answer.
    pub receipt: Receipt<Outcome>,
    /// The seat as it becomes; `None` when it stays as it is.
    pub seat: Option<Seat>,
    /// The payment record that is made; `None` when none is.
    pub record: Option<PaymentRecord>,
}

/// A command that is not in the table, and changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Rejected {
    /// A hold on a seat that is not there.
    #[error("unknown seat")]
    UnknownSeat,
    /// A hold that would end after the last time there is.
    #[error("the hold would end after the last timestamp")]
    EndsTooLate,
}

/// What `command` does at `clock` to what it looks at.
///
/// # Errors
/// [`Rejected`] for a command that no row of the table is about.
pub fn decide(view: View<'_>, command: &Command, clock: Timestamp) -> Result<Decided, Rejected> {
    match (command, view.known) {
        (Command::Hold(request), _) => hold(view.seat, request, clock),
        (Command::Release(claim), _) => Ok(release(view.seat, claim, clock)),
        (Command::ConfirmPayment { claim, .. }, Some(known)) => {
            Ok(confirm_known(known, claim, clock))
        }
        (Command::ConfirmPayment { payment, claim }, None) => {
            Ok(confirm_new(view.seat, payment, claim, clock))
        }
    }
}

/// The time of a decision about a seat: the clock, but never before the seat's last change.
pub fn decision_time(seat: Option<&Seat>, clock: Timestamp) -> Timestamp {
    seat.map_or(clock, |seat| clock.max(seat.changed_at))
}

fn version_of(seat: Option<&Seat>) -> Version {
    seat.map_or(Version::ZERO, |seat| seat.version)
}

fn unchanged(
    seat: Option<&Seat>,
    row: Row,
    outcome: impl Into<Outcome>,
    now: Timestamp,
) -> Decided {
    Decided {
        row,
        receipt: Receipt {
            outcome: outcome.into(),
            version: version_of(seat),
            at: now,
        },
        seat: None,
        record: None,
    }
}

fn changed(
    seat: &Seat,
    state: SeatState,
    row: Row,
    outcome: impl Into<Outcome>,
    now: Timestamp,
) -> Decided {
    let becomes = Seat {
        id: seat.id.clone(),
        state,
        version: next(seat.version),
        changed_at: now,
    };
    Decided {
        row,
        receipt: Receipt {
            outcome: outcome.into(),
            version: becomes.version,
            at: now,
        },
        seat: Some(becomes),
        record: None,
    }
}

fn next(version: Version) -> Version {
    version.next().expect("no seat changes 2^63 times")
}

/// Rows 1 to 5.
fn hold(seat: Option<&Seat>, request: &HoldRequest, clock: Timestamp) -> Result<Decided, Rejected> {
    let now = decision_time(seat, clock);
    let ends = now.checked_add(request.ttl).ok_or(Rejected::EndsTooLate)?;
    let seat = seat.ok_or(Rejected::UnknownSeat)?;
    let taken = |row| {
        let hold_id = HoldId::from(next(seat.version));
        let state = SeatState::Held {
            owner: request.owner.clone(),
            hold_id,
            expires: ends,
        };
        let outcome = HoldOutcome::Held {
            hold_id,
            expires: ends,
        };
        changed(seat, state, row, outcome, now)
    };
    let refused = |row, why| unchanged(Some(seat), row, HoldOutcome::Refused(why), now);
    Ok(match &seat.state {
        SeatState::Free => taken(Row::HoldFree),
        SeatState::Held { expires, .. } if *expires <= now => taken(Row::HoldExpired),
        SeatState::Held {
            owner,
            hold_id,
            expires,
        } if *owner == request.owner => {
            let outcome = HoldOutcome::AlreadyHeld {
                hold_id: *hold_id,
                expires: *expires,
            };
            unchanged(Some(seat), Row::HoldOwn, outcome, now)
        }
        SeatState::Held { expires, .. } => refused(Row::HoldLive, HoldRefusal::HeldUntil(*expires)),
        SeatState::Sold { .. } => refused(Row::HoldSold, HoldRefusal::Sold),
    })
}

/// Rows 6 and 7.
fn release(seat: Option<&Seat>, claim: &Claim, clock: Timestamp) -> Decided {
    let now = decision_time(seat, clock);
    match seat {
        Some(seat) if holds(seat, claim) => changed(
            seat,
            SeatState::Free,
            Row::Release,
            ReleaseOutcome::Released,
            now,
        ),
        _ => unchanged(seat, Row::ReleaseNothing, ReleaseOutcome::NotHeld, now),
    }
}

/// Rows 8 and 9.
fn confirm_new(
    seat: Option<&Seat>,
    payment: &PaymentId,
    claim: &Claim,
    clock: Timestamp,
) -> Decided {
    let now = decision_time(seat, clock);
    let (decision, mut decided) = match seat {
        Some(seat) if holds(seat, claim) && is_live(seat, now) => {
            let sold = SeatState::Sold {
                owner: claim.owner.clone(),
                hold_id: claim.hold_id,
                payment: payment.clone(),
            };
            let decided = changed(seat, sold, Row::Sell, ConfirmOutcome::Sold, now);
            (Decision::Sold, decided)
        }
        _ => {
            let reason = refund_reason(seat, claim);
            let outcome = ConfirmOutcome::RefundRequired {
                reason,
                recorded: None,
            };
            let decided = unchanged(seat, Row::Refund, outcome, now);
            (Decision::RefundRequired(reason), decided)
        }
    };
    decided.record = Some(PaymentRecord {
        payment: payment.clone(),
        claim: claim.clone(),
        decision,
        version: decided.receipt.version,
        decided_at: now,
    });
    decided
}

/// Rows 10 to 12.
fn confirm_known(known: Known<'_>, claim: &Claim, clock: Timestamp) -> Decided {
    let now = decision_time(known.seat, clock).max(known.record.decided_at);
    let recorded = Box::new(known.record.clone());
    let (row, outcome) = if known.record.claim == *claim {
        match known.record.decision {
            Decision::Sold => (Row::SoldAgain, ConfirmOutcome::Duplicate { recorded }),
            Decision::RefundRequired(reason) => {
                let recorded = Some(recorded);
                let outcome = ConfirmOutcome::RefundRequired { reason, recorded };
                (Row::RefundAgain, outcome)
            }
        }
    } else {
        (Row::OtherClaim, ConfirmOutcome::Conflict { recorded })
    };
    unchanged(known.seat, row, outcome, now)
}

/// The guard that rows 6 and 8 share: held, same owner, `hold_id == version`.
fn holds(seat: &Seat, claim: &Claim) -> bool {
    matches!(&seat.state, SeatState::Held { owner, .. } if *owner == claim.owner)
        && claim.hold_id.version() == seat.version
}

fn is_live(seat: &Seat, now: Timestamp) -> bool {
    matches!(seat.state, SeatState::Held { expires, .. } if now < expires)
}

/// Row 9: the first reason that applies.
fn refund_reason(seat: Option<&Seat>, claim: &Claim) -> RefundReason {
    let Some(seat) = seat else {
        return RefundReason::UnknownSeat;
    };
    let hold = claim.hold_id.version();
    let held_by = match &seat.state {
        SeatState::Held { owner, .. } => Some(owner),
        SeatState::Free | SeatState::Sold { .. } => None,
    };
    let sold_under_it =
        matches!(seat.state, SeatState::Sold { hold_id, .. } if hold_id == claim.hold_id);
    if hold > seat.version || hold == seat.version && held_by.is_none() {
        RefundReason::NeverHeld
    } else if sold_under_it {
        RefundReason::AlreadySold
    } else if hold < seat.version {
        RefundReason::Superseded
    } else if held_by != Some(&claim.owner) {
        RefundReason::WrongOwner
    } else {
        RefundReason::Expired
    }
}

/// A whole store: seats and payment records.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct State {
    /// The seats.
    pub seats: BTreeMap<SeatId, Seat>,
    /// The payment records.
    pub payments: BTreeMap<PaymentId, PaymentRecord>,
}

/// One step on a whole store: the state after it, and what was decided.
///
/// # Errors
/// The second part is [`Rejected`] for a command that no row is about; the state is then the same.
pub fn step(
    state: &State,
    command: &Command,
    clock: Timestamp,
) -> (State, Result<Decided, Rejected>) {
    let mut after = state.clone();
    let decided = after.apply(command, clock);
    (after, decided)
}

impl State {
    /// What a command looks at in this state.
    pub fn view(&self, command: &Command) -> View<'_> {
        let known = match command {
            Command::ConfirmPayment { payment, .. } => self.payments.get(payment),
            Command::Hold(_) | Command::Release(_) => None,
        };
        View {
            seat: self.seats.get(command.seat()),
            known: known.map(|record| Known {
                record,
                seat: self.seats.get(&record.claim.seat),
            }),
        }
    }

    /// Applies one command.
    ///
    /// # Errors
    /// [`Rejected`] for a command that no row is about; nothing has changed.
    pub fn apply(&mut self, command: &Command, clock: Timestamp) -> Result<Decided, Rejected> {
        let decided = decide(self.view(command), command, clock)?;
        if let Some(seat) = &decided.seat {
            self.seats.insert(seat.id.clone(), seat.clone());
        }
        if let Some(record) = &decided.record {
            self.payments.insert(record.payment.clone(), record.clone());
        }
        Ok(decided)
    }

    /// Adds a free seat at version 0. Returns whether it is new; one that is there stays as it is.
    pub fn add(&mut self, seat: &SeatId, clock: Timestamp) -> bool {
        let new = !self.seats.contains_key(seat);
        if new {
            let free = Seat {
                id: seat.clone(),
                state: SeatState::Free,
                version: Version::ZERO,
                changed_at: clock,
            };
            self.seats.insert(seat.clone(), free);
        }
        new
    }

    /// What reading a seat answers.
    pub fn seat(&self, seat: &SeatId, clock: Timestamp) -> Receipt<Option<Seat>> {
        let found = self.seats.get(seat);
        Receipt {
            outcome: found.cloned(),
            version: version_of(found),
            at: decision_time(found, clock),
        }
    }

    /// What reading a payment answers: the record, on the present version of its seat.
    pub fn payment(&self, payment: &PaymentId, clock: Timestamp) -> Receipt<Option<PaymentRecord>> {
        let found = self.payments.get(payment);
        let seat = found.and_then(|record| self.seats.get(&record.claim.seat));
        let now = decision_time(seat, clock);
        Receipt {
            outcome: found.cloned(),
            version: version_of(seat),
            at: found.map_or(now, |record| now.max(record.decided_at)),
        }
    }
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;

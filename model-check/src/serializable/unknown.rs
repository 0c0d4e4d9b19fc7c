//! Calls of unknown result: which of them took effect, so that every version has a maker.
//!
//! A version that an answer names and that no call with a receipt made was made by a call of unknown
//! result about that seat, or the history is wrong. Which one is found by trying, version by version
//! upwards. What keeps that small:
//!
//! * a release or a payment names its hold, so it can make only the version after that hold;
//! * of holds by one owner for one length only the first invoked that is left needs a try: it may
//!   stand wherever a later one may, and leaves the later one, which may stand at all later places
//!   that the first may stand at;
//! * the time of such a change is not enumerated. Everything that is known about it (the window of
//!   the call, the times around it, the end of the hold as it is shown) bounds it from below or above,
//!   alone or against the change before it, so what remains possible is an interval, and passing on
//!   the interval from one version to the next loses nothing.
//!
//! After [`TRIES`] steps on one seat the answer is that nobody knows.

use std::collections::HashMap;

use soldonce::Version;

use super::checker::Checker;
use super::judge::{Answered, View};
use super::loose::Loose;
use super::rules::{Rule, RuleSet};
use super::seat::{Maker, Place, answered, made_at, view_of};
use crate::history::{
    Answer, Call, Details, OPEN, Operation, PaymentNo, RecordNo, SeatNo, Told, When,
};

/// Steps after which a seat's calls of unknown result are given up as inconclusive.
const TRIES: u32 = 200_000;

/// Can this call of unknown result have made this record?
pub(super) fn can_make(operation: &Operation, record: &RecordNo) -> bool {
    matches!(operation.call(), Call::Confirm { payment, claim }
        if payment == record.payment && claim == record.claim)
}

/// The call of unknown result with the receipt that it would have had.
pub(super) fn as_decided(
    operation: &Operation,
    record: &RecordNo,
    details: &mut Details,
) -> Operation {
    let told = match record.decision {
        soldonce::Decision::Sold => Told::Sold,
        soldonce::Decision::RefundRequired(reason) => Told::Refund(reason),
    };
    let when = When {
        returned: OPEN,
        ..operation.when()
    };
    let answer = Answer::Receipt {
        told,
        version: record.version,
        at: record.decided_at,
    };
    Operation::new(when, operation.call(), answer, details)
}

/// A call of unknown result that may fill a gap.
struct Candidate {
    call: Call,
    operation: Operation,
    floor: Place,
    earliest: i64,
    used: bool,
}

/// The gaps of one seat, and what may fill them.
struct Gaps<'a, R: RuleSet> {
    checker: &'a Checker<R>,
    details: &'a Details,
    seat: SeatNo,
    versions: Vec<i64>,
    /// Answers on versions in a gap.
    evidence: HashMap<i64, Vec<Answered>>,
    candidates: Vec<Candidate>,
    /// The one payment without a record that may have bought the seat unseen.
    payment: Option<PaymentNo>,
    tries: u32,
    filled: u64,
}

/// The tries are used up.
struct OutOfTries;

/// How a seat's gaps can be filled.
enum Filled {
    /// With so many calls, none of them a payment that nobody saw.
    Freely(u64),
    /// Only with one of these payments, which must not have been decided elsewhere.
    With(Vec<PaymentNo>),
    Not,
}

impl<R: RuleSet> Checker<R> {
    /// Fills what nobody with a receipt made, or reports a violation. What it returns is why the
    /// question was left open.
    pub(super) fn fill_gaps(&mut self, details: &Details) -> Option<String> {
        let mut open = None;
        let mut sold_unseen: Vec<(SeatNo, Vec<PaymentNo>)> = Vec::new();
        for seat in 0..self.seats.len() {
            let number = SeatNo::from_raw(u32::try_from(seat).expect("seats are numbered so"));
            let Some(versions) = self.versions_to_fill(number) else {
                continue;
            };
            if !R::keeps(Rule::NoGap) {
                continue;
            }
            match self.fill_seat(number, versions.clone(), details) {
                Ok(Filled::Freely(calls)) => self.count_taken(calls),
                Ok(Filled::With(payments)) => sold_unseen.push((number, payments)),
                Ok(Filled::Not) => self.cannot_fill(number, &versions),
                Err(OutOfTries) => {
                    open = Some(format!(
                        "the calls of unknown result about one seat can be placed in too many ways: \
                         {} versions to fill from {} calls, given up after {TRIES} tries",
                        versions.len(),
                        self.seats[seat].unknown.len()
                    ));
                }
            }
        }
        self.share_out(&sold_unseen);
        open
    }

    /// The versions that somebody names and nobody made; `None` when there are none, or when there
    /// are more than calls that may have made them, which is reported at once.
    fn versions_to_fill(&mut self, seat: SeatNo) -> Option<Vec<i64>> {
        let track = &self.seats[seat.index()];
        let mut versions = track.gaps();
        let top = track.top();
        let highest = track
            .waiting
            .iter()
            .max_by_key(|read| read.version)
            .copied();
        let above = highest.map_or(0, |read| (read.version - top).max(0));
        let room = i64::try_from(track.unknown.len()).unwrap_or(i64::MAX);
        if above > room {
            self.nobody_made(highest.into_iter().collect());
            return None;
        }
        versions.extend(top + 1..=top + above);
        (!versions.is_empty()).then_some(versions)
    }

    fn fill_seat(
        &self,
        seat: SeatNo,
        versions: Vec<i64>,
        details: &Details,
    ) -> Result<Filled, OutOfTries> {
        let track = &self.seats[seat.index()];
        let mut evidence: HashMap<i64, Vec<Answered>> = HashMap::new();
        for read in &track.waiting {
            let answer = answered(read, details).expect("only receipts wait");
            evidence.entry(read.version).or_default().push(answer);
        }
        let mut candidates: Vec<Candidate> = track
            .unknown
            .iter()
            .map(|(operation, floor)| Candidate {
                call: operation.call(),
                operation: *operation,
                floor: *floor,
                earliest: self.header.clock.earliest(operation.invoked),
                used: false,
            })
            .collect();
        candidates.sort_by_key(|candidate| candidate.operation.invoked);
        let payments: Vec<PaymentNo> = candidates
            .iter()
            .filter_map(|candidate| match candidate.call {
                Call::Confirm { payment, .. } => Some(payment),
                _ => None,
            })
            .filter(|payment| self.is_undecided(*payment))
            .collect();
        let mut gaps = Gaps {
            checker: self,
            details,
            seat,
            versions,
            evidence,
            candidates,
            payment: None,
            tries: TRIES,
            filled: 0,
        };
        if gaps.solve()? {
            return Ok(Filled::Freely(gaps.filled));
        }
        let mut with = Vec::new();
        for payment in payments {
            gaps.payment = Some(payment);
            if !with.contains(&payment) && gaps.solve()? {
                with.push(payment);
            }
        }
        Ok(if with.is_empty() {
            Filled::Not
        } else {
            Filled::With(with)
        })
    }

    /// No answer shows a decision about it.
    fn is_undecided(&self, payment: PaymentNo) -> bool {
        self.payments
            .get(payment.index())
            .is_none_or(|track| track.decision.is_none() && track.shown.is_none())
    }

    /// Seats that were sold, nobody saw to which payment: each needs one of its own.
    fn share_out(&mut self, seats: &[(SeatNo, Vec<PaymentNo>)]) {
        fn place(
            seat: usize,
            seats: &[(SeatNo, Vec<PaymentNo>)],
            taken: &mut HashMap<PaymentNo, usize>,
            asked: &mut Vec<PaymentNo>,
        ) -> bool {
            for payment in &seats[seat].1 {
                if asked.contains(payment) {
                    continue;
                }
                asked.push(*payment);
                let holder = taken.get(payment).copied();
                if holder.is_none_or(|holder| place(holder, seats, taken, asked)) {
                    taken.insert(*payment, seat);
                    return true;
                }
            }
            false
        }
        let mut taken = HashMap::new();
        for seat in 0..seats.len() {
            if place(seat, seats, &mut taken, &mut Vec::new()) {
                self.count_taken(1);
            } else {
                let versions = self.versions_to_fill(seats[seat].0).unwrap_or_default();
                self.cannot_fill(seats[seat].0, &versions);
            }
        }
    }

    fn cannot_fill(&mut self, seat: SeatNo, versions: &[i64]) {
        let track = &self.seats[seat.index()];
        let first = versions.first().copied().unwrap_or(0);
        let next = Version::new(first + 1).expect("not negative");
        let mut shown_by: Vec<Operation> = track
            .waiting
            .iter()
            .filter(|read| versions.contains(&read.version))
            .take(2)
            .copied()
            .collect();
        if let Maker::Known(next) = track.maker(next) {
            shown_by.push(*next);
        }
        if track.unknown.is_empty() {
            self.nobody_made(shown_by);
        } else {
            shown_by.extend(
                track
                    .unknown
                    .iter()
                    .take(3)
                    .map(|(operation, _)| *operation),
            );
            self.violated(
                Rule::NoGap,
                "a version that these answers need was made by no call with a receipt, and none of \
                 unknown result can have made it",
                shown_by,
            );
        }
    }
}

impl<R: RuleSet> Gaps<'_, R> {
    fn solve(&mut self) -> Result<bool, OutOfTries> {
        self.filled = 0;
        for candidate in &mut self.candidates {
            candidate.used = false;
        }
        let before = self.before(self.versions[0]);
        self.fill(0, before)
    }

    /// The version before this one, which a call with a receipt made.
    fn before(&self, version: i64) -> Loose {
        let before = Version::new(version - 1).expect("versions to fill are above 0");
        let view: View = match self.checker.seats[self.seat.index()].maker(before) {
            Maker::Known(maker) => view_of(maker, self.details),
            Maker::Nobody | Maker::NotYet | Maker::Forgotten => self.checker.initial(self.seat),
        };
        Loose::known(&view)
    }

    fn fill(&mut self, gap: usize, before: Loose) -> Result<bool, OutOfTries> {
        let version = self.versions[gap];
        for place in 0..self.candidates.len() {
            if self.candidates[place].used || self.has_earlier_twin(place) {
                continue;
            }
            self.tries = self.tries.checked_sub(1).ok_or(OutOfTries)?;
            let Some(after) = self.after(&before, place, version) else {
                continue;
            };
            if R::keeps(Rule::UnknownOnce) {
                self.candidates[place].used = true;
            }
            let done = match self.versions.get(gap + 1) {
                None => true,
                Some(next) if *next == version + 1 => self.fill(gap + 1, after)?,
                Some(next) => {
                    let before = self.before(*next);
                    self.fill(gap + 1, before)?
                }
            };
            if done {
                self.filled += 1;
                return Ok(true);
            }
            self.candidates[place].used = false;
        }
        Ok(false)
    }

    /// Is there a call like this that was invoked no later and is left?
    fn has_earlier_twin(&self, place: usize) -> bool {
        let call = self.candidates[place].call;
        self.candidates[..place]
            .iter()
            .any(|earlier| !earlier.used && earlier.call == call)
    }

    /// The version as this candidate makes it, as far as all that is known allows; or nothing.
    fn after(&self, before: &Loose, place: usize, version: i64) -> Option<Loose> {
        let candidate = &self.candidates[place];
        let number = Version::new(version).expect("not negative");
        let in_time = candidate.floor <= made_at(number) && self.payment_in_time(candidate, number);
        if !in_time && R::keeps(Rule::UnknownInTime) {
            return None;
        }
        if !R::keeps(Rule::UnknownFits) {
            return Some(*before);
        }
        let earliest = if R::keeps(Rule::UnknownInTime) {
            candidate.earliest
        } else {
            i64::MIN
        };
        let mut after = before.change(&candidate.call, number, earliest)?;
        for answer in self.evidence.get(&version).into_iter().flatten() {
            after.explains(answer)?;
        }
        let next = number.next()?;
        if let Maker::Known(next) = self.checker.seats[self.seat.index()].maker(next) {
            after.precedes(&answered(next, self.details)?)?;
        }
        Some(after)
    }

    /// May this payment have bought the seat by making this version?
    fn payment_in_time(&self, candidate: &Candidate, version: Version) -> bool {
        let Call::Confirm { payment, .. } = candidate.call else {
            return true;
        };
        if self.payment != Some(payment) {
            return false;
        }
        let not_known = self
            .checker
            .payments
            .get(payment.index())
            .and_then(|track| track.not_known.as_deref());
        not_known.is_none_or(|not_known| {
            self.checker.seats[self.seat.index()]
                .floor(not_known.invoked)
                .is_none_or(|raise| raise.place <= made_at(version))
        })
    }
}

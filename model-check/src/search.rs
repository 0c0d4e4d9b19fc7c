//! The plain exhaustive search: is there any order at all in which this history is right?
//!
//! After Wing and Gong (1993), with the memoisation that Lowe (2017) describes. It tries every call
//! that may come next, on the [reference](crate::reference), and goes back where none fits. It knows
//! the reference and the real-time order, nothing else: no versions, intervals, floors or heights. It
//! is the yardstick that [`crate::serializable`] is held against, for small histories only: its time
//! is exponential.
//!
//! Both decide the same question, which [`crate::serializable`] defines. Here it reads:
//!
//! * a call may come next when no other call that is still to come returned before it was invoked;
//! * a call with a receipt steps the reference at the time that the receipt names, which must lie in
//!   the call's window on the store's clock; the reference's whole receipt must be the one given;
//! * a call of unknown result may come at any time from its invocation on, or never. It steps the
//!   reference at some millisecond of its window. All are tried up to the last time that any receipt
//!   names: a change made later would show in every later answer on its seat, since no answer names a
//!   time before the seat's last change;
//! * a call that was certainly not applied is left out.

use std::collections::{HashMap, HashSet};

use soldonce::{Seat, SeatId, Timestamp, Version};

use crate::history::{Answer, Call, History, Names, OPEN, Told};
use crate::reference::{Decided, Rejected, State, decide};

/// Histories with more calls than this are not searched.
pub const MOST_CALLS: usize = 64;

/// What the search found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Found {
    /// There is a right order.
    Order,
    /// There is none.
    None,
    /// The steps ran out before the answer was known.
    GaveUp,
}

/// Searches, for at most `steps` steps.
///
/// # Panics
/// When the history has more than [`MOST_CALLS`] calls.
pub fn search(history: &History, steps: u64) -> Found {
    assert!(
        history.operations.len() <= MOST_CALLS,
        "the search is for small histories"
    );
    let mut search = Search::new(history, steps);
    match search.go_on(0) {
        Ok(true) => Found::Order,
        Ok(false) => Found::None,
        Err(OutOfSteps) => Found::GaveUp,
    }
}

struct OutOfSteps;

/// One call, ready to be tried.
struct Candidate {
    invoked: u64,
    returned: u64,
    call: Call,
    answer: Answer,
    /// The window of the store's clock.
    earliest: i64,
    latest: i64,
}

struct Search {
    names: Names,
    candidates: Vec<Candidate>,
    /// The calls that must have happened, as bits.
    must: u64,
    state: State,
    /// The time at which the seats were added is not known, so not compared.
    any_added_at: bool,
    last_named: i64,
    /// From these states, after these calls, no order was found.
    failed: HashMap<u64, HashSet<State>>,
    steps: u64,
}

impl Search {
    fn new(history: &History, steps: u64) -> Self {
        let mut last_named = 0;
        let candidates: Vec<Candidate> = history
            .operations
            .iter()
            .map(|operation| (operation, operation.answer(&history.details)))
            .filter(|(_, answer)| *answer != Answer::NotApplied)
            .map(|(operation, answer)| {
                if let Answer::Receipt { at, .. } = answer {
                    last_named = last_named.max(at.as_unix_millis());
                }
                Candidate {
                    invoked: operation.invoked(),
                    returned: operation.returned(),
                    call: operation.call(),
                    answer,
                    earliest: history.header.clock.earliest(operation.invoked()),
                    latest: history.header.clock.latest(operation.returned()),
                }
            })
            .collect();
        let must = candidates
            .iter()
            .zip(0..)
            .filter(|(candidate, _)| candidate.answer != Answer::Unknown)
            .fold(0, |must, (_, bit)| must | 1 << bit);
        Self {
            names: history.names.clone(),
            candidates,
            must,
            state: initial(history),
            any_added_at: history.header.seats_added_at.is_none(),
            last_named,
            failed: HashMap::new(),
            steps,
        }
    }

    /// Is there an order for the calls that are not `done`, from the present state?
    fn go_on(&mut self, done: u64) -> Result<bool, OutOfSteps> {
        if done & self.must == self.must {
            return Ok(true);
        }
        if self
            .failed
            .get(&done)
            .is_some_and(|states| states.contains(&self.state))
        {
            return Ok(false);
        }
        let first_return = self
            .to_come(done)
            .map(|place| self.candidates[place].returned)
            .min()
            .unwrap_or(OPEN);
        let next: Vec<usize> = self
            .to_come(done)
            .filter(|place| self.candidates[*place].invoked <= first_return)
            .collect();
        for place in next {
            if self.try_next(place, done)? {
                return Ok(true);
            }
        }
        let state = self.state.clone();
        self.failed.entry(done).or_default().insert(state);
        Ok(false)
    }

    fn to_come(&self, done: u64) -> impl Iterator<Item = usize> + use<> {
        (0..self.candidates.len()).filter(move |place| done & 1 << place == 0)
    }

    fn try_next(&mut self, place: usize, done: u64) -> Result<bool, OutOfSteps> {
        self.steps = self.steps.checked_sub(1).ok_or(OutOfSteps)?;
        let done = done | 1 << place;
        let Candidate {
            call,
            answer,
            earliest,
            latest,
            ..
        } = self.candidates[place];
        match answer {
            Answer::NotApplied => unreachable!("left out at the start"),
            Answer::NoSuchSeat => {
                let refused = self.names.command(&call).map(|command| {
                    decide(self.state.view(&command), &command, Timestamp::MIN)
                        == Err(Rejected::UnknownSeat)
                });
                if refused == Some(true) {
                    self.go_on(done)
                } else {
                    Ok(false)
                }
            }
            Answer::Unknown => self.try_unknown(&call, earliest, done),
            Answer::Receipt { told, version, at } => {
                let millis = at.as_unix_millis();
                if millis < earliest || millis > latest {
                    return Ok(false);
                }
                match self.names.command(&call) {
                    None => {
                        if self.read_is(&call, told, version, at) {
                            self.go_on(done)
                        } else {
                            Ok(false)
                        }
                    }
                    Some(command) => {
                        let Ok(decided) = decide(self.state.view(&command), &command, at) else {
                            return Ok(false);
                        };
                        let given = self
                            .names
                            .told(&decided.receipt.outcome)
                            .receipt(&decided.receipt);
                        if given == answer {
                            self.with(decided, done)
                        } else {
                            Ok(false)
                        }
                    }
                }
            }
        }
    }

    fn read_is(&mut self, call: &Call, told: Told, version: Version, at: Timestamp) -> bool {
        let given = match call {
            Call::ReadSeat(seat) => {
                let mut receipt = self.state.seat(self.names.seat_id(*seat), at);
                if let (Some(seat), Told::Seat(Some(row))) = (&mut receipt.outcome, told)
                    && seat.version == Version::ZERO
                    && self.any_added_at
                {
                    seat.changed_at = row.changed_at;
                }
                self.names
                    .told_seat(receipt.outcome.as_ref())
                    .receipt(&receipt)
            }
            Call::ReadPayment(payment) => {
                let receipt = self.state.payment(self.names.payment_id(*payment), at);
                self.names
                    .told_payment(receipt.outcome.as_ref())
                    .receipt(&receipt)
            }
            Call::Hold { .. } | Call::Release(_) | Call::Confirm { .. } => return false,
        };
        given == Answer::Receipt { told, version, at }
    }

    /// A call of unknown result, at every millisecond at which it may have been decided.
    fn try_unknown(&mut self, call: &Call, earliest: i64, done: u64) -> Result<bool, OutOfSteps> {
        let Some(command) = self.names.command(call) else {
            return Ok(false); // a read changes nothing, so nothing is gained by it
        };
        let changed_at = self
            .state
            .seats
            .get(command.seat())
            .map_or(0, |seat| seat.changed_at.as_unix_millis());
        for millis in earliest.max(changed_at)..=self.last_named {
            let Ok(at) = Timestamp::from_unix_millis(millis) else {
                continue;
            };
            self.steps = self.steps.checked_sub(1).ok_or(OutOfSteps)?;
            if let Ok(decided) = decide(self.state.view(&command), &command, at)
                && (decided.seat.is_some() || decided.record.is_some())
                && self.with(decided, done)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes on from the state after this decision, and comes back to the present one.
    fn with(&mut self, decided: Decided, done: u64) -> Result<bool, OutOfSteps> {
        let before: Option<(SeatId, Option<Seat>)> = decided.seat.map(|seat| {
            let id = seat.id.clone();
            (id.clone(), self.state.seats.insert(id, seat))
        });
        let recorded = decided.record.map(|record| {
            let payment = record.payment.clone();
            self.state.payments.insert(payment.clone(), record);
            payment
        });
        let found = self.go_on(done)?;
        if let Some((id, Some(seat))) = before {
            self.state.seats.insert(id, seat);
        }
        if let Some(payment) = recorded {
            self.state.payments.remove(&payment);
        }
        Ok(found)
    }
}

fn initial(history: &History) -> State {
    let mut state = State::default();
    let added_at = history.header.seats_added_at.unwrap_or(Timestamp::MIN);
    for seat in history.names.seats() {
        state.add(seat, added_at);
    }
    for missing in &history.header.missing_seats {
        state.seats.remove(history.names.seat_id(*missing));
    }
    state
}

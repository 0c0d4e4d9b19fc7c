//! Every short sequence: each kind of seat, each kind of known payment, each command, at each instant
//! that matters.
//!
//! A seat is brought into one of ten states, a payment into one of five or six; then one command is
//! given, twice, one before, at and one after the end of the hold, and after the clock has stepped
//! back before everything but the adding of the seat. The holds are tried once more where time ends with the last of them, so that a
//! hold may end too late by the clock, or only by the time it would be decided on. All of it on one file, with names of its own for each combination, so that
//! thousands of combinations take seconds.

use std::sync::atomic::{AtomicBool, Ordering};

use soldonce::{Claim, Command, HoldRequest, PaymentId, SeatId, Timestamp};

use super::pair::{Pair, Stop};
use super::run::{CouldNotRun, Failure, Place, Workplace};
use super::{Call, Sequence, Step, Via};
use crate::store_choice::Subject;

/// How many combinations there are. A number of its own, so that none can get lost unseen.
pub const COMBINATIONS: u64 = 2_584;

/// After so many combinations the store is opened anew. One that has granted many holds in a row leaves out
/// the look at a snapshot, and every combination is to be looked at.
const FRESH_EVERY: u64 = 16;

/// A state of a seat: how it is reached, and what is special about it.
struct History {
    /// `x` where the seat is never added.
    seat: &'static str,
    steps: &'static str,
    /// Of the last step.
    last: i64,
    /// When the hold on it ends, or would.
    ends: i64,
    version: i64,
    /// The payment that bought it.
    bought_by: Option<&'static str>,
}

const fn history(
    seat: &'static str,
    steps: &'static str,
    last: i64,
    ends: i64,
    version: i64,
) -> History {
    History {
        seat,
        steps,
        last,
        ends,
        version,
        bought_by: None,
    }
}

const fn sold(steps: &'static str, last: i64, ends: i64, version: i64) -> History {
    History {
        bought_by: Some("q"),
        ..history("s", steps, last, ends, version)
    }
}

const HISTORIES: [History; 10] = [
    history("x", "", 5, 15, 0),
    history("s", "", 5, 15, 0),
    history("s", "H(s,A)@5; R(s,A,#1)@7; ", 7, 15, 2),
    history("s", "H(s,A)@5; ", 5, 15, 1),
    history("s", "H(s,A)@5; H(s,A)@15; ", 15, 25, 2),
    history("s", "H(s,B)@5; H(s,A)@15; ", 15, 25, 2),
    history("s", "H(s,A)@5; H(s,B)@15; ", 15, 25, 2),
    history("s", "H(s,A)@5; R(s,A,#1)@7; H(s,A)@8; ", 8, 18, 3),
    sold("H(s,A)@5; C(q,s,A,#1)@7; ", 7, 15, 2),
    sold("H(s,B)@5; H(s,A)@15; C(q,s,A,#2)@17; ", 17, 25, 3),
];

/// When the last of the holds in [`HISTORIES`] ends, and one more.
const LAST_END: i64 = 26;

/// Every sequence of the space, in order.
pub fn sequences() -> Vec<Sequence> {
    let mut all = Vec::new();
    for history in &HISTORIES {
        let (seat, version, last) = (history.seat, history.version, history.last);
        let holds: Vec<i64> = [version - 1, version, version + 1]
            .into_iter()
            .filter(|hold| *hold >= 0)
            .collect();
        let mut commands = Vec::new();
        for owner in ["A", "B", "a"] {
            commands.push((String::new(), format!("H({seat},{owner})")));
        }
        commands.push((String::new(), format!("H({seat},A,25)")));
        for owner in ["A", "B"] {
            for hold in &holds {
                commands.push((String::new(), format!("R({seat},{owner},#{hold})")));
            }
        }
        let mut claims: Vec<String> = vec![
            format!("{seat},A,#9"),
            "t,A,#1".to_owned(),
            "x9,A,#1".to_owned(),
            format!("{seat},a,#{version}"),
        ];
        for owner in ["A", "B"] {
            for hold in &holds {
                claims.push(format!("{seat},{owner},#{hold}"));
            }
        }
        // What is known about the payment that the command names.
        let mut known = vec![
            ("p", String::new()),
            ("p", format!("C(p,{seat},A,#9)@{last}; ")),
            ("p", format!("C(p,{seat},B,#{version})@{last}; ")),
            ("p", format!("H(t,A)@{last}; C(p,t,A,#1)@{last}; ")),
            ("p", format!("C(p,x9,A,#1)@{last}; ")),
        ];
        known.extend(history.bought_by.map(|payment| (payment, String::new())));
        for (payment, before) in &known {
            for claim in &claims {
                commands.push((before.clone(), format!("C({payment},{claim})")));
            }
        }
        for at in [history.ends - 1, history.ends, history.ends + 1, 4] {
            for (before, command) in &commands {
                let text = format!("{}{before}{command}@{at}; {command}@{at}", history.steps);
                all.push(text.parse().expect("written above"));
            }
        }
    }
    all.extend(HISTORIES.iter().flat_map(at_the_end_of_time));
    all
}

/// Holds on a seat with a history that ends as time does.
fn at_the_end_of_time(history: &History) -> Vec<Sequence> {
    let seat = history.seat;
    let mut all = Vec::new();
    for at in [history.ends - 1, history.ends, history.ends + 1, 4] {
        for hold in ["A", "B", "a", "A,20", "A,25"] {
            let command = format!("H({seat},{hold})");
            let text = format!("{}{command}@{at}; {command}@{at}", history.steps);
            let mut sequence: Sequence = text.parse().expect("written above");
            for step in &mut sequence.steps {
                if let Step::Call(call) = step {
                    let later = Timestamp::MAX.as_unix_millis() - LAST_END;
                    let millis = call.at.as_unix_millis() + later;
                    call.at = Timestamp::from_unix_millis(millis).expect("no history goes on");
                }
            }
            all.push(sequence);
        }
    }
    all
}

/// A sequence of the space that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallFailure {
    /// The sequence.
    pub sequence: Sequence,
    /// How it failed.
    pub failure: Failure,
    /// How many combinations were tried, with this one.
    pub tried: u64,
}

/// Walks the whole space, or the part before `stop` is set. The number of combinations that were tried,
/// or the first that failed.
///
/// # Errors
/// [`CouldNotRun`] when something outside the store failed.
pub fn walk(
    subject: &dyn Subject,
    place: &Workplace,
    stop: &AtomicBool,
    progress: &dyn Fn(u64),
) -> Result<Result<u64, Box<SmallFailure>>, CouldNotRun> {
    let stopped = |stop, sequence: &Sequence, step, tried| match stop {
        Stop::CouldNotRun(what) => Err(CouldNotRun(what)),
        Stop::Differs { check, what } => Ok(Err(Box::new(SmallFailure {
            sequence: sequence.clone(),
            failure: Failure {
                check,
                place: step,
                what,
            },
            tried,
        }))),
    };
    let mut pair = match Pair::open(subject, place.fresh()?) {
        Ok(pair) => pair,
        Err(stop) => return stopped(stop, &Sequence::default(), Place::Step(0), 0),
    };
    let mut tried = 0;
    for sequence in sequences() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if tried % FRESH_EVERY == FRESH_EVERY - 1
            && let Err(stop) = pair.reopen()
        {
            return stopped(stop, &sequence, Place::Step(0), tried);
        }
        let named = with_names_of_its_own(&sequence, tried);
        if let Err(stop) = pair.add(Timestamp::MIN, &named.seats()) {
            return stopped(stop, &sequence, Place::Step(0), tried + 1);
        }
        for (index, step) in named.steps.iter().enumerate() {
            let Step::Call(call) = step else { continue };
            let compared = pair.call(call).and_then(|_| pair.compare_touched(call));
            if let Err(stop) = compared {
                return stopped(stop, &sequence, Place::Step(index), tried + 1);
            }
        }
        tried += 1;
        progress(tried);
    }
    let closed = pair
        .reopen()
        .and_then(|()| pair.compare_everything(Via::First))
        .and_then(|()| pair.close());
    match closed {
        Ok(()) => Ok(Ok(tried)),
        Err(stop) => stopped(stop, &Sequence::default(), Place::End, tried),
    }
}

fn with_names_of_its_own(sequence: &Sequence, number: u64) -> Sequence {
    let seat = |id: &SeatId| SeatId::new(format!("{id}/{number}")).expect("short");
    let claim = |claim: &Claim| Claim {
        seat: seat(&claim.seat),
        ..claim.clone()
    };
    let command = |command: &Command| match command {
        Command::Hold(request) => Command::Hold(HoldRequest {
            seat: seat(&request.seat),
            ..request.clone()
        }),
        Command::Release(released) => Command::Release(claim(released)),
        Command::ConfirmPayment {
            payment,
            claim: paid,
        } => Command::ConfirmPayment {
            payment: PaymentId::new(format!("{payment}/{number}")).expect("short"),
            claim: claim(paid),
        },
    };
    let steps = sequence.steps.iter().map(|step| match step {
        Step::Call(call) => Step::Call(Call {
            command: command(&call.command),
            ..call.clone()
        }),
        Step::Add { at, seat: id } => Step::Add {
            at: *at,
            seat: seat(id),
        },
        Step::Reopen => Step::Reopen,
    });
    Sequence {
        steps: steps.collect(),
    }
}

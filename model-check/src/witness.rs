//! The few operations that contradict each other, for a person: as text and as a picture.
//!
//! The notation is that of the table of faults: `H(A1,bob)` is a hold, `R` a release, `C(p,A1,bob,h7)` a
//! payment for hold 7. A number in front is the place of the operation in the sentence above it. Times
//! of the run are milliseconds since its start; the store's times are shown on the same scale where the
//! two clocks belong together.

mod picture;

use std::fmt::Write as _;

use soldonce::{Decision, Timestamp};

use crate::history::{
    Answer, Call, ClaimNo, ClockRule, History, OPEN, Operation, RecordNo, SeatNo, StateNo, Told,
};
use crate::serializable::Violation;

pub use picture::picture;

/// So many operations around a violation are shown in its picture.
const AROUND: usize = 14;

/// A violation as text of 80 columns, as far as the names in it allow: the rule, what is wrong, and the
/// operations, each on one line or with its answer below it.
pub fn text(history: &History, violation: &Violation) -> String {
    const WIDTH: usize = 80;
    let sentence = format!("{}: {}", violation.rule, violation.problem);
    let mut text = textwrap::fill(&sentence, WIDTH);
    text.push('\n');
    let calls = violation.operations.iter().zip(1..).map(|(call, number)| {
        let when = call.when();
        let from_to = format!("{} .. {} ms", millis(when.invoked), end(when.returned));
        let client = format!("  {number}. client {}", when.client);
        let asked = self::call(history, &call.call());
        [client, from_to, asked, answer(history, call)]
    });
    let calls: Vec<[String; 4]> = calls.collect();
    let widest = |column: usize| {
        let widths = calls.iter().map(|call| call[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let (client, from_to, asked) = (widest(0), widest(1), widest(2));
    let before = client + 2 + from_to + 2;
    let fits = before + asked + 2 + widest(3) <= WIDTH;
    for call in &calls {
        let _ = write!(text, "{:<client$}  {:>from_to$}  ", call[0], call[1]);
        let _ = if fits {
            writeln!(text, "{:<asked$}  {}", call[2], call[3])
        } else {
            writeln!(text, "{}\n{:before$}{}", call[2], "", call[3])
        };
    }
    text
}

/// Nanoseconds as milliseconds with three digits.
fn millis(nanos: u64) -> String {
    let micros = nanos / 1_000;
    format!("{}.{:03}", micros / 1_000, micros % 1_000)
}

fn end(returned: u64) -> String {
    if returned == OPEN {
        "?".to_owned()
    } else {
        millis(returned)
    }
}

/// A call in short notation.
fn call(history: &History, call: &Call) -> String {
    let names = &history.names;
    match call {
        Call::Hold { seat, owner, .. } => {
            format!("H({},{})", names.seat_id(*seat), names.owner_id(*owner))
        }
        Call::Release(of) => format!("R({})", claim(history, of)),
        Call::Confirm { payment, claim: of } => {
            format!("C({},{})", names.payment_id(*payment), claim(history, of))
        }
        Call::ReadSeat(seat) => format!("seat({})", names.seat_id(*seat)),
        Call::ReadPayment(payment) => format!("payment({})", names.payment_id(*payment)),
    }
}

fn claim(history: &History, claim: &ClaimNo) -> String {
    format!(
        "{},{},{}",
        history.names.seat_id(claim.seat),
        history.names.owner_id(claim.owner),
        claim.hold_id
    )
}

/// The answer in short notation, with the version it names and its time.
fn answer(history: &History, operation: &Operation) -> String {
    match operation.answer(&history.details) {
        Answer::Unknown => "result unknown".to_owned(),
        Answer::NotApplied => "not applied".to_owned(),
        Answer::NoSuchSeat => "no such seat".to_owned(),
        Answer::Receipt { told, version, at } => {
            let verb = if told.changed_seat() { "made" } else { "on" };
            format!(
                "{}, {verb} {version} @{}",
                outcome(history, &told),
                time(history, at)
            )
        }
    }
}

/// A time of the store: since the start of the run where that is known.
fn time(history: &History, time: Timestamp) -> String {
    match history.header.clock {
        ClockRule::Free => time.as_unix_millis().to_string(),
        ClockRule::Tied { start, .. } => {
            (time.as_unix_millis() - start.as_unix_millis()).to_string()
        }
    }
}

fn outcome(history: &History, told: &Told) -> String {
    let hold = |word: &str, hold_id, expires| {
        format!("{word}({hold_id} until {})", time(history, expires))
    };
    match told {
        Told::Held { hold_id, expires } => hold("Held", hold_id, *expires),
        Told::AlreadyHeld { hold_id, expires } => hold("AlreadyHeld", hold_id, *expires),
        Told::HeldUntil(until) => format!("Refused(HeldUntil {})", time(history, *until)),
        Told::SoldOut => "Refused(Sold)".to_owned(),
        Told::Released => "Released".to_owned(),
        Told::NotHeld => "NotHeld".to_owned(),
        Told::Sold => "Sold".to_owned(),
        Told::Refund(reason) => format!("RefundRequired({reason})"),
        Told::RefundAgain(reason, of) => {
            format!("RefundRequired({reason}) again: {}", record(history, of))
        }
        Told::Duplicate(of) => format!("Duplicate: {}", record(history, of)),
        Told::Conflict(of) => format!("Conflict: {}", record(history, of)),
        Told::Seat(None) => "no seat".to_owned(),
        Told::Seat(Some(row)) => format!("{} {}", row.version, state(history, &row.state)),
        Told::Payment(None) => "not known".to_owned(),
        Told::Payment(Some(of)) => record(history, of),
    }
}

fn record(history: &History, record: &RecordNo) -> String {
    let decision = match record.decision {
        Decision::Sold => "sold".to_owned(),
        Decision::RefundRequired(reason) => format!("refund({reason})"),
    };
    format!(
        "({}) {decision} {} @{}",
        claim(history, &record.claim),
        record.version,
        time(history, record.decided_at)
    )
}

fn state(history: &History, state: &StateNo) -> String {
    match state {
        StateNo::Free => "Free".to_owned(),
        StateNo::Held { owner, expires, .. } => format!(
            "Held by {} until {}",
            history.names.owner_id(*owner),
            time(history, *expires)
        ),
        StateNo::Sold { owner, payment, .. } => format!(
            "Sold to {} for {}",
            history.names.owner_id(*owner),
            history.names.payment_id(*payment)
        ),
    }
}

/// The seat that an operation is about.
fn seat_of(history: &History, operation: &Operation) -> Option<SeatNo> {
    match operation.answer(&history.details) {
        Answer::Receipt { told, .. } => told
            .record()
            .map(|record| record.claim.seat)
            .or(operation.call().seat()),
        Answer::Unknown | Answer::NotApplied | Answer::NoSuchSeat => operation.call().seat(),
    }
}

/// The operations of the violation, and the ones about the same seats that ran nearest to it; each
/// with its place in the violation. Sorted by client and time.
fn around(history: &History, violation: &Violation) -> Vec<(Operation, Option<usize>)> {
    let own = &violation.operations;
    let seats: Vec<SeatNo> = own
        .iter()
        .filter_map(|operation| seat_of(history, operation))
        .collect();
    let from = own.iter().map(Operation::invoked).min().unwrap_or(0);
    let to = own
        .iter()
        .map(|operation| match operation.returned() {
            OPEN => operation.invoked(),
            returned => returned,
        })
        .max()
        .unwrap_or(0);
    let mut others: Vec<&Operation> = history
        .operations
        .iter()
        .filter(|operation| !own.contains(operation))
        .filter(|operation| seat_of(history, operation).is_some_and(|seat| seats.contains(&seat)))
        .collect();
    let changed = |operation: &Operation| matches!(operation.answer(&history.details), Answer::Receipt { told, .. } if told.changed_seat());
    // Nearest first; among those that run at the same time, the ones that changed something.
    others.sort_by_key(|operation| {
        let before = from.saturating_sub(operation.returned());
        let after = operation.invoked().saturating_sub(to);
        (before.max(after), !changed(operation))
    });
    let mut shown: Vec<(Operation, Option<usize>)> = own
        .iter()
        .enumerate()
        .map(|(place, operation)| (*operation, Some(place + 1)))
        .chain(others.into_iter().take(AROUND).map(|other| (*other, None)))
        .collect();
    shown.sort_by_key(|(operation, _)| (operation.when().client, operation.invoked()));
    shown
}

#[cfg(test)]
#[path = "witness_tests.rs"]
mod tests;

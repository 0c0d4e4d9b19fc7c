//! The history of a run: recorded by every client, closed by final reads, and checked while it grows, or,
//! when several processes wrote it, at the end.
//!
//! What is checked, and why that is enough, stands in [`model_check::serializable`]. Here the
//! recorder is started, everything that anybody touched is read once more so that a lost last write
//! shows, and the verdict becomes one of the checks of the run.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use model_check::history::{
    Answer, Call, History, Names, OPEN, Operation, Recorded, Recorder, RecorderOptions, StateNo,
    Told,
};
use model_check::serializable::{Verdict, Violation};
use soldonce::{Command, Decision, PaymentId, SeatId, SeatStore, StoreError};

use crate::RunError;
use crate::clock::RunClock;
use crate::proof::Check;
use crate::store::Opened;
use crate::units::{short_time, thousands};

/// How many threads read everything back.
const READERS: usize = 4;
/// How many violations are told.
const SHOWN: usize = 3;

/// Starts to record; `keep` keeps all of it.
pub fn start(opened: &Opened, clock: &RunClock, keep: bool) -> Recorder {
    Recorder::start(RecorderOptions {
        seats_added_at: opened.seats_added_at,
        missing_seats: vec![opened.names.seat(None)],
        keep,
        decided: true,
        ..RecorderOptions::new(clock.for_recorder())
    })
}

/// Reads every seat that was asked for, and every payment that the check remembers, once more, and again
/// where the store was busy. Says how many reads that were. A seat is what the function beside it makes an id of, and so is a payment.
///
/// # Errors
/// [`RunError::Store`] when the store can not be read.
pub fn read_back<S: Sync, P: Sync>(
    store: &dyn SeatStore,
    recorder: &Recorder,
    (seats, seat_id): (&[S], impl Fn(&S) -> SeatId + Sync),
    (payments, payment_id): (&[P], impl Fn(&P) -> PaymentId + Sync),
) -> Result<u64, RunError> {
    let share = |all: usize| all.div_ceil(READERS).max(1);
    let (mut seat_shares, mut payment_shares) = (
        seats.chunks(share(seats.len())),
        payments.chunks(share(payments.len())),
    );
    thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|_| {
                let seats = seat_shares.next().unwrap_or_default();
                let payments = payment_shares.next().unwrap_or_default();
                let mut client = recorder.client();
                let (seat_id, payment_id) = (&seat_id, &payment_id);
                scope.spawn(move || -> Result<u64, RunError> {
                    let mut reads = 0;
                    for seat in seats {
                        let seat = seat_id(seat);
                        reads += until_read(|| client.read_seat(store, &seat).map(drop))?;
                    }
                    for payment in payments {
                        let payment = payment_id(payment);
                        reads += until_read(|| client.read_payment(store, &payment).map(drop))?;
                    }
                    Ok(reads)
                })
            })
            .collect();
        let mut reads = 0;
        for reader in readers {
            match reader.join() {
                Ok(read) => reads += read?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(reads)
    })
}

/// Reads until the store is not busy, for a minute at most, and says how often that was.
fn until_read(mut read: impl FnMut() -> Result<(), StoreError>) -> Result<u64, RunError> {
    let began = Instant::now();
    for reads in 1.. {
        match read() {
            Err(StoreError::Busy { .. }) if began.elapsed() < Duration::from_mins(1) => {
                thread::sleep(Duration::from_millis(2));
            }
            Ok(()) => return Ok(reads),
            Err(error) => return Err(error.into()),
        }
    }
    unreachable!("a minute has fewer than 2^64 reads")
}

/// Closes a history that several processes wrote with reads of everything that it names, if the store
/// is given, and checks it. Says how many reads that were.
///
/// # Errors
/// [`RunError::Store`] when the store can not be read.
pub fn close(
    mut history: History,
    store: Option<&dyn SeatStore>,
    clock: &RunClock,
) -> Result<(Recorded, u64), RunError> {
    let mut reads = 0;
    if let Some(store) = store {
        let recorder = Recorder::start(RecorderOptions {
            check: false,
            keep: true,
            ..RecorderOptions::new(clock.for_recorder())
        });
        let seats = (history.names.seats(), SeatId::clone);
        let payments = (history.names.payments(), PaymentId::clone);
        reads = read_back(store, &recorder, seats, payments)?;
        history.append(&recorder.finish().history);
    }
    let report = model_check::serializable::check(&history);
    let recorded = Recorded {
        report,
        history,
        most_held_back: 0,
        decided: None,
    };
    Ok((recorded, reads))
}

/// Writes a history that was kept.
///
/// # Errors
/// [`RunError::History`] when the file can not be written.
pub fn write(history: &History, path: &Path) -> Result<(), RunError> {
    let failed = |problem: String| RunError::History {
        path: path.to_path_buf(),
        problem,
    };
    let file = File::create(path).map_err(|error| failed(error.to_string()))?;
    let mut file = BufWriter::new(file);
    model_check::history::write(history, &mut file).map_err(|error| failed(error.to_string()))?;
    file.flush().map_err(|error| failed(error.to_string()))
}

/// The verdict on the history as a check of the run.
pub fn check(recorded: &Recorded) -> Check {
    let report = &recorded.report;
    let (undecided, notes) = match &report.verdict {
        Verdict::Holds => (0, Vec::new()),
        Verdict::Violated(violations) => {
            let words = |violation| in_words(violation, &recorded.history);
            (0, violations.iter().take(SHOWN).flat_map(words).collect())
        }
        Verdict::Inconclusive(why) => (1, vec![why.clone()]),
    };
    let cases = report.counts.operations.max(1);
    Check {
        name: "history",
        what: "the whole history, every answer of it, is strictly serializable",
        unit: "calls",
        cases,
        violations: report.counts.violations.min(cases),
        undecided,
        notes,
    }
}

/// A violation with its witness, a line for each call.
fn in_words(violation: &Violation, history: &History) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", violation.rule, violation.problem)];
    lines.extend(
        violation
            .operations
            .iter()
            .map(|operation| call_in_words(operation, history)),
    );
    lines
}

fn call_in_words(operation: &Operation, history: &History) -> String {
    let names = &history.names;
    let call = match (operation.call(), names.command(&operation.call())) {
        (_, Some(Command::Hold(request))) => format!("hold {} by {}", request.seat, request.owner),
        (_, Some(Command::Release(claim))) => {
            format!(
                "release {} by {} {}",
                claim.seat, claim.owner, claim.hold_id
            )
        }
        (_, Some(Command::ConfirmPayment { payment, claim })) => format!(
            "pay {payment} for {} by {} {}",
            claim.seat, claim.owner, claim.hold_id
        ),
        (Call::ReadSeat(seat), None) => format!("read {}", names.seat_id(seat)),
        (Call::ReadPayment(payment), None) => format!("read {}", names.payment_id(payment)),
        (Call::Hold { .. } | Call::Release(_) | Call::Confirm { .. }, None) => String::new(),
    };
    let answer = match operation.answer(&history.details) {
        Answer::Receipt { told, version, .. } => {
            format!("{} at {version}", told_in_words(&told, names))
        }
        Answer::NoSuchSeat => "no such seat".to_owned(),
        Answer::NotApplied => "an error, not applied".to_owned(),
        Answer::Unknown => "no answer".to_owned(),
    };
    let ended = match operation.returned() {
        OPEN => "open".to_owned(),
        returned => format!("+{}", short_time(returned - operation.invoked())),
    };
    // Of an instant every digit counts: it is compared with others.
    format!(
        "  {}µs {ended} {call}: {answer}",
        thousands(operation.invoked() / 1_000)
    )
}

fn told_in_words(told: &Told, names: &Names) -> String {
    match told {
        Told::Held { hold_id, .. } => format!("held {hold_id}"),
        Told::AlreadyHeld { hold_id, .. } => format!("already held {hold_id}"),
        Told::HeldUntil(until) => format!("refused, held until {until}"),
        Told::SoldOut => "refused, sold".to_owned(),
        Told::Released => "released".to_owned(),
        Told::NotHeld => "not held".to_owned(),
        Told::Sold => "sold".to_owned(),
        Told::Refund(reason) => format!("refund, {reason}"),
        Told::RefundAgain(reason, _) => format!("refund again, {reason}"),
        Told::Duplicate(_) => "duplicate".to_owned(),
        Told::Conflict(_) => "conflict".to_owned(),
        Told::Seat(None) => "no seat".to_owned(),
        Told::Seat(Some(row)) => match row.state {
            StateNo::Free => "free".to_owned(),
            StateNo::Held { owner, hold_id, .. } => {
                format!("held by {} {hold_id}", names.owner_id(owner))
            }
            StateNo::Sold { payment, .. } => format!("sold for {}", names.payment_id(payment)),
        },
        Told::Payment(None) => "not known".to_owned(),
        Told::Payment(Some(record)) => match record.decision {
            Decision::Sold => "bought the seat".to_owned(),
            Decision::RefundRequired(reason) => format!("refund, {reason}"),
        },
    }
}

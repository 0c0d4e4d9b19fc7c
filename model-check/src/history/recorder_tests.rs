//! Recording on threads: everything arrives, in order, with the right names.

use std::collections::HashSet;

use soldonce::{
    Claim, Clock as _, Command, ConfirmOutcome, HoldDuration, HoldId, HoldOutcome, HoldRequest,
    Outcome, OwnerId, Receipt, RefundReason, ReleaseOutcome, StoreError, Version,
};

use super::client::MANY_NAMES;
use super::*;
use crate::history::operation::{Call, OPEN};

fn seat(id: &str) -> SeatId {
    SeatId::new(id).expect("valid")
}

fn hold(owner: &str) -> Command {
    Command::Hold(HoldRequest {
        seat: seat("s"),
        owner: OwnerId::new(owner).expect("valid"),
        ttl: HoldDuration::from_secs(60).expect("in range"),
    })
}

/// A payment for a hold that was never given, which is refunded on version 0.
fn pay(number: u64) -> Command {
    Command::ConfirmPayment {
        payment: PaymentId::new(format!("p{number}")).expect("valid"),
        claim: Claim {
            seat: seat("s"),
            owner: OwnerId::new("A").expect("valid"),
            hold_id: HoldId::new(0).expect("not negative"),
        },
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as a store answers")]
fn refund(clock: &RunClock) -> Result<Receipt<Outcome>, StoreError> {
    Ok(Receipt {
        outcome: Outcome::Confirm(ConfirmOutcome::RefundRequired {
            reason: RefundReason::NeverHeld,
            recorded: None,
        }),
        version: Version::ZERO,
        at: clock.now(),
    })
}

fn start(clock: &RunClock) -> Recorder {
    let mut options = RecorderOptions::new(clock.clone());
    options.keep = true;
    Recorder::start(options)
}

#[test]
fn calls_of_many_threads_arrive_in_the_order_of_their_returns() {
    let clock = RunClock::start();
    let recorder = start(&clock);
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let (clock, mut client) = (&clock, recorder.client());
            threads.spawn(move || {
                for number in 0..3_000 {
                    let _ = client.invoke(&pay(thread * 10_000 + number));
                    client.complete(&refund(clock));
                }
            });
        }
    });
    let run = recorder.finish();
    assert_eq!(run.report.verdict, Verdict::Holds);
    assert_eq!(run.report.counts.operations, 12_000);
    assert_eq!(run.history.operations.len(), 12_000);
    assert_eq!(run.history.names.payments().len(), 12_000);
    assert!(run.history.operations.is_sorted_by_key(Operation::returned));
}

#[test]
fn a_client_that_uses_more_names_than_it_keeps_begins_its_numbers_anew() {
    let clock = RunClock::start();
    let recorder = start(&clock);
    let mut client = recorder.client();
    let many = MANY_NAMES as u64 + 2_000;
    for number in 0..many {
        let _ = client.invoke(&pay(number));
        if number % 1_000 == 0 {
            client.hand_over();
        }
        client.complete(&refund(&clock));
    }
    drop(client);
    let run = recorder.finish();
    assert_eq!(run.report.verdict, Verdict::Holds);
    let names = run.history.names.payments();
    assert_eq!(names.len() as u64, many);
    let called: Vec<&str> = run
        .history
        .operations
        .iter()
        .map(|operation| match operation.call() {
            Call::Confirm { payment, .. } => names[payment.index()].as_str(),
            other => panic!("{other:?} was not called"),
        })
        .collect();
    assert!(
        (0..many)
            .zip(called)
            .all(|(number, name)| name == format!("p{number}"))
    );
}

#[test]
fn a_call_that_is_never_completed_is_of_unknown_result() {
    let clock = RunClock::start();
    let recorder = start(&clock);
    let mut client = recorder.client();
    let _ = client.invoke(&hold("A"));
    let _ = client.invoke(&hold("B"));
    drop(client);
    let run = recorder.finish();
    assert_eq!(run.report.counts.unknown, 2);
    assert!(
        run.history
            .operations
            .iter()
            .all(|operation| operation.returned() == OPEN)
    );
}

#[test]
fn a_violation_is_known_before_the_run_has_ended() {
    let clock = RunClock::start();
    let recorder = start(&clock);
    let mut client = recorder.client();
    let _ = client.invoke(&Command::Release(Claim {
        seat: seat("s"),
        owner: OwnerId::new("A").expect("valid"),
        hold_id: HoldId::new(1).expect("not negative"),
    }));
    client.complete(&Ok(Receipt {
        outcome: Outcome::Release(ReleaseOutcome::Released),
        version: Version::new(1).expect("not negative"),
        at: clock.now(),
    }));
    client.hand_over();
    while recorder.so_far().counts.operations == 0 {
        std::thread::yield_now();
    }
    assert!(matches!(recorder.so_far().verdict, Verdict::Violated(_)));
    drop(client);
    assert!(matches!(
        recorder.finish().report.verdict,
        Verdict::Violated(_)
    ));
}

#[test]
fn a_run_whose_clients_are_not_dropped_is_inconclusive() {
    let clock = RunClock::start();
    let recorder = start(&clock);
    let mut client = recorder.client();
    let _ = client.invoke(&hold("A"));
    client.complete(&Ok(Receipt {
        outcome: Outcome::Hold(HoldOutcome::Refused(soldonce::HoldRefusal::Sold)),
        version: Version::ZERO,
        at: clock.now(),
    }));
    let report = recorder.finish().report;
    assert!(
        matches!(report.verdict, Verdict::Inconclusive(_)),
        "{report:?}"
    );
    drop(client);
}

/// Payments and their repetitions, each closed when it is over.
fn pay_and_close(client: &mut Client, clock: &RunClock, payments: std::ops::Range<u64>) {
    for number in payments {
        let _ = client.invoke(&pay(number));
        client.complete(&refund(clock));
        client.close_payment(&PaymentId::new(format!("p{number}")).expect("valid"));
    }
}

/// Waits until so many calls were checked.
fn wait_for(recorder: &Recorder, calls: u64) {
    while recorder.so_far().counts.operations < calls {
        std::thread::yield_now();
    }
}

fn start_to_forget(clock: &RunClock, keep: bool) -> Recorder {
    Recorder::start(RecorderOptions {
        decided: true,
        keep,
        ..RecorderOptions::new(clock.clone())
    })
}

#[test]
fn closed_payments_are_forgotten_and_written_down() {
    const PAYMENTS: u64 = 50_000;
    let clock = RunClock::start();
    let recorder = start_to_forget(&clock, false);
    let mut client = recorder.client();
    for payments in (0..PAYMENTS)
        .step_by(5_000)
        .map(|first| first..first + 5_000)
    {
        pay_and_close(&mut client, &clock, payments.clone());
        client.hand_over();
        // Else a busy machine may leave all of them in the channel.
        wait_for(&recorder, payments.end);
    }
    let _ = client.invoke(&pay(PAYMENTS));
    client.complete(&refund(&clock));
    drop(client);
    let remembered = recorder.remembered_payments();
    // The last one is open; the first one is at the highest place of the seat.
    let open = PaymentId::new(format!("p{PAYMENTS}")).expect("valid");
    assert!(remembered.contains(&open) && remembered.len() <= 2);
    let run = recorder.finish();
    assert_eq!(run.report.verdict, Verdict::Holds);
    let numbers = run.history.names.payments().len();
    assert!(numbers < 30_000, "{numbers} numbers were given");
    let decided = run.decided.expect("it was written");
    assert_eq!(decided.payments(), PAYMENTS + 1);
    let mut names = std::collections::BTreeSet::new();
    for record in decided.records().expect("readable") {
        let record = record.expect("readable");
        assert_eq!(
            record.decision,
            soldonce::Decision::RefundRequired(RefundReason::NeverHeld)
        );
        assert_eq!(record.claim.seat, seat("s"));
        names.insert(record.payment.as_str().to_owned());
    }
    assert_eq!(names.len() as u64, PAYMENTS + 1);
}

#[test]
fn a_payment_that_only_a_close_is_left_to_say_about_is_closed() {
    let clock = RunClock::start();
    let recorder = start_to_forget(&clock, false);
    let mut client = recorder.client();
    for number in 0..3 {
        let _ = client.invoke(&pay(number));
        client.complete(&refund(&clock));
    }
    client.hand_over();
    client.close_payment(&PaymentId::new("p2").expect("valid"));
    client.hand_over();
    // The close is of that instant, and is done when all have promised a later one.
    client.hand_over();
    let remembered = recorder.remembered_payments();
    let names: Vec<_> = remembered.iter().map(PaymentId::as_str).collect();
    assert_eq!(names, ["p0", "p1"]);
    drop(client);
    assert_eq!(recorder.finish().report.verdict, Verdict::Holds);
}

#[test]
fn a_payment_is_closed_after_the_calls_of_every_client_that_returned_before() {
    let clock = RunClock::start();
    let recorder = start_to_forget(&clock, false);
    let (mut client, mut twin) = (recorder.client(), recorder.client());
    // Something for the seat to remember that is none of these payments.
    let _ = client.invoke(&pay(9));
    client.complete(&refund(&clock));
    let _ = client.invoke(&pay(1));
    let answer = refund(&clock);
    client.complete(&answer);
    twin.hand_over();
    // The twin decides the same payment a second time, and hands that over late.
    let _ = twin.invoke(&pay(1));
    twin.complete(&answer);
    let payment = PaymentId::new("p1").expect("valid");
    client.close_payment(&payment);
    client.hand_over();
    client.hand_over();
    // The close has come and its time has not: the twin may have calls from before it.
    assert!(recorder.remembered_payments().contains(&payment));
    drop((client, twin));
    let run = recorder.finish();
    let Verdict::Violated(found) = run.report.verdict else {
        panic!("two decisions about one payment");
    };
    assert_eq!(found[0].rule, crate::serializable::Rule::OneDecision);
}

#[test]
fn a_second_close_does_not_close_the_next_payment_of_the_number() {
    /// Enough for the closed ones to be forgotten.
    const MANY: u64 = 20_000;
    let clock = RunClock::start();
    let recorder = start_to_forget(&clock, false);
    let (mut client, mut twin) = (recorder.client(), recorder.client());
    pay_and_close(&mut client, &clock, 0..MANY);
    client.hand_over();
    // The twin promises that it has no call from before all this, but none after it.
    twin.hand_over();
    for number in 0..MANY {
        client.close_payment(&PaymentId::new(format!("p{number}")).expect("valid"));
    }
    client.hand_over();
    wait_for(&recorder, MANY);
    // These take numbers that are free again, and stay open.
    for number in MANY..2 * MANY {
        let _ = client.invoke(&pay(number));
        client.complete(&refund(&clock));
    }
    client.hand_over();
    drop(twin);
    drop(client);
    let remembered: HashSet<_> = recorder.remembered_payments().into_iter().collect();
    for number in MANY..2 * MANY {
        let open = PaymentId::new(format!("p{number}")).expect("valid");
        assert!(remembered.contains(&open), "{open} is open");
    }
    assert_eq!(recorder.finish().report.verdict, Verdict::Holds);
}

#[test]
fn nothing_is_forgotten_of_a_history_that_is_kept() {
    let clock = RunClock::start();
    let recorder = start_to_forget(&clock, true);
    let mut client = recorder.client();
    pay_and_close(&mut client, &clock, 0..10_000);
    drop(client);
    assert_eq!(recorder.remembered_payments().len(), 10_000);
    let run = recorder.finish();
    assert_eq!(run.history.names.payments().len(), 10_000);
    assert_eq!(run.decided.expect("it was written").payments(), 10_000);
}

#[test]
fn decisions_that_can_not_be_written_make_the_run_inconclusive() {
    let clock = RunClock::start();
    // A file that is open for reading only takes nothing.
    let file = tempfile::NamedTempFile::new().expect("a file");
    let read_only = std::fs::File::open(file.path()).expect("readable");
    let recorder = Recorder::start_with(
        RecorderOptions::new(clock.clone()),
        Some(Sink::to(read_only)),
    );
    let mut client = recorder.client();
    pay_and_close(&mut client, &clock, 0..3);
    drop(client);
    let run = recorder.finish();
    assert!(run.decided.is_none());
    match run.report.verdict {
        Verdict::Inconclusive(why) => assert!(why.contains("could not be written"), "{why}"),
        other => panic!("{other:?}"),
    }
}

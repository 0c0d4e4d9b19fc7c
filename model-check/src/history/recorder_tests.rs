//! Recording on threads: everything arrives, in order, with the right names.

use soldonce::{
    Claim, Clock as _, ConfirmOutcome, HoldDuration, HoldId, HoldOutcome, HoldRequest, OwnerId,
    RefundReason, ReleaseOutcome, Version,
};

use super::*;

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

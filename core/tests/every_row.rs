//! Each row of the table of transitions, on a real file. One test a row, named for it.

mod common;

use common::{Bench, claim, hold_request, payment_id, seat_id, t};
use soldonce::{
    ConfirmOutcome, Decision, HoldOutcome, HoldRefusal, PaymentRecord, Receipt, Recovery,
    RefundCursor, RefundReason, ReleaseOutcome, SeatState, SeatStateKind, SeatStore, StoreError,
    Version,
};

fn version(number: i64) -> Version {
    Version::new(number).expect("a valid version")
}

fn held(receipt: &Receipt<HoldOutcome>) -> (i64, i64) {
    match receipt.outcome {
        HoldOutcome::Held { hold_id, expires } | HoldOutcome::AlreadyHeld { hold_id, expires } => {
            (hold_id.get(), expires.as_unix_millis())
        }
        HoldOutcome::Refused(_) => panic!("refused: {}", receipt.outcome),
    }
}

fn refund(receipt: &Receipt<ConfirmOutcome>) -> RefundReason {
    match &receipt.outcome {
        ConfirmOutcome::RefundRequired { reason, .. } => *reason,
        other => panic!("not a refund: {other}"),
    }
}

#[test]
fn row_1_a_free_seat_is_held_and_its_version_is_the_hold_id() {
    let bench = Bench::new();
    let answer = bench.hold_at(3, "s1", "A");
    assert!(matches!(answer.outcome, HoldOutcome::Held { .. }));
    assert_eq!(held(&answer), (1, 13));
    assert_eq!((answer.version, answer.at), (version(1), t(3)));
    assert_eq!(answer.outcome.recovery(), Recovery::Done);
    let seat = bench
        .store
        .seat(&seat_id("s1"))
        .expect("an answer")
        .outcome
        .expect("the seat");
    assert_eq!((seat.version, seat.changed_at), (version(1), t(3)));
    assert!(matches!(seat.state, SeatState::Held { owner, .. } if owner.as_str() == "A"));
    bench.audit_finds_nothing();
}

#[test]
fn row_2_an_expired_hold_is_taken_at_the_very_instant_by_anyone() {
    for next in ["A", "B"] {
        let bench = Bench::new();
        bench.held_at(0, "s1", "A");
        let answer = bench.hold_at(10, "s1", next);
        assert!(matches!(answer.outcome, HoldOutcome::Held { .. }));
        assert_eq!(held(&answer), (2, 20));
        assert_eq!((answer.version, answer.at), (version(2), t(10)));
        bench.audit_finds_nothing();
    }
}

#[test]
fn row_3_a_hold_asked_for_again_by_its_owner_is_told_again_and_never_extended() {
    let bench = Bench::new();
    bench.held_at(0, "s1", "A");
    let answer = bench.hold_at(9, "s1", "A");
    assert!(matches!(answer.outcome, HoldOutcome::AlreadyHeld { .. }));
    assert_eq!(held(&answer), (1, 10));
    assert_eq!((answer.version, answer.at), (version(1), t(9)));
    assert_eq!(answer.outcome.recovery(), Recovery::Done);
}

#[test]
fn row_4_a_live_hold_refuses_others_and_says_until_when() {
    let bench = Bench::new();
    bench.held_at(0, "s1", "A");
    let answer = bench.hold_at(9, "s1", "B");
    assert_eq!(
        answer.outcome,
        HoldOutcome::Refused(HoldRefusal::HeldUntil(t(10)))
    );
    assert_eq!((answer.version, answer.at), (version(1), t(9)));
    assert_eq!(answer.outcome.recovery(), Recovery::RetryAt(t(10)));
}

#[test]
fn row_5_a_sold_seat_refuses_everyone_for_ever() {
    let bench = Bench::new();
    let a = bench.held_at(0, "s1", "A");
    assert_eq!(bench.pay_at(1, "p1", &a).outcome, ConfirmOutcome::Sold);
    for (now, who) in [(2, "A"), (2, "B"), (1_000_000, "B")] {
        let answer = bench.hold_at(now, "s1", who);
        assert_eq!(answer.outcome, HoldOutcome::Refused(HoldRefusal::Sold));
        assert_eq!((answer.version, answer.at), (version(2), t(now)));
        assert_eq!(answer.outcome.recovery(), Recovery::GiveUp);
    }
}

#[test]
fn row_6_a_hold_is_given_back_by_its_owner_live_or_expired() {
    for now in [1, 10, 11] {
        let bench = Bench::new();
        let a = bench.held_at(0, "s1", "A");
        let answer = bench.release_at(now, &a);
        assert_eq!(answer.outcome, ReleaseOutcome::Released);
        assert_eq!((answer.version, answer.at), (version(2), t(now)));
        let seat = bench
            .store
            .seat(&seat_id("s1"))
            .expect("an answer")
            .outcome
            .expect("the seat");
        assert_eq!(seat.state, SeatState::Free);
        assert_eq!(held(&bench.hold_at(now, "s1", "B")), (3, now + 10));
        bench.audit_finds_nothing();
    }
}

#[test]
fn row_7_any_other_release_changes_nothing() {
    let bench = Bench::new();
    let a = bench.held_at(0, "s1", "A");
    let mut not_held = vec![
        claim("s1", "B", 1),
        claim("s1", "A", 0),
        claim("s1", "A", 2),
        claim("s2", "A", 1),
        claim("nowhere", "A", 1),
    ];
    for wrong in &not_held {
        let answer = bench.release_at(1, wrong);
        assert_eq!(answer.outcome, ReleaseOutcome::NotHeld, "{wrong:?}");
        let expected = i64::from(wrong.seat.as_str() == "s1");
        assert_eq!(
            (answer.version, answer.at),
            (version(expected), t(1)),
            "{wrong:?}"
        );
    }
    assert_eq!(bench.pay_at(2, "p1", &a).outcome, ConfirmOutcome::Sold);
    not_held.push(a);
    for wrong in &not_held {
        assert_eq!(
            bench.release_at(3, wrong).outcome,
            ReleaseOutcome::NotHeld,
            "{wrong:?}"
        );
    }
    let seat = bench
        .store
        .seat(&seat_id("s1"))
        .expect("an answer")
        .outcome
        .expect("the seat");
    assert_eq!(seat.state.kind(), SeatStateKind::Sold);
    bench.audit_finds_nothing();
}

#[test]
fn row_8_a_payment_in_time_sells_the_seat_and_is_recorded() {
    let bench = Bench::new();
    let a = bench.held_at(0, "s1", "A");
    let answer = bench.pay_at(9, "p1", &a);
    assert_eq!(answer.outcome, ConfirmOutcome::Sold);
    assert_eq!((answer.version, answer.at), (version(2), t(9)));
    assert_eq!(answer.outcome.recovery(), Recovery::Done);
    let stored = bench.store.payment(&payment_id("p1")).expect("an answer");
    assert_eq!(
        stored.outcome,
        Some(PaymentRecord {
            payment: payment_id("p1"),
            claim: a.clone(),
            decision: Decision::Sold,
            version: version(2),
            decided_at: t(9),
        })
    );
    assert_eq!(stored.version, version(2));
    let seat = bench
        .store
        .seat(&a.seat)
        .expect("an answer")
        .outcome
        .expect("the seat");
    assert_eq!(
        seat.state,
        SeatState::Sold {
            owner: a.owner,
            hold_id: a.hold_id,
            payment: payment_id("p1")
        }
    );
    bench.audit_finds_nothing();
}

#[test]
fn row_9_a_payment_for_no_seat_is_still_recorded() {
    let bench = Bench::new();
    let answer = bench.pay_at(1, "p", &claim("nowhere", "A", 1));
    assert_eq!(refund(&answer), RefundReason::UnknownSeat);
    assert_eq!((answer.version, answer.at), (Version::ZERO, t(1)));
    assert_eq!(answer.outcome.recovery(), Recovery::Refund);
    bench.store.add_seats(&[seat_id("nowhere")]).expect("added");
    assert_eq!(
        refund(&bench.pay_at(2, "p", &claim("nowhere", "A", 1))),
        RefundReason::UnknownSeat
    );
    bench.audit_finds_nothing();
}

#[test]
fn row_9_the_reasons_for_a_refund_are_the_first_that_applies() {
    let bench = Bench::new();
    // s1: held by A at version 1, given up, held by B at version 3. s2: sold under hold 1 at version 2.
    let first = bench.held_at(0, "s1", "A");
    bench.release_at(1, &first).outcome.recovery();
    bench.held_at(2, "s1", "B");
    let second = bench.held_at(0, "s2", "A");
    assert_eq!(bench.pay_at(2, "p", &second).outcome, ConfirmOutcome::Sold);
    let rows = [
        (claim("s1", "B", 4), 3, RefundReason::NeverHeld),
        (claim("s2", "A", 2), 2, RefundReason::NeverHeld),
        (claim("s2", "A", 3), 2, RefundReason::NeverHeld),
        (claim("s2", "A", 1), 2, RefundReason::AlreadySold),
        (claim("s2", "C", 1), 2, RefundReason::AlreadySold),
        (claim("s2", "A", 0), 2, RefundReason::Superseded),
        (claim("s1", "A", 1), 3, RefundReason::Superseded),
        (claim("s1", "A", 2), 3, RefundReason::Superseded),
        (claim("s1", "A", 3), 3, RefundReason::WrongOwner),
    ];
    for (number, (claim, seen, reason)) in rows.iter().enumerate() {
        let answer = bench.pay_at(3, &format!("p{number}"), claim);
        assert_eq!(refund(&answer), *reason, "{claim:?}");
        assert_eq!(
            (answer.version, answer.at),
            (version(*seen), t(3)),
            "{claim:?}"
        );
    }
    // Too late, for the owner and for another.
    assert_eq!(
        refund(&bench.pay_at(12, "q1", &claim("s1", "B", 3))),
        RefundReason::Expired
    );
    assert_eq!(
        refund(&bench.pay_at(12, "q2", &claim("s1", "A", 3))),
        RefundReason::WrongOwner
    );
    assert_eq!(
        refund(&bench.pay_at(12, "q3", &claim("s1", "B", 0))),
        RefundReason::Superseded
    );
    bench.audit_finds_nothing();
}

#[test]
fn row_9_a_free_seat_that_was_never_held_or_was_given_back_refunds_a_payment() {
    let bench = Bench::new();
    assert_eq!(
        refund(&bench.pay_at(0, "p0", &claim("s1", "A", 0))),
        RefundReason::NeverHeld
    );
    let a = bench.held_at(0, "s1", "A");
    bench.release_at(1, &a).outcome.recovery();
    assert_eq!(refund(&bench.pay_at(2, "p1", &a)), RefundReason::Superseded);
    assert_eq!(
        refund(&bench.pay_at(2, "p2", &claim("s1", "A", 2))),
        RefundReason::NeverHeld
    );
    bench.audit_finds_nothing();
}

#[test]
fn row_9_a_payment_at_the_expiry_instant_is_refused_and_one_before_is_not() {
    for (now, late) in [(9, false), (10, true), (11, true)] {
        let bench = Bench::new();
        let a = bench.held_at(0, "s1", "A");
        let answer = bench.pay_at(now, "p", &a);
        if late {
            assert_eq!(refund(&answer), RefundReason::Expired);
            assert_eq!((answer.version, answer.at), (version(1), t(now)));
        } else {
            assert_eq!(answer.outcome, ConfirmOutcome::Sold);
        }
        bench.audit_finds_nothing();
    }
}

#[test]
fn row_10_a_payment_delivered_again_is_a_duplicate_and_adds_nothing() {
    let bench = Bench::new();
    let a = bench.held_at(0, "s1", "A");
    bench.pay_at(1, "p", &a).outcome.recovery();
    let before = bench.store.snapshot().expect("a snapshot");
    for now in [2, 10, 99] {
        let answer = bench.pay_at(now, "p", &a);
        let ConfirmOutcome::Duplicate { recorded } = &answer.outcome else {
            panic!("not a duplicate: {}", answer.outcome)
        };
        assert_eq!(recorded.claim, a);
        assert_eq!((answer.version, answer.at), (version(2), t(now)));
        assert_eq!(answer.outcome.recovery(), Recovery::Done);
    }
    assert_eq!(bench.store.snapshot().expect("a snapshot"), before);
}

#[test]
fn row_11_a_refused_payment_delivered_again_keeps_its_reason_and_its_one_record() {
    let bench = Bench::new();
    let a = bench.held_at(0, "s1", "A");
    assert_eq!(refund(&bench.pay_at(10, "p", &a)), RefundReason::Expired);
    let b = bench.held_at(11, "s1", "B");
    assert_eq!(bench.pay_at(12, "q", &b).outcome, ConfirmOutcome::Sold);
    let answer = bench.pay_at(13, "p", &a);
    assert_eq!(
        refund(&answer),
        RefundReason::Expired,
        "the reason first given"
    );
    assert_eq!(
        answer.outcome.recorded().expect("recorded").version,
        version(1)
    );
    assert_eq!((answer.version, answer.at), (version(3), t(13)));
    let due = bench
        .store
        .refunds_due(RefundCursor::START, 10)
        .expect("an answer");
    assert_eq!(due.refunds.len(), 1);
    bench.audit_finds_nothing();
}

#[test]
fn row_12_a_known_payment_with_another_claim_is_a_conflict_on_the_recorded_seat() {
    let bench = Bench::new();
    let a = bench.held_at(0, "s1", "A");
    assert_eq!(bench.pay_at(1, "sold", &a).outcome, ConfirmOutcome::Sold);
    assert_eq!(
        refund(&bench.pay_at(1, "due", &claim("nowhere", "A", 7))),
        RefundReason::UnknownSeat
    );
    let before = bench.store.snapshot().expect("a snapshot");
    for (payment, other, seen) in [
        ("sold", claim("s2", "A", 1), 2),
        ("sold", claim("s1", "B", 1), 2),
        ("sold", claim("s1", "A", 2), 2),
        ("sold", claim("nowhere", "A", 1), 2),
        ("due", claim("nowhere", "A", 8), 0),
        ("due", claim("s1", "A", 7), 0),
    ] {
        let answer = bench.pay_at(2, payment, &other);
        assert!(
            matches!(answer.outcome, ConfirmOutcome::Conflict { .. }),
            "{payment} {other:?}"
        );
        assert_eq!(answer.outcome.recovery(), Recovery::Investigate);
        assert_eq!(
            (answer.version, answer.at),
            (version(seen), t(2)),
            "{payment} {other:?}"
        );
    }
    assert_eq!(bench.store.snapshot().expect("a snapshot"), before);
}

#[test]
fn a_hold_on_a_seat_that_does_not_exist_is_an_error_that_says_so() {
    let bench = Bench::new();
    let error = bench
        .store
        .hold(&hold_request("nowhere", "A"))
        .expect_err("no such seat");
    assert!(matches!(&error, StoreError::UnknownSeat(seat) if seat.as_str() == "nowhere"));
    assert_eq!(
        common::one_line(&error),
        "there is no seat nowhere; add it, or correct its id"
    );
    assert_eq!(
        bench
            .store
            .seat(&seat_id("nowhere"))
            .expect("an answer")
            .outcome,
        None
    );
}

#[test]
fn a_clock_that_steps_back_neither_shortens_nor_extends_nor_revives_a_hold() {
    let mut bench = Bench::new();
    bench.held_at(10, "s1", "A");
    let b = bench.held_at(20, "s1", "B");
    for reopened in [false, true] {
        if reopened {
            bench.reopen();
        }
        // At 4 on the clock it is still 20 for this seat: live until 30.
        let answer = bench.hold_at(4, "s1", "C");
        assert_eq!(
            answer.outcome,
            HoldOutcome::Refused(HoldRefusal::HeldUntil(t(30)))
        );
        assert_eq!(answer.at, t(20));
        assert_eq!(held(&bench.hold_at(4, "s1", "B")), (2, 30));
        assert_eq!(bench.store.seat(&b.seat).expect("an answer").at, t(20));
    }
    // A change made with the clock back is dated at the change before it, and the next hold runs from there.
    let answer = bench.release_at(5, &b);
    assert_eq!(
        (answer.outcome, answer.at),
        (ReleaseOutcome::Released, t(20))
    );
    let answer = bench.hold_at(6, "s1", "C");
    assert_eq!((held(&answer), answer.at), ((4, 30), t(20)));
    let c = claim("s1", "C", 4);
    let answer = bench.pay_at(7, "p", &c);
    assert_eq!((answer.outcome, answer.at), (ConfirmOutcome::Sold, t(20)));
    assert_eq!(bench.pay_at(8, "p", &c).at, t(20));
    assert_eq!(
        bench.store.payment(&payment_id("p")).expect("an answer").at,
        t(20)
    );
    bench.audit_finds_nothing();
}

#[test]
fn a_refund_told_again_with_the_clock_back_is_not_dated_before_its_decision() {
    let bench = Bench::new();
    let nowhere = claim("nowhere", "A", 1);
    assert_eq!(bench.pay_at(9, "p", &nowhere).at, t(9));
    assert_eq!(bench.pay_at(3, "p", &nowhere).at, t(9));
    assert_eq!(
        bench.store.payment(&payment_id("p")).expect("an answer").at,
        t(9)
    );
}

#[test]
fn a_hold_that_would_end_after_the_last_timestamp_is_invalid_input() {
    let bench = Bench::new();
    bench.clock.set(soldonce::Timestamp::MAX);
    let error = bench
        .store
        .hold(&hold_request("s1", "A"))
        .expect_err("too late in time");
    assert!(matches!(error, StoreError::Invalid(_)), "{error:?}");
    bench.audit_finds_nothing();
}

#[test]
fn the_same_calls_get_the_same_answers_after_a_restart() {
    let mut bench = Bench::new();
    let a = bench.held_at(0, "s1", "A");
    assert_eq!(bench.pay_at(1, "p", &a).outcome, ConfirmOutcome::Sold);
    assert_eq!(
        refund(&bench.pay_at(1, "q", &claim("s2", "A", 1))),
        RefundReason::NeverHeld
    );
    let ask = |bench: &Bench| {
        (
            bench.pay_at(2, "p", &a),
            bench.pay_at(2, "q", &claim("s2", "A", 1)),
            bench.hold_at(2, "s1", "B"),
            bench.release_at(2, &a),
            bench.store.snapshot().expect("a snapshot"),
        )
    };
    let before = ask(&bench);
    bench.reopen();
    assert_eq!(ask(&bench), before);
}

#[test]
fn refunds_are_paged_in_the_order_of_their_decisions_and_a_kept_cursor_misses_none() {
    let mut bench = Bench::new();
    let pay = |bench: &Bench, ids: &[&str]| {
        for id in ids {
            refund(&bench.pay_at(1, id, &claim("nowhere", "A", 1)));
        }
    };
    let ids = |page: &soldonce::RefundsDue| -> Vec<String> {
        page.refunds
            .iter()
            .map(|due| due.payment.to_string())
            .collect()
    };
    pay(&bench, &["z", "m", "a"]);
    let first = bench
        .store
        .refunds_due(RefundCursor::START, 2)
        .expect("a page");
    assert_eq!(ids(&first), ["z", "m"]);
    pay(&bench, &["b"]);
    bench.raw().execute_batch("VACUUM").expect("vacuumed");
    bench.reopen();
    let kept = RefundCursor::from_raw(first.next.to_raw());
    let second = bench.store.refunds_due(kept, 10).expect("a page");
    assert_eq!(ids(&second), ["a", "b"]);
    let last = bench.store.refunds_due(second.next, 10).expect("a page");
    assert_eq!((last.refunds.len(), last.next), (0, second.next));
}

#[test]
fn adding_seats_again_changes_nothing_and_says_so() {
    let bench = Bench::new();
    bench.held_at(0, "s1", "A");
    let added = bench
        .store
        .add_seats(&[seat_id("s1"), seat_id("s3"), seat_id("s3")])
        .expect("an answer");
    assert_eq!((added.added, added.already_there), (1, 2));
    assert!(matches!(
        bench.hold_at(1, "s1", "A").outcome,
        HoldOutcome::AlreadyHeld { .. }
    ));
    assert_eq!(bench.store.snapshot().expect("a snapshot").seats.len(), 3);
}

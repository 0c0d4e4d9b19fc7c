//! The faults that real systems had, as plain sequences with their right answers, on the real store.
//!
//! Each is walked with all its calls once more at the end and again after the file was reopened, and
//! everything is compared with the reference on the way. Here stand the right answers besides,
//! written by hand, so that the reference is held against them, too.

use model_check::sequence::Sequence;
use model_check::sequence::run::{Depth, Workplace, run_and_listen};
use model_check::store_choice::Real;

#[track_caller]
fn check(cases: &[(&str, &[&str])]) {
    for real in [Real::default(), Real::PER_CALL] {
        check_on(real, cases);
    }
}

#[track_caller]
fn check_on(real: Real, cases: &[(&str, &[&str])]) {
    let place = Workplace::temporary(&real).expect("a temporary folder");
    for (text, right) in cases {
        let sequence: Sequence = text.parse().expect("readable");
        let mut said = Vec::new();
        let mut listen = |_: usize, answer: &dyn Fn() -> String| said.push(answer());
        let walked = run_and_listen(&sequence, &real, &place, Depth::Full, &mut listen);
        if let Err(failure) = walked.expect("could run") {
            panic!("{text}: {:?}: {}", failure.place, failure.what);
        }
        assert_eq!(said, *right, "{text}");
    }
}

#[test]
fn m01_m02_a_held_seat_is_refused_to_everybody_else() {
    check(&[
        (
            "H(s,A)@0; H(s,B)@0; H(s,A)@0",
            &[
                "Held(h1 until 10 ms)",
                "Refused(HeldUntil 10 ms)",
                "AlreadyHeld(h1 until 10 ms)",
            ],
        ),
        (
            "H(s,A)@0; H(s,B)@1",
            &["Held(h1 until 10 ms)", "Refused(HeldUntil 10 ms)"],
        ),
    ]);
}

#[test]
fn m06_m13_a_payment_at_the_expiry_or_after_it_must_be_refunded() {
    for late in [10, 11] {
        check(&[(
            &format!("H(s,A)@0; C(p,s,A,h1)@{late}"),
            &["Held(h1 until 10 ms)", "RefundRequired(Expired)"],
        )]);
    }
    check(&[("H(s,A)@0; C(p,s,A,h1)@9", &["Held(h1 until 10 ms)", "Sold"])]);
}

#[test]
fn m07_m34_an_expired_hold_is_taken_at_its_expiry_without_a_sweeper() {
    check(&[(
        "H(s,A)@0; H(s,B)@9; H(s,B)@10",
        &[
            "Held(h1 until 10 ms)",
            "Refused(HeldUntil 10 ms)",
            "Held(h2 until 20 ms)",
        ],
    )]);
}

#[test]
fn m08_at_the_expiry_the_seat_is_free_for_others_and_no_longer_payable_in_either_order() {
    check(&[
        (
            "H(s,A)@0; C(pA,s,A,h1)@10; H(s,B)@10",
            &[
                "Held(h1 until 10 ms)",
                "RefundRequired(Expired)",
                "Held(h2 until 20 ms)",
            ],
        ),
        (
            "H(s,A)@0; H(s,B)@10; C(pA,s,A,h1)@10",
            &[
                "Held(h1 until 10 ms)",
                "Held(h2 until 20 ms)",
                "RefundRequired(Superseded)",
            ],
        ),
    ]);
}

#[test]
fn m11_a_clock_that_steps_back_neither_shortens_extends_nor_revives_a_hold() {
    check(&[
        (
            "H(s,A)@10; H(s,B)@4; H(s,A)@4; H(s,B)@19; H(s,B)@20",
            &[
                "Held(h1 until 20 ms)",
                "Refused(HeldUntil 20 ms)",
                "AlreadyHeld(h1 until 20 ms)",
                "Refused(HeldUntil 20 ms)",
                "Held(h2 until 30 ms)",
            ],
        ),
        (
            "H(s,A)@10; R(s,A,h1)@12; H(s,B)@4; C(p,s,B,h2)@21; C(q,s,B,h2)@22",
            &[
                "Held(h1 until 20 ms)",
                "Released",
                "Held(h3 until 22 ms)",
                "Sold",
                "RefundRequired(AlreadySold)",
            ],
        ),
        (
            "H(s,A)@0; H(s,B)@10; C(p,s,A,h1)@4; reopen; C(q,s,A,h1)@4",
            &[
                "Held(h1 until 10 ms)",
                "Held(h2 until 20 ms)",
                "RefundRequired(Superseded)",
                "RefundRequired(Superseded)",
            ],
        ),
    ]);
}

#[test]
fn m12_a_payment_of_somebody_else_must_be_refunded() {
    check(&[(
        "H(s,A)@0; C(p,s,B,h1)@1; C(q,s,A,h1)@2",
        &["Held(h1 until 10 ms)", "RefundRequired(WrongOwner)", "Sold"],
    )]);
}

#[test]
fn m14_a_late_payer_does_not_overwrite_the_new_holder() {
    check(&[(
        "H(s,A)@0; H(s,B)@10; C(pA,s,A,h1)@11; H(s,B)@12; C(pB,s,B,h2)@13",
        &[
            "Held(h1 until 10 ms)",
            "Held(h2 until 20 ms)",
            "RefundRequired(Superseded)",
            "AlreadyHeld(h2 until 20 ms)",
            "Sold",
        ],
    )]);
}

#[test]
fn m15_an_old_payment_does_not_buy_a_new_hold_of_the_same_owner() {
    check(&[(
        "H(s,A)@0; H(s,A)@12; C(p,s,A,h1)@13",
        &[
            "Held(h1 until 10 ms)",
            "Held(h2 until 22 ms)",
            "RefundRequired(Superseded)",
        ],
    )]);
}

#[test]
fn m16_m17_a_known_payment_with_another_claim_is_a_conflict() {
    check(&[
        (
            "H(s1,A)@0; C(p1,s1,A,h1)@1; H(s2,B)@2; C(p1,s2,B,h2)@3; C(p1,x3,B,#1)@4",
            &[
                "Held(h1 until 10 ms)",
                "Sold",
                "Held(h1 until 12 ms)",
                "Conflict",
                "Conflict",
            ],
        ),
        (
            "H(s,A)@0; C(p1,s,A,h1)@1; C(p1,s,B,h1)@2; C(p1,s,A,#2)@3",
            &["Held(h1 until 10 ms)", "Sold", "Conflict", "Conflict"],
        ),
        (
            "H(s,A)@0; C(p1,s,B,h1)@1; C(p1,s,A,h1)@2",
            &[
                "Held(h1 until 10 ms)",
                "RefundRequired(WrongOwner)",
                "Conflict",
            ],
        ),
    ]);
}

#[test]
fn m19_m21_a_redelivery_is_a_duplicate_also_after_a_restart_and_in_another_process() {
    check(&[(
        "H(s,A)@0; C(p1,s,A,h1)@1; C(p1,s,A,h1)@1; reopen; C(p1,s,A,h1)@2; 2: C(p1,s,A,h1)@3",
        &[
            "Held(h1 until 10 ms)",
            "Sold",
            "Duplicate",
            "Duplicate",
            "Duplicate",
        ],
    )]);
}

#[test]
fn m24_m25_m26_a_refund_is_recorded_once_and_never_becomes_a_sale() {
    check(&[
        (
            "H(s,A)@0; C(p,s,A,h1)@11; reopen; C(p,s,A,h1)@11",
            &[
                "Held(h1 until 10 ms)",
                "RefundRequired(Expired)",
                "RefundRequired(Expired)",
            ],
        ),
        (
            "H(s,A)@0; C(p,s,A,h1)@10; C(p,s,A,h1)@9; H(s,A)@12; C(p,s,A,h1)@13",
            &[
                "Held(h1 until 10 ms)",
                "RefundRequired(Expired)",
                "RefundRequired(Expired)",
                "Held(h2 until 22 ms)",
                "RefundRequired(Expired)",
            ],
        ),
        (
            "C(p,s,A,#1)@0; H(s,A)@0; C(p,s,A,h1)@1; C(q,s,A,h1)@2",
            &[
                "RefundRequired(NeverHeld)",
                "Held(h1 until 10 ms)",
                "RefundRequired(NeverHeld)",
                "Sold",
            ],
        ),
        (
            "C(p,x,A,#1)@0; H(x,A)@1; add(x)@2; H(x,A)@2; C(p,x,A,h1)@3",
            &[
                "RefundRequired(UnknownSeat)",
                "error: there is no seat x; add it, or correct its id",
                "Held(h1 until 12 ms)",
                "RefundRequired(UnknownSeat)",
            ],
        ),
    ]);
}

#[test]
fn m30_m31_a_release_of_another_hold_or_of_a_sold_seat_changes_nothing() {
    check(&[
        (
            "H(s,A)@0; H(s,B)@10; R(s,A,h1)@11; R(s,A,h2)@11; R(s,B,h1)@11; H(s,B)@12",
            &[
                "Held(h1 until 10 ms)",
                "Held(h2 until 20 ms)",
                "NotHeld",
                "NotHeld",
                "NotHeld",
                "AlreadyHeld(h2 until 20 ms)",
            ],
        ),
        (
            "H(s,A)@0; C(p1,s,A,h1)@1; R(s,A,h1)@2; R(s,A,#2)@2; H(s,B)@3",
            &[
                "Held(h1 until 10 ms)",
                "Sold",
                "NotHeld",
                "NotHeld",
                "Refused(Sold)",
            ],
        ),
    ]);
}

#[test]
fn m36_a_busy_database_is_an_error_and_the_same_call_sells_once_it_is_free() {
    check(&[(
        "locked H(s,A)@0; H(s,A)@0; locked C(p,s,A,h1)@1; locked C(p,s,B,h1)@1; C(p,s,A,h1)@2",
        &[
            "error: busy",
            "Held(h1 until 10 ms)",
            "error: busy",
            "error: busy",
            "Sold",
        ],
    )]);
}

#[test]
fn m37_a_lost_answer_is_unknown_and_the_same_call_finds_what_happened() {
    check(&[(
        "lost H(s,A)@0; H(s,A)@1; lost C(p,s,A,h1)@1; C(p,s,A,h1)@2; lost R(s,A,h1)@3",
        &[
            "error: unknown",
            "AlreadyHeld(h1 until 10 ms)",
            "error: unknown",
            "Duplicate",
            "error: unknown",
        ],
    )]);
}

#[test]
fn p02_p03_a_commit_that_fails_is_never_answered_and_nothing_of_it_stays() {
    check(&[(
        "failing H(s,A)@0; H(s,B)@1; failing C(p,s,B,h1)@2; H(t,A)@2; reopen; \
         C(p,s,B,h1)@3; failing R(t,A,h2)@4; R(t,A,h2)@4; failing C(q,x,A,#1)@5; C(q,x,A,#1)@5",
        &[
            "error: unknown",
            "Held(h1 until 11 ms)",
            "error: unknown",
            "Held(h1 until 12 ms)",
            "Sold",
            "error: unknown",
            "Released",
            "error: unknown",
            "RefundRequired(UnknownSeat)",
        ],
    )]);
}

//! The second line of defence: each constraint of the schema, broken on purpose with raw SQL.

mod common;

use common::{Bench, claim};
use soldonce::{ConfirmOutcome, SeatStore as _};

/// s1 is held by A (hold 1, until 10), s2 is sold to A (hold 1) by payment p, q must be refunded.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.held_at(0, "s1", "A");
    let a = bench.held_at(0, "s2", "A");
    assert_eq!(bench.pay_at(1, "p", &a).outcome, ConfirmOutcome::Sold);
    bench
        .pay_at(1, "q", &claim("nowhere", "A", 1))
        .outcome
        .recovery();
    bench
        .store
        .add_seats(&[common::seat_id("s3")])
        .expect("added");
    bench
}

/// Runs each statement past the store; every one must be refused with this text, and change nothing.
fn refused(with: &str, statements: &[&str]) {
    let bench = bench();
    let before = bench.store.snapshot().expect("a snapshot");
    let raw = bench.raw();
    for statement in statements {
        let error = raw.execute(statement, []).expect_err(statement).to_string();
        assert!(
            error.contains(with),
            "{statement}\n  was refused with: {error}\n  expected: {with}"
        );
    }
    assert_eq!(bench.store.snapshot().expect("a snapshot"), before);
    bench.audit_finds_nothing();
}

#[test]
fn a_state_without_its_columns_is_refused() {
    refused(
        "state_and_its_columns",
        &[
            "UPDATE seats SET state = 'free', version = 2 WHERE seat_id = 's1'",
            "UPDATE seats SET owner = NULL, version = 2, hold_id = 2 WHERE seat_id = 's1'",
            "UPDATE seats SET version = 2 WHERE seat_id = 's1'", // hold_id is not the version
            "UPDATE seats SET version = 2, hold_id = NULL WHERE seat_id = 's1'",
            "UPDATE seats SET version = 2, hold_id = 2, expires = NULL WHERE seat_id = 's1'",
            "UPDATE seats SET version = 2, hold_id = 2, expires = changed_at WHERE seat_id = 's1'",
            "UPDATE seats SET version = 2, hold_id = 2, expires = 253402300800000 WHERE seat_id = 's1'",
            "UPDATE seats SET version = 2, hold_id = 2, payment_id = 'x' WHERE seat_id = 's1'",
            "UPDATE seats SET state = 'sold', version = 2, payment_id = 'x' WHERE seat_id = 's1'", // expires
            "UPDATE seats SET state = 'sold', version = 2, expires = NULL WHERE seat_id = 's1'", // no payment
            "UPDATE seats SET state = 'sold', version = 2, expires = NULL, payment_id = 'x', hold_id = 2 WHERE seat_id = 's1'",
            "UPDATE seats SET state = 'sold', version = 2, expires = NULL, payment_id = 'x', owner = NULL WHERE seat_id = 's1'",
            "UPDATE seats SET state = 'gone', version = 2 WHERE seat_id = 's1'",
            "UPDATE seats SET version = 1 WHERE seat_id = 's3'", // free at version 1
            "UPDATE seats SET state = 'sold', version = 1, owner = 'A', hold_id = 0, payment_id = 'x' WHERE seat_id = 's3'",
            "INSERT INTO seats (seat_id, owner, changed_at) VALUES ('s4', 'A', 0)",
            "INSERT INTO seats (seat_id, hold_id, changed_at) VALUES ('s4', 0, 0)",
            "INSERT INTO seats (seat_id, expires, changed_at) VALUES ('s4', 5, 0)",
            "INSERT INTO seats (seat_id, payment_id, changed_at) VALUES ('s4', 'x', 0)",
        ],
    );
}

#[test]
fn a_seat_without_a_proper_id_or_time_is_refused() {
    refused(
        "seat_id_length",
        &[
            "INSERT INTO seats (seat_id, changed_at) VALUES ('', 0)",
            "INSERT INTO seats (seat_id, changed_at) VALUES (printf('%.65c', 'x'), 0)",
        ],
    );
    refused(
        "changed_at_range",
        &[
            "INSERT INTO seats (seat_id, changed_at) VALUES ('s4', -1)",
            "INSERT INTO seats (seat_id, changed_at) VALUES ('s4', 253402300800000)",
        ],
    );
    refused(
        "UNIQUE constraint failed: seats.seat_id",
        &["INSERT INTO seats (seat_id, changed_at) VALUES ('s1', 0)"],
    );
    refused(
        "NOT NULL constraint failed",
        &[
            "INSERT INTO seats (seat_id, changed_at) VALUES (NULL, 0)",
            "INSERT INTO seats (seat_id, changed_at) VALUES ('s4', NULL)",
            "INSERT INTO seats (seat_id, changed_at, state) VALUES ('s4', 0, NULL)",
            "INSERT INTO seats (seat_id, changed_at, version) VALUES ('s4', 0, NULL)",
        ],
    );
}

#[test]
fn values_of_another_type_are_refused() {
    refused(
        "cannot store",
        &[
            "INSERT INTO seats (seat_id, changed_at) VALUES ('s4', 'soon')",
            "UPDATE seats SET version = 1.5 WHERE seat_id = 's1'",
            "UPDATE seats SET owner = x'00', version = 2, hold_id = 2 WHERE seat_id = 's1'",
        ],
    );
}

#[test]
fn a_change_that_does_not_count_is_refused() {
    refused(
        "its version grows by one",
        &[
            "UPDATE seats SET owner = 'B' WHERE seat_id = 's1'",
            "UPDATE seats SET owner = 'B', version = 3, hold_id = 3 WHERE seat_id = 's1'",
            "UPDATE seats SET version = 0, state = 'free', owner = NULL, hold_id = NULL, expires = NULL WHERE seat_id = 's1'",
            "UPDATE seats SET seat_id = 's9', version = 2, hold_id = 2 WHERE seat_id = 's1'",
            "UPDATE seats SET changed_at = changed_at - 1, version = 2, hold_id = 2 WHERE seat_id = 's1'",
        ],
    );
}

#[test]
fn a_sold_seat_can_not_be_changed_nor_any_seat_removed_nor_made_in_the_middle() {
    refused(
        "a sold seat does not change",
        &[
            "UPDATE seats SET state = 'free', version = 3, owner = NULL, hold_id = NULL, payment_id = NULL WHERE seat_id = 's2'",
            "UPDATE seats SET state = 'held', version = 3, hold_id = 3, expires = 99, payment_id = NULL WHERE seat_id = 's2'",
        ],
    );
    refused(
        "a seat is never removed",
        &["DELETE FROM seats WHERE seat_id = 's1'"],
    );
    refused(
        "a new seat is free",
        &[
            "INSERT INTO seats (seat_id, state, version, owner, hold_id, expires, changed_at) VALUES ('s4', 'held', 1, 'A', 1, 9, 0)",
            "INSERT INTO seats (seat_id, version, changed_at) VALUES ('s4', 2, 0)",
        ],
    );
}

#[test]
fn a_second_sale_of_a_seat_is_refused() {
    // Even with the trigger gone that asks for the seat to say so.
    let bench = bench();
    let raw = bench.raw();
    let second =
        "INSERT INTO payments (payment_id, seat_id, owner, hold_id, decision, version, decided_at)
                  VALUES ('r', 's2', 'B', 3, 'sold', 4, 2)";
    let error = raw
        .execute(second, [])
        .expect_err("no seat says so")
        .to_string();
    assert!(
        error.contains("a sale is recorded for a seat that it bought"),
        "{error}"
    );
    raw.execute_batch("DROP TRIGGER sale_matches_its_seat")
        .expect("dropped");
    let error = raw
        .execute(second, [])
        .expect_err("a second sale")
        .to_string();
    assert!(
        error.contains("UNIQUE constraint failed: payments.seat_id"),
        "{error}"
    );
    bench.audit_finds_nothing();
}

#[test]
fn a_sale_that_differs_from_its_seat_in_one_column_is_refused() {
    // The seat s2 is sold to A, hold 1, by payment p, at version 2.
    let insert = |values: &str| {
        format!(
            "INSERT INTO payments (payment_id, seat_id, owner, hold_id, decision, version, decided_at) VALUES ({values})"
        )
    };
    let statements = [
        "'r', 's2', 'A', 1, 'sold', 2, 1",
        "'p', 's3', 'A', 1, 'sold', 2, 1",
        "'p', 's2', 'B', 1, 'sold', 2, 1",
        "'p', 's2', 'A', 2, 'sold', 2, 1",
        "'p', 's2', 'A', 1, 'sold', 3, 1",
    ]
    .map(insert);
    refused(
        "a sale is recorded for a seat that it bought",
        &statements.each_ref().map(String::as_str),
    );
}

#[test]
fn a_payment_record_can_not_be_changed_removed_or_replaced() {
    refused(
        "a payment record does not change",
        &[
            "UPDATE payments SET decision = 'sold', reason = NULL, version = 2 WHERE payment_id = 'q'",
            "UPDATE payments SET decided_at = 5 WHERE payment_id = 'p'",
        ],
    );
    refused(
        "a payment record is never removed",
        &["DELETE FROM payments WHERE payment_id = 'q'"],
    );
    refused(
        "UNIQUE constraint failed: payments.payment_id",
        &["INSERT INTO payments (payment_id, seat_id, owner, hold_id, decision, reason, version, decided_at)
           VALUES ('q', 's1', 'A', 1, 'refund_required', 'expired', 1, 1)"],
    );
}

#[test]
fn a_replace_can_not_go_round_the_trigger_on_a_connection_of_the_store() {
    // recursive_triggers is one of the settings that every pooled connection has.
    let bench = bench();
    let raw = bench.raw();
    raw.execute_batch("PRAGMA recursive_triggers = ON")
        .expect("set");
    let error = raw
        .execute(
            "INSERT OR REPLACE INTO payments (payment_id, seat_id, owner, hold_id, decision, reason, version, decided_at)
             VALUES ('q', 's1', 'A', 1, 'refund_required', 'expired', 1, 1)",
            [],
        )
        .expect_err("a replacement")
        .to_string();
    assert!(
        error.contains("a payment record is never removed"),
        "{error}"
    );
    let settings = bench.store.settings();
    assert!(
        settings
            .pragmas
            .contains(&("recursive_triggers".to_owned(), "1".to_owned()))
    );
}

#[test]
fn a_decision_without_a_fitting_reason_is_refused() {
    let insert = |values: &str| {
        format!(
            "INSERT INTO payments (payment_id, seat_id, owner, hold_id, decision, reason, version, decided_at) VALUES ({values})"
        )
    };
    let statements: Vec<String> = [
        "'r', 's1', 'A', 1, 'lost', NULL, 1, 1",
        "'r', 's1', 'A', 1, 'refund_required', NULL, 1, 1",
        "'r', 's1', 'A', 1, 'refund_required', 'mood', 1, 1",
        "'r', 's1', 'A', -1, 'refund_required', 'unknown_seat', 0, 1",
        "'r', 's1', 'A', 1, 'refund_required', 'unknown_seat', 1, 1",
        "'r', 's1', 'A', 1, 'refund_required', 'never_held', 2, 1",
        "'r', 's1', 'A', 1, 'refund_required', 'never_held', -1, 1",
        "'r', 's1', 'A', 1, 'refund_required', 'already_sold', 1, 1",
        "'r', 's1', 'A', -1, 'refund_required', 'superseded', 1, 1",
        "'r', 's1', 'A', 1, 'refund_required', 'superseded', 1, 1",
        "'r', 's1', 'A', 1, 'refund_required', 'wrong_owner', 2, 1",
        "'r', 's1', 'A', 0, 'refund_required', 'wrong_owner', 0, 1",
        "'r', 's1', 'A', 1, 'refund_required', 'expired', 2, 1",
        "'r', 's1', 'A', 0, 'refund_required', 'expired', 0, 1",
    ]
    .map(insert)
    .to_vec();
    refused(
        "decision_and_its_reason",
        &statements.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    // A sale is first asked whether its seat says so; with that trigger gone, the shape still counts.
    let bench = bench();
    let raw = bench.raw();
    raw.execute_batch("DROP TRIGGER sale_matches_its_seat")
        .expect("dropped");
    for values in [
        "'r', 's1', 'A', 1, 'sold', 'expired', 2, 1",
        "'r', 's1', 'A', 1, 'sold', NULL, 1, 1",
        "'r', 's1', 'A', 0, 'sold', NULL, 1, 1",
    ] {
        let error = raw
            .execute(&insert(values), [])
            .expect_err(values)
            .to_string();
        assert!(
            error.contains("decision_and_its_reason"),
            "{values}: {error}"
        );
    }
    refused(
        "payment_id_length",
        &[
            &insert("'', 's1', 'A', 1, 'refund_required', 'expired', 1, 1"),
            &insert("printf('%.65c', 'x'), 's1', 'A', 1, 'refund_required', 'expired', 1, 1"),
        ],
    );
    refused(
        "decided_at_range",
        &[
            &insert("'r', 's1', 'A', 1, 'refund_required', 'expired', 1, -1"),
            &insert("'r', 's1', 'A', 1, 'refund_required', 'expired', 1, 253402300800000"),
        ],
    );
}

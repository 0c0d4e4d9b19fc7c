//! The reference against the table, one row or rule a test, with literal values.

use soldonce::{HoldDuration, OwnerId};

use super::*;

fn time(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(millis).expect("in range")
}

fn seat_id() -> SeatId {
    SeatId::new("s").expect("valid")
}

fn claim(owner: &str, hold_id: i64) -> Claim {
    Claim {
        seat: seat_id(),
        owner: OwnerId::new(owner).expect("valid"),
        hold_id: HoldId::new(hold_id).expect("valid"),
    }
}

fn hold(owner: &str) -> Command {
    Command::Hold(HoldRequest {
        seat: seat_id(),
        owner: OwnerId::new(owner).expect("valid"),
        ttl: HoldDuration::from_millis(10).expect("in range"),
    })
}

fn pay(payment: &str, claim: Claim) -> Command {
    let payment = PaymentId::new(payment).expect("valid");
    Command::ConfirmPayment { payment, claim }
}

fn one_seat() -> State {
    let mut state = State::default();
    state.add(&seat_id(), time(0));
    state
}

/// Runs the commands, and shows each as `row version@time outcome`, then the seat.
#[track_caller]
fn check(commands: &[(i64, Command)], expected: &[&str]) -> State {
    let mut state = one_seat();
    let shown: Vec<String> = commands
        .iter()
        .map(|(at, command)| match state.apply(command, time(*at)) {
            Ok(decided) => format!(
                "{} {}@{} {}",
                decided.row.number(),
                decided.receipt.version,
                decided.receipt.at.as_unix_millis(),
                decided.receipt.outcome
            ),
            Err(rejected) => rejected.to_string(),
        })
        .collect();
    assert_eq!(shown, expected);
    state
}

#[test]
fn holds_follow_rows_1_to_5() {
    let state = check(
        &[
            (0, hold("A")),
            (5, hold("A")),
            (9, hold("B")),
            (10, hold("B")),
            (11, pay("p", claim("B", 2))),
            (99, hold("A")),
        ],
        &[
            "1 v1@0 Held(h1 until 10 ms)",
            "3 v1@5 AlreadyHeld(h1 until 10 ms)",
            "4 v1@9 Refused(HeldUntil 10 ms)",
            "2 v2@10 Held(h2 until 20 ms)",
            "8 v3@11 Sold",
            "5 v3@99 Refused(Sold)",
        ],
    );
    let sold = SeatState::Sold {
        owner: claim("B", 2).owner,
        hold_id: claim("B", 2).hold_id,
        payment: PaymentId::new("p").expect("valid"),
    };
    assert_eq!(state.seats[&seat_id()].state, sold);
}

#[test]
fn a_hold_that_has_expired_is_made_anew_also_for_its_owner() {
    check(
        &[(0, hold("A")), (10, hold("A"))],
        &[
            "1 v1@0 Held(h1 until 10 ms)",
            "2 v2@10 Held(h2 until 20 ms)",
        ],
    );
}

#[test]
fn releases_follow_rows_6_and_7() {
    let state = check(
        &[
            (0, Command::Release(claim("A", 0))),
            (0, hold("A")),
            (1, Command::Release(claim("B", 1))),
            (2, Command::Release(claim("A", 2))),
            (30, Command::Release(claim("A", 1))),
            (31, Command::Release(claim("A", 1))),
            (32, hold("A")),
            (33, pay("p", claim("A", 3))),
            (34, Command::Release(claim("A", 3))),
        ],
        &[
            "7 v0@0 NotHeld",
            "1 v1@0 Held(h1 until 10 ms)",
            "7 v1@1 NotHeld",
            "7 v1@2 NotHeld",
            "6 v2@30 Released",
            "7 v2@31 NotHeld",
            "1 v3@32 Held(h3 until 42 ms)",
            "8 v4@33 Sold",
            "7 v4@34 NotHeld",
        ],
    );
    assert_eq!(state.payments.len(), 1);
}

#[test]
fn a_payment_that_can_not_buy_says_the_first_reason_that_applies() {
    check(
        &[
            (0, pay("p1", claim("A", 0))),
            (0, pay("p2", claim("A", 1))),
            (0, hold("A")),
            (1, pay("p3", claim("B", 1))),
            (2, pay("p4", claim("A", 2))),
            (3, pay("p5", claim("A", 0))),
            (10, pay("p6", claim("A", 1))),
            (10, pay("p7", claim("B", 1))),
            (11, hold("B")),
            (12, pay("p8", claim("A", 1))),
            (13, pay("p9", claim("B", 2))),
            (14, pay("q1", claim("A", 2))),
            (14, pay("q2", claim("A", 1))),
            (14, pay("q3", claim("B", 3))),
        ],
        &[
            "9 v0@0 RefundRequired(NeverHeld)",
            "9 v0@0 RefundRequired(NeverHeld)",
            "1 v1@0 Held(h1 until 10 ms)",
            "9 v1@1 RefundRequired(WrongOwner)",
            "9 v1@2 RefundRequired(NeverHeld)",
            "9 v1@3 RefundRequired(Superseded)",
            "9 v1@10 RefundRequired(Expired)",
            "9 v1@10 RefundRequired(WrongOwner)",
            "2 v2@11 Held(h2 until 21 ms)",
            "9 v2@12 RefundRequired(Superseded)",
            "8 v3@13 Sold",
            "9 v3@14 RefundRequired(AlreadySold)",
            "9 v3@14 RefundRequired(Superseded)",
            "9 v3@14 RefundRequired(NeverHeld)",
        ],
    );
}

#[test]
fn known_payments_follow_rows_10_to_12() {
    let state = check(
        &[
            (0, hold("A")),
            (5, pay("p", claim("A", 1))),
            (6, pay("p", claim("A", 1))),
            (7, pay("p", claim("B", 1))),
            (8, pay("q", claim("A", 7))),
            (9, pay("q", claim("A", 7))),
            (9, pay("q", claim("A", 1))),
        ],
        &[
            "1 v1@0 Held(h1 until 10 ms)",
            "8 v2@5 Sold",
            "10 v2@6 Duplicate",
            "12 v2@7 Conflict",
            "9 v2@8 RefundRequired(NeverHeld)",
            "11 v2@9 RefundRequired(NeverHeld)",
            "12 v2@9 Conflict",
        ],
    );
    assert_eq!(state.payments.len(), 2);
}

#[test]
fn an_answer_about_a_known_payment_carries_the_record() {
    let mut state = one_seat();
    let first = pay("p", claim("A", 4));
    let made = state.apply(&first, time(3)).expect("decided").record;
    let made = made.expect("a record is made");
    assert_eq!(made.claim, claim("A", 4));
    assert_eq!((made.version, made.decided_at), (Version::ZERO, time(3)));

    for command in [first, pay("p", claim("B", 4))] {
        let again = state.apply(&command, time(9)).expect("decided");
        assert_eq!(again.record, None);
        let Outcome::Confirm(outcome) = again.receipt.outcome else {
            panic!("an answer to a payment");
        };
        assert_eq!(outcome.recorded(), Some(&made));
    }
}

#[test]
fn a_known_payment_is_answered_on_the_recorded_seat_and_not_before_the_record() {
    let other = SeatId::new("other").expect("valid");
    let mut state = one_seat();
    let unknown = Claim {
        seat: other.clone(),
        ..claim("A", 1)
    };
    let refund = state
        .apply(&pay("p", unknown.clone()), time(50))
        .expect("decided");
    assert_eq!(refund.receipt.version, Version::ZERO);
    assert_eq!(
        refund.receipt.outcome.to_string(),
        "RefundRequired(UnknownSeat)"
    );

    // The clock steps back, and the seat comes to be, before the record.
    state.add(&other, time(20));
    state.apply(&hold("B"), time(21)).expect("decided");
    let take = Command::Hold(HoldRequest {
        seat: other,
        ..match hold("B") {
            Command::Hold(request) => request,
            _ => unreachable!("a hold"),
        }
    });
    state.apply(&take, time(22)).expect("decided");

    // Asked with a claim on `s`, answered on `other`, which has version 1.
    let answer = state
        .apply(&pay("p", claim("A", 1)), time(23))
        .expect("decided");
    assert_eq!(answer.row, Row::OtherClaim);
    assert_eq!(
        (answer.receipt.version.get(), answer.receipt.at),
        (1, time(50))
    );
    let read = state.payment(&PaymentId::new("p").expect("valid"), time(23));
    assert_eq!((read.version.get(), read.at), (1, time(50)));
    assert_eq!(read.outcome.map(|record| record.claim), Some(unknown));
}

#[test]
fn a_clock_that_steps_back_neither_shortens_nor_revives_a_hold() {
    check(
        &[
            (10, hold("A")),
            (4, hold("B")),
            (4, hold("A")),
            (20, hold("B")),
            (5, pay("p", claim("A", 1))),
            (5, pay("q", claim("B", 2))),
        ],
        &[
            "1 v1@10 Held(h1 until 20 ms)",
            "4 v1@10 Refused(HeldUntil 20 ms)",
            "3 v1@10 AlreadyHeld(h1 until 20 ms)",
            "2 v2@20 Held(h2 until 30 ms)",
            "9 v2@20 RefundRequired(Superseded)",
            "8 v3@20 Sold",
        ],
    );
}

#[test]
fn a_seat_that_is_not_there_is_an_error_for_a_hold_and_money_for_a_payment() {
    let mut state = State::default();
    assert_eq!(state.apply(&hold("A"), time(1)), Err(Rejected::UnknownSeat));
    let released = state
        .apply(&Command::Release(claim("A", 1)), time(1))
        .expect("decided");
    assert_eq!(
        (released.row, released.receipt.version),
        (Row::ReleaseNothing, Version::ZERO)
    );
    let paid = state
        .apply(&pay("p", claim("A", 1)), time(2))
        .expect("decided");
    assert_eq!(
        paid.receipt.outcome.to_string(),
        "RefundRequired(UnknownSeat)"
    );
    assert_eq!(state.payments.len(), 1);
}

#[test]
fn a_hold_that_would_end_after_all_time_is_rejected() {
    let mut state = State::default();
    state.add(&seat_id(), Timestamp::MAX);
    // The seat's last change counts, though the clock has stepped back.
    assert_eq!(state.apply(&hold("A"), time(0)), Err(Rejected::EndsTooLate));
}

#[test]
fn a_step_leaves_the_state_before_it_alone() {
    let before = one_seat();
    let (after, decided) = step(&before, &hold("A"), time(0));
    assert_eq!(decided.expect("decided").row, Row::HoldFree);
    assert_eq!(before, one_seat());
    assert_ne!(after, before);
    assert!(!one_seat().add(&seat_id(), time(9)));
}

#[test]
fn rows_are_numbered_as_in_the_table() {
    let numbers: Vec<usize> = Row::ALL.into_iter().map(Row::number).collect();
    assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
}

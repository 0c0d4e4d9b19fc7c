//! What people read of ids, states and outcomes. Reports and logs are searched for these words.

mod common;

use common::{claim, t};
use soldonce::invariant::{Invariant, Violation};
use soldonce::{
    CommandKind, ConfirmOutcome, Decision, HoldDuration, HoldId, HoldOutcome, HoldRefusal, Outcome,
    PaymentId, PaymentRecord, RefundReason, ReleaseOutcome, SeatStateKind, Version,
};

fn texts<T: ToString, const N: usize>(values: [T; N]) -> [String; N] {
    values.map(|value| value.to_string())
}

#[test]
fn names_and_numbers() {
    assert_eq!(
        texts([
            CommandKind::Hold,
            CommandKind::Release,
            CommandKind::ConfirmPayment
        ]),
        ["hold", "release", "confirm_payment"]
    );
    assert_eq!(
        texts([
            SeatStateKind::Free,
            SeatStateKind::Held,
            SeatStateKind::Sold
        ]),
        ["Free", "Held", "Sold"]
    );
    let seven = Version::new(7).expect("valid");
    assert_eq!(texts([Version::ZERO, seven]), ["v0", "v7"]);
    assert_eq!(HoldId::new(3).expect("valid").to_string(), "h3");
    assert_eq!(t(12).to_string(), "12 ms");
    assert_eq!(
        HoldDuration::from_secs(2).expect("valid").to_string(),
        "2000 ms"
    );
    // Names can be lined up in a table.
    assert_eq!(
        format!(
            "{:>9}|{:<8}|",
            CommandKind::Hold,
            PaymentId::new("p").expect("valid")
        ),
        "     hold|p       |"
    );
}

#[test]
fn outcomes() {
    let hold_id = HoldId::new(4).expect("valid");
    let expires = t(90);
    assert_eq!(
        texts(
            [
                HoldOutcome::Held { hold_id, expires },
                HoldOutcome::AlreadyHeld { hold_id, expires },
                HoldOutcome::Refused(HoldRefusal::HeldUntil(expires)),
                HoldOutcome::Refused(HoldRefusal::Sold),
            ]
            .map(Outcome::Hold)
        ),
        [
            "Held(h4 until 90 ms)",
            "AlreadyHeld(h4 until 90 ms)",
            "Refused(HeldUntil 90 ms)",
            "Refused(Sold)"
        ]
    );
    assert_eq!(
        texts([ReleaseOutcome::Released, ReleaseOutcome::NotHeld].map(Outcome::Release)),
        ["Released", "NotHeld"]
    );
    let recorded = Box::new(PaymentRecord {
        payment: PaymentId::new("p").expect("valid"),
        claim: claim("A1", "alice", hold_id.get()),
        decision: Decision::Sold,
        version: Version::ZERO,
        decided_at: t(0),
    });
    assert_eq!(
        texts(
            [
                ConfirmOutcome::Sold,
                ConfirmOutcome::Duplicate {
                    recorded: recorded.clone()
                },
                ConfirmOutcome::Conflict { recorded },
            ]
            .map(Outcome::Confirm)
        ),
        ["Sold", "Duplicate", "Conflict"]
    );
}

#[test]
fn reasons_of_refunds() {
    let reasons = [
        RefundReason::UnknownSeat,
        RefundReason::NeverHeld,
        RefundReason::AlreadySold,
        RefundReason::Superseded,
        RefundReason::WrongOwner,
        RefundReason::Expired,
    ];
    let outcomes = reasons.map(|reason| ConfirmOutcome::RefundRequired {
        reason,
        recorded: None,
    });
    assert_eq!(
        texts(outcomes),
        [
            "RefundRequired(UnknownSeat)",
            "RefundRequired(NeverHeld)",
            "RefundRequired(AlreadySold)",
            "RefundRequired(Superseded)",
            "RefundRequired(WrongOwner)",
            "RefundRequired(Expired)"
        ]
    );
}

#[test]
fn findings_of_the_audit() {
    assert_eq!(
        texts([
            Invariant::OneSalePerSeat,
            Invariant::OneDecisionPerPayment,
            Invariant::NoMoneyLost,
            Invariant::VersionsCountChanges,
            Invariant::LiveHoldIsSafe,
            Invariant::ExpiredHoldIsFree,
            Invariant::RestartChangesNothing,
            Invariant::RowShape,
        ]),
        [
            "I1 (one sale per seat)",
            "I2 (one decision per payment)",
            "I3 (no money lost)",
            "I4 (versions count changes)",
            "I5 (a live hold is safe)",
            "I6 (an expired hold is free)",
            "I7 (a restart changes nothing)",
            "the shape of rows"
        ]
    );
    let violation = Violation {
        invariant: Invariant::NoMoneyLost,
        detail: "payment p is not recorded".to_owned(),
    };
    assert_eq!(
        violation.to_string(),
        "I3 (no money lost): payment p is not recorded"
    );
}

#[test]
fn invalid_input_says_what_it_is() {
    let invalid = PaymentId::new("").expect_err("an id is not empty");
    assert_eq!(invalid.what(), "payment id");
    assert_eq!(
        invalid.to_string(),
        "invalid payment id: it is empty; allowed: 1 to 64 bytes of UTF-8 without control characters"
    );
}

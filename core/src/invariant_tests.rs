//! Each finding of the audit, by harm done to data that are right.

use super::*;
use crate::id::{HoldId, OwnerId};
use crate::time::Timestamp;

fn t(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(millis).expect("valid")
}

fn version(number: i64) -> Version {
    Version::new(number).expect("valid")
}

fn claim(seat: &str, owner: &str, hold_id: i64) -> Claim {
    Claim {
        seat: SeatId::new(seat).expect("valid"),
        owner: OwnerId::new(owner).expect("valid"),
        hold_id: HoldId::new(hold_id).expect("valid"),
    }
}

fn record(payment: &str, claim: Claim, decision: Decision, at: (i64, i64)) -> PaymentRecord {
    PaymentRecord {
        payment: PaymentId::new(payment).expect("valid"),
        claim,
        decision,
        version: version(at.0),
        decided_at: t(at.1),
    }
}

fn refund(payment: &str, hold_id: i64, reason: RefundReason, at: (i64, i64)) -> PaymentRecord {
    record(
        payment,
        claim("held", "A", hold_id),
        Decision::RefundRequired(reason),
        at,
    )
}

/// One free seat, one held (version 3 since 20), one sold (version 2 since 5, hold 1), all right.
fn right() -> Snapshot {
    let seat = |id: &str, state, number, at| Seat {
        id: SeatId::new(id).expect("valid"),
        state,
        version: version(number),
        changed_at: t(at),
    };
    let owner = OwnerId::new("A").expect("valid");
    let (one, three) = (
        HoldId::new(1).expect("valid"),
        HoldId::new(3).expect("valid"),
    );
    let payment = PaymentId::new("p").expect("valid");
    Snapshot {
        seats: vec![
            seat("free", SeatState::Free, 2, 7),
            seat(
                "held",
                SeatState::Held {
                    owner: owner.clone(),
                    hold_id: three,
                    expires: t(30),
                },
                3,
                20,
            ),
            seat(
                "sold",
                SeatState::Sold {
                    owner,
                    hold_id: one,
                    payment,
                },
                2,
                5,
            ),
        ],
        payments: vec![
            record("p", claim("sold", "A", 1), Decision::Sold, (2, 5)),
            record(
                "q",
                claim("sold", "A", 1),
                Decision::RefundRequired(RefundReason::AlreadySold),
                (2, 6),
            ),
            refund("r", 1, RefundReason::Superseded, (3, 21)),
            refund("s", 9, RefundReason::NeverHeld, (0, 2)),
            refund("u", 3, RefundReason::Expired, (3, 30)),
            refund("v", 3, RefundReason::WrongOwner, (3, 20)),
            record(
                "w",
                claim("nowhere", "A", 0),
                Decision::RefundRequired(RefundReason::UnknownSeat),
                (0, 1),
            ),
        ],
    }
}

/// The audit of a snapshot that `harm` was done to finds exactly this invariant broken.
fn finds(invariant: Invariant, harm: impl Fn(&mut Snapshot)) {
    let mut snapshot = right();
    harm(&mut snapshot);
    let found = audit(&snapshot);
    assert!(!found.is_empty(), "nothing found");
    assert!(
        found
            .iter()
            .all(|violation| violation.invariant == invariant),
        "{found:?}"
    );
}

#[test]
fn what_is_right_passes() {
    assert_eq!(audit(&right()), []);
    assert_eq!(audit_change(&Snapshot::default(), &right()), []);
    assert_eq!(audit_change(&right(), &right()), []);
}

#[test]
fn a_second_sale_or_a_sale_that_the_seat_does_not_bear_out_is_found() {
    use Invariant::OneSalePerSeat;
    finds(OneSalePerSeat, |s| {
        s.payments
            .push(record("x", claim("sold", "B", 1), Decision::Sold, (2, 5)));
    });
    finds(OneSalePerSeat, |s| {
        s.payments
            .push(record("x", claim("held", "A", 3), Decision::Sold, (4, 25)));
    });
    finds(OneSalePerSeat, |s| {
        s.payments.push(record(
            "x",
            claim("nowhere", "A", 3),
            Decision::Sold,
            (4, 25),
        ));
    });
    finds(OneSalePerSeat, |s| {
        s.payments[0].claim = claim("sold", "B", 1);
    });
    finds(OneSalePerSeat, |s| s.payments[0].decided_at = t(6));
    finds(OneSalePerSeat, |s| s.payments[0].version = version(3));
    finds(OneSalePerSeat, |s| s.payments[0].version = version(1));
    for other in ["a", "z"] {
        finds(OneSalePerSeat, |s| {
            if let SeatState::Sold { payment, .. } = &mut s.seats[2].state {
                *payment = PaymentId::new(other).expect("valid");
            }
        });
    }
    finds(OneSalePerSeat, |s| {
        s.payments.remove(0);
        s.payments.remove(0); // the refund that names the sale
    });
    finds(OneSalePerSeat, |s| {
        s.payments[0].payment = PaymentId::new("x").expect("valid");
    });
}

#[test]
fn a_payment_that_stands_twice_is_found() {
    finds(Invariant::OneDecisionPerPayment, |s| {
        s.payments.push(s.payments[2].clone());
    });
}

#[test]
fn versions_and_times_that_no_run_of_the_table_gives_are_found() {
    use Invariant::VersionsCountChanges;
    finds(VersionsCountChanges, |s| s.seats[0].version = version(1));
    finds(VersionsCountChanges, |s| s.seats[1].version = version(4));
    finds(VersionsCountChanges, |s| {
        s.payments
            .retain(|record| record.claim.seat.as_str() != "held");
        s.seats[1].changed_at = t(30);
    });
    finds(VersionsCountChanges, |s| s.payments[2].version = version(4));
    finds(VersionsCountChanges, |s| s.payments[2].decided_at = t(19));
}

#[test]
fn a_refund_may_be_dated_after_a_later_change_that_a_clock_set_back_made() {
    let mut snapshot = right();
    snapshot.payments[3].decided_at = t(21); // on version 0; version 3 is of 20
    assert_eq!(audit(&snapshot), []);
}

#[test]
fn a_sold_seat_whose_hold_is_not_the_version_before_is_found() {
    for (hold_id, number) in [(0, 2), (2, 2), (0, 1)] {
        let mut snapshot = right();
        snapshot.payments.clear(); // the seat alone shows it
        snapshot.seats[2].version = version(number);
        let wrong = HoldId::new(hold_id).expect("valid");
        if let SeatState::Sold { hold_id, .. } = &mut snapshot.seats[2].state {
            *hold_id = wrong;
        }
        let found = audit(&snapshot);
        assert!(
            found
                .iter()
                .any(|v| v.invariant == Invariant::VersionsCountChanges),
            "{found:?}"
        );
    }
}

#[test]
fn a_reason_that_does_not_fit_is_found() {
    use Invariant::RowShape;
    for (hold_id, reason, seen) in [
        (0, RefundReason::NeverHeld, 3),
        (2, RefundReason::NeverHeld, 3),
        (3, RefundReason::Superseded, 3),
        (4, RefundReason::Superseded, 3),
        (2, RefundReason::Expired, 3),
        (2, RefundReason::WrongOwner, 3),
        (1, RefundReason::UnknownSeat, 3),
        (2, RefundReason::AlreadySold, 3),
    ] {
        finds(RowShape, |s| {
            s.payments.push(refund("x", hold_id, reason, (seen, 20)));
        });
    }
    finds(RowShape, |s| s.payments[1].claim = claim("sold", "A", 0));
    finds(RowShape, |s| s.payments[1].version = version(1));
    finds(RowShape, |s| s.payments[2].claim = claim("nowhere", "A", 1));
}

#[test]
fn a_seat_that_stands_twice_is_found() {
    finds(Invariant::RowShape, |s| s.seats.push(s.seats[0].clone()));
}

#[test]
fn a_record_that_disappears_or_changes_is_found_between_two_snapshots() {
    for harm in [
        (|s: &mut Snapshot| drop(s.payments.remove(2))) as fn(&mut Snapshot),
        |s| s.payments[2].claim = claim("held", "B", 1),
        |s| s.payments[2].decided_at = t(22),
        |s| s.payments[2].decision = Decision::Sold,
    ] {
        let mut later = right();
        harm(&mut later);
        let found = audit_change(&right(), &later);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].invariant, Invariant::OneDecisionPerPayment);
    }
}

#[test]
fn a_seat_that_goes_back_or_jumps_a_row_is_found_between_two_snapshots() {
    let free_at = |s: &mut Snapshot, seat: usize, number| {
        s.seats[seat].state = SeatState::Free;
        s.seats[seat].version = version(number);
    };
    for (harm, is_wrong) in [
        (
            Box::new(move |s: &mut Snapshot| free_at(s, 1, 4)) as Box<dyn Fn(&mut Snapshot)>,
            false,
        ),
        (Box::new(move |s: &mut Snapshot| free_at(s, 1, 9)), false),
        // Free to Free is no row, but held and given back in between is two.
        (Box::new(move |s: &mut Snapshot| free_at(s, 0, 4)), false),
        (Box::new(move |s: &mut Snapshot| free_at(s, 1, 3)), true),
        (Box::new(move |s: &mut Snapshot| free_at(s, 1, 2)), true),
        (Box::new(move |s: &mut Snapshot| free_at(s, 0, 3)), true),
        (Box::new(move |s: &mut Snapshot| free_at(s, 2, 3)), true), // Sold is final
        (Box::new(move |s: &mut Snapshot| free_at(s, 2, 9)), true),
        (Box::new(|s: &mut Snapshot| drop(s.seats.remove(0))), true),
    ] {
        let mut later = right();
        harm(&mut later);
        let found = audit_change(&right(), &later);
        assert_eq!(!found.is_empty(), is_wrong, "{found:?}");
        assert!(
            found
                .iter()
                .all(|v| v.invariant == Invariant::VersionsCountChanges)
        );
    }
}

#[test]
fn an_acknowledged_payment_that_is_not_recorded_as_told_is_found() {
    let told = |payment: &str, claim, decision| Acknowledged {
        payment: PaymentId::new(payment).expect("valid"),
        claim,
        decision,
    };
    let late = Decision::RefundRequired(RefundReason::Superseded);
    for (told, is_wrong) in [
        (told("p", claim("sold", "A", 1), Decision::Sold), false),
        (told("r", claim("held", "A", 1), late), false),
        (told("lost", claim("sold", "A", 1), Decision::Sold), true),
        (told("p", claim("sold", "B", 1), Decision::Sold), true),
        (told("p", claim("sold", "A", 1), late), true),
        (
            told(
                "r",
                claim("held", "A", 1),
                Decision::RefundRequired(RefundReason::Expired),
            ),
            true,
        ),
    ] {
        let found = audit_acknowledged(&right(), [&told]);
        assert_eq!(!found.is_empty(), is_wrong, "{told:?}: {found:?}");
        assert!(found.iter().all(|v| v.invariant == Invariant::NoMoneyLost));
    }
}

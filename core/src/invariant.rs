//! The invariants, stated once, as code that tests, checkers and reports all call.
//!
//! [`audit`] looks at one snapshot, [`audit_change`] at two of the same store, one later than the
//! other. Both are pure. What needs a whole history (each acknowledged answer, each step) is checked
//! by model-check, with the same names.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::id::{PaymentId, SeatId, Version};
use crate::seat::{Claim, Decision, PaymentRecord, RefundReason, Seat, SeatState, SeatStateKind};
use crate::transition::{LEGAL, live};

/// What always holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// I1: a seat has at most one `sold` payment, and a sold seat has exactly one, with its owner and hold.
    OneSalePerSeat,
    /// I2: a payment has one decision for ever; no record disappears or changes.
    OneDecisionPerPayment,
    /// I3: every acknowledged payment is sold or must be refunded, never both, never neither.
    NoMoneyLost,
    /// I4: versions of a seat grow by one per change, and each change is a row of the table.
    VersionsCountChanges,
    /// I5: a live hold is never taken before it expires, except by its owner's release.
    LiveHoldIsSafe,
    /// I6: an expired hold can be taken with no help from a sweeper.
    ExpiredHoldIsFree,
    /// I7: no answer depends on the memory of a process.
    RestartChangesNothing,
    /// Every stored row has the shape that its state asks for.
    RowShape,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneSalePerSeat => "I1 (one sale per seat)",
            Self::OneDecisionPerPayment => "I2 (one decision per payment)",
            Self::NoMoneyLost => "I3 (no money lost)",
            Self::VersionsCountChanges => "I4 (versions count changes)",
            Self::LiveHoldIsSafe => "I5 (a live hold is safe)",
            Self::ExpiredHoldIsFree => "I6 (an expired hold is free)",
            Self::RestartChangesNothing => "I7 (a restart changes nothing)",
            Self::RowShape => "the shape of rows",
        })
    }
}

/// Everything that a store keeps, as of one instant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// All seats.
    pub seats: Vec<Seat>,
    /// All payment records, in the order in which they were decided.
    pub payments: Vec<PaymentRecord>,
}

/// One way in which stored data break an invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What does not hold.
    pub invariant: Invariant,
    /// Where, and how.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.detail)
    }
}

/// An answer about a payment that a caller got and may rely on for ever.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Acknowledged {
    /// Which payment.
    pub payment: PaymentId,
    /// What it was made for.
    pub claim: Claim,
    /// What the caller was told.
    pub decision: Decision,
}

/// Checks one snapshot: I1, the static parts of I2 and I4, and the shape of rows.
///
/// Cost: linear in seats and payments; one hash entry each.
pub fn audit(snapshot: &Snapshot) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut seats = HashMap::with_capacity(snapshot.seats.len());
    for seat in &snapshot.seats {
        if seats.insert(&seat.id, seat).is_some() {
            found.push(violation(
                Invariant::RowShape,
                format!("seat {} stands twice", seat.id),
            ));
        }
        audit_seat(seat, &mut found);
    }

    let mut payments = HashSet::with_capacity(snapshot.payments.len());
    let mut sales: HashMap<&SeatId, &PaymentRecord> = HashMap::new();
    for record in &snapshot.payments {
        if !payments.insert(&record.payment) {
            found.push(violation(
                Invariant::OneDecisionPerPayment,
                format!("payment {} stands twice", record.payment),
            ));
        }
        if record.decision == Decision::Sold
            && let Some(other) = sales.insert(&record.claim.seat, record)
        {
            found.push(violation(
                Invariant::OneSalePerSeat,
                format!(
                    "seat {} is sold to payment {} and to payment {}",
                    record.claim.seat, other.payment, record.payment
                ),
            ));
        }
    }

    for record in &snapshot.payments {
        audit_payment(
            record,
            seats.get(&record.claim.seat).copied(),
            &sales,
            &mut found,
        );
    }
    for seat in &snapshot.seats {
        if let SeatState::Sold { payment, .. } = &seat.state
            && sales
                .get(&seat.id)
                .is_none_or(|sale| sale.payment != *payment)
        {
            found.push(violation(
                Invariant::OneSalePerSeat,
                format!(
                    "seat {} is sold, but payment {payment} is not recorded as its sale",
                    seat.id
                ),
            ));
        }
    }
    found
}

/// The shape of one seat: what its state says about its version and its times.
fn audit_seat(seat: &Seat, found: &mut Vec<Violation>) {
    let version = seat.version.get();
    let problem = match &seat.state {
        SeatState::Free if version == 1 => "is free at version 1, which only a hold can make",
        SeatState::Held { hold_id, .. } if hold_id.version() != seat.version => {
            "is held under a hold id that is not its version"
        }
        SeatState::Sold { hold_id, .. }
            if hold_id.get() < 1 || hold_id.version().next() != Some(seat.version) =>
        {
            "is sold under a hold id that is not the version before its own"
        }
        SeatState::Held { expires, .. } if !live(seat.changed_at, *expires) => {
            "is held by a hold that ended before it was made"
        }
        SeatState::Free | SeatState::Held { .. } | SeatState::Sold { .. } => return,
    };
    found.push(violation(
        Invariant::VersionsCountChanges,
        format!("seat {} ({}) {problem}", seat.id, seat.version),
    ));
}

/// One payment against its seat.
fn audit_payment(
    record: &PaymentRecord,
    seat: Option<&Seat>,
    sales: &HashMap<&SeatId, &PaymentRecord>,
    found: &mut Vec<Violation>,
) {
    let hold = record.claim.hold_id.version();
    let mut say = |invariant, problem: &str| {
        found.push(violation(
            invariant,
            format!(
                "payment {} for seat {} {problem}",
                record.payment, record.claim.seat
            ),
        ));
    };
    let reason = match record.decision {
        Decision::Sold => {
            let bought = seat.is_some_and(|seat| {
                seat.version == record.version
                    && seat.changed_at == record.decided_at
                    && matches!(&seat.state, SeatState::Sold { owner, hold_id, payment }
                        if *owner == record.claim.owner
                            && *hold_id == record.claim.hold_id
                            && *payment == record.payment)
            });
            if !bought {
                say(
                    Invariant::OneSalePerSeat,
                    "is recorded as its sale, but the seat does not say so",
                );
            }
            return;
        }
        Decision::RefundRequired(reason) => reason,
    };
    let fits = match reason {
        RefundReason::UnknownSeat => record.version == Version::ZERO,
        RefundReason::NeverHeld => hold >= record.version,
        RefundReason::AlreadySold => {
            hold.next() == Some(record.version)
                && sales
                    .get(&record.claim.seat)
                    .is_some_and(|sale| sale.claim.hold_id == record.claim.hold_id)
        }
        RefundReason::Superseded => hold < record.version,
        RefundReason::WrongOwner | RefundReason::Expired => hold == record.version,
    };
    if !fits {
        say(
            Invariant::RowShape,
            &format!(
                "must be refunded for a reason ({reason}) that does not fit {} at {}",
                record.claim.hold_id, record.version
            ),
        );
    }
    match seat {
        None if reason != RefundReason::UnknownSeat => {
            say(
                Invariant::RowShape,
                "was decided on a seat that does not exist",
            );
        }
        Some(seat) if seat.version < record.version => {
            say(
                Invariant::VersionsCountChanges,
                "was decided on a version that the seat has not reached",
            );
        }
        Some(seat)
            if reason != RefundReason::UnknownSeat
                && seat.version == record.version
                && record.decided_at < seat.changed_at =>
        {
            say(
                Invariant::VersionsCountChanges,
                "was decided at a time that does not fit the version it was decided on",
            );
        }
        None | Some(_) => {}
    }
}

/// Checks two snapshots of one store, the second taken later: nothing decided has been undone (I2),
/// and seats have only moved on (I4).
///
/// Cost: linear in seats and payments; one hash entry each.
pub fn audit_change(earlier: &Snapshot, later: &Snapshot) -> Vec<Violation> {
    let mut found = Vec::new();
    let payments: HashMap<_, _> = later.payments.iter().map(|r| (&r.payment, r)).collect();
    for before in &earlier.payments {
        let problem = match payments.get(&before.payment) {
            Some(after) if *after == before => continue,
            Some(_) => "has been changed",
            None => "has disappeared",
        };
        found.push(violation(
            Invariant::OneDecisionPerPayment,
            format!("the record of payment {} {problem}", before.payment),
        ));
    }
    let seats: HashMap<_, _> = later.seats.iter().map(|seat| (&seat.id, seat)).collect();
    for before in &earlier.seats {
        let problem = match seats.get(&before.id) {
            None => "has disappeared".to_owned(),
            Some(after) if *after == before => continue,
            Some(after) if after.version <= before.version => format!(
                "went from {} to {}, yet it is not as it was",
                before.version, after.version
            ),
            Some(after) if before.version.next() == Some(after.version) => {
                let (from, to) = (before.state.kind(), after.state.kind());
                if LEGAL.iter().any(|row| (row.from, row.to) == (from, to)) {
                    continue;
                }
                format!("went from {from} to {to} in one change")
            }
            Some(_) if before.state.kind() == SeatStateKind::Sold => {
                "was sold, and has changed since".to_owned()
            }
            Some(_) => continue,
        };
        found.push(violation(
            Invariant::VersionsCountChanges,
            format!("seat {} {problem}", before.id),
        ));
    }
    found
}

/// Checks that every acknowledged decision about a payment is recorded as it was told (I3).
///
/// Cost: linear in payments and answers; one hash entry per payment.
pub fn audit_acknowledged<'a>(
    snapshot: &Snapshot,
    acknowledged: impl IntoIterator<Item = &'a Acknowledged>,
) -> Vec<Violation> {
    let payments: HashMap<_, _> = snapshot.payments.iter().map(|r| (&r.payment, r)).collect();
    acknowledged
        .into_iter()
        .filter_map(|told| {
            let problem = match payments.get(&told.payment) {
                None => "is not recorded",
                Some(record) if record.claim != told.claim => "is recorded with another claim",
                Some(record) if record.decision != told.decision => "is recorded otherwise",
                Some(_) => return None,
            };
            Some(violation(
                Invariant::NoMoneyLost,
                format!(
                    "payment {} was answered {:?}, but {problem}",
                    told.payment, told.decision
                ),
            ))
        })
        .collect()
}

fn violation(invariant: Invariant, detail: String) -> Violation {
    Violation { invariant, detail }
}

#[cfg(test)]
#[path = "invariant_tests.rs"]
mod tests;

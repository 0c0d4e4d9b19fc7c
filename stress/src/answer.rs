//! The ways in which a call can end, as names to count by.

use model_check::history::{Answer, StateNo, Told};
use soldonce::{
    ConfirmOutcome, HoldOutcome, HoldRefusal, Outcome, Receipt, RefundReason, ReleaseOutcome, Seat,
    SeatStateKind, StoreError,
};

/// The calls that a client makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// `hold`
    Hold,
    /// `release`
    Release,
    /// `confirm_payment`
    Confirm,
    /// `seat`
    Seat,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Hold, Self::Release, Self::Confirm, Self::Seat];

    /// Its name in reports and thresholds.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Confirm => "confirm",
            Self::Seat => "seat",
        }
    }
}

/// One way in which a call can end: one row of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ending(u8);

struct Row {
    operation: Operation,
    /// The name in evidence and thresholds.
    name: &'static str,
    /// The name in the table.
    shown: &'static str,
    error: bool,
}

const fn outcome(operation: Operation, name: &'static str, shown: &'static str) -> Row {
    Row {
        operation,
        name,
        shown,
        error: false,
    }
}

const fn error(operation: Operation, name: &'static str) -> Row {
    Row {
        operation,
        name,
        shown: name,
        error: true,
    }
}

use Operation::{Confirm, Hold, Release};

const ROWS: [Row; Ending::COUNT] = [
    outcome(Hold, "held", "held"),
    outcome(Hold, "already_held", "already held"),
    outcome(Hold, "refused_held", "refused: held"),
    outcome(Hold, "refused_sold", "refused: sold"),
    outcome(Release, "released", "released"),
    outcome(Release, "not_held", "not held"),
    outcome(Confirm, "sold", "sold"),
    outcome(Confirm, "duplicate", "duplicate"),
    outcome(Confirm, "conflict", "conflict"),
    outcome(Confirm, "refund_unknown_seat", "refund: no seat"),
    outcome(Confirm, "refund_never_held", "refund: no hold"),
    outcome(Confirm, "refund_already_sold", "refund: paid"),
    outcome(Confirm, "refund_superseded", "refund: moved on"),
    outcome(Confirm, "refund_wrong_owner", "refund: owner"),
    outcome(Confirm, "refund_expired", "refund: expired"),
    outcome(Confirm, "refund_again", "refund: told again"),
    error(Hold, "busy"),
    error(Hold, "unknown"),
    error(Hold, "corrupt"),
    error(Hold, "invalid"),
    error(Hold, "database"),
    error(Release, "busy"),
    error(Release, "unknown"),
    error(Release, "corrupt"),
    error(Release, "invalid"),
    error(Release, "database"),
    error(Confirm, "busy"),
    error(Confirm, "unknown"),
    error(Confirm, "corrupt"),
    error(Confirm, "invalid"),
    error(Confirm, "database"),
    outcome(Operation::Seat, "seen_free", "free"),
    outcome(Operation::Seat, "seen_held", "held"),
    outcome(Operation::Seat, "seen_sold", "sold"),
    outcome(Operation::Seat, "no_seat", "no such seat"),
    error(Operation::Seat, "busy"),
    error(Operation::Seat, "unknown"),
    error(Operation::Seat, "corrupt"),
    error(Operation::Seat, "invalid"),
    error(Operation::Seat, "database"),
];

/// Where the errors of an operation begin.
const ERRORS: [u8; 4] = [16, 21, 26, 35];

impl Ending {
    /// How many there are.
    pub const COUNT: usize = 40;
    /// The seat is held for the caller.
    pub const HELD: Self = Self(0);
    /// The payment bought the seat.
    pub const SOLD: Self = Self(6);

    /// All of them, in the order of the report.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        (0..ROWS.len()).map(|at| Self(u8::try_from(at).expect("40 rows")))
    }

    /// The number of its row.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The operation that ends so.
    pub const fn operation(self) -> Operation {
        ROWS[self.index()].operation
    }

    /// Its name in evidence and thresholds, unique within the operation.
    pub const fn name(self) -> &'static str {
        ROWS[self.index()].name
    }

    /// Its name in the table.
    pub const fn shown(self) -> &'static str {
        ROWS[self.index()].shown
    }

    /// Whether it is an error and not an outcome.
    pub const fn is_error(self) -> bool {
        ROWS[self.index()].error
    }

    /// Whether it is the first decision about a payment, which makes a record.
    pub const fn decides_a_payment(self) -> bool {
        self.0 == 6 || matches!(self.0, 9..=14)
    }

    /// Whether it belongs to a name such as `refused`, which stands for all whose name is that, or
    /// begins with it and an underscore.
    pub fn is_of(self, name: &str) -> bool {
        self.name()
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    }

    /// How a call ended.
    pub fn of(operation: Operation, answer: &Result<Receipt<Outcome>, StoreError>) -> Self {
        match answer {
            Ok(receipt) => Self::of_outcome(&receipt.outcome),
            Err(error) => Self::of_error(operation, error),
        }
    }

    /// How a look at a seat ended.
    pub fn of_seat(answer: &Result<Receipt<Option<Seat>>, StoreError>) -> Self {
        match answer {
            Ok(receipt) => Self::of_state(receipt.outcome.as_ref().map(|seat| seat.state.kind())),
            Err(error) => Self::of_error(Operation::Seat, error),
        }
    }

    const fn of_state(state: Option<SeatStateKind>) -> Self {
        Self(match state {
            Some(SeatStateKind::Free) => 31,
            Some(SeatStateKind::Held) => 32,
            Some(SeatStateKind::Sold) => 33,
            None => 34,
        })
    }

    const fn of_error(operation: Operation, error: &StoreError) -> Self {
        let place = match error {
            StoreError::Busy { .. } => 0,
            StoreError::Unknown(_) => 1,
            StoreError::Corrupt { .. } => 2,
            StoreError::Invalid(_) | StoreError::UnknownSeat(_) => 3,
            StoreError::Database { .. } => 4,
        };
        Self(ERRORS[operation as usize] + place)
    }

    /// How a call ended, as far as a history shows: it does not tell one error from another, but for
    /// whether the call may have taken effect.
    pub fn shown_as(operation: Operation, answer: &Answer) -> Self {
        let told = match answer {
            Answer::Receipt { told, .. } => told,
            Answer::Unknown => return Self(ERRORS[operation as usize] + 1),
            Answer::NotApplied => return Self(ERRORS[operation as usize]),
            Answer::NoSuchSeat => return Self(ERRORS[operation as usize] + 3),
        };
        let refund = |reason: &RefundReason| {
            Self::of_outcome(&Outcome::Confirm(ConfirmOutcome::RefundRequired {
                reason: *reason,
                recorded: None,
            }))
        };
        match told {
            Told::Refund(reason) => refund(reason),
            Told::Held { .. } => Self::HELD,
            Told::AlreadyHeld { .. } => Self(1),
            Told::HeldUntil(_) => Self(2),
            Told::SoldOut => Self(3),
            Told::Released => Self(4),
            Told::NotHeld => Self(5),
            Told::Sold => Self::SOLD,
            Told::Duplicate(_) => Self(7),
            Told::Conflict(_) => Self(8),
            Told::RefundAgain(..) => Self(15),
            Told::Seat(seat) => Self::of_state(seat.map(|seat| match seat.state {
                StateNo::Free => SeatStateKind::Free,
                StateNo::Held { .. } => SeatStateKind::Held,
                StateNo::Sold { .. } => SeatStateKind::Sold,
            })),
            Told::Payment(_) => unreachable!("a client of a run does not read payments"),
        }
    }

    fn of_outcome(outcome: &Outcome) -> Self {
        Self(match outcome {
            Outcome::Hold(HoldOutcome::Held { .. }) => 0,
            Outcome::Hold(HoldOutcome::AlreadyHeld { .. }) => 1,
            Outcome::Hold(HoldOutcome::Refused(HoldRefusal::HeldUntil(_))) => 2,
            Outcome::Hold(HoldOutcome::Refused(HoldRefusal::Sold)) => 3,
            Outcome::Release(ReleaseOutcome::Released) => 4,
            Outcome::Release(ReleaseOutcome::NotHeld) => 5,
            Outcome::Confirm(ConfirmOutcome::Sold) => 6,
            Outcome::Confirm(ConfirmOutcome::Duplicate { .. }) => 7,
            Outcome::Confirm(ConfirmOutcome::Conflict { .. }) => 8,
            Outcome::Confirm(ConfirmOutcome::RefundRequired {
                recorded: Some(_), ..
            }) => 15,
            Outcome::Confirm(ConfirmOutcome::RefundRequired {
                reason,
                recorded: None,
            }) => match reason {
                RefundReason::UnknownSeat => 9,
                RefundReason::NeverHeld => 10,
                RefundReason::AlreadySold => 11,
                RefundReason::Superseded => 12,
                RefundReason::WrongOwner => 13,
                RefundReason::Expired => 14,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use soldonce::{Timestamp, Version};

    use super::*;

    fn told(outcome: impl Into<Outcome>) -> Receipt<Outcome> {
        Receipt {
            outcome: outcome.into(),
            version: Version::ZERO,
            at: Timestamp::MIN,
        }
    }

    #[test]
    fn no_two_endings_of_one_operation_share_a_name() {
        let names: BTreeSet<_> = Ending::all()
            .map(|ending| (ending.operation(), ending.name()))
            .collect();
        assert_eq!(names.len(), Ending::COUNT);
    }

    #[test]
    fn every_refund_reason_has_a_row_of_its_own() {
        for reason in RefundReason::ALL {
            let ending = Ending::of(
                Confirm,
                &Ok(told(ConfirmOutcome::RefundRequired {
                    reason,
                    recorded: None,
                })),
            );
            let name = ending.name().replace("refund_", "").replace('_', "");
            assert_eq!(name, reason.to_string().to_lowercase());
            assert!(ending.decides_a_payment() && ending.is_of("refund"));
        }
    }

    #[test]
    fn an_ending_is_found_under_its_operation() {
        let held_until = HoldOutcome::Refused(HoldRefusal::HeldUntil(Timestamp::MIN));
        let refused = Ending::of(Hold, &Ok(told(held_until)));
        assert_eq!(
            (refused.operation(), refused.name()),
            (Hold, "refused_held")
        );
        assert!(refused.is_of("refused") && refused.is_of("refused_held"));
        assert!(!refused.is_of("ref") && !refused.is_of("held"));
        let sold = Ending::of(Confirm, &Ok(told(ConfirmOutcome::Sold)));
        assert_eq!(sold, Ending::SOLD);
        let released = Ending::of(Release, &Ok(told(ReleaseOutcome::Released)));
        assert_eq!(released.name(), "released");
    }

    #[test]
    fn each_operation_has_its_own_errors() {
        for operation in Operation::ALL {
            let busy = StoreError::Busy {
                waited: Duration::ZERO,
                source: "locked".into(),
            };
            let ending = Ending::of(operation, &Err(busy));
            assert_eq!((ending.operation(), ending.name()), (operation, "busy"));
            let database = StoreError::Database {
                doing: "writing",
                source: "full".into(),
            };
            let ending = Ending::of(operation, &Err(database));
            assert_eq!((ending.operation(), ending.name()), (operation, "database"));
            assert!(ending.is_error());
        }
    }
}

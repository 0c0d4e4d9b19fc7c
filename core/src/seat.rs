//! What a store keeps: seats and payment records.

use std::fmt;

use crate::id::{HoldId, OwnerId, PaymentId, SeatId, Version};
use crate::time::Timestamp;

/// One seat as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Seat {
    /// Which seat.
    pub id: SeatId,
    /// Free, held or sold.
    pub state: SeatState,
    /// How often it has changed.
    pub version: Version,
    /// When it last changed, or was added. No decision on the seat is made at an earlier time.
    pub changed_at: Timestamp,
}

/// The three states of a seat.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SeatState {
    /// Anyone may hold it.
    Free,
    /// Somebody has until `expires` to pay for it. After that anyone may hold it; no sweeper is needed.
    Held {
        /// Who holds it.
        owner: OwnerId,
        /// Which hold: the version that the seat got when it was made.
        hold_id: HoldId,
        /// The hold is live while `now < expires`.
        expires: Timestamp,
    },
    /// It is sold, finally.
    Sold {
        /// Who bought it.
        owner: OwnerId,
        /// The hold that was paid.
        hold_id: HoldId,
        /// The payment that bought it.
        payment: PaymentId,
    },
}

impl SeatState {
    /// The state without its data.
    pub const fn kind(&self) -> SeatStateKind {
        match self {
            Self::Free => SeatStateKind::Free,
            Self::Held { .. } => SeatStateKind::Held,
            Self::Sold { .. } => SeatStateKind::Sold,
        }
    }
}

/// The state of a seat without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SeatStateKind {
    /// [`SeatState::Free`]
    Free,
    /// [`SeatState::Held`]
    Held,
    /// [`SeatState::Sold`]
    Sold,
}

impl fmt::Display for SeatStateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Free => "Free",
            Self::Held => "Held",
            Self::Sold => "Sold",
        })
    }
}

/// A claim on a seat: this owner, under this hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// The seat.
    pub seat: SeatId,
    /// Who claims it.
    pub owner: OwnerId,
    /// The hold that the claim rests on.
    pub hold_id: HoldId,
}

/// The decision about one payment, made once and kept for ever.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PaymentRecord {
    /// Which payment.
    pub payment: PaymentId,
    /// What it was made for.
    pub claim: Claim,
    /// What was decided.
    pub decision: Decision,
    /// The version of the seat that the decision made ([`Decision::Sold`]) or was made on
    /// ([`Decision::RefundRequired`]); zero when the seat did not exist.
    pub version: Version,
    /// When it was decided.
    pub decided_at: Timestamp,
}

/// What was decided about a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// It bought the seat.
    Sold,
    /// It must be given back. That it was given back is not recorded here.
    RefundRequired(RefundReason),
}

/// Why a payment could not buy its seat: the first that applies, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefundReason {
    /// The seat does not exist. Money for it is money all the same.
    UnknownSeat,
    /// No such hold was ever given: the hold id is above the seat's version, or is the version of a
    /// seat that is not held.
    NeverHeld,
    /// The seat was sold under this very hold, by another payment.
    AlreadySold,
    /// The seat has moved on since this hold.
    Superseded,
    /// The hold is somebody else's.
    WrongOwner,
    /// Still this hold, but too late.
    Expired,
}

impl RefundReason {
    /// All reasons, in the order in which they are tried.
    pub const ALL: [Self; 6] = [
        Self::UnknownSeat,
        Self::NeverHeld,
        Self::AlreadySold,
        Self::Superseded,
        Self::WrongOwner,
        Self::Expired,
    ];
}

impl fmt::Display for RefundReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::UnknownSeat => "UnknownSeat",
            Self::NeverHeld => "NeverHeld",
            Self::AlreadySold => "AlreadySold",
            Self::Superseded => "Superseded",
            Self::WrongOwner => "WrongOwner",
            Self::Expired => "Expired",
        })
    }
}

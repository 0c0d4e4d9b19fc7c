//! Answers: what was decided, on which version of the seat, when, and what to do next.

use std::fmt;

use crate::id::{HoldId, Version};
use crate::seat::{PaymentRecord, RefundReason};
use crate::time::Timestamp;

/// An answer together with what it was decided on.
///
/// Refusals are receipts, too. Because every answer names a version, the order in which a seat's
/// changes took effect can be seen from outside and be checked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[must_use = "an unread outcome can be an unrefunded payment"]
pub struct Receipt<T> {
    /// The answer.
    pub outcome: T,
    /// The version of the seat that the answer produced if it changed the seat, else the version
    /// that it was decided on; zero for a seat that does not exist.
    ///
    /// An answer about a payment that was known already was decided on the seat of the *recorded*
    /// claim, and names that seat's version.
    pub version: Version,
    /// The store's time of the decision, never before the seat's last change.
    pub at: Timestamp,
}

impl<T> Receipt<T> {
    /// The same receipt for another form of the outcome.
    pub fn map<U>(self, outcome: impl FnOnce(T) -> U) -> Receipt<U> {
        Receipt {
            outcome: outcome(self.outcome),
            version: self.version,
            at: self.at,
        }
    }
}

/// What a caller does with an answer, without reading a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// What was asked for is so. Nothing to do.
    Done,
    /// Somebody else is before you until this time on the store's clock. Ask again then, or take another seat.
    RetryAt(Timestamp),
    /// It will never be. Take another seat.
    GiveUp,
    /// Give the money back, once: every delivery of the payment is answered so, and
    /// [`refunds_due`](crate::SeatStore::refunds_due) lists it until the end. Pay back from one of these two
    /// places only, keyed by the payment id.
    Refund,
    /// Nobody knows yet what to do: a person or a reconciliation job has to look at it. Nothing was
    /// recorded by this call.
    Investigate,
    /// Repeat the same call with the same ids, after a pause.
    RepeatSameCall,
    /// What was given can not be right. Correct it.
    CorrectInput,
}

/// The answer to a hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[must_use = "an unread outcome can be an unrefunded payment"]
pub enum HoldOutcome {
    /// The seat is yours until `expires`.
    Held {
        /// Name it when paying or releasing.
        hold_id: HoldId,
        /// Pay before this.
        expires: Timestamp,
    },
    /// You hold it already: a retry after a lost answer. Never an extension.
    AlreadyHeld {
        /// The hold that you have.
        hold_id: HoldId,
        /// When it ends, as was said first.
        expires: Timestamp,
    },
    /// Not yours, and why.
    Refused(HoldRefusal),
}

/// Why a hold was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HoldRefusal {
    /// Somebody else holds the seat until this time.
    HeldUntil(Timestamp),
    /// It is sold.
    Sold,
}

/// The answer to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "an unread outcome can be an unrefunded payment"]
pub enum ReleaseOutcome {
    /// The hold is gone; anyone may have the seat.
    Released,
    /// There is no such hold, or no longer. Nothing changed.
    NotHeld,
}

/// The answer to a payment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[must_use = "an unread outcome can be an unrefunded payment"]
pub enum ConfirmOutcome {
    /// The seat is sold to you.
    Sold,
    /// The money must be given back, and that is recorded.
    RefundRequired {
        /// Why; always the reason first given.
        reason: RefundReason,
        /// What was recorded earlier when this is a redelivery; nothing when this call decided it.
        recorded: Option<Box<PaymentRecord>>,
    },
    /// This payment bought this seat earlier: a redelivery. Nothing was recorded twice.
    Duplicate {
        /// What was recorded.
        recorded: Box<PaymentRecord>,
    },
    /// This payment id is known with another seat, owner or hold. Nothing was recorded: if this is
    /// other money, it needs a payment id of its own.
    Conflict {
        /// What was recorded.
        recorded: Box<PaymentRecord>,
    },
}

impl HoldOutcome {
    /// What to do next.
    pub const fn recovery(&self) -> Recovery {
        match self {
            Self::Held { .. } | Self::AlreadyHeld { .. } => Recovery::Done,
            Self::Refused(HoldRefusal::HeldUntil(expires)) => Recovery::RetryAt(*expires),
            Self::Refused(HoldRefusal::Sold) => Recovery::GiveUp,
        }
    }
}

impl ReleaseOutcome {
    /// What to do next: nothing. After either answer the caller does not hold the seat under that hold.
    pub const fn recovery(&self) -> Recovery {
        match self {
            Self::Released | Self::NotHeld => Recovery::Done,
        }
    }
}

impl ConfirmOutcome {
    /// What to do next.
    pub const fn recovery(&self) -> Recovery {
        match self {
            Self::Sold | Self::Duplicate { .. } => Recovery::Done,
            Self::RefundRequired { .. } => Recovery::Refund,
            Self::Conflict { .. } => Recovery::Investigate,
        }
    }

    /// What was recorded about this payment before the call.
    pub fn recorded(&self) -> Option<&PaymentRecord> {
        match self {
            Self::Sold => None,
            Self::RefundRequired { recorded, .. } => recorded.as_deref(),
            Self::Duplicate { recorded } | Self::Conflict { recorded } => Some(recorded),
        }
    }
}

/// The answer to a [`Command`](crate::Command).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[must_use = "an unread outcome can be an unrefunded payment"]
pub enum Outcome {
    /// To a hold.
    Hold(HoldOutcome),
    /// To a release.
    Release(ReleaseOutcome),
    /// To a payment.
    Confirm(ConfirmOutcome),
}

impl Outcome {
    /// What to do next.
    pub const fn recovery(&self) -> Recovery {
        match self {
            Self::Hold(outcome) => outcome.recovery(),
            Self::Release(outcome) => outcome.recovery(),
            Self::Confirm(outcome) => outcome.recovery(),
        }
    }

    /// Did it change the seat? Then the receipt's version is the one that it made.
    pub const fn changed_seat(&self) -> bool {
        match self {
            Self::Hold(HoldOutcome::Held { .. })
            | Self::Release(ReleaseOutcome::Released)
            | Self::Confirm(ConfirmOutcome::Sold) => true,
            Self::Hold(HoldOutcome::AlreadyHeld { .. } | HoldOutcome::Refused(_))
            | Self::Release(ReleaseOutcome::NotHeld)
            | Self::Confirm(
                ConfirmOutcome::RefundRequired { .. }
                | ConfirmOutcome::Duplicate { .. }
                | ConfirmOutcome::Conflict { .. },
            ) => false,
        }
    }
}

impl From<HoldOutcome> for Outcome {
    fn from(outcome: HoldOutcome) -> Self {
        Self::Hold(outcome)
    }
}

impl From<ReleaseOutcome> for Outcome {
    fn from(outcome: ReleaseOutcome) -> Self {
        Self::Release(outcome)
    }
}

impl From<ConfirmOutcome> for Outcome {
    fn from(outcome: ConfirmOutcome) -> Self {
        Self::Confirm(outcome)
    }
}

impl fmt::Display for HoldOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { hold_id, expires } => write!(f, "Held({hold_id} until {expires})"),
            Self::AlreadyHeld { hold_id, expires } => {
                write!(f, "AlreadyHeld({hold_id} until {expires})")
            }
            Self::Refused(HoldRefusal::HeldUntil(expires)) => {
                write!(f, "Refused(HeldUntil {expires})")
            }
            Self::Refused(HoldRefusal::Sold) => f.write_str("Refused(Sold)"),
        }
    }
}

impl fmt::Display for ReleaseOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Released => "Released",
            Self::NotHeld => "NotHeld",
        })
    }
}

impl fmt::Display for ConfirmOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sold => f.write_str("Sold"),
            Self::RefundRequired { reason, .. } => write!(f, "RefundRequired({reason})"),
            Self::Duplicate { .. } => f.write_str("Duplicate"),
            Self::Conflict { .. } => f.write_str("Conflict"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hold(outcome) => outcome.fmt(f),
            Self::Release(outcome) => outcome.fmt(f),
            Self::Confirm(outcome) => outcome.fmt(f),
        }
    }
}

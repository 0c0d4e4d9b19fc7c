//! The three commands that can change a seat, as values.

use std::fmt;

use crate::id::{OwnerId, PaymentId, SeatId};
use crate::seat::Claim;
use crate::time::HoldDuration;

/// Everything that can change a seat. What each does is the table in [`crate::transition`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Command {
    /// Take a seat for a while.
    Hold(HoldRequest),
    /// Give a hold back.
    Release(Claim),
    /// Money came in for a hold: sell the seat, or record that a refund is required.
    ConfirmPayment {
        /// The payment, as its provider names it.
        payment: PaymentId,
        /// What was paid for.
        claim: Claim,
    },
}

impl Command {
    /// The seat that the command is about.
    pub const fn seat(&self) -> &SeatId {
        match self {
            Self::Hold(request) => &request.seat,
            Self::Release(claim) | Self::ConfirmPayment { claim, .. } => &claim.seat,
        }
    }

    /// The command without its data.
    pub const fn kind(&self) -> CommandKind {
        match self {
            Self::Hold(_) => CommandKind::Hold,
            Self::Release(_) => CommandKind::Release,
            Self::ConfirmPayment { .. } => CommandKind::ConfirmPayment,
        }
    }
}

/// What a buyer asks for when holding a seat.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HoldRequest {
    /// The seat.
    pub seat: SeatId,
    /// Who wants it.
    pub owner: OwnerId,
    /// For how long, from the moment of the decision.
    pub ttl: HoldDuration,
}

/// A command without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandKind {
    /// [`Command::Hold`]
    Hold,
    /// [`Command::Release`]
    Release,
    /// [`Command::ConfirmPayment`]
    ConfirmPayment,
}

impl fmt::Display for CommandKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Hold => "hold",
            Self::Release => "release",
            Self::ConfirmPayment => "confirm_payment",
        })
    }
}

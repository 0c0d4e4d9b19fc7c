//! The calls of a client, and when they are due.

use crate::answer::Operation;
use crate::names::{ClaimKey, PaymentKey};
use crate::workload::Intent;

/// A call that a client makes, now or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Hold {
        intent: Intent,
        seat: u32,
        hot: bool,
        again: bool,
    },
    Release {
        claim: ClaimKey,
        /// It comes twice.
        twice: bool,
        /// The buyer looks at the seat after the answer.
        look: bool,
    },
    Pay {
        payment: PaymentKey,
        claim: ClaimKey,
        /// It comes twice.
        twice: bool,
        /// A second payment for the same hold follows.
        double: bool,
        /// The same payment follows in somebody else's name.
        renamed: bool,
        /// The buyer looks at the seat after the answer.
        look: bool,
    },
    /// A buyer looks at a seat.
    Look { seat: u32 },
}

impl Call {
    pub(crate) const fn operation(&self) -> Operation {
        match self {
            Self::Hold { .. } => Operation::Hold,
            Self::Release { .. } => Operation::Release,
            Self::Pay { .. } => Operation::Confirm,
            Self::Look { .. } => Operation::Seat,
        }
    }
}

/// A call that is due at some time. Of two that are due together, the one put off first comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    /// When, in nanoseconds since the start of the run.
    pub(crate) at_ns: u64,
    /// How many were put off before it.
    pub(crate) order: u64,
    /// How often it was tried already.
    pub(crate) tries: u32,
    /// What.
    pub(crate) call: Call,
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.order).cmp(&(other.at_ns, other.order))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Due {
    /// A payment that was made and got no answer.
    pub(crate) const fn is_open_payment(&self) -> bool {
        self.tries > 0 && matches!(self.call, Call::Pay { .. })
    }
}

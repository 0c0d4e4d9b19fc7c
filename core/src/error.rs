//! Errors, sorted by "did it happen?".
//!
//! A business refusal is an outcome, never an error. What remains are the cases in which the store
//! could not answer, and for each of them it is certain what a caller may do next:
//!
//! | error | did it happen? | do next |
//! |--|--|--|
//! | [`StoreError::Busy`] | certainly not | repeat the same call after a pause |
//! | [`StoreError::Unknown`] | perhaps | repeat the same call with the same ids until it answers |
//! | [`StoreError::Corrupt`] | no | stop selling, run the audit |
//! | [`StoreError::Invalid`] | no | correct what was given |
//! | [`StoreError::UnknownSeat`] | no | add the seat, or correct its id |
//! | [`StoreError::Database`] | no | mend the database, then repeat the same call |

use std::borrow::Cow;
use std::time::Duration;

use crate::id::SeatId;
use crate::invariant::Invariant;
use crate::outcome::Recovery;

/// The cause that the database gave. Opaque, so that another engine's error fits as well.
pub type BackendError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Why a store could not answer. Its [`recovery`](StoreError::recovery) says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Certainly not applied: the write lock or a pooled connection was not to be had in time.
    /// Repeat the same call after a pause.
    #[error("not applied: the database was busy for {} ms; repeat the same call", waited.as_millis())]
    Busy {
        /// How long the call waited, from where it lined up; zero where a read met a lock of the file.
        waited: Duration,
        /// What the database said.
        #[source]
        source: BackendError,
    },

    /// A commit was sent and its result never came, or was an I/O error. It may have happened or
    /// not. Repeat the *same* call with the *same* ids until it answers. A read is not enough: in
    /// WAL mode a failed commit can be absent now and present after a restart.
    #[error("outcome unknown: the commit gave no result; repeat the same call until it answers")]
    Unknown(#[source] BackendError),

    /// Stored data break an invariant. Nothing was applied. Stop selling and run the audit.
    #[error("stored data violate {invariant}: {detail}; stop selling and run the audit")]
    Corrupt {
        /// The invariant that does not hold.
        invariant: Invariant,
        /// Which row, and what is wrong with it.
        detail: String,
    },

    /// Bad input; nothing was applied.
    #[error(transparent)]
    Invalid(#[from] Invalid),

    /// A hold was asked for a seat that does not exist; nothing was applied. Add it, or correct its id.
    #[error("there is no seat {0}; add it, or correct its id")]
    UnknownSeat(SeatId),

    /// The database failed before anything could have been committed, so nothing was applied.
    /// Mend the cause (disk, permissions, a broken file), then repeat the same call.
    #[error("not applied: the database failed while {doing}")]
    Database {
        /// What the store was doing.
        doing: &'static str,
        /// What the database said.
        #[source]
        source: BackendError,
    },
}

/// Did the call that ended in an error take effect?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Happened {
    /// Certainly not.
    No,
    /// It may have, or may yet be found to have after a restart.
    Perhaps,
}

impl StoreError {
    /// Did the call take effect?
    pub const fn happened(&self) -> Happened {
        match self {
            Self::Unknown(_) => Happened::Perhaps,
            Self::Busy { .. }
            | Self::Corrupt { .. }
            | Self::Invalid(_)
            | Self::UnknownSeat(_)
            | Self::Database { .. } => Happened::No,
        }
    }

    /// What the caller does next.
    pub const fn recovery(&self) -> Recovery {
        match self {
            Self::Busy { .. } | Self::Unknown(_) => Recovery::RepeatSameCall,
            Self::Invalid(_) | Self::UnknownSeat(_) => Recovery::CorrectInput,
            Self::Corrupt { .. } | Self::Database { .. } => Recovery::Investigate,
        }
    }
}

/// Bad input: what is wrong, where, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what}: {problem}; allowed: {allowed}")]
pub struct Invalid {
    what: &'static str,
    problem: Cow<'static, str>,
    allowed: Cow<'static, str>,
}

impl Invalid {
    /// `what` was given, its `problem`, and what is `allowed` instead. The message reads
    /// `invalid {what}: {problem}; allowed: {allowed}`.
    pub fn new(
        what: &'static str,
        problem: impl Into<Cow<'static, str>>,
        allowed: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            what,
            problem: problem.into(),
            allowed: allowed.into(),
        }
    }

    /// What the input was: `seat id`, `database file`, ...
    pub const fn what(&self) -> &'static str {
        self.what
    }
}

//! Sell every seat at most once, and prove it.
//!
//! A seat is free, held for a while, or sold. [`SeatStore`] holds, releases and sells it; what each
//! command does is one table, in [`transition`]. Every answer is a [`Receipt`]: it names the version
//! of the seat that the decision was made on, and the time, so that a whole concurrent run can be
//! checked from its answers alone. A refusal is an outcome that says what to do next
//! ([`Recovery`]); an error ([`StoreError`]) says whether the call may have taken effect.
//!
//! [`SqliteStore`] keeps seats in an SQLite file. [`invariant`] states what always holds, as code.
//!
//! ```
//! use soldonce::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("seats.sqlite");
//! let store = SqliteStore::options().open(path)?;
//! let (seat, owner) = (SeatId::new("A1")?, OwnerId::new("alice")?);
//! store.add_seats(std::slice::from_ref(&seat))?;
//! let ttl = HoldDuration::from_secs(600)?;
//! let held = store.hold(&HoldRequest { seat: seat.clone(), owner: owner.clone(), ttl })?;
//! if let HoldOutcome::Held { hold_id, .. } = held.outcome {
//!     let claim = Claim { seat, owner, hold_id };
//!     let paid = store.confirm_payment(&PaymentId::new("pay-1")?, &claim)?;
//!     assert_eq!(paid.outcome, ConfirmOutcome::Sold);
//!     assert_eq!(paid.outcome.recovery(), Recovery::Done);
//! }
//! # Ok(())
//! # }
//! ```

mod command;
mod error;
mod id;
pub mod invariant;
mod outcome;
mod seat;
mod sqlite;
mod store;
mod time;
pub mod transition;

pub use command::{Command, CommandKind, HoldRequest};
pub use error::{BackendError, Happened, Invalid, StoreError};
pub use id::{HoldId, MAX_ID_BYTES, OwnerId, PaymentId, SeatId, Version};
pub use outcome::{
    ConfirmOutcome, HoldOutcome, HoldRefusal, Outcome, Receipt, Recovery, ReleaseOutcome,
};
pub use seat::{Claim, Decision, PaymentRecord, RefundReason, Seat, SeatState, SeatStateKind};
pub use sqlite::{Commit, Commits, Settings, SqliteOptions, SqliteStore};
pub use store::{RefundCursor, RefundsDue, SeatStore, SeatsAdded};
pub use time::{Clock, HoldDuration, ManualClock, SystemClock, Timestamp};

/// The examples of the README, run as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct ReadmeDoctests;

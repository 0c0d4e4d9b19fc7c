//! What may change a seat: the whole table, as documentation and as data.
//!
//! | from | command | guard | to | answer | file |
//! |--|--|--|--|--|--|
//! | Free | hold | | Held | Held | `transition/hold.rs` |
//! | Held | hold | `expires <= now` | Held | Held | `transition/hold.rs` |
//! | Held | release | same owner, `hold_id == version` | Free | Released | `transition/release.rs` |
//! | Held | confirm | same owner, `hold_id == version`, `now < expires`, payment not known | Sold | Sold | `transition/confirm.rs` |
//!
//! Every other call leaves the seat as it is. Sold is final: no row leaves it. Taking over an
//! expired hold is a row like any other, not a side effect, and needs no sweeper.
//!
//! What the other calls answer:
//!
//! | command | seat is | answer |
//! |--|--|--|
//! | hold | Held by the caller, `now < expires` | AlreadyHeld, the same hold and expiry |
//! | hold | Held by another, `now < expires` | Refused(HeldUntil) |
//! | hold | Sold | Refused(Sold) |
//! | hold | not there | the error UnknownSeat |
//! | hold | any; it would end after [`Timestamp::MAX`] | the error Invalid |
//! | release | anything else | NotHeld |
//! | confirm | anything else, payment not known | RefundRequired, and the payment is recorded so |
//! | confirm | any; payment known as sold, same claim | Duplicate |
//! | confirm | any; payment known as refund required, same claim | RefundRequired, the reason first given |
//! | confirm | any; payment known with another claim | Conflict |
//!
//! Each command has one file with its SQL, the whole guard in the `WHERE` of one `UPDATE`. The
//! `UPDATE` decides; only when it changed nothing is the row read, in the same database
//! transaction, to say why. `now` is the store's clock, read under the write lock, or the time of the
//! seat's last change where that is later, so that a clock that steps back can neither shorten nor
//! revive a hold. Both that rule and the comparison of `now` with `expires` are written once, in the
//! two macros below, and once more in Rust beside them for what is
//! answered from a snapshot.

use crate::command::{Command, CommandKind};
use crate::error::StoreError;
use crate::outcome::{Outcome, Receipt};
use crate::seat::SeatStateKind;
use crate::time::Timestamp;

/// The time of a decision about a seat (`?2` is the clock): never before the seat's last change.
macro_rules! decided_at {
    () => {
        "max(?2, changed_at)"
    };
}

/// [`Timestamp::MAX`], as SQL.
macro_rules! time_end {
    () => {
        "253402300799999"
    };
}

/// Is the hold on the seat live? At the very instant `expires` it is not, for everybody.
macro_rules! live {
    () => {
        concat!("(", decided_at!(), " < expires)")
    };
}

/// The same in Rust, for answers from a snapshot: is a hold live at this time?
pub(crate) fn live(at: Timestamp, expires: Timestamp) -> bool {
    at < expires
}

pub(crate) mod confirm;
pub(crate) mod hold;
pub(crate) mod record;
pub(crate) mod release;
mod statements;

pub(crate) use statements::Statements;

/// One row of the table of transitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// The state that the seat leaves.
    pub from: SeatStateKind,
    /// The command that makes the change.
    pub command: CommandKind,
    /// The state that the seat reaches.
    pub to: SeatStateKind,
}

/// All the changes that a seat can undergo. Tests and the audit of a change iterate it. The database itself
/// refuses less: a row of no possible shape, a version that does not grow by one, a change of a sold seat.
pub const LEGAL: [Transition; 4] = [
    row(SeatStateKind::Free, CommandKind::Hold, SeatStateKind::Held),
    row(SeatStateKind::Held, CommandKind::Hold, SeatStateKind::Held),
    row(
        SeatStateKind::Held,
        CommandKind::Release,
        SeatStateKind::Free,
    ),
    row(
        SeatStateKind::Held,
        CommandKind::ConfirmPayment,
        SeatStateKind::Sold,
    ),
];

const fn row(from: SeatStateKind, command: CommandKind, to: SeatStateKind) -> Transition {
    Transition { from, command, to }
}

/// The SQL of the transitions and of what they read.
///
/// It is a value only so that model-check can plant faults in it; [`Sql::default`] is the real one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// Rows 1 and 2. `?1` seat, `?2` now, `?3` owner, `?4` ttl.
    pub hold: String,
    /// Row 3. `?1` seat, `?2` now, `?3` owner, `?4` hold id.
    pub release: String,
    /// Row 4. `?1` seat, `?2` now, `?3` owner, `?4` hold id, `?5` payment.
    pub confirm: String,
    /// Records the decision about a payment. `?1` payment, `?2` seat, `?3` owner, `?4` hold id,
    /// `?5` decision, `?6` reason, `?7` version, `?8` decided at.
    pub record_payment: String,
    /// Looks a payment up. `?1` payment.
    pub find_payment: String,
    /// Looks a seat up. `?1` seat.
    pub find_seat: String,
}

impl Default for Sql {
    fn default() -> Self {
        Self {
            hold: hold::SQL.to_owned(),
            release: release::SQL.to_owned(),
            confirm: confirm::SQL.to_owned(),
            record_payment: record::RECORD_PAYMENT.to_owned(),
            find_payment: record::FIND_PAYMENT.to_owned(),
            find_seat: record::FIND_SEAT.to_owned(),
        }
    }
}

/// Runs one command inside the caller's write transaction, at the time `now`, which the caller read
/// after it had the write lock. An error means that the caller must roll back.
pub(crate) fn run(
    statements: &Statements<'_>,
    command: &Command,
    now: Timestamp,
) -> Result<Receipt<Outcome>, StoreError> {
    match command {
        Command::Hold(request) => hold::run(statements, request, now).map(|r| r.map(Outcome::Hold)),
        Command::Release(claim) => {
            release::run(statements, claim, now).map(|r| r.map(Outcome::Release))
        }
        Command::ConfirmPayment { payment, claim } => {
            confirm::run(statements, payment, claim, now).map(|r| r.map(Outcome::Confirm))
        }
    }
}

//! The lines of a history file as types, from which the JSON schema is made.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

type Text<'a> = Cow<'a, str>;

/// One line of a history file: the first is a header, every other one call.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Line<'a> {
    /// The first line.
    #[serde(borrow)]
    Header(HeaderLine<'a>),
    /// Every other line.
    Call(CallLine<'a>),
}

/// The first line: what holds for the whole history.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeaderLine<'a> {
    /// The version of this format: 1.
    pub(crate) soldonce_history: u32,
    /// How the store's clock and the instants belong together; null when they do not.
    pub(crate) clock: Option<ClockLine>,
    /// When all seats were added, in milliseconds since 1970; null when it is not known, and then
    /// reading an unchanged seat is not checked for it.
    pub(crate) seats_added_at: Option<i64>,
    /// Seats that do not exist. Every other seat exists from the start, free, at version 0.
    #[serde(borrow, default)]
    pub(crate) missing_seats: Vec<Text<'a>>,
}

/// At instant `t` the store's clock shows `start` plus the whole milliseconds in `t`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClockLine {
    /// What it showed at instant 0, in milliseconds since 1970.
    pub(crate) start: i64,
    /// By how many milliseconds it may be off, either way.
    #[serde(default)]
    pub(crate) slack: u32,
}

/// One call of one client.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallLine<'a> {
    /// The client: one thread of calls, one after the other.
    pub(crate) client: u16,
    /// Just before the call, in nanoseconds since the start of the run, on one monotonic clock.
    pub(crate) invoked: u64,
    /// Just after it; null exactly when the answer is unknown.
    pub(crate) returned: Option<u64>,
    /// What was called.
    #[serde(borrow)]
    pub(crate) call: Asked<'a>,
    /// What came back.
    #[serde(borrow)]
    pub(crate) answer: Given<'a>,
}

/// The part of a [`CallLine`] that is known before the call.
#[derive(Debug, Serialize)]
pub(crate) struct BegunLine<'a> {
    pub(crate) client: u16,
    pub(crate) invoked: u64,
    pub(crate) call: Asked<'a>,
}

/// The part of a [`CallLine`] that is known after the call.
#[derive(Debug, Serialize)]
pub(crate) struct EndedLine<'a> {
    pub(crate) returned: Option<u64>,
    pub(crate) answer: Given<'a>,
}

/// What was called.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Asked<'a> {
    /// Take a seat for `ttl` milliseconds.
    Hold {
        /// The seat.
        #[serde(borrow)]
        seat: Text<'a>,
        /// Who wants it.
        #[serde(borrow)]
        owner: Text<'a>,
        /// For how long, in milliseconds.
        ttl: i64,
    },
    /// Give a hold back.
    #[serde(borrow)]
    Release(ClaimOf<'a>),
    /// Money came in for a hold.
    ConfirmPayment {
        /// The payment.
        #[serde(borrow)]
        payment: Text<'a>,
        /// What was paid for.
        #[serde(borrow)]
        claim: ClaimOf<'a>,
    },
    /// Read a seat.
    ReadSeat(#[serde(borrow)] Text<'a>),
    /// Read what was decided about a payment.
    ReadPayment(#[serde(borrow)] Text<'a>),
}

/// A claim on a seat.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimOf<'a> {
    /// The seat.
    #[serde(borrow)]
    pub(crate) seat: Text<'a>,
    /// Who claims it.
    #[serde(borrow)]
    pub(crate) owner: Text<'a>,
    /// Under which hold.
    pub(crate) hold_id: i64,
}

/// What came back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Given<'a> {
    /// An answer.
    Receipt {
        /// The version of the seat that the answer made, or was decided on.
        version: i64,
        /// The store's time of the decision, in milliseconds since 1970.
        at: i64,
        /// What was decided.
        #[serde(borrow)]
        outcome: OutcomeOf<'a>,
    },
    /// The error that there is no such seat.
    NoSuchSeat,
    /// An error after which the call has certainly not taken effect.
    NotApplied,
    /// The call may have taken effect, or not: its result never came.
    Unknown,
}

/// What was decided.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum OutcomeOf<'a> {
    /// Hold: the seat is yours.
    Held {
        /// The hold.
        hold_id: i64,
        /// Its end, in milliseconds since 1970.
        expires: i64,
    },
    /// Hold: you hold it already.
    AlreadyHeld {
        /// The hold.
        hold_id: i64,
        /// Its end, in milliseconds since 1970.
        expires: i64,
    },
    /// Hold: refused, somebody else holds it until this time.
    HeldUntil(i64),
    /// Hold: refused, it is sold.
    SoldOut,
    /// Release: given back.
    Released,
    /// Release: there is no such hold.
    NotHeld,
    /// Confirm: sold.
    Sold,
    /// Confirm: a refund is required.
    RefundRequired {
        /// Why.
        reason: Reason,
        /// What was recorded earlier; null when this call decided it.
        #[serde(borrow)]
        recorded: Option<RecordOf<'a>>,
    },
    /// Confirm: this payment bought this seat earlier.
    #[serde(borrow)]
    Duplicate(RecordOf<'a>),
    /// Confirm: the payment is known with another claim.
    #[serde(borrow)]
    Conflict(RecordOf<'a>),
    /// Read: the seat; null when there is none.
    #[serde(borrow)]
    Seat(Option<SeatOf<'a>>),
    /// Read: the record of the payment; null when it is not known.
    #[serde(borrow)]
    Payment(Option<RecordOf<'a>>),
}

/// Why a refund is required.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    UnknownSeat,
    NeverHeld,
    AlreadySold,
    Superseded,
    WrongOwner,
    Expired,
}

/// A payment record.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordOf<'a> {
    /// Which payment.
    #[serde(borrow)]
    pub(crate) payment: Text<'a>,
    /// What it was made for.
    #[serde(borrow)]
    pub(crate) claim: ClaimOf<'a>,
    /// `null`: sold. Otherwise why a refund is required.
    pub(crate) refund: Option<Reason>,
    /// The version of the seat that the decision made or was made on.
    pub(crate) version: i64,
    /// When, in milliseconds since 1970.
    pub(crate) decided_at: i64,
}

/// A seat.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeatOf<'a> {
    /// Which seat.
    #[serde(borrow)]
    pub(crate) seat: Text<'a>,
    /// Free, held or sold.
    #[serde(borrow)]
    pub(crate) state: StateOf<'a>,
    /// How often it has changed.
    pub(crate) version: i64,
    /// When it last changed, in milliseconds since 1970.
    pub(crate) changed_at: i64,
}

/// The state of a seat.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum StateOf<'a> {
    /// Anyone may hold it.
    Free,
    /// Held.
    Held {
        /// By whom.
        #[serde(borrow)]
        owner: Text<'a>,
        /// Under which hold.
        hold_id: i64,
        /// Until when, in milliseconds since 1970.
        expires: i64,
    },
    /// Sold.
    Sold {
        /// To whom.
        #[serde(borrow)]
        owner: Text<'a>,
        /// Under which hold.
        hold_id: i64,
        /// For which payment.
        #[serde(borrow)]
        payment: Text<'a>,
    },
}

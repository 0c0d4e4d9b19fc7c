//! Rows of `seats` and `payments`, read and written: what the three transitions share.

use std::cell::RefMut;

use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Params, Row, Statement, params};

use super::Statements;
use crate::error::{Invalid, StoreError};
use crate::id::{HoldId, OwnerId, PaymentId, SeatId, Version};
use crate::invariant::Invariant;
use crate::seat::{Claim, Decision, PaymentRecord, RefundReason, Seat, SeatState};
use crate::sqlite::error::failed_while;
use crate::time::Timestamp;

macro_rules! seat_columns {
    () => {
        "seat_id, state, version, owner, hold_id, expires, payment_id, changed_at"
    };
}

macro_rules! payment_columns {
    () => {
        "payment_id, seat_id, owner, hold_id, decision, reason, version, decided_at"
    };
}

pub(crate) const FIND_SEAT: &str =
    concat!("SELECT ", seat_columns!(), " FROM seats WHERE seat_id = ?1");

pub(crate) const ALL_SEATS: &str =
    concat!("SELECT ", seat_columns!(), " FROM seats ORDER BY seat_id");

pub(crate) const ADD_SEAT: &str =
    "INSERT INTO seats (seat_id, changed_at) VALUES (?1, ?2) ON CONFLICT (seat_id) DO NOTHING";

pub(crate) const FIND_PAYMENT: &str = concat!(
    "SELECT ",
    payment_columns!(),
    " FROM payments WHERE payment_id = ?1"
);

pub(crate) const ALL_PAYMENTS: &str =
    concat!("SELECT ", payment_columns!(), " FROM payments ORDER BY seq");

/// `?1` cursor, `?2` limit. The last column is the cursor after the row.
pub(crate) const REFUNDS_DUE: &str = concat!(
    "SELECT ",
    payment_columns!(),
    ", seq FROM payments
      WHERE decision = 'refund_required' AND seq > ?1 ORDER BY seq LIMIT ?2"
);

pub(crate) const RECORD_PAYMENT: &str = concat!(
    "INSERT INTO payments (",
    payment_columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
);

/// A seat as it stands in its row. The texts are SQLite's own: a refusal copies nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeatRow<'r> {
    pub(crate) state: StateRow<'r>,
    pub(crate) version: Version,
    pub(crate) changed_at: Timestamp,
}

/// The state of a [`SeatRow`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum StateRow<'r> {
    Free,
    Held {
        owner: &'r str,
        hold_id: HoldId,
        expires: Timestamp,
    },
    Sold {
        owner: &'r str,
        hold_id: HoldId,
    },
}

/// What a receipt says of the seat that a decision was made on: its version, and the time, which is never
/// before the seat's last change. A seat that is not there is at version 0.
pub(crate) fn stand(seat: Option<&SeatRow<'_>>, now: Timestamp) -> (Version, Timestamp) {
    seat.map_or((Version::ZERO, now), |seat| {
        (seat.version, now.max(seat.changed_at))
    })
}

/// Runs a statement by primary key to its end. Did it change its row?
pub(crate) fn execute(
    statement: rusqlite::Result<RefMut<'_, Statement<'_>>>,
    params: impl Params,
) -> rusqlite::Result<bool> {
    Ok(statement?.execute(params)? > 0)
}

/// Looks at a seat while its row is open; `None` when it is not there.
pub(crate) fn look_at_seat<T>(
    statements: &Statements<'_>,
    seat: &SeatId,
    look: impl FnOnce(Option<&SeatRow<'_>>) -> T,
) -> Result<T, StoreError> {
    const DOING: &str = "reading a seat";
    let mut statement = statements.find_seat().map_err(failed_while(DOING))?;
    let mut rows = statement
        .query([seat.as_str()])
        .map_err(failed_while(DOING))?;
    let Some(row) = rows.next().map_err(failed_while(DOING))? else {
        return Ok(look(None));
    };
    let seat = seat_row(row).map_err(|problem| corrupt("seat", row, &problem))?;
    Ok(look(Some(&seat)))
}

pub(crate) fn find_seat(
    statements: &Statements<'_>,
    seat: &SeatId,
) -> Result<Option<Seat>, StoreError> {
    statements
        .find_seat()
        .and_then(|mut found| {
            found
                .query_row([seat.as_str()], |row| Ok(seat_of(row)))
                .optional()
        })
        .map_err(failed_while("reading a seat"))?
        .transpose()
}

pub(crate) fn find_payment(
    statements: &Statements<'_>,
    payment: &PaymentId,
) -> Result<Option<PaymentRecord>, StoreError> {
    statements
        .find_payment()
        .and_then(|mut found| {
            found
                .query_row([payment.as_str()], |row| Ok(payment_of(row)))
                .optional()
        })
        .map_err(failed_while("reading a payment"))?
        .transpose()
}

pub(crate) fn record_payment(
    statements: &Statements<'_>,
    record: &PaymentRecord,
) -> Result<(), StoreError> {
    let (decision, reason) = match record.decision {
        Decision::Sold => ("sold", None),
        Decision::RefundRequired(reason) => ("refund_required", Some(reason_name(reason))),
    };
    execute(
        statements.record_payment(),
        params![
            record.payment.as_str(),
            record.claim.seat.as_str(),
            record.claim.owner.as_str(),
            record.claim.hold_id.get(),
            decision,
            reason,
            record.version.get(),
            record.decided_at.as_unix_millis()
        ],
    )
    .map_err(failed_while("recording a payment"))?;
    Ok(())
}

/// The guard of an `UPDATE` and the row behind it tell different stories.
pub(crate) fn guard_and_row_differ(command: &str, seat: &SeatId) -> StoreError {
    StoreError::Corrupt {
        invariant: Invariant::RowShape,
        detail: format!("seat {seat} is in a state that {command} neither takes nor refuses"),
    }
}

/// A row of [`FIND_SEAT`] or [`ALL_SEATS`].
pub(crate) fn seat_of(row: &Row<'_>) -> Result<Seat, StoreError> {
    read_seat(row).map_err(|problem| corrupt("seat", row, &problem))
}

/// A row of [`FIND_PAYMENT`], [`ALL_PAYMENTS`] or [`REFUNDS_DUE`].
pub(crate) fn payment_of(row: &Row<'_>) -> Result<PaymentRecord, StoreError> {
    read_payment(row).map_err(|problem| corrupt("payment", row, &problem))
}

/// Why a row can not be read. It never leaves this module but as [`StoreError::Corrupt`].
enum Unreadable {
    Column(rusqlite::Error),
    Value(Invalid),
    Shape(String),
}

impl From<rusqlite::Error> for Unreadable {
    fn from(error: rusqlite::Error) -> Self {
        Self::Column(error)
    }
}

impl From<Invalid> for Unreadable {
    fn from(invalid: Invalid) -> Self {
        Self::Value(invalid)
    }
}

fn corrupt(what: &str, row: &Row<'_>, problem: &Unreadable) -> StoreError {
    let id: String = row.get(0).unwrap_or_else(|_| "?".to_owned());
    let problem = match problem {
        Unreadable::Column(error) => error.to_string(),
        Unreadable::Value(invalid) => invalid.to_string(),
        Unreadable::Shape(problem) => problem.clone(),
    };
    StoreError::Corrupt {
        invariant: Invariant::RowShape,
        detail: format!("{what} {id}: {problem}"),
    }
}

fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, Unreadable> {
    let text = row.get_ref(column)?.as_str();
    Ok(text.map_err(rusqlite::Error::from)?)
}

fn integer(row: &Row<'_>, column: usize) -> Result<i64, Unreadable> {
    match row.get_ref(column)? {
        ValueRef::Integer(number) => Ok(number),
        // An error that says what is there instead.
        _ => Ok(row.get(column)?),
    }
}

fn seat_row<'r>(row: &'r Row<'_>) -> Result<SeatRow<'r>, Unreadable> {
    let hold_id = || -> Result<_, Unreadable> { Ok(HoldId::new(integer(row, 4)?)?) };
    let state = match row.get_ref(1)? {
        ValueRef::Text(b"free") => StateRow::Free,
        ValueRef::Text(b"held") => StateRow::Held {
            owner: text(row, 3)?,
            hold_id: hold_id()?,
            expires: Timestamp::from_unix_millis(integer(row, 5)?)?,
        },
        ValueRef::Text(b"sold") => StateRow::Sold {
            owner: text(row, 3)?,
            hold_id: hold_id()?,
        },
        _ => {
            let problem = format!("no state is called {:?}", text(row, 1)?);
            return Err(Unreadable::Shape(problem));
        }
    };
    Ok(SeatRow {
        state,
        version: Version::new(integer(row, 2)?)?,
        changed_at: Timestamp::from_unix_millis(integer(row, 7)?)?,
    })
}

fn read_seat(row: &Row<'_>) -> Result<Seat, Unreadable> {
    let seat = seat_row(row)?;
    let state = match seat.state {
        StateRow::Free => SeatState::Free,
        StateRow::Held {
            owner,
            hold_id,
            expires,
        } => SeatState::Held {
            owner: OwnerId::new(owner)?,
            hold_id,
            expires,
        },
        StateRow::Sold { owner, hold_id } => SeatState::Sold {
            owner: OwnerId::new(owner)?,
            hold_id,
            payment: PaymentId::new(text(row, 6)?)?,
        },
    };
    Ok(Seat {
        id: SeatId::new(text(row, 0)?)?,
        state,
        version: seat.version,
        changed_at: seat.changed_at,
    })
}

fn read_payment(row: &Row<'_>) -> Result<PaymentRecord, Unreadable> {
    let text = |column| text(row, column);
    let decision = match text(4)? {
        "sold" => Decision::Sold,
        "refund_required" => {
            let name = text(5)?;
            Decision::RefundRequired(
                RefundReason::ALL
                    .into_iter()
                    .find(|reason| reason_name(*reason) == name)
                    .ok_or_else(|| Unreadable::Shape(format!("no reason is called {name:?}")))?,
            )
        }
        other => {
            return Err(Unreadable::Shape(format!(
                "no decision is called {other:?}"
            )));
        }
    };
    Ok(PaymentRecord {
        payment: PaymentId::new(text(0)?)?,
        claim: Claim {
            seat: SeatId::new(text(1)?)?,
            owner: OwnerId::new(text(2)?)?,
            hold_id: HoldId::new(integer(row, 3)?)?,
        },
        decision,
        version: Version::new(integer(row, 6)?)?,
        decided_at: Timestamp::from_unix_millis(integer(row, 7)?)?,
    })
}

/// How a reason is written in the database. Part of the format: never change one.
const fn reason_name(reason: RefundReason) -> &'static str {
    match reason {
        RefundReason::UnknownSeat => "unknown_seat",
        RefundReason::NeverHeld => "never_held",
        RefundReason::AlreadySold => "already_sold",
        RefundReason::Superseded => "superseded",
        RefundReason::WrongOwner => "wrong_owner",
        RefundReason::Expired => "expired",
    }
}

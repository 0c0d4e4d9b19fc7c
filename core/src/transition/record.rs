//! Rows of `seats` and `payments`, read and written: what the three transitions share.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::Sql;
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

/// The time of a decision on a seat that the statement did not change.
pub(crate) fn decided_at(now: Timestamp, seat: &Seat) -> Timestamp {
    now.max(seat.changed_at)
}

/// Runs a statement by primary key to its end. Did it change its row?
pub(crate) fn execute(tx: &Connection, sql: &str, params: impl Params) -> rusqlite::Result<bool> {
    Ok(tx.prepare_cached(sql)?.execute(params)? > 0)
}

pub(crate) fn find_seat(
    tx: &Connection,
    sql: &Sql,
    seat: &SeatId,
) -> Result<Option<Seat>, StoreError> {
    tx.prepare_cached(&sql.find_seat)
        .and_then(|mut found| {
            found
                .query_row([seat.as_str()], |row| Ok(seat_of(row)))
                .optional()
        })
        .map_err(failed_while("reading a seat"))?
        .transpose()
}

pub(crate) fn find_payment(
    tx: &Connection,
    sql: &Sql,
    payment: &PaymentId,
) -> Result<Option<PaymentRecord>, StoreError> {
    tx.prepare_cached(&sql.find_payment)
        .and_then(|mut found| {
            found
                .query_row([payment.as_str()], |row| Ok(payment_of(row)))
                .optional()
        })
        .map_err(failed_while("reading a payment"))?
        .transpose()
}

pub(crate) fn record_payment(
    tx: &Connection,
    sql: &Sql,
    record: &PaymentRecord,
) -> Result<(), StoreError> {
    let (decision, reason) = match record.decision {
        Decision::Sold => ("sold", None),
        Decision::RefundRequired(reason) => ("refund_required", Some(reason_name(reason))),
    };
    execute(
        tx,
        &sql.record_payment,
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

fn read_seat(row: &Row<'_>) -> Result<Seat, Unreadable> {
    let owner = || -> Result<_, Unreadable> {
        Ok(OwnerId::new(
            row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?,
        )?)
    };
    let hold_id = || -> Result<_, Unreadable> { Ok(HoldId::new(row.get(4)?)?) };
    let state = match row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)? {
        "free" => SeatState::Free,
        "held" => SeatState::Held {
            owner: owner()?,
            hold_id: hold_id()?,
            expires: Timestamp::from_unix_millis(row.get(5)?)?,
        },
        "sold" => SeatState::Sold {
            owner: owner()?,
            hold_id: hold_id()?,
            payment: PaymentId::new(row.get_ref(6)?.as_str().map_err(rusqlite::Error::from)?)?,
        },
        other => return Err(Unreadable::Shape(format!("no state is called {other:?}"))),
    };
    Ok(Seat {
        id: SeatId::new(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?,
        state,
        version: Version::new(row.get(2)?)?,
        changed_at: Timestamp::from_unix_millis(row.get(7)?)?,
    })
}

fn read_payment(row: &Row<'_>) -> Result<PaymentRecord, Unreadable> {
    let text = |column: usize| -> Result<&str, Unreadable> {
        Ok(row
            .get_ref(column)?
            .as_str()
            .map_err(rusqlite::Error::from)?)
    };
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
            hold_id: HoldId::new(row.get(3)?)?,
        },
        decision,
        version: Version::new(row.get(6)?)?,
        decided_at: Timestamp::from_unix_millis(row.get(7)?)?,
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

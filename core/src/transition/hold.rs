//! Hold: Free -> Held, and Held -> Held once the hold before it has expired.

use rusqlite::{Connection, params};

use super::Sql;
use super::record::{self, SeatRow, StateRow, stand};
use crate::command::HoldRequest;
use crate::error::{Invalid, StoreError};
use crate::id::HoldId;
use crate::outcome::{HoldOutcome, HoldRefusal, Receipt};
use crate::sqlite::error::failed_while;
use crate::time::Timestamp;

pub(crate) const SQL: &str = concat!(
    "UPDATE seats
        SET state = 'held', version = version + 1, owner = ?3, hold_id = version + 1, expires = ",
    decided_at!(),
    " + ?4, changed_at = ",
    decided_at!(),
    "
      WHERE seat_id = ?1 AND (state = 'free' OR state = 'held' AND NOT ",
    live!(),
    ")"
);

/// Runs the statement; when it changed nothing, says why.
pub(crate) fn run(
    tx: &Connection,
    sql: &Sql,
    request: &HoldRequest,
    now: Timestamp,
) -> Result<Receipt<HoldOutcome>, StoreError> {
    if now.checked_add(request.ttl).is_none() {
        return Err(Invalid::new(
            "length of a hold",
            format!("it would end {} after {now}", request.ttl),
            format!("an end at {} or before", Timestamp::MAX),
        )
        .into());
    }
    let changed = record::execute(
        tx,
        &sql.hold,
        params![
            request.seat.as_str(),
            now.as_unix_millis(),
            request.owner.as_str(),
            request.ttl.as_millis()
        ],
    )
    .map_err(failed_while("holding a seat"))?;

    record::look_at_seat(tx, sql, &request.seat, |seat| {
        let (version, at) = stand(seat, now);
        let outcome = match seat.map(|seat| seat.state) {
            None => return Err(StoreError::UnknownSeat(request.seat.clone())),
            Some(StateRow::Held {
                hold_id, expires, ..
            }) if changed => HoldOutcome::Held { hold_id, expires },
            // The guard refused it, so a hold that stands there is live.
            Some(other) => refused_by(other, request)
                .ok_or_else(|| record::guard_and_row_differ("hold", &request.seat))?,
        };
        debug_assert!(
            !changed
                || matches!(outcome, HoldOutcome::Held { hold_id, .. } if hold_id == HoldId::from(version))
        );
        Ok(Receipt {
            outcome,
            version,
            at,
        })
    })?
}

/// The answer to a hold that would change nothing at this time; `None` if it may take the seat.
pub(crate) fn refusal(
    seat: &SeatRow<'_>,
    request: &HoldRequest,
    now: Timestamp,
) -> Option<Receipt<HoldOutcome>> {
    let (version, at) = stand(Some(seat), now);
    let outcome = match seat.state {
        StateRow::Held { expires, .. } if !super::live(at, expires) => None,
        other => refused_by(other, request),
    };
    outcome.map(|outcome| Receipt {
        outcome,
        version,
        at,
    })
}

/// What a sold seat, or a live hold, answers to a hold.
fn refused_by(state: StateRow<'_>, request: &HoldRequest) -> Option<HoldOutcome> {
    match state {
        StateRow::Free => None,
        StateRow::Held {
            owner,
            hold_id,
            expires,
        } if owner == request.owner.as_str() => Some(HoldOutcome::AlreadyHeld { hold_id, expires }),
        StateRow::Held { expires, .. } => {
            Some(HoldOutcome::Refused(HoldRefusal::HeldUntil(expires)))
        }
        StateRow::Sold { .. } => Some(HoldOutcome::Refused(HoldRefusal::Sold)),
    }
}

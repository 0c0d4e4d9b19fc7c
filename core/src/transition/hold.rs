//! Hold: Free -> Held, and Held -> Held once the hold before it has expired.
//!
//! A hold that would end after [`Timestamp::MAX`] is invalid, whatever the seat is: the time that it is
//! reckoned from is that of the decision, so a clock that steps back does not make it valid.

use rusqlite::params;

use super::Statements;
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
    ") AND ",
    decided_at!(),
    " + ?4 <= ",
    time_end!()
);

/// Runs the statement; when it changed nothing, says why.
pub(crate) fn run(
    statements: &Statements<'_>,
    request: &HoldRequest,
    now: Timestamp,
) -> Result<Receipt<HoldOutcome>, StoreError> {
    let changed = record::execute(
        statements.hold(),
        params![
            request.seat.as_str(),
            now.as_unix_millis(),
            request.owner.as_str(),
            request.ttl.as_millis()
        ],
    )
    .map_err(failed_while("holding a seat"))?;

    record::look_at_seat(statements, &request.seat, |seat| {
        let (version, at) = stand(seat, now);
        ends_in_time(request, at)?;
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
    seat: Option<&SeatRow<'_>>,
    request: &HoldRequest,
    now: Timestamp,
) -> Result<Option<Receipt<HoldOutcome>>, StoreError> {
    let (version, at) = stand(seat, now);
    ends_in_time(request, at)?;
    let seat = seat.ok_or_else(|| StoreError::UnknownSeat(request.seat.clone()))?;
    let outcome = match seat.state {
        StateRow::Held { expires, .. } if !super::live(at, expires) => None,
        other => refused_by(other, request),
    };
    Ok(outcome.map(|outcome| Receipt {
        outcome,
        version,
        at,
    }))
}

fn ends_in_time(request: &HoldRequest, at: Timestamp) -> Result<(), Invalid> {
    if at.checked_add(request.ttl).is_some() {
        return Ok(());
    }
    Err(Invalid::new(
        "length of a hold",
        format!("it would end {} after {at}", request.ttl),
        format!("an end at {} or before", Timestamp::MAX),
    ))
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

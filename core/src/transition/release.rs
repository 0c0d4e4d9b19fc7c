//! Release: Held -> Free, by its owner, under the very hold that is given back.

use rusqlite::params;

use super::Statements;
use super::record::{self, SeatRow, StateRow, stand};
use crate::error::StoreError;
use crate::outcome::{Receipt, ReleaseOutcome};
use crate::seat::Claim;
use crate::sqlite::error::failed_while;
use crate::time::Timestamp;

pub(crate) const SQL: &str = concat!(
    "UPDATE seats
        SET state = 'free', version = version + 1, owner = NULL, hold_id = NULL, expires = NULL, changed_at = ",
    decided_at!(),
    "
      WHERE seat_id = ?1 AND state = 'held' AND owner = ?3 AND version = ?4"
);

/// Runs the statement. A hold that is not there, or a seat that does not exist, is NotHeld.
pub(crate) fn run(
    statements: &Statements<'_>,
    claim: &Claim,
    now: Timestamp,
) -> Result<Receipt<ReleaseOutcome>, StoreError> {
    let changed = record::execute(
        statements.release(),
        params![
            claim.seat.as_str(),
            now.as_unix_millis(),
            claim.owner.as_str(),
            claim.hold_id.get()
        ],
    )
    .map_err(failed_while("releasing a hold"))?;

    let outcome = if changed {
        ReleaseOutcome::Released
    } else {
        ReleaseOutcome::NotHeld
    };
    record::look_at_seat(statements, &claim.seat, |seat| receipt(outcome, seat, now))
}

/// The answer to a release that would change nothing; `None` if it may give the seat back.
pub(crate) fn refusal(
    seat: Option<&SeatRow<'_>>,
    claim: &Claim,
    now: Timestamp,
) -> Option<Receipt<ReleaseOutcome>> {
    let held = seat.is_some_and(|seat| {
        matches!(seat.state, StateRow::Held { owner, hold_id, .. }
            if owner == claim.owner.as_str() && hold_id == claim.hold_id)
    });
    (!held).then(|| receipt(ReleaseOutcome::NotHeld, seat, now))
}

fn receipt(
    outcome: ReleaseOutcome,
    seat: Option<&SeatRow<'_>>,
    now: Timestamp,
) -> Receipt<ReleaseOutcome> {
    let (version, at) = stand(seat, now);
    Receipt {
        outcome,
        version,
        at,
    }
}

//! Release: Held -> Free, by its owner, under the very hold that is given back.

use rusqlite::{Connection, params};

use super::Sql;
use super::record::{self, decided_at};
use crate::error::StoreError;
use crate::id::Version;
use crate::outcome::{Receipt, ReleaseOutcome};
use crate::seat::{Claim, Seat, SeatState};
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
    tx: &Connection,
    sql: &Sql,
    claim: &Claim,
    now: Timestamp,
) -> Result<Receipt<ReleaseOutcome>, StoreError> {
    let changed = record::execute(
        tx,
        &sql.release,
        params![
            claim.seat.as_str(),
            now.as_unix_millis(),
            claim.owner.as_str(),
            claim.hold_id.get()
        ],
    )
    .map_err(failed_while("releasing a hold"))?;

    let seat = record::find_seat(tx, sql, &claim.seat)?;
    let outcome = if changed {
        ReleaseOutcome::Released
    } else {
        ReleaseOutcome::NotHeld
    };
    Ok(receipt(outcome, seat.as_ref(), now))
}

/// The answer to a release that would change nothing; `None` if it may give the seat back.
pub(crate) fn refusal(
    seat: Option<&Seat>,
    claim: &Claim,
    now: Timestamp,
) -> Option<Receipt<ReleaseOutcome>> {
    let held = seat.is_some_and(|seat| {
        matches!(&seat.state, SeatState::Held { owner, hold_id, .. }
            if *owner == claim.owner && *hold_id == claim.hold_id)
    });
    (!held).then(|| receipt(ReleaseOutcome::NotHeld, seat, now))
}

fn receipt(
    outcome: ReleaseOutcome,
    seat: Option<&Seat>,
    now: Timestamp,
) -> Receipt<ReleaseOutcome> {
    Receipt {
        outcome,
        version: seat.map_or(Version::ZERO, |seat| seat.version),
        at: seat.map_or(now, |seat| decided_at(now, seat)),
    }
}

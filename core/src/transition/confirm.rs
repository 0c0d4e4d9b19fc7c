//! Confirm a payment: Held -> Sold, or a refund that is recorded. Either way one row in `payments`,
//! written in the transaction that decided, once for ever.

use rusqlite::params;

use super::Statements;
use super::record::{self, SeatRow, StateRow, stand};
use crate::error::StoreError;
use crate::id::{PaymentId, Version};
use crate::outcome::{ConfirmOutcome, Receipt};
use crate::seat::{Claim, Decision, PaymentRecord, RefundReason};
use crate::sqlite::error::failed_while;
use crate::time::Timestamp;

pub(crate) const SQL: &str = concat!(
    "UPDATE seats
        SET state = 'sold', version = version + 1, expires = NULL, payment_id = ?5, changed_at = ",
    decided_at!(),
    "
      WHERE seat_id = ?1 AND state = 'held' AND owner = ?3 AND version = ?4 AND ",
    live!(),
    "
        AND NOT EXISTS (SELECT 1 FROM payments WHERE payment_id = ?5)"
);

/// Runs the statement; when it changed nothing, finds out whether the payment is known, and if not,
/// records that it must be refunded, and why.
pub(crate) fn run(
    statements: &Statements<'_>,
    payment: &PaymentId,
    claim: &Claim,
    now: Timestamp,
) -> Result<Receipt<ConfirmOutcome>, StoreError> {
    let changed = record::execute(
        statements.confirm(),
        params![
            claim.seat.as_str(),
            now.as_unix_millis(),
            claim.owner.as_str(),
            claim.hold_id.get(),
            payment.as_str()
        ],
    )
    .map_err(failed_while("confirming a payment"))?;

    if !changed && let Some(recorded) = record::find_payment(statements, payment)? {
        let stand =
            record::look_at_seat(statements, &recorded.claim.seat, |seat| stand(seat, now))?;
        return Ok(answer_known(recorded, claim, stand));
    }

    let (decision, (version, at)) = record::look_at_seat(statements, &claim.seat, |seat| {
        let decision = if changed {
            Decision::Sold
        } else {
            Decision::RefundRequired(refund_reason(seat, claim))
        };
        (decision, stand(seat, now))
    })?;
    record::record_payment(
        statements,
        &PaymentRecord {
            payment: payment.clone(),
            claim: claim.clone(),
            decision,
            version,
            decided_at: at,
        },
    )?;
    let outcome = match decision {
        Decision::Sold => ConfirmOutcome::Sold,
        Decision::RefundRequired(reason) => ConfirmOutcome::RefundRequired {
            reason,
            recorded: None,
        },
    };
    Ok(Receipt {
        outcome,
        version,
        at,
    })
}

/// The answer about a payment that was decided earlier; its seat, the one that it was recorded for,
/// stands as this.
pub(crate) fn answer_known(
    recorded: PaymentRecord,
    claim: &Claim,
    (version, at): (Version, Timestamp),
) -> Receipt<ConfirmOutcome> {
    let at = at.max(recorded.decided_at);
    let recorded = Box::new(recorded);
    let outcome = match recorded.decision {
        _ if recorded.claim != *claim => ConfirmOutcome::Conflict { recorded },
        Decision::Sold => ConfirmOutcome::Duplicate { recorded },
        Decision::RefundRequired(reason) => ConfirmOutcome::RefundRequired {
            reason,
            recorded: Some(recorded),
        },
    };
    Receipt {
        outcome,
        version,
        at,
    }
}

/// Why a payment can not buy the seat, given that the guard above refused it: the first that applies.
/// The expiry is not compared again; it is what remains.
fn refund_reason(seat: Option<&SeatRow<'_>>, claim: &Claim) -> RefundReason {
    let Some(seat) = seat else {
        return RefundReason::UnknownSeat;
    };
    let hold = claim.hold_id.version();
    match seat.state {
        _ if hold > seat.version => RefundReason::NeverHeld,
        StateRow::Free | StateRow::Sold { .. } if hold == seat.version => RefundReason::NeverHeld,
        StateRow::Sold { hold_id, .. } if hold_id == claim.hold_id => RefundReason::AlreadySold,
        _ if hold < seat.version => RefundReason::Superseded,
        StateRow::Held { owner, .. } if owner != claim.owner.as_str() => RefundReason::WrongOwner,
        StateRow::Free | StateRow::Held { .. } | StateRow::Sold { .. } => RefundReason::Expired,
    }
}

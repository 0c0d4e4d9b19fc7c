//! What is stored, in words: for people who read a difference.

use std::fmt;

use soldonce::{Decision, PaymentRecord, Receipt, Seat, SeatState, StoreError};

/// A seat, as `Held by A under h1 until 10 ms, v1 since 0 ms`.
pub(super) struct SeatInWords<'a>(pub(super) &'a Seat);

impl fmt::Display for SeatInWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seat = self.0;
        match &seat.state {
            SeatState::Free => f.write_str("Free")?,
            SeatState::Held {
                owner,
                hold_id,
                expires,
            } => write!(f, "Held by {owner} under {hold_id} until {expires}")?,
            SeatState::Sold {
                owner,
                hold_id,
                payment,
            } => write!(f, "Sold to {owner} under {hold_id} for payment {payment}")?,
        }
        write!(f, ", {} since {}", seat.version, seat.changed_at)
    }
}

/// A payment record, as `Sold: s to A under h1, v2 at 9 ms`.
pub(super) struct RecordInWords<'a>(pub(super) &'a PaymentRecord);

impl fmt::Display for RecordInWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.0;
        match record.decision {
            Decision::Sold => f.write_str("Sold")?,
            Decision::RefundRequired(reason) => write!(f, "RefundRequired({reason})")?,
        }
        let claim = &record.claim;
        write!(
            f,
            ": {} to {} under {}, {} at {}",
            claim.seat, claim.owner, claim.hold_id, record.version, record.decided_at
        )
    }
}

/// What a read says, in words.
pub(super) trait InWords {
    /// Writes what there is, or that there is nothing.
    fn in_words(&self) -> String;
}

impl InWords for Option<Seat> {
    fn in_words(&self) -> String {
        self.as_ref().map_or_else(
            || "not there".to_owned(),
            |seat| SeatInWords(seat).to_string(),
        )
    }
}

impl InWords for Option<PaymentRecord> {
    fn in_words(&self) -> String {
        self.as_ref().map_or_else(
            || "not known".to_owned(),
            |record| RecordInWords(record).to_string(),
        )
    }
}

/// A read with its receipt.
pub(super) fn read_in_words<T: InWords>(receipt: &Receipt<T>) -> String {
    let Receipt {
        outcome,
        version,
        at,
    } = receipt;
    format!("{} (receipt: {version} at {at})", outcome.in_words())
}

/// A read, or why there is none.
pub(super) fn answer_in_words<T: InWords>(answer: &Result<Receipt<T>, StoreError>) -> String {
    match answer {
        Ok(receipt) => read_in_words(receipt),
        Err(error) => format!("the error: {error}"),
    }
}

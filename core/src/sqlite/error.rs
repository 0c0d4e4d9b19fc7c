//! SQLite's errors, sorted by "did it happen?".

use rusqlite::ErrorCode;

use crate::error::StoreError;
use crate::invariant::Invariant;

/// Sorts the error of a statement that ran before any commit was sent, so nothing is applied.
pub(crate) fn failed_while(doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy {
            waited: std::time::Duration::ZERO,
            source: error.into(),
        },
        Some(ErrorCode::ConstraintViolation) => StoreError::Corrupt {
            invariant: broken_invariant(&error.to_string()),
            detail: format!("{doing}: {error}"),
        },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt {
            invariant: Invariant::RowShape,
            detail: format!("{doing}: {error}"),
        },
        _ => StoreError::Database {
            doing,
            source: error.into(),
        },
    }
}

/// Which invariant stands behind a constraint of `schema.sql`, by the text of its violation.
fn broken_invariant(message: &str) -> Invariant {
    const BEHIND: [(&str, Invariant); 8] = [
        ("payments.seat_id", Invariant::OneSalePerSeat),
        ("a sale is recorded", Invariant::OneSalePerSeat),
        ("payments.payment_id", Invariant::OneDecisionPerPayment),
        ("a payment record", Invariant::OneDecisionPerPayment),
        ("its version grows", Invariant::VersionsCountChanges),
        ("a sold seat", Invariant::VersionsCountChanges),
        ("a new seat", Invariant::VersionsCountChanges),
        ("a seat is never", Invariant::VersionsCountChanges),
    ];
    BEHIND
        .iter()
        .find(|(text, _)| message.contains(text))
        .map_or(Invariant::RowShape, |(_, invariant)| *invariant)
}

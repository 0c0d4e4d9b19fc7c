//! What is stored, as rows: read from a file, or taken from a state of the reference.

use std::fmt::Write as _;

use rusqlite::types::ValueRef;
use soldonce::{Decision, RefundReason, SeatState};

use super::digest::{Digest, Hasher};
use crate::reference::State;

/// The rows of a store, one text each, in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// Seats, then payments. `None`: there are no tables yet.
    lines: Option<Vec<String>>,
}

impl Rows {
    /// There are no tables, or not even a file.
    pub const ABSENT: Self = Self { lines: None };

    /// The rows that stand for a state; `None` stands for a store that was not made yet.
    pub fn of(state: Option<&State>) -> Self {
        let Some(state) = state else {
            return Self::ABSENT;
        };
        let seats = state.seats.values().map(|seat| {
            let kept = match &seat.state {
                SeatState::Free => "free - - - -".to_owned(),
                SeatState::Held {
                    owner,
                    hold_id,
                    expires,
                } => format!(
                    "held {owner} {} {} -",
                    hold_id.get(),
                    expires.as_unix_millis()
                ),
                SeatState::Sold {
                    owner,
                    hold_id,
                    payment,
                } => format!("sold {owner} {} - {payment}", hold_id.get()),
            };
            format!(
                "seat {} {} {} {kept}",
                seat.id,
                seat.version.get(),
                seat.changed_at.as_unix_millis()
            )
        });
        let payments = state.payments.values().map(|record| {
            let (decision, reason) = match record.decision {
                Decision::Sold => ("sold", "-"),
                Decision::RefundRequired(reason) => ("refund_required", name_of(reason)),
            };
            format!(
                "payment {} {} {} {} {decision} {reason} {} {}",
                record.payment,
                record.claim.seat,
                record.claim.owner,
                record.claim.hold_id.get(),
                record.version.get(),
                record.decided_at.as_unix_millis()
            )
        });
        Self {
            lines: Some(seats.chain(payments).collect()),
        }
    }

    /// Reads all rows.
    ///
    /// # Errors
    /// SQLite's.
    pub fn read(connection: &rusqlite::Connection) -> rusqlite::Result<Self> {
        const TABLES: &str = "SELECT count(*) FROM sqlite_schema";
        const SEATS: &str = "SELECT 'seat', seat_id, version, changed_at, state, owner, hold_id,
            expires, payment_id FROM seats ORDER BY seat_id";
        const PAYMENTS: &str = "SELECT 'payment', payment_id, seat_id, owner, hold_id, decision,
            reason, version, decided_at FROM payments ORDER BY payment_id";
        let tables: i64 = connection.query_row(TABLES, [], |row| row.get(0))?;
        if tables == 0 {
            return Ok(Self::ABSENT);
        }
        let mut lines = Vec::new();
        for sql in [SEATS, PAYMENTS] {
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let mut line = String::with_capacity(80);
                for column in 0..9 {
                    let space = if column == 0 { "" } else { " " };
                    match row.get_ref(column)? {
                        ValueRef::Null => write!(line, "{space}-"),
                        ValueRef::Integer(number) => write!(line, "{space}{number}"),
                        other => write!(line, "{space}{}", other.as_str()?),
                    }
                    .expect("a String takes everything");
                }
                lines.push(line);
            }
        }
        Ok(Self { lines: Some(lines) })
    }

    /// A digest of all rows.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        hasher.numbers(&[u64::from(self.lines.is_some())]);
        for line in self.lines.iter().flatten() {
            hasher.text(line);
        }
        hasher.finish()
    }

    /// The first line in which two sets of rows differ, in words.
    pub fn difference(&self, other: &Self) -> String {
        let (Some(found), Some(expected)) = (&self.lines, &other.lines) else {
            let is = |rows: &Self| {
                if rows.lines.is_some() {
                    "a store"
                } else {
                    "no store"
                }
            };
            return format!("there is {} where {} is expected", is(self), is(other));
        };
        let wrong = found.iter().find(|line| !expected.contains(line));
        let missing = expected.iter().find(|line| !found.contains(line));
        match (wrong, missing) {
            (Some(wrong), Some(missing)) => format!("found `{wrong}`, expected `{missing}`"),
            (Some(wrong), None) => format!("found `{wrong}`, which nobody wrote"),
            (None, Some(missing)) => format!("`{missing}` is missing"),
            (None, None) => "no difference".to_owned(),
        }
    }
}

/// How the store writes a reason, said again here: the reader is not to trust the writer.
pub(super) const fn name_of(reason: RefundReason) -> &'static str {
    match reason {
        RefundReason::UnknownSeat => "unknown_seat",
        RefundReason::NeverHeld => "never_held",
        RefundReason::AlreadySold => "already_sold",
        RefundReason::Superseded => "superseded",
        RefundReason::WrongOwner => "wrong_owner",
        RefundReason::Expired => "expired",
    }
}

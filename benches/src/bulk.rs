//! Fills a database with many rows in one transaction, for setting up.
//!
//! A hundred thousand payments through the store are a hundred thousand commits. Here they are one,
//! of the store's own statements ([`Sql`]), under the store's own constraints and triggers; and the
//! audit looks at the result like at any other.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior, params};
use soldonce::transition::Sql;
use soldonce::{Claim, HoldDuration, HoldId, OwnerId, PaymentId, SeatId, Timestamp};

use crate::error::Error;

/// What is written at once; beyond it, the transaction's pages go to the log early.
const CACHE_KIB: u32 = 262_144;

/// A connection that fills.
#[derive(Debug)]
pub struct Bulk {
    connection: Connection,
    sql: Sql,
    now: Timestamp,
}

impl Bulk {
    /// Opens a store's file; everything is written as of `now`, the time on the store's clock.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn open(file: &Path, now: Timestamp) -> Result<Self, Error> {
        let connection = Connection::open(file).map_err(Error::sqlite("opening a database"))?;
        connection
            .execute_batch(&format!(
                "PRAGMA synchronous = FULL; PRAGMA cache_size = -{CACHE_KIB};"
            ))
            .map_err(Error::sqlite("setting up a connection"))?;
        Ok(Self {
            connection,
            sql: Sql::default(),
            now,
        })
    }

    /// Holds seats that are free.
    ///
    /// # Errors
    /// [`Error::Sqlite`]; a seat that is not free is one.
    pub fn hold(
        &mut self,
        seats: &[SeatId],
        owner: &OwnerId,
        ttl: HoldDuration,
    ) -> Result<(), Error> {
        let (hold, now) = (&self.sql.hold, self.now.as_unix_millis());
        in_one_transaction(&mut self.connection, "holding many seats", |tx| {
            let mut hold = tx.prepare(hold)?;
            seats.iter().try_for_each(|seat| {
                one_row(hold.execute(params![
                    seat.as_str(),
                    now,
                    owner.as_str(),
                    ttl.as_millis()
                ])?)
            })
        })
    }

    /// Sells seats that are held under the first hold they ever had; the payments are called
    /// `prefix` and a number.
    ///
    /// # Errors
    /// [`Error::Sqlite`]; a seat that is not held so is one.
    pub fn sell(&mut self, seats: &[SeatId], owner: &OwnerId, prefix: &str) -> Result<(), Error> {
        let (sql, now) = (&self.sql, self.now.as_unix_millis());
        in_one_transaction(&mut self.connection, "selling many seats", |tx| {
            let mut confirm = tx.prepare(&sql.confirm)?;
            let mut record = tx.prepare(&sql.record_payment)?;
            seats.iter().enumerate().try_for_each(|(number, seat)| {
                let (seat, owner) = (seat.as_str(), owner.as_str());
                let payment = format!("{prefix}{number:07}");
                one_row(confirm.execute(params![seat, now, owner, FIRST_HOLD, payment])?)?;
                one_row(record.execute(params![
                    payment,
                    seat,
                    owner,
                    FIRST_HOLD,
                    "sold",
                    None::<&str>,
                    FIRST_HOLD + 1,
                    now
                ])?)
            })
        })
    }

    /// Records payments that came for seats that do not exist, so that each must be refunded.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn refund(&mut self, payments: u64, owner: &OwnerId, prefix: &str) -> Result<(), Error> {
        let (sql, now) = (&self.sql, self.now.as_unix_millis());
        in_one_transaction(&mut self.connection, "recording many refunds", |tx| {
            let mut record = tx.prepare(&sql.record_payment)?;
            (0..payments).try_for_each(|number| {
                one_row(record.execute(params![
                    format!("{prefix}{number:07}"),
                    format!("no-seat-{number:07}"),
                    owner.as_str(),
                    FIRST_HOLD,
                    "refund_required",
                    "unknown_seat",
                    0,
                    now
                ])?)
            })
        })
    }

    /// Writes the log back into the database file and cuts the log to nothing.
    ///
    /// # Errors
    /// [`Error::Sqlite`]; [`Error::Answer`] when somebody still reads from the log.
    pub fn checkpoint(&self) -> Result<(), Error> {
        let busy: i64 = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map_err(Error::sqlite("writing the log back"))?;
        if busy == 0 {
            return Ok(());
        }
        Err(Error::Answer {
            doing: "writing the log back",
            expected: "a log that nobody reads",
            got: "a busy one".to_owned(),
        })
    }
}

/// The id of the first hold on a seat.
const FIRST_HOLD: i64 = 1;

/// The claim that [`Bulk::hold`] leaves on a seat.
pub fn first_claim(seat: &SeatId, owner: &OwnerId) -> Claim {
    Claim {
        seat: seat.clone(),
        owner: owner.clone(),
        hold_id: HoldId::new(FIRST_HOLD).expect("not negative"),
    }
}

/// The payment that [`Bulk::sell`] makes for the seat at this place of its list.
pub fn sale(prefix: &str, number: usize) -> PaymentId {
    PaymentId::new(format!("{prefix}{number:07}")).expect("a short name")
}

fn in_one_transaction(
    connection: &mut Connection,
    doing: &'static str,
    work: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<(), Error> {
    let all = || {
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        work(&tx)?;
        tx.commit()
    };
    all().map_err(Error::sqlite(doing))
}

fn one_row(changed: usize) -> rusqlite::Result<()> {
    if changed == 1 {
        Ok(())
    } else {
        Err(rusqlite::Error::StatementChangedRows(changed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::{Scratch, add, seat_ids};
    use soldonce::{ConfirmOutcome, SeatStore as _, SqliteStore};

    #[test]
    fn what_was_filled_in_bulk_passes_the_audit_and_answers_like_the_rest() {
        let parent = tempfile::tempdir().expect("a folder");
        let scratch = Scratch::below(parent.path());
        let store = scratch
            .store("seats", SqliteStore::options())
            .expect("opened");
        let owner = OwnerId::new("bulk").expect("valid");
        let seats = seat_ids(0..20);
        add(&store, &seats).expect("added");
        let mut bulk = Bulk::open(store.path(), store.now()).expect("opened");
        bulk.hold(&seats[..10], &owner, HoldDuration::MAX)
            .expect("held");
        bulk.sell(&seats[..5], &owner, "p-").expect("sold");
        bulk.refund(7, &owner, "r-").expect("recorded");
        assert!(
            bulk.hold(&seats[..1], &owner, HoldDuration::MAX).is_err(),
            "it is sold"
        );
        bulk.checkpoint().expect("written back");

        let all = store.snapshot().expect("read");
        assert_eq!((all.seats.len(), all.payments.len()), (20, 12));
        assert_eq!(store.audit().expect("audited"), []);
        let again = store
            .confirm_payment(&sale("p-", 4), &first_claim(&seats[4], &owner))
            .expect("answered");
        assert!(matches!(again.outcome, ConfirmOutcome::Duplicate { .. }));
        let first = store
            .confirm_payment(
                &PaymentId::new("new").expect("valid"),
                &first_claim(&seats[5], &owner),
            )
            .expect("answered");
        assert_eq!(first.outcome, ConfirmOutcome::Sold);
    }
}

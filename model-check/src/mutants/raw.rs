//! Faults below the statements: in how a connection is used, and writes that the real store never makes.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rusqlite::{Connection, OptionalExtension as _, params};
use soldonce::transition::Sql;
use soldonce::{
    Claim, ConfirmOutcome, HoldId, HoldOutcome, HoldRefusal, HoldRequest, PaymentId, Receipt,
    SeatStore, StoreError, Timestamp, Version,
};

use super::sql::{bare, on_file};
use super::wrap::{Wrap, Wrapped};
use super::{Mutant, caught, only_in_sequences};
use crate::sequence::Check::{Audit, Fault};
use crate::store_choice::{Real, Subject as _, World};

pub(super) const MUTANTS: [Mutant; 5] = [
    Mutant::new(
        "M25",
        "confirm: each redelivery records the refund again",
        caught(Audit),
        |path, world| {
            Ok(Box::new(Wrapped(AgainAndAgain {
                inner: bare(path, world, |_| {})?,
                path: path.to_owned(),
            })))
        },
    )
    .bare(),
    Mutant::new(
        "N34",
        "hold: asking for a seat that is held puts off the end of the hold, and says nothing",
        caught(Audit),
        |path, world| {
            Ok(Box::new(Wrapped(Sliding {
                inner: bare(path, world, |_| {})?,
                path: path.to_owned(),
            })))
        },
    )
    .bare(),
    Mutant::new(
        "N40",
        "confirm: another claim for a known payment overwrites what was recorded",
        caught(Audit),
        |path, world| {
            Ok(Box::new(Wrapped(LastOneWins {
                inner: bare(path, world, |_| {})?,
                path: path.to_owned(),
            })))
        },
    )
    .bare(),
    Mutant::new(
        "P02",
        "a connection goes back to the pool with its transaction open after a failed commit",
        only_in_sequences(Fault),
        |path, world| {
            Ok(Box::new(Wrapped(LeftOpen(OwnConnection::open(
                path, world,
            )?))))
        },
    )
    .note("the check sees the write lock that stays taken, before a borrower's write is lost"),
    Mutant::new(
        "P03",
        "hold: UPDATE ... RETURNING read with one step, the error of its commit is dropped",
        only_in_sequences(Fault),
        |path, world| {
            Ok(Box::new(Wrapped(OneStep(OwnConnection::open(
                path, world,
            )?))))
        },
    ),
];

/// The real store, and beside it a connection through which holds are made.
struct OwnConnection {
    inner: Box<dyn SeatStore>,
    connection: Mutex<Connection>,
    world: World,
    sql: Sql,
}

impl OwnConnection {
    fn open(path: &Path, world: &World) -> Result<Self, StoreError> {
        let inner = Real::default().open(path, world)?;
        let connection = Connection::open(path).map_err(plain)?;
        connection
            .busy_timeout(std::time::Duration::from_millis(20))
            .map_err(plain)?;
        Ok(Self {
            inner,
            connection: Mutex::new(connection),
            world: world.clone(),
            sql: Sql::default(),
        })
    }

    /// The answer of a hold that changed its row; `None` when it did not.
    fn update(
        &self,
        connection: &Connection,
        request: &HoldRequest,
    ) -> Result<Option<Receipt<HoldOutcome>>, StoreError> {
        let returning = format!("{} RETURNING hold_id, expires, changed_at", self.sql.hold);
        let row = connection.query_row(
            &returning,
            params![
                request.seat.as_str(),
                self.world.clock.now().as_unix_millis(),
                request.owner.as_str(),
                request.ttl.as_millis()
            ],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        );
        let Some((hold_id, expires, at)) = row.optional().map_err(plain)? else {
            return Ok(None);
        };
        Ok(Some(Receipt {
            outcome: HoldOutcome::Held {
                hold_id: HoldId::new(hold_id)?,
                expires: Timestamp::from_unix_millis(expires)?,
            },
            version: Version::new(hold_id)?,
            at: Timestamp::from_unix_millis(at)?,
        }))
    }
}

/// P02: a transaction that is begun, and ended only when all went well.
struct LeftOpen(OwnConnection);

impl Wrap for LeftOpen {
    fn inner(&self) -> &dyn SeatStore {
        &*self.0.inner
    }

    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        let connection = self.0.connection.lock().expect("not poisoned");
        connection.execute_batch("BEGIN IMMEDIATE").map_err(plain)?;
        let answer = self.0.update(&connection, request)?;
        connection
            .execute_batch("COMMIT")
            .map_err(|error| StoreError::Unknown(error.into()))?;
        answer.map_or_else(|| self.0.inner.hold(request), Ok)
    }
}

/// P03: no transaction around the statement; the row is all that is looked at.
struct OneStep(OwnConnection);

impl Wrap for OneStep {
    fn inner(&self) -> &dyn SeatStore {
        &*self.0.inner
    }

    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        let connection = self.0.connection.lock().expect("not poisoned");
        let answer = self.0.update(&connection, request)?;
        answer.map_or_else(|| self.0.inner.hold(request), Ok)
    }
}

fn plain(source: rusqlite::Error) -> StoreError {
    if source.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) {
        return StoreError::Busy {
            waited: std::time::Duration::ZERO,
            source: source.into(),
        };
    }
    StoreError::Database {
        doing: "holding a seat",
        source: source.into(),
    }
}

/// N34: a hold that slides, as a session does.
struct Sliding {
    inner: Box<dyn SeatStore>,
    path: PathBuf,
}

impl Wrap for Sliding {
    fn inner(&self) -> &dyn SeatStore {
        &*self.inner
    }

    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        let answer = self.inner.hold(request)?;
        if let HoldOutcome::Refused(HoldRefusal::HeldUntil(_)) = answer.outcome {
            on_file(&self.path, |connection| {
                connection.execute(
                    "UPDATE seats SET expires = expires + 1 WHERE seat_id = ?1",
                    [request.seat.as_str()],
                )
            })?;
        }
        Ok(answer)
    }
}

/// M25: the obligation grows with each delivery.
struct AgainAndAgain {
    inner: Box<dyn SeatStore>,
    path: PathBuf,
}

impl Wrap for AgainAndAgain {
    fn inner(&self) -> &dyn SeatStore {
        &*self.inner
    }

    fn confirm(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        let answer = self.inner.confirm_payment(payment, claim)?;
        if let ConfirmOutcome::RefundRequired {
            recorded: Some(_), ..
        } = answer.outcome
        {
            on_file(&self.path, |connection| {
                connection.execute(
                    "INSERT INTO payments (payment_id, seat_id, owner, hold_id, decision, reason, version, decided_at)
                     SELECT payment_id, seat_id, owner, hold_id, decision, reason, version, decided_at
                       FROM payments WHERE payment_id = ?1 LIMIT 1",
                    [payment.as_str()],
                )
            })?;
        }
        Ok(answer)
    }
}

/// N40: what came last is what is kept.
struct LastOneWins {
    inner: Box<dyn SeatStore>,
    path: PathBuf,
}

impl Wrap for LastOneWins {
    fn inner(&self) -> &dyn SeatStore {
        &*self.inner
    }

    fn confirm(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        let answer = self.inner.confirm_payment(payment, claim)?;
        if let ConfirmOutcome::Conflict { .. } = answer.outcome {
            on_file(&self.path, |connection| {
                connection.execute(
                    "UPDATE payments SET owner = ?2, hold_id = ?3 WHERE payment_id = ?1",
                    params![payment.as_str(), claim.owner.as_str(), claim.hold_id.get()],
                )
            })?;
        }
        Ok(answer)
    }
}

//! A store written by hand, with one bad habit: what people do who write their own.
//!
//! It decides as the reference does, so that all its answers are right as long as nothing fails; it
//! writes the real schema; and it commits in its own way.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, params};
use soldonce::{
    Claim, Clock as _, Command, ConfirmOutcome, Decision, HoldId, HoldOutcome, HoldRequest,
    Invalid, ManualClock, Outcome, OwnerId, PaymentId, PaymentRecord, Receipt, RefundCursor,
    RefundReason, RefundsDue, ReleaseOutcome, Seat, SeatId, SeatState, SeatStore, SeatsAdded,
    SqliteStore, StoreError, Timestamp, Version, invariant::Snapshot,
};

use super::examine::options;
use super::workload::{Setup, UnderTest};
use crate::reference::{Decided, Rejected, State};

/// What it does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// It answers with its transaction open, and commits when the next call comes.
    AnswersFirst,
    /// It commits the seat, and then the payment.
    SeatFirst,
    /// It commits the payment, and then the seat.
    PaymentFirst,
    /// A payment that is known already returns early, and its transaction stays open; a single
    /// statement is thought to commit by itself.
    LeavesOpen,
    /// A single statement commits by itself, and only its first row is asked for.
    OneStep,
}

/// The store.
pub struct ByHand {
    own: Mutex<Connection>,
    /// For reading, and for adding seats.
    inner: SqliteStore,
    clock: Arc<ManualClock>,
    habit: Habit,
}

fn failed(source: rusqlite::Error) -> StoreError {
    StoreError::Database {
        doing: "working by hand",
        source: source.into(),
    }
}

fn unknown(source: rusqlite::Error) -> StoreError {
    StoreError::Unknown(source.into())
}

impl ByHand {
    /// Opens it.
    ///
    /// # Errors
    /// Those of the real store, and SQLite's.
    pub fn open(path: &Path, setup: &Setup, habit: Habit) -> Result<Self, StoreError> {
        let inner = options(setup).open(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let own = Connection::open_with_flags_and_vfs(path, flags, setup.vfs).map_err(failed)?;
        own.busy_timeout(setup.busy_timeout).map_err(failed)?;
        own.execute_batch("PRAGMA synchronous = FULL")
            .map_err(failed)?;
        if habit == Habit::PaymentFirst {
            own.execute_batch("DROP TRIGGER IF EXISTS sale_matches_its_seat")
                .map_err(failed)?;
        }
        Ok(Self {
            own: Mutex::new(own),
            inner,
            clock: Arc::clone(&setup.clock),
            habit,
        })
    }

    /// The connection, with nothing left over from the call before.
    fn own(&self) -> Result<MutexGuard<'_, Connection>, StoreError> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if self.habit == Habit::AnswersFirst && !own.is_autocommit() {
            own.execute_batch("COMMIT").map_err(failed)?;
        }
        Ok(own)
    }

    fn run(&self, command: &Command) -> Result<Receipt<Outcome>, StoreError> {
        let own = self.own()?;
        let single = !matches!(command, Command::ConfirmPayment { .. })
            && matches!(self.habit, Habit::LeavesOpen | Habit::OneStep);
        if !single && own.is_autocommit() {
            own.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        }
        let mut state = load(&own, command)?;
        let decided = match state.apply(command, self.clock.now()) {
            Ok(decided) => decided,
            Err(rejected) => {
                if !own.is_autocommit() && self.habit != Habit::LeavesOpen {
                    own.execute_batch("ROLLBACK").map_err(failed)?;
                }
                return Err(match rejected {
                    Rejected::UnknownSeat => StoreError::UnknownSeat(command.seat().clone()),
                    Rejected::EndsTooLate => {
                        Invalid::new("length of a hold", "too long", "less").into()
                    }
                });
            }
        };
        self.write(&own, &decided, single)?;
        Ok(decided.receipt)
    }

    fn write(&self, own: &Connection, decided: &Decided, single: bool) -> Result<(), StoreError> {
        let seat = || {
            decided
                .seat
                .as_ref()
                .map_or(Ok(()), |seat| write_seat(own, seat, self.habit))
        };
        let record = || {
            decided
                .record
                .as_ref()
                .map_or(Ok(()), |record| write_record(own, record))
        };
        if single {
            return seat().map_err(unknown);
        }
        if self.habit == Habit::LeavesOpen && decided.record.is_none() {
            return Ok(());
        }
        if self.habit == Habit::PaymentFirst {
            record().map_err(failed)?;
        } else {
            seat().map_err(failed)?;
        }
        match self.habit {
            Habit::AnswersFirst => return record().map_err(failed),
            Habit::SeatFirst if decided.record.is_some() => {
                own.execute_batch("COMMIT").map_err(unknown)?;
                own.execute_batch("BEGIN IMMEDIATE").map_err(unknown)?;
                record().map_err(unknown)?;
            }
            Habit::PaymentFirst if decided.seat.is_some() => {
                own.execute_batch("COMMIT").map_err(unknown)?;
                own.execute_batch("BEGIN IMMEDIATE").map_err(unknown)?;
                seat().map_err(unknown)?;
            }
            Habit::PaymentFirst => {}
            Habit::SeatFirst | Habit::LeavesOpen | Habit::OneStep => record().map_err(failed)?,
        }
        own.execute_batch("COMMIT").map_err(unknown)
    }
}

impl Drop for ByHand {
    fn drop(&mut self) {
        // Habit::AnswersFirst commits what is left over; the others lose it.
        drop(self.own());
    }
}

/// What the command looks at.
fn load(own: &Connection, command: &Command) -> Result<State, StoreError> {
    let mut state = State::default();
    let mut add = |id: &SeatId| -> Result<(), StoreError> {
        let found = own
            .query_row(
                "SELECT state, version, owner, hold_id, expires, payment_id, changed_at
                   FROM seats WHERE seat_id = ?1",
                [id.as_str()],
                |row| Ok(seat_of(id, row)),
            )
            .optional()
            .map_err(failed)?;
        if let Some(seat) = found {
            state.seats.insert(id.clone(), seat?);
        }
        Ok(())
    };
    add(command.seat())?;
    if let Command::ConfirmPayment { payment, .. } = command {
        let found = own
            .query_row(
                "SELECT seat_id, owner, hold_id, decision, reason, version, decided_at
                   FROM payments WHERE payment_id = ?1",
                [payment.as_str()],
                |row| Ok(record_of(payment, row)),
            )
            .optional()
            .map_err(failed)?;
        if let Some(record) = found {
            let record = record?;
            add(&record.claim.seat)?;
            state.payments.insert(payment.clone(), record);
        }
    }
    Ok(state)
}

fn text(row: &Row<'_>, column: usize) -> Result<String, StoreError> {
    row.get(column).map_err(failed)
}

fn number(row: &Row<'_>, column: usize) -> Result<i64, StoreError> {
    row.get(column).map_err(failed)
}

fn seat_of(id: &SeatId, row: &Row<'_>) -> Result<Seat, StoreError> {
    let owner = || Ok::<_, StoreError>(OwnerId::new(text(row, 2)?)?);
    let hold_id = || Ok::<_, StoreError>(HoldId::new(number(row, 3)?)?);
    let state = match text(row, 0)?.as_str() {
        "held" => SeatState::Held {
            owner: owner()?,
            hold_id: hold_id()?,
            expires: Timestamp::from_unix_millis(number(row, 4)?)?,
        },
        "sold" => SeatState::Sold {
            owner: owner()?,
            hold_id: hold_id()?,
            payment: PaymentId::new(text(row, 5)?)?,
        },
        _ => SeatState::Free,
    };
    Ok(Seat {
        id: id.clone(),
        state,
        version: Version::new(number(row, 1)?)?,
        changed_at: Timestamp::from_unix_millis(number(row, 6)?)?,
    })
}

fn record_of(payment: &PaymentId, row: &Row<'_>) -> Result<PaymentRecord, StoreError> {
    let decision = if text(row, 3)? == "sold" {
        Decision::Sold
    } else {
        let name = text(row, 4)?;
        let reason = RefundReason::ALL
            .into_iter()
            .find(|r| super::rows::name_of(*r) == name);
        Decision::RefundRequired(reason.unwrap_or(RefundReason::UnknownSeat))
    };
    Ok(PaymentRecord {
        payment: payment.clone(),
        claim: Claim {
            seat: SeatId::new(text(row, 0)?)?,
            owner: OwnerId::new(text(row, 1)?)?,
            hold_id: HoldId::new(number(row, 2)?)?,
        },
        decision,
        version: Version::new(number(row, 5)?)?,
        decided_at: Timestamp::from_unix_millis(number(row, 6)?)?,
    })
}

fn write_seat(own: &Connection, seat: &Seat, habit: Habit) -> rusqlite::Result<()> {
    let (state, owner, hold_id, expires, payment) = match &seat.state {
        SeatState::Free => ("free", None, None, None, None),
        SeatState::Held {
            owner,
            hold_id,
            expires,
        } => (
            "held",
            Some(owner),
            Some(hold_id),
            Some(expires.as_unix_millis()),
            None,
        ),
        SeatState::Sold {
            owner,
            hold_id,
            payment,
        } => ("sold", Some(owner), Some(hold_id), None, Some(payment)),
    };
    let mut statement = own.prepare_cached(
        "UPDATE seats SET state = ?2, version = ?3, owner = ?4, hold_id = ?5, expires = ?6,
                payment_id = ?7, changed_at = ?8
          WHERE seat_id = ?1 RETURNING version",
    )?;
    let values = params![
        seat.id.as_str(),
        state,
        seat.version.get(),
        owner.map(OwnerId::as_str),
        hold_id.map(|hold| hold.get()),
        expires,
        payment.map(PaymentId::as_str),
        seat.changed_at.as_unix_millis()
    ];
    if habit == Habit::OneStep {
        return statement.query_row(values, |_| Ok(()));
    }
    let mut rows = statement.query(values)?;
    while rows.next()?.is_some() {}
    Ok(())
}

fn write_record(own: &Connection, record: &PaymentRecord) -> rusqlite::Result<()> {
    let (decision, reason) = match record.decision {
        Decision::Sold => ("sold", None),
        Decision::RefundRequired(reason) => ("refund_required", Some(super::rows::name_of(reason))),
    };
    own.prepare_cached(
        "INSERT INTO payments (payment_id, seat_id, owner, hold_id, decision, reason, version,
                decided_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        record.payment.as_str(),
        record.claim.seat.as_str(),
        record.claim.owner.as_str(),
        record.claim.hold_id.get(),
        decision,
        reason,
        record.version.get(),
        record.decided_at.as_unix_millis()
    ])
    .map(drop)
}

impl UnderTest for ByHand {}

impl SeatStore for ByHand {
    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        self.run(&Command::Hold(request.clone())).map(|receipt| {
            receipt.map(|outcome| match outcome {
                Outcome::Hold(outcome) => outcome,
                Outcome::Release(_) | Outcome::Confirm(_) => unreachable!("a hold was run"),
            })
        })
    }

    fn release(&self, claim: &Claim) -> Result<Receipt<ReleaseOutcome>, StoreError> {
        self.run(&Command::Release(claim.clone())).map(|receipt| {
            receipt.map(|outcome| match outcome {
                Outcome::Release(outcome) => outcome,
                Outcome::Hold(_) | Outcome::Confirm(_) => unreachable!("a release was run"),
            })
        })
    }

    fn confirm_payment(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        let command = Command::ConfirmPayment {
            payment: payment.clone(),
            claim: claim.clone(),
        };
        self.run(&command).map(|receipt| {
            receipt.map(|outcome| match outcome {
                Outcome::Confirm(outcome) => outcome,
                Outcome::Hold(_) | Outcome::Release(_) => unreachable!("a payment was run"),
            })
        })
    }

    fn seat(&self, seat: &SeatId) -> Result<Receipt<Option<Seat>>, StoreError> {
        self.inner.seat(seat)
    }

    fn payment(&self, payment: &PaymentId) -> Result<Receipt<Option<PaymentRecord>>, StoreError> {
        self.inner.payment(payment)
    }

    fn refunds_due(&self, after: RefundCursor, limit: u32) -> Result<RefundsDue, StoreError> {
        self.inner.refunds_due(after, limit)
    }

    fn add_seats(&self, seats: &[SeatId]) -> Result<SeatsAdded, StoreError> {
        let own = self.own()?;
        if !own.is_autocommit() {
            own.execute_batch("COMMIT").map_err(failed)?;
        }
        drop(own);
        self.inner.add_seats(seats)
    }

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.inner.snapshot()
    }
}

//! Stores that are right as long as one call runs at a time.
//!
//! Each runs its commands as the right engine does, but for what its `run` or `snapshot` says. None
//! sleeps; the engine yields at the borders of statements.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use soldonce::{
    Clock, Command, Outcome, OwnerId, Receipt, Seat, SeatId, SeatStore, StoreError, Version,
};

use super::engine::{Commands, Db, Engine, Right, write};
use super::{Plan, run};
use crate::history::{Recorded, RunClock};
use crate::reference::{Decided, Rejected, State, View, decide};
use crate::serializable::Verdict;
use crate::store_choice::{Subject, World};

/// A store with a fault that only concurrent calls can show.
#[derive(Clone, Copy)]
pub struct ConcurrentMutant {
    /// Its name: of the case in the table of faults that real systems had, or `T` and a number for
    /// one of our own.
    pub id: &'static str,
    /// What is wrong with it.
    pub fault: &'static str,
    /// A public report of such a fault, where there is a good one.
    pub seen_in: &'static str,
    /// What has to be known about how it is planted.
    pub note: &'static str,
    /// It must be caught within so many calls.
    pub within: usize,
    make: Make,
}

/// Opens the store, empty, with this clock.
type Make = fn(Arc<dyn Clock>) -> Box<dyn SeatStore>;

impl std::fmt::Debug for ConcurrentMutant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ConcurrentMutant").field(&self.id).finish()
    }
}

impl Subject for ConcurrentMutant {
    fn name(&self) -> String {
        format!("mutant:{}", self.id)
    }

    fn open(&self, _path: &Path, world: &World) -> Result<Box<dyn SeatStore>, StoreError> {
        Ok((self.make)(Arc::clone(&world.clock)))
    }

    fn is_sqlite(&self) -> bool {
        false
    }

    fn is_kept(&self) -> bool {
        false
    }
}

const ENGINE: &str = "planted in an engine without a single writer";

/// All of them.
pub fn all() -> [ConcurrentMutant; 10] {
    let mutant = |id, fault, make| ConcurrentMutant {
        id,
        fault,
        seen_in: "",
        note: "",
        within: 100_000,
        make,
    };
    [
        ConcurrentMutant {
            seen_in: "cal.com 5820, magento inventory 2722",
            ..mutant(
                "M01",
                "hold is a read, then a write without the guard, in two transactions",
                |clock| Box::new(Engine::new(clock, ReadThenWrite(Which::Hold))),
            )
        },
        ConcurrentMutant {
            seen_in: "librebooking 147",
            note: "SQLite refuses it by itself, with a busy snapshot (see L01), so it is planted in an \
                   engine that reads what is committed",
            ..mutant(
                "M03",
                "confirm: a read guards, the update after it does not",
                |clock| Box::new(Engine::new(clock, ReadThenWrite(Which::Confirm))),
            )
        },
        ConcurrentMutant {
            note: "behind SQLite's single writer with BEGIN IMMEDIATE it can not be told from no fault \
                   at all, so it is planted in an engine without one",
            ..mutant(
                "M04",
                "an in-process lock keyed by owner and seat stands for the guard",
                |clock| Box::new(Engine::new(clock, LockPerOwner::default())),
            )
        },
        ConcurrentMutant {
            seen_in: "woocommerce-gateway-stripe 2536",
            ..mutant(
                "M19",
                "\"is the payment known?\" is asked before the transaction that writes it",
                |clock| Box::new(Engine::new(clock, AskFirst)),
            )
        },
        mutant(
            "T01",
            "the receipt names the version from before the transaction",
            |clock| Box::new(Engine::new(clock, StaleVersion)),
        ),
        mutant(
            "T02",
            "the answer is given before its commit is visible to others",
            |clock| Box::new(Engine::new(clock, AnswerFirst::default())),
        ),
        mutant(
            "T03",
            "refusals and reads are answered from a snapshot that was taken before the call",
            |clock| Box::new(Engine::new(clock, OldSnapshot::default())),
        ),
        mutant(
            "T04",
            "the clock is read before the write lock is held",
            |clock| Box::new(Engine::new(clock, EarlyClock)),
        ),
        mutant(
            "T05",
            "a refusal is worked out on one snapshot, its version read from a second one",
            |clock| Box::new(Engine::new(clock, TwoSnapshots)),
        ),
        ConcurrentMutant {
            note: ENGINE,
            ..mutant(
                "T06",
                "release: the seat is read, then freed in a second transaction",
                |clock| Box::new(Engine::new(clock, ReadThenWrite(Which::Release))),
            )
        },
    ]
}

/// The names of all.
pub fn ids() -> Vec<&'static str> {
    all().iter().map(|mutant| mutant.id).collect()
}

/// The one with this name.
pub fn find(id: &str) -> Option<ConcurrentMutant> {
    all().into_iter().find(|mutant| mutant.id == id)
}

#[cfg(test)]
/// The engine without a fault, to see that it is the fault that is caught.
pub(super) fn right(clock: Arc<dyn Clock>) -> Box<dyn SeatStore> {
    Box::new(Engine::new(clock, Right))
}

/// What came of a hunt.
#[derive(Debug)]
pub struct Hunted {
    /// The run that was violated; `None` when the mutant survived.
    pub caught: Option<Recorded>,
    /// Calls until it was caught, in whole rounds, or all that were made.
    pub calls: usize,
}

/// A round of a hunt.
const ROUND: usize = 1_000;

/// Runs the mutant on real threads until the check catches it, or for as many calls as it has.
///
/// # Errors
/// Those of the store before the run.
pub fn hunt(mutant: &ConcurrentMutant, threads: usize, seed: u64) -> Result<Hunted, StoreError> {
    hunt_store(mutant.make, mutant.within, threads, seed)
}

pub(super) fn hunt_store(
    make: Make,
    within: usize,
    threads: usize,
    seed: u64,
) -> Result<Hunted, StoreError> {
    let mut calls = 0;
    for round in 0.. {
        if calls >= within {
            break;
        }
        let plan = Plan {
            threads,
            calls: ROUND,
            seed: seed.wrapping_add(round),
        };
        let clock = RunClock::start();
        let store = make(Arc::new(clock.clone()));
        store.add_seats(&plan.seats())?;
        let recorded = run(store.as_ref(), &clock, plan)?;
        calls += ROUND;
        if matches!(recorded.report.verdict, Verdict::Violated(_)) {
            return Ok(Hunted {
                caught: Some(recorded),
                calls,
            });
        }
    }
    Ok(Hunted {
        caught: None,
        calls,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Hold,
    Release,
    Confirm,
}

impl Which {
    fn is(self, command: &Command) -> bool {
        match command {
            Command::Hold(_) => self == Self::Hold,
            Command::Release(_) => self == Self::Release,
            Command::ConfirmPayment { .. } => self == Self::Confirm,
        }
    }
}

/// M01, M03, T06: looks in one transaction, and writes what it made of that in the next.
struct ReadThenWrite(Which);

fn read_then_write(db: &Db<'_>, command: &Command) -> Result<Receipt<Outcome>, Rejected> {
    let decided: Decided =
        db.transaction(|state, now| decide(state.view(command), command, now))?;
    db.transaction(|state, _| write(state, &decided));
    Ok(decided.receipt)
}

fn right_way(db: &Db<'_>, command: &Command) -> Result<Receipt<Outcome>, Rejected> {
    Right.run(db, command)
}

impl Commands for ReadThenWrite {
    fn run(&self, db: &Db<'_>, command: &Command) -> Result<Receipt<Outcome>, Rejected> {
        if self.0.is(command) {
            read_then_write(db, command)
        } else {
            right_way(db, command)
        }
    }
}

/// M04.
#[derive(Default)]
struct LockPerOwner(Mutex<Locks>);

type Locks = HashMap<(OwnerId, SeatId), Arc<Mutex<()>>>;

impl Commands for LockPerOwner {
    fn run(&self, db: &Db<'_>, command: &Command) -> Result<Receipt<Outcome>, Rejected> {
        let Command::Hold(request) = command else {
            return right_way(db, command);
        };
        let key = (request.owner.clone(), request.seat.clone());
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = Arc::clone(locks.entry(key).or_default());
        drop(locks);
        let _guard = mine.lock().unwrap_or_else(PoisonError::into_inner);
        read_then_write(db, command)
    }
}

/// M19.
struct AskFirst;

impl Commands for AskFirst {
    fn run(&self, db: &Db<'_>, command: &Command) -> Result<Receipt<Outcome>, Rejected> {
        let Command::ConfirmPayment { payment, .. } = command else {
            return right_way(db, command);
        };
        let known = db.transaction(|state, _| state.payments.contains_key(payment));
        if known {
            return right_way(db, command);
        }
        db.transaction(|state, now| {
            let mut view = state.view(command);
            view.known = None;
            let decided = decide(view, command, now)?;
            write(state, &decided);
            Ok(decided.receipt)
        })
    }
}

/// T01.
struct StaleVersion;

impl Commands for StaleVersion {
    fn run(&self, db: &Db<'_>, command: &Command) -> Result<Receipt<Outcome>, Rejected> {
        let before = db.transaction(|state, _| version(state, command));
        let mut receipt = right_way(db, command)?;
        if !receipt.outcome.changed_seat() {
            receipt.version = before;
        }
        Ok(receipt)
    }
}

fn version(state: &State, command: &Command) -> Version {
    let seat = state.seats.get(command.seat());
    seat.map_or(Version::ZERO, |seat| seat.version)
}

/// T02: a change waits here until the next command comes.
#[derive(Default)]
struct AnswerFirst(Mutex<Option<Decided>>);

impl Commands for AnswerFirst {
    fn run(&self, db: &Db<'_>, command: &Command) -> Result<Receipt<Outcome>, Rejected> {
        db.transaction(|state, now| {
            let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(earlier) = waiting.take() {
                write(state, &earlier);
            }
            let decided = decide(state.view(command), command, now)?;
            *waiting = Some(decided.clone());
            Ok(decided.receipt)
        })
    }
}

/// T03: what a seat was like when the call before was answered is what a refusal or a read is told.
#[derive(Default)]
struct OldSnapshot(Mutex<HashMap<SeatId, Option<Seat>>>);

impl OldSnapshot {
    /// The seat as it was, which from now on is as it is.
    fn before(&self, seat: &SeatId, now: Option<&Seat>) -> Option<Seat> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = kept.insert(seat.clone(), now.cloned());
        before.unwrap_or_else(|| now.cloned())
    }
}

impl Commands for OldSnapshot {
    fn run(&self, db: &Db<'_>, command: &Command) -> Result<Receipt<Outcome>, Rejected> {
        let Command::Hold(_) = command else {
            return right_way(db, command);
        };
        let old = db.transaction(|state, now| {
            let seat = self.before(command.seat(), state.seats.get(command.seat()));
            let view = View {
                seat: seat.as_ref(),
                known: None,
            };
            decide(view, command, now)
        })?;
        match old.seat {
            None => Ok(old.receipt),
            Some(_) => right_way(db, command),
        }
    }

    fn seat(&self, db: &Db<'_>, seat: &SeatId) -> Receipt<Option<Seat>> {
        db.transaction(|state, now| {
            let mut old = State::default();
            if let Some(before) = self.before(seat, state.seats.get(seat)) {
                old.seats.insert(seat.clone(), before);
            }
            old.seat(seat, now)
        })
    }
}

/// T04.
struct EarlyClock;

impl Commands for EarlyClock {
    fn run(&self, db: &Db<'_>, command: &Command) -> Result<Receipt<Outcome>, Rejected> {
        let early = db.now();
        // The clock counts milliseconds, so the window has to be a good part of one.
        (0..20).for_each(|_| db.border());
        db.transaction(|state, _| {
            // Without the rule that a decision is never before the seat's last change.
            let mut seen = state.clone();
            if let Some(seat) = seen.seats.get_mut(command.seat()) {
                seat.changed_at = seat.changed_at.min(early);
            }
            let decided = decide(seen.view(command), command, early)?;
            write(state, &decided);
            Ok(decided.receipt)
        })
    }
}

/// T05.
struct TwoSnapshots;

impl Commands for TwoSnapshots {
    fn run(&self, db: &Db<'_>, command: &Command) -> Result<Receipt<Outcome>, Rejected> {
        let seen = db.transaction(|state, now| decide(state.view(command), command, now))?;
        if seen.seat.is_some() || seen.record.is_some() {
            return right_way(db, command);
        }
        let version = db.transaction(|state, _| version(state, command));
        Ok(Receipt {
            version,
            ..seen.receipt
        })
    }
}

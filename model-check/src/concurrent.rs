//! Real runs: real threads on a real store, recorded and checked.
//!
//! Many buyers want few seats. Each seat is the hot one for a while, then the next, since a sold seat
//! is of no more use. Holds are short, so that many expire; payments are delivered again by other
//! threads, and some come for holds that are long gone. At the end every seat and payment is read once
//! more, so that a lost last change shows.

mod engine;
mod mutants;
mod processes;
mod snapshot517;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use soldonce::{
    Claim, Command, HoldDuration, HoldId, HoldOutcome, HoldRequest, Outcome, OwnerId, PaymentId,
    SeatId, SeatStore, SqliteStore, StoreError,
};

use crate::history::{Client, History, Recorded, Recorder, RecorderOptions, RunClock};

pub use mutants::{ConcurrentMutant, Hunted, all, find, hunt, ids};
pub use processes::{ProcessError, Share, run_share, two_processes};
pub use snapshot517::{Begin, BusySnapshots, busy_snapshots};

/// How large a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Threads, each one client.
    pub threads: usize,
    /// Calls of all threads together.
    pub calls: usize,
    /// With the number of a thread, what its calls depend on. Not how they interleave.
    pub seed: u64,
}

/// A seat stays the hot one for so many calls.
const CALLS_PER_SEAT: usize = 40;

impl Plan {
    /// The seats of the run, to be added before it.
    pub fn seats(&self) -> Vec<SeatId> {
        (0..self.calls / CALLS_PER_SEAT + 3)
            .map(|number| SeatId::new(format!("s{number}")).expect("valid"))
            .collect()
    }
}

/// Runs the plan on a store that shares its clock with the recorder, and reads everything at the end.
///
/// The store must have the seats of the plan, added in one call.
///
/// # Errors
/// That of the first seat that could not be read before the run.
pub fn run(store: &dyn SeatStore, clock: &RunClock, plan: Plan) -> Result<Recorded, StoreError> {
    let seats = plan.seats();
    let mut options = RecorderOptions::new(clock.clone());
    options.keep = true;
    options.seats_added_at = store
        .seat(&seats[0])?
        .outcome
        .filter(|seat| seat.version == soldonce::Version::ZERO)
        .map(|seat| seat.changed_at);
    let recorder = Recorder::start(options);
    let payments = buyers(store, &recorder, plan);
    read_everything(store, &recorder, &seats, &payments);
    Ok(recorder.finish())
}

/// The reads that close a history. An error of one is recorded, too.
fn read_everything(
    store: &dyn SeatStore,
    recorder: &Recorder,
    seats: &[SeatId],
    payments: &[PaymentId],
) {
    let mut last = recorder.client();
    for seat in seats {
        let _ = last.read_seat(store, seat);
    }
    for payment in payments {
        let _ = last.read_payment(store, payment);
    }
}

/// The payments that a history names.
fn payments_of(history: &History) -> Vec<PaymentId> {
    history.names.payments().to_vec()
}

/// The threads of a run, without the reads at the end. Returns the payments that were delivered.
pub fn buyers(store: &dyn SeatStore, recorder: &Recorder, plan: Plan) -> Vec<PaymentId> {
    let market = Market {
        store,
        seats: plan.seats(),
        done: AtomicUsize::new(0),
        delivered: Mutex::new(Vec::new()),
        calls: plan.calls,
    };
    let start = Barrier::new(plan.threads);
    std::thread::scope(|threads| {
        for number in 0..plan.threads {
            let (market, start, client) = (&market, &start, recorder.client());
            threads.spawn(move || {
                let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
                rng.set_stream(number as u64);
                let owner = OwnerId::new(format!("o{number}")).expect("valid");
                start.wait();
                Buyer {
                    market,
                    client,
                    rng,
                    owner,
                    mine: None,
                }
                .buy();
            });
        }
    });
    let delivered = market.delivered.into_inner();
    let delivered = delivered.unwrap_or_else(PoisonError::into_inner);
    delivered.into_iter().map(|(payment, _)| payment).collect()
}

struct Market<'s> {
    store: &'s dyn SeatStore,
    seats: Vec<SeatId>,
    done: AtomicUsize,
    delivered: Mutex<Vec<(PaymentId, Claim)>>,
    calls: usize,
}

struct Buyer<'m> {
    market: &'m Market<'m>,
    client: Client,
    rng: ChaCha8Rng,
    owner: OwnerId,
    mine: Option<Claim>,
}

impl Buyer<'_> {
    fn buy(mut self) {
        loop {
            let done = self.market.done.fetch_add(1, Ordering::Relaxed);
            if done >= self.market.calls {
                return;
            }
            let hot = done / CALLS_PER_SEAT + usize::from(self.rng.random_ratio(1, 4));
            let seat = self.market.seats[hot].clone();
            match self.rng.random_range(0..100) {
                0..6 => {
                    let _ = self.client.read_seat(self.market.store, &seat);
                }
                6..10 => {
                    if let Some((payment, _)) = self.delivered() {
                        let _ = self.client.read_payment(self.market.store, &payment);
                    }
                }
                10..28 => self.pay(),
                28..38 => self.deliver_again(),
                38..48 => self.give_back(),
                _ => self.hold(seat),
            }
        }
    }

    fn hold(&mut self, seat: SeatId) {
        let ttl = [1, 2, 5, 50].choose(&mut self.rng).expect("some");
        let ttl = HoldDuration::from_millis(*ttl).expect("in range");
        let request = HoldRequest {
            seat: seat.clone(),
            owner: self.owner.clone(),
            ttl,
        };
        let held = self
            .client
            .execute(self.market.store, &Command::Hold(request));
        if let Ok(receipt) = held
            && let Outcome::Hold(
                HoldOutcome::Held { hold_id, .. } | HoldOutcome::AlreadyHeld { hold_id, .. },
            ) = receipt.outcome
        {
            self.mine = Some(Claim {
                seat,
                owner: self.owner.clone(),
                hold_id,
            });
        }
    }

    fn give_back(&mut self) {
        if let Some(claim) = self.mine.take() {
            let _ = self
                .client
                .execute(self.market.store, &Command::Release(claim));
        }
    }

    /// Pays for the last hold; sometimes for the one before it. The same hold is always paid with the
    /// same payment.
    fn pay(&mut self) {
        let Some(mut claim) = self.mine.clone() else {
            return;
        };
        if self.rng.random_ratio(1, 10) {
            claim.hold_id = HoldId::new(claim.hold_id.get() - 1).expect("holds count from 1");
        }
        let payment = PaymentId::new(format!("p-{}-{}", claim.seat, claim.hold_id)).expect("valid");
        self.lock().push((payment.clone(), claim.clone()));
        let _ = self.client.execute(
            self.market.store,
            &Command::ConfirmPayment { payment, claim },
        );
    }

    /// Delivers a payment once more that somebody has just delivered, or is delivering.
    fn deliver_again(&mut self) {
        let Some((payment, mut claim)) = self.delivered() else {
            return;
        };
        if self.rng.random_ratio(1, 10) {
            claim.owner = self.owner.clone();
        }
        let _ = self.client.execute(
            self.market.store,
            &Command::ConfirmPayment { payment, claim },
        );
    }

    /// One of the last few payments.
    fn delivered(&mut self) -> Option<(PaymentId, Claim)> {
        let delivered = self.lock();
        let last = delivered.len().saturating_sub(3);
        let few: Vec<_> = delivered[last..].to_vec();
        drop(delivered);
        few.choose(&mut self.rng).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(PaymentId, Claim)>> {
        let delivered = self.market.delivered.lock();
        delivered.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the real store on a file and adds the seats of the plan.
///
/// # Errors
/// Those of the store.
pub fn real_store(
    path: &Path,
    clock: &RunClock,
    plan: Plan,
    connections: u32,
) -> Result<SqliteStore, StoreError> {
    let store = SqliteStore::options()
        .pool_size(connections)
        .busy_timeout(std::time::Duration::from_mins(1))
        .clock(clock.clone())
        .open(path)?;
    store.add_seats(&plan.seats())?;
    Ok(store)
}

#[cfg(test)]
#[path = "concurrent_tests.rs"]
mod tests;

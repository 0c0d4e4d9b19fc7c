//! Seats that are held again and again, each hold granted.
//!
//! The seats are taken in their order, round and round, and the store's clock moves on by more than
//! the length of a hold with each time around. So every hold finds its seat free, or held by a hold
//! that has expired; the file does not grow, however fast and long the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use benches::Error;
use benches::scratch::{self, seat_ids};
use soldonce::{
    Clock, HoldDuration, HoldOutcome, HoldRequest, OwnerId, SeatId, SeatStore as _, SqliteStore,
    Timestamp,
};

use crate::context::Context;

/// How far the clock moves on with each time around.
const LAP_MS: u64 = 10;

/// Any time will do.
const BEGINNING_MS: u64 = 1_800_000_000_000;

/// The seats of one store, in a ring; also the store's clock.
#[derive(Debug, Clone)]
pub(crate) struct Ring {
    seats: Arc<[SeatId]>,
    taken: Arc<AtomicU64>,
}

impl Ring {
    /// So many seats.
    pub(crate) fn new(seats: u64) -> Self {
        Self {
            seats: seat_ids(0..seats).into(),
            taken: Arc::default(),
        }
    }

    /// Opens a store that lives by this ring's clock and holds its seats.
    pub(crate) fn store(
        &self,
        context: &Context,
        name: &str,
        options: soldonce::SqliteOptions,
    ) -> Result<SqliteStore, Error> {
        let store = context.store(name, options.clock(self.clone()))?;
        scratch::add(&store, &self.seats)?;
        Ok(store)
    }

    /// The next seat.
    pub(crate) fn next(&self) -> &SeatId {
        let taken = self.taken.fetch_add(1, Ordering::Relaxed);
        let place = taken % self.seats.len() as u64;
        &self.seats[usize::try_from(place).expect("below the number of seats")]
    }

    /// Holds the next seat; the name of the answer.
    pub(crate) fn hold(
        &self,
        store: &SqliteStore,
        owner: &OwnerId,
    ) -> Result<&'static str, soldonce::StoreError> {
        let request = HoldRequest {
            seat: self.next().clone(),
            owner: owner.clone(),
            ttl: Self::ttl(),
        };
        Ok(match store.hold(&request)?.outcome {
            HoldOutcome::Held { .. } => HELD,
            HoldOutcome::AlreadyHeld { .. } => "already_held",
            HoldOutcome::Refused(_) => "refused",
        })
    }

    /// The length of a hold: it is over before the ring comes around.
    pub(crate) fn ttl() -> HoldDuration {
        HoldDuration::from_millis(1).expect("a millisecond")
    }
}

/// The only answer that a ring gives.
pub(crate) const HELD: &str = "held";

impl Clock for Ring {
    fn now(&self) -> Timestamp {
        let laps = self.taken.load(Ordering::Relaxed) / self.seats.len() as u64;
        let millis = BEGINNING_MS + laps * LAP_MS;
        i64::try_from(millis)
            .ok()
            .and_then(|millis| Timestamp::from_unix_millis(millis).ok())
            .unwrap_or(Timestamp::MAX)
    }
}

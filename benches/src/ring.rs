//! Seats that are held again and again, each hold granted.
//!
//! The seats are taken in their order, round and round, and the store's clock moves on by the length of
//! a hold with each seat that is taken. So every hold finds its seat free, or held by a hold that has
//! long expired, as long as there are many more seats than calls under way; and the file does not grow,
//! however fast and long the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use soldonce::{
    Clock, HoldDuration, HoldOutcome, HoldRequest, OwnerId, SeatId, SeatStore as _, SqliteStore,
    Timestamp,
};

use crate::error::Error;
use crate::scratch::{self, seat_ids};

/// The length of a hold.
const TTL_MS: u64 = 1;

/// Any time will do.
const BEGINNING_MS: u64 = 1_800_000_000_000;

/// The seats of one store, in a ring; also the store's clock.
#[derive(Debug, Clone)]
pub struct Ring {
    seats: Arc<[SeatId]>,
    taken: Arc<AtomicU64>,
}

impl Ring {
    /// So many seats.
    pub fn new(seats: u64) -> Self {
        Self {
            seats: seat_ids(0..seats).into(),
            taken: Arc::default(),
        }
    }

    /// Adds the seats to a store, which must have been opened with this ring as its clock.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn add_to(&self, store: &SqliteStore) -> Result<(), Error> {
        scratch::add(store, &self.seats)
    }

    /// The next seat.
    pub fn next(&self) -> &SeatId {
        let taken = self.taken.fetch_add(1, Ordering::Relaxed);
        let place = taken % self.seats.len() as u64;
        &self.seats[usize::try_from(place).expect("below the number of seats")]
    }

    /// Holds the next seat, and names the answer: [`HELD`], or something is wrong.
    ///
    /// # Errors
    /// That of the store.
    pub fn hold(
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

    /// The length of a hold: it is over long before the ring comes around.
    pub fn ttl() -> HoldDuration {
        HoldDuration::from_millis(1).expect("a millisecond")
    }
}

/// The only answer that a ring gives.
pub const HELD: &str = "held";

impl Clock for Ring {
    fn now(&self) -> Timestamp {
        let millis = BEGINNING_MS + self.taken.load(Ordering::Relaxed) * TTL_MS;
        i64::try_from(millis)
            .ok()
            .and_then(|millis| Timestamp::from_unix_millis(millis).ok())
            .unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn every_hold_of_a_ring_is_granted_time_and_again() {
        let parent = tempfile::tempdir().expect("a folder");
        let ring = Ring::new(3);
        let store = Scratch::below(parent.path())
            .store("ring", SqliteStore::options().clock(ring.clone()))
            .expect("opened");
        ring.add_to(&store).expect("added");
        let (one, other) = (owner("one"), owner("other"));
        for _ in 0..4 {
            assert_eq!(ring.hold(&store, &one).expect("answered"), HELD);
            assert_eq!(ring.hold(&store, &other).expect("answered"), HELD);
        }
        assert_eq!(
            store
                .seat(&scratch::seat_id(0))
                .expect("read")
                .version
                .get(),
            3
        );
    }

    fn owner(name: &str) -> OwnerId {
        OwnerId::new(name).expect("valid")
    }
}

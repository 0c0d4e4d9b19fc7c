//! Things kept aside so that lending one takes no lock, in front of somebody who lends with one.
//!
//! The one that was used last is lent next, as far as that can be had for little: its memory is still in
//! the processor's cache, and what it knows of the database is the freshest.
//!
//! Nobody waits in vain: who finds none says that it waits, looks once more, and only then asks behind;
//! who brings one back puts it aside, and then, if somebody waits, hands one on to behind. Whichever of
//! the two comes first, one of them sees the other. Checked on many schedules in `shelf_tests.rs`, where
//! also nothing is lost or lent twice. That scheduler runs every operation in one order that all threads
//! see, so which memory orderings this needs is beyond it, and stands beside each.

use super::shelf_sync::{AtomicU64, AtomicUsize, Mutex, Ordering, fence};

/// Things kept aside. The one behind is given as closures: it lends to those who find none here, and
/// gets what is handed on.
pub(super) struct Shelf<T> {
    /// Only who took the bit of a place from one of the two sets touches it, so its lock is always free.
    places: Vec<Mutex<Option<T>>>,
    full: Places,
    empty: Places,
    waiting: AtomicUsize,
}

/// A set of places, one bit each.
struct Places(AtomicU64);

impl Places {
    /// Takes the lowest, if there is one.
    fn take(&self) -> Option<usize> {
        let mut set = self.0.load(Ordering::Acquire);
        while set != 0 {
            let rest = set & (set - 1);
            let took = self
                .0
                .compare_exchange_weak(set, rest, Ordering::AcqRel, Ordering::Acquire);
            match took {
                Ok(_) => return usize::try_from(set.trailing_zeros()).ok(),
                Err(other) => set = other,
            }
        }
        None
    }

    fn add(&self, place: usize) {
        self.0.fetch_or(1 << place, Ordering::AcqRel);
    }
}

impl<T> Shelf<T> {
    /// Room for so many, from 1 to 64: what there are more is handed on.
    pub(super) fn with_room_for(size: usize) -> Self {
        let size = size.clamp(1, 64);
        Self {
            places: (0..size).map(|_| Mutex::new(None)).collect(),
            full: Places(AtomicU64::new(0)),
            empty: Places(AtomicU64::new(u64::MAX >> (64 - size))),
            waiting: AtomicUsize::new(0),
        }
    }

    /// One that was kept aside, or one that `behind` lends, which may wait for what is handed on to it.
    pub(super) fn take<E>(&self, behind: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        match self.pop() {
            Some(found) => Ok(found),
            None => self.wait(behind),
        }
    }

    #[cold]
    fn wait<E>(&self, behind: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let found = self.pop().map_or_else(behind, Ok);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        found
    }

    /// Keeps it aside, or returns what is to be handed on to behind.
    #[must_use = "somebody waits for it"]
    pub(super) fn put_back(&self, thing: T) -> Option<T> {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return Some(thing);
        }
        let Some(place) = self.empty.take() else {
            return Some(thing);
        };
        *self.at(place) = Some(thing);
        self.full.add(place);
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return self.pop();
        }
        None
    }

    fn pop(&self) -> Option<T> {
        let place = self.full.take()?;
        let thing = self.at(place).take();
        self.empty.add(place);
        thing
    }

    fn at(&self, place: usize) -> impl std::ops::DerefMut<Target = Option<T>> + '_ {
        let place = self.places[place].lock();
        place.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

//! Things kept aside so that lending one takes no lock, in front of somebody who lends with one.
//!
//! Nobody waits in vain: who finds none says that it waits, looks once more, and only then asks behind;
//! who brings one back puts it aside, and then, if somebody waits, hands one on to behind. Whichever of
//! the two comes first, one of them sees the other. Checked on many schedules in `shelf_tests.rs`.

use super::shelf_sync::{AtomicUsize, Ordering, Queue, fence};

/// Things kept aside. The one behind is given as closures: it lends to those who find none here, and
/// gets what is handed on.
pub(super) struct Shelf<T> {
    aside: Queue<T>,
    waiting: AtomicUsize,
}

impl<T> Shelf<T> {
    /// Room for so many, at least 1.
    pub(super) fn with_room_for(size: usize) -> Self {
        Self {
            aside: Queue::new(size.max(1)),
            waiting: AtomicUsize::new(0),
        }
    }

    /// One that was kept aside, or one that `behind` lends, which may wait for what is handed on to it.
    pub(super) fn take<E>(&self, behind: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        match self.aside.pop() {
            Some(found) => Ok(found),
            None => self.wait(behind),
        }
    }

    #[cold]
    fn wait<E>(&self, behind: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let found = self.aside.pop().map_or_else(behind, Ok);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        found
    }

    /// Keeps it aside, or returns what is to be handed on to behind.
    #[must_use = "somebody waits for it"]
    pub(super) fn put_back(&self, thing: T) -> Option<T> {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return Some(thing);
        }
        if let Err(no_room) = self.aside.push(thing) {
            return Some(no_room);
        }
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return self.aside.pop();
        }
        None
    }
}

//! Things kept aside so that lending one is little work, in front of somebody who lends with a lock.
//!
//! A thread looks first at the place of the processor that it runs on. Threads that run at once then take
//! different things and share no memory; and a thing is lent again where it was used last, so what it needs is
//! still in that processor's cache, and what it knows of the database is the freshest that there is.
//!
//! Nobody waits in vain: who finds none says that it waits, looks once more, and only then asks behind;
//! who brings one back puts it aside, and then, if somebody waits, hands one on to behind. Whichever of
//! the two comes first, one of them sees the other. A place at which somebody else looks at that moment is
//! passed over: who looks there either takes what is there, and will bring it back, or brings one back itself,
//! and then looks whether somebody waits. Checked on many schedules in `shelf_tests.rs`, as is that nothing is
//! lost or lent twice. The scheduler there runs every operation in one order that all threads see, so it can
//! not show that the two fences are needed: without them each of the two could miss what the other wrote
//! before it looked.

use super::shelf_sync::{AtomicUsize, Mutex, MutexGuard, Ordering, fence};

/// Things kept aside. The one behind is given as closures: it lends to those who find none here, and
/// gets what is handed on.
pub(super) struct Shelf<T> {
    places: Vec<Place<T>>,
    /// The number of the processor that the thread runs on. It only decides where a search begins.
    processor: fn() -> usize,
    waiting: AtomicUsize,
}

/// Room for one thing. No two places share a line of a processor's cache, which is 64 bytes, or two of them.
#[repr(align(128))]
struct Place<T>(Mutex<Option<T>>);

impl<T> Place<T> {
    /// What is there; `None` while somebody else looks.
    fn look(&self) -> Option<MutexGuard<'_, Option<T>>> {
        self.0.try_lock().ok()
    }
}

impl<T> Shelf<T> {
    /// Room for so many, from 1 to 64: what there are more is handed on.
    pub(super) fn with_room_for(size: usize, processor: fn() -> usize) -> Self {
        let place = || Place(Mutex::new(None));
        Self {
            places: std::iter::repeat_with(place)
                .take(size.clamp(1, 64))
                .collect(),
            processor,
            waiting: AtomicUsize::new(0),
        }
    }

    /// One that was kept aside, or one that `behind` lends, which may wait for what is handed on to it.
    pub(super) fn take<E>(&self, behind: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        match self.find() {
            Some(found) => Ok(found),
            None => self.wait(behind),
        }
    }

    #[cold]
    fn wait<E>(&self, behind: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let found = self.find().map_or_else(behind, Ok);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        found
    }

    /// Keeps it aside, or returns what is to be handed on to behind.
    #[must_use = "somebody waits for it"]
    pub(super) fn put_back(&self, thing: T) -> Option<T> {
        let too_many = self.keep(thing);
        if too_many.is_some() {
            return too_many;
        }
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return self.find();
        }
        None
    }

    /// Takes the first thing there is.
    fn find(&self) -> Option<T> {
        self.search(|place| place.look()?.take())
    }

    /// Puts a thing into the first place that is empty, or returns it.
    fn keep<'s>(&'s self, thing: T) -> Option<T> {
        let empty = |place: &'s Place<T>| place.look().filter(|place| place.is_none());
        match self.search(empty) {
            Some(mut place) => place.replace(thing),
            None => Some(thing),
        }
    }

    /// Looks at one place after the other, that of this processor first, until something is found.
    fn search<'s, F>(&'s self, look: impl Fn(&'s Place<T>) -> Option<F>) -> Option<F> {
        let first = (self.processor)() % self.places.len();
        let (before, from) = self.places.split_at(first);
        from.iter()
            .find_map(&look)
            .or_else(|| before.iter().find_map(look))
    }
}

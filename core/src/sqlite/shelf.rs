//! Things kept aside so that lending one is little work, in front of somebody who lends with a lock.
//!
//! A thread looks first at the place of the processor that it runs on. Where there are as many places as
//! processors, threads that run at once then take different things and write to no memory that another one
//! needs; and a thing is lent again where it was used last, so what it needs is still in that processor's cache,
//! and what it knows of the database is the freshest that there is.
//!
//! Nobody waits in vain: at no time when all calls are over or asleep is somebody asleep behind while a thing
//! lies here. Who finds none counts itself among those who wait, looks at every place once more, under its
//! lock, and only then asks behind. Who brings one back puts it aside, and while somebody waits, it hands on to
//! behind whatever it finds, until it has found every place empty, each under its lock. Take a thing that
//! lies here at last and somebody who sleeps. If the sleeper looked at that place after the thing was put there,
//! it found it. If before, it had counted itself before, too; the lock of the place hands that on to
//! whoever puts the thing there, who therefore sees that somebody waits, and does not end before it has looked
//! at this very place and found it empty. So one of the two took the thing away.
//!
//! Only whoever is not sure to be the one that matters passes over a place that is locked at the moment: the
//! first look, which is followed by the other, and the search for an empty place, which may hand a thing on
//! instead. Checked on many schedules in `shelf_tests.rs`, as is that nothing is lost or lent twice. Those who
//! sleep behind may be overtaken: by somebody who finds a thing here, and where behind lends in no order, there.

use super::shelf_sync::{AtomicUsize, Mutex, MutexGuard, Ordering, PoisonError};

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
    fn glance(&self) -> Option<MutexGuard<'_, Option<T>>> {
        self.0.try_lock().ok()
    }

    /// What is there, for sure.
    fn look(&self) -> MutexGuard<'_, Option<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of those who wait, as long as it is there.
struct Waiting<'w>(&'w AtomicUsize);

impl<'w> Waiting<'w> {
    fn new(waiting: &'w AtomicUsize) -> Self {
        // The locks of the places order this and the reading of it; see above.
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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
        match self.search(|place| place.glance()?.take()) {
            Some(found) => Ok(found),
            None => self.wait(behind),
        }
    }

    #[cold]
    fn wait<E>(&self, behind: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let _counted = Waiting::new(&self.waiting);
        self.find().map_or_else(behind, Ok)
    }

    /// Keeps it aside, and hands on to behind what has no room, or what somebody waits for.
    pub(super) fn put_back(&self, thing: T, mut hand_on: impl FnMut(T)) {
        if let Some(no_room) = self.keep(thing) {
            return hand_on(no_room);
        }
        while self.waiting.load(Ordering::Relaxed) > 0
            && let Some(found) = self.find()
        {
            hand_on(found);
        }
    }

    /// Takes a thing; `None` when each place was empty, one after the other.
    #[cold]
    fn find(&self) -> Option<T> {
        self.search(|place| place.look().take())
    }

    /// Puts a thing into the first place that is empty, or returns it.
    fn keep<'s>(&'s self, thing: T) -> Option<T> {
        let empty = |place: &'s Place<T>| place.glance().filter(|place| place.is_none());
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

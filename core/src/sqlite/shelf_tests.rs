//! The shelf under a scheduler that tries the orders in which threads can run.
//!
//! This compiles `shelf.rs` a second time, on shuttle's atomics and locks. A thread that waits in vain is a deadlock, which the scheduler reports with the schedule.

mod shelf_sync {
    pub(super) use shuttle::sync::atomic::{AtomicUsize, Ordering};
    pub(super) use shuttle::sync::{Mutex, MutexGuard};
    pub(super) use std::sync::PoisonError;
}

#[expect(
    clippy::duplicate_mod,
    reason = "compiled again, on the scheduler's atomics"
)]
#[path = "shelf.rs"]
mod shelf;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use shelf::Shelf;
use shuttle::scheduler::DfsScheduler;
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::{Config, Runner, thread};

/// Who lends with a lock: some things, and a way to wait for one.
struct Behind {
    things: Mutex<Vec<usize>>,
    brought: Condvar,
}

impl Behind {
    fn lend(&self) -> usize {
        let mut things = self.things.lock().expect("no panic");
        loop {
            match things.pop() {
                Some(thing) => return thing,
                None => things = self.brought.wait(things).expect("no panic"),
            }
        }
    }

    fn bring(&self, thing: usize) {
        self.things.lock().expect("no panic").push(thing);
        self.brought.notify_one();
    }
}

thread_local! {
    /// Where the last search began. The scheduler runs all its threads on one.
    static PROCESSOR: Cell<usize> = const { Cell::new(0) };
}

/// Each search begins one place further on than the last: the worst that threads can do that are moved from
/// one processor to another.
fn moving() -> usize {
    PROCESSOR.replace(PROCESSOR.get() + 1)
}

/// So many threads borrow one of so many things, each so often, and at the end all things are there.
fn run(threads: usize, things: usize, rounds: usize) {
    PROCESSOR.set(0);
    let shelf = Arc::new(Shelf::with_room_for(things, moving));
    let behind = Arc::new(Behind {
        things: Mutex::new((0..things).collect()),
        brought: Condvar::new(),
    });
    let borrowers: Vec<_> = (0..threads)
        .map(|_| {
            let (shelf, behind) = (shelf.clone(), behind.clone());
            thread::spawn(move || {
                for _ in 0..rounds {
                    let thing = shelf.take(|| Ok::<_, ()>(behind.lend())).expect("lent");
                    thread::yield_now();
                    shelf.put_back(thing, |handed_on| behind.bring(handed_on));
                }
            })
        })
        .collect();
    for borrower in borrowers {
        borrower.join().expect("no panic");
    }
    let mut there = behind.things.lock().expect("no panic").clone();
    while let Ok(thing) = shelf.take(|| Err(())) {
        there.push(thing);
    }
    there.sort_unstable();
    assert!(there.into_iter().eq(0..things), "lost, or lent twice");
}

/// So many things are brought back while as many threads want one each, and let go only when all have one.
fn all_at_once(things: usize, processor: fn() -> usize) {
    PROCESSOR.set(0);
    let shelf = Arc::new(Shelf::with_room_for(things, processor));
    let behind = Arc::new(Behind {
        things: Mutex::new(Vec::new()),
        brought: Condvar::new(),
    });
    let served = Arc::new((Mutex::new(0), Condvar::new()));
    let mut threads = Vec::new();
    for thing in 0..things {
        let (of_one, behind_one) = (shelf.clone(), behind.clone());
        threads.push(thread::spawn(move || {
            of_one.put_back(thing, |handed_on| behind_one.bring(handed_on));
        }));
        let (shelf, behind, served) = (shelf.clone(), behind.clone(), served.clone());
        threads.push(thread::spawn(move || {
            let lent = shelf.take(|| Ok::<_, ()>(behind.lend()));
            lent.expect("lent");
            let (served, told) = &*served;
            let mut served = served.lock().expect("no panic");
            *served += 1;
            told.notify_all();
            while *served < things {
                served = told.wait(served).expect("no panic");
            }
        }));
    }
    for thread in threads {
        thread.join().expect("no panic");
    }
}

/// Brings it back alone, and says what was handed on.
fn bring_back<T>(shelf: &Shelf<T>, thing: T) -> Vec<T> {
    let mut handed_on = Vec::new();
    shelf.put_back(thing, |thing| handed_on.push(thing));
    handed_on
}

#[test]
fn what_is_kept_aside_is_lent_once_and_what_has_no_room_is_handed_on() {
    let one_thread = || {
        let shelf = Shelf::with_room_for(2, || 0);
        let take = || shelf.take(|| Err(()));
        assert_eq!(take(), Err(()), "an empty shelf asks behind");
        assert_eq!(bring_back(&shelf, 'a'), []);
        assert_eq!(bring_back(&shelf, 'b'), []);
        assert_eq!(bring_back(&shelf, 'c'), ['c']);
        assert_eq!((take(), take(), take()), (Ok('a'), Ok('b'), Err(())));
        assert_eq!(bring_back(&shelf, 'b'), []);
        assert_eq!((take(), take()), (Ok('b'), Err(())));
    };
    shuttle::check_random(one_thread, 1);
}

#[test]
fn there_is_room_for_up_to_64() {
    let one_thread = || {
        for (asked, room) in [(0, 1), (8, 8), (64, 64), (1_000, 64)] {
            let shelf = Shelf::with_room_for(asked, || 3);
            let kept = (0..100).take_while(|thing| bring_back(&shelf, *thing).is_empty());
            assert_eq!(kept.count(), room);
        }
    };
    shuttle::check_random(one_thread, 1);
}

#[test]
fn who_panics_behind_no_longer_waits() {
    let one_thread = || {
        let shelf = Shelf::with_room_for(2, || 0);
        let behind = || -> Result<char, ()> { resume_unwind(Box::new("behind panics")) };
        let panicked = catch_unwind(AssertUnwindSafe(|| shelf.take(behind)));
        assert!(panicked.is_err());
        assert_eq!(bring_back(&shelf, 'a'), [], "nobody waits for it");
    };
    shuttle::check_random(one_thread, 1);
}

#[test]
fn a_thing_is_lent_again_on_the_processor_that_used_it_last() {
    let one_thread = || {
        let shelf = Shelf::with_room_for(3, || PROCESSOR.get());
        let on = |processor| PROCESSOR.set(processor);
        let take = || shelf.take(|| Err(()));
        for (processor, thing) in [(2, 'c'), (0, 'a'), (1, 'b')] {
            on(processor);
            assert_eq!(bring_back(&shelf, thing), []);
        }
        // Of more processors than places some share one.
        for (processor, thing) in [(1, 'b'), (5, 'c'), (3, 'a')] {
            on(processor);
            assert_eq!(take(), Ok(thing));
        }
        on(1);
        assert_eq!(bring_back(&shelf, 'b'), []);
        assert_eq!(bring_back(&shelf, 'a'), []);
        on(0);
        assert_eq!(take(), Ok('b'), "the first of the others");
        on(2);
        assert_eq!(take(), Ok('a'));
        on(0);
        assert_eq!(bring_back(&shelf, 'a'), []);
        on(2);
        assert_eq!(take(), Ok('a'), "the search goes around");
        assert_eq!(take(), Err(()));
    };
    shuttle::check_random(one_thread, 1);
}

#[test]
fn two_threads_never_wait_in_vain_for_one_thing() {
    let scheduler = DfsScheduler::new(Some(20_000), false);
    Runner::new(scheduler, Config::default()).run(|| run(2, 1, 2));
}

#[test]
fn more_threads_than_things_never_wait_in_vain() {
    shuttle::check_random(|| run(3, 1, 3), 4_000);
    shuttle::check_random(|| run(4, 2, 3), 4_000);
}

#[test]
fn as_many_as_there_are_things_never_wait_in_vain() {
    for processor in [|| 0, moving] {
        shuttle::check_random(move || all_at_once(2, processor), 10_000);
        shuttle::check_pct(move || all_at_once(2, processor), 10_000, 4);
        shuttle::check_pct(move || all_at_once(3, processor), 4_000, 5);
    }
}

//! The latest reading under a scheduler that tries the orders in which threads can run.
//!
//! This compiles `latest.rs` a second time, on shuttle's atomics.

mod latest_sync {
    pub(super) use shuttle::sync::atomic::{AtomicI64, Ordering};
}

#[expect(
    clippy::duplicate_mod,
    reason = "compiled again, on the scheduler's atomics"
)]
#[path = "latest.rs"]
mod latest;

use latest::Latest;
use shuttle::scheduler::DfsScheduler;
use shuttle::sync::Arc;
use shuttle::{Config, Runner, thread};

#[test]
fn of_one_thread_no_reading_is_before_the_last() {
    let one_thread = || {
        let latest = Latest::default();
        let read = [5, 7, 7, 6, 8, 1, 9].map(|reading| latest.not_before(reading));
        assert_eq!(read, [5, 7, 7, 7, 8, 8, 9]);
    };
    shuttle::check_random(one_thread, 1);
}

/// Every order of two threads, each of which reads twice; and then this one, when both are over.
#[test]
fn between_threads_no_reading_is_before_one_that_was_over() {
    let run = || {
        let latest = Arc::new(Latest::default());
        let readers = [1, 2].map(|reading| {
            let latest = latest.clone();
            thread::spawn(move || {
                let first = latest.not_before(reading);
                let second = latest.not_before(0);
                assert!(
                    reading <= first && first <= second,
                    "{first}, then {second}"
                );
                second
            })
        });
        let last = readers.map(|reader| reader.join().expect("no panic"));
        assert_eq!(latest.not_before(0), 2, "after {last:?}");
    };
    let tried = Runner::new(DfsScheduler::new(None, false), Config::new()).run(run);
    assert!(tried > 10, "{tried} orders");
}

//! The callers of a bare loop: threads that sleep until the loop has served them all, and come again.
//!
//! A store has callers, a bare loop has none. This gives it some, at the least that waking them can
//! cost: each sleeps by itself, no lock is taken, and nothing is handed over.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::rounds::Taken;

/// Where callers and the loop meet.
struct Meeting {
    server: Thread,
    here: AtomicUsize,
    served: AtomicU64,
    over: AtomicBool,
}

impl Meeting {
    /// One caller: it comes, sleeps until it was served, and comes again.
    fn attend(&self, callers: usize) {
        let mut round = 0;
        while !self.over.load(Ordering::Acquire) {
            if self.here.fetch_add(1, Ordering::AcqRel) + 1 == callers {
                self.server.unpark();
            }
            while self.served.load(Ordering::Acquire) == round {
                thread::park();
            }
            round += 1;
        }
    }
}

/// Wakes all callers when it is dropped, for the last time.
struct Close<'m> {
    meeting: &'m Meeting,
    callers: Vec<Thread>,
}

impl Close<'_> {
    fn wake(&self) {
        self.meeting.served.fetch_add(1, Ordering::Release);
        for caller in &self.callers {
            caller.unpark();
        }
    }
}

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.meeting.over.store(true, Ordering::Release);
        self.wake();
    }
}

/// Serves so many callers at a time for so long: waits until all are there, does what `serve` does for all
/// of them at once, and wakes each. Counts callers served.
///
/// # Errors
/// The first error of `serve`.
pub fn serve(
    callers: usize,
    length: Duration,
    mut serve: impl FnMut() -> Result<(), Error>,
) -> Result<Taken, Error> {
    let meeting = Meeting {
        server: thread::current(),
        here: AtomicUsize::new(0),
        served: AtomicU64::new(0),
        over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let threads = (0..callers).map(|_| scope.spawn(|| meeting.attend(callers)));
        let close = Close {
            callers: threads.map(|caller| caller.thread().clone()).collect(),
            meeting: &meeting,
        };
        let (mut began, mut rounds) = (None, 0);
        loop {
            while meeting.here.load(Ordering::Acquire) < callers {
                thread::park();
            }
            let now = Instant::now();
            // Starting the threads is not measured.
            let time = now - *began.get_or_insert(now);
            if time >= length {
                return Ok(Taken {
                    count: rounds * callers as u64,
                    time,
                });
            }
            serve()?;
            rounds += 1;
            meeting.here.store(0, Ordering::Release);
            close.wake();
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_callers_are_served_at_once_round_after_round() {
        let mut rounds = 0;
        let taken = serve(8, Duration::from_millis(300), || {
            rounds += 1;
            Ok(())
        })
        .expect("served");
        assert!(rounds > 1, "{rounds} rounds");
        assert_eq!(taken.count, rounds * 8);
        assert!(taken.time >= Duration::from_millis(300));
    }

    #[test]
    fn an_error_ends_it_and_sends_the_callers_home() {
        let mut rounds = 0;
        let result = serve(8, Duration::from_mins(1), || {
            rounds += 1;
            match rounds {
                3 => Err(Error::Usage("no seat".to_owned())),
                _ => Ok(()),
            }
        });
        assert_eq!(result.expect_err("an error").to_string(), "no seat");
    }
}

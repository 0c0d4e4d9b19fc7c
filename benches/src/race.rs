//! Many threads that begin together and stop at one time.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evidence::hdrhistogram::Histogram;
use soldonce::StoreError;

use crate::error::Error;
use crate::rounds::Taken;

/// How many calls of a tight loop are made between two looks at the time: a look costs some tens of
/// nanoseconds, a call some microseconds.
const CALLS_A_LOOK: u64 = 64;

/// The longest wait that is told apart from longer ones: beyond any busy timeout in use.
const LONGEST: Duration = Duration::from_mins(2);

/// The start of a race, as one of its threads sees it.
#[derive(Debug)]
pub struct Start<'race> {
    barrier: &'race Barrier,
    failed: &'race AtomicBool,
    length: Duration,
    ready: bool,
}

/// The time that a race has.
#[derive(Debug, Clone, Copy)]
pub struct Time<'race> {
    failed: &'race AtomicBool,
    /// When it began.
    pub began: Instant,
    /// When it is over: no call begins after it.
    pub ends: Instant,
}

impl<'race> Start<'race> {
    /// Waits for all the others. What comes before is not measured.
    pub fn wait(&mut self) -> Time<'race> {
        self.ready = true;
        self.barrier.wait();
        let began = Instant::now();
        Time {
            failed: self.failed,
            began,
            ends: began + self.length,
        }
    }
}

impl Time<'_> {
    /// Is there time for another call? Not after the end, and not once a thread has failed.
    pub fn left(&self, now: Instant) -> bool {
        now < self.ends && !self.failed.load(Ordering::Relaxed)
    }

    /// Repeats a call until the time is over, and says how often it was made in how long.
    ///
    /// # Errors
    /// The first error of the call.
    pub fn repeat(&self, mut call: impl FnMut() -> Result<(), Error>) -> Result<Taken, Error> {
        let mut count = 0;
        loop {
            for _ in 0..CALLS_A_LOOK {
                call()?;
            }
            count += CALLS_A_LOOK;
            let now = Instant::now();
            if !self.left(now) {
                return Ok(Taken {
                    count,
                    time: now - self.began,
                });
            }
        }
    }
}

/// Runs `body` in so many threads. Each sets itself up, waits at its [`Start`] and runs until its
/// [`Time`] is over. Gives what each brings home, in order.
///
/// # Errors
/// The first error of a thread; the others stop then.
pub fn race<T: Send>(
    threads: usize,
    length: Duration,
    body: impl Fn(usize, &mut Start<'_>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let (barrier, failed) = (Barrier::new(threads), AtomicBool::new(false));
    let run = |number: usize| {
        let mut start = Start {
            barrier: &barrier,
            failed: &failed,
            length,
            ready: false,
        };
        let result = body(number, &mut start);
        if result.is_err() {
            failed.store(true, Ordering::Relaxed);
        }
        if !start.ready {
            // It failed before the start, for which the others still wait.
            start.wait();
        }
        result
    };
    thread::scope(|scope| {
        let run = &run;
        let started: Vec<_> = (0..threads)
            .map(|number| scope.spawn(move || run(number)))
            .collect();
        started
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

/// What all threads of a tight loop did together: all their calls, in the time of the slowest.
pub fn together(each: &[Taken]) -> Taken {
    Taken {
        count: each.iter().map(|one| one.count).sum(),
        time: each.iter().map(|one| one.time).max().unwrap_or_default(),
    }
}

/// What clients of a store were answered, and how long each waited.
#[derive(Debug, Clone)]
pub struct Crowd {
    /// How many answers each client got before the end.
    pub shares: Vec<u64>,
    /// Calls begun.
    pub attempts: u64,
    /// How often each answer was given.
    pub answers: BTreeMap<&'static str, u64>,
    /// How often the store was busy for longer than its timeout.
    pub busy: u64,
    /// How long each call took, in nanoseconds, whatever its end; also those that were under way
    /// when the time was over.
    pub waits: Histogram<u64>,
    /// The longest of them, exactly.
    pub longest: Duration,
}

impl Crowd {
    /// Nobody, yet.
    pub fn empty() -> Self {
        let highest = u64::try_from(LONGEST.as_nanos()).expect("two minutes");
        Self {
            shares: Vec::new(),
            attempts: 0,
            answers: BTreeMap::new(),
            busy: 0,
            waits: Histogram::new_with_bounds(1, highest, 3).expect("valid bounds"),
            longest: Duration::ZERO,
        }
    }

    /// All answers before the end.
    pub fn answered(&self) -> u64 {
        self.shares.iter().sum()
    }

    /// Jain's fairness index of the shares: 1 when all clients got the same.
    pub fn fairness(&self) -> f64 {
        let shares = || {
            self.shares
                .iter()
                .map(|share| crate::rounds::as_float(*share))
        };
        let (sum, squares) = (
            shares().sum::<f64>(),
            shares().map(|share| share * share).sum::<f64>(),
        );
        sum * sum / (crate::rounds::as_float(self.shares.len() as u64) * squares)
    }

    /// Counts a call that one client made outside of a [`crowd`].
    ///
    /// # Errors
    /// An error other than busy.
    pub fn alone(
        &mut self,
        answer: Result<&'static str, StoreError>,
        wait: Duration,
    ) -> Result<(), Error> {
        self.attempts += 1;
        self.count(answer, wait).map(drop)
    }

    fn count(
        &mut self,
        answer: Result<&'static str, StoreError>,
        wait: Duration,
    ) -> Result<bool, Error> {
        let answered = match answer {
            Ok(name) => {
                *self.answers.entry(name).or_default() += 1;
                true
            }
            Err(StoreError::Busy { .. }) => {
                self.busy += 1;
                false
            }
            Err(error) => return Err(Error::store("answering a client")(error)),
        };
        let ns = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        self.waits.saturating_record(ns.max(1));
        self.longest = self.longest.max(wait);
        Ok(answered)
    }

    /// Adds clients that ran beside these.
    pub fn join(&mut self, others: Self) {
        self.shares.extend(others.shares);
        self.add(
            others.attempts,
            others.answers,
            others.busy,
            &others.waits,
            others.longest,
        );
    }

    /// Adds another round of the same clients.
    pub fn again(&mut self, round: Self) {
        self.shares.resize(round.shares.len(), 0);
        self.shares
            .iter_mut()
            .zip(&round.shares)
            .for_each(|(sum, share)| *sum += share);
        self.add(
            round.attempts,
            round.answers,
            round.busy,
            &round.waits,
            round.longest,
        );
    }

    fn add(
        &mut self,
        attempts: u64,
        answers: BTreeMap<&'static str, u64>,
        busy: u64,
        waits: &Histogram<u64>,
        longest: Duration,
    ) {
        self.attempts += attempts;
        self.busy += busy;
        for (name, count) in answers {
            *self.answers.entry(name).or_default() += count;
        }
        self.waits.add(waits).expect("the same bounds");
        self.longest = self.longest.max(longest);
    }
}

/// Lets so many clients call for so long, each as fast as it is answered. `client` makes each; what
/// it makes is called again and again, and names the answer it got.
///
/// # Errors
/// An error other than busy.
pub fn crowd<C>(
    clients: usize,
    length: Duration,
    client: impl Fn(usize) -> C + Sync,
) -> Result<Crowd, Error>
where
    C: FnMut() -> Result<&'static str, StoreError>,
{
    let each = race(clients, length, |number, start| {
        let (mut call, mut mine, mut share) = (client(number), Crowd::empty(), 0);
        let time = start.wait();
        let mut now = Instant::now();
        while time.left(now) {
            mine.attempts += 1;
            let answer = call();
            let returned = Instant::now();
            let answered = mine.count(answer, returned - now)?;
            share += u64::from(answered && returned <= time.ends);
            now = returned;
        }
        mine.shares = vec![share];
        Ok(mine)
    })?;
    Ok(each.into_iter().fold(Crowd::empty(), |mut all, one| {
        all.join(one);
        all
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_fails_before_the_start_does_not_leave_the_others_waiting() {
        let result = race(4, Duration::from_mins(1), |number, start| {
            if number == 2 {
                return Err(Error::Usage("no seat".to_owned()));
            }
            start.wait().repeat(|| Ok(()))
        });
        assert_eq!(result.expect_err("an error").to_string(), "no seat");
    }

    #[test]
    fn every_client_is_counted_with_what_it_was_answered() {
        let crowd = crowd(3, Duration::from_millis(20), |number| {
            move || {
                thread::sleep(Duration::from_millis(1));
                match number {
                    0 => Err(StoreError::Busy {
                        waited: Duration::ZERO,
                        source: "locked".into(),
                    }),
                    1 => Ok("held"),
                    _ => Ok("refused"),
                }
            }
        })
        .expect("only busy");
        assert_eq!(crowd.shares[0], 0, "a busy store has not answered");
        assert!(crowd.shares[1] > 0 && crowd.shares[2] > 0);
        assert_eq!(
            crowd.attempts,
            crowd.busy + crowd.answers.values().sum::<u64>()
        );
        assert_eq!(crowd.attempts, crowd.waits.len());
        assert!(crowd.longest >= Duration::from_millis(1));
        assert!(crowd.fairness() < 0.7, "one of three got nothing");
    }

    #[test]
    fn an_error_that_is_not_busy_ends_the_race() {
        let result = crowd(2, Duration::from_mins(1), |_| {
            || Err(StoreError::Unknown("lost".into()))
        });
        assert!(result.expect_err("an error").to_string().contains("lost"));
    }

    #[test]
    fn rounds_of_the_same_clients_add_up_share_by_share() {
        let round = |shares: [u64; 2]| Crowd {
            shares: shares.to_vec(),
            ..Crowd::empty()
        };
        let mut all = Crowd::empty();
        all.again(round([1, 2]));
        all.again(round([3, 4]));
        assert_eq!(all.shares, [4, 6]);
        assert_eq!(all.answered(), 10);
    }
}

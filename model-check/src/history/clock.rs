//! One source of time for the instants of a run and for the store under it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use soldonce::{Clock, Timestamp};

/// How a store's clock and the instants of a history belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClockRule {
    /// Not at all: the store's clock may stand or step. `at` is compared with other times of the
    /// store only.
    #[default]
    Free,
    /// At instant `t` the store's clock shows `start` plus the whole milliseconds in `t`, give or take `slack`.
    Tied {
        /// What it showed at instant 0.
        start: Timestamp,
        /// By how much it may be off, in milliseconds, either way. 0 for a [`RunClock`].
        slack_millis: u32,
    },
}

impl ClockRule {
    /// The first time of the store, in milliseconds, that a call running from `invoked` may have been
    /// decided at.
    pub(crate) fn earliest(self, invoked: u64) -> i64 {
        match self {
            Self::Free => i64::MIN,
            Self::Tied {
                start,
                slack_millis,
            } => start
                .as_unix_millis()
                .saturating_add(whole_millis(invoked))
                .saturating_sub(i64::from(slack_millis)),
        }
    }

    /// The last time of the store, in milliseconds, that a call that ran until `returned` may have
    /// been decided at.
    pub(crate) fn latest(self, returned: u64) -> i64 {
        match self {
            Self::Free => i64::MAX,
            Self::Tied {
                start,
                slack_millis,
            } => start
                .as_unix_millis()
                .saturating_add(whole_millis(returned))
                .saturating_add(i64::from(slack_millis)),
        }
    }
}

fn whole_millis(nanos: u64) -> i64 {
    i64::try_from(nanos / 1_000_000).unwrap_or(i64::MAX)
}

/// A clock for both: it gives instants to a recorder and times to a store.
///
/// Cloning shares it. Give one clone to [`SqliteOptions::clock`](soldonce::SqliteOptions::clock) and
/// one to [`RecorderOptions`](super::RecorderOptions).
#[derive(Debug, Clone)]
pub struct RunClock {
    start: Timestamp,
    source: Source,
}

/// Where a clock began, in numbers that another process of the same machine and boot can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// What the store's clock showed at instant 0.
    pub start: Timestamp,
    /// What `CLOCK_MONOTONIC` showed then, in nanoseconds.
    pub monotonic_nanos: u64,
}

#[derive(Debug, Clone)]
enum Source {
    Monotonic {
        origin: Instant,
    },
    #[cfg(unix)]
    Machine {
        origin_nanos: u64,
    },
    Wall {
        origin_nanos: u64,
        latest: Arc<AtomicU64>,
    },
}

impl RunClock {
    /// A clock that starts now, for one process, on the machine's monotonic clock.
    pub fn start() -> Self {
        Self {
            start: now_millis(),
            source: Source::Monotonic {
                origin: Instant::now(),
            },
        }
    }

    /// Where a clock begins that starts now, for the processes that shall share it. `None` where the
    /// system has no monotonic clock that all processes read alike (anything but Unix).
    pub fn origin_now() -> Option<Origin> {
        Some(Origin {
            start: now_millis(),
            monotonic_nanos: machine_nanos()?,
        })
    }

    /// A clock that several processes of one machine share, and that never steps. `None` as in
    /// [`RunClock::origin_now`].
    pub fn since(origin: Origin) -> Option<Self> {
        #[cfg(unix)]
        return Some(Self {
            start: origin.start,
            source: Source::Machine {
                origin_nanos: origin.monotonic_nanos,
            },
        });
        #[cfg(not(unix))]
        None
    }

    /// A clock that several processes share: instant 0 is `start` in all of them. It reads the
    /// machine's wall clock, so a run during which that clock is set tells nothing: compare
    /// [`RunClock::instant`] with an [`Instant`] over the run to notice it.
    pub fn shared(start: Timestamp) -> Self {
        let millis = u64::try_from(start.as_unix_millis()).expect("a timestamp is not negative");
        Self {
            start,
            source: Source::Wall {
                origin_nanos: millis * 1_000_000,
                latest: Arc::new(AtomicU64::new(0)),
            },
        }
    }

    /// Nanoseconds since the start.
    pub fn instant(&self) -> u64 {
        match &self.source {
            Source::Monotonic { origin } => {
                u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX - 1)
            }
            #[cfg(unix)]
            Source::Machine { origin_nanos } => machine_nanos()
                .expect("it told the origin")
                .saturating_sub(*origin_nanos),
            Source::Wall {
                origin_nanos,
                latest,
            } => {
                let nanos = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(0));
                let instant = nanos.saturating_sub(*origin_nanos);
                latest.fetch_max(instant, Ordering::AcqRel).max(instant)
            }
        }
    }

    /// What to write into the header of a history that this clock timed.
    pub const fn rule(&self) -> ClockRule {
        ClockRule::Tied {
            start: self.start,
            slack_millis: 0,
        }
    }
}

#[cfg(unix)]
fn machine_nanos() -> Option<u64> {
    use nix::time::{ClockId, clock_gettime};
    let since_boot = clock_gettime(ClockId::CLOCK_MONOTONIC).ok()?;
    u64::try_from(std::time::Duration::from(since_boot).as_nanos()).ok()
}

#[cfg(not(unix))]
fn machine_nanos() -> Option<u64> {
    None
}

fn now_millis() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_unix_millis(millis).unwrap_or(Timestamp::MIN)
}

impl Clock for RunClock {
    fn now(&self) -> Timestamp {
        let millis = self.start.as_unix_millis() + whole_millis(self.instant());
        Timestamp::from_unix_millis(millis).unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_store_lies_within_the_instants_around_it() {
        let machine = RunClock::origin_now().and_then(RunClock::since);
        let clocks = [RunClock::start(), RunClock::shared(now_millis())];
        for clock in clocks.into_iter().chain(machine) {
            for _ in 0..1_000 {
                let (before, at, after) = (clock.instant(), clock.now(), clock.instant());
                let at = at.as_unix_millis();
                assert!(clock.rule().earliest(before) <= at && at <= clock.rule().latest(after));
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn two_clocks_of_one_origin_tell_the_same_time() {
        let origin = RunClock::origin_now().expect("Unix has one");
        let [first, second] = [origin; 2].map(|origin| RunClock::since(origin).expect("Unix"));
        for _ in 0..1_000 {
            let (before, between, after) = (first.instant(), second.instant(), first.instant());
            assert!(before <= between && between <= after);
        }
        assert_eq!(first.rule(), second.rule());
    }

    #[test]
    fn a_free_clock_allows_every_time_and_slack_widens_a_tied_one() {
        assert_eq!(ClockRule::Free.earliest(5), i64::MIN);
        let start = Timestamp::from_unix_millis(100).expect("in range");
        let tied = ClockRule::Tied {
            start,
            slack_millis: 2,
        };
        assert_eq!(tied.earliest(3_999_999), 101);
        assert_eq!(tied.latest(3_999_999), 105);
    }
}

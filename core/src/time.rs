//! Points in time, the length of a hold, and the clock that decides.
//!
//! Time comes from the store's own [`Clock`], never from a caller. A hold is live while
//! `now < expires`; at `now == expires` it is expired, for everybody. The comparison itself is
//! written once, in [`crate::transition`].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::Invalid;

mod latest;
#[cfg(test)]
mod latest_tests;
/// What the latest reading is kept in; its tests compile it again with another.
mod latest_sync {
    pub(super) use std::sync::atomic::{AtomicI64, Ordering};
}

use latest::Latest;

/// A point in time: whole milliseconds since 1970-01-01T00:00:00Z, 0 to [`Timestamp::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const MIN: Self = Self(0);
    /// 9999-12-31T23:59:59.999Z.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// A time from milliseconds since 1970.
    ///
    /// # Errors
    /// [`Invalid`] outside 0 to [`Timestamp::MAX`].
    pub fn from_unix_millis(millis: i64) -> Result<Self, Invalid> {
        if (Self::MIN.0..=Self::MAX.0).contains(&millis) {
            Ok(Self(millis))
        } else {
            Err(Self::outside(millis))
        }
    }

    #[cold]
    fn outside(millis: i64) -> Invalid {
        Invalid::new(
            "timestamp",
            format!("it is {millis} ms"),
            format!("0 to {} ms since 1970", Self::MAX.0),
        )
    }

    /// Milliseconds since 1970.
    pub const fn as_unix_millis(self) -> i64 {
        self.0
    }

    /// The time a hold of this length ends when it is made at this time; `None` after [`Timestamp::MAX`].
    pub fn checked_add(self, ttl: HoldDuration) -> Option<Self> {
        Self::from_unix_millis(self.0.checked_add(ttl.0)?).ok()
    }

    /// How long until `later`; zero when it is not later.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(u64::try_from(later.0 - self.0).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

/// How long a hold lives: whole milliseconds, 1 ms to [`HoldDuration::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldDuration(i64);

impl HoldDuration {
    /// The longest hold: 366 days.
    pub const MAX: Self = Self(366 * 24 * 60 * 60 * 1000);

    /// A length in milliseconds.
    ///
    /// # Errors
    /// [`Invalid`] outside 1 to [`HoldDuration::MAX`].
    pub fn from_millis(millis: i64) -> Result<Self, Invalid> {
        if (1..=Self::MAX.0).contains(&millis) {
            Ok(Self(millis))
        } else {
            Err(Invalid::new(
                "length of a hold",
                format!("it is {millis} ms"),
                format!("1 to {} ms (366 days)", Self::MAX.0),
            ))
        }
    }

    /// A length in seconds.
    ///
    /// # Errors
    /// [`Invalid`] outside 1 second to [`HoldDuration::MAX`].
    pub fn from_secs(secs: i64) -> Result<Self, Invalid> {
        Self::from_millis(secs.saturating_mul(1000))
    }

    /// The length in milliseconds.
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

impl fmt::Display for HoldDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

/// Where a store gets its time from.
///
/// A store reads it under the write lock, or after its snapshot was taken, so that answers are
/// ordered as their times are. A clock may step back: a store never decides about a seat at a time
/// before the seat's last change.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

/// The clock of the system; one such clock never runs backwards.
///
/// Outside 1970 to 9999 it stands still at the nearer end.
#[derive(Debug, Default)]
pub struct SystemClock {
    latest: Latest,
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let millis = i64::try_from(since_1970.as_millis())
            .unwrap_or(i64::MAX)
            .min(Timestamp::MAX.0);
        Timestamp(self.latest.not_before(millis))
    }
}

/// A clock that stands where it was set, for tests. It may be set back.
#[derive(Debug)]
pub struct ManualClock {
    millis: AtomicI64,
}

impl ManualClock {
    /// A clock that stands at this time. Share it with the store through [`Arc`].
    pub fn at(now: Timestamp) -> Self {
        Self {
            millis: AtomicI64::new(now.0),
        }
    }

    /// Sets it, forwards or back.
    pub fn set(&self, now: Timestamp) {
        self.millis.store(now.0, Ordering::Release);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.millis.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_lengths_outside_their_range_are_refused() {
        assert!(Timestamp::from_unix_millis(-1).is_err());
        assert!(Timestamp::from_unix_millis(Timestamp::MAX.0 + 1).is_err());
        assert!(HoldDuration::from_millis(0).is_err());
        assert!(HoldDuration::from_secs(i64::MAX).is_err());
        // 1,000 times this is 384 and a multiple of 2^64.
        assert!(HoldDuration::from_secs(18_446_744_073_709_552).is_err());
        assert_eq!(Timestamp::from_unix_millis(0), Ok(Timestamp::MIN));
        let last = Timestamp::from_unix_millis(Timestamp::MAX.0);
        assert_eq!(last, Ok(Timestamp::MAX));
        assert_eq!(
            HoldDuration::from_millis(HoldDuration::MAX.0 + 1)
                .expect_err("too long")
                .to_string(),
            "invalid length of a hold: it is 31622400001 ms; allowed: 1 to 31622400000 ms (366 days)"
        );
    }

    #[test]
    fn a_hold_can_not_end_after_the_last_timestamp() {
        let millisecond = HoldDuration::from_millis(1).expect("valid");
        assert_eq!(Timestamp::MAX.checked_add(millisecond), None);
        assert_eq!(Timestamp::MIN.checked_add(millisecond), Some(Timestamp(1)));
    }

    #[test]
    fn the_time_until_something_past_is_zero() {
        assert_eq!(Timestamp(5).until(Timestamp(3)), Duration::ZERO);
        assert_eq!(Timestamp(3).until(Timestamp(5)), Duration::from_millis(2));
    }

    #[test]
    fn the_system_clock_says_what_the_system_says() {
        let clock = SystemClock::default();
        let of_the_system = || {
            let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
            i64::try_from(since_1970.expect("after 1970").as_millis()).expect("before 9999")
        };
        for _ in 0..3 {
            let before = of_the_system();
            let now = clock.now().0;
            assert!(before <= now && now <= of_the_system());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn the_system_clock_does_not_run_backwards() {
        let clock = SystemClock::default();
        let ahead = clock.now().0 + 1_000_000;
        clock.latest.not_before(ahead);
        assert_eq!(clock.now(), Timestamp(ahead));
    }
}

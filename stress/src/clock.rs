//! One clock for a run: the store's times and the measured ones are the same.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use soldonce::{Clock, Timestamp};

use crate::units::nanos;

/// The time on the system's clock when the run began, and from there on a clock that never steps.
///
/// So a hold ends when it should even if somebody sets the system's clock during the run, and the
/// time in a receipt can be compared with the times at which the call began and ended.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    zero: Instant,
    zero_unix_nanos: u64,
}

impl RunClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            zero: Instant::now(),
            zero_unix_nanos: nanos(since_1970),
        }
    }

    /// Nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        nanos(self.zero.elapsed())
    }

    /// Nanoseconds since 1970 at the start.
    pub const fn zero_unix_nanos(&self) -> u64 {
        self.zero_unix_nanos
    }

    /// Sleeps until that time, in short naps, unless told to stop. Says whether it slept it out.
    pub fn sleep_until(&self, at_ns: u64, stop: impl Fn() -> bool) -> bool {
        const NAP_NS: u64 = 20_000_000;
        loop {
            let now = self.now_ns();
            if stop() {
                return false;
            }
            if now >= at_ns {
                return true;
            }
            std::thread::sleep(Duration::from_nanos((at_ns - now).min(NAP_NS)));
        }
    }
}

impl Clock for RunClock {
    fn now(&self) -> Timestamp {
        let millis = self.zero_unix_nanos.saturating_add(self.now_ns()) / 1_000_000;
        i64::try_from(millis)
            .ok()
            .and_then(|millis| Timestamp::from_unix_millis(millis).ok())
            .unwrap_or(Timestamp::MAX)
    }
}

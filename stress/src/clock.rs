//! One clock for a run: the store's times and the measured ones are the same.

use std::time::Duration;

use model_check::history::{self, Origin};
use soldonce::{Clock, Timestamp};

/// The time on the system's clock when the run began, and from there on a clock that never steps.
///
/// So a hold ends when it should even if somebody sets the system's clock during the run, and the
/// time in a receipt can be compared with the instants at which the call began and ended.
#[derive(Debug, Clone)]
pub struct RunClock(history::RunClock);

impl RunClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self(history::RunClock::start())
    }

    /// A clock that several processes share; `None` where the system has none that they can.
    pub fn since(origin: Origin) -> Option<Self> {
        history::RunClock::since(origin).map(Self)
    }

    /// The clock as a recorder takes it.
    pub fn for_recorder(&self) -> history::RunClock {
        self.0.clone()
    }

    /// Nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        self.0.instant()
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
        self.0.now()
    }
}

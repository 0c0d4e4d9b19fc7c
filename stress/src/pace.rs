//! When a client makes its next call.

use std::sync::atomic::AtomicBool;

use crate::client::stopped;
use crate::clock::RunClock;
use crate::config::{Arrival, Until};
use crate::units::nanos;

/// A call that starts within this after it was due is on time, in nanoseconds: timers and schedulers
/// are not finer.
pub const ON_TIME_NS: u64 = 10_000_000;
/// A wait that is worth doing something before it, in nanoseconds.
const LONG_WAIT_NS: u64 = 5_000_000;

/// The times of a run, in nanoseconds since its start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// When the first call is due.
    pub begin_ns: u64,
    /// When the measured part begins.
    pub measured_from_ns: u64,
    /// When it ends, if it ends at a time.
    pub end_ns: Option<u64>,
    /// After how many measured calls it ends, if it ends so.
    pub calls: Option<u64>,
    /// Over how many clients the load is spread.
    pub clients: u32,
    /// Calls a second, under a fixed arrival rate.
    pub rate: Option<f64>,
}

/// The moment for one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// When it was due, under a fixed arrival rate.
    pub intended_ns: Option<u64>,
    /// Whether it belongs to the measured part.
    pub measured: bool,
}

impl Schedule {
    /// The times of a run whose first call is due then.
    pub fn new(
        begin_ns: u64,
        warmup: std::time::Duration,
        until: Until,
        arrival: Arrival,
        clients: u32,
    ) -> Self {
        let measured_from_ns = begin_ns.saturating_add(nanos(warmup));
        let (end_ns, calls) = match until {
            Until::Elapsed(time) => (Some(measured_from_ns.saturating_add(nanos(time))), None),
            Until::Calls(calls) => (None, Some(calls)),
        };
        Self {
            begin_ns,
            measured_from_ns,
            end_ns,
            calls,
            clients,
            rate: match arrival {
                Arrival::Open { rate } => Some(rate),
                Arrival::Closed => None,
            },
        }
    }

    /// How many measured calls were due before this time, under a fixed arrival rate.
    pub fn due_before(&self, at_ns: u64) -> Option<u64> {
        let rate = self.rate?;
        let until = at_ns.min(self.end_ns.unwrap_or(u64::MAX));
        let before = |ns: u64| self.number_due(rate, ns);
        let due = before(until).saturating_sub(before(self.measured_from_ns.min(until)));
        Some(due.min(self.calls.unwrap_or(u64::MAX)))
    }

    /// How many calls, warm-up and all, are due before this time.
    fn number_due(&self, rate: f64, at_ns: u64) -> u64 {
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and put right below"
        )]
        let mut number = (at_ns.saturating_sub(self.begin_ns) as f64 * rate / 1e9) as u64;
        while number > 0 && self.due_ns(rate, number - 1) >= at_ns {
            number -= 1;
        }
        while self.due_ns(rate, number) < at_ns {
            number += 1;
        }
        number
    }

    /// When the call of this number (over all clients) is due.
    fn due_ns(&self, rate: f64, number: u64) -> u64 {
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative; a run has far fewer than 2^53 calls or nanoseconds"
        )]
        let offset = (number as f64 * 1e9 / rate) as u64;
        self.begin_ns.saturating_add(offset)
    }
}

/// The pace of one client.
#[derive(Debug)]
pub struct Pace {
    schedule: Schedule,
    client: u32,
    number: u64,
    measured: u64,
}

impl Pace {
    /// The pace of the client of this number, from 0.
    pub const fn new(schedule: Schedule, client: u32) -> Self {
        Self {
            schedule,
            client,
            number: 0,
            measured: 0,
        }
    }

    /// Waits for the moment of the next call; `None` when there is none any more. Before a wait of
    /// more than a few milliseconds, `before_a_wait` is called.
    pub fn next(
        &mut self,
        clock: &RunClock,
        stop: &AtomicBool,
        before_a_wait: impl FnOnce(),
    ) -> Option<Slot> {
        let schedule = self.schedule;
        if self.measured >= self.quota() {
            return None;
        }
        let intended_ns = match schedule.rate {
            None => {
                if !clock.sleep_until(schedule.begin_ns, || stopped(stop)) {
                    return None;
                }
                None
            }
            Some(rate) => {
                let clients = u64::from(schedule.clients);
                let number = self.number * clients + u64::from(self.client);
                let due_ns = schedule.due_ns(rate, number);
                if schedule.end_ns.is_some_and(|end| due_ns >= end) {
                    return None;
                }
                self.number += 1;
                if due_ns > clock.now_ns().saturating_add(LONG_WAIT_NS) {
                    before_a_wait();
                }
                if !clock.sleep_until(due_ns, || stopped(stop)) {
                    return None;
                }
                Some(due_ns)
            }
        };
        let now = clock.now_ns();
        // What was due before the end may still start on time after it.
        let grace_ns = if intended_ns.is_some() { ON_TIME_NS } else { 0 };
        if schedule.end_ns.is_some_and(|end| now >= end + grace_ns) {
            return None;
        }
        let measured = intended_ns.unwrap_or(now) >= schedule.measured_from_ns;
        self.measured += u64::from(measured);
        Some(Slot {
            intended_ns,
            measured,
        })
    }

    /// Room for a second call in the slot that was given last. In an open loop there is none: each call
    /// has a time at which it is due.
    pub fn one_more(&mut self, slot: Slot) -> bool {
        let more = self.schedule.rate.is_none() && self.measured < self.quota();
        self.measured += u64::from(more && slot.measured);
        more
    }

    /// How many measured calls are this client's share.
    fn quota(&self) -> u64 {
        let clients = u64::from(self.schedule.clients);
        self.schedule.calls.map_or(u64::MAX, |calls| {
            calls / clients + u64::from(u64::from(self.client) < calls % clients)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn schedule(until: Until, arrival: Arrival, clients: u32) -> Schedule {
        Schedule::new(0, Duration::ZERO, until, arrival, clients)
    }

    fn slots(schedule: Schedule, client: u32) -> Vec<Slot> {
        let (clock, stop) = (RunClock::start(), AtomicBool::new(false));
        let mut pace = Pace::new(schedule, client);
        std::iter::from_fn(|| pace.next(&clock, &stop, || ())).collect()
    }

    #[test]
    fn calls_are_shared_evenly_and_none_is_lost() {
        let schedule = schedule(Until::Calls(10), Arrival::Closed, 4);
        let shares: Vec<_> = (0..4).map(|client| slots(schedule, client).len()).collect();
        assert_eq!(shares, [3, 3, 2, 2]);
    }

    #[test]
    fn under_a_fixed_rate_each_call_is_due_at_its_own_time_however_late_it_starts() {
        let schedule = schedule(
            Until::Elapsed(Duration::from_mins(1)),
            Arrival::Open { rate: 1_000.0 },
            2,
        );
        let (clock, stop) = (RunClock::start(), AtomicBool::new(false));
        let mut pace = Pace::new(schedule, 1);
        let first = pace.next(&clock, &stop, || ()).expect("due");
        std::thread::sleep(Duration::from_millis(10));
        let second = pace.next(&clock, &stop, || ()).expect("due");
        assert_eq!(first.intended_ns, Some(1_000_000));
        assert_eq!(second.intended_ns, Some(3_000_000));
        assert_eq!(schedule.due_before(u64::MAX), Some(60_000));
        assert_eq!(schedule.due_before(10_500_000), Some(11));
    }

    #[test]
    fn calls_of_the_warm_up_are_not_measured_and_not_due_in_the_measured_part() {
        let schedule = Schedule::new(
            0,
            Duration::from_millis(10),
            Until::Elapsed(Duration::from_millis(20)),
            Arrival::Open { rate: 1_000.0 },
            1,
        );
        let slots = slots(schedule, 0);
        assert_eq!(
            slots.iter().take(10).filter(|slot| slot.measured).count(),
            0
        );
        assert_eq!(schedule.due_before(u64::MAX), Some(20));
        assert_eq!(schedule.due_before(5_000_000), Some(0));
    }

    #[test]
    fn a_stopped_run_has_no_next_call() {
        let schedule = schedule(
            Until::Elapsed(Duration::from_hours(1)),
            Arrival::Open { rate: 0.01 },
            1,
        );
        let (clock, stop) = (RunClock::start(), AtomicBool::new(true));
        assert_eq!(Pace::new(schedule, 0).next(&clock, &stop, || ()), None);
    }
}

//! How samples get from the clients into the figures.
//!
//! Each client keeps its samples in a small [`Buffer`] of its own and hands them over in bunches, so
//! that a thousand clients share one set of histograms and the memory of a run does not grow with
//! its length. What was *attempted* is counted before a call and apart from how it ended; if a
//! sample were lost or counted twice, the two would not agree and the run would not pass.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::answer::{Ending, Operation};
use crate::measure::{ClientFigures, Figures};
use crate::pace::Schedule;

/// How many samples a client keeps before it hands them over.
const BUNCH: usize = 256;
/// How long a client keeps samples at most, in nanoseconds: the live line would stand still else.
const KEEP_NS: u64 = 50_000_000;

/// One call, measured. Times are nanoseconds since the start of the run.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// How it ended.
    pub ending: Ending,
    /// Whether it belongs to the measured part of the run.
    pub measured: bool,
    /// When it should have started.
    pub intended_ns: u64,
    /// When it started.
    pub started_ns: u64,
    /// When it was answered.
    pub ended_ns: u64,
}

/// The figures of a run that is going on, shared by all its clients.
#[derive(Debug)]
pub struct Meter {
    figures: Mutex<Figures>,
}

impl Meter {
    /// For so many clients.
    pub fn new(clients: usize) -> Self {
        Self {
            figures: Mutex::new(Figures::new(clients)),
        }
    }

    /// The figures as they are now, locked. Clients wait meanwhile, so be brief.
    pub fn figures(&self) -> MutexGuard<'_, Figures> {
        // A client that panicked while it held the lock is reported by the runner.
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The figures when all clients are done.
    pub fn into_figures(self) -> Figures {
        self.figures
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The samples of one client that were not handed over yet.
#[derive(Debug)]
pub struct Buffer<'meter> {
    meter: &'meter Meter,
    client: usize,
    measured_from_ns: u64,
    open: bool,
    samples: Vec<Sample>,
    attempts: [[u64; Operation::ALL.len()]; 2],
    hot_holds: u64,
    retries: u64,
    mine: ClientFigures,
}

impl<'meter> Buffer<'meter> {
    /// The buffer of this client.
    pub fn new(meter: &'meter Meter, client: usize, schedule: &Schedule) -> Self {
        Self {
            meter,
            client,
            measured_from_ns: schedule.measured_from_ns,
            open: schedule.rate.is_some(),
            samples: Vec::with_capacity(BUNCH),
            attempts: [[0; Operation::ALL.len()]; 2],
            hot_holds: 0,
            retries: 0,
            mine: ClientFigures::default(),
        }
    }

    /// Counts a call that is about to be made.
    pub fn attempt(&mut self, operation: Operation, measured: bool) {
        self.attempts[usize::from(measured)][operation as usize] += 1;
    }

    /// Counts a measured hold on a hot seat.
    pub fn hot_hold(&mut self) {
        self.hot_holds += 1;
    }

    /// Counts a call that is made again after an error.
    pub fn retry(&mut self) {
        self.retries += 1;
    }

    /// Takes a call that was answered.
    pub fn answered(&mut self, sample: Sample) {
        if sample.measured {
            self.mine.answered += 1;
            let response = sample.ended_ns.saturating_sub(sample.intended_ns);
            self.mine.worst_ns = self.mine.worst_ns.max(response);
        }
        self.samples.push(sample);
        let oldest = self.samples[0].ended_ns;
        if self.samples.len() == BUNCH || sample.ended_ns.saturating_sub(oldest) >= KEEP_NS {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let mut figures = self.meter.figures();
        for sample in self.samples.drain(..) {
            figures.take(&sample, self.measured_from_ns, self.open);
        }
        let [unmeasured, measured] = std::mem::take(&mut self.attempts);
        for operation in 0..Operation::ALL.len() {
            figures.unmeasured.attempts[operation] += unmeasured[operation];
            figures.measured.attempts[operation] += measured[operation];
        }
        figures.hot_holds += std::mem::take(&mut self.hot_holds);
        figures.retries += std::mem::take(&mut self.retries);
        figures.clients[self.client] = self.mine;
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        self.hand_over();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn schedule(measured_from_ns: u64, rate: Option<f64>) -> Schedule {
        Schedule {
            begin_ns: 0,
            measured_from_ns,
            end_ns: None,
            calls: None,
            clients: 1,
            rate,
        }
    }

    fn sample(ending: Ending, intended_ns: u64, started_ns: u64, ended_ns: u64) -> Sample {
        Sample {
            ending,
            measured: true,
            intended_ns,
            started_ns,
            ended_ns,
        }
    }

    #[test]
    fn the_wait_for_a_stalled_client_is_in_the_response_time_and_not_in_the_service_time() {
        let meter = Meter::new(1);
        let mut buffer = Buffer::new(&meter, 0, &schedule(0, Some(1_000.0)));
        // Due every millisecond; the first takes a second, the others start late because of it.
        for number in 0..1_000 {
            let due = number * SECOND / 1_000;
            let started = due.max(SECOND + number);
            buffer.attempt(Operation::Hold, true);
            let began = if number == 0 { 0 } else { started };
            buffer.answered(sample(Ending::HELD, due, began, started + 1_000));
        }
        drop(buffer);
        let figures = meter.into_figures();
        let at = Ending::HELD.index();
        let service = figures.service[at].as_ref().expect("recorded");
        let response = figures.response[at].as_ref().expect("recorded");
        assert!(service.value_at_quantile(0.99) < 10_000);
        assert!(response.value_at_quantile(0.5) > SECOND / 3);
        assert!(figures.merged(|_| true).max() > SECOND - SECOND / 100);
    }

    #[test]
    fn the_warm_up_is_counted_but_not_measured() {
        let meter = Meter::new(1);
        let mut buffer = Buffer::new(&meter, 0, &schedule(SECOND, None));
        buffer.attempt(Operation::Hold, false);
        buffer.answered(Sample {
            measured: false,
            ..sample(Ending::HELD, 0, 0, 5)
        });
        buffer.attempt(Operation::Hold, true);
        buffer.answered(sample(Ending::HELD, SECOND, SECOND, 2 * SECOND + 1));
        drop(buffer);
        let figures = meter.into_figures();
        assert_eq!(figures.unmeasured.of(Ending::HELD), 1);
        assert_eq!(figures.measured.of(Ending::HELD), 1);
        assert_eq!(figures.measured.all_attempts(), 1);
        assert_eq!(figures.service[0].as_ref().expect("recorded").len(), 1);
        assert_eq!(figures.clients[0].answered, 1);
        assert_eq!(figures.by_second.len(), 2, "it ended in the second second");
        assert_eq!(figures.by_second[1][0], 1);
    }

    #[test]
    fn figures_of_two_processes_add_up() {
        let of = |ending| {
            let meter = Meter::new(1);
            let mut buffer = Buffer::new(&meter, 0, &schedule(0, None));
            for _ in 0..1_000 {
                buffer.attempt(Operation::Hold, true);
                buffer.answered(sample(ending, 0, 0, 1_000));
            }
            drop(buffer);
            meter.into_figures()
        };
        let mut all = of(Ending::HELD);
        all.add(&of(Ending::SOLD));
        assert_eq!(all.measured.of(Ending::HELD), 1_000);
        assert_eq!(all.measured.of(Ending::SOLD), 1_000);
        assert_eq!(all.clients.len(), 2);
        assert_eq!(all.merged(|_| true).len(), 2_000);
    }
}

//! What is measured: counts, latencies, a series by the second, and how evenly clients were served.
//!
//! Each client keeps its samples in a small [`Buffer`] of its own and hands them over in bunches, so
//! that a thousand clients share one set of histograms and the memory of a run does not grow with
//! its length. What was *attempted* is counted before a call and apart from how it ended; if a
//! sample were lost or counted twice, the two would not agree and the run would not pass.
//!
//! *Service time* is from the start of a call to its answer. *Response time* is from when the call
//! should have started: under a fixed arrival rate a stall then shows in every call that it delayed,
//! not only in the one that was stuck (coordinated omission).

use std::sync::{Mutex, MutexGuard, PoisonError};

use hdrhistogram::Histogram;

use crate::answer::{Ending, Operation};
use crate::pace::Schedule;

/// The longest time that a histogram can hold: one hour. A longer one counts as one hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
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

/// What one client did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientFigures {
    /// Measured calls that were answered.
    pub answered: u64,
    /// The longest response time of a measured call, in nanoseconds.
    pub worst_ns: u64,
}

/// How often each operation was begun, and how often each ending was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Calls begun, by operation; counted before the call.
    pub attempts: [u64; Operation::ALL.len()],
    /// Calls ended, by ending.
    pub endings: [u64; Ending::COUNT],
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            attempts: [0; Operation::ALL.len()],
            endings: [0; Ending::COUNT],
        }
    }
}

impl Counts {
    /// All calls begun.
    pub fn all_attempts(&self) -> u64 {
        self.attempts.iter().sum()
    }

    /// How often this ending was reached.
    pub fn of(&self, ending: Ending) -> u64 {
        self.endings[ending.index()]
    }

    /// All endings of one operation.
    pub fn ended(&self, operation: Operation) -> u64 {
        Ending::all()
            .filter(|ending| ending.operation() == operation)
            .map(|ending| self.of(ending))
            .sum()
    }

    /// All errors.
    pub fn errors(&self) -> u64 {
        Ending::all()
            .filter(|ending| ending.is_error())
            .map(|ending| self.of(ending))
            .sum()
    }

    /// Adds the counts of another part.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.attempts.iter_mut().zip(other.attempts) {
            *mine += theirs;
        }
        for (mine, theirs) in self.endings.iter_mut().zip(other.endings) {
            *mine += theirs;
        }
    }
}

/// Everything that was measured.
#[derive(Debug, Clone)]
pub struct Figures {
    /// The measured part.
    pub measured: Counts,
    /// Calls outside it: the warm-up, and payments that had to be settled after the end.
    pub unmeasured: Counts,
    /// Service time by ending, in nanoseconds; `None` where nothing ended so.
    pub service: Vec<Option<Histogram<u64>>>,
    /// Response time by ending, kept under a fixed arrival rate.
    pub response: Vec<Option<Histogram<u64>>>,
    /// How late calls started, in nanoseconds, under a fixed arrival rate.
    pub lateness: Option<Histogram<u64>>,
    /// Calls that were answered, by the second since the measured part began, and by ending.
    pub by_second: Vec<[u32; Ending::COUNT]>,
    /// By client.
    pub clients: Vec<ClientFigures>,
    /// Measured holds that were asked of a hot seat.
    pub hot_holds: u64,
    /// Calls that were made again after an error.
    pub retries: u64,
    /// When the last measured call was answered, in nanoseconds since the start of the run.
    pub last_ns: u64,
}

/// A histogram for times of up to an hour, at three significant digits.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("valid bounds")
}

impl Figures {
    /// Nothing yet, for so many clients.
    pub fn new(clients: usize) -> Self {
        Self {
            measured: Counts::default(),
            unmeasured: Counts::default(),
            service: vec![None; Ending::COUNT],
            response: vec![None; Ending::COUNT],
            lateness: None,
            by_second: Vec::new(),
            clients: vec![ClientFigures::default(); clients],
            hot_holds: 0,
            retries: 0,
            last_ns: 0,
        }
    }

    /// The histogram of all endings that a test picks, added up. The response time where it was
    /// kept, else the service time.
    pub fn merged(&self, pick: impl Fn(Ending) -> bool) -> Histogram<u64> {
        let from = if self.lateness.is_some() {
            &self.response
        } else {
            &self.service
        };
        let mut all = histogram();
        for ending in Ending::all().filter(|ending| pick(*ending)) {
            if let Some(part) = &from[ending.index()] {
                all.add(part).expect("the same bounds");
            }
        }
        all
    }

    /// The service time of all calls.
    pub fn all_service(&self) -> Histogram<u64> {
        let mut all = histogram();
        for part in self.service.iter().flatten() {
            all.add(part).expect("the same bounds");
        }
        all
    }

    /// Adds what another process measured; its clients come after those that are here.
    pub fn add(&mut self, other: &Self) {
        self.measured.add(&other.measured);
        self.unmeasured.add(&other.unmeasured);
        for (mine, theirs) in [
            (&mut self.service, &other.service),
            (&mut self.response, &other.response),
        ] {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                add_histogram(mine, theirs.as_ref());
            }
        }
        add_histogram(&mut self.lateness, other.lateness.as_ref());
        if self.by_second.len() < other.by_second.len() {
            self.by_second
                .resize(other.by_second.len(), [0; Ending::COUNT]);
        }
        for (mine, theirs) in self.by_second.iter_mut().zip(&other.by_second) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
        self.clients.extend(&other.clients);
        self.hot_holds += other.hot_holds;
        self.retries += other.retries;
        self.last_ns = self.last_ns.max(other.last_ns);
    }

    fn take(&mut self, sample: &Sample, measured_from_ns: u64, open: bool) {
        let at = sample.ending.index();
        if !sample.measured {
            self.unmeasured.endings[at] += 1;
            return;
        }
        self.measured.endings[at] += 1;
        let service = sample.ended_ns.saturating_sub(sample.started_ns);
        record(&mut self.service[at], service);
        if open {
            let response = sample.ended_ns.saturating_sub(sample.intended_ns);
            record(&mut self.response[at], response);
            let late = sample.started_ns.saturating_sub(sample.intended_ns);
            record(&mut self.lateness, late);
        }
        let second = sample.ended_ns.saturating_sub(measured_from_ns) / 1_000_000_000;
        let second = usize::try_from(second).unwrap_or(usize::MAX);
        if self.by_second.len() <= second {
            self.by_second.resize(second + 1, [0; Ending::COUNT]);
        }
        self.by_second[second][at] += 1;
        self.last_ns = self.last_ns.max(sample.ended_ns);
    }
}

fn record(histogram_: &mut Option<Histogram<u64>>, nanos: u64) {
    histogram_
        .get_or_insert_with(histogram)
        .saturating_record(nanos.clamp(1, LONGEST_NS));
}

fn add_histogram(mine: &mut Option<Histogram<u64>>, theirs: Option<&Histogram<u64>>) {
    if let Some(theirs) = theirs {
        mine.get_or_insert_with(histogram)
            .add(theirs)
            .expect("the same bounds");
    }
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

/// The figures that follow from a histogram of nanoseconds: the same that its evidence shows.
pub fn summary(values: &Histogram<u64>) -> evidence::Summary {
    let labels = evidence::Labels::new("", "");
    evidence::Histogram::some(labels, evidence::Unit::Nanoseconds, values)
        .expect("a count of samples is below 2^63")
        .summary
}

/// Jain's fairness index, `(sum x)^2 / (n * sum x^2)`: 1 when all shares are equal, 1/n when one
/// client has everything, and 0 when there is nothing to share.
pub fn jain_index(shares: impl IntoIterator<Item = u64>) -> f64 {
    #[allow(
        clippy::cast_precision_loss,
        reason = "an index of three digits is shown"
    )]
    let (count, sum, squares) =
        shares
            .into_iter()
            .fold((0.0, 0.0, 0.0), |(count, sum, squares), share| {
                let share = share as f64;
                (count + 1.0, sum + share, squares + share * share)
            });
    if squares == 0.0 {
        return 0.0;
    }
    sum * sum / (count * squares)
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

    #[test]
    fn the_fairness_index_is_one_for_equals_and_one_nth_for_a_monopoly() {
        assert!((jain_index([5, 5, 5, 5]) - 1.0).abs() < 1e-12);
        assert!((jain_index([7, 0, 0, 0]) - 0.25).abs() < 1e-12);
        assert!(jain_index([0, 0]).abs() < 1e-12);
    }

    #[test]
    fn a_time_of_more_than_an_hour_counts_as_an_hour() {
        let mut kept = None;
        record(&mut kept, 2 * LONGEST_NS);
        let most = kept.expect("recorded").max();
        assert!(most.abs_diff(LONGEST_NS) < LONGEST_NS / 500);
    }
}

//! What is measured: counts, latencies, a series by the second, and how evenly clients were served.
//!
//! *Service time* is from the start of a call to its answer. *Response time* is from when the call
//! should have started: under a fixed arrival rate a stall then shows in every call that it delayed,
//! not only in the one that was stuck (coordinated omission).

use hdrhistogram::Histogram;

use crate::answer::{Ending, Operation};
use crate::meter::Sample;

/// The longest time that a histogram can hold: one hour. A longer one counts as one hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

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

    pub(crate) fn take(&mut self, sample: &Sample, measured_from_ns: u64, open: bool) {
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

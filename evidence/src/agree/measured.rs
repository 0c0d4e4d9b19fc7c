//! Counts, histograms, series and benchmarks: each with what it follows from.

use crate::agree::Findings;
use crate::benchmark;
use crate::histogram;
use crate::number::Integer;
use crate::recompute;
use crate::results::{Covers, Histogram, Labels, Statistic, Summary};
use crate::statement::Predicate;

impl Findings {
    pub(super) fn operations(&mut self, predicate: &Predicate) {
        let operations = &predicate.results.operations;
        self.unique(
            "predicate.results.operations",
            operations.iter().map(|operation| &operation.name),
        );
        for (position, operation) in operations.iter().enumerate() {
            let at = format!("predicate.results.operations[{position}]");
            let ended = recompute::sum(operation.outcomes.values())
                + recompute::sum(operation.errors.values());
            if u128::from(operation.attempts.0) != ended {
                let attempts = operation.attempts;
                self.add(
                    format!("{at}.attempts"),
                    format!("is {attempts}, expected {ended}, the sum of its outcomes and errors"),
                );
            }
            for name in operation
                .outcomes
                .keys()
                .filter(|name| operation.errors.contains_key(*name))
            {
                self.add(
                    format!("{at}.errors.{name}"),
                    "stands among the outcomes, too; expected in one of them",
                );
            }
        }
    }

    pub(super) fn histograms(&mut self, predicate: &Predicate) {
        let histograms = &predicate.results.histograms;
        self.unique(
            "predicate.results.histograms",
            histograms.iter().map(|histogram| &histogram.of),
        );
        for (position, histogram) in histograms.iter().enumerate() {
            let at = format!("predicate.results.histograms[{position}]");
            match histogram.decode() {
                Err(error) => self.add(format!("{at}.hdr"), error.to_string()),
                Ok(values) => self.summary(&at, histogram, &histogram::summary(&values)),
            }
            let count = u128::from(histogram.summary.count.0);
            self.covered(
                predicate,
                &at,
                "summary.count",
                &histogram.of,
                histogram.covers,
                count,
            );
        }
    }

    fn summary(&mut self, at: &str, histogram: &Histogram, expected: &Summary) {
        let recorded = &histogram.summary;
        self.same(
            format!("{at}.summary.count"),
            recorded.count,
            expected.count,
        );
        self.same_real(
            format!("{at}.summary.mean"),
            recorded.mean,
            expected.mean.get(),
        );
        for (statistic, recorded, expected) in whole_figures(recorded, expected) {
            self.same(
                format!("{at}.summary.{}", statistic.name()),
                recorded,
                expected,
            );
        }
        if recorded.thin != expected.thin {
            let names: Vec<&str> = expected
                .thin
                .iter()
                .map(|statistic| statistic.name())
                .collect();
            self.add(
                format!("{at}.summary.thin"),
                format!(
                    "marks other quantiles than expected: [{}]",
                    names.join(", ")
                ),
            );
        }
    }

    /// The count of a histogram or a series that covers every call is the count of those calls.
    fn covered(
        &mut self,
        predicate: &Predicate,
        at: &str,
        field: &str,
        of: &Labels,
        covers: Covers,
        count: u128,
    ) {
        if covers == Covers::Some {
            return;
        }
        let Some(operation) = recompute::operation(predicate, &of.operation) else {
            let name = &of.operation;
            return self.add(
                format!("{at}.of.operation"),
                format!("is {name}, expected one of the operations, because it covers every call"),
            );
        };
        let expected = match &of.outcome {
            None => Some(operation.attempts),
            Some(outcome) => recompute::ended(operation, outcome),
        };
        match expected {
            Some(expected) => self.same(format!("{at}.{field}"), count, u128::from(expected.0)),
            None => self.add(
                format!("{at}.of.outcome"),
                "is no outcome or error of the operation",
            ),
        }
    }

    pub(super) fn series(&mut self, predicate: &Predicate) {
        let all = &predicate.results.series;
        self.unique(
            "predicate.results.series",
            all.iter().map(|series| &series.of),
        );
        for (position, series) in all.iter().enumerate() {
            let at = format!("predicate.results.series[{position}]");
            if series.interval_ms == 0 {
                self.add(format!("{at}.interval_ms"), "is 0, expected at least 1");
            }
            let count = series.counts.iter().map(|count| u128::from(*count)).sum();
            self.covered(predicate, &at, "counts", &series.of, series.covers, count);
        }
    }

    pub(super) fn benchmarks(&mut self, predicate: &Predicate) {
        let benchmarks = &predicate.results.benchmarks;
        self.unique(
            "predicate.results.benchmarks",
            benchmarks.iter().map(|benchmark| &benchmark.id),
        );
        for (position, benchmark) in benchmarks.iter().enumerate() {
            let at = format!("predicate.results.benchmarks[{position}]");
            match benchmark::mean_and_median(&benchmark.iterations, &benchmark.times_ns) {
                None => self.add(
                    at,
                    "needs as many times as iteration counts, at least one, and none of zero",
                ),
                Some((mean, median)) => {
                    self.same_real(format!("{at}.mean_ns"), benchmark.mean_ns, mean);
                    self.same_real(format!("{at}.median_ns"), benchmark.median_ns, median);
                }
            }
        }
    }
}

/// The whole figures of two summaries, in pairs. `thin` and the mean are compared apart.
fn whole_figures(recorded: &Summary, expected: &Summary) -> [(Statistic, Integer, Integer); 7] {
    [
        (Statistic::Min, recorded.min, expected.min),
        (Statistic::P50, recorded.p50, expected.p50),
        (Statistic::P90, recorded.p90, expected.p90),
        (Statistic::P99, recorded.p99, expected.p99),
        (Statistic::P999, recorded.p99_9, expected.p99_9),
        (Statistic::P9999, recorded.p99_99, expected.p99_99),
        (Statistic::Max, recorded.max, expected.max),
    ]
}

//! The parts of a statement that have to agree with each other, each compared with its recomputation.

use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;

use crate::benchmark;
use crate::builder::SOURCE_TREE;
use crate::figure::{Derivation, Term};
use crate::histogram;
use crate::number::{Integer, Real};
use crate::recompute;
use crate::results::{Covers, Histogram, Labels, Statistic, Summary};
use crate::statement::{Checkout, Predicate, SCHEMA_VERSION, Statement};
use crate::value::Sha256;
use crate::verify::Finding;

/// Everything that does not agree, but for the digest.
pub(crate) fn contradictions(statement: &Statement) -> Vec<Finding> {
    let predicate = &statement.predicate;
    let mut found = Findings(Vec::new());
    // What others rest on comes first, so that the first line names the cause.
    found.subjects(statement);
    found.source(predicate);
    found.operations(predicate);
    found.histograms(predicate);
    found.series(predicate);
    found.benchmarks(predicate);
    found.figures(predicate);
    found.thresholds(predicate);
    found.checks_and_laws(predicate);
    found.head(predicate);
    found.0
}

struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, at: impl Into<String>, problem: impl Into<String>) {
        self.0.push(Finding::new(at, problem));
    }

    fn same<T: Copy + PartialEq + Display>(
        &mut self,
        at: impl Into<String>,
        recorded: T,
        expected: T,
    ) {
        if recorded != expected {
            self.add(at, format!("is {recorded}, expected {expected}"));
        }
    }

    fn same_real(&mut self, at: impl Into<String>, recorded: Real, expected: f64) {
        if !recorded.is_exactly(expected) {
            self.add(at, format!("is {recorded}, expected {expected}"));
        }
    }

    /// No key twice in a list.
    fn unique<K: Eq + Hash + Display>(&mut self, list: &str, keys: impl IntoIterator<Item = K>) {
        let mut seen = HashSet::new();
        for (position, key) in keys.into_iter().enumerate() {
            let text = key.to_string();
            if !seen.insert(key) {
                self.add(
                    format!("{list}[{position}]"),
                    format!("{text} stands twice in the list, expected once"),
                );
            }
        }
    }

    fn subjects(&mut self, statement: &Statement) {
        let source = &statement.predicate.source;
        let program = format!("program:{}", statement.predicate.run.program);
        let tree = source.tree_sha256.map(|digest| (SOURCE_TREE, Some(digest)));
        let expected: Vec<(&str, Option<Sha256>)> =
            tree.into_iter().chain([(program.as_str(), None)]).collect();
        let (found, wanted) = (statement.subject.len(), expected.len());
        if found != wanted {
            self.add("subject", format!("has {found} subjects, expected {wanted}: the source tree, if any, and the program"));
        }
        for (position, (subject, (name, digest))) in
            statement.subject.iter().zip(expected).enumerate()
        {
            self.same(
                format!("subject[{position}].name"),
                subject.name.as_str(),
                name,
            );
            if let Some(digest) = digest {
                self.same(
                    format!("subject[{position}].digest.sha256"),
                    subject.digest.sha256,
                    digest,
                );
            }
        }
    }

    fn head(&mut self, predicate: &Predicate) {
        self.same(
            "predicate.schema_version",
            predicate.schema_version,
            SCHEMA_VERSION,
        );
        let expected = recompute::verdict(predicate);
        self.same("predicate.verdict", predicate.verdict, expected);
        match &predicate.not_comparable_because {
            None if !predicate.comparable => {
                self.add(
                    "predicate.not_comparable_because",
                    "is absent, expected a reason, because comparable is false",
                );
            }
            Some(_) if predicate.comparable => {
                self.add(
                    "predicate.not_comparable_because",
                    "gives a reason, expected none, because comparable is true",
                );
            }
            Some(reason) if reason.trim().is_empty() => {
                self.add(
                    "predicate.not_comparable_because",
                    "is empty, expected a reason",
                );
            }
            _ => {}
        }
        let run = &predicate.run;
        if run.finished < run.started {
            self.add(
                "predicate.run.finished",
                format!("is {}, expected not before {}", run.finished, run.started),
            );
        }
    }

    fn source(&mut self, predicate: &Predicate) {
        let source = &predicate.source;
        let git = source.checkout == Checkout::Git;
        for (name, present) in [
            ("dirty", source.dirty.is_some()),
            ("tree_files", source.tree_files.is_some()),
            ("tree_sha256", source.tree_sha256.is_some()),
        ] {
            if present != git {
                let (is, expected) = if present {
                    ("present", "absent")
                } else {
                    ("absent", "present")
                };
                self.add(
                    format!("predicate.source.{name}"),
                    format!("is {is}, expected {expected} for this checkout"),
                );
            }
        }
        if let Some(revision) = &source.revision {
            let hex = revision
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            if !git || !hex || !matches!(revision.len(), 40 | 64) {
                self.add(
                    "predicate.source.revision",
                    format!("is {revision:?}, expected a commit id, and a git checkout"),
                );
            }
        }
    }

    fn checks_and_laws(&mut self, predicate: &Predicate) {
        self.unique(
            "predicate.checks",
            predicate.checks.iter().map(|check| &check.name),
        );
        for (position, check) in predicate.checks.iter().enumerate() {
            let bad = u128::from(check.violations.0) + u128::from(check.undecided.0);
            if bad > u128::from(check.cases.0) {
                let cases = check.cases;
                self.add(
                    format!("predicate.checks[{position}].cases"),
                    format!("is {cases}, expected at least {bad}, the violations and undecided cases together"),
                );
            }
        }
        self.unique("predicate.laws", predicate.laws.iter().map(|law| &law.name));
        for (position, law) in predicate.laws.iter().enumerate() {
            let at = format!("predicate.laws[{position}]");
            match recompute::law_sides(predicate, &law.left, &law.right) {
                None => self.add(
                    at,
                    "has an empty side, or one that names no count of this statement",
                ),
                Some((left, right)) if law.holds != (left == right) => {
                    let (is, expected) = (law.holds, left == right);
                    self.add(
                        format!("{at}.holds"),
                        format!("is {is}, expected {expected}: the sides are {left} and {right}"),
                    );
                }
                Some(_) => {}
            }
        }
    }

    fn term(&mut self, predicate: &Predicate, at: &str, term: &Term, figures: usize) {
        if let Some(reference) = &term.of {
            match recompute::resolve(predicate, reference, figures) {
                Some(value) => self.same_real(format!("{at}.value"), term.value, value),
                None => self.add(
                    format!("{at}.of"),
                    "names nothing that stands in this statement, or not before it",
                ),
            }
        }
    }

    fn thresholds(&mut self, predicate: &Predicate) {
        self.unique(
            "predicate.thresholds",
            predicate
                .thresholds
                .iter()
                .map(|threshold| &threshold.expression),
        );
        for (position, threshold) in predicate.thresholds.iter().enumerate() {
            let at = format!("predicate.thresholds[{position}]");
            self.term(
                predicate,
                &format!("{at}.observed"),
                &threshold.observed,
                predicate.results.figures.len(),
            );
            let met = threshold
                .rule
                .keeps(threshold.observed.value.get(), threshold.limit.get());
            self.same(format!("{at}.met"), threshold.met, met);
        }
    }

    fn operations(&mut self, predicate: &Predicate) {
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

    fn figures(&mut self, predicate: &Predicate) {
        let figures = &predicate.results.figures;
        self.unique(
            "predicate.results.figures",
            figures.iter().map(|figure| &figure.name),
        );
        for (position, figure) in figures.iter().enumerate() {
            let at = format!("predicate.results.figures[{position}]");
            if let Derivation::Ratio {
                numerator,
                denominator,
            } = &figure.from
            {
                self.term(
                    predicate,
                    &format!("{at}.from.ratio.numerator"),
                    numerator,
                    position,
                );
                self.term(
                    predicate,
                    &format!("{at}.from.ratio.denominator"),
                    denominator,
                    position,
                );
            }
            if let Some(value) = recompute::figure(&figure.from) {
                self.same_real(format!("{at}.value"), figure.value, value);
            }
            if let Some(aim) = &figure.aim {
                self.same(
                    format!("{at}.aim.met"),
                    aim.met,
                    aim.rule.keeps(figure.value.get(), aim.limit.get()),
                );
            }
        }
    }

    fn histograms(&mut self, predicate: &Predicate) {
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

    fn series(&mut self, predicate: &Predicate) {
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

    fn benchmarks(&mut self, predicate: &Predicate) {
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

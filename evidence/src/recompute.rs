//! Everything in a statement that follows from the rest of it, computed afresh.
//!
//! The builder fills a statement in with these functions and verify compares a file with them, so
//! neither has a rule of its own.

use crate::benchmark::Benchmark;
use crate::figure::{Derivation, Reference};
use crate::number::{Integer, Whole};
use crate::results::Operation;
use crate::statement::{Predicate, Verdict};

/// The verdict, by the order of [`Verdict`]: the first that applies.
pub(crate) fn verdict(predicate: &Predicate) -> Verdict {
    let checks = &predicate.checks;
    if checks.iter().any(|check| check.violations.0 > 0)
        || predicate.laws.iter().any(|law| !law.holds)
    {
        Verdict::Violated
    } else if checks.iter().any(|check| check.undecided.0 > 0)
        || checks.iter().all(|check| check.cases.0 == 0)
    {
        Verdict::Inconclusive
    } else if predicate.run.interrupted {
        Verdict::Interrupted
    } else if predicate.thresholds.iter().any(|threshold| !threshold.met) {
        Verdict::ThresholdMissed
    } else {
        Verdict::Holds
    }
}

/// The number that a reference names; `None` when there is no such thing. Figures are looked for
/// among the first `figures` only, so that none can rest on itself.
pub(crate) fn resolve(predicate: &Predicate, reference: &Reference, figures: usize) -> Option<f64> {
    let results = &predicate.results;
    match reference {
        Reference::MeasuredSeconds => predicate.run.measured_ns.map(|ns| ns.to_f64() / 1e9),
        Reference::Figure(name) => {
            let earlier = results.figures.iter().take(figures);
            earlier
                .filter(|figure| figure.name == *name)
                .map(|figure| figure.value.get())
                .next()
        }
        Reference::Histogram { of, statistic } => {
            let found = results
                .histograms
                .iter()
                .find(|histogram| histogram.of == *of)?;
            Some(found.summary.get(*statistic))
        }
        Reference::BenchmarkMean(id) => {
            benchmark(predicate, id).map(|benchmark| benchmark.mean_ns.get())
        }
        Reference::BenchmarkMedian(id) => {
            benchmark(predicate, id).map(|benchmark| benchmark.median_ns.get())
        }
        Reference::AllAttempts
        | Reference::Attempts(_)
        | Reference::Outcome { .. }
        | Reference::Count(_) =>
        {
            #[allow(clippy::cast_precision_loss, reason = "a ratio of counts is a float")]
            tally(predicate, reference).map(|sum| sum as f64)
        }
    }
}

/// The whole number that a reference names; `None` when there is none, or it is no count.
pub(crate) fn tally(predicate: &Predicate, reference: &Reference) -> Option<u128> {
    let results = &predicate.results;
    match reference {
        Reference::AllAttempts => Some(sum(results
            .operations
            .iter()
            .map(|operation| &operation.attempts))),
        Reference::Attempts(name) => {
            operation(predicate, name).map(|operation| operation.attempts.0.into())
        }
        Reference::Outcome {
            operation: name,
            outcome,
        } => ended(operation(predicate, name)?, outcome).map(|count| count.0.into()),
        Reference::Count(name) => results.counts.get(name).map(|count| count.0.into()),
        Reference::MeasuredSeconds
        | Reference::Figure(_)
        | Reference::Histogram { .. }
        | Reference::BenchmarkMean(_)
        | Reference::BenchmarkMedian(_) => None,
    }
}

/// Both sides of a law; `None` when a reference names no count, or a side is empty.
pub(crate) fn law_sides(
    predicate: &Predicate,
    left: &[Reference],
    right: &[Reference],
) -> Option<(u128, u128)> {
    let side = |references: &[Reference]| {
        let counts = references
            .iter()
            .map(|reference| tally(predicate, reference));
        counts
            .sum::<Option<u128>>()
            .filter(|_| !references.is_empty())
    };
    Some((side(left)?, side(right)?))
}

/// An operation by its name.
pub(crate) fn operation<'a>(predicate: &'a Predicate, name: &str) -> Option<&'a Operation> {
    predicate
        .results
        .operations
        .iter()
        .find(|operation| operation.name == name)
}

/// How often an operation gave this outcome or error.
pub(crate) fn ended(operation: &Operation, outcome: &str) -> Option<Integer> {
    operation
        .outcomes
        .get(outcome)
        .or_else(|| operation.errors.get(outcome))
        .copied()
}

/// The sum of counts, which can not overflow here.
pub(crate) fn sum<'a>(counts: impl IntoIterator<Item = &'a Integer>) -> u128 {
    counts.into_iter().map(|count| u128::from(count.0)).sum()
}

/// The value of a figure; `None` when it was measured as it is. May not be finite.
pub(crate) fn figure(derivation: &Derivation) -> Option<f64> {
    match derivation {
        Derivation::Measured => None,
        Derivation::Ratio {
            numerator,
            denominator,
        } => Some(numerator.value.get() / denominator.value.get()),
        Derivation::JainIndex { shares } => Some(jain_index(shares)),
    }
}

fn jain_index(shares: &[Whole]) -> f64 {
    let total: f64 = shares.iter().map(|share| share.to_f64()).sum();
    let squares: f64 = shares
        .iter()
        .map(|share| share.to_f64() * share.to_f64())
        .sum();
    #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 clients")]
    let clients = shares.len() as f64;
    total * total / (clients * squares)
}

fn benchmark<'a>(predicate: &'a Predicate, id: &str) -> Option<&'a Benchmark> {
    predicate
        .results
        .benchmarks
        .iter()
        .find(|benchmark| benchmark.id == id)
}

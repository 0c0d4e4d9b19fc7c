//! Whether one run is faster than another: by which method, and when not to say anything.
//!
//! # When two runs are not compared
//!
//! Only like is compared with like: same kind, same configuration, same database settings and file
//! system, same host, same profile and target. Settings whose difference is the very question
//! (`--differ engine`) are named by whoever asks. A run that says it is not comparable, or that was
//! interrupted, is not compared. Seed, source, program and the versions of compiler and database may
//! differ; what differs is told.
//!
//! # Who loses whatever the figures say
//!
//! A run whose verdict is violated or inconclusive. A wrong store is not fast.
//!
//! # The method
//!
//! For a benchmark, the samples are nanoseconds an iteration, and less is faster; for a load run they
//! are the attempts of each full second, all operations together, and more is faster. The ratio of the
//! means, B over A, gets a 99 % interval from a block [bootstrap](self#the-interval). A difference
//! counts only if the whole interval lies more than the noise limit away from 1: samples of one run
//! know nothing of what differs between two runs of the same program (placement in memory, the
//! processor's temperature, neighbours), and that is easily some percent.
//!
//! # The interval
//!
//! 10,000 draws with replacement, in circular blocks of n^(1/3) neighbouring samples, from a fixed
//! seed; the middle 99 % of the ratios. At least five samples are needed on either side.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::benchmark::Benchmark;
use crate::bootstrap::{FEWEST, Ratio, mean, ratio_of_means};
use crate::results::{Covers, Series};
use crate::statement::{Statement, Verdict};

/// The default noise limit: 5 %.
pub const NOISE: f64 = 0.05;

/// How to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// Names of settings, of the run or the database, that may differ.
    pub may_differ: BTreeSet<String>,
    /// Differences below this share are noise; 0.05 is 5 %.
    pub noise: f64,
}

impl Default for Method {
    fn default() -> Self {
        Self {
            may_differ: BTreeSet::new(),
            noise: NOISE,
        }
    }
}

/// What one figure says about B against A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// B is slower.
    Slower,
    /// No difference that the samples can show.
    NoDifference,
    /// B is faster.
    Faster,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Slower => "slower",
            Self::NoDifference => "no difference",
            Self::Faster => "faster",
        })
    }
}

/// One figure of both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The benchmark, or `calls`.
    pub name: String,
    /// The unit of the means: `ns` or `1/s`.
    pub unit: &'static str,
    /// The mean of A's samples.
    pub a: f64,
    /// The mean of B's samples.
    pub b: f64,
    /// B over A.
    pub ratio: f64,
    /// The 99 % interval of that ratio.
    pub interval: (f64, f64),
    /// What it says.
    pub change: Change,
}

/// What comes out.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    /// The runs must not be compared: each reason.
    Refused(Vec<String>),
    /// Decided by the verdicts, whatever the figures say: whether A and B failed.
    Failed {
        /// Whether A's verdict is violated or inconclusive.
        a: bool,
        /// Whether B's is.
        b: bool,
    },
    /// Decided by the figures.
    Measured {
        /// What was compared; at least one.
        rows: Vec<Row>,
        /// What was not, and why: one run has it only, or there are too few samples.
        left_out: Vec<String>,
    },
}

impl Comparison {
    /// What it says about B in one word; the worst row decides. `None` when refused.
    pub fn change(&self) -> Option<Change> {
        match self {
            Self::Refused(_) => None,
            Self::Failed { b: true, .. } => Some(Change::Slower),
            Self::Failed { b: false, .. } => Some(Change::Faster),
            Self::Measured { rows, .. } => {
                let changes = || rows.iter().map(|row| row.change);
                changes()
                    .find(|change| *change == Change::Slower)
                    .or_else(|| changes().max())
            }
        }
    }
}

/// Compares run B with run A, both of them verified.
pub fn compare(a: &Statement, b: &Statement, method: &Method) -> Comparison {
    let failed = |run: &Statement| {
        matches!(
            run.predicate.verdict,
            Verdict::Violated | Verdict::Inconclusive
        )
    };
    let same_kind = a.predicate.kind == b.predicate.kind;
    if same_kind && (failed(a) || failed(b)) {
        return Comparison::Failed {
            a: failed(a),
            b: failed(b),
        };
    }
    let reasons = differences(a, b, &method.may_differ);
    if !reasons.is_empty() {
        return Comparison::Refused(reasons);
    }
    let (pairs, mut left_out) = samples(a, b);
    let mut rows = Vec::new();
    for pair in pairs {
        match ratio_of_means(&pair.a, &pair.b) {
            None => left_out.push(format!(
                "{} has {} and {} samples, at least {FEWEST} of both are needed",
                pair.name,
                pair.a.len(),
                pair.b.len()
            )),
            Some(ratio) => rows.push(row(pair, ratio, method.noise)),
        }
    }
    if rows.is_empty() {
        left_out.push("they have no samples in common: benchmarks, or counts by the second".into());
        return Comparison::Refused(left_out);
    }
    Comparison::Measured { rows, left_out }
}

fn row(pair: Pair, Ratio { found, low, high }: Ratio, noise: f64) -> Row {
    let (more, less) = if pair.unit == "ns" {
        (Change::Slower, Change::Faster)
    } else {
        (Change::Faster, Change::Slower)
    };
    let change = match () {
        () if low > 1.0 + noise => more,
        () if high < 1.0 / (1.0 + noise) => less,
        () => Change::NoDifference,
    };
    Row {
        name: pair.name,
        unit: pair.unit,
        a: mean(&pair.a),
        b: mean(&pair.b),
        ratio: found,
        interval: (low, high),
        change,
    }
}

/// Every reason not to compare the two.
fn differences(a: &Statement, b: &Statement, may_differ: &BTreeSet<String>) -> Vec<String> {
    let mut reasons = Vec::new();
    for (name, run) in [("A", &a.predicate), ("B", &b.predicate)] {
        if let Some(reason) = &run.not_comparable_because {
            reasons.push(format!("{name} says it is not comparable: {reason}"));
        }
        if run.run.interrupted {
            reasons.push(format!("{name} was interrupted"));
        }
    }
    let (a, b) = (circumstances(a), circumstances(b));
    for key in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
        let of = |run: &BTreeMap<(Group, String), String>| {
            run.get(key).cloned().unwrap_or_else(|| "absent".into())
        };
        let (group, name) = key;
        let asked_for = *group == Group::Setting || *group == Group::Database;
        if of(&a) != of(&b) && !(asked_for && may_differ.contains(name)) {
            let (of_a, of_b) = told_apart(&of(&a), &of(&b));
            reasons.push(format!("{name} differs: {of_a} and {of_b}"));
        }
    }
    reasons
}

/// Of two long lists of words only the words that the other has not.
fn told_apart(a: &str, b: &str) -> (String, String) {
    const LONG: usize = 8;
    let words = |list: &'_ str| -> Vec<String> { list.split(' ').map(str::to_owned).collect() };
    let (of_a, of_b) = (words(a), words(b));
    if of_a.len().min(of_b.len()) < LONG {
        return (a.to_owned(), b.to_owned());
    }
    let only = |these: &[String], those: &[String]| {
        let only: Vec<_> = these
            .iter()
            .filter(|word| !those.contains(word))
            .map(String::as_str)
            .collect();
        if only.is_empty() {
            "nothing more".to_owned()
        } else {
            only.join(" ")
        }
    };
    (only(&of_a, &of_b), only(&of_b, &of_a))
}

/// The names that `--differ` may name: settings of either run and of its database.
pub(crate) fn settings(a: &Statement, b: &Statement) -> BTreeSet<String> {
    let (a, b) = (circumstances(a), circumstances(b));
    a.into_keys()
        .chain(b.into_keys())
        .filter(|(group, _)| matches!(group, Group::Setting | Group::Database))
        .map(|(_, name)| name)
        .collect()
}

/// What a circumstance belongs to. A database setting may be called as one of the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Kind,
    Program,
    Host,
    Setting,
    Database,
}

/// Everything that has to be the same in both runs.
fn circumstances(run: &Statement) -> BTreeMap<(Group, String), String> {
    let run = &run.predicate;
    let mut all = BTreeMap::new();
    let mut note = |group: Group, name: &str, value: &dyn fmt::Display| {
        all.insert((group, name.to_owned()), value.to_string())
    };
    note(Group::Kind, "kind", &run.kind);
    note(Group::Program, "profile", &run.toolchain.profile);
    note(Group::Program, "opt_level", &run.toolchain.opt_level);
    note(
        Group::Program,
        "debug_assertions",
        &run.toolchain.debug_assertions,
    );
    note(Group::Program, "target", &run.toolchain.target);
    let host = serde_json::to_value(&run.host).unwrap_or_default();
    for (name, value) in host.as_object().into_iter().flatten() {
        note(Group::Host, name, value);
    }
    for (name, value) in &run.configuration {
        note(Group::Setting, name, value);
    }
    if let Some(database) = &run.database {
        note(Group::Database, "database", &database.name);
        for (name, value) in &database.settings {
            note(Group::Database, name, value);
        }
        if let Some(file_system) = &database.file_system {
            note(Group::Database, "file_system", file_system);
        }
    }
    all
}

struct Pair {
    name: String,
    unit: &'static str,
    a: Vec<f64>,
    b: Vec<f64>,
}

/// The samples that both runs have, and what only one of them has.
fn samples(a: &Statement, b: &Statement) -> (Vec<Pair>, Vec<String>) {
    let (mut pairs, mut left_out) = (Vec::new(), Vec::new());
    let of_a = &a.predicate.results.benchmarks;
    let of_b = &b.predicate.results.benchmarks;
    let same =
        |one: &Benchmark, other: &Benchmark| one.id == other.id && one.elements == other.elements;
    for one in of_a {
        match of_b.iter().find(|other| same(one, other)) {
            Some(other) => pairs.push(Pair {
                name: one.id.clone(),
                unit: "ns",
                a: one.each_ns(),
                b: other.each_ns(),
            }),
            None => left_out.push(format!("{} is in A only", one.id)),
        }
    }
    for other in of_b
        .iter()
        .filter(|other| !of_a.iter().any(|one| same(one, other)))
    {
        left_out.push(format!("{} is in B only", other.id));
    }
    match (calls_per_second(a), calls_per_second(b)) {
        (Some(a), Some(b)) => pairs.push(Pair {
            name: "calls".into(),
            unit: "1/s",
            a,
            b,
        }),
        (None, None) => {}
        (Some(_), None) => left_out.push("calls by the second are in A only".into()),
        (None, Some(_)) => left_out.push("calls by the second are in B only".into()),
    }
    (pairs, left_out)
}

/// The calls of each interval, all operations together, as a rate; without the last interval, which
/// may be cut short.
///
/// Taken are the series that count every call and have the measure of the first such series; of one
/// operation the series over all outcomes, or else those of each outcome. `None` without such series,
/// or with ones of different intervals.
pub(crate) fn calls_per_second(run: &Statement) -> Option<Vec<f64>> {
    let every: Vec<&Series> = run
        .predicate
        .results
        .series
        .iter()
        .filter(|series| series.covers == Covers::Every)
        .collect();
    let first = every.first()?;
    let whole = |operation: &str| {
        every
            .iter()
            .any(|series| series.of.outcome.is_none() && series.of.operation == operation)
    };
    let chosen = || {
        let measured = every
            .iter()
            .filter(|series| series.of.measure == first.of.measure);
        measured.filter(|series| series.of.outcome.is_none() || !whole(&series.of.operation))
    };
    if chosen().any(|series| series.interval_ms != first.interval_ms) {
        return None;
    }
    let mut rates = vec![0.0; chosen().map(|series| series.counts.len()).max()?];
    for series in chosen() {
        for (rate, count) in rates.iter_mut().zip(&series.counts) {
            *rate += f64::from(*count) * 1_000.0 / f64::from(first.interval_ms);
        }
    }
    rates.pop();
    Some(rates)
}

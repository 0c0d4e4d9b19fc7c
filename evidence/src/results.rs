//! What a run counted, measured and checked: the part of a statement that verify recomputes.
//!
//! Everything is named by the run, so that one shape serves a load run, a benchmark, a model
//! checker and a crash test. Where one entry depends on another it says so by a [`Reference`], and
//! the figure is then recomputed from its source and not believed.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::{Integer, Real, Whole};

/// What was counted and measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// Named whole figures that belong to no operation: seats, retries, crash points, peak memory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, Integer>,
    /// What was attempted, and how each attempt ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<Operation>,
    /// Derived figures: rates, ratios, fairness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// Distributions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histograms: Vec<Histogram>,
    /// Counts over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
    /// Samples of benchmarks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub benchmarks: Vec<Benchmark>,
}

/// One kind of call. `attempts` is the sum of all outcomes and errors; verify insists on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Its name, such as `hold`. No two operations share one.
    pub name: String,
    /// How many calls were begun. Count it apart from the outcomes, or the sum proves nothing.
    pub attempts: Integer,
    /// How often each outcome was given. No name stands here and in `errors`.
    pub outcomes: BTreeMap<String, Integer>,
    /// How often each error was given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, Integer>,
}

impl Operation {
    /// An operation of which `attempts` calls were begun.
    pub fn new(name: impl Into<String>, attempts: u64) -> Self {
        Self {
            name: name.into(),
            attempts: Integer(attempts),
            outcomes: BTreeMap::new(),
            errors: BTreeMap::new(),
        }
    }

    /// Sets how often an outcome was given.
    #[must_use]
    pub fn outcome(mut self, name: impl Into<String>, count: u64) -> Self {
        self.outcomes.insert(name.into(), Integer(count));
        self
    }

    /// Sets how often an error was given.
    #[must_use]
    pub fn error(mut self, name: impl Into<String>, count: u64) -> Self {
        self.errors.insert(name.into(), Integer(count));
        self
    }
}

/// What a histogram or a series is about.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// The operation.
    pub operation: String,
    /// One outcome or error of it; absent: all of them together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// What was measured: `service_time`, `response_time`, `batch_size`, `returned`.
    pub measure: String,
}

impl Labels {
    /// All outcomes of one operation together.
    pub fn new(operation: impl Into<String>, measure: impl Into<String>) -> Self {
        Self {
            operation: operation.into(),
            outcome: None,
            measure: measure.into(),
        }
    }

    /// One outcome or error of the operation.
    #[must_use]
    pub fn outcome(mut self, outcome: impl Into<String>) -> Self {
        self.outcome = Some(outcome.into());
        self
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Some(outcome) => write!(f, "{}.{outcome}.{}", self.operation, self.measure),
            None => write!(f, "{}.{}", self.operation, self.measure),
        }
    }
}

/// Which of the calls that its labels name a histogram or a series has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Covers {
    /// Every one: its count is the count of that outcome, or the attempts of that operation.
    Every,
    /// Some of them, or something that is not a call: its count stands for itself.
    Some,
}

/// A unit, in the code of UCUM, which OpenTelemetry uses, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Bytes.
    #[serde(rename = "By")]
    Bytes,
    /// A plain number of things.
    #[serde(rename = "1")]
    Number,
}

impl Unit {
    /// The code as it stands in the file.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Bytes => "By",
            Self::Number => "1",
        }
    }
}

/// A distribution in the HdrHistogram V2 form, and the figures that follow from it.
///
/// A value in it stands for a small range (0.1 % wide at three significant digits), so `max` and
/// the quantiles are the highest value of the range that the sample fell in, `min` the lowest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    /// What it is about. No two histograms share the same labels.
    pub of: Labels,
    /// Whether every call with these labels is in it.
    pub covers: Covers,
    /// The unit of all values but `count`.
    pub unit: Unit,
    /// The figures that follow from `hdr`.
    pub summary: Summary,
    /// The histogram itself: base64 (RFC 4648, with padding) of the HdrHistogram V2 encoding,
    /// compressed with zlib, as the HdrHistogram libraries of other languages read it.
    pub hdr: String,
}

/// The figures that follow from a histogram. All zero when it is empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// How many samples.
    pub count: Integer,
    /// The least.
    pub min: Integer,
    /// The arithmetic mean.
    pub mean: Real,
    /// Half of the samples are not above this.
    pub p50: Integer,
    /// 90 % of the samples are not above this.
    pub p90: Integer,
    /// 99 % of the samples are not above this.
    pub p99: Integer,
    /// 99.9 % of the samples are not above this.
    pub p99_9: Integer,
    /// 99.99 % of the samples are not above this.
    pub p99_99: Integer,
    /// The greatest.
    pub max: Integer,
    /// The quantiles above that have fewer than ten samples beyond them, so that another run may
    /// well give quite another value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thin: Vec<Statistic>,
}

/// One figure of a [`Summary`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[allow(
    missing_docs,
    reason = "each is the field of `Summary` of the same name"
)]
pub enum Statistic {
    Min,
    Mean,
    P50,
    P90,
    P99,
    #[serde(rename = "p99_9")]
    P999,
    #[serde(rename = "p99_99")]
    P9999,
    Max,
}

impl Statistic {
    /// All of them, in the order of [`Summary`].
    pub const ALL: [Self; 8] = [
        Self::Min,
        Self::Mean,
        Self::P50,
        Self::P90,
        Self::P99,
        Self::P999,
        Self::P9999,
        Self::Max,
    ];

    /// The name as it stands in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::P999 => "p99_9",
            Self::P9999 => "p99_99",
            Self::Max => "max",
        }
    }
}

impl Summary {
    /// One of its figures as a float.
    pub fn get(&self, statistic: Statistic) -> f64 {
        match statistic {
            Statistic::Min => self.min.to_f64(),
            Statistic::Mean => self.mean.get(),
            Statistic::P50 => self.p50.to_f64(),
            Statistic::P90 => self.p90.to_f64(),
            Statistic::P99 => self.p99.to_f64(),
            Statistic::P999 => self.p99_9.to_f64(),
            Statistic::P9999 => self.p99_99.to_f64(),
            Statistic::Max => self.max.to_f64(),
        }
    }
}

/// Counts over time, one per interval since the measured part began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// What was counted. No two series share the same labels.
    pub of: Labels,
    /// Whether every call with these labels is in it; then the sum is their count.
    pub covers: Covers,
    /// The length of an interval, in milliseconds, at least 1. The last interval may be shorter.
    pub interval_ms: u32,
    /// The count of each interval.
    pub counts: Vec<u32>,
}

/// The samples of one benchmark, as criterion takes them: each sample times a number of iterations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// Its id, such as `hold/granted`. No two benchmarks share one.
    pub id: String,
    /// How many iterations each sample ran, at least 1.
    pub iterations: Vec<Whole>,
    /// How long each sample took, in nanoseconds.
    pub times_ns: Vec<Real>,
    /// Nanoseconds an iteration: the sum, in the order of the samples, of time by iterations, over
    /// the number of samples.
    pub mean_ns: Real,
    /// Nanoseconds an iteration: the middle one of time by iterations, or the mean of the two
    /// middle ones.
    pub median_ns: Real,
    /// How many elements one iteration handles, for a rate; absent: not meant as a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<Whole>,
}

/// A derived figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What it is, such as `attempts_per_second`. No two figures share a name.
    pub name: String,
    /// Its unit, in the code of UCUM: `1/s`, `1`, `ns`.
    pub unit: String,
    /// The figure.
    pub value: Real,
    /// How it follows from others.
    pub from: Derivation,
    /// What it was hoped to be. Missing an aim does not change the verdict; missing a
    /// [`Threshold`] does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aim: Option<Aim>,
}

/// How a [`Figure`] follows from others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Derivation {
    /// It was measured as it is, and can not be recomputed from this file.
    Measured,
    /// Numerator over denominator.
    Ratio {
        /// What is divided.
        numerator: Term,
        /// By what. Not zero.
        denominator: Term,
    },
    /// Jain's fairness index of the shares, `(sum x)^2 / (n * sum x^2)`: 1 when all are equal, 1/n
    /// when one has everything (Jain, Chiu and Hawe, DEC-TR-301, 1984).
    JainIndex {
        /// What each client got. Not all zero.
        shares: Vec<Whole>,
    },
}

/// A number, and where in this statement it stands, if it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// What it is.
    pub name: String,
    /// Its value.
    pub value: Real,
    /// Where it is from; absent: it was measured and stands only here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Reference>,
}

/// A number that stands elsewhere in the statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reference {
    /// `run.measured_ns`, in seconds.
    MeasuredSeconds,
    /// The attempts of all operations together.
    AllAttempts,
    /// The attempts of this operation.
    Attempts(String),
    /// How often an operation gave this outcome or error.
    Outcome {
        /// The operation.
        operation: String,
        /// The outcome or error.
        outcome: String,
    },
    /// A named count.
    Count(String),
    /// A figure that stands earlier in the list of figures.
    Figure(String),
    /// A figure of a histogram, in the histogram's unit.
    Histogram {
        /// The histogram's labels.
        of: Labels,
        /// Which figure.
        statistic: Statistic,
    },
    /// The mean of this benchmark, in nanoseconds.
    BenchmarkMean(String),
    /// The median of this benchmark, in nanoseconds.
    BenchmarkMedian(String),
}

/// How a number has to stand to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
}

impl Rule {
    /// Whether `value` keeps `limit`.
    pub fn keeps(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
            Self::AtLeast => value >= limit,
            Self::Above => value > limit,
        }
    }

    /// `<`, `<=`, `>=` or `>`.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Above => ">",
        }
    }
}

/// What a figure was hoped to be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aim {
    /// How the figure has to stand to the limit.
    pub rule: Rule,
    /// The limit, in the figure's unit.
    pub limit: Real,
    /// Whether it does.
    pub met: bool,
}

/// A limit that the run was asked to keep. One that is missed makes the verdict
/// [`ThresholdMissed`](crate::Verdict::ThresholdMissed), if nothing worse does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// As it was asked for, such as `hold.refused.p99<5ms`.
    pub expression: String,
    /// What was measured.
    pub observed: Term,
    /// How it has to stand to the limit.
    pub rule: Rule,
    /// The limit, in the unit of `observed`.
    pub limit: Real,
    /// Whether it does.
    pub met: bool,
}

/// Two sums that have to agree, such as sold seats and sold payments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// Its name. No two laws share one.
    pub name: String,
    /// Why both sides have to agree.
    pub what: String,
    /// One side: the sum of whole figures of this statement.
    pub left: Vec<Reference>,
    /// The other side.
    pub right: Vec<Reference>,
    /// Whether the sums agree.
    pub holds: bool,
}

/// Something that was checked, and how it came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Its name. No two checks share one.
    pub name: String,
    /// What was checked, in words.
    pub what: String,
    /// How many cases were looked at.
    pub cases: Integer,
    /// How many of them violate it.
    pub violations: Integer,
    /// How many of them could not be decided. Violations and these are not more than `cases`.
    pub undecided: Integer,
    /// What a reader has to see: the first violations, a minimal sequence, why a case is undecided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Check {
    /// A check of `cases` cases that found nothing.
    pub fn passed(name: impl Into<String>, what: impl Into<String>, cases: u64) -> Self {
        Self {
            name: name.into(),
            what: what.into(),
            cases: Integer(cases),
            violations: Integer(0),
            undecided: Integer(0),
            notes: Vec::new(),
        }
    }

    /// Sets how many of the cases violate it.
    #[must_use]
    pub fn violations(mut self, count: u64) -> Self {
        self.violations = Integer(count);
        self
    }

    /// Sets how many of the cases could not be decided.
    #[must_use]
    pub fn undecided(mut self, count: u64) -> Self {
        self.undecided = Integer(count);
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

impl Series {
    /// A series of every call with these labels, one count per interval.
    pub fn every(of: Labels, interval_ms: u32, counts: Vec<u32>) -> Self {
        Self {
            of,
            covers: Covers::Every,
            interval_ms,
            counts,
        }
    }

    /// A series that counts some of the calls only, or something else.
    pub fn some(of: Labels, interval_ms: u32, counts: Vec<u32>) -> Self {
        Self {
            of,
            covers: Covers::Some,
            interval_ms,
            counts,
        }
    }
}

impl Term {
    /// A number that was measured and stands nowhere else in the statement.
    pub fn measured(name: impl Into<String>, value: f64) -> Self {
        Self {
            name: name.into(),
            value: Real::unchecked(value),
            of: None,
        }
    }

    /// A number that stands elsewhere in the statement; the builder fills its value in.
    pub fn of(name: impl Into<String>, reference: Reference) -> Self {
        Self {
            name: name.into(),
            value: Real::default(),
            of: Some(reference),
        }
    }
}

impl Figure {
    /// A figure that was measured as it is.
    pub fn measured(name: impl Into<String>, unit: impl Into<String>, value: f64) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            value: Real::unchecked(value),
            from: Derivation::Measured,
            aim: None,
        }
    }

    /// A ratio; the builder computes its value.
    pub fn ratio(
        name: impl Into<String>,
        unit: impl Into<String>,
        numerator: Term,
        denominator: Term,
    ) -> Self {
        Self {
            from: Derivation::Ratio {
                numerator,
                denominator,
            },
            ..Self::measured(name, unit, 0.0)
        }
    }

    /// Jain's fairness index of what each client got; the builder computes its value. A share
    /// beyond 2^53 - 1 is taken as 2^53 - 1.
    pub fn fairness(name: impl Into<String>, shares: impl IntoIterator<Item = u64>) -> Self {
        let shares = shares.into_iter().map(Whole::capped).collect();
        Self {
            from: Derivation::JainIndex { shares },
            ..Self::measured(name, "1", 0.0)
        }
    }

    /// Says what the figure was hoped to be, in its unit.
    #[must_use]
    pub fn aim(mut self, rule: Rule, limit: f64) -> Self {
        self.aim = Some(Aim {
            rule,
            limit: Real::unchecked(limit),
            met: false,
        });
        self
    }
}

impl Threshold {
    /// A limit; the builder finds out whether it was kept.
    pub fn new(expression: impl Into<String>, observed: Term, rule: Rule, limit: f64) -> Self {
        Self {
            expression: expression.into(),
            observed,
            rule,
            limit: Real::unchecked(limit),
            met: false,
        }
    }
}

impl Law {
    /// Two sums that have to agree; the builder finds out whether they do.
    pub fn new(
        name: impl Into<String>,
        what: impl Into<String>,
        left: Vec<Reference>,
        right: Vec<Reference>,
    ) -> Self {
        Self {
            name: name.into(),
            what: what.into(),
            left,
            right,
            holds: false,
        }
    }
}

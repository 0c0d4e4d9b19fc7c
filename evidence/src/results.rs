//! What a run counted and measured.
//!
//! Everything is named by the run, so that one shape serves a load run, a benchmark, a model
//! checker and a crash test.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark::Benchmark;
use crate::figure::Figure;
use crate::number::{Integer, Real};

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

//! Figures that follow from others, and limits that they have to keep.
//!
//! Where a figure depends on another entry of the statement it says so by a [`Reference`], and is
//! then recomputed from its source and not believed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::{Real, Whole};
use crate::results::{Labels, Statistic};

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

//! A ratio of two sides: ours and the yardstick that it is measured by.

use evidence::{Figure, Reference, Rule, Term};

use crate::rounds::{Side, Spread, ratio_of_times};
use crate::shown::{rounded, time};

/// What two sides are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// How many in a second: ours over the yardstick's.
    Rate,
    /// How long each: ours over the yardstick's.
    Time,
}

/// Ours against a yardstick.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'a> {
    /// What is compared, such as `hot seat, 32 clients: attempts`.
    pub what: &'a str,
    /// By what.
    pub by: By,
    /// Our side.
    pub ours: &'a Side,
    /// What it is measured by.
    pub yardstick: &'a Side,
    /// The yardstick in a few words.
    pub beside: &'a str,
    /// What the ratio is hoped to be.
    pub aim: Option<(Rule, f64)>,
}

impl Comparison<'_> {
    /// The ratio, and its spread over the rounds.
    pub fn ratio(&self) -> Spread {
        match self.by {
            By::Rate => ratio_of_times(self.yardstick, self.ours),
            By::Time => ratio_of_times(self.ours, self.yardstick),
        }
    }

    /// The ratio as a figure that follows from the medians of the two lists of samples.
    pub(crate) fn figure(&self, name: String) -> Figure {
        let term = |side: &Side| {
            let of = Reference::BenchmarkMedian(side.id.clone());
            Term::of(format!("{}: ns each", side.id), of)
        };
        let (ours, yardstick) = (term(self.ours), term(self.yardstick));
        let figure = match self.by {
            By::Rate => Figure::ratio(name, "1", yardstick, ours),
            By::Time => Figure::ratio(name, "1", ours, yardstick),
        };
        match self.aim {
            Some((rule, limit)) => figure.aim(rule, limit),
            None => figure,
        }
    }

    /// What a side did, for a reader.
    pub(crate) fn shown(&self, side: &Side) -> String {
        match self.by {
            By::Rate => format!("{}/s", rounded(1e9 / side.median_ns())),
            By::Time => time(side.median_ns()),
        }
    }
}

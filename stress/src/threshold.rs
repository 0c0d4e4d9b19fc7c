//! Limits that a run is asked to keep, such as `hold.refused.p99<5ms`.
//!
//! What may be limited:
//!
//! * `OPERATION.FIGURE` and `OPERATION.OUTCOME.FIGURE`, where the operation is `hold`, `release`,
//!   `confirm` or `all`; the outcome one of the names in the evidence, or the beginning of some up to
//!   an underscore (`refused` is `refused_held` and `refused_sold`); the figure one of `p50`, `p90`,
//!   `p99`, `p99_9`, `p99_99`, `max`, `mean` (a time), `count`, or `rate` (a second);
//! * `attempts_per_second`, `errors`, `fairness` (Jain index between clients), `unstarted`.
//!
//! Times are response times under a fixed arrival rate, else service times. A time of calls of which
//! there was none is missed, not met.

use std::fmt;
use std::str::FromStr;

use evidence::{Rule, Statistic};

use crate::answer::{Ending, Operation};
use crate::measure::summary;
use crate::runner::Load;
use crate::units::{parse_duration, short_rate, short_time};

/// A limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// As it was given.
    pub expression: String,
    /// What is limited.
    pub metric: Metric,
    /// How it has to stand to the limit.
    pub rule: Rule,
    /// The limit: nanoseconds, or a plain number.
    pub limit: f64,
}

/// What a limit is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Metric {
    /// Measured calls a second.
    AttemptsPerSecond,
    /// Measured calls that ended in an error.
    Errors,
    /// Jain's index between clients.
    Fairness,
    /// Calls that were due and never started.
    Unstarted,
    /// A time of some calls.
    Time(Calls, Statistic),
    /// How many of some calls there were.
    Count(Calls),
    /// How many of some calls there were a second.
    Rate(Calls),
}

/// Some of the calls, by how they ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calls {
    /// Of this operation, or of all.
    pub operation: Option<Operation>,
    /// Ended with this name, or with one that it is the beginning of.
    pub outcome: Option<String>,
}

impl Calls {
    /// Whether a call that ended so is one of them.
    pub fn include(&self, ending: Ending) -> bool {
        self.operation
            .is_none_or(|operation| operation == ending.operation())
            && self
                .outcome
                .as_deref()
                .is_none_or(|outcome| ending.is_of(outcome))
    }

    fn parse(words: &[&str]) -> Result<Self, String> {
        let (operation, outcome) = match words {
            [operation] => (operation, None),
            [operation, outcome] => (operation, Some((*outcome).to_owned())),
            _ => return Err(format!("{:?} has too many parts", words.join("."))),
        };
        let operation = match *operation {
            "all" => None,
            name => Some(
                Operation::ALL
                    .into_iter()
                    .find(|operation| operation.name() == name)
                    .ok_or_else(|| {
                        format!(
                            "there is no {name:?}; there are hold, release, confirm, seat, all, \
                             attempts_per_second, errors, fairness and unstarted"
                        )
                    })?,
            ),
        };
        let calls = Self { operation, outcome };
        if Ending::all().any(|ending| calls.include(ending)) {
            return Ok(calls);
        }
        let names: Vec<_> = Ending::all()
            .filter(|ending| operation.is_none_or(|operation| operation == ending.operation()))
            .map(Ending::name)
            .collect();
        Err(format!("no call ends so; there are {}", names.join(", ")))
    }
}

impl Metric {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "attempts_per_second" => return Ok(Self::AttemptsPerSecond),
            "errors" => return Ok(Self::Errors),
            "fairness" => return Ok(Self::Fairness),
            "unstarted" => return Ok(Self::Unstarted),
            _ => {}
        }
        // `p99.9` is what people say, `p99_9` what a name can be.
        let text = text.replace("p99.9", "p99_9");
        let mut words: Vec<_> = text.split('.').collect();
        let figure = words.pop().unwrap_or_default();
        if words.is_empty() {
            Calls::parse(&[figure])?;
            return Err(format!("{figure:?} needs a figure: {figure}.p99"));
        }
        let calls = Calls::parse(&words)?;
        match figure {
            "count" => return Ok(Self::Count(calls)),
            "rate" => return Ok(Self::Rate(calls)),
            _ => {}
        }
        Statistic::ALL
            .into_iter()
            .find(|statistic| statistic.name() == figure)
            .map(|statistic| Self::Time(calls, statistic))
            .ok_or_else(|| {
                format!(
                    "there is no figure {figure:?}; there are {}, count, rate",
                    Statistic::ALL.map(Statistic::name).join(", ")
                )
            })
    }

    const fn is_time(&self) -> bool {
        matches!(self, Self::Time(..))
    }
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(expression: &str) -> Result<Self, String> {
        const RULES: [Rule; 4] = [Rule::AtMost, Rule::AtLeast, Rule::Below, Rule::Above];
        let (rule, (metric, limit)) = RULES
            .into_iter()
            .find_map(|rule| Some((rule, expression.split_once(rule.sign())?)))
            .ok_or("it has none of the signs <, <=, >=, >")?;
        let (metric, limit) = (Metric::parse(metric.trim())?, limit.trim());
        let limit = if metric.is_time() {
            parse_duration(limit)?.as_secs_f64() * 1e9
        } else {
            limit
                .parse()
                .ok()
                .filter(|limit: &f64| limit.is_finite())
                .ok_or_else(|| format!("{limit:?} is not a number"))?
        };
        Ok(Self {
            expression: expression.to_owned(),
            metric,
            rule,
            limit,
        })
    }
}

impl Threshold {
    /// Compares what was measured with the limit.
    pub fn judge(&self, load: &Load) -> Judged {
        let figures = &load.figures;
        let count = |calls: &Calls| -> u64 {
            Ending::all()
                .filter(|ending| calls.include(*ending))
                .map(|ending| figures.measured.of(ending))
                .sum()
        };
        #[allow(
            clippy::cast_precision_loss,
            reason = "counts of a run are far below 2^53"
        )]
        let number = |count: u64| count as f64;
        let observed = match &self.metric {
            Metric::AttemptsPerSecond => Some(load.rate_of(figures.measured.all_attempts())),
            Metric::Errors => Some(number(figures.measured.errors())),
            Metric::Fairness => Some(load.fairness()),
            Metric::Unstarted => Some(number(load.unstarted().unwrap_or(0))),
            Metric::Count(calls) => Some(number(count(calls))),
            Metric::Rate(calls) => Some(load.rate_of(count(calls))),
            Metric::Time(calls, statistic) => (count(calls) > 0)
                .then(|| summary(&figures.merged(|ending| calls.include(ending))).get(*statistic)),
        };
        Judged {
            threshold: self.clone(),
            observed,
        }
    }
}

/// How a limit came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The limit.
    pub threshold: Threshold,
    /// What was measured; `None` when there was nothing to measure.
    pub observed: Option<f64>,
}

impl Judged {
    /// Whether the limit was kept.
    pub fn met(&self) -> bool {
        self.observed
            .is_some_and(|observed| self.threshold.rule.keeps(observed, self.threshold.limit))
    }
}

impl fmt::Display for Judged {
    /// What was measured, and by how much a missed limit was missed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(observed) = self.observed else {
            return f.write_str("there was no such call");
        };
        let show = |value: f64| {
            if self.threshold.metric.is_time() {
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a time is not negative"
                )]
                short_time(value as u64)
            } else if matches!(self.threshold.metric, Metric::Fairness) {
                format!("{value:.3}")
            } else {
                short_rate(value)
            }
        };
        write!(f, "{}", show(observed))?;
        if !self.met() {
            let by = (observed - self.threshold.limit).abs();
            write!(f, ", missed by {}", show(by))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Threshold, String> {
        text.parse()
    }

    #[test]
    fn a_limit_on_a_time_is_read_with_its_unit() {
        let threshold = parse("hold.refused.p99 < 5ms").expect("valid");
        assert_eq!(threshold.rule, Rule::Below);
        assert!((threshold.limit - 5e6).abs() < 1e-6);
        let Metric::Time(calls, Statistic::P99) = threshold.metric else {
            panic!("{threshold:?}");
        };
        let included: Vec<_> = Ending::all().filter(|e| calls.include(*e)).collect();
        assert_eq!(included.len(), 2, "held and sold");
        for same in ["all.p99.9<=1s", "all.p99_9<=1s"] {
            let metric = parse(same).expect("valid").metric;
            assert!(matches!(metric, Metric::Time(_, Statistic::P999)));
        }
    }

    #[test]
    fn plain_figures_take_plain_numbers() {
        for (text, metric) in [
            ("attempts_per_second>=5000", Metric::AttemptsPerSecond),
            ("errors<1", Metric::Errors),
            ("fairness > 0.9", Metric::Fairness),
            ("unstarted<=0", Metric::Unstarted),
        ] {
            assert_eq!(parse(text).expect("valid").metric, metric);
        }
        let sold = parse("confirm.sold.rate>100").expect("valid");
        assert!(matches!(sold.metric, Metric::Rate(_)));
    }

    #[test]
    fn a_limit_that_makes_no_sense_is_refused_with_the_reason() {
        for (text, reason) in [
            ("hold.p99", "none of the signs"),
            ("hold.p98<5ms", "there is no figure"),
            ("hold.p99<5", "no unit"),
            ("hold<5ms", "needs a figure"),
            ("buy.p99<5ms", "there is no \"buy\""),
            ("hold.sold_out.p99<5ms", "no call ends so; there are held,"),
            ("hold.a.b.p99<5ms", "too many parts"),
            ("errors<5ms", "not a number"),
        ] {
            let problem = parse(text).expect_err(text);
            assert!(problem.contains(reason), "{text}: {problem}");
        }
    }

    #[test]
    fn a_missed_limit_says_by_how_much_and_nothing_measured_is_missed() {
        let threshold = parse("hold.p99<5ms").expect("valid");
        let judged = |observed| Judged {
            threshold: threshold.clone(),
            observed,
        };
        assert!(judged(Some(4e6)).met());
        assert_eq!(judged(Some(7.5e6)).to_string(), "7.50ms, missed by 2.50ms");
        assert!(!judged(None).met());
        assert_eq!(judged(None).to_string(), "there was no such call");
    }
}

//! One load, or a ramp of them at rising rates to find the knee.

use std::fmt;

use crate::RunError;
use crate::client::stopped;
use crate::config::Arrival;
use crate::measure::summary;
use crate::pace::ON_TIME_NS;
use crate::runner::{self, Context, Load, Stage};
use crate::units::short_rate;

/// One rate of a ramp, and how it went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Calls a second that were due.
    pub rate: f64,
    /// Calls a second that were answered.
    pub answered_per_second: f64,
    /// Calls that were due and never started.
    pub unstarted: u64,
    /// Calls that started late.
    pub late: u64,
    /// The middle response time of all calls, in nanoseconds.
    pub p50_ns: u64,
    /// 99 in a hundred calls were answered within this, in nanoseconds.
    pub p99_ns: u64,
    /// Whether every limit was kept, every call started, and 99 in a hundred on time.
    pub kept: bool,
}

/// What a ramp found out about the knee: the highest rate that is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Knee {
    /// This rate was kept, and the next one was not.
    At(f64),
    /// Every rate was kept, to the last one, which is this.
    Beyond(f64),
    /// Not even the first rate was kept, which is this.
    Below(f64),
    /// The ramp was interrupted. This is the highest rate that was kept until then, if one was.
    Unknown(Option<f64>),
}

impl Knee {
    /// What these steps show; `None` when there was no ramp.
    pub fn of(steps: &[Step], interrupted: bool) -> Option<Self> {
        let (first, last) = (steps.first()?, steps.last()?);
        let kept = steps.iter().rfind(|step| step.kept).map(|step| step.rate);
        Some(match kept {
            _ if interrupted => Self::Unknown(kept),
            Some(_) if last.kept => Self::Beyond(last.rate),
            Some(rate) => Self::At(rate),
            None => Self::Below(first.rate),
        })
    }

    /// Its name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::At(_) => "at",
            Self::Beyond(_) => "beyond",
            Self::Below(_) => "below",
            Self::Unknown(_) => "unknown",
        }
    }

    /// The rate that it is at, beyond or below, or the highest that was kept.
    pub const fn rate(self) -> Option<f64> {
        match self {
            Self::At(rate) | Self::Beyond(rate) | Self::Below(rate) => Some(rate),
            Self::Unknown(rate) => rate,
        }
    }
}

impl fmt::Display for Knee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = short_rate(self.rate().unwrap_or_default());
        match self {
            Self::At(_) => write!(
                f,
                "{rate}/s is the highest rate that was kept; its figures follow"
            ),
            Self::Beyond(_) => write!(
                f,
                "it lies beyond {rate}/s, the last rate, for every one was kept; a higher TO may \
                 find it; the figures of {rate}/s follow"
            ),
            Self::Below(_) => write!(
                f,
                "it lies below {rate}/s, for not even that first rate was kept; its figures follow"
            ),
            Self::Unknown(Some(_)) => write!(
                f,
                "not known, for the ramp was interrupted; {rate}/s was kept, and its figures follow"
            ),
            Self::Unknown(None) => write!(
                f,
                "not known, for the ramp was interrupted; the figures of the first rate follow"
            ),
        }
    }
}

/// Runs the load of the settings. Of a ramp, the load of the knee is given back, with the others
/// added as done but not measured; when no rate was kept, that of the first.
///
/// # Errors
/// Those of [`runner::run`].
pub fn run(context: Context<'_>) -> Result<(Load, Vec<Step>), RunError> {
    let config = context.config;
    let stage = |arrival, number: u32| Stage {
        arrival,
        first_client: number * config.clients,
        places: 0..config.clients,
    };
    let Some(ramp) = config.ramp else {
        return Ok((runner::run(context, &stage(config.arrival, 0))?, Vec::new()));
    };
    let mut steps: Vec<Step> = Vec::new();
    let mut best: Option<Load> = None;
    for (rate, number) in ramp.rates().zip(0..) {
        let load = runner::run(context, &stage(Arrival::Open { rate }, number))?;
        let limits_are_kept = config
            .thresholds
            .iter()
            .all(|threshold| threshold.judge(&load).met());
        let kept = limits_are_kept && load.kept_up();
        let times = summary(&load.figures.merged(|_| true));
        steps.push(Step {
            rate,
            answered_per_second: load.rate_of(load.figures.measured.all_attempts()),
            unstarted: load.unstarted().unwrap_or_default(),
            late: load.later_than(ON_TIME_NS).unwrap_or_default(),
            p50_ns: times.p50.0,
            p99_ns: times.p99.0,
            kept,
        });
        best = Some(match best {
            None => load,
            Some(mut before) if !kept => {
                before.and(load);
                before
            }
            Some(before) => {
                let mut now = load;
                now.and(before);
                now
            }
        });
        if !kept || stopped(context.stop) {
            break;
        }
    }
    Ok((best.expect("a ramp has at least one rate"), steps))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knee(kept: &[bool], interrupted: bool) -> Option<Knee> {
        let step = |(number, kept): (u32, &bool)| Step {
            rate: f64::from(number) * 500.0,
            answered_per_second: 0.0,
            unstarted: 0,
            late: 0,
            p50_ns: 0,
            p99_ns: 0,
            kept: *kept,
        };
        let steps: Vec<_> = (1..).zip(kept).map(step).collect();
        Knee::of(&steps, interrupted)
    }

    #[test]
    fn the_end_of_a_ramp_that_kept_every_rate_is_not_called_the_knee() {
        assert_eq!(knee(&[true, true, false], false), Some(Knee::At(1_000.0)));
        assert_eq!(knee(&[true, true], false), Some(Knee::Beyond(1_000.0)));
        assert_eq!(knee(&[false], false), Some(Knee::Below(500.0)));
        assert_eq!(knee(&[true], true), Some(Knee::Unknown(Some(500.0))));
        assert_eq!(knee(&[false], true), Some(Knee::Unknown(None)));
        assert_eq!(knee(&[], false), None);
        let words = Knee::Beyond(1_500.0).to_string();
        assert!(words.starts_with("it lies beyond 1,500/s"), "{words}");
    }
}

//! One load, or a ramp of them at rising rates to find the knee.

use crate::RunError;
use crate::client::stopped;
use crate::config::Arrival;
use crate::measure::summary;
use crate::pace::ON_TIME_NS;
use crate::runner::{self, Context, Load, Stage};

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

//! Many random sequences on one store: how far they reached, and the first that failed, made small.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::generate::{Tree, Trouble};
use super::run::{CouldNotRun, Depth, Failure, Walk, Walked, Workplace, run};
use super::shrink::{Minimal, shrink};
use crate::reference::Row;
use crate::store_choice::{Choice, Subject};

/// Which sequences are walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Campaign {
    /// How many.
    pub cases: u64,
    /// The number of the first one.
    pub first: u64,
    /// Together with its number, all that a sequence depends on.
    pub seed: u64,
}

/// What a campaign found.
#[derive(Debug, Clone)]
pub struct Report {
    /// Sequences that were walked, up to and with the first that failed.
    pub cases: u64,
    /// What the ones that passed did, in all.
    pub walk: Walk,
    /// The first that failed.
    pub failed: Option<Failed>,
    /// Somebody asked it to stop before it was through.
    pub interrupted: bool,
    /// How long it took.
    pub took: Duration,
}

/// A sequence that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The number of the sequence.
    pub case: u64,
    /// How many steps it had when it was drawn.
    pub drawn_steps: usize,
    /// The smallest one that fails like it.
    pub minimal: Minimal,
}

/// The least share of calls by which each row of the table has to be reached.
pub const LEAST_SHARE: f64 = 0.01;

impl Report {
    /// Rows that were reached by fewer than [`LEAST_SHARE`] of the calls, with their share.
    pub fn rare_rows(&self) -> Vec<(Row, f64)> {
        let shares = Row::ALL.into_iter().map(|row| (row, self.share(row)));
        shares.filter(|(_, share)| *share < LEAST_SHARE).collect()
    }

    /// The share of calls that reached a row.
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    pub fn share(&self, row: Row) -> f64 {
        self.walk.rows[row.number() - 1] as f64 / self.walk.calls.max(1) as f64
    }
}

/// Walks the sequences of a campaign in parallel, or one after the other when the store is on a file
/// that the user named. `progress` is told after each batch how many are done. Once `stop` is set, no
/// further sequence is begun; what was found until then is the report.
///
/// # Errors
/// [`CouldNotRun`] when something outside the store failed.
pub fn run_campaign(
    choice: &Choice,
    campaign: Campaign,
    stop: &AtomicBool,
    progress: &dyn Fn(u64),
) -> Result<Report, CouldNotRun> {
    let started = Instant::now();
    let subject = &*choice.subject;
    let mut report = Report {
        cases: 0,
        walk: Walk::default(),
        failed: None,
        interrupted: false,
        took: Duration::ZERO,
    };
    let named = match &choice.path {
        Some(path) => Some(Workplace::at(subject, path)?),
        None => None,
    };
    let mut batch: u64 = 2;
    while report.cases < campaign.cases && report.failed.is_none() && !report.interrupted {
        let from = campaign.first + report.cases;
        let numbers = from..from + batch.min(campaign.cases - report.cases);
        let walked: Vec<_> = match &named {
            Some(place) => numbers
                .map(|case| one(subject, place, campaign.seed, case, stop))
                .collect(),
            None => numbers
                .into_par_iter()
                .map_init(
                    || Workplace::temporary(subject),
                    |place, case| match place {
                        Ok(place) => one(subject, place, campaign.seed, case, stop),
                        Err(error) => Err(error.clone()),
                    },
                )
                .collect(),
        };
        for (case, result) in (from..).zip(walked) {
            let Some(walked) = result? else {
                report.interrupted = true;
                continue;
            };
            report.cases += 1;
            match walked {
                Ok(walk) => report.walk += &walk,
                Err(failure) => {
                    report.failed = Some(made_small(
                        subject,
                        named.as_ref(),
                        campaign.seed,
                        case,
                        failure,
                    )?);
                    break;
                }
            }
        }
        progress(report.cases);
        batch = (batch * 2).min(256);
    }
    report.took = started.elapsed();
    Ok(report)
}

/// Walks one sequence; none when somebody asked to stop.
fn one(
    subject: &dyn Subject,
    place: &Workplace,
    seed: u64,
    case: u64,
    stop: &AtomicBool,
) -> Result<Option<Walked>, CouldNotRun> {
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let sequence = Tree::new(seed, case, Trouble::All).current();
    run(&sequence, subject, place, Depth::Full).map(Some)
}

fn made_small(
    subject: &dyn Subject,
    named: Option<&Workplace>,
    seed: u64,
    case: u64,
    failure: Failure,
) -> Result<Failed, CouldNotRun> {
    let tree = Tree::new(seed, case, Trouble::All);
    let drawn_steps = tree.current().steps.len();
    let minimal = match named {
        Some(place) => shrink(tree, failure, subject, place)?,
        None => shrink(tree, failure, subject, &Workplace::temporary(subject)?)?,
    };
    Ok(Failed {
        case,
        drawn_steps,
        minimal,
    })
}

/// What the check costs: the same sequences on the same store, with it and without, in turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Commands in each of the two.
    pub commands: u64,
    /// With every comparison.
    pub checked: Duration,
    /// The commands and reopenings alone.
    pub alone: Duration,
}

impl Cost {
    /// Commands a second with the check.
    pub fn checked_per_second(&self) -> f64 {
        per_second(self.commands, self.checked)
    }

    /// Commands a second without it.
    pub fn alone_per_second(&self) -> f64 {
        per_second(self.commands, self.alone)
    }

    /// How long the check took for each second that the store took. Below 1 it costs less.
    pub fn check_for_each_second(&self) -> f64 {
        self.checked.as_secs_f64() / self.alone.as_secs_f64() - 1.0
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn per_second(commands: u64, took: Duration) -> f64 {
    commands as f64 / took.as_secs_f64()
}

/// Measures [`Cost`] on one thread, with sequences in which nothing goes wrong.
///
/// # Errors
/// [`CouldNotRun`] when something outside the store failed, or the store differs from the reference.
pub fn measure(subject: &dyn Subject, cases: u64, seed: u64) -> Result<Cost, CouldNotRun> {
    let place = Workplace::temporary(subject)?;
    let mut cost = Cost {
        commands: 0,
        checked: Duration::ZERO,
        alone: Duration::ZERO,
    };
    for case in 0..cases {
        let sequence = Tree::new(seed, case, Trouble::Without).current();
        let timed = |depth, took: &mut Duration| {
            let started = Instant::now();
            let walked = run(&sequence, subject, &place, depth)?;
            *took += started.elapsed();
            walked.map_err(|failure| CouldNotRun(failure.what))
        };
        // In turns, and each first in every other case, so that a disturbance meets both.
        let commands = if case % 2 == 0 {
            timed(Depth::StoreAlone, &mut cost.alone)?;
            timed(Depth::Full, &mut cost.checked)?
        } else {
            timed(Depth::Full, &mut cost.checked)?;
            timed(Depth::StoreAlone, &mut cost.alone)?
        };
        cost.commands += commands.commands;
    }
    Ok(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_below_its_least_share_of_the_calls_is_rare() {
        let mut report = Report {
            cases: 1,
            walk: Walk {
                calls: 1_000,
                rows: [10; Row::ALL.len()],
                ..Walk::default()
            },
            failed: None,
            interrupted: false,
            took: Duration::ZERO,
        };
        assert_eq!(report.rare_rows(), []);
        report.walk.rows[4] = 9;
        assert_eq!(report.rare_rows(), [(Row::ALL[4], 0.009)]);
    }
}

//! What the commit queue makes of a load that was run without it.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use evidence::Verdict;
use soldonce::Commit;

use crate::args::Format;
use crate::client::stopped;
use crate::config::{Arrival, Config, EvidenceTo, Place, Under, Until};
use crate::layout::{line, paragraph};
use crate::progress::Progress;
use crate::run::{in_words, run};
use crate::units::{short_rate, typed};

/// So long at most is the queue measured.
const LONGEST: Duration = Duration::from_secs(3);

/// How the same load went through the queue, on a file of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Beside {
    /// It was measured, and checked as every run is.
    Measured {
        /// Attempts per second.
        attempts_per_second: f64,
        /// How long, where the run did not end after so many calls.
        time: Option<Duration>,
        /// What it came to.
        verdict: Verdict,
    },
    /// There is no result, for this reason.
    NotRun(String),
}

/// Puts the load on the queue, too, when the run was one commit each, as fast as it could, on a fresh file.
pub(crate) fn queue(
    config: &Config,
    verdict: Verdict,
    stop: &AtomicBool,
    progress: &Progress,
) -> Option<Beside> {
    let alike = matches!(verdict, Verdict::Holds | Verdict::ThresholdMissed)
        && config.store == Under::Real(Commit::PerCall)
        && config.arrival == Arrival::Closed
        && config.ramp.is_none()
        && config.processes == 1
        && config.place == Place::Temporary;
    if !alike || stopped(stop) {
        return None;
    }
    let (until, time) = match config.until {
        Until::Elapsed(time) => {
            let time = time.min(LONGEST);
            (Until::Elapsed(time), Some(time))
        }
        calls @ Until::Calls(_) => (calls, None),
    };
    let config = Config {
        store: Under::Real(Commit::default()),
        until,
        warmup: Duration::ZERO,
        thresholds: Vec::new(),
        format: Format::Json,
        history: None,
        evidence: EvidenceTo::Nowhere,
        ..config.clone()
    };
    progress.say("putting the same load on the commit queue");
    let finished = run(&config, stop);
    progress.clear();
    match finished {
        Ok(finished) if finished.verdict == Verdict::Interrupted => None,
        Ok(finished) => Some(Beside::Measured {
            attempts_per_second: finished.attempts_per_second,
            time,
            verdict: finished.verdict,
        }),
        Err(error) => Some(Beside::NotRun(in_words(&error))),
    }
}

impl Beside {
    /// The line of the summary: the queue's rate against this one.
    pub(crate) fn line(&self, ours: f64) -> String {
        let mut out = String::new();
        match self {
            Self::Measured {
                attempts_per_second: rate,
                time,
                verdict,
            } => {
                let length = match time {
                    Some(time) => format!("in {}", typed(*time)),
                    None => String::new(), // as many calls
                };
                let checked = match verdict {
                    Verdict::Holds => "all checks hold".to_owned(),
                    other => format!("{}: see --engine queue", other.name()),
                };
                let times = format!("{:.1} times as many", rate / ours);
                let same_load = format!("{}/s with the same load", short_rate(*rate));
                line(&mut out, "queue", &[same_load, length, times, checked]);
            }
            Self::NotRun(why) => {
                out = paragraph(&format!("queue     not measured beside: {why}"), 0, 10);
            }
        }
        out
    }
}

//! A whole run: open, load, check, write.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use evidence::{Builder, Kind, Verdict};
use soldonce::StoreError;

use crate::args::Format;
use crate::clock::RunClock;
use crate::config::{Config, EvidenceTo};
use crate::progress::Progress;
use crate::report::Report;
use crate::{proof, runner, statement, store};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store could not be opened or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file is in use already.
    #[error(
        "{} holds {seats} seats already; give another path, or --reuse to go on with it", .path.display()
    )]
    HoldsSeats {
        /// The file.
        path: PathBuf,
        /// How many seats it holds.
        seats: usize,
    },
    /// There is no place for a temporary database.
    #[error("no temporary folder could be made: {0}; give --database PATH")]
    Temporary(#[source] io::Error),
    /// A client could not be started.
    #[error("the thread of client {number} could not be started: {source}; use fewer --clients")]
    Thread {
        /// Which.
        number: u32,
        /// Why.
        source: io::Error,
    },
    /// No call got an answer.
    #[error("no call got an answer; the first said: {0}")]
    NoAnswer(String),
    /// The evidence could not be put together: a fault of this program.
    #[error("the evidence could not be put together: {0}")]
    Evidence(#[from] evidence::BuildError),
    /// A histogram could not be kept: a fault of this program.
    #[error("a histogram could not be kept: {0}")]
    Histogram(#[from] evidence::HistogramError),
    /// The evidence could not be written.
    #[error("the evidence could not be written: {0}")]
    Write(#[from] evidence::WriteError),
}

/// What a run prints, and what it comes to.
#[derive(Debug)]
pub struct Finished {
    /// For standard output.
    pub text: String,
    /// What it comes to.
    pub verdict: Verdict,
}

impl Finished {
    /// The exit code of the program.
    pub const fn exit_code(&self) -> u8 {
        match self.verdict {
            Verdict::Holds => 0,
            Verdict::Inconclusive => 1,
            Verdict::Violated => 3,
            Verdict::ThresholdMissed => 4,
            Verdict::Interrupted => 130,
        }
    }
}

/// Runs the whole of it. `stop` ends the load early; what was done until then is still checked.
///
/// # Errors
/// [`RunError`] when there is no result to tell.
pub fn run(config: &Config, stop: &AtomicBool) -> Result<Finished, RunError> {
    let builder = Builder::new(Kind::Stress);
    let evidence_folder = match &config.evidence {
        EvidenceTo::Nowhere => None,
        EvidenceTo::Folder(folder) => Some(folder.clone()),
        EvidenceTo::Workspace => Some(evidence::runs_folder(Path::new("."))),
    };
    let progress = match config.format {
        Format::Text => Progress::on_terminal(),
        Format::Json => Progress::silent(),
    };
    progress.say("opening the database and adding the seats");
    let clock = RunClock::start();
    let opened = store::open(config, clock)?;
    let load = runner::run(config, &opened, &clock, stop, &progress)?;
    let counts = &load.figures.measured;
    if counts.all_attempts() > 0
        && counts.all_attempts() == counts.errors()
        && let Some((_, words)) = load.errors.first()
    {
        return Err(RunError::NoAnswer(words.clone()));
    }
    let after = opened.store.snapshot()?;
    let proof = proof::check(&load, &opened.names, &opened.before, &after);
    drop(after);
    let judged: Vec<_> = config
        .thresholds
        .iter()
        .map(|threshold| threshold.judge(&load))
        .collect();
    let statement = statement::build(builder, config, &opened, &load, &proof, &judged)?;
    let verdict = statement.predicate.verdict;
    let evidence = match evidence_folder {
        Some(folder) => Some(statement.write(&folder)?),
        None => None,
    };
    let evidence = evidence.as_deref().map(from_here);
    let report = Report {
        config,
        opened: &opened,
        load: &load,
        proof: &proof,
        judged: &judged,
        verdict,
        evidence: evidence.as_deref(),
    };
    let text = match config.format {
        Format::Text => report.text(),
        Format::Json => format!("{:#}\n", report.json()),
    };
    Ok(Finished { text, verdict })
}

/// A path as it is seen from the current folder, where that is shorter.
fn from_here(path: &Path) -> PathBuf {
    std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf))
        .unwrap_or_else(|| path.to_path_buf())
}

//! A whole run: open, load, check, write.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use evidence::{Builder, Kind, Verdict};
use model_check::history::{History, Recorder};
use soldonce::{SeatId, StoreError};

use crate::args::Format;
use crate::clock::RunClock;
use crate::config::{Config, EvidenceTo};
use crate::progress::Progress;
use crate::proof::Proof;
use crate::report::Report;
use crate::runner::{Context, Load};
use crate::statement::Parts;
use crate::store::Opened;
use crate::touched::Touched;
use crate::{history, proof, ramp, statement, store};

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
    /// A seat that was added is not there, or is not new.
    #[error("seat {0} was added, but it is not there as a new seat")]
    NotAdded(SeatId),
    /// There is no place for a temporary database.
    #[error("no temporary folder could be made; give --database PATH")]
    Temporary(#[source] io::Error),
    /// A client could not be started.
    #[error("the thread of client {number} could not be started; use fewer --clients")]
    Thread {
        /// Which.
        number: u32,
        /// Why.
        source: io::Error,
    },
    /// No call got an answer.
    #[error("no call got an answer; the first said: {0}")]
    NoAnswer(String),
    /// The history could not be kept.
    #[error("the history could not be written to {}: {problem}", .path.display())]
    History {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// The evidence could not be put together: a fault of this program.
    #[error("the evidence could not be put together")]
    Evidence(#[from] evidence::BuildError),
    /// A histogram could not be kept: a fault of this program.
    #[error("a histogram could not be kept")]
    Histogram(#[from] evidence::HistogramError),
    /// The evidence could not be written.
    #[error("the evidence could not be written")]
    Write(#[from] evidence::WriteError),
}

/// An error with its causes, in one line.
pub fn in_words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        words.push_str(": ");
        words.push_str(&inner.to_string());
        cause = inner.source();
    }
    words
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
    let opened = store::open(config, &clock)?;
    let recorder = history::start(&opened, &clock, config.history.is_some());
    let touched = Touched::new(config.workload.seats);
    let (load, steps) = ramp::run(Context {
        config,
        opened: &opened,
        clock: &clock,
        stop,
        progress: &progress,
        recorder: &recorder,
        touched: &touched,
    })?;
    let proof_began = Instant::now();
    let counts = &load.figures.measured;
    if counts.all_attempts() > 0
        && counts.all_attempts() == counts.errors()
        && let Some((_, words)) = load.errors.first()
    {
        return Err(RunError::NoAnswer(words.clone()));
    }
    progress.say("reading everything back, and checking");
    let (proof, kept) = prove(&opened, &load, recorder, &touched)?;
    if let Some(path) = &config.history {
        history::write(&kept, path)?;
    }
    progress.clear();
    let proof_took = proof_began.elapsed();
    let judged: Vec<_> = config
        .thresholds
        .iter()
        .map(|threshold| threshold.judge(&load))
        .collect();
    let parts = Parts {
        config,
        opened: &opened,
        load: &load,
        proof: &proof,
        judged: &judged,
        steps: &steps,
    };
    let statement = statement::build(builder, &parts)?;
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
        steps: &steps,
        proof_took,
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

/// Reads everything back, ends the history, and checks it all.
fn prove(
    opened: &Opened,
    load: &Load,
    recorder: Recorder,
    touched: &Touched,
) -> Result<(Proof, History), RunError> {
    let mut payments: Vec<_> = load.answered.iter().map(|told| told.payment).collect();
    payments.sort_unstable();
    payments.dedup();
    let (store, names) = (&*opened.store, &opened.names);
    let (mut proof, reads) = match store.snapshot() {
        Ok(after) => {
            let proof = proof::check(load, names, &opened.before, &after);
            drop(after);
            let seats = touched.seats();
            let reads = history::read_back(store, &recorder, names, &seats, &payments)?;
            (proof, reads)
        }
        Err(error @ StoreError::Corrupt { .. }) => {
            let problem = error.to_string();
            (Proof::of_nonsense(load, &opened.before, problem), 0)
        }
        Err(error) => return Err(error.into()),
    };
    let ended = recorder.finish();
    let calls = ended.report.counts.operations;
    proof.add_history(history::check(&ended), calls, reads);
    Ok((proof, ended.history))
}

/// A path as it is seen from the current folder, where that is shorter.
fn from_here(path: &Path) -> PathBuf {
    std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf))
        .unwrap_or_else(|| path.to_path_buf())
}

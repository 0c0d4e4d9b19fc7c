//! A whole run: open, load, check, write.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use evidence::{Builder, Kind, Statement, Verdict};
use model_check::history::{History, Origin, Recorder};
use soldonce::invariant::Snapshot;
use soldonce::{PaymentId, SeatId, StoreError};

use crate::args::Format;
use crate::beside::Beside;
use crate::clock::RunClock;
use crate::config::{Config, EvidenceTo};
use crate::progress::Progress;
use crate::proof::{Check, Proof, Unreadable};
use crate::record::Recording;
use crate::report::Report;
use crate::runner::{Context, Load};
use crate::statement::Parts;
use crate::store::Opened;
use crate::touched::Touched;
use crate::units::thousands;
use crate::{beside, history, memory, outputs, processes, proof, ramp, statement, store, told};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store could not be opened or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file is in use already.
    #[error(
        "{} holds {} seats already; give another path, or --reuse to go on with it", .path.display(), thousands(*.seats as u64)
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
    /// Another run has the file.
    #[error("{} is in use by another stress run; wait for its end, or give another path", .0.display())]
    InUse(PathBuf),
    /// The history would be written over something.
    #[error("--history: {} is there already; name a file that is not", .0.display())]
    HistoryExists(PathBuf),
    /// There is no place for the evidence.
    #[error("no evidence can be written in {}; give another --evidence FOLDER, or --no-evidence", .folder.display())]
    NoEvidence {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
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
    /// A process could not be started or waited for.
    #[error("process {number} could not be started")]
    Start {
        /// Which.
        number: u32,
        /// Why.
        source: io::Error,
    },
    /// A process ended otherwise than well or by a signal.
    #[error("process {number} failed: {status}")]
    Process {
        /// Which.
        number: u32,
        /// How.
        status: ExitStatus,
    },
    /// Nobody is left to tell what was measured.
    #[error("every process was killed, so nothing was measured")]
    AllKilled,
    /// A worker was started by hand.
    #[error("--worker is for processes that --processes starts")]
    NotTold,
    /// There is no clock that several processes read alike.
    #[error("--processes needs a monotonic clock that all processes share, which Unix has")]
    NoSharedClock,
    /// No call was made in the measured part, so nothing was checked.
    #[error("no call was made in the measured part; give a longer --duration, or a higher --rate")]
    NoCall,
    /// No call got an answer.
    #[error("no call got an answer; the first error of {operation} was: {words}")]
    NoAnswer {
        /// What was called.
        operation: &'static str,
        /// What the store said.
        words: String,
    },
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
    /// What could not be written, and why.
    pub unwritten: Vec<String>,
    /// The rate of all calls.
    pub attempts_per_second: f64,
}

impl Finished {
    /// The exit code of the program. A violation outweighs a file that could not be written.
    pub const fn exit_code(&self) -> u8 {
        match self.verdict {
            Verdict::Violated => 3,
            _ if !self.unwritten.is_empty() => 1,
            Verdict::Holds => 0,
            Verdict::Inconclusive => 5,
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
    let evidence_folder = evidence_folder(&config.evidence);
    outputs::prepare(evidence_folder.as_deref(), config.history.as_deref())?;
    let progress = match config.format {
        Format::Text => Progress::on_terminal(),
        Format::Json => Progress::Silent,
    };
    progress.say("opening the database and adding the seats");
    let (clock, shared) = clock(config.processes)?;
    let mut opened = store::open(config, &clock)?;
    let recorder = history::start(&opened, &clock, config.history.is_some());
    let touched = Touched::new(config.workload.seats);
    let context = Context {
        config,
        opened: &opened,
        clock: &clock,
        stop,
        progress: &progress,
        recording: Recording::Checked(&recorder),
        touched: &touched,
        begin: &|| clock.now_ns(),
    };
    let (load, steps, written) = match shared {
        None => {
            let (load, steps) = ramp::run(context)?;
            (load, steps, None)
        }
        Some(origin) => {
            let (load, written) = processes::run(context, origin)?;
            (load, Vec::new(), Some(written))
        }
    };
    let recorded = match written {
        None => Calls::Checked(recorder, touched.seats()),
        Some(written) => {
            drop(recorder.finish());
            Calls::Written(Box::new(written))
        }
    };
    let proof_began = Instant::now();
    any_answer(&load)?;
    progress.say("reading everything back, and checking");
    let (file, found) = stored(&mut opened, config, &clock);
    let (mut proof, kept) = prove(&opened, found, &load, recorded, &clock)?;
    proof.checks.extend(file);
    let mut unwritten = Vec::new();
    if let Some(path) = &config.history
        && let Err(error) = history::write(&kept, path)
    {
        unwritten.push(in_words(&error));
    }
    progress.clear();
    let (proof_took, proof_peak_bytes) = (proof_began.elapsed(), memory::peak_bytes());
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
    let evidence = evidence_folder.and_then(|folder| write(&statement, &folder, &mut unwritten));
    let queue = beside::queue(config, verdict, stop, &progress);
    let report = Report {
        config,
        opened: &opened,
        load: &load,
        proof: &proof,
        steps: &steps,
        proof_took,
        proof_peak_bytes,
        judged: &judged,
        verdict,
        evidence: evidence.as_deref(),
        queue,
    };
    let text = match config.format {
        Format::Text => report.text(),
        Format::Json => format!("{:#}\n", report.json()),
    };
    Ok(Finished {
        text,
        verdict: match report.queue {
            Some(Beside::Measured {
                verdict: beside @ (Verdict::Violated | Verdict::Inconclusive),
                ..
            }) => beside,
            _ => verdict,
        },
        unwritten,
        attempts_per_second: load.rate_of(load.figures.measured.all_attempts()),
    })
}

fn evidence_folder(to: &EvidenceTo) -> Option<PathBuf> {
    match to {
        EvidenceTo::Nowhere => None,
        EvidenceTo::Folder(folder) => Some(folder.clone()),
        EvidenceTo::Workspace => Some(evidence::runs_folder(Path::new("."))),
    }
}

/// The clock of a run, and where it began when several processes read it.
fn clock(processes: u32) -> Result<(RunClock, Option<Origin>), RunError> {
    if processes == 1 {
        return Ok((RunClock::start(), None));
    }
    let origin = model_check::history::RunClock::origin_now().ok_or(RunError::NoSharedClock)?;
    let clock = RunClock::since(origin).ok_or(RunError::NoSharedClock)?;
    Ok((clock, Some(origin)))
}

/// A run in which every call failed has nothing to tell but why.
fn any_answer(load: &Load) -> Result<(), RunError> {
    let counts = &load.figures.measured;
    if counts.all_attempts() == 0 && !load.interrupted {
        return Err(RunError::NoCall);
    }
    match load.errors.first() {
        Some((ending, words))
            if counts.all_attempts() > 0 && counts.all_attempts() == counts.errors() =>
        {
            Err(RunError::NoAnswer {
                operation: ending.operation().name(),
                words: words.clone(),
            })
        }
        Some(_) | None => Ok(()),
    }
}

/// The calls of the load.
enum Calls {
    /// They were checked as they came, and went for these seats.
    Checked(Recorder, Vec<u32>),
    /// They were written by several processes.
    Written(Box<History>),
}

/// Writes the evidence, and says where it is, or adds why there is none.
fn write(statement: &Statement, folder: &Path, unwritten: &mut Vec<String>) -> Option<PathBuf> {
    match statement.write(folder) {
        Ok(path) => Some(from_here(&path)),
        Err(error) => {
            let why = in_words(&error);
            unwritten.push(format!("the evidence could not be written: {why}"));
            None
        }
    }
}

/// Is the file still there, and what is stored in it, read after the store was opened anew?
fn stored(
    opened: &mut Opened,
    config: &Config,
    clock: &RunClock,
) -> (Option<Check>, Result<Snapshot, StoreError>) {
    // Looked at first: a file that is gone must not be made again.
    let file = opened.file.check();
    let ready = match &file {
        Some(file) if file.violations > 0 => Ok(()),
        Some(_) | None => opened.reopen(config, clock),
    };
    let found = ready.and_then(|()| patiently(|| opened.store().snapshot()));
    (file, found)
}

/// Reads what was touched once more, ends the history, and checks it all against what was found to be
/// stored.
fn prove(
    opened: &Opened,
    found: Result<Snapshot, StoreError>,
    load: &Load,
    calls: Calls,
    clock: &RunClock,
) -> Result<(Proof, History), RunError> {
    let (names, before) = (&opened.names, &opened.before);
    let after = found.map_err(|error| Unreadable::from(&error));
    let several = matches!(calls, Calls::Written(_));
    let (ended, reads) = match calls {
        Calls::Checked(recorder, seats) => {
            let mut reads = 0;
            if after.is_ok() {
                let store = opened.store();
                let payments = recorder.remembered_payments();
                let seats = (&*seats, |seat: &u32| names.seat(Some(*seat)));
                let payments = (&*payments, PaymentId::clone);
                reads = history::read_back(store, &recorder, seats, payments)?;
            }
            (recorder.finish(), reads)
        }
        Calls::Written(written) => {
            let store = after.is_ok().then(|| opened.store());
            history::close(*written, store, clock)?
        }
    };
    let mut proof = match after {
        Ok(after) => {
            let acknowledged = if several {
                told::as_shown(&after, &load.acknowledged)
            } else {
                told::as_decided(&after, ended.decided.as_ref())
            };
            proof::check(load, acknowledged, before, &after)
        }
        Err(why) => Proof::of_unreadable(load, before, why),
    };
    let calls = ended.report.counts.operations;
    proof.add_history(history::check(&ended), calls, reads);
    Ok((proof, ended.history))
}

/// Repeats a read that was busy, as its error says.
fn patiently<T>(mut read: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let began = Instant::now();
    loop {
        match read() {
            Err(StoreError::Busy { .. }) if began.elapsed() < Duration::from_mins(1) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// A path as it is seen from the current folder, where that is shorter.
fn from_here(path: &Path) -> PathBuf {
    std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf))
        .unwrap_or_else(|| path.to_path_buf())
}

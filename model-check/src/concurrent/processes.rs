//! A run in two processes on one database, on a clock that both read.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Program, Stdio};
use std::time::Instant;

use soldonce::{Clock as _, StoreError, SystemClock, Timestamp};

use super::{Plan, buyers, payments_of, read_everything, real_store};
use crate::history::{FileError, History, Recorder, RecorderOptions, RunClock, read, write};

/// Why a run in several processes did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// A store said so.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A history could not be written or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The system said so.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The machine's clock was set, so the instants of the processes can not be compared.
    #[error("the clock of the machine was set while the processes ran; run again")]
    ClockWasSet,
    /// A process ended otherwise than well.
    #[error("a process ended with {0}")]
    Ended(std::process::ExitStatus),
}

fn system(what: &'static str) -> impl Fn(io::Error) -> ProcessError {
    move |source| ProcessError::System { what, source }
}

/// What one of the processes is told.
#[derive(Debug, Clone)]
pub struct Share {
    /// The database.
    pub store: PathBuf,
    /// The instant 0 of all processes.
    pub start: Timestamp,
    /// What it does.
    pub plan: Plan,
    /// Where its history goes.
    pub history: PathBuf,
}

/// One process's part of the run. Its history goes to a file, without reads at the end.
///
/// # Errors
/// [`ProcessError`].
pub fn run_share(share: &Share) -> Result<(), ProcessError> {
    let clock = RunClock::shared(share.start);
    let (wall, steady) = (clock.instant(), Instant::now());
    let store = real_store(&share.store, &clock, share.plan, 8)?;
    let mut options = RecorderOptions::new(clock.clone());
    (options.check, options.keep) = (false, true);
    let recorder = Recorder::start(options);
    let _ = buyers(&store, &recorder, share.plan);
    let history = recorder.finish().history;
    let passed = i128::from(clock.instant()) - i128::from(wall);
    let really = i128::try_from(steady.elapsed().as_nanos()).unwrap_or(i128::MAX);
    if (passed - really).abs() > 1_000_000 {
        return Err(ProcessError::ClockWasSet);
    }
    let file = File::create(&share.history).map_err(system("making the file of a history"))?;
    Ok(write(&history, file)?)
}

/// Two processes on one database in this folder, each with the plan's threads and half of its calls. The
/// program is started with what `arguments` makes of a share, and must call [`run_share`].
///
/// # Errors
/// [`ProcessError`].
pub fn two_processes(
    folder: &Path,
    plan: Plan,
    program: &Path,
    arguments: impl Fn(&Share) -> Vec<String>,
) -> Result<History, ProcessError> {
    let start = SystemClock::default().now();
    let clock = RunClock::shared(start);
    let database = folder.join("shared.sqlite");
    let store = real_store(&database, &clock, plan, 1)?;
    let shares = [0, 1].map(|number| Share {
        store: database.clone(),
        start,
        plan: Plan {
            calls: plan.calls / 2,
            seed: plan.seed * 2 + number,
            ..plan
        },
        history: folder.join(format!("share-{number}.jsonl")),
    });
    let children: Vec<Child> = shares
        .iter()
        .map(|share| {
            Program::new(program)
                .args(arguments(share))
                .stdout(Stdio::null())
                .spawn()
                .map_err(system("starting a process"))
        })
        .collect::<Result<_, _>>()?;
    for mut child in children {
        let ended = child.wait().map_err(system("waiting for a process"))?;
        if !ended.success() {
            return Err(ProcessError::Ended(ended));
        }
    }
    let mut history = History::default();
    for share in &shares {
        let file = File::open(&share.history).map_err(system("opening a history"))?;
        history.append(&read(BufReader::new(file))?);
    }
    let mut options = RecorderOptions::new(clock.clone());
    (options.check, options.keep) = (false, true);
    let recorder = Recorder::start(options);
    read_everything(&store, &recorder, &plan.seats(), &payments_of(&history));
    history.append(&recorder.finish().history);
    history.header.clock = clock.rule();
    Ok(history)
}

//! `model-check histories`: the real store on real threads and in two processes.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::Args;
use evidence::Check;
use soldonce::Timestamp;

use model_check::concurrent::{self, Plan, Share, real_store, run_share, two_processes};
use model_check::history::{History, RunClock};
use model_check::serializable;

use super::check::conclude;
use super::report::{Report, count, one_or_more, say, stop_on_interrupt, whole_number};
use super::{Exit, Failure};

/// Runs the real store on 2 to 64 threads and in two processes, and checks every answer.
///
/// What such runs catch is in the second table of `model-check mutants`.
#[derive(Debug, Args)]
pub(super) struct Histories {
    /// Calls in each run of the real store.
    #[arg(long, default_value_t = 5_000, value_name = "N", value_parser = calls)]
    pub(super) calls: usize,

    /// What the calls of the threads depend on. Not how they interleave.
    #[arg(long, default_value_t = 1, value_name = "S", value_parser = whole_number)]
    pub(super) seed: u64,

    /// Draw violations as HTML files in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(super) pictures: Option<PathBuf>,
}

fn calls(text: &str) -> Result<usize, String> {
    let calls = one_or_more(text)?;
    usize::try_from(calls).map_err(|error| error.to_string())
}

/// One process's part of a run in two processes.
#[derive(Debug, Args)]
pub(super) struct BuyersShare {
    #[arg(long)]
    store: PathBuf,
    #[arg(long)]
    start: i64,
    #[arg(long)]
    threads: usize,
    #[arg(long)]
    calls: usize,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    history: PathBuf,
}

impl BuyersShare {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let start = Timestamp::from_unix_millis(self.start)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        run_share(&Share {
            store: self.store,
            start,
            plan: Plan {
                threads: self.threads,
                calls: self.calls,
                seed: self.seed,
            },
            history: self.history,
        })
        .map_err(|error| failed(&error))?;
        Ok(Exit::Holds)
    }
}

fn arguments(share: &Share) -> Vec<String> {
    [
        "buyers-share",
        "--no-evidence",
        "--store",
        &share.store.display().to_string(),
        "--start",
        &share.start.as_unix_millis().to_string(),
        "--threads",
        &share.plan.threads.to_string(),
        "--calls",
        &share.plan.calls.to_string(),
        "--seed",
        &share.plan.seed.to_string(),
        "--history",
        &share.history.display().to_string(),
    ]
    .map(str::to_owned)
    .to_vec()
}

fn failed(what: &dyn std::fmt::Display) -> Failure {
    Failure::CouldNotRun(what.to_string())
}

/// Threads in the runs of one process.
const THREADS: [usize; 6] = [2, 4, 8, 16, 32, 64];

impl Histories {
    pub(super) fn run(&self, report: &mut Report) -> Result<Exit, Failure> {
        report
            .evidence()
            .seed(self.seed)
            .config("calls_per_run", self.calls as u64);
        say("the real store\n");
        let mut worst = Exit::Holds;
        let mut operations = 0;
        let mut violations = 0;
        let stop = stop_on_interrupt()?;
        let interrupted = || stop.load(Ordering::Relaxed);
        for threads in THREADS.into_iter().take_while(|_| !interrupted()) {
            let history = self.one_process(threads)?;
            worst = worst.max(self.judge(
                &format!("{threads} threads"),
                &history,
                &mut operations,
                &mut violations,
            )?);
        }
        if !interrupted() {
            let history = self.two_processes()?;
            worst = worst.max(self.judge(
                "2 processes of 8 threads",
                &history,
                &mut operations,
                &mut violations,
            )?);
        }
        report.check(
            Check::passed(
                "histories-of-the-real-store",
                "concurrent histories of the real store are strictly serializable, call by call",
                operations,
            )
            .violations(violations),
        );
        if interrupted() {
            let done = format!("after {} calls", count(operations));
            worst = worst.max(report.interrupted(&done));
        }
        Ok(worst)
    }

    fn plan(&self, threads: usize) -> Plan {
        Plan {
            threads,
            calls: self.calls,
            seed: self.seed,
        }
    }

    fn one_process(&self, threads: usize) -> Result<History, Failure> {
        let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
        let plan = self.plan(threads);
        let clock = RunClock::start();
        let store = real_store(&folder.path().join("seats.sqlite"), &clock, plan, 8)
            .map_err(|error| failed(&error))?;
        let recorded = concurrent::run(&store, &clock, plan).map_err(|error| failed(&error))?;
        Ok(recorded.history)
    }

    fn two_processes(&self) -> Result<History, Failure> {
        let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
        let program = std::env::current_exe().map_err(|error| failed(&error))?;
        two_processes(folder.path(), self.plan(8), &program, arguments)
            .map_err(|error| failed(&error))
    }

    fn judge(
        &self,
        name: &str,
        history: &History,
        operations: &mut u64,
        violations: &mut u64,
    ) -> Result<Exit, Failure> {
        let found = serializable::check(history);
        *operations += found.counts.operations;
        *violations += found.counts.violations;
        say(&format!(
            "{name:<26} {:>8} calls, {} not applied, {} of unknown result",
            count(found.counts.operations),
            count(found.counts.not_applied),
            count(found.counts.unknown)
        ));
        conclude(history, &found, self.pictures.as_deref())
    }
}

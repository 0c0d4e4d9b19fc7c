//! `model-check histories`: the real store on real threads and in two processes, and the mutants that
//! only those catch.

use std::path::PathBuf;

use clap::Args;
use comfy_table::{Table, presets};
use evidence::Check;
use soldonce::Timestamp;

use model_check::concurrent::{
    self, Begin, BusySnapshots, Plan, Share, busy_snapshots, real_store, run_share, two_processes,
};
use model_check::history::{History, RunClock};
use model_check::serializable;
use model_check::witness;

use super::check::conclude;
use super::report::{Report, count, say};
use super::{Exit, Failure};

/// Runs the real store on 2 to 64 threads and in two processes, and checks every answer; then the
/// concurrent mutants, each of which must be caught.
#[derive(Debug, Args)]
pub(super) struct Histories {
    /// Calls in each run of the real store.
    #[arg(long, default_value_t = 5_000, value_name = "N")]
    pub(super) calls: usize,

    /// What the calls of the threads depend on. Not how they interleave.
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub(super) seed: u64,

    /// Draw violations, also those that catch a mutant, as HTML files in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(super) pictures: Option<PathBuf>,
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
        for threads in THREADS {
            let history = self.one_process(threads)?;
            worst = worst.max(self.judge(
                &format!("{threads} threads"),
                &history,
                &mut operations,
                &mut violations,
            )?);
        }
        let history = self.two_processes()?;
        worst = worst.max(self.judge(
            "2 processes of 8 threads",
            &history,
            &mut operations,
            &mut violations,
        )?);
        report.check(
            Check::passed(
                "histories-of-the-real-store",
                "concurrent histories of the real store are strictly serializable, call by call",
                operations,
            )
            .violations(violations),
        );
        say("\nconcurrent mutants\n");
        worst = worst.max(self.mutants(report)?);
        say("");
        Ok(worst.max(load(report)?))
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

    fn mutants(&self, report: &mut Report) -> Result<Exit, Failure> {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_header(["id", "fault", "rule", "calls"]);
        let mut survivors = 0;
        let mutants = concurrent::all();
        let mut witnesses = Vec::new();
        for mutant in &mutants {
            let hunted = concurrent::hunt(mutant, 8, self.seed).map_err(|error| failed(&error))?;
            let rule = match &hunted.caught {
                None => {
                    survivors += 1;
                    "SURVIVED".to_owned()
                }
                Some(recorded) => match &recorded.report.verdict {
                    serializable::Verdict::Violated(found) => {
                        witnesses.push((mutant, recorded.history.clone(), found[0].clone()));
                        found[0].rule.to_string()
                    }
                    other => unreachable!("caught, yet {other:?}"),
                },
            };
            let star = if mutant.note.is_empty() { "" } else { "*" };
            table.add_row([
                format!("{}{star}", mutant.id),
                mutant.fault.to_owned(),
                rule,
                count(hunted.calls as u64),
            ]);
        }
        say(&table.to_string());
        say("");
        for mutant in mutants.iter().filter(|mutant| !mutant.note.is_empty()) {
            say(&format!("* {}: {}", mutant.id, mutant.note));
        }
        for (mutant, history, violation) in &witnesses {
            say(&format!("\n{}", mutant.id));
            say(witness::text(history, violation).trim_end());
            if let Some(folder) = &self.pictures {
                let path = folder.join(format!("{}.html", mutant.id));
                std::fs::create_dir_all(folder)
                    .and_then(|()| std::fs::write(&path, witness::picture(history, violation)))
                    .map_err(|error| failed(&error))?;
            }
        }
        report.check(
            Check::passed(
                "concurrent-mutants",
                "every concurrent mutant is caught by a run on real threads",
                mutants.len() as u64,
            )
            .violations(survivors),
        );
        Ok(if survivors == 0 {
            Exit::Holds
        } else {
            Exit::Violated
        })
    }
}

/// L01 has a verdict of its own: it breaks no promise, it costs calls.
fn load(report: &mut Report) -> Result<Exit, Failure> {
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let writers = |begin, name| {
        busy_snapshots(&folder.path().join(name), begin, 16, 100).map_err(|error| failed(&error))
    };
    let deferred: BusySnapshots = writers(Begin::Deferred, "deferred.sqlite")?;
    let immediate: BusySnapshots = writers(Begin::Immediate, "immediate.sqlite")?;
    say(&format!(
        "L01  16 writers that read first: {} of {} transactions are busy snapshots (517) when they begin \
         deferred, {} of {} when immediate",
        count(deferred.busy_snapshots),
        count(deferred.transactions),
        count(immediate.busy_snapshots),
        count(immediate.transactions)
    ));
    let told_apart = deferred.busy_snapshots > 0 && immediate.busy_snapshots == 0;
    report.check(
        Check::passed(
            "load-L01",
            "16 writers see busy snapshots when they begin deferred, and none when they begin immediate",
            deferred.transactions + immediate.transactions,
        )
        .violations(u64::from(!told_apart)),
    );
    Ok(if told_apart {
        Exit::Holds
    } else {
        Exit::Violated
    })
}

//! `model-check kill`: children that sell seats are killed in the middle, many rounds on one file.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use evidence::Check;
use soldonce::Timestamp;

use model_check::crash::kill::{Config, NotRun, Round, child, run, start};
use model_check::serializable::Verdict;

use super::power::exit;
use super::report::{Report, bar, count, say, seconds, stop_on_interrupt, whole, whole_number};
use super::{Exit, Failure};

/// Kills processes that sell seats, with SIGKILL, and checks every answer they had given.
///
/// All rounds use one file. The store's clock steps back and forth by hours. A missing sync can not be
/// seen here, because the system keeps what a killed process wrote: see `power`.
#[derive(Debug, Args)]
pub(super) struct Kill {
    /// How many processes are killed.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = |text: &str| whole(text, 1..=5_000))]
    pub(super) rounds: u64,

    /// Of everything random; not of how threads interleave.
    #[arg(long, default_value_t = 1, value_name = "S", value_parser = whole_number)]
    pub(super) seed: u64,
}

/// A child of `kill`.
#[derive(Debug, Args)]
pub(super) struct KillChild {
    #[arg(long)]
    store: PathBuf,
    #[arg(long)]
    start: i64,
    #[arg(long)]
    round: u64,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    threads: usize,
}

fn failed(error: &NotRun) -> Failure {
    Failure::CouldNotRun(error.to_string())
}

impl KillChild {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let start = Timestamp::from_unix_millis(self.start)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        child(&Round {
            store: self.store,
            start,
            number: self.round,
            seed: self.seed,
            threads: self.threads,
        })
        .map_err(|error| failed(&error))?;
        Ok(Exit::Holds)
    }
}

fn arguments(round: &Round) -> Vec<String> {
    [
        "kill-child",
        "--no-evidence",
        "--store",
        &round.store.display().to_string(),
        "--start",
        &round.start.as_unix_millis().to_string(),
        "--round",
        &round.number.to_string(),
        "--seed",
        &round.seed.to_string(),
        "--threads",
        &round.threads.to_string(),
    ]
    .map(str::to_owned)
    .to_vec()
}

impl Kill {
    pub(super) fn run(&self, report: &mut Report) -> Result<Exit, Failure> {
        let config = Config {
            seed: self.seed,
            rounds: self.rounds,
            ..Config::default()
        };
        report
            .evidence()
            .seed(self.seed)
            .config("rounds", self.rounds)
            .config("threads", config.threads as u64);
        say(&format!("killed processes, seed {}\n", self.seed));
        let could_not = |error: std::io::Error| Failure::CouldNotRun(error.to_string());
        let folder = tempfile::tempdir().map_err(could_not)?;
        let program = std::env::current_exe().map_err(could_not)?;
        let stop = stop_on_interrupt()?;
        let progress = bar("rounds", self.rounds);
        let began = Instant::now();
        let found = run(
            folder.path(),
            &config,
            &|round| start(&program, &arguments(round)),
            stop,
            &|done| progress.set_position(done),
        )
        .map_err(|error| failed(&error))?;
        progress.finish_and_clear();
        let counts = found.checked.counts;
        say(&format!(
            "processes killed            {:>9}\n\
             calls                       {:>9}\n\
             in flight when killed       {:>9}\n\
             of those, took effect       {:>9}\n",
            count(found.killed),
            count(found.calls),
            count(found.in_flight),
            count(counts.taken_as_happened)
        ));
        let mut wrong = found.wrong.clone();
        match &found.checked.verdict {
            Verdict::Holds => {}
            Verdict::Violated(violations) => {
                wrong.extend(
                    violations
                        .iter()
                        .map(|one| format!("{}: {}", one.rule, one.problem)),
                );
            }
            Verdict::Inconclusive(why) => say(&format!("INCONCLUSIVE  {why}")),
        }
        for problem in wrong.iter().take(20) {
            say(&format!("VIOLATED  {problem}"));
        }
        say(&format!(
            "{} violations in {} calls of {} killed processes, {}",
            count(wrong.len() as u64),
            count(found.calls),
            count(found.killed),
            seconds(began.elapsed())
        ));
        let undecided = u64::from(matches!(found.checked.verdict, Verdict::Inconclusive(_)));
        let mut check = Check::passed("history", "every answer given is true", found.calls)
            .violations((wrong.len() as u64).min(found.calls))
            .undecided(undecided);
        if let Some(first) = wrong.first() {
            check = check.note(first);
        }
        report.check(check);
        let evidence = report.evidence();
        evidence
            .measured(began.elapsed())
            .count("processes_killed", found.killed)
            .count("calls", found.calls)
            .count("calls_in_flight_when_killed", found.in_flight)
            .count("calls_in_flight_that_took_effect", counts.taken_as_happened);
        if found.interrupted {
            let done = format!(
                "after {} of {} processes",
                count(found.killed),
                count(self.rounds)
            );
            report.interrupted(&done);
        }
        let exit = exit(wrong.len() as u64, found.interrupted);
        Ok(if undecided > 0 {
            exit.max(Exit::Inconclusive)
        } else {
            exit
        })
    }
}

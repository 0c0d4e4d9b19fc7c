//! `model-check check FILE`: is this recorded history strictly serializable?

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use evidence::Check;

use model_check::history::{self, History};
use model_check::serializable::{self, Verdict, Violation};
use model_check::witness;

use super::report::{Report, count, rate, say, say_wrapped, seconds};
use super::{Exit, Failure};

/// Checks a recorded history: is it strictly serializable?
///
/// The file is JSON Lines, as HISTORY.md describes; any program may write one. Says holds, violated with
/// the operations that contradict each other, or inconclusive.
#[derive(Debug, Args)]
pub(super) struct CheckFile {
    /// The history.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Draw each violation that is shown, as an HTML file in this folder.
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
}

/// So many violations are shown.
const SHOWN: usize = 3;

impl CheckFile {
    pub(super) fn run(&self, report: &mut Report) -> Result<Exit, Failure> {
        let started = Instant::now();
        let history = read(&self.file)?;
        let read = started.elapsed();
        if history.operations.is_empty() {
            let file = self.file.display();
            return Err(Failure::CouldNotRun(format!("{file}: no call is in it")));
        }
        let started = Instant::now();
        let found = serializable::check(&history);
        let checked = started.elapsed();
        say(&format!(
            "read      {} operations of {} clients, {} seats, {} payments, in {}",
            count(found.counts.operations),
            count(clients(&history)),
            count(history.names.seats().len() as u64),
            count(history.names.payments().len() as u64),
            seconds(read)
        ));
        say(&format!(
            "checked   in {}, {} a second; {} not applied;\n          \
             {} of unknown result, {} of them took effect",
            milliseconds(checked),
            rate(per_second(found.counts.operations, checked)),
            count(found.counts.not_applied),
            count(found.counts.unknown),
            count(found.counts.taken_as_happened)
        ));
        let open = u64::from(matches!(found.verdict, Verdict::Inconclusive(_)));
        report.check(
            Check::passed(
                "history-strictly-serializable",
                "the calls of a recorded history have a right order",
                found.counts.operations,
            )
            .violations(found.counts.violations)
            .undecided(open),
        );
        conclude(&history, &found, self.pictures.as_deref())
    }
}

/// Says the verdict, and shows and draws violations.
pub(super) fn conclude(
    history: &History,
    found: &serializable::Report,
    pictures: Option<&Path>,
) -> Result<Exit, Failure> {
    match &found.verdict {
        Verdict::Holds => {
            say("holds     the history is strictly serializable");
            Ok(Exit::Holds)
        }
        Verdict::Inconclusive(why) => {
            say_wrapped("open      ", why);
            Ok(Exit::Inconclusive)
        }
        Verdict::Violated(violations) => {
            say(&format!(
                "violated  {} violations; the first of them:\n",
                count(found.counts.violations)
            ));
            for (violation, number) in violations.iter().take(SHOWN).zip(1..) {
                say(&witness::text(history, violation));
                if let Some(folder) = pictures {
                    draw(history, violation, folder, number)?;
                }
            }
            Ok(Exit::Violated)
        }
    }
}

fn read(path: &Path) -> Result<History, Failure> {
    let failed =
        |what: &dyn std::fmt::Display| Failure::CouldNotRun(format!("{}: {what}", path.display()));
    let file = File::open(path).map_err(|error| failed(&error))?;
    history::read(BufReader::with_capacity(1 << 20, file)).map_err(|error| failed(&error))
}

fn draw(
    history: &History,
    violation: &Violation,
    folder: &Path,
    number: usize,
) -> Result<(), Failure> {
    let path = folder.join(format!("violation-{number}.html"));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, witness::picture(history, violation)))
        .map_err(|error| Failure::CouldNotRun(format!("{}: {error}", path.display())))?;
    say(&format!("  drawn in {}\n", path.display()));
    Ok(())
}

fn clients(history: &History) -> u64 {
    let clients = history.operations.iter().map(|call| call.when().client);
    clients.collect::<std::collections::HashSet<_>>().len() as u64
}

#[expect(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
pub(super) fn per_second(calls: u64, time: Duration) -> f64 {
    calls as f64 / time.as_secs_f64().max(1e-9)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

//! The program: arguments, one file per subcommand, and exit codes.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::{Parser, Subcommand};

mod agree;
mod all;
mod check;
mod faults;
mod histories;
mod kill;
mod mutants;
mod plants;
mod power;
mod races;
mod replay;
mod report;
mod sequences;

use report::Report;

/// How the program ends. The order is that of gravity: of several parts, the worst counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// All that was checked holds.
    Holds,
    /// There is no verdict. Never a pass.
    Inconclusive,
    /// It was interrupted; what was seen until then holds.
    Interrupted,
    /// An invariant, a sequence or a history is violated, or a planted fault survived.
    Violated,
    /// It could not run.
    CouldNotRun,
    /// It was used wrongly.
    Usage,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Holds => 0,
            Exit::CouldNotRun => 1,
            Exit::Usage => 2,
            Exit::Violated => 3,
            Exit::Inconclusive => 5,
            Exit::Interrupted => 130,
        })
    }
}

/// Why the program ended without a result, in one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What was given can not be right.
    #[error("{0}")]
    Usage(String),
    /// Something outside failed.
    #[error("{0}")]
    CouldNotRun(String),
}

impl Failure {
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::CouldNotRun(_) => Exit::CouldNotRun,
        }
    }
}

impl From<model_check::sequence::run::CouldNotRun> for Failure {
    fn from(error: model_check::sequence::run::CouldNotRun) -> Self {
        Self::CouldNotRun(error.0)
    }
}

/// Checks a seat store against a reference: every answer, and everything that can be read.
///
/// Without a subcommand it runs all that there is at a moderate depth.
#[derive(Debug, Parser)]
#[command(name = "model-check", version, after_help = EXIT_CODES, max_term_width = 80, term_width = 80)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Check>,

    /// The folder that the evidence file goes into [default: evidence/runs of the workspace, outside of it evidence-runs].
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        conflicts_with = "no_evidence"
    )]
    evidence: Option<PathBuf>,

    /// Write no evidence file.
    #[arg(long, global = true)]
    no_evidence: bool,
}

const EXIT_CODES: &str = "\
Exit codes: 0 all holds, 1 could not run, 2 wrong usage, 3 violated,
5 inconclusive, 130 interrupted.";

/// One file each.
#[derive(Debug, Subcommand)]
#[expect(
    clippy::enum_variant_names,
    reason = "`check` checks a file; that is its name"
)]
enum Check {
    Sequences(sequences::Sequences),
    Mutants(mutants::Mutants),
    Histories(histories::Histories),
    Check(check::CheckFile),
    Agree(agree::Agree),
    Power(power::Power),
    Faults(faults::Faults),
    Kill(kill::Kill),
    Replay(replay::Replay),
    /// The JSON schema of one line of a history file.
    Schema,
    #[command(hide = true)]
    BuyersShare(histories::BuyersShare),
    #[command(hide = true)]
    KillChild(kill::KillChild),
}

impl Cli {
    /// Runs what was asked for, and writes the evidence of it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let mut report = Report::new();
        let keeps = !self.no_evidence
            && !matches!(
                self.command,
                Some(Check::BuyersShare(_) | Check::KillChild(_) | Check::Schema)
            );
        if keeps {
            report::has_a_place(self.evidence.as_deref())?;
        }
        let ended = match self.command {
            None => all::run(&mut report),
            Some(Check::Sequences(sequences)) => sequences.run(&mut report),
            Some(Check::Mutants(mutants)) => mutants.run(&mut report),
            Some(Check::Histories(histories)) => histories.run(&mut report),
            Some(Check::Check(file)) => file.run(&mut report),
            Some(Check::Agree(agree)) => agree.run(&mut report),
            Some(Check::Power(power)) => power.run(&mut report),
            Some(Check::Faults(faults)) => faults.run(&mut report),
            Some(Check::Kill(kill)) => kill.run(&mut report),
            Some(Check::Replay(replay)) => replay.run(&mut report),
            Some(Check::BuyersShare(share)) => return share.run(),
            Some(Check::KillChild(child)) => return child.run(),
            Some(Check::Schema) => {
                report::say(model_check::history::schema().trim_end());
                return Ok(Exit::Holds);
            }
        };
        let exit = match ended {
            // A child got the signal, too, and its part can not be finished.
            Err(Failure::CouldNotRun(why))
                if report::stop_on_interrupt()?.load(Ordering::Relaxed) =>
            {
                report.interrupted(&why)
            }
            ended => ended?,
        };
        if keeps && let Err(failure) = report.write(self.evidence) {
            // A violation outweighs a file that could not be written.
            if exit != Exit::Violated {
                return Err(failure);
            }
            eprintln!("model-check: {failure}");
        }
        Ok(exit)
    }
}

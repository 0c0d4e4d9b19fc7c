//! The program: arguments, one file per subcommand, and exit codes.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All that was checked holds.
    Holds = 0,
    /// It could not run.
    CouldNotRun = 1,
    /// It was used wrongly.
    Usage = 2,
    /// An invariant, a sequence or a history is violated, or a planted fault survived.
    Violated = 3,
    /// There is no verdict. Never a pass.
    #[expect(dead_code, reason = "given by the check of a history")]
    Inconclusive = 5,
    /// It was interrupted.
    #[expect(dead_code, reason = "given on SIGINT")]
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
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

/// Checks a seat store against a reference: every answer, not only the end.
#[derive(Debug, Parser)]
#[command(name = "model-check", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Check>,
}

const EXIT_CODES: &str = "\
Exit codes: 0 all holds, 1 could not run, 2 wrong usage, 3 violated,
5 inconclusive, 130 interrupted.";

/// One file each.
#[derive(Debug, Subcommand)]
enum Check {}

impl Cli {
    /// Runs what was asked for.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self.command {
            Some(check) => match check {},
            None => Ok(Exit::Holds),
        }
    }
}

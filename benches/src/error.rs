//! Why a bench could not run or could not write its evidence; each is one line.

use std::any::Any;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use evidence::{BuildError, Verdict, WriteError};
use soldonce::StoreError;

/// Why a bench failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store gave an error where none may come.
    #[error("the store failed while {doing}: {}", chain(source))]
    Store {
        /// What the bench was doing.
        doing: &'static str,
        /// What the store said.
        source: StoreError,
    },
    /// The store gave another answer than the one that is measured.
    #[error("{doing}: expected {expected}, got {got}")]
    Answer {
        /// What the bench was doing.
        doing: &'static str,
        /// The answer that is measured.
        expected: &'static str,
        /// The answer that came.
        got: String,
    },
    /// A bare yardstick failed on its own connection.
    #[error("SQLite failed while {doing}: {source}")]
    Sqlite {
        /// What the bench was doing.
        doing: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A file could not be made, read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What criterion has saved is not what was just measured.
    #[error("criterion's files below {}: {problem}", .folder.display())]
    Saved {
        /// Criterion's folder.
        folder: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// The evidence does not agree with itself.
    #[error("no evidence could be made: {0}")]
    Build(#[from] BuildError),
    /// The evidence could not be written.
    #[error("no evidence could be written: {0}")]
    Write(#[from] WriteError),
}

impl Error {
    /// For `map_err`: the store failed while `doing`.
    pub fn store(doing: &'static str) -> impl Fn(StoreError) -> Self {
        move |source| Self::Store { doing, source }
    }

    /// For `map_err`: SQLite failed while `doing`.
    pub fn sqlite(doing: &'static str) -> impl Fn(rusqlite::Error) -> Self {
        move |source| Self::Sqlite { doing, source }
    }

    /// For `map_err`: the file could not be used.
    pub fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            path: path.clone(),
            source,
        }
    }
}

/// The error and its causes, as one line.
fn chain(error: &StoreError) -> String {
    let mut line = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        line = format!("{line}: {next}");
        cause = next.source();
    }
    line
}

/// Leaves a criterion closure, which can not return an error, for [`exit`]: no message of a panic
/// is printed, and everything on the way is dropped, so that temporary databases go.
pub fn stop(error: Error) -> ! {
    panic::resume_unwind(Box::new(error))
}

/// Runs a bench and turns its end into an exit code: 0 when it ended well and nothing was found, 1
/// when it could not run, 2 when the command line is wrong, 3 when a check found a violation.
pub fn exit(run: impl FnOnce() -> Result<Option<Verdict>, Error>) -> ExitCode {
    let ended =
        panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|thrown| Err(caught(thrown)));
    match ended {
        Ok(Some(Verdict::Violated)) => {
            eprintln!("error: an invariant is violated; the evidence file says where");
            ExitCode::from(3)
        }
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", error.to_string().replace('\n', " "));
            match error {
                Error::Usage(_) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// The error that [`stop`] threw; any other panic goes on.
fn caught(thrown: Box<dyn Any + Send>) -> Error {
    match thrown.downcast::<Error>() {
        Ok(error) => *error,
        Err(other) => panic::resume_unwind(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_thrown_out_of_a_closure_is_caught_as_itself() {
        let thrown = panic::catch_unwind(|| stop(Error::Usage("no such option".to_owned())));
        let error = caught(thrown.expect_err("it was thrown"));
        assert_eq!(error.to_string(), "no such option");
    }

    #[test]
    fn the_cause_stands_in_the_same_line() {
        let error = Error::store("holding a seat")(StoreError::Unknown("disk full".into()));
        let line = error.to_string();
        assert!(
            line.starts_with("the store failed while holding a seat: outcome unknown"),
            "{line}"
        );
        assert!(
            line.ends_with(": disk full") && !line.contains('\n'),
            "{line}"
        );
    }
}

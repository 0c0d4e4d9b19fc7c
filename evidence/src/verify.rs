//! Decides whether a file is what it says, by computing everything anew that can be computed.
//!
//! A file verifies when
//!
//! 1. it is UTF-8 JSON with no key twice, of the types of version 1 and no field more, and byte for
//!    byte the rendering of itself, so that any edit at all is refused;
//! 2. its parts agree: subjects with source and program, verdict with checks, laws, thresholds and
//!    interruption, attempts with the sum of outcomes and errors, each histogram's figures with the
//!    histogram, its count with the outcome that it covers, each series' sum likewise, means and
//!    medians with the samples, ratios and limits with what they refer to;
//! 3. its digest is that of its content;
//! 4. if it is called as evidence files are, its name agrees with its content.
//!
//! What it does **not** mean: that the run happened. A digest is no signature, and who writes a whole
//! file from nothing can make it agree with itself. It means that the figures in the file belong
//! together, and that none was changed without changing the digest, which the history of a
//! repository or a signature can pin.
//!
//! A file with the verdict `violated` verifies: it truthfully says that something is wrong.

use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::agree;
use crate::files::{file_name, is_evidence_name};
use crate::parse::parse;
use crate::render;
use crate::statement::Statement;

/// The largest file that is read: 64 MiB. A run of ten minutes with every histogram there is needs
/// less than 1 MiB.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// The most characters of a finding that are shown: a line, not a page.
const MAX_SHOWN: usize = 400;

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where, as a path of keys: `predicate.results.histograms[3].summary.p99`; empty: the file as
    /// a whole.
    pub at: String,
    /// What is wrong, and what was expected.
    pub problem: String,
}

impl Finding {
    pub(crate) fn new(at: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            at: at.into(),
            problem: problem.into(),
        }
    }

    pub(crate) fn whole(problem: impl Into<String>) -> Self {
        Self::new("", problem)
    }
}

/// Always one line, whatever the file holds: control characters are shown escaped, and a very long
/// text is cut.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.at.is_empty() { "" } else { ": " };
        let all = format!("{}{separator}{}", self.at, self.problem);
        for (position, letter) in all.chars().enumerate() {
            if position == MAX_SHOWN {
                return f.write_str("...");
            }
            if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') {
                letter
                    .escape_default()
                    .try_for_each(|part| write!(f, "{part}"))?;
            } else {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

/// Why a file was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It could not be read: missing, a folder, no permission, a failing disk.
    #[error("{}: could not be read: {source}", .path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It was read, and does not verify. At least one finding.
    #[error("{}: {} findings", .path.display(), .findings.len())]
    DoesNotVerify {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        findings: Vec<Finding>,
    },
}

impl Refusal {
    /// One line for each thing that is wrong, each beginning with the file.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Unreadable { .. } => vec![self.to_string()],
            Self::DoesNotVerify { path, findings } => findings
                .iter()
                .map(|finding| format!("{}: {finding}", path.display()))
                .collect(),
        }
    }
}

/// Verifies a file, its name included.
///
/// # Errors
///
/// Each variant of [`Refusal`].
pub fn verify_file(path: &Path) -> Result<Statement, Refusal> {
    let refused = |findings| Refusal::DoesNotVerify {
        path: path.to_path_buf(),
        findings,
    };
    let bytes = read(path).map_err(|source| Refusal::Unreadable {
        path: path.to_path_buf(),
        source,
    })?;
    let Some(bytes) = bytes else {
        return Err(refused(vec![Finding::whole(
            "larger than 64 MiB, which no evidence file is",
        )]));
    };
    let statement = verify_bytes(&bytes).map_err(refused)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let expected = file_name(&statement);
    if is_evidence_name(&name) && name != expected {
        return Err(refused(vec![Finding::whole(format!(
            "the file's name does not agree with its content: expected {expected}"
        ))]));
    }
    Ok(statement)
}

/// The bytes of a file, or `None` if there are too many.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = fs::File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "it is a folder",
        ));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MAX_FILE_BYTES).then_some(bytes))
}

/// Verifies the bytes of a file. Never panics, whatever they are.
///
/// # Errors
///
/// At least one finding.
pub fn verify_bytes(bytes: &[u8]) -> Result<Statement, Vec<Finding>> {
    let statement = parse(bytes).map_err(|finding| vec![finding])?;
    let mut findings = contradictions(&statement);
    let rendered = render::render(&statement);
    if rendered.as_bytes() != bytes && findings.is_empty() {
        findings.push(first_difference(&rendered, bytes));
    }
    if findings.is_empty() {
        Ok(statement)
    } else {
        Err(findings)
    }
}

/// Everything that does not agree within a statement, the digest last.
pub(crate) fn contradictions(statement: &Statement) -> Vec<Finding> {
    let mut findings = agree::contradictions(statement);
    let (recorded, computed) = (statement.predicate.digest.sha256, render::digest(statement));
    if recorded != computed {
        findings.push(Finding::new(
            "predicate.digest.sha256",
            format!(
                "is {recorded}, but the content has {computed}: something in the file was changed"
            ),
        ));
    }
    findings
}

fn first_difference(rendered: &str, bytes: &[u8]) -> Finding {
    let lines = rendered.as_bytes().split(|byte| *byte == b'\n');
    let same = lines
        .zip(bytes.split(|byte| *byte == b'\n'))
        .take_while(|(ours, theirs)| ours == theirs)
        .count();
    let line = same + 1;
    Finding::whole(format!(
        "line {line} is not laid out as it was written, though the values are the same"
    ))
}

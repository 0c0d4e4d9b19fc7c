//! The program `evidence`: arguments, exit codes, and what it prints.
//!
//! Answers go to standard output, what is wrong to standard error, one line each.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

use crate::files::evidence_files;
use crate::list;
use crate::schema::schema;
use crate::source::runs_folder;
use crate::statement::{Statement, Verdict};
use crate::verify::{Refusal, verify_file};

/// Exit code: everything that was asked for is so.
pub const ALL_WELL: u8 = 0;
/// Exit code: something could not be read or written, or there is no evidence where it was looked for.
pub const COULD_NOT_READ: u8 = 1;
/// Exit code: wrong usage.
pub const WRONG_USAGE: u8 = 2;
/// Exit code: a file does not verify.
pub const DOES_NOT_VERIFY: u8 = 3;

/// Verify, list and compare evidence files: the records that stress, model-check and bench runs
/// leave of what they checked and measured.
#[derive(Debug, Parser)]
#[command(name = "evidence", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  all is well: every file verifies
  1  a file or folder could not be read, or holds no evidence
  2  wrong usage
  3  a file does not verify";

#[derive(Debug, Subcommand)]
enum Command {
    /// Compute everything in the files again and say what differs
    ///
    /// Digest, verdict, sums, percentiles from histograms, means and medians from samples, ratios and
    /// limits. A file with the verdict `violated` verifies, too: it truthfully says what was wrong.
    Verify {
        /// Files, which are always verified, and folders, in which every file below is that is
        /// called as evidence files are (KIND-YYYYMMDDTHHMMSSZ-XXXXXXXX.json)
        /// [default: evidence/runs of the workspace]
        paths: Vec<PathBuf>,
    },
    /// Print one line for each file: kind, verdict, time, headline
    List {
        /// Files and folders, as for verify [default: evidence/runs of the workspace]
        paths: Vec<PathBuf>,
    },
    /// Print the JSON schema of evidence files
    Schema,
}

/// Does what the arguments say and returns the exit code.
///
/// # Errors
///
/// When `out` or `err` can not be written, as when a reader of the output has gone away.
pub fn run(arguments: Arguments, out: &mut impl Write, err: &mut impl Write) -> io::Result<u8> {
    match arguments.command {
        Command::Verify { paths } => verify(&paths, out, err),
        Command::List { paths } => {
            let (files, mut code) = expand(&paths, err)?;
            let (read, refused) = read(&files, err)?;
            code = code.max(refused);
            write!(out, "{}", list::table(&read))?;
            Ok(code)
        }
        Command::Schema => write!(out, "{}", schema()).map(|()| ALL_WELL),
    }
}

fn verify(paths: &[PathBuf], out: &mut impl Write, err: &mut impl Write) -> io::Result<u8> {
    let (files, unreadable) = expand(paths, err)?;
    let (read, refused) = read(&files, err)?;
    for (path, statement) in &read {
        writeln!(
            out,
            "{}: verified, {}",
            path.display(),
            list::summary(statement)
        )?;
    }
    let total = files.len();
    let bad = read
        .iter()
        .filter(|(_, statement)| statement.predicate.verdict != Verdict::Holds)
        .count();
    if total > 0 {
        let remark = if bad > 0 {
            format!("; {bad} of them with another verdict than holds")
        } else {
            String::new()
        };
        writeln!(out, "{} of {total} verified{remark}", read.len())?;
    }
    Ok(unreadable.max(refused))
}

/// The files that the paths stand for, and an exit code: paths that can not be used are told.
fn expand(paths: &[PathBuf], err: &mut impl Write) -> io::Result<(Vec<PathBuf>, u8)> {
    let default = [runs_folder(Path::new("evidence/runs"))];
    let paths = if paths.is_empty() { &default } else { paths };
    let (mut files, mut code) = (Vec::new(), ALL_WELL);
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        match evidence_files(path) {
            Ok(found) if found.is_empty() => {
                writeln!(
                    err,
                    "{}: no evidence file in this folder or below",
                    path.display()
                )?;
                code = COULD_NOT_READ;
            }
            Ok(found) => files.extend(found),
            Err((folder, error)) => {
                writeln!(err, "{}: could not be read: {error}", folder.display())?;
                code = COULD_NOT_READ;
            }
        }
    }
    Ok((files, code))
}

type Verified = Vec<(PathBuf, Statement)>;

/// Verifies files; tells about those that do not, and returns the others with an exit code.
fn read(files: &[PathBuf], err: &mut impl Write) -> io::Result<(Verified, u8)> {
    let (mut verified, mut code) = (Vec::new(), ALL_WELL);
    for path in files {
        match verify_file(path) {
            Ok(statement) => verified.push((path.clone(), statement)),
            Err(refusal) => {
                for line in refusal.lines() {
                    writeln!(err, "{line}")?;
                }
                code = code.max(match refusal {
                    Refusal::Unreadable { .. } => COULD_NOT_READ,
                    Refusal::DoesNotVerify { .. } => DOES_NOT_VERIFY,
                });
            }
        }
    }
    Ok((verified, code))
}

//! The program `evidence`: arguments, exit codes, and what it prints.
//!
//! Answers go to standard output, what is wrong to standard error, one line each.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

use crate::compare::{Change, Comparison, Method, NOISE, compare, settings};
use crate::files::evidence_files;
use crate::list;
use crate::report::report;
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
/// Exit code of compare: B is slower, or B's verdict is a bad one.
pub const LOSES: u8 = 4;
/// Exit code of compare: the two must not be compared.
pub const NOT_COMPARABLE: u8 = 5;

/// Verify, list and compare evidence files: the records that stress, model-check and bench runs
/// leave of what they checked and measured.
#[derive(Debug, Parser)]
#[command(name = "evidence", version, max_term_width = 80, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  all is well: every file verifies
  1  a file or folder could not be read, or holds no evidence
  2  wrong usage
  3  a file does not verify
  4  compare: B is slower, or its verdict is violated or inconclusive
  5  compare: the two must not be compared";

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
    /// Say whether run B is faster or slower than run A
    ///
    /// Compares the means of benchmark samples, or the calls of each full second of a load run: the
    /// ratio B/A with a 99 % interval from 10,000 draws of a circular block bootstrap. A difference
    /// counts when the whole interval lies beyond the noise limit. Runs of another kind,
    /// configuration, database setting, host, profile or target are refused, and so are runs that
    /// say that they are not comparable. A run whose verdict is violated or inconclusive loses,
    /// whatever its figures say.
    Compare {
        /// The run to compare with
        a: PathBuf,
        /// The run that is faster, slower or no different
        b: PathBuf,
        /// A setting that may differ, as it is what the comparison is about; may be repeated
        #[arg(long, value_name = "NAME")]
        differ: Vec<String>,
        /// Differences below this many percent are noise
        #[arg(long, value_name = "PERCENT", default_value_t = NOISE * 100.0, value_parser = percent)]
        noise: f64,
    },
    /// Write one self-contained HTML page about some runs: charts, figures and settings side by side
    Report {
        /// Files and folders, as for verify
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// The page to write; an older one is replaced
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
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
        Command::Compare {
            a,
            b,
            differ,
            noise,
        } => {
            let method = Method {
                may_differ: differ.into_iter().collect(),
                noise: noise / 100.0,
            };
            compare_files(&[a, b], &method, out, err)
        }
        Command::Report { paths, output } => write_report(&paths, &output, out, err),
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

fn compare_files(
    files: &[PathBuf; 2],
    method: &Method,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<u8> {
    let (read, code) = read(files, err)?;
    let [(_, a), (_, b)] = read.as_slice() else {
        return Ok(code);
    };
    for (letter, (path, statement)) in ["A", "B"].iter().zip(&read) {
        writeln!(
            out,
            "{letter}  {}: {}",
            path.display(),
            list::summary(statement)
        )?;
    }
    let settings = settings(a, b);
    if let Some(unknown) = method.may_differ.difference(&settings).next() {
        let known: Vec<_> = settings.iter().map(String::as_str).collect();
        let known = known.join(", ");
        writeln!(
            err,
            "--differ {unknown}: neither run has such a setting; they have {known}"
        )?;
        return Ok(WRONG_USAGE);
    }
    let comparison = compare(a, b, method);
    if let Comparison::Refused(reasons) = &comparison {
        for reason in reasons {
            writeln!(err, "{}", list::wrapped("not comparable: ", reason))?;
        }
        // What a run is, and where it was made, is never the question.
        let asked = settings.iter().filter(|name| {
            reasons
                .iter()
                .any(|reason| reason.starts_with(&format!("{name} differs: ")))
        });
        if asked.count() == reasons.len() {
            let hint = "if that is the very question, name each setting with --differ";
            writeln!(err, "{hint}")?;
        }
        return Ok(NOT_COMPARABLE);
    }
    write!(out, "{}", list::comparison(&comparison, method))?;
    Ok(if comparison.change() == Some(Change::Slower) {
        LOSES
    } else {
        ALL_WELL
    })
}

fn write_report(
    paths: &[PathBuf],
    output: &Path,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<u8> {
    let (files, unreadable) = expand(paths, err)?;
    let (read, refused) = read(&files, err)?;
    let code = unreadable.max(refused);
    if code != ALL_WELL {
        writeln!(err, "{}: not written", output.display())?;
        return Ok(code);
    }
    let named: Vec<(String, Statement)> = read
        .into_iter()
        .map(|(path, statement)| (list::name(&path), statement))
        .collect();
    let same = |input: &PathBuf| input.canonicalize().ok() == output.canonicalize().ok();
    if output.exists() && files.iter().any(same) {
        let problem = "it is one of the files that the report is about; name another";
        writeln!(err, "{}: not written: {problem}", output.display())?;
        return Ok(WRONG_USAGE);
    }
    if let Err(error) = fs::write(output, report(&named)) {
        writeln!(err, "{}: could not be written: {error}", output.display())?;
        return Ok(COULD_NOT_READ);
    }
    let runs = match named.len() {
        1 => "1 run".to_owned(),
        many => format!("{many} runs"),
    };
    writeln!(out, "{}: {runs}", output.display())?;
    Ok(ALL_WELL)
}

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..1_000.0).contains(&value) {
        Ok(value)
    } else {
        Err("expected a number from 0 to 1000".into())
    }
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

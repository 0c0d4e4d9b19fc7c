//! What every subcommand shares: lines on the terminal, a bar while it works, and the evidence.

use std::io::{self, Write as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evidence::{Builder, Check, Database, Kind};
use indicatif::{ProgressBar, ProgressStyle};
use soldonce::SqliteStore;

use super::{Exit, Failure};

/// What a run says, to a reader now and in the evidence file.
pub(super) struct Report {
    builder: Builder,
}

impl Report {
    pub(super) fn new() -> Self {
        Self {
            builder: Builder::new(Kind::ModelCheck),
        }
    }

    /// The evidence under way.
    pub(super) fn evidence(&mut self) -> &mut Builder {
        &mut self.builder
    }

    /// Adds a check to the evidence.
    pub(super) fn check(&mut self, check: Check) {
        self.builder.check(check);
    }

    /// The run was cut short, here: says so, and in the evidence.
    pub(super) fn interrupted(&mut self, done: &str) -> Exit {
        say(&format!("interrupted, {done}"));
        self.builder.interrupted();
        Exit::Interrupted
    }

    /// Writes the evidence file, and says where it is.
    pub(super) fn write(mut self, folder: Option<PathBuf>) -> Result<(), Failure> {
        let folder = folder.unwrap_or_else(usual_folder);
        let failed = |what: &dyn std::fmt::Display| {
            Failure::CouldNotRun(format!("the evidence could not be written: {what}"))
        };
        self.builder.database(database()?);
        let statement = self.builder.build().map_err(|error| failed(&error))?;
        let path = statement.write(&folder).map_err(|error| failed(&error))?;
        say(&format!("\nevidence  {}", shown(&path)));
        Ok(())
    }
}

/// Set when the user wants to stop: what was seen until then is reported. A second time ends it at once.
pub(super) fn stop_on_interrupt() -> Result<&'static AtomicBool, Failure> {
    static STOP: AtomicBool = AtomicBool::new(false);
    static SET: Once = Once::new();
    let mut set = Ok(());
    SET.call_once(|| {
        set = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
    });
    set.map_err(|error| Failure::CouldNotRun(format!("no handler for interrupts: {error}")))?;
    Ok(&STOP)
}

fn usual_folder() -> PathBuf {
    evidence::runs_folder(Path::new("evidence-runs"))
}

/// Can evidence be written in this folder? Asked before the work, whose result would be lost.
pub(super) fn has_a_place(folder: Option<&Path>) -> Result<(), Failure> {
    let folder = folder.map_or_else(usual_folder, Path::to_path_buf);
    std::fs::create_dir_all(&folder)
        .and_then(|()| tempfile::tempfile_in(&folder).map(drop))
        .map_err(|error| {
            Failure::CouldNotRun(format!(
                "no evidence can be written in {}: {error}; give another --evidence FOLDER, or \
                 --no-evidence",
                folder.display()
            ))
        })
}

/// A path as seen from the current folder, where it lies below it.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// The real database with its settings as read back.
fn database() -> Result<Database, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::CouldNotRun(format!("the settings of SQLite could not be read: {error}"))
    };
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let store = SqliteStore::options()
        .pool_size(1)
        .open(folder.path().join("seats.sqlite"))
        .map_err(|error| failed(&error))?;
    let settings = store.settings();
    let mut database = Database::new("SQLite", settings.sqlite_version.as_str())
        .source_id(settings.sqlite_source_id.as_str())
        .file_system(evidence::file_system(folder.path()))
        .setting("compile_options", settings.compile_options.join(" "));
    for (name, value) in &settings.pragmas {
        database = database.setting(name.as_str(), value.as_str());
    }
    Ok(database)
}

/// Prints a line. A reader who has gone away is not an error.
pub(super) fn say(line: &str) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// Prints a paragraph in 80 columns: the first line begins with `first`, the others are indented as far.
pub(super) fn say_wrapped(first: &str, text: &str) {
    let rest = " ".repeat(first.chars().count());
    let options = textwrap::Options::new(80)
        .initial_indent(first)
        .subsequent_indent(&rest)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    say(&textwrap::fill(text, options));
}

/// Prints a command of this program that a person may copy, in 80 columns: each argument with its value is
/// one piece, and only one in quotes may be broken within.
pub(super) fn say_command(label: &str, subcommand: &str, arguments: &[String]) {
    const COLUMNS: usize = 78; // and the backslash
    let indent = " ".repeat(label.chars().count());
    let mut lines = vec![format!(
        "{label}cargo run --release -p model-check -- {subcommand}"
    )];
    for argument in arguments {
        let last = lines.last_mut().expect("begun above");
        if last.chars().count() + 1 + argument.chars().count() <= COLUMNS {
            last.push(' ');
            last.push_str(argument);
        } else {
            lines.push(format!("{indent}{argument}"));
        }
    }
    let count = lines.len();
    for (line, number) in lines.iter().zip(1..) {
        if line.chars().count() > COLUMNS {
            say_wrapped(&indent, line.trim_start());
        } else if number < count {
            say(&format!("{line} \\"));
        } else {
            say(line);
        }
    }
}

/// A whole number in a range, or what is wrong with the text.
pub(super) fn whole(text: &str, allowed: RangeInclusive<u64>) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| allowed.contains(number));
    number.ok_or_else(|| {
        let (from, to) = allowed.into_inner();
        format!("give a whole number from {from} to {to}")
    })
}

/// A whole number, 1 or more.
pub(super) fn one_or_more(text: &str) -> Result<u64, String> {
    whole(text, 1..=u64::MAX)
}

/// A whole number.
pub(super) fn whole_number(text: &str) -> Result<u64, String> {
    whole(text, 0..=u64::MAX)
}

/// A bar on a terminal, nothing in a pipe.
pub(super) fn bar(what: &'static str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:16} {bar:30} {pos:>7}/{len:7} {eta:>4}")
        .expect("a valid template");
    ProgressBar::new(length)
        .with_style(style)
        .with_message(what)
}

/// A count as people write it: `1,234,567`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A rate, rounded to whole commands.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, positive"
)]
pub(super) fn rate(per_second: f64) -> String {
    count(per_second.round().max(0.0) as u64)
}

/// A time as people write it.
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        let shown = [0, 999, 1_000, 1_234_567].map(count);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }
}

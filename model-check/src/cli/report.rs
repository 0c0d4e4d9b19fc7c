//! What every subcommand shares: lines on the terminal, a bar while it works, and the evidence.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use evidence::{Builder, Check, Database, Kind};
use indicatif::{ProgressBar, ProgressStyle};
use soldonce::SqliteStore;

use super::Failure;

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

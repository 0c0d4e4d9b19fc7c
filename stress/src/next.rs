//! What to do next when something is violated.

use std::path::Path;

use crate::layout::{WIDTH, paragraph};
use crate::report::Report;

impl Report<'_> {
    /// How to see the calls that contradict each other, or, where none do, what is stored.
    pub(crate) fn next(&self) -> String {
        let fails = |name: &str| {
            let mut checks = self.proof.checks.iter();
            checks.any(|check| check.name == name && check.violations > 0)
        };
        let seed = self.config.seed;
        match (&self.config.history, fails("history")) {
            (Some(history), true) => format!(
                "next: draw the calls that contradict each other\n{}",
                draw(&quoted(history), "pictures")
            ),
            (None, true) => {
                let again = format!(
                    "next: run it again with --history FILE (--seed {seed} makes the same intended \
                     operations), and draw the calls that contradict each other"
                );
                paragraph(&again, 0, 6) + &draw("FILE", "DIR")
            }
            (_, false) => {
                let again = format!(
                    "next: no two calls contradict each other, so look at what is stored: run it again \
                     with --database PATH, which keeps it, and --history FILE, which keeps every \
                     call (--seed {seed} makes the same intended operations)"
                );
                paragraph(&again, 0, 6)
            }
        }
    }
}

/// The command, to be copied: where one line is too short for it, the shell goes on behind the backslash.
fn draw(history: &str, folder: &str) -> String {
    let (check, pictures) = (
        format!("  cargo run --release -p model-check -- check {history}"),
        format!("--pictures {folder}"),
    );
    let between = if check.chars().count() + pictures.len() < WIDTH {
        " "
    } else {
        " \\\n    "
    };
    format!("{check}{between}{pictures}\n")
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@".contains(c);
    if path.chars().all(is_plain) && !path.starts_with('-') {
        return path;
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_where_a_shell_would_not_take_it_as_it_is() {
        assert_eq!(quoted(Path::new("/tmp/run-1.jsonl")), "/tmp/run-1.jsonl");
        assert_eq!(quoted(Path::new("my run")), "'my run'");
        assert_eq!(quoted(Path::new("it's")), "'it'\\''s'");
    }
}

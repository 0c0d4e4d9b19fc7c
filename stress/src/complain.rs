//! What goes to standard error: refusals of the command line, and why there is no result.

use std::io::{IsTerminal as _, Write as _};

use crate::layout::{WIDTH, paragraph};

/// Ends the program as clap does, with lines that fit: help and version, or why the options are refused.
pub fn refuse(error: &clap::Error) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    let text = in_lines(&error.render().to_string());
    // Nobody is there to be told.
    let _ = std::io::stderr().write_all(text.as_bytes());
    std::process::exit(error.exit_code());
}

/// Says something in the name of the program: to a person in lines that fit, to a file in one.
pub fn say(words: &str) {
    let mut text = format!("stress: {words}\n");
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        text = paragraph(&text, 0, 2);
    }
    let _ = stderr.write_all(text.as_bytes());
}

/// Wraps the lines that are too long. What clap says of a value comes before what is wrong with it, which
/// goes to a line of its own.
fn in_lines(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let fits = line.chars().count() <= WIDTH;
        match line.split_once(">': ").filter(|_| !fits) {
            Some((value, reason)) => {
                out.push_str(&paragraph(&format!("{value}>':"), 0, 2));
                out.push_str(&paragraph(reason, 2, 2));
            }
            None if fits => {
                out.push_str(line);
                out.push('\n');
            }
            None => out.push_str(&paragraph(line.trim_start(), indent, indent + 2)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_of_a_refusal_are_wrapped_and_its_words_stay() {
        let value = "error: invalid value 'hold.p98<5ms' for '--threshold <LIMIT>': ";
        let text = format!(
            "{value}{}\n\n  [{}]\n\nshort\n",
            "why it is ".repeat(20),
            "v ".repeat(90)
        );
        let lines = in_lines(&text);
        assert!(
            lines.lines().all(|line| line.chars().count() <= WIDTH),
            "{lines}"
        );
        assert!(lines.starts_with("error: invalid value"), "{lines}");
        assert!(lines.contains("<LIMIT>':\n  why it is why"), "{lines}");
        assert!(lines.ends_with("]\n\nshort\n"), "{lines}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&lines), words(&text));
    }
}

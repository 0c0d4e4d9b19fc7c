//! One HTML page about one or several runs: verdicts, latency, throughput, figures and settings side
//! by side.
//!
//! The page is a single file without scripts and without anything to fetch: charts are drawn as SVG
//! here, colours follow the reader's light or dark setting, and it fits a phone. It shows what the
//! files say and judges nothing anew; only `compare` says which run is faster.

mod chart;
mod latency;
mod outcomes;
mod page;
mod settings;
mod throughput;

use crate::statement::Statement;

/// One run as the page shows it.
pub(crate) struct Run<'a> {
    /// `A`, `B`, ...: how the page calls it.
    pub(crate) letter: String,
    /// The file that it was read from.
    pub(crate) name: &'a str,
    /// What the file says.
    pub(crate) statement: &'a Statement,
}

/// The page about these runs, given as names and verified statements, in this order.
pub fn report(runs: &[(String, Statement)]) -> String {
    let runs: Vec<Run<'_>> = runs
        .iter()
        .enumerate()
        .map(|(position, (name, statement))| Run {
            letter: letter(position),
            name,
            statement,
        })
        .collect();
    page::page(&runs)
}

/// `A` to `Z`, then `A1` to `Z1`, and so on.
fn letter(position: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(position % 26).unwrap_or_default());
    let round = position / 26;
    if round == 0 {
        letter.to_string()
    } else {
        format!("{letter}{round}")
    }
}

/// Text as HTML shows it, in elements and in quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// The class that gives the run or outcome at this position its colour.
pub(crate) fn colour(position: usize) -> String {
    format!("c{}", position % 8)
}

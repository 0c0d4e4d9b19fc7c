//! What a person sees of a file first: one line, and a table of several.

use std::path::{Path, PathBuf};

use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Table};

use crate::compare::{Change, Comparison, Method, Row};
use crate::files::file_name;
use crate::recompute;
use crate::statement::{Source, Statement, Verdict};

/// Widest line of the table, in columns.
const WIDTH: u16 = 80;

/// `stress holds, of commit 1f2e3d4c5b6a with changes`.
pub(crate) fn summary(statement: &Statement) -> String {
    let predicate = &statement.predicate;
    format!(
        "{} {}, {}",
        predicate.kind,
        verdict(predicate.verdict),
        of_source(&predicate.source)
    )
}

/// Which source a run speaks for, in words.
pub(crate) fn of_source(source: &Source) -> String {
    match (&source.revision, source.tree_sha256) {
        (Some(revision), _) => {
            let changes = if source.dirty == Some(true) {
                " with changes"
            } else {
                ""
            };
            format!(
                "of commit {}{changes}",
                revision.get(..12).unwrap_or(revision)
            )
        }
        (None, Some(tree)) => format!("of source tree {}", tree.short()),
        (None, None) => "of an unknown source".to_owned(),
    }
}

/// The verdict as prose has it. The bad one is in capitals, so that no eye slips over it.
pub(crate) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Violated => "VIOLATED",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Interrupted => "interrupted",
        Verdict::ThresholdMissed => "threshold missed",
        Verdict::Holds => "holds",
    }
}

/// The most telling figure of a run: the first ratio or rate, else what was checked.
pub(crate) fn headline(statement: &Statement) -> String {
    let predicate = &statement.predicate;
    let cases = recompute::sum(predicate.checks.iter().map(|check| &check.cases));
    let violations = recompute::sum(predicate.checks.iter().map(|check| &check.violations));
    let checked = format!("{violations} violations in {} cases", short(wide(cases)));
    match predicate.results.figures.first() {
        Some(figure) if violations == 0 => {
            let unit = match figure.unit.as_str() {
                "1" => String::new(),
                "1/s" => "/s".to_owned(),
                unit => format!(" {unit}"),
            };
            let name = figure.name.replace('_', " ");
            format!("{name} {}{unit}", short(figure.value.get()))
        }
        _ => checked,
    }
}

#[allow(clippy::cast_precision_loss, reason = "shown with three digits")]
fn wide(number: u128) -> f64 {
    number as f64
}

/// A number in a few characters, three to five digits of it: `1,234`, `12.3 k`, `4.56 M`.
pub(crate) fn short(number: f64) -> String {
    let size = number.abs();
    for (limit, scale, unit) in [
        (1e12, 1e12, "T"),
        (1e9, 1e9, "G"),
        (1e6, 1e6, "M"),
        (1e5, 1e3, "k"),
    ] {
        if size >= limit {
            return format!("{:.*} {unit}", decimals(size / scale), number / scale);
        }
    }
    if number.fract() == 0.0 {
        grouped(number)
    } else if size >= 1_000.0 {
        grouped(number.round())
    } else {
        format!("{number:.*}", decimals(size))
    }
}

/// Decimals for three digits in all; a number below 1 gets three decimals.
fn decimals(size: f64) -> usize {
    match size {
        _ if size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => 3,
    }
}

/// Nanoseconds in the unit that suits them: `950 ns`, `12.3 us`, `4.56 ms`.
pub(crate) fn time(ns: f64) -> String {
    let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
    let fits = units.into_iter().find(|(_, size)| ns >= *size);
    let (unit, size) = fits.unwrap_or(("ns", 1.0));
    format!("{} {unit}", short(ns / size))
}

/// A paragraph in lines of at most 80 columns: the others are indented as far as the first is begun.
pub(crate) fn wrapped(first: &str, text: &str) -> String {
    let rest = " ".repeat(first.len());
    let options = textwrap::Options::new(usize::from(WIDTH))
        .initial_indent(first)
        .subsequent_indent(&rest)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(text, options)
}

/// A whole number with a comma between thousands.
pub(crate) fn grouped(number: impl Copy + ToString) -> String {
    let digits = number.to_string();
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits.as_str()), |digits| ("-", digits));
    let mut grouped = sign.to_owned();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A table of files, at most 80 columns wide.
pub(crate) fn table(files: &[(PathBuf, Statement)]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    table.set_header(["file (kind, time in UTC, digest)", "verdict", "headline"]);
    for (path, statement) in files {
        table.add_row([
            shown(path, statement),
            verdict(statement.predicate.verdict).to_owned(),
            headline(statement),
        ]);
    }
    let whole = ColumnConstraint::ContentWidth;
    table.set_constraints([whole, whole]);
    table.trim_fmt() + "\n"
}

/// What a comparison says, with its method.
pub(crate) fn comparison(comparison: &Comparison, method: &Method) -> String {
    match comparison {
        Comparison::Refused(reasons) => reasons.join("\n") + "\n",
        Comparison::Failed { a: true, b: true } => {
            "both lose: neither verdict is a good one, and figures do not matter then\n".into()
        }
        Comparison::Failed { b: true, .. } => {
            "B loses: its verdict is not a good one, and figures do not matter then\n".into()
        }
        Comparison::Failed { .. } => {
            "B wins: A's verdict is not a good one, and figures do not matter then\n".into()
        }
        Comparison::Measured { rows, left_out } => measured(rows, left_out, method),
    }
}

fn measured(rows: &[Row], left_out: &[String], method: &Method) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    table.set_header(["", "A", "B", "B/A", "99 % interval", "B is"]);
    for row in rows {
        let (low, high) = row.interval;
        let with_unit = |mean: f64| match row.unit {
            "ns" => time(mean),
            unit => format!("{} {unit}", short(mean)),
        };
        table.add_row([
            row.name.clone(),
            with_unit(row.a),
            with_unit(row.b),
            format!("{:.3}", row.ratio),
            format!("{low:.3} to {high:.3}"),
            row.change.to_string(),
        ]);
    }
    let count = |change| rows.iter().filter(|row| row.change == change).count();
    let noise = method.noise * 100.0;
    let lines: Vec<String> = left_out
        .iter()
        .map(|reason| wrapped("not compared: ", reason) + "\n")
        .collect();
    let not_compared = lines.concat();
    format!(
        "\nMeans, and their ratio with a 99 % interval (circular block bootstrap, 10,000\n\
         draws). A difference counts when the whole interval is more than {noise} % from 1.\n\n\
         {}\n\n{not_compared}B is faster in {}, slower in {}, no different in {} of {}.\n",
        table.trim_fmt(),
        count(Change::Faster),
        count(Change::Slower),
        count(Change::NoDifference),
        rows.len()
    )
}

/// The name of a file without its folder.
pub(crate) fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// The name of the file without its folder. An evidence file is named by kind, time and digest; to
/// another name they are added.
fn shown(path: &Path, statement: &Statement) -> String {
    let name = name(path);
    let proper = file_name(statement);
    if name == proper {
        proper
    } else {
        format!("{name}\n  {}", proper.trim_end_matches(".json"))
    }
}

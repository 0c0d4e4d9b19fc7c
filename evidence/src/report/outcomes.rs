//! How calls ended: a row for each operation and outcome, a column for each run.

use std::fmt::Write as _;

use crate::list::grouped;
use crate::report::latency::words;
use crate::report::{Run, colour, escape};
use crate::results::Operation;

/// The section, or nothing when no run counted calls.
pub(super) fn section(runs: &[Run<'_>]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for operation in runs.iter().flat_map(operations) {
        if operation.attempts.0 > 0 && !names.contains(&operation.name.as_str()) {
            names.push(&operation.name);
        }
    }
    if names.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<section><h2>Outcomes</h2>\n<div class=\"scroll\"><table><thead><tr><th></th>",
    );
    for (position, run) in runs.iter().enumerate() {
        let _ = write!(
            html,
            "<th class=\"n\" colspan=\"2\"><b class=\"badge {}\">{}</b></th>",
            colour(position),
            run.letter
        );
    }
    html.push_str("</tr></thead><tbody>\n");
    for name in names {
        let found: Vec<Option<&Operation>> = runs
            .iter()
            .map(|run| {
                operations(run)
                    .iter()
                    .find(|operation| operation.name == name)
            })
            .collect();
        let _ = write!(
            html,
            "<tr class=\"group\"><th>{}</th>",
            escape(&words(name))
        );
        for operation in &found {
            let attempts = operation.map_or("\u{2013}".to_owned(), |operation| {
                grouped(operation.attempts)
            });
            let _ = write!(html, "<th class=\"n\">{attempts}</th><th></th>");
        }
        html.push_str("</tr>\n");
        for (ending, counts) in endings(&found) {
            let _ = write!(html, "<tr><td>{}</td>", escape(&ending));
            for (count, operation) in counts.iter().zip(&found) {
                let attempts = operation.map_or(0, |operation| operation.attempts.0);
                let _ = write!(
                    html,
                    "<td class=\"n\">{}</td><td class=\"n share\">{}</td>",
                    grouped(count),
                    share(*count, attempts)
                );
            }
            html.push_str("</tr>\n");
        }
    }
    html + "</tbody></table></div></section>\n"
}

fn operations<'a>(run: &Run<'a>) -> &'a [Operation] {
    &run.statement.predicate.results.operations
}

/// Each outcome and error that any of them gave, with the count of each.
fn endings(found: &[Option<&Operation>]) -> Vec<(String, Vec<u64>)> {
    let mut all: Vec<(String, Vec<u64>)> = Vec::new();
    for (run, operation) in found.iter().enumerate() {
        let Some(operation) = operation else { continue };
        let outcomes = operation
            .outcomes
            .iter()
            .map(|(name, count)| (words(name), count.0));
        let errors = operation
            .errors
            .iter()
            .map(|(name, count)| (format!("error: {}", words(name)), count.0));
        for (name, count) in outcomes.chain(errors).filter(|(_, count)| *count > 0) {
            let row = all
                .iter()
                .position(|(known, _)| *known == name)
                .unwrap_or_else(|| {
                    all.push((name, vec![0; found.len()]));
                    all.len() - 1
                });
            all[row].1[run] = count;
        }
    }
    all
}

#[allow(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn share(count: u64, attempts: u64) -> String {
    if attempts == 0 {
        String::new()
    } else {
        format!("{:.1} %", count as f64 / attempts as f64 * 100.0)
    }
}

//! The page as a whole, and a card for each run.

use std::fmt::Write as _;

use crate::figure::{Reference, Term};
use crate::list::{self, grouped};
use crate::recompute;
use crate::report::{Run, colour, escape, latency, outcomes, settings, throughput};
use crate::statement::{Predicate, Verdict};

const STYLE: &str = include_str!("style.css");

pub(super) fn page(runs: &[Run<'_>]) -> String {
    let what = if let [run] = runs {
        run.statement.predicate.kind.name().to_owned()
    } else {
        format!("{} runs", runs.len())
    };
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Evidence: {}</title>\n<style>\n{STYLE}</style></head><body>\n\
         <header><h1>Evidence</h1><p>What was checked and measured. Every file was verified when this page was made.</p></header>\n<main>\n",
        escape(&what)
    );
    html.push_str("<div class=\"cards\">\n");
    for (position, run) in runs.iter().enumerate() {
        html.push_str(&card(position, run));
    }
    html.push_str("</div>\n");
    html.push_str(&settings::figures(runs));
    html.push_str(&outcomes::section(runs));
    html.push_str(&latency::section(runs));
    html.push_str(&throughput::section(runs));
    html.push_str(&settings::benchmarks(runs));
    html.push_str(&settings::settings(runs));
    html.push_str("</main></body></html>\n");
    html
}

fn card(position: usize, run: &Run<'_>) -> String {
    let predicate = &run.statement.predicate;
    let mut html = format!(
        "<article class=\"card\"><h2><b class=\"badge {}\">{}</b> {} <span class=\"verdict {}\">{}</span></h2>\n",
        colour(position),
        run.letter,
        predicate.kind,
        class(predicate.verdict),
        list::verdict(predicate.verdict)
    );
    let command = [
        std::slice::from_ref(&predicate.run.program),
        predicate.run.arguments.as_slice(),
    ]
    .concat()
    .join(" ");
    let time = predicate
        .run
        .finished
        .to_string()
        .replace('T', " ")
        .replace(".000Z", " UTC")
        .replace('Z', " UTC");
    let _ = writeln!(
        html,
        "<p class=\"file\">{}</p>\n<p><code>{}</code></p>",
        escape(run.name),
        escape(&command)
    );
    let _ = writeln!(
        html,
        "<p class=\"hint\">{}, {}</p>",
        escape(&time),
        escape(&list::of_source(&predicate.source))
    );
    if let Some(reason) = &predicate.not_comparable_because {
        let _ = writeln!(
            html,
            "<p class=\"note\">Not comparable: {}</p>",
            escape(reason)
        );
    }
    html.push_str(&checks(predicate));
    html.push_str(&thresholds(predicate));
    html + "</article>\n"
}

/// The class that gives a verdict its colour.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "good",
        Verdict::Violated => "bad",
        Verdict::Inconclusive | Verdict::Interrupted | Verdict::ThresholdMissed => "poor",
    }
}

fn checks(predicate: &Predicate) -> String {
    let mut html = String::from("<ul class=\"checks\">\n");
    for check in &predicate.checks {
        let (class, word) = match (check.violations.0, check.undecided.0) {
            (0, 0) if check.cases.0 == 0 => ("poor", "no case".to_owned()),
            (0, 0) => (
                "good",
                format!("0 violations in {} cases", grouped(check.cases)),
            ),
            (0, undecided) => (
                "poor",
                format!("{undecided} of {} cases undecided", grouped(check.cases)),
            ),
            (violations, _) => (
                "bad",
                format!("{violations} violations in {} cases", grouped(check.cases)),
            ),
        };
        let _ = write!(
            html,
            "<li class=\"{class}\"><b>{}</b> {}<br><small>{}</small>",
            escape(&check.name),
            word,
            escape(&check.what)
        );
        if !check.notes.is_empty() {
            let _ = write!(
                html,
                "<details{}><summary>notes</summary><pre>",
                if class == "bad" { " open" } else { "" }
            );
            html.push_str(&escape(&check.notes.join("\n")));
            html.push_str("</pre></details>");
        }
        html.push_str("</li>\n");
    }
    for law in &predicate.laws {
        let class = if law.holds { "good" } else { "bad" };
        let sides = recompute::law_sides(predicate, &law.left, &law.right);
        let sides = sides.map_or(String::new(), |(left, right)| {
            if left == right {
                format!("{} = {}", grouped(left), grouped(right))
            } else {
                format!("{} \u{2260} {}", grouped(left), grouped(right))
            }
        });
        let _ = writeln!(
            html,
            "<li class=\"{class}\"><b>{}</b> {sides}<br><small>{}</small></li>",
            escape(&law.name),
            escape(&law.what)
        );
    }
    html + "</ul>\n"
}

fn thresholds(predicate: &Predicate) -> String {
    if predicate.thresholds.is_empty() {
        return String::new();
    }
    let mut html = String::from("<h3>Thresholds</h3><ul class=\"checks\">\n");
    for threshold in &predicate.thresholds {
        let class = if threshold.met { "good" } else { "bad" };
        let unit = unit(predicate, &threshold.observed);
        let observed = |value: f64| escape(&settings::measured(value, &unit));
        let _ = writeln!(
            html,
            "<li class=\"{class}\"><b>{}</b><br><small>measured {}, limit {} {}</small></li>",
            escape(&threshold.expression),
            observed(threshold.observed.value.get()),
            escape(threshold.rule.sign()),
            observed(threshold.limit.get())
        );
    }
    html + "</ul>\n"
}

/// The unit of a term, where the statement tells it.
fn unit(predicate: &Predicate, term: &Term) -> String {
    let results = &predicate.results;
    let unit = match &term.of {
        Some(Reference::Histogram { of, .. }) => results
            .histograms
            .iter()
            .find(|histogram| histogram.of == *of)
            .map(|histogram| histogram.unit.code().to_owned()),
        Some(Reference::Figure(name)) => results
            .figures
            .iter()
            .find(|figure| figure.name == *name)
            .map(|figure| figure.unit.clone()),
        Some(Reference::BenchmarkMean(_) | Reference::BenchmarkMedian(_)) => Some("ns".to_owned()),
        _ => None,
    };
    unit.unwrap_or_else(|| "1".to_owned())
}

//! Figures with their aims drawn, benchmarks, limits, and the settings of all runs side by side.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::figure::{Aim, Derivation, Figure};
use crate::list::{grouped, short};
use crate::report::latency::{quantity, words};
use crate::report::{Run, colour, escape};
use crate::results::Unit;

/// Ratios and other figures, the ones with an aim first: a bar for each run, with a mark where the aim is.
pub(super) fn figures(runs: &[Run<'_>]) -> String {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for figure in runs
        .iter()
        .flat_map(|run| &run.statement.predicate.results.figures)
    {
        if !names.contains(&(&figure.name, &figure.unit)) {
            names.push((&figure.name, &figure.unit));
        }
    }
    if names.is_empty() {
        return String::new();
    }
    // What somebody wanted comes before what is there for the record.
    let all = || {
        runs.iter()
            .flat_map(|run| &run.statement.predicate.results.figures)
    };
    names.sort_by_key(|(name, unit)| {
        !all().any(|figure| figure.name == *name && figure.unit == *unit && figure.aim.is_some())
    });
    let mut html =
        String::from("<section><h2>Ratios and other figures</h2>\n<div class=\"bars\">\n");
    for (name, unit) in names {
        let of = |run: &Run<'_>| {
            run.statement
                .predicate
                .results
                .figures
                .iter()
                .find(|figure| figure.name == name && figure.unit == unit)
                .cloned()
        };
        let found: Vec<(usize, Figure)> = runs
            .iter()
            .enumerate()
            .filter_map(|(position, run)| Some((position, of(run)?)))
            .collect();
        let widest = found
            .iter()
            .flat_map(|(_, figure)| {
                [
                    figure.value.get().abs(),
                    figure.aim.map_or(0.0, |aim| aim.limit.get().abs()),
                ]
            })
            .fold(0.0, f64::max);
        let _ = writeln!(
            html,
            "<h3>{}{}</h3>",
            escape(&words(name)),
            explained(&found[0].1)
        );
        for (position, figure) in &found {
            html.push_str(&bar(&runs[*position].letter, *position, figure, widest));
        }
    }
    html.push_str("</div>\n");
    if all().any(|figure| figure.aim.is_some()) {
        html.push_str(
            "<p class=\"hint\">The mark is the aim. Missing an aim changes no verdict.</p>\n",
        );
    }
    html + "</section>\n"
}

fn explained(figure: &Figure) -> String {
    match &figure.from {
        Derivation::Ratio {
            numerator,
            denominator,
        } => {
            format!(
                " <small>{} \u{f7} {}</small>",
                escape(&numerator.name),
                escape(&denominator.name)
            )
        }
        Derivation::JainIndex { shares } => format!(
            " <small>Jain index of {} shares, 1 is even</small>",
            shares.len()
        ),
        Derivation::Measured => String::new(),
    }
}

fn bar(letter: &str, position: usize, figure: &Figure, widest: f64) -> String {
    let share = |value: f64| {
        if widest > 0.0 {
            (value.abs() / widest * 100.0).min(100.0)
        } else {
            0.0
        }
    };
    let mark = figure.aim.map_or(String::new(), |aim| {
        format!("<u style=\"left:{:.1}%\"></u>", share(aim.limit.get()))
    });
    format!(
        "<div class=\"bar\"><b class=\"badge {0}\">{letter}</b><span class=\"track\"><i class=\"{0}\" style=\"width:{1:.1}%\"></i>{mark}</span>\
         <span class=\"value\">{2}{3}</span></div>\n",
        colour(position),
        share(figure.value.get()),
        escape(&measured(figure.value.get(), &figure.unit)),
        figure
            .aim
            .map_or(String::new(), |aim| verdict_of(aim, &figure.unit)),
    )
}

fn verdict_of(aim: Aim, unit: &str) -> String {
    let (class, word) = if aim.met {
        ("good", "met")
    } else {
        ("poor", "missed")
    };
    format!(
        " <em class=\"{class}\">aim {} {} {word}</em>",
        escape(aim.rule.sign()),
        escape(&measured(aim.limit.get(), unit))
    )
}

/// A figure with its unit as a person reads it.
pub(super) fn measured(value: f64, unit: &str) -> String {
    match unit {
        "1" => short(value),
        "1/s" => format!("{}/s", short(value)),
        "ns" => quantity(value, Unit::Nanoseconds),
        other => format!("{} {other}", short(value)),
    }
}

/// Benchmarks: median and mean of each run.
pub(super) fn benchmarks(runs: &[Run<'_>]) -> String {
    let mut ids: Vec<&str> = Vec::new();
    for benchmark in runs
        .iter()
        .flat_map(|run| &run.statement.predicate.results.benchmarks)
    {
        if !ids.contains(&benchmark.id.as_str()) {
            ids.push(&benchmark.id);
        }
    }
    if ids.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<section><h2>Benchmarks</h2>\n<div class=\"scroll\"><table><thead><tr><th>benchmark</th>",
    );
    for (position, run) in runs.iter().enumerate() {
        let _ = write!(
            html,
            "<th class=\"n\"><b class=\"badge {}\">{}</b> median</th><th class=\"n\">mean</th>",
            colour(position),
            run.letter
        );
    }
    html.push_str("</tr></thead><tbody>\n");
    for id in ids {
        let _ = write!(html, "<tr><td>{}</td>", escape(id));
        for run in runs {
            match run
                .statement
                .predicate
                .results
                .benchmarks
                .iter()
                .find(|benchmark| benchmark.id == id)
            {
                Some(found) => {
                    let (median, mean) = (found.median_ns.get(), found.mean_ns.get());
                    let _ = write!(
                        html,
                        "<td class=\"n\">{}</td><td class=\"n\">{}</td>",
                        quantity(median, Unit::Nanoseconds),
                        quantity(mean, Unit::Nanoseconds)
                    );
                }
                None => html.push_str("<td class=\"n\">\u{2013}</td><td class=\"n\">\u{2013}</td>"),
            }
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody></table></div></section>\n"
}

/// Everything that was chosen or found: a row for each name, a column for each run. Rows in which the
/// runs differ are marked.
pub(super) fn settings(runs: &[Run<'_>]) -> String {
    let columns: Vec<Vec<(&str, BTreeMap<String, String>)>> = runs.iter().map(groups).collect();
    let mut html = String::from(
        "<section><h2>Settings</h2>\n<div class=\"scroll\"><table class=\"settings\"><thead><tr><th></th>",
    );
    for (position, run) in runs.iter().enumerate() {
        let _ = write!(
            html,
            "<th><b class=\"badge {}\">{}</b></th>",
            colour(position),
            run.letter
        );
    }
    html.push_str("</tr></thead>\n");
    let Some(first) = columns.first() else {
        return String::new();
    };
    for (group, (title, _)) in first.iter().enumerate() {
        let mut names: Vec<&String> = columns
            .iter()
            .flat_map(|column| column[group].1.keys())
            .collect();
        names.sort();
        names.dedup();
        if names.is_empty() {
            continue;
        }
        let _ = writeln!(
            html,
            "<tbody><tr class=\"group\"><th colspan=\"{}\">{title}</th></tr>",
            runs.len() + 1
        );
        for name in names {
            let values: Vec<&str> = columns
                .iter()
                .map(|column| column[group].1.get(name).map_or("\u{2013}", String::as_str))
                .collect();
            let class = if values.windows(2).any(|pair| pair[0] != pair[1]) {
                " class=\"differs\""
            } else {
                ""
            };
            let _ = write!(html, "<tr{class}><td>{}</td>", escape(name));
            for value in values {
                let _ = write!(html, "<td>{}</td>", escape(value));
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody>\n");
    }
    html.push_str("</table></div>\n");
    if runs.len() > 1 {
        html.push_str("<p class=\"hint\">Marked rows differ between the runs.</p>\n");
    }
    html + "</section>\n"
}

fn groups<'a>(run: &Run<'_>) -> Vec<(&'a str, BTreeMap<String, String>)> {
    let predicate = &run.statement.predicate;
    let mut configuration: BTreeMap<String, String> = predicate
        .configuration
        .iter()
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect();
    if let Some(seed) = predicate.run.seed {
        configuration.insert("seed".into(), seed.to_string());
    }
    let mut database = BTreeMap::new();
    if let Some(found) = &predicate.database {
        database.insert(
            "database".into(),
            format!("{} {}", found.name, found.version),
        );
        database.insert(
            "file system".into(),
            found
                .file_system
                .clone()
                .unwrap_or_else(|| "unknown".into()),
        );
        database.extend(
            found
                .settings
                .iter()
                .map(|(name, value)| (name.clone(), value.to_string())),
        );
    }
    let toolchain = &predicate.toolchain;
    let mut machine: BTreeMap<String, String> = [
        ("compiler", toolchain.rustc.clone()),
        (
            "profile",
            format!("{}, opt-level {}", toolchain.profile, toolchain.opt_level),
        ),
        ("target", toolchain.target.clone()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    let host = serde_json::to_value(&predicate.host).unwrap_or_default();
    for (name, value) in host.as_object().into_iter().flatten() {
        machine.insert(
            name.clone(),
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned),
        );
    }
    let counts = predicate
        .results
        .counts
        .iter()
        .map(|(name, count)| (name.clone(), grouped(count)))
        .collect();
    vec![
        ("Configuration", configuration),
        ("Database, as read back", database),
        ("Machine and compiler", machine),
        ("Counts", counts),
    ]
}

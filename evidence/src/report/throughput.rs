//! Throughput over time: for each run the calls of each interval, stacked by operation and outcome.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::list::short;
use crate::report::chart::{BOTTOM, Chart, LEFT, RIGHT, Scale, TOP, legend, points};
use crate::report::latency::words;
use crate::report::{Run, colour};
use crate::results::{Covers, Series};

/// How many outcomes have a colour of their own. The rest are drawn together.
const KINDS: usize = 7;

/// The section, or nothing when no run has a series.
pub(super) fn section(runs: &[Run<'_>]) -> String {
    let mut totals: BTreeMap<String, u64> = BTreeMap::new();
    for series in runs.iter().flat_map(|run| chosen(run)) {
        *totals.entry(name(series)).or_default() += series
            .counts
            .iter()
            .map(|count| u64::from(*count))
            .sum::<u64>();
    }
    if totals.is_empty() {
        return String::new();
    }
    let mut kinds: Vec<(String, u64)> =
        totals.into_iter().filter(|(_, total)| *total > 0).collect();
    kinds.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
    let more = kinds.len() > KINDS + 1;
    if more {
        kinds.truncate(KINDS);
    }
    let kinds: Vec<String> = kinds.into_iter().map(|(name, _)| name).collect();
    let stacks: Vec<Vec<Vec<f64>>> = runs.iter().map(|run| stack(run, &kinds)).collect();
    let highest = stacks
        .iter()
        .filter_map(|stack| stack.last())
        .flatten()
        .copied()
        .fold(0.0, f64::max);

    let mut html = String::from("<section><h2>Throughput over time</h2>\n");
    html.push_str("<p class=\"hint\">Calls answered per second, by operation and outcome, one on top of the other. All runs have the same scale. The last interval is left out where it was cut short.</p>\n");
    let other = more.then(|| (colour(KINDS), "all others".to_owned()));
    html.push_str(&legend(
        kinds
            .iter()
            .enumerate()
            .map(|(position, name)| (colour(position), name.clone()))
            .chain(other),
    ));
    html.push_str("<div class=\"charts\">\n");
    for (run, stack) in runs.iter().zip(&stacks) {
        if !stack.is_empty() {
            html.push_str(&chart(run, stack, highest));
        }
    }
    html + "</div></section>\n"
}

/// The series that count calls: those of each outcome, or of the whole operation where there are none.
fn chosen<'a>(run: &Run<'a>) -> Vec<&'a Series> {
    let all = &run.statement.predicate.results.series;
    let every: Vec<&Series> = all
        .iter()
        .filter(|series| series.covers == Covers::Every)
        .collect();
    let Some(first) = every.first() else {
        return Vec::new();
    };
    let apart = |operation: &str| {
        every
            .iter()
            .any(|series| series.of.outcome.is_some() && series.of.operation == operation)
    };
    let measured = every.iter().filter(|series| {
        series.of.measure == first.of.measure && series.interval_ms == first.interval_ms
    });
    measured
        .filter(|series| series.of.outcome.is_some() || !apart(&series.of.operation))
        .copied()
        .collect()
}

fn name(series: &Series) -> String {
    match &series.of.outcome {
        Some(outcome) => format!(
            "{} \u{2192} {}",
            words(&series.of.operation),
            words(outcome)
        ),
        None => words(&series.of.operation),
    }
}

/// The upper border of each layer, from the lowest up, as calls per second in each full interval.
fn stack(run: &Run<'_>, kinds: &[String]) -> Vec<Vec<f64>> {
    let all = chosen(run);
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let longest = all
        .iter()
        .map(|series| series.counts.len())
        .max()
        .unwrap_or_default();
    let interval_ns = u64::from(first.interval_ms) * 1_000_000;
    let full = run
        .statement
        .predicate
        .run
        .measured_ns
        .map_or(longest, |ns| {
            usize::try_from(ns.0 / interval_ns).unwrap_or(longest)
        });
    let length = if full == 0 {
        longest
    } else {
        longest.min(full)
    };
    let mut layers = vec![vec![0.0; length]; kinds.len() + 1];
    for series in &all {
        let layer = kinds
            .iter()
            .position(|kind| *kind == name(series))
            .unwrap_or(kinds.len());
        for (sum, count) in layers[layer].iter_mut().zip(&series.counts) {
            *sum += f64::from(*count) * 1_000.0 / f64::from(first.interval_ms);
        }
    }
    for layer in 1..layers.len() {
        let (below, rest) = layers.split_at_mut(layer);
        for (sum, under) in rest[0].iter_mut().zip(&below[layer - 1]) {
            *sum += under;
        }
    }
    layers
}

fn chart(run: &Run<'_>, layers: &[Vec<f64>], highest: f64) -> String {
    let interval_ms = chosen(run)
        .first()
        .map_or(1_000, |series| series.interval_ms);
    let length = layers[0].len();
    #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 intervals")]
    let seconds = |interval: usize| interval as f64 * f64::from(interval_ms) / 1_000.0;
    let x = Scale::linear(0.0, seconds(length), LEFT, RIGHT);
    let y = Scale::linear(0.0, highest * 1.05, BOTTOM, TOP);
    let mut drawing = String::new();
    // From the top layer down, each over the whole height: what stays visible is its own share.
    for (layer, heights) in layers.iter().enumerate().rev() {
        let steps = heights.iter().enumerate().flat_map(|(interval, height)| {
            [
                (x.at(seconds(interval)), y.at(*height)),
                (x.at(seconds(interval + 1)), y.at(*height)),
            ]
        });
        let border = points(steps);
        let _ = writeln!(
            drawing,
            "<polygon class=\"area {}\" points=\"{LEFT:.1},{BOTTOM:.1} {border}{:.1},{BOTTOM:.1}\"/>",
            colour(layer),
            x.at(seconds(length))
        );
    }
    let empty = Vec::new();
    let top = layers.last().unwrap_or(&empty);
    #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 intervals")]
    let mean = top.iter().sum::<f64>() / top.len().max(1) as f64;
    Chart {
        title: format!("run {}: {} calls/s on average", run.letter, short(mean)),
        left: y
            .round_steps()
            .into_iter()
            .map(|value| (y.at(value), short(value)))
            .collect(),
        below: x
            .round_steps()
            .into_iter()
            .map(|value| (x.at(value), format!("{value}")))
            .collect(),
        below_title: "seconds",
        description: format!(
            "calls per second over {} seconds, {} on average",
            seconds(length),
            short(mean)
        ),
        drawing,
    }
    .svg()
}

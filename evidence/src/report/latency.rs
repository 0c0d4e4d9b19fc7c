//! Latency by percentile: one small chart for each operation and outcome, a line for each run, and a
//! table of the figures.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::list::{grouped, short};
use crate::report::chart::{BOTTOM, Chart, LEFT, RIGHT, Scale, TOP, legend, points};
use crate::report::{Run, colour, escape};
use crate::results::{Histogram, Labels, Statistic, Unit};

/// How many charts are drawn. The rest stands in the table.
const CHARTS: usize = 9;

/// Each kind of call, with the runs that have it.
type ByLabels<'a> = Vec<(&'a Labels, Vec<(usize, &'a Histogram)>)>;

/// The section, or nothing when no run has a histogram.
pub(super) fn section(runs: &[Run<'_>]) -> String {
    let all = by_labels(runs);
    if all.is_empty() {
        return String::new();
    }
    let mut html = String::from("<section><h2>Latency by percentile</h2>\n");
    html.push_str("<p class=\"hint\">Read upwards: of the calls named, this share took no longer than this. Both scales are logarithmic. Lower is better.</p>\n");
    if runs.len() > 1 {
        html.push_str(&legend(runs.iter().enumerate().map(|(position, run)| {
            (colour(position), format!("run {}", run.letter))
        })));
    }
    html.push_str("<div class=\"charts\">\n");
    for (labels, histograms) in all.iter().take(CHARTS) {
        html.push_str(&chart(runs, labels, histograms));
    }
    html.push_str("</div>\n");
    if all.len() > CHARTS {
        let _ = writeln!(
            html,
            "<p class=\"hint\">Drawn are the {CHARTS} with the most calls of {}; the table has all.</p>",
            all.len()
        );
    }
    html.push_str(&table(runs, &all));
    html + "</section>\n"
}

/// Histograms of the same calls together, those of most calls first; empty ones are left out.
fn by_labels<'a>(runs: &[Run<'a>]) -> ByLabels<'a> {
    let mut all: BTreeMap<&Labels, Vec<(usize, &Histogram)>> = BTreeMap::new();
    for (position, run) in runs.iter().enumerate() {
        for histogram in &run.statement.predicate.results.histograms {
            if histogram.summary.count.0 > 0 {
                all.entry(&histogram.of)
                    .or_default()
                    .push((position, histogram));
            }
        }
    }
    let mut all: ByLabels<'_> = all.into_iter().collect();
    let calls = |histograms: &[(usize, &Histogram)]| {
        histograms
            .iter()
            .map(|(_, histogram)| u128::from(histogram.summary.count.0))
            .sum::<u128>()
    };
    all.sort_by_key(|(_, histograms)| std::cmp::Reverse(calls(histograms)));
    all
}

fn chart(runs: &[Run<'_>], labels: &Labels, histograms: &[(usize, &Histogram)]) -> String {
    let unit = histograms[0].1.unit;
    let curves: Vec<(usize, Vec<(f64, f64)>)> = histograms
        .iter()
        .map(|(run, histogram)| (*run, curve(histogram)))
        .collect();
    let every = || curves.iter().flat_map(|(_, curve)| curve);
    let right = every().map(|(x, _)| *x).fold(2.0, f64::max);
    let least = every().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
    let greatest = every().map(|(_, y)| *y).fold(0.0, f64::max);
    let x = Scale::linear(0.0, right, LEFT, RIGHT);
    let y = Scale::decades(least, greatest, BOTTOM, TOP);
    let mut drawing = String::new();
    for (run, curve) in &curves {
        let line = points(
            curve
                .iter()
                .map(|(nines, value)| (x.at(*nines), y.at(*value))),
        );
        let tip = histograms
            .iter()
            .find(|(other, _)| other == run)
            .map(|(_, histogram)| tip(&runs[*run].letter, histogram));
        let _ = writeln!(
            drawing,
            "<polyline class=\"line {}\" points=\"{line}\"><title>{}</title></polyline>",
            colour(*run),
            escape(&tip.unwrap_or_default())
        );
    }
    let ticks = [
        (0.301, "50 %"),
        (1.0, "90 %"),
        (2.0, "99 %"),
        (3.0, "99.9 %"),
        (4.0, "99.99 %"),
        (5.0, "99.999 %"),
        (6.0, "6 nines"),
        (7.0, "7 nines"),
    ];
    Chart {
        title: title(labels),
        left: y
            .powers()
            .into_iter()
            .map(|value| (y.at(value), quantity(value, unit)))
            .collect(),
        below: spread(
            ticks
                .into_iter()
                .filter(|(nines, _)| *nines <= right + 0.01)
                .map(|(nines, label)| (x.at(nines), label.to_owned())),
        ),
        below_title: "share of calls",
        description: histograms
            .iter()
            .map(|(run, histogram)| tip(&runs[*run].letter, histogram))
            .collect::<Vec<_>>()
            .join("; "),
        drawing,
    }
    .svg()
}

/// Labels that would touch the one before are left out.
fn spread(ticks: impl Iterator<Item = (f64, String)>) -> Vec<(f64, String)> {
    let mut kept: Vec<(f64, String)> = Vec::new();
    for (at, label) in ticks {
        if kept.last().is_none_or(|(before, _)| at - before > 44.0) {
            kept.push((at, label));
        }
    }
    kept
}

/// The curve as (nines, value): one nine is 90 %, two are 99 %. The last sample of n stands at the
/// middle of the last n-th.
fn curve(histogram: &Histogram) -> Vec<(f64, f64)> {
    let Ok(values) = histogram.decode() else {
        return Vec::new();
    };
    #[allow(clippy::cast_precision_loss, reason = "drawn to half a unit")]
    let float = |number: u64| number as f64;
    let count = float(values.len());
    let mut seen = 0_u64;
    let mut curve = Vec::new();
    for step in values.iter_recorded() {
        let value = float(step.value_iterated_to()).max(1.0);
        let before = -(1.0 - float(seen) / count).log10();
        seen = seen.saturating_add(step.count_at_value());
        let after = -(1.0 - (float(seen) - 0.5) / count).max(0.5 / count).log10();
        curve.extend([(before.min(after), value), (after, value)]);
    }
    curve
}

fn tip(letter: &str, histogram: &Histogram) -> String {
    let summary = &histogram.summary;
    let of = |statistic| quantity(summary.get(statistic), histogram.unit);
    format!(
        "run {letter}: {} samples, p50 {}, p99 {}, max {}",
        grouped(summary.count),
        of(Statistic::P50),
        of(Statistic::P99),
        of(Statistic::Max)
    )
}

fn title(labels: &Labels) -> String {
    let measure = labels.measure.replace('_', " ");
    match &labels.outcome {
        Some(outcome) => format!(
            "{} \u{2192} {}: {measure}",
            words(&labels.operation),
            words(outcome)
        ),
        None => format!("{}: {measure}", words(&labels.operation)),
    }
}

/// A name as words.
pub(super) fn words(name: &str) -> String {
    name.replace('_', " ")
}

fn table(runs: &[Run<'_>], all: &ByLabels<'_>) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>calls</th><th>run</th><th class=\"n\">count</th>",
    );
    for statistic in Statistic::ALL {
        let _ = write!(
            html,
            "<th class=\"n\">{}</th>",
            statistic.name().replace('_', ".")
        );
    }
    html.push_str("</tr></thead><tbody>\n");
    let mut thin = false;
    for (labels, histograms) in all {
        for (position, (run, histogram)) in histograms.iter().enumerate() {
            let name = if position == 0 {
                title(labels)
            } else {
                String::new()
            };
            let _ = write!(
                html,
                "<tr><td>{}</td><td><b class=\"badge {}\">{}</b></td><td class=\"n\">{}</td>",
                escape(&name),
                colour(*run),
                runs[*run].letter,
                grouped(histogram.summary.count)
            );
            for statistic in Statistic::ALL {
                let few = histogram.summary.thin.contains(&statistic);
                thin |= few;
                let class = if few { "n thin" } else { "n" };
                let _ = write!(
                    html,
                    "<td class=\"{class}\">{}</td>",
                    quantity(histogram.summary.get(statistic), histogram.unit)
                );
            }
            html.push_str("</tr>\n");
        }
    }
    html.push_str("</tbody></table></div>\n");
    if thin {
        html.push_str("<p class=\"hint\">A pale quantile has fewer than ten calls beyond it: another run may well give another.</p>\n");
    }
    html
}

/// A quantity in a unit that fits its size.
pub(super) fn quantity(value: f64, unit: Unit) -> String {
    let nanoseconds = match unit {
        Unit::Nanoseconds => value,
        Unit::Microseconds => value * 1e3,
        Unit::Milliseconds => value * 1e6,
        Unit::Bytes => return format!("{} B", short(value)),
        Unit::Number => return short(value),
    };
    let (scale, name) = [(1e9, "s"), (1e6, "ms"), (1e3, "\u{b5}s")]
        .into_iter()
        .find(|(scale, _)| nanoseconds >= *scale)
        .unwrap_or((1.0, "ns"));
    let number = nanoseconds / scale;
    let decimals = if name == "ns" || number >= 100.0 || number.fract() == 0.0 {
        0
    } else {
        usize::from(number >= 10.0) + 2 * usize::from(number < 10.0)
    };
    format!("{number:.decimals$} {name}")
}

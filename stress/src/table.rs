//! The table of outcomes, rates and latencies, the table of a ramp, and the run by the second.

use std::fmt::Write as _;

use evidence::{Statistic, Summary};

use crate::answer::{Ending, Operation};
use crate::layout::paragraph;
use crate::measure::{Figures, summary};
use crate::ramp::Knee;
use crate::report::Report;
use crate::units::{short_rate, short_time, thousands};

/// The figures of the table, in its order.
const COLUMNS: [(Statistic, &str); 6] = [
    (Statistic::P50, "p50"),
    (Statistic::P90, "p90"),
    (Statistic::P99, "p99"),
    (Statistic::P999, "p99.9"),
    (Statistic::P9999, "p99.99"),
    (Statistic::Max, "max"),
];

impl Report<'_> {
    /// The steps of a ramp, and the knee.
    pub(crate) fn ramp(&self) -> String {
        let mut out = format!(
            "{:>10}{:>12}{:>13}{:>10}{:>10}{:>10}  {}\n",
            "rate", "answered/s", "not started", "late", "p50", "p99", "kept"
        );
        for step in self.steps {
            let _ = writeln!(
                out,
                "{:>10}{:>12}{:>13}{:>10}{:>10}{:>10}  {}",
                short_rate(step.rate),
                short_rate(step.answered_per_second),
                thousands(step.unstarted),
                thousands(step.late),
                short_time(step.p50_ns),
                short_time(step.p99_ns),
                if step.kept { "yes" } else { "no" }
            );
        }
        if let Some(knee) = Knee::of(self.steps, self.load.interrupted) {
            out.push_str(&paragraph(&format!("knee: {knee}"), 0, 6));
        }
        out
    }

    pub(crate) fn table(&self) -> String {
        let figures = &self.load.figures;
        let what = if figures.lateness.is_some() {
            "response time"
        } else {
            "time"
        };
        let mut out = format!("{:<20}{:>9}{:>8}", what, "count", "per s");
        for (_, name) in COLUMNS {
            let _ = write!(out, "{name:>7}");
        }
        out.push('\n');
        let mut thin = false;
        for operation in Operation::ALL {
            let of = |ending: &Ending| ending.operation() == operation;
            let endings: Vec<_> = Ending::all()
                .filter(of)
                .filter(|ending| figures.measured.of(*ending) > 0)
                .collect();
            let all = figures.merged(|ending| of(&ending));
            thin |= self.row(&mut out, operation.name(), all.len(), &summary(&all));
            for ending in endings {
                let values = figures.merged(|other| other == ending);
                let name = if ending.is_error() {
                    format!("  error: {}", ending.shown())
                } else {
                    format!("  {}", ending.shown())
                };
                thin |= self.row(&mut out, &name, values.len(), &summary(&values));
            }
        }
        if let Some(lateness) = &figures.lateness {
            let service = figures.all_service();
            thin |= self.row(&mut out, "service time", service.len(), &summary(&service));
            thin |= self.row(&mut out, "start delay", lateness.len(), &summary(lateness));
        }
        if thin {
            out.push_str("~ fewer than ten calls were slower, so another run may well differ\n");
        }
        out
    }

    /// One row; says whether it has a thin quantile.
    fn row(&self, out: &mut String, name: &str, count: u64, summary: &Summary) -> bool {
        let rate = short_rate(self.load.rate_of(count));
        let _ = write!(out, "{name:<20}{:>9}{rate:>8}", thousands(count));
        let mut thin = false;
        for (statistic, _) in COLUMNS {
            if count == 0 {
                let _ = write!(out, "{:>7}", "-");
                continue;
            }
            let is_thin = summary.thin.contains(&statistic);
            thin |= is_thin;
            if is_thin && summary.get(statistic) >= summary.get(Statistic::Max) {
                let _ = write!(out, "{:>7}", "~");
                continue;
            }
            let mark = if is_thin { '~' } else { ' ' };
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a time is a whole number of nanoseconds"
            )]
            let time = short_time(summary.get(statistic) as u64);
            let _ = write!(out, "{mark}{time:>6}");
        }
        out.push('\n');
        thin
    }
}

/// Answered calls by the second as a row of bars, at most thirty; the last, broken second is left out.
pub(crate) fn sparkline(figures: &Figures) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const MOST: usize = 30;
    let seconds: Vec<u64> = figures
        .by_second
        .iter()
        .map(|second| second.iter().map(|count| u64::from(*count)).sum())
        .collect();
    let whole = seconds.len().saturating_sub(1);
    if whole < 3 {
        return String::new();
    }
    let step = whole.div_ceil(MOST);
    let bunches: Vec<u64> = seconds[..whole]
        .chunks_exact(step)
        .map(|bunch| bunch.iter().sum())
        .collect();
    let most = bunches.iter().copied().max().unwrap_or(0).max(1);
    bunches
        .iter()
        .map(|count| BARS[usize::try_from(count * 7 / most).unwrap_or(7)])
        .collect()
}

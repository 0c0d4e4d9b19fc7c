//! The summary that a person reads: at most 80 columns.

use std::fmt::Write as _;
use std::path::Path;

use evidence::{Statistic, Summary, Verdict};

use crate::answer::{Ending, Operation};
use crate::config::{Arrival, Config, Place, Until};
use crate::measure::{Figures, summary};
use crate::proof::{Law, Proof};
use crate::runner::Load;
use crate::store::Opened;
use crate::threshold::Judged;
use crate::units::{short_rate, short_time, thousands, typed};
use crate::workload::Choice;

/// The width that nothing goes beyond.
pub const WIDTH: usize = 80;

/// The figures of the table, in its order.
const COLUMNS: [(Statistic, &str); 6] = [
    (Statistic::P50, "p50"),
    (Statistic::P90, "p90"),
    (Statistic::P99, "p99"),
    (Statistic::P999, "p99.9"),
    (Statistic::P9999, "p99.99"),
    (Statistic::Max, "max"),
];

/// Everything that a report is made from.
pub struct Report<'run> {
    /// The settings.
    pub config: &'run Config,
    /// The store.
    pub opened: &'run Opened,
    /// What the load left behind.
    pub load: &'run Load,
    /// What was checked.
    pub proof: &'run Proof,
    /// How the limits came out.
    pub judged: &'run [Judged],
    /// What it all comes to.
    pub verdict: Verdict,
    /// Where the evidence is.
    pub evidence: Option<&'run Path>,
}

impl Report<'_> {
    /// The whole summary.
    pub fn text(&self) -> String {
        let mut out = self.head();
        out.push('\n');
        out.push_str(&self.table());
        out.push('\n');
        out.push_str(&self.figures());
        out.push('\n');
        out.push_str(&self.proof());
        out.push('\n');
        out.push_str(&self.last_lines());
        out
    }

    fn head(&self) -> String {
        let config = self.config;
        let workload = &config.workload;
        let crowd = match workload.choice {
            Choice::Hot { percent: 0.0, .. } => "all seats alike".to_owned(),
            Choice::Hot { seats: 1, percent } => format!("{percent} % for the hot seat"),
            Choice::Hot { seats, percent } => format!("{percent} % for {seats} hot seats"),
            Choice::Zipf(exponent) => format!("zipf {exponent}"),
        };
        let load = match config.arrival {
            Arrival::Closed => "closed loop".to_owned(),
            Arrival::Open { rate } => format!("{}/s, open loop", short_rate(rate)),
        };
        let until = match config.until {
            Until::Elapsed(time) => typed(time),
            Until::Calls(calls) => format!("{} calls", thousands(calls)),
        };
        let warmup = if config.warmup.is_zero() {
            String::new()
        } else {
            format!(" after {} of warm-up", typed(config.warmup))
        };
        let file_system = self.opened.file_system.as_deref().unwrap_or("a file");
        let place = match &config.place {
            Place::Temporary => format!("a fresh file on {file_system}"),
            Place::File { .. } => format!("the file that was given, on {file_system}"),
        };
        let pragma = |name: &str| {
            let found = self.opened.settings.pragmas.iter().find(|(n, _)| n == name);
            found.map_or("?", |(_, value)| value)
        };
        let synchronous = match pragma("synchronous") {
            "0" => "OFF",
            "1" => "NORMAL",
            "2" => "FULL",
            "3" => "EXTRA",
            other => other,
        };
        let mut out = wrapped(
            &[
                format!("soldonce stress: {}", workload.shape),
                plural(config.clients.into(), "buyer"),
                format!("{} seats", thousands(workload.seats.into())),
                crowd,
            ],
            0,
        );
        out.push_str(&wrapped(
            &[
                load,
                format!("{until}{warmup}"),
                format!("seed {}", config.seed),
                plural(config.pool.into(), "connection"),
                place,
            ],
            0,
        ));
        out.push_str(&wrapped(
            &[
                format!("SQLite {}", self.opened.settings.sqlite_version),
                format!("journal {}", pragma("journal_mode")),
                format!("synchronous {synchronous}"),
            ],
            0,
        ));
        if file_system == "tmpfs" {
            out.push_str(
                "note: tmpfs is memory, so a sync costs nothing and these figures flatter;\n",
            );
            out.push_str("      --database PATH on a disk measures what a sale costs\n");
        }
        out
    }

    fn table(&self) -> String {
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

    fn figures(&self) -> String {
        let (load, figures) = (self.load, &self.load.figures);
        let measured = &figures.measured;
        let attempts = measured.all_attempts();
        let mut out = String::new();
        line(
            &mut out,
            "attempts",
            &[
                format!("{}/s", short_rate(load.rate_of(attempts))),
                format!("{} in {}", thousands(attempts), short_time(nanos_of(load))),
                sparkline(figures),
            ],
        );
        line(
            &mut out,
            "goodput",
            &[
                format!(
                    "{} holds/s",
                    short_rate(load.rate_of(measured.of(Ending::HELD)))
                ),
                format!(
                    "{} sales/s",
                    short_rate(load.rate_of(measured.of(Ending::SOLD)))
                ),
                self.hot_share(),
            ],
        );
        if let (Some(due), Some(unstarted)) = (load.due, load.unstarted()) {
            line(
                &mut out,
                "arrivals",
                &[
                    format!("{} due", thousands(due)),
                    format!("{} started", thousands(attempts)),
                    format!("{} not started", thousands(unstarted)),
                    self.on_time(),
                ],
            );
        }
        let worst = figures
            .clients
            .iter()
            .enumerate()
            .max_by_key(|(_, client)| client.worst_ns);
        line(
            &mut out,
            "fairness",
            &[
                format!("Jain index {:.3} between clients", load.fairness()),
                worst.map_or(String::new(), |(number, client)| {
                    format!(
                        "longest wait {} (client {number})",
                        short_time(client.worst_ns)
                    )
                }),
            ],
        );
        let errors = measured.errors() + figures.unmeasured.errors();
        line(
            &mut out,
            "errors",
            &[
                if errors == 0 {
                    "none".to_owned()
                } else {
                    thousands(errors)
                },
                format!("{} repeated", plural(figures.retries, "call")),
            ],
        );
        for (ending, words) in &load.errors {
            let first = format!("first {}: {words}", ending.name());
            line(&mut out, "", &[cut(&first, WIDTH - 12)]);
        }
        if let Some(bytes) = load.peak_bytes {
            let told = thousands(load.answered.len() as u64);
            line(
                &mut out,
                "memory",
                &[
                    format!("{} MiB at most", thousands(bytes >> 20)),
                    format!("{told} answers about payments kept for the proof"),
                ],
            );
        }
        out
    }

    fn hot_share(&self) -> String {
        let measured = &self.load.figures.measured;
        let holds = measured.attempts[Operation::Hold as usize];
        if self.load.figures.hot_holds == 0 || holds == 0 {
            return String::new();
        }
        #[allow(clippy::cast_precision_loss, reason = "three digits of it are shown")]
        let share = self.load.figures.hot_holds as f64 * 100.0 / holds as f64;
        format!(
            "{share:.1} % of holds for {} hot seats",
            thousands(self.load.hot_moves + self.hot_places())
        )
    }

    fn hot_places(&self) -> u64 {
        match self.config.workload.choice {
            Choice::Hot { seats, .. } => seats.into(),
            Choice::Zipf(_) => 0,
        }
    }

    fn on_time(&self) -> String {
        let Some(lateness) = &self.load.figures.lateness else {
            return String::new();
        };
        let late = lateness.len() - lateness.count_between(0, ON_TIME_NS);
        format!("{} later than {}", thousands(late), short_time(ON_TIME_NS))
    }

    fn proof(&self) -> String {
        let mut out = String::from("proof\n");
        let (calls, other): (Vec<_>, Vec<_>) = self
            .proof
            .laws
            .iter()
            .partition(|law| law.name.starts_with("calls_"));
        out.push_str(&mark(
            calls.iter().all(|law| law.holds()),
            "attempts = outcomes + errors",
            &sums(&calls),
        ));
        for law in other {
            let name = match &*law.name {
                "sold_seats" => "sold seats = sold payments",
                "sales" => "sold before + sales answered = sold",
                "decisions" => "decisions answered = payments recorded",
                name => name,
            };
            out.push_str(&mark(law.holds(), name, &sums(&[law])));
        }
        for check in &self.proof.checks {
            let name = match check.name {
                "audit" => "audit: I1, I2, I4, shape of rows",
                "audit_change" => "nothing stored before was undone",
                "acknowledged" => "payments recorded as told (I3)",
                "answers" => "no call found corrupt data",
                "unsettled" => "payments without an answer",
                name => name,
            };
            let mut cases = format!("{} {}", thousands(check.cases), check.unit);
            if check.violations > 0 {
                let _ = write!(cases, ", {}", plural(check.violations, "violation"));
            }
            out.push_str(&mark(check.violations == 0, name, &cases));
            for note in &check.notes {
                let _ = writeln!(out, "       {}", cut(note, WIDTH - 7));
            }
        }
        for judged in self.judged {
            out.push_str(&mark(
                judged.met(),
                &judged.threshold.expression,
                &judged.to_string(),
            ));
        }
        out
    }

    fn last_lines(&self) -> String {
        let verdict = match self.verdict {
            Verdict::Holds => "HOLDS: no seat was sold twice, and no payment was lost.".to_owned(),
            Verdict::Violated => "VIOLATED: see the lines marked FAIL.".to_owned(),
            Verdict::Inconclusive => "INCONCLUSIVE: something could not be decided.".to_owned(),
            Verdict::Interrupted => "INTERRUPTED: what was done until then holds.".to_owned(),
            Verdict::ThresholdMissed => {
                let missed = self.judged.iter().filter(|judged| !judged.met()).count();
                format!(
                    "MISSED: all holds, but {} was not kept.",
                    plural(missed as u64, "limit")
                )
            }
        };
        let evidence = self
            .evidence
            .map_or("no evidence was written".to_owned(), |path| {
                format!("evidence: {}", path.display())
            });
        format!("{verdict}\n{evidence}\n")
    }
}

/// A call that starts within this after it was due is on time: timers and schedulers are not finer.
pub const ON_TIME_NS: u64 = 10_000_000;

fn nanos_of(load: &Load) -> u64 {
    crate::units::nanos(load.measured)
}

fn sums(laws: &[&Law]) -> String {
    let (left, right) = laws.iter().fold((0, 0), |(left, right), law| {
        let sides = law.sides();
        (left + sides.0, right + sides.1)
    });
    let sign = if laws.iter().all(|law| law.holds()) {
        "="
    } else {
        "≠"
    };
    format!("{} {sign} {}", thousands(left), thousands(right))
}

fn mark(good: bool, name: &str, detail: &str) -> String {
    let mark = if good { "ok  " } else { "FAIL" };
    format!("  {mark} {name:<40} {detail}\n")
}

fn line(out: &mut String, name: &str, parts: &[String]) {
    let parts: Vec<_> = parts
        .iter()
        .filter(|part| !part.is_empty())
        .cloned()
        .collect();
    let text = wrapped(&parts, 10);
    let _ = writeln!(out, "{name:<10}{}", text.trim_start().trim_end());
}

/// Parts with a comma between them, in lines that are not too long.
fn wrapped(parts: &[String], indent: usize) -> String {
    let margin = " ".repeat(indent);
    let mut out = margin.clone();
    let mut column = indent;
    for (at, part) in parts.iter().enumerate() {
        let last = at + 1 == parts.len();
        let length = part.chars().count() + usize::from(!last);
        if column > indent && column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&margin);
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(part);
        if !last {
            out.push(',');
        }
        column += length;
    }
    out.push('\n');
    out
}

fn plural(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {what}{s}", thousands(count))
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width - 1).collect();
    format!("{kept}…")
}

/// Answered calls by the second as a row of bars, at most thirty; the last, broken second is left out.
fn sparkline(figures: &Figures) -> String {
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

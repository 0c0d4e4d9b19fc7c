//! The summary that a person reads: at most 80 columns.

use std::path::Path;
use std::time::Duration;

use evidence::Verdict;
use soldonce::Commit;

use crate::answer::{Ending, Operation};
use crate::beside::Beside;
use crate::config::{Arrival, Config, Place, Under, Until};
use crate::layout::{line, paragraph, plural, wrapped};
use crate::pace::ON_TIME_NS;
use crate::proof::{Law, Proof};
use crate::ramp::Step;
use crate::runner::Load;
use crate::store::Opened;
use crate::table::sparkline;
use crate::threshold::Judged;
use crate::units::{nanos, short_rate, short_time, thousands, typed};
use crate::workload::Choice;

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
    /// The steps of a ramp.
    pub steps: &'run [Step],
    /// How long the proof took, after the load.
    pub proof_took: Duration,
    /// The most memory that this process had until the proof was done, in bytes, where the system tells.
    pub proof_peak_bytes: Option<u64>,
    /// How the limits came out.
    pub judged: &'run [Judged],
    /// What it all comes to.
    pub verdict: Verdict,
    /// Where the evidence is.
    pub evidence: Option<&'run Path>,
    /// What the commit queue made of the same load, where it was run without.
    pub queue: Option<Beside>,
}

impl Report<'_> {
    /// The whole summary.
    pub fn text(&self) -> String {
        let mut out = self.head();
        out.push('\n');
        if !self.steps.is_empty() {
            out.push_str(&self.ramp());
            out.push('\n');
        }
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
            Choice::Hot { seats, percent } => {
                format!("{percent} % for {} hot seats", thousands(seats.into()))
            }
            Choice::Zipf(exponent) => format!("zipf {exponent}"),
        };
        let load = match config.arrival {
            _ if !self.steps.is_empty() => "open loop, rising".to_owned(),
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
        let file_system = self.opened.file_system.as_deref();
        let place = match (&config.place, &config.store) {
            (_, Under::Other(other)) if !other.0.is_kept() => "in memory".to_owned(),
            (Place::Temporary, _) => on("a fresh file", file_system),
            (Place::File { .. }, _) => on("the file that was given", file_system),
        };
        let connections = match config.store {
            Under::Real(_) if config.processes > 1 => {
                format!("{} each", plural(config.pool.into(), "connection"))
            }
            Under::Real(_) => plural(config.pool.into(), "connection"),
            Under::Other(_) => String::new(),
        };
        let mut out = wrapped(
            &filled([
                format!("soldonce stress: {}", workload.shape),
                plural(config.clients.into(), "buyer"),
                if config.processes > 1 {
                    format!("{} processes", config.processes)
                } else {
                    String::new()
                },
                format!("{} seats", thousands(workload.seats.into())),
                crowd,
            ]),
            0,
        );
        out.push_str(&wrapped(
            &filled([
                load,
                format!("{until}{warmup}"),
                format!("seed {}", config.seed),
                connections,
                place,
            ]),
            0,
        ));
        out.push_str(&self.database());
        if file_system == Some("tmpfs") {
            out.push_str(
                "note: tmpfs is memory, so a sync costs nothing and these figures flatter;\n",
            );
            out.push_str("      --database PATH on a disk measures what a sale costs\n");
        }
        out
    }

    fn database(&self) -> String {
        let commit = match &self.config.store {
            Under::Real(commit) => *commit,
            Under::Other(other) => {
                let fault = match other.fault() {
                    Some(fault) => format!(", broken on purpose: {fault}"),
                    None => String::new(),
                };
                return paragraph(&format!("the store is {}{fault}", other.name()), 0, 2);
            }
        };
        let Some(settings) = &self.opened.settings else {
            return String::new();
        };
        let pragma = |name: &str| {
            let found = settings.pragmas.iter().find(|(n, _)| n == name);
            found.map_or("?", |(_, value)| value)
        };
        let synchronous = match pragma("synchronous") {
            "0" => "OFF",
            "1" => "NORMAL",
            "2" => "FULL",
            "3" => "EXTRA",
            other => other,
        };
        let engine = match commit {
            Commit::Queue { most } => format!("commit queue of up to {}", thousands(most.into())),
            Commit::PerCall => "a commit per call".to_owned(),
        };
        let parts = [
            engine,
            format!("SQLite {}", settings.sqlite_version),
            format!("journal {}", pragma("journal_mode")),
            format!("synchronous {synchronous}"),
        ];
        wrapped(&parts, 0)
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
        if let Some(queue) = &self.queue {
            out.push_str(&queue.line(load.rate_of(attempts)));
        }
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
        out.push_str(&self.errors());
        out.push_str(&self.resources());
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
        // Where all are sold, they move on in circles.
        let seats = self.config.workload.seats.into();
        let hot = (self.load.hot_moves + self.hot_places()).min(seats);
        format!("{share:.1} % of holds for {}", plural(hot, "hot seat"))
    }

    fn hot_places(&self) -> u64 {
        match self.config.workload.choice {
            Choice::Hot { seats, .. } => seats.into(),
            Choice::Zipf(_) => 0,
        }
    }

    fn on_time(&self) -> String {
        let Some(late) = self.load.later_than(ON_TIME_NS) else {
            return String::new();
        };
        let verdict = if self.load.kept_up() {
            "kept up"
        } else {
            "NOT kept up"
        };
        format!(
            "{} later than {}: {verdict}",
            thousands(late),
            short_time(ON_TIME_NS)
        )
    }

    fn proof(&self) -> String {
        let took = short_time(nanos(self.proof_took));
        let memory = self.proof_peak_bytes.map_or(String::new(), |bytes| {
            format!(", {} MiB at most", thousands(bytes >> 20))
        });
        let mut out = format!("proof     took {took} after the load{memory}\n");
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
                "payments_told" => "payments told = payments recorded",
                "history_calls" => "calls and reads = the history",
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
                "history" => "strictly serializable, every answer",
                "file" => "the file is still the one opened",
                "stored" => "what is stored can be read",
                "unsettled" => "payments without an answer",
                "processes" => "each process, and all its calls",
                name => name,
            };
            let mut cases = counted(check.cases, check.unit);
            if check.violations > 0 {
                cases = format!("{} of {cases}", thousands(check.violations));
            }
            if check.undecided > 0 {
                cases.push_str(", undecided");
            }
            let good = check.violations == 0 && check.undecided == 0;
            out.push_str(&mark(good, name, &cases));
            for note in &check.notes {
                let indent = 7 + note.len() - note.trim_start().len();
                out.push_str(&paragraph(note.trim_start(), indent, indent + 2));
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
        let history = self
            .config
            .history
            .as_deref()
            .map_or(String::new(), |path| {
                format!("history:  {}\n", path.display())
            });
        let next = match self.verdict {
            Verdict::Violated => self.next(),
            _ => String::new(),
        };
        format!("{verdict}\n{next}{history}{evidence}\n")
    }
}

/// `a fresh file on ext4`; only `a fresh file` when the system does not tell.
fn on(file: &str, file_system: Option<&str>) -> String {
    file_system.map_or_else(|| file.to_owned(), |kind| format!("{file} on {kind}"))
}

/// The parts that are not empty.
fn filled(parts: impl IntoIterator<Item = String>) -> Vec<String> {
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

fn nanos_of(load: &Load) -> u64 {
    nanos(load.measured)
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

/// `2 rows`, `1 row`.
fn counted(count: u64, units: &str) -> String {
    let unit = units.strip_suffix('s').filter(|_| count == 1);
    format!("{} {}", thousands(count), unit.unwrap_or(units))
}

fn mark(good: bool, name: &str, detail: &str) -> String {
    let mark = if good { "ok  " } else { "FAIL" };
    format!("  {mark} {name:<40} {detail}\n")
}

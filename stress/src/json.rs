//! The summary that a program reads: one JSON object.

use evidence::{Statistic, Summary};
use serde_json::{Map, Value, json};
use soldonce::Commits;

use crate::answer::{Ending, Operation};
use crate::beside::Beside;
use crate::measure::summary;
use crate::processes::Process;
use crate::ramp::{Knee, Step};
use crate::report::Report;

impl Report<'_> {
    /// The summary as one JSON object, with `attempts_per_second` at its top level. Times are
    /// nanoseconds, and their names end so.
    pub fn json(&self) -> Value {
        let (load, figures) = (self.load, &self.load.figures);
        let measured = &figures.measured;
        let worst = figures.clients.iter().map(|client| client.worst_ns).max();
        let operations: Map<String, Value> = Operation::ALL
            .into_iter()
            .map(|operation| (operation.name().to_owned(), self.operation(operation)))
            .collect();
        let laws: Map<String, Value> = self
            .proof
            .laws
            .iter()
            .map(|law| {
                let (left, right) = law.sides();
                let value = json!({"left": left, "right": right, "holds": law.holds()});
                (law.name.clone(), value)
            })
            .collect();
        let checks: Map<String, Value> = self
            .proof
            .checks
            .iter()
            .map(|check| {
                let value = json!({
                    "cases": check.cases,
                    "violations": check.violations,
                    "undecided": check.undecided,
                    "notes": check.notes,
                });
                (check.name.to_owned(), value)
            })
            .collect();
        let thresholds: Vec<_> = self
            .judged
            .iter()
            .map(|judged| {
                json!({
                    "expression": judged.threshold.expression,
                    "observed": judged.observed,
                    "met": judged.met(),
                })
            })
            .collect();
        let by_second: Vec<u64> = figures
            .by_second
            .iter()
            .map(|second| second.iter().map(|count| u64::from(*count)).sum())
            .collect();
        json!({
            "verdict": self.verdict.name(),
            "attempts_per_second": load.rate_of(measured.all_attempts()),
            "holds_per_second": load.rate_of(measured.of(Ending::HELD)),
            "sales_per_second": load.rate_of(measured.of(Ending::SOLD)),
            "attempts": measured.all_attempts(),
            "queue_attempts_per_second": self.queue.as_ref().and_then(|queue| match queue {
                Beside::Measured { attempts_per_second, .. } => Some(*attempts_per_second),
                Beside::NotRun(_) => None,
            }),
            "errors": measured.errors(),
            "retries": figures.retries,
            "measured_seconds": load.measured.as_secs_f64(),
            "due": load.due,
            "unstarted": load.unstarted(),
            "fairness": load.fairness(),
            "worst_wait_ns": worst,
            "peak_memory_bytes": load.peak_bytes,
            "peak_memory_with_proof_bytes": self.proof_peak_bytes,
            "commits": commits(load.commits),
            "processes": load.processes.iter().map(process).collect::<Vec<_>>(),
            "seed": self.config.seed,
            "operations": operations,
            "service_time": times(&summary(&figures.all_service())),
            "start_delay": figures.lateness.as_ref().map(|values| times(&summary(values))),
            "answered_by_second": by_second,
            "ramp": self.steps.iter().map(step).collect::<Vec<_>>(),
            "knee": Knee::of(self.steps, load.interrupted).map(knee),
            "laws": laws,
            "checks": checks,
            "thresholds": thresholds,
            "evidence": self.evidence.map(|path| path.display().to_string()),
        })
    }

    fn operation(&self, operation: Operation) -> Value {
        let figures = &self.load.figures;
        let endings: Map<String, Value> = Ending::all()
            .filter(|ending| ending.operation() == operation)
            .filter(|ending| !ending.is_error() || figures.measured.of(*ending) > 0)
            .map(|ending| {
                let values = figures.merged(|other| other == ending);
                let mut row = times(&summary(&values));
                row["error"] = ending.is_error().into();
                row["per_second"] = self.load.rate_of(values.len()).into();
                (ending.name().to_owned(), row)
            })
            .collect();
        json!({
            "attempts": figures.measured.attempts[operation as usize],
            "endings": endings,
        })
    }
}

fn commits(commits: Option<Commits>) -> Value {
    commits.map_or(Value::Null, |commits| {
        json!({
            "calls": commits.calls,
            "commits": commits.commits,
            "largest": commits.largest,
            "calls_per_commit": commits.mean(),
        })
    })
}

fn process(process: &Process) -> Value {
    json!({
        "number": process.number,
        "killed_by_signal": process.killed_by,
        "calls": process.calls,
        "of_unknown_result": process.unknown,
        "commits": commits(process.commits),
    })
}

fn step(step: &Step) -> Value {
    json!({
        "rate": step.rate,
        "answered_per_second": step.answered_per_second,
        "unstarted": step.unstarted,
        "late": step.late,
        "p50_ns": step.p50_ns,
        "p99_ns": step.p99_ns,
        "kept": step.kept,
    })
}

/// Where the knee of a ramp is, `at` a rate, `beyond` or `below` it, or `unknown` beside the highest rate
/// that was kept until the ramp was interrupted.
fn knee(knee: Knee) -> Value {
    json!({"is": knee.name(), "rate": knee.rate()})
}

/// A distribution: its count and its figures in nanoseconds; those with few samples beyond them are
/// listed as thin.
fn times(summary: &Summary) -> Value {
    let mut row = Map::new();
    row.insert("count".to_owned(), summary.count.0.into());
    if summary.count.0 > 0 {
        for statistic in Statistic::ALL {
            row.insert(
                format!("{}_ns", statistic.name()),
                summary.get(statistic).into(),
            );
        }
        let thin: Vec<_> = summary
            .thin
            .iter()
            .map(|statistic| statistic.name())
            .collect();
        row.insert("thin".to_owned(), thin.into());
    }
    row.into()
}

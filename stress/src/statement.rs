//! The run as an evidence statement.

use std::collections::BTreeSet;

use evidence::{
    Builder, Check, Database, Figure, Histogram, Integer, Labels, Law, Operation as Counted,
    Reference, Rule, Series, Statement, Term, Threshold, Unit,
};
use soldonce::Commit;

use crate::RunError;
use crate::answer::{Ending, Operation};
use crate::config::{Arrival, Config, Under, Until};
use crate::measure::{Counts, Figures};
use crate::proof::{self, Proof};
use crate::ramp::{Knee, Step};
use crate::runner::Load;
use crate::store::Opened;
use crate::threshold::{Judged, Metric};
use crate::units::nanos;
use crate::workload::{Choice, fingerprint};

/// The measure of all calls together that a limit may be about.
const ALL: &str = "all";

/// What a statement is made from.
#[derive(Clone, Copy)]
pub struct Parts<'run> {
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
    /// The steps of a ramp.
    pub steps: &'run [Step],
}

/// Closes the statement of a run.
///
/// # Errors
/// [`RunError::Evidence`] when the parts do not fit together.
pub fn build(mut builder: Builder, parts: &Parts<'_>) -> Result<Statement, RunError> {
    let Parts {
        config,
        opened,
        load,
        proof,
        judged,
        steps,
    } = *parts;
    configuration(&mut builder, config);
    database(&mut builder, config, opened);
    builder.measured(load.measured);
    if load.interrupted {
        builder.interrupted();
        builder.not_comparable("it was interrupted");
    }
    if cfg!(debug_assertions) {
        builder.not_comparable("it was built with debug assertions");
    }
    if load
        .processes
        .iter()
        .any(|process| process.killed_by.is_some())
    {
        builder.not_comparable("a process was killed");
    }
    counts(&mut builder, load, proof);
    commits(&mut builder, load);
    operations(&mut builder, &load.figures);
    histograms(&mut builder, &load.figures)?;
    series(&mut builder, &load.figures);
    figures(&mut builder, load);
    ramp(&mut builder, steps, load.interrupted);
    for law in &proof.laws {
        let side =
            |parts: &[proof::Part]| parts.iter().map(|part| part.reference.clone()).collect();
        builder.law(Law::new(
            &law.name,
            law.what,
            side(&law.left),
            side(&law.right),
        ));
    }
    for check in &proof.checks {
        let mut made = Check::passed(check.name, check.what, check.cases)
            .violations(check.violations)
            .undecided(check.undecided);
        for note in &check.notes {
            made = made.note(note);
        }
        builder.check(made);
    }
    let mut added = BTreeSet::new();
    for judged in judged {
        threshold(&mut builder, load, judged, &mut added)?;
    }
    Ok(builder.build()?)
}

fn configuration(builder: &mut Builder, config: &Config) {
    let workload = &config.workload;
    builder
        .seed(config.seed)
        .config("workload", workload.shape.to_string())
        .config("seats", workload.seats)
        .config("mix", workload.mix.to_string())
        .config("redeliver_percent", real(workload.redeliver_percent))
        .config("look_percent", real(workload.look_percent))
        .config("ttl_ms", config.ttl.as_millis())
        .config("pay_within_us", nanos(workload.pay_within) / 1_000)
        .config("clients", config.clients)
        .config("processes", config.processes)
        .config("warmup_ms", nanos(config.warmup) / 1_000_000)
        .config(
            "intents_sha256",
            fingerprint(workload, config.seed, config.clients).to_string(),
        );
    match workload.choice {
        Choice::Hot { seats, percent } => builder
            .config("hot_seats", seats)
            .config("hot_percent", real(percent)),
        Choice::Zipf(exponent) => builder.config("zipf_exponent", real(exponent)),
    };
    match config.arrival {
        Arrival::Closed => builder.config("load", "closed loop"),
        Arrival::Open { rate } => builder
            .config("load", "open loop")
            .config("rate_per_second", real(rate)),
    };
    match config.until {
        Until::Elapsed(time) => builder.config("duration_ms", nanos(time) / 1_000_000),
        Until::Calls(calls) => builder.config("calls", calls),
    };
}

/// The steps of a ramp, each as the rate that was answered, and the knee, or the rate that it lies beyond
/// or below.
fn ramp(builder: &mut Builder, steps: &[Step], interrupted: bool) {
    for step in steps {
        let name = |what: &str| format!("ramp_{}_{what}", step.rate);
        builder
            .figure(Figure::measured(
                name("answered_per_second"),
                "1/s",
                step.answered_per_second,
            ))
            .figure(Figure::measured(
                name("p99"),
                "ns",
                Integer(step.p99_ns).to_f64(),
            ))
            .count(name("unstarted"), step.unstarted)
            .count(name("late"), step.late);
    }
    let (name, rate) = match Knee::of(steps, interrupted) {
        Some(Knee::At(rate)) => ("knee", rate),
        Some(Knee::Beyond(rate)) => ("knee_beyond", rate),
        Some(Knee::Below(rate)) => ("knee_below", rate),
        Some(Knee::Unknown(_)) | None => return,
    };
    builder.figure(Figure::measured(name, "1/s", rate));
}

fn real(number: f64) -> evidence::Value {
    evidence::Real::new(number).map_or(evidence::Value::Flag(false), evidence::Value::Real)
}

fn database(builder: &mut Builder, config: &Config, opened: &Opened) {
    if matches!(config.store, Under::Real(_)) {
        builder.config("pool_connections", config.pool);
        builder.config("busy_timeout_ms", nanos(config.busy_timeout) / 1_000_000);
    }
    match &config.store {
        Under::Real(Commit::PerCall) => builder.config("store", "sqlite").config("engine", "pool"),
        Under::Real(Commit::Queue { most }) => builder
            .config("store", "sqlite")
            .config("engine", "queue")
            .config("batch", *most),
        Under::Other(other) => builder
            .config("store", other.name())
            .not_comparable("its store is broken on purpose"),
    };
    let Some(settings) = &opened.settings else {
        return;
    };
    let mut database = Database::new("SQLite", &settings.sqlite_version)
        .source_id(&settings.sqlite_source_id)
        .file_system(opened.file_system.clone())
        .setting("compile_options", settings.compile_options.join(" "));
    for (name, value) in &settings.pragmas {
        database = database.setting(name, value.as_str());
    }
    builder.database(database);
}

fn counts(builder: &mut Builder, load: &Load, proof: &Proof) {
    let figures = &load.figures;
    builder
        .count("retries", figures.retries)
        .count("unsettled_payments", load.unsettled)
        .count("hot_seat_moves", load.hot_moves)
        .count("hot_holds", figures.hot_holds);
    for part in proof
        .laws
        .iter()
        .flat_map(|law| law.left.iter().chain(&law.right))
    {
        if let Reference::Count(name) = &part.reference {
            builder.count(name, part.value);
        }
    }
    if let (Some(due), Some(unstarted)) = (load.due, load.unstarted()) {
        builder.count("due", due).count("unstarted", unstarted);
    }
    if let Some(bytes) = load.peak_bytes {
        builder.count("peak_memory_bytes", bytes);
    }
}

/// How well commits filled, and what became of each process.
fn commits(builder: &mut Builder, load: &Load) {
    if let Some(commits) = load.commits {
        builder
            .count("committed_calls", commits.calls)
            .count("commits", commits.commits)
            .count("largest_commit", commits.largest);
        if commits.commits > 0 {
            builder.figure(Figure::ratio(
                "calls_per_commit",
                "calls",
                Term::of(
                    "committed calls",
                    Reference::Count("committed_calls".to_owned()),
                ),
                Term::of("commits", Reference::Count("commits".to_owned())),
            ));
        }
    }
    for process in &load.processes {
        let name = |what: &str| format!("process_{}_{what}", process.number);
        builder
            .count(name("calls"), process.calls)
            .count(name("of_unknown_result"), process.unknown);
        if let Some(commits) = process.commits {
            builder
                .count(name("committed_calls"), commits.calls)
                .count(name("commits"), commits.commits);
        }
        if let Some(signal) = process
            .killed_by
            .and_then(|signal| u64::try_from(signal).ok())
        {
            builder.count(name("killed_by_signal"), signal);
        }
    }
}

fn operations(builder: &mut Builder, figures: &Figures) {
    let counted = |name: String, operation: Operation, counts: &Counts| {
        let mut counted = Counted::new(name, counts.ended(operation));
        for ending in Ending::all().filter(|ending| ending.operation() == operation) {
            let count = counts.of(ending);
            counted = match (ending.is_error(), count) {
                (true, 0) => counted,
                (true, _) => counted.error(ending.name(), count),
                (false, _) => counted.outcome(ending.name(), count),
            };
        }
        counted
    };
    for operation in Operation::ALL {
        builder.operation(counted(
            operation.name().to_owned(),
            operation,
            &figures.measured,
        ));
    }
    for operation in Operation::ALL {
        if figures.unmeasured.ended(operation) > 0 {
            builder.operation(counted(
                proof::unmeasured(operation),
                operation,
                &figures.unmeasured,
            ));
        }
    }
}

fn histograms(builder: &mut Builder, figures: &Figures) -> Result<(), RunError> {
    for (measure, parts) in [
        ("service_time", &figures.service),
        ("response_time", &figures.response),
    ] {
        for ending in Ending::all() {
            if let Some(values) = &parts[ending.index()] {
                let of = Labels::new(ending.operation().name(), measure).outcome(ending.name());
                builder.histogram(Histogram::every(of, Unit::Nanoseconds, values)?);
            }
        }
    }
    if let Some(values) = &figures.lateness {
        let of = Labels::new(ALL, "start_delay");
        builder.histogram(Histogram::some(of, Unit::Nanoseconds, values)?);
    }
    Ok(())
}

fn series(builder: &mut Builder, figures: &Figures) {
    for ending in Ending::all() {
        if figures.measured.of(ending) > 0 {
            let counts = figures
                .by_second
                .iter()
                .map(|second| second[ending.index()])
                .collect();
            let of = Labels::new(ending.operation().name(), "returned").outcome(ending.name());
            builder.series(Series::every(of, 1_000, counts));
        }
    }
}

fn figures(builder: &mut Builder, load: &Load) {
    let seconds = || Term::of("measured time", Reference::MeasuredSeconds);
    let outcome = |ending: Ending| Reference::Outcome {
        operation: ending.operation().name().to_owned(),
        outcome: ending.name().to_owned(),
    };
    let attempts = Term::of("attempts", Reference::AllAttempts);
    builder
        .figure(Figure::ratio(
            "attempts_per_second",
            "1/s",
            attempts,
            seconds(),
        ))
        .figure(Figure::ratio(
            "holds_per_second",
            "1/s",
            Term::of("held", outcome(Ending::HELD)),
            seconds(),
        ))
        .figure(Figure::ratio(
            "sales_per_second",
            "1/s",
            Term::of("sold", outcome(Ending::SOLD)),
            seconds(),
        ));
    let shares: Vec<_> = load.figures.clients.iter().map(|c| c.answered).collect();
    if shares.iter().any(|share| *share > 0) {
        builder.figure(Figure::fairness("fairness", shares));
    }
    let worst = load.figures.clients.iter().map(|c| c.worst_ns).max();
    builder.figure(Figure::measured(
        "worst_wait",
        "ns",
        Integer(worst.unwrap_or_default()).to_f64(),
    ));
}

/// Adds a limit, and the histogram that it is about if no limit before it was about the same.
fn threshold(
    builder: &mut Builder,
    load: &Load,
    judged: &Judged,
    added: &mut BTreeSet<Labels>,
) -> Result<(), RunError> {
    let asked = &judged.threshold;
    let (observed, rule, limit) = match (&asked.metric, judged.observed) {
        (_, None) => (
            Term::measured("number of such calls", 0.0),
            Rule::AtLeast,
            1.0,
        ),
        (Metric::AttemptsPerSecond, _) => (
            Term::of(
                "attempts_per_second",
                Reference::Figure("attempts_per_second".to_owned()),
            ),
            asked.rule,
            asked.limit,
        ),
        (Metric::Time(calls, statistic), _) => {
            let measure = if load.figures.lateness.is_some() {
                "response_time"
            } else {
                "service_time"
            };
            let values = load.figures.merged(|ending| calls.include(ending));
            let operation = calls.operation.map_or(ALL, Operation::name);
            let mut of = Labels::new(operation, format!("{measure}_for_limit"));
            if let Some(outcome) = &calls.outcome {
                of = of.outcome(outcome);
            }
            let reference = Reference::Histogram {
                of: of.clone(),
                statistic: *statistic,
            };
            let shown = format!("{of}.{}", statistic.name());
            if added.insert(of.clone()) {
                builder.histogram(Histogram::some(of, Unit::Nanoseconds, &values)?);
            }
            (Term::of(shown, reference), asked.rule, asked.limit)
        }
        (_, Some(observed)) => {
            let name = match &asked.metric {
                Metric::Errors => "errors",
                Metric::Fairness => "fairness",
                Metric::Unstarted => "unstarted",
                Metric::AttemptsPerSecond | Metric::Time(..) | Metric::Count(_) => "count",
                Metric::Rate(_) => "calls a second",
            };
            (Term::measured(name, observed), asked.rule, asked.limit)
        }
    };
    builder.threshold(Threshold::new(&asked.expression, observed, rule, limit));
    Ok(())
}

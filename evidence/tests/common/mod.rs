//! A statement that uses every field there is, with facts that are made up and always the same.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use evidence::hdrhistogram::Histogram as Hdr;
use evidence::{
    Builder, Check, Checkout, Database, Figure, Histogram, Host, Integer, Kind, Labels, Law,
    Operation, Reference, Rule, Samples, Series, Sha256, Statement, Statistic, Term, Threshold,
    Toolchain, Unit, UtcTime, Whole,
};

/// 20 held, 15 refused, 5 busy: 40 attempts in two seconds.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn full() -> Statement {
    let mut run = Builder::new(Kind::Stress);
    run.workspace(None)
        .command("stress", ["--clients", "8", "--workload=rush"])
        .seed(u64::MAX)
        .measured(Duration::from_secs(2))
        .interrupted()
        .not_comparable("a short run")
        .config("clients", 8)
        .config("hot_percent", 80.5)
        .config("quick", true)
        .config("workload", "rush");
    run.database(
        Database::new("SQLite", "3.53.0")
            .source_id("2026-01-01 00:00:00 0123456789abcdef")
            .file_system(Some("ext4".into()))
            .setting("journal_mode", "wal")
            .setting("synchronous", 2),
    );
    run.count("sold_seats", 3)
        .count("sold_payments", 3)
        .operation(
            Operation::new("hold", 40)
                .outcome("held", 20)
                .outcome("refused", 15)
                .error("busy", 5),
        );
    let held = Labels::new("hold", "service_time").outcome("held");
    let values = histogram((1..=20).map(|step| step * 1_000));
    run.histogram(Histogram::every(held.clone(), Unit::Nanoseconds, &values).unwrap());
    let batches = histogram([1, 2, 3, 5, 8]);
    run.histogram(
        Histogram::some(Labels::new("commit", "batch_size"), Unit::Number, &batches).unwrap(),
    );
    run.series(Series::every(
        Labels::new("hold", "returned"),
        1_000,
        vec![25, 15],
    ))
    .series(Series::some(
        Labels::new("hold", "started").outcome("held"),
        1_000,
        vec![7, 6],
    ));
    judge(&mut run, held);
    let mut statement = run.build().unwrap();
    invent_facts(&mut statement);
    statement
}

/// The benchmarks, and everything that is judged.
fn judge(run: &mut Builder, held: Labels) {
    let slow = Samples {
        iterations: vec![10, 20, 30],
        times_ns: vec![1_000.5, 2_100.0, 2_900.25],
        elements: Some(2),
    };
    let fast = Samples {
        iterations: vec![10, 20],
        times_ns: vec![100.0, 220.0],
        elements: None,
    };
    run.benchmark("hold/pool", slow)
        .benchmark("hold/queue", fast);
    run.figure(Figure::ratio(
        "attempts_per_second",
        "1/s",
        Term::of("attempts", Reference::AllAttempts),
        Term::of("seconds", Reference::MeasuredSeconds),
    ))
    .figure(
        Figure::ratio(
            "queue against pool",
            "1",
            Term::of("pool", Reference::BenchmarkMean("hold/pool".into())),
            Term::of("queue", Reference::BenchmarkMedian("hold/queue".into())),
        )
        .aim(Rule::AtLeast, 8.0),
    )
    .figure(Figure::fairness("fairness", [5, 5, 6]))
    .figure(Figure::measured("temperature", "Cel", 36.6).aim(Rule::Below, 30.0))
    .figure(Figure::ratio(
        "half the rate",
        "1/s",
        Term::of("rate", Reference::Figure("attempts_per_second".into())),
        Term::measured("two", 2.0),
    ));
    run.law(Law::new(
        "each sale is paid",
        "sold seats = sold payments",
        vec![Reference::Count("sold_seats".into())],
        vec![Reference::Count("sold_payments".into())],
    ))
    .law(Law::new(
        "every hold ends",
        "attempts = held + refused + busy",
        vec![Reference::Attempts("hold".into())],
        ["held", "refused", "busy"]
            .map(|outcome| Reference::Outcome {
                operation: "hold".into(),
                outcome: outcome.into(),
            })
            .to_vec(),
    ));
    run.threshold(Threshold::new(
        "hold.held.p99<5ms",
        Term::of(
            "hold.held.p99",
            Reference::Histogram {
                of: held,
                statistic: Statistic::P99,
            },
        ),
        Rule::Below,
        5e6,
    ));
    run.check(Check::passed(
        "audit",
        "every seat is sold at most once",
        100,
    ))
    .check(
        Check::passed("history", "the history is strictly serializable", 40).note("no violation"),
    );
}

/// Replaces what depends on this machine and moment.
pub(crate) fn invent_facts(statement: &mut Statement) {
    let predicate = &mut statement.predicate;
    let started = UtcTime::from_unix_millis(1_795_972_500_000).unwrap();
    predicate.run.started = started;
    predicate.run.finished = UtcTime::from_unix_millis(started.unix_millis() + 2_345).unwrap();
    let tree = Sha256::of(b"tree");
    predicate.source.checkout = Checkout::Git;
    predicate.source.revision = Some("0123456789abcdef0123456789abcdef01234567".into());
    predicate.source.dirty = Some(false);
    predicate.source.tree_files = Whole::new(123);
    predicate.source.tree_sha256 = Some(tree);
    predicate.source.lock_sha256 = Some(Sha256::of(b"lock"));
    predicate.toolchain = Toolchain {
        rustc: "rustc 1.95.0 (59807616e 2026-04-14)".into(),
        profile: "release".into(),
        opt_level: "3".into(),
        debug_assertions: false,
        target: "x86_64-unknown-linux-gnu".into(),
    };
    predicate.host = Host {
        arch: "amd64".into(),
        os_type: "linux".into(),
        os_description: Some("Linux (Example 1)".into()),
        os_version: Some("1".into()),
        cpu_model_name: Some("Example CPU".into()),
        cpu_logical_count: Some(2),
        memory_limit: Some(Integer(8 << 30)),
    };
    let mut source = statement.subject[0].clone();
    source.name = "source-tree".into();
    source.digest.sha256 = tree;
    let mut program = statement.subject.pop().unwrap();
    program.digest.sha256 = Sha256::of(b"program");
    statement.subject = vec![source, program];
    seal(statement);
}

/// Gives a statement the digest of its content.
pub(crate) fn seal(statement: &mut Statement) {
    statement.predicate.digest.sha256 = statement.digest();
}

#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn histogram(values: impl IntoIterator<Item = u64>) -> Hdr<u64> {
    let mut histogram = Hdr::new(3).unwrap();
    values
        .into_iter()
        .for_each(|value| histogram.record(value).unwrap());
    histogram
}

/// A file of this package.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn package(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Compares with a kept file; says how to refresh it if it is stale.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn same_as_kept(path: &str, now: &str, command: &str) {
    let kept = fs::read_to_string(package(path)).unwrap_or_default();
    assert!(
        kept == now,
        "evidence/{path} is stale; refresh it with\n  {command}"
    );
}

/// The bytes of the kept file of version 1.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn kept() -> Vec<u8> {
    fs::read(package("tests/fixtures/full-v1.json")).unwrap()
}

/// The full statement without histograms and what refers to them.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn full_without_histograms() -> Statement {
    let mut statement = evidence::verify_bytes(&kept()).unwrap();
    statement.predicate.results.histograms.clear();
    statement.predicate.thresholds.clear();
    seal(&mut statement);
    statement
}

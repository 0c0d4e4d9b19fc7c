//! Which run is faster, and when nobody should say.

mod common;

use std::collections::BTreeSet;
use std::process::Command;

use evidence::compare::{Change, Comparison, Method, compare};
use evidence::{Builder, Check, Database, Kind, Labels, Operation, Samples, Series, Statement};

/// A load run with this many calls in each full second.
fn load(rates: &[u32]) -> Statement {
    let mut run = Builder::new(Kind::Stress);
    let mut counts = rates.to_vec();
    // The last second is cut short.
    counts.push(7);
    let total = counts.iter().map(|count| u64::from(*count)).sum();
    run.workspace(None)
        .command("stress", ["--clients=8"])
        .config("clients", 8)
        .config("engine", "queue")
        .database(
            Database::new("SQLite", "3.53.0")
                .file_system(Some("ext4".into()))
                .setting("synchronous", 2),
        )
        .operation(Operation::new("hold", total).outcome("held", total))
        .series(Series::every(
            Labels::new("hold", "returned").outcome("held"),
            1_000,
            counts,
        ))
        .check(Check::passed(
            "audit",
            "every seat is sold at most once",
            100,
        ));
    let mut statement = run.build().unwrap();
    common::invent_facts(&mut statement);
    statement
}

fn bench(name: &str, each_ns: &[f64]) -> Statement {
    let mut run = Builder::new(Kind::Bench);
    let samples = Samples {
        iterations: vec![10; each_ns.len()],
        times_ns: each_ns.iter().map(|time| time * 10.0).collect(),
        elements: None,
    };
    run.workspace(None)
        .command("benches", ["--bench"])
        .benchmark(name, samples)
        .check(Check::passed(
            "audit",
            "every seat is sold at most once",
            100,
        ));
    let mut statement = run.build().unwrap();
    common::invent_facts(&mut statement);
    statement
}

fn said(a: &Statement, b: &Statement) -> Change {
    compare(a, b, &Method::default())
        .change()
        .expect("compared")
}

const STEADY: [u32; 10] = [1_000, 1_010, 990, 1_005, 995, 1_002, 998, 1_008, 992, 1_000];

#[test]
fn more_calls_a_second_are_faster_and_a_small_difference_is_none() {
    let times = |factor: u32| STEADY.map(|rate| rate * factor / 100);
    let base = load(&STEADY);
    for (factor, expected) in [
        (50, Change::Slower),
        (90, Change::Slower),
        (97, Change::NoDifference),
        (100, Change::NoDifference),
        (103, Change::NoDifference),
        (110, Change::Faster),
        (300, Change::Faster),
    ] {
        assert_eq!(said(&base, &load(&times(factor))), expected, "{factor} %");
    }
}

#[test]
fn fewer_nanoseconds_are_faster() {
    let base = bench("hold", &[100.0, 101.0, 99.0, 100.5, 99.5, 100.0]);
    let slow = bench("hold", &[120.0, 121.0, 119.0, 120.5, 119.5, 120.0]);
    assert_eq!(said(&base, &slow), Change::Slower);
    assert_eq!(said(&slow, &base), Change::Faster);
    assert_eq!(said(&base, &base), Change::NoDifference);
}

#[test]
fn a_difference_inside_the_noise_of_the_samples_is_none() {
    let noisy = load(&[400, 1_700, 900, 1_300, 200, 1_500]);
    let other = load(&[700, 2_000, 1_100, 1_600, 300, 1_700]);
    assert_eq!(said(&noisy, &other), Change::NoDifference);
}

#[test]
fn a_bad_verdict_loses_whatever_the_figures_say() {
    let slow = load(&STEADY);
    let mut fast = load(&STEADY.map(|rate| rate * 10));
    assert_eq!(said(&slow, &fast), Change::Faster);
    for check in [
        Check::passed("audit", "w", 9).violations(1),
        Check::passed("audit", "w", 9).undecided(1),
    ] {
        fast.predicate.checks = vec![check];
        fast.predicate.verdict = evidence::Verdict::Violated;
        assert_eq!(
            compare(&slow, &fast, &Method::default()),
            Comparison::Failed { a: false, b: true }
        );
        assert_eq!(said(&slow, &fast), Change::Slower);
        assert_eq!(said(&fast, &slow), Change::Faster);
        assert_eq!(said(&fast, &fast), Change::Slower);
        // Also when the runs could not be compared otherwise.
        fast.predicate.comparable = false;
        fast.predicate.not_comparable_because = Some("x".into());
        assert_eq!(said(&slow, &fast), Change::Slower);
    }
}

#[test]
fn what_is_not_alike_is_refused_with_every_reason() {
    type Edit = fn(&mut Statement);
    let edits: [(Edit, &str); 14] = [
        (
            |run| run.predicate.kind = Kind::Bench,
            "kind differs: stress and bench",
        ),
        (
            |run| run.predicate.not_comparable_because = Some("a quick run".into()),
            "B says it is not comparable: a quick run",
        ),
        (
            |run| run.predicate.run.interrupted = true,
            "B was interrupted",
        ),
        (
            |run| run.predicate.toolchain.profile = "debug".into(),
            "profile differs: release and debug",
        ),
        (
            |run| run.predicate.toolchain.opt_level = "2".into(),
            "opt_level differs: 3 and 2",
        ),
        (
            |run| run.predicate.toolchain.debug_assertions = true,
            "debug_assertions differs: false and true",
        ),
        (
            |run| run.predicate.toolchain.target = "x".into(),
            "target differs: x86_64-unknown-linux-gnu and x",
        ),
        (
            |run| run.predicate.host.cpu_logical_count = Some(64),
            "system.cpu.logical.count differs: 2 and 64",
        ),
        (
            |run| run.predicate.host.cpu_model_name = None,
            "host.cpu.model.name differs: \"Example CPU\" and absent",
        ),
        (
            |run| {
                run.predicate
                    .configuration
                    .insert("clients".into(), 9.into());
            },
            "clients differs: 8 and 9",
        ),
        (
            |run| {
                run.predicate.configuration.remove("clients");
            },
            "clients differs: 8 and absent",
        ),
        (
            |run| {
                run.predicate.configuration.insert("rate".into(), 5.into());
            },
            "rate differs: absent and 5",
        ),
        (
            |run| {
                run.predicate
                    .database
                    .as_mut()
                    .unwrap()
                    .settings
                    .insert("synchronous".into(), 0.into());
            },
            "synchronous differs: 2 and 0",
        ),
        (
            |run| run.predicate.database.as_mut().unwrap().file_system = Some("tmpfs".into()),
            "file_system differs: ext4 and tmpfs",
        ),
    ];
    let a = load(&STEADY);
    for (edit, expected) in edits {
        let mut b = load(&STEADY);
        edit(&mut b);
        let Comparison::Refused(reasons) = compare(&a, &b, &Method::default()) else {
            panic!("{expected}")
        };
        assert_eq!(reasons, [expected]);
        let name = expected.split(" differs").next().unwrap();
        let allowed = Method {
            may_differ: BTreeSet::from([name.to_owned()]),
            ..Method::default()
        };
        // Only settings, of the run and of the database, can be the question.
        let setting = ["clients", "rate", "synchronous", "file_system"].contains(&name);
        let change = setting.then_some(Change::NoDifference);
        assert_eq!(compare(&a, &b, &allowed).change(), change, "{expected}");
    }
}

#[test]
fn a_setting_of_the_database_does_not_hide_one_of_the_run_with_the_same_name() {
    let (mut a, mut b) = (load(&STEADY), load(&STEADY));
    a.predicate
        .configuration
        .insert("synchronous".into(), 1.into());
    b.predicate
        .configuration
        .insert("synchronous".into(), 3.into());
    let Comparison::Refused(reasons) = compare(&a, &b, &Method::default()) else {
        panic!()
    };
    assert_eq!(reasons, ["synchronous differs: 1 and 3"]);
}

#[test]
fn of_long_lists_only_what_differs_is_told() {
    let (mut a, mut b) = (load(&STEADY), load(&STEADY));
    let words = "one two three four five six seven eight";
    let set = |run: &mut Statement, value: String| {
        run.predicate
            .configuration
            .insert("options".into(), value.into());
    };
    set(&mut a, format!("{words} nine"));
    set(&mut b, format!("ten {words} eleven"));
    let refused = |a: &Statement, b: &Statement| match compare(a, b, &Method::default()) {
        Comparison::Refused(reasons) => reasons,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&a, &b), ["options differs: nine and ten eleven"]);
    set(&mut b, words.to_owned());
    assert_eq!(refused(&a, &b), ["options differs: nine and nothing more"]);
}

#[test]
fn what_only_one_run_has_is_said_not_to_be_compared() {
    let mut a = bench("hold", &[100.0, 101.0, 99.0, 100.5, 99.5]);
    let mut b = a.clone();
    a.predicate.results.benchmarks.push(
        bench("old", &[1.0; 5])
            .predicate
            .results
            .benchmarks
            .remove(0),
    );
    let few = bench("few", &[1.0; 3])
        .predicate
        .results
        .benchmarks
        .remove(0);
    a.predicate.results.benchmarks.push(few.clone());
    b.predicate.results.benchmarks.push(few);
    b.predicate.results.benchmarks.push(
        bench("new", &[1.0; 5])
            .predicate
            .results
            .benchmarks
            .remove(0),
    );
    let Comparison::Measured { rows, left_out } = compare(&a, &b, &Method::default()) else {
        panic!()
    };
    assert_eq!(rows.len(), 1);
    let expected = [
        "old is in A only",
        "new is in B only",
        "few has 3 and 3 samples, at least 5 of both are needed",
    ];
    assert_eq!(left_out, expected);
}

#[test]
fn seed_source_and_versions_may_differ() {
    let (a, mut b) = (load(&STEADY), load(&STEADY));
    b.predicate.run.seed = Some(evidence::Integer(7));
    b.predicate.source.revision = None;
    b.predicate.toolchain.rustc = "rustc 1.96.0".into();
    b.predicate.database.as_mut().unwrap().version = "3.54.0".into();
    assert_eq!(said(&a, &b), Change::NoDifference);
}

#[test]
fn too_few_samples_or_none_in_common_are_refused() {
    let reason = |a: &Statement, b: &Statement| match compare(a, b, &Method::default()) {
        Comparison::Refused(reasons) => reasons.join("; "),
        other => panic!("{other:?}"),
    };
    let few = load(&STEADY[..4]);
    assert!(reason(&few, &few).starts_with("calls has 4 and 4 samples, at least 5"));
    let (one, other) = (bench("a", &[1.0; 9]), bench("b", &[1.0; 9]));
    assert_eq!(
        reason(&one, &other),
        "a is in A only; b is in B only; they have no samples in common: benchmarks, or counts by the second"
    );
}

#[test]
fn the_program_says_its_method_and_ends_with_the_code_that_is_documented() {
    let folder = tempfile::tempdir().unwrap();
    let mut other_kind = load(&STEADY);
    other_kind
        .predicate
        .configuration
        .insert("engine".into(), "pool".into());
    let mut bad = load(&STEADY);
    bad.predicate.checks[0] = Check::passed("audit", "w", 9).violations(1);
    bad.predicate.verdict = evidence::Verdict::Violated;
    let files: Vec<String> = [
        load(&STEADY),
        load(&STEADY.map(|rate| rate * 2)),
        other_kind,
        bad,
    ]
    .into_iter()
    .map(|mut statement| {
        common::seal(&mut statement);
        statement
            .write(folder.path())
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    })
    .collect();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_evidence"))
            .arg("compare")
            .args(arguments)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (base, fast, pool, bad) = (&*files[0], &*files[1], &*files[2], &*files[3]);
    let (code, out, _) = run(&[base, fast]);
    assert_eq!(code, 0);
    for part in [
        "99 % interval (circular block bootstrap",
        "more than 5 % from 1",
        "faster in 1, slower in 0",
        "2.000",
    ] {
        assert!(out.contains(part), "{part} not in\n{out}");
    }
    println!("{out}");
    assert_eq!(run(&[fast, base]).0, 4);
    assert_eq!(run(&[base, base]).0, 0);
    assert!(
        run(&["--noise=150", base, fast])
            .1
            .contains("no different in 1 of 1")
    );
    let (code, _, err) = run(&[base, pool]);
    assert_eq!(
        (code, err.as_str()),
        (
            5,
            "not comparable: engine differs: queue and pool\n\
             if that is the very question, name each setting with --differ\n"
        )
    );
    let (code, _, err) = run(&["--differ", "engin", base, pool]);
    assert!(
        code == 2 && err.contains("--differ engin: neither run has such a setting; they have"),
        "{code}: {err}"
    );
    assert_eq!(run(&["--differ", "engine", base, pool]).0, 0);
    let (code, out, _) = run(&[base, bad]);
    assert!(
        code == 4 && out.contains("B loses: its verdict is not a good one"),
        "{out}"
    );
    assert_eq!(run(&[bad, base]).0, 0);
    assert_eq!(run(&[base, "missing.json"]).0, 1);
    assert_eq!(run(&["--noise=-1", base, fast]).0, 2);
    std::fs::write(folder.path().join("not.json"), "{}").unwrap();
    assert_eq!(
        run(&[base, folder.path().join("not.json").to_str().unwrap()]).0,
        3
    );
}

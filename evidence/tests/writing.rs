//! What `write` leaves behind, and what it keeps out.

mod common;

use std::fs;
use std::process::Command;
use std::time::Duration;

use evidence::hdrhistogram::Histogram as Hdr;
use evidence::{
    BuildError, Builder, Check, Checkout, Figure, Histogram, Kind, Labels, Law, Operation,
    Reference, Rule, Samples, Series, Term, Threshold, Unit, Verdict, WriteError, is_evidence_name,
    verify_file,
};

#[test]
fn what_is_written_verifies_and_is_named_by_kind_time_and_digest() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("made/when/missing");
    let statement = common::full();
    let path = statement.write(&runs).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert_eq!(
        name,
        format!(
            "stress-20261129T171502Z-{}.json",
            statement.digest().short()
        )
    );
    assert!(is_evidence_name(name));
    assert_eq!(verify_file(&path).unwrap(), statement);
    assert_eq!(
        fs::read_dir(&runs).unwrap().count(),
        1,
        "no draft is left behind"
    );
}

#[test]
fn a_file_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let statement = common::full();
    let path = statement.write(folder.path()).unwrap();
    fs::write(&path, "mine").unwrap();
    let refused = statement.write(folder.path()).unwrap_err();
    assert!(
        matches!(&refused, WriteError::Exists(there) if *there == path),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_can_not_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = common::full().write(&file.join("runs")).unwrap_err();
    assert!(matches!(refused, WriteError::Folder { .. }), "{refused}");
}

#[test]
fn a_statement_too_large_to_verify_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut statement = common::full();
    statement.predicate.checks[0].notes = vec!["x".repeat(65 << 20)];
    let refused = statement.write(folder.path()).unwrap_err();
    assert!(matches!(refused, WriteError::TooLarge(_)), "{refused}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn neither_the_machine_nor_the_user_nor_a_place_is_told() {
    let secret = "/home/ada-lovelace/secret";
    let mut run = Builder::new(Kind::Crash);
    run.command(
        &format!("{secret}/bin/crash"),
        [&format!("--database={secret}/x.sqlite"), "--rounds", secret],
    )
    .config("database", format!("sqlite:{secret}/y.sqlite"))
    .database(
        evidence::Database::new("SQLite", "3.53.0").setting("file", format!("{secret}/z.sqlite")),
    )
    .not_comparable(format!("{secret}/q is on another disk"))
    .check(Check::passed("audit", "seats", 1).note(format!("image {secret}/i was opened")));
    let statement = run.build().unwrap();
    let text = statement.to_json();
    // None of these can stand in a digest by chance.
    for gone in ["ada-", "lovelace", "/home", env!("CARGO_MANIFEST_DIR")] {
        assert!(!text.contains(gone), "{gone} in {text}");
    }
    for kept in [
        "\"program\": \"crash\"",
        "--database=x.sqlite",
        "sqlite:y.sqlite",
        "z.sqlite",
        "image i was opened",
    ] {
        assert!(text.contains(kept), "{kept} not in {text}");
    }
    for program in ["hostname", "whoami"] {
        let Ok(output) = Command::new(program).output() else {
            continue;
        };
        let name = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        // A name such as `root` or `vm` is part of other words.
        if name.len() > 4 {
            assert!(!text.contains(&name), "{program}: {name}");
        }
    }
}

#[test]
fn a_run_outside_a_checkout_says_so_and_verifies() {
    let folder = tempfile::tempdir().unwrap();
    for workspace in [None, Some(folder.path())] {
        let mut run = Builder::new(Kind::Bench);
        run.workspace(workspace)
            .check(Check::passed("audit", "seats", 1));
        let statement = run.build().unwrap();
        assert_eq!(statement.predicate.source.checkout, Checkout::Absent);
        assert_eq!(statement.subject.len(), 1, "the program only");
        assert!(statement.subject[0].name.starts_with("program:"));
        verify_file(&statement.write(folder.path()).unwrap()).unwrap();
    }
}

#[test]
fn the_verdict_is_the_worst_that_applies() {
    let good: Change = |run| {
        run.check(Check::passed("audit", "seats", 10));
    };
    let empty: Change = |run| {
        run.check(Check::passed("history", "answers", 0));
    };
    let bad: Change = |run| {
        run.check(Check::passed("refunds", "due", 10).violations(1));
    };
    let open: Change = |run| {
        run.check(Check::passed("order", "answers", 10).undecided(1));
    };
    let cut: Change = |run| {
        run.interrupted();
    };
    let missed: Change = |run| {
        run.threshold(Threshold::new(
            "x<1",
            Term::measured("x", 1.0),
            Rule::Below,
            1.0,
        ));
    };
    let kept: Change = |run| {
        run.threshold(Threshold::new(
            "x<=1",
            Term::measured("x", 1.0),
            Rule::AtMost,
            1.0,
        ));
    };
    let aim: Change = |run| {
        run.figure(Figure::measured("y", "1", 1.0).aim(Rule::Above, 1.0));
    };
    let unequal: Change = |run| {
        run.count("a", 1).count("b", 2);
        let side = |name: &str| vec![Reference::Count(name.into())];
        run.law(Law::new("a = b", "they are equal", side("a"), side("b")));
    };
    let cases: [(&[Change], Verdict); 13] = [
        (&[], Verdict::Inconclusive),
        (&[empty], Verdict::Inconclusive),
        (&[good], Verdict::Holds),
        (&[good, empty, kept, aim], Verdict::Holds),
        (&[good, missed], Verdict::ThresholdMissed),
        (&[good, cut], Verdict::Interrupted),
        (&[good, missed, cut], Verdict::Interrupted),
        (&[good, open], Verdict::Inconclusive),
        (&[good, open, missed, cut], Verdict::Inconclusive),
        (&[empty, missed], Verdict::Inconclusive),
        (&[good, bad, open, missed, cut], Verdict::Violated),
        (&[good, unequal], Verdict::Violated),
        (&[unequal], Verdict::Violated),
    ];
    for (position, (changes, expected)) in cases.into_iter().enumerate() {
        let mut run = Builder::new(Kind::ModelCheck);
        for change in changes {
            change(&mut run);
        }
        run.workspace(None);
        let verdict = run.build().unwrap().predicate.verdict;
        assert_eq!(verdict, expected, "case {position}");
    }
}

type Change = fn(&mut Builder);

/// Mistakes of a program that builds a statement, and the words that tell them.
const CONTRADICTIONS: [(Change, &str); 20] = [
    (
        |run| {
            run.operation(Operation::new("hold", 3).outcome("held", 2));
        },
        "is 3, expected 2, the sum",
    ),
    (
        |run| {
            run.operation(
                Operation::new("hold", 3)
                    .outcome("held", 1)
                    .error("held", 2),
            );
        },
        "stands among the outcomes, too",
    ),
    (
        |run| {
            run.operation(Operation::new("hold", 0))
                .operation(Operation::new("hold", 0));
        },
        "hold stands twice",
    ),
    (
        |run| {
            run.check(Check::passed("a", "b", 1).violations(1).undecided(1));
        },
        "is 1, expected at least 2",
    ),
    (
        |run| {
            run.check(Check::passed("a", "b", 1))
                .check(Check::passed("a", "c", 1));
        },
        "a stands twice",
    ),
    (
        |run| {
            run.series(Series::every(Labels::new("hold", "x"), 1, vec![1]));
        },
        "expected one of the operations",
    ),
    (
        |run| {
            run.series(Series::some(Labels::new("hold", "x"), 0, vec![1]));
        },
        "is 0, expected at least 1",
    ),
    (
        |run| {
            two_holds(run).series(Series::every(Labels::new("hold", "x"), 1, vec![1]));
        },
        "is 1, expected 2",
    ),
    (
        |run| {
            two_holds(run).series(Series::every(
                Labels::new("hold", "x").outcome("gone"),
                1,
                vec![2],
            ));
        },
        "is no outcome or error of the operation",
    ),
    (
        |run| {
            let three = Histogram::every(
                Labels::new("hold", "x").outcome("held"),
                Unit::Number,
                &common::histogram([1, 2, 3]),
            );
            two_holds(run).histogram(three.unwrap());
        },
        "summary.count: is 3, expected 2",
    ),
    (
        |run| {
            let empty = Histogram::some(
                Labels::new("hold", "x"),
                Unit::Number,
                &Hdr::new(3).unwrap(),
            )
            .unwrap();
            run.histogram(empty.clone()).histogram(empty);
        },
        "hold.x stands twice",
    ),
    (
        |run| {
            run.benchmark("b", Samples::default());
        },
        "the benchmark b needs",
    ),
    (
        |run| {
            run.benchmark("b", samples(&[1, 0], &[1.0, 1.0]));
        },
        "the benchmark b needs",
    ),
    (
        |run| {
            run.benchmark("b", samples(&[1], &[1.0, 1.0]));
        },
        "the benchmark b needs",
    ),
    (
        |run| {
            run.benchmark("b", samples(&[1], &[f64::NAN]));
        },
        "b is no finite number",
    ),
    (
        |run| {
            run.figure(Figure::measured("f", "1", f64::INFINITY));
        },
        "f is no finite number",
    ),
    (
        |run| {
            run.figure(Figure::fairness("fair", []));
        },
        "fair is no finite number",
    ),
    (
        |run| {
            run.figure(ratio(
                "f",
                Term::measured("x", 1.0),
                Term::measured("nothing", 0.0),
            ));
        },
        "f is no finite number",
    ),
    (
        |run| {
            run.figure(ratio(
                "f",
                Term::of("x", Reference::Figure("f".into())),
                Term::measured("one", 1.0),
            ));
        },
        "x refers to something that is not",
    ),
    (
        |run| {
            run.law(Law::new("l", "w", vec![Reference::MeasuredSeconds], vec![]));
        },
        "the law l has an empty side",
    ),
];

#[test]
fn a_statement_that_contradicts_itself_is_not_built() {
    for (change, expected) in CONTRADICTIONS {
        let mut run = Builder::new(Kind::Stress);
        run.workspace(None).measured(Duration::from_secs(1));
        change(&mut run);
        let error = run.build().expect_err(expected);
        let line = error.to_string();
        assert!(line.contains(expected), "{line}");
        assert!(!matches!(error, BuildError::Program(_)));
    }
}

fn two_holds(run: &mut Builder) -> &mut Builder {
    run.operation(Operation::new("hold", 2).outcome("held", 2))
}

fn samples(iterations: &[u64], times_ns: &[f64]) -> Samples {
    Samples {
        iterations: iterations.to_vec(),
        times_ns: times_ns.to_vec(),
        elements: None,
    }
}

fn ratio(name: &str, numerator: Term, denominator: Term) -> Figure {
    Figure::ratio(name, "1", numerator, denominator)
}

#[test]
fn the_samples_that_criterion_leaves_are_read() {
    let json = r#"{"sampling_mode":"Linear","iters":[2.0,4.0],"times":[10.5,20.0]}"#;
    assert_eq!(
        Samples::from_criterion(json).unwrap(),
        samples(&[2, 4], &[10.5, 20.0])
    );
    assert!(Samples::from_criterion("{}").is_err());
    assert_eq!(
        Samples::from_criterion(&json.replace("4.0", "4.5"))
            .unwrap()
            .iterations,
        [2, 0]
    );
}

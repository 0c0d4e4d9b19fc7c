//! Statements that some other program might make: well formed, with a right digest, and yet with
//! parts that do not fit together. Each is refused with a line that names the place.

mod common;

use evidence::{Checkout, Covers, Integer, Real, Reference, Statement, UtcTime, verify_bytes};

type Edit = fn(&mut Statement);

/// What is wrong, and how the finding begins.
const MISFITS: [(Edit, &str); 23] = [
    (
        |it| it.subject.truncate(1),
        "subject: has 1 subjects, expected 2",
    ),
    (
        |it| it.subject.push(it.subject[0].clone()),
        "subject: has 3 subjects, expected 2",
    ),
    (
        |it| it.subject.swap(0, 1),
        "subject[0].name: is program:stress, expected source-tree",
    ),
    (
        |it| it.predicate.not_comparable_because = None,
        "predicate.not_comparable_because: is absent, expected a reason",
    ),
    (
        |it| it.predicate.not_comparable_because = Some(" ".into()),
        "predicate.not_comparable_because: is empty, expected a reason",
    ),
    (
        |it| it.predicate.comparable = true,
        "predicate.not_comparable_because: gives a reason, expected none",
    ),
    (
        |it| it.predicate.run.finished = UtcTime::from_unix_millis(0).unwrap(),
        "predicate.run.finished: is 1970-01-01T00:00:00.000Z, expected not before 2026",
    ),
    (
        |it| it.predicate.source.dirty = None,
        "predicate.source.dirty: is absent, expected present",
    ),
    (
        |it| it.predicate.source.tree_files = None,
        "predicate.source.tree_files: is absent, expected present",
    ),
    (
        |it| {
            it.predicate.source.tree_sha256 = None;
            it.subject.remove(0);
        },
        "predicate.source.tree_sha256: is absent, expected present",
    ),
    (
        |it| it.predicate.source.checkout = Checkout::Absent,
        "predicate.source.dirty: is present, expected absent",
    ),
    (
        |it| it.predicate.source.revision = Some("HEAD".into()),
        "predicate.source.revision: is \"HEAD\", expected a commit id",
    ),
    (
        |it| it.predicate.checks[0].undecided = Integer(101),
        "predicate.checks[0].cases: is 100, expected at least 101",
    ),
    (
        |it| it.predicate.laws[0].right.clear(),
        "predicate.laws[0]: has an empty side",
    ),
    (
        |it| it.predicate.laws[0].left = vec![Reference::MeasuredSeconds],
        "predicate.laws[0]: has an empty side, or one that names no count",
    ),
    (
        |it| it.predicate.laws[1].name = it.predicate.laws[0].name.clone(),
        "predicate.laws[1]: each sale is paid stands twice",
    ),
    (
        |it| it.predicate.thresholds[0].met = false,
        "predicate.thresholds[0].met: is false, expected true",
    ),
    (
        |it| drop_key(it, "sold_seats"),
        "predicate.laws[0]: has an empty side, or one that names no count",
    ),
    (
        |it| it.predicate.results.figures.swap(0, 4),
        "predicate.results.figures[0].from.ratio.numerator.of: names nothing that stands in this statement, or not before it",
    ),
    (
        |it| it.predicate.results.histograms[1].covers = Covers::Every,
        "predicate.results.histograms[1].of.operation: is commit, expected one of the operations",
    ),
    (
        |it| it.predicate.results.series[0].of.outcome = Some("x".into()),
        "predicate.results.series[0].of.outcome: is no outcome or error",
    ),
    (
        |it| {
            it.predicate.results.benchmarks[0]
                .times_ns
                .push(Real::new(1.0).unwrap());
        },
        "predicate.results.benchmarks[0]: needs as many times",
    ),
    (
        |it| it.predicate.schema_version = 0,
        "predicate.schema_version: no version that exists",
    ),
];

fn drop_key(statement: &mut Statement, count: &str) {
    statement.predicate.results.counts.remove(count);
}

#[test]
fn parts_that_do_not_fit_are_refused_although_the_digest_is_right() {
    for (edit, expected) in MISFITS {
        let mut statement = common::full();
        edit(&mut statement);
        common::seal(&mut statement);
        let findings = verify_bytes(statement.to_json().as_bytes()).expect_err(expected);
        assert!(
            findings[0].to_string().starts_with(expected),
            "{expected}\n{}",
            findings[0]
        );
    }
}

#[test]
fn a_check_without_cases_beside_one_with_cases_fits_and_alone_it_does_not() {
    let mut statement = common::full();
    statement.predicate.checks[0].cases = Integer(0);
    common::seal(&mut statement);
    assert!(verify_bytes(statement.to_json().as_bytes()).is_ok());
    statement.predicate.checks[1].cases = Integer(0);
    common::seal(&mut statement);
    let findings = verify_bytes(statement.to_json().as_bytes()).unwrap_err();
    assert_eq!(
        findings[0].to_string(),
        "predicate.verdict: is interrupted, expected inconclusive"
    );
}

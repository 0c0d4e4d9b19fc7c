//! Any run that the builder takes makes a file that verifies, fits the schema, and reads back as the
//! same statement, whatever texts and numbers it holds.

mod common;

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use evidence::{
    Builder, Check, Database, Figure, Histogram, Kind, Labels, Law, Operation, Reference, Rule,
    Samples, Series, Statement, Term, Unit, Value, verify_bytes,
};
use proptest::prelude::*;

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        // Whole numbers and others near the border of what a float holds exactly.
        (-40..40_i64).prop_map(|off| Value::from((1_i64 << 53) + off)),
        (-40..40_i32).prop_map(|off| Value::from(9_007_199_254_740_992.0 + f64::from(off))),
        any::<f64>().prop_map(|float| Value::from(float.trunc())),
        any::<String>().prop_map(Value::from),
    ]
}

prop_compose! {
    fn run()(
        texts in prop::collection::vec(any::<String>(), 8),
        settings in prop::collection::btree_map(any::<String>(), value(), 0..8),
        outcomes in prop::collection::btree_map(any::<String>(), 0..u64::MAX / 16, 1..6),
        times in prop::collection::vec((1..u64::MAX >> 11, 1e-3..1e15_f64), 1..12),
        recorded in prop::collection::vec(any::<u64>(), 0..40),
        counts in prop::collection::vec(any::<u32>(), 0..200),
        numbers in (any::<u64>(), any::<u64>(), 0..u64::MAX / 4, any::<f64>(), any::<bool>()),
    ) -> Statement {
        build(&texts, &settings, &outcomes, times, recorded, counts, numbers)
    }
}

fn build(
    texts: &[String],
    settings: &BTreeMap<String, Value>,
    outcomes: &BTreeMap<String, u64>,
    times: Vec<(u64, f64)>,
    recorded: Vec<u64>,
    counts: Vec<u32>,
    (seed, total, ns, float, cut): (u64, u64, u64, f64, bool),
) -> Statement {
    let mut run = Builder::new(Kind::ModelCheck);
    run.workspace(None)
        .command(&texts[0], texts)
        .seed(seed)
        .measured(Duration::from_nanos(ns + 1));
    let mut database = Database::new(&texts[1], &texts[2]).source_id(&texts[3]);
    for (name, value) in settings {
        run.config(name, value.clone());
        database = database.setting(name, value.clone());
    }
    run.database(database).count(&texts[4], total);
    let mut operation = Operation::new(&texts[5], outcomes.values().sum());
    for (name, count) in outcomes {
        operation = operation.outcome(name, *count);
    }
    run.operation(operation)
        .series(Series::some(Labels::new(&texts[5], &texts[6]), 7, counts));
    let of = Labels::new(&texts[6], &texts[7]);
    run.histogram(Histogram::some(of, Unit::Microseconds, &common::histogram(recorded)).unwrap());
    let (iterations, times_ns) = times.into_iter().unzip();
    run.benchmark(
        &texts[7],
        Samples {
            iterations,
            times_ns,
            elements: Some(total),
        },
    );
    let rate = Term::of("attempts", Reference::AllAttempts);
    run.figure(Figure::ratio(
        &texts[0],
        "1/s",
        rate,
        Term::of("time", Reference::MeasuredSeconds),
    ));
    if float.is_finite() {
        run.figure(
            Figure::measured(format!("{}'", texts[0]), &texts[1], float).aim(Rule::Above, -float),
        );
    }
    let side = vec![Reference::Count(texts[4].clone())];
    run.law(Law::new("same", "a count is itself", side.clone(), side));
    run.check(Check::passed(&texts[2], &texts[3], total).note(&texts[4]));
    if cut {
        run.interrupted().not_comparable(format!("{}.", texts[5]));
    }
    run.build().unwrap()
}

static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    jsonschema::validator_for(&serde_json::from_str(&evidence::schema()).unwrap()).unwrap()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_file_verifies_fits_the_schema_and_reads_back_the_same(statement in run()) {
        let text = statement.to_json();
        let read = verify_bytes(text.as_bytes()).map_err(|findings| TestCaseError::fail(findings[0].to_string()))?;
        prop_assert_eq!(&read, &statement);
        prop_assert_eq!(read.digest(), statement.predicate.digest.sha256);
        let json = serde_json::from_str(&text).unwrap();
        prop_assert!(VALIDATOR.is_valid(&json));
    }
}

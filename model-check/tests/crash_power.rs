//! Power loss under the real store: no image breaks a promise; and under each plant one does.

use std::sync::atomic::AtomicBool;

use model_check::crash::examine::{open_real, options};
use model_check::crash::plants::{self, CaughtBy, Subject};
use model_check::crash::power::{Case, Config, record_subject, replay, run};
use model_check::crash::workload::record;
use soldonce::Commit;

fn config(images: u64) -> Config {
    Config {
        ops: 120,
        images,
        deep_every: 32,
        ..Config::default()
    }
}

/// One test, because SQLite's random numbers belong to the whole process: nothing may draw from them
/// while two recordings are compared.
#[test]
fn the_same_seed_gives_the_same_log_and_no_image_of_the_real_store_breaks_a_promise() {
    for subject in std::iter::once(plants::real()).chain(plants::all()) {
        let [first, again] = [7, 7].map(|seed| {
            let recording = record_subject(&subject, seed, 120).expect("recorded");
            recording.log.digest()
        });
        assert_eq!(first, again, "{}: the same seed, another log", subject.id);
    }
    let [first, again, other] = [7, 7, 8].map(|seed| {
        let recording = record(&open_real, seed, 60).expect("recorded");
        assert!(
            recording.batches.iter().any(|calls| *calls > 1),
            "no commit for several calls: {:?}",
            recording.batches
        );
        recording.log.digest()
    });
    assert_eq!(first, again, "the log is not the same for the same seed");
    assert_ne!(first, other, "the log does not depend on the seed");

    let never = AtomicBool::new(false);
    let report = run(&plants::real(), &config(10_000), &never, &|_| {}).expect("it runs");
    assert!(report.distinct >= 10_000, "{report:?}");
    assert!(
        report.second > 100,
        "hardly any second power loss: {report:?}"
    );
    assert!(report.batches > 20, "hardly any batch: {report:?}");
    assert_eq!(report.violations, []);

    a_batch_that_is_committed_call_by_call_is_seen();
    every_plant_is_caught_and_shows_the_same_again();
}

/// Nobody is promised that a batch is whole; but if these images did not show a part of one, they
/// would not show what a broken batch loses either.
fn a_batch_that_is_committed_call_by_call_is_seen() {
    let never = AtomicBool::new(false);
    let alone = Subject {
        open: Box::new(|path, setup| {
            let one_by_one = Commit::Queue { most: 1 };
            Ok(Box::new(options(setup).commit(one_by_one).open(path)?))
        }),
        ..plants::real()
    };
    let config = Config {
        stop_at_first: true,
        ..config(3_000)
    };
    let report = run(&alone, &config, &never, &|_| {}).expect("it runs");
    let first = report.violations.first().expect("a part of a batch");
    assert!(
        first.what.starts_with("neither the state"),
        "{}",
        first.what
    );
}

fn every_plant_is_caught_and_shows_the_same_again() {
    let never = AtomicBool::new(false);
    for plant in plants::all() {
        if plant.caught_by != Some(CaughtBy::Power) {
            continue;
        }
        let config = Config {
            stop_at_first: true,
            ..config(3_000)
        };
        let report = run(&plant, &config, &never, &|_| {}).expect("it runs");
        let Some(first) = report.violations.first() else {
            panic!(
                "{} ({}) was not caught: {}",
                plant.id,
                plant.fault,
                report.line()
            );
        };
        let case: Case = first
            .case
            .to_string()
            .parse()
            .expect("a case that is shown can be read");
        assert_eq!(case, first.case);
        let again = replay(&plant, &case).expect("it runs");
        assert!(
            again.what.contains(&first.what),
            "{case}: {again:?}, not {}",
            first.what
        );
        let other = replay(&plants::real(), &case).expect("it runs");
        assert_eq!(
            other.what,
            Vec::<String>::new(),
            "the real store in the same case {case}"
        );
    }
}

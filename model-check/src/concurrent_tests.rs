//! Real threads on the real store, on the right engine, and on every concurrent mutant.

use super::*;
use crate::serializable::{Verdict, check};

#[test]
fn histories_of_the_real_store_hold_on_2_to_64_threads() {
    for (threads, calls) in [(2, 300), (8, 400), (64, 500)] {
        let folder = tempfile::tempdir().expect("a folder");
        let plan = Plan {
            threads,
            calls,
            seed: 1,
        };
        let clock = RunClock::start();
        let store =
            real_store(&folder.path().join("seats.sqlite"), &clock, plan, 8).expect("opens");
        let recorded = run(&store, &clock, plan).expect("runs");
        assert_eq!(recorded.report.verdict, Verdict::Holds, "{threads} threads");
        assert!(recorded.report.counts.operations >= calls as u64 / 2);
        // Online and offline are the same check.
        assert_eq!(check(&recorded.history), recorded.report);
        assert_eq!(store.audit().expect("audits"), []);
    }
}

#[test]
fn histories_of_an_engine_without_a_fault_hold() {
    let hunted = mutants::hunt_store(mutants::right, 20_000, 8, 1).expect("runs");
    assert!(hunted.caught.is_none(), "{:?}", hunted.caught);
}

#[test]
fn every_concurrent_mutant_is_caught_by_a_real_run() {
    for mutant in all() {
        let hunted = hunt(&mutant, 8, 1).expect("runs");
        let caught = hunted.caught.unwrap_or_else(|| {
            panic!(
                "{} ({}) survived {} calls",
                mutant.id, mutant.fault, hunted.calls
            )
        });
        assert!(matches!(
            check(&caught.history).verdict,
            Verdict::Violated(_)
        ));
    }
}

#[test]
fn sixteen_writers_that_read_first_see_busy_snapshots_only_when_they_begin_deferred() {
    let folder = tempfile::tempdir().expect("a folder");
    let seen =
        |begin, name| busy_snapshots(&folder.path().join(name), begin, 16, 40).expect("runs");
    let deferred = seen(Begin::Deferred, "deferred.sqlite");
    assert!(deferred.busy_snapshots > 0, "{deferred:?}");
    let immediate = seen(Begin::Immediate, "immediate.sqlite");
    assert_eq!(immediate.busy_snapshots, 0, "{immediate:?}");
}

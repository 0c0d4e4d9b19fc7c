//! The real store gives the answers of the reference: in the whole small space, and in random
//! sequences that reach every row of the table. With its queue, and without.

use std::sync::atomic::AtomicBool;

use model_check::sequence::campaign::{Campaign, measure, run_campaign};
use model_check::sequence::run::Workplace;
use model_check::sequence::small_space;
use model_check::store_choice::{Choice, Real};

static NEVER: AtomicBool = AtomicBool::new(false);

#[track_caller]
fn small_space_holds(real: Real) {
    let place = Workplace::temporary(&real).expect("a temporary folder");
    let walked = small_space::walk(&real, &place, &NEVER, &|_| {}).expect("could run");
    let tried = walked.unwrap_or_else(|failed| {
        panic!(
            "{}\n{:?}: {}",
            failed.sequence, failed.failure.place, failed.failure.what
        )
    });
    assert_eq!(tried, small_space::COMBINATIONS);
}

#[test]
fn every_combination_of_the_small_space_is_answered_as_by_the_reference() {
    small_space_holds(Real::default());
}

#[test]
fn every_combination_is_answered_so_without_the_queue_too() {
    small_space_holds(Real::PER_CALL);
}

#[track_caller]
fn sequences_hold(store: &str) {
    let campaign = Campaign {
        cases: 300,
        first: 0,
        seed: 1,
    };
    let choice: Choice = store.parse().expect("a store");
    let report = run_campaign(&choice, campaign, &NEVER, &|_| {}).expect("could run");
    if let Some(failed) = &report.failed {
        let minimal = &failed.minimal;
        panic!(
            "case {}: {}\n{}: {}",
            failed.case, minimal.sequence, minimal.failure.check, minimal.failure.what
        );
    }
    let rare = report.rare_rows();
    assert_eq!(rare, [], "rows reached by less than 1 % of the calls");
    let walk = &report.walk;
    assert!(walk.calls > 4_500, "{walk:?}");
    assert!(
        walk.reopenings > 400 && walk.through_second > 450 && walk.faults > 100,
        "{walk:?}"
    );
}

#[test]
fn random_sequences_are_answered_as_by_the_reference_and_reach_every_row() {
    sequences_hold("sqlite");
}

#[test]
fn random_sequences_are_answered_so_without_the_queue_too() {
    sequences_hold("sqlite-per-call");
}

#[test]
fn the_check_costs_less_than_the_store() {
    let cost = measure(&Real::default(), 60, 7).expect("could run");
    assert!(
        cost.check_for_each_second() < 1.0,
        "{:.0} commands/s with the check, {:.0} without",
        cost.checked_per_second(),
        cost.alone_per_second()
    );
}

//! Every planted fault is caught, by the check that is named for it.

use model_check::mutants::{all, hunt};
use rayon::prelude::*;

#[test]
fn every_mutant_is_caught_by_the_check_that_is_named_for_it() {
    let hunts: Vec<_> = all()
        .into_par_iter()
        .map(|mutant| (mutant, hunt(mutant, 400, 1).expect("could run")))
        .collect();
    let mut complaints = Vec::new();
    for (mutant, hunt) in hunts {
        eprintln!(
            "{:4} {:8} {:4} cases {:6.2} s  {}\n       small: {:?}\n       {}",
            mutant.id,
            hunt.caught_by.map_or("-", |check| check.name()),
            hunt.cases,
            hunt.took.as_secs_f64(),
            hunt.sequence,
            hunt.small_space,
            hunt.what,
        );
        complaints.extend(hunt.complaint(&mutant));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

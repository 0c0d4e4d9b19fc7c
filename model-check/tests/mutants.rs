//! Every planted fault is caught, by the check that is named for it.

use std::sync::atomic::AtomicBool;

use model_check::mutants::{Hunt, Mutant, all, hunt};
use model_check::sequence::Sequence;
use model_check::sequence::run::{Depth, Workplace, run};
use rayon::prelude::*;

static NEVER: AtomicBool = AtomicBool::new(false);

#[test]
fn every_mutant_is_caught_by_the_check_that_is_named_for_it() {
    let hunts: Vec<_> = all()
        .into_par_iter()
        .map(|mutant| (mutant, hunt(mutant, 400, 1, &NEVER).expect("could run")))
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
        complaints.extend(does_not_replay(&mutant, &hunt));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// What a person sees who gives the minimal sequence to `replay`, where it is not what the table says.
fn does_not_replay(mutant: &Mutant, hunt: &Hunt) -> Option<String> {
    let sequence: Sequence = hunt.sequence.parse().expect("as it was written");
    let place = Workplace::temporary(mutant).expect("a temporary folder");
    let failed = run(&sequence, mutant, &place, Depth::Full)
        .expect("could run")
        .err()
        .map(|failure| failure.check);
    (failed != hunt.caught_by).then(|| {
        let (id, by) = (mutant.id, hunt.caught_by);
        format!("{id} was caught by {by:?}, but {sequence} says {failed:?}")
    })
}

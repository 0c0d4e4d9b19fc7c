//! Do the near-linear check and the exhaustive search agree?
//!
//! Small random histories of every [`Kind`], each decided by both. A disagreement is reported with the
//! kind and seed that make it again. How many of each kind held and did not is counted, so that
//! nobody has to wonder whether the bad ones were rare.

mod random;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

pub use random::{Kind, history};

use crate::search::{Found, search};
use crate::serializable::{AllRules, RuleSet, Verdict, check_with};

/// So many steps has the search for one history.
const STEPS: u64 = 300_000;

/// What came of the histories of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Both say that it holds.
    pub holds: u64,
    /// Both say that it does not.
    pub violated: u64,
    /// The search gave up, or the check said that nobody knows.
    pub undecided: u64,
    /// They disagree.
    pub disagree: u64,
    /// Of the ones that hold, those that need a call of unknown result to have taken effect.
    pub needs_unknown: u64,
}

/// A history on which they disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disagreement {
    /// Its kind
    pub kind: Kind,
    /// and seed, for [`history`].
    pub seed: u64,
    /// Does the check say that it holds?
    pub check_holds: bool,
}

/// What came of all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agreement {
    /// By kind.
    pub tallies: BTreeMap<Kind, Tally>,
    /// The disagreements, a few of them.
    pub disagreements: Vec<Disagreement>,
}

/// How one history was decided.
enum Case {
    Holds { needs_unknown: bool },
    Violated,
    Undecided,
    Disagree { check_holds: bool },
}

/// Decides `cases` random histories twice, the kinds in turn, or as many of them as it comes to before
/// `stop` is set. `done` is told after each.
pub fn agree(cases: u64, seed: u64, stop: &AtomicBool, done: impl Fn() + Sync) -> Agreement {
    agree_with::<AllRules>(cases, seed, stop, done)
}

/// The same, for a check with these rules.
pub(crate) fn agree_with<R: RuleSet>(
    cases: u64,
    seed: u64,
    stop: &AtomicBool,
    done: impl Fn() + Sync,
) -> Agreement {
    (0..cases)
        .into_par_iter()
        .filter(|_| !stop.load(Ordering::Relaxed))
        .map(|case| {
            let kind = Kind::ALL[usize::try_from(case % 14).expect("small")];
            let seed = random::seed_of(seed, case);
            let decided = decide::<R>(kind, seed);
            done();
            (kind, seed, decided)
        })
        .fold(Agreement::default, |mut agreement, (kind, seed, case)| {
            agreement.count(kind, seed, &case);
            agreement
        })
        .reduce(Agreement::default, Agreement::and)
}

fn decide<R: RuleSet>(kind: Kind, seed: u64) -> Case {
    let history = history(kind, seed);
    let report = check_with::<R>(&history);
    let check_holds = match report.verdict {
        Verdict::Holds => true,
        Verdict::Violated(_) => false,
        Verdict::Inconclusive(_) => return Case::Undecided,
    };
    match (search(&history, STEPS), check_holds) {
        (Found::GaveUp, _) => Case::Undecided,
        (Found::Order, true) => Case::Holds {
            needs_unknown: report.counts.taken_as_happened > 0,
        },
        (Found::None, false) => Case::Violated,
        (Found::Order, false) | (Found::None, true) => Case::Disagree { check_holds },
    }
}

impl Agreement {
    /// How many histories it is about.
    pub fn cases(&self) -> u64 {
        let tallies = self.tallies.values();
        tallies
            .map(|tally| tally.holds + tally.violated + tally.undecided + tally.disagree)
            .sum()
    }

    /// No disagreement was found.
    pub fn is_complete(&self) -> bool {
        self.disagreements.is_empty()
    }

    fn count(&mut self, kind: Kind, seed: u64, case: &Case) {
        let tally = self.tallies.entry(kind).or_default();
        match case {
            Case::Holds { needs_unknown } => {
                tally.holds += 1;
                tally.needs_unknown += u64::from(*needs_unknown);
            }
            Case::Violated => tally.violated += 1,
            Case::Undecided => tally.undecided += 1,
            Case::Disagree { check_holds } => {
                tally.disagree += 1;
                self.disagreements.push(Disagreement {
                    kind,
                    seed,
                    check_holds: *check_holds,
                });
            }
        }
    }

    fn and(mut self, other: Self) -> Self {
        for (kind, tally) in other.tallies {
            let sum = self.tallies.entry(kind).or_default();
            sum.holds += tally.holds;
            sum.violated += tally.violated;
            sum.undecided += tally.undecided;
            sum.disagree += tally.disagree;
            sum.needs_unknown += tally.needs_unknown;
        }
        self.disagreements.extend(other.disagreements);
        self.disagreements.truncate(20);
        self
    }
}

#[cfg(test)]
#[path = "agree_tests.rs"]
mod tests;

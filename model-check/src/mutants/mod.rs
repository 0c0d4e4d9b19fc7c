//! Planted faults: stores that differ from the real one by one realistic fault each.
//!
//! A check that has never caught a bug proves nothing. Most of these are classes of faults that public
//! incident reports describe; each names the check that must catch it, and [`all`] is the table that
//! tests and the program go through. A mutant that survives, or that another check catches than the
//! one named, is a failure.

use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use soldonce::{SeatStore, StoreError};

use crate::sequence::Check;
use crate::sequence::campaign::{Campaign, run_campaign};
use crate::sequence::run::{CouldNotRun, Workplace};
use crate::sequence::small_space;
use crate::store_choice::{Choice, Subject, World};

mod cached;
mod money;
mod raw;
mod release;
mod seat;
mod sql;
pub mod wrap;

/// Opens the broken store on a file, which is made when it is not there.
pub type Make = fn(&Path, &World) -> Result<Box<dyn SeatStore>, StoreError>;

/// A store with one planted fault.
#[derive(Clone, Copy)]
pub struct Mutant {
    /// Its name: of the case in the table of faults that real systems had, or `N` and a number for
    /// one of our own.
    pub id: &'static str,
    /// What is wrong with it.
    pub fault: &'static str,
    /// A public report of such a fault, where there is a good one.
    pub seen_in: &'static str,
    /// The check that must catch it.
    pub caught_by: CaughtBy,
    /// What has to be known about how it is planted.
    pub note: &'static str,
    /// The store.
    pub make: Make,
}

/// The check that catches a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaughtBy {
    /// Random sequences, by this comparison; and whether the small space alone catches it, too.
    Sequences(Check, SmallSpace),
}

/// What the small space does about a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmallSpace {
    /// It catches it.
    Catches,
    /// It can not: the fault needs more steps, a restart or an injected fault.
    Blind,
}

impl fmt::Display for CaughtBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequences(check, _) => check.fmt(f),
        }
    }
}

/// Where faults are planted without the schema's own constraints, which would refuse them before a
/// check sees them. Many real systems have no such second line.
const BARE: &str = "no second line: planted in a schema without constraints";

impl Mutant {
    const fn new(id: &'static str, fault: &'static str, caught_by: CaughtBy, make: Make) -> Self {
        Self {
            id,
            fault,
            seen_in: "",
            caught_by,
            note: "",
            make,
        }
    }

    const fn seen_in(mut self, report: &'static str) -> Self {
        self.seen_in = report;
        self
    }

    const fn note(mut self, note: &'static str) -> Self {
        self.note = note;
        self
    }

    const fn bare(self) -> Self {
        self.note(BARE)
    }
}

const fn caught(check: Check) -> CaughtBy {
    CaughtBy::Sequences(check, SmallSpace::Catches)
}

const fn only_in_sequences(check: Check) -> CaughtBy {
    CaughtBy::Sequences(check, SmallSpace::Blind)
}

impl Subject for Mutant {
    fn name(&self) -> String {
        format!("mutant:{}", self.id)
    }

    fn open(&self, path: &Path, world: &World) -> Result<Box<dyn SeatStore>, StoreError> {
        (self.make)(path, world)
    }
}

/// Every mutant there is, by id.
pub fn all() -> Vec<Mutant> {
    let mut all: Vec<Mutant> = [
        &seat::MUTANTS[..],
        &release::MUTANTS[..],
        &money::MUTANTS[..],
        &cached::MUTANTS[..],
        &raw::MUTANTS[..],
    ]
    .concat();
    all.sort_by_key(|mutant| mutant.id);
    all
}

/// The names of all.
pub fn ids() -> Vec<&'static str> {
    all().iter().map(|mutant| mutant.id).collect()
}

/// The one with this name.
pub fn find(id: &str) -> Option<Mutant> {
    all().into_iter().find(|mutant| mutant.id == id)
}

/// What came of the hunt for one mutant.
#[derive(Debug, Clone)]
pub struct Hunt {
    /// The check that caught it; `None` when it survived.
    pub caught_by: Option<Check>,
    /// The smallest sequence that shows the fault.
    pub sequence: String,
    /// What the check said.
    pub what: String,
    /// Sequences that were needed, the last of them the one that failed.
    pub cases: u64,
    /// The sequence of the small space that shows it; `None` when that was not asked for.
    pub small_space: Option<String>,
    /// How long it took, with making the sequence small.
    pub took: Duration,
    /// Somebody asked to stop before it was caught, or had survived.
    pub interrupted: bool,
}

impl Hunt {
    /// What is wrong with this result, if anything.
    pub fn complaint(&self, mutant: &Mutant) -> Option<String> {
        let CaughtBy::Sequences(named, small) = mutant.caught_by;
        match self.caught_by {
            None => Some(format!("{} survived {} sequences", mutant.id, self.cases)),
            Some(check) if check != named => Some(format!(
                "{} should be caught by the check '{named}', but was caught by '{check}': {}, {}",
                mutant.id, self.sequence, self.what
            )),
            Some(_) if small == SmallSpace::Catches && self.small_space.is_none() => {
                Some(format!("{} survived the small space", mutant.id))
            }
            Some(_) => None,
        }
    }
}

/// Hunts one mutant with random sequences, and in the small space when it must be caught there, until
/// `stop` is set.
///
/// # Errors
/// [`CouldNotRun`] when something outside the store failed.
pub fn hunt(mutant: Mutant, cases: u64, seed: u64, stop: &AtomicBool) -> Result<Hunt, CouldNotRun> {
    let choice = Choice {
        subject: std::sync::Arc::new(mutant),
        path: None,
    };
    let campaign = Campaign {
        cases,
        first: 0,
        seed,
    };
    let report = run_campaign(&choice, campaign, stop, &|_| {})?;
    let mut interrupted = report.interrupted;
    let CaughtBy::Sequences(_, small) = mutant.caught_by;
    let small_space = match small {
        SmallSpace::Catches => {
            let place = Workplace::temporary(&mutant)?;
            let walked = small_space::walk(&mutant, &place, stop, &|_| {})?;
            interrupted |= walked
                .as_ref()
                .is_ok_and(|tried| *tried < small_space::COMBINATIONS);
            walked.err().map(|failed| failed.sequence.to_string())
        }
        SmallSpace::Blind => None,
    };
    let mut hunt = Hunt {
        caught_by: None,
        sequence: String::new(),
        what: String::new(),
        cases: report.cases,
        small_space,
        took: report.took,
        interrupted,
    };
    if let Some(failed) = report.failed {
        hunt.caught_by = Some(failed.minimal.failure.check);
        hunt.sequence = failed.minimal.sequence.to_string();
        hunt.what = failed.minimal.failure.what;
    }
    Ok(hunt)
}

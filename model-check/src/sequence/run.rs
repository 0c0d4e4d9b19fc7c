//! One sequence on one store.

use std::path::{Path, PathBuf};

use soldonce::Timestamp;
use tempfile::TempDir;

use super::pair::{Pair, Stop};
use super::{Call, Check, Fault, Sequence, Step, Via};
use crate::reference::Row;
use crate::store_choice::Subject;

/// How much of a walk is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Every step, all earlier calls once more, the same after a reopening; all compared.
    Full,
    /// The steps alone, compared.
    Steps,
    /// As [`Depth::Full`], but nothing is compared: what the store costs without the check.
    StoreAlone,
}

/// Where in a walk something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At this step, from 0.
    Step(usize),
    /// When this step was repeated at the end.
    Repeat(usize),
    /// When it was repeated after the reopening.
    AfterReopen(usize),
    /// At the end.
    End,
}

/// A difference between the store and the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What found it.
    pub check: Check,
    /// Where.
    pub place: Place,
    /// What is right, and what the store did.
    pub what: String,
}

/// What a walk without a difference did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walk {
    /// Commands given, with all repeats.
    pub commands: u64,
    /// Steps of the sequence itself that were calls.
    pub calls: u64,
    /// How often each row of the table was reached by them.
    pub rows: [u64; Row::ALL.len()],
    /// Times that all was closed and opened again.
    pub reopenings: u64,
    /// Calls through the second store.
    pub through_second: u64,
    /// Calls under an injected fault.
    pub faults: u64,
}

impl std::ops::AddAssign<&Self> for Walk {
    fn add_assign(&mut self, other: &Self) {
        self.commands += other.commands;
        self.calls += other.calls;
        for (row, more) in self.rows.iter_mut().zip(other.rows) {
            *row += more;
        }
        self.reopenings += other.reopenings;
        self.through_second += other.through_second;
        self.faults += other.faults;
    }
}

/// How a walk ended, but for what could not be run.
pub type Walked = Result<Walk, Failure>;

/// Something outside the store failed: no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CouldNotRun(pub String);

/// Where the files of walks are.
pub struct Workplace {
    path: PathBuf,
    empty: Option<Vec<u8>>,
    _folder: Option<TempDir>,
}

impl Workplace {
    /// In a temporary folder, which goes away with it.
    ///
    /// # Errors
    /// [`CouldNotRun`] when the folder can not be made, or the store not be opened there.
    pub fn temporary(subject: &dyn Subject) -> Result<Self, CouldNotRun> {
        let folder = tempfile::Builder::new()
            .prefix("model-check-")
            .tempdir()
            .map_err(|error| CouldNotRun(format!("could not make a temporary folder: {error}")))?;
        let path = folder.path().join("seats.sqlite");
        Self::new(subject, path, Some(folder))
    }

    /// At a path of the user's; the last file stays there.
    ///
    /// # Errors
    /// [`CouldNotRun`] when something is there already, or the store can not be opened there.
    pub fn at(subject: &dyn Subject, path: &Path) -> Result<Self, CouldNotRun> {
        Self::is_new(path)?;
        Self::new(subject, path.to_owned(), None)
    }

    /// Is nothing at this path? A link that leads nowhere is something, and so is a log that lost its
    /// database.
    ///
    /// # Errors
    /// [`CouldNotRun`] when something is, or the folder is not there.
    pub fn is_new(path: &Path) -> Result<(), CouldNotRun> {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder
            && !folder.is_dir()
        {
            return Err(CouldNotRun(format!(
                "{}: there is no folder {}; make it, or give another path",
                path.display(),
                folder.display()
            )));
        }
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let path = beside(path, suffix);
            if path.symlink_metadata().is_ok() {
                return Err(CouldNotRun(format!(
                    "{} is there already; name a file that is not, each case starts it anew",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    fn new(
        subject: &dyn Subject,
        path: PathBuf,
        folder: Option<TempDir>,
    ) -> Result<Self, CouldNotRun> {
        let mut place = Self {
            path,
            empty: None,
            _folder: folder,
        };
        match Pair::open(subject, place.path.clone()) {
            Ok(pair) => drop(pair),
            Err(Stop::CouldNotRun(what) | Stop::Differs { what, .. }) => {
                return Err(CouldNotRun(what));
            }
        }
        // A copy of an empty store is opened faster than a new one is made.
        if subject.is_sqlite() && !place.beside("-wal").exists() {
            place.empty = std::fs::read(&place.path).ok();
        }
        Ok(place)
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        beside(&self.path, suffix)
    }

    /// A file with an empty store, or none yet.
    pub(super) fn fresh(&self) -> Result<PathBuf, CouldNotRun> {
        for suffix in ["", "-wal", "-shm"] {
            let old = self.beside(suffix);
            if let Err(error) = std::fs::remove_file(&old)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(CouldNotRun(format!(
                    "could not remove {}: {error}",
                    old.display()
                )));
            }
        }
        if let Some(empty) = &self.empty {
            std::fs::write(&self.path, empty).map_err(|error| {
                CouldNotRun(format!("could not write {}: {error}", self.path.display()))
            })?;
        }
        Ok(self.path.clone())
    }
}

/// What SQLite would put beside a database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Walks a sequence on a store.
///
/// # Errors
/// [`CouldNotRun`] when something outside the store failed.
pub fn run(
    sequence: &Sequence,
    subject: &dyn Subject,
    place: &Workplace,
    depth: Depth,
) -> Result<Walked, CouldNotRun> {
    run_and_listen(sequence, subject, place, depth, &mut |_, _| {})
}

/// As [`run`]; `listen` is told the number of each step, from 0, and what the store answered to it.
///
/// # Errors
/// [`CouldNotRun`] when something outside the store failed.
pub fn run_and_listen(
    sequence: &Sequence,
    subject: &dyn Subject,
    place: &Workplace,
    depth: Depth,
    listen: &mut dyn FnMut(usize, &dyn Fn() -> String),
) -> Result<Walked, CouldNotRun> {
    let mut walker = match Pair::open(subject, place.fresh()?) {
        Ok(pair) => Walker {
            pair,
            depth,
            walk: Walk::default(),
            at: Place::Step(0),
        },
        Err(Stop::CouldNotRun(what) | Stop::Differs { what, .. }) => return Err(CouldNotRun(what)),
    };
    match walker.walk(sequence, listen) {
        Ok(()) => Ok(Ok(walker.walk)),
        Err(Stop::CouldNotRun(what)) => Err(CouldNotRun(what)),
        Err(Stop::Differs { check, what }) => Ok(Err(Failure {
            check: kind_of(check, walker.at, sequence),
            place: walker.at,
            what,
        })),
    }
}

/// What it took to show the difference, judged by the steps that led to it.
fn kind_of(found_by: Check, place: Place, sequence: &Sequence) -> Check {
    if found_by == Check::Schema {
        return Check::Schema;
    }
    let led = match place {
        Place::Step(last) => &sequence.steps[..=last.min(sequence.steps.len().saturating_sub(1))],
        Place::Repeat(_) | Place::AfterReopen(_) | Place::End => &sequence.steps[..],
    };
    let any = |has: fn(&Step) -> bool| led.iter().any(has);
    if any(|step| matches!(step, Step::Call(call) if call.fault != Fault::None)) {
        Check::Fault
    } else if matches!(place, Place::AfterReopen(_))
        || any(|step| {
            matches!(step, Step::Reopen)
                || matches!(step, Step::Call(call) if call.via == Via::Second)
        })
    {
        Check::Restart
    } else {
        found_by
    }
}

struct Walker<'a> {
    pair: Pair<'a>,
    depth: Depth,
    walk: Walk,
    at: Place,
}

impl Walker<'_> {
    fn walk(
        &mut self,
        sequence: &Sequence,
        listen: &mut dyn FnMut(usize, &dyn Fn() -> String),
    ) -> Result<(), Stop> {
        self.pair.add(Timestamp::MIN, &sequence.seats())?;
        for (index, step) in sequence.steps.iter().enumerate() {
            self.at = Place::Step(index);
            let stepped = self.step(step);
            if let Step::Call(_) = step {
                listen(index, &|| self.pair.last_answer());
            }
            stepped?;
        }
        if self.depth != Depth::Steps {
            self.repeat(sequence, Place::Repeat)?;
            self.pair.reopen()?;
            self.walk.reopenings += 1;
            self.repeat(sequence, Place::AfterReopen)?;
        }
        if self.depth != Depth::StoreAlone {
            self.at = Place::End;
            self.pair.close()?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Stop> {
        match step {
            Step::Call(call) => {
                self.walk.through_second += u64::from(call.via == Via::Second);
                self.walk.faults += u64::from(call.fault != Fault::None);
                self.walk.calls += 1;
                if let Some(row) = self.call(call)? {
                    self.walk.rows[row.number() - 1] += 1;
                }
                Ok(())
            }
            Step::Add { at, seat } => {
                self.pair.add(*at, std::slice::from_ref(seat))?;
                self.compare(Via::First)
            }
            Step::Reopen => {
                self.walk.reopenings += 1;
                self.pair.reopen()?;
                self.compare(Via::First)
            }
        }
    }

    fn call(&mut self, call: &Call) -> Result<Option<Row>, Stop> {
        self.walk.commands += 1;
        if self.depth == Depth::StoreAlone {
            self.pair.drive(call)?;
            return Ok(None);
        }
        let row = self.pair.call(call)?;
        self.compare(call.via)?;
        self.pair.compare_touched(call)?;
        Ok(row)
    }

    fn compare(&mut self, called: Via) -> Result<(), Stop> {
        if self.depth == Depth::StoreAlone {
            return Ok(());
        }
        self.pair.compare_everything(called)
    }

    /// Gives every call once more, at the time of the last one, and with nothing in its way.
    fn repeat(&mut self, sequence: &Sequence, place: fn(usize) -> Place) -> Result<(), Stop> {
        for (index, call) in repeated(sequence) {
            self.at = place(index);
            self.call(&call)?;
        }
        Ok(())
    }
}

/// The calls of a sequence as they are repeated at its end, with the steps that they come from.
pub(super) fn repeated(sequence: &Sequence) -> impl Iterator<Item = (usize, Call)> {
    let last = sequence.steps.iter().rev().find_map(|step| match step {
        Step::Call(Call { at, .. }) | Step::Add { at, .. } => Some(*at),
        Step::Reopen => None,
    });
    sequence
        .steps
        .iter()
        .enumerate()
        .filter_map(move |(index, step)| {
            let again = Call {
                at: last?,
                via: Via::First,
                fault: Fault::None,
                command: step.command()?.clone(),
            };
            Some((index, again))
        })
}

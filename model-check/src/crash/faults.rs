//! Failing operations: the n-th write, sync, open, cut, delete or lock fails, and no answer is false.
//!
//! A workload runs on the store while one fault is armed. What may be stored is a set of states, and
//! each answer narrows or widens it: a receipt must be the one that the reference gives in one of
//! them; an error that says "certainly not" leaves them; `Unknown` adds the state in which the call
//! took effect. After an `Unknown` the same call is repeated until it answers, as the error asks for.
//! At each `Unknown` the machine also crashes, in several ways, on a copy: after the restart one of
//! the states must be there, and the same call must answer what that state allows. At the end the
//! fault is gone, the store must work at once, and what it holds must be one of the states.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use soldonce::{Command, Happened, SeatStore as _, SqliteStore, StoreError, Timestamp};

use super::examine::{mix, recover};
use super::fault::{Fault, Op};
use super::image::{self, Kind};
use super::plants::Subject;
use super::rows::Rows;
use super::workload::{Drawer, NotRecorded, Place, Step, UnderTest, in_full, memory_folder, told};
use crate::reference::State;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Of everything random.
    pub seed: u64,
    /// Steps of the workload.
    pub ops: usize,
    /// Of the operations of each kind, every so manieth fails. 1: each one.
    pub every: u64,
    /// Stop at the first violation.
    pub stop_at_first: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            ops: 40,
            every: 1,
            stop_at_first: false,
        }
    }
}

/// A fault run that broke a promise.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Which fault.
    pub fault: Fault,
    /// What went wrong.
    pub what: String,
}

/// What a run has seen.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Fault runs, each with one fault.
    pub runs: u64,
    /// Those in which the operation came and failed, by kind and code, as in `sync IOERR`.
    pub by_kind: BTreeMap<String, u64>,
    /// Operations that were made to fail.
    pub failed: u64,
    /// Calls made while a fault was armed.
    pub calls: u64,
    /// Answers, by what they said: `answered`, `busy`, `unknown`, `not applied`.
    pub answers: BTreeMap<&'static str, u64>,
    /// Crashes after an unknown outcome.
    pub crashes: u64,
    /// Violations in all.
    pub violated: u64,
    /// The first of them.
    pub violations: Vec<Violation>,
    /// It was stopped from outside.
    pub interrupted: bool,
}

impl Report {
    fn add(&mut self, run: Run, fault: Fault) {
        self.runs += 1;
        if run.failed > 0 {
            let kind = format!("{} {}", fault.op.name(), fault.code.name());
            *self.by_kind.entry(kind).or_default() += 1;
        }
        self.failed += run.failed;
        self.calls += run.calls;
        self.crashes += run.crashes;
        for (answer, count) in run.answers {
            *self.answers.entry(answer).or_default() += count;
        }
        self.violated += run.wrong.len() as u64;
        let wrong = run.wrong.into_iter().map(|what| Violation { fault, what });
        self.violations.extend(wrong);
        self.violations.truncate(20);
    }
}

/// How long a call waits for a lock that never comes.
const PATIENCE: Duration = Duration::from_millis(40);

/// A lasting fault lasts for so many steps after it began.
const LASTS: usize = 4;

/// How long a store may take until it works again.
const RECOVERY: Duration = Duration::from_secs(5);

/// One fault run.
#[derive(Default)]
struct Run {
    failed: u64,
    calls: u64,
    crashes: u64,
    answers: BTreeMap<&'static str, u64>,
    wrong: Vec<String>,
}

/// Counts the operations of a workload in which nothing fails: so many faults of each kind there are.
fn count(subject: &Subject, config: &Config) -> Result<BTreeMap<Op, u64>, NotRecorded> {
    let place = Place::new(Vec::new())?;
    let mut run = Run::default();
    let mut seen = BTreeMap::new();
    walk(subject, config, &place, None, &mut run)?;
    for op in Op::ALL {
        seen.insert(op, place.vfs.seen(op));
    }
    Ok(seen)
}

/// All faults of a workload.
///
/// # Errors
/// When the harness fails.
pub fn faults(subject: &Subject, config: &Config) -> Result<Vec<Fault>, NotRecorded> {
    let mut all = Vec::new();
    for (op, operations) in count(subject, config)? {
        for code in op.codes() {
            for effect in op.effects() {
                for lasting in [false, true] {
                    // Of each kind at least one, however few there are.
                    let among = config.every.min(operations).max(1);
                    let from = 1 + mix(config.seed, &[op as u64, *code as u64]) % among;
                    let every = usize::try_from(config.every).unwrap_or(usize::MAX);
                    for nth in (from..=operations).step_by(every) {
                        all.push(Fault {
                            op,
                            nth,
                            lasting,
                            code: *code,
                            effect: *effect,
                        });
                    }
                }
            }
        }
    }
    Ok(all)
}

/// Makes each operation fail in each way.
///
/// # Errors
/// When the harness fails.
pub fn run(
    subject: &Subject,
    config: &Config,
    stop: &AtomicBool,
    progress: &(dyn Fn(&Report, usize) + Sync),
) -> Result<Report, NotRecorded> {
    let faults = faults(subject, config)?;
    let mut report = Report::default();
    // Most of the time a run waits: for locks that do not come, and for a pool that opens connections.
    let waiting = rayon::ThreadPoolBuilder::new().num_threads(8).build();
    let waiting = waiting.map_err(std::io::Error::other)?;
    for batch in faults.chunks(64) {
        let runs: Result<Vec<Run>, NotRecorded> = waiting.install(|| {
            let runs = batch.par_iter().map(|fault| one(subject, config, *fault));
            runs.collect()
        });
        for (run, fault) in runs?.into_iter().zip(batch) {
            report.add(run, *fault);
        }
        progress(&report, faults.len());
        if stop.load(Ordering::Relaxed) {
            report.interrupted = true;
            break;
        }
        if config.stop_at_first && report.violated > 0 {
            break;
        }
    }
    Ok(report)
}

/// What is wrong when this one fault is planted; empty when nothing is.
///
/// # Errors
/// When the harness fails.
pub fn replay(
    subject: &Subject,
    config: &Config,
    fault: Fault,
) -> Result<Vec<String>, NotRecorded> {
    let mut failed = 0;
    for _ in 0..TRIES {
        let run = one(subject, config, fault)?;
        failed += run.failed;
        if !run.wrong.is_empty() {
            return Ok(run.wrong);
        }
    }
    if failed == 0 {
        return Err(NotRecorded::NoSuchCase(format!(
            "nothing failed: the workload makes fewer than {} of these operations: {}",
            fault.nth,
            fault.op.name()
        )));
    }
    Ok(Vec::new())
}

/// So often a case is made again before it holds: connections are opened by threads, so the n-th operation
/// is not quite the same one each time.
pub const TRIES: u32 = 20;

fn one(subject: &Subject, config: &Config, fault: Fault) -> Result<Run, NotRecorded> {
    let mut place = Place::new(Vec::new())?;
    place.setup.busy_timeout = PATIENCE;
    let mut run = Run::default();
    walk(subject, config, &place, Some(fault), &mut run)?;
    run.failed = place.vfs.failed();
    Ok(run)
}

/// Every so often the store is closed and opened, and its log is copied into the database: that is when
/// SQLite cuts the database to its length and the log to nothing, takes the log away, and makes a new
/// one, whose first sync syncs the folder.
fn care(number: usize) -> Option<Step> {
    const EVERY: usize = 5;
    const CARE: [Step; 5] = [
        Step::Checkpoint("TRUNCATE"),
        Step::Open,
        Step::Checkpoint("RESTART"),
        Step::Open,
        Step::Checkpoint("PASSIVE"),
    ];
    let turn = (number % EVERY == EVERY - 1).then_some(number / EVERY)?;
    Some(CARE[turn % CARE.len()].clone())
}

/// The store, the states that may be stored, and what was said.
struct Walk<'w> {
    subject: &'w Subject,
    place: &'w Place,
    run: &'w mut Run,
    store: Option<Box<dyn UnderTest>>,
    /// `None`: no tables yet.
    possible: Vec<Option<State>>,
}

fn walk(
    subject: &Subject,
    config: &Config,
    place: &Place,
    fault: Option<Fault>,
    run: &mut Run,
) -> Result<(), NotRecorded> {
    let mut drawer = Drawer::new(config.seed);
    let mut walk = Walk {
        subject,
        place,
        run,
        store: None,
        possible: vec![None],
    };
    place.vfs.arm(fault);
    let mut left = LASTS;
    for number in 0..config.ops {
        if place.vfs.failed() > 0 && fault.is_some_and(|fault| fault.lasting) {
            if left == 0 {
                place.vfs.arm(None);
            }
            left = left.saturating_sub(1);
        }
        let state = walk.possible.last().expect("never empty").clone();
        let (mut step, now) = drawer.step(number, state.as_ref());
        if let Some(care) = care(number) {
            step = care;
        }
        if walk.store.is_none() {
            step = Step::Open;
        }
        walk.step(&step, now)?;
    }
    // The fault is over: the store works, and the same calls give the truth.
    let seen: Vec<(Op, u64)> = Op::ALL.map(|op| (op, place.vfs.seen(op))).to_vec();
    place.vfs.arm(None);
    let (_, now) = drawer.step(0, None);
    if walk.store.is_none() {
        walk.step(&Step::Open, now)?;
    }
    let deadline = Instant::now() + RECOVERY;
    for _ in 0..2 {
        let Some(state) = walk.possible.last().expect("never empty").clone() else {
            break;
        };
        let step = if state.seats.is_empty() {
            drawer.step(0, Some(&state)).0
        } else {
            Step::Run(drawer.command(&state))
        };
        while !walk.step(&step, now)? {
            if Instant::now() > deadline {
                walk.wrong(&step, "it does not answer although nothing fails any more");
                break;
            }
        }
    }
    walk.close()?;
    place.vfs.restore_counts(&seen);
    Ok(())
}

impl Walk<'_> {
    fn wrong(&mut self, step: &Step, what: &str) {
        self.run.wrong.push(format!("{step}: {what}"));
    }

    fn said(&mut self, answer: &'static str) {
        *self.run.answers.entry(answer).or_default() += 1;
    }

    /// One step. Was it answered?
    fn step(&mut self, step: &Step, now: Timestamp) -> Result<bool, NotRecorded> {
        self.place.setup.clock.set(now);
        self.run.calls += 1;
        match step {
            Step::Open => {
                self.store = None;
                self.place.vfs.wait_closed()?;
                self.open(step);
                Ok(true)
            }
            // It may fail; it must not do harm.
            Step::Checkpoint(mode) => {
                let _ = self.place.checkpoint(mode);
                Ok(true)
            }
            Step::Add(_) | Step::Run(_) => self.call(step, now, 0),
            // One by one: of a batch under a fault it is not certain who gets which answer.
            Step::Together(commands) => {
                let mut answered = true;
                for command in commands {
                    answered &= self.step(&Step::Run(command.clone()), now)?;
                }
                Ok(answered)
            }
        }
    }

    fn open(&mut self, step: &Step) {
        let made: Vec<_> = self
            .possible
            .iter()
            .map(|state| Some(state.clone().unwrap_or_default()))
            .collect();
        let opened = (self.subject.open)(&self.place.path(), &self.place.setup);
        match opened {
            Ok(store) => {
                self.possible = made;
                self.store = Some(store);
                self.said("opened");
            }
            Err(error) => {
                self.possible.extend(made);
                self.possible.dedup();
                self.said("not opened");
                if matches!(error, StoreError::Corrupt { .. } | StoreError::Invalid(_)) {
                    self.wrong(step, &in_full(&error));
                }
            }
        }
    }

    /// One call, repeated while its outcome is unknown. Was it answered?
    fn call(&mut self, step: &Step, now: Timestamp, tries: u32) -> Result<bool, NotRecorded> {
        let Some(store) = &self.store else {
            return Ok(false);
        };
        let answer = match step {
            Step::Run(command) => store.execute(command).map(|receipt| format!("{receipt:?}")),
            Step::Add(seats) => store.add_seats(seats).map(|done| format!("{}", done.added)),
            Step::Open | Step::Checkpoint(_) | Step::Together(_) => return Ok(true),
        };
        match answer {
            Ok(answer) => {
                self.said("answered");
                self.answered(step, now, &Ok(answer));
                return Ok(true);
            }
            Err(error @ StoreError::UnknownSeat(_)) => {
                self.said("answered");
                let answer = told(Err(error)).map(|receipt| format!("{receipt:?}"));
                self.answered(step, now, &answer);
                return Ok(true);
            }
            Err(error) if error.happened() == Happened::No => {
                self.said(if matches!(error, StoreError::Busy { .. }) {
                    "busy"
                } else {
                    "not applied"
                });
                if matches!(error, StoreError::Corrupt { .. } | StoreError::Invalid(_)) {
                    self.wrong(step, &in_full(&error));
                }
            }
            Err(_) => {
                self.said("unknown");
                let mut more: Vec<Option<State>> = Vec::new();
                for state in &self.possible {
                    let (after, _) = expected(state.as_ref(), step, now);
                    if !self.possible.contains(&after) && !more.contains(&after) {
                        more.push(after);
                    }
                }
                self.possible.extend(more);
                if tries == 0 {
                    self.crash(step, now)?;
                }
                // With a fault that lasts, it is given up after a while: it stays unknown.
                if tries < 2 {
                    return self.call(step, now, tries + 1);
                }
            }
        }
        Ok(false)
    }

    /// Keeps the states in which the reference gives this very answer.
    fn answered(&mut self, step: &Step, now: Timestamp, answer: &Result<String, String>) {
        let fitting: Vec<Option<State>> = self
            .possible
            .iter()
            .map(|state| expected(state.as_ref(), step, now))
            .filter(|(_, told)| told == answer)
            .map(|(after, _)| after)
            .collect();
        if fitting.is_empty() {
            let states = self.possible.len();
            let (_, told) = expected(self.possible[0].as_ref(), step, now);
            self.wrong(step, &format!("answered {answer:?}, and the reference gives that in none of {states} states; in the first {told:?}"));
        } else {
            self.possible = fitting;
        }
    }

    /// The machine crashes now, on a copy of the files; then the same call is made again.
    fn crash(&mut self, step: &Step, now: Timestamp) -> Result<(), NotRecorded> {
        let log = self.place.vfs.log_so_far();
        let mut disk = image::Disk::new(&log);
        disk.advance(log.events.len());
        for (kind, seed) in [
            (Kind::Nothing, 0),
            (Kind::Everything, 0),
            (Kind::Subset, 1),
            (Kind::Torn512, 2),
        ] {
            self.run.crashes += 1;
            // Each in a folder of its own: a pool closes its connections when it likes.
            let folder = memory_folder()?;
            let image = disk.image(kind, mix(seed, &[log.events.len() as u64]));
            let rows = match recover(folder.path(), &image) {
                Ok(rows) => rows,
                Err(problem) => {
                    self.wrong(step, &format!("after a crash ({kind}): {problem}"));
                    continue;
                }
            };
            let found = self
                .possible
                .iter()
                .find(|state| Rows::of(state.as_ref()) == rows);
            let Some(found) = found.cloned() else {
                let expected = Rows::of(self.possible[0].as_ref());
                let what = rows.difference(&expected);
                self.wrong(
                    step,
                    &format!("after a crash ({kind}) no possible state is there: {what}"),
                );
                continue;
            };
            // SQLite's own VFS has recovered the files by now; the real store goes on with them.
            self.place.setup.clock.set(now);
            let again = again(folder.path(), step, Arc::clone(&self.place.setup.clock));
            let (_, told) = expected(found.as_ref(), step, now);
            if again != told {
                self.wrong(step, &format!("repeated after a crash ({kind}): answered {again:?}, the reference says {told:?}"));
            }
        }
        Ok(())
    }

    /// Closes everything; what is stored must be one of the states.
    fn close(&mut self) -> Result<(), NotRecorded> {
        if let Some(store) = &self.store {
            match store.audit() {
                Ok(found) => {
                    for violation in &found {
                        self.wrong(&Step::Open, &format!("the audit finds {violation}"));
                    }
                }
                Err(error) => self.wrong(&Step::Open, &format!("no audit: {}", in_full(&error))),
            }
        } else {
            self.wrong(
                &Step::Open,
                "it does not open although nothing fails any more",
            );
        }
        self.store = None;
        self.place.vfs.wait_closed()?;
        let log = self.place.vfs.log_so_far();
        let mut disk = image::Disk::new(&log);
        disk.advance(log.events.len());
        let folder = memory_folder()?;
        for kind in [Kind::Nothing, Kind::Everything] {
            match recover(folder.path(), &disk.image(kind, 0)) {
                Ok(rows)
                    if self
                        .possible
                        .iter()
                        .any(|state| Rows::of(state.as_ref()) == rows) => {}
                Ok(rows) => {
                    let expected = Rows::of(self.possible[0].as_ref());
                    let what = rows.difference(&expected);
                    self.wrong(
                        &Step::Open,
                        &format!("at the end ({kind}) no possible state is there: {what}"),
                    );
                }
                Err(problem) => self.wrong(&Step::Open, &format!("at the end ({kind}): {problem}")),
            }
        }
        Ok(())
    }
}

/// The state after a step, and its answer, by the reference.
fn expected(
    state: Option<&State>,
    step: &Step,
    now: Timestamp,
) -> (Option<State>, Result<String, String>) {
    let mut state = state.cloned().unwrap_or_default();
    let answer = match step {
        Step::Run(command) => run_reference(&mut state, command, now),
        Step::Add(seats) => {
            let added = seats.iter().filter(|seat| state.add(seat, now)).count();
            Ok(added.to_string())
        }
        Step::Open | Step::Checkpoint(_) | Step::Together(_) => Ok(String::new()),
    };
    (Some(state), answer)
}

fn run_reference(state: &mut State, command: &Command, now: Timestamp) -> Result<String, String> {
    state
        .apply(command, now)
        .map(|decided| format!("{:?}", decided.receipt))
        .map_err(|rejected| rejected.to_string())
}

/// The same call on the real store, on files that were recovered.
fn again(folder: &Path, step: &Step, clock: Arc<soldonce::ManualClock>) -> Result<String, String> {
    let store = SqliteStore::options()
        .pool_size(1)
        .busy_timeout(Duration::from_secs(1))
        .clock(clock)
        .open(folder.join(super::workload::DATABASE))
        .map_err(|error| in_full(&error))?;
    match step {
        Step::Run(command) => told(store.execute(command)).map(|receipt| format!("{receipt:?}")),
        Step::Add(seats) => store
            .add_seats(seats)
            .map(|done| done.added.to_string())
            .map_err(|error| in_full(&error)),
        Step::Open | Step::Checkpoint(_) | Step::Together(_) => Ok(String::new()),
    }
}

//! Killed processes: a child sells seats until SIGKILL ends it in the middle, many rounds on one file.
//!
//! The child says through a pipe what it is about to call, and then what was answered; what it could
//! not say any more is unknown. The parent puts all rounds together into one history, closes it with a
//! read of every seat and payment, and gives it to the check of concurrent histories. The store's clock
//! is set forth and back by hours, between the rounds and during them.
//!
//! A killed process leaves all that it wrote to the system behind: a missing sync can not be seen
//! here. That is what the power loss is for.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::seq::IndexedRandom as _;
use rand::{Rng, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use soldonce::{
    Claim, Clock, Command, HoldDuration, HoldId, HoldOutcome, HoldRequest, Outcome, OwnerId,
    PaymentId, SeatId, SeatStore, SqliteStore, StoreError, Timestamp,
};

use super::examine::mix;
use super::workload::in_full;
use crate::history::{
    Answer, ClockRule, FileError, History, OPEN, Operation, Recorder, RecorderOptions, RunClock,
    When, read, write,
};
use crate::serializable::{Report as Checked, check};

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Of everything random; not of how the threads interleave.
    pub seed: u64,
    /// How often a child is killed.
    pub rounds: u64,
    /// Threads of a child.
    pub threads: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            rounds: 100,
            threads: 4,
        }
    }
}

/// What a child is told.
#[derive(Debug, Clone)]
pub struct Round {
    /// The database.
    pub store: PathBuf,
    /// The instant 0 of all processes.
    pub start: Timestamp,
    /// Which round.
    pub number: u64,
    /// Of the whole run.
    pub seed: u64,
    /// Its threads.
    pub threads: usize,
}

/// Why the rounds did not come to their end.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// A store said so.
    #[error("{}", in_full(.0))]
    Store(#[from] StoreError),
    /// What a child said can not be read.
    #[error("what a child said can not be read: {0}")]
    File(#[from] FileError),
    /// The system said so.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// What the rounds have seen.
#[derive(Debug)]
pub struct Report {
    /// Children that were killed.
    pub killed: u64,
    /// Calls in all.
    pub calls: u64,
    /// Calls that were in flight when their child was killed.
    pub in_flight: u64,
    /// What the check of the history says.
    pub checked: Checked,
    /// What the audit found after a round, and everything else that was wrong.
    pub wrong: Vec<String>,
    /// It was stopped from outside; what was recorded until then is checked.
    pub interrupted: bool,
}

/// Seats of one round; the next round goes on with them.
const SEATS: u64 = 12;

fn seats_of(round: u64) -> impl Iterator<Item = SeatId> {
    (0..SEATS).map(move |number| SeatId::new(format!("s-{round}-{number}")).expect("valid"))
}

/// The clock of the run, off by some hours. It shows when the calls are; the store must do with it.
struct Stepping {
    clock: RunClock,
    off_millis: AtomicI64,
}

const HOUR: i64 = 3_600_000;

impl Stepping {
    fn step(&self, random: &mut impl Rng) {
        let off = random.random_range(-5 * HOUR..=5 * HOUR);
        self.off_millis.store(off, Ordering::Relaxed);
    }
}

impl Clock for Stepping {
    fn now(&self) -> Timestamp {
        let off = self.off_millis.load(Ordering::Relaxed);
        let millis = self.clock.now().as_unix_millis() + off;
        Timestamp::from_unix_millis(millis).unwrap_or(Timestamp::MIN)
    }
}

/// A child: it sells until it is killed. It writes a history, each call once before and once after it.
///
/// # Errors
/// When the store can not be opened.
pub fn child(round: &Round) -> Result<(), NotRun> {
    let clock = Arc::new(Stepping {
        clock: RunClock::shared(round.start),
        off_millis: AtomicI64::new(0),
    });
    clock.step(&mut ChaCha8Rng::seed_from_u64(mix(
        round.seed,
        &[round.number],
    )));
    let store = SqliteStore::options()
        .clock(Arc::clone(&clock))
        .open(&round.store)?;
    let seats: Vec<SeatId> = seats_of(round.number)
        .chain(round.number.checked_sub(1).into_iter().flat_map(seats_of))
        .collect();
    let hot = AtomicUsize::new(0);
    let delivered = Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for thread in 0..round.threads {
            let buyer = Buyer {
                store: &store,
                clock: &clock,
                seats: &seats,
                hot: &hot,
                delivered: &delivered,
                client: u16::try_from(thread).unwrap_or(u16::MAX),
                random: ChaCha8Rng::seed_from_u64(mix(round.seed, &[round.number, thread as u64])),
                owner: OwnerId::new(format!("o-{thread}")).expect("valid"),
                mine: None,
            };
            threads.spawn(move || buyer.buy());
        }
    });
    Ok(())
}

struct Buyer<'c> {
    store: &'c SqliteStore,
    clock: &'c Stepping,
    seats: &'c [SeatId],
    hot: &'c AtomicUsize,
    delivered: &'c Mutex<Vec<Command>>,
    client: u16,
    random: ChaCha8Rng,
    owner: OwnerId,
    mine: Option<Claim>,
}

impl Buyer<'_> {
    fn buy(mut self) {
        loop {
            let command = self.command();
            let invoked = self.clock.clock.instant();
            // Whoever reads it is gone: so are we, soon.
            if !self.say(&command, invoked, None) {
                return;
            }
            let answer = self.store.execute(&command);
            if !self.say(&command, invoked, Some(&answer)) {
                return;
            }
            if let Ok(receipt) = &answer
                && let Outcome::Hold(
                    HoldOutcome::Held { hold_id, .. } | HoldOutcome::AlreadyHeld { hold_id, .. },
                ) = receipt.outcome
            {
                self.mine = Some(Claim {
                    seat: command.seat().clone(),
                    owner: self.owner.clone(),
                    hold_id,
                });
            }
            if self.random.random_ratio(1, 200) {
                self.clock.step(&mut self.random);
            }
        }
    }

    fn command(&mut self) -> Command {
        let calls = self.hot.fetch_add(1, Ordering::Relaxed);
        let hot = (calls / 40 + usize::from(self.random.random_ratio(1, 4))) % self.seats.len();
        match (self.random.random_range(0..100), &self.mine) {
            (0..25, Some(claim)) => {
                let payment = PaymentId::new(format!("p-{}-{}", claim.seat, claim.hold_id.get()))
                    .expect("valid");
                let command = Command::ConfirmPayment {
                    payment,
                    claim: claim.clone(),
                };
                let delivered = self.delivered.lock();
                delivered
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(command.clone());
                command
            }
            (25..35, Some(claim)) => Command::Release(claim.clone()),
            (35..45, _) => {
                let delivered = self.delivered.lock();
                let delivered = delivered.unwrap_or_else(PoisonError::into_inner);
                match delivered[delivered.len().saturating_sub(3)..].choose(&mut self.random) {
                    Some(command) => command.clone(),
                    None => Command::Release(Claim {
                        seat: self.seats[hot].clone(),
                        owner: self.owner.clone(),
                        hold_id: HoldId::new(1).expect("valid"),
                    }),
                }
            }
            _ => Command::Hold(HoldRequest {
                seat: self.seats[hot].clone(),
                owner: self.owner.clone(),
                ttl: HoldDuration::from_millis(self.random.random_range(1..60)).expect("valid"),
            }),
        }
    }

    /// Writes one line: a call that has begun, or one that was answered.
    fn say(
        &self,
        command: &Command,
        invoked: u64,
        answer: Option<&Result<soldonce::Receipt<Outcome>, StoreError>>,
    ) -> bool {
        let mut history = History::default();
        let call = history.names.call(command);
        let told = match answer {
            None => Answer::Unknown,
            Some(Ok(receipt)) => history.names.told(&receipt.outcome).receipt(receipt),
            Some(Err(error)) => Answer::of_error(error),
        };
        let returned = match (answer, told) {
            (None, _) | (_, Answer::Unknown) => OPEN,
            _ => self.clock.clock.instant(),
        };
        let when = When {
            client: self.client,
            invoked,
            returned,
        };
        history.push(when, call, told);
        let mut text = Vec::new();
        if write(&history, &mut text).is_err() {
            return false;
        }
        let line = text.split(|byte| *byte == b'\n').nth(1).unwrap_or_default();
        let mut line = line.to_vec();
        line.push(b'\n');
        // One write, so that lines of two threads do not mix.
        let mut output = io::stdout().lock();
        output
            .write_all(&line)
            .and_then(|()| output.flush())
            .is_ok()
    }
}

/// What a child had said when it was killed: a call with an answer counts as answered.
fn history_of(said: &[u8]) -> Result<History, FileError> {
    let whole = said
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |last| last + 1);
    let mut text = Vec::new();
    write(&History::default(), &mut text)?;
    text.extend_from_slice(&said[..whole]);
    let mut history = read(text.as_slice())?;
    let mut calls: BTreeMap<(u16, u64), Operation> = BTreeMap::new();
    for operation in std::mem::take(&mut history.operations) {
        let when = operation.when();
        let known = calls
            .entry((when.client, when.invoked))
            .or_insert(operation);
        if when.returned != OPEN {
            *known = operation;
        }
    }
    history.operations = calls.into_values().collect();
    history.sort();
    Ok(history)
}

/// Kills children, and checks all that they had said.
///
/// # Errors
/// [`NotRun`].
pub fn run(
    folder: &Path,
    config: &Config,
    start_child: &dyn Fn(&Round) -> io::Result<Child>,
    stop: &AtomicBool,
    progress: &dyn Fn(u64),
) -> Result<Report, NotRun> {
    let path = folder.join("killed.sqlite");
    let start = soldonce::SystemClock::default().now();
    let clock = RunClock::shared(start);
    let open = || {
        SqliteStore::options()
            .clock(clock.clone())
            .pool_size(2)
            .open(&path)
    };
    let all: Vec<SeatId> = (0..config.rounds).flat_map(seats_of).collect();
    open()?.add_seats(&all)?;
    let mut random = ChaCha8Rng::seed_from_u64(config.seed);
    let mut report = Report {
        killed: 0,
        calls: 0,
        in_flight: 0,
        checked: check(&History::default()),
        wrong: Vec::new(),
        interrupted: false,
    };
    let mut history = History::default();
    for number in 0..config.rounds {
        if stop.load(Ordering::Relaxed) {
            report.interrupted = true;
            break;
        }
        let round = Round {
            store: path.clone(),
            start,
            number,
            seed: config.seed,
            threads: config.threads,
        };
        let said = kill_one(start_child(&round)?, random.random_range(1..40))?;
        report.killed += 1;
        let part = history_of(&said)?;
        let open_calls = part
            .operations
            .iter()
            .filter(|call| call.returned() == OPEN);
        report.in_flight += open_calls.count() as u64;
        history.append(&part);
        match open()?.audit() {
            Ok(found) => {
                let found = found.iter();
                report
                    .wrong
                    .extend(found.map(|found| format!("after round {number}: {found}")));
            }
            Err(error) => report
                .wrong
                .push(format!("after round {number}: {}", in_full(&error))),
        }
        progress(number + 1);
    }
    history.append(&last_reads(&open()?, &clock, &history));
    history.header.clock = ClockRule::Free;
    report.calls = history.operations.len() as u64;
    report.checked = check(&history);
    Ok(report)
}

/// Waits until the child sells, lets it go on for so many milliseconds, and kills it.
fn kill_one(mut child: Child, millis: u64) -> io::Result<Vec<u8>> {
    let mut pipe = child
        .stdout
        .take()
        .ok_or_else(|| io::Error::other("a child without a pipe"))?;
    let mut said = vec![0; 1];
    // The first byte says that the store is open.
    let began = pipe.read_exact(&mut said);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(millis));
        let killed = child.kill();
        child.wait().and(killed)
    });
    began?;
    pipe.read_to_end(&mut said)?;
    killer
        .join()
        .map_err(|_| io::Error::other("the thread that kills has panicked"))??;
    Ok(said)
}

/// Reads every seat and payment that was named.
fn last_reads(store: &SqliteStore, clock: &RunClock, history: &History) -> History {
    let mut options = RecorderOptions::new(clock.clone());
    (options.check, options.keep) = (false, true);
    let recorder = Recorder::start(options);
    let mut client = recorder.client();
    for seat in history.names.seats() {
        let _ = client.read_seat(store, seat);
    }
    for payment in history.names.payments() {
        let _ = client.read_payment(store, payment);
    }
    drop(client);
    recorder.finish().history
}

/// How a child is started: this program, with these arguments.
///
/// # Errors
/// When it can not be started.
pub fn start(program: &Path, arguments: &[String]) -> io::Result<Child> {
    std::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
}

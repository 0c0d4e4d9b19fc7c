//! A workload: calls drawn from a seed, made on a store, and noted with what they must lead to.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use soldonce::{
    Claim, Command, HoldDuration, HoldId, HoldRequest, ManualClock, Outcome, OwnerId, PaymentId,
    Receipt, SeatId, SeatState, SeatStore, SqliteStore, StoreError, Timestamp,
};

use super::log::{Log, Mark};
use super::together;
use super::vfs::{StillOpen, Vfs, seed_random_numbers};
use crate::reference::{Rejected, State};
use crate::sequence::notation;

/// The name of the database in its folder.
pub const DATABASE: &str = "seats.sqlite";

/// What a store under test is opened with.
#[derive(Clone)]
pub struct Setup {
    /// The VFS that notes everything, by name.
    pub vfs: &'static str,
    /// The store's clock.
    pub clock: Arc<ManualClock>,
    /// How long a call waits for a lock or a connection.
    pub busy_timeout: Duration,
}

/// A store under test.
pub trait UnderTest: SeatStore {
    /// How many calls are in line for a commit; `None`: each call commits for itself.
    fn in_line(&self) -> Option<usize> {
        None
    }
}

impl UnderTest for SqliteStore {
    fn in_line(&self) -> Option<usize> {
        Self::in_line(self)
    }
}

/// Opens the store under test on a file.
pub type Open = dyn Fn(&Path, &Setup) -> Result<Box<dyn UnderTest>, StoreError> + Send + Sync;

/// What a workload does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Opens the store; closes it before, when it is open.
    Open,
    /// Adds seats, many at once now and then: a transaction of several pages.
    Add(Vec<SeatId>),
    /// Runs a command.
    Run(Command),
    /// Runs commands of several callers at once, in one batch of the commit queue; one by one on a
    /// store that has none.
    Together(Vec<Command>),
    /// Another connection copies the log into the database, in one of SQLite's ways.
    Checkpoint(&'static str),
}

/// In the notation of sequences; a hold id is the version that it was given.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown =
            |command: &Command| notation::command(command, |claim| claim.hold_id.to_string());
        match self {
            Self::Open => f.write_str("open"),
            Self::Add(seats) => write!(f, "add {} seats", seats.len()),
            Self::Run(command) => f.write_str(&shown(command)),
            Self::Together(commands) => {
                let all: Vec<String> = commands.iter().map(shown).collect();
                write!(f, "together {}", all.join(" "))
            }
            Self::Checkpoint(way) => write!(f, "checkpoint {way}"),
        }
    }
}

/// A workload as it ran: the log of the files, and after each step what must be stored.
#[derive(Debug)]
pub struct Recording {
    /// What happened to the files; the marks are numbers of steps.
    pub log: Log,
    /// The steps, and the clock at each.
    pub steps: Vec<(Step, Timestamp)>,
    /// What is stored before the first step, and after each; `None` before the store was made.
    pub states: Vec<Option<State>>,
    /// An answer that was not the reference's, or an error where nothing had failed.
    pub wrong: Vec<String>,
    /// Of each batch of the commit queue, how many calls it committed.
    pub batches: Vec<usize>,
}

/// Why a workload could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum NotRecorded {
    /// A folder for the files could not be made.
    #[error("no folder for the files: {0}")]
    Folder(#[from] std::io::Error),
    /// A connection was not closed.
    #[error(transparent)]
    StillOpen(#[from] StillOpen),
    /// The workload does not come to the point that a case names.
    #[error("{0}")]
    NoSuchCase(String),
    /// Another connection, for a checkpoint or a lock, failed.
    #[error("another connection failed: {0}")]
    Connection(#[from] rusqlite::Error),
}

/// The first time on the clock.
pub const BEGINNING: i64 = 1_000_000_000;
const HOUR: i64 = 3_600_000;

/// Draws steps that make sense in the state that they meet.
pub struct Drawer {
    random: ChaCha8Rng,
    now: i64,
    payments: Vec<Command>,
    next_payment: usize,
    bulk: usize,
}

fn timestamp(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(millis).expect("a time of the workload is in range")
}

fn seat_id(number: usize) -> SeatId {
    SeatId::new(format!("seat-{number}")).expect("valid")
}

fn owner_id(number: usize) -> OwnerId {
    OwnerId::new(format!("owner-{number}")).expect("valid")
}

impl Drawer {
    /// The number of seats that the commands are about.
    const SEATS: usize = 10;

    /// Draws from this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            now: BEGINNING,
            payments: Vec::new(),
            next_payment: 0,
            bulk: 0,
        }
    }

    /// The next step, and the clock at it.
    pub fn step(&mut self, number: usize, state: Option<&State>) -> (Step, Timestamp) {
        self.now += self.random.random_range(0..8_000);
        if self.random.random_bool(0.02) {
            // The clock is set, forth or back.
            self.now += self.random.random_range(-3 * HOUR..=3 * HOUR);
            self.now = self.now.max(HOUR);
        }
        let step = match (number, state) {
            (_, None) => Step::Open,
            (_, Some(state)) if state.seats.is_empty() => {
                Step::Add((0..Self::SEATS).map(seat_id).collect())
            }
            (_, Some(state)) => match self.random.random_range(0..100) {
                0..2 => Step::Open,
                2..4 => {
                    self.bulk += 1;
                    let from = 1000 * self.bulk;
                    Step::Add((from..from + 5).map(seat_id).collect())
                }
                4..7 => Step::Checkpoint(
                    ["PASSIVE", "FULL", "RESTART", "TRUNCATE"][self.random.random_range(0..4)],
                ),
                7..15 => {
                    let calls = self.random.random_range(3..=8);
                    Step::Together((0..calls).map(|_| self.command(state)).collect())
                }
                _ => Step::Run(self.command(state)),
            },
        };
        (step, timestamp(self.now))
    }

    /// A command, on a seat of which something is known.
    pub fn command(&mut self, state: &State) -> Command {
        let seat = seat_id(self.random.random_range(0..Self::SEATS));
        let owner = owner_id(self.random.random_range(0..3));
        let held = state
            .seats
            .get(&seat)
            .and_then(|seat| match &seat.state {
                SeatState::Held { owner, hold_id, .. } | SeatState::Sold { owner, hold_id, .. } => {
                    Some((owner.clone(), *hold_id))
                }
                SeatState::Free => None,
            })
            .filter(|_| self.random.random_bool(0.9));
        let claim = |(owner, hold_id)| Claim {
            seat: seat.clone(),
            owner,
            hold_id,
        };
        let claimed =
            claim(held.unwrap_or_else(|| (owner.clone(), HoldId::new(1).expect("valid"))));
        match self.random.random_range(0..100) {
            0..55 => Command::Hold(HoldRequest {
                seat,
                owner,
                ttl: HoldDuration::from_millis(self.random.random_range(5_000..60_000))
                    .expect("valid"),
            }),
            55..75 => Command::Release(claimed),
            75..80 if !self.payments.is_empty() => {
                let delivered = self.payments.choose(&mut self.random);
                delivered.expect("there is one").clone()
            }
            _ => {
                self.next_payment += 1;
                let payment =
                    PaymentId::new(format!("payment-{}", self.next_payment)).expect("valid");
                let command = Command::ConfirmPayment {
                    payment,
                    claim: claimed,
                };
                self.payments.push(command.clone());
                command
            }
        }
    }
}

/// Where a workload runs.
pub struct Place {
    folder: tempfile::TempDir,
    /// The VFS that notes everything.
    pub vfs: Vfs,
    /// What stores are opened with here.
    pub setup: Setup,
}

/// A folder in memory, when the system has one: no image needs to survive anything.
///
/// # Errors
/// When none can be made.
pub fn memory_folder() -> std::io::Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let mut named = tempfile::Builder::new();
    named.prefix("soldonce-crash-");
    if memory.is_dir() {
        named.tempdir_in(memory).or_else(|_| named.tempdir())
    } else {
        named.tempdir()
    }
}

impl Place {
    /// A new one, with these files in it, and a log that begins with them.
    ///
    /// # Errors
    /// When the files can not be written.
    pub fn new(files: super::log::Files) -> std::io::Result<Self> {
        let folder = memory_folder()?;
        for (name, content) in &files {
            std::fs::write(folder.path().join(name), content)?;
        }
        let vfs = Vfs::lend();
        vfs.record(files);
        let setup = Setup {
            vfs: vfs.name(),
            clock: Arc::new(ManualClock::at(timestamp(BEGINNING))),
            busy_timeout: Duration::from_secs(5),
        };
        Ok(Self { folder, vfs, setup })
    }

    /// The database.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(DATABASE)
    }

    /// A connection of somebody else. It waits for no lock: whoever holds one here goes on only
    /// after it.
    ///
    /// # Errors
    /// SQLite's.
    pub fn connection(&self) -> rusqlite::Result<rusqlite::Connection> {
        use rusqlite::OpenFlags;
        let connection = rusqlite::Connection::open_with_flags_and_vfs(
            self.path(),
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
            self.vfs.name(),
        )?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.execute_batch("PRAGMA synchronous = FULL")?;
        Ok(connection)
    }

    /// Another process's checkpoint.
    ///
    /// # Errors
    /// SQLite's.
    pub fn checkpoint(&self, mode: &str) -> rusqlite::Result<()> {
        let connection = self.connection()?;
        connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))
    }
}

/// What was answered, in a form that both sides share.
///
/// # Errors
/// Why there is no receipt.
pub fn told(answer: Result<Receipt<Outcome>, StoreError>) -> Result<Receipt<Outcome>, String> {
    answer.map_err(|error| match error {
        StoreError::UnknownSeat(_) => Rejected::UnknownSeat.to_string(),
        other => other.to_string(),
    })
}

/// Runs one step on the store and on the reference, between its two marks.
pub struct Runner<'o> {
    open: &'o Open,
    store: Option<Box<dyn UnderTest>>,
    recording: Recording,
}

impl<'o> Runner<'o> {
    /// Begins with what is stored already.
    pub fn new(open: &'o Open, state: Option<State>) -> Self {
        Self {
            open,
            store: None,
            recording: Recording {
                log: Log::default(),
                steps: Vec::new(),
                states: vec![state],
                wrong: Vec::new(),
                batches: Vec::new(),
            },
        }
    }

    /// What must be stored now.
    pub fn state(&self) -> Option<&State> {
        self.recording.states.last().expect("never empty").as_ref()
    }

    /// The store, when it is open.
    pub fn store(&self) -> Option<&dyn UnderTest> {
        self.store.as_deref()
    }

    /// Makes one step.
    ///
    /// # Errors
    /// When something of the harness fails; what the store does wrong is noted.
    pub fn step(&mut self, place: &Place, step: Step, now: Timestamp) -> Result<(), NotRecorded> {
        if let (Step::Together(commands), Some(None)) =
            (&step, self.store.as_ref().map(|store| store.in_line()))
        {
            let mut alone = commands.iter().cloned().map(Step::Run);
            return alone.try_for_each(|step| self.step(place, step, now));
        }
        let number = self.recording.steps.len();
        if step == Step::Open {
            self.store = None;
            place.vfs.wait_closed()?;
        }
        place.setup.clock.set(now);
        let mut state = self.state().cloned();
        place.vfs.mark(Mark::Begin(number));
        let (got, expected) = match (&step, &self.store) {
            (Step::Open, _) => {
                state.get_or_insert_default();
                let opened = (self.open)(&place.path(), &place.setup);
                match opened {
                    Ok(store) => {
                        self.store = Some(store);
                        (String::new(), String::new())
                    }
                    Err(error) => (in_full(&error), String::new()),
                }
            }
            (Step::Checkpoint(mode), _) => {
                place.checkpoint(mode)?;
                (String::new(), String::new())
            }
            (Step::Add(seats), Some(store)) => {
                let state = state.get_or_insert_default();
                let added = seats.iter().filter(|seat| state.add(seat, now)).count();
                let got = store.add_seats(seats).map(|done| done.added);
                (format!("{got:?}"), format!("Ok({added})"))
            }
            (Step::Run(command), Some(store)) => {
                let state = state.get_or_insert_default();
                let expected = state.apply(command, now).map(|decided| decided.receipt);
                let got = told(store.execute(command));
                let expected = expected.map_err(|rejected| rejected.to_string());
                (format!("{got:?}"), format!("{expected:?}"))
            }
            (Step::Together(commands), Some(store)) => {
                let called = together::call(place, store.as_ref(), commands)?;
                let lined_up = called.iter().filter(|call| call.lined_up).count();
                self.recording.batches.push(lined_up);
                let state = state.get_or_insert_default();
                let wrong = together::compare(commands, called, state, now);
                (wrong.join("; "), String::new())
            }
            (Step::Add(_) | Step::Run(_) | Step::Together(_), None) => {
                ("the store is not open".to_owned(), String::new())
            }
        };
        place.vfs.mark(Mark::End(number));
        if got != expected {
            self.recording.wrong.push(format!(
                "step {number}, {step}: answered {got}, the reference says {expected}"
            ));
        }
        self.recording.steps.push((step, now));
        self.recording.states.push(state);
        Ok(())
    }

    /// Closes the store and gives out what was recorded.
    ///
    /// # Errors
    /// When a connection is not closed.
    pub fn finish(mut self, place: &Place) -> Result<Recording, NotRecorded> {
        self.store = None;
        place.vfs.wait_closed()?;
        self.recording.log = place.vfs.finish();
        Ok(self.recording)
    }
}

/// An error with its causes.
pub fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

/// Records a workload of so many steps on a new store. The same seed gives the same log, unless
/// something else in this process draws from SQLite's random numbers at the same time.
///
/// # Errors
/// When something of the harness fails.
pub fn record(open: &Open, seed: u64, steps: usize) -> Result<Recording, NotRecorded> {
    let place = Place::new(Vec::new())?;
    record_in(&place, open, seed, steps)
}

/// The same in a given place.
///
/// # Errors
/// When something of the harness fails.
pub fn record_in(
    place: &Place,
    open: &Open,
    seed: u64,
    steps: usize,
) -> Result<Recording, NotRecorded> {
    let low = u32::try_from(seed & 0xffff_ffff).expect("masked");
    seed_random_numbers(low);
    let mut drawer = Drawer::new(seed);
    let mut runner = Runner::new(open, None);
    for number in 0..steps {
        let (step, now) = drawer.step(number, runner.state());
        runner.step(place, step, now)?;
    }
    runner.finish(place)
}

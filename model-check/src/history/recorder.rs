//! Recording a run on many threads, and checking it while it goes on.
//!
//! Each thread has a [`Client`] of its own, with a buffer of its own and numbers of its own for the
//! names it uses, so recording takes no lock and shares no memory with other threads. Full buffers go
//! to the recorder's thread, which gives them common numbers, merges them in the order of return, and
//! feeds the [check](crate::serializable). Each client publishes an instant up to which everything has
//! been handed over; the merge goes as far as the slowest client has.

use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use soldonce::{PaymentId, SeatId, Timestamp};

use super::decided::{Decided, Sink};
use super::details::Details;
use super::names::{Names, PaymentNo};
use super::operation::Operation;
use super::{Header, History, RunClock};
use crate::serializable::{Checker, Report, Verdict};

mod client;
mod merge;

pub use client::{Client, Invoked};
use merge::Merge;

/// So many buffers may be on their way to the recorder's thread, 32 KiB each; then clients wait, between
/// two calls, so that memory stays flat when they are faster than the check.
const IN_TRANSIT: usize = 256;
/// What a recorder is started with.
#[derive(Debug, Clone)]
pub struct RecorderOptions {
    /// The clock; give a clone of it to the store.
    pub clock: RunClock,
    /// When the seats were added, all in one call; `None` when it is not known, and then not compared.
    pub seats_added_at: Option<Timestamp>,
    /// Seats that will be named and do not exist.
    pub missing_seats: Vec<SeatId>,
    /// Check while recording.
    pub check: bool,
    /// Keep the whole history, 64 bytes a call.
    pub keep: bool,
    /// Write what was decided about each payment to a temporary file, one line a payment. Only what is
    /// checked is written.
    pub decided: bool,
}

impl RecorderOptions {
    /// Checks while recording, keeps nothing and writes nothing.
    pub fn new(clock: RunClock) -> Self {
        Self {
            clock,
            seats_added_at: None,
            missing_seats: Vec::new(),
            check: true,
            keep: false,
            decided: false,
        }
    }
}

/// What a recorder ends with.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The final verdict. Inconclusive when the run was not to be checked.
    pub report: Report,
    /// The history; without its operations when it was not to be kept. Its names and details are
    /// those of the operations in the report.
    pub history: History,
    /// How many calls were held back at most, because a client had not handed over what came before.
    pub most_held_back: usize,
    /// What was decided about each payment, when it was to be written. Nothing when that failed; the
    /// verdict is then inconclusive and says why.
    pub decided: Option<Decided>,
}

/// Records a run, and checks it while it goes on.
///
/// ```
/// use model_check::history::{Recorder, RecorderOptions, RunClock};
/// use model_check::serializable::Verdict;
/// use soldonce::{Command, HoldDuration, HoldRequest, OwnerId, SeatId, SeatStore, SqliteStore};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let clock = RunClock::start();
/// let store = SqliteStore::options().clock(clock.clone()).open(folder.path().join("seats.sqlite"))?;
/// let seat = SeatId::new("A1")?;
/// store.add_seats(&[seat.clone()])?;
///
/// let recorder = Recorder::start(RecorderOptions::new(clock));
/// std::thread::scope(|threads| {
///     for owner in ["alice", "bob"] {
///         let (store, seat, mut client) = (&store, seat.clone(), recorder.client());
///         threads.spawn(move || {
///             let owner = OwnerId::new(owner).expect("valid");
///             let ttl = HoldDuration::from_secs(60).expect("valid");
///             let hold = Command::Hold(HoldRequest { seat, owner, ttl });
///             client.execute(store, &hold).expect("the store answers");
///         });
///     }
/// });
/// assert_eq!(recorder.finish().report.verdict, Verdict::Holds);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    clock: RunClock,
    to_thread: SyncSender<Message>,
    thread: JoinHandle<Recorded>,
}

#[derive(Debug)]
struct Shared {
    /// Per client, the instant before which everything has been handed over.
    promises: Mutex<Vec<Arc<AtomicU64>>>,
    so_far: Mutex<Report>,
}

enum Message {
    Batch(Box<Batch>),
    /// Which payments are remembered?
    Remembered(Sender<Vec<PaymentId>>),
    Finish,
}

/// Some calls of one client, in its own numbers.
struct Batch {
    client: u16,
    /// When it was handed over.
    at: u64,
    /// The numbers begin anew.
    anew: bool,
    new_names: Names,
    operations: Vec<Operation>,
    details: Details,
    /// Payments that no call will name after these.
    closed: Vec<PaymentNo>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is locked here is left half done by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// Starts the recorder's thread.
    pub fn start(options: RecorderOptions) -> Self {
        let sink = options.decided.then(Sink::default);
        Self::start_with(options, sink)
    }

    fn start_with(options: RecorderOptions, sink: Option<Sink>) -> Self {
        let mut history = History {
            header: Header {
                clock: options.clock.rule(),
                seats_added_at: options.seats_added_at,
                missing_seats: Vec::new(),
            },
            ..History::default()
        };
        for seat in &options.missing_seats {
            let seat = history.names.seat(seat);
            history.header.missing_seats.push(seat);
        }
        let checker = options.check.then(|| Checker::new(history.header.clone()));
        let shared = Arc::new(Shared {
            promises: Mutex::new(Vec::new()),
            so_far: Mutex::new(report(checker.as_ref())),
        });
        let (to_thread, from_clients) = sync_channel(IN_TRANSIT);
        let mut merge = Merge::new(
            Arc::clone(&shared),
            options.clock.clone(),
            (checker, history),
            options.keep,
            sink,
        );
        let thread = std::thread::spawn(move || {
            merge.run(&from_clients);
            merge.end()
        });
        Self {
            shared,
            clock: options.clock,
            to_thread,
            thread,
        }
    }

    /// A handle for one more thread. There may be 65,536 in a run.
    pub fn client(&self) -> Client {
        let mut promises = lock(&self.shared.promises);
        let number = u16::try_from(promises.len()).expect("at most 65,536 clients in a run");
        // Under the lock: the merge has not gone further than this.
        let now = self.clock.instant();
        let promise = Arc::new(AtomicU64::new(now));
        promises.push(Arc::clone(&promise));
        Client::new(number, self.clock.clone(), promise, self.to_thread.clone())
    }

    /// The verdict on what has been merged so far.
    pub fn so_far(&self) -> Report {
        lock(&self.shared.so_far).clone()
    }

    /// The payments that a call may still name: all that were not [closed](Client::close_payment), and those
    /// closed ones that the check needs for something else. From now on none of them is forgotten, so they
    /// can be named again. Asks for all that was handed over until now.
    pub fn remembered_payments(&self) -> Vec<PaymentId> {
        let (answer, answered) = channel();
        // The thread ends by itself only if it panicked, and `finish` says so.
        let _ = self.to_thread.send(Message::Remembered(answer));
        answered.recv().unwrap_or_default()
    }

    /// Ends the run and gives the final verdict. Drop all clients before: what one of them has not
    /// handed over is not in the history, and its verdict is then inconclusive.
    pub fn finish(self) -> Recorded {
        // The thread ends by itself only if it panicked, and then `join` says so.
        let _ = self.to_thread.send(Message::Finish);
        match self.thread.join() {
            Ok(recorded) => recorded,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn report(checker: Option<&Checker>) -> Report {
    checker.map_or_else(
        || Report {
            verdict: Verdict::Inconclusive("the run was recorded, not checked".to_owned()),
            counts: crate::serializable::Counts::default(),
        },
        Checker::report,
    )
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;

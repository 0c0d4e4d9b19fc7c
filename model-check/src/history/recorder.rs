//! Recording a run on many threads, and checking it while it goes on.
//!
//! Each thread has a [`Client`] of its own, with a buffer of its own and numbers of its own for the
//! names it uses, so recording takes no lock and shares no memory with other threads. Full buffers go
//! to the recorder's thread, which gives them common numbers, merges them in the order of return, and
//! feeds the [check](crate::serializable). Each client publishes an instant up to which everything has
//! been handed over; the merge goes as far as the slowest client has.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use soldonce::{
    Command, Outcome, PaymentId, PaymentRecord, Receipt, Seat, SeatId, SeatStore, StoreError,
    Timestamp,
};

use super::convert::Numbering;
use super::names::Names;
use super::operation::{Answer, Call, Details, OPEN, Operation, When};
use super::{Header, History, RunClock};
use crate::serializable::{Checker, Report, Verdict};

/// A buffer goes to the recorder when it has so many calls,
const FULL: usize = 512;
/// or when so much time has gone by since the last one did, in nanoseconds.
const OLD: u64 = 10_000_000;
/// So many buffers may be on their way to the recorder's thread, 32 KiB each; then clients wait, between
/// two calls, so that memory stays flat when they are faster than the check.
const IN_TRANSIT: usize = 256;
/// A client forgets its numbers, and begins anew, when it has used so many names: 130 bytes each.
const MANY_NAMES: usize = 1 << 13;

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
}

impl RecorderOptions {
    /// Checks while recording, and keeps nothing.
    pub fn new(clock: RunClock) -> Self {
        Self {
            clock,
            seats_added_at: None,
            missing_seats: Vec::new(),
            check: true,
            keep: false,
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
    Finish,
}

/// Some calls of one client, in its own numbers.
struct Batch {
    client: u16,
    /// The numbers begin anew.
    anew: bool,
    new_names: Names,
    operations: Vec<Operation>,
    details: Details,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is locked here is left half done by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// Starts the recorder's thread.
    pub fn start(options: RecorderOptions) -> Self {
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
        let mut merge = Merge {
            shared: Arc::clone(&shared),
            clock: options.clock.clone(),
            clients: Vec::new(),
            checker,
            history,
            keep: options.keep,
            held_back: 0,
            most_held_back: 0,
        };
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
        Client {
            number,
            clock: self.clock.clone(),
            promise,
            to_thread: self.to_thread.clone(),
            names: Names::default(),
            sent: (0, 0, 0),
            anew: true,
            operations: Vec::with_capacity(FULL),
            details: Details::default(),
            in_flight: None,
            handed_over: now,
        }
    }

    /// The verdict on what has been merged so far.
    pub fn so_far(&self) -> Report {
        lock(&self.shared.so_far).clone()
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

/// The instant of an invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[must_use = "a call that is invoked must be completed, or it counts as one of unknown result"]
pub struct Invoked(u64);

impl Invoked {
    /// Nanoseconds since the start of the run.
    pub const fn instant(self) -> u64 {
        self.0
    }
}

/// One thread's handle on a [`Recorder`].
///
/// Calls are made one after the other: invoke, call the store, complete. A call that is never completed
/// (the thread panicked, the client was dropped, another call was invoked) counts as one of unknown
/// result.
#[derive(Debug)]
pub struct Client {
    number: u16,
    clock: RunClock,
    promise: Arc<AtomicU64>,
    to_thread: SyncSender<Message>,
    names: Names,
    /// How many of the seats, owners and payments the recorder knows.
    sent: (usize, usize, usize),
    anew: bool,
    operations: Vec<Operation>,
    details: Details,
    in_flight: Option<(u64, Call)>,
    handed_over: u64,
}

impl Client {
    /// Runs a command on a store and records it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn execute(
        &mut self,
        store: &(impl SeatStore + ?Sized),
        command: &Command,
    ) -> Result<Receipt<Outcome>, StoreError> {
        let _ = self.invoke(command);
        let result = store.execute(command);
        self.complete(&result);
        result
    }

    /// Reads a seat and records it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn read_seat(
        &mut self,
        store: &(impl SeatStore + ?Sized),
        seat: &SeatId,
    ) -> Result<Receipt<Option<Seat>>, StoreError> {
        let _ = self.invoke_seat(seat);
        let result = store.seat(seat);
        self.complete_seat(&result);
        result
    }

    /// Reads a payment and records it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn read_payment(
        &mut self,
        store: &(impl SeatStore + ?Sized),
        payment: &PaymentId,
    ) -> Result<Receipt<Option<PaymentRecord>>, StoreError> {
        let _ = self.invoke_payment(payment);
        let result = store.payment(payment);
        self.complete_payment(&result);
        result
    }

    /// Just before a command is given to the store.
    pub fn invoke(&mut self, command: &Command) -> Invoked {
        self.ready();
        let call = self.names.call(command);
        self.begin(call)
    }

    /// Just before a seat is read.
    pub fn invoke_seat(&mut self, seat: &SeatId) -> Invoked {
        self.ready();
        let call = Call::ReadSeat(self.names.seat(seat));
        self.begin(call)
    }

    /// Just before a payment is read.
    pub fn invoke_payment(&mut self, payment: &PaymentId) -> Invoked {
        self.ready();
        let call = Call::ReadPayment(self.names.payment(payment));
        self.begin(call)
    }

    /// Hands over when it is time, before the next call is numbered: numbers may begin anew then.
    fn ready(&mut self) {
        self.give_up();
        let now = self.clock.instant();
        if self.operations.len() >= FULL || now - self.handed_over > OLD {
            self.hand_over();
        }
    }

    fn begin(&mut self, call: Call) -> Invoked {
        let now = self.clock.instant();
        self.in_flight = Some((now, call));
        Invoked(now)
    }

    /// Just after the store answered a command. Returns the instant.
    pub fn complete(&mut self, result: &Result<Receipt<Outcome>, StoreError>) -> u64 {
        let returned = self.clock.instant();
        let answer = match result {
            Ok(receipt) => self.names.told(&receipt.outcome).receipt(receipt),
            Err(error) => Answer::of_error(error),
        };
        self.end(returned, answer)
    }

    /// Just after a seat was read. Returns the instant.
    pub fn complete_seat(&mut self, result: &Result<Receipt<Option<Seat>>, StoreError>) -> u64 {
        let returned = self.clock.instant();
        let answer = match result {
            Ok(receipt) => self
                .names
                .told_seat(receipt.outcome.as_ref())
                .receipt(receipt),
            Err(_) => Answer::NotApplied,
        };
        self.end(returned, answer)
    }

    /// Just after a payment was read. Returns the instant.
    pub fn complete_payment(
        &mut self,
        result: &Result<Receipt<Option<PaymentRecord>>, StoreError>,
    ) -> u64 {
        let returned = self.clock.instant();
        let answer = match result {
            Ok(receipt) => self
                .names
                .told_payment(receipt.outcome.as_ref())
                .receipt(receipt),
            Err(_) => Answer::NotApplied,
        };
        self.end(returned, answer)
    }

    fn end(&mut self, returned: u64, answer: Answer) -> u64 {
        if let Some((invoked, call)) = self.in_flight.take() {
            let when = When {
                client: self.number,
                invoked,
                returned,
            };
            let operation = Operation::new(when, call, answer, &mut self.details);
            self.operations.push(operation);
        }
        returned
    }

    /// What is in flight will never be completed.
    fn give_up(&mut self) {
        if self.in_flight.is_some() {
            self.end(OPEN, Answer::Unknown);
        }
    }

    /// Hands over what was recorded. Called by itself often enough; call it before a long pause.
    pub fn hand_over(&mut self) {
        let now = self.clock.instant();
        if !self.operations.is_empty() {
            let (seats, owners, payments) = self.sent;
            let batch = Batch {
                client: self.number,
                anew: std::mem::take(&mut self.anew),
                new_names: self.names.from(seats, owners, payments),
                operations: std::mem::replace(&mut self.operations, Vec::with_capacity(FULL)),
                details: std::mem::take(&mut self.details),
            };
            self.sent = self.names.lens();
            if self.in_flight.is_none() && self.sent.0 + self.sent.1 + self.sent.2 > MANY_NAMES {
                self.names = Names::default();
                self.sent = (0, 0, 0);
                self.anew = true;
            }
            // Without a recorder there is nobody to record for.
            let _ = self.to_thread.send(Message::Batch(Box::new(batch)));
        }
        self.handed_over = now;
        let promised = match self.in_flight {
            None => now,
            Some((invoked, _)) => invoked,
        };
        self.promise.store(promised, Ordering::Release);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.give_up();
        self.hand_over();
        self.promise.store(u64::MAX, Ordering::Release);
    }
}

/// The recorder's thread.
struct Merge {
    shared: Arc<Shared>,
    clock: RunClock,
    clients: Vec<Queue>,
    checker: Option<Checker>,
    history: History,
    keep: bool,
    held_back: usize,
    most_held_back: usize,
}

/// What one client has handed over and is not merged yet.
#[derive(Default)]
struct Queue {
    numbering: Numbering,
    waiting: VecDeque<Operation>,
}

impl Queue {
    /// When the first call takes its place in the order: when it returned, or, if it never did, as soon
    /// as everything has come that returned before it was invoked.
    fn next(&self) -> Option<u64> {
        let first = self.waiting.front()?;
        Some(match first.returned() {
            OPEN => first.invoked(),
            returned => returned,
        })
    }
}

impl Merge {
    fn run(&mut self, from_clients: &Receiver<Message>) {
        loop {
            // A client that promises nothing new for long still lets the others be merged.
            let mut message = from_clients.recv_timeout(Duration::from_millis(20)).ok();
            // Before the channel is emptied: all that a promise stands for is in the channel already.
            let reached = self.reached();
            let mut finish = false;
            while let Some(next) = message {
                match next {
                    Message::Batch(batch) => self.take(&batch),
                    Message::Finish => finish = true,
                }
                message = from_clients.try_recv().ok();
            }
            self.merge(if finish { OPEN } else { reached });
            if let Some(checker) = &self.checker {
                *lock(&self.shared.so_far) = checker.report();
            }
            if finish {
                return;
            }
        }
    }

    /// The instant before which everything has been handed over.
    fn reached(&self) -> u64 {
        let promises = lock(&self.shared.promises);
        promises
            .iter()
            .map(|promise| promise.load(Ordering::Acquire))
            .fold(self.clock.instant(), u64::min)
    }

    fn take(&mut self, batch: &Batch) {
        let client = usize::from(batch.client);
        if self.clients.len() <= client {
            self.clients.resize_with(client + 1, Queue::default);
        }
        let queue = &mut self.clients[client];
        if batch.anew {
            queue.numbering = Numbering::default();
        }
        queue
            .numbering
            .extend(&batch.new_names, &mut self.history.names);
        for operation in &batch.operations {
            let call = queue.numbering.call(&operation.call());
            let answer = queue.numbering.answer(&operation.answer(&batch.details));
            let operation =
                Operation::new(operation.when(), call, answer, &mut self.history.details);
            queue.waiting.push_back(operation);
        }
        self.held_back += batch.operations.len();
        self.most_held_back = self.most_held_back.max(self.held_back);
    }

    /// Merges everything that returned before this instant.
    fn merge(&mut self, reached: u64) {
        let mut heads: std::collections::BinaryHeap<_> = self
            .clients
            .iter()
            .enumerate()
            .filter_map(|(client, queue)| {
                queue.next().map(|next| std::cmp::Reverse((next, client)))
            })
            .collect();
        while let Some(std::cmp::Reverse((next, client))) = heads.pop() {
            if next >= reached {
                break;
            }
            let queue = &mut self.clients[client];
            let operation = queue.waiting.pop_front().expect("it has a first call");
            self.held_back -= 1;
            if let Some(next) = queue.next() {
                heads.push(std::cmp::Reverse((next, client)));
            }
            if let Some(checker) = &mut self.checker {
                checker.feed(&operation, &self.history.details);
            }
            if self.keep {
                self.history.operations.push(operation);
            }
        }
        if let Some(checker) = &mut self.checker {
            let waiting = self
                .clients
                .iter()
                .filter_map(|queue| queue.waiting.front().map(Operation::invoked));
            checker.no_call_before(waiting.fold(reached, u64::min));
        }
    }

    fn end(mut self) -> Recorded {
        let promises = std::mem::take(&mut *lock(&self.shared.promises));
        let left = promises
            .iter()
            .filter(|promise| promise.load(Ordering::Acquire) != u64::MAX)
            .count();
        let mut report = match self.checker.take() {
            Some(checker) => checker.finish(&mut self.history.details),
            None => report(None),
        };
        if left > 0 && report.verdict == Verdict::Holds {
            report.verdict = Verdict::Inconclusive(format!(
                "{left} clients were not dropped before the end, so what they recorded last is missing"
            ));
        }
        self.history.sort();
        Recorded {
            report,
            history: self.history,
            most_held_back: self.most_held_back,
        }
    }
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;

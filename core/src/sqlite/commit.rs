//! The write path: one transaction for one call, or for all the calls that wait.
//!
//! With [`Commit::Queue`] callers line up ([`super::queue`]). Who leads borrows the writing connection,
//! takes the write lock, runs what waits by then, one job after the other, commits once, and only
//! then hands out the answers. What can go wrong, and what each member is told:
//!
//! * The lock was not to be had: only the leader is in the batch yet, and is told `Busy`.
//! * A statement failed: the batch is rolled back and its members run one by one, each in a
//!   transaction of its own, so that only the one whose statement fails pays.
//! * The commit failed: every member is told `Unknown`, and the connection is not used again; or `Busy`
//!   where SQLite says that nothing was written, and then the connection is as good as new.
//! * The leader panicked: every member is told `Unknown` if the commit was sent, else that nothing
//!   was applied; the transaction is rolled back.
//!
//! Whoever waits, waits for the lock no longer than what is left of its own time, which begins when it
//! lines up: in a batch that of the first member counts, one by one each has its own.
//!
//! A refusal, a hold on an unknown seat and invalid input change nothing and harm no batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use r2d2::Pool;
use rusqlite::params;

use super::error::failed_while;
use super::options::Commit;
use super::pool::{self, Manager};
use super::queue::{self, Queue, Sent};
use super::transaction::Transaction;
use crate::command::Command;
use crate::error::{BackendError, StoreError};
use crate::id::SeatId;
use crate::outcome::{Outcome, Receipt};
use crate::store::SeatsAdded;
use crate::time::{Clock, Timestamp};
use crate::transition::{self, record};

/// What a caller wants written, and since when it waits.
struct Job {
    work: Work,
    since: Instant,
}

enum Work {
    Command(Command),
    AddSeats(Vec<SeatId>),
}

enum Done {
    Command(Receipt<Outcome>),
    Added(SeatsAdded),
}

type Answer = Result<Done, StoreError>;
type Batch<'q> = queue::Batch<'q, Job, Answer>;

/// Why a batch has no answers.
enum Failed {
    /// Every member is told the same.
    All(StoreError),
    /// The statement of one member; the others are innocent.
    One,
}

/// How well commits fill: what one store, in one process, has committed since it was opened.
///
/// A call that changed nothing and still came to the writer counts, as it shared the commit; a call
/// that was answered from a snapshot, or ended in an error for all of its batch, does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Commits {
    /// Calls that were answered after a commit. Adding seats is one call.
    pub calls: u64,
    /// Commits that returned well.
    pub commits: u64,
    /// The most calls of one commit.
    pub largest: u64,
}

impl Commits {
    /// The mean number of calls of a commit; `None` before the first one.
    pub fn mean(&self) -> Option<f64> {
        #[allow(clippy::cast_precision_loss, reason = "a mean of a few digits")]
        let (calls, commits) = (self.calls as f64, self.commits as f64);
        (self.commits > 0).then(|| calls / commits)
    }
}

/// The same while it grows. Each number is right for itself; read together, they may be one commit apart.
#[derive(Default)]
struct Counters {
    calls: AtomicU64,
    commits: AtomicU64,
    largest: AtomicU64,
}

impl Counters {
    fn committed(&self, calls: usize) {
        let calls = calls as u64;
        self.calls.fetch_add(calls, Ordering::Relaxed);
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.largest.fetch_max(calls, Ordering::Relaxed);
    }
}

/// The write path of a store.
pub(super) struct Writer {
    pool: Pool<Manager>,
    clock: Arc<dyn Clock>,
    busy_timeout: Duration,
    /// None with [`Commit::PerCall`].
    queue: Option<Queue<Job, Answer>>,
    counters: Counters,
}

impl Writer {
    pub(super) fn new(
        pool: Pool<Manager>,
        clock: Arc<dyn Clock>,
        busy_timeout: Duration,
        commit: Commit,
    ) -> Self {
        let queue = match commit {
            Commit::PerCall => None,
            Commit::Queue { most } => Some(Queue::new(most as usize, abandoned)),
        };
        Self {
            pool,
            clock,
            busy_timeout,
            queue,
            counters: Counters::default(),
        }
    }

    /// What was committed so far.
    pub(super) fn commits(&self) -> Commits {
        Commits {
            calls: self.counters.calls.load(Ordering::Relaxed),
            commits: self.counters.commits.load(Ordering::Relaxed),
            largest: self.counters.largest.load(Ordering::Relaxed),
        }
    }

    /// How many callers are in line; `None` without the queue.
    #[cfg(feature = "planted-faults")]
    pub(super) fn in_line(&self) -> Option<usize> {
        self.queue.as_ref().map(Queue::in_line)
    }

    /// Runs a command and answers after its commit.
    pub(super) fn command(&self, command: Command) -> Result<Receipt<Outcome>, StoreError> {
        match self.submit(Work::Command(command))? {
            Done::Command(receipt) => Ok(receipt),
            Done::Added(_) => unreachable!("a command is answered with a receipt"),
        }
    }

    /// Adds seats and answers after their commit.
    pub(super) fn add_seats(&self, seats: &[SeatId]) -> Result<SeatsAdded, StoreError> {
        match self.submit(Work::AddSeats(seats.to_vec()))? {
            Done::Added(added) => Ok(added),
            Done::Command(_) => unreachable!("added seats are answered with a count"),
        }
    }

    fn submit(&self, work: Work) -> Answer {
        let since = Instant::now();
        let job = Job { work, since };
        let answer = match &self.queue {
            None => self.alone(&job),
            Some(queue) => queue.submit(job, |batch| self.lead(batch)),
        };
        answer.map_err(|error| match error {
            // Not how long the leader of its batch has waited, but this caller.
            StoreError::Busy { source, .. } => StoreError::Busy {
                waited: since.elapsed(),
                source,
            },
            other => other,
        })
    }

    /// How much longer a caller may wait that has waited since then.
    fn left(&self, since: Instant) -> Duration {
        left_of(self.busy_timeout, since.elapsed())
    }

    /// One job in a transaction of its own.
    fn alone(&self, job: &Job) -> Answer {
        let connection = pool::lend(&self.pool, self.left(job.since))?;
        let transaction = Transaction::immediate(&connection, self.left(job.since))?;
        let done = run(&transaction, &job.work, self.clock.now())?;
        transaction.commit()?;
        self.counters.committed(1);
        Ok(done)
    }

    /// Answers every job of the batch.
    fn lead(&self, batch: &mut Batch<'_>) {
        let answers = match self.together(batch) {
            Ok(answers) => answers,
            Err(Failed::All(error)) => copies(error, batch.jobs().len()),
            Err(Failed::One) => {
                tracing::debug!(members = batch.jobs().len(), "a batch is run one by one");
                batch.commit_is_sent();
                batch.jobs().map(|job| self.alone(job)).collect()
            }
        };
        batch.answer(answers);
    }

    /// All that wait, in one transaction.
    fn together(&self, batch: &mut Batch<'_>) -> Result<Vec<Answer>, Failed> {
        let since = batch
            .jobs()
            .map(|job| job.since)
            .next()
            .unwrap_or_else(Instant::now);
        let connection = pool::lend(&self.pool, self.left(since)).map_err(Failed::All)?;
        let transaction =
            Transaction::immediate(&connection, self.left(since)).map_err(Failed::All)?;
        let mut answers = Vec::new();
        loop {
            batch.fill();
            if answers.len() == batch.jobs().len() {
                break;
            }
            for job in batch.jobs().skip(answers.len()).map(|job| &job.work) {
                match run(&transaction, job, self.clock.now()) {
                    Err(error) if !changed_nothing(&error) => {
                        let alone = batch.jobs().len() == 1;
                        return Err(if alone {
                            Failed::All(error)
                        } else {
                            Failed::One
                        });
                    }
                    answer => answers.push(answer),
                }
            }
        }
        batch.commit_is_sent();
        transaction.commit().map_err(Failed::All)?;
        self.counters.committed(answers.len());
        Ok(answers)
    }
}

/// What is left of a timeout. Only whole milliseconds are taken from it: SQLite counts in those, and one of 1 ms
/// would be none at once.
fn left_of(timeout: Duration, waited: Duration) -> Duration {
    let millis = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
    timeout.saturating_sub(Duration::from_millis(millis))
}

fn run(tx: &Transaction<'_>, work: &Work, now: Timestamp) -> Answer {
    match work {
        Work::Command(command) => tx
            .statements(|statements| transition::run(statements, command, now))
            .map(Done::Command),
        Work::AddSeats(seats) => add_seats(tx, seats, now).map(Done::Added),
    }
}

fn add_seats(
    tx: &Transaction<'_>,
    seats: &[SeatId],
    now: Timestamp,
) -> Result<SeatsAdded, StoreError> {
    const DOING: &str = "adding seats";
    let mut add = tx
        .prepare_cached(record::ADD_SEAT)
        .map_err(failed_while(DOING))?;
    let mut added = 0;
    for seat in seats {
        let new = add.execute(params![seat.as_str(), now.as_unix_millis()]);
        added += new.map_err(failed_while(DOING))? as u64;
    }
    Ok(SeatsAdded {
        added,
        already_there: seats.len() as u64 - added,
    })
}

/// An error that comes from the input alone: its statements found nothing to change.
const fn changed_nothing(error: &StoreError) -> bool {
    match error {
        StoreError::UnknownSeat(_) | StoreError::Invalid(_) => true,
        StoreError::Busy { .. }
        | StoreError::Unknown(_)
        | StoreError::Corrupt { .. }
        | StoreError::Database { .. } => false,
    }
}

/// What a member of a batch is told whose leader panicked.
fn abandoned(sent: Sent) -> Answer {
    let source: BackendError = "the caller that led the batch panicked".into();
    Err(match sent {
        Sent::Yes => StoreError::Unknown(source),
        Sent::No => StoreError::Database {
            doing: "leading a batch",
            source,
        },
    })
}

/// One error for every member of a batch; they share its cause.
fn copies(error: StoreError, members: usize) -> Vec<Answer> {
    #[derive(Debug, Clone, thiserror::Error)]
    #[error(transparent)]
    struct Shared(Arc<dyn std::error::Error + Send + Sync>);

    let share = |source: BackendError| Shared(source.into());
    let repeat: Box<dyn Fn() -> StoreError> = match error {
        StoreError::Busy { waited, source } => {
            let source = share(source);
            Box::new(move || StoreError::Busy {
                waited,
                source: source.clone().into(),
            })
        }
        StoreError::Unknown(source) => {
            let source = share(source);
            Box::new(move || StoreError::Unknown(source.clone().into()))
        }
        StoreError::Database { doing, source } => {
            let source = share(source);
            Box::new(move || StoreError::Database {
                doing,
                source: source.clone().into(),
            })
        }
        StoreError::Corrupt { invariant, detail } => Box::new(move || StoreError::Corrupt {
            invariant,
            detail: detail.clone(),
        }),
        StoreError::Invalid(invalid) => Box::new(move || StoreError::Invalid(invalid.clone())),
        StoreError::UnknownSeat(seat) => Box::new(move || StoreError::UnknownSeat(seat.clone())),
    };
    (0..members).map(|_| Err(repeat())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_waited_is_taken_from_the_timeout_in_whole_milliseconds() {
        for (timeout, waited_us, left) in [
            (5_000, 0, 5_000),
            (5_000, 1_200_900, 3_800),
            (1, 999, 1),
            (1, 1_000, 0),
            (20, 90_000, 0),
        ] {
            let left_of = left_of(
                Duration::from_millis(timeout),
                Duration::from_micros(waited_us),
            );
            assert_eq!(
                left_of,
                Duration::from_millis(left),
                "{waited_us} us of {timeout} ms"
            );
        }
        assert_eq!(
            left_of(Duration::from_secs(1), Duration::MAX),
            Duration::ZERO
        );
    }
}

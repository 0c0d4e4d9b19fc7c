//! The commit queue: callers line up, the first one leads, and one commit serves all who wait.
//!
//! SQLite lets one writer in at a time, and its busy handler sleeps and retries, so of N threads that
//! each begin a transaction of their own most sleep while the lock is free, and some starve. Here
//! callers line up in the order in which they came. Whoever finds no leader leads: it takes those who
//! wait, up to a bound, does the work of all, gives each its answer, and makes the first of those who
//! came meanwhile the next leader. There is no thread of its own and no timer: a batch fills while the
//! disk syncs the one before.
//!
//! What holds, and is checked on many schedules of a few threads in `queue_tests.rs`:
//!
//! * At most one caller leads at any time.
//! * Each caller gets the answer to its own job, once, after the leader gave it.
//! * Callers are served in the order in which they lined up; a caller leads one batch at the most,
//!   and is itself in it, so nobody works on after its own answer is there.
//! * Nobody sleeps for ever: the lead is passed on whenever somebody waits, also when a leader panics.
//!
//! The queue knows nothing of databases. What leads is given to [`Queue::submit`].

use std::collections::VecDeque;

use super::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Callers in line. `J` is a job, `A` its answer.
pub(super) struct Queue<J, A> {
    line: Mutex<Line<J, A>>,
    /// The most jobs in one batch, at least 1.
    most: usize,
    /// The answer to a job whose leader panicked, before or after it sent its commit.
    abandoned: fn(Sent) -> A,
}

/// Had the leader sent its commit?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// Not yet: nothing of the batch can have happened.
    No,
    /// Yes: all of it may have happened.
    Yes,
}

struct Line<J, A> {
    waiting: VecDeque<Arc<Ticket<J, A>>>,
    /// Somebody leads, or has been told to.
    led: bool,
}

struct Ticket<J, A> {
    job: J,
    news: Mutex<News<A>>,
    told: Condvar,
}

/// What a caller in line has been told.
enum News<A> {
    Nothing,
    Lead,
    Answer(A),
}

impl<J, A> Ticket<J, A> {
    fn tell(&self, news: News<A>) {
        *lock(&self.news) = news;
        self.told.notify_one();
    }
}

impl<J, A> Queue<J, A> {
    pub(super) fn new(most: usize, abandoned: fn(Sent) -> A) -> Self {
        Self {
            line: Mutex::new(Line {
                waiting: VecDeque::new(),
                led: false,
            }),
            most: most.max(1),
            abandoned,
        }
    }

    /// How many are in line: whoever leads, and those who wait.
    #[cfg(any(test, feature = "planted-faults"))]
    #[cfg_attr(
        test,
        allow(dead_code, reason = "of the two that a test build has, one is asked")
    )]
    pub(super) fn in_line(&self) -> usize {
        let line = lock(&self.line);
        usize::from(line.led) + line.waiting.len()
    }

    /// Lines up with a job and returns its answer. If it is this caller's turn to lead, it runs `lead`,
    /// which must give every job of the batch an answer.
    pub(super) fn submit(&self, job: J, lead: impl FnOnce(&mut Batch<'_, J, A>)) -> A {
        let ticket = Arc::new(Ticket {
            job,
            news: Mutex::new(News::Nothing),
            told: Condvar::new(),
        });
        {
            let mut line = lock(&self.line);
            if line.led {
                line.waiting.push_back(Arc::clone(&ticket));
                drop(line);
                if let Some(answer) = wait(&ticket) {
                    return answer;
                }
            } else {
                line.led = true;
            }
        }
        let mut batch = Batch {
            queue: self,
            tickets: vec![Arc::clone(&ticket)],
            answers: Vec::new(),
            sent: Sent::No,
        };
        lead(&mut batch);
        drop(batch);
        match std::mem::replace(&mut *lock(&ticket.news), News::Nothing) {
            News::Answer(answer) => answer,
            News::Nothing | News::Lead => unreachable!("a batch that ends answers all its jobs"),
        }
    }
}

/// Sleeps until there is news: the answer, or nothing when it is this caller's turn to lead.
fn wait<J, A>(ticket: &Ticket<J, A>) -> Option<A> {
    let mut news = ticket
        .told
        .wait_while(lock(&ticket.news), |news| matches!(news, News::Nothing))
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    match std::mem::replace(&mut *news, News::Nothing) {
        News::Answer(answer) => Some(answer),
        News::Lead => None,
        News::Nothing => unreachable!("it is not waited for"),
    }
}

/// The jobs of one commit, the leader's own first. When it is dropped, whoever has no answer is
/// told that the batch was abandoned, and the lead is passed on.
pub(super) struct Batch<'q, J, A> {
    queue: &'q Queue<J, A>,
    tickets: Vec<Arc<Ticket<J, A>>>,
    answers: Vec<A>,
    sent: Sent,
}

impl<J, A> Batch<'_, J, A> {
    /// Takes those who wait by now into the batch, up to the bound.
    pub(super) fn fill(&mut self) {
        let room = self.queue.most - self.tickets.len();
        let mut line = lock(&self.queue.line);
        let taken = room.min(line.waiting.len());
        self.tickets.extend(line.waiting.drain(..taken));
    }

    /// The jobs of the batch so far, in the order in which they lined up.
    pub(super) fn jobs(&self) -> impl ExactSizeIterator<Item = &J> {
        self.tickets.iter().map(|ticket| &ticket.job)
    }

    /// From here on a panic leaves it unknown whether the batch happened.
    pub(super) fn commit_is_sent(&mut self) {
        self.sent = Sent::Yes;
    }

    /// The answers, in the order of the jobs. They are handed out when the batch ends.
    pub(super) fn answer(&mut self, answers: Vec<A>) {
        debug_assert_eq!(answers.len(), self.tickets.len(), "one answer for each job");
        self.answers = answers;
    }
}

impl<J, A> Drop for Batch<'_, J, A> {
    fn drop(&mut self) {
        // First the lead, so that the next batch begins while this one is being told.
        {
            let mut line = lock(&self.queue.line);
            match line.waiting.pop_front() {
                Some(next) => next.tell(News::Lead),
                None => line.led = false,
            }
        }
        let mut answers = std::mem::take(&mut self.answers).into_iter();
        for ticket in &self.tickets {
            let answer = answers
                .next()
                .unwrap_or_else(|| (self.queue.abandoned)(self.sent));
            ticket.tell(News::Answer(answer));
        }
    }
}

/// A panic of a leader poisons nothing: all that is guarded is whole whenever a lock is let go.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

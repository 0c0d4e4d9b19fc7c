//! The recorder's thread: it puts what all clients hand over into one order, and feeds the check.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use soldonce::PaymentId;

use super::{Batch, Message, Recorded, Shared, lock, report};
use crate::history::convert::Numbering;
use crate::history::decided::Sink;
use crate::history::names::PaymentNo;
use crate::history::operation::{OPEN, Operation};
use crate::history::{History, RunClock};
use crate::serializable::{Checker, Verdict};

/// The recorder's thread.
pub(super) struct Merge {
    shared: Arc<Shared>,
    clock: RunClock,
    clients: Vec<Queue>,
    checker: Option<Checker>,
    history: History,
    keep: bool,
    /// Where decisions go, if anybody wants to know them.
    sink: Option<Sink>,
    /// Payments that are closed are forgotten.
    forgets: bool,
    /// Those that are closed, or will be, and are not forgotten.
    closed: HashSet<PaymentNo>,
    held_back: usize,
    most_held_back: usize,
}

/// What one client has handed over and is not merged yet.
#[derive(Default)]
struct Queue {
    numbering: Numbering,
    waiting: VecDeque<Operation>,
    /// Payments that no call names which returns after this instant.
    closed: VecDeque<(u64, PaymentNo)>,
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
    pub(super) fn new(
        shared: Arc<Shared>,
        clock: RunClock,
        (checker, history): (Option<Checker>, History),
        keep: bool,
        sink: Option<Sink>,
    ) -> Self {
        Self {
            shared,
            clock,
            clients: Vec::new(),
            forgets: checker.is_some() && !keep,
            closed: HashSet::new(),
            checker,
            history,
            keep,
            sink,
            held_back: 0,
            most_held_back: 0,
        }
    }

    pub(super) fn run(&mut self, from_clients: &Receiver<Message>) {
        let mut asked: Option<Sender<Vec<PaymentId>>> = None;
        loop {
            // Whoever asked did so before this round, so all that they ask for is merged in it.
            let asked_before = asked.take();
            let mut message = if asked_before.is_some() {
                from_clients.try_recv().ok()
            } else {
                // A client that promises nothing new for long still lets the others be merged.
                from_clients.recv_timeout(Duration::from_millis(20)).ok()
            };
            // Before the channel is emptied: all that a promise stands for is in the channel already.
            let reached = self.reached();
            let mut finish = false;
            while let Some(next) = message {
                match next {
                    Message::Batch(batch) => self.take(&batch),
                    Message::Remembered(answer) => asked = Some(answer),
                    Message::Finish => finish = true,
                }
                message = from_clients.try_recv().ok();
            }
            self.merge(if finish { OPEN } else { reached });
            if let Some(answer) = asked_before {
                // Who does not wait for it any more does not need it.
                let _ = answer.send(self.remembered_payments());
            } else if !finish
                && self
                    .checker
                    .as_ref()
                    .is_some_and(Checker::has_much_to_forget)
            {
                self.forget();
            }
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
        if self.forgets {
            for closed in &batch.closed {
                let payment = queue.numbering.payment(*closed);
                // Once only: after the first its number may be another payment's.
                if self.closed.insert(payment) {
                    queue.closed.push_back((batch.at, payment));
                }
            }
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
        self.close(reached);
        if let Some(checker) = &mut self.checker {
            let waiting = self
                .clients
                .iter()
                .filter_map(|queue| queue.waiting.front().map(Operation::invoked));
            checker.no_call_before(waiting.fold(reached, u64::min));
        }
    }

    /// Closes payments all of whose calls returned before this instant, and so were fed.
    fn close(&mut self, reached: u64) {
        let Some(checker) = &mut self.checker else {
            return;
        };
        for queue in &mut self.clients {
            while let Some((_, payment)) = queue.closed.pop_front_if(|(at, _)| *at < reached) {
                checker.close_payment(payment);
            }
        }
    }

    /// Forgets the closed payments that nothing needs any more, and writes down what was decided.
    fn forget(&mut self) {
        let Some(checker) = &mut self.checker else {
            return;
        };
        let History { names, details, .. } = &mut self.history;
        let mut waiting: Vec<_> = self
            .clients
            .iter_mut()
            .map(|queue| &mut queue.waiting)
            .collect();
        checker.forget_payments(details, &mut waiting, |record| {
            if let Some(sink) = &mut self.sink {
                sink.write(record, names);
            }
            names.give_back(record.payment);
            self.closed.remove(&record.payment);
        });
    }

    /// Those that are not forgotten now; from now on none is.
    fn remembered_payments(&mut self) -> Vec<PaymentId> {
        if self.forgets {
            self.forget();
            self.forgets = false;
            self.closed.clear();
            for queue in &mut self.clients {
                queue.closed.clear();
            }
            if let Some(checker) = &mut self.checker {
                checker.reopen_payments();
            }
        }
        self.history.names.known_payments()
    }

    pub(super) fn end(mut self) -> Recorded {
        let promises = std::mem::take(&mut *lock(&self.shared.promises));
        let left = promises
            .iter()
            .filter(|promise| promise.load(Ordering::Acquire) != u64::MAX)
            .count();
        let History { names, details, .. } = &mut self.history;
        let mut report = match self.checker.take() {
            Some(checker) => checker.finish_and_tell(details, |record| {
                if let Some(sink) = &mut self.sink {
                    sink.write(record, names);
                }
            }),
            None => report(None),
        };
        if left > 0 && report.verdict == Verdict::Holds {
            report.verdict = Verdict::Inconclusive(format!(
                "{left} clients were not dropped before the end, so what they recorded last is missing"
            ));
        }
        let decided = match self.sink.map(Sink::end).transpose() {
            Ok(decided) => decided,
            Err(error) => {
                if report.verdict == Verdict::Holds {
                    report.verdict = Verdict::Inconclusive(not_written(&error));
                }
                None
            }
        };
        self.history.sort();
        Recorded {
            report,
            history: self.history,
            most_held_back: self.most_held_back,
            decided,
        }
    }
}

fn not_written(error: &io::Error) -> String {
    format!(
        "what was decided about payments could not be written to a temporary file, so it can not be \
         compared with what is stored: {error}"
    )
}

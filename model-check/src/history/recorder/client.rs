//! One thread's handle: what it records, until it is handed over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;

use soldonce::{
    Command, Outcome, PaymentId, PaymentRecord, Receipt, Seat, SeatId, SeatStore, StoreError,
};

use super::{Batch, Message};
use crate::history::RunClock;
use crate::history::details::Details;
use crate::history::names::{Names, PaymentNo};
use crate::history::operation::{Answer, Call, OPEN, Operation, When};

/// A buffer goes to the recorder when it has so many calls,
const FULL: usize = 512;
/// or when so much time has gone by since the last one did, in nanoseconds.
const OLD: u64 = 10_000_000;
/// A client forgets its numbers, and begins anew, when it has used so many names.
pub(super) const MANY_NAMES: usize = 1 << 11;

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

/// One thread's handle on a [`Recorder`](super::Recorder).
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
    /// Closed, and not handed over.
    closed: Vec<PaymentNo>,
    in_flight: Option<(u64, Call)>,
    handed_over: u64,
}

impl Client {
    /// One that has promised everything up to now, and recorded nothing.
    pub(super) fn new(
        number: u16,
        clock: RunClock,
        promise: Arc<AtomicU64>,
        to_thread: SyncSender<Message>,
    ) -> Self {
        Self {
            number,
            clock,
            handed_over: promise.load(Ordering::Relaxed),
            promise,
            to_thread,
            names: Names::default(),
            sent: (0, 0, 0),
            anew: true,
            operations: Vec::with_capacity(FULL),
            details: Details::default(),
            closed: Vec::new(),
            in_flight: None,
        }
    }

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
        self.keep_up();
    }

    /// Hands over when it is time. Every call does so; a client that makes none for long holds the check
    /// back, and memory grows, unless this is called meanwhile.
    pub fn keep_up(&mut self) {
        let now = self.clock.instant();
        if self.operations.len() >= FULL || now - self.handed_over > OLD {
            self.hand_over();
        }
    }

    /// Promises that no call of any client will name this payment any more, except those that have
    /// returned: its decision is forgotten when nothing else needs it, which keeps a long run in little
    /// memory. Not for a payment with a call in flight. One whose decision no answer has shown is not
    /// forgotten; neither is any in a history that is kept.
    pub fn close_payment(&mut self, payment: &PaymentId) {
        let number = self.names.payment(payment);
        self.closed.push(number);
        self.names.forget(number);
    }

    fn begin(&mut self, call: Call) -> Invoked {
        let now = self.clock.instant();
        self.in_flight = Some((now, call));
        Invoked(now)
    }

    /// Just after the store answered a command. Returns the instant.
    pub fn complete(&mut self, result: &Result<Receipt<Outcome>, StoreError>) -> u64 {
        let returned = self.clock.instant();
        let answer = self.names.answer(result);
        self.end(returned, answer)
    }

    /// Just after a seat was read. Returns the instant.
    pub fn complete_seat(&mut self, result: &Result<Receipt<Option<Seat>>, StoreError>) -> u64 {
        let returned = self.clock.instant();
        let answer = self.names.answer_to_read(result);
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
        if !(self.operations.is_empty() && self.closed.is_empty()) {
            let (seats, owners, payments) = self.sent;
            let batch = Batch {
                client: self.number,
                at: now,
                anew: std::mem::take(&mut self.anew),
                new_names: self.names.from(seats, owners, payments),
                operations: std::mem::replace(&mut self.operations, Vec::with_capacity(FULL)),
                details: std::mem::take(&mut self.details),
                closed: std::mem::take(&mut self.closed),
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

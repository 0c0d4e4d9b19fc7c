//! One client: it plays one buyer after another, and does what each of them intends.
//!
//! A client makes one call at a time, or one and its repetition at once (`client/twice.rs`). When something
//! is due (a payment, a release, a call that has to be repeated), it does that; else the next buyer of its
//! sequence asks for a seat. What a buyer does with an answer stands in `client/buyer.rs`. A call that ended
//! in an error is repeated with the same ids after a pause, as the store asks for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, Ordering};

use soldonce::{
    Command, HoldDuration, HoldRequest, Outcome, Receipt, Recovery, SeatId, SeatStore, StoreError,
};

use crate::answer::Ending;
use crate::call::{Call, Due};
use crate::clock::RunClock;
use crate::hot::HotSeats;
use crate::meter::{Buffer, Sample};
use crate::names::{BuyerKey, Names, PaymentKey};
use crate::pace::{Pace, Slot};
use crate::record::{Record, Recording};
use crate::run::in_words;
use crate::touched::Touched;
use crate::workload::{Intents, Target};

mod buyer;
mod twice;
mod uses;

use uses::Uses;

/// The pause before a call is repeated: it doubles from the first to the last of these, in nanoseconds.
const PAUSE_NS: [u64; 2] = [1_000_000, 64_000_000];
/// How long a client goes on after the end to settle payments that got no answer, in nanoseconds.
const SETTLE_NS: u64 = 10_000_000_000;
/// How many buyers a client plays before the first one comes again.
const BUYERS: u64 = 4_096;

/// What all clients share.
#[derive(Clone, Copy)]
pub struct Shared<'run> {
    /// The store under load.
    pub store: &'run dyn SeatStore,
    /// The names of the run.
    pub names: &'run Names,
    /// Which seats are hot.
    pub hot: &'run HotSeats,
    /// The time.
    pub clock: &'run RunClock,
    /// Which seats were asked for.
    pub touched: &'run Touched,
    /// The length of a hold.
    pub ttl: HoldDuration,
    /// Set when the run is to end early.
    pub stop: &'run AtomicBool,
}

/// What a client brings home, besides what it measured.
#[derive(Debug, Clone, Default)]
pub struct Home {
    /// Payments that got no answer, to the end.
    pub unsettled: u64,
    /// The first error of each kind, in words.
    pub errors: Vec<(Ending, String)>,
}

/// What each client has for itself.
pub struct Own<'run> {
    /// Its number in the whole run, from 0.
    pub number: u32,
    /// What its buyers intend.
    pub intents: Intents,
    /// Where its samples go.
    pub buffer: Buffer<'run>,
    /// Where its part of the history goes.
    pub record: Record,
    /// Where its second caller's part goes, once there is one.
    pub twin: Option<Record>,
    /// Where the history goes.
    pub recording: Recording<'run>,
}

/// What a call asks of the store.
enum Asked {
    Command(Command),
    Seat(SeatId),
}

/// A command that was made: when, and what was answered.
struct Made {
    started_ns: u64,
    ended_ns: u64,
    answer: Result<Receipt<Outcome>, StoreError>,
}

impl Made {
    fn now(store: &dyn SeatStore, command: &Command, record: &mut Record) -> Self {
        let started_ns = record.invoke(command);
        let answer = store.execute(command);
        Self {
            started_ns,
            ended_ns: record.complete(&answer),
            answer,
        }
    }
}

/// One client of a run.
pub struct Client<'run> {
    shared: Shared<'run>,
    own: Own<'run>,
    due: BinaryHeap<Reverse<Due>>,
    order: u64,
    payments: Uses,
    home: Home,
}

impl<'run> Client<'run> {
    /// A client that has not called yet.
    pub fn new(shared: Shared<'run>, own: Own<'run>) -> Self {
        Self {
            shared,
            own,
            due: BinaryHeap::new(),
            order: 0,
            payments: Uses::default(),
            home: Home::default(),
        }
    }

    /// Makes calls at the pace that is given, until it ends; then settles what must not stay open.
    pub fn run(mut self, mut pace: Pace) -> Home {
        while let Some(slot) = pace.next(self.shared.clock, self.shared.stop, || {
            self.own.record.hand_over();
            if let Some(twin) = &mut self.own.twin {
                twin.hand_over();
            }
        }) {
            // One that has nothing to do must not hold the check back.
            if let Some(twin) = &mut self.own.twin {
                twin.keep_up();
            }
            let (call, tries) = self.next_call();
            if tries > 0 || !self.made_at_once(&call, slot, &mut pace) {
                self.make(call, tries, slot);
            }
        }
        self.own.twin = None;
        self.settle();
        self.own.record.hand_over();
        self.home
    }

    /// What is due, or else the next buyer's hold.
    fn next_call(&mut self) -> (Call, u32) {
        let now = self.shared.clock.now_ns();
        if let Some(Reverse(due)) = self.due.peek().copied()
            && due.at_ns <= now
        {
            self.due.pop();
            return (due.call, due.tries);
        }
        let intent = self.own.intents.next().expect("intents never end");
        let (seat, hot) = match intent.target {
            Target::Hot(place) => (self.shared.hot.seat(place), true),
            Target::Seat(seat) => (seat, false),
        };
        let call = Call::Hold {
            intent,
            seat,
            hot,
            again: false,
        };
        (call, 0)
    }

    /// Makes one call, measures it and does what its answer asks for.
    fn make(&mut self, call: Call, tries: u32, slot: Slot) {
        let operation = call.operation();
        self.own.buffer.attempt(operation, slot.measured);
        if tries > 0 {
            self.own.buffer.retry();
        }
        if let Call::Hold { seat, hot, .. } = call {
            self.shared.touched.add(seat);
            if slot.measured && hot {
                self.own.buffer.hot_hold();
            }
        }
        match self.asked(&call) {
            Asked::Command(command) => {
                let made = Made::now(self.shared.store, &command, &mut self.own.record);
                self.answered(call, tries, slot, made);
            }
            Asked::Seat(seat) => {
                let started_ns = self.own.record.invoke_seat(&seat);
                let answer = self.shared.store.seat(&seat);
                let ended_ns = self.own.record.complete_seat(&answer);
                let ending = Ending::of_seat(&answer);
                self.measured(ending, slot, started_ns, ended_ns);
                if let Err(error) = answer {
                    self.failed(call, tries, ending, &error, ended_ns);
                }
            }
        }
        self.was_made(&call);
    }

    /// Measures a command that was made, and does what its answer asks for.
    fn answered(&mut self, call: Call, tries: u32, slot: Slot, made: Made) {
        let ending = Ending::of(call.operation(), &made.answer);
        self.measured(ending, slot, made.started_ns, made.ended_ns);
        match made.answer {
            Ok(receipt) => self.react(&call, &receipt.outcome, made.ended_ns),
            Err(error) => self.failed(call, tries, ending, &error, made.ended_ns),
        }
    }

    fn measured(&mut self, ending: Ending, slot: Slot, started_ns: u64, ended_ns: u64) {
        self.own.buffer.answered(Sample {
            ending,
            measured: slot.measured,
            intended_ns: slot.intended_ns.unwrap_or(started_ns),
            started_ns,
            ended_ns,
        });
    }

    /// A call was made, and what follows from its answer is put off.
    fn was_made(&mut self, call: &Call) {
        if let Call::Pay { payment, .. } = call {
            let over = self.payments.end(*payment);
            self.close(over);
        }
    }

    /// No call will name this payment any more.
    fn close(&mut self, payment: Option<PaymentKey>) {
        if let Some(payment) = payment {
            let names = self.shared.names;
            self.own.record.close_payment(|| names.payment(payment));
        }
    }

    fn asked(&self, call: &Call) -> Asked {
        let names = self.shared.names;
        Asked::Command(match call {
            Call::Hold { intent, seat, .. } => Command::Hold(HoldRequest {
                seat: names.seat(Some(*seat)),
                owner: names.owner(self.buyer(intent.number)),
                ttl: self.shared.ttl,
            }),
            Call::Release { claim, .. } => Command::Release(names.claim(*claim)),
            Call::Pay { payment, claim, .. } => Command::ConfirmPayment {
                payment: names.payment(*payment),
                claim: names.claim(*claim),
            },
            Call::Look { seat } => return Asked::Seat(names.seat(Some(*seat))),
        })
    }

    /// The buyer behind an intent. Buyers come again, so that a long run does not name ever more of
    /// them; until then, what they did before is long over.
    const fn buyer(&self, number: u64) -> BuyerKey {
        BuyerKey {
            client: self.own.number,
            number: number % BUYERS,
        }
    }

    fn put_off(&mut self, call: Call, tries: u32, at_ns: u64) {
        if let Call::Pay { payment, .. } = call {
            self.payments.begin(payment);
        }
        self.order += 1;
        self.due.push(Reverse(Due {
            at_ns,
            order: self.order,
            tries,
            call,
        }));
    }

    /// A call got no answer: it is repeated when that may help.
    fn failed(&mut self, call: Call, tries: u32, ending: Ending, error: &StoreError, now_ns: u64) {
        if self.home.errors.iter().all(|(known, _)| *known != ending) {
            self.home.errors.push((ending, in_words(error)));
        }
        match error.recovery() {
            // A broken database may be mended meanwhile; the call certainly did not happen.
            Recovery::RepeatSameCall | Recovery::Investigate => {
                let [first, last] = PAUSE_NS;
                let pause = (first << tries.min(16)).min(last);
                self.put_off(call, tries + 1, now_ns.saturating_add(pause));
            }
            Recovery::Done
            | Recovery::RetryAt(_)
            | Recovery::GiveUp
            | Recovery::Refund
            | Recovery::CorrectInput => {}
        }
    }

    /// A payment that got no answer is money that may be lost: it is repeated, after the end of the
    /// load, too. What was not begun yet is never begun.
    fn settle(&mut self) {
        let clock = self.shared.clock;
        let deadline = clock.now_ns().saturating_add(SETTLE_NS);
        self.due.retain(|Reverse(due)| due.is_open_payment());
        while let Some(Reverse(due)) = self.due.pop() {
            if due.at_ns > deadline || !clock.sleep_until(due.at_ns, || false) {
                self.home.unsettled += 1;
                continue;
            }
            self.own.record.hand_over();
            let slot = Slot {
                intended_ns: None,
                measured: false,
            };
            self.make(due.call, due.tries, slot);
            self.due.retain(|Reverse(due)| due.is_open_payment());
        }
    }
}

/// Asks whether the run is to end early.
pub fn stopped(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

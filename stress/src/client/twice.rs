//! A call that comes twice at once: a payment provider that delivers at least once, a buyer who clicks
//! again. Two callers, one command, no order between them.

use std::sync::Barrier;
use std::thread;

use soldonce::{Command, Outcome, Receipt, SeatStore, StoreError};

use super::Client;
use crate::answer::Ending;
use crate::call::Call;
use crate::meter::Sample;
use crate::pace::{Pace, Slot};
use crate::record::Record;

/// A call that was made: when, and what was answered.
struct Made {
    started_ns: u64,
    ended_ns: u64,
    answer: Result<Receipt<Outcome>, StoreError>,
}

impl Client<'_> {
    /// Makes the call and its repetition at once, the latter on a thread of its own, when it is one that
    /// comes twice. Every other one of those is, in a closed loop of one process; the rest come one after
    /// the other.
    pub(super) fn made_at_once(&mut self, call: &Call, slot: Slot, pace: &mut Pace) -> bool {
        let (first, second) = match *call {
            Call::Pay {
                payment,
                claim,
                twice: true,
                double,
                renamed,
            } if payment.buyer.number.is_multiple_of(2) => {
                let pay = |double, renamed| Call::Pay {
                    payment,
                    claim,
                    twice: false,
                    double,
                    renamed,
                };
                (pay(double, renamed), pay(false, false))
            }
            Call::Release { claim, twice: true } if claim.owner.number.is_multiple_of(2) => {
                let once = Call::Release {
                    claim,
                    twice: false,
                };
                (once, once)
            }
            Call::Hold { .. } | Call::Release { .. } | Call::Pay { .. } => return false,
        };
        // A second caller only where it will call: one that does not holds the check back.
        if !self.own.record.is_checked() || !pace.one_more(slot) {
            return false;
        }
        if self.own.twin.is_none() {
            self.own.twin = self.own.recording.twin();
        }
        let command = self.command(call);
        let twin = self.own.twin.as_mut();
        let twin = twin.expect("a recorder has room for another caller");
        let both = both(self.shared.store, &command, &mut self.own.record, twin);
        twin.hand_over();
        for (call, made) in [first, second].into_iter().zip(both) {
            let operation = call.operation();
            let ending = Ending::of(operation, &made.answer);
            self.own.buffer.attempt(operation, slot.measured);
            self.own.buffer.answered(Sample {
                ending,
                measured: slot.measured,
                intended_ns: slot.intended_ns.unwrap_or(made.started_ns),
                started_ns: made.started_ns,
                ended_ns: made.ended_ns,
            });
            match made.answer {
                Ok(receipt) => self.react(&call, &receipt.outcome, made.ended_ns),
                Err(error) => self.failed(call, 0, ending, &error, made.ended_ns),
            }
        }
        self.was_made(call);
        true
    }
}

fn both(
    store: &dyn SeatStore,
    command: &Command,
    mine: &mut Record,
    twin: &mut Record,
) -> [Made; 2] {
    let start = Barrier::new(2);
    let make = |record: &mut Record| {
        start.wait();
        let started_ns = record.invoke(command);
        let answer = store.execute(command);
        Made {
            started_ns,
            ended_ns: record.complete(&answer),
            answer,
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| make(twin));
        let made = make(mine);
        match other.join() {
            Ok(other) => [made, other],
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

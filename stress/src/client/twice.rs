//! A call that comes twice at once: a payment provider that delivers at least once, a buyer who clicks
//! again. Two callers, one command, no order between them.

use std::sync::Barrier;
use std::thread;

use soldonce::{Command, SeatStore};

use super::{Asked, Client, Made};
use crate::call::Call;
use crate::pace::{Pace, Slot};
use crate::record::Record;

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
                look,
            } if payment.buyer.number.is_multiple_of(2) => {
                let pay = |double, renamed, look| Call::Pay {
                    payment,
                    claim,
                    twice: false,
                    double,
                    renamed,
                    look,
                };
                (pay(double, renamed, look), pay(false, false, false))
            }
            Call::Release {
                claim,
                twice: true,
                look,
            } if claim.owner.number.is_multiple_of(2) => {
                let release = |look| Call::Release {
                    claim,
                    twice: false,
                    look,
                };
                (release(look), release(false))
            }
            Call::Hold { .. } | Call::Release { .. } | Call::Pay { .. } | Call::Look { .. } => {
                return false;
            }
        };
        // A second caller only where it will call: one that does not holds the check back.
        if !self.own.record.is_checked() || !pace.one_more(slot) {
            return false;
        }
        if self.own.twin.is_none() {
            self.own.twin = self.own.recording.twin();
        }
        let Asked::Command(command) = self.asked(call) else {
            return false;
        };
        let twin = self.own.twin.as_mut();
        let twin = twin.expect("a recorder has room for another caller");
        let both = both(self.shared.store, &command, &mut self.own.record, twin);
        twin.hand_over();
        for (call, made) in [first, second].into_iter().zip(both) {
            self.own.buffer.attempt(call.operation(), slot.measured);
            self.answered(call, 0, slot, made);
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
        Made::now(store, command, record)
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

//! The record of a concurrent run: who called what, when, and what was answered.
//!
//! An [`Operation`] is one call of one client: the command or read, the instants between which it
//! ran, and the receipt or error that came back. It takes 64 bytes in memory; seats, owners and
//! payments are numbers, whose [`Names`] stand beside it, and the few answers that carry a whole
//! record or seat keep it in [`Details`]. A [`History`] is all of that together.
//!
//! Two clocks, never mixed:
//!
//! * **Instants** are nanoseconds on one monotonic clock, from the start of the run. They say which
//!   call ended before which other call began. Intervals are closed: two calls that touch at one
//!   instant count as concurrent.
//! * **The store's clock** is what a receipt calls `at`, in milliseconds. Where it is derived from the
//!   same source as the instants (as [`RunClock`] does), the history says so ([`ClockRule::Tied`]),
//!   and `at` must lie within its call, to the millisecond. Where it is not (a clock set by hand, a
//!   clock that steps), the history says [`ClockRule::Free`].
//!
//! Runs are recorded with a [`Recorder`], which checks them while they go on; a client whose process may
//! be killed writes a [`Journal`], which outlives it. The form on disk is
//! described in `HISTORY.md`; [`read`] and [`write()`] stream it.

mod clock;
mod convert;
mod decided;
mod details;
mod file;
mod journal;

mod names;
mod operation;
mod recorder;

pub use clock::{ClockRule, Origin, RunClock};
pub use decided::Decided;
pub use details::Details;
pub use file::{FileError, Reader, Writer, read, schema, write};
pub use journal::{Journal, read_journals};
pub use names::{Names, OwnerNo, PaymentNo, SeatNo};
pub use operation::{
    Answer, Call, ClaimNo, OPEN, Operation, RecordNo, SeatRow, StateNo, Told, When,
};
pub(crate) use operation::{Home, RefusedHold};
pub use recorder::{Client, Invoked, Recorded, Recorder, RecorderOptions};

use soldonce::Timestamp;

/// What holds for a whole history: where it started, and what its clocks mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// How the store's clock and the instants belong together.
    pub clock: ClockRule,
    /// When the seats were added, which is what reading an unchanged seat shows. Not compared when
    /// it is `None`.
    pub seats_added_at: Option<Timestamp>,
    /// Seats that do not exist. Every other seat that is named exists from the start, free, at version 0.
    pub missing_seats: Vec<SeatNo>,
}

/// A whole concurrent run.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Where it started, and what its clocks mean.
    pub header: Header,
    /// The names behind the numbers.
    pub names: Names,
    /// The records and seats that answers carry.
    pub details: Details,
    /// The calls. The check wants them in the order in which they returned, and sorts them otherwise.
    pub operations: Vec<Operation>,
}

impl History {
    /// Adds one call.
    pub fn push(&mut self, when: When, call: Call, answer: Answer) {
        let operation = Operation::new(when, call, answer, &mut self.details);
        self.operations.push(operation);
    }

    /// Takes over the calls of another history of the same run, recorded elsewhere on the same clock.
    /// Its clients become further clients.
    pub fn append(&mut self, other: &Self) {
        let clients = self
            .operations
            .iter()
            .map(|operation| operation.when().client + 1);
        let clients = clients.max().unwrap_or(0);
        let mut numbering = convert::Numbering::default();
        numbering.extend(&other.names, &mut self.names);
        for operation in &other.operations {
            let mut when = operation.when();
            when.client += clients;
            let call = numbering.call(&operation.call());
            let answer = numbering.answer(&operation.answer(&other.details));
            self.push(when, call, answer);
        }
        self.sort();
    }

    /// Puts the calls in the order in which they returned; calls that never did come last.
    pub fn sort(&mut self) {
        if !self.operations.is_sorted_by_key(Operation::returned) {
            self.operations.sort_by_key(Operation::returned);
        }
    }
}

//! Sequences of commands, one after the other, on a store and on the reference.
//!
//! A [`Sequence`] is a list of [`Step`]s: calls at a time that a hand-set clock shows, through one of
//! two stores on the same file, now and then under an injected fault; seats that are added; restarts.
//! [`run`] walks it on a store and compares each answer and everything that can be read with the
//! [`reference`](crate::reference); [`generate`] draws sequences, [`shrink`] makes one that fails
//! small, [`campaign`] does that for many, and [`small_space`] tries every short one.

use std::fmt;

use soldonce::{Command, SeatId, Timestamp};

pub mod campaign;
pub mod generate;
pub mod notation;
mod pair;
pub mod run;
pub mod shrink;
pub mod small_space;
mod words;

/// One thing that happens to a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A command is given.
    Call(Call),
    /// A seat is added; one that is there stays as it is.
    Add {
        /// When.
        at: Timestamp,
        /// Which.
        seat: SeatId,
    },
    /// Every store on the file is closed, and opened again.
    Reopen,
}

/// A command, when and how it is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What the clock shows.
    pub at: Timestamp,
    /// Through which store on the file.
    pub via: Via,
    /// What goes wrong meanwhile.
    pub fault: Fault,
    /// The command.
    pub command: Command,
}

/// One of two stores that have the same file open, with a pool each: as two processes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Via {
    /// The first.
    #[default]
    First,
    /// The second; it is opened when it is first used.
    Second,
}

/// What goes wrong during a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// Somebody else holds the write lock: nothing may happen, and the caller is told so.
    Locked,
    /// The commit fails: the caller must not be answered as if it had not.
    CommitFails,
    /// The commit succeeds, and its answer is lost: the outcome is unknown to the caller.
    AnswerLost,
}

/// Steps, on a store in which the seats that they name are there from time 0 on, but for those whose
/// name begins with `x`: they are there only once they are added.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sequence {
    /// The steps.
    pub steps: Vec<Step>,
}

impl Sequence {
    /// The seats that are there before the first step.
    pub fn seats(&self) -> Vec<SeatId> {
        let named = self
            .steps
            .iter()
            .filter_map(Step::command)
            .map(Command::seat);
        let mut seats: Vec<SeatId> = named
            .filter(|seat| is_there_at_first(seat))
            .cloned()
            .collect();
        seats.sort();
        seats.dedup();
        seats
    }
}

fn is_there_at_first(seat: &SeatId) -> bool {
    !seat.as_str().starts_with('x')
}

impl Step {
    /// The command of a call.
    pub const fn command(&self) -> Option<&Command> {
        match self {
            Self::Call(call) => Some(&call.command),
            Self::Add { .. } | Self::Reopen => None,
        }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        notation::write(self, f)
    }
}

impl std::str::FromStr for Sequence {
    type Err = notation::Unreadable;

    fn from_str(text: &str) -> Result<Self, notation::Unreadable> {
        notation::read(text)
    }
}

/// Which comparison found a difference. The order is that of a search for the plainest one: a
/// sequence is made smaller only into one that fails in the same way or in an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// The outcome of a call is not the reference's.
    Answer,
    /// The outcome is right; the version or the time on the receipt is not.
    Receipt,
    /// The answer is right; what is stored afterwards breaks an invariant, alone or with what was stored
    /// or answered before.
    Audit,
    /// The answer is right, and no invariant is broken; what can be read afterwards is not right.
    State,
    /// It shows only after a reopening, or through a second store on the same file.
    Restart,
    /// It shows only when a fault is injected.
    Fault,
    /// The schema's own constraints refused the change: the fault did not reach an answer.
    Schema,
}

impl Check {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Receipt => "receipt",
            Self::Audit => "audit",
            Self::State => "state",
            Self::Restart => "restart",
            Self::Fault => "fault",
            Self::Schema => "schema",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

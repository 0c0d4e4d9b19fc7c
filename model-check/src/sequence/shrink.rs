//! Makes a failing sequence small enough to be read.
//!
//! `proptest` first leaves out steps; then every step, trouble, length and time is tried without, or
//! plainer, again and again until nothing more can go. A smaller sequence counts only when it still
//! fails, and in the same way or in a plainer one (the order of [`Check`](super::Check)).

use std::collections::BTreeSet;

use soldonce::{Command, HoldDuration, HoldRequest, OwnerId, PaymentId, SeatId, Timestamp};

use super::generate::Tree;
use super::notation::USUAL_TTL_MILLIS;
use super::run::{CouldNotRun, Depth, Failure, Place, Workplace, repeated, run};
use super::{Fault, Sequence, Step, Via};
use crate::store_choice::Subject;

/// A sequence that fails, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Minimal {
    /// The sequence.
    pub sequence: Sequence,
    /// How it fails.
    pub failure: Failure,
    /// How many sequences were walked to find it.
    pub tries: u64,
}

/// Shrinks the sequence of a tree that failed when it was walked in full.
///
/// # Errors
/// [`CouldNotRun`] when something outside the store failed.
pub fn shrink(
    mut tree: Tree,
    failure: Failure,
    subject: &dyn Subject,
    place: &Workplace,
) -> Result<Minimal, CouldNotRun> {
    let mut best = Minimal {
        sequence: tree.current(),
        failure,
        tries: 0,
    };
    // The way of proptest: smaller while it fails, back a little when it does not.
    let mut smaller = tree.simplify();
    while smaller {
        smaller = if best.try_in_full(tree.current(), subject, place)? {
            tree.simplify()
        } else {
            tree.complicate()
        };
    }
    best.by_steps_alone(subject, place)?;
    while best.once_through(subject, place)? {}
    Ok(best)
}

impl Minimal {
    fn try_in_full(
        &mut self,
        sequence: Sequence,
        subject: &dyn Subject,
        place: &Workplace,
    ) -> Result<bool, CouldNotRun> {
        let failure = run(&sequence, subject, place, Depth::Full)?.err();
        self.take(sequence, failure, subject, place)
    }

    fn try_steps(
        &mut self,
        sequence: Sequence,
        subject: &dyn Subject,
        place: &Workplace,
    ) -> Result<bool, CouldNotRun> {
        let failure = run(&sequence, subject, place, Depth::Steps)?.err();
        self.take(sequence, failure, subject, place)
    }

    /// Keeps a sequence that fails as plainly as the best one does. Was it?
    fn take(
        &mut self,
        sequence: Sequence,
        failure: Option<Failure>,
        subject: &dyn Subject,
        place: &Workplace,
    ) -> Result<bool, CouldNotRun> {
        self.tries += 1;
        match failure {
            Some(failure) if failure.check <= self.failure.check => {
                self.sequence = sequence;
                self.failure = failure;
                self.leave_out_what_follows(subject, place)?;
                Ok(true)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// Leaves out the steps after the one that failed. A seat that only they name is then no longer there,
    /// and the rest may not fail without it: that is tried before it is believed.
    fn leave_out_what_follows(
        &mut self,
        subject: &dyn Subject,
        place: &Workplace,
    ) -> Result<(), CouldNotRun> {
        let Place::Step(last) = self.failure.place else {
            return Ok(());
        };
        let mut cut = self.sequence.clone();
        cut.steps.truncate(last + 1);
        if cut.seats() != self.sequence.seats() {
            self.tries += 1;
            match run(&cut, subject, place, Depth::Steps)? {
                Err(failure) if failure.check <= self.failure.check => self.failure = failure,
                Ok(_) | Err(_) => return Ok(()),
            }
        }
        self.sequence = cut;
        Ok(())
    }

    /// Writes the repeats at the end out as steps, so that the sequence fails by its steps alone.
    fn by_steps_alone(
        &mut self,
        subject: &dyn Subject,
        place: &Workplace,
    ) -> Result<(), CouldNotRun> {
        let mut steps = self.sequence.steps.clone();
        let again: Vec<Step> = repeated(&self.sequence)
            .map(|(_, call)| Step::Call(call))
            .collect();
        match self.failure.place {
            Place::Step(_) => return Ok(()),
            Place::Repeat(_) => steps.extend(again),
            Place::AfterReopen(_) | Place::End => {
                steps.extend(again.iter().cloned());
                steps.push(Step::Reopen);
                steps.extend(again);
            }
        }
        self.try_steps(Sequence { steps }, subject, place)?;
        Ok(())
    }

    /// Tries everything that could be plainer, once. Was anything?
    fn once_through(
        &mut self,
        subject: &dyn Subject,
        place: &Workplace,
    ) -> Result<bool, CouldNotRun> {
        let mut any = false;
        for index in (0..self.sequence.steps.len()).rev() {
            if index < self.sequence.steps.len() {
                let mut sequence = self.sequence.clone();
                sequence.steps.remove(index);
                any |= self.try_steps(sequence, subject, place)?;
            }
        }
        for index in 0..self.sequence.steps.len() {
            for step in self
                .sequence
                .steps
                .get(index)
                .map(plainer)
                .unwrap_or_default()
            {
                let mut sequence = self.sequence.clone();
                if let Some(old) = sequence.steps.get_mut(index) {
                    *old = step;
                    any |= self.try_steps(sequence, subject, place)?;
                }
            }
        }
        any |= self.earlier(subject, place)?;
        let renamed = renamed(&self.sequence);
        if renamed != self.sequence {
            any |= self.try_steps(renamed, subject, place)?;
        }
        Ok(any)
    }

    /// Brings times forward: all from a step on by as much as the step allows, then one alone.
    fn earlier(&mut self, subject: &dyn Subject, place: &Workplace) -> Result<bool, CouldNotRun> {
        let mut any = false;
        for index in 0..self.sequence.steps.len() {
            let Some(now) = self.sequence.steps.get(index).and_then(time_of) else {
                continue;
            };
            let before = self.sequence.steps[..index].iter().rev().find_map(time_of);
            let before = before.unwrap_or(0);
            let mut candidates = BTreeSet::from([0, 1, before, before + 1, 9, 10, 11]);
            candidates.insert(now - 1);
            for earlier in candidates.into_iter().filter(|at| (0..now).contains(at)) {
                let mut all = self.sequence.clone();
                for step in &mut all.steps[index..] {
                    if let Some(at) = time_of(step) {
                        set_time(step, (at - (now - earlier)).max(0));
                    }
                }
                let mut one = self.sequence.clone();
                set_time(&mut one.steps[index], earlier);
                if self.try_steps(all, subject, place)? || self.try_steps(one, subject, place)? {
                    any = true;
                    break;
                }
            }
        }
        Ok(any)
    }
}

/// A step without its trouble, and with a hold of the usual length.
fn plainer(step: &Step) -> Vec<Step> {
    let Step::Call(call) = step else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if call.fault != Fault::None {
        found.push(Step::Call(super::Call {
            fault: Fault::None,
            ..call.clone()
        }));
    }
    if call.via != Via::First {
        found.push(Step::Call(super::Call {
            via: Via::First,
            ..call.clone()
        }));
    }
    if let Command::Hold(request) = &call.command
        && request.ttl.as_millis() != USUAL_TTL_MILLIS
    {
        let ttl = HoldDuration::from_millis(USUAL_TTL_MILLIS).expect("in range");
        found.push(Step::Call(super::Call {
            command: Command::Hold(HoldRequest {
                ttl,
                ..request.clone()
            }),
            ..call.clone()
        }));
    }
    found
}

fn time_of(step: &Step) -> Option<i64> {
    match step {
        Step::Call(super::Call { at, .. }) | Step::Add { at, .. } => Some(at.as_unix_millis()),
        Step::Reopen => None,
    }
}

fn set_time(step: &mut Step, millis: i64) {
    let new = Timestamp::from_unix_millis(millis).expect("between 0 and an earlier time");
    match step {
        Step::Call(super::Call { at, .. }) | Step::Add { at, .. } => *at = new,
        Step::Reopen => {}
    }
}

/// The first names in the order of their first use: seat s, owner A, payment p.
fn renamed(sequence: &Sequence) -> Sequence {
    let mut seats = Names::new(&["s", "t", "u", "v", "w"]);
    let mut owners = Names::new(&["A", "B", "D"]);
    let mut payments = Names::new(&["p", "q", "r", "p4", "p5", "p6", "p7", "p8"]);
    let mut seat = |id: &mut SeatId| {
        if !id.as_str().starts_with('x') {
            *id = SeatId::new(seats.of(id.as_str())).expect("valid");
        }
    };
    let mut owner = |id: &mut OwnerId| *id = OwnerId::new(owners.of(id.as_str())).expect("valid");
    let mut sequence = sequence.clone();
    for step in &mut sequence.steps {
        match step {
            Step::Call(call) => match &mut call.command {
                Command::Hold(request) => {
                    seat(&mut request.seat);
                    owner(&mut request.owner);
                }
                Command::Release(claim) => {
                    seat(&mut claim.seat);
                    owner(&mut claim.owner);
                }
                Command::ConfirmPayment { payment, claim } => {
                    *payment = PaymentId::new(payments.of(payment.as_str())).expect("valid");
                    seat(&mut claim.seat);
                    owner(&mut claim.owner);
                }
            },
            Step::Add { seat: id, .. } => seat(id),
            Step::Reopen => {}
        }
    }
    sequence
}

struct Names {
    new: &'static [&'static str],
    old: Vec<String>,
}

impl Names {
    const fn new(new: &'static [&'static str]) -> Self {
        Self {
            new,
            old: Vec::new(),
        }
    }

    fn of(&mut self, name: &str) -> String {
        let found = self
            .old
            .iter()
            .position(|old| old == name)
            .unwrap_or_else(|| {
                self.old.push(name.to_owned());
                self.old.len() - 1
            });
        self.new
            .get(found)
            .map_or_else(|| name.to_owned(), |new| (*new).to_owned())
    }
}

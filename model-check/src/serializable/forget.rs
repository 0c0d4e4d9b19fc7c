//! Payments that no call will name any more, and what can be forgotten with them.
//!
//! Of a payment the check needs its decision for as long as an answer may still contradict it. After that
//! the payment may still be named by calls that are remembered for something else: the one that sold
//! a seat, one of unknown result, one in a violation. Only when there is no such call is it forgotten, and
//! its number may then stand for another payment. Finding that out takes a walk through everything that is
//! remembered, so it is done when so many payments were closed that the walk costs each of them little.
//! The same walk throws out the details that nothing refers to any more.

use std::collections::VecDeque;

use super::checker::Checker;
use super::payment::PaymentTrack;
use super::rules::RuleSet;
use super::seat::SeatTrack;
use crate::history::{Details, Operation, PaymentNo, RecordNo};

/// With fewer closed payments a walk is not worth it.
const FEW: usize = 4096;
/// So many remembered calls and payments may be walked by for each payment that was closed.
const STEPS: usize = 16;

/// When to walk next.
#[derive(Debug)]
pub(super) struct Forgetting {
    /// Payments closed since the last walk.
    closed: usize,
    /// After how many it is time.
    walk_after: usize,
    /// How many details there may be before those that are needed are moved together.
    many_details: usize,
}

impl Default for Forgetting {
    fn default() -> Self {
        Self {
            closed: 0,
            walk_after: FEW,
            many_details: FEW,
        }
    }
}

impl<R: RuleSet> Checker<R> {
    /// Promises that no call will be fed any more that names this payment.
    pub fn close_payment(&mut self, payment: PaymentNo) {
        self.touch_payment(payment);
        let track = &mut self.payments[payment.index()];
        if !track.closed {
            track.closed = true;
            self.forgetting.closed += 1;
        }
    }

    /// Takes that promise back for every payment that was not forgotten.
    pub(crate) fn reopen_payments(&mut self) {
        for track in &mut self.payments {
            track.closed = false;
        }
    }

    /// Were so many payments closed that it is time to forget them?
    pub(crate) fn has_much_to_forget(&self) -> bool {
        self.forgetting.closed >= self.forgetting.walk_after
    }

    /// Forgets the payments that are closed, decided, and named by no call that is remembered or waits to be
    /// fed, and tells what was decided about each. Then `details` has only what these calls need.
    pub(crate) fn forget_payments(
        &mut self,
        details: &mut Details,
        waiting: &mut [&mut VecDeque<Operation>],
        mut tell: impl FnMut(&RecordNo),
    ) {
        for track in &mut self.seats {
            track.forget(self.horizon);
        }
        let (named, steps) = self.named(details, waiting);
        for (track, named) in self.payments.iter_mut().zip(named) {
            if track.closed
                && !named
                && let Some(decision) = &track.decision
            {
                tell(&decision.1);
                *track = PaymentTrack::default();
            }
        }
        if details.len() > self.forgetting.many_details {
            self.move_details(details, waiting);
            self.forgetting.many_details = FEW.max(2 * details.len());
        }
        self.forgetting.closed = 0;
        self.forgetting.walk_after = FEW.max(steps / STEPS);
    }

    /// Which payments are named by any call, but for those of closed payments themselves; and how many
    /// calls and payments were looked at for that.
    fn named(&self, details: &Details, waiting: &[&mut VecDeque<Operation>]) -> (Vec<bool>, usize) {
        let mut named = vec![false; self.payments.len()];
        let mut steps = named.len();
        let open = self.payments.iter().filter(|track| !track.closed);
        let violations = self.violations.iter();
        let operations = (self.seats.iter().flat_map(SeatTrack::operations))
            .chain(open.flat_map(PaymentTrack::operations))
            .chain(violations.flat_map(|violation| &violation.operations))
            .chain(waiting.iter().flat_map(|queue| queue.iter()));
        for operation in operations {
            steps += 1;
            for payment in operation.payments(details) {
                // One that is not tracked yet is not forgotten either.
                if let Some(named) = named.get_mut(payment.index()) {
                    *named = true;
                }
            }
        }
        (named, steps)
    }

    /// Keeps only the details that calls refer to.
    fn move_details(&mut self, details: &mut Details, waiting: &mut [&mut VecDeque<Operation>]) {
        let from = std::mem::take(details);
        let violations = self.violations.iter_mut();
        let operations = (self.seats.iter_mut().flat_map(SeatTrack::operations_mut))
            .chain(
                self.payments
                    .iter_mut()
                    .flat_map(PaymentTrack::operations_mut),
            )
            .chain(violations.flat_map(|violation| &mut violation.operations))
            .chain(waiting.iter_mut().flat_map(|queue| queue.iter_mut()));
        for operation in operations {
            operation.move_detail(&from, details);
        }
    }
}

#[cfg(test)]
#[path = "forget_tests.rs"]
mod tests;

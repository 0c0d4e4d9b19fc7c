//! Payments, folded into the seats that decided them.
//!
//! A payment has one decision, made at one place in the order of one seat: by the change that sold
//! the seat, or, for a refund, by an answer on the version that it names. After it, answers about the
//! payment carry its record; before it, a read of the payment says that it is not known. That read
//! belongs to no seat, and has to come before the decision, and so before everything that comes
//! after the decision on the deciding seat.

use soldonce::Version;

use super::checker::Checker;
use super::rules::{Rule, RuleSet};
use super::seat::{Place, made_at, read_at};
use crate::history::{Details, OPEN, Operation, PaymentNo, RecordNo};

/// What the check remembers of one payment.
#[derive(Debug, Default)]
pub(super) struct PaymentTrack {
    /// The call that decided it, and what was recorded.
    pub(super) decision: Option<Box<(Operation, RecordNo)>>,
    /// The first answer that carried its record while no decision had returned, and that record.
    pub(super) shown: Option<Box<(Operation, RecordNo)>>,
    /// Of the reads that did not know it, the one that was invoked last.
    pub(super) not_known: Option<Box<Operation>>,
    /// No call will name it any more.
    pub(super) closed: bool,
}

impl PaymentTrack {
    /// Every call that is remembered for it.
    pub(super) fn operations(&self) -> impl Iterator<Item = &Operation> {
        let records = [&self.decision, &self.shown].into_iter().flatten();
        records
            .map(|record| &record.0)
            .chain(self.not_known.as_deref())
    }

    /// The same, to be changed.
    pub(super) fn operations_mut(&mut self) -> impl Iterator<Item = &mut Operation> {
        let records = [&mut self.decision, &mut self.shown].into_iter().flatten();
        records
            .map(|record| &mut record.0)
            .chain(self.not_known.as_deref_mut())
    }
}

const NOT_KNOWN_LATE: &str = "the second call does not know the payment, and was invoked after the first had returned, which \
     comes after the decision";

impl<R: RuleSet> Checker<R> {
    /// A call that decided about its payment.
    pub(super) fn take_decision(&mut self, operation: &Operation, record: &RecordNo, place: Place) {
        self.touch_payment(record.payment);
        let track = &mut self.payments[record.payment.index()];
        if let Some(other) = track.decision.as_deref().map(|(other, _)| *other) {
            if R::keeps(Rule::OneDecision) {
                self.violated(
                    Rule::OneDecision,
                    "both decided about one payment",
                    vec![other, *operation],
                );
            }
            return;
        }
        track.decision = Some(Box::new((*operation, *record)));
        if let Some((shown_by, shown)) = track.shown.as_deref().copied() {
            self.same_record(operation, record, &shown_by, &shown);
            if R::keeps(Rule::PaymentRealTime) && shown_by.returned < operation.invoked {
                self.violated(
                    Rule::PaymentRealTime,
                    "the first call returned with the record before the second, which made it, was invoked",
                    vec![shown_by, *operation],
                );
            }
        }
        if let Some(not_known) = self.payments[record.payment.index()].not_known.as_deref() {
            let not_known = *not_known;
            self.known_too_late(&not_known, operation, record, place);
        }
    }

    /// An answer that carries the record of a payment.
    pub(super) fn take_known(&mut self, operation: &Operation, record: &RecordNo) {
        self.touch_payment(record.payment);
        let track = &mut self.payments[record.payment.index()];
        let earlier = track
            .decision
            .as_deref()
            .or(track.shown.as_deref())
            .copied();
        // With a decision that has returned, nothing more can come of it: what is invoked after this answer
        // is invoked after the decision returned, too.
        let decided = track.decision.as_deref();
        if track.shown.is_none() && decided.is_none_or(|(by, _)| by.returned == OPEN) {
            track.shown = Some(Box::new((*operation, *record)));
        }
        if let Some((other, recorded)) = earlier {
            self.same_record(&other, &recorded, operation, record);
        }
    }

    fn same_record(
        &mut self,
        by: &Operation,
        made: &RecordNo,
        shown_by: &Operation,
        shown: &RecordNo,
    ) {
        if R::keeps(Rule::RecordAsDecided) && made != shown {
            self.violated(
                Rule::RecordAsDecided,
                "the record of one payment is not the same in both answers",
                vec![*by, *shown_by],
            );
        }
    }

    /// A read that says that the payment is not known.
    pub(super) fn take_not_known(
        &mut self,
        payment: PaymentNo,
        operation: &Operation,
        version: Version,
    ) -> Result<(), super::judge::Problem> {
        if version != Version::ZERO && R::keeps(Rule::AnswerFits) {
            return Err((Rule::AnswerFits, "an unknown payment is read at version 0"));
        }
        self.touch_payment(payment);
        let track = &mut self.payments[payment.index()];
        if track
            .not_known
            .as_ref()
            .is_none_or(|latest| latest.invoked < operation.invoked)
        {
            track.not_known = Some(Box::new(*operation));
        }
        let decision = track.decision.as_deref().copied();
        if let Some((shown_by, _)) = track.shown.as_deref().copied()
            && R::keeps(Rule::PaymentRealTime)
            && shown_by.returned < operation.invoked
        {
            self.violated(
                Rule::PaymentRealTime,
                NOT_KNOWN_LATE,
                vec![shown_by, *operation],
            );
        } else if let Some((decided_by, record)) = decision {
            let place = place_of(&record);
            self.known_too_late(operation, &decided_by, &record, place);
        }
        Ok(())
    }

    /// A read that did not know the payment, against its decision at `place` of its seat.
    fn known_too_late(
        &mut self,
        not_known: &Operation,
        decided_by: &Operation,
        record: &RecordNo,
        place: Place,
    ) {
        if !R::keeps(Rule::PaymentRealTime) {
            return;
        }
        let before = if decided_by.returned < not_known.invoked {
            Some(*decided_by)
        } else {
            self.seats[record.claim.seat.index()]
                .floor(not_known.invoked)
                .filter(|raise| not_known.invoked > decided_by.invoked && raise.place > place)
                .map(|raise| raise.shown_by)
        };
        if let Some(before) = before {
            self.violated(
                Rule::PaymentRealTime,
                NOT_KNOWN_LATE,
                vec![before, *not_known],
            );
        }
    }

    /// Records that were shown, and that no call with a receipt made: a call of unknown result did,
    /// the first that was invoked among those that fit, since that one leaves the others most room.
    pub(super) fn settle_payments(&mut self, details: &mut Details) {
        for payment in 0..self.payments.len() {
            let track = &self.payments[payment];
            let (None, Some((shown_by, record))) =
                (&track.decision, track.shown.as_deref().copied())
            else {
                continue;
            };
            let seat = record.claim.seat.index();
            let candidate = self
                .seats
                .get(seat)
                .map_or(&[][..], |track| &track.unknown)
                .iter()
                .enumerate()
                .filter(|(_, (operation, _))| super::unknown::can_make(operation, &record))
                .min_by_key(|(_, (operation, _))| operation.invoked)
                .map(|(place, _)| place);
            if let Some(candidate) = candidate {
                let (operation, _) = self.seats[seat].unknown.swap_remove(candidate);
                let made = super::unknown::as_decided(&operation, &record, details);
                self.take_as_happened(&made, details);
            } else if R::keeps(Rule::RecordAsDecided) {
                self.violated(
                    Rule::RecordAsDecided,
                    "it carries the record of a decision that nobody made",
                    vec![shown_by],
                );
            }
        }
    }
}

/// Where a decision stands in the order of its seat.
pub(super) fn place_of(record: &RecordNo) -> Place {
    match record.decision {
        soldonce::Decision::Sold => made_at(record.version),
        soldonce::Decision::RefundRequired(_) => read_at(record.version),
    }
}

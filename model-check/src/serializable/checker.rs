//! The check itself, fed with one call after the other in the order of their returns.

use std::marker::PhantomData;

use soldonce::Version;

use super::forget::Forgetting;
use super::judge::{self, Answered, Problem, View};
use super::payment::PaymentTrack;
use super::refusal;
use super::rules::{AllRules, Rule, RuleSet};
use super::seat::{Maker, Place, REACH, SeatTrack, answered, initial, made_at, read_at, view_of};
use super::{Counts, Report, Verdict, Violation};
use crate::history::{Answer, Call, Details, Header, Operation, PaymentNo, RecordNo, SeatNo, Told};

/// So many violations are kept; further ones are only counted.
const KEPT: usize = 16;

/// Above so many remembered versions a seat is looked through for what can be forgotten.
pub(super) const MUCH: usize = 16;

/// Checks a history while it grows.
///
/// Feed it every call in the order in which they *returned*; a call of unknown result when, or any time
/// after, all calls that returned before its invocation were fed. [`Checker::report`] gives the
/// verdict on what was fed so far; [`Checker::finish`] the final one, for which calls of unknown
/// result are assigned to the versions that nobody else made.
///
/// Cost: constant work per call. Memory: what is kept of a seat is the versions that a call still in
/// flight may name (see [`Checker::no_call_before`]), and per payment its decision, until it is closed
/// ([`Checker::close_payment`]). A seat that a call of unknown result was about keeps all its versions
/// from then on.
#[derive(Debug)]
pub struct Checker<R: RuleSet = AllRules> {
    pub(super) header: Header,
    missing: Vec<bool>,
    pub(super) seats: Vec<SeatTrack>,
    pub(super) payments: Vec<PaymentTrack>,
    counts: Counts,
    pub(super) violations: Vec<Violation>,
    pub(super) horizon: u64,
    pub(super) forgetting: Forgetting,
    rules: PhantomData<R>,
}

impl Checker<AllRules> {
    /// A check with all its rules.
    pub fn new(header: Header) -> Self {
        Self::with_rules(header)
    }
}

impl<R: RuleSet> Checker<R> {
    pub(crate) fn with_rules(header: Header) -> Self {
        let mut missing = Vec::new();
        for seat in &header.missing_seats {
            if missing.len() <= seat.index() {
                missing.resize(seat.index() + 1, false);
            }
            missing[seat.index()] = true;
        }
        Self {
            header,
            missing,
            seats: Vec::new(),
            payments: Vec::new(),
            counts: Counts::default(),
            violations: Vec::new(),
            horizon: 0,
            forgetting: Forgetting::default(),
            rules: PhantomData,
        }
    }

    /// Promises that no call will be fed any more that was invoked before this instant, so that what
    /// only such a call could need is forgotten.
    pub fn no_call_before(&mut self, instant: u64) {
        self.horizon = self.horizon.max(instant);
    }

    /// Takes one call.
    #[inline]
    pub fn feed(&mut self, operation: &Operation, details: &Details) {
        self.counts.operations += 1;
        if self.take_plain_refusal(operation) {
            return;
        }
        if let Err((rule, problem)) = self.take(operation, details) {
            self.violated(rule, problem, vec![*operation]);
        }
    }

    #[inline]
    fn take(&mut self, operation: &Operation, details: &Details) -> Result<(), Problem> {
        match operation.answer(details) {
            Answer::Receipt { told, version, at } => {
                let answer = Answered {
                    call: operation.call(),
                    told,
                    version,
                    at,
                };
                self.take_receipt(operation, &answer, details)
            }
            Answer::Unknown => {
                self.counts.unknown += 1;
                self.take_unknown(operation);
                Ok(())
            }
            Answer::NotApplied => {
                self.counts.not_applied += 1;
                Ok(())
            }
            Answer::NoSuchSeat => {
                let missing =
                    matches!(operation.call(), Call::Hold { seat, .. } if !self.exists(seat));
                if missing || !R::keeps(Rule::AnswerFits) {
                    Ok(())
                } else {
                    Err((
                        Rule::AnswerFits,
                        "only a hold on a seat that does not exist is answered so",
                    ))
                }
            }
        }
    }

    #[inline]
    fn take_receipt(
        &mut self,
        operation: &Operation,
        answer: &Answered,
        details: &Details,
    ) -> Result<(), Problem> {
        judge::belongs::<R>(&answer.call, &answer.told)?;
        self.within_call(operation, answer)?;
        if answer.told == Told::Payment(None) {
            let Call::ReadPayment(payment) = answer.call else {
                return Ok(());
            };
            return self.take_not_known(payment, operation, answer.version);
        }
        let Some(seat) = home(answer) else {
            return Ok(());
        };
        self.touch_seat(seat);
        let changed = answer.told.changed_seat();
        let place = if changed {
            made_at(answer.version)
        } else {
            read_at(answer.version)
        };
        self.in_real_time(seat, place, operation);
        self.seats[seat.index()].raise(place, operation);
        if changed {
            self.take_change(seat, operation, answer, REACH, details);
        } else {
            self.take_read(seat, operation, answer, details)?;
        }
        if let Some(record) = judge::record_of(answer) {
            self.take_decision(operation, &record, place);
        } else if let Some(record) = answer.told.record() {
            self.take_known(operation, record);
        }
        Ok(())
    }

    fn within_call(&self, operation: &Operation, answer: &Answered) -> Result<(), Problem> {
        let at = answer.at.as_unix_millis();
        let clock = self.header.clock;
        if !R::keeps(Rule::WithinCall)
            || clock.earliest(operation.invoked) <= at && at <= clock.latest(operation.returned)
        {
            Ok(())
        } else {
            Err((
                Rule::WithinCall,
                "the time it names is not within the call, on the store's clock",
            ))
        }
    }

    /// The whole of the real-time condition for two calls about one seat.
    #[inline]
    fn in_real_time(&mut self, seat: SeatNo, place: Place, operation: &Operation) {
        if !R::keeps(Rule::RealTime) {
            return;
        }
        if let Some(raise) = self.seats[seat.index()].floor(operation.invoked)
            && raise.place > place
        {
            let shown_by = raise.shown_by;
            self.violated(
                Rule::RealTime,
                "the second call was invoked after the first had returned, and stands on an older version",
                vec![shown_by, *operation],
            );
        }
    }

    fn take_change(
        &mut self,
        seat: SeatNo,
        operation: &Operation,
        answer: &Answered,
        reach: i64,
        details: &Details,
    ) {
        if let Err((rule, problem)) = judge::own_words::<R>(answer) {
            return self.violated(rule, problem, vec![*operation]);
        }
        let track = &mut self.seats[seat.index()];
        match track.maker(answer.version) {
            Maker::NotYet => {}
            Maker::Known(other) => {
                let other = *other;
                if R::keeps(Rule::OneMaker) {
                    self.violated(
                        Rule::OneMaker,
                        "both made the same version",
                        vec![other, *operation],
                    );
                }
                return;
            }
            Maker::Nobody | Maker::Forgotten => return, // said already, by `own_words` or in real time
        }
        if !track.set_maker(*operation, reach) {
            track.far.push(*operation);
            return;
        }
        self.steps_around(seat, operation, answer, details);
        self.release_waiting(seat, answer.version, details);
        let track = &mut self.seats[seat.index()];
        if track.remembered() > MUCH {
            track.forget(self.horizon);
        }
    }

    /// The steps into this version and out of it, as far as both sides are known.
    fn steps_around(
        &mut self,
        seat: SeatNo,
        operation: &Operation,
        answer: &Answered,
        details: &Details,
    ) {
        let track = &self.seats[seat.index()];
        let before =
            Version::new(answer.version.get() - 1).expect("a change makes a version above 0");
        let (into, from) = match track.maker(before) {
            Maker::Nobody => (Some(self.initial(seat)), None),
            Maker::Known(maker) => (Some(view_of(maker, details)), Some(*maker)),
            Maker::NotYet | Maker::Forgotten => (None, None),
        };
        let after = answer.version.next().map(|next| track.maker(next));
        let after = match after {
            Some(Maker::Known(next)) => Some(*next),
            Some(Maker::Nobody | Maker::NotYet | Maker::Forgotten) | None => None,
        };
        if let Some(into) = into
            && let Err((rule, problem)) = judge::step::<R>(&into, answer)
        {
            self.violated(
                rule,
                problem,
                from.into_iter().chain([*operation]).collect(),
            );
        }
        if let Some(next) = after
            && let Some(next_answer) = answered(&next, details)
            && let Err((rule, problem)) = judge::step::<R>(&View::after(answer), &next_answer)
        {
            self.violated(rule, problem, vec![*operation, next]);
        }
    }

    /// Answers that waited for the maker of this version.
    fn release_waiting(&mut self, seat: SeatNo, version: Version, details: &Details) {
        let track = &mut self.seats[seat.index()];
        if track.waiting.is_empty() {
            return;
        }
        let due: Vec<Operation> = track
            .waiting
            .extract_if(.., |waiting| waiting.version == version.get())
            .collect();
        let Some(maker) = track.made(version.get()).copied() else {
            return;
        };
        for operation in due {
            if let Some(refused) = operation.as_refused_hold()
                && refusal::fits(&refused, &operation, &maker)
            {
                continue;
            }
            let answer = answered(&operation, details).expect("only receipts wait");
            if let Err((rule, problem)) = self.take_read(seat, &operation, &answer, details) {
                self.violated(rule, problem, vec![operation]);
            }
        }
    }

    #[inline]
    fn take_read(
        &mut self,
        seat: SeatNo,
        operation: &Operation,
        answer: &Answered,
        details: &Details,
    ) -> Result<(), Problem> {
        let (view, maker) = match self.seats[seat.index()].maker(answer.version) {
            Maker::Nobody => (self.initial(seat), None),
            Maker::Known(maker) => (view_of(maker, details), Some(*maker)),
            Maker::NotYet => {
                self.seats[seat.index()].waiting.push(*operation);
                return Ok(());
            }
            Maker::Forgotten => return Ok(()), // an old version: said already, in real time
        };
        let judged = judge::read::<R>(&view, answer);
        match (judged, maker) {
            (Err((rule, problem)), Some(maker)) => {
                self.violated(rule, problem, vec![maker, *operation]);
                Ok(())
            }
            (judged, _) => judged,
        }
    }

    fn take_unknown(&mut self, operation: &Operation) {
        let Some(seat) = operation.call().seat() else {
            return; // a read changes nothing
        };
        self.touch_seat(seat);
        let track = &mut self.seats[seat.index()];
        let floor = track
            .floor(operation.invoked)
            .map_or(0, |raise| raise.place);
        track.unknown.push((*operation, floor));
        track.keeps_all = true;
    }

    pub(super) fn exists(&self, seat: SeatNo) -> bool {
        !self.missing.get(seat.index()).copied().unwrap_or(false)
    }

    pub(super) fn initial(&self, seat: SeatNo) -> View {
        initial(self.exists(seat), self.header.seats_added_at)
    }

    fn touch_seat(&mut self, seat: SeatNo) {
        if self.seats.len() <= seat.index() {
            self.seats.resize_with(seat.index() + 1, SeatTrack::default);
        }
    }

    pub(super) fn touch_payment(&mut self, payment: PaymentNo) {
        if self.payments.len() <= payment.index() {
            self.payments
                .resize_with(payment.index() + 1, PaymentTrack::default);
        }
    }

    /// A call of unknown result took effect like this: from now on it is a call like others.
    pub(super) fn take_as_happened(&mut self, operation: &Operation, details: &Details) {
        self.counts.taken_as_happened += 1;
        let answer = answered(operation, details).expect("it was given an answer");
        if let Err((rule, problem)) = self.take_receipt(operation, &answer, details) {
            self.violated(rule, problem, vec![*operation]);
        }
    }

    pub(super) fn count_taken(&mut self, calls: u64) {
        self.counts.taken_as_happened += calls;
    }

    pub(super) fn violated(
        &mut self,
        rule: Rule,
        problem: &'static str,
        operations: Vec<Operation>,
    ) {
        self.counts.violations += 1;
        if self.violations.len() < KEPT {
            self.violations.push(Violation {
                rule,
                problem,
                operations,
            });
        }
    }

    /// Changes that were too far above the others to be looked at: by now the others have come.
    fn retry_far(&mut self, details: &Details) {
        for seat in 0..self.seats.len() {
            let mut far = std::mem::take(&mut self.seats[seat].far);
            far.sort_by_key(|operation| operation.version);
            let number = SeatNo::from_raw(u32::try_from(seat).expect("seats are numbered so"));
            for operation in far {
                let reach = i64::try_from(self.seats[seat].unknown.len()).unwrap_or(i64::MAX) + 1;
                let answer = answered(&operation, details).expect("a change has a receipt");
                self.take_change(number, &operation, &answer, reach, details);
            }
            for operation in std::mem::take(&mut self.seats[seat].far) {
                self.nobody_made(vec![operation]);
            }
        }
    }

    pub(super) fn nobody_made(&mut self, shown_by: Vec<Operation>) {
        if R::keeps(Rule::NoGap) {
            self.violated(
                Rule::NoGap,
                "it stands on a version that nobody made, and that no call of unknown result can have made",
                shown_by,
            );
        }
    }

    /// The verdict on what was fed so far. Answers whose version was not made yet are not judged yet.
    pub fn report(&self) -> Report {
        Report {
            verdict: if self.violations.is_empty() {
                Verdict::Holds
            } else {
                Verdict::Violated(self.violations.clone())
            },
            counts: self.counts.clone(),
        }
    }

    /// Were violations found so far?
    pub fn is_violated(&self) -> bool {
        !self.violations.is_empty()
    }

    /// The final verdict.
    pub fn finish(self, details: &mut Details) -> Report {
        self.finish_and_tell(details, |_| ())
    }

    /// The same, and tells what was decided about each payment that was not forgotten, as far as answers
    /// show it.
    pub(crate) fn finish_and_tell(
        mut self,
        details: &mut Details,
        mut tell: impl FnMut(&RecordNo),
    ) -> Report {
        self.retry_far(details);
        self.settle_payments(details);
        let mut inconclusive = self.fill_gaps(details);
        for track in &self.payments {
            if let Some((_, record)) = track.decision.as_deref().or(track.shown.as_deref()) {
                tell(record);
            }
        }
        let mut report = self.report();
        if report.verdict == Verdict::Holds
            && let Some(why) = inconclusive.take()
        {
            report.verdict = Verdict::Inconclusive(why);
        }
        report
    }
}

/// The seat that an answer was decided on: that of the record it carries, else that of the call.
#[inline]
pub(super) fn home(answer: &Answered) -> Option<SeatNo> {
    match answer.told.record() {
        Some(record) => Some(record.claim.seat),
        None => answer.call.seat(),
    }
}

#[cfg(test)]
#[path = "checker_tests.rs"]
mod tests;

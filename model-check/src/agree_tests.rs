//! The agreement of both checkers, and that it notices each rule of the check that is left out.

use super::*;
use crate::serializable::{Rule, Without};

static NEVER: AtomicBool = AtomicBool::new(false);

fn show(agreement: &Agreement) {
    for (kind, tally) in &agreement.tallies {
        println!("{:<30} {tally:?}", kind.name());
    }
}

#[test]
fn the_check_and_the_search_agree_on_random_histories_of_every_kind() {
    let agreement = agree(28_000, 1, &NEVER, || ());
    show(&agreement);
    assert_eq!(agreement.disagreements, []);
    for (kind, tally) in &agreement.tallies {
        assert!(tally.undecided <= 100, "{kind:?}: {tally:?}");
        assert!(tally.holds >= 250, "{kind:?}: {tally:?}");
        let right = matches!(kind, Kind::Valid | Kind::ValidUnknown);
        assert!(right || tally.violated >= 100, "{kind:?}: {tally:?}");
    }
}

/// Leaves out one rule, and wants the agreement to break.
fn noticed<const RULE: u8>() {
    let rule = Rule::ALL[usize::from(RULE)];
    for seed in 0..200 {
        let agreement = agree_with::<Without<RULE>>(280, seed, &NEVER, || ());
        if !agreement.is_complete() {
            let accepted = agreement
                .disagreements
                .iter()
                .all(|found| found.check_holds);
            assert!(accepted, "without {rule} the check can only accept more");
            return;
        }
    }
    panic!("the agreement holds without the rule {rule}");
}

macro_rules! each_rule {
    ($($name:ident: $rule:ident;)*) => {
        $(#[test]
        fn $name() {
            noticed::<{ Rule::$rule as u8 }>();
        })*

        #[test]
        fn every_rule_is_left_out_once() {
            assert_eq!([$(Rule::$rule),*], Rule::ALL);
        }
    };
}

each_rule! {
    without_answer_to_its_call_the_agreement_breaks: AnswerToItsCall;
    without_within_call_the_agreement_breaks: WithinCall;
    without_time_does_not_fall_the_agreement_breaks: TimeDoesNotFall;
    without_one_maker_the_agreement_breaks: OneMaker;
    without_no_gap_the_agreement_breaks: NoGap;
    without_legal_step_the_agreement_breaks: LegalStep;
    without_answer_fits_the_agreement_breaks: AnswerFits;
    without_real_time_the_agreement_breaks: RealTime;
    without_one_decision_the_agreement_breaks: OneDecision;
    without_record_as_decided_the_agreement_breaks: RecordAsDecided;
    without_payment_real_time_the_agreement_breaks: PaymentRealTime;
    without_unknown_in_time_the_agreement_breaks: UnknownInTime;
    without_unknown_once_the_agreement_breaks: UnknownOnce;
    without_unknown_fits_the_agreement_breaks: UnknownFits;
}

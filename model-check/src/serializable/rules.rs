//! The rules of the check, by name; and how a test drops one of them.

use std::fmt;

/// One rule of the check. A violation names the rule that it breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// An answer belongs to the call that it was given to.
    AnswerToItsCall,
    /// `at` lies within the call, on the store's clock.
    WithinCall,
    /// `at` is not before the time at which the named version was made, nor before the record that the answer carries.
    TimeDoesNotFall,
    /// A version of a seat is made once.
    OneMaker,
    /// Every version that an answer names was made by somebody.
    NoGap,
    /// A change is a row of the table, from the version before it.
    LegalStep,
    /// An answer that changed nothing is the one that the reference gives on the version it names.
    AnswerFits,
    /// A call that was invoked after an answer returned stands on no older version than that answer.
    RealTime,
    /// A payment is decided once.
    OneDecision,
    /// An answer about a known payment carries the record of its decision.
    RecordAsDecided,
    /// A payment is known after its decision, and not before it.
    PaymentRealTime,
    /// A call of unknown result takes effect after it was invoked.
    UnknownInTime,
    /// A call of unknown result takes effect once.
    UnknownOnce,
    /// A call of unknown result does what the reference says.
    UnknownFits,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 14] = [
        Self::AnswerToItsCall,
        Self::WithinCall,
        Self::TimeDoesNotFall,
        Self::OneMaker,
        Self::NoGap,
        Self::LegalStep,
        Self::AnswerFits,
        Self::RealTime,
        Self::OneDecision,
        Self::RecordAsDecided,
        Self::PaymentRealTime,
        Self::UnknownInTime,
        Self::UnknownOnce,
        Self::UnknownFits,
    ];

    /// The rule as a short name, as it stands in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AnswerToItsCall => "answer-to-its-call",
            Self::WithinCall => "within-call",
            Self::TimeDoesNotFall => "time-does-not-fall",
            Self::OneMaker => "one-maker",
            Self::NoGap => "no-gap",
            Self::LegalStep => "legal-step",
            Self::AnswerFits => "answer-fits",
            Self::RealTime => "real-time",
            Self::OneDecision => "one-decision",
            Self::RecordAsDecided => "record-as-decided",
            Self::PaymentRealTime => "payment-real-time",
            Self::UnknownInTime => "unknown-in-time",
            Self::UnknownOnce => "unknown-once",
            Self::UnknownFits => "unknown-fits",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Which rules are in force. Decided when the program is compiled, so that it costs nothing.
pub trait RuleSet: Send + Sync + 'static {
    /// The number of the rule that is left out; none when it is not a rule's number.
    const DROPPED: u8;

    /// Is the rule in force?
    #[inline]
    fn keeps(rule: Rule) -> bool {
        rule as u8 != Self::DROPPED
    }
}

/// All rules: the check.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllRules;

impl RuleSet for AllRules {
    const DROPPED: u8 = u8::MAX;
}

#[cfg(test)]
/// The check with one rule left out, to see that the agreement with the exhaustive search notices.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Without<const RULE: u8>;

#[cfg(test)]
impl<const RULE: u8> RuleSet for Without<RULE> {
    const DROPPED: u8 = RULE;
}

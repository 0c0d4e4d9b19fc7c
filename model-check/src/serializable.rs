//! Is this concurrent history strictly serializable? Decided exactly, in near-linear time.
mod checker;
mod judge;
mod loose;
mod offline;
mod payment;
mod rules;
mod seat;
mod unknown;

pub use checker::Checker;
#[cfg(test)]
pub(crate) use judge::{Answered, View};
pub(crate) use offline::check_with;
pub use offline::{check, check_on_one_core};
pub(crate) use rules::Without;
pub use rules::{AllRules, Rule, RuleSet};

use crate::history::Operation;

/// What the check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The history has a right order.
    Holds,
    /// It has none; each violation alone shows that. At most 16 are listed.
    Violated(Vec<Violation>),
    /// Nobody knows, and why. Never a pass.
    Inconclusive(String),
}

/// A few operations that can not all have happened as they were answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule that is broken.
    pub rule: Rule,
    /// In words; "the first" and "the second" are the first two of the operations.
    pub problem: &'static str,
    /// The operations that contradict each other.
    pub operations: Vec<Operation>,
}

/// How much was checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Calls of every kind.
    pub operations: u64,
    /// Calls that ended in an error after which they have certainly not happened.
    pub not_applied: u64,
    /// Calls whose result is unknown.
    pub unknown: u64,
    /// Of those, the ones that must have taken effect. Known when the history has ended.
    pub taken_as_happened: u64,
    /// Violations, also those that are not listed.
    pub violations: u64,
}

/// A verdict, and on how much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// On how much.
    pub counts: Counts,
}

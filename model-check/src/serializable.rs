//! Is this concurrent history strictly serializable? Decided exactly, in near-linear time.
//!
//! # What is decided
//!
//! A history is **right** when its calls can be put in one order such that
//!
//! 1. every call with a receipt is in the order, every call that was certainly not applied is not, and
//!    a call of unknown result may be in it or not;
//! 2. a call that returned before another was invoked comes before it (equal instants count as
//!    concurrent; a call of unknown result never returns);
//! 3. stepping the [reference](crate::reference) through the order, from free seats at version 0, gives
//!    every receipt as it was given, outcome, version and time. A call steps at the time that its receipt
//!    names, which must lie in the call's window: from what the store's clock showed when it was invoked
//!    to what it showed when it returned, as far as the [header](crate::history::Header) says how that
//!    clock runs. The reference never decides at a time before the seat's last change, so a receipt with
//!    an earlier time is never given. A call of unknown result steps at any time from its invocation on.
//!
//! Times need not rise along the order: a refusal from a snapshot reads the clock after the snapshot,
//! and may name a later time than the change that comes next. What must not fall are the times along
//! the versions of one seat, and that is in rule 3.
//!
//! [`crate::search`] decides the same by trying every order. This module decides it by looking at each
//! call once, because of what a receipt says: *which version of which seat* it stands on.
//!
//! # How
//!
//! Every call with a receipt is about one seat, its home: the seat that it names, or, when it is
//! about a payment that was decided earlier, the seat of the recorded claim. Its **place** there is
//! `2v` when it made version v, and `2v + 1` when it stands on version v and changed nothing. Of all
//! that must hold, the following is checked ([`Rule`]).
//!
//! * *Statically:* each version from 1 up to the highest that is named was made once (one-maker, no-gap);
//!   each change is what the reference does on the version before (legal-step), and each other answer
//!   is what it says on the version that it names (answer-fits), at the time that it names, which is in
//!   the call's window (within-call) and not before that version was made (time-does-not-fall). What a
//!   version is like is all in the answer of the call that made it, so each of these looks at two calls.
//! * *In real time:* the **floor** of a call is the highest place at its home that any call had shown
//!   that returned before it was invoked. No call stands below its floor (real-time).
//! * *Payments:* each has one decision (one-decision), at its place on its home; every record of it is
//!   the same (record-as-decided), and is not carried by a call that returned before the deciding
//!   one was invoked. A read that does not know the payment must not be invoked after the return of a
//!   call that comes after the decision: the deciding one, one that carries the record, or one at a higher
//!   place on the deciding seat (payment-real-time).
//!
//! Calls are fed in the order of their returns, and a seat keeps the few highest places it has shown
//! with the instants at which they became known, so a floor is found by looking at the last of them.
//!
//! # Why this is sound: what is accepted has an order
//!
//! Write `a < b` when a must come before b because of what they say: both at one home and a's place is
//! lower; or a does not know a payment and b decided it, carries its record, or stands at a higher place
//! than the decision; or a decided a payment, b carries its record, and both stand on one version.
//! This relation is transitive and has no cycle. Let `E(b)` be the latest invocation among b and all
//! `a < b`, and order all calls by `E`, those of equal `E` along `<`. Then
//!
//! * *nothing is invoked after its place in time is over:* `E(b)` is not after b's return. If it were, some
//!   `a < b` was invoked after b returned. When both have places at one home, b had shown a higher place
//!   than a's before a was invoked, so a stands below its floor, against real-time. The other cases are
//!   the ones that payment-real-time names.
//! * *real time is kept:* if a returned before b was invoked, `E(a) <= return of a < invocation of b <=
//!   E(b)`, so a comes first. This holds for calls of different homes as well, so seats need not be looked
//!   at together: that is why the check may run on each alone.
//! * *the reference gives every receipt:* along the order the changes of a seat come by version, and
//!   every other call stands between the change that made its version and the next one, so the seat is as
//!   the static part saw it. A payment is known to exactly the calls after its decision.
//!
//! # Why this is complete: what is rejected has none
//!
//! Take any right order. The reference counts versions by one, so the changes stand in it by version, each
//! made once and without a gap; every other receipt names the version that the seat has at that moment. So
//! the static part holds, and `a < b` implies that a comes first. If a call stood below its floor, or
//! payment-real-time were broken, there would be calls `a < b` with b returned before a was invoked, and
//! the order could not keep both. A payment is decided once, since after the decision the reference knows it.
//!
//! # A worked example
//!
//! Three clients, one seat; time runs to the right.
//!
//! ```text
//! client 1  |-- H(s,A) = Held, made v1 --|   |-- R(s,A,h1) = Released, made v2 --|
//! client 2        |-- H(s,B) = Refused, on v1 --|
//! client 3                                                       |-- H(s,B) = Refused, on v1 --|
//! ```
//!
//! The places are 2, 4, 3 and 3. Client 3 was invoked while the release ran. Had it been invoked before the
//! release returned, its floor would be 3, shown by client 2, and it would be accepted: the order is Held,
//! both refusals, Released. As it is drawn it was invoked just after the release had returned, its floor
//! is 4, and it stands at 3: *the release had returned with version 2, and client 3, called after that, stood
//! on version 1*. These two lines are the whole witness.
//!
//! # Calls of unknown result
//!
//! One that nobody needs is left out, which is always allowed: if it had changed a seat, no answer stands
//! on that version or a later one, and if it had recorded a refund, no answer carries it. One that somebody
//! needs is found as follows, when the history has ended. A record that answers carry and nobody made was
//! made by a payment of unknown result with that very claim; of several, the one invoked first may
//! stand wherever the others may. A version that answers stand on and nobody made is given to the calls that
//! can have made it by trying; a call can only have made a version when no call had returned with a
//! higher place before it was invoked. See `unknown.rs` for why that stays small and exact; after a number
//! of tries the verdict is [`Verdict::Inconclusive`], which is never a pass. If a seat was sold and no answer says to
//! which payment, each such seat needs a payment of its own, which is a matching.
//!
//! # Cost
//!
//! A few comparisons per call. Of a seat are remembered the versions that a call in flight may still name; of
//! a payment its decision, until it is closed (`forget.rs`). Answers on a version whose maker has not returned yet wait for it. Only a
//! seat that a call of unknown result is about keeps all its versions from then on.

mod checker;
mod forget;
mod judge;
mod loose;
mod offline;
mod payment;
mod refusal;
mod rules;
mod seat;
mod unknown;

pub use checker::Checker;
pub(crate) use offline::check_with;
pub use offline::{check, check_on_one_core};
#[cfg(test)]
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

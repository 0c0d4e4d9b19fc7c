//! Does it hold? Conservation laws, the audit, and every acknowledged payment.
//!
//! Nothing in here believes the counts that the clients kept: what was begun is compared with what
//! ended, and what clients were told with what is stored.

use evidence::{Reference, Verdict};
use soldonce::invariant::{Snapshot, Violation, audit, audit_change};
use soldonce::{Decision, SeatStateKind, StoreError};

use crate::answer::{Ending, Operation};
use crate::layout::plural;
use crate::measure::{Counts, Figures};
use crate::run::in_words;
use crate::runner::Load;
use crate::threshold::Judged;
use crate::units::thousands;

/// How many violations of one check are shown.
pub const SHOWN: usize = 5;

/// Two sums that have to agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Law {
    /// Its name.
    pub name: String,
    /// Why both sides have to agree.
    pub what: &'static str,
    /// One side: what it is the sum of, and where that stands in the evidence.
    pub left: Vec<Part>,
    /// The other side.
    pub right: Vec<Part>,
}

/// One summand of a law.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Where it stands in the evidence.
    pub reference: Reference,
    /// Its value.
    pub value: u64,
}

impl Law {
    /// Both sums.
    pub fn sides(&self) -> (u64, u64) {
        let sum = |parts: &[Part]| parts.iter().map(|part| part.value).sum();
        (sum(&self.left), sum(&self.right))
    }

    /// Whether they agree.
    pub fn holds(&self) -> bool {
        let (left, right) = self.sides();
        left == right
    }
}

/// Something that was checked case by case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name in the evidence.
    pub name: &'static str,
    /// What was checked, in words.
    pub what: &'static str,
    /// What its cases are.
    pub unit: &'static str,
    /// How many cases were looked at.
    pub cases: u64,
    /// How many of them violate it.
    pub violations: u64,
    /// How many of them could not be decided.
    pub undecided: u64,
    /// What a reader has to see.
    pub notes: Vec<String>,
}

impl Check {
    pub(crate) fn of(
        name: &'static str,
        what: &'static str,
        (cases, unit): (usize, &'static str),
        found: &[Violation],
    ) -> Self {
        let cases = cases as u64;
        Self {
            name,
            what,
            unit,
            // One row can be wrong in more than one way.
            cases: cases.max(found.len() as u64),
            violations: found.len() as u64,
            undecided: 0,
            notes: found.iter().take(SHOWN).map(ToString::to_string).collect(),
        }
    }
}

/// Named counts of the evidence that laws refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    /// Seats that are sold.
    pub seats_sold: u64,
    /// Payments that are recorded as sold.
    pub payments_sold: u64,
    /// Payments that are recorded.
    pub payments: u64,
}

impl Stored {
    /// Counts what a snapshot holds.
    pub fn of(snapshot: &Snapshot) -> Self {
        let seats_sold = snapshot
            .seats
            .iter()
            .filter(|seat| seat.state.kind() == SeatStateKind::Sold);
        let payments_sold = snapshot
            .payments
            .iter()
            .filter(|record| record.decision == Decision::Sold);
        Self {
            seats_sold: seats_sold.count() as u64,
            payments_sold: payments_sold.count() as u64,
            payments: snapshot.payments.len() as u64,
        }
    }
}

/// Everything that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The sums that have to agree.
    pub laws: Vec<Law>,
    /// What was checked case by case.
    pub checks: Vec<Check>,
    /// What was stored before the load, and after.
    pub stored: [Stored; 2],
}

/// The name of the count of calls begun.
pub fn begun(operation: Operation) -> String {
    format!("begun_{}", operation.name())
}

/// The name of an operation's calls outside the measured part.
pub fn unmeasured(operation: Operation) -> String {
    format!("{}_unmeasured", operation.name())
}

/// Checks what a load left behind in the store. Whether payments are recorded as buyers were told is
/// [checked](crate::told) already.
pub fn check(load: &Load, acknowledged: Check, before: &Snapshot, after: &Snapshot) -> Proof {
    let stored = [Stored::of(before), Stored::of(after)];
    let mut laws = calls_are_conserved(&load.figures);
    laws.push(Law {
        name: "sold_seats".to_owned(),
        what: "every sold seat has exactly one payment that bought it",
        left: vec![count("seats_sold", stored[1].seats_sold)],
        right: vec![count("payments_sold", stored[1].payments_sold)],
    });
    if load.unsettled == 0 {
        laws.extend(answers_are_stored(&load.figures, &stored));
        // Several processes tell of answers, of which a payment may have more than one.
        if load.processes.is_empty() {
            laws.push(Law {
                name: "payments_told".to_owned(),
                what: "every payment that is recorded was told to its buyer, and is compared",
                left: vec![
                    count("payments_before", stored[0].payments),
                    count("payments_told", acknowledged.cases),
                ],
                right: vec![count("payments", stored[1].payments)],
            });
        }
    }
    let rows = after.seats.len() + after.payments.len();
    let mut checks = vec![
        Check::of(
            "audit",
            "I1, I2, I4 and the shape of rows hold for all that is stored",
            (rows, "rows"),
            &audit(after),
        ),
        Check::of(
            "audit_change",
            "nothing that was stored before the load was undone by it",
            (before.seats.len() + before.payments.len(), "rows"),
            &audit_change(before, after),
        ),
        acknowledged,
        no_broken_answer(load),
    ];
    if load.unsettled > 0 {
        checks.push(unsettled(load, &stored));
    }
    if !load.processes.is_empty() {
        checks.push(processes(load));
    }
    Proof {
        laws,
        checks,
        stored,
    }
}

/// Attempts = sum of outcomes + errors, for each operation.
fn calls_are_conserved(figures: &Figures) -> Vec<Law> {
    let both = [&figures.measured, &figures.unmeasured];
    Operation::ALL
        .into_iter()
        .map(|operation| {
            let begun_ = both.map(|counts| counts.attempts[operation as usize]);
            let ended = both.map(|counts| counts.ended(operation));
            let mut right = vec![Part {
                reference: Reference::Attempts(operation.name().to_owned()),
                value: ended[0],
            }];
            if ended[1] > 0 {
                right.push(Part {
                    reference: Reference::Attempts(unmeasured(operation)),
                    value: ended[1],
                });
            }
            Law {
                name: format!("calls_{}", operation.name()),
                what: "every call that was begun ended in exactly one outcome or error",
                left: vec![count(&begun(operation), begun_.iter().sum())],
                right,
            }
        })
        .collect()
}

/// What was answered is what was stored, no more and no less.
fn answers_are_stored(figures: &Figures, stored: &[Stored; 2]) -> [Law; 2] {
    let told = |pick: &dyn Fn(Ending) -> bool| {
        let part = |name: String, counts: &Counts, ending: Ending| Part {
            reference: Reference::Outcome {
                operation: name,
                outcome: ending.name().to_owned(),
            },
            value: counts.of(ending),
        };
        let mut parts = Vec::new();
        for ending in Ending::all().filter(|ending| pick(*ending)) {
            let operation = ending.operation();
            parts.push(part(operation.name().to_owned(), &figures.measured, ending));
            if figures.unmeasured.ended(operation) > 0 {
                parts.push(part(unmeasured(operation), &figures.unmeasured, ending));
            }
        }
        parts
    };
    let with = |first: Part, mut rest: Vec<Part>| {
        rest.insert(0, first);
        rest
    };
    [
        Law {
            name: "sales".to_owned(),
            what: "every sale was answered, and every answer of a sale is one",
            left: with(
                count("seats_sold_before", stored[0].seats_sold),
                told(&|ending| ending == Ending::SOLD),
            ),
            right: vec![count("seats_sold", stored[1].seats_sold)],
        },
        Law {
            name: "decisions".to_owned(),
            what: "every first decision about a payment made one record, and nothing else did",
            left: with(
                count("payments_before", stored[0].payments),
                told(&Ending::decides_a_payment),
            ),
            right: vec![count("payments", stored[1].payments)],
        },
    ]
}

fn count(name: &str, value: u64) -> Part {
    Part {
        reference: Reference::Count(name.to_owned()),
        value,
    }
}

/// Stored nonsense, or a call that the store called invalid, is a fault of the store or of this program.
fn no_broken_answer(load: &Load) -> Check {
    let broken = |ending: &Ending| matches!(ending.name(), "corrupt" | "invalid");
    let figures = &load.figures;
    let all = |ending| figures.measured.of(ending) + figures.unmeasured.of(ending);
    Check {
        name: "answers",
        what: "no call found stored data that break an invariant, or was refused as invalid",
        unit: "calls",
        cases: figures.measured.all_attempts() + figures.unmeasured.all_attempts(),
        violations: Ending::all().filter(broken).map(all).sum(),
        undecided: 0,
        notes: load
            .errors
            .iter()
            .filter(|(ending, _)| broken(ending))
            .map(|(ending, words)| format!("{}: {words}", ending.operation().name()))
            .collect(),
    }
}

/// Payments without an answer may be recorded or not; no other may.
fn unsettled(load: &Load, stored: &[Stored; 2]) -> Check {
    let figures = &load.figures;
    let told: u64 = Ending::all()
        .filter(|ending| ending.decides_a_payment())
        .map(|ending| figures.measured.of(ending) + figures.unmeasured.of(ending))
        .sum();
    let at_least = stored[0].payments + told;
    let fits = (at_least..=at_least + load.unsettled).contains(&stored[1].payments);
    Check {
        name: "unsettled",
        what: "records = answered decisions, or up to as many more as payments got no answer",
        unit: "payments",
        cases: load.unsettled.max(1),
        violations: u64::from(!fits),
        undecided: 0,
        notes: vec![format!(
            "{} got no answer to the end; {}, {} of them answered",
            plural(load.unsettled, "payment"),
            plural(stored[1].payments, "record"),
            thousands(at_least)
        )],
    }
}

/// A process that was killed is no fault: what it did is in the history, and the rest holds without it.
fn processes(load: &Load) -> Check {
    let killed = load.processes.iter().filter_map(|process| {
        let signal = process.killed_by?;
        Some(format!(
            "process {} was killed by signal {signal}: of its {} calls, {} of unknown result",
            process.number,
            thousands(process.calls),
            thousands(process.unknown)
        ))
    });
    Check {
        name: "processes",
        what: "every process ended by itself, or was killed and left all its calls in the history",
        unit: "processes",
        cases: load.processes.len() as u64,
        violations: 0,
        undecided: 0,
        notes: killed.collect(),
    }
}

/// Why nothing could be read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// What is stored is no seat store any more.
    Nonsense(String),
    /// Something else failed, so nobody knows.
    Failed(String),
}

impl From<&StoreError> for Unreadable {
    fn from(error: &StoreError) -> Self {
        /// What SQLite says of a file that is broken. The pool that opens it tells no more than the words.
        const BROKEN: [&str; 2] = ["malformed", "not a database"];
        let words = in_words(error);
        match error {
            StoreError::Corrupt { .. } | StoreError::Invalid(_) => Self::Nonsense(words),
            _ if BROKEN.iter().any(|broken| words.contains(broken)) => Self::Nonsense(words),
            _ => Self::Failed(words),
        }
    }
}

impl Proof {
    /// What is left to say when what is stored can not even be read.
    pub fn of_unreadable(load: &Load, before: &Snapshot, why: Unreadable) -> Self {
        let (is_nonsense, note) = match why {
            Unreadable::Nonsense(words) => (true, words),
            Unreadable::Failed(words) => (false, words),
        };
        let check = Check {
            name: "stored",
            what: "what is stored can be read when the file is opened anew",
            unit: "reads",
            cases: 1,
            violations: u64::from(is_nonsense),
            undecided: u64::from(!is_nonsense),
            notes: vec![note],
        };
        Self {
            laws: calls_are_conserved(&load.figures),
            checks: vec![check, no_broken_answer(load)],
            stored: [Stored::of(before), Stored::default()],
        }
    }

    /// Adds the verdict on the history, and the law that every call and every read is in it.
    pub fn add_history(&mut self, check: Check, recorded: u64, reads: u64) {
        let mut right: Vec<_> = self
            .laws
            .iter()
            .filter(|law| law.name.starts_with("calls_"))
            .flat_map(|law| law.right.clone())
            .collect();
        right.push(count("final_reads", reads));
        self.laws.push(Law {
            name: "history_calls".to_owned(),
            what: "every call, and every read at the end, is in the history",
            left: vec![count("history_calls", recorded)],
            right,
        });
        self.checks.push(check);
    }

    /// What the run comes to.
    pub fn verdict(&self, interrupted: bool, thresholds: &[Judged]) -> Verdict {
        let violated = self.laws.iter().any(|law| !law.holds())
            || self.checks.iter().any(|check| check.violations > 0);
        let undecided = self.checks.iter().any(|check| check.undecided > 0);
        let missed = thresholds.iter().any(|judged| !judged.met());
        match (violated, undecided, interrupted, missed) {
            (true, ..) => Verdict::Violated,
            (_, true, ..) => Verdict::Inconclusive,
            (_, _, true, _) => Verdict::Interrupted,
            (.., true) => Verdict::ThresholdMissed,
            (false, false, false, false) => Verdict::Holds,
        }
    }
}

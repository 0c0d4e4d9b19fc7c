//! What was checked: cases with violations ([`Check`]), and sums that have to agree ([`Law`]). The
//! verdict follows from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure::Reference;
use crate::number::Integer;

/// Two sums that have to agree, such as sold seats and sold payments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// Its name. No two laws share one.
    pub name: String,
    /// Why both sides have to agree.
    pub what: String,
    /// One side: the sum of whole figures of this statement.
    pub left: Vec<Reference>,
    /// The other side.
    pub right: Vec<Reference>,
    /// Whether the sums agree.
    pub holds: bool,
}

/// Something that was checked, and how it came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Its name. No two checks share one.
    pub name: String,
    /// What was checked, in words.
    pub what: String,
    /// How many cases were looked at.
    pub cases: Integer,
    /// How many of them violate it.
    pub violations: Integer,
    /// How many of them could not be decided. Violations and these are not more than `cases`.
    pub undecided: Integer,
    /// What a reader has to see: the first violations, a minimal sequence, why a case is undecided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Check {
    /// A check of `cases` cases that found nothing.
    pub fn passed(name: impl Into<String>, what: impl Into<String>, cases: u64) -> Self {
        Self {
            name: name.into(),
            what: what.into(),
            cases: Integer(cases),
            violations: Integer(0),
            undecided: Integer(0),
            notes: Vec::new(),
        }
    }

    /// Sets how many of the cases violate it.
    #[must_use]
    pub fn violations(mut self, count: u64) -> Self {
        self.violations = Integer(count);
        self
    }

    /// Sets how many of the cases could not be decided.
    #[must_use]
    pub fn undecided(mut self, count: u64) -> Self {
        self.undecided = Integer(count);
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

impl Law {
    /// Two sums that have to agree; the builder finds out whether they do.
    pub fn new(
        name: impl Into<String>,
        what: impl Into<String>,
        left: Vec<Reference>,
        right: Vec<Reference>,
    ) -> Self {
        Self {
            name: name.into(),
            what: what.into(),
            left,
            right,
            holds: false,
        }
    }
}

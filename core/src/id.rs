//! Names of seats, owners and payments; versions and hold ids.
//!
//! Every id is a type of its own with a checked constructor, so that two ids can not be swapped
//! and an invalid one can not exist. An id that a caller assigns is 1 to [`MAX_ID_BYTES`] bytes of
//! UTF-8 without control characters; cloning one is a reference count, not a copy.

use std::fmt;
use std::sync::Arc;

use crate::error::Invalid;

/// The most bytes that an id may have.
pub const MAX_ID_BYTES: usize = 64;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks and takes an id: 1 to [`MAX_ID_BYTES`] bytes of UTF-8, no control characters.
            ///
            /// # Errors
            /// [`Invalid`] names the rule that was broken; choose another id.
            pub fn new(id: impl AsRef<str>) -> Result<Self, Invalid> {
                checked($what, id.as_ref()).map(|id| Self(id.into()))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = Invalid;

            fn from_str(id: &str) -> Result<Self, Invalid> {
                Self::new(id)
            }
        }
    };
}

text_id! {
    /// One sellable place: a seat, an appointment, a room for a night. Assigned by the caller, never reused.
    SeatId, "seat id"
}
text_id! {
    /// Who holds or buys. Assigned by the caller; two callers with one owner id are the same owner.
    OwnerId, "owner id"
}
text_id! {
    /// One payment, as the payment provider names it. The key that makes a redelivery harmless.
    PaymentId, "payment id"
}

fn checked<'id>(what: &'static str, id: &'id str) -> Result<&'id str, Invalid> {
    let problem = if id.is_empty() {
        "it is empty".to_owned()
    } else if id.len() > MAX_ID_BYTES {
        format!("it has {} bytes", id.len())
    } else if let Some(at) = id.find(char::is_control) {
        format!("it has a control character at byte {at}")
    } else {
        return Ok(id);
    };
    Err(Invalid::new(
        what,
        problem,
        format!("1 to {MAX_ID_BYTES} bytes of UTF-8 without control characters"),
    ))
}

/// How often a seat has changed: 0 for a new seat, one more with each committed change, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version(i64);

impl Version {
    /// The version of a seat that never changed.
    pub const ZERO: Self = Self(0);

    /// A version read from somewhere else: 0 to `i64::MAX`.
    ///
    /// # Errors
    /// [`Invalid`] for a negative number.
    pub fn new(version: i64) -> Result<Self, Invalid> {
        not_negative("version", version).map(Self)
    }

    /// The version as a number.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The version that the next change makes; `None` after `i64::MAX`, which no seat lives to see.
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// The fencing token of a hold: the version that the seat got when the hold was made.
///
/// A payment or a release made for an old hold can never match a later one, not even one of the
/// same owner. 0 is never given to anyone; a payment that claims it is still recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldId(i64);

impl HoldId {
    /// A hold id that a caller sends back: 0 to `i64::MAX`.
    ///
    /// # Errors
    /// [`Invalid`] for a negative number.
    pub fn new(hold_id: i64) -> Result<Self, Invalid> {
        not_negative("hold id", hold_id).map(Self)
    }

    /// The hold id as a number.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The version that the seat got when this hold was made.
    pub const fn version(self) -> Version {
        Version(self.0)
    }
}

impl From<Version> for HoldId {
    fn from(made: Version) -> Self {
        Self(made.0)
    }
}

impl fmt::Display for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "h{}", self.0)
    }
}

fn not_negative(what: &'static str, number: i64) -> Result<i64, Invalid> {
    if number >= 0 {
        Ok(number)
    } else {
        Err(Invalid::new(what, format!("it is {number}"), "0 or more"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_the_longest_and_the_shortest_length_are_taken() {
        for good in ["A", "é", &"x".repeat(MAX_ID_BYTES), "row 1 / seat 2"] {
            assert_eq!(SeatId::new(good).expect("valid").as_str(), good);
        }
    }

    #[test]
    fn an_invalid_id_is_refused_with_what_is_wrong_and_what_is_allowed() {
        for (bad, problem) in [
            ("", "it is empty"),
            (&*"x".repeat(MAX_ID_BYTES + 1), "it has 65 bytes"),
            ("a\nb", "it has a control character at byte 1"),
            ("\u{85}", "it has a control character at byte 0"),
        ] {
            let said = OwnerId::new(bad).expect_err("invalid").to_string();
            assert_eq!(
                said,
                format!(
                    "invalid owner id: {problem}; allowed: 1 to 64 bytes of UTF-8 without control characters"
                )
            );
        }
    }

    #[test]
    fn a_hold_id_is_the_version_that_the_hold_made() {
        let made = Version::ZERO.next().expect("far from the end");
        assert_eq!(HoldId::from(made).get(), 1);
        assert_eq!(HoldId::from(made).version(), made);
        assert_eq!(Version::new(i64::MAX).expect("valid").next(), None);
        assert!(Version::new(-1).is_err() && HoldId::new(-1).is_err());
    }
}

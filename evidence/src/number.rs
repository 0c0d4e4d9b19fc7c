//! Numbers that survive JSON: each has exactly one spelling, and no reader can round it.
//!
//! JSON says nothing about the size of a number, and many readers keep all of them as 64-bit floats,
//! which are exact for integers up to 2^53 only. So an integer that may be larger is written as a
//! string of decimal digits ([`Integer`]), one that can not be larger as a plain number ([`Whole`]),
//! and a fraction as the shortest decimal that reads back as the same 64-bit float ([`Real`]).
//!
//! One spelling per value matters: a file is accepted only if it is byte for byte what this crate
//! would write, so `5`, `5.0` and `50e-1` must not all pass for five.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The largest integer that every JSON reader keeps exactly: 2^53 - 1.
pub const MAX_WHOLE: u64 = (1 << 53) - 1;

/// An integer from 0 to 2^64 - 1, written as a string of decimal digits without leading zeros.
///
/// ```
/// use evidence::Integer;
/// let big = Integer(u64::MAX);
/// assert_eq!(serde_json::to_string(&big)?, r#""18446744073709551615""#);
/// assert!(serde_json::from_str::<Integer>(r#""007""#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Integer(pub u64);

/// An integer from 0 to 2^53 - 1, written as a plain JSON number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Whole(u64);

/// A finite 64-bit float, never negative zero, written as the shortest decimal that reads back as
/// the same float, and without a decimal point when it is a whole number up to 2^53 - 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Real(f64);

impl Integer {
    /// The nearest 64-bit float: exact up to 2^53, off by at most one part in 2^53 beyond.
    #[allow(
        clippy::cast_precision_loss,
        reason = "the rounding is what this function is for"
    )]
    pub fn to_f64(self) -> f64 {
        self.0 as f64
    }
}

impl Whole {
    /// Takes an integer up to [`MAX_WHOLE`]; `None` beyond.
    pub fn new(value: u64) -> Option<Self> {
        (value <= MAX_WHOLE).then_some(Self(value))
    }

    /// Takes any integer; one beyond [`MAX_WHOLE`] becomes [`MAX_WHOLE`].
    pub fn capped(value: u64) -> Self {
        Self(value.min(MAX_WHOLE))
    }

    /// The value.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The value as a float: exact.
    #[allow(
        clippy::cast_precision_loss,
        reason = "at most 2^53 - 1, which a float holds exactly"
    )]
    pub fn to_f64(self) -> f64 {
        self.0 as f64
    }
}

impl Real {
    /// Takes any finite float; `None` for infinities and for what is not a number. Negative zero
    /// becomes zero.
    pub fn new(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self(value + 0.0))
    }

    /// A draft's number, which may be none; the builder refuses it then.
    pub(crate) fn unchecked(value: f64) -> Self {
        Self(value + 0.0)
    }

    /// The value.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The same float, bit for bit. Recomputed figures must agree to the last bit: all sums are
    /// made in the order that is documented with them.
    pub fn is_exactly(self, other: f64) -> bool {
        self.0.to_bits() == (other + 0.0).to_bits()
    }
}

/// The integer that a float stands for, if it is one that [`Real`] writes without a decimal point.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "checked to be whole and at most 2^53 - 1"
)]
pub(crate) fn as_whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() <= MAX_WHOLE as f64).then_some(value as i64)
}

impl From<u64> for Integer {
    fn from(value: u64) -> Self {
        Self(value)
    }
}

impl From<u32> for Whole {
    fn from(value: u32) -> Self {
        Self(value.into())
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Integer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl Serialize for Whole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match as_whole(self.0) {
            Some(whole) => serializer.serialize_i64(whole),
            None => serializer.serialize_f64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = Integer;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string of decimal digits without leading zeros, at most 18446744073709551615")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Integer, E> {
                let value = text
                    .parse::<u64>()
                    .ok()
                    .filter(|value| value.to_string() == text);
                value
                    .map(Integer)
                    .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Digits)
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = u64::deserialize(deserializer)?;
        Self::new(value).ok_or_else(|| {
            de::Error::invalid_value(
                Unexpected::Unsigned(value),
                &"an integer from 0 to 9007199254740991",
            )
        })
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Self::new(value)
            .ok_or_else(|| de::Error::invalid_value(Unexpected::Float(value), &"a finite number"))
    }
}

impl JsonSchema for Integer {
    fn inline_schema() -> bool {
        false
    }
    fn schema_name() -> Cow<'static, str> {
        "Integer".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An integer from 0 to 2^64 - 1 as a string of decimal digits.",
            "type": "string",
            "pattern": "^(0|[1-9][0-9]{0,19})$"
        })
    }
}

impl JsonSchema for Whole {
    fn schema_name() -> Cow<'static, str> {
        "Whole".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An integer that every JSON reader keeps exactly.",
            "type": "integer",
            "minimum": 0,
            "maximum": MAX_WHOLE
        })
    }
}

impl JsonSchema for Real {
    fn schema_name() -> Cow<'static, str> {
        "Real".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A finite 64-bit float in its shortest decimal form.",
            "type": "number"
        })
    }
}

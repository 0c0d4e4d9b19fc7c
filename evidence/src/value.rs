//! Small typed values: settings ([`Value`]), digests ([`Sha256`]) and instants ([`UtcTime`]).

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead};

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Digest as _;

use crate::number::{MAX_WHOLE, Real, as_whole};

/// One setting of a run or of a database: a flag, a whole number, a fraction or a text.
///
/// Made with `From`: `Value::from(8_u32)`, `Value::from("rush")`. A whole number beyond 2^53 - 1
/// in either direction becomes the text of its digits, because a JSON reader may round it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number between -(2^53 - 1) and 2^53 - 1.
    Whole(i64),
    /// A number that is not whole, or is beyond what [`Value::Whole`] takes.
    Real(Real),
    /// Any text.
    Text(String),
}

impl Value {
    fn from_wide(value: i128) -> Self {
        match i64::try_from(value) {
            Ok(small) if small.unsigned_abs() <= MAX_WHOLE => Self::Whole(small),
            _ => Self::Text(value.to_string()),
        }
    }

    fn from_float(value: f64) -> Option<Self> {
        match as_whole(value) {
            Some(whole) => Some(Self::Whole(whole)),
            None => Real::new(value).map(Self::Real),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// An infinity or what is not a number becomes its text, `inf` or `NaN`.
impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::from_float(value).unwrap_or_else(|| Self::Text(value.to_string()))
    }
}

macro_rules! value_from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Value {
            fn from(value: $integer) -> Self {
                Self::from_wide(i128::from(value))
            }
        }
    )*};
}
value_from_integers!(u8, u16, u32, u64, i8, i16, i32, i64);

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Whole(whole) => whole.fmt(f),
            Self::Real(real) => real.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Whole(whole) => serializer.serialize_i64(*whole),
            Self::Real(real) => real.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyValue;
        impl Visitor<'_> for AnyValue {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, a text, or a number (beyond 2^53 - 1: as a text)")
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Flag(value))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
                match Value::from(value) {
                    Value::Text(_) => Err(E::invalid_value(Unexpected::Signed(value), &self)),
                    fits => Ok(fits),
                }
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
                match Value::from(value) {
                    Value::Text(_) => Err(E::invalid_value(Unexpected::Unsigned(value), &self)),
                    fits => Ok(fits),
                }
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
                Value::from_float(value)
                    .ok_or_else(|| E::invalid_value(Unexpected::Float(value), &self))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
                Ok(Value::from(value))
            }
        }
        deserializer.deserialize_any(AnyValue)
    }
}

impl JsonSchema for Value {
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A flag, a number or a text. A whole number beyond 2^53 - 1 is a text.",
            "type": ["boolean", "number", "string"]
        })
    }
}

/// A SHA-256 digest (FIPS 180-4): 32 bytes, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256([u8; 32]);

impl Sha256 {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The digest of all that a reader gives, which is never whole in memory.
    ///
    /// # Errors
    /// Those of the reader.
    pub(crate) fn of_all(mut reader: impl BufRead) -> io::Result<Self> {
        let mut digest = sha2::Sha256::new();
        loop {
            let part = reader.fill_buf()?;
            if part.is_empty() {
                return Ok(Self(digest.finalize().into()));
            }
            digest.update(part);
            let read = part.len();
            reader.consume(read);
        }
    }

    /// Reads 64 lower-case hexadecimal digits; `None` for anything else.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let nibble = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// The first eight hexadecimal digits: enough to tell the files of a folder apart.
    pub fn short(self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256({self})")
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| {
            de::Error::invalid_value(Unexpected::Str(&text), &"64 lower-case hexadecimal digits")
        })
    }
}

impl JsonSchema for Sha256 {
    fn schema_name() -> Cow<'static, str> {
        "Sha256".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A SHA-256 digest.",
            "type": "string",
            "pattern": "^[0-9a-f]{64}$"
        })
    }
}

/// An instant in UTC, to the millisecond, written as RFC 3339 with exactly three decimals:
/// `2026-11-29T17:15:00.000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UtcTime(Timestamp);

impl UtcTime {
    /// The time of the system's clock, cut to the millisecond.
    pub fn now() -> Self {
        Self::cut(Timestamp::now())
    }

    /// Milliseconds since 1970-01-01T00:00:00Z; `None` outside the years -9999 to 9999.
    pub fn from_unix_millis(millis: i64) -> Option<Self> {
        Timestamp::from_millisecond(millis).ok().map(Self)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn unix_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// The time as file names carry it: `20261129T171500Z`.
    pub fn stamp(self) -> String {
        self.0.strftime("%Y%m%dT%H%M%SZ").to_string()
    }

    fn cut(time: Timestamp) -> Self {
        Self(Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time))
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl Serialize for UtcTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for UtcTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = text
            .parse()
            .ok()
            .map(Self)
            .filter(|time| time.to_string() == text);
        time.ok_or_else(|| {
            de::Error::invalid_value(
                Unexpected::Str(&text),
                &"a UTC time such as 2026-11-29T17:15:00.000Z",
            )
        })
    }
}

impl JsonSchema for UtcTime {
    fn schema_name() -> Cow<'static, str> {
        "UtcTime".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A UTC time in RFC 3339 form with exactly three decimals.",
            "type": "string",
            "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn a_digest_in_parts_is_that_of_the_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        let parts = BufReader::with_capacity(7, &bytes[..]);
        assert_eq!(Sha256::of_all(parts).expect("read"), Sha256::of(&bytes));
    }
}

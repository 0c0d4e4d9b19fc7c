//! Reads the bytes of a file, and says in one line what is wrong with them if they are no statement.
//!
//! The order of the questions is the order in which a person wants the answer: is it empty, is it
//! text, is it JSON, is it cut short, is it evidence, is it a version that can be read, and only then
//! which field is wrong.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

use crate::statement::{SCHEMA_VERSION, Statement};
use crate::verify::Finding;

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
const PREDICATE_NAME: &str = "https://soldonce.example/evidence/v";

/// The statement that these bytes spell, however they are laid out.
pub(crate) fn parse(bytes: &[u8]) -> Result<Statement, Finding> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Finding::whole("the file is empty"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Finding::whole(format!(
            "not UTF-8 text: byte {} is not part of a character",
            error.valid_up_to()
        ))
    })?;
    let json = serde_json::from_str::<Strict>(text)
        .map_err(|error| syntax(&error, bytes.len()))?
        .0;
    right_version(&json)?;
    serde_path_to_error::deserialize(&json)
        .map_err(|error| Finding::new(error.path().to_string(), error.inner().to_string()))
}

fn syntax(error: &serde_json::Error, length: usize) -> Finding {
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        serde_json::error::Category::Eof => Finding::whole(format!(
            "cut short: it ends after {length} bytes, at line {line} column {column}"
        )),
        _ => Finding::whole(format!("not JSON as evidence has it: {error}")),
    }
}

/// Names a foreign file and a newer version as such, before any field is looked at.
fn right_version(json: &Json) -> Result<(), Finding> {
    let outer = json.get("_type").and_then(Json::as_str);
    let predicate_type = json.get("predicateType").and_then(Json::as_str);
    let version = predicate_type.and_then(|name| name.strip_prefix(PREDICATE_NAME));
    let Some(version) = version.filter(|_| outer == Some(STATEMENT_TYPE)) else {
        return Err(Finding::whole(format!(
            "not an evidence file: expected _type {STATEMENT_TYPE} and predicateType {PREDICATE_NAME}{SCHEMA_VERSION}"
        )));
    };
    let inner = json
        .get("predicate")
        .and_then(|predicate| predicate.get("schema_version"));
    for (at, version) in [
        ("predicateType", version.parse().ok()),
        ("predicate.schema_version", inner.and_then(Json::as_u64)),
    ] {
        match version {
            Some(version) if version == u64::from(SCHEMA_VERSION) => {}
            Some(version) if version > u64::from(SCHEMA_VERSION) => {
                return Err(Finding::new(
                    at,
                    format!(
                        "version {version} is newer than this program, which reads version {SCHEMA_VERSION}: use a newer one"
                    ),
                ));
            }
            _ => {
                return Err(Finding::new(
                    at,
                    format!("no version that exists; expected {SCHEMA_VERSION}"),
                ));
            }
        }
    }
    Ok(())
}

/// Any JSON, with no key twice in one object: readers differ on which of the two they take.
struct Strict(Json);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E: de::Error>(self) -> Result<Strict, E> {
        Ok(Strict(Json::Null))
    }
    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Strict, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Strict(list.into()))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Strict, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(de::Error::custom(format_args!(
                    "the key {key:?} stands twice in one object"
                )));
            }
            let Strict(value) = members.next_value()?;
            map.insert(key, value);
        }
        Ok(Strict(map.into()))
    }
}

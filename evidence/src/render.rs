//! The one form of a file, and the digest over it.
//!
//! *Rendering* is for people: keys in the order of the types, two spaces of indentation, and each
//! object or list on one line where it fits in 120 columns, so that a page shows a whole run. A file
//! has to be exactly its own rendering: then no edit, not even of a space, goes unseen.
//!
//! *The digest* is for other programs: SHA-256 over the canonical JSON of RFC 8785, which any
//! language can make from the parsed file, however it is laid out.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::statement::Statement;
use crate::value::Sha256;

const WIDTH: usize = 120;

/// The file of a statement, byte for byte; ends in a line feed.
pub(crate) fn render(statement: &Statement) -> String {
    let mut text = String::new();
    lay_out(&json(statement), 0, 0, &mut text);
    text.push('\n');
    text
}

/// The digest of a statement, whatever its own `digest` field says.
///
/// To recompute it elsewhere: parse the file, remove `predicate.digest`, write canonical JSON
/// (RFC 8785), take SHA-256.
pub(crate) fn digest(statement: &Statement) -> Sha256 {
    let mut json = json(statement);
    if let Some(predicate) = json.get_mut("predicate").and_then(Json::as_object_mut) {
        predicate.shift_remove("digest");
    }
    let canonical =
        serde_json_canonicalizer::to_vec(&json).expect("parsed JSON has a canonical form");
    Sha256::of(&canonical)
}

fn json(statement: &Statement) -> Json {
    serde_json::to_value(statement).expect("a statement holds only finite numbers and text keys")
}

/// Appends a value that begins at column `indent` + `used` of its line.
fn lay_out(json: &Json, indent: usize, used: usize, text: &mut String) {
    let start = text.len();
    if on_one_line(json, start + WIDTH.saturating_sub(indent + used), text) {
        return;
    }
    text.truncate(start);
    match json {
        Json::Object(members) => {
            text.push('{');
            for (position, (key, value)) in members.iter().enumerate() {
                new_line(position > 0, indent + 2, text);
                let key = quote(key);
                let _ = write!(text, "{key}: ");
                // One more for the comma.
                lay_out(value, indent + 2, key.chars().count() + 3, text);
            }
            new_line(false, indent, text);
            text.push('}');
        }
        Json::Array(items) if items.iter().all(Json::is_number) => {
            text.push('[');
            fill(items, indent + 2, text);
            new_line(false, indent, text);
            text.push(']');
        }
        Json::Array(items) => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                new_line(position > 0, indent + 2, text);
                lay_out(item, indent + 2, 1, text);
            }
            new_line(false, indent, text);
            text.push(']');
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => text.push_str(&json.to_string()),
        Json::String(words) => text.push_str(&quote(words)),
    }
}

/// Numbers, as many as fit on each line.
fn fill(items: &[Json], indent: usize, text: &mut String) {
    let mut column = WIDTH;
    for (position, item) in items.iter().enumerate() {
        let number = item.to_string();
        if column + number.len() + 2 > WIDTH {
            new_line(position > 0, indent, text);
            column = indent;
        } else {
            text.push_str(", ");
            column += 2;
        }
        text.push_str(&number);
        column += number.len();
    }
}

fn new_line(comma: bool, indent: usize, text: &mut String) {
    text.push_str(if comma { ",\n" } else { "\n" });
    text.extend(std::iter::repeat_n(' ', indent));
}

/// Appends a value on one line; gives up once the text is longer than `limit`.
fn on_one_line(json: &Json, limit: usize, text: &mut String) -> bool {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => text.push_str(&json.to_string()),
        Json::String(words) => text.push_str(&quote(words)),
        Json::Array(items) => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                text.push_str(if position > 0 { ", " } else { "" });
                if !on_one_line(item, limit, text) {
                    return false;
                }
            }
            text.push(']');
        }
        Json::Object(members) => {
            text.push('{');
            for (position, (key, value)) in members.iter().enumerate() {
                text.push_str(if position > 0 { ", " } else { "" });
                let _ = write!(text, "{}: ", quote(key));
                if !on_one_line(value, limit, text) {
                    return false;
                }
            }
            text.push('}');
        }
    }
    text.len() <= limit
}

fn quote(words: &str) -> String {
    Json::from(words).to_string()
}

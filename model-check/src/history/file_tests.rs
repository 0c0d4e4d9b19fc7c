//! Histories written and read again, and files that are refused.

use super::*;
use crate::agree::{Kind, history};

fn read_text(text: &str) -> Result<History, String> {
    read(text.as_bytes()).map_err(|error| error.to_string())
}

fn text(history: &History) -> String {
    let mut bytes = Vec::new();
    write(history, &mut bytes).expect("memory takes it");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

const HEADER: &str = r#"{"soldonce_history":1,"clock":{"start":1000},"seats_added_at":null}"#;
const CALL: &str = r#"{"client":0,"invoked":1,"returned":2,"call":{"read_seat":"A1"},"answer":{"receipt":{"version":0,"at":1000,"outcome":{"seat":{"seat":"A1","state":"free","version":0,"changed_at":1000}}}}}"#;

#[test]
fn a_history_that_was_written_is_read_as_it_was() {
    for kind in Kind::ALL {
        for seed in 0..50 {
            let written = history(kind, seed);
            let text = text(&written);
            let read = read_text(&text).expect("what was written is read");
            assert_eq!(self::text(&read), text);
            let report = crate::serializable::check(&read);
            assert_eq!(report.counts, crate::serializable::check(&written).counts);
        }
    }
}

#[test]
fn a_wrong_line_is_refused_with_its_number_and_what_is_wrong() {
    let check = |lines: &[&str], expected: &str| {
        let refusal = read_text(&lines.join("\n")).expect_err(expected);
        assert!(refusal.starts_with(expected), "{refusal} / {expected}");
    };
    let with = |from: &str, to: &str| CALL.replace(from, to);
    check(&[], "line 1: the file is empty");
    check(&["{}"], "line 1: this is no header: missing field");
    check(&[CALL], "line 1: this is no header: unknown field `client`");
    check(
        &[r#"{"soldonce_history":2,"clock":null,"seats_added_at":null}"#],
        "line 1: the file has form 2; this program reads form 1",
    );

    check(&[HEADER, "", CALL], "line 2: it is empty");
    check(&[HEADER, CALL, &CALL[..60]], "line 3: this is no call: EOF");
    check(
        &[HEADER, &with(r#""returned":2"#, r#""returned":0"#)],
        "line 2: it returned at 0, before it was invoked at 1",
    );
    check(
        &[HEADER, &with(r#""returned":2"#, r#""returned":null"#)],
        "line 2: `returned` is null exactly when the answer is unknown",
    );
    check(
        &[HEADER, &with(r#""version":0,"at""#, r#""version":-1,"at""#)],
        "line 2: invalid version: it is -1; allowed: 0 or more",
    );
    check(
        &[HEADER, &with(r#""read_seat":"A1""#, r#""read_seat":"""#)],
        "line 2: invalid seat id: it is empty",
    );
    check(
        &[HEADER, &with("read_seat", "read_chair")],
        "line 2: this is no call: unknown variant `read_chair`",
    );
    let long = "x".repeat(70_000);
    check(&[HEADER, &long], "line 2: it is longer than 65536 bytes");
}

#[test]
fn the_last_line_may_end_without_a_line_break() {
    let history = read_text(&format!("{HEADER}\n{CALL}")).expect("complete");
    assert_eq!(history.operations.len(), 1);
}

#[test]
fn calls_in_any_order_are_sorted_by_their_return() {
    let later = CALL.replace(r#""returned":2"#, r#""returned":9"#);
    let history = read_text(&format!("{HEADER}\n{later}\n{CALL}\n")).expect("complete");
    let returned: Vec<u64> = history.operations.iter().map(Operation::returned).collect();
    assert_eq!(returned, [2, 9]);
}

#[test]
fn the_schema_in_the_repository_is_the_one_made_from_the_types() {
    // As values: the order of the keys depends on what other crates ask of serde_json.
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    let kept = include_str!("../../schema/history.schema.json");
    assert!(
        value(kept) == value(&schema()),
        "write it again: model-check schema"
    );
}

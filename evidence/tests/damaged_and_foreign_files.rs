//! Files that were cut short, changed at random, or never were evidence: each is refused with one
//! clear line, and nothing panics.

mod common;

use std::fs;

use evidence::{Refusal, verify_bytes, verify_file};
use proptest::prelude::*;

#[test]
fn a_file_cut_short_at_any_byte_is_refused_with_one_line() {
    let valid = common::full().to_json();
    for length in 0..valid.len() {
        let findings = verify_bytes(&valid.as_bytes()[..length]).unwrap_err();
        assert_eq!(findings.len(), 1, "{length}");
        let line = findings[0].to_string();
        let expected = match length {
            0 => "the file is empty".to_owned(),
            // Without its last line feed it is whole, but not as it was written.
            last if last + 1 == valid.len() => "is not laid out as it was written".to_owned(),
            length => format!("cut short: it ends after {length} bytes, at line "),
        };
        assert!(line.contains(&expected), "{length}: {line}");
    }
}

#[test]
fn foreign_files_are_refused_with_a_line_that_says_what_they_are_not() {
    let valid = common::full().to_json();
    let newer_type = valid.replace("evidence/v1", "evidence/v2");
    let newer_schema = valid.replace("\"schema_version\": 1", "\"schema_version\": 2");
    let no_version = valid.replace("\"schema_version\": 1", "\"schema_version\": 0");
    let deep = "[".repeat(100_000);
    let cases: [(&[u8], &str); 17] = [
        (b"", "the file is empty"),
        (b" \n\t", "the file is empty"),
        (b"\0", "not JSON"),
        (b"SQLite format 3\0", "not JSON"),
        (b"\x7fELF\x02\xff", "not UTF-8 text: byte 5"),
        (b"\xff\xfe{\0}\0", "not UTF-8 text: byte 0"),
        (b"{} {}", "not JSON"),
        (b"{}", "not an evidence file"),
        (b"[1, 2]", "not an evidence file"),
        (b"null", "not an evidence file"),
        (b"\"evidence\"", "not an evidence file"),
        (br#"{"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1"}"#, "not an evidence file"),
        (deep.as_bytes(), "recursion limit"),
        (b"{\"a\": 1e999}", "not JSON"),
        (newer_type.as_bytes(), "predicateType: version 2 is newer than this program"),
        (newer_schema.as_bytes(), "predicate.schema_version: version 2 is newer than this program"),
        (no_version.as_bytes(), "predicate.schema_version: no version that exists"),
    ];
    for (bytes, expected) in cases {
        let findings = verify_bytes(bytes).unwrap_err();
        assert_eq!(findings.len(), 1, "{expected}");
        let line = findings[0].to_string();
        assert!(line.contains(expected), "{line}");
        assert_eq!(line.lines().count(), 1);
    }
}

#[test]
fn the_field_that_is_wrong_is_named_with_what_was_expected() {
    let valid = common::full().to_json();
    for (from, to, line) in [
        (
            r#""p99": "20015""#,
            r#""p99": "20014""#,
            "predicate.results.histograms[0].summary.p99: is 20014, expected 20015",
        ),
        (
            r#""attempts": "40""#,
            r#""attempts": "41""#,
            "predicate.results.operations[0].attempts: is 41, expected 40, the sum of its outcomes and errors",
        ),
        (
            r#""verdict": "interrupted""#,
            r#""verdict": "holds""#,
            "predicate.verdict: is holds, expected interrupted",
        ),
        (
            r#""cases": "100""#,
            r#""cases": 100"#,
            "predicate.checks[0].cases: invalid type: integer `100`, expected a string of decimal digits",
        ),
        (
            r#""seed": "18446744073709551615""#,
            r#""seed": "18446744073709551616""#,
            "predicate.run.seed: invalid value",
        ),
        (
            r#""name": "audit""#,
            r#""title": "audit""#,
            "predicate.checks[0].title: unknown field `title`",
        ),
    ] {
        let edited = valid.replacen(from, to, 1);
        assert_ne!(edited, valid, "{from} does not occur");
        let findings = verify_bytes(edited.as_bytes()).unwrap_err();
        assert!(findings[0].to_string().starts_with(line), "{}", findings[0]);
    }
}

#[test]
fn a_finding_is_one_short_line_whatever_text_the_file_holds() {
    let mut statement = common::full();
    let check = &mut statement.predicate.checks[1];
    check.name = format!("audit\n\u{1b}[2J\u{2028}{}", "x".repeat(100_000));
    statement.predicate.checks[0].name = check.name.clone();
    common::seal(&mut statement);
    let findings = verify_bytes(statement.to_json().as_bytes()).unwrap_err();
    let line = findings[0].to_string();
    assert!(
        line.starts_with(r"predicate.checks[1]: audit\n\u{1b}[2J\u{2028}xxx"),
        "{line}"
    );
    assert!(line.len() < 500 && !line.chars().any(char::is_control));
}

#[test]
fn a_file_larger_than_any_evidence_is_refused_unread() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.json");
    fs::File::create(&path).unwrap().set_len(200 << 20).unwrap();
    let lines = verify_file(&path).unwrap_err().lines();
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].ends_with("huge.json: larger than 64 MiB, which no evidence file is"),
        "{lines:?}"
    );
}

#[test]
fn a_missing_file_and_a_folder_are_unreadable_and_not_wrong() {
    let folder = tempfile::tempdir().unwrap();
    for path in [
        folder.path().to_path_buf(),
        folder.path().join("missing.json"),
    ] {
        let refusal = verify_file(&path).unwrap_err();
        assert!(matches!(refusal, Refusal::Unreadable { .. }), "{refusal}");
        assert_eq!(refusal.lines().len(), 1);
    }
}

#[test]
fn a_file_under_the_name_of_another_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let statement = common::full();
    let path = statement.write(folder.path()).unwrap();
    assert_eq!(verify_file(&path).unwrap(), statement);
    for name in [
        "bench-20261129T171502Z-01234567.json",
        "stress-20261129T171503Z-01234567.json",
    ] {
        let other = folder.path().join(name);
        fs::copy(&path, &other).unwrap();
        let line = verify_file(&other).unwrap_err().lines().remove(0);
        assert!(
            line.contains("name does not agree with its content: expected stress-"),
            "{line}"
        );
    }
    // A name that is no evidence file's name claims nothing.
    fs::copy(&path, folder.path().join("mine.json")).unwrap();
    assert!(verify_file(&folder.path().join("mine.json")).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn random_damage_never_panics_and_never_verifies(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..6),
    ) {
        let valid = common::kept();
        let mut bytes = valid.clone();
        for (place, byte, how) in damage {
            if bytes.is_empty() {
                continue;
            }
            let place = place.index(bytes.len());
            match how {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                2 => drop(bytes.remove(place)),
                _ => bytes[place] ^= 1 << (byte % 8),
            }
        }
        prop_assert_eq!(verify_bytes(&bytes).is_ok(), bytes == valid);
    }

    #[test]
    fn random_bytes_never_panic_and_never_verify(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(verify_bytes(&bytes).is_err());
    }

    #[test]
    fn digits_and_letters_swapped_at_random_never_verify(
        place in any::<prop::sample::Index>(),
        letter in "[0-9a-z+/=.\"{}\\[\\],: -]",
    ) {
        let valid = common::kept();
        let mut bytes = valid.clone();
        let place = place.index(bytes.len());
        bytes[place] = letter.as_bytes()[0];
        prop_assert_eq!(verify_bytes(&bytes).is_ok(), bytes == valid);
    }
}

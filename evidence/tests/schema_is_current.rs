//! The kept schema is the one that the types make, and every file that verifies fits it.

mod common;

use evidence::{evidence_files, schema, verify_bytes};
use jsonschema::Validator;
use serde_json::Value as Json;

const SCHEMA: &str = "schema/evidence-v1.schema.json";
const FULL: &str = "tests/fixtures/full-v1.json";

#[test]
fn the_kept_schema_is_the_one_of_the_types() {
    let command = "cargo run -p evidence -- schema > evidence/schema/evidence-v1.schema.json";
    common::same_as_kept(SCHEMA, &schema(), command);
}

#[test]
fn the_kept_file_of_version_1_still_verifies_and_is_still_written_alike() {
    // Files of version 1 have to verify for ever: this one was written when version 1 was made.
    let kept = std::fs::read(common::package(FULL)).unwrap();
    let statement = verify_bytes(&kept).unwrap();
    assert_eq!(statement, common::full());
    assert_eq!(statement.to_json().as_bytes(), kept);
}

#[test]
fn fixtures_and_committed_evidence_fit_the_schema() {
    let validator = validator();
    let committed = evidence_files(&common::package("runs")).unwrap_or_default();
    for path in committed.into_iter().chain([common::package(FULL)]) {
        let text = std::fs::read_to_string(&path).unwrap();
        let errors = errors(&validator, &serde_json::from_str(&text).unwrap());
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
    }
}

#[test]
fn the_schema_refuses_what_the_types_refuse() {
    let validator = validator();
    let valid: Json = serde_json::from_str(&common::full().to_json()).unwrap();
    assert_eq!(errors(&validator, &valid), Vec::<String>::new());
    for (pointer, wrong) in [
        (
            "/_type",
            serde_json::json!("https://in-toto.io/Statement/v2"),
        ),
        ("/predicate/schema_version", serde_json::json!("1")),
        ("/predicate/verdict", serde_json::json!("fine")),
        ("/predicate/run/seed", serde_json::json!(7)),
        ("/predicate/run/seed", serde_json::json!("007")),
        (
            "/predicate/run/started",
            serde_json::json!("2026-11-29 17:15"),
        ),
        ("/predicate/configuration/clients", serde_json::json!([8])),
        ("/predicate/digest/sha256", serde_json::json!("abc")),
        ("/predicate/checks/0", serde_json::json!({"name": "audit"})),
        (
            "/predicate/results/operations/0/surprise",
            serde_json::json!(1),
        ),
    ] {
        let mut edited = valid.clone();
        if let Some(place) = edited.pointer_mut(pointer) {
            *place = wrong;
        } else {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            edited.pointer_mut(parent).unwrap()[key] = wrong;
        }
        assert!(!errors(&validator, &edited).is_empty(), "{pointer}");
    }
}

fn validator() -> Validator {
    let text = std::fs::read_to_string(common::package(SCHEMA)).unwrap();
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

fn errors(validator: &Validator, json: &Json) -> Vec<String> {
    validator
        .iter_errors(json)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

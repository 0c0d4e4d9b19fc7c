//! Whatever is changed in a valid file, verify refuses it.
//!
//! Method: take one file that has every field, and change each leaf of its JSON in turn, in several
//! ways. Once as it is: the digest catches that. Once with the digest made right again: now only
//! recomputation can catch it, and it must, for every leaf that is not on the short list of facts
//! that stand only there.

mod common;

use std::collections::BTreeSet;

use evidence::{Statement, verify_bytes};
use serde_json::{Value as Json, json};

/// Leaves that nothing else in a file confirms: what was given, found on the machine, or measured
/// once. `*` stands for one key or position. Everything else has to be recomputed.
const FACTS: &[&str] = &[
    "subject.*.digest.sha256", // of the program
    "predicate.kind",
    "predicate.not_comparable_because",
    "predicate.run.*",
    "predicate.run.arguments.*",
    "predicate.configuration.*",
    "predicate.checks.*.name",
    "predicate.checks.*.what",
    "predicate.checks.*.cases",
    "predicate.checks.*.notes.*",
    "predicate.laws.*.name",
    "predicate.laws.*.what",
    "predicate.thresholds.*.expression",
    "predicate.thresholds.*.observed.name",
    "predicate.thresholds.*.limit",
    "predicate.thresholds.*.rule",
    "predicate.results.figures.*.name",
    "predicate.results.figures.*.unit",
    "predicate.results.figures.*.value", // measured ones
    "predicate.results.figures.*.aim.rule",
    "predicate.results.figures.*.aim.limit",
    "predicate.results.figures.*.from.ratio.*.name",
    "predicate.results.histograms.*.of.*",
    "predicate.results.histograms.*.covers",
    "predicate.results.histograms.*.unit",
    "predicate.results.series.*.of.*",
    "predicate.results.series.*.covers",
    "predicate.results.series.*.interval_ms",
    "predicate.results.series.*.counts.*",
    "predicate.results.benchmarks.*.id",
    "predicate.results.benchmarks.*.elements",
    "predicate.database.*",
    "predicate.database.settings.*",
    "predicate.source.revision",
    "predicate.source.dirty",
    "predicate.source.tree_files",
    "predicate.source.lock_sha256",
    "predicate.toolchain.*",
    "predicate.host.*",
];

/// Of the facts above, those that something else confirms in this very file.
const CONFIRMED: &[&str] = &[
    "predicate.run.program",     // the name of a subject
    "predicate.run.interrupted", // the verdict
    "predicate.run.measured_ns", // attempts per second
    "predicate.results.figures.0.value",
    "predicate.results.figures.1.value",
    "predicate.results.figures.2.value",
    "predicate.results.figures.4.value",
    "predicate.results.figures.0.name", // referred to
    "predicate.results.histograms.0.of.operation",
    "predicate.results.histograms.0.of.outcome",
    "predicate.results.histograms.0.of.measure", // referred to
    "predicate.results.series.0.of.operation",
    "predicate.results.series.0.counts.0",
    "predicate.results.series.0.counts.1",
    "predicate.results.benchmarks.0.id", // referred to
    "predicate.results.benchmarks.1.id",
    "subject.0.digest.sha256", // of the source tree
];

#[test]
fn editing_any_leaf_is_refused() {
    let valid = common::full().to_json();
    assert!(verify_bytes(valid.as_bytes()).is_ok());
    let tree: Json = serde_json::from_str(&valid).unwrap();
    let mut edits = 0;
    for path in leaves(&tree) {
        for changed in changes(at(&tree, &path)) {
            let mut edited = tree.clone();
            *at_mut(&mut edited, &path) = changed;
            refused(&layout(&edited), &path.join("."));
            edits += 1;
        }
    }
    assert!(edits > 300, "only {edits} edits were tried");
}

#[test]
fn editing_any_leaf_that_follows_from_another_is_refused_although_the_digest_is_right() {
    let tree: Json = serde_json::from_str(&common::full().to_json()).unwrap();
    let (mut caught, mut passed) = (BTreeSet::new(), BTreeSet::new());
    for path in leaves(&tree) {
        let name = path.join(".");
        let mut every_change_caught = true;
        for changed in changes(at(&tree, &path)) {
            // A null that the types take is a field removed, and is refused as such elsewhere.
            if changed.is_null() {
                continue;
            }
            let mut edited = tree.clone();
            *at_mut(&mut edited, &path) = changed;
            // An edit that the types refuse needs no digest.
            let Ok(mut statement) = serde_json::from_value::<Statement>(edited) else {
                continue;
            };
            if name != "predicate.digest.sha256" {
                common::seal(&mut statement);
            }
            every_change_caught &= verify_bytes(statement.to_json().as_bytes()).is_err();
        }
        if every_change_caught {
            caught.insert(name)
        } else {
            passed.insert(name)
        };
    }
    let fact = |name: &String| FACTS.iter().any(|pattern| matches(pattern, name));
    let confirmed = |name: &String| CONFIRMED.contains(&name.as_str());
    let missed: Vec<_> = passed
        .iter()
        .filter(|name| !fact(name) || confirmed(name))
        .collect();
    assert!(missed.is_empty(), "nothing recomputes {missed:#?}");
    assert!(
        caught.len() > 70,
        "only {} leaves are recomputed: {caught:#?}",
        caught.len()
    );
}

#[test]
fn removing_or_adding_any_key_is_refused() {
    let tree: Json = serde_json::from_str(&common::full().to_json()).unwrap();
    for path in objects(&tree) {
        let keys: Vec<String> = at(&tree, &path)
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        for key in keys {
            let mut edited = tree.clone();
            at_mut(&mut edited, &path)
                .as_object_mut()
                .unwrap()
                .shift_remove(&key);
            refused(
                &layout(&edited),
                &format!("{} without {key}", path.join(".")),
            );
        }
        let mut edited = tree.clone();
        at_mut(&mut edited, &path)
            .as_object_mut()
            .unwrap()
            .insert("extra".into(), json!("1"));
        refused(
            &layout(&edited),
            &format!("{} with a key more", path.join(".")),
        );
    }
}

#[test]
fn an_unknown_field_is_named_although_the_digest_is_right() {
    let tree: Json = serde_json::from_str(&common::full().to_json()).unwrap();
    for path in objects(&tree) {
        // Maps whose keys the run chooses.
        let name = path.join(".");
        if ["configuration", "settings", "counts", "outcomes", "errors"]
            .iter()
            .any(|map| name.ends_with(map))
        {
            continue;
        }
        let mut edited = tree.clone();
        at_mut(&mut edited, &path)
            .as_object_mut()
            .unwrap()
            .insert("extra".into(), json!("1"));
        let findings = verify_bytes(layout(&edited).as_bytes()).unwrap_err();
        assert_eq!(findings.len(), 1);
        let line = findings[0].to_string();
        // What takes one key of several to choose from says so.
        assert!(
            line.contains("extra") || line.contains("single key"),
            "{name}: {line}"
        );
    }
}

#[test]
fn removing_repeating_or_moving_a_list_item_is_refused() {
    let tree: Json = serde_json::from_str(&common::full().to_json()).unwrap();
    for path in lists(&tree) {
        let items = at(&tree, &path).as_array().unwrap().clone();
        for position in 0..items.len() {
            let without = items
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != position);
            let without: Vec<Json> = without.map(|(_, item)| item.clone()).collect();
            let mut repeated = items.clone();
            repeated.insert(position, items[position].clone());
            let mut moved = items.clone();
            moved.rotate_left(1);
            for changed in [without, repeated, moved] {
                if changed != items {
                    let mut edited = tree.clone();
                    *at_mut(&mut edited, &path) = Json::Array(changed);
                    refused(&layout(&edited), &path.join("."));
                }
            }
        }
    }
}

#[test]
fn a_space_a_line_or_another_spelling_more_is_refused() {
    let valid = common::full().to_json();
    let mut tried = 0;
    for (position, byte) in valid.bytes().enumerate() {
        if matches!(byte, b',' | b':' | b'{' | b'[') {
            let (before, after) = valid.split_at(position + 1);
            refused(
                &format!("{before} {after}"),
                &format!("a space after byte {position}"),
            );
            tried += 1;
        }
    }
    assert!(tried > 500);
    for (from, to) in [
        ("\"stress\"", "\"\\u0073tress\""),
        (": 8,", ": 8.0,"),
        ("36.6", "36.60"),
        ("80.5", "805e-1"),
        ("\n", "\r\n"),
        ("\"40\"", "\"040\""),
        ("\"40\"", "\"+40\""),
        ("\"40\"", "40"),
    ] {
        let edited = valid.replacen(from, to, 1);
        assert_ne!(edited, valid, "{from} does not occur");
        refused(&edited, to);
    }
    refused(valid.trim_end(), "no line feed at the end");
    refused(&format!("\u{feff}{valid}"), "a byte order mark");
}

#[test]
fn a_key_that_stands_twice_is_named() {
    let valid = common::full().to_json();
    for key in ["_type", "verdict", "clients", "held"] {
        let line = valid
            .lines()
            .find(|line| line.contains(&format!("\"{key}\":")))
            .unwrap();
        let start = valid.find(&format!("\"{key}\":")).unwrap();
        let edited = format!("{}\"{key}\": 1, {}", &valid[..start], &valid[start..]);
        let findings = verify_bytes(edited.as_bytes()).unwrap_err();
        let told = findings[0].to_string();
        assert!(
            told.contains(key) && told.contains("twice"),
            "{line}: {told}"
        );
    }
}

fn refused(text: &str, what: &str) {
    let findings = verify_bytes(text.as_bytes()).expect_err(what);
    assert!(!findings.is_empty(), "{what}");
    for finding in findings {
        assert_eq!(finding.to_string().lines().count(), 1, "{what}");
    }
}

/// As the file would be laid out, if the types allow it; else as any JSON.
fn layout(edited: &Json) -> String {
    match serde_json::from_value::<Statement>(edited.clone()) {
        Ok(statement) => statement.to_json(),
        Err(_) => serde_json::to_string_pretty(edited).unwrap(),
    }
}

/// Several other values for a leaf, some of another type.
fn changes(leaf: &Json) -> Vec<Json> {
    match leaf {
        Json::String(text) => {
            let mut last = text.clone();
            let end = last.pop();
            last.push(if end == Some('1') { '2' } else { '1' });
            let others: [&str; 3] = [&last, &format!("1{text}"), ""];
            // Words that the types would take instead.
            let names = [
                "every",
                "some",
                "at_least",
                "below",
                "ns",
                "1",
                "mean",
                "p99",
                "interrupted",
                "holds",
                "git",
                "absent",
                "stress",
                "bench",
            ];
            let names = if names.contains(&text.as_str()) {
                &names[..]
            } else {
                &[]
            };
            let mut all: Vec<Json> = others
                .iter()
                .chain(names)
                .filter(|other| *other != text)
                .map(|other| json!(other))
                .collect();
            all.extend([Json::Null, json!(1)]);
            all
        }
        Json::Number(number) => {
            let value = number.as_f64().unwrap();
            vec![
                json!(value + 1.0),
                json!(value * 2.0 + 0.5),
                json!(number.as_i64().unwrap_or(3) + 1),
                Json::Null,
                json!(number.to_string()),
            ]
        }
        Json::Bool(flag) => vec![json!(!flag), Json::Null, json!("true")],
        Json::Null | Json::Array(_) | Json::Object(_) => vec![json!(1)],
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    let (mut keys, mut parts) = (name.split('.'), pattern.split('.'));
    // A host attribute's own name has dots in it.
    if pattern == "predicate.host.*" {
        return name.starts_with("predicate.host.");
    }
    loop {
        match (parts.next(), keys.next()) {
            (None, None) => return true,
            (Some(part), Some(key)) if part == "*" || part == key => {}
            _ => return false,
        }
    }
}

type Path = Vec<String>;

fn leaves(tree: &Json) -> Vec<Path> {
    walk(tree, &|json| !json.is_object() && !json.is_array())
}

fn objects(tree: &Json) -> Vec<Path> {
    walk(tree, &Json::is_object)
}

fn lists(tree: &Json) -> Vec<Path> {
    walk(tree, &Json::is_array)
}

fn walk(tree: &Json, wanted: &dyn Fn(&Json) -> bool) -> Vec<Path> {
    let mut found = if wanted(tree) {
        vec![Vec::new()]
    } else {
        Vec::new()
    };
    let children: Vec<(String, &Json)> = match tree {
        Json::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .map(|(position, item)| (position.to_string(), item))
            .collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        found.extend(
            walk(child, wanted)
                .into_iter()
                .map(|rest| [vec![key.clone()], rest].concat()),
        );
    }
    found
}

fn at<'a>(tree: &'a Json, path: &[String]) -> &'a Json {
    path.iter().fold(tree, |json, key| match json {
        Json::Array(items) => &items[key.parse::<usize>().unwrap()],
        other => &other[key],
    })
}

fn at_mut<'a>(tree: &'a mut Json, path: &[String]) -> &'a mut Json {
    path.iter().fold(tree, |json, key| match json {
        Json::Array(items) => &mut items[key.parse::<usize>().unwrap()],
        other => &mut other[key],
    })
}

//! The program `evidence`, run as a person runs it: what it prints, and its exit codes.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use evidence::{Check, Statement, Verdict};

struct Output {
    code: i32,
    out: String,
    err: String,
}

fn evidence(folder: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_evidence"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    Output {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A workspace with two runs below `evidence/runs`, and other files about.
fn workspace() -> (tempfile::TempDir, [PathBuf; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let runs = root.join("evidence/runs");
    fs::create_dir_all(&runs).unwrap();
    fs::create_dir_all(root.join("evidence/schema")).unwrap();
    fs::create_dir_all(root.join("evidence/target")).unwrap();
    fs::create_dir_all(root.join("below/it")).unwrap();
    fs::write(root.join("Cargo.lock"), "").unwrap();
    fs::write(root.join("evidence/Cargo.toml"), "").unwrap();
    fs::write(root.join("evidence/schema/evidence-v1.schema.json"), "{}").unwrap();
    fs::write(root.join("evidence/runs/notes.json"), "{}").unwrap();
    fs::write(
        root.join("evidence/target/stress-20261129T171502Z-01234567.json"),
        "not looked at",
    )
    .unwrap();
    let (good, bad) = (good(), bad());
    let paths = [good.write(&runs).unwrap(), bad.write(&runs).unwrap()];
    (folder, paths)
}

fn good() -> Statement {
    change(|statement| {
        statement.predicate.run.interrupted = false;
        statement.predicate.verdict = Verdict::Holds;
    })
}

fn bad() -> Statement {
    change(|statement| {
        statement.predicate.checks[0] =
            Check::passed("audit", "every seat is sold at most once", 9).violations(2);
        statement.predicate.verdict = Verdict::Violated;
    })
}

fn change(change: impl Fn(&mut Statement)) -> Statement {
    let mut statement = common::full();
    change(&mut statement);
    common::seal(&mut statement);
    statement
}

#[test]
fn verify_finds_the_runs_below_a_folder_and_says_their_verdicts() {
    let (folder, [good, bad]) = workspace();
    for arguments in [
        &["verify", "evidence"][..],
        &["verify"],
        &["verify", "evidence/runs"],
        &["verify", "."],
    ] {
        let Output { code, out, err } = evidence(folder.path(), arguments);
        assert_eq!((code, err.as_str()), (0, ""), "{arguments:?}");
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 3, "{out}");
        assert!(
            out.contains(&format!(
                "{}: verified, stress holds, of commit 0123456789ab\n",
                name(&good)
            )),
            "{out}"
        );
        assert!(
            out.contains(&format!(
                "{}: verified, stress VIOLATED, of commit 0123456789ab\n",
                name(&bad)
            )),
            "{out}"
        );
        assert_eq!(
            lines[2],
            "2 of 2 verified; 1 of them with another verdict than holds"
        );
    }
}

#[test]
fn verify_says_which_file_and_field_are_wrong_and_ends_with_3() {
    let (folder, [good, _]) = workspace();
    let text = fs::read_to_string(&good)
        .unwrap()
        .replace("\"attempts\": \"40\"", "\"attempts\": \"41\"");
    fs::write(&good, text).unwrap();
    let Output { code, out, err } = evidence(folder.path(), &["verify", "evidence"]);
    assert_eq!(code, 3);
    let first = err.lines().next().unwrap();
    let expected = "predicate.results.operations[0].attempts: is 41, expected 40, the sum of its outcomes and errors";
    assert_eq!(first, format!("evidence/runs/{}: {expected}", name(&good)));
    assert!(err.contains("predicate.digest.sha256"));
    assert!(
        out.ends_with("1 of 2 verified; 1 of them with another verdict than holds\n"),
        "{out}"
    );
}

#[test]
fn each_kind_of_bad_path_gives_one_line_and_its_exit_code() {
    let (folder, [good, _]) = workspace();
    let root = folder.path();
    fs::write(root.join("empty.json"), "").unwrap();
    fs::write(root.join("foreign.json"), "{}").unwrap();
    fs::write(root.join("latin1.json"), b"{\"a\": \"\xe4\"}").unwrap();
    let whole = fs::read(&good).unwrap();
    fs::write(root.join("cut.json"), &whole[..whole.len() / 2]).unwrap();
    for (path, code, line) in [
        (
            "missing.json",
            1,
            "missing.json: could not be read: No such file or directory",
        ),
        (
            "below",
            1,
            "below: no evidence file in this folder or below",
        ),
        ("empty.json", 3, "empty.json: the file is empty"),
        (
            "foreign.json",
            3,
            "foreign.json: not an evidence file: expected _type",
        ),
        (
            "latin1.json",
            3,
            "latin1.json: not UTF-8 text: byte 7 is not part of a character",
        ),
        ("cut.json", 3, "cut.json: cut short: it ends after "),
    ] {
        for command in ["verify", "list"] {
            let output = evidence(root, &[command, path]);
            assert_eq!(output.code, code, "{command} {path}");
            assert_eq!(output.err.lines().count(), 1, "{}", output.err);
            assert!(output.err.starts_with(line), "{}", output.err);
        }
    }
    // The worst of several decides; the good ones are still verified.
    let good = good.to_str().unwrap();
    let output = evidence(root, &["verify", "missing.json", "empty.json", good]);
    assert_eq!((output.code, output.err.lines().count()), (3, 2));
    assert!(output.out.ends_with("1 of 3 verified\n"), "{}", output.out);
    assert_eq!(evidence(root, &["verify", "missing.json", good]).code, 1);
}

#[test]
fn wrong_usage_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&[][..], &["prove"], &["verify", "--fast"]] {
        assert_eq!(evidence(folder.path(), arguments).code, 2, "{arguments:?}");
    }
    let help = evidence(folder.path(), &["--help"]);
    assert_eq!(help.code, 0);
    assert!(help.out.contains("Exit codes:"));
}

#[test]
fn list_is_a_table_of_at_most_80_columns() {
    let (folder, [good, bad]) = workspace();
    fs::copy(&good, folder.path().join("mine.json")).unwrap();
    let Output { code, out, err } = evidence(folder.path(), &["list", "evidence", "mine.json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let kind_and_time = "  stress-20261129T171502Z-";
    for part in [
        name(&good),
        name(&bad),
        " holds ",
        " VIOLATED ",
        "attempts per second 20/s",
        "2 violations",
        "mine.json",
        kind_and_time,
    ] {
        assert!(out.contains(part), "{part} not in\n{out}");
    }
    println!("{out}");
}

#[test]
fn the_evidence_of_this_workspace_verifies() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Output { code, out, err } = evidence(package, &["verify", "."]);
    // In the very beginning there is none; then the program says so.
    let none = err.contains("no evidence file in this folder or below");
    assert!(code == 0 || none, "{out}{err}");
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

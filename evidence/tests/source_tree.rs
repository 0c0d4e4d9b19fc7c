//! Which source a statement speaks for: asked of real git repositories.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use evidence::{Builder, Check, Checkout, Kind, Sha256, Source};

#[test]
fn the_tree_digest_can_be_made_with_git_and_sha256sum() {
    let Some(repository) = repository() else {
        return;
    };
    let root = repository.path();
    let script = "git ls-files -z -- . ':(exclude)evidence/runs' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum";
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(root)
        .output()
        .unwrap();
    let by_hand = String::from_utf8(output.stdout).unwrap();
    let source = look(root);
    assert_eq!(
        source.tree_sha256.unwrap().to_string(),
        by_hand.split(' ').next().unwrap()
    );
    assert_eq!(source.tree_files.unwrap().get(), 4);
    assert_eq!(source.lock_sha256, Some(Sha256::of(b"lock\n")));
}

#[test]
fn a_clean_checkout_names_its_commit_and_changes_make_it_dirty() {
    let Some(repository) = repository() else {
        return;
    };
    let root = repository.path();
    let clean = look(root);
    assert_eq!((clean.checkout, clean.dirty), (Checkout::Git, Some(false)));
    assert_eq!(
        clean.revision.as_deref(),
        Some(git(root, &["rev-parse", "HEAD"]).trim())
    );

    fs::write(root.join("core.rs"), "changed\n").unwrap();
    let changed = look(root);
    assert_eq!(
        (changed.dirty, &changed.revision),
        (Some(true), &clean.revision)
    );
    assert_ne!(changed.tree_sha256, clean.tree_sha256);

    fs::write(root.join("core.rs"), "core\n").unwrap();
    fs::write(root.join("untracked.rs"), "more\n").unwrap();
    let untracked = look(root);
    assert_eq!(
        (untracked.dirty, untracked.tree_sha256),
        (Some(true), clean.tree_sha256)
    );
    fs::remove_file(root.join("untracked.rs")).unwrap();

    fs::write(root.join("ignored.log"), "noise\n").unwrap();
    assert_eq!(look(root), clean);

    fs::remove_file(root.join("core.rs")).unwrap();
    let deleted = look(root);
    assert_eq!(deleted.dirty, Some(true));
    assert_ne!(deleted.tree_sha256, clean.tree_sha256);
}

#[test]
fn writing_and_committing_evidence_does_not_change_the_source() {
    let Some(repository) = repository() else {
        return;
    };
    let root = repository.path();
    let before = look(root);
    let runs = root.join("evidence/runs");
    common::full().write(&runs).unwrap();
    assert_eq!(look(root), before, "untracked evidence");
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "-m", "evidence"]);
    let after = look(root);
    assert_eq!(
        (after.tree_sha256, after.dirty),
        (before.tree_sha256, Some(false))
    );
    assert_ne!(after.revision, before.revision);
}

#[test]
fn a_repository_without_a_commit_has_a_tree_and_no_revision() {
    let Some(repository) = new_repository() else {
        return;
    };
    let source = look(repository.path());
    assert_eq!(
        (source.checkout, source.dirty, source.revision),
        (Checkout::Git, Some(true), None)
    );
}

fn look(root: &Path) -> Source {
    let mut run = Builder::new(Kind::Bench);
    run.workspace(Some(root))
        .check(Check::passed("audit", "seats", 1));
    run.build().unwrap().predicate.source
}

fn repository() -> Option<tempfile::TempDir> {
    let repository = new_repository()?;
    git(repository.path(), &["add", "-A"]);
    git(repository.path(), &["commit", "-q", "-m", "first"]);
    Some(repository)
}

/// A folder with files and an empty repository; `None`, with a line, without the git program.
fn new_repository() -> Option<tempfile::TempDir> {
    if Command::new("git").arg("--version").output().is_err() {
        println!("skipped: there is no git program");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (name, text) in [
        ("Cargo.lock", "lock\n"),
        ("core.rs", "core\n"),
        ("evidence/Cargo.toml", "evidence\n"),
        (".gitignore", "*.log\n"),
    ] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    git(root, &["init", "-q"]);
    git(root, &["config", "user.name", "Ada"]);
    git(root, &["config", "user.email", "ada@example.org"]);
    git(root, &["config", "core.hooksPath", "/dev/null"]);
    Some(folder)
}

fn git(root: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

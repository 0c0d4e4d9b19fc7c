//! Rules of the repository that the compiler can not state.

use std::fs;
use std::path::{Path, PathBuf};

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The files of the workspace, by their path from its root.
fn workspace() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace");
    let mut found = Vec::new();
    rust_files(root, &mut found);
    found
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a text");
            let name = path
                .strip_prefix(root)
                .expect("inside")
                .to_string_lossy()
                .replace('\\', "/");
            (name, text)
        })
        .collect()
}

#[test]
fn seats_and_payments_are_written_only_beside_their_transition() {
    let statements = [
        "update seats",
        "insert into seats",
        "insert into payments",
        "update payments",
    ];
    let mut allowed = 0;
    for (file, text) in workspace() {
        // What comes after the first unit test is a test; tests and planted faults write on purpose.
        let code = text
            .split("#[cfg(test)]")
            .next()
            .unwrap_or_default()
            .to_lowercase();
        let writes = statements.iter().any(|statement| code.contains(statement));
        if file.starts_with("core/src/transition/") {
            allowed += usize::from(writes);
            continue;
        }
        let on_purpose = file.contains("/tests/") || file.starts_with("model-check/src/");
        assert!(!writes || on_purpose, "{file} writes seats or payments");
    }
    assert_eq!(allowed, 4, "hold, release, confirm, record");
}

#[test]
fn the_store_does_not_know_its_checkers() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .expect("the manifest");
    for other in ["evidence", "model-check.", "stress", "benches", "serde"] {
        assert!(
            !manifest.contains(&format!("{other}.workspace")),
            "core depends on {other}"
        );
    }
}

#[test]
fn the_comparison_of_now_and_expires_is_written_once_in_sql_and_once_in_rust() {
    let written: Vec<String> = workspace()
        .into_iter()
        .filter(|(file, _)| file.starts_with("core/src/"))
        .flat_map(|(file, text)| {
            let code = text
                .split("#[cfg(test)]")
                .next()
                .unwrap_or_default()
                .to_owned();
            code.lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .filter(|line| line.contains("< expires") || line.contains("expires <"))
                .map(|line| format!("{file}: {}", line.trim()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(
        written,
        [
            "core/src/transition.rs: concat!(\"(\", decided_at!(), \" < expires)\")",
            "core/src/transition.rs: at < expires",
        ]
    );
}

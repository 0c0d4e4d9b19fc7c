//! Finds evidence files: what they are called, and which lie below a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::statement::{Kind, Statement};

/// Folders that are never looked into: they hold no evidence and can hold very many files.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];

/// The name of a statement's file: `KIND-YYYYMMDDTHHMMSSZ-XXXXXXXX.json`.
pub(crate) fn file_name(statement: &Statement) -> String {
    let predicate = &statement.predicate;
    format!(
        "{}-{}-{}.json",
        predicate.kind,
        predicate.run.finished.stamp(),
        predicate.digest.sha256.short()
    )
}

/// Whether a file is called as evidence files are.
pub fn is_evidence_name(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".json") else {
        return false;
    };
    let rest = Kind::ALL
        .iter()
        .find_map(|kind| stem.strip_prefix(kind.name())?.strip_prefix('-'));
    let Some((time, digest)) = rest.and_then(|rest| rest.split_once('-')) else {
        return false;
    };
    let pattern = b"ddddddddTddddddZ";
    let stamped = time.len() == pattern.len()
        && time.bytes().zip(pattern).all(|(byte, class)| match class {
            b'd' => byte.is_ascii_digit(),
            exact => byte == *exact,
        });
    stamped
        && digest.len() == 8
        && digest
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// All files below `folder` that are called as evidence files are, in the order of their paths.
/// Links to folders are not followed; `target`, `.git` and `node_modules` are not looked into.
///
/// # Errors
///
/// The first folder that could not be read, and why.
pub fn evidence_files(folder: &Path) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        let failed = |error| (folder.clone(), error);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() && !SKIPPED.contains(&name.as_ref()) {
                waiting.push(entry.path());
            } else if !kind.is_dir() && is_evidence_name(&name) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

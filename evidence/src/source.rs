//! The source that a run speaks for.
//!
//! Found by asking git about the workspace: the folder, at or above the current one, that holds both
//! `Cargo.lock` and `evidence/Cargo.toml`; if there is none, the folder that this crate was compiled
//! in, if it still exists. Without a checkout the answer is [`Checkout::Absent`] and the run goes on.
//!
//! * **Revision**: `git rev-parse HEAD`.
//! * **Dirty**: `git status --porcelain` shows anything, untracked files that are not ignored among
//!   it, outside `evidence/runs`.
//! * **Tree digest**: the SHA-256 of a list of all tracked files outside `evidence/runs`, in the order
//!   of the bytes of their paths. Each line is the SHA-256 of the file as it lies on disk, in
//!   hexadecimal, two spaces, the path from the top of the checkout, a line feed. A file that can not
//!   be read (deleted, a submodule) has 64 dashes for a digest. So it can be made with other tools:
//!
//! ```text
//! git ls-files -z -- . ':(exclude)evidence/runs' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum
//! ```
//!
//! The evidence files are left out, so that committing one does not change what it speaks for.
//!
//! **Limits.** The source is looked at when the statement is closed and not when the program was
//! compiled: under `cargo run`, `cargo test` and `cargo bench` that is the same, for a program that
//! was compiled earlier it need not be. What ran is pinned by the digest of the program itself.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::number::Whole;
use crate::statement::{Checkout, Source};
use crate::value::Sha256;

/// Where evidence files live, below the workspace.
const RUNS: &str = "evidence/runs";

/// The source below `root`, usually the folder that [`workspace`] finds.
pub(crate) fn source(root: Option<&Path>) -> Source {
    let mut source = Source {
        checkout: Checkout::Absent,
        revision: None,
        dirty: None,
        tree_files: None,
        tree_sha256: None,
        lock_sha256: None,
    };
    let Some(root) = root else { return source };
    source.lock_sha256 = fs::read(root.join("Cargo.lock"))
        .ok()
        .map(|bytes| Sha256::of(&bytes));
    let status = git(
        root,
        &["status", "--porcelain", "-z", "--", ".", EXCLUDE_RUNS],
    );
    if let (Some(status), Some((files, tree))) = (status, tree_digest(root)) {
        source.checkout = Checkout::Git;
        source.dirty = Some(!status.is_empty());
        source.tree_files = Whole::new(files);
        source.tree_sha256 = Some(tree);
        source.revision = git(root, &["rev-parse", "--verify", "--quiet", "HEAD"])
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .map(|text| text.trim().to_owned());
    }
    source
}

const EXCLUDE_RUNS: &str = ":(exclude)evidence/runs";

/// The workspace that a run belongs to, as described at the head of this module.
pub fn workspace() -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    let compiled = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    here.ancestors()
        .chain(compiled)
        .find(|folder| is_workspace(folder))
        .map(Path::to_path_buf)
}

fn is_workspace(folder: &Path) -> bool {
    folder.join("Cargo.lock").is_file() && folder.join("evidence/Cargo.toml").is_file()
}

/// The folder for evidence files: `evidence/runs` of the workspace at or above the current folder,
/// or `fallback` when there is none, as when the program runs on a machine without the source.
///
/// The folder need not exist yet; [`Statement::write`](crate::Statement::write) makes it.
pub fn runs_folder(fallback: &Path) -> PathBuf {
    let here = env::current_dir().unwrap_or_default();
    let workspace = here.ancestors().find(|folder| is_workspace(folder));
    workspace.map_or_else(|| fallback.to_path_buf(), |folder| folder.join(RUNS))
}

/// How many files, and the digest of their list.
fn tree_digest(root: &Path) -> Option<(u64, Sha256)> {
    let listing = git(root, &["ls-files", "-z", "--", ".", EXCLUDE_RUNS])?;
    let mut paths: Vec<&[u8]> = listing
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .collect();
    paths.sort_unstable();
    paths.dedup();
    let mut list = Vec::new();
    for path in &paths {
        let mut line = String::new();
        match fs::read(root.join(os_path(path))) {
            Ok(bytes) => write!(line, "{}  ", Sha256::of(&bytes)).ok()?,
            Err(_) => write!(line, "{}  ", "-".repeat(64)).ok()?,
        }
        list.extend_from_slice(line.as_bytes());
        list.extend_from_slice(path);
        list.push(b'\n');
    }
    Some((paths.len() as u64, Sha256::of(&list)))
}

#[cfg(unix)]
fn os_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn os_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// What git prints, or `None` if it fails. The environment's own git settings (as inside a hook)
/// must not point it to another repository, and it must not take the lock of the index.
fn git(root: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("git");
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_PREFIX",
        "GIT_OBJECT_DIRECTORY",
    ] {
        command.env_remove(name);
    }
    let output = command
        .args(["--no-optional-locks", "-c", "core.quotePath=off", "-C"])
        .arg(root)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then_some(output.stdout)
}

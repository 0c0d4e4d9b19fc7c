//! The database file under load: nobody else may run on it, and at the end it must still be there.

use std::fs::File;
use std::path::Path;

use crate::RunError;
use crate::proof::Check;

/// The file as it was when it was opened, kept locked against other runs. Dropped after the store: closing
/// any handle on a file takes SQLite's own locks on it away.
#[derive(Debug)]
pub struct DatabaseFile {
    kept: Option<(File, std::path::PathBuf)>,
}

impl DatabaseFile {
    /// The process that started this one watches it.
    pub const fn of_somebody_else() -> Self {
        Self { kept: None }
    }

    /// Locks the file of a store that is open; a store may have none.
    ///
    /// # Errors
    /// [`RunError::InUse`] when another run has locked it.
    pub fn lock(path: &Path) -> Result<Self, RunError> {
        if !cfg!(unix) {
            return Ok(Self { kept: None });
        }
        let Ok(file) = File::open(path) else {
            return Ok(Self { kept: None });
        };
        match file.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) => Err(RunError::InUse(path.to_path_buf())),
            // A file system without locks: the file is watched all the same.
            Ok(()) | Err(std::fs::TryLockError::Error(_)) => Ok(Self {
                kept: Some((file, path.to_path_buf())),
            }),
        }
    }

    /// Is the file under its name still the one that was opened?
    pub fn check(&self) -> Option<Check> {
        let (file, path) = self.kept.as_ref()?;
        let is_same = match (file.metadata(), path.metadata()) {
            (Ok(opened), Ok(found)) => same(&opened, &found),
            (Ok(_) | Err(_), _) => false,
        };
        let note = format!(
            "{} was removed or replaced during the run: what was sold is lost",
            path.display()
        );
        Some(Check {
            name: "file",
            what: "the database file is still the one that was opened",
            unit: "file",
            cases: 1,
            violations: u64::from(!is_same),
            undecided: 0,
            notes: if is_same { Vec::new() } else { vec![note] },
        })
    }
}

#[cfg(unix)]
fn same(a: &std::fs::Metadata, b: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn same(_: &std::fs::Metadata, _: &std::fs::Metadata) -> bool {
    true
}

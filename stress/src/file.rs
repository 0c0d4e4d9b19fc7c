//! The database file under load: nobody else may run on it, and at the end it must still be there.

use std::fs::File;
use std::io;
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

    /// Nothing is watched: the store keeps nothing on disk.
    pub const fn of_nobody() -> Self {
        Self { kept: None }
    }

    /// Locks the file of a store that is not open yet. One that is not there is made, empty, which is a
    /// new database. Before the store opens it: on refusal this process closes the file again, and that
    /// must not take away locks of its own on it, nor may the store of another run be touched.
    ///
    /// # Errors
    /// [`RunError::InUse`] when another run has locked it.
    pub fn lock(path: &Path) -> Result<Self, RunError> {
        if !cfg!(unix) {
            return Ok(Self { kept: None });
        }
        // A pipe would be waited for, and what is no path at all would be made: the store refuses both.
        let is_other = path.metadata().is_ok_and(|found| !found.is_file());
        if is_other || path.as_os_str() == ":memory:" {
            return Ok(Self { kept: None });
        }
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => File::options()
                .read(true)
                .append(true)
                .create(true)
                .open(path),
            found => found,
        };
        // What can not be opened can not be locked either; the store says why.
        let Ok(file) = file else {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_file_is_locked_once_and_one_that_is_not_there_is_made_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("seats.sqlite");
        let first = DatabaseFile::lock(&path).expect("nobody has it");
        assert_eq!(path.metadata().expect("it was made").len(), 0);
        assert!(matches!(DatabaseFile::lock(&path), Err(RunError::InUse(_))));
        drop(first);
        DatabaseFile::lock(&path).expect("nobody has it any more");
        let nowhere = folder.path().join("none/seats.sqlite");
        let file = DatabaseFile::lock(&nowhere).expect("the store says what is wrong");
        assert!(file.check().is_none());
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo runs").success());
        let file = DatabaseFile::lock(&pipe).expect("nobody waits for a writer");
        assert!(file.check().is_none());
    }
}

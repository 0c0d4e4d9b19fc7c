//! Places for what a run leaves behind, looked at before the load: a result that can not be kept is lost.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use crate::RunError;

/// Can the evidence be written in this folder, and the history to this file?
///
/// # Errors
/// [`RunError::NoEvidence`], [`RunError::HistoryExists`] or [`RunError::History`].
pub(crate) fn prepare(evidence: Option<&Path>, history: Option<&Path>) -> Result<(), RunError> {
    if let Some(folder) = evidence {
        fs::create_dir_all(folder)
            .and_then(|()| tempfile::tempfile_in(folder).map(drop))
            .map_err(|source| RunError::NoEvidence {
                folder: folder.to_path_buf(),
                source,
            })?;
    }
    if let Some(path) = history {
        // An empty file is what a run leaves that was killed, or that could not begin.
        let is_empty = || {
            path.metadata()
                .is_ok_and(|found| found.is_file() && found.len() == 0)
        };
        let made = File::create_new(path).map(drop);
        made.or_else(|error| if is_empty() { Ok(()) } else { Err(error) })
            .map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => RunError::HistoryExists(path.to_path_buf()),
                _ => RunError::History {
                    path: path.to_path_buf(),
                    problem: error.to_string(),
                },
            })?;
    }
    Ok(())
}

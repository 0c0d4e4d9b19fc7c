//! Databases that are made for a run and go with it.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use soldonce::{SeatId, SeatStore as _, SqliteOptions, SqliteStore};
use tempfile::TempDir;

use crate::error::Error;

/// How many seats are added in one call.
const SEATS_A_CALL: usize = 50_000;

/// A folder of databases, on the disk that holds cargo's target folder: the folder for temporary
/// files may be in memory, where a sync costs nothing. It is made when it is first asked for.
#[derive(Debug)]
pub struct Scratch {
    parent: PathBuf,
    folder: OnceCell<TempDir>,
}

impl Scratch {
    /// A folder below `parent`, which a bench gives as `env!("CARGO_TARGET_TMPDIR")`.
    pub fn below(parent: impl Into<PathBuf>) -> Self {
        Self {
            parent: parent.into(),
            folder: OnceCell::new(),
        }
    }

    /// The path of a file in it.
    ///
    /// # Errors
    /// [`Error::File`] when the folder can not be made.
    pub fn path(&self, name: &str) -> Result<PathBuf, Error> {
        if self.folder.get().is_none() {
            std::fs::create_dir_all(&self.parent).map_err(Error::file(&self.parent))?;
            let made = tempfile::Builder::new()
                .prefix("soldonce-bench-")
                .tempdir_in(&self.parent)
                .map_err(Error::file(&self.parent))?;
            // Nobody else can have set it: a cell is not shared between threads.
            let _ = self.folder.set(made);
        }
        Ok(self
            .folder
            .get()
            .expect("it was just set")
            .path()
            .join(name))
    }

    /// Opens a new store of this name.
    ///
    /// # Errors
    /// [`Error::Store`] or [`Error::File`] when it can not be made.
    pub fn store(&self, name: &str, options: SqliteOptions) -> Result<SqliteStore, Error> {
        options
            .open(self.path(&format!("{name}.sqlite"))?)
            .map_err(Error::store("opening a database"))
    }
}

/// Removes a database with its log, once its store is closed. What is not there is no error.
///
/// # Errors
/// [`Error::File`] when a file is there and can not be removed.
pub fn remove(database: &Path) -> Result<(), Error> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file(Path::new(&name))(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Seat ids, all of one length, in the order of their names: `s0000042`.
pub fn seat_ids(range: std::ops::Range<u64>) -> Vec<SeatId> {
    range.map(seat_id).collect()
}

/// One of [`seat_ids`].
pub fn seat_id(number: u64) -> SeatId {
    SeatId::new(format!("s{number:07}")).expect("a short name without control characters")
}

/// Adds seats that are not there yet.
///
/// # Errors
/// [`Error::Store`].
pub fn add(store: &SqliteStore, seats: &[SeatId]) -> Result<(), Error> {
    for some in seats.chunks(SEATS_A_CALL) {
        store
            .add_seats(some)
            .map_err(Error::store("adding seats"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_only_when_it_is_asked_for_and_goes_with_its_owner() {
        let parent = tempfile::tempdir().expect("a folder");
        let below = parent.path().join("not there yet");
        let scratch = Scratch::below(&below);
        assert!(!below.exists());
        let file = scratch.path("x").expect("made");
        assert_eq!(scratch.path("y").expect("the same").parent(), file.parent());
        drop(scratch);
        assert!(below.exists() && !file.parent().expect("a folder").exists());
    }

    #[test]
    fn a_database_is_removed_with_its_log() {
        let parent = tempfile::tempdir().expect("a folder");
        let scratch = Scratch::below(parent.path());
        let store = scratch
            .store("seats", SqliteStore::options())
            .expect("opened");
        add(&store, &seat_ids(0..3)).expect("added");
        let path = store.path().to_owned();
        drop(store);
        remove(&path).expect("removed");
        let left = std::fs::read_dir(path.parent().expect("a folder")).expect("read");
        assert_eq!(left.count(), 0);
    }
}

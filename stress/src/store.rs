//! The store under load, opened and filled.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model_check::store_choice::World;
use soldonce::invariant::Snapshot;
use soldonce::{Commits, SeatId, SeatStore, Settings, SqliteStore, StoreError, Timestamp, Version};
use tempfile::TempDir;

use crate::RunError;
use crate::clock::RunClock;
use crate::config::{Config, Place, Under};
use crate::file::DatabaseFile;
use crate::names::Names;

/// How often a store that is not the real one is opened anew when that fails.
const OPENINGS: usize = 20;

/// An open store with its seats, and what it held before the load.
pub struct Opened {
    /// The store; none only while it is opened anew.
    store: Option<Arc<dyn SeatStore>>,
    /// The file.
    pub path: PathBuf,
    /// The store again, when it is the real one.
    sqlite: Option<Arc<SqliteStore>>,
    /// The settings as the database told them; `None` when the store does not tell.
    pub settings: Option<Settings>,
    /// The type of the file system under the file, where the system tells.
    pub file_system: Option<String>,
    /// The names of the run.
    pub names: Names,
    /// When the seats were added.
    pub seats_added_at: Option<Timestamp>,
    /// Everything that was stored before the load.
    pub before: Snapshot,
    /// The file, locked against other runs.
    pub file: DatabaseFile,
    /// The folder of a temporary database; it goes when this goes.
    _folder: Option<TempDir>,
}

/// Opens the database that the settings ask for and adds the seats.
///
/// # Errors
/// [`RunError`] when the file can not be a store, or holds seats already and was not to be reused.
pub fn open(config: &Config, clock: &RunClock) -> Result<Opened, RunError> {
    let (folder, path, reuse) = place(&config.place)?;
    // Before the store, so that it is also let go of after it.
    let file = match &config.store {
        Under::Other(subject) if !subject.0.is_kept() => DatabaseFile::of_nobody(),
        Under::Real(_) | Under::Other(_) => DatabaseFile::lock(&path)?,
    };
    let (store, sqlite) = open_file(config, &path, clock)?;
    let earlier = store.snapshot()?;
    if !reuse && !earlier.seats.is_empty() {
        return Err(RunError::HoldsSeats {
            path,
            seats: earlier.seats.len(),
        });
    }
    // An earlier run on the same file gave its seats and buyers the same names.
    let tag = match earlier.seats.len() {
        0 => String::new(),
        seats => format!("{seats}."),
    };
    let names = Names::new(config.workload.seats, tag);
    store.add_seats(names.seats())?;
    let before = store.snapshot()?;
    Ok(Opened {
        settings: sqlite.as_ref().map(|store| store.settings().clone()),
        file_system: evidence::file_system(&path),
        seats_added_at: added_at(&before, names.seats())?,
        names,
        before,
        store: Some(store),
        path,
        sqlite,
        file,
        _folder: folder,
    })
}

/// Opens the database that another process of the run has made, with these names.
///
/// # Errors
/// [`RunError::Store`] when it can not be opened.
pub fn join(config: &Config, path: &Path, clock: &RunClock, tag: &str) -> Result<Opened, RunError> {
    let (store, sqlite) = open_file(config, path, clock)?;
    Ok(Opened {
        settings: None,
        file_system: None,
        seats_added_at: None,
        names: Names::new(config.workload.seats, tag),
        before: Snapshot::default(),
        store: Some(store),
        path: path.to_path_buf(),
        sqlite,
        file: DatabaseFile::of_somebody_else(),
        _folder: None,
    })
}

impl Opened {
    /// The store.
    ///
    /// # Panics
    /// When it could not be opened anew: nothing is asked of it then.
    pub fn store(&self) -> &dyn SeatStore {
        self.store.as_deref().expect("it is open")
    }

    /// Closes the store, and opens it as the next process will: with nothing in memory, on the file alone.
    /// A store that keeps nothing on disk stays as it is. Waits patiently for connections and locks, which
    /// the load need not do.
    ///
    /// # Errors
    /// [`StoreError`] when it can not be opened any more.
    pub fn reopen(&mut self, config: &Config, clock: &RunClock) -> Result<(), StoreError> {
        const CONNECTIONS: u32 = 8;
        const PATIENCE: Duration = Duration::from_mins(1);
        if let Under::Other(subject) = &config.store
            && !subject.0.is_kept()
        {
            return Ok(());
        }
        self.sqlite = None;
        self.store = None;
        let patient = Config {
            pool: CONNECTIONS,
            busy_timeout: PATIENCE,
            ..config.clone()
        };
        let (store, sqlite) = open_file(&patient, &self.path, clock)?;
        self.store = Some(store);
        self.sqlite = sqlite;
        Ok(())
    }

    /// How commits have filled since the store was opened; `None` when the store does not tell.
    pub fn commits(&self) -> Option<Commits> {
        self.sqlite.as_ref().map(|store| store.commits())
    }
}

/// A store, and once more when it is the real one.
type Store = (Arc<dyn SeatStore>, Option<Arc<SqliteStore>>);

fn open_file(config: &Config, path: &Path, clock: &RunClock) -> Result<Store, StoreError> {
    match &config.store {
        Under::Real(commit) => {
            let store = SqliteStore::options()
                .pool_size(config.pool)
                .busy_timeout(config.busy_timeout)
                .commit(*commit)
                .clock(clock.clone())
                .open(path)?;
            let store = Arc::new(store);
            Ok((Arc::clone(&store) as _, Some(store)))
        }
        Under::Other(subject) => {
            let world = World::new(clock.clone());
            // It waits so briefly for its connections that a busy machine may need a second try.
            let mut opened = subject.0.open(path, &world);
            for _ in 0..OPENINGS {
                if opened.is_ok() {
                    break;
                }
                opened = subject.0.open(path, &world);
            }
            Ok((opened?.into(), None))
        }
    }
}

/// When the seats of this run were added: all in one call, so all at one time.
fn added_at(before: &Snapshot, seats: &[SeatId]) -> Result<Option<Timestamp>, RunError> {
    let first = &seats[0];
    let found = before.seats.iter().find(|seat| seat.id == *first);
    match found {
        Some(seat) if seat.version == Version::ZERO => Ok(Some(seat.changed_at)),
        Some(_) | None => Err(RunError::NotAdded(first.clone())),
    }
}

fn place(place: &Place) -> Result<(Option<TempDir>, PathBuf, bool), RunError> {
    match place {
        Place::File { path, reuse } => Ok((None, path.clone(), *reuse)),
        Place::Temporary => {
            let folder = tempfile::Builder::new()
                .prefix("soldonce-stress-")
                .tempdir()
                .map_err(RunError::Temporary)?;
            let path = folder.path().join("seats.sqlite");
            Ok((Some(folder), path, false))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Args;

    #[test]
    #[cfg(unix)]
    fn a_file_that_another_run_has_is_refused_before_the_store_touches_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("seats.sqlite");
        let words = ["stress", "--seats", "3", "--database"].map(std::ffi::OsString::from);
        let words = words.into_iter().chain([path.clone().into_os_string()]);
        let args = Args::try_parse_from(words).expect("valid");
        let config = Config::try_from(args).expect("valid");
        let clock = RunClock::start();
        let other = DatabaseFile::lock(&path).expect("nobody has it");
        assert!(matches!(open(&config, &clock), Err(RunError::InUse(_))));
        assert_eq!(path.metadata().expect("it is there").len(), 0);
        assert_eq!(folder.path().read_dir().expect("readable").count(), 1);
        drop(other);
        let opened = open(&config, &clock).expect("an empty file is a new database");
        assert!(matches!(open(&config, &clock), Err(RunError::InUse(_))));
        assert_eq!(opened.store().snapshot().expect("readable").seats.len(), 3);
    }
}

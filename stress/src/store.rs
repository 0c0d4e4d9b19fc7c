//! The store under load, opened and filled.

use std::path::PathBuf;

use soldonce::invariant::Snapshot;
use soldonce::{SeatStore, Settings, SqliteStore};
use tempfile::TempDir;

use crate::RunError;
use crate::clock::RunClock;
use crate::config::{Config, Place};
use crate::names::Names;

/// How many seats are added in one call.
const SEATS_A_CALL: usize = 10_000;

/// An open store with its seats, and what it held before the load.
pub struct Opened {
    /// The store.
    pub store: Box<dyn SeatStore>,
    /// The settings as the database told them.
    pub settings: Settings,
    /// The type of the file system under the file, where the system tells.
    pub file_system: Option<String>,
    /// The names of the run.
    pub names: Names,
    /// Everything that was stored before the load.
    pub before: Snapshot,
    /// The folder of a temporary database; it goes when this goes.
    _folder: Option<TempDir>,
}

/// Opens the database that the settings ask for and adds the seats.
///
/// # Errors
/// [`RunError`] when the file can not be a store, or holds seats already and was not to be reused.
pub fn open(config: &Config, clock: RunClock) -> Result<Opened, RunError> {
    let (folder, path, reuse) = place(&config.place)?;
    let store = SqliteStore::options()
        .pool_size(config.pool)
        .busy_timeout(config.busy_timeout)
        .clock(clock)
        .open(&path)?;
    let settings = store.settings().clone();
    let earlier = store.snapshot()?;
    if !reuse && !earlier.seats.is_empty() {
        return Err(RunError::HoldsSeats {
            path,
            seats: earlier.seats.len(),
        });
    }
    // Buyers and payments of an earlier run on the same file had the same names.
    let tag = if earlier.payments.is_empty() && !earlier.seats.iter().any(was_used) {
        String::new()
    } else {
        format!("{}.", clock.zero_unix_nanos() / 1_000_000)
    };
    let names = Names::new(config.workload.seats, tag);
    for seats in names.seats().chunks(SEATS_A_CALL) {
        store.add_seats(seats)?;
    }
    Ok(Opened {
        settings,
        file_system: evidence::file_system(&path),
        before: store.snapshot()?,
        names,
        store: Box::new(store),
        _folder: folder,
    })
}

fn was_used(seat: &soldonce::Seat) -> bool {
    seat.version != soldonce::Version::ZERO
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

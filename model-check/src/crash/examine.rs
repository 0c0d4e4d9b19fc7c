//! One image after a power loss: does it open, is it whole, is what was promised there, does it go on?

use std::path::Path;
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::digest::Digest;
use super::image::{Disk, Image, Kind};
use super::log::{Event, Mark};
use super::rows::Rows;
use super::workload::{
    DATABASE, Drawer, NotRecorded, Open, Place, Recording, Runner, Setup, Step, UnderTest,
};

/// What an image says when it is opened with SQLite's own VFS: its rows, or what is wrong with it.
///
/// # Errors
/// What is wrong: it does not open, it is not whole, or it can not be read.
pub fn recover(folder: &Path, image: &Image) -> Result<Rows, String> {
    for name in [
        DATABASE,
        "seats.sqlite-wal",
        "seats.sqlite-journal",
        "seats.sqlite-shm",
    ] {
        let path = folder.join(name);
        match image.files.iter().find(|(file, _)| file == name) {
            Some((_, content)) => {
                std::fs::write(path, content).map_err(|error| format!("not written: {error}"))?;
            }
            None => drop(std::fs::remove_file(path)),
        }
    }
    read_whole(&folder.join(DATABASE)).map_err(|error| format!("can not be read: {error}"))?
}

fn read_whole(path: &Path) -> rusqlite::Result<Result<Rows, String>> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    // Closing it copies nothing: that is done where the store itself goes on from an image.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let integrity: String =
        connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if integrity != "ok" {
        return Ok(Err(format!("the integrity check says: {integrity}")));
    }
    Rows::read(&connection).map(Ok)
}

/// The states that may be found at each crash point: from what was acknowledged to what was begun.
#[derive(Debug)]
pub struct Promises<'r> {
    /// The recording that they are drawn from.
    pub recording: &'r Recording,
    /// Digests of the rows of each state.
    digests: Vec<Digest>,
    /// After so many events: steps acknowledged, and begun.
    at: Vec<(usize, usize)>,
}

impl<'r> Promises<'r> {
    /// Those of a recording.
    pub fn of(recording: &'r Recording) -> Self {
        let mut at = vec![(0, 0)];
        for event in &recording.log.events {
            let (acknowledged, begun) = *at.last().expect("never empty");
            at.push(match event {
                Event::Mark(Mark::Begin(step)) => (acknowledged, step + 1),
                Event::Mark(Mark::End(step)) => (step + 1, begun),
                _ => (acknowledged, begun),
            });
        }
        Self {
            recording,
            digests: recording
                .states
                .iter()
                .map(|state| Rows::of(state.as_ref()).digest())
                .collect(),
            at,
        }
    }

    /// Which state was found, given that it may be found at this crash point.
    pub fn allow(&self, crash_point: usize, found: Digest) -> Option<usize> {
        let (acknowledged, begun) = self.at[crash_point];
        (acknowledged..=begun).find(|state| self.digests[*state] == found)
    }

    /// Why a state may not be found at this crash point.
    pub fn refuse(&self, crash_point: usize, found: &Rows) -> String {
        let (acknowledged, _) = self.at[crash_point];
        let digest = found.digest();
        let mut states = self.digests[..acknowledged].iter();
        if let Some(state) = states.rposition(|state| *state == digest) {
            let (lost, _) = &self.recording.steps[state];
            return format!(
                "step {state} was acknowledged and is lost ({acknowledged} steps were): {lost}"
            );
        }
        let expected = Rows::of(self.recording.states[acknowledged].as_ref());
        format!(
            "neither the state after the {acknowledged} acknowledged steps nor that of the step in flight: {}",
            found.difference(&expected)
        )
    }
}

/// Lets the store itself go on from an image, on the recording VFS: it opens it, audits it, repeats
/// the last calls, makes new ones and closes it. Every answer is held against the reference, and what
/// it did to the files is a recording of its own, from which a second power loss can be drawn.
///
/// # Errors
/// When the harness fails.
pub fn go_on(
    open: &Open,
    promises: &Promises<'_>,
    crash_point: usize,
    state: usize,
    image: &Image,
    seed: u64,
) -> Result<Recording, NotRecorded> {
    let recording = promises.recording;
    let (_, begun) = promises.at[crash_point];
    let place = Place::new(image.files.clone())?;
    let mut runner = Runner::new(open, recording.states[state].clone());
    let mut drawer = Drawer::new(seed);
    let before = recording.steps[..begun].last();
    let (_, drawn) = drawer.step(0, None);
    // The clock after the restart: as it was, or somewhere else.
    let now = before
        .filter(|_| seed.is_multiple_of(2))
        .map_or(drawn, |(_, at)| *at);
    runner.step(&place, Step::Open, now)?;
    let mut audit = Vec::new();
    if let Some(store) = runner.store() {
        match store.audit() {
            Ok(found) => audit.extend(found.iter().map(ToString::to_string)),
            Err(error) => audit.push(super::workload::in_full(&error)),
        }
    }
    let last_calls = recording.steps[..begun]
        .iter()
        .rev()
        .filter_map(|(step, _)| match step {
            Step::Run(_) | Step::Add(_) | Step::Together(_) => Some(step.clone()),
            Step::Open | Step::Checkpoint(_) => None,
        });
    let last_calls: Vec<Step> = last_calls.take(3).collect();
    for step in last_calls.into_iter().rev() {
        runner.step(&place, step, now)?;
    }
    for _ in 0..2 {
        if let Some(state) = runner.state() {
            let command = drawer.command(state);
            runner.step(&place, Step::Run(command), now)?;
        }
    }
    if seed.is_multiple_of(4) {
        runner.step(&place, Step::Checkpoint("TRUNCATE"), now)?;
    }
    let mut went_on = runner.finish(&place)?;
    went_on.wrong.extend(audit);
    Ok(went_on)
}

/// All images that are looked at, at one crash point of a disk.
pub fn images(
    disk: &Disk<'_>,
    seed: u64,
    variants: u64,
) -> impl Iterator<Item = (Kind, u64, Image)> {
    let all = disk.unsynced() > 0;
    Kind::ALL
        .into_iter()
        .filter(move |kind| all || *kind == Kind::Nothing)
        .flat_map(move |kind| {
            (0..if kind.is_random() { variants } else { 1 }).map(move |n| (kind, n))
        })
        .map(move |(kind, number)| {
            (
                kind,
                number,
                disk.image(kind, mix(seed, &[kind as u64, number])),
            )
        })
}

/// A seed made of another and some numbers.
pub fn mix(seed: u64, numbers: &[u64]) -> u64 {
    let mut hasher = super::digest::Hasher::default();
    hasher.numbers(&[seed]);
    hasher.numbers(numbers);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a part of the digest will do"
    )]
    let seed = hasher.finish().0 as u64;
    seed
}

/// The real store, with its settings as they are, on a pool of one connection: one call runs at a time.
///
/// # Errors
/// Those of the store.
pub fn open_real(path: &Path, setup: &Setup) -> Result<Box<dyn UnderTest>, soldonce::StoreError> {
    Ok(Box::new(options(setup).open(path)?))
}

/// The options of the real store for such a test.
pub fn options(setup: &Setup) -> soldonce::SqliteOptions {
    soldonce::SqliteStore::options()
        .pool_size(1)
        .vfs(setup.vfs)
        .busy_timeout(setup.busy_timeout)
        .clock(Arc::clone(&setup.clock))
}

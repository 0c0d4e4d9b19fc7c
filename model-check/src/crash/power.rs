//! Power loss: at every crash point of recorded workloads, images of every kind, each one examined.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::digest::Digest;
use super::examine::{Promises, go_on, images, mix, recover};
use super::image::{self, Image, Kind};
use super::plants::{Disk, Subject};
use super::workload::{NotRecorded, Place, Recording, memory_folder, record_in};

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Of everything random.
    pub seed: u64,
    /// Steps of each workload.
    pub ops: usize,
    /// Distinct images to look at, at least.
    pub images: u64,
    /// Images of each random kind at each crash point.
    pub variants: u64,
    /// Of so many distinct images, one goes through the store itself, and through a second power loss.
    pub deep_every: u64,
    /// Stop at the first violation.
    pub stop_at_first: bool,
}

/// So many steps a workload may have.
pub const OPS: std::ops::RangeInclusive<usize> = 3..=100_000;

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            ops: 300,
            images: 100_000,
            variants: 2,
            deep_every: 16,
            stop_at_first: false,
        }
    }
}

/// One image, by which it can be made again: `power/STORE/SEED/OPS/CRASH-POINT/KIND/NUMBER`, and for
/// one of a second power loss `/CRASH-POINT/KIND/NUMBER` once more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Case {
    /// Which store.
    pub subject: String,
    /// The seed of the workload.
    pub seed: u64,
    /// The number of its steps.
    pub ops: usize,
    /// So many events had happened.
    pub crash_point: usize,
    /// Which kind of image.
    pub kind: Kind,
    /// Which of its kind.
    pub number: u64,
    /// The second power loss, in the log of the store that went on from the first image.
    pub then: Option<(usize, Kind, u64)>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            subject,
            seed,
            ops,
            crash_point,
            kind,
            number,
            then,
        } = self;
        write!(
            f,
            "power/{subject}/{seed}/{ops}/{crash_point}/{kind}/{number}"
        )?;
        if let Some((crash_point, kind, number)) = then {
            write!(f, "/{crash_point}/{kind}/{number}")?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "{text:?} is no case; a case is power/STORE/SEED/OPS/CRASH-POINT/KIND/NUMBER, as a violation shows it"
            )
        };
        let parts: Vec<&str> = text.split('/').collect();
        let kind = |name: &str| Kind::ALL.into_iter().find(|kind| kind.name() == name);
        let then = match parts.len() {
            7 => None,
            10 => Some((
                parts[7].parse().map_err(|_| bad())?,
                kind(parts[8]).ok_or_else(bad)?,
                parts[9].parse().map_err(|_| bad())?,
            )),
            _ => return Err(bad()),
        };
        if parts[0] != "power" {
            return Err(bad());
        }
        Ok(Self {
            subject: parts[1].to_owned(),
            seed: parts[2].parse().map_err(|_| bad())?,
            ops: parts[3]
                .parse()
                .ok()
                .filter(|ops| OPS.contains(ops))
                .ok_or_else(bad)?,
            crash_point: parts[4].parse().map_err(|_| bad())?,
            kind: kind(parts[5]).ok_or_else(bad)?,
            number: parts[6].parse().map_err(|_| bad())?,
            then,
        })
    }
}

/// An image that breaks a promise.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Which.
    pub case: Case,
    /// How.
    pub what: String,
}

/// What a run has seen.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Workloads recorded.
    pub workloads: u64,
    /// Their steps.
    pub steps: u64,
    /// Their events: writes, syncs, cuts, deletes.
    pub events: u64,
    /// Batches of the commit queue in them, of two calls or more.
    pub batches: u64,
    /// The calls of these batches.
    pub batched: u64,
    /// Crash points at which images were drawn.
    pub crash_points: u64,
    /// Images drawn.
    pub drawn: u64,
    /// Distinct images, each opened and examined.
    pub distinct: u64,
    /// Of the distinct ones, those of a second power loss.
    pub second: u64,
    /// Images that the store itself went on from.
    pub went_on: u64,
    /// Images drawn, by kind.
    pub by_kind: BTreeMap<Kind, u64>,
    /// Violations in all.
    pub violated: u64,
    /// The first of them, in the order of their cases.
    pub violations: Vec<Violation>,
    /// It was stopped from outside.
    pub interrupted: bool,
}

/// How many violations are kept with their words.
const KEPT: usize = 20;

/// What all workers share.
#[derive(Default)]
struct Found {
    /// What each image says: the digest of its rows, or nothing when it is broken.
    images: Mutex<HashMap<Digest, Option<Digest>>>,
    drawn: AtomicU64,
    second: AtomicU64,
    went_on: AtomicU64,
    by_kind: Mutex<BTreeMap<Kind, u64>>,
    violated: AtomicU64,
    violations: Mutex<Vec<Violation>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Found {
    fn distinct(&self) -> u64 {
        locked(&self.images).len() as u64
    }

    fn violation(&self, case: &Case, what: String) {
        self.violated.fetch_add(1, Ordering::Relaxed);
        let mut kept = locked(&self.violations);
        kept.push(Violation {
            case: case.clone(),
            what,
        });
        if kept.len() > KEPT * 4 {
            kept.sort();
            kept.truncate(KEPT);
        }
    }

    /// Examines an image. Gives the state that it holds when it is new, whole and allowed.
    fn examine(
        &self,
        folder: &Path,
        promises: &Promises<'_>,
        crash_point: usize,
        image: &Image,
        case: &Case,
    ) -> Option<usize> {
        self.drawn.fetch_add(1, Ordering::Relaxed);
        let digest = image.digest();
        let known = locked(&self.images).get(&digest).copied();
        let (rows, is_new) = if let Some(rows) = known {
            (rows, false)
        } else {
            let rows = recover(folder, image).map(|rows| rows.digest()).ok();
            let before = locked(&self.images).insert(digest, rows);
            if before.is_none() && case.then.is_some() {
                self.second.fetch_add(1, Ordering::Relaxed);
            }
            (rows, before.is_none())
        };
        if let Some(state) = rows.and_then(|rows| promises.allow(crash_point, rows)) {
            return is_new.then_some(state);
        }
        self.violation(case, why(folder, promises, crash_point, image));
        None
    }
}

/// Why an image is refused. It is opened once more, for the words.
fn why(folder: &Path, promises: &Promises<'_>, crash_point: usize, image: &Image) -> String {
    match recover(folder, image) {
        Ok(rows) => promises.refuse(crash_point, &rows),
        Err(problem) => problem,
    }
}

/// Records a workload of a subject.
///
/// # Errors
/// When the harness fails.
pub fn record_subject(subject: &Subject, seed: u64, ops: usize) -> Result<Recording, NotRecorded> {
    let place = Place::new(Vec::new())?;
    if subject.disk == Disk::SyncsLie {
        place.vfs.let_syncs_lie();
    }
    record_in(&place, &subject.open, seed, ops)
}

/// What the disk of the subject makes of an image.
fn on_disk(subject: &Subject, mut image: Image) -> Image {
    if subject.disk == Disk::LogIsLost {
        image.files.retain(|(name, _)| !name.ends_with("-wal"));
    }
    image
}

/// Crash points that one worker takes at a time.
const CHUNK: usize = 16;
/// Crash points between two looks at the target and the user. Those of a batch are all looked at, so
/// that what is found first does not depend on the threads.
const BATCH: usize = 8 * CHUNK;

/// Loses power, until as many distinct images were found as were asked for.
///
/// # Errors
/// When the harness fails.
pub fn run(
    subject: &Subject,
    config: &Config,
    stop: &AtomicBool,
    progress: &(dyn Fn(&Report) + Sync),
) -> Result<Report, NotRecorded> {
    let found = Found::default();
    let mut report = Report::default();
    let done = |report: &Report| {
        found.distinct() >= config.images
            || config.stop_at_first && report.violated > 0
            || stop.load(Ordering::Relaxed)
    };
    for workload in 0.. {
        let seed = mix(config.seed, &[workload]) >> 32;
        let recording = record_subject(subject, seed, config.ops)?;
        let promises = Promises::of(&recording);
        report.workloads += 1;
        report.steps += recording.steps.len() as u64;
        let batches = recording.batches.iter().filter(|calls| **calls > 1);
        report.batches += batches.clone().count() as u64;
        report.batched += batches.sum::<usize>() as u64;
        let case = Case {
            subject: subject.id.to_owned(),
            seed,
            ops: config.ops,
            crash_point: 0,
            kind: Kind::Nothing,
            number: 0,
            then: None,
        };
        for wrong in &recording.wrong {
            found.violation(&case, wrong.clone());
        }
        let mut disk = image::Disk::new(&recording.log);
        let points = recording.log.events.len() + 1;
        report.events += points as u64 - 1;
        for batch in (0..points).step_by(BATCH) {
            let chunks: Vec<_> = (batch..points.min(batch + BATCH))
                .step_by(CHUNK)
                .map(|from| {
                    disk.advance(from);
                    (disk.clone(), from..points.min(from + CHUNK))
                })
                .collect();
            report.crash_points += points.min(batch + BATCH) as u64 - batch as u64;
            chunks.into_par_iter().try_for_each_init(
                memory_folder,
                |folder, (mut disk, points)| {
                    let folder = match folder {
                        Ok(folder) => folder.path(),
                        Err(error) => return Err(std::io::Error::from(error.kind()).into()),
                    };
                    for point in points {
                        disk.advance(point);
                        let case = Case {
                            crash_point: point,
                            ..case.clone()
                        };
                        at_point(subject, config, &found, folder, &promises, &disk, &case)?;
                    }
                    Ok::<(), NotRecorded>(())
                },
            )?;
            collect(&found, &mut report);
            progress(&report);
            if done(&report) {
                break;
            }
        }
        if done(&report) {
            break;
        }
    }
    report.interrupted = stop.load(Ordering::Relaxed);
    Ok(report)
}

fn collect(found: &Found, report: &mut Report) {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    report.drawn = count(&found.drawn);
    report.distinct = found.distinct();
    report.second = count(&found.second);
    report.went_on = count(&found.went_on);
    report.violated = count(&found.violated);
    report.by_kind.clone_from(&locked(&found.by_kind));
    let mut kept = locked(&found.violations).clone();
    kept.sort();
    kept.truncate(KEPT);
    report.violations = kept;
}

/// All images at one crash point.
fn at_point(
    subject: &Subject,
    config: &Config,
    found: &Found,
    folder: &Path,
    promises: &Promises<'_>,
    disk: &image::Disk<'_>,
    case: &Case,
) -> Result<(), NotRecorded> {
    let seed = mix(case.seed, &[case.crash_point as u64]);
    for (kind, number, image) in images(disk, seed, config.variants) {
        *locked(&found.by_kind).entry(kind).or_default() += 1;
        let image = on_disk(subject, image);
        let case = Case {
            kind,
            number,
            ..case.clone()
        };
        let new = found.examine(folder, promises, case.crash_point, &image, &case);
        let Some(state) = new else { continue };
        let pick = mix(seed, &[kind as u64, number, 1]);
        if pick.is_multiple_of(config.deep_every) {
            found.went_on.fetch_add(1, Ordering::Relaxed);
            second_loss(subject, found, folder, promises, &case, state, &image)?;
        }
    }
    Ok(())
}

/// The seed of the store that goes on from the image of a case.
fn seed_of(case: &Case) -> u64 {
    mix(
        case.seed,
        &[case.crash_point as u64, case.kind as u64, case.number, 2],
    )
}

/// The store goes on from an image, and the power fails again.
fn second_loss(
    subject: &Subject,
    found: &Found,
    folder: &Path,
    promises: &Promises<'_>,
    case: &Case,
    state: usize,
    image: &Image,
) -> Result<(), NotRecorded> {
    const POINTS: u64 = 6;
    let seed = seed_of(case);
    let went_on = go_on(
        &subject.open,
        promises,
        case.crash_point,
        state,
        image,
        seed,
    )?;
    for wrong in &went_on.wrong {
        found.violation(case, format!("after the restart: {wrong}"));
    }
    let promises = Promises::of(&went_on);
    let points = went_on.log.events.len() as u64 + 1;
    let mut chosen: Vec<usize> = (0..POINTS)
        .map(|number| usize::try_from(mix(seed, &[number]) % points).expect("an index"))
        .collect();
    chosen.sort_unstable();
    chosen.dedup();
    let mut disk = image::Disk::new(&went_on.log);
    for point in chosen {
        disk.advance(point);
        for (kind, number, image) in images(&disk, mix(seed, &[point as u64]), 1) {
            let case = Case {
                then: Some((point, kind, number)),
                ..case.clone()
            };
            let image = on_disk(subject, image);
            found.examine(folder, &promises, point, &image, &case);
        }
    }
    Ok(())
}

/// What a case showed when it was made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// The files of the image, by name and size.
    pub files: Vec<(String, usize)>,
    /// What is wrong; empty when nothing is.
    pub what: Vec<String>,
}

/// Makes one case again and examines it, the store going on from it as well.
///
/// # Errors
/// When the harness fails.
pub fn replay(subject: &Subject, case: &Case) -> Result<Replayed, NotRecorded> {
    let folder = memory_folder()?;
    let recording = record_subject(subject, case.seed, case.ops)?;
    let promises = Promises::of(&recording);
    let mut disk = image::Disk::new(&recording.log);
    let point = within(case.crash_point, &recording)?;
    disk.advance(point);
    let seed = mix(case.seed, &[case.crash_point as u64]);
    let image = on_disk(
        subject,
        disk.image(case.kind, mix(seed, &[case.kind as u64, case.number])),
    );
    let mut replayed = Replayed {
        files: sizes(&image),
        what: recording.wrong.clone(),
    };
    let allowed = |promises: &Promises<'_>, point, image: &Image| {
        let rows = recover(folder.path(), image)?;
        let state = promises.allow(point, rows.digest());
        state.ok_or_else(|| promises.refuse(point, &rows))
    };
    let state = match allowed(&promises, point, &image) {
        Ok(state) => state,
        Err(problem) => {
            replayed.what.push(problem);
            return Ok(replayed);
        }
    };
    let seed = seed_of(case);
    let went_on = go_on(&subject.open, &promises, point, state, &image, seed)?;
    replayed.what.extend(
        went_on
            .wrong
            .iter()
            .map(|wrong| format!("after the restart: {wrong}")),
    );
    let Some((point, kind, number)) = case.then else {
        return Ok(replayed);
    };
    let promises = Promises::of(&went_on);
    let mut disk = image::Disk::new(&went_on.log);
    let point = within(point, &went_on)?;
    disk.advance(point);
    let seed = mix(mix(seed, &[point as u64]), &[kind as u64, number]);
    let image = on_disk(subject, disk.image(kind, seed));
    replayed.files = sizes(&image);
    replayed
        .what
        .extend(allowed(&promises, point, &image).err());
    Ok(replayed)
}

/// A crash point that the recording has.
fn within(point: usize, recording: &Recording) -> Result<usize, NotRecorded> {
    let last = recording.log.events.len();
    if point <= last {
        return Ok(point);
    }
    Err(NotRecorded::NoSuchCase(format!(
        "there is no crash point {point}: the log ends with {last}"
    )))
}

fn sizes(image: &Image) -> Vec<(String, usize)> {
    let size = |(name, content): &(String, Vec<u8>)| (name.clone(), content.len());
    image.files.iter().map(size).collect()
}

impl Report {
    /// The result in one line.
    pub fn line(&self) -> String {
        format!(
            "{} violations in {} distinct images from {} crash points",
            self.violated, self.distinct, self.crash_points
        )
    }
}

//! What can be on the disk after the power failed: the model of a disk, and images drawn from it.
//!
//! # The model
//!
//! * A sync of a file that has returned makes durable all that was written to that file before, its
//!   size and its cuts. Nothing else is durable.
//! * What was not synced is there or not, each operation for itself, in any combination and whatever
//!   their order was: nothing is ordered between two files, nor between two writes to one.
//! * A write may be torn at every 512 bytes of the file, and what is not there may be the old bytes or
//!   garbage. Bytes outside the range of a write never change: "powersafe overwrite", which SQLite
//!   assumes on Unix by default, and which disks with sectors of 512 or 4,096 bytes keep.
//! * A file that became longer has zeros where nothing was written.
//! * A name that was made or taken away is durable after a sync of its folder, and else there or not,
//!   each for itself. The content of a file does not depend on its name: a synced file whose name is
//!   lost is lost.
//! * What was once synced does not rot, and a sync does not lie. (Two plants break that.)

use std::collections::BTreeMap;
use std::fmt;

use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::digest::{Digest, Hasher};
use super::log::{Event, Files, Inode, Log};

/// Which of the unsynced operations are on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// None.
    Nothing,
    /// All.
    Everything,
    /// All bytes, but no name that was made or taken away.
    BytesOnly,
    /// All names, but no bytes.
    NamesOnly,
    /// The first of them, up to a point drawn at random.
    Prefix,
    /// Each or not, at random.
    Subset,
    /// Each block of 4,096 bytes of each write or not, at random.
    Torn4096,
    /// Each 512 bytes of each write or not, at random.
    Torn512,
    /// The same, and some of what is not there is garbage.
    Garbage,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Nothing,
        Self::Everything,
        Self::BytesOnly,
        Self::NamesOnly,
        Self::Prefix,
        Self::Subset,
        Self::Torn4096,
        Self::Torn512,
        Self::Garbage,
    ];

    /// Its name in reports and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Everything => "everything",
            Self::BytesOnly => "bytes-only",
            Self::NamesOnly => "names-only",
            Self::Prefix => "prefix",
            Self::Subset => "subset",
            Self::Torn4096 => "torn-4096",
            Self::Torn512 => "torn-512",
            Self::Garbage => "garbage",
        }
    }

    /// Is there more than one image of this kind at a crash point?
    pub const fn is_random(self) -> bool {
        match self {
            Self::Nothing | Self::Everything | Self::BytesOnly | Self::NamesOnly => false,
            Self::Prefix | Self::Subset | Self::Torn4096 | Self::Torn512 | Self::Garbage => true,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The files after a power loss.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Image {
    /// By name.
    pub files: Files,
}

impl Image {
    /// A digest of names and contents.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        for (name, content) in &self.files {
            hasher.text(name);
            hasher.bytes(content);
        }
        hasher.finish()
    }
}

/// A disk at one point of a log.
#[derive(Debug, Clone)]
pub struct Disk<'l> {
    log: &'l Log,
    position: usize,
    /// What is durable of each file.
    durable: BTreeMap<Inode, Vec<u8>>,
    /// The names that are durable.
    names: BTreeMap<&'l str, Inode>,
    /// What is not durable, in the order in which it was done.
    unsynced: Vec<&'l Event>,
}

impl<'l> Disk<'l> {
    /// The disk at the beginning of the log.
    pub fn new(log: &'l Log) -> Self {
        let inodes = || log.initial.iter().zip(0..);
        Self {
            log,
            position: 0,
            durable: inodes()
                .map(|((_, content), inode)| (inode, content.clone()))
                .collect(),
            names: inodes()
                .map(|((name, _), inode)| (name.as_str(), inode))
                .collect(),
            unsynced: Vec::new(),
        }
    }

    /// Goes on to this many events.
    pub fn advance(&mut self, position: usize) {
        for event in &self.log.events[self.position..position] {
            match event {
                Event::Mark(_) => {}
                Event::Sync { inode, .. } => {
                    let durable = self.durable.entry(*inode).or_default();
                    self.unsynced.retain(|unsynced| match unsynced {
                        Event::Write { inode: of, .. } | Event::Truncate { inode: of, .. } => {
                            if of == inode {
                                apply(durable, unsynced);
                            }
                            of != inode
                        }
                        _ => true,
                    });
                }
                Event::SyncDirectory => {
                    let names = &mut self.names;
                    self.unsynced.retain(|unsynced| !rename(names, unsynced));
                }
                _ => self.unsynced.push(event),
            }
        }
        self.position = position;
    }

    /// How many operations are not durable.
    pub fn unsynced(&self) -> usize {
        self.unsynced.len()
    }

    /// An image of this kind; `seed` counts only for the random ones.
    pub fn image(&self, kind: Kind, seed: u64) -> Image {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let share = [0.1, 0.5, 0.9][random.random_range(0..3)];
        let cut = random.random_range(0..=self.unsynced.len());
        let kept: Vec<bool> = (0..self.unsynced.len())
            .map(|number| {
                let is_name = matches!(
                    self.unsynced[number],
                    Event::Create { .. } | Event::Delete { .. }
                );
                match kind {
                    Kind::Nothing => false,
                    Kind::Everything => true,
                    Kind::BytesOnly => !is_name,
                    Kind::NamesOnly => is_name,
                    Kind::Prefix => number < cut,
                    Kind::Subset | Kind::Torn4096 | Kind::Torn512 | Kind::Garbage => {
                        random.random_bool(share)
                    }
                }
            })
            .collect();
        let mut names = self.names.clone();
        for (event, _) in self.unsynced.iter().zip(&kept).filter(|(_, kept)| **kept) {
            rename(&mut names, event);
        }
        let files = names.into_iter().map(|(name, inode)| {
            let mut content = self.durable.get(&inode).cloned().unwrap_or_default();
            for (event, kept) in self.unsynced.iter().zip(&kept) {
                match event {
                    Event::Write { inode: of, .. } | Event::Truncate { inode: of, .. }
                        if *of == inode => {}
                    _ => continue,
                }
                match (kind, event) {
                    (
                        Kind::Torn4096 | Kind::Torn512 | Kind::Garbage,
                        Event::Write { offset, data, .. },
                    ) => tear(&mut content, *offset, data, kind, share, &mut random),
                    _ if *kept => apply(&mut content, event),
                    _ => {}
                }
            }
            (name.to_owned(), content)
        });
        Image {
            files: files.collect(),
        }
    }
}

/// Does to a content what a write or a cut does.
fn apply(content: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Write { offset, data, .. } => put(content, to_usize(*offset), data),
        Event::Truncate { size, .. } => content.resize(to_usize(*size), 0),
        Event::Create { .. }
        | Event::Sync { .. }
        | Event::Delete { .. }
        | Event::SyncDirectory
        | Event::Mark(_) => {}
    }
}

/// Does to the names what making or taking away a file does. Was it one of these?
fn rename<'l>(names: &mut BTreeMap<&'l str, Inode>, event: &'l Event) -> bool {
    match event {
        Event::Create { inode, name } => {
            names.insert(name, *inode);
            true
        }
        Event::Delete { name } => {
            names.remove(name.as_str());
            true
        }
        Event::Write { .. }
        | Event::Truncate { .. }
        | Event::Sync { .. }
        | Event::SyncDirectory
        | Event::Mark(_) => false,
    }
}

fn put(content: &mut Vec<u8>, from: usize, data: &[u8]) {
    let to = from + data.len();
    if content.len() < to {
        content.resize(to, 0);
    }
    content[from..to].copy_from_slice(data);
}

fn tear(
    content: &mut Vec<u8>,
    offset: u64,
    data: &[u8],
    kind: Kind,
    share: f64,
    random: &mut ChaCha8Rng,
) {
    let unit = if kind == Kind::Torn4096 { 4096 } else { 512 };
    let mut from = to_usize(offset);
    let mut rest = data;
    while !rest.is_empty() {
        // The file's own blocks, not the write's.
        let (block, after) = rest.split_at(rest.len().min(unit - from % unit));
        if random.random_bool(share) {
            put(content, from, block);
        } else if kind == Kind::Garbage && random.random_bool(0.5) {
            let mut garbage = vec![0; block.len()];
            random.fill_bytes(&mut garbage);
            put(content, from, &garbage);
        }
        from += block.len();
        rest = after;
    }
}

fn to_usize(offset: u64) -> usize {
    usize::try_from(offset).expect("a file of a test fits into memory")
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;

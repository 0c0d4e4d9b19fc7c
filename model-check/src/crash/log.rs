//! What was done to the files of one folder, in order.

use super::digest::{Digest, Hasher};

/// A file itself, apart from its name: a file that is deleted and made again is another one.
pub type Inode = u32;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A file came into being under a name.
    Create {
        /// The new file.
        inode: Inode,
        /// Its name in the folder.
        name: String,
    },
    /// Bytes were written.
    Write {
        /// Where.
        inode: Inode,
        /// From which byte on.
        offset: u64,
        /// What.
        data: Box<[u8]>,
    },
    /// The file was cut, or grew, to this size.
    Truncate {
        /// Which file.
        inode: Inode,
        /// Its new size in bytes.
        size: u64,
    },
    /// Everything written to the file before is on the disk. Noted when the sync returned.
    Sync {
        /// Which file.
        inode: Inode,
        /// SQLite's flags: normal or full, and data only.
        flags: i32,
    },
    /// A name was taken away.
    Delete {
        /// Which.
        name: String,
    },
    /// All names made and taken away before are on the disk.
    SyncDirectory,
    /// Something that the workload did, seen from outside the files.
    Mark(Mark),
}

/// What the workload notes between the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A call of this number began.
    Begin(usize),
    /// The call of this number was answered, and whoever called may rely on the answer.
    End(usize),
}

/// Everything that happened to the files of one folder, beginning with files that are on the disk.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// The files at the beginning, by name. Their inodes are 0, 1, ... in this order.
    pub initial: Files,
    /// What happened then.
    pub events: Vec<Event>,
}

/// Files by name.
pub type Files = Vec<(String, Vec<u8>)>;

impl Log {
    /// A digest of every event, for the claim that the same seed gives the same log.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        for (name, content) in &self.initial {
            hasher.text(name);
            hasher.bytes(content);
        }
        for event in &self.events {
            match event {
                Event::Create { inode, name } => {
                    hasher.numbers(&[1, u64::from(*inode)]);
                    hasher.text(name);
                }
                Event::Write {
                    inode,
                    offset,
                    data,
                } => {
                    hasher.numbers(&[2, u64::from(*inode), *offset]);
                    hasher.bytes(data);
                }
                Event::Truncate { inode, size } => hasher.numbers(&[3, u64::from(*inode), *size]),
                Event::Sync { inode, flags } => {
                    hasher.numbers(&[4, u64::from(*inode), u64::from(flags.unsigned_abs())]);
                }
                Event::Delete { name } => {
                    hasher.numbers(&[5]);
                    hasher.text(name);
                }
                Event::SyncDirectory => hasher.numbers(&[6]),
                Event::Mark(Mark::Begin(call)) => hasher.numbers(&[7, *call as u64]),
                Event::Mark(Mark::End(call)) => hasher.numbers(&[8, *call as u64]),
            }
        }
        hasher.finish()
    }
}

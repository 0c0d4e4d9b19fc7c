//! How a store is opened: options, the checks of a path, and the pools.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use r2d2::ManageConnection as _;

use super::commit::Writer;
use super::looks::Looks;
use super::pool::{self, Closing, Manager, Open, Role};
use super::readers::Readers;
use super::settings::Planted;
use super::{SqliteStore, schema, settings};
use crate::error::{Invalid, StoreError};
use crate::time::{Clock, SystemClock};
#[cfg(feature = "planted-faults")]
use crate::transition::Sql;

/// How writes are committed. Answers are the same; only throughput and waiting differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Commit {
    /// Each call runs its own transaction on its own pooled connection, and SQLite's lock decides who
    /// is next. The yardstick for the queue.
    PerCall,
    /// Callers line up; the first commits for all that wait, up to `most` in one transaction: 1 to
    /// 4,096. What changes nothing is answered from a snapshot and waits for no commit, as long as more
    /// than about one call in five of its kind changes nothing.
    Queue {
        /// The most calls in one transaction.
        most: u32,
    },
}

impl Default for Commit {
    /// The queue, with up to 128 calls in one transaction.
    fn default() -> Self {
        Self::Queue { most: 128 }
    }
}

/// How a [`SqliteStore`] is opened. Start with [`SqliteStore::options`].
#[must_use = "options do nothing until `open`"]
pub struct SqliteOptions {
    pool_size: u32,
    busy_timeout: Duration,
    commit: Commit,
    clock: Arc<dyn Clock>,
    planted: Planted,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            pool_size: 8,
            busy_timeout: Duration::from_secs(5),
            commit: Commit::default(),
            clock: Arc::new(SystemClock::default()),
            planted: Planted::default(),
        }
    }
}

impl SqliteOptions {
    /// How many calls can use the database at once, each on a connection of its own: 1 to 1,024.
    /// Default: 8. With [`Commit::Queue`] these are connections that read; it writes on one more.
    pub const fn pool_size(mut self, connections: u32) -> Self {
        self.pool_size = connections;
        self
    }

    /// How long a call waits for a connection to read from, and once more for one to write with and
    /// the write lock, before it answers [`StoreError::Busy`]: 0 to 1 hour, in whole milliseconds.
    /// Default: 5 seconds. In the line of [`Commit::Queue`] a call waits for those before it, however
    /// long that takes; what it has waited there is no longer left for the lock.
    pub const fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// How writes are committed. Default: [`Commit::default`], the queue.
    pub const fn commit(mut self, commit: Commit) -> Self {
        self.commit = commit;
        self
    }

    /// Where the time comes from. Default: a [`SystemClock`].
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Other SQL for the transitions: how model-check plants a fault. Never for a real sale.
    #[cfg(feature = "planted-faults")]
    pub fn sql(mut self, sql: Sql) -> Self {
        self.planted.sql = Arc::new(sql);
        self
    }

    /// The SQLite VFS of this name in place of the system's own: how model-check sees every write and
    /// sync, and makes them fail. Never for a real sale.
    #[cfg(feature = "planted-faults")]
    pub fn vfs(mut self, name: impl Into<String>) -> Self {
        self.planted.vfs = Some(name.into());
        self
    }

    /// A setting of every connection in place of the right one, given as SQLite reads it back
    /// (`synchronous` and `0`): how model-check plants a fault. Never for a real sale.
    #[cfg(feature = "planted-faults")]
    pub fn setting(mut self, pragma: &'static str, reads_as: &'static str) -> Self {
        self.planted.settings.push((pragma, reads_as));
        self
    }

    /// Opens the file, or makes it when it is not there, and migrates it when it is of an older version.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] when the path or the file can not be a store (a folder, a read-only
    /// file, no database, another program's database, one of a newer version), and the file is left
    /// as it was; [`StoreError::Busy`] when another process held the file for too long.
    pub fn open(self, path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
        let path = path.as_ref();
        if !(1..=1024).contains(&self.pool_size) {
            return Err(Invalid::new(
                "pool size",
                format!("it is {}", self.pool_size),
                "1 to 1024 connections",
            )
            .into());
        }
        if self.busy_timeout > Duration::from_hours(1) {
            return Err(Invalid::new(
                "busy timeout",
                format!("it is {} s", self.busy_timeout.as_secs()),
                "0 to 3600 s",
            )
            .into());
        }
        if let Commit::Queue { most } = self.commit
            && !(1..=4096).contains(&most)
        {
            return Err(
                Invalid::new("batch bound", format!("it is {most}"), "1 to 4096 calls").into(),
            );
        }
        check_path(path)?;
        let (reading, open) = (Open::default(), Open::default());
        let manager = |role| {
            let planted = self.planted.clone();
            let open = match role {
                Role::Reader => reading.clone(),
                Role::Writer => open.clone(),
            };
            Manager::new(path, self.busy_timeout, planted, role, open)
        };
        // The first connection is opened by hand: its errors are plain, those of the pool are time-outs.
        let first = manager(Role::Writer).connect()?;
        schema::migrate(&first, path)?;
        let settings = settings::of(&first)?;
        drop(first);
        let pool = |role, size| pool::of(manager(role), size);
        let (writers, readers) = match self.commit {
            Commit::PerCall => {
                let shared = pool(Role::Writer, self.pool_size)?;
                let readers = Readers::shared_with_writers(shared.clone(), self.busy_timeout);
                (shared, readers)
            }
            Commit::Queue { .. } => {
                let readers = pool(Role::Reader, self.pool_size)?;
                let readers = Readers::of_their_own(readers, self.busy_timeout);
                (pool(Role::Writer, 1)?, readers)
            }
        };
        let looks = || Looks::new(matches!(self.commit, Commit::Queue { .. }));
        Ok(SqliteStore {
            path: path.to_owned(),
            readers,
            _readers_closing: Closing::new(reading),
            clock: Arc::clone(&self.clock),
            settings,
            holds: looks(),
            releases: looks(),
            payments: looks(),
            writer: Writer::new(writers, self.clock, self.busy_timeout, self.commit),
            _closing: Closing::new(open),
        })
    }
}

/// What can be known of a path before SQLite touches it.
fn check_path(path: &Path) -> Result<(), StoreError> {
    const ALLOWED: &str =
        "the path of a writable file, or of one to be made in a folder that exists";
    let refuse = |problem: String| Err(Invalid::new("database file", problem, ALLOWED).into());
    let shown = path.display();
    if path.as_os_str().is_empty() {
        return refuse("its path is empty".to_owned());
    }
    if path.as_os_str().as_encoded_bytes().starts_with(b":") {
        return refuse(format!("{shown} is a name that SQLite keeps for itself"));
    }
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => refuse(format!("{shown} is a folder")),
        Ok(found) if !found.is_file() => refuse(format!("{shown} is not a regular file")),
        // SQLite takes a file of one byte for an empty one, and would write over it.
        Ok(found) if found.len() == 1 => refuse(format!("{shown} is not an SQLite database")),
        Ok(found) if found.permissions().readonly() => refuse(format!("{shown} is read-only")),
        Ok(_) => Ok(()),
        Err(_) => match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
                refuse(format!("there is no folder {}", folder.display()))
            }
            Some(_) | None => Ok(()),
        },
    }
}

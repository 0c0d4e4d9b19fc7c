//! Which store is checked: chosen by name, behind one small trait.
//!
//! `sqlite:PATH` is the real store on a file that does not exist yet, `sqlite-per-call` the same without
//! its queue, `mutant:M15` a store with a planted fault. Another engine, or somebody else's store, comes
//! in by implementing [`Subject`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use soldonce::{Clock, Commit, SeatStore, SqliteOptions, SqliteStore, StoreError};

use crate::crash::plants;
use crate::fault::{LostAnswers, Switch};
use crate::{concurrent, mutants};

/// What a store under check is opened with.
#[derive(Clone)]
pub struct World {
    /// The clock that the store must decide by.
    pub clock: Arc<dyn Clock>,
    /// While it is on, the answer of a call is lost on the way to the caller, after its commit.
    pub lose_answers: Switch,
}

impl World {
    /// A world with this clock in which nothing goes wrong.
    pub fn new(clock: impl Clock + 'static) -> Self {
        Self {
            clock: Arc::new(clock),
            lose_answers: Switch::default(),
        }
    }
}

/// A store that can be checked.
///
/// It is opened on a file, several times one after the other (a restart) and at once (a second
/// process). What is stored must live in that file, or be found by its path.
pub trait Subject: Send + Sync {
    /// How a report calls it.
    fn name(&self) -> String;

    /// Opens the store on the file, and makes it when it is not there.
    ///
    /// # Errors
    /// What the store says when it can not be opened.
    fn open(&self, path: &Path, world: &World) -> Result<Box<dyn SeatStore>, StoreError>;

    /// Is the file an SQLite database with a table `seats`? Then locks and failing commits can be
    /// planted in it from outside, and an empty one can be copied.
    fn is_sqlite(&self) -> bool {
        true
    }

    /// Is what it stores there when it is opened again? A store in memory can be put under load, but not
    /// through sequences, which reopen it.
    fn is_kept(&self) -> bool {
        true
    }
}

/// The real store, with one of its two ways to commit. Both have to be right: with the queue,
/// refusals are answered from a snapshot and never meet the guards of the statements.
#[derive(Debug, Clone, Copy, Default)]
pub struct Real {
    /// How it commits.
    pub commit: Commit,
}

impl Real {
    /// Without the queue: every command runs its statements.
    pub const PER_CALL: Self = Self {
        commit: Commit::PerCall,
    };
}

impl Subject for Real {
    fn name(&self) -> String {
        match self.commit {
            Commit::PerCall => "sqlite-per-call".to_owned(),
            Commit::Queue { .. } => "sqlite".to_owned(),
        }
    }

    fn open(&self, path: &Path, world: &World) -> Result<Box<dyn SeatStore>, StoreError> {
        let options = SqliteStore::options().commit(self.commit);
        let store = open_sqlite(options, path, world)?;
        Ok(Box::new(LostAnswers::new(store, world)))
    }
}

/// Opens the SQLite store as every check does: two connections, and hardly any waiting for a lock,
/// since one command runs at a time and a lock that is held is planted.
///
/// # Errors
/// Those of [`SqliteOptions::open`].
pub fn open_sqlite(
    options: SqliteOptions,
    path: &Path,
    world: &World,
) -> Result<SqliteStore, StoreError> {
    let options = options
        .pool_size(2)
        .busy_timeout(Duration::from_millis(20))
        .clock(Arc::clone(&world.clock));
    options.open(path)
}

/// A store chosen by name.
pub struct Choice {
    /// The store.
    pub subject: Arc<dyn Subject>,
    /// The file that was named; `None` for files of our own in a temporary folder.
    pub path: Option<PathBuf>,
}

/// A name that is not a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownStore {
    /// No kind of store is called so, or no mutant.
    #[error(
        "no store is called {0:?}; give sqlite, sqlite-per-call, one of them with :PATH, or mutant:ID \
         (model-check mutants lists the IDs)"
    )]
    Name(String),
    /// A path that was left out.
    #[error("{0}: the path is empty; give one after the colon, or leave the colon out")]
    NoPath(String),
    /// A fault that is no store.
    #[error("mutant:L01 is no store, but a way to begin; give model-check mutants L01")]
    OnlyLoad,
    /// A fault that only a crash shows.
    #[error(
        "mutant:{0} can not be run as a store, only a crash shows its fault; give model-check mutants {0}"
    )]
    OnlyInCrashes(&'static str),
}

impl std::str::FromStr for Choice {
    type Err = UnknownStore;

    fn from_str(given: &str) -> Result<Self, UnknownStore> {
        let (kind, rest) = given.split_once(':').unwrap_or((given, ""));
        let subject: Option<Arc<dyn Subject>> = match kind {
            "sqlite" => Some(Arc::new(Real::default())),
            "sqlite-per-call" => Some(Arc::new(Real::PER_CALL)),
            "mutant" => mutants::find(rest)
                .map(|mutant| Arc::new(mutant) as _)
                .or_else(|| concurrent::find(rest).map(|mutant| Arc::new(mutant) as _)),
            _ => None,
        };
        if kind.starts_with("sqlite") && given.ends_with(':') {
            return Err(UnknownStore::NoPath(given.to_owned()));
        }
        if given == "mutant:L01" {
            return Err(UnknownStore::OnlyLoad);
        }
        let path = (kind.starts_with("sqlite") && !rest.is_empty()).then(|| rest.into());
        match (subject, plants::find(rest)) {
            (Some(subject), _) => Ok(Self { subject, path }),
            (None, Some(plant)) if kind == "mutant" => Err(UnknownStore::OnlyInCrashes(plant.id)),
            (None, _) => Err(UnknownStore::Name(given.to_owned())),
        }
    }
}

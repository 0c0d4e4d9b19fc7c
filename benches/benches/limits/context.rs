//! What all questions share: how large and how long everything is, and where it takes place.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::time::Duration;

use benches::bare;
use benches::report;
use benches::ring::Ring;
use benches::scratch::Scratch;
use benches::{Arguments, Error, Mode};
use evidence::{Builder, Database};
use soldonce::{Commit, OwnerId, SqliteOptions, SqliteStore};

/// How long and how large.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// Rounds of a crowd of clients.
    pub(crate) rounds: usize,
    /// The length of each.
    pub(crate) round: Duration,
    /// Rounds of a tight loop.
    pub(crate) loops: usize,
    /// The length of each.
    pub(crate) one_loop: Duration,
    /// Seats in the file, where their number is not the question.
    pub(crate) seats: u64,
    /// Single calls a round, where the size of the file is the question.
    pub(crate) singles: u64,
    /// The sizes of the file, where that is the question.
    pub(crate) sizes: [u64; 3],
}

const FULL: Scale = Scale {
    rounds: 5,
    round: Duration::from_secs(3),
    loops: 15,
    one_loop: Duration::from_millis(300),
    seats: 50_000,
    singles: 40,
    sizes: [1, 1_000, 1_000_000],
};

const QUICK: Scale = Scale {
    rounds: 3,
    round: Duration::from_millis(500),
    loops: 5,
    one_loop: Duration::from_millis(100),
    seats: 10_000,
    singles: 10,
    sizes: [1, 1_000, 50_000],
};

const TEST: Scale = Scale {
    rounds: 1,
    round: Duration::from_millis(300),
    loops: 1,
    one_loop: Duration::from_millis(20),
    // A caller that starves must not see the ring come round meanwhile.
    seats: 50_000,
    singles: 2,
    sizes: [1, 10, 100],
};

/// How a store commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The commit queue, with the bound that is the default.
    Queue,
    /// The naive form: each call its own transaction on its own pooled connection.
    PerCall,
}

/// The yardstick of the queue, in a few words.
pub(crate) const PER_CALL: &str = "one commit each";

impl Engine {
    /// Options with this engine, and everything else as it is by default.
    pub(crate) fn options(self) -> SqliteOptions {
        SqliteStore::options().commit(match self {
            Self::Queue => Commit::default(),
            Self::PerCall => Commit::PerCall,
        })
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queue => "queue",
            Self::PerCall => PER_CALL,
        })
    }
}

/// Where everything takes place.
#[derive(Debug)]
pub(crate) struct Context {
    /// How long and how large.
    pub(crate) scale: Scale,
    /// The databases.
    pub(crate) scratch: Scratch,
    /// Tables of their own, printed before the table of ratios.
    pub(crate) tables: RefCell<Vec<String>>,
    database: OnceCell<Database>,
}

impl Context {
    /// The scale that the command line asks for, and a folder for databases below `parent`.
    pub(crate) fn new(arguments: &Arguments, parent: &str) -> Self {
        Self {
            scale: match arguments.mode {
                Mode::Test => TEST,
                _ if arguments.quick => QUICK,
                _ => FULL,
            },
            scratch: Scratch::below(parent),
            tables: RefCell::default(),
            database: OnceCell::new(),
        }
    }

    /// Opens a new store whose log has been written once, and keeps its settings for the evidence.
    pub(crate) fn store(&self, name: &str, options: SqliteOptions) -> Result<SqliteStore, Error> {
        let store = self.scratch.store(name, options)?;
        bare::write_log_once(&store)?;
        self.database.get_or_init(|| report::database(&store));
        Ok(store)
    }

    /// Opens a new store that holds the seats of this ring and lives by its clock.
    pub(crate) fn ring_store(
        &self,
        ring: &Ring,
        name: &str,
        options: SqliteOptions,
    ) -> Result<SqliteStore, Error> {
        let store = self.store(name, options.clock(ring.clone()))?;
        ring.add_to(&store)?;
        Ok(store)
    }

    /// Says how long and how large everything was, on which database.
    pub(crate) fn describe(&self, statement: &mut Builder) {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let scale = &self.scale;
        statement
            .config("rounds", scale.rounds)
            .config("round_ms", ms(scale.round))
            .config("loops", scale.loops)
            .config("loop_ms", ms(scale.one_loop))
            .config("seats", scale.seats)
            .config("single_calls_a_round", scale.singles)
            .config("engine", format!("{:?}", Commit::default()));
        if let Some(database) = self.database.get() {
            statement.database(database.clone());
        }
    }
}

/// The owner id of a client.
pub(crate) fn owner(number: usize) -> OwnerId {
    OwnerId::new(format!("client-{number}")).expect("a short name")
}

//! Which settings of SQLite would help, and by how much?
//!
//! Bare loops on the store's own file do what the store does: they commit holds, read a seat after a
//! commit of somebody else, and read seats of the whole hall. Each is measured with one setting other
//! than the store's, against the store's own settings in the same round.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use benches::bare::{self, Read, Updates};
use benches::comparison::{By, Comparison};
use benches::findings::Findings;
use benches::ring::Ring;
use benches::rounds::{Round, Side, Taken, interleaved};
use benches::scratch::seat_id;
use benches::shown::{significant, table, time};
use benches::{Error, report};
use rusqlite::Connection;
use soldonce::{Clock as _, SeatId, SqliteStore};

use crate::context::{Context, Engine, owner};

/// One thing done otherwise than the store does it.
#[derive(Clone, Copy)]
enum Otherwise {
    /// Nothing.
    AsTheStore,
    /// A pragma of every connection.
    Pragma(&'static str, i64),
    /// The size of a page, with which the file is made anew.
    PageSize(i64),
    /// Each statement prepared anew each time.
    PreparedAnew,
}

const SETTINGS: [Otherwise; 9] = [
    Otherwise::AsTheStore,
    Otherwise::PreparedAnew,
    Otherwise::PageSize(512),
    Otherwise::PageSize(4096),
    Otherwise::Pragma("cache_size", -65_536),
    Otherwise::Pragma("mmap_size", 1 << 30),
    Otherwise::Pragma("wal_autocheckpoint", 1_000),
    Otherwise::Pragma("wal_autocheckpoint", 4_000),
    Otherwise::Pragma("wal_autocheckpoint", 64_000),
];

impl fmt::Display for Otherwise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsTheStore => f.write_str("as the store"),
            Self::Pragma(name, value) => write!(f, "{name} = {value}"),
            Self::PageSize(bytes) => write!(f, "page_size = {bytes}"),
            Self::PreparedAnew => f.write_str("prepared anew"),
        }
    }
}

/// What is done again and again.
#[derive(Debug, Clone, Copy)]
enum Work {
    /// So many holds in one commit, of seats from all over the hall.
    Commit(usize),
    /// A read of a seat after a commit by another connection; only the read is timed.
    ReadAfterCommit,
    /// A read of one seat after the other, from all over the hall.
    Reads,
}

const WORK: [Work; 4] = [
    Work::Commit(1),
    Work::Commit(64),
    Work::ReadAfterCommit,
    Work::Reads,
];

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit(1) => f.write_str("commits of one"),
            Self::Commit(holds) => write!(f, "commits of {holds}"),
            Self::ReadAfterCommit => f.write_str("reads after a commit"),
            Self::Reads => f.write_str("reads"),
        }
    }
}

/// Measures all kinds of work under all settings.
pub(crate) fn ask(context: &Context, found: &mut Findings) -> Result<(), Error> {
    let ring = Ring::new(context.scale.seats);
    let files = SETTINGS
        .iter()
        .enumerate()
        .map(|(number, setting)| File::make(context, &ring, number, *setting))
        .collect::<Result<Vec<_>, _>>()?;
    let mut rows: Vec<_> = SETTINGS
        .iter()
        .map(|setting| vec![setting.to_string()])
        .collect();
    for work in WORK {
        let sides = files.iter().map(|file| -> (String, Round<'_>) {
            let length = context.scale.one_loop;
            let name = format!("settings/{work}/{}", file.setting);
            let ring = &ring;
            (name, Box::new(move || file.round(ring, work, length)))
        });
        let sides = interleaved(context.scale.loops, sides.collect())?;
        for ((row, side), setting) in rows.iter_mut().zip(&sides).zip(SETTINGS) {
            row.push(cell(found, work, setting, side, &sides[0]));
        }
    }
    let kinds = WORK.map(|work| work.to_string());
    let head: Vec<_> = std::iter::once("")
        .chain(kinds.iter().map(String::as_str))
        .collect();
    context.tables.borrow_mut().push(table(&head, rows));
    for file in &files {
        let name = format!("settings/{}", file.setting);
        found.audits(&name, &[report::audited(&name, &file.store)?.1]);
    }
    Ok(())
}

/// The ratio of the rates, which goes into the evidence, too; for the store's own settings the time.
fn cell(
    found: &mut Findings,
    work: Work,
    setting: Otherwise,
    side: &Side,
    as_the_store: &Side,
) -> String {
    if matches!(setting, Otherwise::AsTheStore) {
        found.side(side);
        return time(side.median_ns());
    }
    let ratio = found.keep(Comparison {
        what: &format!("{work}, {setting}"),
        by: By::Rate,
        ours: side,
        yardstick: as_the_store,
        beside: "the store's settings",
        aim: None,
    });
    format!("{}x", significant(ratio.median))
}

/// How many reads are timed together: one alone is too short.
const READS: u64 = 64;

/// A hall under one setting.
struct File {
    setting: Otherwise,
    store: SqliteStore,
    writer: Connection,
    reader: Connection,
    seats: Vec<SeatId>,
}

impl File {
    fn make(
        context: &Context,
        ring: &Ring,
        number: usize,
        setting: Otherwise,
    ) -> Result<Self, Error> {
        let name = format!("settings-{number}");
        let mut store = context.ring_store(ring, &name, Engine::Queue.options())?;
        if let Otherwise::PageSize(bytes) = setting {
            let path = store.path().to_owned();
            drop(store);
            make_anew(&path, bytes)?;
            store = context.store(&name, Engine::Queue.options().clock(ring.clone()))?;
        }
        if let Otherwise::Pragma("wal_autocheckpoint", frames) = setting {
            bare::write_log(&store, frames.unsigned_abs())?;
        }
        let connection = || -> Result<Connection, Error> {
            let connection = bare::connection(&store)?;
            match setting {
                Otherwise::Pragma(name, value) => {
                    bare::set(&connection, name, &value.to_string())?;
                }
                // Setting it has no effect on a file that has pages, but it is read back.
                Otherwise::PageSize(bytes) => {
                    bare::set(&connection, "page_size", &bytes.to_string())?;
                }
                Otherwise::AsTheStore | Otherwise::PreparedAnew => {}
            }
            Ok(connection)
        };
        let (writer, reader) = (connection()?, connection()?);
        Ok(Self {
            setting,
            store,
            writer,
            reader,
            seats: scattered(context.scale.seats),
        })
    }

    fn round(&self, ring: &Ring, work: Work, length: Duration) -> Result<Taken, Error> {
        let anew = matches!(self.setting, Otherwise::PreparedAnew);
        let (mut updates, mut read) = (
            Updates::prepare(&self.writer)?,
            Read::prepare(&self.reader)?,
        );
        let owner = owner(0);
        let mut seats = self.seats.iter().cycle();
        let mut commit = |holds: usize| {
            if anew {
                updates = Updates::prepare(&self.writer)?;
            }
            // Neighbours would share a page.
            let seats: Vec<_> = (0..holds)
                .map(|_| {
                    ring.next();
                    seats.next().expect("a hall has seats")
                })
                .collect();
            updates.commit(seats, &owner, Ring::ttl(), ring.now())
        };
        let mut look = |seat: &SeatId| {
            if anew {
                read = Read::prepare(&self.reader)?;
            }
            read.seat(seat)
        };
        let mut places = self.seats.iter().cycle();
        let mut next = || places.next().expect("a hall has seats");
        let (began, mut taken) = (Instant::now(), Taken::default());
        while began.elapsed() < length {
            let once = Instant::now();
            match work {
                Work::Commit(holds) => {
                    commit(holds)?;
                    taken.again(1, once.elapsed());
                }
                Work::ReadAfterCommit => {
                    commit(1)?;
                    let seat = next();
                    let once = Instant::now();
                    look(seat)?;
                    taken.again(1, once.elapsed());
                }
                Work::Reads => {
                    for _ in 0..READS {
                        look(next())?;
                    }
                    taken.again(READS, once.elapsed());
                }
            }
        }
        Ok(taken)
    }
}

/// Makes a file anew with pages of this size.
fn make_anew(path: &Path, page_size: i64) -> Result<(), Error> {
    let connection = Connection::open(path).map_err(Error::sqlite("opening a database"))?;
    // With a write-ahead log the size of a page is fixed.
    bare::set(&connection, "journal_mode", "delete")?;
    connection
        .execute_batch(&format!("PRAGMA page_size = {page_size}; VACUUM"))
        .map_err(Error::sqlite("making a database anew"))?;
    // It reads as it is: setting it again changes nothing.
    bare::set(&connection, "page_size", &page_size.to_string())
}

/// The seats of a ring in an order in which neighbours are far apart.
pub(crate) fn scattered(seats: u64) -> Vec<SeatId> {
    /// A prime, so that every seat comes up as long as their number is no multiple of it.
    const STEP: u64 = 7_919;
    (0..seats)
        .map(|number| seat_id(number * STEP % seats))
        .collect()
}

//! How long does it take to open a store after a crash?
//!
//! A longer log is cheaper to write back, and dearer to open: whoever comes first after a crash reads all
//! of it. Here it is as long as it gets, and the yardstick is the same database after it was closed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use benches::bare::{self, Updates};
use benches::bulk::Bulk;
use benches::comparison::{By, Comparison};
use benches::findings::Findings;
use benches::ring::Ring;
use benches::rounds::{Round, Taken, interleaved};
use benches::scratch::{self, seat_id};
use benches::{Error, report};
use soldonce::SeatStore as _;

use crate::context::{Context, Engine, owner};
use crate::settings::scattered;

/// Opens copies of a database with a full log, and of the same without.
pub(crate) fn ask(context: &Context, found: &mut Findings) -> Result<(), Error> {
    let ring = Ring::new(context.scale.seats);
    let crashed = full_log(context, &ring)?;
    let closed = context.scratch.path("opening-closed.sqlite")?;
    copy(&crashed, &closed, &["", "-wal"])?;
    drop(open(&closed, &ring)?); // the last to close writes the log back
    let name = "opening/one that was closed";
    found.audits(name, &[report::audited(name, &open(&closed, &ring)?)?.1]);

    let again = context.scratch.path("opening-again.sqlite")?;
    let first_answer = |from: &Path, suffixes: &'static [&'static str]| -> Round<'_> {
        let (from, again, ring) = (from.to_owned(), again.clone(), &ring);
        Box::new(move || {
            scratch::remove(&again)?;
            copy(&from, &again, suffixes)?;
            let began = Instant::now();
            let store = open(&again, ring)?;
            let read = store.seat(&seat_id(0));
            let time = began.elapsed();
            match read.map_err(Error::store("reading a seat"))?.outcome {
                Some(_) => Ok(Taken { count: 1, time }),
                None => Err(Error::Answer {
                    doing: "reading a seat",
                    expected: "a seat that was there before the crash",
                    got: "none".to_owned(),
                }),
            }
        })
    };
    let sides = interleaved(
        context.scale.loops,
        vec![
            (
                "opening/after a crash".to_owned(),
                first_answer(&crashed, &["", "-wal"]),
            ),
            (name.to_owned(), first_answer(&closed, &[""])),
        ],
    )?;
    found.compare(Comparison {
        what: "opening after a crash, full log",
        by: By::Time,
        ours: &sides[0],
        yardstick: &sides[1],
        beside: "opening after closing",
        aim: None,
    });
    Ok(())
}

fn open(path: &Path, ring: &Ring) -> Result<soldonce::SqliteStore, Error> {
    let options = Engine::Queue.options().clock(ring.clone());
    options
        .open(path)
        .map_err(Error::store("opening a database"))
}

/// A database as it lies on the disk after a crash, when its log was about to be written back.
fn full_log(context: &Context, ring: &Ring) -> Result<PathBuf, Error> {
    let store = context
        .scratch
        .store("opening", Engine::Queue.options().clock(ring.clone()))?;
    ring.add_to(&store)?;
    Bulk::open(store.path(), store.now())?.checkpoint()?;
    let (page, frames) = bare::log_shape(&store)?;
    let writer = bare::connection(&store)?;
    bare::set(&writer, "wal_autocheckpoint", "0")?;
    let mut updates = Updates::prepare(&writer)?;
    let (owner, seats) = (owner(0), scattered(context.scale.seats));
    let mut seats = seats.iter().cycle();
    let log = beside(store.path(), "-wal");
    while fs::metadata(&log).map_err(Error::file(&log))?.len() < page * frames {
        let some: Vec<_> = (0..64)
            .map(|_| {
                ring.next();
                seats.next().expect("a hall has seats")
            })
            .collect();
        updates.commit(some, &owner, Ring::ttl(), soldonce::Clock::now(ring))?;
    }
    let crashed = context.scratch.path("opening-crashed.sqlite")?;
    copy(store.path(), &crashed, &["", "-wal"])?;
    Ok(crashed)
}

fn copy(from: &Path, to: &Path, suffixes: &[&str]) -> Result<(), Error> {
    for suffix in suffixes {
        let (from, to) = (beside(from, suffix), beside(to, suffix));
        fs::copy(&from, &to).map_err(Error::file(&to))?;
    }
    Ok(())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

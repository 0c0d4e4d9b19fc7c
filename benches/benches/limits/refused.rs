//! Refusals: how much of the rate of a bare point read is left?
//!
//! The seat is held by somebody else, so the store answers from a snapshot. The yardstick steps the
//! store's own `SELECT`, prepared once, on the same row of the same file, with a connection of its own
//! for each thread, and looks at every column.

use std::time::Duration;

use benches::bare::{self, Read};
use benches::bulk::Bulk;
use benches::comparison::{By, Comparison};
use benches::findings::Findings;
use benches::race::{race, together};
use benches::rounds::{Taken, interleaved};
use benches::scratch::{self, seat_ids};
use benches::{Error, report};
use evidence::Rule;
use soldonce::{HoldDuration, HoldOutcome, HoldRequest, SeatId, SeatStore as _, SqliteStore};

use crate::context::{Context, Engine, owner};

/// The yardstick of a refusal, in a few words.
pub(crate) const READS: &str = "bare prepared point reads";

/// Compares refusals with bare reads, in so many threads.
pub(crate) fn ask(context: &Context, found: &mut Findings, threads: usize) -> Result<(), Error> {
    let store = context.store(&format!("refused-{threads}"), Engine::Queue.options())?;
    let seats = seat_ids(0..context.scale.seats);
    scratch::add(&store, &seats)?;
    let seat = &seats[seats.len() / 2];
    // Beyond all clients' numbers: nobody of them holds the seat.
    let holder = owner(threads);
    let mut bulk = Bulk::open(store.path(), store.now())?;
    bulk.hold(std::slice::from_ref(seat), &holder, HoldDuration::MAX)?;
    bulk.checkpoint()?;
    drop(bulk);

    let names = ["refusals", "bare reads"].map(|what| format!("refused/{threads} threads/{what}"));
    let [ours, bare] = names.clone();
    let sides = interleaved(
        context.scale.loops,
        vec![
            (ours, Box::new(|| refusals(context, &store, seat, threads))),
            (
                bare,
                Box::new(|| reads(&store, seat, threads, context.scale.one_loop)),
            ),
        ],
    )?;
    found.audits(&names[0], &[report::audited(&names[0], &store)?.1]);
    let (what, limit) = match threads {
        1 => ("refused, 1 thread: refusals", 0.92),
        _ => ("refused, 8 threads: refusals", 0.9),
    };
    found.compare(Comparison {
        what,
        by: By::Rate,
        ours: &sides[0],
        yardstick: &sides[1],
        beside: READS,
        aim: Some((Rule::AtLeast, limit)),
    });
    Ok(())
}

fn refusals(
    context: &Context,
    store: &SqliteStore,
    seat: &SeatId,
    threads: usize,
) -> Result<Taken, Error> {
    let each = race(threads, context.scale.one_loop, |number, start| {
        let request = HoldRequest {
            seat: seat.clone(),
            owner: owner(number),
            ttl: HoldDuration::MAX,
        };
        start.wait().repeat(|| {
            match store
                .hold(&request)
                .map_err(Error::store("refusing a hold"))?
                .outcome
            {
                HoldOutcome::Refused(_) => Ok(()),
                other => Err(Error::Answer {
                    doing: "holding a seat that is held",
                    expected: "Refused",
                    got: other.to_string(),
                }),
            }
        })
    })?;
    Ok(together(&each))
}

/// Bare reads of this seat, in so many threads.
pub(crate) fn reads(
    store: &SqliteStore,
    seat: &SeatId,
    threads: usize,
    length: Duration,
) -> Result<Taken, Error> {
    let each = race(threads, length, |_, start| {
        let connection = bare::connection(store)?;
        let mut read = Read::prepare(&connection)?;
        start.wait().repeat(|| read.seat(seat))
    })?;
    Ok(together(&each))
}

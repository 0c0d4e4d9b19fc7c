//! Holds that are all granted, by 64 clients: how much does committing for all bring, and how much of
//! a bare loop's rate is left?
//!
//! The bare loop has no clients at all: it holds 64 seats in one transaction, one transaction after
//! the other, with the store's own statement on a file of its own. The seats are taken in the order of
//! their names, where 64 of them share two pages: that suits the loop, which then writes the least a
//! commit can write, and makes the ratio the harder one.
//!
//! What the loop loses when its 64 updates have callers, who sleep until the commit and are woken, is
//! measured beside it, and so is what waking them alone can reach. Neither is a bound: callers of the
//! store are woken while the next commit goes on.

use std::time::Instant;

use benches::bare::{self, Updates};
use benches::callers;
use benches::comparison::{By, Comparison};
use benches::findings::Findings;
use benches::race::{Crowd, crowd};
use benches::ring::{HELD, Ring};
use benches::rounds::{Taken, interleaved};
use benches::{Error, report};
use evidence::Rule;
use soldonce::{Clock as _, SeatId, SqliteStore};

use crate::context::{Context, Engine, PER_CALL, owner};

const CLIENTS: usize = 64;

/// Compares the queue with one commit each, and with the bare loop.
pub(crate) fn ask(context: &Context, found: &mut Findings) -> Result<(), Error> {
    let mut queue = Clients::make(context, Engine::Queue)?;
    let mut each = Clients::make(context, Engine::PerCall)?;
    let ring = Ring::new(context.scale.seats);
    let bare = context.ring_store(&ring, "granted-bare", Engine::Queue.options())?;
    let connection = bare::connection(&bare)?;
    let mut updates = Updates::prepare(&connection)?;
    let woken = context.ring_store(&ring, "granted-woken", Engine::Queue.options())?;
    let connection = bare::connection(&woken)?;
    let mut updates_for_callers = Updates::prepare(&connection)?;
    let bare_name = format!("granted/{CLIENTS} updates a commit/bare loop");
    let woken_name = format!("granted/{CLIENTS} updates a commit/bare loop, callers woken");
    let sides = interleaved(
        context.scale.rounds,
        vec![
            (queue.name.clone(), Box::new(|| queue.round(context))),
            (each.name.clone(), Box::new(|| each.round(context))),
            (
                bare_name.clone(),
                Box::new(|| bare_round(context, &ring, &mut updates)),
            ),
            (
                woken_name.clone(),
                Box::new(|| {
                    callers::serve(CLIENTS, context.scale.round, || {
                        commit_one_each(&ring, &mut updates_for_callers)
                    })
                }),
            ),
            (
                format!("granted/{CLIENTS} callers woken, nothing done"),
                Box::new(|| callers::serve(CLIENTS, context.scale.round, || Ok(()))),
            ),
        ],
    )?;
    queue.report(found)?;
    each.report(found)?;
    for (name, store) in [(bare_name, bare), (woken_name, woken)] {
        found.audits(&name, &[report::audited(&name, &store)?.1]);
    }
    let what = format!("granted, {CLIENTS} clients: holds");
    let compare = |yardstick, beside, aim: Option<f64>| Comparison {
        what: &what,
        by: By::Rate,
        ours: &sides[0],
        yardstick: &sides[yardstick],
        beside,
        aim: aim.map(|limit| (Rule::AtLeast, limit)),
    };
    found.compare(compare(1, PER_CALL, Some(10.0)));
    found.compare(compare(2, "bare loop of 64 updates", Some(0.6)));
    found.compare(compare(3, "bare loop, callers woken", None));
    found.compare(compare(4, "callers woken, no work", None));
    Ok(())
}

/// A store, its ring, and what its clients were answered.
struct Clients {
    name: String,
    ring: Ring,
    store: SqliteStore,
    seen: Crowd,
}

impl Clients {
    fn make(context: &Context, engine: Engine) -> Result<Self, Error> {
        let ring = Ring::new(context.scale.seats);
        let file = match engine {
            Engine::Queue => "granted-queue",
            Engine::PerCall => "granted-each",
        };
        Ok(Self {
            name: format!("granted/{CLIENTS} clients/{engine}"),
            store: context.ring_store(&ring, file, engine.options())?,
            ring,
            seen: Crowd::empty(),
        })
    }

    fn round(&mut self, context: &Context) -> Result<Taken, Error> {
        let (ring, store) = (&self.ring, &self.store);
        let crowd = crowd(CLIENTS, context.scale.round, |number| {
            let owner = owner(number);
            move || ring.hold(store, &owner)
        })?;
        let taken = Taken {
            count: crowd.answered(),
            time: context.scale.round,
        };
        self.seen.again(crowd);
        Ok(taken)
    }

    fn report(&self, found: &mut Findings) -> Result<(), Error> {
        only_held(&self.seen)?;
        found.crowd(&self.name, &self.seen)?;
        found.audits(&self.name, &[report::audited(&self.name, &self.store)?.1]);
        Ok(())
    }
}

/// Everything that was answered must be a hold, or something else was measured.
pub(crate) fn only_held(crowd: &Crowd) -> Result<(), Error> {
    match crowd.answers.iter().find(|(name, _)| **name != HELD) {
        None => Ok(()),
        Some((name, count)) => Err(Error::Answer {
            doing: "holding seats that are all free",
            expected: HELD,
            got: format!("{name}, {count} times"),
        }),
    }
}

fn bare_round(context: &Context, ring: &Ring, updates: &mut Updates<'_>) -> Result<Taken, Error> {
    let (began, mut count) = (Instant::now(), 0);
    loop {
        commit_one_each(ring, updates)?;
        count += CLIENTS as u64;
        let time = began.elapsed();
        if time >= context.scale.round {
            return Ok(Taken { count, time });
        }
    }
}

/// Holds a seat for each client in one commit.
fn commit_one_each(ring: &Ring, updates: &mut Updates<'_>) -> Result<(), Error> {
    let seats: [&SeatId; CLIENTS] = std::array::from_fn(|_| ring.next());
    updates.commit(seats, &owner(0), Ring::ttl(), ring.now())
}

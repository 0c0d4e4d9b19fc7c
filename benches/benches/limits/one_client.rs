//! One client that holds seat after seat: how much of the rate of a bare write and sync is left?
//!
//! A hold changes one page, so SQLite writes one frame of its log and syncs it. The yardstick does
//! that to a plain file, and nothing else; see [`FrameLog`]. What SQLite leaves of that rate is measured
//! beside it: a bare loop that commits one update at a time, with the store's own statement.

use std::time::Instant;

use benches::bare::{self, FrameLog, Sync, Updates};
use benches::comparison::{By, Comparison};
use benches::findings::Findings;
use benches::race::Crowd;
use benches::ring::Ring;
use benches::rounds::{Taken, interleaved};
use benches::{Error, report};
use evidence::Rule;
use soldonce::{Clock as _, SqliteStore};

use crate::context::{Context, Engine, PER_CALL, owner};
use crate::granted::only_held;

/// Compares the store with writes and syncs of the bare file, by either way to sync.
pub(crate) fn ask(context: &Context, found: &mut Findings) -> Result<(), Error> {
    let (rings, mut seen) = (
        [
            Ring::new(context.scale.seats),
            Ring::new(context.scale.seats),
            Ring::new(context.scale.seats),
        ],
        [Crowd::empty(), Crowd::empty()],
    );
    let queue = context.ring_store(&rings[0], "one-queue", Engine::Queue.options())?;
    let each = context.ring_store(&rings[1], "one-each", Engine::PerCall.options())?;
    let loose = context.ring_store(&rings[2], "one-bare", Engine::Queue.options())?;
    let connection = bare::connection(&loose)?;
    let mut updates = Updates::prepare(&connection)?;
    let path = context.scratch.path("one.log")?;
    let mut log = FrameLog::make(&path, &queue)?;
    let log = std::cell::RefCell::new(&mut log);
    let bare = |sync: Sync| {
        let (log, path) = (&log, &path);
        move || {
            timed(context, || {
                log.borrow_mut().commit(sync).map_err(Error::file(path))
            })
        }
    };
    let [seen_queue, seen_each] = &mut seen;
    let names =
        [Engine::Queue, Engine::PerCall].map(|engine| format!("one client/granted holds/{engine}"));
    let sides = interleaved(
        context.scale.rounds,
        vec![
            (
                names[0].clone(),
                Box::new(|| hold(context, &rings[0], &queue, seen_queue)),
            ),
            (
                names[1].clone(),
                Box::new(|| hold(context, &rings[1], &each, seen_each)),
            ),
            (
                "one client/frames/fsync".to_owned(),
                Box::new(bare(Sync::All)),
            ),
            (
                "one client/frames/fdatasync".to_owned(),
                Box::new(bare(Sync::Data)),
            ),
            (
                "one client/one update a commit/bare loop".to_owned(),
                Box::new(|| {
                    let ring = &rings[2];
                    timed(context, || {
                        updates.commit([ring.next()], &owner(0), Ring::ttl(), ring.now())
                    })
                }),
            ),
        ],
    )?;
    for ((name, crowd), store) in names.iter().zip(&seen).zip([&queue, &each]) {
        only_held(crowd)?;
        found.crowd(name, crowd)?;
        found.audits(name, &[report::audited(name, store)?.1]);
    }
    let name = "one client/bare loop";
    found.audits(name, &[report::audited(name, &loose)?.1]);
    let compare = |yardstick, beside, aim| Comparison {
        what: "one client: granted holds",
        by: By::Rate,
        ours: &sides[0],
        yardstick: &sides[yardstick],
        beside,
        aim,
    };
    let aim = Some((Rule::AtLeast, 0.85));
    found.compare(compare(2, "bare frame and fsync", aim));
    found.compare(compare(3, "bare frame and fdatasync", None));
    found.compare(compare(4, "bare loop of one update", None));
    found.compare(compare(1, PER_CALL, None));
    Ok(())
}

/// A crowd of one would start a thread: here the calls are made right away.
fn hold(
    context: &Context,
    ring: &Ring,
    store: &SqliteStore,
    seen: &mut Crowd,
) -> Result<Taken, Error> {
    let owner = owner(0);
    timed(context, || {
        let began = Instant::now();
        let answer = ring.hold(store, &owner);
        seen.alone(answer, began.elapsed())
    })
}

/// Does something until a round is over.
fn timed(context: &Context, mut once: impl FnMut() -> Result<(), Error>) -> Result<Taken, Error> {
    let (began, mut count) = (Instant::now(), 0);
    loop {
        once()?;
        count += 1;
        let time = began.elapsed();
        if time >= context.scale.round {
            return Ok(Taken { count, time });
        }
    }
}

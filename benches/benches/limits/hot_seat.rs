//! A rush: most attempts are for one hot seat, and nearly all of those are refused.
//!
//! Four holds of five are for the hot seat, the fifth for any other of the hall. Who gets a hold pays
//! at once. When the hot seat is sold, the next one is hot. Each round has a new file, so that both
//! engines see the same hall.
//!
//! Bare point reads in as many threads stand beside it: no store on SQLite can refuse faster than it can
//! read the seat.

use benches::comparison::{By, Comparison};
use benches::findings::Findings;
use benches::race::{Crowd, crowd};
use benches::rounds::{Side, Taken, interleaved};
use benches::rush::{Buyer, Hall, SOLD};
use benches::scratch::{self, seat_ids};
use benches::{Error, report};
use evidence::{Check, Law, Reference, Rule};
use soldonce::SeatStateKind;

use crate::context::{Context, Engine, PER_CALL};
use crate::refused::{READS, reads};

/// Compares attempts a second, the longest wait and fairness of the two engines.
pub(crate) fn ask(context: &Context, found: &mut Findings, clients: usize) -> Result<(), Error> {
    let mut queue = Watched::new(Engine::Queue, clients);
    let mut each = Watched::new(Engine::PerCall, clients);
    let store = context.store(&format!("hot-{clients}-bare"), Engine::Queue.options())?;
    let seats = seat_ids(0..context.scale.seats);
    scratch::add(&store, &seats)?;
    let seat = &seats[seats.len() / 2];
    let sides = interleaved(
        context.scale.rounds,
        vec![
            (queue.name.clone(), Box::new(|| queue.round(context))),
            (each.name.clone(), Box::new(|| each.round(context))),
            (
                format!("hot seat/{clients} threads/bare reads"),
                Box::new(|| reads(&store, seat, clients, context.scale.round)),
            ),
        ],
    )?;
    queue.report(found)?;
    each.report(found)?;
    let is_32 = clients == 32;
    let attempts = Comparison {
        what: &format!("hot seat, {clients} clients: attempts"),
        by: By::Rate,
        ours: &sides[0],
        yardstick: &sides[1],
        beside: PER_CALL,
        aim: Some((Rule::AtLeast, if is_32 { 8.0 } else { 10.0 })),
    };
    found.compare(attempts);
    found.compare(Comparison {
        yardstick: &sides[2],
        beside: READS,
        aim: None,
        ..attempts
    });
    found.compare(Comparison {
        what: &format!("hot seat, {clients} clients: longest wait"),
        by: By::Time,
        ours: &queue.longest(),
        yardstick: &each.longest(),
        beside: PER_CALL,
        aim: is_32.then_some((Rule::AtMost, 0.01)),
    });
    found.fairness(
        &format!("hot seat, {clients} clients: Jain index"),
        &queue.crowds,
        &each.crowds,
        PER_CALL,
        is_32.then_some((Rule::AtLeast, 0.98)),
    );
    Ok(())
}

/// All that was seen of one engine.
struct Watched {
    engine: Engine,
    clients: usize,
    name: String,
    crowds: Vec<Crowd>,
    audits: Vec<Check>,
    seats_sold: u64,
}

impl Watched {
    fn new(engine: Engine, clients: usize) -> Self {
        Self {
            engine,
            clients,
            name: format!("hot seat/{clients} clients/{engine}"),
            crowds: Vec::new(),
            audits: Vec::new(),
            seats_sold: 0,
        }
    }

    /// One round on a new file, audited when it is over.
    fn round(&mut self, context: &Context) -> Result<Taken, Error> {
        let file = format!(
            "hot-{}-{}-{}",
            self.clients,
            self.crowds.len(),
            match self.engine {
                Engine::Queue => "queue",
                Engine::PerCall => "each",
            }
        );
        let store = context.store(&file, self.engine.options())?;
        let hall = Hall::new(context.scale.seats);
        scratch::add(&store, hall.seats())?;
        let crowd = crowd(self.clients, context.scale.round, |number| {
            let mut buyer = Buyer::new(number, &hall, &store);
            move || buyer.call()
        })?;
        let (snapshot, check) = report::audited(&self.name, &store)?;
        let sold = snapshot
            .seats
            .iter()
            .filter(|seat| seat.state.kind() == SeatStateKind::Sold);
        self.seats_sold += sold.count() as u64;
        let taken = Taken {
            count: crowd.answered(),
            time: context.scale.round,
        };
        self.crowds.push(crowd);
        self.audits.push(check);
        let path = store.path().to_owned();
        drop(store);
        scratch::remove(&path)?;
        Ok(taken)
    }

    /// The longest wait of each round.
    fn longest(&self) -> Side {
        let each = self.crowds.iter().map(|crowd| Taken {
            count: 1,
            time: crowd.longest,
        });
        Side::new(format!("{}/longest wait", self.name), each.collect())
    }

    fn report(&self, found: &mut Findings) -> Result<(), Error> {
        let all = self
            .crowds
            .iter()
            .cloned()
            .fold(Crowd::empty(), |mut all, round| {
                all.again(round);
                all
            });
        found.crowd(&self.name, &all)?;
        found.audits(&self.name, &self.audits);
        if all.answers.contains_key(SOLD) {
            let count = format!("{}: seats sold", self.name);
            found
                .statement()
                .count(&count, self.seats_sold)
                .law(Law::new(
                    format!("{}: each sale answered is one seat sold", self.name),
                    "sales answered = seats sold",
                    vec![Reference::Outcome {
                        operation: self.name.clone(),
                        outcome: SOLD.to_owned(),
                    }],
                    vec![Reference::Count(count.clone())],
                ));
        }
        Ok(())
    }
}

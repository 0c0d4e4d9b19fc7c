//! A rush: most attempts are for one hot seat, and nearly all of those are refused.
//!
//! Four holds of five are for the hot seat, the fifth for any other of the hall. Who gets a hold pays
//! at once. When the hot seat is sold, the next one is hot. Each round has a new file, so that both
//! engines see the same hall.

use std::sync::atomic::{AtomicUsize, Ordering};

use benches::comparison::{By, Comparison, Findings};
use benches::race::{Crowd, crowd};
use benches::rounds::{Side, Taken, interleaved};
use benches::scratch::{self, seat_ids};
use benches::{Error, report};
use evidence::{Check, Law, Reference, Rule};
use soldonce::{
    Claim, ConfirmOutcome, HoldDuration, HoldOutcome, HoldRefusal, HoldRequest, OwnerId, PaymentId,
    SeatId, SeatStateKind, SeatStore as _, SqliteStore, StoreError,
};

use crate::context::{Context, Engine, PER_CALL, owner};

/// Of a hundred holds, so many are for the hot seat.
const HOT_PERCENT: u64 = 80;
const SOLD: &str = "sold";

/// Compares attempts a second, the longest wait and fairness of the two engines.
pub(crate) fn ask(context: &Context, found: &mut Findings, clients: usize) -> Result<(), Error> {
    let mut queue = Watched::new(Engine::Queue, clients);
    let mut each = Watched::new(Engine::PerCall, clients);
    let sides = interleaved(
        context.scale.rounds,
        vec![
            (queue.name.clone(), Box::new(|| queue.round(context))),
            (each.name.clone(), Box::new(|| each.round(context))),
        ],
    )?;
    queue.report(found)?;
    each.report(found)?;
    let is_32 = clients == 32;
    found.compare(Comparison {
        what: &format!("hot seat, {clients} clients: attempts"),
        by: By::Rate,
        ours: &sides[0],
        yardstick: &sides[1],
        beside: PER_CALL,
        aim: Some((Rule::AtLeast, if is_32 { 8.0 } else { 10.0 })),
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
        scratch::add(&store, &hall.seats)?;
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

/// The seats, and which of them is hot.
struct Hall {
    seats: Vec<SeatId>,
    hot: AtomicUsize,
}

impl Hall {
    fn new(seats: u64) -> Self {
        Self {
            seats: seat_ids(0..seats),
            hot: AtomicUsize::new(0),
        }
    }

    /// Somebody was told that this seat is sold: if it is the hot one, the next one is hot now.
    fn sold(&self, seat: usize) {
        let next = (seat + 1) % self.seats.len();
        // Of several who are told, one moves it on.
        let _ = self
            .hot
            .compare_exchange(seat, next, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// A client: it takes what it can get and pays for it.
struct Buyer<'round> {
    hall: &'round Hall,
    store: &'round SqliteStore,
    owner: OwnerId,
    dice: SplitMix,
    /// A hold that is to be paid: the place of its seat, the claim, and the payment.
    due: Option<(usize, Claim, PaymentId)>,
    payments: u64,
}

impl<'round> Buyer<'round> {
    fn new(number: usize, hall: &'round Hall, store: &'round SqliteStore) -> Self {
        Self {
            hall,
            store,
            owner: owner(number),
            dice: SplitMix(number as u64),
            due: None,
            payments: 0,
        }
    }

    /// Pays what is due, or else asks for a seat. After an error the same call is made again.
    fn call(&mut self) -> Result<&'static str, StoreError> {
        match self.due.take() {
            Some(due) => self.pay(due),
            None => self.hold(),
        }
    }

    fn hold(&mut self) -> Result<&'static str, StoreError> {
        let seat = if self.dice.below(100) < HOT_PERCENT {
            self.hall.hot.load(Ordering::Relaxed)
        } else {
            let place = self.dice.below(self.hall.seats.len() as u64);
            usize::try_from(place).expect("below the number of seats")
        };
        let request = HoldRequest {
            seat: self.hall.seats[seat].clone(),
            owner: self.owner.clone(),
            ttl: HoldDuration::MAX,
        };
        Ok(match self.store.hold(&request)?.outcome {
            HoldOutcome::Held { hold_id, .. } => {
                self.payments += 1;
                let payment = PaymentId::new(format!("{}-{}", self.owner, self.payments));
                let claim = Claim {
                    seat: request.seat,
                    owner: request.owner,
                    hold_id,
                };
                self.due = Some((seat, claim, payment.expect("a short name")));
                "held"
            }
            HoldOutcome::AlreadyHeld { .. } => "already_held",
            HoldOutcome::Refused(HoldRefusal::HeldUntil(_)) => "refused_held",
            HoldOutcome::Refused(HoldRefusal::Sold) => {
                self.hall.sold(seat);
                "refused_sold"
            }
        })
    }

    fn pay(&mut self, due: (usize, Claim, PaymentId)) -> Result<&'static str, StoreError> {
        match self.store.confirm_payment(&due.2, &due.1) {
            Ok(receipt) => Ok(match receipt.outcome {
                ConfirmOutcome::Sold => {
                    self.hall.sold(due.0);
                    SOLD
                }
                ConfirmOutcome::RefundRequired { .. } => "refund_required",
                ConfirmOutcome::Duplicate { .. } => "duplicate",
                ConfirmOutcome::Conflict { .. } => "conflict",
            }),
            Err(error) => {
                self.due = Some(due);
                Err(error)
            }
        }
    }
}

/// A small generator of numbers that are random enough to choose seats: SplitMix64 (Steele, Lea and
/// Flood, 2014). Each client has its own, from its number, so that every run draws alike.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 0 to `limit - 1`.
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

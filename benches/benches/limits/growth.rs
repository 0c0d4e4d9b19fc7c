//! How cost grows: with the clients, with the seats in the file, and with its payments.

use std::time::{Duration, Instant};

use benches::bulk::{self, Bulk};
use benches::comparison::{By, Comparison};
use benches::findings::Findings;
use benches::race::{Crowd, crowd};
use benches::ring::Ring;
use benches::rounds::{Round, Side, Taken, as_float, as_ns, interleaved};
use benches::scratch::{self, seat_ids};
use benches::shown::{rounded, significant, table, time};
use benches::{Error, report};
use evidence::{Figure, Term};
use soldonce::{
    ConfirmOutcome, HoldDuration, HoldOutcome, HoldRequest, PaymentId, SeatId, SeatStore as _,
    SqliteStore,
};

use crate::context::{Context, Engine, owner};
use crate::granted::only_held;

/// 1 to 256 clients.
const CLIENTS: [usize; 5] = [1, 4, 16, 64, 256];

/// Seats in the file where its payments are the question; a tenth of the payments are sales of others.
const SEATS_BESIDE_PAYMENTS: u64 = 1_000;

/// Refusals timed together: one alone is too short to time.
const REFUSALS: u32 = 100;

/// Granted holds by more and more clients of one store.
pub(crate) fn clients(context: &Context, found: &mut Findings) -> Result<(), Error> {
    let ring = Ring::new(context.scale.seats);
    let store = context.ring_store(&ring, "growth-clients", Engine::Queue.options())?;
    let mut seen: Vec<_> = CLIENTS.iter().map(|_| Crowd::empty()).collect();
    let name = |clients: usize| format!("growth/{clients} clients/granted holds");
    let sides = CLIENTS
        .into_iter()
        .zip(&mut seen)
        .map(|(clients, seen)| -> (String, Round<'_>) {
            let (ring, store) = (&ring, &store);
            let round = move || {
                let crowd = crowd(clients, context.scale.round / 3, |number| {
                    let owner = owner(number);
                    move || ring.hold(store, &owner)
                })?;
                let count = crowd.answered();
                seen.again(crowd);
                Ok(Taken {
                    count,
                    time: context.scale.round / 3,
                })
            };
            (name(clients), Box::new(round))
        })
        .collect();
    let sides = interleaved(context.scale.rounds, sides)?;
    let mut rows = Vec::new();
    for ((clients, side), seen) in CLIENTS.into_iter().zip(&sides).zip(&seen) {
        only_held(seen)?;
        found.side(side);
        found.crowd(&name(clients), seen)?;
        let wait = |quantile| time(as_float(seen.waits.value_at_quantile(quantile)));
        rows.push(vec![
            clients.to_string(),
            format!("{}/s", rounded(1e9 / side.median_ns())),
            wait(0.5),
            wait(0.99),
            time(as_ns(seen.longest)),
            significant(seen.fairness()),
        ]);
    }
    let head = [
        "clients",
        "granted holds",
        "wait, p50",
        "p99",
        "longest",
        "Jain index",
    ];
    context.tables.borrow_mut().push(table(&head, rows));
    found.audits(
        "growth/clients",
        &[report::audited("growth/clients", &store)?.1],
    );
    Ok(())
}

/// Single calls on files with more and more seats.
pub(crate) fn seats(context: &Context, found: &mut Findings) -> Result<(), Error> {
    let mut files = Vec::new();
    for size in context.scale.sizes {
        let store = context.store(&format!("growth-seats-{size}"), Engine::Queue.options())?;
        let empty = length(&store)?;
        scratch::add(&store, &seat_ids(0..size))?;
        let grown = length(&store)?;
        files.push(File {
            size,
            bytes: grown - empty,
            seats: size,
            payments: 0,
            store,
        });
    }
    single_calls(context, found, "seats", "seat", &files)
}

/// Single calls on files with more and more payments: a tenth of them sales, the rest refunds due.
pub(crate) fn payments(context: &Context, found: &mut Findings) -> Result<(), Error> {
    let mut files = Vec::new();
    for size in context
        .scale
        .sizes
        .map(|size| if size == 1 { 0 } else { size })
    {
        let store = context.store(&format!("growth-payments-{size}"), Engine::Queue.options())?;
        let (sales, buyer) = (size / 10, owner(0));
        let all = seat_ids(0..SEATS_BESIDE_PAYMENTS + sales);
        let sold = &all[..usize::try_from(sales).expect("as many seats as fit")];
        scratch::add(&store, &all)?;
        let before = length(&store)?;
        let mut bulk = Bulk::open(store.path(), store.now())?;
        bulk.hold(sold, &buyer, HoldDuration::MAX)?;
        bulk.sell(sold, &buyer, "m-paid-")?;
        bulk.refund(size - sales, &buyer, "m-late-")?;
        drop(bulk);
        let grown = length(&store)?;
        files.push(File {
            size,
            bytes: grown - before,
            seats: all.len() as u64,
            payments: size,
            store,
        });
    }
    single_calls(context, found, "payments", "payment", &files)
}

/// A file of one size.
struct File {
    /// So many of what is in question.
    size: u64,
    /// By so much the file grew with them.
    bytes: u64,
    seats: u64,
    payments: u64,
    store: SqliteStore,
}

/// The length of the file, with its log written back.
fn length(store: &SqliteStore) -> Result<u64, Error> {
    Bulk::open(store.path(), store.now())?.checkpoint()?;
    let found = std::fs::metadata(store.path()).map_err(Error::file(store.path()))?;
    Ok(found.len())
}

/// Times holds, confirms and refusals on each file in turn, and shows them beside each other.
fn single_calls(
    context: &Context,
    found: &mut Findings,
    things: &str,
    thing: &str,
    files: &[File],
) -> Result<(), Error> {
    let mut timed = Vec::new();
    for file in files {
        timed.push(Calls::prepare(context, file)?);
    }
    for _ in 0..context.scale.rounds {
        for (file, calls) in files.iter().zip(&mut timed) {
            calls.round(context, &file.store)?;
        }
    }
    let mut rows = Vec::new();
    for (file, calls) in files.iter().zip(&timed) {
        let name = |call: &str| format!("growth/{} {things}/{call}", file.size);
        let mut row = vec![rounded(as_float(file.size))];
        for (call, rounds) in [
            ("hold", &calls.hold),
            ("confirm", &calls.confirm),
            ("refusal", &calls.refusal),
        ] {
            let side = Side::new(name(call), rounds.clone());
            row.push(time(side.median_ns()));
            found.side(&side);
        }
        if file.size > 1 {
            row.push(rounded(as_float(file.bytes) / as_float(file.size)));
            found.statement().figure(Figure::ratio(
                format!("bytes per {thing}, {} {things}", file.size),
                "By",
                Term::measured("growth of the file", as_float(file.bytes)),
                Term::measured(things, as_float(file.size)),
            ));
        } else {
            row.push(String::new());
        }
        rows.push(row);
    }
    let bytes = format!("bytes per {thing}");
    let head = [things, "hold", "confirm", "refusal", &bytes];
    context.tables.borrow_mut().push(table(&head, rows));
    ends(found, things, files, &timed);
    let mut audits = Vec::new();
    for file in files {
        audits.push(report::audited(things, &file.store)?.1);
    }
    found.audits(&format!("growth/{things}"), &audits);
    Ok(())
}

/// The largest file against the smallest.
fn ends(found: &mut Findings, things: &str, files: &[File], timed: &[Calls]) {
    let (Some((small, least)), Some((large, most))) = (
        files.iter().zip(timed).next(),
        files.iter().zip(timed).next_back(),
    ) else {
        return;
    };
    let beside = format!("the same with {}", small.size);
    for (call, least, most) in [
        ("hold", &least.hold, &most.hold),
        ("confirm", &least.confirm, &most.confirm),
        ("refusal", &least.refusal, &most.refusal),
    ] {
        let side = |file: &File, rounds: &[Taken]| {
            Side::new(
                format!("growth/{} {things}/{call}", file.size),
                rounds.to_vec(),
            )
        };
        found.compare(Comparison {
            what: &format!("{call} with {} {things}", rounded(as_float(large.size))),
            by: By::Time,
            ours: &side(large, most),
            yardstick: &side(small, least),
            beside: &beside,
            aim: None,
        });
    }
}

/// Single calls on one file, and how long they took.
struct Calls {
    /// Free seats that lie evenly among the others, each to be held and sold once.
    seats: std::vec::IntoIter<SeatId>,
    /// Payments that lie evenly among the others.
    payments: std::vec::IntoIter<PaymentId>,
    /// A seat that somebody holds.
    held: SeatId,
    hold: Vec<Taken>,
    confirm: Vec<Taken>,
    refusal: Vec<Taken>,
}

impl Calls {
    fn prepare(context: &Context, file: &File) -> Result<Self, Error> {
        let count = context.scale.singles * context.scale.rounds as u64;
        // An `x` behind a number is a name of its own right behind the one with that number.
        let spread = |of: u64| (0..=count).map(move |number| number * of / (count + 1));
        let mut seats: Vec<SeatId> = spread(file.seats)
            .zip(0_u64..)
            .map(|(place, number)| {
                SeatId::new(format!("{}x{number:07}", scratch::seat_id(place)))
                    .expect("a short name")
            })
            .collect();
        let payments: Vec<PaymentId> = spread(file.payments)
            .zip(0_u64..)
            .map(|(place, number)| {
                PaymentId::new(format!("m-late-{place:07}x{number:07}")).expect("a short name")
            })
            .collect();
        scratch::add(&file.store, &seats)?;
        let held = seats.remove(seats.len() / 2);
        let mut bulk = Bulk::open(file.store.path(), file.store.now())?;
        bulk.hold(std::slice::from_ref(&held), &owner(1), HoldDuration::MAX)?;
        bulk.checkpoint()?;
        Ok(Self {
            seats: seats.into_iter(),
            payments: payments.into_iter(),
            held,
            hold: Vec::new(),
            confirm: Vec::new(),
            refusal: Vec::new(),
        })
    }

    fn round(&mut self, context: &Context, store: &SqliteStore) -> Result<(), Error> {
        let buyer = owner(0);
        let request = |seat: &SeatId| HoldRequest {
            seat: seat.clone(),
            owner: buyer.clone(),
            ttl: HoldDuration::MAX,
        };
        let (mut holding, mut paying) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..context.scale.singles {
            let seat = self.seats.next().expect("as many as there are calls");
            let payment = self.payments.next().expect("as many as there are calls");
            let (request, claim) = (request(&seat), bulk::first_claim(&seat, &buyer));
            let began = Instant::now();
            let held = store.hold(&request).map_err(Error::store("holding"))?;
            holding += began.elapsed();
            let began = Instant::now();
            let sold = store
                .confirm_payment(&payment, &claim)
                .map_err(Error::store("confirming"))?;
            paying += began.elapsed();
            match (&held.outcome, &sold.outcome) {
                (HoldOutcome::Held { .. }, ConfirmOutcome::Sold) => {}
                (held, sold) => {
                    return Err(unexpected(
                        "Held, then Sold",
                        &format!("{held}, then {sold}"),
                    ));
                }
            }
        }
        let request = request(&self.held);
        let began = Instant::now();
        for _ in 0..REFUSALS {
            let answer = store.hold(&request).map_err(Error::store("refusing"))?;
            if !matches!(answer.outcome, HoldOutcome::Refused(_)) {
                return Err(unexpected("Refused", &answer.outcome.to_string()));
            }
        }
        let refusal = began.elapsed();
        let taken = |count: u64, time| Taken { count, time };
        self.hold.push(taken(context.scale.singles, holding));
        self.confirm.push(taken(context.scale.singles, paying));
        self.refusal.push(taken(u64::from(REFUSALS), refusal));
        Ok(())
    }
}

fn unexpected(expected: &'static str, got: &str) -> Error {
    Error::Answer {
        doing: "making single calls",
        expected,
        got: got.to_owned(),
    }
}

//! What one call costs, and an audit: hold granted and refused, confirm, duplicate, and the audit of
//! 50,000 seats and 100,000 payments, on a real file with `synchronous = FULL`.
//!
//! `cargo bench` measures and writes evidence. With `--test`, and under `cargo test`, everything runs
//! once and nothing is written.

use std::cell::{Cell, OnceCell, RefCell};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use benches::bulk::{self, Bulk};
use benches::scratch::{self, Scratch, seat_ids};
use benches::{Arguments, Error, Mode, exit, report, saved, stop};
use criterion::{Bencher, Criterion, SamplingMode};
use evidence::{Law, Reference, Verdict};
use soldonce::{
    ConfirmOutcome, HoldDuration, HoldOutcome, HoldRequest, OwnerId, PaymentId, SeatId,
    SeatStore as _, SqliteStore,
};

/// The size of the file that is audited.
const AUDITED_SEATS: u64 = 50_000;
const AUDITED_SALES: u64 = 25_000;
const AUDITED_REFUNDS: u64 = 75_000;

/// Seats that are there besides those that are measured, so that the tree has some depth.
const OTHER_SEATS: u64 = 50_000;

fn main() -> ExitCode {
    exit(run)
}

fn run() -> Result<Option<Verdict>, Error> {
    let arguments =
        Arguments::of_this_process("What one call of the seat store costs, and an audit")?;
    let mut statement = report::begin(&arguments);
    let (started, clock) = (SystemTime::now(), Instant::now());
    let scratch = Scratch::below(env!("CARGO_TARGET_TMPDIR"));
    let benches = Benches::new(&scratch);

    let mut criterion = Criterion::default().configure_from_args();
    hold(&mut criterion, &benches);
    confirm(&mut criterion, &benches);
    audit(&mut criterion, &benches);
    criterion.final_summary();

    let ids = benches.measured.into_inner();
    if !arguments.keeps_samples() || ids.is_empty() {
        if arguments.mode == Mode::Measure {
            println!("nothing was measured and kept, so no evidence is written");
        }
        return Ok(None);
    }
    statement.measured(clock.elapsed());
    for saved in saved::read(&saved::folder(), &ids, started)? {
        statement.benchmark(saved.id, saved.samples);
    }
    if let Some(calls) = benches.calls.into_inner() {
        let (snapshot, check) = report::audited("the file of the calls", &calls.store)?;
        let sold = |seat: &&soldonce::Seat| seat.state.kind() == soldonce::SeatStateKind::Sold;
        statement
            .database(report::database(&calls.store))
            .check(check)
            .count("sales_answered", calls.sales.get())
            .count(
                "seats_sold",
                snapshot.seats.iter().filter(sold).count() as u64,
            )
            .law(Law::new(
                "each sale answered is one seat sold",
                "sales answered = seats sold",
                vec![Reference::Count("sales_answered".into())],
                vec![Reference::Count("seats_sold".into())],
            ));
    }
    if let Some(large) = benches.large.into_inner() {
        let (_, check) = report::audited("the file that is audited", &large)?;
        statement.database(report::database(&large)).check(check);
    }
    statement
        .config("clients", 1)
        .config("other_seats", OTHER_SEATS)
        .config("audited_seats", AUDITED_SEATS)
        .config("audited_payments", AUDITED_SALES + AUDITED_REFUNDS);
    report::write(statement, Path::new("runs")).map(Some)
}

/// The databases, made when the first bench that needs them runs, and the ids of all that ran.
struct Benches<'run> {
    scratch: &'run Scratch,
    calls: OnceCell<Calls>,
    large: OnceCell<SqliteStore>,
    measured: RefCell<Vec<String>>,
}

/// The database that is called.
struct Calls {
    store: SqliteStore,
    owner: OwnerId,
    /// The number of the next new seat.
    next: Cell<u64>,
    /// How often a payment was answered with a sale.
    sales: Cell<u64>,
}

impl<'run> Benches<'run> {
    fn new(scratch: &'run Scratch) -> Self {
        Self {
            scratch,
            calls: OnceCell::new(),
            large: OnceCell::new(),
            measured: RefCell::default(),
        }
    }

    /// Notes that this benchmark runs. Criterion calls it for every sample.
    fn ran(&self, id: &str) {
        let mut measured = self.measured.borrow_mut();
        if !measured.iter().any(|known| known == id) {
            measured.push(id.to_owned());
        }
    }

    fn calls(&self) -> &Calls {
        self.calls
            .get_or_init(|| Calls::make(self.scratch).unwrap_or_else(|error| stop(error)))
    }

    fn large(&self) -> &SqliteStore {
        self.large
            .get_or_init(|| make_large(self.scratch).unwrap_or_else(|error| stop(error)))
    }
}

fn make_large(scratch: &Scratch) -> Result<SqliteStore, Error> {
    let store = scratch.store("large", SqliteStore::options())?;
    let (seats, owner) = (seat_ids(0..AUDITED_SEATS), owner("buyer"));
    scratch::add(&store, &seats)?;
    let mut bulk = Bulk::open(store.path(), store.now())?;
    let sold = seats
        .iter()
        .step_by(usize::try_from(AUDITED_SEATS / AUDITED_SALES).expect("small"))
        .cloned()
        .collect::<Vec<_>>();
    bulk.hold(&sold, &owner, HoldDuration::MAX)?;
    bulk.sell(&sold, &owner, "paid-")?;
    bulk.refund(AUDITED_REFUNDS, &owner, "late-")?;
    bulk.checkpoint()?;
    Ok(store)
}

fn owner(name: &str) -> OwnerId {
    OwnerId::new(name).expect("a short name")
}

impl Calls {
    fn make(scratch: &Scratch) -> Result<Self, Error> {
        let store = scratch.store("calls", SqliteStore::options())?;
        scratch::add(&store, &seat_ids(0..OTHER_SEATS))?;
        Ok(Self {
            store,
            owner: owner("buyer"),
            next: Cell::new(OTHER_SEATS),
            sales: Cell::new(0),
        })
    }

    /// New seats, each free.
    fn free(&self, count: u64) -> Result<Vec<SeatId>, Error> {
        let first = self.next.get();
        self.next.set(first + count);
        let seats = seat_ids(first..first + count);
        scratch::add(&self.store, &seats)?;
        Ok(seats)
    }

    /// New seats, each held by the buyer for as long as can be.
    fn held(&self, count: u64) -> Result<Vec<SeatId>, Error> {
        let seats = self.free(count)?;
        Bulk::open(self.store.path(), self.store.now())?.hold(
            &seats,
            &self.owner,
            HoldDuration::MAX,
        )?;
        Ok(seats)
    }

    fn hold(&self, seat: &SeatId, owner: &OwnerId, expected: &'static str) -> Result<(), Error> {
        let request = HoldRequest {
            seat: seat.clone(),
            owner: owner.clone(),
            ttl: HoldDuration::MAX,
        };
        let answer = self.store.hold(&request).map_err(Error::store("holding"))?;
        let as_expected = match answer.outcome {
            HoldOutcome::Held { .. } => expected == HELD,
            HoldOutcome::Refused(_) => expected == REFUSED,
            HoldOutcome::AlreadyHeld { .. } => false,
        };
        check("holding a seat", expected, as_expected, &answer.outcome)
    }

    fn pay(&self, seat: &SeatId, payment: &PaymentId, expected: &'static str) -> Result<(), Error> {
        let claim = bulk::first_claim(seat, &self.owner);
        let answer = self
            .store
            .confirm_payment(payment, &claim)
            .map_err(Error::store("confirming"))?;
        let as_expected = match answer.outcome {
            ConfirmOutcome::Sold => {
                self.sales.set(self.sales.get() + 1);
                expected == SOLD
            }
            ConfirmOutcome::Duplicate { .. } => expected == DUPLICATE,
            ConfirmOutcome::RefundRequired { .. } | ConfirmOutcome::Conflict { .. } => false,
        };
        check(
            "confirming a payment",
            expected,
            as_expected,
            &answer.outcome,
        )
    }
}

const HELD: &str = "Held";
const REFUSED: &str = "Refused";
const SOLD: &str = "Sold";
const DUPLICATE: &str = "Duplicate";

fn check(
    doing: &'static str,
    expected: &'static str,
    as_expected: bool,
    got: &impl ToString,
) -> Result<(), Error> {
    if as_expected {
        return Ok(());
    }
    Err(Error::Answer {
        doing,
        expected,
        got: got.to_string(),
    })
}

/// Times `calls` calls that are prepared first.
fn timed<T>(
    bencher: &mut Bencher<'_>,
    prepare: impl Fn(u64) -> Result<Vec<T>, Error>,
    call: impl Fn(&T) -> Result<(), Error>,
) {
    bencher.iter_custom(|calls| {
        let all = || -> Result<Duration, Error> {
            let prepared = prepare(calls)?;
            let started = Instant::now();
            prepared.iter().try_for_each(&call)?;
            Ok(started.elapsed())
        };
        all().unwrap_or_else(|error| stop(error))
    });
}

fn hold(criterion: &mut Criterion, benches: &Benches<'_>) {
    let mut group = criterion.benchmark_group("hold");
    group.bench_function("granted", |bencher| {
        benches.ran("hold/granted");
        let calls = benches.calls();
        timed(
            bencher,
            |count| calls.free(count),
            |seat| calls.hold(seat, &calls.owner, HELD),
        );
    });
    let taken = OnceCell::new();
    group.bench_function("refused", |bencher| {
        benches.ran("hold/refused");
        let calls = benches.calls();
        let seat =
            taken.get_or_init(|| calls.held(1).unwrap_or_else(|error| stop(error)).remove(0));
        let rival = owner("rival");
        bencher.iter(|| {
            calls
                .hold(seat, &rival, REFUSED)
                .unwrap_or_else(|error| stop(error));
        });
    });
    group.finish();
}

fn confirm(criterion: &mut Criterion, benches: &Benches<'_>) {
    let mut group = criterion.benchmark_group("confirm");
    let payment = |seat: &SeatId| PaymentId::new(format!("p-{seat}")).expect("a short name");
    group.bench_function("sold", |bencher| {
        benches.ran("confirm/sold");
        let calls = benches.calls();
        timed(
            bencher,
            |count| {
                let seats = calls.held(count)?.into_iter();
                Ok(seats.map(|seat| (payment(&seat), seat)).collect())
            },
            |(payment, seat)| calls.pay(seat, payment, SOLD),
        );
    });
    let paid = OnceCell::new();
    group.bench_function("duplicate", |bencher| {
        benches.ran("confirm/duplicate");
        let calls = benches.calls();
        let (payment, seat) = paid.get_or_init(|| {
            let pay = || -> Result<_, Error> {
                let seat = calls.held(1)?.remove(0);
                let payment = payment(&seat);
                calls.pay(&seat, &payment, SOLD)?;
                Ok((payment, seat))
            };
            pay().unwrap_or_else(|error| stop(error))
        });
        bencher.iter(|| {
            calls
                .pay(seat, payment, DUPLICATE)
                .unwrap_or_else(|error| stop(error));
        });
    });
    group.finish();
}

fn audit(criterion: &mut Criterion, benches: &Benches<'_>) {
    let mut group = criterion.benchmark_group("audit");
    // Some hundred milliseconds each: as many iterations in every sample, and few of them.
    group.sampling_mode(SamplingMode::Flat).sample_size(20);
    group.bench_function("150000 rows", |bencher| {
        benches.ran("audit/150000 rows");
        let large = benches.large();
        bencher.iter(|| {
            let found = large
                .audit()
                .unwrap_or_else(|error| stop(Error::store("auditing")(error)));
            if let Some(first) = found.first() {
                stop(Error::Answer {
                    doing: "auditing",
                    expected: "no violation",
                    got: first.to_string(),
                });
            }
        });
    });
    group.finish();
}

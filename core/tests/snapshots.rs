//! What changes nothing is answered from a snapshot.

mod common;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use common::{Bench, claim, hold_request, payment_id, seat_id, t};
use soldonce::{
    Clock, Commit, ManualClock, ReleaseOutcome, SeatId, SeatStore, SqliteStore, StoreError,
    Timestamp,
};

#[test]
fn what_changes_nothing_waits_for_no_writer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clock = Arc::new(ManualClock::at(t(0)));
    let store = SqliteStore::options()
        .clock(clock.clone())
        .open(folder.path().join("seats.sqlite"))
        .expect("the store opens");
    store
        .add_seats(&["s0", "s1", "s2"].map(seat_id))
        .expect("seats are added");
    let done = |answer: Result<String, StoreError>| answer.expect("answered without the lock");
    let hold = |seat: &str, owner: &str| {
        let held = store.hold(&hold_request(seat, owner));
        held.map(|receipt| receipt.outcome.to_string())
    };
    let release = |seat: &str, owner: &str, hold_id: i64| {
        let released = store.release(&claim(seat, owner, hold_id));
        released.map(|receipt| receipt.outcome.to_string())
    };
    let pay = |payment: &str, seat: &str, owner: &str, hold_id: i64| {
        let paid = store.confirm_payment(&payment_id(payment), &claim(seat, owner, hold_id));
        paid.map(|receipt| receipt.outcome.to_string())
    };
    assert_eq!(done(hold("s0", "A")), "Held(h1 until 10 ms)");
    assert_eq!(done(pay("p", "s0", "A", 1)), "Sold");
    assert_eq!(done(hold("s1", "A")), "Held(h1 until 10 ms)");
    assert_eq!(done(pay("q", "s1", "B", 1)), "RefundRequired(WrongOwner)");
    let lock = rusqlite::Connection::open(store.path()).expect("the file opens");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("the lock is free");
    clock.set(t(1));
    assert_eq!(done(hold("s0", "B")), "Refused(Sold)");
    assert_eq!(done(hold("s1", "B")), "Refused(HeldUntil 10 ms)");
    assert_eq!(done(hold("s1", "A")), "AlreadyHeld(h1 until 10 ms)");
    assert_eq!(done(release("s1", "B", 1)), "NotHeld");
    assert_eq!(done(release("s1", "0", 1)), "NotHeld"); // a name that sorts lower
    assert_eq!(done(release("s1", "A", 7)), "NotHeld");
    assert_eq!(done(release("s1", "A", 0)), "NotHeld");
    assert_eq!(done(release("s0", "A", 1)), "NotHeld");
    assert_eq!(done(release("nowhere", "A", 1)), "NotHeld");
    assert_eq!(done(pay("p", "s0", "A", 1)), "Duplicate");
    assert_eq!(done(pay("q", "s1", "B", 1)), "RefundRequired(WrongOwner)");
    assert_eq!(done(pay("q", "s2", "B", 1)), "Conflict");
}

#[test]
fn without_the_queue_every_command_takes_the_write_lock() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SqliteStore::options()
        .commit(Commit::PerCall)
        .busy_timeout(Duration::from_millis(20))
        .open(folder.path().join("seats.sqlite"))
        .expect("the store opens");
    store.add_seats(&[seat_id("s0")]).expect("a seat is added");
    let lock = rusqlite::Connection::open(store.path()).expect("the file opens");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("the lock is free");
    let refused = store.release(&claim("s0", "A", 1));
    assert!(
        matches!(refused, Err(StoreError::Busy { .. })),
        "{refused:?}"
    );
    lock.execute_batch("ROLLBACK").expect("let go");
    let told = store.release(&claim("s0", "A", 1)).expect("answered");
    assert_eq!(told.outcome, ReleaseOutcome::NotHeld);
}

/// Somebody else gives the seat back at the moment at which this clock is read.
struct WhileTheClockIsRead(OnceLock<SqliteStore>);

impl Clock for WhileTheClockIsRead {
    fn now(&self) -> Timestamp {
        if let Some(other) = self.0.get() {
            let _ = other.release(&claim("s1", "A", 1));
        }
        t(0)
    }
}

/// Version 1 is the hold; 2 is what the clock's reading makes of the seat.
#[track_caller]
fn is_of_the_snapshot_before_the_clock<T>(
    ask: impl FnOnce(&SqliteStore) -> Result<soldonce::Receipt<T>, StoreError>,
) {
    let bench = Bench::new();
    let held = bench.store.hold(&hold_request("s1", "A")).expect("free");
    assert_eq!(held.version.get(), 1);
    let late = bench
        .store
        .confirm_payment(&payment_id("p"), &claim("s1", "B", 1));
    assert_eq!(late.expect("recorded").version.get(), 1);
    let clock = Arc::new(WhileTheClockIsRead(OnceLock::new()));
    let store = SqliteStore::options()
        .clock(clock.clone())
        .open(bench.path())
        .expect("the store opens");
    assert!(clock.0.set(bench.store).is_ok());
    assert_eq!(ask(&store).expect("answered").version.get(), 1);
    let after = clock.0.get().expect("set").seat(&seat_id("s1"));
    assert_eq!(after.expect("read").version.get(), 2, "the clock was read");
}

#[test]
fn the_clock_is_read_after_the_snapshot_was_taken() {
    is_of_the_snapshot_before_the_clock(|store| store.hold(&hold_request("s1", "B")));
    is_of_the_snapshot_before_the_clock(|store| store.release(&claim("s1", "B", 1)));
    is_of_the_snapshot_before_the_clock(|store| {
        store.confirm_payment(&payment_id("p"), &claim("s1", "B", 1))
    });
    is_of_the_snapshot_before_the_clock(|store| store.seat(&seat_id("s1")));
    is_of_the_snapshot_before_the_clock(|store| store.payment(&payment_id("p")));
}

/// How long a look may be in vain, and how often in a row before it is left out: see `looks.rs`.
const PATIENCE: Duration = Duration::from_millis(200);
const MANY: usize = 100;

/// A store that waits that long for the lock, with many seats that `A` holds.
fn held_seats() -> (tempfile::TempDir, SqliteStore, Vec<SeatId>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SqliteStore::options()
        .clock(ManualClock::at(t(0)))
        .busy_timeout(PATIENCE)
        .open(folder.path().join("seats.sqlite"))
        .expect("the store opens");
    let seats: Vec<_> = (0..MANY).map(|n| seat_id(&format!("s{n}"))).collect();
    store.add_seats(&seats).expect("seats are added");
    for seat in &seats {
        let held = store.hold(&hold_request(seat.as_str(), "A")).expect("free");
        assert_eq!(held.version.get(), 1);
    }
    (folder, store, seats)
}

/// With the lock taken: is a call that changes nothing answered at once, or did it ask the writer first?
fn asks_the_writer<T>(
    store: &SqliteStore,
    call: impl FnOnce() -> Result<soldonce::Receipt<T>, StoreError>,
) -> bool {
    let lock = rusqlite::Connection::open(store.path()).expect("the file opens");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("the lock is free");
    let began = std::time::Instant::now();
    let took = call().map(|_| began.elapsed());
    took.expect("answered from a snapshot, first or last") >= PATIENCE
}

#[test]
fn a_kind_of_call_that_always_changes_something_asks_the_writer_first_and_no_other_kind_does() {
    let (_folder, store, seats) = held_seats();
    let hold = || store.hold(&hold_request("s1", "B"));
    let release = || store.release(&claim("s1", "B", 1));
    let pay = || store.confirm_payment(&payment_id("p0"), &claim("s0", "A", 1));
    assert!(asks_the_writer(&store, hold), "every hold was granted");
    assert!(!asks_the_writer(&store, release), "no release was");
    for (number, seat) in seats.iter().enumerate().take(MANY - 10) {
        let payment = payment_id(&format!("p{number}"));
        let paid = store.confirm_payment(&payment, &claim(seat.as_str(), "A", 1));
        assert_eq!(paid.expect("in time").version.get(), 2);
    }
    assert!(asks_the_writer(&store, pay), "every payment was new");
    assert!(!asks_the_writer(&store, release), "still no release was");

    let (_folder, store, seats) = held_seats();
    let release = || store.release(&claim("s1", "B", 1));
    let pay = || store.payment(&payment_id("p0"));
    for seat in &seats {
        let released = store.release(&claim(seat.as_str(), "A", 1));
        assert_eq!(released.expect("held").version.get(), 2);
    }
    assert!(asks_the_writer(&store, release), "every release was one");
    assert!(!asks_the_writer(&store, pay), "a read asks nobody");
}

#[test]
fn payments_are_read_in_the_order_in_which_they_were_decided() {
    let bench = Bench::new();
    let order = ["c", "a", "d", "b"];
    for payment in order {
        let _ = bench.pay_at(0, payment, &claim("s1", "A", 1));
    }
    let snapshot = bench.store.snapshot().expect("read");
    let read: Vec<_> = snapshot
        .payments
        .iter()
        .map(|record| record.payment.as_str())
        .collect();
    assert_eq!(read, order);
}

#[test]
fn everything_is_read_as_of_one_instant() {
    let (_folder, store, seats) = held_seats();
    let sold = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (number, seat) in seats.iter().enumerate() {
                let payment = payment_id(&format!("p{number}"));
                let paid = store.confirm_payment(&payment, &claim(seat.as_str(), "A", 1));
                assert_eq!(paid.expect("in time").version.get(), 2);
                sold.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        });
        let mut between = 0;
        while sold.load(std::sync::atomic::Ordering::SeqCst) < MANY {
            let before = sold.load(std::sync::atomic::Ordering::SeqCst);
            assert_eq!(store.audit().expect("read"), []);
            between += usize::from(before < sold.load(std::sync::atomic::Ordering::SeqCst));
        }
        assert!(between > 5, "hardly a sale came between two reads");
    });
}

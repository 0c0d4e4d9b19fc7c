//! What the tests of the store share: a fresh file, a clock set by hand, and short constructors.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use soldonce::{
    Claim, Commit, ConfirmOutcome, HoldDuration, HoldId, HoldOutcome, HoldRequest, ManualClock,
    OwnerId, PaymentId, Receipt, ReleaseOutcome, SeatId, SeatStore, SqliteStore, StoreError,
    Timestamp,
};

pub const TTL: i64 = 10;

pub fn t(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(millis).expect("a valid time")
}

pub fn seat_id(id: &str) -> SeatId {
    SeatId::new(id).expect("a valid seat id")
}

pub fn payment_id(id: &str) -> PaymentId {
    PaymentId::new(id).expect("a valid payment id")
}

pub fn claim(seat: &str, owner: &str, hold_id: i64) -> Claim {
    Claim {
        seat: seat_id(seat),
        owner: OwnerId::new(owner).expect("a valid owner id"),
        hold_id: HoldId::new(hold_id).expect("a valid hold id"),
    }
}

pub fn hold_request(seat: &str, owner: &str) -> HoldRequest {
    HoldRequest {
        seat: seat_id(seat),
        owner: OwnerId::new(owner).expect("a valid owner id"),
        ttl: HoldDuration::from_millis(TTL).expect("a valid length"),
    }
}

pub const QUEUE: Commit = Commit::Queue { most: 64 };

/// A store with `seats` seats named s0, s1, ...; its clock stands at 0.
pub fn store(folder: &Path, commit: Commit, seats: usize) -> (SqliteStore, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(t(0)));
    let store = SqliteStore::options()
        .commit(commit)
        .clock(clock.clone())
        .open(folder.join("seats.sqlite"))
        .expect("the store opens");
    let seats: Vec<_> = (0..seats)
        .map(|number| seat_id(&format!("s{number}")))
        .collect();
    store.add_seats(&seats).expect("seats are added");
    (store, clock)
}

/// A store on a file of its own with the seats s1 and s2, and a clock that stands at 0.
pub struct Bench {
    folder: tempfile::TempDir,
    pub clock: Arc<ManualClock>,
    pub store: SqliteStore,
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let clock = Arc::new(ManualClock::at(t(0)));
        let store = open(&folder.path().join("seats.sqlite"), &clock);
        store
            .add_seats(&[seat_id("s1"), seat_id("s2")])
            .expect("seats are added");
        Self {
            folder,
            clock,
            store,
        }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("seats.sqlite")
    }

    /// A connection of its own, past the store.
    pub fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).expect("the file opens")
    }

    pub fn reopen(&mut self) {
        self.store = open(&self.path(), &self.clock);
    }

    pub fn hold_at(&self, now: i64, seat: &str, owner: &str) -> Receipt<HoldOutcome> {
        self.clock.set(t(now));
        self.store
            .hold(&hold_request(seat, owner))
            .expect("an answer")
    }

    /// Holds, and takes no refusal.
    pub fn held_at(&self, now: i64, seat: &str, owner: &str) -> Claim {
        match self.hold_at(now, seat, owner).outcome {
            HoldOutcome::Held { hold_id, .. } => claim(seat, owner, hold_id.get()),
            other => panic!("{owner} wanted {seat}, but {other}"),
        }
    }

    pub fn release_at(&self, now: i64, claim: &Claim) -> Receipt<ReleaseOutcome> {
        self.clock.set(t(now));
        self.store.release(claim).expect("an answer")
    }

    pub fn pay_at(&self, now: i64, payment: &str, claim: &Claim) -> Receipt<ConfirmOutcome> {
        self.clock.set(t(now));
        self.store
            .confirm_payment(&payment_id(payment), claim)
            .expect("an answer")
    }

    pub fn audit_finds_nothing(&self) {
        assert_eq!(self.store.audit().expect("the audit runs"), []);
    }
}

fn open(path: &std::path::Path, clock: &Arc<ManualClock>) -> SqliteStore {
    SqliteStore::options()
        .pool_size(2)
        .clock(clock.clone())
        .open(path)
        .expect("the store opens")
}

/// A store on the bench's file that gives up at once when the write lock is taken.
pub fn impatient(bench: &Bench) -> SqliteStore {
    SqliteStore::options()
        .pool_size(1)
        .busy_timeout(Duration::from_millis(50))
        .clock(bench.clock.clone())
        .open(bench.path())
        .expect("the store opens")
}

/// The one line that a person would see.
pub fn one_line(error: &StoreError) -> String {
    let line = error.to_string();
    assert!(!line.contains('\n'), "more than one line: {line}");
    line
}

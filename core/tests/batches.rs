//! What goes wrong in a batch of the commit queue costs nobody else, and nobody is told a false no.

mod common;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, mpsc};
use std::time::{Duration, Instant};

use common::{QUEUE, claim, hold_request, payment_id, seat_id, store, t};
use soldonce::{
    Clock, Commits, ConfirmOutcome, HoldDuration, HoldOutcome, ReleaseOutcome, SeatStore,
    SqliteStore, StoreError, Timestamp,
};

/// Holds the write lock while `callers` line up, so that they all land in one batch; then lets go.
fn all_in_one_batch<T: Send>(
    file: &Path,
    callers: Vec<Box<dyn FnOnce() -> T + Send + '_>>,
) -> Vec<T> {
    let lock = rusqlite::Connection::open(file).expect("the file opens");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("the lock is free");
    std::thread::scope(|scope| {
        let threads: Vec<_> = callers
            .into_iter()
            .map(|caller| scope.spawn(caller))
            .collect();
        std::thread::sleep(Duration::from_millis(300));
        lock.execute_batch("ROLLBACK").expect("let go");
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    })
}

/// This payment can not be recorded, for a reason that SQLite gives like this.
fn no_ink(file: &Path, payment: &str, reason: &str) {
    let trigger = format!(
        "CREATE TRIGGER no_ink BEFORE INSERT ON payments WHEN new.payment_id = {payment}
         BEGIN SELECT {reason}; END"
    );
    rusqlite::Connection::open(file)
        .and_then(|raw| raw.execute_batch(&trigger))
        .expect("made");
}

#[test]
fn a_statement_that_fails_in_a_batch_costs_only_its_own_caller() {
    // A constraint, and an error of SQLite's own that ends the statement but not the transaction.
    for (reason, says) in [
        ("raise(ABORT, 'no ink')", "Corrupt"),
        ("abs(-9223372036854775807 - 1)", "Database"),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (store, _) = store(folder.path(), QUEUE, 12);
        for number in 0..12 {
            let held = store
                .hold(&hold_request(&format!("s{number}"), "A"))
                .expect("an answer");
            assert!(matches!(held.outcome, HoldOutcome::Held { .. }));
        }
        no_ink(store.path(), "'p5'", reason);
        let pay = |number: i32| -> Box<dyn FnOnce() -> _ + Send + '_> {
            let store = &store;
            Box::new(move || {
                let claim = claim(&format!("s{number}"), "A", 1);
                (
                    number,
                    store.confirm_payment(&payment_id(&format!("p{number}")), &claim),
                )
            })
        };
        let mut failed = Vec::new();
        for (number, answer) in all_in_one_batch(store.path(), (0..12).map(pay).collect()) {
            match answer {
                Ok(receipt) => assert_eq!(receipt.outcome, ConfirmOutcome::Sold, "p{number}"),
                Err(error @ (StoreError::Corrupt { .. } | StoreError::Database { .. })) => {
                    assert!(format!("{error:?}").starts_with(says), "{error:?}");
                    failed.push(number);
                }
                Err(other) => panic!("p{number}: {other:?}"),
            }
        }
        assert_eq!(failed, [5]);
        let sold = store.snapshot().expect("a snapshot").payments;
        assert_eq!(sold.len(), 11);
        assert_eq!(store.audit().expect("the audit runs"), []);
    }
}

/// A commit that holds s0 fails when it is sent, and with it whatever it holds besides.
fn no_commit_with_s0(file: &Path) {
    rusqlite::Connection::open(file)
        .and_then(|raw| {
            raw.execute_batch(
                "CREATE TABLE nowhere (at INTEGER REFERENCES nowhere (id) DEFERRABLE INITIALLY DEFERRED,
                     id INTEGER UNIQUE);
                 CREATE TRIGGER fails AFTER UPDATE ON seats WHEN new.seat_id = 's0'
                 BEGIN INSERT INTO nowhere (at) VALUES (1); END",
            )
        })
        .expect("planted");
}

#[test]
fn a_commit_that_failed_is_unknown_to_all_of_its_batch_and_not_made_up_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, _) = store(folder.path(), QUEUE, 12);
    no_commit_with_s0(store.path());
    let before = store.commits();
    let hold = |number: i32| -> Box<dyn FnOnce() -> _ + Send + '_> {
        let seat = format!("s{number}");
        let store = &store;
        Box::new(move || (seat_id(&seat), store.hold(&hold_request(&seat, "A"))))
    };
    let (mut held, mut unknown) = (0, 0);
    for (seat, answer) in all_in_one_batch(store.path(), (0..12).map(hold).collect()) {
        let now = store.seat(&seat).expect("an answer").version.get();
        match answer {
            // Who came too late for the batch.
            Ok(_) => {
                assert_eq!(now, 1, "{seat}");
                held += 1;
            }
            Err(StoreError::Unknown(_)) => {
                assert_eq!(now, 0, "{seat} is held by somebody who does not know");
                unknown += 1;
            }
            Err(other) => panic!("{seat}: {other:?}"),
        }
    }
    assert!(unknown > 1, "s0 was alone in its batch");
    let after = store.commits();
    assert_eq!(after.calls - before.calls, held, "what failed is no commit");
}

/// A log that does this at each event of this level.
struct At<F>(tracing::Level, F);

impl<F: Fn() + 'static> tracing::Subscriber for At<F> {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == self.0
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        (self.1)();
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn who_leads_and_panics_after_its_commit_was_sent_leaves_nobody_with_a_false_no() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, _) = store(folder.path(), QUEUE, 12);
    no_commit_with_s0(store.path());
    let hold = |number: i32| -> Box<dyn FnOnce() -> _ + Send + '_> {
        let store = &store;
        Box::new(move || {
            let request = hold_request(&format!("s{number}"), "A");
            let log = At(tracing::Level::WARN, || panic!("the log breaks"));
            let hold = || tracing::subscriber::with_default(log, || store.hold(&request));
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(hold))
        })
    };
    let (mut panicked, mut unknown) = (0, 0);
    for answer in all_in_one_batch(store.path(), (0..12).map(hold).collect()) {
        match answer {
            Err(_) => panicked += 1,
            Ok(Ok(_)) => {}
            Ok(Err(StoreError::Unknown(_))) => unknown += 1,
            Ok(Err(other)) => panic!("the commit was sent: {other:?}"),
        }
    }
    assert_eq!(panicked, 1, "the leader");
    assert!(unknown > 0, "s0 was alone in its batch");
    let held = store.hold(&hold_request("s1", "A")).expect("an answer");
    assert!(!matches!(held.outcome, HoldOutcome::Refused(_)));
}

/// Sixteen callers whose batch breaks up; before it is run one by one somebody else takes the lock, and keeps it
/// so long, or until all have their answers.
fn one_by_one_beside_another(
    timeout: Duration,
    keeps: Option<Duration>,
) -> Vec<Result<(), StoreError>> {
    const CALLERS: usize = 16;
    let folder = tempfile::tempdir().expect("a temporary folder");
    drop(store(folder.path(), QUEUE, 1));
    let store = SqliteStore::options()
        .commit(QUEUE)
        .busy_timeout(timeout)
        .open(folder.path().join("seats.sqlite"))
        .expect("the store opens");
    no_ink(store.path(), "new.payment_id", "raise(ABORT, 'no ink')");
    let other = rusqlite::Connection::open(store.path()).expect("the file opens");
    let other = Arc::new((Mutex::new(other), Once::new()));
    let (send_taken, taken) = mpsc::channel();
    let answered = AtomicUsize::new(0);
    let pay = |number: usize| -> Box<dyn FnOnce() -> _ + Send + '_> {
        let (store, answered) = (&store, &answered);
        let (other, send_taken) = (Arc::clone(&other), send_taken.clone());
        let takes_the_lock = At(tracing::Level::DEBUG, move || {
            let (other, once) = &*other;
            once.call_once(|| {
                let other = other.lock().expect("no panic");
                other.execute_batch("BEGIN IMMEDIATE").expect("it is free");
                send_taken.send(()).expect("somebody waits for it");
            });
        });
        Box::new(move || {
            let payment = payment_id(&format!("p{number}"));
            let answer = tracing::subscriber::with_default(takes_the_lock, || {
                store.confirm_payment(&payment, &claim("s0", "A", 1))
            });
            answered.fetch_add(1, Ordering::SeqCst);
            answer.map(drop)
        })
    };
    let callers = (0..CALLERS).map(pay).collect();
    drop(send_taken);
    std::thread::scope(|scope| {
        let (other, answered) = (&other.0, &answered);
        scope.spawn(move || {
            taken.recv().expect("the batch breaks up");
            let since = Instant::now();
            let all = || answered.load(Ordering::SeqCst) == CALLERS;
            while !all() && keeps.is_none_or(|time| since.elapsed() < time) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let other = other.lock().expect("no panic");
            other.execute_batch("ROLLBACK").expect("let go");
        });
        all_in_one_batch(store.path(), callers)
    })
}

#[test]
fn one_by_one_each_waits_for_the_lock_with_what_is_left_of_its_own_time() {
    let in_time =
        one_by_one_beside_another(Duration::from_mins(1), Some(Duration::from_millis(100)));
    for answer in in_time {
        assert!(
            matches!(answer, Err(StoreError::Corrupt { .. })),
            "{answer:?}"
        );
    }
    let timeout = Duration::from_secs(2);
    let mut busy = 0;
    for answer in one_by_one_beside_another(timeout, None) {
        match answer {
            Err(StoreError::Busy { waited, .. }) => {
                assert!(
                    waited < timeout * 4,
                    "one waits after the other: {waited:?}"
                );
                busy += 1;
            }
            // Who came too late for the batch.
            Err(StoreError::Corrupt { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(busy > 1, "the batch was not run one by one");
}

#[test]
fn unknown_seats_and_bad_input_in_a_batch_harm_nobody() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, _) = store(folder.path(), QUEUE, 6);
    let hold = |number: i32| -> Box<dyn FnOnce() -> _ + Send + '_> {
        let store = &store;
        // s0 to s5 are there; a payment for the others is still money.
        Box::new(move || {
            let seat = format!("s{number}");
            let paid = store.confirm_payment(&payment_id(&seat), &claim(&seat, "A", 1));
            paid.map(|receipt| matches!(receipt.outcome, ConfirmOutcome::RefundRequired { .. }))
        })
    };
    for answer in all_in_one_batch(store.path(), (0..12).map(hold).collect()) {
        assert!(answer.expect("an answer"));
    }
    assert_eq!(store.snapshot().expect("a snapshot").payments.len(), 12);
}

/// A clock that leaps to the end of time once it was read so often.
struct Leaps {
    reads_left: AtomicUsize,
}

impl Clock for Leaps {
    fn now(&self) -> Timestamp {
        let left = self
            .reads_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
        match left {
            Ok(_) => t(0),
            // Later than any hold may end, but for short ones.
            Err(_) => t(Timestamp::MAX.as_unix_millis() - 1_000),
        }
    }
}

#[test]
fn what_can_not_be_does_not_break_a_batch_up() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    drop(store(folder.path(), QUEUE, 6));
    // Each call looks at a snapshot first, where nothing is wrong with it yet.
    let store = SqliteStore::options()
        .commit(QUEUE)
        .clock(Arc::new(Leaps {
            reads_left: AtomicUsize::new(6),
        }))
        .open(folder.path().join("seats.sqlite"))
        .expect("the store opens");
    let before = store.commits();
    let hold = |number: i32| -> Box<dyn FnOnce() -> _ + Send + '_> {
        let store = &store;
        Box::new(move || {
            let mut request = hold_request(&format!("s{number}"), "A");
            if number >= 3 {
                request.ttl = HoldDuration::from_secs(60).expect("valid");
            }
            (number, store.hold(&request))
        })
    };
    for (number, answer) in all_in_one_batch(store.path(), (0..6).map(hold).collect()) {
        match answer {
            Ok(receipt) => assert!(
                number < 3 && matches!(receipt.outcome, HoldOutcome::Held { .. }),
                "s{number}: {receipt:?}"
            ),
            Err(error) => assert!(
                number >= 3 && matches!(error, StoreError::Invalid(_)),
                "s{number}: {error:?}"
            ),
        }
    }
    let after = store.commits();
    assert_eq!(after.calls - before.calls, 6);
    assert!(after.largest > 1, "each was committed by itself: {after:?}");
    let alone = store.release(&claim("s0", "A", 1)).expect("an answer");
    assert_eq!(alone.outcome, ReleaseOutcome::Released);
    let one_more = Commits {
        calls: after.calls + 1,
        commits: after.commits + 1,
        ..after
    };
    assert_eq!(store.commits(), one_more);
}

/// A clock that panics once when it is told to.
struct Bomb(AtomicBool);

impl Clock for Bomb {
    fn now(&self) -> Timestamp {
        assert!(!self.0.swap(false, Ordering::SeqCst), "the clock breaks");
        t(5)
    }
}

#[test]
fn a_leader_that_panics_leaves_the_queue_and_the_database_in_order() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bomb = Arc::new(Bomb(AtomicBool::new(false)));
    let store = SqliteStore::options()
        .clock(bomb.clone())
        .open(folder.path().join("seats.sqlite"))
        .expect("the store opens");
    let seats: Vec<_> = (0..8)
        .map(|number| seat_id(&format!("s{number}")))
        .collect();
    store.add_seats(&seats).expect("added");
    let mut panicked = 0;
    let mut told = 0;
    let lock = rusqlite::Connection::open(store.path()).expect("the file opens");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("the lock is free");
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let store = &store;
                scope.spawn(move || store.hold(&hold_request(&format!("s{number}"), "A")))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(300));
        bomb.0.store(true, Ordering::SeqCst);
        lock.execute_batch("ROLLBACK").expect("let go");
        for thread in threads {
            match thread.join() {
                Err(_) => panicked += 1,
                Ok(Err(error)) => {
                    assert!(matches!(error, StoreError::Database { .. }), "{error:?}");
                    told += 1;
                }
                Ok(Ok(held)) => assert!(matches!(held.outcome, HoldOutcome::Held { .. })),
            }
        }
    });
    assert_eq!(panicked, 1, "the leader");
    let held = store
        .snapshot()
        .expect("a snapshot")
        .seats
        .iter()
        .filter(|seat| seat.version.get() == 1)
        .count();
    assert_eq!(
        held + panicked + told,
        8,
        "who was told that nothing happened, holds nothing"
    );
    for number in 0..8 {
        let again = store
            .hold(&hold_request(&format!("s{number}"), "A"))
            .expect("an answer");
        assert!(!matches!(again.outcome, HoldOutcome::Refused(_)));
    }
}

/// A clock that panics once three payments are committed.
struct AfterThree(std::sync::OnceLock<std::path::PathBuf>);

impl Clock for AfterThree {
    fn now(&self) -> Timestamp {
        let committed = |path: &std::path::PathBuf| {
            rusqlite::Connection::open(path)
                .and_then(|raw| {
                    raw.query_row("SELECT count(*) FROM payments", [], |row| row.get(0))
                })
                .is_ok_and(|payments: i64| payments >= 3)
        };
        assert!(!self.0.get().is_some_and(committed), "the clock breaks");
        t(5)
    }
}

#[test]
fn who_leads_one_by_one_and_panics_leaves_nobody_with_a_false_no() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    drop(store(folder.path(), QUEUE, 12));
    let clock = Arc::new(AfterThree(std::sync::OnceLock::new()));
    let store = SqliteStore::options()
        .commit(QUEUE)
        .clock(clock.clone())
        .open(folder.path().join("seats.sqlite"))
        .expect("the store opens");
    // One statement fails, so the batch is run again, one by one.
    no_ink(store.path(), "'p5'", "raise(ABORT, 'no ink')");
    clock.0.set(store.path().to_owned()).expect("set once");
    let pay = |number: i32| -> Box<dyn FnOnce() -> _ + Send + '_> {
        let store = &store;
        Box::new(move || {
            let seat = format!("s{number}");
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                store.confirm_payment(&payment_id(&format!("p{number}")), &claim(&seat, "A", 1))
            }))
        })
    };
    let answers = all_in_one_batch(store.path(), (0..12).map(pay).collect());
    let panicked = answers.iter().filter(|answer| answer.is_err()).count();
    assert!(panicked >= 1, "the leader");
    let mut unknown = 0;
    for answer in answers.into_iter().flatten() {
        match answer {
            Ok(_) | Err(StoreError::Corrupt { .. }) => {}
            Err(StoreError::Unknown(_)) => unknown += 1,
            Err(error) => panic!("some of them are committed: {error:?}"),
        }
    }
    assert!(unknown >= 1, "nobody was in the batch of the leader");
}

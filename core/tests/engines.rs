//! The two ways to commit: they answer alike, and what goes wrong in a batch costs nobody else.

mod common;

use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{Bench, claim, hold_request, payment_id, seat_id, t};
use soldonce::{
    Clock, Command, Commit, ConfirmOutcome, HoldDuration, HoldOutcome, HoldRefusal, HoldRequest,
    ManualClock, SeatStore, SqliteStore, StoreError, Timestamp,
};

const QUEUE: Commit = Commit::Queue { most: 64 };

/// A store with `seats` seats named s0, s1, ...; its clock stands at 0.
fn store(folder: &Path, commit: Commit, seats: usize) -> (SqliteStore, Arc<ManualClock>) {
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

/// A small generator of numbers that is the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((self.0 >> 33) % bound).expect("small")
    }
}

#[test]
fn both_engines_give_the_same_answers_to_the_same_calls() {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let (per_call, first_clock) = store(folders[0].path(), Commit::PerCall, 3);
    let (queued, second_clock) = store(folders[1].path(), QUEUE, 3);
    let mut numbers = Numbers(7);
    let mut now = 100;
    let (mut changed, mut unchanged) = (0, 0);
    for _ in 0..1500 {
        now = (now + numbers.below(9) - 2).max(0);
        first_clock.set(t(now));
        second_clock.set(t(now));
        let seat = format!("s{}", numbers.below(4)); // s3 is not there
        let owner = ["A", "B"][usize::try_from(numbers.below(2)).expect("small")];
        let known = claim(&seat, owner, 0).seat;
        let version = queued.seat(&known).expect("an answer").version.get();
        let claim = claim(&seat, owner, (version + numbers.below(3) - 1).max(0));
        let command = match numbers.below(8) {
            0..4 => Command::Hold(hold_request(&seat, owner)),
            4..6 => Command::Release(claim),
            _ => {
                let payment = payment_id(&format!("p{}", numbers.below(40)));
                Command::ConfirmPayment { payment, claim }
            }
        };
        match (per_call.execute(&command), queued.execute(&command)) {
            (Ok(first), Ok(second)) => {
                assert_eq!(first, second, "{command:?} at {now}");
                *if first.outcome.changed_seat() {
                    &mut changed
                } else {
                    &mut unchanged
                } += 1;
            }
            (Err(StoreError::UnknownSeat(first)), Err(StoreError::UnknownSeat(second))) => {
                assert_eq!(first, second);
            }
            (first, second) => panic!("{command:?} at {now}: {first:?} and {second:?}"),
        }
    }
    assert!(
        changed > 10 && unchanged > 500,
        "{changed} changes, {unchanged} others"
    );
    assert_eq!(
        per_call.snapshot().expect("a snapshot"),
        queued.snapshot().expect("a snapshot")
    );
    assert_eq!(queued.audit().expect("the audit runs"), []);
}

#[test]
fn threads_that_want_one_seat_get_it_once_and_threads_that_want_their_own_all_get_it() {
    for commit in [Commit::PerCall, QUEUE, Commit::Queue { most: 1 }] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (store, _) = store(folder.path(), commit, 33);
        let held = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..32)
                .map(|number| {
                    let store = &store;
                    scope.spawn(move || {
                        let owner = format!("owner-{number}");
                        let own = store.hold(&hold_request(&format!("s{number}"), &owner));
                        assert!(matches!(
                            own.expect("an answer").outcome,
                            HoldOutcome::Held { .. }
                        ));
                        match store
                            .hold(&hold_request("s32", &owner))
                            .expect("an answer")
                            .outcome
                        {
                            HoldOutcome::Held { .. } => true,
                            HoldOutcome::Refused(HoldRefusal::HeldUntil(_)) => false,
                            other => panic!("{other}"),
                        }
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .filter(|held| *held)
                .count()
        });
        assert_eq!(held, 1, "{commit:?}");
        assert_eq!(store.audit().expect("the audit runs"), []);
    }
}

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

#[test]
fn a_statement_that_fails_in_a_batch_costs_only_its_own_caller() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, _) = store(folder.path(), QUEUE, 12);
    for number in 0..12 {
        let held = store
            .hold(&hold_request(&format!("s{number}"), "A"))
            .expect("an answer");
        assert!(matches!(held.outcome, HoldOutcome::Held { .. }));
    }
    rusqlite::Connection::open(store.path())
        .and_then(|raw| {
            raw.execute_batch(
                "CREATE TRIGGER no_ink BEFORE INSERT ON payments WHEN new.payment_id = 'p5'
                 BEGIN SELECT raise(ABORT, 'no ink'); END",
            )
        })
        .expect("made");
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
            Err(StoreError::Corrupt { detail, .. }) => {
                assert!(detail.contains("no ink"), "{detail}");
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

#[test]
fn a_file_with_pages_of_another_size_keeps_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (made, clock) = store(folder.path(), QUEUE, 3);
    let path = made.path().to_owned();
    drop(made);
    rusqlite::Connection::open(&path)
        .and_then(|raw| {
            raw.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA page_size = 4096; VACUUM")
        })
        .expect("made anew");
    let store = SqliteStore::options()
        .clock(clock)
        .open(&path)
        .expect("the store opens");
    let size = ("page_size".to_owned(), "4096".to_owned());
    assert!(store.settings().pragmas.contains(&size));
    let held = store.hold(&hold_request("s0", "A")).expect("an answer");
    assert!(matches!(held.outcome, HoldOutcome::Held { .. }));
    assert_eq!(store.audit().expect("the audit runs"), []);
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
}

#[test]
fn callers_in_line_behind_a_taken_lock_are_busy_after_their_own_timeout_not_after_everybodys() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (first, clock) = store(folder.path(), QUEUE, 40);
    let timeout = Duration::from_millis(300);
    let store = SqliteStore::options()
        .busy_timeout(timeout)
        .clock(clock)
        .open(first.path())
        .expect("the store opens");
    let lock = rusqlite::Connection::open(first.path()).expect("the file opens");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("the lock is free");
    let asked = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..40)
            .map(|number| {
                let store = &store;
                scope.spawn(move || store.hold(&hold_request(&format!("s{number}"), "A")))
            })
            .collect();
        for thread in threads {
            let answer = thread.join().expect("no panic");
            assert!(matches!(answer, Err(StoreError::Busy { .. })), "{answer:?}");
        }
    });
    assert!(
        asked.elapsed() < timeout * 20,
        "they waited one after the other: {:?}",
        asked.elapsed()
    );
    lock.execute_batch("ROLLBACK").expect("let go");
    let held = store.hold(&hold_request("s0", "A")).expect("an answer");
    assert!(matches!(held.outcome, HoldOutcome::Held { .. }));
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
    rusqlite::Connection::open(store.path())
        .and_then(|raw| {
            raw.execute_batch(
                "CREATE TRIGGER no_ink BEFORE INSERT ON payments WHEN new.payment_id = 'p5'
                 BEGIN SELECT raise(ABORT, 'no ink'); END",
            )
        })
        .expect("made");
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

/// A clock that says whether the write lock was taken each time it was read.
struct UnderLock {
    path: std::path::PathBuf,
    reads: std::sync::Mutex<Vec<bool>>,
}

impl Clock for UnderLock {
    fn now(&self) -> Timestamp {
        let raw = rusqlite::Connection::open(&self.path).expect("the file opens");
        raw.busy_timeout(Duration::ZERO).expect("set");
        let taken = raw.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err();
        self.reads.lock().expect("not poisoned").push(taken);
        t(5)
    }
}

#[test]
fn what_is_written_is_decided_at_a_time_that_was_read_under_the_lock() {
    for commit in [Commit::PerCall, QUEUE] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        drop(store(folder.path(), commit, 1));
        let path = folder.path().join("seats.sqlite");
        let clock = Arc::new(UnderLock {
            path: path.clone(),
            reads: std::sync::Mutex::default(),
        });
        let store = SqliteStore::options()
            .commit(commit)
            .clock(clock.clone())
            .open(&path)
            .expect("the store opens");
        let last_read = |call: &dyn Fn()| {
            clock.reads.lock().expect("not poisoned").clear();
            call();
            clock.reads.lock().expect("not poisoned").last().copied()
        };
        let hold = || {
            let held = store.hold(&hold_request("s0", "A")).expect("an answer");
            assert!(matches!(held.outcome, HoldOutcome::Held { .. }));
        };
        let pay = || {
            let paid = store.confirm_payment(&payment_id("p"), &claim("s0", "A", 1));
            assert_eq!(paid.expect("an answer").outcome, ConfirmOutcome::Sold);
        };
        assert_eq!(last_read(&hold), Some(true), "{commit:?}");
        assert_eq!(last_read(&pay), Some(true), "{commit:?}");
    }
}

#[cfg(unix)]
#[test]
fn when_a_commit_fails_every_member_is_told_unknown_and_what_was_acknowledged_is_there() {
    const CHILD: &str = "SOLDONCE_TEST_BATCH";
    const THREADS: usize = 8;
    if let Some(folder) = std::env::var_os(CHILD) {
        let store = SqliteStore::options()
            .clock(ManualClock::at(t(0)))
            .open(Path::new(&folder).join("seats.sqlite"))
            .expect("opens");
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let store = &store;
                scope.spawn(move || {
                    for round in 0.. {
                        let seat = format!("s{}", round * THREADS + thread);
                        let request = HoldRequest {
                            seat: seat_id(&seat),
                            ..hold_request(&seat, "A")
                        };
                        match store.hold(&request) {
                            Ok(held) if matches!(held.outcome, HoldOutcome::Held { .. }) => {
                                println!("\nheld {seat}");
                            }
                            Ok(other) => panic!("{}", other.outcome),
                            Err(StoreError::Unknown(_)) => return println!("\nunknown {seat}"),
                            Err(other) => return println!("\nother {seat} {other}"),
                        }
                    }
                });
            }
        });
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, _) = store(folder.path(), QUEUE, 20_000);
    let name =
        "when_a_commit_fails_every_member_is_told_unknown_and_what_was_acknowledged_is_there";
    // Past the limit a write fails with EFBIG instead of a signal. 512-byte blocks in POSIX sh.
    let output = Process::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 4096; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the child runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let lines = |word: &str| -> Vec<String> {
        said.lines()
            .filter_map(|line| line.strip_prefix(word))
            .map(str::to_owned)
            .collect()
    };
    let (held, unknown) = (lines("held "), lines("unknown "));
    assert!(held.len() > 50 && !unknown.is_empty(), "{said}");
    for seat in held {
        let now = store.seat(&seat_id(&seat)).expect("an answer");
        assert_eq!(now.version.get(), 1, "acknowledged, and lost: {seat}");
    }
    for seat in unknown {
        let again = store.hold(&hold_request(&seat, "A")).expect("an answer");
        assert!(
            !matches!(again.outcome, HoldOutcome::Refused(_)),
            "{seat}: {}",
            again.outcome
        );
        assert_eq!(
            again.version.get(),
            1,
            "held once, whatever became of the first call: {seat}"
        );
    }
    assert_eq!(store.audit().expect("the audit runs"), []);
}

#[test]
fn a_batch_bound_out_of_its_range_is_refused() {
    let bench = Bench::new();
    for (most, says) in [
        (0, "invalid batch bound: it is 0; allowed: 1 to 4096 calls"),
        (
            4097,
            "invalid batch bound: it is 4097; allowed: 1 to 4096 calls",
        ),
    ] {
        let error = SqliteStore::options()
            .commit(Commit::Queue { most })
            .open(bench.path())
            .err();
        assert_eq!(common::one_line(&error.expect("out of range")), says);
    }
}

//! The two ways to commit: they answer alike, and each keeps what was acknowledged.

mod common;

use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Bench, QUEUE, claim, hold_request, payment_id, seat_id, store, t};
use soldonce::{
    Clock, Command, Commit, ConfirmOutcome, HoldOutcome, HoldRefusal, HoldRequest, ManualClock,
    SeatStore, SqliteStore, StoreError, Timestamp,
};

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
            match answer {
                Err(StoreError::Busy { waited, .. }) => assert!(waited >= timeout, "{waited:?}"),
                other => panic!("{other:?}"),
            }
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
    assert_eq!(lines("other "), [""; 0], "the commit was sent");
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

//! Each error from a real cause, and what it promises: did it happen, and what to do next.

mod common;

use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Bench, claim, hold_request, impatient, one_line, payment_id, seat_id, t};
use soldonce::invariant::Invariant;
use soldonce::{
    ConfirmOutcome, Happened, HoldOutcome, Recovery, SeatStore, SqliteStore, StoreError,
};

#[test]
fn a_write_lock_held_by_another_connection_past_the_timeout_is_busy_and_nothing_happened() {
    let bench = Bench::new();
    let a = bench.held_at(0, "s1", "A");
    let store = impatient(&bench);
    let other = bench.raw();
    other
        .execute_batch("BEGIN IMMEDIATE")
        .expect("the lock is free");
    let asked = Instant::now();
    let error = store
        .confirm_payment(&payment_id("p"), &a)
        .expect_err("the lock is taken");
    assert!(
        matches!(&error, StoreError::Busy { waited, .. } if *waited >= Duration::from_millis(50))
    );
    assert!(
        asked.elapsed() < Duration::from_secs(5),
        "it waited for more than its timeout"
    );
    assert_eq!(
        (error.happened(), error.recovery()),
        (Happened::No, Recovery::RepeatSameCall)
    );
    assert!(one_line(&error).starts_with("not applied: the database was busy for "));
    // Reads go on meanwhile.
    assert_eq!(
        store.payment(&payment_id("p")).expect("an answer").outcome,
        None
    );
    other.execute_batch("ROLLBACK").expect("let go");
    let again = store
        .confirm_payment(&payment_id("p"), &a)
        .expect("an answer");
    assert_eq!(again.outcome, ConfirmOutcome::Sold);
}

#[test]
fn a_pool_with_no_connection_left_is_busy() {
    let bench = Bench::new();
    let store = impatient(&bench);
    let other = bench.raw();
    other
        .execute_batch("BEGIN IMMEDIATE")
        .expect("the lock is free");
    std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| store.hold(&hold_request("s1", "A"))));
        for thread in both {
            let answer = thread.join().expect("no panic");
            assert!(matches!(answer, Err(StoreError::Busy { .. })), "{answer:?}");
        }
    });
}

/// Runs this very test binary again, only the test `name`, with the variable set that it looks for.
fn as_child(name: &str, variable: &str, file: &Path, limit: Option<u32>) -> std::process::Output {
    let program = std::env::current_exe().expect("this program");
    let mut command = match limit {
        None => Command::new(program),
        Some(blocks) => {
            // Past the limit a write fails with EFBIG instead of a signal: an I/O error like any other.
            let mut shell = Command::new("sh");
            shell
                .args([
                    "-c",
                    &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""),
                ])
                .arg(program);
            shell
        }
    };
    command
        .args(["--exact", name, "--nocapture"])
        .env(variable, file)
        .stdin(Stdio::null())
        .output()
        .expect("the child runs")
}

#[cfg(unix)]
#[test]
fn a_commit_that_fails_to_reach_the_file_is_unknown_and_the_same_call_again_tells_the_truth() {
    const CHILD: &str = "SOLDONCE_TEST_UNKNOWN";
    if let Some(file) = std::env::var_os(CHILD) {
        // The child: holds and pays until a write of the log no longer fits under the limit.
        let clock = std::sync::Arc::new(soldonce::ManualClock::at(t(0)));
        let store = SqliteStore::options()
            .pool_size(1)
            .clock(clock)
            .open(file)
            .expect("opens");
        for round in 0.. {
            let seat = format!("s{round}");
            match store.hold(&hold_request(&seat, "A")) {
                Ok(held) => assert!(matches!(held.outcome, HoldOutcome::Held { .. })),
                Err(error) => {
                    println!("hold {round} {}", kind(&error));
                    break;
                }
            }
            match store.confirm_payment(&payment_id(&format!("p{round}")), &claim(&seat, "A", 1)) {
                Ok(paid) => println!("sold {round}: {}", paid.outcome),
                Err(error) => {
                    println!("confirm {round} {}", kind(&error));
                    // The very connection that failed is not lent again; reads work.
                    assert!(store.snapshot().is_ok());
                    break;
                }
            }
        }
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("seats.sqlite");
    let clock = std::sync::Arc::new(soldonce::ManualClock::at(t(0)));
    let open = || {
        SqliteStore::options()
            .clock(clock.clone())
            .open(&file)
            .expect("opens")
    };
    let seats: Vec<_> = (0..2000)
        .map(|number| seat_id(&format!("s{number}")))
        .collect();
    open().add_seats(&seats).expect("seats are added");

    // 512-byte blocks in POSIX sh: about a megabyte of log.
    let name =
        "a_commit_that_fails_to_reach_the_file_is_unknown_and_the_same_call_again_tells_the_truth";
    let output = as_child(name, CHILD, &file, Some(2048));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let sold: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_suffix(": Sold"))
        .collect();
    assert!(sold.len() > 10, "the child sold a few seats first: {said}");
    let failed = said
        .lines()
        .find(|line| line.contains("Unknown"))
        .expect(&said);
    let round: usize = failed
        .split(' ')
        .nth(1)
        .and_then(|word| word.parse().ok())
        .expect(failed);

    // Everything acknowledged is there, and the same call again gets an answer, once.
    let store = open();
    for line in sold {
        let number = line.strip_prefix("sold ").expect(line);
        let known = store
            .payment(&payment_id(&format!("p{number}")))
            .expect("an answer");
        assert!(known.outcome.is_some(), "acknowledged, and lost: p{number}");
    }
    let seat = format!("s{round}");
    let _ = store.hold(&hold_request(&seat, "A")).expect("an answer");
    let payment = payment_id(&format!("p{round}"));
    let first = store
        .confirm_payment(&payment, &claim(&seat, "A", 1))
        .expect("an answer");
    assert!(
        matches!(
            first.outcome,
            ConfirmOutcome::Sold | ConfirmOutcome::Duplicate { .. }
        ),
        "{}",
        first.outcome
    );
    assert_eq!(store.audit().expect("the audit runs"), []);
}

fn kind(error: &StoreError) -> &'static str {
    match error {
        StoreError::Busy { .. } => "Busy",
        StoreError::Unknown(_) => "Unknown",
        StoreError::Corrupt { .. } => "Corrupt",
        StoreError::Invalid(_) => "Invalid",
        StoreError::UnknownSeat(_) => "UnknownSeat",
        StoreError::Database { .. } => "Database",
    }
}

#[test]
fn an_unknown_outcome_says_to_repeat_the_same_call() {
    let error = StoreError::Unknown("the disk went away".into());
    assert_eq!(
        (error.happened(), error.recovery()),
        (Happened::Perhaps, Recovery::RepeatSameCall)
    );
    assert_eq!(
        one_line(&error),
        "outcome unknown: the commit gave no result; repeat the same call until it answers"
    );
}

#[test]
fn a_payment_that_can_not_be_recorded_rolls_the_seat_back() {
    let bench = Bench::new();
    let a = bench.held_at(0, "s1", "A");
    let before = bench.store.snapshot().expect("a snapshot");
    let raw = bench.raw();
    raw.execute_batch(
        "CREATE TRIGGER no_payments BEFORE INSERT ON payments BEGIN SELECT raise(ABORT, 'no ink'); END",
    )
    .expect("made");
    let error = bench
        .store
        .confirm_payment(&payment_id("p"), &a)
        .expect_err("no ink");
    assert_eq!(error.happened(), Happened::No);
    assert!(one_line(&error).contains("no ink"), "{error}");
    assert_eq!(bench.store.snapshot().expect("a snapshot"), before);
    raw.execute_batch("DROP TRIGGER no_payments")
        .expect("dropped");
    assert_eq!(bench.pay_at(1, "p", &a).outcome, ConfirmOutcome::Sold);
}

#[test]
fn a_seat_that_was_freed_behind_the_stores_back_is_not_sold_again() {
    let bench = Bench::new();
    let a = bench.held_at(0, "s1", "A");
    assert_eq!(bench.pay_at(1, "p", &a).outcome, ConfirmOutcome::Sold);
    bench
        .raw()
        .execute_batch(
            "DROP TRIGGER sold_seat_is_final;
             UPDATE seats SET state = 'free', version = 3, owner = NULL, hold_id = NULL, payment_id = NULL
              WHERE seat_id = 's1'",
        )
        .expect("tampered");
    let b = bench.held_at(2, "s1", "B");
    let error = bench
        .store
        .confirm_payment(&payment_id("q"), &b)
        .expect_err("a second sale");
    assert!(
        matches!(
            &error,
            StoreError::Corrupt {
                invariant: Invariant::OneSalePerSeat,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(
        (error.happened(), error.recovery()),
        (Happened::No, Recovery::Investigate)
    );
    assert!(
        one_line(&error).ends_with("stop selling and run the audit"),
        "{error}"
    );
    let found = bench.store.audit().expect("the audit runs");
    assert!(
        found
            .iter()
            .any(|v| v.invariant == Invariant::OneSalePerSeat),
        "{found:?}"
    );
}

#[test]
fn stored_nonsense_is_found_and_named() {
    for (tampering, invariant, detail) in [
        (
            "UPDATE seats SET state = 'gone'",
            Invariant::RowShape,
            "seat s1: no state is called \"gone\"",
        ),
        (
            "UPDATE seats SET version = -1",
            Invariant::RowShape,
            "seat s1: invalid version: it is -1",
        ),
        (
            "UPDATE seats SET owner = ''",
            Invariant::RowShape,
            "seat s1: invalid owner id: it is empty",
        ),
        (
            "UPDATE seats SET expires = NULL",
            Invariant::RowShape,
            "seat s1: Invalid column type Null",
        ),
        (
            "UPDATE seats SET changed_at = -1",
            Invariant::RowShape,
            "seat s1: invalid timestamp",
        ),
    ] {
        let bench = Bench::new();
        bench.held_at(0, "s1", "A");
        let raw = bench.raw();
        raw.execute_batch(&format!(
            "PRAGMA ignore_check_constraints = ON; DROP TRIGGER seat_changes_one_version_at_a_time;
             {tampering} WHERE seat_id = 's1'"
        ))
        .expect("tampered");
        let store = &bench.store;
        let mut errors = vec![
            store.seat(&seat_id("s1")).map(drop).expect_err(tampering),
            store.snapshot().map(drop).expect_err(tampering),
        ];
        // Who only compares the owner does not mind how it is written.
        if !tampering.contains("owner") {
            let of_another = claim("s1", "B", 1);
            let paid = store.confirm_payment(&payment_id("p"), &of_another);
            errors.extend([
                store
                    .hold(&hold_request("s1", "B"))
                    .map(drop)
                    .expect_err(tampering),
                store.release(&of_another).map(drop).expect_err(tampering),
                paid.map(drop).expect_err(tampering),
            ]);
        }
        for error in errors {
            match &error {
                StoreError::Corrupt {
                    invariant: found,
                    detail: said,
                } => {
                    assert_eq!(*found, invariant, "{tampering}");
                    assert!(said.starts_with(detail), "{tampering}: {said}");
                }
                other => panic!("{tampering}: {other:?}"),
            }
        }
        let recorded: i64 = raw
            .query_row("SELECT count(*) FROM payments", [], |row| row.get(0))
            .expect("read");
        assert_eq!(recorded, 0, "{tampering}: a payment was decided on it");
    }
}

#[test]
fn versions_beyond_32_bits_are_kept_whole() {
    const BEFORE: i64 = 5_000_000_000;
    let bench = Bench::new();
    let tampering = format!(
        "DROP TRIGGER seat_changes_one_version_at_a_time;
         UPDATE seats SET version = {BEFORE} WHERE seat_id = 's1'"
    );
    bench.raw().execute_batch(&tampering).expect("set");
    let own = bench.held_at(0, "s1", "A");
    assert_eq!(own, claim("s1", "A", BEFORE + 1));
    let paid = bench.store.confirm_payment(&payment_id("p"), &own);
    assert_eq!(paid.expect("in time").version.get(), BEFORE + 2);
    let record = bench.store.payment(&payment_id("p")).expect("read").outcome;
    let record = record.expect("recorded");
    assert_eq!((&record.claim, record.version.get()), (&own, BEFORE + 2));
    let again = bench.store.confirm_payment(&payment_id("p"), &own);
    let recorded = Box::new(record.clone());
    assert_eq!(
        again.expect("known").outcome,
        ConfirmOutcome::Duplicate { recorded }
    );
    assert_eq!(bench.store.snapshot().expect("read").payments, [record]);
    assert_eq!(bench.store.audit().expect("audited"), []);
}

/// Opening must fail as invalid input, in one line with this in it, and leave the file as it was.
fn refused_to_open(path: &Path, says: &str) {
    let before = std::fs::read(path).ok();
    let error = SqliteStore::options()
        .open(path)
        .err()
        .expect("it can not be a store");
    assert!(matches!(error, StoreError::Invalid(_)), "{error:?}");
    assert_eq!(
        (error.happened(), error.recovery()),
        (Happened::No, Recovery::CorrectInput)
    );
    let line = one_line(&error);
    assert!(
        line.starts_with("invalid database file: ") && line.contains("; allowed: "),
        "{line}"
    );
    assert!(line.contains(says), "{line}");
    assert!(std::fs::read(path).ok() == before, "the file was changed");
}

#[test]
fn what_can_not_be_a_store_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    refused_to_open(folder.path(), "is a folder");
    refused_to_open(Path::new(""), "its path is empty");
    refused_to_open(Path::new(":memory:"), "a name that SQLite keeps for itself");
    refused_to_open(&folder.path().join("no/where.sqlite"), "there is no folder");

    let text = folder.path().join("text");
    std::fs::write(
        &text,
        "no database, but long enough to look at. ".repeat(100),
    )
    .expect("written");
    refused_to_open(&text, "is not an SQLite database");

    let foreign = folder.path().join("foreign.sqlite");
    rusqlite::Connection::open(&foreign)
        .and_then(|other| other.execute_batch("CREATE TABLE t (x); PRAGMA user_version = 1"))
        .expect("made");
    refused_to_open(&foreign, "a database of another program");

    for (number, pragmas) in [
        "CREATE TABLE t (x)",
        "PRAGMA user_version = 1",
        "PRAGMA application_id = 1",
    ]
    .into_iter()
    .enumerate()
    {
        let foreign = folder.path().join(format!("foreign-{number}.sqlite"));
        rusqlite::Connection::open(&foreign)
            .and_then(|other| other.execute_batch(pragmas))
            .expect("made");
        refused_to_open(&foreign, "a database of another program");
    }

    let short = folder.path().join("short");
    std::fs::write(&short, "x").expect("written");
    refused_to_open(&short, "is not an SQLite database");
}

#[cfg(unix)]
#[test]
fn a_device_is_refused() {
    let error = SqliteStore::options().open("/dev/null").err();
    let line = one_line(&error.expect("it can not be a store"));
    assert!(line.contains("is not a regular file"), "{line}");
}

#[test]
fn a_damaged_page_is_corrupt_data_and_the_rest_goes_on() {
    let bench = Bench::new();
    let path = bench.path();
    let (page, size): (u32, u32) = bench
        .raw()
        .query_row(
            "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = 'seats'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .expect("read");
    drop(bench.store);
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("the file");
    file.seek(SeekFrom::Start(u64::from((page - 1) * size)))
        .and_then(|_| file.write_all(&vec![0xa5; size as usize]))
        .expect("damaged");
    let store = SqliteStore::options().open(&path).expect("it opens");
    let error = store.seat(&seat_id("s1")).expect_err("damaged");
    assert_eq!(error.recovery(), Recovery::Investigate);
    match error {
        StoreError::Corrupt { invariant, detail } => {
            assert_eq!(invariant, Invariant::RowShape);
            assert!(detail.contains("malformed"), "{detail}");
        }
        other => panic!("{other:?}"),
    }
    // Payments are on other pages.
    let unknown = store.payment(&payment_id("p1")).expect("an answer");
    assert_eq!(unknown.outcome, None);
}

#[test]
fn a_read_only_file_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("seats.sqlite");
    drop(SqliteStore::options().open(&file).expect("made"));
    let mut permissions = std::fs::metadata(&file).expect("there").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&file, permissions).expect("set");
    refused_to_open(&file, "is read-only");
}

#[test]
fn a_database_of_a_newer_version_is_refused_with_both_versions() {
    let bench = Bench::new();
    bench.held_at(0, "s1", "A");
    bench
        .raw()
        .execute_batch("PRAGMA user_version = 2")
        .expect("set");
    refused_to_open(
        &bench.path(),
        "has version 2; allowed: a soldonce database of version 1 to 1",
    );
}

#[test]
fn settings_out_of_their_range_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("seats.sqlite");
    for (options, says) in [
        (
            SqliteStore::options().pool_size(0),
            "invalid pool size: it is 0; allowed: 1 to 1024 connections",
        ),
        (
            SqliteStore::options().pool_size(1025),
            "invalid pool size: it is 1025; allowed: 1 to 1024 connections",
        ),
        (
            SqliteStore::options().busy_timeout(Duration::from_secs(3601)),
            "invalid busy timeout: it is 3601 s; allowed: 0 to 3600 s",
        ),
    ] {
        let error = options.open(&file).err().expect("out of range");
        assert_eq!(one_line(&error), says);
    }
    assert!(!file.exists());
    let longest = SqliteStore::options().busy_timeout(Duration::from_hours(1));
    assert!(longest.open(&file).is_ok());
}

#[test]
fn two_processes_on_one_file_share_out_the_seats_and_sell_each_once() {
    const CHILD: &str = "SOLDONCE_TEST_SHARE";
    const SEATS: usize = 60;
    let rush = |file: &Path, who: &str| -> (usize, usize) {
        let store = SqliteStore::options()
            .pool_size(2)
            .open(file)
            .expect("opens");
        let (mut held, mut sold) = (0, 0);
        for number in 0..SEATS {
            let seat = format!("s{number}");
            let request = soldonce::HoldRequest {
                ttl: soldonce::HoldDuration::MAX,
                ..hold_request(&seat, who)
            };
            if let HoldOutcome::Held { hold_id, .. } =
                store.hold(&request).expect("an answer").outcome
            {
                held += 1;
                let claim = claim(&seat, who, hold_id.get());
                let payment = payment_id(&format!("{who}-{number}"));
                let paid = store.confirm_payment(&payment, &claim).expect("an answer");
                sold += usize::from(paid.outcome == ConfirmOutcome::Sold);
            }
        }
        (held, sold)
    };
    if let Some(file) = std::env::var_os(CHILD) {
        let (held, sold) = rush(Path::new(&file), "child");
        println!("\nshare {held} {sold}");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("seats.sqlite");
    let store = SqliteStore::options().open(&file).expect("opens");
    let seats: Vec<_> = (0..SEATS)
        .map(|number| seat_id(&format!("s{number}")))
        .collect();
    store.add_seats(&seats).expect("seats are added");
    let name = "two_processes_on_one_file_share_out_the_seats_and_sell_each_once";
    let (output, mine) = std::thread::scope(|scope| {
        let child = scope.spawn(|| as_child(name, CHILD, &file, None));
        let mine = rush(&file, "parent");
        (child.join().expect("no panic"), mine)
    });
    let said = String::from_utf8_lossy(&output.stdout);
    let theirs: Vec<usize> = said
        .lines()
        .find_map(|line| line.strip_prefix("share "))
        .expect(&said)
        .split(' ')
        .map(|word| word.parse().expect(&said))
        .collect();
    assert_eq!(mine.0 + theirs[0], SEATS, "every seat is held once");
    assert_eq!(mine.1 + theirs[1], SEATS, "every seat is sold once");
    let snapshot = store.snapshot().expect("a snapshot");
    assert_eq!(snapshot.payments.len(), SEATS);
    assert_eq!(store.audit().expect("the audit runs"), []);
}

//! The program as its users meet it: run as a child process, judged by what it prints and its exit code.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program with small settings: a few calls, evidence into a folder of its own.
fn stress(evidence: &Path, options: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stress"));
    command
        .args(["--evidence", evidence.to_str().expect("UTF-8")])
        .args(["--seats", "50"])
        .args(options.split_whitespace());
    command
}

fn ended(mut command: Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

fn only_file_in(folder: &Path) -> std::path::PathBuf {
    let mut files = std::fs::read_dir(folder).expect("a folder");
    let file = files.next().expect("a file").expect("readable").path();
    assert!(files.next().is_none(), "one file");
    file
}

#[test]
fn a_run_prints_a_table_of_at_most_80_columns_and_writes_evidence_that_verifies() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, out, err) = ended(stress(folder.path(), "--ops 2000 --ttl 20ms --warmup 50ms"));
    assert_eq!(code, Some(0), "{out}{err}");
    for line in out.lines() {
        let path = line.starts_with("evidence: ");
        assert!(path || line.chars().count() <= 80, "{line}");
    }
    assert!(out.contains("HOLDS"), "{out}");
    assert!(err.is_empty(), "nothing on a pipe: {err}");
    let file = only_file_in(folder.path());
    let name = file.file_name().expect("a name").to_string_lossy();
    assert!(out.contains(&*name), "{name} is printed");
    let statement = evidence::verify_file(&file).expect("it verifies");
    assert_eq!(statement.predicate.verdict, evidence::Verdict::Holds);
    let attempts: u64 = statement.predicate.results.operations[..4]
        .iter()
        .map(|operation| operation.attempts.0)
        .sum();
    assert_eq!(attempts, 2_000, "the calls that were asked for");
}

#[test]
fn the_json_form_is_one_object_with_the_rate_at_its_top() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = "--format json --ops 1000 --rate 4000 --threshold errors<1";
    let (code, out, err) = ended(stress(folder.path(), options));
    assert_eq!(code, Some(0), "{out}{err}");
    let report: Value = serde_json::from_str(&out).expect("one JSON object");
    assert!(report["attempts_per_second"].as_f64().expect("a number") > 0.0);
    assert_eq!(report["attempts"], 1_000);
    assert_eq!(report["due"], 1_000);
    assert_eq!(report["unstarted"], 0);
    assert_eq!(report["verdict"], "holds");
    assert_eq!(report["thresholds"][0]["met"], true);
    assert!(report["start_delay"]["count"].as_u64() == Some(1_000));
}

#[test]
fn the_same_seed_intends_the_same_and_another_does_not() {
    let intents = |seed: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let (code, out, err) = ended(stress(folder.path(), &format!("--ops 50 --seed {seed}")));
        assert_eq!(code, Some(0), "{out}{err}");
        let statement = evidence::verify_file(&only_file_in(folder.path())).expect("it verifies");
        format!("{:?}", statement.predicate.configuration["intents_sha256"])
    };
    assert_eq!(intents("7"), intents("7"));
    assert_ne!(intents("7"), intents("8"));
}

#[test]
fn wrong_usage_is_exit_code_2_and_says_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    for (options, reason) in [
        ("--fly", "--fly"),
        ("--duration 10", "unit"),
        ("--threshold hold.p98<5ms", "there is no figure"),
        ("--mix fly=1", "there is no plan"),
        ("--ttl 5ms --pay-within 6ms", "shorter than the ttl"),
        ("--reuse", "--database"),
    ] {
        let (code, out, err) = ended(stress(folder.path(), options));
        assert_eq!(code, Some(2), "{options}: {out}{err}");
        assert!(err.contains(reason), "{options}: {err}");
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        0
    );
}

#[test]
fn an_option_without_effect_beside_the_others_is_refused_and_the_conflict_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let late = "--mix lapse=0,release=0,stranger=0,reused=0,forged=0,nowhere=0";
    let only_late = format!("--pay-within 1ms --workload churn {late}");
    for (options, option, allowed) in [
        ("--zipf 2 --workload rush", "--zipf: ", "zipf or churn"),
        ("--zipf 2 --workload uniform", "--zipf: ", "zipf or churn"),
        (
            "--hot-seats 5 --workload uniform",
            "--hot-seats: ",
            "add --hot-percent",
        ),
        (
            "--hot-seats 5 --workload churn",
            "--hot-seats: ",
            "--workload rush",
        ),
        (
            "--hot-seats 5 --hot-percent 0",
            "--hot-seats: ",
            "leave one of the two out",
        ),
        (&only_late, "--pay-within: ", "leave --pay-within out"),
        (
            "--threshold unstarted<1",
            "--threshold unstarted<1: ",
            "--rate or --ramp",
        ),
        (
            "--store mutant:M34 --engine queue",
            "--engine: ",
            "--store sqlite",
        ),
        (
            "--store mutant:M34 --batch 5",
            "--batch: ",
            "--store sqlite",
        ),
        ("--store mutant:M34 --pool 5", "--pool: ", "--store sqlite"),
        (
            "--store mutant:M01 --busy-timeout 1s",
            "--busy-timeout: ",
            "--store sqlite",
        ),
        (
            "--store sqlite-per-call --engine queue",
            "--engine queue: ",
            "use --store sqlite",
        ),
        (
            "--store sqlite-per-call --batch 5",
            "--batch: ",
            "only --engine queue",
        ),
    ] {
        let (code, out, err) = ended(stress(folder.path(), options));
        assert_eq!(code, Some(2), "{options}: {out}{err}");
        assert!(err.starts_with(&format!("error: {option}")), "{err}");
        let words = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(allowed), "{options}: {err}");
    }
}

#[test]
fn help_and_refusals_fit_into_80_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    for options in [
        "--help",
        "-h",
        "--store mutant:XX",
        "--threshold hold.foo.p99<5ms",
        "--threshold all.p98<5ms",
        "--mix fly=1",
        "--workload foo",
        "--ramp 1:9:1 --ops 5",
        "--store mutant:M34 --busy-timeout 1s",
        "--threshold unstarted<1",
    ] {
        let (_, out, err) = ended(stress(folder.path(), options));
        for line in out.lines().chain(err.lines()) {
            assert!(line.chars().count() <= 80, "{options}: {line}");
        }
    }
    let (_, _, err) = ended(stress(folder.path(), "--store mutant:XX"));
    assert!(err.contains("T06\n") && !err.contains(":PATH"), "{err}");
}

#[test]
fn the_help_of_churn_does_not_say_that_nobody_pays_in_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, out, _) = ended(stress(folder.path(), "--help"));
    assert!(!out.contains("nobody pays"), "{out}");
    // Nobody but those who pay with an earlier payment, of which the first has none.
    let mix = "late=0,stranger=0,forged=0,nowhere=0,reused=20";
    let options = format!("--workload churn --ops 3000 --ttl 500ms --mix {mix} --format json");
    let (code, out, err) = ended(stress(folder.path(), &options));
    assert_eq!(code, Some(0), "{out}{err}");
    let report: Value = serde_json::from_str(&out).expect("one JSON object");
    let sold = &report["operations"]["confirm"]["endings"]["sold"]["count"];
    assert!(sold.as_u64().is_some_and(|sold| sold > 0), "{out}");
}

#[test]
fn a_store_that_can_not_be_opened_is_exit_code_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8").to_owned();
    let (code, out, err) = ended(stress(folder.path(), &format!("--database {path}")));
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(err.contains("is a folder"), "{err}");
}

#[test]
fn a_missed_threshold_is_exit_code_4_and_says_by_how_much() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = "--ops 200 --threshold hold.held.p99<1ns --threshold all.count>=200";
    let (code, out, err) = ended(stress(folder.path(), options));
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(out.contains("FAIL hold.held.p99<1ns"), "{out}");
    assert!(out.contains("missed by"), "{out}");
    assert!(out.contains("ok   all.count>=200"), "{out}");
    let statement = evidence::verify_file(&only_file_in(folder.path())).expect("it verifies");
    let verdict = statement.predicate.verdict;
    assert_eq!(verdict, evidence::Verdict::ThresholdMissed);
}

#[test]
fn a_store_that_is_broken_on_purpose_is_exit_code_3_with_a_witness() {
    let rush = "--workload rush --ttl 50ms";
    // A single client's look at its seat always comes before the next command.
    let looks = "--workload churn --look-percent 100 --clients 1";
    let mutants = [
        ("M34", rush),
        ("N02", rush),
        ("M01", rush),
        // The same payment twice at once.
        ("M03", rush),
        ("M19", rush),
        ("T02", looks),
    ];
    for (mutant, options) in mutants {
        let folder = tempfile::tempdir().expect("a folder");
        let options = format!("--duration 2s --store mutant:{mutant} {options}");
        let (code, out, err) = ended(stress(folder.path(), &options));
        assert_eq!(code, Some(3), "{mutant}: {out}{err}");
        assert!(out.contains("FAIL"), "{out}");
        assert!(out.contains("VIOLATED"), "{out}");
        for line in out.lines().filter(|line| !line.starts_with("evidence: ")) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let statement = evidence::verify_file(&only_file_in(folder.path())).expect("it verifies");
        assert_eq!(statement.predicate.verdict, evidence::Verdict::Violated);
    }
}

#[test]
fn a_violation_says_how_to_draw_the_calls_that_contradict_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let mutant = "--no-evidence --duration 1s --ttl 50ms --seed 7 --store mutant:M01";
    let run = |options: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stress"));
        command.args(mutant.split(' '));
        command.args(options.split_whitespace());
        let (code, out, err) = ended(command);
        assert_eq!(code, Some(3), "{out}{err}");
        out
    };
    let out = run("");
    assert!(out.contains("next: run it again with --history FILE (--seed 7"));
    let command = "cargo run --release -p model-check -- check";
    assert!(out.contains(&format!("{command} FILE --pictures DIR\n")));
    // Instants in the unit of all other times.
    assert!(out.contains("µs +") && !out.contains("us +"), "{out}");
    let history = folder.path().join("h.jsonl");
    let out = run(&format!("--history {}", history.display()));
    assert!(
        out.contains(&format!("{command} {}", history.display())),
        "{out}"
    );
    assert!(out.contains("--pictures pictures\n"), "{out}");
}

#[test]
fn the_head_says_of_each_store_what_is_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let head = |options: &str| {
        let (_, out, _) = ended(stress(folder.path(), &format!("--ops 300 {options}")));
        let head = out.split("\n\n").next().expect("a head");
        head.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let real = head("--store sqlite");
    assert!(real.contains("8 connections, a fresh file"), "{real}");
    assert!(real.contains("commit queue of up to 128"), "{real}");
    let per_call = head("--store sqlite-per-call --pool 3");
    assert!(
        per_call.contains("3 connections, a fresh file"),
        "{per_call}"
    );
    assert!(per_call.contains("a commit per call, SQLite"), "{per_call}");
    assert!(!per_call.contains("broken"), "{per_call}");
    let processes = head("--processes 2");
    assert!(processes.contains("8 connections each"), "{processes}");
    let file = head("--store mutant:M34");
    assert!(file.contains("seed 1, a fresh file"), "{file}");
    assert!(
        file.contains("mutant:M34, broken on purpose: hold: only"),
        "{file}"
    );
    let memory = head("--store mutant:M01");
    assert!(memory.contains("seed 1, in memory"), "{memory}");
    assert!(
        !memory.contains("connection") && !memory.contains("file"),
        "{memory}"
    );
}

#[test]
fn without_the_queue_one_line_says_what_the_queue_makes_of_the_load() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, out, err) = ended(stress(folder.path(), "--engine pool --ops 400 --clients 8"));
    assert_eq!(code, Some(0), "{out}{err}");
    let line = out.lines().find(|line| line.starts_with("queue "));
    let line = line.unwrap_or_else(|| panic!("no such line:\n{out}"));
    assert!(
        line.contains("/s with the same load, ") && line.ends_with("all checks hold"),
        "{line}"
    );
    only_file_in(folder.path()); // the run that was asked for has evidence, no other
    let (_, out, _) = ended(stress(folder.path(), "--ops 400 --clients 8"));
    assert!(!out.contains("\nqueue "), "{out}");
}

#[test]
fn errors_are_told_by_operation_with_the_whole_first_message() {
    let folder = tempfile::tempdir().expect("a folder");
    // One connection for many, and hardly any patience.
    let options = "--engine pool --pool 1 --clients 32 --busy-timeout 1ms --duration 1s";
    let (code, out, err) = ended(stress(folder.path(), options));
    assert_eq!(code, Some(0), "{out}{err}");
    for line in out.lines().filter(|line| !line.starts_with("evidence: ")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let again = "repeated because of one (others come twice on purpose)";
    assert!(words.contains(again), "{out}");
    let first = words
        .split_once("first error of hold, busy: ")
        .expect("busy")
        .1;
    assert!(first.contains("repeat the same call: timed out"), "{out}");
    assert!(!first.contains('…'), "{out}");
}

#[test]
fn a_ramp_ends_at_the_first_rate_that_is_not_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = "--ramp 50:9000050:9000000 --duration 1s --clients 2 --format json";
    let (code, out, err) = ended(stress(folder.path(), options));
    assert_eq!(code, Some(0), "{out}{err}");
    let report: Value = serde_json::from_str(&out).expect("one JSON object");
    let steps = report["ramp"].as_array().expect("a list");
    // A busy machine may not even keep the first rate; no machine keeps the second with two clients.
    let (last, before) = steps.split_last().expect("a step");
    assert_eq!(last["kept"], false, "{out}");
    assert!(before.iter().all(|step| step["kept"] == true), "{out}");
    assert_eq!(
        report["due"], 50,
        "the figures are those of the knee, or else of the first rate"
    );
    evidence::verify_file(&only_file_in(folder.path())).expect("it verifies");
}

#[test]
fn the_knee_lies_beyond_a_ramp_whose_every_rate_was_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = "--ramp 20:40:20 --duration 1s --clients 2 --format json";
    let (code, out, err) = ended(stress(folder.path(), options));
    assert_eq!(code, Some(0), "{out}{err}");
    let report: Value = serde_json::from_str(&out).expect("one JSON object");
    let kept = |step: &Value| step["kept"] == true;
    let steps = report["ramp"].as_array().expect("a list");
    // A busy machine may not even keep these rates.
    let (name, figure) = match (steps.iter().any(kept), steps.last().is_some_and(kept)) {
        (_, true) => ("beyond", "knee_beyond"),
        (true, false) => ("at", "knee"),
        (false, false) => ("below", "knee_below"),
    };
    assert_eq!(report["knee"]["is"], name, "{out}");
    let statement = evidence::verify_file(&only_file_in(folder.path())).expect("it verifies");
    let figures = statement.predicate.results.figures;
    let knees = figures
        .iter()
        .map(|figure| &*figure.name)
        .filter(|name| name.starts_with("knee"));
    assert_eq!(knees.collect::<Vec<_>>(), [figure]);
}

#[test]
fn a_database_that_holds_seats_is_refused_unless_it_is_to_be_reused() {
    let folder = tempfile::tempdir().expect("a folder");
    let evidence = folder.path().join("evidence");
    let file = folder.path().join("seats.sqlite");
    let options = format!("--database {} --ops 300", file.to_str().expect("UTF-8"));
    let (code, out, err) = ended(stress(&evidence, &options));
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(file.exists(), "the file is kept");
    let (code, out, err) = ended(stress(&evidence, &options));
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(err.contains("--reuse"), "{err}");
    let (code, out, err) = ended(stress(&evidence, &format!("{options} --reuse")));
    assert_eq!(code, Some(0), "{out}{err}");
}

#[test]
fn an_interrupted_run_is_still_checked_and_written_and_exits_with_130() {
    let folder = tempfile::tempdir().expect("a folder");
    let (evidence, file) = (
        folder.path().join("runs"),
        folder.path().join("seats.sqlite"),
    );
    let database = format!("--duration 1h --database {}", file.to_str().expect("UTF-8"));
    let mut command = stress(&evidence, &database);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // It listens for Ctrl-C before it makes the file.
    while !file.exists() {
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(500));
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill is there").success());
    let asked = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    assert!(asked.elapsed() < Duration::from_mins(1), "it ends soon");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(130), "{out}");
    assert!(out.contains("INTERRUPTED"), "{out}");
    let statement = evidence::verify_file(&only_file_in(&evidence)).expect("it verifies");
    assert!(statement.predicate.run.interrupted);
    assert_eq!(statement.predicate.verdict, evidence::Verdict::Interrupted);
}

#[test]
fn what_could_not_be_kept_is_found_before_the_load_and_nothing_is_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = folder.path().join("taken.jsonl");
    std::fs::write(&taken, "mine").expect("written");
    let options = format!("--ops 10 --history {}", taken.display());
    let (code, _, err) = ended(stress(folder.path(), &options));
    assert_eq!(code, Some(1), "{err}");
    assert!(
        err.contains("is there already; name a file that is not"),
        "{err}"
    );
    assert_eq!(std::fs::read_to_string(&taken).expect("there"), "mine");
    let (code, _, err) = ended(stress(&taken, "--ops 10"));
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("no evidence can be written in"), "{err}");
}

#[cfg(unix)]
#[test]
fn a_database_is_used_by_one_run_at_a_time_and_must_be_there_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("seats.sqlite");
    let options = format!("--database {}", database.display());
    let mut first = stress(folder.path(), &format!("{options} --duration 3s"));
    let first = first
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let opened = std::time::Instant::now();
    while !database.with_extension("sqlite-wal").exists() {
        assert!(opened.elapsed().as_secs() < 60, "the run does not begin");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(700));
    let (code, _, err) = ended(stress(
        folder.path(),
        &format!("{options} --reuse --ops 10"),
    ));
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("is in use by another stress run"), "{err}");
    std::fs::remove_file(&database).expect("it is there");
    let first = first.wait_with_output().expect("it ends");
    let out = String::from_utf8_lossy(&first.stdout);
    assert_eq!(first.status.code(), Some(3), "{out}");
    assert!(
        out.contains("was removed or replaced during the run"),
        "{out}"
    );
}

/// One run as JSON: its exit code, and what it says.
fn as_json(options: &str) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, out, err) = ended(stress(folder.path(), &format!("--format json {options}")));
    let report = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    (code, report)
}

#[test]
fn every_check_is_made_and_what_it_finds_is_what_the_run_comes_to() {
    let (code, honest) = as_json("--ops 3000 --ttl 20ms");
    assert_eq!(code, Some(0));
    let names = |report: &Value| -> Vec<String> {
        let checks = report["checks"].as_object().expect("an object");
        checks.keys().cloned().collect()
    };
    let expected = [
        "audit",
        "audit_change",
        "acknowledged",
        "answers",
        "history",
        "file",
    ];
    assert_eq!(names(&honest), expected);
    for name in expected {
        assert!(honest["checks"][name]["cases"].as_u64() > Some(0), "{name}");
    }
    // Each finds what is wrong with a store, and the run says so.
    for (store, name) in [
        ("M24", "acknowledged"),
        ("N24", "audit"),
        ("M02", "history"),
    ] {
        let (code, broken) = as_json(&format!("--ops 3000 --ttl 20ms --store mutant:{store}"));
        assert_eq!(code, Some(3), "{store}");
        let found = broken["checks"][name]["violations"].as_u64();
        assert!(found > Some(0), "{store}: {}", broken["checks"]);
    }
}

#[test]
fn everything_that_was_asked_for_is_read_once_more_at_the_end() {
    use std::collections::BTreeSet;

    use model_check::history::Call;

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("calls.jsonl");
    let options = "--ops 3000 --clients 4 --ttl 20ms --hot-percent 20";
    let history = format!("{options} --history {}", path.display());
    let (code, out, err) = ended(stress(folder.path(), &history));
    assert_eq!(code, Some(0), "{out}{err}");
    let file = std::io::BufReader::new(std::fs::File::open(&path).expect("it was kept"));
    let history = model_check::history::read(file).expect("readable");
    let (mut seats, mut payments) = (BTreeSet::new(), BTreeSet::new());
    let (mut seats_read, mut payments_read) = (BTreeSet::new(), BTreeSet::new());
    for operation in &history.operations {
        let is_reader = operation.when().client >= 4;
        match operation.call() {
            Call::Hold { seat, .. } => {
                seats.insert(seat);
            }
            Call::Confirm { payment, .. } => {
                payments.insert(payment);
            }
            Call::ReadSeat(seat) if is_reader => {
                seats_read.insert(seat);
            }
            Call::ReadPayment(payment) if is_reader => {
                payments_read.insert(payment);
            }
            Call::Release(_) | Call::ReadSeat(_) | Call::ReadPayment(_) => {}
        }
    }
    // How many payments there are depends on how many holds end before they
    // are paid for; that there are some of both does not.
    assert!(seats.len() > 10, "seats: {seats:?}");
    assert!(payments.len() > 10, "payments: {payments:?}");
    let missing: Vec<_> = seats.difference(&seats_read).collect();
    assert!(missing.is_empty(), "never read at the end: {missing:?}");
    let missing: Vec<_> = payments.difference(&payments_read).collect();
    assert!(missing.is_empty(), "never read at the end: {missing:?}");
}

#[cfg(unix)]
#[test]
fn a_database_that_is_broken_in_place_does_not_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("seats.sqlite");
    let options = format!("--duration 2s --database {}", database.display());
    let run = stress(folder.path(), &options)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let began = Instant::now();
    while !database.with_extension("sqlite-wal").exists() {
        assert!(began.elapsed().as_secs() < 60, "the run does not begin");
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(700));
    let file = std::fs::File::options().write(true).open(&database);
    file.expect("it is there")
        .set_len(0)
        .expect("cut while it is open");
    let output = run.wait_with_output().expect("it ends");
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{out}");
}

#[test]
fn a_run_that_can_check_nothing_or_would_destroy_something_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, out, err) = ended(stress(folder.path(), "--duration 1us"));
    assert_eq!(code, Some(1), "{out}");
    assert!(
        err.contains("no call was made in the measured part"),
        "{err}"
    );
    let database = folder.path().join("seats.sqlite");
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let options = format!(
            "--ops 10 --database {0} --history {0}{suffix}",
            database.display()
        );
        let (code, _, err) = ended(stress(folder.path(), &options));
        assert_eq!(code, Some(2), "{suffix}: {err}");
        let words = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("belongs to --database"), "{err}");
    }
    assert!(!database.exists());
}

#[test]
fn an_impatient_load_is_read_back_with_patience() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = "--pool 1 --busy-timeout 1ms --clients 16 --duration 300ms";
    let (code, out, err) = ended(stress(folder.path(), options));
    assert_eq!(code, Some(0), "{out}{err}");
}

#[test]
fn a_slow_open_loop_is_measured_to_its_end() {
    let (code, report) = as_json("--rate 2 --duration 1s");
    assert_eq!(code, Some(0));
    assert!(report["measured_seconds"].as_f64() >= Some(1.0), "{report}");
    assert!(
        report["attempts_per_second"].as_f64() <= Some(2.0),
        "{report}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_summary_that_can_not_be_written_is_no_success() {
    let folder = tempfile::tempdir().expect("a folder");
    let full = std::fs::File::options().write(true).open("/dev/full");
    let mut run = stress(folder.path(), "--ops 50");
    let output = run.stdout(full.expect("Linux has it")).output();
    let output = output.expect("the program starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("the summary could not be written"), "{err}");
}

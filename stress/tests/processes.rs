//! A run in several processes: one result and one history, also when a process is killed.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

fn stress(folder: &Path, options: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stress"));
    command
        .args(["--evidence", folder.to_str().expect("UTF-8")])
        .args(["--seats", "200", "--ttl", "30ms"])
        .args(options.split_whitespace());
    command
}

fn ended(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn verified(folder: &Path) -> evidence::Statement {
    let file = std::fs::read_dir(folder).expect("a folder").next();
    let file = file.expect("a file").expect("readable").path();
    evidence::verify_file(&file).expect("it verifies")
}

/// The processes that this one has started, when there are so many; it does not wait long.
#[cfg(target_os = "linux")]
fn children_of(parent: u32, count: usize) -> Vec<u32> {
    let asked = Instant::now();
    loop {
        let all = std::fs::read_dir("/proc").expect("Linux has it");
        let children: Vec<u32> = all
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|pid| parent_of(*pid) == Some(parent))
            .collect();
        if children.len() == count {
            return children;
        }
        assert!(asked.elapsed() < Duration::from_secs(30), "{children:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The parent of a process that is alive.
#[cfg(target_os = "linux")]
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let alive = fields.next() != Some("Z");
    fields.next().filter(|_| alive)?.parse().ok()
}

fn send(signal: &str, pid: u32) {
    let kill = Command::new("kill")
        .args([signal, &pid.to_string()])
        .status();
    assert!(kill.expect("kill is there").success());
}

#[cfg(target_os = "linux")]
fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("readable").path())
        .collect()
}

fn started(mut command: Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

#[test]
fn two_processes_share_the_clients_and_come_to_one_result_that_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    let history = folder.path().join("history.jsonl");
    let options = format!(
        "--processes 2 --clients 5 --ops 3000 --warmup 50ms --format json --history {}",
        history.display()
    );
    let runs = folder.path().join("runs");
    let (code, out, err) = ended(stress(&runs, &options).output().expect("it starts"));
    assert_eq!(code, Some(0), "{out}{err}");
    let report: Value = serde_json::from_str(&out).expect("one JSON object");
    assert_eq!(report["attempts"], 3_000, "the calls that were asked for");
    assert_eq!(report["processes"].as_array().expect("a list").len(), 2);
    let per_commit = report["commits"]["calls_per_commit"].as_f64();
    assert!(per_commit.is_some_and(|calls| calls >= 1.0), "{out}");
    // Every decision that is recorded was told to somebody, and is compared with what was told.
    let recorded = report["laws"]["decisions"]["right"].as_u64();
    let compared = report["checks"]["acknowledged"]["cases"].as_u64();
    assert!(recorded > Some(100) && compared >= recorded, "{out}");
    let statement = verified(&runs);
    assert_eq!(statement.predicate.verdict, evidence::Verdict::Holds);
    let file = std::fs::File::open(&history).expect("it was kept");
    let history = model_check::history::read(std::io::BufReader::new(file)).expect("a history");
    let clients = history.operations.iter().map(|call| call.when().client);
    assert!(clients.collect::<std::collections::BTreeSet<_>>().len() > 5);
}

#[test]
fn the_same_seed_intends_the_same_in_any_number_of_processes() {
    let intents = |processes: u32| {
        let folder = tempfile::tempdir().expect("a folder");
        let options = format!("--processes {processes} --ops 50 --seed 7");
        let (code, out, err) = ended(stress(folder.path(), &options).output().expect("it starts"));
        assert_eq!(code, Some(0), "{out}{err}");
        let statement = verified(folder.path());
        format!("{:?}", statement.predicate.configuration["intents_sha256"])
    };
    assert_eq!(intents(1), intents(3));
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_process_is_named_and_its_history_holds_with_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = "--processes 3 --clients 6 --duration 1500ms";
    let child = started(stress(folder.path(), options));
    let workers = children_of(child.id(), 3);
    thread::sleep(Duration::from_millis(900));
    send("-KILL", workers[1]);
    let (code, out, err) = ended(child.wait_with_output().expect("it ends"));
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("was killed by signal 9"), "{out}");
    assert!(out.contains("HOLDS"), "{out}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let unknown = words
        .split(" of unknown result")
        .next()
        .expect("it is told");
    let unknown = unknown.rsplit(' ').next().expect("how many");
    let told = format!("{unknown} of them ");
    assert!(
        unknown == "0" || words.contains(&told) && words.contains("of a killed process"),
        "{out}"
    );
    for line in out.lines().filter(|line| !line.starts_with("evidence: ")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let results = verified(folder.path()).predicate.results;
    let killed = results
        .counts
        .keys()
        .filter(|name| name.ends_with("killed_by_signal"));
    assert_eq!(killed.count(), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn when_the_first_process_is_killed_no_other_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = stress(folder.path(), "--processes 2 --duration 1h");
    // Nobody is left to take its temporary files away.
    command.env("TMPDIR", folder.path());
    let mut child = started(command);
    let workers = children_of(child.id(), 2);
    thread::sleep(Duration::from_millis(300));
    let holds = |name: &str| {
        let mut folders = entries(folder.path()).into_iter();
        folders.any(|folder| folder.join(name).exists())
    };
    let asked = Instant::now();
    while !holds("client-0.jsonl") {
        assert!(asked.elapsed() < Duration::from_secs(30), "no call yet");
        thread::sleep(Duration::from_millis(10));
    }
    send("-KILL", child.id());
    child.wait().expect("it ends");
    let asked = Instant::now();
    while workers.iter().any(|pid| parent_of(*pid).is_some()) {
        assert!(asked.elapsed() < Duration::from_secs(10), "{workers:?}");
        thread::sleep(Duration::from_millis(10));
    }
    let left = entries(folder.path());
    assert!(
        left.len() == 2 && holds("client-0.jsonl") && holds("seats.sqlite"),
        "what is left is what the head of processes.rs says: {left:?}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupted_run_stops_every_process_and_is_still_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = started(stress(folder.path(), "--processes 2 --duration 1h"));
    children_of(child.id(), 2);
    thread::sleep(Duration::from_millis(700));
    send("-INT", child.id());
    let (code, out, err) = ended(child.wait_with_output().expect("it ends"));
    assert_eq!(code, Some(130), "{out}{err}");
    assert!(out.contains("INTERRUPTED"), "{out}");
    assert!(verified(folder.path()).predicate.run.interrupted);
}

#[test]
fn a_store_that_is_broken_on_purpose_is_seen_across_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = "--processes 2 --duration 1500ms --store mutant:M34";
    let (code, out, err) = ended(stress(folder.path(), options).output().expect("it starts"));
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(out.contains("VIOLATED"), "{out}");
}

//! Killed processes: what they had been told is true, on one file, with a clock that steps.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use model_check::crash::kill::{Config, Round, run, start};
use model_check::serializable::Verdict;

fn arguments(round: &Round) -> Vec<String> {
    let pairs = [
        ("--store", round.store.display().to_string()),
        ("--start", round.start.as_unix_millis().to_string()),
        ("--round", round.number.to_string()),
        ("--seed", round.seed.to_string()),
        ("--threads", round.threads.to_string()),
    ];
    let mut arguments = vec!["kill-child".to_owned(), "--no-evidence".to_owned()];
    for (name, value) in pairs {
        arguments.extend([name.to_owned(), value]);
    }
    arguments
}

#[test]
fn what_a_killed_process_had_answered_is_true() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_model-check"));
    let config = Config {
        rounds: 8,
        ..Config::default()
    };
    let never = AtomicBool::new(false);
    let start_child = |round: &Round| start(program, &arguments(round));
    let report = run(folder.path(), &config, &start_child, &never, &|_| {}).expect("it runs");
    assert_eq!(report.killed, 8);
    let threads = config.threads as u64;
    assert!(
        (1..=8 * threads).contains(&report.in_flight),
        "{} calls were in flight",
        report.in_flight
    );
    assert_eq!(report.wrong, Vec::<String>::new());
    assert!(
        matches!(report.checked.verdict, Verdict::Holds),
        "{:?}",
        report.checked
    );
}

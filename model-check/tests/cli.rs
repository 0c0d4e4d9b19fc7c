//! The program from outside: what it prints, and how it exits.

use std::process::{Command, Output};

fn model_check(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_model-check"))
        .args(arguments)
        .arg("--no-evidence")
        .output()
        .expect("the program starts")
}

#[track_caller]
fn check(arguments: &[&str], code: i32, says: &[&str]) -> String {
    let output = model_check(arguments);
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    for part in says {
        assert!(
            text.contains(part),
            "{arguments:?} should say {part:?}:\n{text}"
        );
    }
    let wide = text
        .lines()
        .find(|line| line.chars().count() > 80 && [0, 3].contains(&code));
    assert_eq!(wide, None, "{arguments:?} prints more than 80 columns");
    text
}

#[test]
fn sequences_on_the_real_store_hold_and_exit_with_0() {
    check(
        &["sequences", "--cases", "30", "--seed", "5"],
        0,
        &[
            "2,584 combinations, all right",
            "30 sequences",
            "commands/s with the check",
        ],
    );
}

#[test]
fn a_violated_sequence_exits_with_3_and_says_how_to_see_it_again() {
    check(
        &["sequences", "--store", "mutant:M21", "--cases", "300"],
        3,
        &[
            "VIOLATED by sequence",
            "--from",
            "--replay '",
            "caught by the check 'restart'",
        ],
    );
    check(
        &["sequences", "--store", "mutant:M06"],
        3,
        &[
            "VIOLATED in the small space",
            "right is RefundRequired(Expired), the\nstore says Sold",
            "--store mutant:M06 \\\n         --replay 'H(s,A)@5; C(p,s,A,h1)@15;",
        ],
    );
}

#[test]
fn a_sequence_is_replayed_as_it_is_written() {
    let sequence = "H(s,A)@0; C(p,s,A,h1)@10";
    check(
        &["sequences", "--replay", sequence],
        0,
        &[
            sequence,
            "Held(h1 until 10 ms)",
            "RefundRequired(Expired)",
            "holds",
        ],
    );
    check(
        &["sequences", "--store", "mutant:M06", "--replay", sequence],
        3,
        &["at step 2: right is RefundRequired(Expired), the"],
    );
}

#[test]
fn a_named_file_must_not_be_there_and_stays_for_a_look() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("seats.sqlite");
    let store = format!("sqlite:{}", path.display());
    let arguments = ["sequences", "--store", &store, "--replay", "H(s,A)@0"];
    check(&arguments, 0, &["holds"]);
    assert!(path.exists());
    check(
        &arguments,
        1,
        &["is there already; name a file that is not"],
    );
    for (name, suffix) in [("log", "-wal"), ("index", "-shm"), ("journal", "-journal")] {
        let precious = folder.path().join(format!("{name}.sqlite{suffix}"));
        std::fs::write(&precious, "precious").expect("written");
        let store = format!(
            "sqlite:{}",
            folder.path().join(format!("{name}.sqlite")).display()
        );
        check(
            &["sequences", "--store", &store, "--replay", "H(s,A)@0"],
            1,
            &["is there already"],
        );
        assert_eq!(
            std::fs::read_to_string(precious).expect("there"),
            "precious"
        );
    }
    #[cfg(unix)]
    {
        let (link, target) = (
            folder.path().join("link.sqlite"),
            folder.path().join("gone"),
        );
        std::os::unix::fs::symlink(&target, &link).expect("a link that leads nowhere");
        let store = format!("sqlite:{}", link.display());
        check(
            &["sequences", "--store", &store, "--replay", "H(s,A)@0"],
            1,
            &["is there already"],
        );
        assert!(link.is_symlink() && !target.exists());
    }
    let nowhere = format!("sqlite:{}", folder.path().join("no/seats.sqlite").display());
    check(
        &["sequences", "--store", &nowhere, "--replay", "H(s,A)@0"],
        1,
        &["there is no folder"],
    );
}

#[test]
fn the_numbers_of_sequences_end() {
    let last = u64::MAX.to_string();
    check(
        &["sequences", "--cases", "1", "--from", &last],
        2,
        &["give 18446744073709551614 or less"],
    );
}

#[test]
fn a_mutant_is_shown_with_what_caught_it() {
    check(
        &["mutants", "M13", "--cases", "300"],
        0,
        &[
            "cqrs-journey 392",
            "caught by the check that is named for it",
            "--store mutant:M13",
        ],
    );
}

#[test]
fn a_race_is_shown_with_the_calls_that_contradict_each_other() {
    // Which rule sees two decisions first is up to the race: both about one payment, or both about one hold.
    let text = check(
        &["mutants", "M03", "L01"],
        0,
        &["M03*", "1. client", "2. client", "BEGIN DEFERRED"],
    );
    let rule = text.lines().find_map(|line| line.split_once(": both "));
    let (rule, _) = rule.unwrap_or_else(|| panic!("no rule is named:\n{text}"));
    assert!(["one-decision", "one-maker"].contains(&rule), "{text}");
}

#[test]
fn wrong_usage_exits_with_2_and_one_clear_line() {
    check(
        &["sequences", "--store", "postgres"],
        2,
        &["no store is called \"postgres\""],
    );
    check(
        &["sequences", "--store", "mutant:M99"],
        2,
        &["model-check mutants lists the IDs"],
    );
    check(
        &["sequences", "--store", "mutant:M49"],
        2,
        &["only a crash shows its fault; give model-check mutants M49"],
    );
    check(&["mutants", "M99"], 2, &["no mutant is called so"]);
    check(
        &["mutants", "M06", "--pictures", "pictures"],
        2,
        &["races are drawn, and M06 is none; the races are M01"],
    );
    check(
        &["mutants", "M01", "--pictures", "/dev/null/pictures"],
        1,
        &["no picture can be drawn in /dev/null/pictures"],
    );
    check(&["sequences", "--replay", " "], 2, &["has no step"]);
    check(
        &["sequences", "--store", "mutant:M01"],
        2,
        &["only threads show its fault", "model-check mutants M01"],
    );
    check(
        &["sequences", "--replay", "H(s)@0"],
        2,
        &["step 1, \"H(s)@0\""],
    );
    check(
        &["sequences", "--cases", "many"],
        2,
        &["give a whole number from 1 to"],
    );
    check(
        &["histories", "--calls", "0"],
        2,
        &["give a whole number from 1 to"],
    );
    check(&["nonsense"], 2, &["unrecognized subcommand"]);
}

#[test]
fn power_fits_the_terminal_and_a_case_that_can_not_be_replayed_exits_with_2() {
    for (case, says) in [
        ("nonsense", "is no case"),
        ("power/real/1/0/0/nothing/0", "is no case"),
        ("power/real/-1/20/0/nothing/0", "is no case"),
        (
            "power/nobody/1/20/0/nothing/0",
            "there is no store \"nobody\"",
        ),
        (
            "power/real/1/20/99999/nothing/0",
            "there is no crash point 99999",
        ),
        ("faults/real/1/20/write/0/once/FULL/done", "is no case"),
        (
            "faults/real/1/20/delete/99/once/IOERR/done",
            "nothing failed",
        ),
    ] {
        check(&["replay", case], 2, &[says]);
    }
    check(&["replay", "power/real/1/20/9/everything/0"], 0, &["holds"]);
    check(
        &["replay", "faults/real/1/20/sync/2/once/IOERR/undone"],
        0,
        &["holds"],
    );
    check(
        &["power", "--images", "100", "--ops", "60"],
        0,
        &["0 violations in", "of the commit queue"],
    );
    check(&["power", "--images", "0"], 2, &["'--images <N>'"]);
    check(
        &["power", "--seed", "many"],
        2,
        &["give a whole number from 0 to"],
    );
    check(
        &["power", "--ops", "2"],
        2,
        &["give a whole number from 3 to 100000"],
    );
}

#[test]
fn help_says_how_a_sequence_reads_and_what_exit_codes_mean() {
    check(
        &["--help"],
        0,
        &[
            "Exit codes: 0 all holds, 1 could not run",
            "sequences",
            "mutants",
        ],
    );
    check(
        &["sequences", "--help"],
        0,
        &["lost ...                         it is committed, and the answer is lost"],
    );
}

/// Begins what would take hours, interrupts it, and looks at what it leaves.
#[cfg(unix)]
#[track_caller]
fn interrupted(arguments: &[&str], wait: &str, says: &str) {
    use std::io::{BufRead as _, BufReader};

    let folder = tempfile::tempdir().expect("a folder");
    let (temporary, evidence) = (folder.path().join("tmp"), folder.path().join("evidence"));
    std::fs::create_dir(&temporary).expect("a folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_model-check"))
        .args(arguments)
        .arg("--evidence")
        .arg(&evidence)
        .env("TMPDIR", &temporary)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let begun = lines
        .by_ref()
        .map(|line| line.expect("text"))
        .find(|line| line.contains(wait));
    assert!(begun.is_some(), "it never said {wait:?}");
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.expect("kill runs").success());
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains(says)), "{rest:?}");
    let written = std::fs::read_dir(&evidence).expect("a folder").count();
    assert_eq!(written, 1, "evidence of what was done until then");
    let left = std::fs::read_dir(&temporary).expect("a folder").count();
    assert_eq!(left, 0, "temporary files are removed");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_work_and_not_the_evidence_of_it() {
    interrupted(
        &["sequences", "--cases", "100000000"],
        "small space",
        "of 100,000,000 sequences",
    );
    interrupted(
        &["histories", "--calls", "20000"],
        "2 threads",
        "interrupted, after",
    );
}

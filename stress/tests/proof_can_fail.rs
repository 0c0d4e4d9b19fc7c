//! A check that has never failed proves nothing: a real run is tampered with in every way that the
//! proof is there to notice, and each time the proof has to notice it.

use std::sync::atomic::AtomicBool;

use clap::Parser as _;
use evidence::Verdict;
use model_check::history::{History, Recorded};
use model_check::serializable;
use soldonce::invariant::{Invariant, Snapshot};
use soldonce::{Decision, PaymentRecord, RefundReason, SeatState, StoreError, Version};
use stress::answer::{Ending, Operation};
use stress::args::Args;
use stress::clock::RunClock;
use stress::config::Config;
use stress::progress::Progress;
use stress::proof::{self, Proof, Unreadable};
use stress::record::Recording;
use stress::runner::{self, Context, Load, Stage};
use stress::touched::Touched;
use stress::{history, store, told};

/// A run that was checked before anybody touched it.
struct Run {
    load: Load,
    /// What the answers said was decided.
    told: Vec<PaymentRecord>,
    /// How many payments were remembered at the end, and how many calls were held back at most.
    remembered: usize,
    most_held_back: usize,
    before: Snapshot,
    after: Snapshot,
}

impl Run {
    fn proof(&self) -> Proof {
        let told = self.told.iter().cloned().map(Ok);
        let acknowledged = told::compare(&self.after, told);
        proof::check(&self.load, acknowledged, &self.before, &self.after)
    }
}

fn run() -> Run {
    run_with("stress --ops 30000 --warmup 50ms --seats 20000 --ttl 10ms --clients 4")
}

fn run_with(options: &str) -> Run {
    let args = Args::try_parse_from(options.split(' ')).expect("valid");
    let config = Config::try_from(args).expect("valid");
    let clock = RunClock::start();
    let opened = store::open(&config, &clock).expect("a fresh file");
    let recorder = history::start(&opened, &clock, false);
    let context = Context {
        config: &config,
        opened: &opened,
        clock: &clock,
        stop: &AtomicBool::new(false),
        progress: &Progress::Silent,
        recording: Recording::Checked(&recorder),
        touched: &Touched::new(config.workload.seats),
        begin: &|| clock.now_ns(),
    };
    let stage = Stage {
        arrival: config.arrival,
        first_client: 0,
        places: 0..config.clients,
    };
    let load = runner::run(context, &stage).expect("it runs");
    let after = opened.store().snapshot().expect("readable");
    let remembered = recorder.remembered_payments().len();
    let recorded = recorder.finish();
    let decided = recorded.decided.expect("it was written");
    let told = decided.records().expect("readable");
    Run {
        load,
        told: told.map(|record| record.expect("readable")).collect(),
        remembered,
        most_held_back: recorded.most_held_back,
        before: opened.before.clone(),
        after,
    }
}

fn ending(operation: Operation, name: &str) -> Ending {
    Ending::all()
        .find(|ending| ending.operation() == operation && ending.name() == name)
        .expect("such an ending")
}

/// The names of the laws and checks that fail.
fn failing(proof: &Proof) -> Vec<&str> {
    let laws = proof.laws.iter().filter(|law| !law.holds());
    let checks = proof.checks.iter().filter(|check| check.violations > 0);
    laws.map(|law| law.name.as_str())
        .chain(checks.map(|check| check.name))
        .collect()
}

#[test]
fn an_honest_run_passes_and_every_tampering_is_noticed_by_the_check_that_is_there_for_it() {
    type Tamper = fn(&mut Run);
    let tamperings: [(&str, Tamper); 15] = [
        ("calls_hold", |run| {
            run.load.figures.measured.attempts[0] += 1;
        }),
        ("calls_release", |run| {
            run.load.figures.measured.endings[ending(Operation::Release, "released").index()] += 1;
        }),
        ("calls_confirm", |run| {
            run.load.figures.unmeasured.attempts[2] += 1;
        }),
        ("sales", |run| {
            // One sale too few and one duplicate too many: the calls still add up.
            let endings = &mut run.load.figures.measured.endings;
            endings[Ending::SOLD.index()] -= 1;
            endings[ending(Operation::Confirm, "duplicate").index()] += 1;
        }),
        ("decisions", |run| {
            let endings = &mut run.load.figures.measured.endings;
            endings[ending(Operation::Confirm, "refund_expired").index()] += 1;
            run.load.figures.measured.attempts[2] += 1;
        }),
        ("sold_seats", |run| {
            let sold = |seat: &&mut soldonce::Seat| matches!(seat.state, SeatState::Sold { .. });
            let seat = run.after.seats.iter_mut().find(sold).expect("a sold seat");
            seat.state = SeatState::Free;
        }),
        ("audit", |run| {
            let second = run
                .after
                .payments
                .iter()
                .find(|r| r.decision == Decision::Sold);
            let mut second = second.expect("a sale").clone();
            second.payment = soldonce::PaymentId::new("another").expect("valid");
            run.after.payments.push(second);
        }),
        ("acknowledged", |run| {
            let sold = run
                .told
                .iter_mut()
                .find(|told| told.decision == Decision::Sold);
            sold.expect("a sale").decision = Decision::RefundRequired(RefundReason::Expired);
        }),
        ("acknowledged", |run| {
            run.told[0].claim.owner = soldonce::OwnerId::new("another").expect("valid");
        }),
        ("acknowledged", |run| {
            let version = &mut run.after.payments[0].version;
            *version = version.next().expect("there is one");
        }),
        ("acknowledged", |run| {
            run.after.payments[0].decided_at = soldonce::Timestamp::MIN;
        }),
        ("payments_told", |run| {
            run.told.pop();
        }),
        ("acknowledged", |run| {
            // A payment that was acknowledged is gone.
            run.after
                .payments
                .retain(|record| record.decision == Decision::Sold);
        }),
        ("audit_change", |run| {
            run.before.seats[0].version = Version::new(1 << 30).expect("valid");
        }),
        ("answers", |run| {
            run.load.figures.measured.endings[ending(Operation::Hold, "corrupt").index()] += 1;
            run.load.figures.measured.attempts[0] += 1;
        }),
    ];
    let honest = run();
    let proof = honest.proof();
    assert_eq!(failing(&proof), Vec::<&str>::new());
    assert_eq!(proof.verdict(false, &[]), Verdict::Holds);
    assert_eq!(proof.verdict(true, &[]), Verdict::Interrupted);
    for (expected, tamper) in tamperings {
        let mut run = Run {
            load: honest.load.clone(),
            told: honest.told.clone(),
            remembered: honest.remembered,
            most_held_back: honest.most_held_back,
            before: honest.before.clone(),
            after: honest.after.clone(),
        };
        tamper(&mut run);
        let proof = run.proof();
        assert!(
            failing(&proof).contains(&expected),
            "{expected} should fail, but there fail {:?}",
            failing(&proof)
        );
        assert_eq!(proof.verdict(true, &[]), Verdict::Violated, "{expected}");
    }
}

#[test]
fn a_call_that_is_missing_in_the_history_is_noticed_and_so_is_an_undecided_history() {
    let run = run();
    let calls = |run: &Run| {
        let figures = &run.load.figures;
        figures.measured.all_attempts() + figures.unmeasured.all_attempts()
    };
    let check = |undecided| proof::Check {
        name: "history",
        what: "the history is strictly serializable",
        unit: "calls",
        cases: calls(&run),
        violations: 0,
        undecided,
        notes: Vec::new(),
    };
    let mut proof = run.proof();
    proof.add_history(check(0), calls(&run) + 7, 7);
    assert_eq!(failing(&proof), Vec::<&str>::new());
    let mut proof = run.proof();
    proof.add_history(check(0), calls(&run) + 6, 7);
    assert_eq!(failing(&proof), ["history_calls"]);
    let mut proof = run.proof();
    proof.add_history(check(1), calls(&run), 0);
    assert_eq!(proof.verdict(false, &[]), Verdict::Inconclusive);
}

#[test]
fn stored_nonsense_is_a_violation_and_what_can_not_be_read_for_another_reason_is_open() {
    let run = run();
    let of =
        |error: &StoreError| Proof::of_unreadable(&run.load, &run.before, Unreadable::from(error));
    let failed = |words: &str| StoreError::Database {
        doing: "opening",
        source: words.into(),
    };
    for error in [
        StoreError::Corrupt {
            invariant: Invariant::RowShape,
            detail: "a row of no known state".to_owned(),
        },
        failed("database disk image is malformed"),
        failed("file is not a database"),
    ] {
        assert_eq!(failing(&of(&error)), ["stored"], "{error:?}");
        assert_eq!(of(&error).verdict(false, &[]), Verdict::Violated);
    }
    let full = of(&failed("database or disk is full"));
    assert_eq!(failing(&full), Vec::<&str>::new());
    assert_eq!(full.verdict(false, &[]), Verdict::Inconclusive);
}

#[test]
fn a_history_that_nobody_can_decide_is_no_pass() {
    let recorded = Recorded {
        report: serializable::Report {
            verdict: serializable::Verdict::Inconclusive("too much is unknown".to_owned()),
            counts: serializable::Counts::default(),
        },
        history: History::default(),
        most_held_back: 0,
        decided: None,
    };
    let run = run();
    let mut proof = run.proof();
    assert_eq!(proof.verdict(false, &[]), Verdict::Holds);
    proof.checks.push(history::check(&recorded));
    assert_eq!(proof.verdict(false, &[]), Verdict::Inconclusive);
}

#[test]
fn payments_without_an_answer_may_be_recorded_or_not_but_no_others_may() {
    let mut run = run();
    run.load.unsettled = 1;
    assert_eq!(failing(&run.proof()), Vec::<&str>::new());
    // One answer too few: its record may be that of the payment without an answer.
    let sold = &mut run.load.figures.measured.endings[Ending::SOLD.index()];
    *sold -= 1;
    run.load.figures.measured.attempts[2] -= 1;
    assert_eq!(failing(&run.proof()), Vec::<&str>::new());
    // Two too few are one record that nobody can have made.
    run.load.figures.measured.endings[Ending::SOLD.index()] -= 1;
    run.load.figures.measured.attempts[2] -= 1;
    assert_eq!(failing(&run.proof()), ["unsettled"]);
}

#[test]
fn a_payment_that_is_over_is_forgotten_and_the_check_keeps_up() {
    // In a closed loop, where some calls come twice at once, and in an open one, where none do.
    // Holds end soon and most are paid for, so many calls are payments, however fast the rest is refused.
    for load in ["--ops 60000", "--ops 6000 --rate 4000"] {
        let options = format!(
            "stress --workload churn {load} --ttl 3ms --mix late=100 --warmup 0s --seats 200 --clients 4"
        );
        let run = run_with(&options);
        let (told, calls) = (run.told.len(), run.load.figures.measured.all_attempts());
        assert_eq!(failing(&run.proof()), Vec::<&str>::new(), "{load}");
        assert!(told as u64 > calls / 10, "{load}: only {told} payments");
        // One for each seat, and one that each client may pay with again.
        assert!(
            run.remembered <= 300,
            "{load}: {} of {told}",
            run.remembered
        );
        let held_back = run.most_held_back as u64;
        assert!(held_back < calls / 2, "{load}: {held_back} held back");
    }
}

#[test]
fn what_was_told_and_can_not_be_read_is_undecided() {
    let run = run_with("stress --ops 300 --warmup 0s --seats 20 --clients 2");
    let proof = |acknowledged| proof::check(&run.load, acknowledged, &run.before, &run.after);
    let unwritten = proof(told::as_decided(&run.after, None));
    let check = unwritten.checks.iter().find(|c| c.name == "acknowledged");
    assert_eq!(check.expect("it is there").undecided, 1);
}

#[test]
fn a_difference_names_the_payment_and_both_sides() {
    let mut run = run();
    let record = run.told[0].clone();
    run.after
        .payments
        .retain(|other| other.payment != record.payment);
    let proof = run.proof();
    let check = proof.checks.iter().find(|c| c.name == "acknowledged");
    let note = &check.expect("it is there").notes[0];
    assert!(note.contains(record.payment.as_str()), "{note}");
    assert!(note.contains("stored is nothing"), "{note}");
}

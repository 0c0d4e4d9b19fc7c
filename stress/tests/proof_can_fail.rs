//! A check that has never failed proves nothing: a real run is tampered with in every way that the
//! proof is there to notice, and each time the proof has to notice it.

use std::sync::atomic::AtomicBool;

use clap::Parser as _;
use evidence::Verdict;
use soldonce::invariant::Snapshot;
use soldonce::{Decision, RefundReason, SeatState, Version};
use stress::answer::{Ending, Operation};
use stress::args::Args;
use stress::clock::RunClock;
use stress::config::Config;
use stress::names::Names;
use stress::progress::Progress;
use stress::proof::{self, Proof};
use stress::record::Recording;
use stress::runner::{self, Context, Load, Stage};
use stress::touched::Touched;
use stress::{history, store};

/// A run that was checked before anybody touched it.
struct Run {
    load: Load,
    names: Names,
    before: Snapshot,
    after: Snapshot,
}

impl Run {
    fn proof(&self) -> Proof {
        proof::check(&self.load, &self.names, &self.before, &self.after)
    }
}

fn run() -> Run {
    let options = "stress --ops 30000 --warmup 50ms --seats 20000 --ttl 10ms --clients 4";
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
        progress: &Progress::silent(),
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
    let after = opened.store.snapshot().expect("readable");
    Run {
        load,
        names: opened.names.clone(),
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
    let tamperings: [(&str, Tamper); 11] = [
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
                .load
                .answered
                .iter_mut()
                .find(|told| told.decision == Decision::Sold);
            sold.expect("a sale").decision = Decision::RefundRequired(RefundReason::Expired);
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
            names: honest.names.clone(),
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
fn stored_nonsense_is_a_violation() {
    let run = run();
    let proof = Proof::of_nonsense(&run.load, &run.before, "a row of no known state".to_owned());
    assert_eq!(failing(&proof), ["stored"]);
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

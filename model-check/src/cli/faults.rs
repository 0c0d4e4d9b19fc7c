//! `model-check faults`: each operation on a file fails in each way, and no answer is false.

use std::time::Instant;

use clap::Args;
use evidence::Check;

use model_check::crash::faults::{Config, Report as Found, run};

use super::power::{exit, known, subject};
use super::report::{
    Report, bar, count, one_or_more, say, say_command, say_wrapped, seconds, stop_on_interrupt,
    whole, whole_number,
};
use super::{Exit, Failure};

/// Makes the n-th write, sync, open, cut, delete or lock fail, for every n, once and from then on.
///
/// A caller must see Busy, Unknown, or an error before any write: never a false answer. After Unknown
/// the same call, repeated until it answers, must tell the truth, also when the machine crashed in
/// between. When the fault is over the store must work at once.
#[derive(Debug, Args)]
pub(super) struct Faults {
    /// Of everything random.
    #[arg(long, default_value_t = 1, value_name = "S", value_parser = whole_number)]
    pub(super) seed: u64,

    /// Steps of the workload.
    #[arg(long, default_value_t = 40, value_name = "N", value_parser = |text: &str| whole(text, 3..=10_000))]
    pub(super) ops: u64,

    /// Let every so manieth operation of a kind fail; 1 is each.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = one_or_more)]
    pub(super) every: u64,

    /// The store: `real`, or a plant by its id.
    #[arg(long, default_value = "real", value_name = "STORE", value_parser = known)]
    pub(super) store: String,
}

impl Faults {
    pub(super) fn run(&self, report: &mut Report) -> Result<Exit, Failure> {
        let subject = subject(&self.store).map_err(Failure::Usage)?;
        let config = Config {
            seed: self.seed,
            ops: usize::try_from(self.ops).unwrap_or(usize::MAX),
            every: self.every,
            stop_at_first: false,
        };
        report
            .evidence()
            .seed(self.seed)
            .config("store", subject.id)
            .config("steps_of_the_workload", self.ops)
            .config("every", self.every);
        say(&format!(
            "failing operations under {}, seed {}\n",
            subject.id, self.seed
        ));
        let stop = stop_on_interrupt()?;
        let progress = bar("fault runs", 0);
        let began = Instant::now();
        let found = run(&subject, &config, stop, &|found, all| {
            progress.set_length(all as u64);
            progress.set_position(found.runs);
        })
        .map_err(|error| Failure::CouldNotRun(error.to_string()))?;
        progress.finish_and_clear();
        show(&found, &config, subject.id);
        say(&format!(
            "\n{} violations in {} fault runs, {}",
            count(found.violated),
            count(found.runs),
            seconds(began.elapsed())
        ));
        note(&found, report);
        report.evidence().measured(began.elapsed());
        Ok(exit(found.violated, found.interrupted))
    }
}

fn show(found: &Found, config: &Config, store: &str) {
    say("fault                  runs");
    for (kind, runs) in &found.by_kind {
        say(&format!("  {kind:18} {:>6}", count(*runs)));
    }
    say("\nanswer                calls");
    for (answer, calls) in &found.answers {
        say(&format!("  {answer:18} {:>6}", count(*calls)));
    }
    say(&format!(
        "\n{} operations failed; {} crashes after an unknown outcome",
        count(found.failed),
        count(found.crashes)
    ));
    for violation in &found.violations {
        say(&format!("\nVIOLATED by {}", violation.fault));
        say_wrapped("  ", &violation.what);
        let case = violation.fault.case(store, config.seed, config.ops);
        say_command("  again  ", "replay", &[case]);
    }
}

fn note(found: &Found, report: &mut Report) {
    let evidence = report.evidence();
    evidence
        .count("fault_runs", found.runs)
        .count("failed_operations", found.failed)
        .count("calls", found.calls)
        .count("crashes_after_an_unknown_outcome", found.crashes);
    for (kind, runs) in &found.by_kind {
        let name = kind.to_lowercase().replace(' ', "_");
        evidence.count(format!("fault_runs_{name}"), *runs);
    }
    for (answer, calls) in &found.answers {
        evidence.count(format!("calls_{}", answer.replace(' ', "_")), *calls);
    }
    if found.interrupted {
        report.interrupted(&format!("after {} fault runs", count(found.runs)));
    }
    let mut check = Check::passed("failing_operations", "no answer is false", found.runs)
        .violations(found.violated.min(found.runs));
    if let Some(first) = found.violations.first() {
        check = check.note(format!("{}: {}", first.fault, first.what));
    }
    report.check(check);
}

//! `model-check power`: the power fails at every point of a workload, and nothing acknowledged is lost.

use std::time::Instant;

use clap::Args;
use evidence::{Check, Figure};

use model_check::crash::plants::{self, Subject};
use model_check::crash::power::{Config, Report as Found, run};

use super::report::{
    Report, bar, count, one_or_more, rate, say, say_command, say_wrapped, seconds,
    stop_on_interrupt, whole, whole_number,
};
use super::{Exit, Failure};

/// Loses power at every point of recorded workloads, and looks at what the disk may then hold.
///
/// The store runs on a VFS that notes each write and sync. At each point of that log images are drawn:
/// nothing of what was not synced, all of it, parts, writes torn at 4,096 and 512 bytes, garbage. Each
/// distinct image is opened with SQLite's own VFS: it must be whole, and hold exactly what was
/// acknowledged, with or without the call in flight. From some of them the store itself goes on, is
/// compared with the reference, and loses power again.
#[derive(Debug, Args)]
pub(super) struct Power {
    /// Of everything random.
    #[arg(long, default_value_t = 1, value_name = "S", value_parser = whole_number)]
    pub(super) seed: u64,

    /// Steps of each workload: calls, checkpoints and reopenings, on a new file.
    #[arg(long, default_value_t = 300, value_name = "N", value_parser = |text: &str| whole(text, 3..=100_000))]
    pub(super) ops: u64,

    /// Go on until so many distinct images were looked at.
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = one_or_more)]
    pub(super) images: u64,

    /// From one image in so many the store goes on, and loses power again.
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = one_or_more)]
    pub(super) deep_every: u64,

    /// The store: `real`, or a plant by its id.
    #[arg(long, default_value = "real", value_name = "STORE", value_parser = known)]
    pub(super) store: String,
}

/// Is there such a store?
pub(super) fn known(id: &str) -> Result<String, String> {
    subject(id).map(|subject| subject.id.to_owned())
}

/// The store of this name.
pub(super) fn subject(id: &str) -> Result<Subject, String> {
    plants::find(id).ok_or_else(|| {
        let ids: Vec<&str> = plants::all().iter().map(|plant| plant.id).collect();
        format!(
            "there is no store {id:?}; there are real, {}",
            ids.join(", ")
        )
    })
}

impl Power {
    pub(super) fn run(&self, report: &mut Report) -> Result<Exit, Failure> {
        let subject = subject(&self.store).map_err(Failure::Usage)?;
        let config = Config {
            seed: self.seed,
            ops: usize::try_from(self.ops).unwrap_or(usize::MAX),
            images: self.images,
            deep_every: self.deep_every,
            ..Config::default()
        };
        report
            .evidence()
            .seed(self.seed)
            .config("store", subject.id)
            .config("steps_of_a_workload", self.ops)
            .config("images_wanted", self.images)
            .config("deep_every", self.deep_every);
        say(&format!(
            "power loss under {}, seed {}\n",
            subject.id, self.seed
        ));
        let stop = stop_on_interrupt()?;
        let progress = bar("images", self.images);
        let began = Instant::now();
        let found = run(&subject, &config, stop, &|found| {
            progress.set_position(found.distinct.min(self.images));
            #[expect(clippy::cast_precision_loss, reason = "for a rate")]
            let per_second = found.distinct as f64 / began.elapsed().as_secs_f64();
            progress.set_message(format!("images, {}/s", rate(per_second)));
        })
        .map_err(|error| Failure::CouldNotRun(error.to_string()))?;
        progress.finish_and_clear();
        let took = began.elapsed();
        #[expect(clippy::cast_precision_loss, reason = "for a rate")]
        let per_second = found.distinct as f64 / took.as_secs_f64().max(1e-9);
        show(&found);
        say(&format!(
            "\n{} violations in {} distinct images from {} crash points\n{}, {} distinct images/s",
            count(found.violated),
            count(found.distinct),
            count(found.crash_points),
            seconds(took),
            rate(per_second)
        ));
        note(&found, report);
        report.evidence().measured(took).figure(Figure::measured(
            "distinct_images_per_second",
            "1/s",
            per_second,
        ));
        Ok(exit(found.violated, found.interrupted))
    }
}

/// The exit code for so many violations.
pub(super) const fn exit(violated: u64, interrupted: bool) -> Exit {
    if violated > 0 {
        Exit::Violated
    } else if interrupted {
        Exit::Interrupted
    } else {
        Exit::Holds
    }
}

fn show(found: &Found) {
    say(&format!(
        "workloads        {:>9}   of {} steps, {} writes, syncs, cuts, deletes\n\
         batches          {:>9}   of the commit queue, of {} calls each\n\
         crash points     {:>9}\n\
         images drawn     {:>9}\n\
         distinct images  {:>9}   of them {} of a second power loss\n\
         store went on    {:>9}   times, and was compared with the reference\n",
        count(found.workloads),
        count(found.steps),
        count(found.events),
        count(found.batches),
        mean(found.batched, found.batches),
        count(found.crash_points),
        count(found.drawn),
        count(found.distinct),
        count(found.second),
        count(found.went_on)
    ));
    say("kind of image      drawn");
    for (kind, drawn) in &found.by_kind {
        say(&format!("  {kind:12} {:>9}", count(*drawn)));
    }
    for violation in &found.violations {
        say("");
        say_wrapped("VIOLATED  ", &violation.what);
        let case = violation.case.to_string();
        say_command("  again   ", "replay", &[case]);
    }
}

/// How many of these there are for each of those.
fn mean(these: u64, those: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let mean = these as f64 / those.max(1) as f64;
    format!("{mean:.1}")
}

fn note(found: &Found, report: &mut Report) {
    let evidence = report.evidence();
    evidence
        .count("workloads", found.workloads)
        .count("steps", found.steps)
        .count("events", found.events)
        .count("batches", found.batches)
        .count("calls_in_batches", found.batched)
        .count("crash_points", found.crash_points)
        .count("images_drawn", found.drawn)
        .count("distinct_images", found.distinct)
        .count("distinct_images_of_a_second_power_loss", found.second)
        .count("times_the_store_went_on", found.went_on);
    for (kind, drawn) in &found.by_kind {
        evidence.count(format!("images_{}", kind.name().replace('-', "_")), *drawn);
    }
    if found.interrupted {
        report.interrupted(&format!("after {} images", count(found.distinct)));
    }
    let mut check = Check::passed(
        "power_loss",
        "every image is whole and holds what was acknowledged",
        found.distinct,
    )
    .violations(found.violated.min(found.distinct));
    if let Some(first) = found.violations.first() {
        check = check.note(format!("{}: {}", first.case, first.what));
    }
    report.check(check);
}

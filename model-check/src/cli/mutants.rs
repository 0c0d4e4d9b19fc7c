//! `model-check mutants`: every planted fault must be caught, by the check that is named for it.

use std::path::PathBuf;

use clap::Args;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use evidence::Check;

use model_check::concurrent;
use model_check::mutants::{self, Hunt, Mutant, all, hunt};

use super::report::{Report, bar, count, say, seconds};
use super::{Exit, Failure, plants, races};

/// Hunts the planted faults: each must be caught, and by the check that is named for it.
///
/// A check that has never caught a bug proves nothing. Each mutant is a store with one fault, most of
/// them from reports about real systems. Three tables: faults that a sequence of commands shows, with
/// the smallest one; races, with the calls that contradict each other; and crashes, with the case
/// that makes each again.
#[derive(Debug, Args)]
pub(super) struct Mutants {
    /// Only these, and with all that is known about them.
    #[arg(value_name = "ID", value_parser = known)]
    pub(super) ids: Vec<String>,

    /// The most sequences for each.
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) cases: u64,

    /// Together with its number, all that a sequence depends on.
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub(super) seed: u64,

    /// Draw the races as HTML files in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(super) pictures: Option<PathBuf>,
}

/// Every name there is, in the order of the tables.
fn ids() -> Vec<&'static str> {
    let mut ids = [mutants::ids(), concurrent::ids(), vec![races::LOAD]].concat();
    ids.extend(
        model_check::crash::plants::all()
            .iter()
            .map(|plant| plant.id),
    );
    ids
}

fn known(id: &str) -> Result<String, String> {
    if ids().contains(&id) {
        return Ok(id.to_owned());
    }
    let mut known = ids();
    known.sort_unstable();
    known.dedup();
    let known = known.join(", ");
    Err(format!("there is no such mutant; there are {known}"))
}

impl Mutants {
    pub(super) fn run(&self, report: &mut Report) -> Result<Exit, Failure> {
        report
            .evidence()
            .seed(self.seed)
            .config("sequences_per_mutant", self.cases);
        let wanted = |id: &str| self.ids.is_empty() || self.ids.iter().any(|wanted| wanted == id);
        let mut worst = self.sequences(&wanted, report)?;
        let heading = |text: &str| {
            if self.ids.is_empty() {
                say(text);
            }
        };
        heading("\nraces, on real threads\n");
        worst = worst.max(races::run(
            &wanted,
            self.seed,
            self.pictures.as_deref(),
            report,
        )?);
        heading("\ncrashes\n");
        Ok(worst.max(plants::run(&wanted, self.seed, report)?))
    }

    /// The mutants that a sequence of commands shows.
    fn sequences(
        &self,
        wanted: &dyn Fn(&str) -> bool,
        report: &mut Report,
    ) -> Result<Exit, Failure> {
        let mutants: Vec<Mutant> = all()
            .into_iter()
            .filter(|mutant| wanted(mutant.id))
            .collect();
        if mutants.is_empty() {
            return Ok(Exit::Holds);
        }
        let progress = bar("mutants", mutants.len() as u64);
        let mut hunted = Vec::new();
        for mutant in mutants {
            progress.set_message(mutant.id);
            hunted.push((mutant, hunt(mutant, self.cases, self.seed)?));
            progress.inc(1);
        }
        progress.finish_and_clear();
        if self.ids.is_empty() {
            say("sequences of commands\n");
            show_table(&hunted);
        } else {
            for (mutant, hunt) in &hunted {
                show_one(mutant, hunt);
            }
        }
        Ok(verdict(&hunted, report))
    }
}

fn show_table(hunted: &[(Mutant, Hunt)]) {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(80)
        .set_header(["id", "fault", "check", "cases", "smallest sequence"]);
    for (mutant, hunt) in hunted {
        let mark = if mutant.note.is_empty() { "" } else { "*" };
        table.add_row([
            format!("{}{mark}", mutant.id),
            mutant.fault.to_owned(),
            hunt.caught_by
                .map_or("SURVIVED", |check| check.name())
                .to_owned(),
            count(hunt.cases),
            hunt.sequence.clone(),
        ]);
    }
    let widths = [4, 29, 8, 5, 24];
    for (column, width) in table.column_iter_mut().zip(widths) {
        column.set_padding((0, 1));
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width + 1)));
    }
    say(&format!("{}\n", table.trim_fmt()));
    say("* model-check mutants ID says how it is planted");
}

fn show_one(mutant: &Mutant, hunt: &Hunt) {
    say(&format!("{}  {}", mutant.id, mutant.fault));
    let line = |name: &str, text: &str| {
        if !text.is_empty() {
            say(&format!("  {name:14} {text}"));
        }
    };
    line("seen in", mutant.seen_in);
    line("planted", mutant.note);
    line(
        "must be caught",
        &format!("by the check '{}'", mutant.caught_by),
    );
    match hunt.caught_by {
        None => line("SURVIVED", &format!("{} sequences", count(hunt.cases))),
        Some(check) => {
            let took = seconds(hunt.took);
            line(
                "caught",
                &format!("by '{check}' in {} sequences, {took}", count(hunt.cases)),
            );
            line("sequence", &hunt.sequence);
            line("", &hunt.what);
        }
    }
    line(
        "small space",
        hunt.small_space.as_deref().unwrap_or_default(),
    );
    line(
        "again",
        &format!("model-check sequences --store mutant:{} \\", mutant.id),
    );
    line("", &format!("--replay '{}'", hunt.sequence));
    say("");
}

fn verdict(hunted: &[(Mutant, Hunt)], report: &mut Report) -> Exit {
    let complaints: Vec<String> = hunted
        .iter()
        .filter_map(|(mutant, hunt)| hunt.complaint(mutant))
        .collect();
    let mut check = Check::passed(
        "mutants",
        "each planted fault is caught, by the check that is named for it",
        hunted.len() as u64,
    )
    .violations(complaints.len() as u64);
    for (mutant, hunt) in hunted {
        let by = hunt.caught_by.map_or("nothing", |check| check.name());
        check = check.note(format!(
            "{} ({}): caught by {by} in {} sequences: {}",
            mutant.id, mutant.fault, hunt.cases, hunt.sequence
        ));
    }
    report.check(check);
    for complaint in &complaints {
        say(complaint);
    }
    if complaints.is_empty() {
        say(&format!(
            "{} mutants, each caught by the check that is named for it",
            hunted.len()
        ));
        Exit::Holds
    } else {
        Exit::Violated
    }
}

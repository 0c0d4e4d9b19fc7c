//! `model-check mutants`: every planted fault must be caught, by the check that is named for it.

use std::path::PathBuf;

use clap::Args;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use evidence::Check;

use model_check::concurrent;
use model_check::mutants::{self, Hunt, Mutant, all, hunt};

use super::report::{
    Report, bar, count, one_or_more, say, say_command, say_wrapped, seconds, stop_on_interrupt,
    whole_number,
};
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
    #[arg(value_name = "ID", value_parser = known, help = only_these())]
    pub(super) ids: Vec<String>,

    /// The most sequences for each.
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = one_or_more)]
    pub(super) cases: u64,

    /// Together with its number, all that a sequence depends on.
    #[arg(long, default_value_t = 1, value_name = "S", value_parser = whole_number)]
    pub(super) seed: u64,

    /// Draw the races as HTML files in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(super) pictures: Option<PathBuf>,
}

fn only_these() -> String {
    let mut known = ids();
    known.sort_unstable();
    known.dedup();
    let known = known.join(", ");
    format!("Only these, and with all that is known about them: {known}")
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
    Err("no mutant is called so; model-check mutants --help lists all".to_owned())
}

impl Mutants {
    pub(super) fn run(&self, report: &mut Report) -> Result<Exit, Failure> {
        if self.pictures.is_some()
            && !self.ids.is_empty()
            && !self
                .ids
                .iter()
                .any(|id| concurrent::ids().contains(&id.as_str()))
        {
            return Err(Failure::Usage(format!(
                "--pictures: races are drawn, and {} is none; the races are {}",
                self.ids.join(", "),
                concurrent::ids().join(", ")
            )));
        }
        report
            .evidence()
            .seed(self.seed)
            .config("sequences_per_mutant", self.cases);
        let wanted = |id: &str| self.ids.is_empty() || self.ids.iter().any(|wanted| wanted == id);
        let mut worst = self.sequences(&wanted, report)?;
        if worst == Exit::Interrupted {
            return Ok(worst);
        }
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
        if worst == Exit::Interrupted {
            return Ok(worst);
        }
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
        let stop = stop_on_interrupt()?;
        let all = mutants.len();
        let progress = bar("mutants", all as u64);
        let mut hunted = Vec::new();
        for mutant in mutants {
            progress.set_message(mutant.id);
            let hunt = hunt(mutant, self.cases, self.seed, stop)?;
            if hunt.interrupted {
                break;
            }
            hunted.push((mutant, hunt));
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
        let exit = verdict(&hunted, report);
        if exit == Exit::Holds && hunted.len() < all {
            let done = format!("after {} of {all} mutants", hunted.len());
            return Ok(report.interrupted(&done));
        }
        Ok(exit)
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
    say_wrapped(&format!("{}  ", mutant.id), mutant.fault);
    let line = |name: &str, text: &str| {
        if !text.is_empty() {
            say_wrapped(&format!("  {name:14} "), text);
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
    if !hunt.sequence.is_empty() {
        let store = format!("--store mutant:{}", mutant.id);
        let replay = format!("--replay '{}'", hunt.sequence);
        say_command("  again          ", "sequences", &[store, replay]);
    }
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
        say_wrapped("", complaint);
    }
    if complaints.is_empty() {
        say(&match hunted.len() {
            1 => "the mutant is caught by the check that is named for it".to_owned(),
            many => format!("{many} mutants, each caught by the check that is named for it"),
        });
        Exit::Holds
    } else {
        Exit::Violated
    }
}

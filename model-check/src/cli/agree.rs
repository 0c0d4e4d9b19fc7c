//! `model-check agree`: the near-linear check against the exhaustive search.

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use evidence::Check;

use model_check::agree::{Agreement, Kind, agree, history};
use model_check::history::write;

use super::report::{Report, bar, count, one_or_more, say, stop_on_interrupt, whole_number};
use super::{Exit, Failure};

/// Decides small random histories twice, by the check and by exhaustive search: they must agree.
///
/// The histories are of every kind: right ones from a simulated store, and ones with a planted fault. A
/// planted fault need not show in the answers, so many of those hold, too; the table says how many.
#[derive(Debug, Args)]
pub(super) struct Agree {
    /// How many histories, the kinds in turn.
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = one_or_more)]
    pub(super) cases: u64,

    /// Together with its number, all that a history depends on.
    #[arg(long, default_value_t = 1, value_name = "S", value_parser = whole_number)]
    pub(super) seed: u64,
}

impl Agree {
    pub(super) fn run(&self, report: &mut Report) -> Result<Exit, Failure> {
        report
            .evidence()
            .seed(self.seed)
            .config("agreement_cases", self.cases);
        let progress = bar("histories", self.cases);
        let agreement = agree(self.cases, self.seed, stop_on_interrupt()?, || {
            progress.inc(1);
        });
        progress.finish_and_clear();
        show(&agreement);
        let disagreements: u64 = agreement.tallies.values().map(|tally| tally.disagree).sum();
        let undecided: u64 = agreement
            .tallies
            .values()
            .map(|tally| tally.undecided)
            .sum();
        report.check(
            Check::passed(
                "check-agrees-with-search",
                "the near-linear check and the exhaustive search agree on each random history that both \
                 decide",
                agreement.cases() - undecided,
            )
            .violations(disagreements)
            .note(format!("the search gave up on {undecided} more")),
        );
        for found in agreement.disagreements.iter().take(3) {
            say(&format!(
                "\ndisagreement: {}, seed {}; the check says {}:",
                found.kind.name(),
                found.seed,
                if found.check_holds {
                    "holds"
                } else {
                    "violated"
                }
            ));
            let mut text = Vec::new();
            write(&history(found.kind, found.seed), &mut text)
                .map_err(|error| Failure::CouldNotRun(error.to_string()))?;
            say(String::from_utf8_lossy(&text).trim_end());
        }
        if agreement.is_complete() && agreement.cases() < self.cases {
            let done = format!("after {} histories", count(agreement.cases()));
            return Ok(report.interrupted(&done));
        }
        Ok(if agreement.is_complete() {
            say("\nholds     check and search agree on every history that both decided");
            Exit::Holds
        } else {
            say(&format!(
                "\nviolated  they disagree on {}",
                count(disagreements)
            ));
            Exit::Violated
        })
    }
}

fn show(agreement: &Agreement) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "history",
        "hold",
        "with unknown",
        "violated",
        "search gave up",
        "disagree",
    ]);
    for kind in Kind::ALL {
        let tally = agreement.tallies.get(&kind).copied().unwrap_or_default();
        table.add_row([
            kind.name().to_owned(),
            count(tally.holds),
            count(tally.needs_unknown),
            count(tally.violated),
            count(tally.undecided),
            count(tally.disagree),
        ]);
    }
    for (column, place) in table.column_iter_mut().zip(0..) {
        column.set_padding((0, 1));
        if place > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    say(&table.trim_fmt());
}

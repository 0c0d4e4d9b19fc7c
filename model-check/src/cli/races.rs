//! The part of `model-check mutants` about races: each mutant runs on real threads until the check of
//! histories catches it.

use std::path::Path;
use std::sync::atomic::Ordering;

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use evidence::Check;

use model_check::concurrent::{self, Begin, BusySnapshots, ConcurrentMutant, busy_snapshots};
use model_check::history::History;
use model_check::serializable::{Verdict, Violation};
use model_check::witness;

use super::report::{Report, bar, count, say, stop_on_interrupt};
use super::{Exit, Failure};

/// The fault that costs calls and breaks no promise.
pub(super) const LOAD: &str = "L01";

/// Threads that run each mutant.
const THREADS: usize = 8;

/// A hunted mutant: the calls it took, and what caught it.
struct Hunted {
    mutant: ConcurrentMutant,
    calls: usize,
    caught: Option<(History, Violation)>,
}

impl Hunted {
    fn rule(&self) -> String {
        let caught = self.caught.as_ref();
        caught.map_or("SURVIVED".to_owned(), |(_, found)| found.rule.to_string())
    }
}

/// Hunts the mutants that `wanted` lets through, and L01 if it does; draws each violation in the folder.
pub(super) fn run(
    wanted: &dyn Fn(&str) -> bool,
    seed: u64,
    pictures: Option<&Path>,
    report: &mut Report,
) -> Result<Exit, Failure> {
    let mutants: Vec<_> = concurrent::all()
        .into_iter()
        .filter(|mutant| wanted(mutant.id))
        .collect();
    let mut worst = Exit::Holds;
    if !mutants.is_empty() {
        worst = hunt_all(mutants, seed, pictures, report)?;
    }
    if wanted(LOAD) && worst != Exit::Interrupted {
        worst = worst.max(load(report)?);
    }
    Ok(worst)
}

fn hunt_all(
    mutants: Vec<ConcurrentMutant>,
    seed: u64,
    pictures: Option<&Path>,
    report: &mut Report,
) -> Result<Exit, Failure> {
    if let Some(folder) = pictures {
        std::fs::create_dir_all(folder).map_err(|error| could_not_draw(folder, &error))?;
    }
    let stop = stop_on_interrupt()?;
    let all = mutants.len();
    let progress = bar("races", all as u64);
    let mut hunted = Vec::new();
    for mutant in mutants {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        progress.set_message(mutant.id);
        hunted.push(hunt(mutant, seed)?);
        progress.inc(1);
    }
    progress.finish_and_clear();
    let cut_short = hunted.len() < all;
    show(&hunted);
    if let Some(folder) = pictures {
        draw(&hunted, folder)?;
    }
    let survivors = hunted.iter().filter(|one| one.caught.is_none()).count();
    let mut check = Check::passed(
        "concurrent-mutants",
        "every concurrent mutant is caught by a run on real threads",
        hunted.len() as u64,
    )
    .violations(survivors as u64);
    for one in &hunted {
        let (id, fault, rule) = (one.mutant.id, one.mutant.fault, one.rule());
        check = check.note(format!("{id} ({fault}): {rule} within {} calls", one.calls));
    }
    report.check(check);
    if survivors > 0 {
        let survivors = count(survivors as u64);
        say(&format!("{survivors} SURVIVED a run on {THREADS} threads"));
        return Ok(Exit::Violated);
    }
    if cut_short {
        let done = format!("after {} of {all} races", hunted.len());
        return Ok(report.interrupted(&done));
    }
    say(&match hunted.len() {
        1 => "the race is caught by the check of histories".to_owned(),
        many => format!("{many} races, each caught by the check of histories"),
    });
    Ok(Exit::Holds)
}

fn hunt(mutant: ConcurrentMutant, seed: u64) -> Result<Hunted, Failure> {
    let hunted = concurrent::hunt(&mutant, THREADS, seed).map_err(|error| failed(&error))?;
    let caught = hunted.caught.and_then(|run| match run.report.verdict {
        Verdict::Violated(found) => Some((run.history, found.into_iter().next()?)),
        Verdict::Holds | Verdict::Inconclusive(_) => None,
    });
    Ok(Hunted {
        mutant,
        calls: hunted.calls,
        caught,
    })
}

fn show(hunted: &[Hunted]) {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(80)
        .set_header(["id", "fault", "rule", "calls"]);
    for one in hunted {
        let star = if one.mutant.note.is_empty() { "" } else { "*" };
        table.add_row([
            format!("{}{star}", one.mutant.id),
            one.mutant.fault.to_owned(),
            one.rule(),
            count(one.calls as u64),
        ]);
    }
    for (column, width) in table.column_iter_mut().zip([4, 44, 18, 9]) {
        column.set_padding((0, 1));
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width + 1)));
    }
    say(&format!("{}\n", table.trim_fmt()));
    let indented = textwrap::Options::new(80).subsequent_indent("       ");
    for Hunted { mutant, .. } in hunted.iter().filter(|one| !one.mutant.note.is_empty()) {
        let note = format!("* {}: {}", mutant.id, mutant.note);
        say(&textwrap::fill(&note, &indented));
    }
    for one in hunted {
        if let Some((history, violation)) = &one.caught {
            say(&format!("\n{}", one.mutant.id));
            say(witness::text(history, violation).trim_end());
        }
    }
    say("");
}

fn draw(hunted: &[Hunted], folder: &Path) -> Result<(), Failure> {
    for one in hunted {
        if let Some((history, violation)) = &one.caught {
            let path = folder.join(format!("{}.html", one.mutant.id));
            std::fs::write(&path, witness::picture(history, violation))
                .map_err(|error| could_not_draw(&path, &error))?;
        }
    }
    say(&format!("drawn in {}\n", folder.display()));
    Ok(())
}

fn could_not_draw(path: &Path, error: &std::io::Error) -> Failure {
    Failure::CouldNotRun(format!(
        "no picture can be drawn in {}: {error}; give another --pictures FOLDER",
        path.display()
    ))
}

/// L01 has a verdict of its own: it breaks no promise, it costs calls.
fn load(report: &mut Report) -> Result<Exit, Failure> {
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let writers = |begin, name| {
        busy_snapshots(&folder.path().join(name), begin, 16, 100).map_err(|error| failed(&error))
    };
    let deferred: BusySnapshots = writers(Begin::Deferred, "deferred.sqlite")?;
    let immediate: BusySnapshots = writers(Begin::Immediate, "immediate.sqlite")?;
    say(&format!(
        "L01  BEGIN DEFERRED: 16 writers that read first get a busy snapshot (517)\n     \
         for {} of {} transactions, and for {} of {} with BEGIN IMMEDIATE",
        count(deferred.busy_snapshots),
        count(deferred.transactions),
        count(immediate.busy_snapshots),
        count(immediate.transactions)
    ));
    let told_apart = deferred.busy_snapshots > 0 && immediate.busy_snapshots == 0;
    report.check(
        Check::passed(
            "load-L01",
            "16 writers see busy snapshots when they begin deferred, and none when they begin immediate",
            deferred.transactions + immediate.transactions,
        )
        .violations(u64::from(!told_apart)),
    );
    Ok(if told_apart {
        Exit::Holds
    } else {
        Exit::Violated
    })
}

fn failed(what: &dyn std::fmt::Display) -> Failure {
    Failure::CouldNotRun(what.to_string())
}

//! The part of `model-check mutants` about crashes: each plant is put through the run that must catch it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use evidence::Check;

use model_check::crash::plants::{self, CaughtBy, Subject};
use model_check::crash::{faults, power};

use super::report::{Report, count, say, say_command, say_wrapped, seconds, stop_on_interrupt};
use super::{Exit, Failure};

/// How a plant was caught.
struct Caught {
    /// How many images or fault runs that took.
    tried: u64,
    /// The case that shows it.
    case: String,
    /// What is wrong in it.
    what: String,
}

/// Hunts the plants that `wanted` lets through, and shows each with the case that makes it again.
pub(super) fn run(
    wanted: &dyn Fn(&str) -> bool,
    seed: u64,
    report: &mut Report,
) -> Result<Exit, Failure> {
    let stop = stop_on_interrupt()?;
    let (mut hunted, mut survived) = (0, 0);
    let all: Vec<_> = plants::all()
        .into_iter()
        .filter(|plant| wanted(plant.id))
        .collect();
    if all.is_empty() {
        return Ok(Exit::Holds);
    }
    let mut check_notes = Vec::new();
    for plant in &all {
        let began = Instant::now();
        let caught = hunt(plant, seed, stop)?;
        let by = match plant.caught_by {
            Some(CaughtBy::Faults) => "faults",
            Some(CaughtBy::Power) | None => "power",
        };
        if let Some(caught) = caught {
            hunted += 1;
            let (tried, took) = (count(caught.tried), seconds(began.elapsed()));
            say_wrapped(&format!("{:11} ", plant.id), plant.fault);
            say(&format!("            caught by {by} after {tried}, {took}"));
            say_command("            ", "replay", std::slice::from_ref(&caught.case));
            say_wrapped("            ", &caught.what);
            check_notes.push(format!("{} ({}): {}", plant.id, plant.fault, caught.case));
        } else if stop.load(Ordering::Relaxed) {
            break;
        } else {
            hunted += 1;
            survived += 1;
            say_wrapped(&format!("{:11} ", plant.id), plant.fault);
            say(&format!("            SURVIVED {by}"));
            check_notes.push(format!("{} ({}): survived", plant.id, plant.fault));
        }
    }
    let mut check = Check::passed(
        "crash_plants",
        "each fault planted for the crash checks is caught by the run that is named for it",
        hunted,
    )
    .violations(survived);
    for note in check_notes {
        check = check.note(note);
    }
    report.check(check);
    let all = all.len() as u64;
    if survived > 0 {
        say(&format!("\n{survived} SURVIVED"));
        return Ok(Exit::Violated);
    }
    if hunted < all {
        return Ok(report.interrupted(&format!("after {hunted} of {all} crashes")));
    }
    say(&match hunted {
        1 => "\nthe crash is caught by the run that is named for it".to_owned(),
        many => format!("\n{many} crashes, each caught by the run that is named for it"),
    });
    Ok(Exit::Holds)
}

fn hunt(plant: &Subject, seed: u64, stop: &AtomicBool) -> Result<Option<Caught>, Failure> {
    let could_not = |error: &dyn std::fmt::Display| Failure::CouldNotRun(error.to_string());
    if plant.caught_by == Some(CaughtBy::Faults) {
        let config = faults::Config {
            seed,
            ops: 30,
            every: 3,
            stop_at_first: true,
        };
        let found = faults::run(plant, &config, stop, &|_, _| {}).map_err(|e| could_not(&e))?;
        // One that shows again is worth more to a reader than the first.
        let mut shown = found.violations.first();
        for one in &found.violations {
            let again = faults::replay(plant, &config, one.fault).map_err(|e| could_not(&e))?;
            if !again.is_empty() {
                shown = Some(one);
                break;
            }
        }
        return Ok(shown.map(|first| Caught {
            tried: found.runs,
            case: first.fault.case(plant.id, config.seed, config.ops),
            what: first.what.clone(),
        }));
    }
    let config = power::Config {
        seed,
        ops: 120,
        images: 5_000,
        stop_at_first: true,
        ..power::Config::default()
    };
    let found = power::run(plant, &config, stop, &|_| {}).map_err(|e| could_not(&e))?;
    Ok(found.violations.first().map(|first| Caught {
        tried: found.distinct,
        case: first.case.to_string(),
        what: first.what.clone(),
    }))
}

//! `model-check` alone: everything there is, at a moderate depth.

use std::sync::atomic::Ordering;

use super::agree::Agree;
use super::faults::Faults;
use super::histories::Histories;
use super::kill::Kill;
use super::mutants::Mutants;
use super::power::Power;
use super::report::{Report, say, stop_on_interrupt};
use super::sequences::Sequences;
use super::{Exit, Failure};

/// A heading, and what runs under it.
type Part<'a> = (&'a str, &'a dyn Fn(&mut Report) -> Result<Exit, Failure>);

pub(super) fn run(report: &mut Report) -> Result<Exit, Failure> {
    let sequences = |store: &str| Sequences {
        cases: 1_000,
        seed: 1,
        from: 0,
        store: store.to_owned(),
        replay: None,
    };
    let mutants = Mutants {
        ids: Vec::new(),
        cases: 1_000,
        seed: 1,
        pictures: None,
    };
    let histories = Histories {
        calls: 1_000,
        seed: 1,
        pictures: None,
    };
    let agree = Agree {
        cases: 14_000,
        seed: 1,
    };
    let power = Power {
        seed: 1,
        ops: 300,
        images: 10_000,
        deep_every: 16,
        store: "real".to_owned(),
    };
    let faults = Faults {
        seed: 1,
        ops: 40,
        every: 8,
        store: "real".to_owned(),
    };
    let kill = Kill {
        rounds: 20,
        seed: 1,
    };
    let parts: [Part<'_>; 8] = [
        ("", &|report| sequences("sqlite").run(report)),
        ("", &|report| sequences("sqlite-per-call").run(report)),
        ("planted faults\n", &|report| mutants.run(report)),
        ("concurrent histories\n", &|report| histories.run(report)),
        (
            "the check of histories against an exhaustive search\n",
            &|report| agree.run(report),
        ),
        ("power loss\n", &|report| power.run(report)),
        ("failing disks\n", &|report| faults.run(report)),
        ("killed processes\n", &|report| kill.run(report)),
    ];
    let stop = stop_on_interrupt()?;
    let mut worst = Exit::Holds;
    for ((heading, part), number) in parts.into_iter().zip(0..) {
        if stop.load(Ordering::Relaxed) {
            let done = format!("after {number} of 8 parts");
            worst = worst.max(report.interrupted(&done));
            break;
        }
        if number > 0 {
            say("");
        }
        if !heading.is_empty() {
            say(heading);
        }
        worst = worst.max(part(report)?);
    }
    say(match worst {
        Exit::Holds => "\nall holds",
        Exit::Interrupted => "\nwhat was seen until then holds",
        _ => "\nNOT all holds",
    });
    Ok(worst)
}

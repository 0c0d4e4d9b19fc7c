//! `model-check` alone: everything there is, at a moderate depth.

use super::agree::Agree;
use super::faults::Faults;
use super::histories::Histories;
use super::kill::Kill;
use super::mutants::Mutants;
use super::power::Power;
use super::report::{Report, say};
use super::sequences::Sequences;
use super::{Exit, Failure};

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
    let mut worst = sequences("sqlite").run(report)?;
    say("");
    worst = worst.max(sequences("sqlite-per-call").run(report)?);
    say("\nplanted faults\n");
    worst = worst.max(mutants.run(report)?);
    say("\nconcurrent histories\n");
    let histories = Histories {
        calls: 1_000,
        seed: 1,
        pictures: None,
    };
    worst = worst.max(histories.run(report)?);
    say("\nthe check of histories against an exhaustive search\n");
    let agree = Agree {
        cases: 14_000,
        seed: 1,
    };
    worst = worst.max(agree.run(report)?);
    say("\npower loss\n");
    let power = Power {
        seed: 1,
        ops: 300,
        images: 10_000,
        deep_every: 16,
        store: "real".to_owned(),
    };
    worst = worst.max(power.run(report)?);
    say("\nfailing disks\n");
    let faults = Faults {
        seed: 1,
        ops: 40,
        every: 8,
        store: "real".to_owned(),
    };
    worst = worst.max(faults.run(report)?);
    say("\nkilled processes\n");
    let kill = Kill {
        rounds: 20,
        seed: 1,
    };
    worst = worst.max(kill.run(report)?);
    say(match worst {
        Exit::Holds => "\nall holds",
        _ => "\nNOT all holds",
    });
    Ok(worst)
}

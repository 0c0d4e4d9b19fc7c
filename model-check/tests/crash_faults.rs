//! Failing operations: no answer of the real store is false; each plant gives one that is.

use std::sync::atomic::AtomicBool;

use model_check::crash::fault::{Fault, Op};
use model_check::crash::faults::{Config, faults, replay, run};
use model_check::crash::plants::{self, CaughtBy};

fn config(every: u64) -> Config {
    Config {
        ops: 30,
        every,
        ..Config::default()
    }
}

#[test]
fn no_answer_of_the_real_store_is_false_when_operations_fail() {
    let never = AtomicBool::new(false);
    let report = run(&plants::real(), &config(7), &never, &|_, _| {}).expect("it runs");
    assert_eq!(report.violations, []);
    for op in Op::ALL {
        for code in op.codes() {
            let kind = format!("{} {}", op.name(), code.name());
            let runs = report.by_kind.get(&kind).copied().unwrap_or(0);
            assert!(runs > 0, "no {kind}: {report:?}");
        }
    }
    for answer in ["answered", "unknown", "not applied"] {
        let calls = report.answers.get(answer).copied().unwrap_or(0);
        assert!(calls > 0, "nothing was {answer}: {:?}", report.answers);
    }
    assert!(report.crashes > 0);
}

#[test]
fn each_plant_gives_a_false_answer_and_gives_it_again() {
    let never = AtomicBool::new(false);
    for plant in plants::all() {
        if plant.caught_by != Some(CaughtBy::Faults) {
            continue;
        }
        let config = Config {
            stop_at_first: true,
            ..config(3)
        };
        let report = run(&plant, &config, &never, &|_, _| {}).expect("it runs");
        let Some(first) = report.violations.first() else {
            panic!(
                "{} ({}) was not caught in {} runs",
                plant.id, plant.fault, report.runs
            );
        };
        let case = first.fault.case(plant.id, config.seed, config.ops);
        let (store, (seed, ops), fault) =
            Fault::of_case(&case).expect("a case that is shown can be read");
        assert_eq!(
            (store.as_str(), seed, ops, fault),
            (plant.id, config.seed, config.ops, first.fault)
        );
        let again = replay(&plant, &config, fault).expect("it runs");
        assert!(again.contains(&first.what), "{case}: {again:?}");
    }
}

#[test]
fn every_kind_of_operation_is_to_fail_in_every_way() {
    let all = faults(&plants::real(), &config(1_000)).expect("counted");
    for op in Op::ALL {
        for (code, effect) in op
            .codes()
            .iter()
            .flat_map(|code| op.effects().iter().map(move |effect| (*code, *effect)))
        {
            for lasting in [false, true] {
                assert!(
                    all.iter().any(|fault| (fault.op, fault.code) == (op, code)
                        && (fault.effect, fault.lasting) == (effect, lasting)),
                    "{op:?} {code:?} {effect:?} {lasting}"
                );
            }
        }
    }
}

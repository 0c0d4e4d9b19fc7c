//! How fast a history is checked: from memory on one core, beside reading it from a file, how time and
//! memory grow, against the exhaustive search, and what it costs a run that is checked while it goes on.
//!
//! `cargo bench` measures and writes evidence. With `--test`, and under `cargo test`, everything runs
//! once on small histories and nothing is written.

mod histories;

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use benches::rounds::{Round, Taken, as_float, interleaved, ratio_of_times};
use benches::scratch::Scratch;
use benches::{Arguments, Error, Mode, exit, report};
use evidence::{Builder, Check, Verdict};
use histories::{Shape, forget_peak, peak, resident, simulated};
use model_check::agree::{Kind, history};
use model_check::concurrent::{Plan, buyers, real_store};
use model_check::history::{History, Recorder, RecorderOptions, RunClock, read, write};
use model_check::search::search;
use model_check::serializable::{self, check_on_one_core};

fn main() -> ExitCode {
    exit(run)
}

/// How large everything is.
struct Sizes {
    calls: u64,
    rounds: usize,
    run: usize,
    small: u64,
}

fn run() -> Result<Option<Verdict>, Error> {
    let arguments = Arguments::of_this_process("How fast a history is checked")?;
    if arguments.mode == Mode::List {
        return Ok(None);
    }
    let sizes = match arguments.mode {
        Mode::Measure if arguments.quick => Sizes {
            calls: 1_000_000,
            rounds: 3,
            run: 2_000,
            small: 2_000,
        },
        Mode::Measure | Mode::Profile => Sizes {
            calls: 1_000_000,
            rounds: 7,
            run: 8_000,
            small: 10_000,
        },
        Mode::Test | Mode::List => Sizes {
            calls: 2_000,
            rounds: 1,
            run: 80,
            small: 14,
        },
    };
    let mut statement = report::begin(&arguments);
    let started = Instant::now();
    memory(&mut statement, &sizes);
    large(&mut statement, &sizes)?;
    against_search(&mut statement, &sizes)?;
    online(&mut statement, &sizes)?;
    if arguments.mode != Mode::Measure {
        return Ok(None);
    }
    statement.measured(started.elapsed());
    report::write(statement, Path::new("runs")).map(Some)
}

/// Bytes a call at the highest, for the history and the check of it together.
fn memory(statement: &mut Builder, sizes: &Sizes) {
    forget_peak();
    let Some(before) = resident() else {
        return;
    };
    let shape = Shape {
        calls: sizes.calls * 4,
        clients: 32,
        seats: 1,
    };
    let history = simulated(shape);
    forget_peak();
    let report = check_on_one_core(&history);
    assert_eq!(report.verdict, serializable::Verdict::Holds);
    let Some(most) = peak() else {
        return;
    };
    let bytes = most.saturating_sub(before);
    println!(
        "memory                 {:.0} bytes a call for history and check, of {} calls",
        as_float(bytes) / as_float(shape.calls),
        shape.calls
    );
    statement
        .count("memory_bytes", bytes)
        .count("memory_calls", shape.calls);
}

fn checks<'h>(id: &str, history: &'h History) -> (String, Round<'h>) {
    let calls = history.operations.len() as u64;
    let round = move || {
        let started = Instant::now();
        let report = black_box(check_on_one_core(black_box(history)));
        let time = started.elapsed();
        assert_eq!(report.verdict, serializable::Verdict::Holds);
        Ok(Taken { count: calls, time })
    };
    (id.to_owned(), Box::new(round))
}

/// A hot seat and a thousand seats, ten times the hot seat, and the file form.
fn large(statement: &mut Builder, sizes: &Sizes) -> Result<(), Error> {
    let shape = Shape {
        calls: sizes.calls,
        clients: 32,
        seats: 1,
    };
    let hot = simulated(shape);
    let spread = simulated(Shape {
        seats: 1_000,
        ..shape
    });
    let tenfold = simulated(Shape {
        calls: sizes.calls * 10,
        ..shape
    });
    let mut file = Vec::new();
    write(&hot, &mut file).expect("memory takes it");
    let reading: Round<'_> = Box::new(|| {
        let started = Instant::now();
        let read = black_box(read(black_box(&file[..])).expect("what was written is read"));
        Ok(Taken {
            count: read.operations.len() as u64,
            time: started.elapsed(),
        })
    });
    let sides = interleaved(
        sizes.rounds,
        vec![
            checks("check/hot seat", &hot),
            checks("check/1000 seats", &spread),
            checks("check/hot seat, ten times the calls", &tenfold),
            ("read/hot seat, JSON Lines".to_owned(), reading),
        ],
    )?;
    for side in &sides {
        println!(
            "{:<37} {:>6.2} million calls a second",
            side.id,
            1e3 / side.median_ns()
        );
        statement.benchmark(side.id.clone(), side.samples());
    }
    let growth = ratio_of_times(&sides[2], &sides[0]);
    println!(
        "ten times the calls take {:.1} times as long ({:.1} to {:.1})",
        growth.median * 10.0,
        growth.least * 10.0,
        growth.greatest * 10.0
    );
    let beside = ratio_of_times(&sides[3], &sides[0]);
    println!(
        "reading takes {:.1} times as long as checking",
        beside.median
    );
    Ok(())
}

/// The same small histories, by both.
fn against_search(statement: &mut Builder, sizes: &Sizes) -> Result<(), Error> {
    let mut by_size: Vec<Vec<History>> = vec![Vec::new(); 13];
    for seed in 0..sizes.small {
        let history = history(Kind::Valid, seed);
        let size = history.operations.len();
        by_size[size].push(history);
    }
    for (size, histories) in by_size
        .iter()
        .enumerate()
        .filter(|(_, some)| !some.is_empty())
    {
        let count = histories.len() as u64;
        let timed = |work: &dyn Fn(&History)| {
            let started = Instant::now();
            histories.iter().for_each(work);
            Ok(Taken {
                count,
                time: started.elapsed(),
            })
        };
        let near_linear: Round<'_> = Box::new(|| {
            timed(&|history| {
                black_box(check_on_one_core(history));
            })
        });
        let exhaustive: Round<'_> = Box::new(|| {
            timed(&|history| {
                black_box(search(history, u64::MAX));
            })
        });
        let sides = interleaved(
            sizes.rounds,
            vec![
                (format!("small/{size} calls/check"), near_linear),
                (format!("small/{size} calls/search"), exhaustive),
            ],
        )?;
        println!(
            "{size:>2} calls: the search takes {:>6.1} times as long as the check",
            ratio_of_times(&sides[1], &sides[0]).median
        );
        for side in &sides {
            statement.benchmark(side.id.clone(), side.samples());
        }
    }
    Ok(())
}

/// A run of the real store that is recorded and checked while it goes on, against one that is neither.
fn online(statement: &mut Builder, sizes: &Sizes) -> Result<(), Error> {
    let scratch = Scratch::below(env!("CARGO_TARGET_TMPDIR"));
    let calls = std::cell::Cell::new(0);
    let side = |id: &str, check: bool| -> (String, Round<'_>) {
        let (scratch, sizes, calls) = (&scratch, &sizes, &calls);
        let round = move || {
            let plan = Plan {
                threads: 8,
                calls: sizes.run,
                seed: 1,
            };
            let clock = RunClock::start();
            let number = calls.replace(calls.get() + 1);
            let path = scratch.path(&format!("online-{number}.sqlite"))?;
            let store = real_store(&path, &clock, plan, 8).map_err(Error::store("opening"))?;
            let mut options = RecorderOptions::new(clock);
            options.check = check;
            let recorder = Recorder::start(options);
            let started = Instant::now();
            let _ = buyers(&store, &recorder, plan);
            let time = started.elapsed();
            let report = recorder.finish().report;
            assert!(!check || report.verdict == serializable::Verdict::Holds);
            Ok(Taken {
                count: sizes.run as u64,
                time,
            })
        };
        (id.to_owned(), Box::new(round))
    };
    let sides = interleaved(
        sizes.rounds,
        vec![
            side("online/checked", true),
            side("online/only recorded", false),
        ],
    )?;
    let cost = ratio_of_times(&sides[0], &sides[1]);
    println!(
        "a run of 8 threads that is checked while it goes on takes {:.3} times as long ({:.3} to {:.3})",
        cost.median, cost.least, cost.greatest
    );
    for side in &sides {
        statement.benchmark(side.id.clone(), side.samples());
    }
    let checked = sizes.rounds * sizes.run;
    statement.check(Check::passed(
        "online-histories",
        "the histories of the runs that were checked while they went on are strictly serializable",
        checked as u64,
    ));
    Ok(())
}

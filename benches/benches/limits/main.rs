//! How near the store is to what the disk and SQLite can give, and how its cost grows.
//!
//! Each file asks one question. Every figure is a ratio with its yardstick beside it, both measured
//! in turn in one run; a table of them is printed at the end, and all samples go into one evidence
//! file. `cargo bench` measures, `--quick` takes a first look that is not comparable, `--test` runs
//! everything once and writes nothing, `--list` names the questions, and a filter chooses some.

mod context;
mod granted;
mod growth;
mod hot_seat;
mod one_client;
mod opening;
mod refused;
mod settings;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use benches::findings::Findings;
use benches::{Arguments, Error, Mode, exit, report};
use evidence::Verdict;

use context::Context;

/// A question, as a filter names it, and what answers it.
type Question = (
    &'static str,
    fn(&Context, &mut Findings) -> Result<(), Error>,
);

const QUESTIONS: [Question; 11] = [
    ("hot seat/32 clients", |context, found| {
        hot_seat::ask(context, found, 32)
    }),
    ("hot seat/128 clients", |context, found| {
        hot_seat::ask(context, found, 128)
    }),
    ("granted/64 clients", granted::ask),
    ("one client/write and sync", one_client::ask),
    ("refused/1 thread", |context, found| {
        refused::ask(context, found, 1)
    }),
    ("refused/8 threads", |context, found| {
        refused::ask(context, found, 8)
    }),
    ("settings/commits and reads", settings::ask),
    ("opening/after a crash", opening::ask),
    ("growth/clients", growth::clients),
    ("growth/seats", growth::seats),
    ("growth/payments", growth::payments),
];

fn main() -> ExitCode {
    exit(run)
}

fn run() -> Result<Option<Verdict>, Error> {
    let mut arguments = Arguments::of_this_process(
        "How near the seat store is to what the disk and SQLite can give",
    )?;
    let chosen: Vec<Question> = QUESTIONS
        .into_iter()
        .filter(|(name, _)| arguments.selects(name))
        .collect();
    if arguments.mode == Mode::List {
        for (name, _) in chosen {
            println!("{name}: benchmark");
        }
        return Ok(None);
    }
    if arguments.mode == Mode::Profile || arguments.mode == Mode::Measure && !arguments.measures() {
        println!("limits: only criterion's benches can be profiled or loaded; nothing was run");
        return Ok(None);
    }
    if chosen.is_empty() {
        println!("limits: nothing here matches the filter; --list names the questions");
        return Ok(None);
    }
    for option in arguments.without_sampling() {
        println!("limits: {option} changes nothing here, its rounds have a length of their own");
    }
    let clock = Instant::now();
    let context = Context::new(&arguments, env!("CARGO_TARGET_TMPDIR"));
    let mut found = Findings::new(report::begin(&arguments));
    for (name, answer) in &chosen {
        if arguments.mode == Mode::Test {
            println!("Testing {name}");
        } else {
            eprintln!("measuring {name}");
        }
        answer(&context, &mut found)?;
    }
    if arguments.mode == Mode::Test || found.is_empty() {
        return Ok(None);
    }
    for table in context.tables.take() {
        println!("\n{table}");
    }
    if let Some(table) = found.table() {
        println!("\n{table}\n");
    }
    context.describe(found.statement());
    found.statement().measured(clock.elapsed());
    if !arguments.keeps_samples() {
        println!("nothing is to be kept, so no evidence is written");
        return Ok(None);
    }
    report::write(found.into_statement(), Path::new("runs")).map(Some)
}

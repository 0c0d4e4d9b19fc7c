//! The settings of a run, checked together.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model_check::store_choice::{self, Subject};
use soldonce::{Commit, HoldDuration};

use crate::args::{Args, Engine, Format, Ramp};
use crate::mix::Mix;
use crate::no_effect;
use crate::threshold::Threshold;
use crate::units::thousands;
use crate::workload::{Choice, Shape, Workload};

/// How the load arrives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrival {
    /// Each client calls again as soon as it has its answer.
    Closed,
    /// Calls are due at fixed times, so many a second over all clients.
    Open {
        /// Calls a second.
        rate: f64,
    },
}

/// The store under load.
#[derive(Debug, Clone, PartialEq)]
pub enum Under {
    /// The real one, on SQLite, which commits so.
    Real(Commit),
    /// Another one.
    Other(OtherStore),
}

/// A store that is not the real one. Two of the same name are the same.
#[derive(Clone)]
pub struct OtherStore(pub Arc<dyn Subject>);

impl OtherStore {
    /// Its name.
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// What is wrong with it, when it is one that is broken on purpose.
    pub fn fault(&self) -> Option<&'static str> {
        let name = self.name();
        let id = name.strip_prefix("mutant:")?;
        let other = || model_check::concurrent::find(id).map(|mutant| mutant.fault);
        model_check::mutants::find(id)
            .map(|mutant| mutant.fault)
            .or_else(other)
    }
}

impl fmt::Debug for OtherStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl PartialEq for OtherStore {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

/// When the measured part ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// After this time.
    Elapsed(Duration),
    /// After so many calls.
    Calls(u64),
}

/// Which database a run uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A fresh file in a temporary folder, removed at the end.
    Temporary,
    /// This file, kept at the end.
    File {
        /// Where it is.
        path: PathBuf,
        /// Whether it may hold seats already.
        reuse: bool,
    },
}

/// Where the evidence goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidenceTo {
    /// To the runs of the workspace.
    Workspace,
    /// To this folder.
    Folder(PathBuf),
    /// Nowhere.
    Nowhere,
}

/// The settings of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// What buyers intend.
    pub workload: Workload,
    /// The length of a hold, as the store takes it.
    pub ttl: HoldDuration,
    /// Where everything random comes from.
    pub seed: u64,
    /// How many clients there are.
    pub clients: u32,
    /// Over how many processes they are spread.
    pub processes: u32,
    /// The command line, without the program: further processes are started with the same.
    pub command_line: Vec<OsString>,
    /// How the load arrives.
    pub arrival: Arrival,
    /// Rising rates instead of the one arrival.
    pub ramp: Option<Ramp>,
    /// When the measured part ends.
    pub until: Until,
    /// The part before it.
    pub warmup: Duration,
    /// Which store.
    pub store: Under,
    /// Which database.
    pub place: Place,
    /// How many connections the pool holds.
    pub pool: u32,
    /// How long a call may wait for a connection or the write lock.
    pub busy_timeout: Duration,
    /// The limits to keep.
    pub thresholds: Vec<Threshold>,
    /// What to print.
    pub format: Format,
    /// Where the history is kept, if it is.
    pub history: Option<PathBuf>,
    /// Where the evidence goes.
    pub evidence: EvidenceTo,
}

impl TryFrom<Args> for Config {
    type Error = String;

    fn try_from(args: Args) -> Result<Self, String> {
        // An exponent alone asks for the workload that it belongs to.
        let shape = args.workload.unwrap_or(match args.zipf {
            Some(_) => Shape::Zipf,
            None => Shape::Rush,
        });
        let seats = args.seats.unwrap_or(match shape {
            Shape::Churn => 64,
            Shape::Rush | Shape::Uniform | Shape::Zipf => 50_000,
        });
        let ttl = args.ttl.unwrap_or(match shape {
            Shape::Churn => Duration::from_millis(20),
            Shape::Rush | Shape::Uniform | Shape::Zipf => Duration::from_millis(250),
        });
        let hold = HoldDuration::from_millis(whole_millis("--ttl", ttl)?)
            .map_err(|invalid| format!("--ttl: {invalid}"))?;
        let busy_timeout = args.busy_timeout.unwrap_or(Duration::from_secs(5));
        whole_millis("--busy-timeout", busy_timeout)?;
        if busy_timeout > Duration::from_hours(1) {
            return Err("--busy-timeout: it is longer than 1h".to_owned());
        }
        let mix = Mix::default_of(shape);
        let mix = match &args.mix {
            Some(changes) => mix
                .with(changes)
                .map_err(|problem| format!("--mix: {problem}"))?,
            None => mix,
        };
        let pay_within = args.pay_within.unwrap_or(ttl / 5);
        if pay_within >= ttl {
            return Err("--pay-within: it must be shorter than the ttl".to_owned());
        }
        if args.duration.is_some_and(|duration| duration.is_zero()) {
            return Err("--duration: it is zero".to_owned());
        }
        no_effect::refuse(&args, shape, &mix)?;
        if let (Some(history), Some(database)) = (&args.history, &args.database) {
            apart(history, database)?;
        }
        let clients = args
            .clients
            .unwrap_or(if args.rate.is_some() || args.ramp.is_some() {
                64
            } else {
                8
            });
        if args.processes > clients {
            return Err(format!(
                "--processes: there are only {clients} clients to spread over them"
            ));
        }
        if args.processes > 1 && args.ramp.is_some() {
            return Err("--processes: a ramp runs in one process; use --rate".to_owned());
        }
        Ok(Self {
            workload: Workload {
                shape,
                seats,
                choice: choice(&args, shape, seats)?,
                ttl,
                pay_within,
                mix,
                redeliver_percent: args.redeliver_percent,
                look_percent: args.look_percent,
            },
            ttl: hold,
            seed: args.seed,
            clients,
            processes: args.processes,
            command_line: Vec::new(),
            arrival: match args.rate.or(args.ramp.map(|ramp| ramp.from)) {
                Some(rate) => Arrival::Open { rate },
                None => Arrival::Closed,
            },
            until: match args.ops {
                Some(calls) => Until::Calls(calls),
                None => Until::Elapsed(args.duration.unwrap_or(Duration::from_secs(
                    if args.ramp.is_some() { 5 } else { 10 },
                ))),
            },
            ramp: args.ramp,
            warmup: args.warmup,
            store: store(&args)?,
            place: match args.database {
                Some(path) => Place::File {
                    path,
                    reuse: args.reuse,
                },
                None => Place::Temporary,
            },
            pool: args.pool.unwrap_or(8),
            busy_timeout,
            thresholds: args.thresholds,
            format: args.format,
            history: args.history,
            evidence: match args.evidence {
                Some(folder) => EvidenceTo::Folder(folder),
                None if args.no_evidence => EvidenceTo::Nowhere,
                None => EvidenceTo::Workspace,
            },
        })
    }
}

/// The history is a file of its own, and none that the database has.
fn apart(history: &Path, database: &Path) -> Result<(), String> {
    let real = |path: &Path| {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        let named = path.file_name().unwrap_or_default();
        path.canonicalize()
            .or_else(|_| folder.map(|folder| folder.join(named)))
            .unwrap_or_else(|_| path.to_path_buf())
    };
    let (history, database) = (real(history), real(database));
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut taken = database.clone().into_os_string();
        taken.push(suffix);
        if history.as_os_str() == taken {
            return Err(format!(
                "--history: {} belongs to --database; give another file",
                history.display()
            ));
        }
    }
    Ok(())
}

/// The store that a name stands for.
fn store(args: &Args) -> Result<Under, String> {
    let name = args.store.as_str();
    let choice: store_choice::Choice = name.parse().map_err(|_| unknown(name))?;
    if choice.path.is_some() {
        return Err("--store: give the path as --database PATH".to_owned());
    }
    if let "sqlite" | "sqlite-per-call" = name {
        return Ok(Under::Real(commit(args)));
    }
    if !choice.subject.is_kept() && (args.processes > 1 || args.database.is_some()) {
        return Err(format!(
            "--store {name}: it keeps nothing on disk, so it goes with neither --database nor --processes"
        ));
    }
    Ok(Under::Other(OtherStore(choice.subject)))
}

/// Another program takes a path behind the name, this one does not.
fn unknown(name: &str) -> String {
    let known = [model_check::mutants::ids(), model_check::concurrent::ids()].concat();
    format!(
        "--store: no store is called {name:?}; give sqlite, sqlite-per-call, or mutant:ID, where ID is \
         one of {}",
        known.join(", ")
    )
}

/// How the real store commits.
fn commit(args: &Args) -> Commit {
    let is_per_call = args.engine == Some(Engine::Pool) || args.store == "sqlite-per-call";
    match args.batch {
        _ if is_per_call => Commit::PerCall,
        Some(most) => Commit::Queue { most },
        None => Commit::default(),
    }
}

/// How buyers choose a seat: the workload's way, or the one that an option asks for.
fn choice(args: &Args, shape: Shape, seats: u32) -> Result<Choice, String> {
    if shape == Shape::Zipf || args.zipf.is_some() {
        return Ok(Choice::Zipf(args.zipf.unwrap_or(1.0)));
    }
    let hot = args.hot_seats.unwrap_or(1);
    if hot > seats {
        let seats = thousands(seats.into());
        return Err(format!("--hot-seats: there are only {seats} seats"));
    }
    let percent = match shape {
        Shape::Rush => 80.0,
        Shape::Churn | Shape::Uniform | Shape::Zipf => 0.0,
    };
    Ok(Choice::Hot {
        seats: hot,
        percent: args.hot_percent.unwrap_or(percent),
    })
}

fn whole_millis(option: &str, duration: Duration) -> Result<i64, String> {
    if !duration.subsec_nanos().is_multiple_of(1_000_000) {
        return Err(format!(
            "{option}: it is not a whole number of milliseconds"
        ));
    }
    i64::try_from(duration.as_millis()).map_err(|_| format!("{option}: it is too long"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn config(options: &str) -> Result<Config, String> {
        let words = ["stress"].into_iter().chain(options.split_whitespace());
        Args::try_parse_from(words)
            .map_err(|error| error.to_string())?
            .try_into()
    }

    #[test]
    fn without_an_option_eight_buyers_rush_for_fifty_thousand_seats_for_ten_seconds() {
        let config = config("").expect("valid");
        assert_eq!(config.clients, 8);
        assert_eq!(config.workload.seats, 50_000);
        assert_eq!(config.until, Until::Elapsed(Duration::from_secs(10)));
        assert_eq!(config.arrival, Arrival::Closed);
        assert_eq!(config.place, Place::Temporary);
        assert_eq!(
            config.workload.choice,
            Choice::Hot {
                seats: 1,
                percent: 80.0
            }
        );
    }

    #[test]
    fn a_rate_brings_more_clients_and_a_hot_share_can_be_asked_of_any_workload() {
        let config = config("--rate 5000 --workload uniform --hot-percent 30%").expect("valid");
        assert_eq!(config.arrival, Arrival::Open { rate: 5000.0 });
        assert_eq!(config.clients, 64);
        assert_eq!(
            config.workload.choice,
            Choice::Hot {
                seats: 1,
                percent: 30.0
            }
        );
    }

    #[test]
    fn options_that_contradict_each_other_are_refused_with_the_reason() {
        for (options, reason) in [
            ("--zipf 1 --hot-percent 3", "exclude each other"),
            ("--workload zipf --hot-seats 3", "no hot seats"),
            ("--seats 5 --hot-seats 6", "only 5 seats"),
            ("--ttl 10ms --pay-within 10ms", "shorter than the ttl"),
            ("--ttl 1500us", "whole number of milliseconds"),
            ("--ttl 0ms", "length of a hold"),
            ("--busy-timeout 2h", "longer than 1h"),
            ("--duration 0s", "zero"),
            ("--duration 5s --ops 7", "cannot be used with"),
            ("--reuse", "--database"),
            ("--engine pool --batch 5", "only --engine queue"),
            ("--store oracle", "no store is called"),
            ("--store sqlite:file", "--database PATH"),
            ("--ramp 5:1:1", "ends before it begins"),
            ("--ramp 5:1", "FROM:TO:STEP"),
            ("--ramp 1:9000:1", "more than 1000 steps"),
            ("--ramp 1:9:1 --rate 5", "cannot be used with"),
            ("--mix fly=1", "no plan"),
            ("--rate 0", "0.01 to"),
            ("--hot-percent 101", "0 to 100"),
            ("--clients 0", "1..=10000"),
            ("--processes 17", "1..=16"),
            ("--processes 3 --clients 2", "only 2 clients"),
            ("--processes 2 --ramp 1:9:1", "one process"),
            ("--duration 10", "no unit"),
        ] {
            let problem = config(options).expect_err(options);
            assert!(problem.contains(reason), "{options}: {problem}");
        }
    }
}

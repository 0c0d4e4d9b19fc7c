//! Runs the clients, a thread each, and watches them.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use soldonce::Commits;
use soldonce::invariant::Acknowledged;

use crate::RunError;
use crate::answer::Ending;
use crate::client::{Client, Home, Own, Shared, stopped};
use crate::clock::RunClock;
use crate::config::{Arrival, Config};
use crate::hot::HotSeats;
use crate::measure::{Figures, jain_index};
use crate::memory;
use crate::meter::{Buffer, Meter};
use crate::pace::{ON_TIME_NS, Pace, Schedule};
use crate::processes::Process;
use crate::progress::{Progress, SoFar};
use crate::record::Recording;
use crate::store::Opened;
use crate::touched::Touched;
use crate::workload::{Choice, Intents};

/// The stack of a client: SQLite needs some tens of kilobytes, and only what is used is taken.
const STACK_BYTES: usize = 512 * 1024;
/// How often the run looks at its clients.
const LOOK: Duration = Duration::from_millis(50);

/// One load of a run.
#[derive(Debug, Clone)]
pub struct Stage {
    /// How it arrives.
    pub arrival: Arrival,
    /// The number of its first client in the whole run.
    pub first_client: u32,
    /// Which of its clients this process plays, of as many as the settings say.
    pub places: Range<u32>,
}

/// What all loads of a run share.
#[derive(Clone, Copy)]
pub struct Context<'run> {
    /// The settings.
    pub config: &'run Config,
    /// The store.
    pub opened: &'run Opened,
    /// The time.
    pub clock: &'run RunClock,
    /// Set when the run is to end early.
    pub stop: &'run AtomicBool,
    /// The live line.
    pub progress: &'run Progress,
    /// The history.
    pub recording: Recording<'run>,
    /// Which seats were asked for.
    pub touched: &'run Touched,
    /// Asked when all clients are there: when the load begins, in nanoseconds since the start.
    pub begin: &'run dyn Fn() -> u64,
}

/// What a load left behind.
#[derive(Debug, Clone)]
pub struct Load {
    /// What was measured.
    pub figures: Figures,
    /// Every decision about a payment that a client of another process was told.
    pub acknowledged: Vec<Acknowledged>,
    /// Payments that got no answer, to the end.
    pub unsettled: u64,
    /// The first error of each kind, in words.
    pub errors: Vec<(Ending, String)>,
    /// How long the measured part took.
    pub measured: Duration,
    /// How many measured calls were due, under a fixed arrival rate.
    pub due: Option<u64>,
    /// How often a hot seat moved on.
    pub hot_moves: u64,
    /// The most memory that the process had during the load, in bytes, where the system tells.
    pub peak_bytes: Option<u64>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// How commits filled, of all processes together; `None` when the store does not tell.
    pub commits: Option<Commits>,
    /// The processes, when there was more than one.
    pub processes: Vec<Process>,
}

/// Puts the load on the store until it ends, or `stop` is set.
///
/// # Errors
/// [`RunError::Thread`] when a client's thread can not be started, [`RunError::History`] when its
/// journal can not.
///
/// # Panics
/// When a client panics: that is a mistake in the client or in the store.
pub fn run(context: Context<'_>, stage: &Stage) -> Result<Load, RunError> {
    let Context {
        config,
        opened,
        clock,
        stop,
        progress,
        ..
    } = context;
    let hot = match config.workload.choice {
        Choice::Hot { seats, .. } => HotSeats::new(seats, config.workload.seats),
        Choice::Zipf(_) => HotSeats::new(0, config.workload.seats),
    };
    let meter = Meter::new(stage.places.len());
    let commits_before = opened.commits();
    let (homes, schedule) = play(context, stage, &hot, &meter)?;
    progress.clear();
    let ended_ns = clock.now_ns();
    let peak_bytes = memory::peak_bytes();
    let figures = meter.into_figures();
    let interrupted = stopped(stop);
    // The measured part lasts to its end, or to the last answer if that is later.
    let measured_to_ns = match schedule.end_ns {
        Some(end_ns) if !interrupted => figures.last_ns.max(end_ns),
        Some(_) | None => figures.last_ns,
    };
    // What was due after somebody asked to stop was not left out for want of time.
    let due = if interrupted {
        let started = figures.measured.all_attempts();
        let due = schedule.due_before(figures.last_ns);
        due.map(|due| due.max(started))
    } else {
        schedule.due_before(ended_ns)
    };
    let mut load = Load {
        measured: Duration::from_nanos(
            measured_to_ns
                .saturating_sub(schedule.measured_from_ns)
                .max(1),
        ),
        figures,
        acknowledged: Vec::new(),
        unsettled: 0,
        errors: Vec::new(),
        due,
        hot_moves: hot.moves(),
        peak_bytes,
        interrupted,
        commits: opened.commits().zip(commits_before).map(since),
        processes: Vec::new(),
    };
    for home in homes {
        load.take(home);
    }
    Ok(load)
}

/// Runs the clients until the last has ended.
fn play(
    context: Context<'_>,
    stage: &Stage,
    hot: &HotSeats,
    meter: &Meter,
) -> Result<(Vec<Home>, Schedule), RunError> {
    let Context {
        config,
        opened,
        clock,
        stop,
        progress,
        recording,
        touched,
        begin,
    } = context;
    let shared = Shared {
        store: opened.store(),
        names: &opened.names,
        hot,
        clock,
        touched,
        ttl: config.ttl,
        stop,
    };
    let gate = OnceLock::new();
    thread::scope(|scope| {
        let mut clients = Vec::with_capacity(stage.places.len());
        for (place, at) in stage.places.clone().zip(0..) {
            let gate = &gate;
            let number = stage.first_client + place;
            let record = match recording.client(number, clock) {
                Ok(record) => record,
                Err(error) => {
                    gate.get_or_init(|| None);
                    return Err(error);
                }
            };
            let client = move || {
                let schedule: Option<Schedule> = *gate.wait();
                schedule.map(|schedule| {
                    let own = Own {
                        number,
                        intents: Intents::new(&config.workload, config.seed, number),
                        buffer: Buffer::new(meter, at, &schedule),
                        record,
                        twin: None,
                        recording,
                    };
                    Client::new(shared, own).run(Pace::new(schedule, place))
                })
            };
            let started = thread::Builder::new()
                .name(format!("client {number}"))
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, client);
            match started {
                Ok(handle) => clients.push(handle),
                Err(source) => {
                    gate.get_or_init(|| None);
                    return Err(RunError::Thread { number, source });
                }
            }
        }
        let schedule = Schedule::new(
            begin(),
            config.warmup,
            config.until,
            stage.arrival,
            config.clients,
        );
        gate.get_or_init(|| Some(schedule));
        while !clients.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(LOOK);
            progress.show(clock.now_ns(), &schedule, || SoFar::of(meter, hot));
        }
        let homes: Vec<Home> = clients
            .into_iter()
            .filter_map(|client| match client.join() {
                Ok(home) => home,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect();
        Ok((homes, schedule))
    })
}

/// What was committed between two counts.
const fn since((after, before): (Commits, Commits)) -> Commits {
    Commits {
        calls: after.calls - before.calls,
        commits: after.commits - before.commits,
        // Before the load only seats were added, one call.
        largest: after.largest,
    }
}

impl Load {
    fn take(&mut self, home: Home) {
        self.unsettled += home.unsettled;
        for (ending, words) in home.errors {
            if self.errors.iter().all(|(known, _)| *known != ending) {
                self.errors.push((ending, words));
            }
        }
    }

    /// Adds another load of the same run, as something that was done and checked, but is not part
    /// of the figures.
    pub fn and(&mut self, other: Self) {
        self.figures.unmeasured.add(&other.figures.measured);
        self.figures.unmeasured.add(&other.figures.unmeasured);
        self.figures.retries += other.figures.retries;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.interrupted |= other.interrupted;
        self.take(Home {
            unsettled: other.unsettled,
            errors: other.errors,
        });
    }

    /// How many measured calls started later than this after they were due.
    pub fn later_than(&self, nanos: u64) -> Option<u64> {
        let lateness = self.figures.lateness.as_ref()?;
        Some(lateness.len() - lateness.count_between(0, nanos))
    }

    /// Whether, under a fixed arrival rate, every call was started, and 99 in a hundred on time.
    pub fn kept_up(&self) -> bool {
        let started = self.figures.measured.all_attempts();
        self.unstarted() == Some(0)
            && self
                .later_than(ON_TIME_NS)
                .is_some_and(|late| late * 100 <= started)
    }

    /// Measured calls a second.
    pub fn rate_of(&self, calls: u64) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "three digits of it are shown")]
        let calls = calls as f64;
        calls / self.measured.as_secs_f64()
    }

    /// Jain's fairness index of the calls that each client got answered.
    pub fn fairness(&self) -> f64 {
        jain_index(self.figures.clients.iter().map(|client| client.answered))
    }

    /// How many measured calls were due and never started.
    pub fn unstarted(&self) -> Option<u64> {
        let started = self.figures.measured.all_attempts();
        self.due.map(|due| due.saturating_sub(started))
    }
}

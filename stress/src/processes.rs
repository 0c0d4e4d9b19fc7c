//! A run in several processes on one database file.
//!
//! The first process opens the file, adds the seats, and starts as many copies of its own program as
//! were asked for. Each plays its share of the clients, under the numbers and with the random streams
//! that these clients would have in one process, so the same seed intends the same. All read one
//! monotonic clock, so their histories are one. Each client writes its part as it goes (see
//! [`model_check::history::Journal`]): when a process is killed, what it did is known but for the call
//! in flight of each client, which is of unknown result.
//!
//! When the first process is killed, no other goes on: the pipe that it told them through closes, and
//! each ends within moments (see [`crate::worker`]). But nobody is left to clean up. In the temporary
//! folder stay two folders, `soldonce-stress-` and six letters: one with `client-N.jsonl`, the history
//! of each client until then, and, unless --database was given, one with `seats.sqlite` and its `-wal`
//! and `-shm`. Nothing uses them any more, and they may be deleted. A file that was given with --database
//! stays as the kill left it: SQLite brings it in order when it is opened next.
//!
//! The figures of a process that was killed are gone with it. What its history shows is counted among
//! the calls that were checked and not measured.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, ChildStdin, Command as Program, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use model_check::history::{Header, History, Names, Origin, read_journals};
use soldonce::Commits;
use tempfile::TempDir;

use crate::RunError;
use crate::client::stopped;
use crate::config::Config;
use crate::measure::Figures;
use crate::memory;
use crate::pace::Schedule;
use crate::progress::SoFar;
use crate::record::journal;
use crate::runner::{Context, Load};
use crate::wire::{Brought, Share};
use crate::worker::{BEGIN, READY, STOP};

mod shown;

use shown::{Shown, acknowledged};

/// Between the word to begin and the first call: time for the word to reach every process.
const RUN_UP_NS: u64 = 20_000_000;
/// How often the processes are looked after.
const LOOK: Duration = Duration::from_millis(50);

/// One process of a run, when it has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Which, from 1.
    pub number: u32,
    /// The signal that killed it, if one did.
    pub killed_by: Option<i32>,
    /// How many calls of it are in the history.
    pub calls: u64,
    /// How many of them are of unknown result.
    pub unknown: u64,
    /// How its commits filled, if it lived to tell and its store tells.
    pub commits: Option<Commits>,
}

/// Runs the load in processes, and reads their histories.
///
/// # Errors
/// [`RunError`] when a process can not be started, or ends otherwise than well or by a signal.
pub fn run(context: Context<'_>, origin: Origin) -> Result<(Load, History), RunError> {
    let config = context.config;
    let folder = tempfile::Builder::new()
        .prefix("soldonce-stress-")
        .tempdir()
        .map_err(RunError::Temporary)?;
    let (sender, news) = channel();
    let mut running = shares(config)
        .zip(1..)
        .map(|(clients, number)| start(&context, origin, &folder, number, clients, &sender))
        .collect::<Result<Vec<_>, _>>()?;
    drop(sender);
    all_ready(&mut running, &news)?;
    let begin_ns = context.clock.now_ns() + RUN_UP_NS;
    let schedule = Schedule::new(
        begin_ns,
        config.warmup,
        config.until,
        config.arrival,
        config.clients,
    );
    for process in &mut running {
        process.tell(&format!("{BEGIN}{begin_ns}\n"));
    }
    wait(&context, &schedule, &mut running, &news);
    let ended_ns = context.clock.now_ns();
    let history = read(&context, folder.path())?;
    let mut load = Load {
        figures: Figures::new(0),
        acknowledged: acknowledged(&history),
        unsettled: 0,
        errors: Vec::new(),
        measured: Duration::ZERO,
        due: schedule.due_before(ended_ns),
        hot_moves: 0,
        peak_bytes: memory::peak_bytes(),
        interrupted: stopped(context.stop),
        commits: None,
        processes: Vec::new(),
    };
    for process in running {
        process.end(&mut load, &history)?;
    }
    if load
        .processes
        .iter()
        .all(|process| process.killed_by.is_some())
    {
        return Err(RunError::AllKilled);
    }
    let measured_ns = load
        .figures
        .last_ns
        .saturating_sub(schedule.measured_from_ns);
    load.measured = Duration::from_nanos(measured_ns.max(1));
    Ok((load, history))
}

/// Which clients each process plays: as evenly as can be.
fn shares(config: &Config) -> impl Iterator<Item = Range<u32>> {
    let (clients, processes) = (u64::from(config.clients), u64::from(config.processes));
    let first = move |number: u64| {
        u32::try_from(number * clients / processes).expect("not more than there are clients")
    };
    (0..processes).map(move |number| first(number)..first(number + 1))
}

/// What comes from a process.
enum News {
    Ready,
    /// How far it is.
    SoFar(SoFar),
    /// Nothing more.
    Silent,
}

/// A process that was started.
struct Running {
    number: u32,
    clients: Range<u32>,
    child: Child,
    stdin: Option<ChildStdin>,
    result: std::thread::JoinHandle<Option<String>>,
}

/// One that is let go of early ends when its pipe closes, and is waited for.
impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

fn start(
    context: &Context<'_>,
    origin: Origin,
    folder: &TempDir,
    number: u32,
    clients: Range<u32>,
    news: &Sender<(u32, News)>,
) -> Result<Running, RunError> {
    let failed = |source| RunError::Start { number, source };
    let mut child = std::env::current_exe()
        .and_then(|program| {
            Program::new(program)
                .args(&context.config.command_line)
                .arg("--worker")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
        })
        .map_err(failed)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (stdout, news) = (stdout.expect("it was piped"), news.clone());
    let result = std::thread::spawn(move || {
        let mut result = None;
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if line == READY {
                let _ = news.send((number, News::Ready));
            } else if let Some(so_far) = SoFar::of_line(&line) {
                let _ = news.send((number, News::SoFar(so_far)));
            } else {
                result = Some(line);
            }
        }
        let _ = news.send((number, News::Silent));
        result
    });
    let mut process = Running {
        number,
        clients: clients.clone(),
        child,
        stdin,
        result,
    };
    let share = Share {
        database: context.opened.path.clone(),
        journals: folder.path().to_path_buf(),
        tag: context.opened.names.tag().to_owned(),
        origin,
        first_client: clients.start,
        clients: clients.end - clients.start,
    };
    process.tell(&share.to_line());
    Ok(process)
}

/// Waits until every process has opened the database and has its clients.
fn all_ready(running: &mut [Running], news: &Receiver<(u32, News)>) -> Result<(), RunError> {
    for _ in 0..running.len() {
        let (number, what) = news.recv().expect("a process that is silent says so");
        if matches!(what, News::Silent) {
            let process = running.iter_mut().find(|process| process.number == number);
            let status = process.expect("it was started").child.wait();
            return Err(match status {
                Ok(status) => RunError::Process { number, status },
                Err(source) => RunError::Start { number, source },
            });
        }
    }
    Ok(())
}

/// Waits until every process is silent, shows how far they are, and passes on the wish to stop.
fn wait(
    context: &Context<'_>,
    schedule: &Schedule,
    running: &mut [Running],
    news: &Receiver<(u32, News)>,
) {
    let (mut silent, mut told) = (0, false);
    let mut so_far = BTreeMap::new();
    while silent < running.len() {
        match news.recv_timeout(LOOK) {
            Ok((_, News::Silent)) => silent += 1,
            Ok((number, News::SoFar(now))) => {
                so_far.insert(number, now);
            }
            Ok((_, News::Ready)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if stopped(context.stop) && !told {
            told = true;
            for process in &mut *running {
                process.tell(&format!("{STOP}\n"));
            }
        }
        context.progress.show(context.clock.now_ns(), schedule, || {
            so_far.values().fold(SoFar::default(), SoFar::and)
        });
    }
    context.progress.clear();
}

impl Running {
    fn tell(&mut self, line: &str) {
        // One that was killed hears nothing, and that shows in how it ended.
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin
                .write_all(line.as_bytes())
                .and_then(|()| stdin.flush());
        }
    }

    /// Adds what it brought, or what its history shows, to the load.
    fn end(mut self, load: &mut Load, history: &History) -> Result<(), RunError> {
        let number = self.number;
        let failed = |source| RunError::Start { number, source };
        let status = self.child.wait().map_err(failed)?;
        let result = std::thread::spawn(|| None);
        let result = std::mem::replace(&mut self.result, result)
            .join()
            .ok()
            .flatten();
        let shown = Shown::of(history, &self.clients);
        let mut process = Process {
            number,
            killed_by: signal(status),
            calls: shown.calls,
            unknown: shown.unknown,
            commits: None,
        };
        match result.as_deref().and_then(Brought::of_line) {
            Some(brought) if status.success() => {
                process.commits = brought.commits;
                load.bring(brought);
            }
            _ if process.killed_by.is_some() => {
                load.figures.add(&shown.figures);
                load.unsettled += shown.unsettled;
            }
            _ => return Err(RunError::Process { number, status }),
        }
        load.processes.push(process);
        Ok(())
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

impl Load {
    fn bring(&mut self, brought: Brought) {
        self.figures.add(&brought.figures);
        self.unsettled += brought.unsettled;
        for (ending, words) in brought.errors {
            if self.errors.iter().all(|(known, _)| *known != ending) {
                self.errors.push((ending, words));
            }
        }
        // Each process sees the same hot seats move on.
        self.hot_moves = self.hot_moves.max(brought.hot_moves);
        self.peak_bytes = self.peak_bytes.zip(brought.peak_bytes).map(|(a, b)| a + b);
        self.interrupted |= brought.interrupted;
        self.commits = match (self.commits, brought.commits) {
            (Some(mine), Some(theirs)) => Some(Commits {
                calls: mine.calls + theirs.calls,
                commits: mine.commits + theirs.commits,
                largest: mine.largest.max(theirs.largest),
            }),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

/// Reads the journals of all clients.
fn read(context: &Context<'_>, folder: &Path) -> Result<History, RunError> {
    let mut names = Names::default();
    let header = Header {
        clock: context.clock.for_recorder().rule(),
        seats_added_at: context.opened.seats_added_at,
        missing_seats: vec![names.seat(&context.opened.names.seat(None))],
    };
    let journals: Vec<_> = (0..context.config.clients)
        .map(|client| journal(folder, client))
        .collect();
    read_journals(header, names, journals.iter().map(AsRef::as_ref)).map_err(|error| {
        RunError::History {
            path: folder.to_path_buf(),
            problem: error.to_string(),
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Args;

    #[test]
    fn every_client_is_played_by_one_process() {
        for (clients, processes) in [(8, 2), (7, 3), (16, 16), (10_000, 16)] {
            let options = format!("stress --clients {clients} --processes {processes}");
            let args = Args::try_parse_from(options.split(' ')).expect("valid");
            let config = Config::try_from(args).expect("valid");
            let played: Vec<u32> = shares(&config).flatten().collect();
            assert_eq!(played, (0..clients).collect::<Vec<_>>());
            assert!(shares(&config).all(|share| !share.is_empty()));
        }
    }
}

//! One of the processes of a run: it puts its share of the clients on the database that the first
//! process has opened and filled, and tells it the figures.
//!
//! It is told on standard input: its share, when to begin, perhaps to stop. When the first process
//! dies the pipe closes, and this one ends at once, whatever it is doing.

use std::io::{BufRead as _, Write as _};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::RunError;
use crate::clock::RunClock;
use crate::config::Config;
use crate::progress::Progress;
use crate::record::Recording;
use crate::runner::{self, Context, Stage};
use crate::store;
use crate::touched::Touched;
use crate::wire::{Brought, Share};

/// Said when the clients are there and wait.
pub const READY: &str = "ready";
/// Said to stop early.
pub const STOP: &str = "stop";
/// Said before the instant at which the load begins.
pub const BEGIN: &str = "begin ";

/// What the first process says.
enum Said {
    Share(Box<Share>),
    Begin(u64),
}

/// Runs the share that comes on standard input.
///
/// # Errors
/// [`RunError`] when there is nothing to tell.
pub fn run(config: &Config, stop: &Arc<AtomicBool>) -> Result<(), RunError> {
    let said = listen(Arc::clone(stop));
    let Ok(Said::Share(share)) = said.recv() else {
        return Err(RunError::NotTold);
    };
    let clock = RunClock::since(share.origin).ok_or(RunError::NoSharedClock)?;
    let opened = store::join(config, &share.database, &clock, &share.tag)?;
    let load = runner::run(
        Context {
            config,
            opened: &opened,
            clock: &clock,
            stop,
            progress: &Progress::Told(|so_far| say(&so_far.to_line())),
            recording: Recording::Journals(&share.journals),
            touched: &Touched::new(config.workload.seats),
            begin: &|| begin(&said, &clock),
        },
        &Stage {
            arrival: config.arrival,
            first_client: 0,
            places: share.first_client..share.first_client + share.clients,
        },
    )?;
    let brought = Brought {
        figures: load.figures,
        unsettled: load.unsettled,
        errors: load.errors,
        hot_moves: load.hot_moves,
        peak_bytes: load.peak_bytes,
        interrupted: load.interrupted,
        commits: load.commits,
    };
    // Closed before it is told, so that whoever is told may take the file away.
    drop(opened);
    say(&brought.to_line());
    Ok(())
}

fn begin(said: &Receiver<Said>, clock: &RunClock) -> u64 {
    say(&format!("{READY}\n"));
    match said.recv() {
        Ok(Said::Begin(at_ns)) => at_ns,
        // The thread that listens ends this process before it hangs up.
        Ok(Said::Share(_)) | Err(_) => clock.now_ns(),
    }
}

fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    // When nobody listens any more, the other thread ends this process.
    let _ = output
        .write_all(line.as_bytes())
        .and_then(|()| output.flush());
}

fn listen(stop: Arc<AtomicBool>) -> Receiver<Said> {
    let (sender, said) = channel();
    std::thread::spawn(move || hear(&sender, &stop));
    said
}

fn hear(sender: &Sender<Said>, stop: &AtomicBool) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line == STOP {
            stop.store(true, Ordering::Relaxed);
        } else if let Some(at_ns) = line.strip_prefix(BEGIN).and_then(|at| at.parse().ok()) {
            let _ = sender.send(Said::Begin(at_ns));
        } else if let Some(share) = Share::of_line(&line) {
            let _ = sender.send(Said::Share(Box::new(share)));
        }
    }
    // The first process is gone, and nobody will check what is done here.
    process::exit(1);
}

//! The program: reads the command line, runs, prints, and exits with a code that says what was found.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};
use stress::args::Args;
use stress::complain;
use stress::config::Config;

fn main() -> ExitCode {
    let args = Args::try_parse().unwrap_or_else(|error| complain::refuse(&error));
    let is_worker = args.worker;
    let mut config = Config::try_from(args).unwrap_or_else(|problem| {
        complain::refuse(&Args::command().error(ErrorKind::ValueValidation, problem))
    });
    config.command_line = std::env::args_os().skip(1).collect();
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let handler = move || {
        if asked.swap(true, Ordering::Relaxed) && !is_worker {
            // Asked twice: whoever asks does not want to wait for the checks. Workers end with the first process.
            std::process::exit(130);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        complain::say(&format!("Ctrl-C can not be caught: {error}"));
        return ExitCode::FAILURE;
    }
    if is_worker {
        return stress::worker::run(&config, &stop)
            .map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS);
    }
    match stress::run(&config, &stop) {
        Ok(mut finished) => {
            let mut out = std::io::stdout().lock();
            let written = out
                .write_all(finished.text.as_bytes())
                .and_then(|()| out.flush());
            let unwritten = match written {
                // A reader that has gone away does not change what was found.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    Some(format!("the summary could not be written: {error}"))
                }
                Ok(()) | Err(_) => None,
            };
            finished.unwritten.extend(unwritten);
            for unwritten in &finished.unwritten {
                complain::say(unwritten);
            }
            ExitCode::from(finished.exit_code())
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &stress::RunError) -> ExitCode {
    complain::say(&stress::in_words(error));
    ExitCode::FAILURE
}

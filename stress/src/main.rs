//! The program: reads the command line, runs, prints, and exits with a code that says what was found.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};
use stress::args::Args;
use stress::config::Config;

fn main() -> ExitCode {
    let config = Config::try_from(Args::parse()).unwrap_or_else(|problem| {
        Args::command()
            .error(ErrorKind::ValueValidation, problem)
            .exit()
    });
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let handler = move || {
        if asked.swap(true, Ordering::Relaxed) {
            // Asked twice: whoever asks does not want to wait for the checks.
            std::process::exit(130);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        eprintln!("stress: Ctrl-C can not be caught: {error}");
        return ExitCode::FAILURE;
    }
    match stress::run(&config, &stop) {
        Ok(finished) => {
            // A reader that has gone away does not change what was found.
            let _ = std::io::stdout().write_all(finished.text.as_bytes());
            ExitCode::from(finished.exit_code())
        }
        Err(error) => {
            eprintln!("stress: {}", stress::in_words(&error));
            ExitCode::FAILURE
        }
    }
}

//! The program `evidence`: verifies, lists and compares evidence files. See [`evidence::cli`].

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = evidence::cli::Arguments::parse();
    let mut out = io::stdout().lock();
    let done = evidence::cli::run(arguments, &mut out, &mut io::stderr().lock());
    match done.and_then(|code| out.flush().map(|()| code)) {
        Ok(code) => ExitCode::from(code),
        // Whoever read our output has enough of it, as `head` does. No word about it, but no success
        // either: not everything was looked at.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::from(evidence::cli::COULD_NOT_READ)
        }
        Err(error) => {
            eprintln!("evidence: the output could not be written: {error}");
            ExitCode::from(evidence::cli::COULD_NOT_READ)
        }
    }
}

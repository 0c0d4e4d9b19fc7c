//! `model-check`: puts a seat store through the mill. All flow is in [`cli`].

mod cli;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let usage = error.use_stderr();
            // A closed pipe is not worth a second message.
            let _ = error.print();
            return if usage {
                cli::Exit::Usage
            } else {
                cli::Exit::Holds
            }
            .into();
        }
    };
    match cli.run() {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("model-check: {failure}");
            failure.exit().into()
        }
    }
}

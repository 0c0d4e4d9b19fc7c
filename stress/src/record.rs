//! Where the history of a client goes: to the check while the run goes on, or to a journal.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process;

use model_check::history::{Client, Journal, Recorder};
use soldonce::{Command, Outcome, PaymentId, Receipt, Seat, SeatId, StoreError};

use crate::RunError;
use crate::clock::RunClock;
use crate::complain;

/// Where the history of a process goes.
#[derive(Clone, Copy)]
pub enum Recording<'run> {
    /// To a recorder, which checks it while it grows.
    Checked(&'run Recorder),
    /// To a folder, a file for each client, so that it outlives this process.
    Journals(&'run Path),
}

/// Where the history of one client goes.
pub enum Record {
    /// To a recorder.
    Checked(Box<Client>),
    /// To a file.
    Journal(Box<Journal<File>>),
}

impl Recording<'_> {
    /// For the client of this number.
    ///
    /// # Errors
    /// [`RunError::History`] when its file can not be made.
    pub fn client(self, number: u32, clock: &RunClock) -> Result<Record, RunError> {
        match self {
            Self::Checked(recorder) => Ok(Record::Checked(Box::new(recorder.client()))),
            Self::Journals(folder) => {
                let path = journal(folder, number);
                let file = File::create(&path).map_err(|error| RunError::History {
                    path,
                    problem: error.to_string(),
                })?;
                let number = u16::try_from(number).expect("at most 10,000 clients");
                let journal = Journal::new(file, number, clock.for_recorder());
                Ok(Record::Journal(Box::new(journal)))
            }
        }
    }
}

impl Recording<'_> {
    /// For a second caller beside a client. A journal is of one caller: there is none.
    pub fn twin(self) -> Option<Record> {
        match self {
            Self::Checked(recorder) => Some(Record::Checked(Box::new(recorder.client()))),
            Self::Journals(_) => None,
        }
    }
}

/// The file of a client.
pub fn journal(folder: &Path, client: u32) -> PathBuf {
    folder.join(format!("client-{client}.jsonl"))
}

impl Record {
    /// Just before a call. Returns the instant.
    pub fn invoke(&mut self, command: &Command) -> u64 {
        match self {
            Self::Checked(client) => client.invoke(command).instant(),
            Self::Journal(journal) => journal
                .invoke(command)
                .unwrap_or_else(|error| give_up(&error)),
        }
    }

    /// Just after a call. Returns the instant.
    pub fn complete(&mut self, answer: &Result<Receipt<Outcome>, StoreError>) -> u64 {
        match self {
            Self::Checked(client) => client.complete(answer),
            Self::Journal(journal) => journal.complete(answer),
        }
    }

    /// Just before a seat is read. Returns the instant.
    pub fn invoke_seat(&mut self, seat: &SeatId) -> u64 {
        match self {
            Self::Checked(client) => client.invoke_seat(seat).instant(),
            Self::Journal(journal) => journal
                .invoke_seat(seat)
                .unwrap_or_else(|error| give_up(&error)),
        }
    }

    /// Just after a seat was read. Returns the instant.
    pub fn complete_seat(&mut self, answer: &Result<Receipt<Option<Seat>>, StoreError>) -> u64 {
        match self {
            Self::Checked(client) => client.complete_seat(answer),
            Self::Journal(journal) => journal.complete_seat(answer),
        }
    }

    /// Hands over what was recorded: before a pause, and at the end.
    pub fn hand_over(&mut self) {
        match self {
            Self::Checked(client) => client.hand_over(),
            Self::Journal(journal) => journal.hand_over().unwrap_or_else(|error| give_up(&error)),
        }
    }

    /// Hands over when it is time; every call does so by itself.
    pub fn keep_up(&mut self) {
        match self {
            Self::Checked(client) => client.keep_up(),
            // Each call is written as it is made.
            Self::Journal(_) => {}
        }
    }

    /// No call will name this payment any more. A journal keeps every payment all the same.
    pub fn close_payment(&mut self, payment: impl FnOnce() -> PaymentId) {
        match self {
            Self::Checked(client) => client.close_payment(&payment()),
            Self::Journal(_) => {}
        }
    }

    /// Whether it is checked while it grows. A journal is checked at the end, and keeps every answer.
    pub const fn is_checked(&self) -> bool {
        matches!(self, Self::Checked(_))
    }
}

/// A call that is not in the history must not be made, and this process can say so to nobody else.
fn give_up<T>(error: &std::io::Error) -> T {
    complain::say(&format!("the history can not be written: {error}"));
    process::exit(1);
}

//! The calls of one client in a file that outlives its process.
//!
//! A process that is killed must leave behind what it called, also the call that was in flight: a change
//! that nobody is known to have asked for looks like a fault of the store. So the first part of a line of
//! the history (the form is described in `HISTORY.md`) is written before the call, and the rest after it,
//! in one write with the beginning of the next line. What was given to the system outlives the process;
//! it is not synced, so it does not outlive the machine. Of a line that has no end, the call is of
//! unknown result; a line whose beginning is torn was never called.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;

use soldonce::{Command, Outcome, Receipt, Seat, SeatId, StoreError};

use super::details::Details;
use super::file::{FileError, Reader, Writer, line_begins, line_ends};
use super::names::Names;
use super::operation::{Answer, Call};
use super::{Header, History, RunClock};

/// Numbers begin anew when so many names were used.
const MANY_NAMES: usize = 1 << 12;
/// No line is longer.
const LONGEST_LINE: u64 = 64 * 1024;
/// How the part of a line begins that is written after the call. No name can contain it: in a name,
/// quotation marks are escaped.
const END: &[u8] = b",\"returned\":";
/// The end of a line whose call was in flight.
const UNKNOWN: &[u8] = b",\"returned\":null,\"answer\":\"unknown\"}\n";

/// Writes the calls of one client as they are made.
#[derive(Debug)]
pub struct Journal<W> {
    output: W,
    client: u16,
    clock: RunClock,
    names: Names,
    text: Vec<u8>,
    in_flight: bool,
}

impl<W: Write> Journal<W> {
    /// For the client of this number. The output should not buffer: each write is what must outlive.
    pub fn new(output: W, client: u16, clock: RunClock) -> Self {
        Self {
            output,
            client,
            clock,
            names: Names::default(),
            text: Vec::new(),
            in_flight: false,
        }
    }

    /// Just before a command is given to the store. Returns the instant after it was written, which is
    /// later than the one in the line.
    ///
    /// # Errors
    /// When it could not be written; then the call must not be made.
    pub fn invoke(&mut self, command: &Command) -> io::Result<u64> {
        self.begin(|names| names.call(command))
    }

    /// Just before a seat is read; else like [`Journal::invoke`].
    ///
    /// # Errors
    /// When it could not be written; then the seat must not be read.
    pub fn invoke_seat(&mut self, seat: &SeatId) -> io::Result<u64> {
        self.begin(|names| Call::ReadSeat(names.seat(seat)))
    }

    fn begin(&mut self, call: impl FnOnce(&mut Names) -> Call) -> io::Result<u64> {
        if self.in_flight {
            self.text.extend_from_slice(UNKNOWN);
        }
        let (seats, owners, payments) = self.names.lens();
        if seats + owners + payments > MANY_NAMES {
            self.names = Names::default();
        }
        let call = call(&mut self.names);
        let invoked = self.clock.instant();
        line_begins(&mut self.text, self.client, invoked, &call, &self.names);
        self.in_flight = true;
        self.hand_over()?;
        Ok(self.clock.instant())
    }

    /// Just after the store answered. Returns the instant. It is written with the next call, or by
    /// [`Journal::hand_over`].
    pub fn complete(&mut self, result: &Result<Receipt<Outcome>, StoreError>) -> u64 {
        let returned = self.clock.instant();
        let answer = self.names.answer(result);
        self.end(returned, &answer)
    }

    /// Just after a seat was read; else like [`Journal::complete`].
    pub fn complete_seat(&mut self, result: &Result<Receipt<Option<Seat>>, StoreError>) -> u64 {
        let returned = self.clock.instant();
        let answer = self.names.answer_to_read(result);
        self.end(returned, &answer)
    }

    fn end(&mut self, returned: u64, answer: &Answer) -> u64 {
        if std::mem::take(&mut self.in_flight) {
            line_ends(&mut self.text, returned, answer, &self.names);
        }
        returned
    }

    /// Writes what was answered. Call it before a long pause, and at the end.
    ///
    /// # Errors
    /// When it could not be written.
    pub fn hand_over(&mut self) -> io::Result<()> {
        if !self.text.is_empty() {
            self.output.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}

/// Reads journals into one history with this header, in the order of the returns. The names of missing
/// seats in the header are those of `names`.
///
/// # Errors
/// [`FileError`], also when a file can not be opened.
pub fn read_journals<'p>(
    header: Header,
    names: Names,
    paths: impl IntoIterator<Item = &'p Path>,
) -> Result<History, FileError> {
    let mut history = History {
        header,
        names,
        ..History::default()
    };
    let mut first_line = Vec::new();
    Writer::new(&mut first_line, &Header::default(), &Names::default())?.finish()?;
    for path in paths {
        let (file, whole, rest) = open(path).map_err(|source| FileError::Io { line: 0, source })?;
        let input = Cursor::new(&first_line)
            .chain(file.take(whole))
            .chain(Cursor::new(&rest));
        let mut reader = Reader::new(BufReader::new(input))?;
        reader.names = std::mem::take(&mut history.names);
        let read = read_calls(&mut reader, &mut history);
        history.names = reader.names;
        read?;
    }
    history.sort();
    Ok(history)
}

fn read_calls(
    reader: &mut Reader<impl io::BufRead>,
    history: &mut History,
) -> Result<(), FileError> {
    while let Some(operation) = reader.next_call(&mut history.details)? {
        history.operations.push(operation);
    }
    Ok(())
}

/// A journal: the file, how many bytes of it are whole lines, and the line after them with an end.
fn open(path: &Path) -> io::Result<(File, u64, Vec<u8>)> {
    let mut file = File::open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    let from = length.saturating_sub(LONGEST_LINE);
    file.seek(SeekFrom::Start(from))?;
    let mut last = Vec::new();
    file.read_to_end(&mut last)?;
    file.rewind()?;
    let whole = last
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    Ok((file, from + whole as u64, mended(&last[whole..])))
}

/// The last line with an end, or nothing when its beginning is not whole.
fn mended(line: &[u8]) -> Vec<u8> {
    // The line may be torn anywhere, also within the field that begins its end.
    let end = line.windows(END.len()).rposition(|window| window == END);
    let torn = (0..END.len())
        .rev()
        .filter(|length| line.ends_with(&END[..*length]));
    let cuts = end
        .into_iter()
        .chain(torn.map(|length| line.len() - length));
    cuts.map(|cut| [&line[..cut], UNKNOWN].concat())
        .find(|mended| is_call(mended))
        .unwrap_or_default()
}

fn is_call(line: &[u8]) -> bool {
    let mut text = Vec::new();
    let header = Writer::new(&mut text, &Header::default(), &Names::default());
    header.and_then(Writer::finish).expect("a vector takes all");
    text.extend_from_slice(line);
    let read = Reader::new(text.as_slice())
        .and_then(|mut reader| reader.next_call(&mut Details::default()));
    matches!(read, Ok(Some(_)))
}

#[cfg(test)]
mod tests {
    use soldonce::{ConfirmOutcome, HoldDuration, HoldOutcome, HoldRequest, OwnerId, SeatId};
    use soldonce::{Timestamp, Version};

    use super::*;
    use crate::history::OPEN;

    fn hold(seat: &str) -> Command {
        Command::Hold(HoldRequest {
            seat: SeatId::new(seat).expect("valid"),
            owner: OwnerId::new("a\",\"returned\":b").expect("valid"),
            ttl: HoldDuration::from_millis(5).expect("valid"),
        })
    }

    fn receipt(outcome: impl Into<Outcome>) -> Receipt<Outcome> {
        Receipt {
            outcome: outcome.into(),
            version: Version::new(1).expect("valid"),
            at: Timestamp::MIN,
        }
    }

    fn held() -> Receipt<Outcome> {
        receipt(HoldOutcome::Held {
            hold_id: Version::new(1).expect("valid").into(),
            expires: Timestamp::MIN,
        })
    }

    fn three_calls() -> Vec<u8> {
        let mut journal = Journal::new(Vec::new(), 7, RunClock::start());
        for seat in ["A", "B"] {
            journal.invoke(&hold(seat)).expect("a vector takes all");
            journal.complete(&Ok(held()));
        }
        journal.invoke(&hold("C")).expect("a vector takes all");
        journal.output
    }

    fn read(text: &[u8]) -> History {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        read_journals(Header::default(), Names::default(), [file.path()]).expect("readable")
    }

    #[test]
    fn the_call_in_flight_is_of_unknown_result() {
        let history = read(&three_calls());
        assert_eq!(history.operations.len(), 3);
        assert!(
            history.operations[..2]
                .iter()
                .all(|call| call.returned() != OPEN)
        );
        assert_eq!(history.operations[2].returned(), OPEN);
        assert_eq!(history.operations[2].when().client, 7);
        assert_eq!(history.names.seats().len(), 3);
    }

    #[test]
    fn wherever_a_journal_is_torn_no_call_that_was_made_is_missing() {
        let text = three_calls();
        for length in 0..text.len() {
            let history = read(&text[..length]);
            let lines = text[..length].split(|byte| *byte == b'\n').count() - 1;
            let calls = history.operations.len();
            let rest = text[..length].rsplit(|byte| *byte == b'\n').next();
            let begun = String::from_utf8_lossy(rest.expect("a part")).contains("\"ttl\":5}}");
            assert_eq!(calls, lines + usize::from(begun), "{length}");
            let open = history
                .operations
                .iter()
                .filter(|call| call.returned() == OPEN);
            assert_eq!(open.count(), calls - lines, "{length}");
        }
    }

    #[test]
    fn a_confirmed_payment_is_read_as_it_was_written() {
        let mut journal = Journal::new(Vec::new(), 0, RunClock::start());
        let claim = soldonce::Claim {
            seat: SeatId::new("A").expect("valid"),
            owner: OwnerId::new("a").expect("valid"),
            hold_id: Version::new(1).expect("valid").into(),
        };
        let payment = soldonce::PaymentId::new("p").expect("valid");
        let command = Command::ConfirmPayment { payment, claim };
        journal.invoke(&command).expect("a vector takes all");
        journal.complete(&Ok(receipt(ConfirmOutcome::Sold)));
        journal.hand_over().expect("a vector takes all");
        let history = read(&journal.output);
        assert_eq!(
            history.names.command(&history.operations[0].call()),
            Some(command)
        );
    }
}

//! Histories on disk: JSON Lines, a header and then one call a line, read and written as a stream.
//!
//! The form is described in `HISTORY.md`, and as a JSON schema in `schema/history.schema.json`, which is
//! made from the types in `lines`.

mod from_line;
pub(crate) mod lines;
mod to_line;

use std::io::{self, BufRead, Read as _, Write};

use super::details::Details;
use super::names::Names;
use super::operation::{Answer, Call, Operation};
use super::{Header, History};
use lines::{CallLine, HeaderLine};

/// The version of the form that is read and written.
const FORM: u32 = 1;

/// No line of a history is longer than this.
const LONGEST_LINE: u64 = 64 * 1024;

/// Why a file is not a history. The message names the line.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A line is not what it should be.
    #[error("line {line}: {problem}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The file could not be read or written.
    #[error("line {line}: {source}")]
    Io {
        /// The number of the line that was read or written, from 1.
        line: u64,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Reads a whole history into memory, and puts its calls in the order of their returns.
///
/// # Errors
/// [`FileError`] names the first line that is wrong.
pub fn read(input: impl BufRead) -> Result<History, FileError> {
    let mut reader = Reader::new(input)?;
    let mut history = History {
        header: reader.header.clone(),
        ..History::default()
    };
    while let Some(operation) = reader.next_call(&mut history.details)? {
        history.operations.push(operation);
    }
    history.names = reader.names;
    history.sort();
    Ok(history)
}

/// Writes a whole history.
///
/// # Errors
/// [`FileError::Io`] when the system says so.
pub fn write(history: &History, output: impl Write) -> Result<(), FileError> {
    let mut writer = Writer::new(output, &history.header, &history.names)?;
    for operation in &history.operations {
        writer.call(operation, &history.names, &history.details)?;
    }
    writer.finish()
}

/// Reads a history line by line.
pub struct Reader<R> {
    input: R,
    line: u64,
    text: String,
    /// The header.
    pub header: Header,
    /// The names so far.
    pub names: Names,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`FileError`] when the first line is no header of a form that is known.
    pub fn new(input: R) -> Result<Self, FileError> {
        let mut reader = Self {
            input,
            line: 0,
            text: String::new(),
            header: Header::default(),
            names: Names::default(),
        };
        if !reader.next_line()? {
            return Err(reader.wrong_line(1, "the file is empty; the first line is a header"));
        }
        let header: HeaderLine<'_> = serde_json::from_str(&reader.text)
            .map_err(|error| wrong(1, format!("this is no header: {error}")))?;
        if header.soldonce_history != FORM {
            return Err(wrong(
                1,
                format!(
                    "the file has form {}; this program reads form {FORM}",
                    header.soldonce_history
                ),
            ));
        }
        reader.header =
            from_line::header(&header, &mut reader.names).map_err(|problem| wrong(1, problem))?;
        Ok(reader)
    }

    /// The next call; nothing at the end.
    ///
    /// # Errors
    /// [`FileError`] names the line.
    pub fn next_call(&mut self, details: &mut Details) -> Result<Option<Operation>, FileError> {
        if !self.next_line()? {
            return Ok(None);
        }
        let line: CallLine<'_> = serde_json::from_str(&self.text)
            .map_err(|error| wrong(self.line, format!("this is no call: {error}")))?;
        from_line::call(&line, &mut self.names, details)
            .map(Some)
            .map_err(|problem| wrong(self.line, problem))
    }

    fn next_line(&mut self) -> Result<bool, FileError> {
        self.line += 1;
        self.text.clear();
        let read = self
            .input
            .by_ref()
            .take(LONGEST_LINE + 1)
            .read_line(&mut self.text)
            .map_err(|source| FileError::Io {
                line: self.line,
                source,
            })?;
        if read as u64 > LONGEST_LINE {
            return Err(self.wrong_line(
                self.line,
                &format!("it is longer than {LONGEST_LINE} bytes"),
            ));
        }
        if read > 0 && self.text.trim().is_empty() {
            return Err(self.wrong_line(self.line, "it is empty"));
        }
        Ok(read > 0)
    }

    #[expect(clippy::unused_self, reason = "reads as a method where it is used")]
    fn wrong_line(&self, line: u64, problem: &str) -> FileError {
        wrong(line, problem.to_owned())
    }
}

fn wrong(line: u64, problem: String) -> FileError {
    FileError::Line { line, problem }
}

/// Writes a history line by line.
pub struct Writer<W: Write> {
    output: io::BufWriter<W>,
    line: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// [`FileError::Io`] when the system says so.
    pub fn new(output: W, header: &Header, names: &Names) -> Result<Self, FileError> {
        let mut writer = Self {
            output: io::BufWriter::new(output),
            line: 0,
        };
        writer.line(&to_line::header(header, names))?;
        Ok(writer)
    }

    /// Writes one call.
    ///
    /// # Errors
    /// [`FileError::Io`] when the system says so.
    pub fn call(
        &mut self,
        operation: &Operation,
        names: &Names,
        details: &Details,
    ) -> Result<(), FileError> {
        self.line(&to_line::call(operation, names, details))
    }

    fn line(&mut self, line: &impl serde::Serialize) -> Result<(), FileError> {
        self.line += 1;
        let number = self.line;
        serde_json::to_writer(&mut self.output, line)
            .map_err(io::Error::from)
            .and_then(|()| self.output.write_all(b"\n"))
            .map_err(|source| FileError::Io {
                line: number,
                source,
            })
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// [`FileError::Io`] when the system says so.
    pub fn finish(mut self) -> Result<(), FileError> {
        self.output.flush().map_err(|source| FileError::Io {
            line: self.line,
            source,
        })
    }
}

/// The first part of a line, which is written before the call.
pub(super) fn line_begins(
    output: &mut Vec<u8>,
    client: u16,
    invoked: u64,
    call: &Call,
    names: &Names,
) {
    let begun = to_line::begun(client, invoked, call, names);
    serde_json::to_writer(&mut *output, &begun).expect("a call is JSON");
    output.pop(); // the brace that would close it
}

/// The other part of a line, which is written after the call.
pub(super) fn line_ends(output: &mut Vec<u8>, returned: u64, answer: &Answer, names: &Names) {
    output.push(b',');
    let at = output.len();
    let ended = to_line::ended(returned, answer, names);
    serde_json::to_writer(&mut *output, &ended).expect("an answer is JSON");
    output.remove(at); // the brace that would open it
    output.push(b'\n');
}

/// The JSON schema of one line of a history file, as text.
///
/// # Panics
/// Never: a schema can be written as JSON.
pub fn schema() -> String {
    let schema = schemars::schema_for!(lines::Line<'static>);
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;

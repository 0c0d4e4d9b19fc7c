//! What was decided about the payments of a run, one line each, in a file that has no name.
//!
//! A check that runs for long can not remember every payment. What it forgets it writes down, so that
//! in the end each decision can still be compared with what is stored.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::sync::Arc;

use soldonce::{
    Claim, Decision, HoldId, OwnerId, PaymentId, PaymentRecord, RefundReason, SeatId, Timestamp,
    Version,
};

use super::names::Names;
use super::operation::RecordNo;

/// Stands for a sale where otherwise the number of a reason to refund stands.
const SOLD: usize = RefundReason::ALL.len();

/// What was decided about each payment of a run, as the answers said..
#[derive(Debug, Clone, Default)]
pub struct Decided {
    file: Option<Arc<File>>,
    payments: u64,
}

impl Decided {
    /// About how many payments.
    pub const fn payments(&self) -> u64 {
        self.payments
    }

    /// What was decided about each, in no order. One reader at a time.
    ///
    /// # Errors
    /// When the file can not be read, or holds something else.
    pub fn records(&self) -> io::Result<impl Iterator<Item = io::Result<PaymentRecord>>> {
        let lines = match self.file.as_deref() {
            None => None,
            Some(mut file) => {
                file.seek(SeekFrom::Start(0))?;
                Some(BufReader::new(file).lines())
            }
        };
        let record = |line: io::Result<String>| of_line(&line?).ok_or_else(nonsense);
        Ok(lines.into_iter().flatten().map(record))
    }
}

fn nonsense() -> io::Error {
    let what = "a line is not what was decided about a payment";
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Where decisions go. The file is made when the first one comes.
#[derive(Debug, Default)]
pub(super) struct Sink {
    file: Option<BufWriter<File>>,
    payments: u64,
    failed: Option<io::Error>,
}

impl Sink {
    /// Writes one decision. After an error nothing more is written; [`Sink::end`] tells.
    pub(super) fn write(&mut self, record: &RecordNo, names: &Names) {
        if self.failed.is_some() {
            return;
        }
        match self.try_write(record, names) {
            Ok(()) => self.payments += 1,
            Err(error) => self.failed = Some(error),
        }
    }

    fn try_write(&mut self, record: &RecordNo, names: &Names) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(BufWriter::new(tempfile::tempfile()?)),
        };
        // Ids have no control characters, so a tab ends each.
        writeln!(
            file,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}",
            names.payment_id(record.payment),
            names.seat_id(record.claim.seat),
            names.owner_id(record.claim.owner),
            record.claim.hold_id.get(),
            match record.decision {
                Decision::Sold => SOLD,
                Decision::RefundRequired(reason) => reason as usize,
            },
            record.version.get(),
            record.decided_at.as_unix_millis(),
        )
    }

    /// All that was written, to be read.
    ///
    /// # Errors
    /// The first error of writing.
    pub(super) fn end(self) -> io::Result<Decided> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let file = self
            .file
            .map(|file| file.into_inner().map_err(io::IntoInnerError::into_error))
            .transpose()?;
        Ok(Decided {
            file: file.map(Arc::new),
            payments: self.payments,
        })
    }

    /// One that writes to this file.
    #[cfg(test)]
    pub(super) fn to(file: File) -> Self {
        Self {
            file: Some(BufWriter::new(file)),
            ..Self::default()
        }
    }
}

fn of_line(line: &str) -> Option<PaymentRecord> {
    let mut parts = line.split('\t');
    let mut next = || parts.next();
    let record = PaymentRecord {
        payment: PaymentId::new(next()?).ok()?,
        claim: Claim {
            seat: SeatId::new(next()?).ok()?,
            owner: OwnerId::new(next()?).ok()?,
            hold_id: HoldId::new(next()?.parse().ok()?).ok()?,
        },
        decision: match next()?.parse().ok()? {
            SOLD => Decision::Sold,
            reason => Decision::RefundRequired(*RefundReason::ALL.get(reason)?),
        },
        version: Version::new(next()?.parse().ok()?).ok()?,
        decided_at: Timestamp::from_unix_millis(next()?.parse().ok()?).ok()?,
    };
    parts.next().is_none().then_some(record)
}

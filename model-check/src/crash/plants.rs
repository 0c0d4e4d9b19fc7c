//! Faults that these checks must catch: stores, settings and disks that differ from the real ones by
//! one realistic thing.

use std::path::Path;

use soldonce::{
    Claim, ConfirmOutcome, HoldOutcome, HoldRequest, PaymentId, PaymentRecord, Receipt,
    RefundCursor, RefundsDue, ReleaseOutcome, Seat, SeatId, SeatStore, SeatsAdded, StoreError,
    invariant::Snapshot,
};

use super::by_hand::{ByHand, Habit};
use super::examine::{open_real, options};
use super::workload::{Open, Setup, UnderTest};

/// The disk that a workload runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Disk {
    /// One that keeps its word.
    #[default]
    Honest,
    /// One whose syncs say that they are done, and do nothing.
    SyncsLie,
    /// One that loses the write-ahead log when the power fails, or a backup that left it out.
    LogIsLost,
}

/// Which of the runs must catch a plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaughtBy {
    /// The power loss.
    Power,
    /// The failing operations.
    Faults,
}

/// A store on a disk, to be put through a run.
pub struct Subject {
    /// A short name; `real` is the real store.
    pub id: &'static str,
    /// What is wrong with it.
    pub fault: &'static str,
    /// Where this was seen, or what stands for it.
    pub class: &'static str,
    /// Opens the store.
    pub open: Box<Open>,
    /// What it runs on.
    pub disk: Disk,
    /// Which run must catch it; `None`: nothing is wrong.
    pub caught_by: Option<CaughtBy>,
}

/// The real store, in its default settings, on an honest disk.
pub fn real() -> Subject {
    Subject {
        id: "real",
        fault: "none",
        class: "",
        open: Box::new(open_real),
        disk: Disk::Honest,
        caught_by: None,
    }
}

/// All plants.
pub fn all() -> Vec<Subject> {
    let plant = |id, fault, class, open, disk, caught_by| Subject {
        id,
        fault,
        class,
        open,
        disk,
        caught_by: Some(caught_by),
    };
    let (power, faults) = (CaughtBy::Power, CaughtBy::Faults);
    let honest = Disk::Honest;
    vec![
        plant(
            "P01-off",
            "synchronous=OFF",
            "P01",
            settings(&[("synchronous", "0")]),
            honest,
            power,
        ),
        plant(
            "P01-normal",
            "synchronous=NORMAL in WAL mode",
            "P01",
            settings(&[("synchronous", "1")]),
            honest,
            power,
        ),
        plant(
            "P01-journal",
            "synchronous=FULL with a rollback journal",
            "P01",
            settings(&[("journal_mode", "delete")]),
            honest,
            power,
        ),
        plant(
            "M49",
            "acknowledged before the commit",
            "M49",
            by_hand(Habit::AnswersFirst),
            honest,
            power,
        ),
        plant(
            "M22",
            "the seat is committed first, the payment in a second transaction",
            "M22",
            by_hand(Habit::SeatFirst),
            honest,
            power,
        ),
        plant(
            "M23",
            "the payment is committed first, the seat in a second transaction",
            "M23",
            by_hand(Habit::PaymentFirst),
            honest,
            power,
        ),
        plant(
            "P02",
            "a connection goes back to the pool with its transaction open",
            "P02",
            by_hand(Habit::LeavesOpen),
            honest,
            power,
        ),
        plant(
            "LOST-WAL",
            "the write-ahead log is lost",
            "a backup without its log",
            Box::new(open_real),
            Disk::LogIsLost,
            power,
        ),
        plant(
            "LYING-SYNC",
            "a sync says that it is done, and is not",
            "a disk with a volatile cache",
            Box::new(open_real),
            Disk::SyncsLie,
            power,
        ),
        plant(
            "P03",
            "UPDATE ... RETURNING read with one step in autocommit",
            "P03",
            by_hand(Habit::OneStep),
            honest,
            faults,
        ),
        plant(
            "M37",
            "an unknown commit is answered as a failure",
            "M37",
            Box::new(open_unknown_is_failure),
            honest,
            faults,
        ),
    ]
}

/// The real store or the plant of this name.
pub fn find(id: &str) -> Option<Subject> {
    std::iter::once(real())
        .chain(all())
        .find(|subject| subject.id == id)
}

fn settings(changed: &'static [(&'static str, &'static str)]) -> Box<Open> {
    Box::new(move |path, setup| {
        let mut options = options(setup);
        for (pragma, reads_as) in changed {
            options = options.setting(pragma, reads_as);
        }
        Ok(Box::new(options.open(path)?))
    })
}

fn by_hand(habit: Habit) -> Box<Open> {
    Box::new(move |path, setup| Ok(Box::new(ByHand::open(path, setup, habit)?)))
}

fn open_unknown_is_failure(path: &Path, setup: &Setup) -> Result<Box<dyn UnderTest>, StoreError> {
    Ok(Box::new(UnknownIsFailure(open_real(path, setup)?)))
}

/// The real store, but for one thing: "perhaps" is told as "no".
struct UnknownIsFailure(Box<dyn UnderTest>);

fn as_failure(error: StoreError) -> StoreError {
    match error {
        StoreError::Unknown(source) => StoreError::Database {
            doing: "committing",
            source,
        },
        other => other,
    }
}

impl UnderTest for UnknownIsFailure {
    fn in_line(&self) -> Option<usize> {
        self.0.in_line()
    }
}

impl SeatStore for UnknownIsFailure {
    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        self.0.hold(request).map_err(as_failure)
    }

    fn release(&self, claim: &Claim) -> Result<Receipt<ReleaseOutcome>, StoreError> {
        self.0.release(claim).map_err(as_failure)
    }

    fn confirm_payment(
        &self,
        payment: &PaymentId,
        claim: &Claim,
    ) -> Result<Receipt<ConfirmOutcome>, StoreError> {
        self.0.confirm_payment(payment, claim).map_err(as_failure)
    }

    fn seat(&self, seat: &SeatId) -> Result<Receipt<Option<Seat>>, StoreError> {
        self.0.seat(seat)
    }

    fn payment(&self, payment: &PaymentId) -> Result<Receipt<Option<PaymentRecord>>, StoreError> {
        self.0.payment(payment)
    }

    fn refunds_due(&self, after: RefundCursor, limit: u32) -> Result<RefundsDue, StoreError> {
        self.0.refunds_due(after, limit)
    }

    fn add_seats(&self, seats: &[SeatId]) -> Result<SeatsAdded, StoreError> {
        self.0.add_seats(seats).map_err(as_failure)
    }

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.0.snapshot()
    }
}

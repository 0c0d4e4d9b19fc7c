//! A store and the reference side by side: each call goes to both, and all that shows is compared.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use soldonce::invariant::{Acknowledged, Snapshot, audit, audit_acknowledged, audit_change};
use soldonce::{
    Command, ConfirmOutcome, Decision, ManualClock, Outcome, PaymentId, PaymentRecord, Receipt,
    RefundCursor, SeatId, SeatStore, StoreError, Timestamp,
};

use super::words::{InWords, RecordInWords, SeatInWords, answer_in_words, read_in_words};
use super::{Call, Check, Fault, Via};
use crate::fault::Saboteur;
use crate::reference::{Decided, Rejected, Row, State, decide};
use crate::store_choice::{Subject, World};

/// Why a walk ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// Store and reference differ.
    Differs { check: Check, what: String },
    /// Something outside the store failed.
    CouldNotRun(String),
}

pub(super) fn differs<T>(check: Check, what: String) -> Result<T, Stop> {
    Err(Stop::Differs { check, what })
}

/// The store under check on one file, opened once or twice, and what it should be like.
pub(super) struct Pair<'a> {
    subject: &'a dyn Subject,
    path: PathBuf,
    clock: Arc<ManualClock>,
    world: World,
    first: Option<Box<dyn SeatStore>>,
    second: Option<Box<dyn SeatStore>>,
    saboteur: Option<Saboteur>,
    state: State,
    /// In the order in which they were decided.
    payments: Vec<PaymentId>,
    told: Vec<Acknowledged>,
    earlier: Snapshot,
    last: Option<Result<Receipt<Outcome>, StoreError>>,
}

impl<'a> Pair<'a> {
    pub(super) fn open(subject: &'a dyn Subject, path: PathBuf) -> Result<Self, Stop> {
        let clock = Arc::new(ManualClock::at(Timestamp::MIN));
        let world = World::new(Arc::clone(&clock));
        let mut pair = Self {
            subject,
            path,
            clock,
            world,
            first: None,
            second: None,
            saboteur: None,
            state: State::default(),
            payments: Vec::new(),
            told: Vec::new(),
            earlier: Snapshot::default(),
            last: None,
        };
        pair.first = Some(pair.open_store()?);
        Ok(pair)
    }

    fn open_store(&self) -> Result<Box<dyn SeatStore>, Stop> {
        const TRIES: usize = 200;
        // A pool that could not be filled within the short busy timeout says so: the machine is slow.
        for _ in 1..TRIES {
            match self.subject.open(&self.path, &self.world) {
                Err(StoreError::Busy { .. } | StoreError::Database { .. }) => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                other => return other.map_err(|error| could_not("open the store", &error)),
            }
        }
        self.subject
            .open(&self.path, &self.world)
            .map_err(|error| could_not("open the store", &error))
    }

    /// Closes everything, and opens it again.
    pub(super) fn reopen(&mut self) -> Result<(), Stop> {
        self.first = None;
        self.second = None;
        self.first = Some(self.open_store()?);
        Ok(())
    }

    fn store(&mut self, via: Via) -> Result<&dyn SeatStore, Stop> {
        if via == Via::Second && self.second.is_none() {
            self.second = Some(self.open_store()?);
        }
        let store = match via {
            Via::First => &self.first,
            Via::Second => &self.second,
        };
        Ok(store.as_deref().expect("open between reopenings"))
    }

    /// Adds seats through the first store.
    pub(super) fn add(&mut self, at: Timestamp, seats: &[SeatId]) -> Result<(), Stop> {
        self.clock.set(at);
        let mut new = 0;
        for seat in seats {
            new += u64::from(self.state.add(seat, at));
        }
        let store = self.store(Via::First)?;
        match patiently(|| store.add_seats(seats)) {
            Ok(added) if added.added == new && added.already_there == seats.len() as u64 - new => {
                Ok(())
            }
            other => differs(
                Check::Answer,
                format!(
                    "{new} of {} seats are new; the store said {other:?}",
                    seats.len()
                ),
            ),
        }
    }

    /// Gives a command to the store alone.
    pub(super) fn drive(&mut self, call: &Call) -> Result<(), Stop> {
        self.clock.set(call.at);
        let _ = give(self.store(call.via)?, &call.command, call.at);
        Ok(())
    }

    /// Gives a command to both, and compares the answers. The row of the table is that of a command
    /// which took effect and was answered.
    pub(super) fn call(&mut self, call: &Call) -> Result<Option<Row>, Stop> {
        self.clock.set(call.at);
        let expected = decide(self.state.view(&call.command), &call.command, call.at);
        let changes = expected
            .as_ref()
            .is_ok_and(|decided| decided.seat.is_some() || decided.record.is_some());
        let got = if call.fault == Fault::None || !self.subject.is_sqlite() {
            let store = self.store(call.via)?;
            patiently(|| give(store, &call.command, call.at))
        } else {
            self.call_under_fault(call)?
        };
        let got = self.last.insert(got);
        let told = match (call.fault, &*got) {
            (Fault::Locked, Err(StoreError::Busy { .. })) => return Ok(None),
            (Fault::CommitFails, Err(_)) if changes => return Ok(None),
            (Fault::AnswerLost, Err(StoreError::Unknown(_))) => false,
            (Fault::Locked | Fault::CommitFails, Ok(answer)) if changes => {
                let what = format!(
                    "nothing can have been committed, but the store answered {}",
                    answer.outcome
                );
                return differs(Check::Fault, what);
            }
            _ => {
                compare_answers(&expected, got)?;
                true
            }
        };
        Ok(self.took_effect(&call.command, expected.ok(), told))
    }

    /// What the store answered last, as text.
    pub(super) fn last_answer(&self) -> String {
        match &self.last {
            Some(Ok(receipt)) => receipt.outcome.to_string(),
            Some(Err(StoreError::Busy { .. })) => "error: busy".to_owned(),
            Some(Err(StoreError::Unknown(_))) => "error: unknown".to_owned(),
            Some(Err(error)) => format!("error: {error}"),
            None => "no answer".to_owned(),
        }
    }

    fn call_under_fault(
        &mut self,
        call: &Call,
    ) -> Result<Result<Receipt<Outcome>, StoreError>, Stop> {
        if self.saboteur.is_none() {
            let saboteur = Saboteur::new(&self.path).map_err(|e| could_not("plant a fault", &e))?;
            self.saboteur = Some(saboteur);
        }
        self.store(call.via)?;
        let saboteur = self.saboteur.as_ref().expect("opened above");
        let planted = match call.fault {
            Fault::None => Ok(()),
            Fault::Locked => saboteur.lock(),
            Fault::CommitFails => saboteur.fail_commits(),
            Fault::AnswerLost => {
                self.world.lose_answers.set(true);
                Ok(())
            }
        };
        if let Err(error) = planted {
            return differs(
                Check::Fault,
                format!("between two calls the write lock is not free: {error}"),
            );
        }
        let store = match call.via {
            Via::First => &self.first,
            Via::Second => &self.second,
        };
        let got = give(
            store.as_deref().expect("opened above"),
            &call.command,
            call.at,
        );
        self.world.lose_answers.set(false);
        let mended = match call.fault {
            Fault::None | Fault::AnswerLost => Ok(()),
            Fault::Locked => saboteur.unlock(),
            Fault::CommitFails => saboteur.mend_commits(),
        };
        match mended {
            Ok(()) => Ok(got),
            Err(error) => differs(
                Check::Fault,
                format!("the failed call left the write lock taken: {error}"),
            ),
        }
    }

    /// Keeps what the reference decided.
    fn took_effect(
        &mut self,
        command: &Command,
        decided: Option<Decided>,
        told: bool,
    ) -> Option<Row> {
        let decided = decided?;
        if let Some(record) = &decided.record {
            self.payments.push(record.payment.clone());
        }
        if let (true, Command::ConfirmPayment { payment, claim }, Outcome::Confirm(outcome)) =
            (told, command, &decided.receipt.outcome)
            && let Some(decision) = decision_told(outcome)
        {
            self.told.push(Acknowledged {
                payment: payment.clone(),
                claim: claim.clone(),
                decision,
            });
        }
        if let Some(seat) = decided.seat {
            self.state.seats.insert(seat.id.clone(), seat);
        }
        if let Some(record) = decided.record {
            self.state.payments.insert(record.payment.clone(), record);
        }
        Some(decided.row)
    }

    /// Compares what can be read about the seat and the payment of a command, through each store that is
    /// open: the other one must not remember what was there before.
    pub(super) fn compare_touched(&self, call: &Call) -> Result<(), Stop> {
        for store in self.first.iter().chain(&self.second) {
            let seat = call.command.seat();
            compare_reads(
                &format!("seat {seat}"),
                &self.state.seat(seat, call.at),
                &patiently(|| store.seat(seat)),
            )?;
            if let Command::ConfirmPayment { payment, .. } = &call.command {
                compare_reads(
                    &format!("payment {payment}"),
                    &self.state.payment(payment, call.at),
                    &patiently(|| store.payment(payment)),
                )?;
            }
        }
        Ok(())
    }

    /// Audits everything that is stored, read through the other store where there is one: alone, with
    /// what callers were told, and with how it was the last time. Then compares it with what is right.
    pub(super) fn compare_everything(&mut self, called: Via) -> Result<(), Stop> {
        let store = match called {
            Via::First => self.second.as_deref().or(self.first.as_deref()),
            Via::Second => self.first.as_deref(),
        };
        let store = store.expect("open between reopenings");
        let mut got = patiently(|| store.snapshot()).or_else(|error| unreadable(&error))?;
        let refunds = patiently(|| store.refunds_due(RefundCursor::START, 10_000));
        let refunds = refunds.or_else(|error| unreadable(&error))?.refunds;
        got.seats.sort_by(|a, b| a.id.cmp(&b.id));

        let violation = audit(&got)
            .into_iter()
            .chain(audit_acknowledged(&got, &self.told))
            .chain(audit_change(&self.earlier, &got))
            .next();
        if let Some(violation) = violation {
            return differs(Check::Audit, violation.to_string());
        }
        let expected = Snapshot {
            seats: self.state.seats.values().cloned().collect(),
            payments: self.records().cloned().collect(),
        };
        if got != expected {
            return differs(Check::State, first_difference(&expected, &got));
        }
        if !self.due().eq(&refunds) {
            let listed = refunds.len();
            let what = format!(
                "{} refunds are due; {listed} are listed, or not as they were decided",
                self.due().count()
            );
            return differs(Check::State, what);
        }
        self.earlier = got;
        Ok(())
    }

    fn records(&self) -> impl Iterator<Item = &PaymentRecord> {
        self.payments
            .iter()
            .map(|payment| &self.state.payments[payment])
    }

    fn due(&self) -> impl Iterator<Item = &PaymentRecord> {
        self.records()
            .filter(|record| record.decision != Decision::Sold)
    }

    /// What closes every walk: everything once more, and the refunds page by page.
    pub(super) fn close(&mut self) -> Result<(), Stop> {
        self.compare_everything(Via::First)?;
        let store = self.store(Via::First)?;
        let mut paged = Vec::new();
        let mut after = RefundCursor::START;
        loop {
            match patiently(|| store.refunds_due(after, 2)) {
                Ok(page) if page.refunds.is_empty() => break,
                Ok(page) => {
                    if page.next <= after || page.refunds.len() > 2 {
                        return differs(Check::State, "a page of refunds leads nowhere".to_owned());
                    }
                    after = page.next;
                    paged.extend(page.refunds);
                }
                Err(error) => return differs(Check::State, error.to_string()),
            }
        }
        if !self.due().eq(&paged) {
            return differs(
                Check::State,
                "refunds page by page are not the refunds at once".to_owned(),
            );
        }
        Ok(())
    }
}

fn unreadable<T>(error: &StoreError) -> Result<T, Stop> {
    differs(
        Check::State,
        format!("everything should be readable, but: {error}"),
    )
}

/// Gives a command by the method of its own at an even time, as a value at an odd one: a store may
/// do the two in different ways.
fn give(
    store: &dyn SeatStore,
    command: &Command,
    at: Timestamp,
) -> Result<Receipt<Outcome>, StoreError> {
    if at.as_unix_millis() % 2 == 1 {
        return store.execute(command);
    }
    match command {
        Command::Hold(request) => store
            .hold(request)
            .map(|receipt| receipt.map(Outcome::Hold)),
        Command::Release(claim) => store
            .release(claim)
            .map(|receipt| receipt.map(Outcome::Release)),
        Command::ConfirmPayment { payment, claim } => store
            .confirm_payment(payment, claim)
            .map(|receipt| receipt.map(Outcome::Confirm)),
    }
}

/// What an answer about a payment commits the store to.
fn decision_told(outcome: &ConfirmOutcome) -> Option<Decision> {
    match outcome {
        ConfirmOutcome::Sold | ConfirmOutcome::Duplicate { .. } => Some(Decision::Sold),
        ConfirmOutcome::RefundRequired { reason, .. } => Some(Decision::RefundRequired(*reason)),
        ConfirmOutcome::Conflict { .. } => None,
    }
}

/// Repeats a call that certainly was not applied, as a caller does.
fn patiently<T>(mut call: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    const TRIES: usize = 100;
    for _ in 1..TRIES {
        match call() {
            Err(StoreError::Busy { .. }) => std::thread::sleep(Duration::from_millis(2)),
            other => return other,
        }
    }
    call()
}

fn compare_answers(
    expected: &Result<Decided, Rejected>,
    got: &Result<Receipt<Outcome>, StoreError>,
) -> Result<(), Stop> {
    match (expected, got) {
        (Ok(decided), Ok(receipt)) if *receipt == decided.receipt => Ok(()),
        (Err(Rejected::UnknownSeat), Err(StoreError::UnknownSeat(_)))
        | (Err(Rejected::EndsTooLate), Err(StoreError::Invalid(_))) => Ok(()),
        (Ok(decided), Ok(receipt)) if receipt.outcome == decided.receipt.outcome => differs(
            Check::Receipt,
            format!(
                "{}: right is {} at {}, the store says {} at {}",
                receipt.outcome,
                decided.receipt.version,
                decided.receipt.at,
                receipt.version,
                receipt.at
            ),
        ),
        (_, Err(error @ StoreError::Corrupt { .. })) => differs(
            Check::Schema,
            format!("right is {}, the schema refused: {error}", show(expected)),
        ),
        (_, Ok(receipt)) => {
            let (right, said) = (show(expected), receipt.outcome.to_string());
            let what = if right == said {
                format!("right is {expected:?}, the store says {receipt:?}")
            } else {
                format!("right is {right}, the store says {said}")
            };
            differs(Check::Answer, what)
        }
        (_, Err(error)) => differs(
            Check::Answer,
            format!("right is {}, the store says: {error}", show(expected)),
        ),
    }
}

fn show(expected: &Result<Decided, Rejected>) -> String {
    match expected {
        Ok(decided) => decided.receipt.outcome.to_string(),
        Err(rejected) => format!("the error {rejected}"),
    }
}

fn compare_reads<T: PartialEq + InWords>(
    what: &str,
    expected: &Receipt<T>,
    got: &Result<Receipt<T>, StoreError>,
) -> Result<(), Stop> {
    match got {
        Ok(receipt) if receipt == expected => Ok(()),
        _ => differs(
            Check::State,
            format!(
                "{what} should read {}; it reads {}",
                read_in_words(expected),
                answer_in_words(got)
            ),
        ),
    }
}

fn first_difference(expected: &Snapshot, got: &Snapshot) -> String {
    for (right, stored) in expected.seats.iter().zip(&got.seats) {
        if right.id != stored.id {
            return format!("seat {} should be stored, {} is", right.id, stored.id);
        }
        if right != stored {
            return format!(
                "seat {} should be {}; stored is {}",
                right.id,
                SeatInWords(right),
                SeatInWords(stored)
            );
        }
    }
    for (right, stored) in expected.payments.iter().zip(&got.payments) {
        if right.payment != stored.payment {
            return format!(
                "payment {} should be stored, {} is",
                right.payment, stored.payment
            );
        }
        if right != stored {
            return format!(
                "payment {} should be {}; stored is {}",
                right.payment,
                RecordInWords(right),
                RecordInWords(stored)
            );
        }
    }
    format!(
        "{} seats and {} payments should be stored, {} and {} are",
        expected.seats.len(),
        expected.payments.len(),
        got.seats.len(),
        got.payments.len()
    )
}

fn could_not(what: &str, error: &dyn std::error::Error) -> Stop {
    let mut text = format!("could not {what}: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    Stop::CouldNotRun(text)
}

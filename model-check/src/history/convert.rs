//! From the store's types to numbers and back, and from one numbering to another.

use soldonce::{
    Claim, Command, ConfirmOutcome, HoldOutcome, HoldRefusal, HoldRequest, Outcome, PaymentRecord,
    Receipt, ReleaseOutcome, Seat, SeatState, StoreError,
};

use super::names::{Names, OwnerNo, PaymentNo, SeatNo};
use super::operation::{Answer, Call, ClaimNo, RecordNo, SeatRow, StateNo, Told};

impl Names {
    /// A command in numbers; new ones where a name is new.
    pub fn call(&mut self, command: &Command) -> Call {
        match command {
            Command::Hold(request) => Call::Hold {
                seat: self.seat(&request.seat),
                owner: self.owner(&request.owner),
                ttl: request.ttl,
            },
            Command::Release(claim) => Call::Release(self.claim(claim)),
            Command::ConfirmPayment { payment, claim } => Call::Confirm {
                payment: self.payment(payment),
                claim: self.claim(claim),
            },
        }
    }

    /// A call with its names; nothing for a read.
    pub fn command(&self, call: &Call) -> Option<Command> {
        Some(match call {
            Call::Hold { seat, owner, ttl } => Command::Hold(HoldRequest {
                seat: self.seat_id(*seat).clone(),
                owner: self.owner_id(*owner).clone(),
                ttl: *ttl,
            }),
            Call::Release(claim) => Command::Release(self.claim_of(claim)),
            Call::Confirm { payment, claim } => Command::ConfirmPayment {
                payment: self.payment_id(*payment).clone(),
                claim: self.claim_of(claim),
            },
            Call::ReadSeat(_) | Call::ReadPayment(_) => return None,
        })
    }

    fn claim(&mut self, claim: &Claim) -> ClaimNo {
        ClaimNo {
            seat: self.seat(&claim.seat),
            owner: self.owner(&claim.owner),
            hold_id: claim.hold_id,
        }
    }

    /// A claim with its names.
    pub fn claim_of(&self, claim: &ClaimNo) -> Claim {
        Claim {
            seat: self.seat_id(claim.seat).clone(),
            owner: self.owner_id(claim.owner).clone(),
            hold_id: claim.hold_id,
        }
    }

    /// What a command was answered, in numbers.
    pub(super) fn answer(&mut self, result: &Result<Receipt<Outcome>, StoreError>) -> Answer {
        match result {
            Ok(receipt) => self.told(&receipt.outcome).receipt(receipt),
            Err(error) => Answer::of_error(error),
        }
    }

    /// What the read of a seat was answered, in numbers. One that failed says nothing.
    pub(super) fn answer_to_read(
        &mut self,
        result: &Result<Receipt<Option<Seat>>, StoreError>,
    ) -> Answer {
        match result {
            Ok(receipt) => self.told_seat(receipt.outcome.as_ref()).receipt(receipt),
            Err(_) => Answer::NotApplied,
        }
    }

    /// An outcome in numbers.
    pub fn told(&mut self, outcome: &Outcome) -> Told {
        match outcome {
            Outcome::Hold(HoldOutcome::Held { hold_id, expires }) => Told::Held {
                hold_id: *hold_id,
                expires: *expires,
            },
            Outcome::Hold(HoldOutcome::AlreadyHeld { hold_id, expires }) => Told::AlreadyHeld {
                hold_id: *hold_id,
                expires: *expires,
            },
            Outcome::Hold(HoldOutcome::Refused(HoldRefusal::HeldUntil(until))) => {
                Told::HeldUntil(*until)
            }
            Outcome::Hold(HoldOutcome::Refused(HoldRefusal::Sold)) => Told::SoldOut,
            Outcome::Release(ReleaseOutcome::Released) => Told::Released,
            Outcome::Release(ReleaseOutcome::NotHeld) => Told::NotHeld,
            Outcome::Confirm(outcome) => self.told_confirm(outcome),
        }
    }

    fn told_confirm(&mut self, outcome: &ConfirmOutcome) -> Told {
        match outcome {
            ConfirmOutcome::Sold => Told::Sold,
            ConfirmOutcome::RefundRequired {
                reason,
                recorded: None,
            } => Told::Refund(*reason),
            ConfirmOutcome::RefundRequired {
                reason,
                recorded: Some(recorded),
            } => Told::RefundAgain(*reason, self.record(recorded)),
            ConfirmOutcome::Duplicate { recorded } => Told::Duplicate(self.record(recorded)),
            ConfirmOutcome::Conflict { recorded } => Told::Conflict(self.record(recorded)),
        }
    }

    /// What reading a seat answered, in numbers.
    pub fn told_seat(&mut self, seat: Option<&Seat>) -> Told {
        Told::Seat(seat.map(|seat| SeatRow {
            seat: self.seat(&seat.id),
            state: self.state(&seat.state),
            version: seat.version,
            changed_at: seat.changed_at,
        }))
    }

    /// What reading a payment answered, in numbers.
    pub fn told_payment(&mut self, record: Option<&PaymentRecord>) -> Told {
        Told::Payment(record.map(|record| self.record(record)))
    }

    fn record(&mut self, record: &PaymentRecord) -> RecordNo {
        RecordNo {
            payment: self.payment(&record.payment),
            claim: self.claim(&record.claim),
            decision: record.decision,
            version: record.version,
            decided_at: record.decided_at,
        }
    }

    fn state(&mut self, state: &SeatState) -> StateNo {
        match state {
            SeatState::Free => StateNo::Free,
            SeatState::Held {
                owner,
                hold_id,
                expires,
            } => StateNo::Held {
                owner: self.owner(owner),
                hold_id: *hold_id,
                expires: *expires,
            },
            SeatState::Sold {
                owner,
                hold_id,
                payment,
            } => StateNo::Sold {
                owner: self.owner(owner),
                hold_id: *hold_id,
                payment: self.payment(payment),
            },
        }
    }
}

impl Told {
    /// The answer that a receipt with this outcome is.
    pub fn receipt<T>(self, receipt: &Receipt<T>) -> Answer {
        Answer::Receipt {
            told: self,
            version: receipt.version,
            at: receipt.at,
        }
    }
}

impl Answer {
    /// What an error says about the call.
    pub fn of_error(error: &StoreError) -> Self {
        match error {
            StoreError::Unknown(_) => Self::Unknown,
            StoreError::UnknownSeat(_) => Self::NoSuchSeat,
            StoreError::Busy { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Invalid(_)
            | StoreError::Database { .. } => Self::NotApplied,
        }
    }
}

/// From the numbers of one history to those of another.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbering {
    seats: Vec<SeatNo>,
    owners: Vec<OwnerNo>,
    payments: Vec<PaymentNo>,
}

impl Numbering {
    /// Takes the next names of the first history, and finds or makes their numbers in the second.
    pub(super) fn extend(&mut self, names: &Names, into: &mut Names) {
        self.seats
            .extend(names.seats().iter().map(|seat| into.seat(seat)));
        self.owners
            .extend(names.owners().iter().map(|owner| into.owner(owner)));
        self.payments
            .extend(names.payments().iter().map(|payment| into.payment(payment)));
    }

    fn seat(&self, seat: SeatNo) -> SeatNo {
        self.seats[seat.index()]
    }

    fn owner(&self, owner: OwnerNo) -> OwnerNo {
        self.owners[owner.index()]
    }

    pub(super) fn payment(&self, payment: PaymentNo) -> PaymentNo {
        self.payments[payment.index()]
    }

    fn claim(&self, claim: &ClaimNo) -> ClaimNo {
        ClaimNo {
            seat: self.seat(claim.seat),
            owner: self.owner(claim.owner),
            hold_id: claim.hold_id,
        }
    }

    fn record(&self, record: &RecordNo) -> RecordNo {
        RecordNo {
            payment: self.payment(record.payment),
            claim: self.claim(&record.claim),
            ..*record
        }
    }

    fn row(&self, row: &SeatRow) -> SeatRow {
        let state = match row.state {
            StateNo::Free => StateNo::Free,
            StateNo::Held {
                owner,
                hold_id,
                expires,
            } => StateNo::Held {
                owner: self.owner(owner),
                hold_id,
                expires,
            },
            StateNo::Sold {
                owner,
                hold_id,
                payment,
            } => StateNo::Sold {
                owner: self.owner(owner),
                hold_id,
                payment: self.payment(payment),
            },
        };
        SeatRow {
            seat: self.seat(row.seat),
            state,
            ..*row
        }
    }

    pub(super) fn call(&self, call: &Call) -> Call {
        match call {
            Call::Hold { seat, owner, ttl } => Call::Hold {
                seat: self.seat(*seat),
                owner: self.owner(*owner),
                ttl: *ttl,
            },
            Call::Release(claim) => Call::Release(self.claim(claim)),
            Call::Confirm { payment, claim } => Call::Confirm {
                payment: self.payment(*payment),
                claim: self.claim(claim),
            },
            Call::ReadSeat(seat) => Call::ReadSeat(self.seat(*seat)),
            Call::ReadPayment(payment) => Call::ReadPayment(self.payment(*payment)),
        }
    }

    pub(super) fn answer(&self, answer: &Answer) -> Answer {
        let Answer::Receipt { told, version, at } = answer else {
            return *answer;
        };
        let told = match told {
            Told::RefundAgain(reason, record) => Told::RefundAgain(*reason, self.record(record)),
            Told::Duplicate(record) => Told::Duplicate(self.record(record)),
            Told::Conflict(record) => Told::Conflict(self.record(record)),
            Told::Seat(row) => Told::Seat(row.as_ref().map(|row| self.row(row))),
            Told::Payment(record) => {
                Told::Payment(record.as_ref().map(|record| self.record(record)))
            }
            Told::Held { .. }
            | Told::AlreadyHeld { .. }
            | Told::HeldUntil(_)
            | Told::SoldOut
            | Told::Released
            | Told::NotHeld
            | Told::Sold
            | Told::Refund(_) => *told,
        };
        Answer::Receipt {
            told,
            version: *version,
            at: *at,
        }
    }
}

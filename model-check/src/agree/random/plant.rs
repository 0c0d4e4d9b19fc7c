//! Faults that are planted in a history when it is made: one answer, time, version, record or call is another.

use rand::RngExt;
use rand::seq::IndexedRandom;
use soldonce::{HoldId, RefundReason, Timestamp, Version};

use super::{Kind, Run, STEP};
use crate::history::{Answer, Call, History, OPEN, Operation, Told};

impl Run {
    /// Plants what is left to plant, and puts the calls in order.
    pub(super) fn finish(mut self) -> History {
        let faults = match self.kind {
            Kind::UnknownAndFault => {
                let kinds = [
                    Kind::WrongOutcome,
                    Kind::WrongTime,
                    Kind::WrongVersion,
                    Kind::Moved,
                    Kind::Missing,
                    Kind::WrongRecord,
                ];
                vec![*kinds.choose(&mut self.rng).expect("some")]
            }
            kind => vec![kind],
        };
        for fault in faults {
            self.plant(fault);
        }
        self.history.sort();
        self.history
    }

    fn plant(&mut self, fault: Kind) {
        if self.history.operations.is_empty() {
            return;
        }
        let place = self.rng.random_range(0..self.history.operations.len());
        let operation = self.history.operations[place];
        let (mut when, mut answer) = (operation.when(), operation.answer(&self.history.details));
        match fault {
            Kind::WrongOutcome => self.other_outcome(&operation.call(), &mut answer),
            Kind::WrongTime => self.other_time(&mut answer),
            Kind::WrongVersion => {
                if let Answer::Receipt { version, .. } = &mut answer {
                    *version = self.near(*version);
                }
            }
            Kind::WrongRecord => self.other_record(&mut answer),
            Kind::Moved => {
                let by = STEP * self.rng.random_range(1..=12);
                if self.rng.random_bool(0.5) {
                    when.invoked = when.invoked.saturating_sub(by);
                    if when.returned != OPEN {
                        when.returned = when.returned.saturating_sub(by).max(when.invoked);
                    }
                } else {
                    when.invoked += by;
                    when.returned = when.returned.saturating_add(by);
                }
            }
            Kind::Missing => {
                self.history.operations.remove(place);
                return;
            }
            Kind::UnknownChain => {
                // Answers get lost, so that less is known about what happened between.
                for _ in 0..self.rng.random_range(0..4) {
                    if self.history.operations.len() > 1 {
                        let place = self.rng.random_range(0..self.history.operations.len());
                        let told = self.history.operations[place].answer(&self.history.details);
                        if !matches!(told, Answer::Receipt { told, .. } if told.changed_seat()) {
                            self.history.operations.remove(place);
                        }
                    }
                }
                return;
            }
            _ => return,
        }
        self.history.operations[place] =
            Operation::new(when, operation.call(), answer, &mut self.history.details);
    }

    fn near(&mut self, version: Version) -> Version {
        let by = if self.rng.random_bool(0.5) { 1 } else { -1 };
        Version::new((version.get() + by).max(0)).expect("not negative")
    }

    fn near_time(&mut self, time: Timestamp) -> Timestamp {
        let by = *[-3, -2, -1, 1, 2, 3].choose(&mut self.rng).expect("some");
        Timestamp::from_unix_millis(time.as_unix_millis() + by).expect("in range")
    }

    /// The same call, answered otherwise: with the told of another call like it, or made up.
    fn other_outcome(&mut self, call: &Call, answer: &mut Answer) {
        let others: Vec<Told> = self
            .history
            .operations
            .iter()
            .filter_map(|other| match other.answer(&self.history.details) {
                Answer::Receipt { told, .. } => Some(told),
                _ => None,
            })
            .collect();
        let Answer::Receipt { told, version, at } = answer else {
            return;
        };
        let later = |by| Timestamp::from_unix_millis(at.as_unix_millis() + by).expect("in range");
        let made_up = match call {
            Call::Hold { .. } => [
                Told::Held {
                    hold_id: HoldId::from(*version),
                    expires: later(3),
                },
                Told::AlreadyHeld {
                    hold_id: HoldId::from(*version),
                    expires: later(2),
                },
                Told::HeldUntil(later(1)),
                Told::SoldOut,
            ]
            .to_vec(),
            Call::Release(_) => vec![Told::Released, Told::NotHeld],
            Call::Confirm { .. } => RefundReason::ALL
                .map(Told::Refund)
                .into_iter()
                .chain([Told::Sold, Told::Sold])
                .collect(),
            Call::ReadSeat(_) => vec![Told::Seat(None)],
            Call::ReadPayment(_) => vec![Told::Payment(None)],
        };
        let from = if self.rng.random_bool(0.7) || others.is_empty() {
            &made_up
        } else {
            &others
        };
        *told = *from.choose(&mut self.rng).expect("some");
    }

    fn other_time(&mut self, answer: &mut Answer) {
        let Answer::Receipt { told, at, .. } = answer else {
            return;
        };
        let in_told = self.rng.random_bool(0.5);
        match told {
            Told::Held { expires, .. }
            | Told::AlreadyHeld { expires, .. }
            | Told::HeldUntil(expires)
                if in_told =>
            {
                *expires = self.near_time(*expires);
            }
            Told::Seat(Some(row)) if in_told => row.changed_at = self.near_time(row.changed_at),
            _ => *at = self.near_time(*at),
        }
    }

    fn other_record(&mut self, answer: &mut Answer) {
        let seat = self
            .history
            .names
            .seat(self.seats.choose(&mut self.rng).expect("some"));
        let owner = self
            .history
            .names
            .owner(self.owners.choose(&mut self.rng).expect("some"));
        let payment = self
            .history
            .names
            .payment(self.payments.choose(&mut self.rng).expect("some"));
        let Answer::Receipt { told, version, .. } = answer else {
            return;
        };
        let (Told::RefundAgain(_, record)
        | Told::Duplicate(record)
        | Told::Conflict(record)
        | Told::Payment(Some(record))) = told
        else {
            *version = self.near(*version);
            return;
        };
        match self.rng.random_range(0..6) {
            0 => record.claim.seat = seat,
            1 => record.claim.owner = owner,
            2 => record.payment = payment,
            3 => record.version = self.near(record.version),
            4 => record.decided_at = self.near_time(record.decided_at),
            _ => record.claim.hold_id = HoldId::from(self.near(record.claim.hold_id.version())),
        }
    }
}

//! What answers carry beside a few numbers: kept once, however many answers carry it.

use std::collections::HashMap;

use soldonce::{HoldId, Timestamp};

use super::names::PaymentNo;
use super::operation::{RecordNo, SeatRow, StateNo};

/// The records and seats that answers carry, each kept once.
#[derive(Debug, Clone, Default)]
pub struct Details {
    all: Vec<Detail>,
    places: HashMap<Detail, u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Detail {
    Record(RecordNo),
    Seat(SeatRow),
    /// A hold id other than the version of its receipt, which no right answer has.
    OtherHold(HoldId, Timestamp),
}

impl Details {
    pub(super) fn place(&mut self, detail: Detail) -> i64 {
        let place = *self.places.entry(detail).or_insert_with(|| {
            self.all.push(detail);
            u32::try_from(self.all.len() - 1).expect("fewer than 2^32 details in one history")
        });
        i64::from(place)
    }

    pub(super) fn at(&self, place: i64) -> Detail {
        let place = usize::try_from(place & 0xffff_ffff).expect("32 bits");
        self.all[place]
    }

    /// The payment that a detail names, if it names one.
    pub(super) fn payment(&self, place: i64) -> Option<PaymentNo> {
        match self.at(place) {
            Detail::Record(record) => Some(record.payment),
            Detail::Seat(SeatRow {
                state: StateNo::Sold { payment, .. },
                ..
            }) => Some(payment),
            Detail::Seat(_) | Detail::OtherHold(..) => None,
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn record(&self, place: i64) -> RecordNo {
        match self.at(place) {
            Detail::Record(record) => record,
            other => unreachable!("a record was kept at {place}, not {other:?}"),
        }
    }

    pub(super) fn seat(&self, place: i64) -> SeatRow {
        match self.at(place) {
            Detail::Seat(row) => row,
            other => unreachable!("a seat was kept at {place}, not {other:?}"),
        }
    }

    pub(super) fn other_hold(&self, place: i64) -> (HoldId, Timestamp) {
        match self.at(place) {
            Detail::OtherHold(hold_id, expires) => (hold_id, expires),
            other => unreachable!("a hold was kept at {place}, not {other:?}"),
        }
    }
}

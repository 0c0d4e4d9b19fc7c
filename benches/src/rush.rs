//! The hot-seat mix: most holds are for one hot seat, and nearly all of those are refused.
//!
//! Four holds of five are for the hot seat, the fifth for any other of the hall. Who gets a hold pays
//! at once. When the hot seat is sold, the next one is hot.

use std::sync::atomic::{AtomicUsize, Ordering};

use soldonce::{
    Claim, ConfirmOutcome, HoldDuration, HoldOutcome, HoldRefusal, HoldRequest, OwnerId, PaymentId,
    SeatId, SeatStore as _, SqliteStore, StoreError,
};

use crate::scratch::seat_ids;

/// Of a hundred holds, so many are for the hot seat.
const HOT_PERCENT: u64 = 80;

/// The answer to a payment that bought its seat.
pub const SOLD: &str = "sold";

/// The seats, and which of them is hot.
#[derive(Debug)]
pub struct Hall {
    seats: Vec<SeatId>,
    hot: AtomicUsize,
}

impl Hall {
    /// So many seats; the first is hot.
    pub fn new(seats: u64) -> Self {
        Self {
            seats: seat_ids(0..seats),
            hot: AtomicUsize::new(0),
        }
    }

    /// All seats.
    pub fn seats(&self) -> &[SeatId] {
        &self.seats
    }

    /// Somebody was told that this seat is sold: if it is the hot one, the next one is hot now.
    fn sold(&self, seat: usize) {
        let next = (seat + 1) % self.seats.len();
        // Of several who are told, one moves it on.
        let _ = self
            .hot
            .compare_exchange(seat, next, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// A client: it takes what it can get and pays for it.
pub struct Buyer<'round> {
    hall: &'round Hall,
    store: &'round SqliteStore,
    owner: OwnerId,
    dice: SplitMix,
    /// A hold that is to be paid: the place of its seat, the claim, and the payment.
    due: Option<(usize, Claim, PaymentId)>,
    payments: u64,
}

impl<'round> Buyer<'round> {
    /// The buyer of this number.
    pub fn new(number: usize, hall: &'round Hall, store: &'round SqliteStore) -> Self {
        Self {
            hall,
            store,
            owner: OwnerId::new(format!("client-{number}")).expect("a short name"),
            dice: SplitMix(number as u64),
            due: None,
            payments: 0,
        }
    }

    /// Pays what is due, or else asks for a seat, and names the answer. After an error the same
    /// payment is made again.
    ///
    /// # Errors
    /// That of the store.
    pub fn call(&mut self) -> Result<&'static str, StoreError> {
        match self.due.take() {
            Some(due) => self.pay(due),
            None => self.hold(),
        }
    }

    fn hold(&mut self) -> Result<&'static str, StoreError> {
        let seat = if self.dice.below(100) < HOT_PERCENT {
            self.hall.hot.load(Ordering::Relaxed)
        } else {
            let place = self.dice.below(self.hall.seats.len() as u64);
            usize::try_from(place).expect("below the number of seats")
        };
        let request = HoldRequest {
            seat: self.hall.seats[seat].clone(),
            owner: self.owner.clone(),
            ttl: HoldDuration::MAX,
        };
        Ok(match self.store.hold(&request)?.outcome {
            HoldOutcome::Held { hold_id, .. } => {
                self.payments += 1;
                let payment = PaymentId::new(format!("{}-{}", self.owner, self.payments));
                let claim = Claim {
                    seat: request.seat,
                    owner: request.owner,
                    hold_id,
                };
                self.due = Some((seat, claim, payment.expect("a short name")));
                "held"
            }
            HoldOutcome::AlreadyHeld { .. } => "already_held",
            HoldOutcome::Refused(HoldRefusal::HeldUntil(_)) => "refused_held",
            HoldOutcome::Refused(HoldRefusal::Sold) => {
                self.hall.sold(seat);
                "refused_sold"
            }
        })
    }

    fn pay(&mut self, due: (usize, Claim, PaymentId)) -> Result<&'static str, StoreError> {
        match self.store.confirm_payment(&due.2, &due.1) {
            Ok(receipt) => Ok(match receipt.outcome {
                ConfirmOutcome::Sold => {
                    self.hall.sold(due.0);
                    SOLD
                }
                ConfirmOutcome::RefundRequired { .. } => "refund_required",
                ConfirmOutcome::Duplicate { .. } => "duplicate",
                ConfirmOutcome::Conflict { .. } => "conflict",
            }),
            Err(error) => {
                self.due = Some(due);
                Err(error)
            }
        }
    }
}

/// A small generator of numbers that are random enough to choose seats: SplitMix64 (Steele, Lea and
/// Flood, 2014). Each client has its own, from its number, so that every run draws alike.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 0 to `limit - 1`.
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::{Scratch, add};
    use std::collections::BTreeMap;

    #[test]
    fn whoever_gets_a_hold_pays_and_the_next_seat_becomes_hot() {
        let parent = tempfile::tempdir().expect("a folder");
        let store = Scratch::below(parent.path())
            .store("rush", SqliteStore::options())
            .expect("opened");
        let hall = Hall::new(200);
        add(&store, hall.seats()).expect("added");
        let mut buyers = [0, 1].map(|number| Buyer::new(number, &hall, &store));
        let mut answers = BTreeMap::new();
        for turn in 0..60 {
            let answer = buyers[turn % 2].call().expect("answered");
            *answers.entry(answer).or_insert(0) += 1;
        }
        let known = ["held", "refused_held", "refused_sold", SOLD];
        assert!(
            answers.keys().all(|answer| known.contains(answer)),
            "{answers:?}"
        );
        assert!(
            answers["held"] - answers[SOLD] <= 2,
            "at most one hold each is not paid yet: {answers:?}"
        );
        assert!(hall.hot.load(Ordering::Relaxed) > 3);
        assert_eq!(store.audit().expect("audited"), []);
    }

    #[test]
    fn a_hot_seat_moves_on_once_however_many_are_told_that_it_is_sold() {
        let hall = Hall::new(3);
        hall.sold(0);
        hall.sold(0);
        hall.sold(2);
        assert_eq!(hall.hot.load(Ordering::Relaxed), 1);
        hall.sold(1);
        hall.sold(2);
        assert_eq!(
            hall.hot.load(Ordering::Relaxed),
            0,
            "after the last seat comes the first"
        );
    }

    #[test]
    fn the_dice_are_those_of_the_paper() {
        let mut dice = SplitMix(0);
        assert_eq!(dice.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(dice.next(), 0x6e78_9e6a_a1b9_65f4);
    }
}

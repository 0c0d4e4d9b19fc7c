//! Names of seats, buyers and payments, and their short forms.
//!
//! What a client has to remember of a payment is a few numbers; the ids that the store knows are made from
//! them for each call.

use soldonce::{Claim, HoldId, OwnerId, PaymentId, SeatId};

/// The names of one run.
#[derive(Debug, Clone)]
pub struct Names {
    seats: Vec<SeatId>,
    tag: String,
}

/// A buyer: the client that plays them, and which of its buyers they are. Payments are named after
/// the intent behind them, which has a number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuyerKey {
    /// The client.
    pub client: u32,
    /// The number, from 0.
    pub number: u64,
}

/// A payment of a buyer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaymentKey {
    /// Who pays.
    pub buyer: BuyerKey,
    /// Whether it is the second payment of that buyer.
    pub second: bool,
}

/// A seat by its number; `None` is a seat that does not exist.
pub type SeatNumber = Option<u32>;

/// A claim, short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimKey {
    /// The seat.
    pub seat: SeatNumber,
    /// Who claims it.
    pub owner: BuyerKey,
    /// Under which hold.
    pub hold_id: HoldId,
}

impl Names {
    /// Names for so many seats. Those of two runs on one database differ by the tag.
    pub fn new(seats: u32, tag: impl Into<String>) -> Self {
        let tag = tag.into();
        let seats = (0..seats)
            .map(|number| SeatId::new(format!("s{tag}{number:05}")).expect("a short name"))
            .collect();
        Self { seats, tag }
    }

    /// What tells these names from those of another run on the same database.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// All seats, by number.
    pub fn seats(&self) -> &[SeatId] {
        &self.seats
    }

    /// A seat.
    pub fn seat(&self, number: SeatNumber) -> SeatId {
        match number {
            Some(number) => self.seats[number as usize].clone(),
            None => SeatId::new("nowhere").expect("a short name"),
        }
    }

    /// A buyer.
    pub fn owner(&self, buyer: BuyerKey) -> OwnerId {
        OwnerId::new(self.of("b", buyer)).expect("a short name")
    }

    /// A payment.
    pub fn payment(&self, payment: PaymentKey) -> PaymentId {
        let first = self.of("p", payment.buyer);
        let name = if payment.second {
            format!("{first}-2")
        } else {
            first
        };
        PaymentId::new(name).expect("a short name")
    }

    /// A claim.
    pub fn claim(&self, claim: ClaimKey) -> Claim {
        Claim {
            seat: self.seat(claim.seat),
            owner: self.owner(claim.owner),
            hold_id: claim.hold_id,
        }
    }

    fn of(&self, letter: &str, buyer: BuyerKey) -> String {
        format!("{letter}{}{}-{}", self.tag, buyer.client, buyer.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_by_client_number_part_and_tag() {
        let names = Names::new(2, "");
        let buyer = BuyerKey {
            client: 3,
            number: 17,
        };
        let payment = |second| names.payment(PaymentKey { buyer, second });
        assert_eq!(names.seat(Some(1)).as_str(), "s00001");
        assert_eq!(names.owner(buyer).as_str(), "b3-17");
        assert_eq!(payment(false).as_str(), "p3-17");
        assert_eq!(payment(true).as_str(), "p3-17-2");
        let tagged = Names::new(1, "x.");
        assert_eq!(tagged.owner(buyer).as_str(), "bx.3-17");
        assert_eq!(tagged.seat(Some(0)).as_str(), "sx.00000");
        assert!(!names.seats().contains(&names.seat(None)));
    }
}

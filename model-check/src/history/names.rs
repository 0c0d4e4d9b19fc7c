//! Seats, owners and payments as numbers, and the names behind them.

use std::hash::{BuildHasher as _, Hash, RandomState};

use hashbrown::HashTable;
use soldonce::{OwnerId, PaymentId, SeatId};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The number as a place in a list.
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            pub(crate) const fn raw(self) -> u32 {
                self.0
            }

            pub(crate) const fn from_raw(raw: u32) -> Self {
                Self(raw)
            }
        }
    };
}

number! {
    /// A seat, as a number; [`Names`] knows which.
    SeatNo
}
number! {
    /// An owner, as a number; [`Names`] knows which.
    OwnerNo
}
number! {
    /// A payment, as a number; [`Names`] knows which.
    PaymentNo
}

/// The names behind the numbers of a history. Numbers are given in the order of first sight, from 0;
/// one that was given back is given again first.
#[derive(Debug, Clone, Default)]
pub struct Names {
    seats: Table<SeatId>,
    owners: Table<OwnerId>,
    payments: Table<PaymentId>,
}

/// Each name once, by its number, and the numbers by the hash of their names.
#[derive(Debug, Clone)]
struct Table<Id> {
    names: Vec<Id>,
    numbers: HashTable<u32>,
    free: Vec<u32>,
    hasher: RandomState,
}

impl<Id> Default for Table<Id> {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            numbers: HashTable::new(),
            free: Vec::new(),
            hasher: RandomState::new(),
        }
    }
}

impl<Id: Clone + Eq + Hash> Table<Id> {
    fn number(&mut self, id: &Id) -> u32 {
        if let Some(number) = self.find(id) {
            return number;
        }
        let number = if let Some(free) = self.free.pop() {
            self.names[free as usize] = id.clone();
            free
        } else {
            self.names.push(id.clone());
            u32::try_from(self.names.len() - 1).expect("fewer than 2^32 names in one history")
        };
        let (names, hasher) = (&self.names, &self.hasher);
        let hash = |number: &u32| hasher.hash_one(&names[*number as usize]);
        self.numbers.insert_unique(hash(&number), number, hash);
        number
    }

    fn find(&self, id: &Id) -> Option<u32> {
        let same = |number: &u32| self.names[*number as usize] == *id;
        self.numbers.find(self.hasher.hash_one(id), same).copied()
    }

    /// The name is new when it comes again. Says whether it was known under this number.
    fn forget(&mut self, number: u32) -> bool {
        let hash = self.hasher.hash_one(&self.names[number as usize]);
        match self.numbers.find_entry(hash, |other| *other == number) {
            Ok(entry) => {
                entry.remove();
                true
            }
            Err(_) => false,
        }
    }
}

impl Names {
    /// The number of a seat; a new one when it was never named before.
    pub fn seat(&mut self, id: &SeatId) -> SeatNo {
        SeatNo(self.seats.number(id))
    }

    /// The number of an owner; a new one when it was never named before.
    pub fn owner(&mut self, id: &OwnerId) -> OwnerNo {
        OwnerNo(self.owners.number(id))
    }

    /// The number of a payment; a new one when it was never named before.
    pub fn payment(&mut self, id: &PaymentId) -> PaymentNo {
        PaymentNo(self.payments.number(id))
    }

    /// The number of a seat that was named before.
    pub fn find_seat(&self, id: &SeatId) -> Option<SeatNo> {
        self.seats.find(id).map(SeatNo)
    }

    /// The seats, in the order of their numbers.
    pub fn seats(&self) -> &[SeatId] {
        &self.seats.names
    }

    /// The owners, in the order of their numbers.
    pub fn owners(&self) -> &[OwnerId] {
        &self.owners.names
    }

    /// The payments, in the order of their numbers. A number that was given back still has the name that
    /// it had, until it is given again.
    pub fn payments(&self) -> &[PaymentId] {
        &self.payments.names
    }

    /// The name of a seat of this history.
    pub fn seat_id(&self, seat: SeatNo) -> &SeatId {
        &self.seats.names[seat.index()]
    }

    /// The name of an owner of this history.
    pub fn owner_id(&self, owner: OwnerNo) -> &OwnerId {
        &self.owners.names[owner.index()]
    }

    /// The name of a payment of this history.
    pub fn payment_id(&self, payment: PaymentNo) -> &PaymentId {
        &self.payments.names[payment.index()]
    }
}

impl Names {
    /// The payment is over, and so is its number: the next new payment may have it.
    pub(crate) fn give_back(&mut self, payment: PaymentNo) {
        if self.payments.forget(payment.raw()) {
            self.payments.free.push(payment.raw());
        }
    }

    /// The payment has a new number when it is named again; its old one is not given to another.
    pub(super) fn forget(&mut self, payment: PaymentNo) {
        self.payments.forget(payment.raw());
    }

    /// The payments whose numbers were not given back, in the order of their numbers.
    pub(super) fn known_payments(&self) -> Vec<PaymentId> {
        let mut numbers: Vec<u32> = self.payments.numbers.iter().copied().collect();
        numbers.sort_unstable();
        let name = |number: u32| self.payments.names[number as usize].clone();
        numbers.into_iter().map(name).collect()
    }

    /// The names from these numbers on, as names of their own.
    pub(super) fn from(&self, seats: usize, owners: usize, payments: usize) -> Self {
        let mut from = Self::default();
        from.seats
            .names
            .extend_from_slice(&self.seats.names[seats..]);
        from.owners
            .names
            .extend_from_slice(&self.owners.names[owners..]);
        from.payments
            .names
            .extend_from_slice(&self.payments.names[payments..]);
        from
    }

    /// How many seats, owners and payments there are.
    pub(super) fn lens(&self) -> (usize, usize, usize) {
        (
            self.seats.names.len(),
            self.owners.names.len(),
            self.payments.names.len(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payment(id: &str) -> PaymentId {
        PaymentId::new(id).expect("valid")
    }

    #[test]
    fn a_number_that_was_given_back_is_given_to_the_next_new_payment() {
        let mut names = Names::default();
        let [p, q] = ["p", "q"].map(|id| names.payment(&payment(id)));
        names.give_back(p);
        names.give_back(p);
        assert_eq!(names.payment(&payment("q")), q);
        assert_eq!(names.known_payments(), [payment("q")]);
        assert_eq!(names.payment(&payment("r")), p);
        assert_eq!(names.payment_id(p), &payment("r"));
        assert_ne!(names.payment(&payment("p")), p, "it is a new name now");
        assert_eq!(names.payments().len(), 3);
    }

    #[test]
    fn a_name_that_was_forgotten_gets_a_new_number_and_nobody_gets_the_old_one() {
        let mut names = Names::default();
        let p = names.payment(&payment("p"));
        names.forget(p);
        for id in ["p", "q"] {
            assert_ne!(names.payment(&payment(id)), p);
        }
        assert_eq!(names.payment_id(p), &payment("p"));
    }
}

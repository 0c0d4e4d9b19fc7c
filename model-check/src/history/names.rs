//! Seats, owners and payments as numbers, and the names behind them.

use std::collections::HashMap;

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

/// The names behind the numbers of a history. Numbers are given in the order of first sight, from 0.
#[derive(Debug, Clone, Default)]
pub struct Names {
    seats: Table<SeatId>,
    owners: Table<OwnerId>,
    payments: Table<PaymentId>,
}

#[derive(Debug, Clone)]
struct Table<Id> {
    names: Vec<Id>,
    numbers: HashMap<Id, u32>,
}

impl<Id> Default for Table<Id> {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            numbers: HashMap::new(),
        }
    }
}

impl<Id: Clone + Eq + std::hash::Hash> Table<Id> {
    fn number(&mut self, id: &Id) -> u32 {
        if let Some(number) = self.numbers.get(id) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).expect("fewer than 2^32 names in one history");
        self.names.push(id.clone());
        self.numbers.insert(id.clone(), number);
        number
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
        self.seats.numbers.get(id).copied().map(SeatNo)
    }

    /// The seats, in the order of their numbers.
    pub fn seats(&self) -> &[SeatId] {
        &self.seats.names
    }

    /// The owners, in the order of their numbers.
    pub fn owners(&self) -> &[OwnerId] {
        &self.owners.names
    }

    /// The payments, in the order of their numbers.
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

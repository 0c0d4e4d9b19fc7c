//! The hot seats, each of which moves on when it is sold.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Which seats are hot. With n of them, place p takes the seats p, p + n, p + 2n, ...
#[derive(Debug)]
pub struct HotSeats {
    places: Vec<AtomicU32>,
    seats: u32,
    moves: AtomicU64,
}

impl HotSeats {
    /// The first seats are hot: so many of all.
    pub fn new(hot: u32, seats: u32) -> Self {
        Self {
            places: (0..hot).map(AtomicU32::new).collect(),
            seats,
            moves: AtomicU64::new(0),
        }
    }

    /// The seat that is hot now in this place.
    pub fn seat(&self, place: u32) -> u32 {
        self.places[place as usize].load(Ordering::Relaxed)
    }

    /// Somebody was told that this seat is sold: where it is the hot one, the next one is hot now.
    pub fn sold(&self, seat: u32) {
        let hot = u32::try_from(self.places.len()).expect("at most a thousand");
        let next = (seat + hot) % self.seats;
        for place in &self.places {
            if place
                .compare_exchange(seat, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
            {
                self.moves.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
    }

    /// How often a hot seat has moved on.
    pub fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hot_seat_moves_on_once_however_many_are_told_that_it_is_sold() {
        let hot = HotSeats::new(2, 7);
        assert_eq!((hot.seat(0), hot.seat(1)), (0, 1));
        hot.sold(1);
        hot.sold(1);
        hot.sold(6);
        assert_eq!((hot.seat(0), hot.seat(1)), (0, 3));
        hot.sold(3);
        hot.sold(5);
        assert_eq!(hot.seat(1), 0, "after the last seat comes the first");
        assert_eq!(hot.moves(), 3);
    }
}

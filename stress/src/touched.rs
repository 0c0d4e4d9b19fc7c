//! Which seats anybody asked for: they are read once more at the end.

use std::sync::atomic::{AtomicU64, Ordering};

/// A set of seat numbers that many threads add to.
#[derive(Debug)]
pub struct Touched(Vec<AtomicU64>);

impl Touched {
    /// Nothing yet, of so many seats.
    pub fn new(seats: u32) -> Self {
        let words = (seats as usize).div_ceil(64);
        Self((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    /// Adds a seat.
    pub fn add(&self, seat: u32) {
        let (word, bit) = (&self.0[seat as usize / 64], 1 << (seat % 64));
        // A hot seat is added again and again: reading it does not take it from the other threads.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// All that were added, by number.
    pub fn seats(&self) -> Vec<u32> {
        let mut seats = Vec::new();
        for (word, first) in self.0.iter().zip((0..).step_by(64)) {
            let bits = word.load(Ordering::Relaxed);
            seats.extend(
                (0..64)
                    .filter(|bit| bits >> bit & 1 == 1)
                    .map(|bit| first + bit),
            );
        }
        seats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_in_it_once_however_often_it_was_added() {
        let touched = Touched::new(130);
        for seat in [129, 0, 64, 63, 0] {
            touched.add(seat);
        }
        assert_eq!(touched.seats(), [0, 63, 64, 129]);
    }
}

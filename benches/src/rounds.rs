//! Two or more sides measured in turn, round by round, so that whatever else the machine does in the
//! meantime hits all of them alike; and what follows from their rounds.

use std::time::Duration;

use evidence::Samples;

use crate::error::Error;

/// What one side did in one round: so many things in so much time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// How many.
    pub count: u64,
    /// In how long.
    pub time: Duration,
}

impl Taken {
    /// Nanoseconds a thing; endless when nothing was done.
    pub fn ns_each(self) -> f64 {
        as_ns(self.time) / as_float(self.count)
    }

    /// Adds so many more.
    pub fn again(&mut self, count: u64, time: Duration) {
        self.count += count;
        self.time += time;
    }
}

/// All the rounds of one side.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Its name in the evidence, such as `hot seat/32 clients/queue`.
    pub id: String,
    /// One after the other.
    pub rounds: Vec<Taken>,
}

impl Side {
    /// A side from its rounds.
    pub fn new(id: impl Into<String>, rounds: Vec<Taken>) -> Self {
        Self {
            id: id.into(),
            rounds,
        }
    }

    /// Nanoseconds a thing in the middle round, by the rule that evidence computes it again with.
    pub fn median_ns(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.ns_each()).collect())
    }

    /// The raw rounds for the evidence: each is a sample.
    pub fn samples(&self) -> Samples {
        Samples {
            iterations: self.rounds.iter().map(|round| round.count).collect(),
            times_ns: self.rounds.iter().map(|round| as_ns(round.time)).collect(),
            elements: None,
        }
    }
}

/// One round of one side.
pub type Round<'a> = Box<dyn FnMut() -> Result<Taken, Error> + 'a>;

/// Runs so many rounds of every side in turn. Who begins moves on from round to round, so that no
/// side always comes after the same other one.
///
/// # Errors
/// The first error of a round. A round that did nothing is none, but evidence refuses it.
pub fn interleaved(rounds: usize, mut sides: Vec<(String, Round<'_>)>) -> Result<Vec<Side>, Error> {
    let mut taken = vec![Vec::with_capacity(rounds); sides.len()];
    for round in 0..rounds {
        for turn in 0..sides.len() {
            let side = (round + turn) % sides.len();
            let result = sides[side].1()?;
            taken[side].push(result);
        }
    }
    let ids = sides.into_iter().map(|(id, _)| id);
    Ok(ids
        .zip(taken)
        .map(|(id, rounds)| Side::new(id, rounds))
        .collect())
}

/// A ratio of two sides: of the medians, and its least and greatest value over the rounds, each
/// round of one side set against the round of the other that it was taken beside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Of the medians.
    pub median: f64,
    /// The least of the rounds.
    pub least: f64,
    /// The greatest of the rounds.
    pub greatest: f64,
}

/// Nanoseconds a thing of `above` over those of `below`.
pub fn ratio_of_times(above: &Side, below: &Side) -> Spread {
    let pairs = above.rounds.iter().zip(&below.rounds);
    let each = pairs.map(|(above, below)| above.ns_each() / below.ns_each());
    let (least, greatest) = each.fold(
        (f64::INFINITY, 0.0),
        |(least, greatest): (f64, f64), one| (least.min(one), greatest.max(one)),
    );
    Spread {
        median: above.median_ns() / below.median_ns(),
        least,
        greatest,
    }
}

/// The middle value, or the mean of the two middle ones.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

/// A duration in nanoseconds.
#[allow(clippy::cast_precision_loss, reason = "far below 2^53 ns, 104 days")]
pub fn as_ns(time: Duration) -> f64 {
    time.as_nanos() as f64
}

/// A count as a float.
#[allow(
    clippy::cast_precision_loss,
    reason = "counts of a run, far below 2^53"
)]
pub fn as_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn side(rounds: &[(u64, u64)]) -> Side {
        let rounds = rounds.iter().map(|(count, ms)| Taken {
            count: *count,
            time: Duration::from_millis(*ms),
        });
        Side::new("x", rounds.collect())
    }

    #[test]
    fn the_sides_take_turns_and_each_begins_in_turn() {
        let order = RefCell::new(String::new());
        let round = |name: char| -> (String, Round<'_>) {
            let order = &order;
            let play = move || {
                order.borrow_mut().push(name);
                Ok(Taken {
                    count: 1,
                    time: Duration::from_secs(1),
                })
            };
            (name.to_string(), Box::new(play))
        };
        let sides = interleaved(3, vec![round('a'), round('b')]).expect("measured");
        assert_eq!(*order.borrow(), "abbaab");
        assert!(sides.iter().all(|side| side.rounds.len() == 3));
    }

    #[test]
    fn a_ratio_is_of_the_medians_and_its_spread_of_the_pairs() {
        let fast = side(&[(10, 10), (10, 20), (10, 40)]);
        let slow = side(&[(1, 4), (1, 8), (1, 4)]);
        let ratio = ratio_of_times(&slow, &fast);
        assert_eq!((ratio.median, ratio.least, ratio.greatest), (2.0, 1.0, 4.0));
        assert_eq!(fast.samples().times_ns, [1e7, 2e7, 4e7]);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        assert!((median(vec![4.0, 1.0, 3.0, 2.0]) - 2.5).abs() < f64::EPSILON);
    }
}

//! What buyers intend to do: an endless sequence for each client, made from the seed alone.
//!
//! An [`Intent`] is one buyer: which seat they go for, and what they will do if they get it. Nothing
//! in it depends on time or on an answer, so the same seed gives the same intents on every machine;
//! which of them get their seat is what the run finds out.

use std::fmt;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Zipf};

use crate::mix::{Mix, Plan};

/// The shape of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Shape {
    /// Buyers crowd on a hot seat that moves on when it is sold; the others spread evenly.
    Rush,
    /// Few seats and short holds, most of them released, lapsed, or paid for too late or wrongly: endless
    /// turnover, hardly a sale.
    Churn,
    /// Every seat is as likely as any other.
    Uniform,
    /// Seats are more or less popular, by Zipf's law.
    Zipf,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rush => "rush",
            Self::Churn => "churn",
            Self::Uniform => "uniform",
            Self::Zipf => "zipf",
        })
    }
}

/// How buyers choose a seat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// A share of them goes for one of the hot seats, the others spread evenly over all.
    Hot {
        /// How many seats are hot at a time, at least 1.
        seats: u32,
        /// How many buyers in a hundred go for one of them.
        percent: f64,
    },
    /// The seat of rank k is chosen in proportion to k to the power of minus this.
    Zipf(f64),
}

/// Everything that decides about intents, besides the seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Its name, for reports.
    pub shape: Shape,
    /// How many seats there are.
    pub seats: u32,
    /// How buyers choose one.
    pub choice: Choice,
    /// How long a hold lives.
    pub ttl: Duration,
    /// Within which time after the hold a buyer who is in time does what they do.
    pub pay_within: Duration,
    /// What buyers do with a hold.
    pub mix: Mix,
    /// In how many calls of a hundred the answer is lost, so that the same call is made once more.
    pub redeliver_percent: f64,
    /// How many buyers in a hundred look at their seat after each answer that they got for it.
    pub look_percent: f64,
}

/// Which seat a buyer goes for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// The seat that is hot at the time, in this place of the hot ones.
    Hot(u32),
    /// This seat.
    Seat(u32),
}

/// One buyer, and what they intend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Intent {
    /// Which one of its client's buyers, from 0.
    pub number: u64,
    /// The seat they go for.
    pub target: Target,
    /// What they do if they get it.
    pub plan: Plan,
    /// How long after the hold they do it, in microseconds.
    pub wait_us: u64,
    /// Whether the answer to the hold is lost, so that they ask twice.
    pub repeat_hold: bool,
    /// Whether the answer to the payment or release is lost, so that it comes twice.
    pub repeat_next: bool,
    /// Whether they look at their seat after the hold, and after the payment or release.
    pub look: bool,
}

/// The endless intents of one client.
#[derive(Debug, Clone)]
pub struct Intents {
    workload: Workload,
    zipf: Option<Zipf<f64>>,
    rng: ChaCha8Rng,
    next: u64,
}

impl Intents {
    /// The intents of a client; each client draws from a stream of its own.
    pub fn new(workload: &Workload, seed: u64, client: u32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(u64::from(client) + 1);
        let zipf = match workload.choice {
            Choice::Zipf(exponent) => Zipf::new(f64::from(workload.seats), exponent).ok(),
            Choice::Hot { .. } => None,
        };
        Self {
            workload: workload.clone(),
            zipf,
            rng,
            next: 0,
        }
    }

    fn target(&mut self) -> Target {
        let seats = self.workload.seats;
        let goes_hot = self.rng.random_range(0.0..100.0);
        let (any, place) = (self.rng.random_range(0..seats), self.rng.random::<u32>());
        match (self.workload.choice, &self.zipf) {
            (Choice::Hot { seats, percent }, _) if goes_hot < percent => Target::Hot(place % seats),
            (Choice::Zipf(_), Some(zipf)) => {
                let mut own = ChaCha8Rng::seed_from_u64(u64::from(place) << 32 | u64::from(any));
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a rank is a whole number from 1 to the number of seats"
                )]
                let rank = zipf.sample(&mut own) as u32;
                Target::Seat(rank.clamp(1, seats) - 1)
            }
            (Choice::Hot { .. } | Choice::Zipf(_), _) => Target::Seat(any),
        }
    }
}

impl Iterator for Intents {
    type Item = Intent;

    fn next(&mut self) -> Option<Intent> {
        let target = self.target();
        let plan = self
            .workload
            .mix
            .pick(self.rng.random_range(0..self.workload.mix.total()));
        let share: f64 = self.rng.random();
        let (ttl, pay_within) = (self.workload.ttl, self.workload.pay_within);
        let wait = if plan.waits_for_the_end() {
            ttl + ttl.mul_f64(share)
        } else {
            pay_within.mul_f64(share)
        };
        let lost = self.workload.redeliver_percent;
        let intent = Intent {
            number: self.next,
            target,
            plan,
            wait_us: u64::try_from(wait.as_micros()).unwrap_or(u64::MAX),
            repeat_hold: self.rng.random_range(0.0..100.0) < lost,
            repeat_next: self.rng.random_range(0.0..100.0) < lost,
            look: self.rng.random_range(0.0..100.0) < self.workload.look_percent,
        };
        self.next += 1;
        Some(intent)
    }
}

/// How many intents of each client go into [`fingerprint`].
const FINGERPRINTED: usize = 1_000;

/// A digest of the first thousand intents of every client. Two runs that intend the same show the
/// same digest.
pub fn fingerprint(workload: &Workload, seed: u64, clients: u32) -> evidence::Sha256 {
    let mut all = Vec::new();
    for client in 0..clients {
        for intent in Intents::new(workload, seed, client).take(FINGERPRINTED) {
            let (kind, seat) = match intent.target {
                Target::Hot(place) => (0, place),
                Target::Seat(seat) => (1, seat),
            };
            all.extend([
                kind,
                intent.plan as u8,
                u8::from(intent.repeat_hold),
                u8::from(intent.repeat_next),
                u8::from(intent.look),
            ]);
            all.extend(seat.to_le_bytes());
            all.extend(intent.wait_us.to_le_bytes());
        }
    }
    evidence::Sha256::of(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rush() -> Workload {
        Workload {
            shape: Shape::Rush,
            seats: 50_000,
            choice: Choice::Hot {
                seats: 1,
                percent: 80.0,
            },
            ttl: Duration::from_millis(250),
            pay_within: Duration::from_millis(50),
            mix: Mix::default_of(Shape::Rush),
            redeliver_percent: 10.0,
            look_percent: 10.0,
        }
    }

    fn first(workload: &Workload, seed: u64, client: u32) -> Vec<Intent> {
        Intents::new(workload, seed, client).take(5_000).collect()
    }

    #[test]
    fn the_same_seed_makes_the_same_intents() {
        for choice in [rush().choice, Choice::Zipf(1.1)] {
            let workload = Workload { choice, ..rush() };
            assert_eq!(first(&workload, 7, 3), first(&workload, 7, 3));
            assert_eq!(
                fingerprint(&workload, 7, 2).to_string(),
                fingerprint(&workload, 7, 2).to_string()
            );
        }
    }

    #[test]
    fn another_seed_or_another_client_makes_other_intents() {
        let workload = rush();
        assert_ne!(first(&workload, 7, 3), first(&workload, 8, 3));
        assert_ne!(first(&workload, 7, 3), first(&workload, 7, 4));
        assert_ne!(
            fingerprint(&workload, 7, 2).to_string(),
            fingerprint(&workload, 8, 2).to_string()
        );
    }

    #[test]
    fn the_share_of_the_hot_seat_is_the_one_that_was_asked_for() {
        let hot = first(&rush(), 1, 0)
            .iter()
            .filter(|intent| matches!(intent.target, Target::Hot(0)))
            .count();
        assert!((3_850..4_150).contains(&hot), "{hot} of 5,000");
    }

    #[test]
    fn every_plan_is_drawn_about_as_often_as_its_weight_says() {
        let intents = first(&rush(), 1, 0);
        let mix = rush().mix;
        for (plan, weight) in mix.weights() {
            let drawn = intents.iter().filter(|i| i.plan == plan).count();
            let expected = 5_000 * weight as usize / mix.total() as usize;
            assert!(
                drawn >= expected / 2 && drawn <= expected * 2,
                "{plan}: {drawn} for {expected}"
            );
        }
    }

    #[test]
    fn one_who_is_late_waits_past_the_end_of_the_hold_and_one_in_time_does_not() {
        let workload = rush();
        for intent in first(&workload, 1, 0) {
            let wait = Duration::from_micros(intent.wait_us);
            if intent.plan.waits_for_the_end() {
                assert!(wait >= workload.ttl);
            } else {
                assert!(wait <= workload.pay_within);
            }
        }
    }

    #[test]
    fn a_zipf_choice_prefers_low_ranks_and_stays_within_the_seats() {
        let workload = Workload {
            choice: Choice::Zipf(1.0),
            seats: 100,
            ..rush()
        };
        let mut counts = [0_u32; 100];
        for intent in first(&workload, 1, 0) {
            let Target::Seat(seat) = intent.target else {
                panic!("a zipf choice has no hot seat");
            };
            counts[seat as usize] += 1;
        }
        assert!(counts[0] > 4 * counts[9], "{counts:?}");
        assert!(counts[0] > 700 && counts[99] < 60, "{counts:?}");
    }
}

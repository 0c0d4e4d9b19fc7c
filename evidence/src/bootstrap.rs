//! How sure one can be of the ratio of two means: a circular block bootstrap.
//!
//! Both lists of samples are drawn from again and again, with replacement, and the ratio of the means
//! of each draw is taken; the middle 99 % of these ratios are the interval. Samples that follow each
//! other in time resemble each other, so blocks of neighbours are drawn and not single samples: of
//! length n^(1/3), rounded up, beginning anywhere, the last sample followed by the first (Politis and
//! Romano, "A circular block-resampling procedure for stationary data", 1992).
//!
//! The draws come from a fixed seed: the same samples always give the same interval.

/// How many draws.
const DRAWS: usize = 10_000;
/// How much of the draws lie outside on either side: 0.5 %.
const TAIL: usize = DRAWS / 200;
/// The fewest samples on either side that say anything.
pub(crate) const FEWEST: usize = 5;

/// The mean of `b` over the mean of `a`, and the 99 % interval of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    /// Of the samples as they are.
    pub(crate) found: f64,
    /// The lower end of the interval.
    pub(crate) low: f64,
    /// The upper end of the interval.
    pub(crate) high: f64,
}

/// The ratio of the means; `None` with fewer than [`FEWEST`] samples on either side, or when it is no
/// number.
pub(crate) fn ratio_of_means(a: &[f64], b: &[f64]) -> Option<Ratio> {
    if a.len().min(b.len()) < FEWEST {
        return None;
    }
    let mut random = SplitMix(0x5eed);
    let mut ratios: Vec<f64> = (0..DRAWS)
        .map(|_| drawn_mean(b, &mut random) / drawn_mean(a, &mut random))
        .collect();
    ratios.sort_by(f64::total_cmp);
    let ratio = Ratio {
        found: mean(b) / mean(a),
        low: ratios[TAIL],
        high: ratios[DRAWS - 1 - TAIL],
    };
    [ratio.found, ratio.low, ratio.high]
        .iter()
        .all(|number| number.is_finite())
        .then_some(ratio)
}

#[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 samples")]
pub(crate) fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

#[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 samples")]
fn drawn_mean(samples: &[f64], random: &mut SplitMix) -> f64 {
    let count = samples.len();
    let block = (1..=count)
        .find(|length| length.pow(3) >= count)
        .unwrap_or(1);
    let (mut sum, mut at) = (0.0, 0);
    for drawn in 0..count {
        at = if drawn % block == 0 {
            random.below(count)
        } else {
            (at + 1) % count
        };
        sum += samples[at];
    }
    sum / count as f64
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `count`. The bias of the product is below 2^-50 for any list that fits a file.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "below count, which is a usize"
    )]
    fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{SplitMix, ratio_of_means};

    /// Noise of 5 % around `centre`, in which neighbours resemble each other.
    fn samples(count: usize, centre: f64, seed: u64) -> Vec<f64> {
        let mut random = SplitMix(seed);
        let mut drift = 0.0;
        let mut sample = || {
            let step = random.below(2_001).to_string().parse::<f64>().unwrap() / 1_000.0 - 1.0;
            drift = 0.5 * drift + 0.5 * step;
            centre * (1.0 + 0.1 * drift)
        };
        (0..count).map(|_| sample()).collect()
    }

    #[test]
    fn the_interval_holds_the_true_ratio_nearly_always_and_is_narrow() {
        let (mut missed, mut widest) = (0, 0.0_f64);
        for seed in 0..100 {
            let found =
                ratio_of_means(&samples(100, 10.0, seed), &samples(100, 12.0, seed + 1_000))
                    .unwrap();
            missed += u32::from(!(found.low <= 1.2 && 1.2 <= found.high));
            widest = widest.max(found.high - found.low);
        }
        assert!(
            missed <= 8,
            "{missed} of 100 intervals missed the true ratio"
        );
        assert!(widest < 0.1, "an interval was {widest} wide");
    }

    #[test]
    fn the_same_samples_give_the_same_interval_and_too_few_give_none() {
        let (a, b) = (samples(20, 3.0, 1), samples(30, 3.0, 2));
        assert_eq!(ratio_of_means(&a, &b), ratio_of_means(&a, &b));
        assert_eq!(ratio_of_means(&a[..4], &b), None);
        assert_eq!(ratio_of_means(&a, &b[..4]), None);
        assert_eq!(ratio_of_means(&[0.0; 5], &b), None);
        assert!(ratio_of_means(&a[..5], &b[..5]).is_some());
    }
}

//! Samples of a benchmark, as criterion takes them, and the mean and median that follow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::{Real, Whole};

/// The samples of one benchmark, as criterion takes them: each sample times a number of iterations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// Its id, such as `hold/granted`. No two benchmarks share one.
    pub id: String,
    /// How many iterations each sample ran, at least 1.
    pub iterations: Vec<Whole>,
    /// How long each sample took, in nanoseconds.
    pub times_ns: Vec<Real>,
    /// Nanoseconds an iteration: the sum, in the order of the samples, of time by iterations, over
    /// the number of samples.
    pub mean_ns: Real,
    /// Nanoseconds an iteration: the middle one of time by iterations, or the mean of the two
    /// middle ones.
    pub median_ns: Real,
    /// How many elements one iteration handles, for a rate; absent: not meant as a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<Whole>,
}

impl Benchmark {
    /// What each sample says, in nanoseconds an iteration, in the order in which they were taken.
    pub fn each_ns(&self) -> Vec<f64> {
        each_ns(&self.iterations, &self.times_ns)
    }
}

/// The raw samples of one benchmark.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// How many iterations each sample ran, from 1 to 2^53 - 1.
    pub iterations: Vec<u64>,
    /// How long each sample took, in nanoseconds.
    pub times_ns: Vec<f64>,
    /// How many elements one iteration handles, if the benchmark is meant as a rate.
    pub elements: Option<u64>,
}

impl Samples {
    /// Reads the `sample.json` that criterion leaves in `target/criterion/ID/new/`.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the text, if it is not such a file.
    pub fn from_criterion(json: &str) -> Result<Self, serde_json::Error> {
        #[derive(serde::Deserialize)]
        struct Saved {
            iters: Vec<f64>,
            times: Vec<f64>,
        }
        let saved: Saved = serde_json::from_str(json)?;
        // Criterion keeps the counts as floats. A float that is no count becomes 0, which `build` refuses.
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, then is refused"
        )]
        let iterations = saved
            .iters
            .iter()
            .map(|count| {
                if count.fract() == 0.0 {
                    *count as u64
                } else {
                    0
                }
            })
            .collect();
        Ok(Self {
            iterations,
            times_ns: saved.times,
            elements: None,
        })
    }
}

/// Mean and median of a benchmark, in nanoseconds an iteration; `None` without samples, with a
/// sample of no iterations, or with lists of different lengths.
pub(crate) fn mean_and_median(iterations: &[Whole], times_ns: &[Real]) -> Option<(f64, f64)> {
    if iterations.is_empty()
        || iterations.len() != times_ns.len()
        || iterations.contains(&Whole::default())
    {
        return None;
    }
    let mut each = each_ns(iterations, times_ns);
    #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 samples")]
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    each.sort_by(f64::total_cmp);
    let middle = each.len() / 2;
    let median = if each.len() % 2 == 1 {
        each[middle]
    } else {
        f64::midpoint(each[middle - 1], each[middle])
    };
    Some((mean, median))
}

fn each_ns(iterations: &[Whole], times_ns: &[Real]) -> Vec<f64> {
    let pairs = iterations.iter().zip(times_ns);
    pairs
        .map(|(count, time)| time.get() / count.to_f64())
        .collect()
}

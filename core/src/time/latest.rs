//! The latest of all readings of a clock, so that none is before one that was over when it began.

use super::latest_sync::{AtomicI64, Ordering};

/// The latest reading so far, 0 before the first.
#[derive(Debug, Default)]
pub(super) struct Latest(AtomicI64);

impl Latest {
    /// The later of this reading and all before.
    pub(super) fn not_before(&self, reading: i64) -> i64 {
        // Most readings are of a millisecond that somebody has read before: then nothing is written, and
        // threads on other processors need not fetch it anew.
        let latest = self.0.load(Ordering::Acquire);
        if latest >= reading {
            return latest;
        }
        let latest = self.0.fetch_max(reading, Ordering::AcqRel);
        latest.max(reading)
    }
}

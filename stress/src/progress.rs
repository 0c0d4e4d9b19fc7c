//! The live line on a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::answer::Ending;
use crate::hot::HotSeats;
use crate::meter::Meter;
use crate::pace::Schedule;
use crate::units::{nanos, short_rate, thousands};

/// How far a load has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SoFar {
    /// Measured calls begun.
    pub attempts: u64,
    /// Measured sales.
    pub sold: u64,
    /// Measured calls that ended in an error.
    pub errors: u64,
    /// How often a hot seat moved on.
    pub hot_moves: u64,
}

impl SoFar {
    /// Of a load in this process. Its clients wait meanwhile.
    pub fn of(meter: &Meter, hot: &HotSeats) -> Self {
        let figures = meter.figures();
        Self {
            attempts: figures.measured.all_attempts(),
            sold: figures.measured.of(Ending::SOLD),
            errors: figures.measured.errors(),
            hot_moves: hot.moves(),
        }
    }

    /// With another process, which sees the same hot seats move on.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self {
            attempts: self.attempts + other.attempts,
            sold: self.sold + other.sold,
            errors: self.errors + other.errors,
            hot_moves: self.hot_moves.max(other.hot_moves),
        }
    }
}

/// Who is told how the run is going.
#[derive(Debug)]
pub enum Progress {
    /// A person, by a line on the terminal.
    Line(ProgressBar),
    /// The first process of the run.
    Told(fn(&SoFar)),
    /// Nobody is there to see it.
    Silent,
}

impl Progress {
    /// A line on the terminal, if standard error is one.
    pub fn on_terminal() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::Silent;
        }
        let bar = ProgressBar::new(1);
        let style = ProgressStyle::with_template("{bar:24} {msg}")
            .expect("a valid template")
            .progress_chars("━╸─");
        bar.set_style(style);
        Self::Line(bar)
    }

    /// A step before or after the load, in a few words.
    pub fn say(&self, words: &'static str) {
        if let Self::Line(bar) = self {
            bar.set_message(words);
            bar.tick();
        }
    }

    /// Shows how far the load has come.
    pub fn show(&self, now_ns: u64, schedule: &Schedule, so_far: impl FnOnce() -> SoFar) {
        let bar = match self {
            Self::Line(bar) => bar,
            Self::Told(tell) => return tell(&so_far()),
            Self::Silent => return,
        };
        let SoFar {
            attempts,
            sold,
            errors,
            hot_moves,
        } = so_far();
        let elapsed_ns = now_ns.saturating_sub(schedule.measured_from_ns);
        if let Some(end_ns) = schedule.end_ns {
            bar.set_length(nanos(Duration::from_nanos(end_ns - schedule.begin_ns)));
            bar.set_position(now_ns.saturating_sub(schedule.begin_ns));
        } else if let Some(calls) = schedule.calls {
            bar.set_length(calls);
            bar.set_position(attempts);
        }
        #[allow(clippy::cast_precision_loss, reason = "three digits of it are shown")]
        let rate = attempts as f64 * 1e9 / elapsed_ns.max(1) as f64;
        let errors = if errors > 0 {
            format!(" · {} errors", thousands(errors))
        } else {
            String::new()
        };
        bar.set_message(format!(
            "{:.0}s · {}/s · {} sold · hot seat {}{errors}",
            Duration::from_nanos(elapsed_ns).as_secs_f64(),
            short_rate(rate),
            thousands(sold),
            thousands(hot_moves + 1),
        ));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if let Self::Line(bar) = self {
            bar.finish_and_clear();
        }
    }
}

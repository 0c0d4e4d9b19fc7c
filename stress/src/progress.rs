//! The live line on a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::answer::Ending;
use crate::hot::HotSeats;
use crate::meter::Meter;
use crate::pace::Schedule;
use crate::units::{nanos, short_rate, thousands};

/// A line that says how the run is going; nothing at all when there is nobody to see it.
#[derive(Debug)]
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// A line on the terminal, if standard error is one.
    pub fn on_terminal() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::new(1);
        let style = ProgressStyle::with_template("{bar:24} {msg}")
            .expect("a valid template")
            .progress_chars("━╸─");
        bar.set_style(style);
        Self(Some(bar))
    }

    /// No line.
    pub const fn silent() -> Self {
        Self(None)
    }

    /// A step before or after the load, in a few words.
    pub fn say(&self, words: &'static str) {
        if let Some(bar) = &self.0 {
            bar.set_message(words);
            bar.tick();
        }
    }

    /// How far the load has come.
    pub fn show(&self, now_ns: u64, schedule: &Schedule, meter: &Meter, hot: &HotSeats) {
        let Some(bar) = &self.0 else { return };
        let (attempts, sold, errors) = {
            let figures = meter.figures();
            (
                figures.measured.all_attempts(),
                figures.measured.of(Ending::SOLD),
                figures.measured.errors(),
            )
        };
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
            thousands(hot.moves() + 1),
        ));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

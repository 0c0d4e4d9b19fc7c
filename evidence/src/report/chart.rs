//! Scales, axes and frames of the charts, as SVG.

use std::fmt::Write as _;

use crate::report::escape;

/// The drawing area of a chart in its own units. The page scales it to its column.
pub(super) const LEFT: f64 = 56.0;
pub(super) const RIGHT: f64 = 388.0;
pub(super) const TOP: f64 = 14.0;
pub(super) const BOTTOM: f64 = 186.0;
const WIDTH: u32 = 400;
const HEIGHT: u32 = 224;

/// Maps a range of numbers to a range of the drawing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    log: bool,
}

impl Scale {
    /// A linear scale. An empty range is widened.
    pub(super) fn linear(from: f64, to: f64, start: f64, end: f64) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Self {
            from,
            to,
            start,
            end,
            log: false,
        }
    }

    /// A logarithmic scale from a power of ten to a power of ten, that holds both numbers.
    pub(super) fn decades(least: f64, greatest: f64, start: f64, end: f64) -> Self {
        let from = least.max(1e-9).log10().floor();
        let to = greatest.max(1e-9).log10().ceil().max(from + 1.0);
        Self {
            from,
            to,
            start,
            end,
            log: true,
        }
    }

    /// Where a number stands in the drawing.
    pub(super) fn at(&self, number: f64) -> f64 {
        let number = if self.log {
            number.max(1e-9).log10()
        } else {
            number
        };
        let share = (number - self.from) / (self.to - self.from);
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// The powers of ten of a logarithmic scale, at most seven of them.
    pub(super) fn powers(&self) -> Vec<f64> {
        let span = self.to - self.from;
        let step = (span / 6.0).ceil().max(1.0);
        let ticks = (0..=7).map(|position| self.from + f64::from(position) * step);
        ticks
            .take_while(|exponent| *exponent <= self.to + 1e-9)
            .map(|exponent| 10_f64.powf(exponent))
            .collect()
    }

    /// Round numbers from 0 to the end of a linear scale: three to six.
    pub(super) fn round_steps(&self) -> Vec<f64> {
        let raw = self.to / 4.0;
        let power = 10_f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|step| *step >= raw)
            .unwrap_or(raw);
        (0..=6)
            .map(|position| f64::from(position) * step)
            .take_while(|tick| *tick <= self.to * 1.0001)
            .collect()
    }
}

/// A chart: a title, horizontal lines with labels, labels below, and what is drawn inside.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) left: Vec<(f64, String)>,
    pub(super) below: Vec<(f64, String)>,
    pub(super) below_title: &'static str,
    pub(super) drawing: String,
    /// What a reader who does not see it is told.
    pub(super) description: String,
}

impl Chart {
    pub(super) fn svg(&self) -> String {
        let mut svg = format!(
            "<figure class=\"chart\"><figcaption>{}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            escape(&self.title),
            escape(&self.description)
        );
        for (at, label) in &self.left {
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT - 6.0,
                at + 4.0,
                escape(label)
            );
        }
        for (at, label) in &self.below {
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{BOTTOM}\" y2=\"{:.1}\"/>\
                 <text class=\"mid\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
                BOTTOM + 4.0,
                BOTTOM + 17.0,
                escape(label)
            );
        }
        let _ = writeln!(
            svg,
            "<text class=\"mid axis\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            f64::midpoint(LEFT, RIGHT),
            BOTTOM + 33.0,
            self.below_title
        );
        svg.push_str(&self.drawing);
        let _ = writeln!(
            svg,
            "<line class=\"base\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\"/>"
        );
        svg.push_str("</svg></figure>\n");
        svg
    }
}

/// A legend: a spot of colour and a name for each.
pub(super) fn legend(entries: impl IntoIterator<Item = (String, String)>) -> String {
    let mut html = String::from("<p class=\"legend\">");
    for (class, name) in entries {
        let _ = write!(
            html,
            "<span><i class=\"{class}\"></i>{}</span>",
            escape(&name)
        );
    }
    html + "</p>\n"
}

/// Points as the `points` of a polyline; those nearer than half a unit to the last one are left out.
pub(super) fn points(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut text = String::new();
    let mut last: Option<(f64, f64)> = None;
    for (x, y) in points {
        if last.is_some_and(|(before_x, before_y)| {
            (x - before_x).abs() < 0.5 && (y - before_y).abs() < 0.5
        }) {
            continue;
        }
        let _ = write!(text, "{x:.1},{y:.1} ");
        last = Some((x, y));
    }
    text
}

//! A violation as a picture: one HTML file with everything in it, for any browser, light or dark.
//!
//! One lane per client, one row per operation, a bar from invocation to return. The operations that
//! contradict each other are marked and numbered as in the text. Time runs to the right; stretches in
//! which nothing begins or ends are shortened, so that a nanosecond and a second fit on one page.

use std::fmt::Write as _;

use super::{answer, around, call, end, millis};
use crate::history::{Answer, History, OPEN, Operation};
use crate::serializable::Violation;

const LEFT: f64 = 92.0;
const WIDTH: f64 = 1080.0;
const ROW: f64 = 40.0;
const TOP: f64 = 34.0;
/// Room for the text of a bar that begins at the right end.
const TEXT: f64 = 400.0;

const STYLE: &str = "
:root { --ground: #fbfaf8; --ink: #22262b; --faint: #6b7280; --line: #dcd8d0; --lane: #f2efe9;
  --bar: #a9b7c6; --made: #4f7ca8; --bad: #c2371f; --bad-soft: #f6d9d2; }
@media (prefers-color-scheme: dark) { :root { --ground: #16191d; --ink: #e6e4df; --faint: #969ca5;
  --line: #343a41; --lane: #1d2126; --bar: #55616e; --made: #6f9cc9; --bad: #ff7a5c; --bad-soft: #46251d; } }
body { background: var(--ground); color: var(--ink); margin: 2rem auto; max-width: 1120px; padding: 0 1rem;
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.25rem; margin: 0 0 .3rem; } h1 b { color: var(--bad); font-weight: 600; }
p { margin: .2rem 0 1rem; } .hint { color: var(--faint); font-size: .85rem; }
figure { margin: 1.2rem 0; overflow-x: auto; } svg { display: block; max-width: none; }
text { fill: var(--ink); font: 12.5px ui-monospace, monospace; paint-order: stroke; stroke: var(--ground);
  stroke-width: 3px; stroke-linejoin: round; } .faint { fill: var(--faint); }
.lane { fill: var(--lane); } .rule { stroke: var(--line); } .client { font: 600 13px system-ui, sans-serif; }
.bar { fill: var(--bar); } .made { fill: var(--made); } .bad { fill: var(--bad); }
.glow { fill: var(--bad-soft); } .mark { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 4 3; }
.number { stroke: none; fill: var(--ground); font: 700 12px system-ui, sans-serif; text-anchor: middle; }
.open { fill: none; stroke: var(--bad); stroke-dasharray: 3 3; } .tick { font-size: 11px; text-anchor: middle; }
";

/// The picture, as the text of an HTML file.
pub fn picture(history: &History, violation: &Violation) -> String {
    let shown = around(history, violation);
    let scale = Scale::new(&shown);
    let title = format!("{}: {}", violation.rule, violation.problem);
    let mut html = String::new();
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n\
         <style>{STYLE}</style>\n<h1>Violated: <b>{}</b></h1>\n<p>{}</p>\n<figure>\n",
        escaped(&title),
        violation.rule,
        escaped(&sentence(violation))
    );
    draw(&mut html, history, &shown, &scale);
    html.push_str(
        "</figure>\n<p class=\"hint\">A bar is one call, from its invocation to its return; blue bars \
         changed the seat. Marked bars contradict each other, the others ran around them on the same \
         seat. Times are milliseconds since the start of the run, and @ is the time on the store's \
         clock. Time is not to scale: stretches in which nothing begins or ends are shortened.</p>\n</html>\n",
    );
    html
}

fn sentence(violation: &Violation) -> String {
    let mut problem = violation.problem.to_owned();
    if let Some(first) = problem.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    problem + "."
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Where an instant is drawn.
struct Scale {
    /// Instants, and where they stand, both rising.
    stops: Vec<(u64, f64)>,
}

impl Scale {
    fn new(shown: &[(Operation, Option<usize>)]) -> Self {
        let mut instants: Vec<u64> = shown
            .iter()
            .flat_map(|(operation, _)| [operation.invoked(), operation.returned()])
            .filter(|instant| *instant != OPEN)
            .collect();
        instants.sort_unstable();
        instants.dedup();
        #[expect(clippy::cast_precision_loss, reason = "a place on a page")]
        let room = |pair: &[u64]| 1.0 + ((pair[1] - pair[0]) as f64 / 1_000.0).ln_1p();
        let sum: f64 = instants.windows(2).map(room).sum();
        let unit = (WIDTH - LEFT - TEXT) / sum.max(1.0);
        let mut x = LEFT + 14.0;
        let mut stops = Vec::with_capacity(instants.len());
        for (place, instant) in instants.iter().enumerate() {
            if place > 0 {
                x += unit * room(&instants[place - 1..=place]);
            }
            stops.push((*instant, x));
        }
        Self { stops }
    }

    /// The place of one of the instants that it was made from.
    fn x(&self, instant: u64) -> f64 {
        let found = self.stops.binary_search_by_key(&instant, |(stop, _)| *stop);
        found.map_or(WIDTH, |place| self.stops[place].1)
    }
}

fn draw(html: &mut String, history: &History, shown: &[(Operation, Option<usize>)], scale: &Scale) {
    #[expect(clippy::cast_precision_loss, reason = "a place on a page")]
    let height = TOP + ROW * shown.len() as f64 + 24.0;
    let _ = writeln!(
        html,
        "<svg role=\"img\" aria-label=\"the operations as a timeline\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" xmlns=\"http://www.w3.org/2000/svg\">"
    );
    lanes(html, shown);
    marks(html, shown, scale, height);
    for ((operation, place), y) in shown.iter().zip(rows()) {
        bar(html, history, operation, *place, scale, y);
    }
    html.push_str("</svg>\n");
}

/// The upper edges of the rows.
fn rows() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(TOP), |y| Some(y + ROW))
}

/// A band and a name per client.
fn lanes(html: &mut String, shown: &[(Operation, Option<usize>)]) {
    let mut y = TOP;
    for (number, lane) in shown
        .chunk_by(|(one, _), (next, _)| one.when().client == next.when().client)
        .enumerate()
    {
        #[expect(clippy::cast_precision_loss, reason = "a place on a page")]
        let height = ROW * lane.len() as f64;
        if number % 2 == 0 {
            let _ = writeln!(
                html,
                "<rect class=\"lane\" x=\"0\" y=\"{y}\" width=\"{WIDTH}\" height=\"{height}\"/>"
            );
        }
        let _ = writeln!(
            html,
            "<text class=\"client\" x=\"10\" y=\"{}\">client {}</text>",
            y + ROW / 2.0 + 4.0,
            lane[0].0.when().client
        );
        y += height;
    }
}

/// A dashed line, with its time, where an operation that is numbered begins and ends.
fn marks(html: &mut String, shown: &[(Operation, Option<usize>)], scale: &Scale, height: f64) {
    let mut instants: Vec<u64> = shown
        .iter()
        .filter(|(_, place)| place.is_some())
        .flat_map(|(operation, _)| [operation.invoked(), operation.returned()])
        .filter(|instant| *instant != OPEN)
        .collect();
    instants.sort_unstable();
    instants.dedup();
    let mut free_from = f64::MIN;
    for instant in instants {
        let x = scale.x(instant);
        let _ = writeln!(
            html,
            "<line class=\"mark\" x1=\"{x:.1}\" y1=\"{}\" x2=\"{x:.1}\" y2=\"{}\"/>",
            TOP - 6.0,
            height - 22.0
        );
        // Times that would stand on one another go above and below in turn.
        let text = millis(instant);
        #[expect(clippy::cast_precision_loss, reason = "a place on a page")]
        let wide = text.len() as f64 * 7.0;
        let y = if x - wide / 2.0 < free_from {
            height - 6.0
        } else {
            TOP - 12.0
        };
        if y < TOP {
            free_from = x + wide / 2.0 + 6.0;
        }
        let _ = writeln!(
            html,
            "<text class=\"tick faint\" x=\"{x:.1}\" y=\"{y}\">{text}</text>"
        );
    }
}

fn bar(
    html: &mut String,
    history: &History,
    operation: &Operation,
    place: Option<usize>,
    scale: &Scale,
    y: f64,
) {
    let (from, open) = (scale.x(operation.invoked()), operation.returned() == OPEN);
    let to = if open {
        WIDTH - 12.0
    } else {
        scale.x(operation.returned())
    };
    let changed = matches!(operation.answer(&history.details), Answer::Receipt { told, .. } if told.changed_seat());
    let class = match (place, open, changed) {
        (_, true, _) => "open",
        (Some(_), ..) => "bad",
        (None, _, true) => "made",
        (None, _, false) => "bar",
    };
    if place.is_some() {
        let _ = writeln!(
            html,
            "<rect class=\"glow\" x=\"{:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{}\" rx=\"5\"/>",
            LEFT - 4.0,
            y + 2.0,
            WIDTH - LEFT,
            ROW - 4.0
        );
    }
    let says = format!(
        "{} = {}",
        call(history, &operation.call()),
        answer(history, operation)
    );
    let _ = writeln!(
        html,
        "<g><title>{} to {} ms</title>\
         <rect class=\"{class}\" x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"9\" rx=\"3\"/>\
         <text x=\"{:.1}\" y=\"{}\">{}</text></g>",
        millis(operation.invoked()),
        end(operation.returned()),
        y + 24.0,
        (to - from).max(5.0),
        if place.is_some() { from + 14.0 } else { from },
        y + 17.0,
        escaped(&says)
    );
    if let Some(number) = place {
        let _ = writeln!(
            html,
            "<circle class=\"bad\" cx=\"{from:.1}\" cy=\"{}\" r=\"9\"/>\
             <text class=\"number\" x=\"{from:.1}\" y=\"{}\">{number}</text>",
            y + 13.0,
            y + 17.0
        );
    }
}

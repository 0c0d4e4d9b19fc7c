//! The table of ratios: under each thing that was measured, the yardsticks that it is measured by.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, Table, Width};
use evidence::Rule;

use crate::rounds::Spread;
use crate::shown::significant;

/// Blanks between two columns.
const GAP: u16 = 2;

/// How to read it.
const LEGEND: &str = "
ratio: a figure by the yardstick below it, both the medians of all rounds; of
rates more is better, of times less. rounds: the least and the greatest ratio
of one round.";

/// A yardstick, and how much of it was reached.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    /// What was measured.
    pub(crate) what: &'a str,
    /// What it came to.
    pub(crate) ours: String,
    /// The yardstick in a few words.
    pub(crate) beside: &'a str,
    /// What that came to.
    pub(crate) yardstick: String,
    /// The one by the other.
    pub(crate) ratio: Spread,
    /// What the ratio of the medians is hoped to be.
    pub(crate) aim: Option<(Rule, f64)>,
}

/// The rows so far.
#[derive(Debug)]
pub(crate) struct Ratios {
    table: Table,
    /// Before which row something new begins, and what it came to.
    heads: Vec<(usize, String, String)>,
    rows: usize,
}

impl Ratios {
    /// No row yet.
    pub(crate) fn new() -> Self {
        let mut table = Table::new();
        table
            .load_style(NOTHING)
            .set_header(["", "", "ratio", "rounds", "aim", "met"]);
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        // An aim and whether it is met belong together.
        if let Some(column) = table.column_mut(4) {
            column.set_padding((0, 1));
        }
        for column in 1..=4 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self {
            table,
            heads: Vec::new(),
            rows: 0,
        }
    }

    /// Adds a row; one about the same as the row before stands under the same head.
    pub(crate) fn add(&mut self, row: Row<'_>) {
        let last = self.heads.last();
        if last.is_none_or(|(_, what, ours)| (what.as_str(), ours) != (row.what, &row.ours)) {
            let head = (self.rows, row.what.to_owned(), row.ours);
            self.heads.push(head);
        }
        let (aim, met) = match row.aim {
            None => (String::new(), ""),
            Some((rule, limit)) => (
                match rule {
                    Rule::AtLeast => format!("≥ {limit}"),
                    Rule::AtMost => format!("≤ {limit}"),
                    Rule::Below | Rule::Above => format!("{} {limit}", rule.sign()),
                },
                if rule.keeps(row.ratio.median, limit) {
                    "yes"
                } else {
                    "no"
                },
            ),
        };
        let [ratio, least, greatest] =
            [row.ratio.median, row.ratio.least, row.ratio.greatest].map(significant);
        self.rows += 1;
        self.table.add_row([
            &format!("  {}", row.beside),
            &row.yardstick,
            &ratio,
            &format!("{least}–{greatest}"),
            &aim,
            met,
        ]);
    }

    /// All rows under their heads, and how to read them; nothing when there is none.
    pub(crate) fn shown(&self) -> Option<String> {
        let mut table = self.table.clone();
        let widths = table.column_max_content_widths();
        let [name, value, ..] = widths[..] else {
            return None;
        };
        // What was measured stands right above what its yardsticks came to.
        let heads = self.heads.iter();
        let longest = heads.map(|(_, what, ours)| what.chars().count() + 1 + ours.chars().count());
        let width = longest
            .max()
            .unwrap_or(0)
            .max(usize::from(name + GAP + value));
        let name = u16::try_from(width).unwrap_or(u16::MAX) - value;
        if let Some(column) = table.column_mut(0) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(name)));
        }
        let mut heads = self.heads.iter().peekable();
        let mut shown = Vec::new();
        for (line, text) in table.lines().enumerate() {
            // The first line names the columns.
            if let Some((_, what, ours)) = heads.next_if(|(row, ..)| row + 1 == line) {
                let room = width - what.chars().count();
                shown.push(format!("{what}{ours:>room$}"));
            }
            shown.push(text.trim_end().to_owned());
        }
        shown.push(LEGEND.to_owned());
        (self.rows > 0).then(|| shown.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(median: f64, least: f64, greatest: f64) -> Spread {
        Spread {
            median,
            least,
            greatest,
        }
    }

    #[test]
    fn what_was_measured_stands_above_its_yardsticks() {
        let mut ratios = Ratios::new();
        assert_eq!(ratios.shown(), None);
        let row = Row {
            what: "hot seat, 128 clients: attempts",
            ours: "105,329/s".to_owned(),
            beside: "one commit each",
            yardstick: "15,428/s".to_owned(),
            ratio: spread(6.83, 6.07, 7.08),
            aim: Some((Rule::AtLeast, 8.0)),
        };
        ratios.add(row);
        ratios.add(Row {
            what: "hot seat, 128 clients: attempts",
            ours: "105,329/s".to_owned(),
            beside: "bare prepared point reads",
            yardstick: "2,283,208/s".to_owned(),
            ratio: spread(0.0461, 0.0404, 0.048),
            aim: None,
        });
        ratios.add(Row {
            what: "hot seat, 128 clients: longest wait",
            ours: "21.4 ms".to_owned(),
            beside: "one commit each",
            yardstick: "2.23 s".to_owned(),
            ratio: spread(0.009_58, 0.0073, 0.0443),
            aim: Some((Rule::AtMost, 0.01)),
        });
        let expected = [
            "                                               ratio          rounds     aim met",
            "hot seat, 128 clients: attempts   105,329/s",
            "  one commit each                  15,428/s     6.83       6.07–7.08     ≥ 8 no",
            "  bare prepared point reads     2,283,208/s   0.0461   0.0404–0.0480",
            "hot seat, 128 clients: longest wait 21.4 ms",
            "  one commit each                    2.23 s  0.00958  0.00730–0.0443  ≤ 0.01 yes",
        ];
        let shown = ratios.shown().expect("three rows");
        let (table, legend) = shown.split_once("\n\n").expect("two parts");
        assert_eq!(table.lines().collect::<Vec<_>>(), expected);
        assert!(legend.starts_with("ratio: "), "{legend}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn a_head_that_is_longer_than_its_rows_makes_room_for_itself() {
        let mut ratios = Ratios::new();
        for (what, ours) in [("hold with 50,000 seats", "346 µs"), ("refusal", "3 µs")] {
            ratios.add(Row {
                what,
                ours: ours.to_owned(),
                beside: "with 1",
                yardstick: "507 µs".to_owned(),
                ratio: spread(0.682, 0.461, 1.52),
                aim: None,
            });
        }
        let shown = ratios.shown().expect("two rows");
        let expected = [
            "                               ratio      rounds  aim met",
            "hold with 50,000 seats 346 µs",
            "  with 1               507 µs  0.682  0.461–1.52",
            "refusal                  3 µs",
            "  with 1               507 µs  0.682  0.461–1.52",
        ];
        assert_eq!(shown.lines().take(5).collect::<Vec<_>>(), expected);
    }
}

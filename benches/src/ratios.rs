//! The table of ratios: under each thing that was measured, the yardsticks that it is measured by.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use evidence::Rule;

use crate::rounds::Spread;
use crate::shown::significant;

/// Blanks between two columns.
const GAP: u16 = 2;

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
    /// What the median is hoped to be.
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
                format!("{} {limit}", rule.sign()),
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

    /// All rows under their heads; nothing when there is none.
    pub(crate) fn shown(&self) -> Option<String> {
        let widths = self.table.column_max_content_widths();
        let [name, value, ..] = widths[..] else {
            return None;
        };
        // What was measured stands right above what its yardsticks came to.
        let width = usize::from(name + GAP + value);
        let mut heads = self.heads.iter().peekable();
        let mut shown = Vec::new();
        for (line, text) in self.table.lines().enumerate() {
            // The first line names the columns.
            if let Some((_, what, ours)) = heads.next_if(|(row, ..)| row + 1 == line) {
                let room = width.saturating_sub(what.chars().count());
                let room = room.max(ours.chars().count() + 1);
                shown.push(format!("{what}{ours:>room$}"));
            }
            shown.push(text.trim_end().to_owned());
        }
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
            what: "hot seat, 32 clients: attempts",
            ours: "105,329/s".to_owned(),
            beside: "one commit each",
            yardstick: "15,428/s".to_owned(),
            ratio: spread(6.83, 6.07, 7.08),
            aim: Some((Rule::AtLeast, 8.0)),
        };
        ratios.add(row);
        ratios.add(Row {
            what: "hot seat, 32 clients: attempts",
            ours: "105,329/s".to_owned(),
            beside: "bare prepared point reads",
            yardstick: "2,283,208/s".to_owned(),
            ratio: spread(0.0461, 0.0404, 0.048),
            aim: None,
        });
        ratios.add(Row {
            what: "hot seat, 32 clients: longest wait",
            ours: "21.4 ms".to_owned(),
            beside: "one commit each",
            yardstick: "2.23 s".to_owned(),
            ratio: spread(0.009_58, 0.0073, 0.0443),
            aim: Some((Rule::AtMost, 0.01)),
        });
        let expected = [
            "                                            ratio          rounds      aim  met",
            "hot seat, 32 clients: attempts 105,329/s",
            "  one commit each               15,428/s     6.83       6.07–7.08     >= 8  no",
            "  bare prepared point reads  2,283,208/s   0.0461   0.0404–0.0480",
            "hot seat, 32 clients: longest wait 21.4 ms",
            "  one commit each                 2.23 s  0.00958  0.00730–0.0443  <= 0.01  yes",
        ];
        let shown = ratios.shown().expect("three rows");
        assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
        assert!(shown.lines().all(|line| line.chars().count() <= 80));
    }
}

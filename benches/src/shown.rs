//! Numbers and tables for a reader.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

/// Three significant digits, without an exponent.
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let mut decimals = 2;
    let mut size = value.abs();
    while size < 1.0 && decimals < 9 {
        size *= 10.0;
        decimals += 1;
    }
    while size >= 10.0 && decimals > 0 {
        size /= 10.0;
        decimals -= 1;
    }
    // Rounding up to the next power of ten would show one digit more.
    if size >= 9.995 && decimals > 0 {
        decimals -= 1;
    }
    format!("{value:.decimals$}")
}

/// A whole number with a comma between thousands.
pub fn rounded(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A time in the unit that suits it.
pub fn time(ns: f64) -> String {
    let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (unit, size) = units
        .into_iter()
        .rev()
        .find(|(_, size)| ns >= *size)
        .unwrap_or(units[0]);
    format!("{} {unit}", significant(ns / size))
}

/// A table of rows under a head, all numbers to the right.
pub fn table(head: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(head);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.add_rows(rows);
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_a_reader() {
        for (value, shown) in [
            (0.003_456, "0.00346"),
            (0.985, "0.985"),
            (1.0, "1.00"),
            (0.9994, "0.999"),
            (0.9996, "1.00"),
            (9.996, "10.0"),
            (99.96, "100"),
            (999.6, "1000"),
            (6.549, "6.55"),
            (123.4, "123"),
            (0.0, "0"),
        ] {
            assert_eq!(significant(value), shown);
        }
        assert_eq!(rounded(1_234_567.4), "1,234,567");
        assert_eq!(rounded(999.6), "1,000");
        assert_eq!(time(950.0), "950 ns");
        assert_eq!(time(3_456_000.0), "3.46 ms");
        assert_eq!(time(2.5e9), "2.50 s");
    }

    #[test]
    fn a_table_has_its_numbers_to_the_right() {
        let rows = vec![vec!["1".to_owned(), "3.5 ms".to_owned()]];
        let shown = table(&["clients", "hold"], rows);
        assert_eq!(shown, " clients    hold\n       1  3.5 ms");
    }
}

//! Lines of text that fit.

use std::fmt::Write as _;

use crate::units::thousands;

/// The width that nothing goes beyond.
pub(crate) const WIDTH: usize = 80;

/// A line with a name, and parts behind it; of parts that are empty, nothing.
pub(crate) fn line(out: &mut String, name: &str, parts: &[String]) {
    let parts: Vec<_> = parts
        .iter()
        .filter(|part| !part.is_empty())
        .cloned()
        .collect();
    let text = wrapped(&parts, 10);
    let _ = writeln!(out, "{name:<10}{}", text.trim_start().trim_end());
}

/// Parts with a comma between them, in lines that are not too long.
pub(crate) fn wrapped(parts: &[String], indent: usize) -> String {
    let margin = " ".repeat(indent);
    let mut out = margin.clone();
    let mut column = indent;
    for (at, part) in parts.iter().enumerate() {
        let last = at + 1 == parts.len();
        let length = part.chars().count() + usize::from(!last);
        if column > indent && column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&margin);
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(part);
        if !last {
            out.push(',');
        }
        column += length;
    }
    out.push('\n');
    out
}

/// Words in lines that are not too long: the first begins after so many spaces, the others after so many.
/// A word that is longer than a line, such as a path, stays whole.
pub(crate) fn paragraph(text: &str, first: usize, rest: usize) -> String {
    let (first, rest) = (" ".repeat(first), " ".repeat(rest));
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(&first)
        .subsequent_indent(&rest)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .word_separator(textwrap::WordSeparator::AsciiSpace);
    let mut out = textwrap::fill(text.trim_end(), options);
    out.push('\n');
    out
}

/// `1 buyer`, `2 buyers`.
pub(crate) fn plural(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {what}{s}", thousands(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_wrapped_before_the_margin_and_never_within_a_part() {
        let parts: Vec<_> = (0..9).map(|n| format!("part number {n}")).collect();
        let text = wrapped(&parts, 4);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.lines().all(|line| line.starts_with("    part")));
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn a_long_text_is_wrapped_and_a_long_word_stays_whole() {
        let path = "/folder".repeat(12);
        let text = paragraph(&format!("{} {path}", "word ".repeat(30).trim_end()), 2, 4);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("  word") && lines[1].starts_with("    word"));
        assert_eq!(lines.last().expect("a line").trim_start(), path);
        let wrapped = &lines[..lines.len() - 1];
        assert!(
            wrapped.iter().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
    }

    #[test]
    fn one_thing_has_no_s() {
        assert_eq!(plural(1, "call"), "1 call");
        assert_eq!(plural(1_000, "call"), "1,000 calls");
    }
}

//! The lines of the summary about calls that ended in an error.

use crate::answer::Ending;
use crate::layout::{paragraph, plural};
use crate::report::Report;
use crate::units::thousands;

/// Where the text of a line of the summary begins, and where it goes on.
const INDENT: [usize; 2] = [10, 12];

impl Report<'_> {
    /// How many errors there were, what they are, and the first of each kind in full.
    pub(crate) fn errors(&self) -> String {
        let figures = &self.load.figures;
        let errors = figures.measured.errors() + figures.unmeasured.errors();
        let count = match errors {
            0 => "none".to_owned(),
            errors => thousands(errors),
        };
        let on_purpose = if self.config.workload.redeliver_percent > 0.0 {
            " (others come twice on purpose)"
        } else {
            ""
        };
        let again = plural(figures.retries, "call");
        let words = format!("errors    {count}, {again} repeated because of one{on_purpose}");
        let mut out = paragraph(&words, 0, INDENT[0]);
        if let Some(words) = self.of_killed() {
            out.push_str(&paragraph(&words, INDENT[0], INDENT[1]));
        }
        for (ending, words) in &self.load.errors {
            let first = first_error(*ending, words);
            out.push_str(&paragraph(&first, INDENT[0], INDENT[1]));
        }
        out
    }

    /// What the errors of processes that were killed are.
    fn of_killed(&self) -> Option<String> {
        let killed = self.load.processes.iter().filter(|p| p.killed_by.is_some());
        in_flight(killed.map(|process| process.unknown).sum())
    }
}

fn in_flight(calls: u64) -> Option<String> {
    let (are, its, they) = match calls {
        0 => return None,
        1 => ("is a call", "whose answer", "it"),
        _ => ("are calls", "whose answers", "each"),
    };
    Some(format!(
        "{} of them {are} of a killed process {its} nobody got: {they} may have taken effect or \
         not, and the check allows for both",
        thousands(calls)
    ))
}

fn first_error(ending: Ending, words: &str) -> String {
    format!(
        "first error of {}, {}: {words}",
        ending.operation().name(),
        ending.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Operation;

    #[test]
    fn a_first_error_names_its_operation_and_is_kept_whole_within_80_columns() {
        let busy =
            |ending: &Ending| ending.operation() == Operation::Confirm && ending.name() == "busy";
        let ending = Ending::all().find(busy).expect("there is one");
        let words = "not applied: the database was busy for 5s ".repeat(5) + "at last";
        let text = paragraph(&first_error(ending, &words), INDENT[0], INDENT[1]);
        assert!(text.starts_with("          first error of confirm, busy: not applied"));
        assert!(text.ends_with("at last\n"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }

    #[test]
    fn calls_of_a_killed_process_are_explained() {
        assert_eq!(in_flight(0), None);
        let one = in_flight(1).expect("there is one");
        assert!(
            one.starts_with("1 of them is a call of a killed process"),
            "{one}"
        );
        let many = in_flight(1_234).expect("there are some");
        assert!(many.starts_with("1,234 of them are calls"), "{many}");
    }
}

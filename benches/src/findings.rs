//! What a run of comparisons found: printed as a table, and put into the evidence.

use std::collections::BTreeSet;

use evidence::{Builder, Check, Figure, Histogram, Labels, Operation, Rule, Samples, Unit};

use crate::comparison::Comparison;
use crate::error::Error;
use crate::race::Crowd;
use crate::ratios::{Ratios, Row};
use crate::rounds::{Side, Spread};
use crate::shown::significant;

/// Everything that a run of comparisons found.
#[derive(Debug)]
pub struct Findings {
    statement: Builder,
    ratios: Ratios,
    sides: BTreeSet<String>,
}

impl Findings {
    /// Nothing yet; all that is found goes into this statement.
    pub fn new(statement: Builder) -> Self {
        Self {
            statement,
            ratios: Ratios::new(),
            sides: BTreeSet::new(),
        }
    }

    /// The statement, for what has no form of its own here.
    pub fn statement(&mut self) -> &mut Builder {
        &mut self.statement
    }

    /// The statement as it is now, with everything in it.
    pub fn into_statement(self) -> Builder {
        self.statement
    }

    /// Has anything been found?
    pub fn is_empty(&self) -> bool {
        self.sides.is_empty()
    }

    /// The table of all comparisons so far; nothing when there is none.
    pub fn table(&self) -> Option<String> {
        self.ratios.shown()
    }

    /// Keeps the samples of a side, once.
    pub fn side(&mut self, side: &Side) {
        self.samples(&side.id, side.samples());
    }

    /// Keeps samples under a name, once.
    pub fn samples(&mut self, id: &str, samples: Samples) {
        if self.sides.insert(id.to_owned()) {
            self.statement.benchmark(id, samples);
        }
    }

    /// Adds a comparison.
    pub fn compare(&mut self, comparison: Comparison<'_>) {
        let ratio = self.keep(comparison);
        self.ratios.add(Row {
            what: comparison.what,
            ours: comparison.shown(comparison.ours),
            beside: comparison.beside,
            yardstick: comparison.shown(comparison.yardstick),
            ratio,
            aim: comparison.aim,
        });
    }

    /// Keeps a comparison that stands in a table of its own, and gives its ratio.
    pub fn keep(&mut self, comparison: Comparison<'_>) -> Spread {
        self.side(comparison.ours);
        self.side(comparison.yardstick);
        let name = format!("{}, against {}", comparison.what, comparison.beside);
        let ratio = comparison.ratio();
        self.statement
            .figure(Figure::measured(
                format!("{name}: least of the rounds"),
                "1",
                ratio.least,
            ))
            .figure(Figure::measured(
                format!("{name}: greatest of the rounds"),
                "1",
                ratio.greatest,
            ))
            .figure(comparison.figure(name));
        ratio
    }

    /// Adds how evenly two crowds were served, each round by itself and all together. The aim is for
    /// the index of ours.
    pub fn fairness(
        &mut self,
        what: &str,
        ours: &[Crowd],
        yardstick: &[Crowd],
        beside: &str,
        aim: Option<(Rule, f64)>,
    ) {
        let all = |rounds: &[Crowd]| {
            rounds
                .iter()
                .cloned()
                .fold(Crowd::empty(), |mut all, round| {
                    all.again(round);
                    all
                })
        };
        let (mine, theirs) = (all(ours), all(yardstick));
        let figure = Figure::fairness(what, mine.shares.iter().copied());
        self.statement
            .figure(match aim {
                Some((rule, limit)) => figure.aim(rule, limit),
                None => figure,
            })
            .figure(Figure::fairness(
                format!("{what}, {beside}"),
                theirs.shares.iter().copied(),
            ));
        let each = ours.iter().map(Crowd::fairness);
        let index = Spread {
            median: mine.fairness(),
            least: each.clone().fold(f64::INFINITY, f64::min),
            greatest: each.fold(0.0, f64::max),
        };
        // The index is a ratio already, so it stands in both places.
        self.ratios.add(Row {
            what,
            ours: significant(index.median),
            beside,
            yardstick: significant(theirs.fairness()),
            ratio: index,
            aim,
        });
    }

    /// Keeps what a crowd was answered, and its waits.
    ///
    /// # Errors
    /// [`Error::Answer`] when the waits can not be written down.
    pub fn crowd(&mut self, name: &str, crowd: &Crowd) -> Result<(), Error> {
        let operation = crowd.answers.iter().fold(
            Operation::new(name, crowd.attempts),
            |all, (answer, count)| all.outcome(*answer, *count),
        );
        let operation = if crowd.busy > 0 {
            operation.error("busy", crowd.busy)
        } else {
            operation
        };
        let waits = Histogram::every(
            Labels::new(name, "service_time"),
            Unit::Nanoseconds,
            &crowd.waits,
        )
        .map_err(|error| Error::Answer {
            doing: "writing waits down",
            expected: "a histogram",
            got: error.to_string(),
        })?;
        self.statement.operation(operation).histogram(waits);
        Ok(())
    }

    /// Adds the audits of several databases of one kind as one check.
    pub fn audits(&mut self, name: &str, each: &[Check]) {
        let sum = |of: fn(&Check) -> u64| each.iter().map(of).sum::<u64>();
        let Some(first) = each.first() else { return };
        let what = match each.len() {
            1 => first.what.clone(),
            many => format!("{}; {many} databases", first.what),
        };
        let together = Check::passed(format!("audit of {name}"), what, sum(|check| check.cases.0))
            .violations(sum(|check| check.violations.0));
        let notes = each.iter().flat_map(|check| &check.notes);
        self.statement.check(notes.fold(together, Check::note));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::By;
    use crate::rounds::Taken;
    use evidence::Kind;
    use std::time::Duration;

    fn side(id: &str, per_second: &[u64]) -> Side {
        let rounds = per_second.iter().map(|count| Taken {
            count: *count,
            time: Duration::from_secs(1),
        });
        Side::new(id, rounds.collect())
    }

    fn findings() -> Findings {
        let mut statement = Builder::new(Kind::Bench);
        statement.workspace(None);
        Findings::new(statement)
    }

    #[test]
    fn a_ratio_stands_in_the_table_and_follows_from_the_samples_in_the_evidence() {
        let (queue, each) = (
            side("queue", &[900, 800, 850]),
            side("each", &[100, 100, 50]),
        );
        let mut found = findings();
        let comparison = Comparison {
            what: "attempts",
            by: By::Rate,
            ours: &queue,
            yardstick: &each,
            beside: "one commit each",
            aim: Some((Rule::AtLeast, 8.0)),
        };
        found.compare(comparison);
        found.compare(Comparison {
            what: "time of one",
            by: By::Time,
            aim: Some((Rule::AtMost, 0.01)),
            ..comparison
        });
        let table = found.table().expect("two rows");
        let rows: Vec<Vec<&str>> = table
            .lines()
            .skip(1)
            .take_while(|line| !line.is_empty())
            .map(|line| {
                line.split("  ")
                    .map(str::trim)
                    .filter(|cell| !cell.is_empty())
                    .collect()
            })
            .collect();
        assert_eq!(
            rows,
            [
                vec!["attempts", "850/s"],
                vec!["one commit each", "100/s", "8.50", "8.00–17.0", "≥ 8 yes"],
                vec!["time of one", "1.18 ms"],
                vec![
                    "one commit each",
                    "10.0 ms",
                    "0.118",
                    "0.0588–0.125",
                    "≤ 0.01 no"
                ],
            ]
        );

        let statement = found.into_statement().build().expect("agrees with itself");
        let figures = &statement.predicate.results.figures;
        let ratio = figures
            .iter()
            .find(|figure| figure.name == "attempts, against one commit each")
            .expect("there");
        assert!((ratio.value.get() - 8.5).abs() < 1e-9);
        assert!(ratio.aim.expect("an aim").met);
        assert_eq!(
            statement.predicate.results.benchmarks.len(),
            2,
            "each side once"
        );
    }

    #[test]
    fn fairness_is_over_all_rounds_and_its_spread_over_each() {
        let crowd = |shares: [u64; 2]| Crowd {
            shares: shares.to_vec(),
            ..Crowd::empty()
        };
        let mut found = findings();
        found.fairness(
            "Jain index",
            &[crowd([10, 0]), crowd([0, 10])],
            &[crowd([10, 0]), crowd([10, 0])],
            "one commit each",
            Some((Rule::AtLeast, 0.98)),
        );
        let table = found.table().expect("a row");
        assert!(
            table.contains("Jain index") && table.contains("0.500   1.00  0.500–0.500  ≥ 0.98 yes"),
            "{table}"
        );
        let statement = found.into_statement().build().expect("agrees with itself");
        let values: Vec<f64> = statement
            .predicate
            .results
            .figures
            .iter()
            .map(|figure| figure.value.get())
            .collect();
        assert_eq!(values, [1.0, 0.5]);
    }
}

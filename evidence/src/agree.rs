//! The parts of a statement that have to agree with each other, each compared with its recomputation.

mod measured;

use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;

use crate::builder::SOURCE_TREE;
use crate::figure::{Derivation, Term};
use crate::number::Real;
use crate::recompute;
use crate::statement::{Checkout, Predicate, SCHEMA_VERSION, Statement};
use crate::value::Sha256;
use crate::verify::Finding;

/// Everything that does not agree, but for the digest.
pub(crate) fn contradictions(statement: &Statement) -> Vec<Finding> {
    let predicate = &statement.predicate;
    let mut found = Findings(Vec::new());
    // What others rest on comes first, so that the first line names the cause.
    found.subjects(statement);
    found.source(predicate);
    found.operations(predicate);
    found.histograms(predicate);
    found.series(predicate);
    found.benchmarks(predicate);
    found.figures(predicate);
    found.thresholds(predicate);
    found.checks_and_laws(predicate);
    found.head(predicate);
    found.0
}

struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, at: impl Into<String>, problem: impl Into<String>) {
        self.0.push(Finding::new(at, problem));
    }

    fn same<T: Copy + PartialEq + Display>(
        &mut self,
        at: impl Into<String>,
        recorded: T,
        expected: T,
    ) {
        if recorded != expected {
            self.add(at, format!("is {recorded}, expected {expected}"));
        }
    }

    fn same_real(&mut self, at: impl Into<String>, recorded: Real, expected: f64) {
        if !recorded.is_exactly(expected) {
            self.add(at, format!("is {recorded}, expected {expected}"));
        }
    }

    /// No key twice in a list.
    fn unique<K: Eq + Hash + Display>(&mut self, list: &str, keys: impl IntoIterator<Item = K>) {
        let mut seen = HashSet::new();
        for (position, key) in keys.into_iter().enumerate() {
            let text = key.to_string();
            if !seen.insert(key) {
                self.add(
                    format!("{list}[{position}]"),
                    format!("{text} stands twice in the list, expected once"),
                );
            }
        }
    }

    fn subjects(&mut self, statement: &Statement) {
        let source = &statement.predicate.source;
        let program = format!("program:{}", statement.predicate.run.program);
        let tree = source.tree_sha256.map(|digest| (SOURCE_TREE, Some(digest)));
        let expected: Vec<(&str, Option<Sha256>)> =
            tree.into_iter().chain([(program.as_str(), None)]).collect();
        let (found, wanted) = (statement.subject.len(), expected.len());
        if found != wanted {
            self.add("subject", format!("has {found} subjects, expected {wanted}: the source tree, if any, and the program"));
        }
        for (position, (subject, (name, digest))) in
            statement.subject.iter().zip(expected).enumerate()
        {
            self.same(
                format!("subject[{position}].name"),
                subject.name.as_str(),
                name,
            );
            if let Some(digest) = digest {
                self.same(
                    format!("subject[{position}].digest.sha256"),
                    subject.digest.sha256,
                    digest,
                );
            }
        }
    }

    fn head(&mut self, predicate: &Predicate) {
        self.same(
            "predicate.schema_version",
            predicate.schema_version,
            SCHEMA_VERSION,
        );
        let expected = recompute::verdict(predicate);
        self.same("predicate.verdict", predicate.verdict, expected);
        match &predicate.not_comparable_because {
            None if !predicate.comparable => {
                self.add(
                    "predicate.not_comparable_because",
                    "is absent, expected a reason, because comparable is false",
                );
            }
            Some(_) if predicate.comparable => {
                self.add(
                    "predicate.not_comparable_because",
                    "gives a reason, expected none, because comparable is true",
                );
            }
            Some(reason) if reason.trim().is_empty() => {
                self.add(
                    "predicate.not_comparable_because",
                    "is empty, expected a reason",
                );
            }
            _ => {}
        }
        let run = &predicate.run;
        if run.finished < run.started {
            self.add(
                "predicate.run.finished",
                format!("is {}, expected not before {}", run.finished, run.started),
            );
        }
    }

    fn source(&mut self, predicate: &Predicate) {
        let source = &predicate.source;
        let git = source.checkout == Checkout::Git;
        for (name, present) in [
            ("dirty", source.dirty.is_some()),
            ("tree_files", source.tree_files.is_some()),
            ("tree_sha256", source.tree_sha256.is_some()),
        ] {
            if present != git {
                let (is, expected) = if present {
                    ("present", "absent")
                } else {
                    ("absent", "present")
                };
                self.add(
                    format!("predicate.source.{name}"),
                    format!("is {is}, expected {expected} for this checkout"),
                );
            }
        }
        if let Some(revision) = &source.revision {
            let hex = revision
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            if !git || !hex || !matches!(revision.len(), 40 | 64) {
                self.add(
                    "predicate.source.revision",
                    format!("is {revision:?}, expected a commit id, and a git checkout"),
                );
            }
        }
    }

    fn checks_and_laws(&mut self, predicate: &Predicate) {
        self.unique(
            "predicate.checks",
            predicate.checks.iter().map(|check| &check.name),
        );
        for (position, check) in predicate.checks.iter().enumerate() {
            let bad = u128::from(check.violations.0) + u128::from(check.undecided.0);
            if bad > u128::from(check.cases.0) {
                let cases = check.cases;
                self.add(
                    format!("predicate.checks[{position}].cases"),
                    format!("is {cases}, expected at least {bad}, the violations and undecided cases together"),
                );
            }
        }
        self.unique("predicate.laws", predicate.laws.iter().map(|law| &law.name));
        for (position, law) in predicate.laws.iter().enumerate() {
            let at = format!("predicate.laws[{position}]");
            match recompute::law_sides(predicate, &law.left, &law.right) {
                None => self.add(
                    at,
                    "has an empty side, or one that names no count of this statement",
                ),
                Some((left, right)) if law.holds != (left == right) => {
                    let (is, expected) = (law.holds, left == right);
                    self.add(
                        format!("{at}.holds"),
                        format!("is {is}, expected {expected}: the sides are {left} and {right}"),
                    );
                }
                Some(_) => {}
            }
        }
    }

    fn term(&mut self, predicate: &Predicate, at: &str, term: &Term, figures: usize) {
        if let Some(reference) = &term.of {
            match recompute::resolve(predicate, reference, figures) {
                Some(value) => self.same_real(format!("{at}.value"), term.value, value),
                None => self.add(
                    format!("{at}.of"),
                    "names nothing that stands in this statement, or not before it",
                ),
            }
        }
    }

    fn thresholds(&mut self, predicate: &Predicate) {
        self.unique(
            "predicate.thresholds",
            predicate
                .thresholds
                .iter()
                .map(|threshold| &threshold.expression),
        );
        for (position, threshold) in predicate.thresholds.iter().enumerate() {
            let at = format!("predicate.thresholds[{position}]");
            self.term(
                predicate,
                &format!("{at}.observed"),
                &threshold.observed,
                predicate.results.figures.len(),
            );
            let met = threshold
                .rule
                .keeps(threshold.observed.value.get(), threshold.limit.get());
            self.same(format!("{at}.met"), threshold.met, met);
        }
    }

    fn figures(&mut self, predicate: &Predicate) {
        let figures = &predicate.results.figures;
        self.unique(
            "predicate.results.figures",
            figures.iter().map(|figure| &figure.name),
        );
        for (position, figure) in figures.iter().enumerate() {
            let at = format!("predicate.results.figures[{position}]");
            if let Derivation::Ratio {
                numerator,
                denominator,
            } = &figure.from
            {
                self.term(
                    predicate,
                    &format!("{at}.from.ratio.numerator"),
                    numerator,
                    position,
                );
                self.term(
                    predicate,
                    &format!("{at}.from.ratio.denominator"),
                    denominator,
                    position,
                );
            }
            if let Some(value) = recompute::figure(&figure.from) {
                self.same_real(format!("{at}.value"), figure.value, value);
            }
            if let Some(aim) = &figure.aim {
                self.same(
                    format!("{at}.aim.met"),
                    aim.met,
                    aim.rule.keeps(figure.value.get(), aim.limit.get()),
                );
            }
        }
    }
}

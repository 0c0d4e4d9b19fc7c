//! Builds a statement: the run says what it did, the builder adds the facts and the derived figures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, io};

use crate::benchmark::{self, Benchmark, Samples};
use crate::check::{Check, Law};
use crate::figure::{Derivation, Figure, Reference, Term, Threshold};
use crate::host;
use crate::number::{Integer, Real, Whole};
use crate::recompute;
use crate::render;
use crate::results::{Histogram, Operation, Results, Series};
use crate::scrub::{scrub, scrub_argument};
use crate::source;
use crate::statement::{
    Database, DigestSet, Kind, Predicate, PredicateType, Run, SCHEMA_VERSION, Statement,
    StatementType, Subject, Verdict,
};
use crate::value::{Sha256, UtcTime, Value};
use crate::verify::{Finding, contradictions};

/// Why a statement can not be built. All but [`BuildError::Program`] are mistakes of the program
/// that builds it.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The running program could not be read to take its digest.
    #[error("the running program could not be read: {0}")]
    Program(#[source] io::Error),
    /// A reference names nothing that stands in this statement.
    #[error("{0} refers to something that is not in the statement, or not before it: {1:?}")]
    Unresolved(String, Reference),
    /// A law has an empty side, or one that refers to no count.
    #[error(
        "the law {0} has an empty side, or refers to something that is not a count of the statement"
    )]
    NoCount(String),
    /// A figure is no finite number: given as such, or a division by zero.
    #[error("{0} is no finite number")]
    NotFinite(String),
    /// A benchmark has no samples, a sample without iterations, or lists of different lengths.
    #[error(
        "the benchmark {0} needs as many times as iteration counts, at least one, and none of zero"
    )]
    NoSamples(String),
    /// The parts contradict each other: one line each.
    #[error("the parts of the statement contradict each other: {}", lines(.0))]
    Contradiction(Vec<Finding>),
}

fn lines(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Collects what a run says about itself; [`Builder::build`] closes it into a [`Statement`].
///
/// Make it when the run begins, because it notes the time. Whatever it is told, it cuts absolute
/// paths out of arguments, settings and notes.
#[derive(Debug)]
pub struct Builder {
    kind: Kind,
    run: Run,
    configuration: BTreeMap<String, Value>,
    not_comparable_because: Vec<String>,
    checks: Vec<Check>,
    laws: Vec<Law>,
    thresholds: Vec<Threshold>,
    results: Results,
    database: Option<Database>,
    workspace: Option<PathBuf>,
}

impl Builder {
    /// Begins the statement of a run that begins now, with the command line of this process.
    pub fn new(kind: Kind) -> Self {
        let mut words = env::args_os().map(|word| word.to_string_lossy().into_owned());
        let program = words
            .next()
            .map(|path| file_name(&path))
            .unwrap_or_default();
        let now = UtcTime::now();
        Self {
            kind,
            run: Run {
                program,
                arguments: words.map(|word| scrub_argument(&word)).collect(),
                seed: None,
                started: now,
                finished: now,
                measured_ns: None,
                interrupted: false,
            },
            configuration: BTreeMap::new(),
            not_comparable_because: Vec::new(),
            checks: Vec::new(),
            laws: Vec::new(),
            thresholds: Vec::new(),
            results: Results::default(),
            database: None,
            workspace: source::workspace(),
        }
    }

    /// Replaces the command line, for a program that runs others or that is called by a harness.
    pub fn command(
        &mut self,
        program: &str,
        arguments: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> &mut Self {
        self.run.program = file_name(program);
        self.run.arguments = arguments
            .into_iter()
            .map(|word| scrub_argument(word.as_ref()))
            .collect();
        self
    }

    /// Sets the seed of everything random in the run.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.run.seed = Some(Integer(seed));
        self
    }

    /// Sets how long the measured part took. Without it there is no
    /// [`Reference::MeasuredSeconds`]. More than 584 years are cut to that.
    pub fn measured(&mut self, time: Duration) -> &mut Self {
        self.run.measured_ns = Some(Integer(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)));
        self
    }

    /// Says that the run was cut short from outside.
    pub fn interrupted(&mut self) -> &mut Self {
        self.run.interrupted = true;
        self
    }

    /// Says that the figures must not be compared with those of another run, and why. More than one
    /// reason may be given.
    pub fn not_comparable(&mut self, reason: impl AsRef<str>) -> &mut Self {
        self.not_comparable_because.push(scrub(reason.as_ref()));
        self
    }

    /// Notes one setting of the run. Put the unit at the end of the name. A second value for the
    /// same name replaces the first.
    pub fn config(&mut self, name: impl Into<String>, value: impl Into<Value>) -> &mut Self {
        self.configuration.insert(name.into(), clean(value.into()));
        self
    }

    /// Notes the database and its settings as read back.
    pub fn database(&mut self, mut database: Database) -> &mut Self {
        let settings = std::mem::take(&mut database.settings);
        database.settings = settings
            .into_iter()
            .map(|(name, value)| (name, clean(value)))
            .collect();
        self.database = Some(database);
        self
    }

    /// Notes a named count. A second one of the same name replaces the first.
    pub fn count(&mut self, name: impl Into<String>, count: u64) -> &mut Self {
        self.results.counts.insert(name.into(), Integer(count));
        self
    }

    /// Adds an operation.
    pub fn operation(&mut self, operation: Operation) -> &mut Self {
        self.results.operations.push(operation);
        self
    }

    /// Adds a histogram.
    pub fn histogram(&mut self, histogram: Histogram) -> &mut Self {
        self.results.histograms.push(histogram);
        self
    }

    /// Adds a series.
    pub fn series(&mut self, series: Series) -> &mut Self {
        self.results.series.push(series);
        self
    }

    /// Adds the samples of a benchmark; mean and median are computed.
    pub fn benchmark(&mut self, id: impl Into<String>, samples: Samples) -> &mut Self {
        self.results.benchmarks.push(Benchmark {
            id: id.into(),
            iterations: samples.iterations.into_iter().map(Whole::capped).collect(),
            times_ns: samples.times_ns.into_iter().map(Real::unchecked).collect(),
            mean_ns: Real::default(),
            median_ns: Real::default(),
            elements: samples.elements.map(Whole::capped),
        });
        self
    }

    /// Adds a figure. It may refer to figures added before it.
    pub fn figure(&mut self, figure: Figure) -> &mut Self {
        self.results.figures.push(figure);
        self
    }

    /// Adds a threshold.
    pub fn threshold(&mut self, threshold: Threshold) -> &mut Self {
        self.thresholds.push(threshold);
        self
    }

    /// Adds a law.
    pub fn law(&mut self, law: Law) -> &mut Self {
        self.laws.push(law);
        self
    }

    /// Adds a check.
    pub fn check(&mut self, mut check: Check) -> &mut Self {
        check.notes = check.notes.iter().map(|note| scrub(note)).collect();
        self.checks.push(check);
        self
    }

    /// Looks for the source in this folder instead of the one that [`workspace`](crate::workspace)
    /// finds; `None` leaves the source out.
    pub fn workspace(&mut self, folder: Option<&Path>) -> &mut Self {
        self.workspace = folder.map(Path::to_path_buf);
        self
    }

    /// Closes the statement: notes the time, looks at host, program and source, computes every
    /// derived figure, the verdict and the digest.
    ///
    /// # Errors
    ///
    /// Each variant of [`BuildError`]; nothing is built then.
    ///
    /// # Cost
    ///
    /// Reads the program and all tracked source files once and runs git four times: some tens of
    /// milliseconds for a release build, up to a second for a debug build.
    pub fn build(self) -> Result<Statement, BuildError> {
        let program_digest = host::program_digest().map_err(BuildError::Program)?;
        let source = source::source(self.workspace.as_deref());
        let program = Subject {
            name: format!("program:{}", self.run.program),
            digest: DigestSet {
                sha256: program_digest,
            },
        };
        let tree = source.tree_sha256.map(|sha256| Subject {
            name: SOURCE_TREE.to_owned(),
            digest: DigestSet { sha256 },
        });
        let because = (!self.not_comparable_because.is_empty())
            .then(|| self.not_comparable_because.join("; "));
        let finished = UtcTime::now().max(self.run.started);
        let mut statement = Statement {
            statement_type: StatementType::InTotoV1,
            subject: tree.into_iter().chain([program]).collect(),
            predicate_type: PredicateType::EvidenceV1,
            predicate: Predicate {
                schema_version: SCHEMA_VERSION,
                kind: self.kind,
                verdict: Verdict::Inconclusive,
                comparable: because.is_none(),
                not_comparable_because: because,
                run: Run {
                    finished,
                    ..self.run
                },
                configuration: self.configuration,
                checks: self.checks,
                laws: self.laws,
                thresholds: self.thresholds,
                results: self.results,
                database: self.database,
                source,
                toolchain: host::toolchain(),
                host: host::host(),
                digest: DigestSet {
                    sha256: Sha256::of(b""),
                },
            },
        };
        derive(&mut statement.predicate)?;
        statement.predicate.digest.sha256 = render::digest(&statement);
        let findings = contradictions(&statement);
        if findings.is_empty() {
            Ok(statement)
        } else {
            Err(BuildError::Contradiction(findings))
        }
    }
}

/// The name of the subject that is the source tree.
pub(crate) const SOURCE_TREE: &str = "source-tree";

/// Fills in everything that follows from something else, in the order in which it may be referred to.
fn derive(predicate: &mut Predicate) -> Result<(), BuildError> {
    for benchmark in &mut predicate.results.benchmarks {
        let derived = benchmark::mean_and_median(&benchmark.iterations, &benchmark.times_ns);
        let (mean, median) = derived.ok_or_else(|| BuildError::NoSamples(benchmark.id.clone()))?;
        benchmark.mean_ns = finite(&benchmark.id, mean)?;
        benchmark.median_ns = finite(&benchmark.id, median)?;
        for time in &benchmark.times_ns {
            finite(&benchmark.id, time.get())?;
        }
    }
    for position in 0..predicate.results.figures.len() {
        let mut figure = predicate.results.figures[position].clone();
        if let Derivation::Ratio {
            numerator,
            denominator,
        } = &mut figure.from
        {
            fill_in(predicate, numerator, position)?;
            fill_in(predicate, denominator, position)?;
        }
        let value = recompute::figure(&figure.from).unwrap_or(figure.value.get());
        figure.value = finite(&figure.name, value)?;
        if let Some(aim) = &mut figure.aim {
            finite(&figure.name, aim.limit.get())?;
            aim.met = aim.rule.keeps(value, aim.limit.get());
        }
        predicate.results.figures[position] = figure;
    }
    for position in 0..predicate.thresholds.len() {
        let mut threshold = predicate.thresholds[position].clone();
        fill_in(
            predicate,
            &mut threshold.observed,
            predicate.results.figures.len(),
        )?;
        finite(&threshold.expression, threshold.limit.get())?;
        threshold.met = threshold
            .rule
            .keeps(threshold.observed.value.get(), threshold.limit.get());
        predicate.thresholds[position] = threshold;
    }
    for position in 0..predicate.laws.len() {
        let law = &predicate.laws[position];
        let sides = recompute::law_sides(predicate, &law.left, &law.right);
        let (left, right) = sides.ok_or_else(|| BuildError::NoCount(law.name.clone()))?;
        predicate.laws[position].holds = left == right;
    }
    predicate.verdict = recompute::verdict(predicate);
    Ok(())
}

fn fill_in(predicate: &Predicate, term: &mut Term, figures: usize) -> Result<(), BuildError> {
    let value = match &term.of {
        None => term.value.get(),
        Some(reference) => recompute::resolve(predicate, reference, figures)
            .ok_or_else(|| BuildError::Unresolved(term.name.clone(), reference.clone()))?,
    };
    term.value = finite(&term.name, value)?;
    Ok(())
}

fn finite(name: &str, value: f64) -> Result<Real, BuildError> {
    Real::new(value).ok_or_else(|| BuildError::NotFinite(name.to_owned()))
}

fn clean(value: Value) -> Value {
    match value {
        Value::Text(text) => Value::Text(scrub(&text)),
        // A whole number has one form, however it was given.
        Value::Real(real) => Value::from(real.get()),
        Value::Flag(_) | Value::Whole(_) => value,
    }
}

fn file_name(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name).to_owned()
}

//! Evidence files: what a run checked and measured, in a form that anyone can verify later.
//!
//! A run ends with one JSON file that says what was checked, on which source, with which settings,
//! with the raw figures. [`Builder`] makes it, [`Statement::write`] writes it, [`verify_file`]
//! computes everything in it again that can be computed, and refuses it if anything differs.
//!
//! ```
//! use evidence::{Builder, Check, Figure, Kind, Operation, Reference, Term, Verdict};
//! use std::time::Duration;
//!
//! let mut run = Builder::new(Kind::Stress);
//! run.seed(42).config("clients", 8).config("duration_ms", 10_000);
//! // ... the run itself ...
//! run.measured(Duration::from_secs(10))
//!     .operation(Operation::new("hold", 1_000).outcome("held", 10).outcome("refused", 989).error("busy", 1))
//!     .figure(Figure::ratio(
//!         "attempts_per_second",
//!         "1/s",
//!         Term::of("attempts", Reference::AllAttempts),
//!         Term::of("seconds", Reference::MeasuredSeconds),
//!     ))
//!     .check(Check::passed("audit", "every seat is sold at most once", 50_000));
//! let statement = run.build()?;
//! assert_eq!(statement.predicate.verdict, Verdict::Holds);
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let path = statement.write(folder)?;       // folder/stress-20261129T171500Z-1f2e3d4c.json
//! assert_eq!(evidence::verify_file(&path).unwrap(), statement);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # From the command line
//!
//! ```text
//! cargo run -p evidence -- verify evidence      every evidence file below that folder
//! cargo run -p evidence -- list                 a table of them
//! cargo run -p evidence -- compare A B          faster, slower, or no difference
//! cargo run -p evidence -- report FILE... -o report.html
//! cargo run -p evidence -- schema               the JSON schema
//! ```
//!
//! # Where to look
//!
//! | module | question |
//! |--|--|
//! | [`statement`], [`results`], [`benchmark`], [`figure`], [`check`] | what does a file say? |
//! | [`number`], [`value`] | how is a number written, and why so? |
//! | [`builder`], [`write`](mod@write) | how is one made? |
//! | [`source`] | which source does it speak for, exactly? |
//! | [`verify`], [`histogram`] | what does it mean that a file verifies? |
//! | [`compare`](mod@compare) | by which method is one run faster than another? |
//! | [`cli`] | what do the exit codes of the program mean? |
//!
//! This crate knows nothing of seats or databases; the runs name what they did.

mod agree;
pub mod benchmark;
mod bootstrap;
pub mod builder;
pub mod check;
pub mod cli;
pub mod compare;
pub mod figure;
pub mod files;
pub mod histogram;
mod host;
mod list;
pub mod number;
mod parse;
mod recompute;
mod render;
pub mod report;
pub mod results;
mod schema;
mod scrub;
pub mod source;
pub mod statement;
pub mod value;
pub mod verify;
pub mod write;

pub use benchmark::{Benchmark, Samples};
pub use builder::{BuildError, Builder};
pub use check::{Check, Law};
pub use compare::compare;
pub use figure::{Aim, Derivation, Figure, Reference, Rule, Term, Threshold};
pub use files::{evidence_files, is_evidence_name};
pub use hdrhistogram;
pub use histogram::HistogramError;
pub use host::file_system;
pub use number::{Integer, Real, Whole};
pub use report::report;
pub use results::{
    Covers, Histogram, Labels, Operation, Results, Series, Statistic, Summary, Unit,
};
pub use schema::schema;
pub use source::{runs_folder, workspace};
pub use statement::{
    Checkout, Database, DigestSet, Host, Kind, Predicate, PredicateType, Run, SCHEMA_VERSION,
    Source, Statement, StatementType, Subject, Toolchain, Verdict,
};
pub use value::{Sha256, UtcTime, Value};
pub use verify::{Finding, Refusal, verify_bytes, verify_file};
pub use write::WriteError;

//! The statement: what one evidence file says, version 1.
//!
//! The outer shape is an in-toto Statement v1
//! (<https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md>): *subjects*, named by
//! their digests, and a *predicate* about them. The subjects are the source tree and the program
//! that ran; the predicate is the run. Such a statement can be signed by any tool that signs in-toto
//! statements; nothing here signs it, and a digest alone proves only that a file is whole.
//!
//! The fields are public data. [`Builder`](crate::Builder) makes them consistent with each other and
//! [`verify`](crate::verify) finds out whether they still are.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::{Check, Law};
use crate::figure::Threshold;
use crate::number::{Integer, Whole};
use crate::results::Results;
use crate::value::{Sha256, UtcTime, Value};

/// The schema version that this crate writes, and the only one that it reads.
pub const SCHEMA_VERSION: u32 = 1;

/// A whole evidence file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Always in-toto Statement v1.
    #[serde(rename = "_type")]
    pub statement_type: StatementType,
    /// What the predicate is about: the source tree (in a git checkout) and the program, in this
    /// order.
    pub subject: Vec<Subject>,
    /// Which predicate this is, with its version.
    #[serde(rename = "predicateType")]
    pub predicate_type: PredicateType,
    /// The run.
    pub predicate: Predicate,
}

/// The type of the outer statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StatementType {
    /// in-toto Statement v1.
    #[serde(rename = "https://in-toto.io/Statement/v1")]
    InTotoV1,
}

/// The type of the predicate. The URI is a name; nothing is ever fetched from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PredicateType {
    /// Version 1 of the evidence predicate, described by the types of this crate.
    #[serde(rename = "https://soldonce.example/evidence/v1")]
    EvidenceV1,
}

/// One thing that the statement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// `source-tree`, or `program:` and the file name of the program.
    pub name: String,
    /// Its digest.
    pub digest: DigestSet,
}

/// A set of digests, as in-toto has it, with one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DigestSet {
    /// SHA-256 over the bytes.
    pub sha256: Sha256,
}

/// What ran, where, with what, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Predicate {
    /// Always 1 ([`SCHEMA_VERSION`]).
    pub schema_version: u32,
    /// Which kind of run this was.
    pub kind: Kind,
    /// The verdict, recomputable from `checks`, `laws`, `thresholds` and `run.interrupted`.
    pub verdict: Verdict,
    /// Whether the figures may be compared with those of another run.
    pub comparable: bool,
    /// Why not; present exactly when `comparable` is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_comparable_because: Option<String>,
    /// The command and its times.
    pub run: Run,
    /// Everything that was chosen for this run, by name. A name ends in its unit where it has one
    /// (`duration_ms`).
    pub configuration: BTreeMap<String, Value>,
    /// What was checked, with how many cases.
    pub checks: Vec<Check>,
    /// Sums that have to agree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub laws: Vec<Law>,
    /// Limits that the run was asked to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Threshold>,
    /// What was counted and measured.
    pub results: Results,
    /// The database under the run, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<Database>,
    /// The source that the run speaks for.
    pub source: Source,
    /// What compiled the program, and how.
    pub toolchain: Toolchain,
    /// The machine.
    pub host: Host,
    /// SHA-256 over the canonical JSON (RFC 8785) of the whole statement without this field.
    pub digest: DigestSet,
}

/// The kind of a run. It is the first part of the file's name.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A model checker's run: sequences, histories, mutants.
    ModelCheck,
    /// A load run.
    Stress,
    /// A benchmark run.
    Bench,
    /// Power loss, failing disks, killed processes.
    Crash,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::ModelCheck, Self::Stress, Self::Bench, Self::Crash];

    /// The name as files carry it: `model-check`, `stress`, `bench`, `crash`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ModelCheck => "model-check",
            Self::Stress => "stress",
            Self::Bench => "bench",
            Self::Crash => "crash",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a run found, the worst first. The first that applies is the verdict.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A check found a violation, or a law does not hold.
    Violated,
    /// A check left a case undecided, or nothing was checked at all. Never a pass.
    Inconclusive,
    /// Nothing was found until the run was cut short.
    Interrupted,
    /// Everything that was checked holds, but a threshold was missed.
    ThresholdMissed,
    /// Everything that was checked holds.
    Holds,
}

impl Verdict {
    /// The name as it stands in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Violated => "violated",
            Self::Inconclusive => "inconclusive",
            Self::Interrupted => "interrupted",
            Self::ThresholdMissed => "threshold_missed",
            Self::Holds => "holds",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The command and its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The file name of the program, without its folder.
    pub program: String,
    /// Its arguments; a path that starts at the root of the file system is cut to its last part.
    pub arguments: Vec<String>,
    /// The seed of everything random in the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Integer>,
    /// When the run began, by the system's clock.
    pub started: UtcTime,
    /// When the statement was closed. Never before `started`.
    pub finished: UtcTime,
    /// How long the measured part took, in nanoseconds, by a clock that never steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_ns: Option<Integer>,
    /// Whether the run was cut short from outside.
    pub interrupted: bool,
}

/// The source that the run speaks for, as it was when the statement was closed.
///
/// See [`source`](crate::source) for the exact meaning of each digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Whether a git checkout was found. If not, only `lock_sha256` can be present.
    pub checkout: Checkout,
    /// The commit that is checked out; absent before the first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Whether tracked files differ from that commit or untracked ones lie beside them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
    /// How many files the tree digest covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_files: Option<Whole>,
    /// The digest of the source tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_sha256: Option<Sha256>,
    /// SHA-256 of `Cargo.lock`: the exact dependencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_sha256: Option<Sha256>,
}

/// Whether the source was in a checkout that can name its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Checkout {
    /// A git checkout.
    Git,
    /// No checkout, no git program, or a checkout that git could not read.
    Absent,
}

/// What compiled the program, recorded when it was compiled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Toolchain {
    /// The answer of `rustc --version`.
    pub rustc: String,
    /// `debug` or `release`: the profile that cargo built with, or that its profile inherits from.
    pub profile: String,
    /// The optimisation level, `0` to `3`, `s` or `z`.
    pub opt_level: String,
    /// Whether debug assertions were compiled in. They make everything slower.
    pub debug_assertions: bool,
    /// The target triple.
    pub target: String,
}

/// The machine, in the names of the OpenTelemetry semantic conventions
/// (<https://opentelemetry.io/docs/specs/semconv/resource/host/>). What could not be found out is
/// absent. Neither the host's name nor the user's is ever recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The processor's architecture: `amd64`, `arm64`, ...
    #[serde(rename = "host.arch")]
    pub arch: String,
    /// `linux`, `darwin`, `windows`, ...
    #[serde(rename = "os.type")]
    pub os_type: String,
    /// The operating system in words.
    #[serde(
        rename = "os.description",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub os_description: Option<String>,
    /// The operating system's version.
    #[serde(
        rename = "os.version",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub os_version: Option<String>,
    /// The processor's model.
    #[serde(
        rename = "host.cpu.model.name",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub cpu_model_name: Option<String>,
    /// How many threads this process can run at once.
    #[serde(
        rename = "system.cpu.logical.count",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub cpu_logical_count: Option<u32>,
    /// The machine's memory, in bytes.
    #[serde(
        rename = "system.memory.limit",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub memory_limit: Option<Integer>,
}

/// A database and its settings, as the database itself told them to the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// Such as `SQLite`.
    pub name: String,
    /// Its version, as it says itself.
    pub version: String,
    /// The exact build, as it says itself (SQLite: `sqlite_source_id()`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    /// The type of the file system under the database file ([`file_system`](crate::file_system)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// The settings as read back from an open connection, by name.
    pub settings: BTreeMap<String, Value>,
}

impl Database {
    /// A database with no settings yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            source_id: None,
            file_system: None,
            settings: BTreeMap::new(),
        }
    }

    /// Adds the exact build.
    #[must_use]
    pub fn source_id(mut self, id: impl Into<String>) -> Self {
        self.source_id = Some(id.into());
        self
    }

    /// Adds the type of the file system under the file, such as `ext4`; `None` leaves it absent.
    #[must_use]
    pub fn file_system(mut self, name: Option<String>) -> Self {
        self.file_system = name;
        self
    }

    /// Adds one setting as it was read back. A second value for the same name replaces the first.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.insert(name.into(), value.into());
        self
    }
}

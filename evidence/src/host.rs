//! Facts about the machine and the program: what a reader needs to judge a figure, and nothing that
//! names the machine or its user.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs, io, thread};

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::number::Integer;
use crate::statement::{Host, Toolchain};
use crate::value::Sha256;

/// The machine that this runs on.
pub(crate) fn host() -> Host {
    let wanted = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing())
        .with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(wanted).ok();
    let model = |system: &System| {
        let brand = system.cpus().first()?.brand().trim();
        (!brand.is_empty()).then(|| brand.to_owned())
    };
    Host {
        arch: arch(env::consts::ARCH).to_owned(),
        os_type: os_type(env::consts::OS).to_owned(),
        os_description: System::long_os_version().ok(),
        os_version: System::os_version().ok(),
        cpu_model_name: system.as_ref().and_then(model),
        cpu_logical_count: thread::available_parallelism()
            .ok()
            .and_then(|count| u32::try_from(count.get()).ok()),
        memory_limit: system
            .map(|system| Integer(system.total_memory()))
            .filter(|bytes| bytes.0 > 0),
    }
}

/// What compiled this crate, and so the program that it is part of.
pub(crate) fn toolchain() -> Toolchain {
    Toolchain {
        rustc: env!("EVIDENCE_RUSTC").to_owned(),
        profile: env!("EVIDENCE_PROFILE").to_owned(),
        opt_level: env!("EVIDENCE_OPT_LEVEL").to_owned(),
        debug_assertions: cfg!(debug_assertions),
        target: env!("EVIDENCE_TARGET").to_owned(),
    }
}

/// The digest of the program that is running, taken once in a process: a program does not change
/// while it runs.
///
/// Linux keeps the very file open under `/proc/self/exe`, even when a newer build has replaced it
/// on disk; elsewhere the file is read by its path.
pub(crate) fn program_digest() -> io::Result<Sha256> {
    static KNOWN: OnceLock<Sha256> = OnceLock::new();
    if let Some(digest) = KNOWN.get() {
        return Ok(*digest);
    }
    let running = Path::new("/proc/self/exe");
    let path = if running.exists() {
        running.to_path_buf()
    } else {
        env::current_exe()?
    };
    let digest = Sha256::of_all(BufReader::new(File::open(path)?))?;
    Ok(*KNOWN.get_or_init(|| digest))
}

/// The type of the file system that holds `path`, such as `ext4` or `tmpfs`: what a `sync` costs
/// depends on it. `None` where the system does not tell (anything but Linux), or for a path that
/// does not exist.
pub fn file_system(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mut best: Option<(PathBuf, &str)> = None;
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(1);
        let (Some(point), Some(kind)) = (fields.next(), fields.next()) else {
            continue;
        };
        // The table writes a space as \040. A later line hides an earlier one on the same point.
        let point = PathBuf::from(point.replace("\\040", " "));
        let deeper = best
            .as_ref()
            .is_none_or(|(known, _)| point.components().count() >= known.components().count());
        if path.starts_with(&point) && deeper {
            best = Some((point, kind));
        }
    }
    best.map(|(_, kind)| kind.to_owned())
}

/// The architecture's name in the OpenTelemetry conventions.
fn arch(rust: &str) -> &str {
    match rust {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "arm" => "arm32",
        "powerpc" => "ppc32",
        "powerpc64" => "ppc64",
        other => other,
    }
}

/// The operating system's name in the OpenTelemetry conventions.
fn os_type(rust: &str) -> &str {
    match rust {
        "macos" => "darwin",
        "dragonfly" => "dragonflybsd",
        other => other,
    }
}

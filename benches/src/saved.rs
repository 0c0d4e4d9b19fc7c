//! What criterion has saved of the benchmarks that were just run.
//!
//! Criterion leaves three files of each benchmark in `ID/new/` below its folder: `sample.json`,
//! `estimates.json` and, when everything else is done, `benchmark.json`. Files of earlier runs stay
//! there, of benchmarks that no longer exist, too, and so do files of other bench programs. So a
//! benchmark is taken only if this process ran it, and only if all three files are of this run and
//! agree with each other.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use std::{env, fs};

use evidence::Samples;
use serde::Deserialize;

use crate::error::Error;

/// The clock that stamps files may lag behind the one that is read: it ticks some hundred times a second.
const STAMP_LAG: Duration = Duration::from_millis(50);

/// How far criterion's mean may be from ours: both are sums of the same numbers.
const SAME_MEAN: f64 = 1e-9;

/// The samples of one benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Saved {
    /// Its id, such as `hold/granted`.
    pub id: String,
    /// Its samples.
    pub samples: Samples,
}

/// The folder that criterion 0.8 writes to: `$CRITERION_HOME`, or `criterion` in cargo's target folder.
pub fn folder() -> PathBuf {
    if let Some(home) = env::var_os("CRITERION_HOME") {
        return PathBuf::from(home);
    }
    target_folder()
        .unwrap_or_else(|| PathBuf::from("target"))
        .join("criterion")
}

fn target_folder() -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    if let Some(folder) = env::var_os("CARGO_TARGET_DIR") {
        return Some(PathBuf::from(folder));
    }
    let output = Command::new(env::var_os("CARGO")?)
        .args(["metadata", "--format-version", "1"])
        .output()
        .ok()?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout).ok()?;
    Some(metadata.target_directory)
}

/// Reads the samples of these benchmarks, in this order.
///
/// # Errors
/// [`Error::Saved`] when one of them is missing, is older than `since`, or does not agree with itself.
pub fn read(folder: &Path, ids: &[String], since: SystemTime) -> Result<Vec<Saved>, Error> {
    let mut found = BTreeMap::new();
    look_below(folder, &mut |new| {
        // Other programs write here as well: what can not be read is not ours, or is missed below.
        if let Some(id) = identity(new) {
            found.insert(id.full_id.clone(), (new.to_owned(), id));
        }
    });
    ids.iter()
        .map(|id| {
            let problem = |problem: String| Error::Saved {
                folder: folder.to_owned(),
                problem: format!("{id} {problem}"),
            };
            let (new, identity) = found
                .get(id)
                .ok_or_else(|| problem("was run, but is not there".to_owned()))?;
            one(new, identity, since).map_err(problem)
        })
        .collect()
}

/// Calls `each` with every folder called `new`.
fn look_below(folder: &Path, each: &mut impl FnMut(&Path)) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            if path.file_name() == Some(OsStr::new("new")) {
                each(&path);
            } else {
                look_below(&path, each);
            }
        }
    }
}

#[derive(Deserialize)]
struct Identity {
    full_id: String,
    throughput: Option<Throughput>,
}

/// Criterion knows other units than elements; they are not used here, and would be an error.
#[derive(Deserialize)]
enum Throughput {
    Elements(u64),
}

#[derive(Deserialize)]
struct Estimates {
    mean: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

fn identity(new: &Path) -> Option<Identity> {
    let text = fs::read_to_string(new.join("benchmark.json")).ok()?;
    serde_json::from_str(&text).ok()
}

fn one(new: &Path, identity: &Identity, since: SystemTime) -> Result<Saved, String> {
    let text = |name: &str| -> Result<String, String> {
        let path = new.join(name);
        let said = |error| format!("has no readable {name}: {error}");
        let written = fs::metadata(&path)
            .and_then(|found| found.modified())
            .map_err(said)?;
        if written + STAMP_LAG < since {
            return Err(format!("has a {name} of an earlier run"));
        }
        fs::read_to_string(&path).map_err(said)
    };
    text("benchmark.json")?;
    let sample = text("sample.json")?;
    let mut samples = Samples::from_criterion(&sample)
        .map_err(|error| format!("has a broken sample.json: {error}"))?;
    let estimates: Estimates = serde_json::from_str(&text("estimates.json")?)
        .map_err(|error| format!("has a broken estimates.json: {error}"))?;
    let (ours, theirs) = (mean_ns(&samples), estimates.mean.point_estimate);
    if (ours - theirs).abs() > SAME_MEAN * theirs.abs() {
        return Err(format!(
            "has samples with a mean of {ours} ns, and an estimate of {theirs} ns: not of one run"
        ));
    }
    samples.elements = identity
        .throughput
        .as_ref()
        .map(|Throughput::Elements(count)| *count);
    Ok(Saved {
        id: identity.full_id.clone(),
        samples,
    })
}

/// Nanoseconds an iteration, averaged over the samples as criterion does.
#[allow(
    clippy::cast_precision_loss,
    reason = "counts of iterations, far below 2^53"
)]
fn mean_ns(samples: &Samples) -> f64 {
    let each = samples.iterations.iter().zip(&samples.times_ns);
    each.map(|(count, time)| time / *count as f64).sum::<f64>() / samples.times_ns.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"{"sampling_mode":"Flat","iters":[2.0,4.0],"times":[20.0,60.0]}"#;

    /// A folder as criterion leaves it, with one benchmark `hold/granted`, mean 12.5 ns.
    fn left_by_criterion(sample: &str, mean: f64) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let new = folder.path().join("hold/granted/new");
        fs::create_dir_all(&new).expect("made");
        let estimates = format!(
            r#"{{"mean":{{"confidence_interval":{{}},"point_estimate":{mean},"standard_error":1.0}},"slope":null}}"#
        );
        let benchmark = r#"{"group_id":"hold","function_id":"granted","value_str":null,
            "throughput":{"Elements":3},"full_id":"hold/granted","directory_name":"x","title":"x"}"#;
        for (name, text) in [
            ("sample.json", sample),
            ("estimates.json", &estimates),
            ("benchmark.json", benchmark),
        ] {
            fs::write(new.join(name), text).expect("written");
        }
        folder
    }

    fn problem(folder: &tempfile::TempDir, id: &str, since: SystemTime) -> String {
        let error = read(folder.path(), &[id.to_owned()], since).expect_err("a problem");
        let line = error.to_string();
        line.split_once(": ").expect("a folder first").1.to_owned()
    }

    #[test]
    fn the_samples_of_a_benchmark_that_was_run_are_read() {
        let folder = left_by_criterion(SAMPLE, 12.5);
        let saved = read(
            folder.path(),
            &["hold/granted".to_owned()],
            SystemTime::now(),
        );
        let expected = Samples {
            iterations: vec![2, 4],
            times_ns: vec![20.0, 60.0],
            elements: Some(3),
        };
        assert_eq!(saved.expect("read")[0].samples, expected);
        assert_eq!(
            read(folder.path(), &[], SystemTime::now()).expect("none"),
            []
        );
    }

    #[test]
    fn a_benchmark_of_an_earlier_run_is_refused() {
        let folder = left_by_criterion(SAMPLE, 12.5);
        let later = SystemTime::now() + Duration::from_secs(5);
        assert_eq!(
            problem(&folder, "hold/granted", later),
            "hold/granted has a benchmark.json of an earlier run"
        );
    }

    #[test]
    fn a_benchmark_that_left_nothing_is_missed() {
        let folder = left_by_criterion(SAMPLE, 12.5);
        assert_eq!(
            problem(&folder, "hold/refused", SystemTime::now()),
            "hold/refused was run, but is not there"
        );
    }

    #[test]
    fn samples_and_estimates_of_different_runs_are_refused() {
        let folder = left_by_criterion(SAMPLE, 13.0);
        let said = problem(&folder, "hold/granted", SystemTime::now());
        assert!(
            said.ends_with("an estimate of 13 ns: not of one run"),
            "{said}"
        );
    }

    #[test]
    fn a_broken_file_is_named() {
        let folder = left_by_criterion("{", 12.5);
        let said = problem(&folder, "hold/granted", SystemTime::now());
        assert!(
            said.starts_with("hold/granted has a broken sample.json: "),
            "{said}"
        );
    }
}

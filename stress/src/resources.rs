//! The lines of the summary about commits and memory.

use crate::layout::line;
use crate::report::Report;
use crate::units::thousands;

impl Report<'_> {
    /// How well commits filled, and how much memory the load took.
    pub(crate) fn resources(&self) -> String {
        let load = self.load;
        let mut out = String::new();
        if let Some(commits) = load.commits
            && let Some(mean) = commits.mean()
        {
            line(
                &mut out,
                "commits",
                &[
                    thousands(commits.commits),
                    format!("{mean:.1} calls each, up to {}", thousands(commits.largest)),
                    self.commits_by_process(),
                ],
            );
        }
        if let Some(bytes) = load.peak_bytes {
            let kept = match load.acknowledged.len() {
                0 => String::new(),
                told => format!(
                    "{} answers about payments kept for the proof",
                    thousands(told as u64)
                ),
            };
            line(
                &mut out,
                "memory",
                &[
                    format!(
                        "{} MiB at most until the end of the load",
                        thousands(bytes >> 20)
                    ),
                    kept,
                ],
            );
        }
        out
    }

    fn commits_by_process(&self) -> String {
        let means = self.load.processes.iter().map(|process| {
            let mean = process.commits.and_then(|commits| commits.mean());
            mean.map_or("?".to_owned(), |mean| format!("{mean:.1}"))
        });
        let means: Vec<_> = means.collect();
        if means.is_empty() {
            return String::new();
        }
        format!("by process {}", means.join(" "))
    }
}

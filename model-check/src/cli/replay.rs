//! `model-check replay`: one case of `power` or `faults` once more.

use clap::Args;
use evidence::Check;

use model_check::crash::fault::Fault;
use model_check::crash::workload::NotRecorded;
use model_check::crash::{faults, power};

use super::power::subject;
use super::report::{Report, say, say_wrapped};
use super::{Exit, Failure};

/// Makes one case of `power` or `faults` again, as a violation showed it.
#[derive(Debug, Args)]
pub(super) struct Replay {
    /// `power/STORE/SEED/OPS/CRASH-POINT/KIND/NUMBER`, with `/CRASH-POINT/KIND/NUMBER` once more for a
    /// second power loss, or `faults/STORE/SEED/OPS/OPERATION/N/once|lasting/CODE/EFFECT`.
    #[arg(value_name = "CASE")]
    case: String,
}

impl Replay {
    pub(super) fn run(&self, report: &mut Report) -> Result<Exit, Failure> {
        let could_not = |error: NotRecorded| match error {
            NotRecorded::NoSuchCase(why) => Failure::Usage(why),
            other => Failure::CouldNotRun(other.to_string()),
        };
        let what = if self.case.starts_with("faults/") {
            let (store, config, fault) = Fault::of_case(&self.case).map_err(Failure::Usage)?;
            let subject = subject(&store).map_err(Failure::Usage)?;
            say(&self.case);
            report
                .evidence()
                .seed(config.0)
                .config("case", self.case.as_str());
            let config = faults::Config {
                seed: config.0,
                ops: config.1,
                ..faults::Config::default()
            };
            faults::replay(&subject, &config, fault).map_err(could_not)?
        } else {
            let case: power::Case = self.case.parse().map_err(Failure::Usage)?;
            let subject = subject(&case.subject).map_err(Failure::Usage)?;
            say(&self.case);
            report
                .evidence()
                .seed(case.seed)
                .config("case", self.case.as_str());
            let replayed = power::replay(&subject, &case).map_err(could_not)?;
            for (name, size) in &replayed.files {
                say(&format!("  {name:22} {size:>8} bytes"));
            }
            replayed.what
        };
        let check = Check::passed("replay", self.case.as_str(), 1);
        if what.is_empty() {
            say(if self.case.starts_with("faults/") {
                "\nholds, each time that it was made again"
            } else {
                "\nholds"
            });
            report.check(check);
            return Ok(Exit::Holds);
        }
        for problem in &what {
            say("");
            say_wrapped("VIOLATED  ", problem);
        }
        report.check(check.violations(1).note(&what[0]));
        Ok(Exit::Violated)
    }
}

//! The command line. What it means together is in [`crate::config`].

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::threshold::Threshold;
use crate::units::{parse_duration, parse_percent};
use crate::workload::Shape;

/// Puts many buyers on few seats, measures every call, and checks every answer.
///
/// Without an option: eight buyers rush for 50,000 seats on a fresh SQLite file for ten seconds,
/// 80 % of them for one hot seat that moves on when it is sold. Then comes a table of what was
/// answered, how often and how fast, the proof, and the path of an evidence file.
///
/// A duration is a number with a unit: 250ms, 10s, 5m.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "stress",
    version,
    max_term_width = 80,
    after_help = "Exit codes: 0 all holds; 1 it could not run; 2 wrong usage; 3 an invariant or the \
                  history is violated; 4 a threshold is missed; 5 inconclusive; 130 interrupted (what \
                  was measured until then is still checked and written; a second Ctrl-C ends it at \
                  once)."
)]
pub struct Args {
    /// The shape of the load [default: rush; with --zipf: zipf]
    #[arg(long, value_enum, help_heading = "Workload")]
    pub workload: Option<Shape>,

    /// How many seats there are [default: 50000; churn: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000), help_heading = "Workload")]
    pub seats: Option<u32>,

    /// How many seats are hot at a time, with rush or --hot-percent [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000), help_heading = "Workload")]
    pub hot_seats: Option<u32>,

    /// How many buyers in a hundred go for a hot seat, with any workload but zipf [default: 80 with
    /// rush, else 0]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, help_heading = "Workload")]
    pub hot_percent: Option<f64>,

    /// The exponent of Zipf's law, with zipf or churn; 0 is uniform, more is steeper [default: 1 with
    /// zipf]
    #[arg(long, value_name = "EXPONENT", value_parser = parse_exponent, help_heading = "Workload")]
    pub zipf: Option<f64>,

    /// What buyers do with a hold, as weights: pay (in time), late (pay after its end), double (two
    /// payments), lapse, release, quit (release after its end), stranger (release and pay in another's
    /// name), renamed (pay, and the same payment comes again in another's name), reused (pay under the
    /// id of an earlier payment), forged (for a hold never given), nowhere (for a seat that is not
    /// there). What is not named keeps its weight [default: pay=70,late=6,double=2,lapse=5,release=8,
    /// quit=3,stranger=2,renamed=1,reused=1,forged=1,nowhere=1; churn: late=20,lapse=20,release=45,
    /// quit=10,stranger=2,reused=1,forged=1,nowhere=1]
    #[arg(long, value_name = "PLAN=WEIGHT,...", help_heading = "Workload")]
    pub mix: Option<String>,

    /// In how many calls of a hundred the answer gets lost, so that the same call comes twice
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent, help_heading = "Workload")]
    pub redeliver_percent: f64,

    /// How many buyers in a hundred look at their seat after each answer that they got for it
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent, help_heading = "Workload")]
    pub look_percent: f64,

    /// How long a hold lives, in whole milliseconds [default: 250ms; churn: 20ms]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Workload")]
    pub ttl: Option<Duration>,

    /// Buyers who are in time act within this after their hold [default: a fifth of the ttl]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Workload")]
    pub pay_within: Option<Duration>,

    /// Where everything random comes from: the same seed makes the same intended operations
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        help_heading = "Workload"
    )]
    pub seed: u64,

    /// How many clients call at the same time, a thread each [default: 8; with --rate: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Load")]
    pub clients: Option<u32>,

    /// Over how many processes the clients are spread, all on one database file. With more than one,
    /// the history is written as it grows, some 200 bytes a call in a temporary folder, and checked at
    /// the end; a process that is killed meanwhile is named, the others go on, and that alone is exit
    /// code 0
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16), help_heading = "Load")]
    pub processes: u32,

    /// Calls a second, at fixed times, however long they take (open loop); without it, each client
    /// calls again as soon as it has its answer (closed loop)
    #[arg(long, value_name = "PER_SECOND", value_parser = parse_rate, help_heading = "Load")]
    pub rate: Option<f64>,

    /// Open loop at rising rates, to find the knee: the highest rate at which every limit is kept,
    /// every call is started, and 99 in a hundred on time. Ends at the first rate that is not kept; when
    /// there is none up to TO, it says that the knee lies beyond
    #[arg(long, value_name = "FROM:TO:STEP", value_parser = parse_ramp, conflicts_with_all = ["rate", "ops"], help_heading = "Load")]
    pub ramp: Option<Ramp>,

    /// How long the measured part lasts [default: 10s; with --ramp: 5s a rate]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "ops", help_heading = "Load")]
    pub duration: Option<Duration>,

    /// Ends the measured part after so many calls instead, shared evenly among the clients
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Load")]
    pub ops: Option<u64>,

    /// The same load before the measured part: checked, but not measured
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration, help_heading = "Load")]
    pub warmup: Duration,

    /// Which store: sqlite; sqlite-per-call, which is the same with --engine pool; or mutant:ID, one that
    /// is broken on purpose (see model-check) and takes none of --engine, --batch, --pool, --busy-timeout
    #[arg(
        long,
        value_name = "STORE",
        default_value = "sqlite",
        help_heading = "Store"
    )]
    pub store: String,

    /// The database file: made when it is not there, and kept. Without it, a fresh file in a temporary
    /// folder, removed at the end
    #[arg(long, value_name = "PATH", help_heading = "Store")]
    pub database: Option<PathBuf>,

    /// Go on with a --database that holds seats already: they stay as they are, and the run adds seats of
    /// its own, under other names, and calls for those alone. Without it, such a file is refused. For a
    /// file without seats it makes no difference
    #[arg(long, requires = "database", help_heading = "Store")]
    pub reuse: bool,

    /// How writes are committed: queue (callers line up, and one commit serves all that wait) or pool
    /// (each call is a transaction of its own; a closed loop on a fresh file is then put on the queue, too,
    /// for 3 seconds at most, and one line shows the difference) [default: queue]
    #[arg(long, value_enum, help_heading = "Store")]
    pub engine: Option<Engine>,

    /// The most calls that the queue commits at once [default: 128]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Store")]
    pub batch: Option<u32>,

    /// How many connections the pool holds, in each process [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Store")]
    pub pool: Option<u32>,

    /// How long a call waits for a connection or the write lock before it is busy, in whole milliseconds
    /// [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Store")]
    pub busy_timeout: Option<Duration>,

    /// A limit to keep, such as 'hold.refused.p99<5ms'; may be given more than once
    ///
    /// A limit is a figure, one of < <= >= >, and a duration or a number. Figures are
    /// attempts_per_second, errors, fairness (Jain index between clients), unstarted, and
    /// OPERATION.FIGURE or OPERATION.OUTCOME.FIGURE: the operation is hold, release, confirm, seat or all;
    /// the outcome is named as in the evidence (refused stands for refused_held and refused_sold,
    /// refund for all refunds); the figure is p50, p90, p99, p99.9, p99.99, max, mean, min, count or
    /// rate (a second).
    #[arg(long = "threshold", value_name = "LIMIT", help_heading = "Result")]
    pub thresholds: Vec<Threshold>,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Result")]
    pub format: Format,

    /// Keep the whole history, every call and its answer, in this file, for model-check; that takes
    /// memory, 64 bytes a call and its names, until the end
    #[arg(long, value_name = "FILE", help_heading = "Result")]
    pub history: Option<PathBuf>,

    /// The folder of the evidence file [default: evidence/runs of the workspace]
    #[arg(long, value_name = "FOLDER", help_heading = "Result")]
    pub evidence: Option<PathBuf>,

    /// Write no evidence file
    #[arg(long, conflicts_with = "evidence", help_heading = "Result")]
    pub no_evidence: bool,

    /// This is one of the processes of a run; what it has to do comes on standard input
    #[arg(long, hide = true)]
    pub worker: bool,
}

/// Rising rates, in calls a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ramp {
    /// The first.
    pub from: f64,
    /// None is above this.
    pub to: f64,
    /// From one to the next.
    pub step: f64,
}

impl Ramp {
    /// All of them, rising.
    pub fn rates(self) -> impl Iterator<Item = f64> {
        (0_u32..)
            .map(move |number| self.from + f64::from(number) * self.step)
            .take_while(move |rate| *rate <= self.to)
    }
}

/// How the store commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    /// Callers line up, and one commit serves all that wait.
    Queue,
    /// Each call is a transaction of its own, on a pooled connection.
    Pool,
}

/// What is printed at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table of at most 80 columns.
    Text,
    /// One JSON object.
    Json,
}

fn parse_rate(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|rate| (0.01..=10_000_000.0).contains(rate))
        .ok_or_else(|| "it is not a number from 0.01 to 10000000".to_owned())
}

fn parse_ramp(text: &str) -> Result<Ramp, String> {
    let parts: Vec<_> = text.split(':').collect();
    let [from, to, step] = parts[..] else {
        return Err("it is not of the form FROM:TO:STEP".to_owned());
    };
    let ramp = Ramp {
        from: parse_rate(from)?,
        to: parse_rate(to)?,
        step: parse_rate(step)?,
    };
    match ramp.rates().take(1_001).count() {
        0 => Err("it ends before it begins".to_owned()),
        1_001 => Err("it has more than 1000 steps".to_owned()),
        _ => Ok(ramp),
    }
}

fn parse_exponent(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|exponent| (0.0..=10.0).contains(exponent))
        .ok_or_else(|| "it is not a number from 0 to 10".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_options_are_consistent() {
        Args::command().debug_assert();
    }
}

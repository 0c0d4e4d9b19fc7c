//! What one process of a run tells the first one: its share on the way in, how far it is, its figures on
//! the way out.
//! One line of JSON each, over pipes between two copies of the same program.

use std::path::PathBuf;

use hdrhistogram::Histogram;
use model_check::history::Origin;
use serde_json::{Value, json};
use soldonce::{Commits, Timestamp};

use crate::answer::{Ending, Operation};
use crate::measure::{ClientFigures, Counts, Figures, histogram};
use crate::progress::SoFar;

/// What a process does. The rest stands on its command line, which is that of the first process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Share {
    /// The database, which is there already.
    pub(crate) database: PathBuf,
    /// Where the journals go.
    pub(crate) journals: PathBuf,
    /// What tells the names of this run from those of an earlier one.
    pub(crate) tag: String,
    /// Where the clock of the run begins.
    pub(crate) origin: Origin,
    /// Its first client.
    pub(crate) first_client: u32,
    /// How many clients it has.
    pub(crate) clients: u32,
}

/// What a process brings home.
#[derive(Debug, Clone)]
pub(crate) struct Brought {
    /// What it measured.
    pub(crate) figures: Figures,
    /// Payments that got no answer, to the end.
    pub(crate) unsettled: u64,
    /// The first error of each kind, in words.
    pub(crate) errors: Vec<(Ending, String)>,
    /// How often a hot seat moved on, as far as this process saw.
    pub(crate) hot_moves: u64,
    /// The most memory that it had, in bytes.
    pub(crate) peak_bytes: Option<u64>,
    /// Whether it was stopped before its end.
    pub(crate) interrupted: bool,
    /// How its commits filled.
    pub(crate) commits: Option<Commits>,
}

impl Share {
    /// As a line.
    pub(crate) fn to_line(&self) -> String {
        let share = json!({
            "database": self.database,
            "journals": self.journals,
            "tag": self.tag,
            "start_ms": self.origin.start.as_unix_millis(),
            "monotonic_ns": self.origin.monotonic_nanos,
            "first_client": self.first_client,
            "clients": self.clients,
        });
        format!("{share}\n")
    }

    /// From a line; `None` when it is not one.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let share: Value = serde_json::from_str(line).ok()?;
        let small = |name: &str| u32::try_from(share[name].as_u64()?).ok();
        Some(Self {
            database: share["database"].as_str()?.into(),
            journals: share["journals"].as_str()?.into(),
            tag: share["tag"].as_str()?.to_owned(),
            origin: Origin {
                start: Timestamp::from_unix_millis(share["start_ms"].as_i64()?).ok()?,
                monotonic_nanos: share["monotonic_ns"].as_u64()?,
            },
            first_client: small("first_client")?,
            clients: small("clients")?,
        })
    }
}

impl SoFar {
    /// As a line.
    pub(crate) fn to_line(self) -> String {
        let Self {
            attempts,
            sold,
            errors,
            hot_moves,
        } = self;
        let so_far = json!({ "so_far": [attempts, sold, errors, hot_moves] });
        format!("{so_far}\n")
    }

    /// From a line; `None` when it is not one.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let so_far: Value = serde_json::from_str(line).ok()?;
        let number = |at: usize| so_far["so_far"][at].as_u64();
        Some(Self {
            attempts: number(0)?,
            sold: number(1)?,
            errors: number(2)?,
            hot_moves: number(3)?,
        })
    }
}

impl Brought {
    /// As a line.
    pub(crate) fn to_line(&self) -> String {
        let figures = &self.figures;
        let clients = figures.clients.iter().map(|c| [c.answered, c.worst_ns]);
        let errors = self
            .errors
            .iter()
            .map(|(e, words)| json!([e.index(), words]));
        let commits = self.commits.map(|c| [c.calls, c.commits, c.largest]);
        let brought = json!({
            "measured": counts(&figures.measured),
            "unmeasured": counts(&figures.unmeasured),
            "service": figures.service.iter().map(|h| values(h.as_ref())).collect::<Vec<_>>(),
            "response": figures.response.iter().map(|h| values(h.as_ref())).collect::<Vec<_>>(),
            "lateness": values(figures.lateness.as_ref()),
            "by_second": figures.by_second.iter().map(|s| s.to_vec()).collect::<Vec<_>>(),
            "clients": clients.collect::<Vec<_>>(),
            "hot_holds": figures.hot_holds,
            "retries": figures.retries,
            "last_ns": figures.last_ns,
            "unsettled": self.unsettled,
            "errors": errors.collect::<Vec<_>>(),
            "hot_moves": self.hot_moves,
            "peak_bytes": self.peak_bytes,
            "interrupted": self.interrupted,
            "commits": commits,
        });
        format!("{brought}\n")
    }

    /// From a line; `None` when it is not one.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let brought: Value = serde_json::from_str(line).ok()?;
        let list = |name: &str| brought[name].as_array();
        let number = |name: &str| brought[name].as_u64();
        let histograms =
            |name: &str| -> Option<Vec<_>> { list(name)?.iter().map(histogram_of).collect() };
        let by_second = list("by_second")?.iter().map(|second| {
            let counts: Vec<u32> = numbers(second)?
                .into_iter()
                .map(|count| u32::try_from(count).ok())
                .collect::<Option<_>>()?;
            counts.try_into().ok()
        });
        let clients = list("clients")?.iter().map(|client| {
            let [answered, worst_ns] = numbers(client)?.try_into().ok()?;
            Some(ClientFigures { answered, worst_ns })
        });
        let errors = list("errors")?.iter().map(|error| {
            let at = usize::try_from(error[0].as_u64()?).ok()?;
            Some((Ending::all().nth(at)?, error[1].as_str()?.to_owned()))
        });
        let commits = match &brought["commits"] {
            Value::Null => None,
            commits => {
                let [calls, commits, largest] = numbers(commits)?.try_into().ok()?;
                Some(Commits {
                    calls,
                    commits,
                    largest,
                })
            }
        };
        Some(Self {
            figures: Figures {
                measured: counts_of(&brought["measured"])?,
                unmeasured: counts_of(&brought["unmeasured"])?,
                service: histograms("service")?,
                response: histograms("response")?,
                lateness: histogram_of(&brought["lateness"])?,
                by_second: by_second.collect::<Option<_>>()?,
                clients: clients.collect::<Option<_>>()?,
                hot_holds: number("hot_holds")?,
                retries: number("retries")?,
                last_ns: number("last_ns")?,
            },
            unsettled: number("unsettled")?,
            errors: errors.collect::<Option<_>>()?,
            hot_moves: number("hot_moves")?,
            peak_bytes: number("peak_bytes"),
            interrupted: brought["interrupted"].as_bool()?,
            commits,
        })
    }
}

fn numbers(list: &Value) -> Option<Vec<u64>> {
    list.as_array()?.iter().map(Value::as_u64).collect()
}

fn counts(counts: &Counts) -> Value {
    json!({"attempts": counts.attempts, "endings": counts.endings.to_vec()})
}

fn counts_of(value: &Value) -> Option<Counts> {
    Some(Counts {
        attempts: <[u64; Operation::ALL.len()]>::try_from(numbers(&value["attempts"])?).ok()?,
        endings: <[u64; Ending::COUNT]>::try_from(numbers(&value["endings"])?).ok()?,
    })
}

/// The buckets of a histogram, each by a value in it and its count.
fn values(histogram: Option<&Histogram<u64>>) -> Value {
    histogram.map_or(Value::Null, |histogram| {
        histogram
            .iter_recorded()
            .map(|bucket| json!([bucket.value_iterated_to(), bucket.count_at_value()]))
            .collect()
    })
}

/// The outer `None` when it is not a histogram, the inner one when there is none.
#[allow(clippy::option_option, reason = "read by one function, and documented")]
fn histogram_of(value: &Value) -> Option<Option<Histogram<u64>>> {
    if value.is_null() {
        return Some(None);
    }
    let mut read = histogram();
    for bucket in value.as_array()? {
        let [value, count] = numbers(bucket)?.try_into().ok()?;
        read.record_n(value, count).ok()?;
    }
    Some(Some(read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_read_as_it_was_written() {
        let share = Share {
            database: "a folder/seats.sqlite".into(),
            journals: "journals".into(),
            tag: "5.".to_owned(),
            origin: Origin {
                start: Timestamp::from_unix_millis(1_700_000_000_000).expect("valid"),
                monotonic_nanos: u64::MAX / 3,
            },
            first_client: 4,
            clients: 3,
        };
        assert_eq!(Share::of_line(&share.to_line()), Some(share));
        assert_eq!(Share::of_line("{}"), None);
    }

    #[test]
    fn how_far_a_process_is_is_read_as_it_was_written() {
        let so_far = SoFar {
            attempts: u64::MAX,
            sold: 3,
            errors: 2,
            hot_moves: 1,
        };
        assert_eq!(SoFar::of_line(&so_far.to_line()), Some(so_far));
        assert_eq!(SoFar::of_line("ready"), None);
        assert_eq!(SoFar::of_line(r#"{"so_far":[1,2]}"#), None);
    }

    #[test]
    fn figures_are_read_as_they_were_written() {
        let mut figures = Figures::new(2);
        let mut times = histogram();
        for nanos in (0..40).map(|bits| 1_u64 << bits) {
            times.record_n(nanos, nanos % 7 + 1).expect("in range");
        }
        figures.service[3] = Some(times.clone());
        figures.lateness = Some(times);
        figures.measured.endings[3] = 17;
        figures.unmeasured.attempts[1] = 5;
        figures.by_second = vec![[7; Ending::COUNT]; 3];
        figures.clients[1].worst_ns = 99;
        let brought = Brought {
            figures,
            unsettled: 1,
            errors: vec![(Ending::SOLD, "a \"word\"".to_owned())],
            hot_moves: 2,
            peak_bytes: None,
            interrupted: true,
            commits: Some(Commits {
                calls: 9,
                commits: 3,
                largest: 5,
            }),
        };
        let (mut read, mut brought) = (
            Brought::of_line(&brought.to_line()).expect("it is one"),
            brought,
        );
        assert_eq!(read.figures.service, brought.figures.service);
        assert_eq!(read.figures.lateness, brought.figures.lateness);
        for figures in [&mut read.figures, &mut brought.figures] {
            (figures.service[3], figures.lateness) = (None, None);
        }
        assert_eq!(format!("{read:?}"), format!("{brought:?}"));
        assert!(Brought::of_line("{}").is_none());
    }
}

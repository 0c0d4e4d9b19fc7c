//! The command line of `cargo bench -- ...`, which goes to every bench alike.
//!
//! Criterion reads it for itself and keeps what it read to itself. This is the same list of options
//! (criterion 0.8.2, `Criterion::configure_from_args`), read once more, to know three things: what is
//! to be done, which benches are meant, and why the figures may not be comparable.

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use regex::Regex;

use crate::error::Error;

/// An option as it is written, its letter, and what it is for; nothing for one that the harness of Rust's tests has
/// and nobody needs here.
type Named = (&'static str, Option<char>, &'static str);

/// Options without a value.
const FLAGS: [Named; 14] = [
    ("bench", None, "Measure: cargo bench adds it"),
    (
        "discard-baseline",
        None,
        "Keep no samples, and write no evidence",
    ),
    ("exact", None, "Run only what is called FILTER"),
    ("ignored", None, "Run nothing"),
    ("include-ignored", None, ""),
    ("list", None, "Name what would be run"),
    ("nocapture", None, ""),
    ("noplot", Some('n'), "Draw no plots"),
    ("quick", None, "Take a first look, not comparable"),
    ("quiet", None, "Print the results alone"),
    ("show-output", None, ""),
    ("test", None, "Run everything once, and measure nothing"),
    ("verbose", Some('v'), "Print more statistics"),
    ("version", Some('V'), ""),
];

/// Options with a value that do not change what a sample is.
const VALUES: [Named; 5] = [
    (
        "baseline",
        Some('b'),
        "Compare with the samples of this name",
    ),
    ("baseline-lenient", None, "The same, where there are any"),
    (
        "load-baseline",
        None,
        "Show the samples of this name, take none",
    ),
    (
        "save-baseline",
        Some('s'),
        "Keep the samples under this name",
    ),
    (
        "profile-time",
        None,
        "Run for so many seconds, for a profiler",
    ),
];

/// Options with few values, of which criterion takes no other.
const CHOICES: [(Named, &[&str]); 4] = [
    (
        ("color", Some('c'), "When to print in colours"),
        &["auto", "always", "never"],
    ),
    (("format", None, "How --list prints"), &["pretty", "terse"]),
    (
        ("output-format", None, "How results are printed"),
        &["criterion", "bencher"],
    ),
    (
        ("plotting-backend", None, "What draws the plots"),
        &["gnuplot", "plotters"],
    ),
];

/// Options that change how long or how often is measured.
const SAMPLING: [Named; 3] = [
    ("measurement-time", None, "Measure each for so many seconds"),
    (
        "sample-size",
        None,
        "Take so many samples of each, 10 or more",
    ),
    ("warm-up-time", None, "Warm up for so many seconds"),
];

/// Options that change only what criterion makes of its samples, none of which goes into evidence.
const ANALYSIS: [Named; 4] = [
    ("confidence-level", None, "Of intervals, such as 0.95"),
    (
        "noise-threshold",
        None,
        "The least change that is called one, such as 0.01",
    ),
    ("nresamples", None, "How often the bootstrap draws"),
    ("significance-level", None, "Of a change, such as 0.05"),
];

/// What a number may be; for another one criterion has a panic.
struct Allowed {
    option: &'static str,
    is_it: fn(&str) -> bool,
    in_words: &'static str,
}

const NUMBERS: [Allowed; 8] = {
    const fn allowed(
        option: &'static str,
        is_it: fn(&str) -> bool,
        in_words: &'static str,
    ) -> Allowed {
        Allowed {
            option,
            is_it,
            in_words,
        }
    }
    const SECONDS: &str = "a number of seconds above 0";
    const PART: &str = "a number between 0 and 1";
    [
        allowed(
            "sample-size",
            |text| whole(text) >= 10,
            "a whole number of 10 or more",
        ),
        allowed(
            "nresamples",
            |text| whole(text) >= 1,
            "a whole number of 1 or more",
        ),
        allowed("measurement-time", is_a_time, SECONDS),
        allowed("warm-up-time", is_a_time, SECONDS),
        allowed("profile-time", is_a_time, SECONDS),
        allowed("confidence-level", is_a_part, PART),
        allowed("significance-level", is_a_part, PART),
        allowed("noise-threshold", is_positive, "a number above 0"),
    ]
};

/// The whole number, or 0.
fn whole(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

fn is_a_time(text: &str) -> bool {
    let time = text.parse().ok();
    time.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .is_some_and(|time| time > Duration::ZERO)
}

fn is_a_part(text: &str) -> bool {
    text.parse::<f64>()
        .is_ok_and(|part| 0.0 < part && part < 1.0)
}

fn is_positive(text: &str) -> bool {
    text.parse::<f64>()
        .is_ok_and(|number| 0.0 < number && number.is_finite())
}

/// What a bench is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Measure.
    Measure,
    /// Run everything once, measure nothing: `--test`, or no `--bench` at all, as `cargo test` does.
    Test,
    /// Name everything that would be measured: `--list`.
    List,
    /// Run for a profiler, measure nothing: `--profile-time`.
    Profile,
}

/// The command line, read.
#[derive(Debug)]
pub struct Arguments {
    /// What is to be done.
    pub mode: Mode,
    /// `--quick`: a first look, not a measurement.
    pub quick: bool,
    filter: Option<Filter>,
    discarded: bool,
    loaded: bool,
    sampling: Vec<String>,
}

#[derive(Debug)]
enum Filter {
    Contains(Regex),
    Exactly(String),
    Nothing,
}

impl Arguments {
    /// The command line of this process. It ends the process where criterion would: for `--help`, and
    /// for an option that does not exist.
    ///
    /// # Errors
    /// [`Error::Usage`] when the filter is no regular expression, or a number is out of range.
    pub fn of_this_process(about: &'static str) -> Result<Self, Error> {
        Self::from_matches(&command(about).get_matches())
    }

    fn from_matches(found: &ArgMatches) -> Result<Self, Error> {
        let text = |name: &str| found.get_one::<String>(name).cloned();
        let mode = if found.get_flag("list") {
            Mode::List
        } else if !found.get_flag("bench") || found.get_flag("test") {
            Mode::Test
        } else if text("profile-time").is_some() {
            Mode::Profile
        } else {
            Mode::Measure
        };
        let filter = match text("FILTER") {
            _ if found.get_flag("ignored") => Some(Filter::Nothing),
            Some(name) if found.get_flag("exact") => Some(Filter::Exactly(name)),
            Some(part) => Some(Filter::Contains(Regex::new(&part).map_err(|error| {
                // Before its last line it draws where in the expression that is.
                let text = error.to_string();
                let reason = text.lines().last().unwrap_or_default();
                let reason = reason.trim_start_matches("error: ");
                Error::Usage(format!(
                    "the filter {part:?} is no regular expression: {reason}"
                ))
            })?)),
            None => None,
        };
        for Allowed {
            option,
            is_it,
            in_words,
        } in &NUMBERS
        {
            if let Some(value) = text(option).filter(|value| !is_it(value)) {
                return Err(Error::Usage(format!(
                    "--{option} {value}: it must be {in_words}"
                )));
            }
        }
        let sampling = SAMPLING
            .into_iter()
            .filter_map(|(name, ..)| text(name).map(|value| format!("--{name} {value}")))
            .collect();
        Ok(Self {
            mode,
            quick: found.get_flag("quick"),
            filter,
            discarded: found.get_flag("discard-baseline"),
            loaded: text("load-baseline").is_some(),
            sampling,
        })
    }

    /// Is the bench of this name meant?
    pub fn selects(&self, name: &str) -> bool {
        match &self.filter {
            None => true,
            Some(Filter::Contains(part)) => part.is_match(name),
            Some(Filter::Exactly(whole)) => whole == name,
            Some(Filter::Nothing) => false,
        }
    }

    /// Takes out the options that change how long or how often is measured, for a bench that does not ask
    /// them, and returns them.
    pub fn without_sampling(&mut self) -> Vec<String> {
        std::mem::take(&mut self.sampling)
    }

    /// Are samples taken in this run, and kept? `--load-baseline` takes none, `--discard-baseline`
    /// keeps none.
    pub fn keeps_samples(&self) -> bool {
        self.mode == Mode::Measure && !self.discarded && !self.loaded
    }

    /// Does this run measure anything? `--load-baseline` shows an earlier run once more.
    pub fn measures(&self) -> bool {
        self.mode == Mode::Measure && !self.loaded
    }

    /// Why the figures of this run must not be compared with those of another.
    pub fn not_comparable_because(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.quick {
            reasons.push("--quick takes a few short samples for a first look".to_owned());
        }
        match &self.filter {
            Some(Filter::Contains(part)) => {
                reasons.push(format!("only what matches {:?} was run", part.as_str()));
            }
            Some(Filter::Exactly(name)) => reasons.push(format!("only {name:?} was run")),
            Some(Filter::Nothing) | None => {}
        }
        reasons.extend(
            self.sampling
                .iter()
                .map(|option| format!("{option} changed the sampling")),
        );
        reasons
    }
}

fn command(about: &'static str) -> Command {
    let option = |(name, short, help): Named| {
        let arg = Arg::new(name).long(name).help(help).hide(help.is_empty());
        short.into_iter().fold(arg, Arg::short)
    };
    let flag = |named| option(named).action(ArgAction::SetTrue);
    let value = |named| option(named).value_name("VALUE");
    let choice = |(named, values): (Named, &'static [&str])| {
        let values = PossibleValuesParser::new(values);
        option(named).value_name("WHICH").value_parser(values)
    };
    Command::new("bench")
        .bin_name("cargo bench --")
        .about(about)
        .after_help(
            "A bench says which options change nothing in it. A filter that matches nothing in one \
             bench is no error there: it may match in another.\n\n\
             Exit codes: 0 measured, also when an aim is missed; 1 could not run; 2 wrong usage; \
             3 an audit found something.",
        )
        .max_term_width(80)
        .disable_version_flag(true)
        .arg(Arg::new("FILTER").help("Run only what matches this regular expression"))
        .args(FLAGS.map(flag))
        .args(
            VALUES
                .into_iter()
                .chain(SAMPLING)
                .chain(ANALYSIS)
                .map(value),
        )
        .args(CHOICES.map(choice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Arguments {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        Arguments::from_matches(&command("").get_matches_from(words)).expect("valid")
    }

    #[test]
    fn the_mode_is_the_one_that_criterion_takes() {
        for (line, mode) in [
            ("--bench", Mode::Measure),
            ("", Mode::Test),
            ("--test", Mode::Test),
            ("--bench --test", Mode::Test),
            ("--bench --list", Mode::List),
            ("--list --format terse", Mode::List),
            ("--bench --profile-time 5", Mode::Profile),
            ("--bench --quick", Mode::Measure),
        ] {
            assert_eq!(read(line).mode, mode, "{line}");
        }
    }

    #[test]
    fn samples_are_kept_only_by_a_run_that_takes_and_saves_them() {
        for (line, keeps) in [
            ("--bench", true),
            ("--bench --quick --noplot -c never", true),
            ("--bench --save-baseline mine", true),
            ("--bench --baseline mine", true),
            ("--bench --discard-baseline", false),
            ("--bench --load-baseline a --baseline b", false),
            ("--bench --profile-time 5", false),
            ("--bench --test", false),
            ("--test", false),
        ] {
            assert_eq!(read(line).keeps_samples(), keeps, "{line}");
        }
        for (line, measures) in [
            ("--bench --discard-baseline", true),
            ("--bench --load-baseline a --baseline b", false),
            ("--bench --profile-time 5", false),
            ("--test", false),
        ] {
            assert_eq!(read(line).measures(), measures, "{line}");
        }
    }

    #[test]
    fn a_filter_selects_as_criterion_selects() {
        assert!(read("--bench").selects("hold/granted"));
        assert!(read("--bench ^hold").selects("hold/granted"));
        assert!(!read("--bench ^granted").selects("hold/granted"));
        assert!(!read("--bench --exact hold").selects("hold/granted"));
        assert!(read("--bench --exact hold/granted").selects("hold/granted"));
        assert!(!read("--bench --ignored").selects("hold/granted"));
    }

    #[test]
    fn the_value_of_an_option_is_no_filter() {
        assert!(read("--bench --save-baseline hold").selects("confirm/sold"));
        assert!(
            read("--bench -s hold --nresamples 10")
                .not_comparable_because()
                .is_empty()
        );
    }

    #[test]
    fn whatever_makes_figures_incomparable_is_said() {
        assert!(read("--bench").not_comparable_because().is_empty());
        assert_eq!(
            read("--bench --quick hold").not_comparable_because(),
            [
                "--quick takes a few short samples for a first look",
                "only what matches \"hold\" was run"
            ]
        );
        assert_eq!(
            read("--bench --sample-size 10").not_comparable_because(),
            ["--sample-size 10 changed the sampling"]
        );
        assert_eq!(
            read("--bench --exact hold").not_comparable_because(),
            ["only \"hold\" was run"]
        );
    }

    #[test]
    fn a_number_that_criterion_would_not_take_is_one_line() {
        for (line, expected) in [
            (
                "--sample-size 9",
                "--sample-size 9: it must be a whole number of 10 or more",
            ),
            (
                "--sample-size 1.5",
                "--sample-size 1.5: it must be a whole number of 10 or more",
            ),
            (
                "--nresamples 0",
                "--nresamples 0: it must be a whole number of 1 or more",
            ),
            (
                "--measurement-time 0",
                "--measurement-time 0: it must be a number of seconds above 0",
            ),
            (
                "--warm-up-time 1e300",
                "--warm-up-time 1e300: it must be a number of seconds above 0",
            ),
            (
                "--profile-time x",
                "--profile-time x: it must be a number of seconds above 0",
            ),
            (
                "--confidence-level 1",
                "--confidence-level 1: it must be a number between 0 and 1",
            ),
            (
                "--noise-threshold 0",
                "--noise-threshold 0: it must be a number above 0",
            ),
            (
                "--noise-threshold inf",
                "--noise-threshold inf: it must be a number above 0",
            ),
            (
                "--significance-level 2",
                "--significance-level 2: it must be a number between 0 and 1",
            ),
        ] {
            let words = ["bench", "--bench"]
                .into_iter()
                .chain(line.split_whitespace());
            let found = command("").get_matches_from(words);
            let error = Arguments::from_matches(&found).expect_err(line);
            assert_eq!(error.to_string(), expected);
        }
        read("--bench --sample-size 10 --nresamples 1 --measurement-time 0.5");
        read("--bench -n --confidence-level 0.9 --significance-level 0.1 --noise-threshold 2");
    }

    #[test]
    fn a_word_that_criterion_would_not_take_is_refused_and_the_others_are_named() {
        for line in [
            "--color purple",
            "--format long",
            "--output-format json",
            "--plotting-backend x",
        ] {
            let words = ["bench", "--bench"]
                .into_iter()
                .chain(line.split_whitespace());
            let error = command("").try_get_matches_from(words).expect_err(line);
            let (option, _) = line.split_once(' ').expect("two words");
            let text = error.to_string();
            assert!(
                text.contains(option) && text.contains("[possible values: "),
                "{text}"
            );
        }
        assert_eq!(
            read("--bench --color never --format terse").mode,
            Mode::Measure
        );
    }

    #[test]
    fn the_help_fits_into_80_columns_and_leaves_out_only_what_nobody_needs() {
        let mut command = command("About");
        let left_out: Vec<_> = command
            .get_arguments()
            .filter(|option| option.is_hide_set())
            .map(|option| option.get_id().as_str())
            .collect();
        let of_the_harness = ["include-ignored", "nocapture", "show-output", "version"];
        assert_eq!(left_out, of_the_harness);
        let help = command.render_long_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(
            help.starts_with("About") && help.contains("cargo bench -- [OPTIONS] [FILTER]"),
            "{help}"
        );
    }

    #[test]
    fn a_bench_with_samples_of_its_own_says_what_it_leaves_out() {
        let mut arguments = read("--bench --sample-size 10 --warm-up-time 1");
        let left_out = ["--sample-size 10", "--warm-up-time 1"];
        assert_eq!(arguments.without_sampling(), left_out);
        assert!(arguments.not_comparable_because().is_empty());
    }

    #[test]
    fn a_filter_that_is_no_regular_expression_is_one_line() {
        let found = command("").get_matches_from(["bench", "ho(ld"]);
        let error = Arguments::from_matches(&found)
            .expect_err("invalid")
            .to_string();
        assert_eq!(
            error,
            "the filter \"ho(ld\" is no regular expression: unclosed group"
        );
    }
}

//! Durations and numbers, as people type and read them.

use std::time::Duration;

/// The units that a duration may be given in, with their length in nanoseconds.
const UNITS: [(&str, f64); 6] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
];

/// The longest duration that is taken: 30 days.
const LONGEST: Duration = Duration::from_hours(30 * 24);

/// Reads a duration such as `10s`, `250ms` or `1.5m`.
///
/// # Errors
/// Says what is wrong and what is allowed.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let split = text
        .find(|c: char| c.is_ascii_alphabetic())
        .ok_or_else(|| format!("it has no unit; write {text}s or {text}ms"))?;
    let (number, unit) = text.split_at(split);
    let nanos = UNITS
        .iter()
        .find_map(|(name, nanos)| (*name == unit).then_some(*nanos))
        .ok_or_else(|| format!("there is no unit {unit}; use ns, us, ms, s, m or h"))?;
    let number: f64 = number
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| format!("{number} is not a number of {unit}"))?;
    Duration::try_from_secs_f64(number * nanos / 1e9)
        .ok()
        .filter(|duration| *duration <= LONGEST)
        .ok_or_else(|| "it is longer than 30 days (720h)".to_owned())
}

/// Reads a percentage: a number from 0 to 100, with or without a `%` behind it.
///
/// # Errors
/// Says what is wrong and what is allowed.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    text.trim_end_matches('%')
        .trim_end()
        .parse()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "it is not a number from 0 to 100".to_owned())
}

/// Nanoseconds in at most six characters: `834µs`, `1.23ms`, `12.3s`.
pub fn short_time(nanos: u64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "three digits of it are shown")]
    let nanos = nanos as f64;
    for (unit, length) in [("ns", 1.0), ("µs", 1e3), ("ms", 1e6)] {
        // What would be rounded up to 1000 of a unit is shown as one of the next.
        if nanos / length < 999.5 {
            return format!("{}{unit}", three_digits(nanos / length));
        }
    }
    let seconds = nanos / 1e9;
    if seconds < 999.5 {
        format!("{}s", three_digits(seconds))
    } else {
        format!("{:.0}m", seconds / 60.0)
    }
}

/// A rate in at most seven characters: `0.30`, `12.5`, `1,234`.
pub fn short_rate(rate: f64) -> String {
    if rate < 99.95 {
        three_digits(rate)
    } else {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate is not negative, and a cast of a huge one saturates"
        )]
        thousands(rate.round() as u64)
    }
}

fn three_digits(number: f64) -> String {
    if number < 9.995 && number.fract() != 0.0 {
        format!("{number:.2}")
    } else if number < 99.95 && number.fract() != 0.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.0}")
    }
}

/// A duration as it would be typed: `10s`, `250ms`, `1.5s`.
pub fn typed(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos > 1_000_000_000 && !nanos.is_multiple_of(1_000_000_000) {
        return format!("{}s", duration.as_secs_f64());
    }
    for (unit, length) in [
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
    ] {
        if nanos >= length && nanos.is_multiple_of(length) {
            return format!("{}{unit}", nanos / length);
        }
    }
    format!("{nanos}ns")
}

/// A number with a comma between thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A duration in whole nanoseconds; one of more than 584 years saturates.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_needs_a_number_and_a_unit() {
        for (text, millis) in [("10s", 10_000), ("250ms", 250), ("1.5m", 90_000), ("0s", 0)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)));
        }
        for bad in ["10", "s", "10 parsecs", "-1s", "infs", "1e30s", "721h", ""] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        assert_eq!(
            parse_duration("10"),
            Err("it has no unit; write 10s or 10ms".to_owned())
        );
    }

    #[test]
    fn a_duration_is_shown_as_it_would_be_typed() {
        for text in ["10s", "250ms", "1ns", "90m", "2h", "15us", "1.5s"] {
            assert_eq!(typed(parse_duration(text).expect("valid")), text);
        }
    }

    #[test]
    fn a_time_never_takes_more_than_six_characters() {
        for (nanos, shown) in [
            (0, "0ns"),
            (999, "999ns"),
            (1_234, "1.23µs"),
            (999_600, "1.00ms"),
            (12_345_678, "12.3ms"),
            (1_000_000_000, "1s"),
            (59_940_000_000, "59.9s"),
            (3_600_000_000_000, "60m"),
        ] {
            assert_eq!(short_time(nanos), shown);
        }
        for nanos in (0..45).map(|bits| 1_u64 << bits).flat_map(|n| [n - 1, n]) {
            let shown = short_time(nanos);
            assert!(shown.chars().count() <= 6, "{nanos} is shown as {shown}");
        }
    }

    #[test]
    fn rates_and_counts_are_grouped_by_thousands() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(999), "999");
        assert_eq!(short_rate(0.3), "0.30");
        assert_eq!(short_rate(12.34), "12.3");
        assert_eq!(short_rate(99_999.6), "100,000");
    }
}

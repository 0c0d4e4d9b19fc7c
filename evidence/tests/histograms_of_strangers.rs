//! Histograms that come from other programs, or from someone who means harm.

mod common;

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evidence::hdrhistogram::Histogram as Hdr;
use evidence::hdrhistogram::serialization::{Serializer as _, V2Serializer};
use evidence::{Histogram, HistogramError, Labels, Statistic, Unit, verify_bytes};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;

#[test]
fn the_figures_are_those_of_the_ranks() {
    let of = Labels::new("hold", "service_time");
    let histogram = Histogram::some(of, Unit::Nanoseconds, &common::histogram(1..=1_000)).unwrap();
    let summary = &histogram.summary;
    let figures = Statistic::ALL.map(|statistic| summary.get(statistic).to_string());
    assert_eq!(
        figures,
        ["1", "500.5", "500", "900", "990", "999", "1000", "1000"]
    );
    // Ten samples lie beyond p99, one beyond p99.9.
    assert_eq!(summary.thin, [Statistic::P999, Statistic::P9999]);
}

#[test]
fn the_quantiles_agree_with_the_library_to_one_sample() {
    let mut values = Hdr::<u64>::new(3).unwrap();
    let mut random = 1_u64;
    for _ in 0..100_003 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        values.record(random >> (random % 30 + 30)).unwrap();
    }
    let histogram = Histogram::some(
        Labels::new("hold", "service_time"),
        Unit::Nanoseconds,
        &values,
    )
    .unwrap();
    let summary = &histogram.summary;
    assert_eq!(summary.count.0, values.len());
    assert_eq!((summary.min.0, summary.max.0), (values.min(), values.max()));
    for (ours, quantile) in [
        (summary.p50, 0.5),
        (summary.p90, 0.9),
        (summary.p99, 0.99),
        (summary.p99_9, 0.999),
        (summary.p99_99, 0.9999),
    ] {
        assert_eq!(ours.0, values.value_at_quantile(quantile), "{quantile}");
    }
    assert!((summary.mean.get() - values.mean()).abs() < 1e-6 * values.mean());
}

#[test]
fn an_empty_histogram_and_one_of_the_largest_values_work() {
    let empty = Histogram::every(
        Labels::new("hold", "x"),
        Unit::Number,
        &Hdr::new(3).unwrap(),
    )
    .unwrap();
    assert_eq!(empty.summary.count.0, 0);
    assert!(empty.summary.thin.is_empty());
    let mut values = Hdr::<u64>::new_with_bounds(1, u64::MAX, 3).unwrap();
    values.record_n(u64::MAX, 3).unwrap();
    values.record(0).unwrap();
    // The library lets its last range end one below the largest number.
    let large = Histogram::some(Labels::new("hold", "x"), Unit::Number, &values).unwrap();
    assert_eq!(
        (large.summary.min.0, large.summary.max.0),
        (0, u64::MAX - 1)
    );
    assert_eq!(large.summary.count.0, values.len());
}

#[test]
fn more_samples_than_the_form_carries_are_refused_when_written() {
    let mut values = Hdr::<u64>::new(3).unwrap();
    values.record_n(1, u64::MAX).unwrap();
    let refused = Histogram::some(Labels::new("hold", "x"), Unit::Number, &values);
    assert_eq!(refused.unwrap_err(), HistogramError::TooManySamples);
}

#[test]
fn every_part_of_the_encoding_is_looked_at() {
    let plain = plain(&common::histogram([1, 2, 300, 40_000]));
    assert!(decode(&pack(&plain)).is_ok());
    let changed = |at: usize, byte: u8| {
        let mut bytes = plain.clone();
        bytes[at] = byte;
        pack(&bytes)
    };
    let counts = |counts: &[u8]| {
        let mut bytes = plain[..40].to_vec();
        bytes[4..8].copy_from_slice(&u32::try_from(counts.len()).unwrap().to_be_bytes());
        bytes.extend(counts);
        pack(&bytes)
    };
    let mut long = pack(&plain);
    long.push(0);
    let mut inside = pack(&plain);
    inside.push(0);
    let length = u32::try_from(inside.len() - 8).unwrap();
    inside[4..8].copy_from_slice(&length.to_be_bytes());
    let mut flipped = pack(&plain);
    flipped[20] ^= 0xff;
    let zeros = vec![0; 17 << 20];
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", vec![]),
        ("not compressed", plain.clone()),
        ("a byte more", long),
        ("a byte more inside", inside),
        ("damaged stream", flipped),
        ("inflates to 17 MiB", pack(&zeros)),
        ("another inner cookie", changed(0, 0)),
        ("an offset", changed(11, 1)),
        ("nine digits", changed(15, 9)),
        ("a ratio", changed(32, 0)),
        ("claims 4 GiB of counts", changed(4, 255)),
        ("header cut short", pack(&plain[..39])),
        ("lowest value 0", counts_with_lowest(&plain, 0)),
        ("lowest value 2^63", counts_with_lowest(&plain, 1 << 63)),
        ("the least number there is", counts(&[0xff; 9])),
        ("a count cut short", counts(&[0x80])),
        (
            "counts beyond 2^63",
            counts(&[
                0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x02,
            ]),
        ),
        (
            "a count beyond its range",
            counts(&[0x81, 0x80, 0x80, 0x80, 0x08, 2]),
        ),
    ];
    for (what, bytes) in cases {
        assert!(decode(&bytes).is_err(), "{what}");
    }
}

#[test]
fn base64_has_one_spelling_only() {
    let hdr = STANDARD.encode(pack(&plain(&common::histogram([1, 2, 3]))));
    for wrong in [
        format!("{hdr}="),
        format!(" {hdr}"),
        hdr.replace('A', "-"),
        hdr.trim_end_matches('=').to_owned() + "\n",
    ] {
        assert_eq!(
            with_hdr(wrong).decode().unwrap_err(),
            HistogramError::NotBase64
        );
    }
}

#[test]
fn a_damaged_histogram_in_a_file_is_a_finding_of_its_own() {
    let mut statement = common::full();
    statement.predicate.results.histograms[1]
        .hdr
        .replace_range(40..41, "!");
    common::seal(&mut statement);
    let findings = verify_bytes(statement.to_json().as_bytes()).unwrap_err();
    assert_eq!(findings.len(), 1);
    assert!(
        findings[0]
            .to_string()
            .starts_with("predicate.results.histograms[1].hdr: not base64"),
        "{}",
        findings[0]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_payload_decoding_never_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        tail in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = plain(&common::histogram([1, 5, 5, 1_000, 123_456_789]));
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.extend(tail);
        // Mend the length, so that the damage is met behind it.
        let length = u32::try_from(bytes.len() - 40).unwrap();
        bytes[4..8].copy_from_slice(&length.to_be_bytes());
        if let Ok(values) = decode(&pack(&bytes)) {
            // What can be read can be summed up, and stands the file.
            if let Ok(histogram) = Histogram::some(Labels::new("x", "y"), Unit::Number, &values) {
                let mut file = common::full_without_histograms();
                file.predicate.results.histograms.push(histogram);
                common::seal(&mut file);
                prop_assert!(verify_bytes(file.to_json().as_bytes()).is_ok());
            }
        }
    }
}

fn plain(values: &Hdr<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(values, &mut bytes).unwrap();
    bytes
}

fn counts_with_lowest(plain: &[u8], lowest: u64) -> Vec<u8> {
    let mut bytes = plain.to_vec();
    bytes[16..24].copy_from_slice(&lowest.to_be_bytes());
    pack(&bytes)
}

fn pack(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    let stream = encoder.finish().unwrap();
    let mut packed = 0x1c84_9314_u32.to_be_bytes().to_vec();
    packed.extend(u32::try_from(stream.len()).unwrap().to_be_bytes());
    packed.extend(stream);
    packed
}

fn decode(packed: &[u8]) -> Result<Hdr<u64>, HistogramError> {
    with_hdr(STANDARD.encode(packed)).decode()
}

fn with_hdr(hdr: String) -> Histogram {
    let mut histogram = verify_bytes(&common::kept())
        .unwrap()
        .predicate
        .results
        .histograms
        .remove(0);
    histogram.hdr = hdr;
    histogram
}

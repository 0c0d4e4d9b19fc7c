//! Histograms: to and from the HdrHistogram V2 form, and the figures that follow from one.
//!
//! The encoding is the one that the HdrHistogram libraries share: a four-byte cookie, the length,
//! and a zlib stream that holds the V2 payload, whose counts are zigzag LEB128 numbers in which a
//! negative number is a run of empty buckets
//! (<https://github.com/HdrHistogram/HdrHistogram>, `AbstractHistogram.encodeIntoByteBuffer`).
//!
//! The bytes may come from anywhere. They are inflated here, under a limit, and every number is
//! looked at before the library decodes them, because the library takes the lengths and counts of
//! its input at their word.
//!
//! # How the figures follow
//!
//! The quantile q of n samples is the sample of rank `ceil(n * q)`, counted in whole numbers. Each
//! sample is known only as one of a small range of values: `min` is the lowest value of its range,
//! a quantile and `max` the highest, and `mean` takes the middle of each range.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};

use crate::number::{Integer, Real};
use crate::results::{Covers, Histogram, Labels, Statistic, Summary, Unit};

/// The most bytes that a histogram may inflate to. One at three significant digits that has a
/// sample in every bucket of 64 bits needs less than 1 MiB.
const MAX_INFLATED: usize = 16 << 20;
/// The magic numbers of the two layers; their low digit pair says "no word size", as V2 has none.
const COOKIE_V2: u32 = 0x1c84_9303 | 0x10;
const COOKIE_V2_DEFLATE: u32 = 0x1c84_9304 | 0x10;
/// Bytes before the counts: cookie, length, offset, digits, lowest, highest, ratio.
const V2_HEADER: usize = 40;

/// Quantiles as (statistic, numerator, denominator).
const QUANTILES: [(Statistic, u64, u64); 5] = [
    (Statistic::P50, 50, 100),
    (Statistic::P90, 90, 100),
    (Statistic::P99, 99, 100),
    (Statistic::P999, 999, 1_000),
    (Statistic::P9999, 9_999, 10_000),
];
/// A quantile with fewer samples beyond it is called thin.
const THIN_BELOW: u64 = 10;

/// Why a histogram can not be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    /// Some count is beyond 2^63 - 1, which the V2 form can not carry.
    #[error("a count is beyond 2^63 - 1, the most that the HdrHistogram V2 form carries")]
    TooManySamples,
    /// Not base64, or not in its one canonical form.
    #[error("not base64 in canonical form (RFC 4648, with padding)")]
    NotBase64,
    /// The bytes are not one compressed V2 histogram; the text says what is wrong.
    #[error("not a compressed HdrHistogram V2: {0}")]
    NotV2(&'static str),
}

impl Histogram {
    /// A histogram of every call that the labels name: its count has to be the count of that
    /// outcome, or the attempts of that operation.
    ///
    /// # Errors
    ///
    /// [`HistogramError::TooManySamples`].
    pub fn every(
        of: Labels,
        unit: Unit,
        values: &hdrhistogram::Histogram<u64>,
    ) -> Result<Self, HistogramError> {
        Self::encode(of, Covers::Every, unit, values)
    }

    /// A histogram of some of the calls only, or of something that is not a call.
    ///
    /// # Errors
    ///
    /// [`HistogramError::TooManySamples`].
    pub fn some(
        of: Labels,
        unit: Unit,
        values: &hdrhistogram::Histogram<u64>,
    ) -> Result<Self, HistogramError> {
        Self::encode(of, Covers::Some, unit, values)
    }

    fn encode(
        of: Labels,
        covers: Covers,
        unit: Unit,
        values: &hdrhistogram::Histogram<u64>,
    ) -> Result<Self, HistogramError> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(values, &mut bytes)
            .map_err(|_| HistogramError::TooManySamples)?;
        let hdr = STANDARD.encode(&bytes);
        let summary = summary(&decode(&hdr)?);
        Ok(Self {
            of,
            covers,
            unit,
            summary,
            hdr,
        })
    }

    /// The histogram itself, read from `hdr`.
    ///
    /// # Errors
    ///
    /// [`HistogramError::NotBase64`] and [`HistogramError::NotV2`].
    pub fn decode(&self) -> Result<hdrhistogram::Histogram<u64>, HistogramError> {
        decode(&self.hdr)
    }
}

impl Summary {
    /// The figures that follow from a histogram, as described at the head of this module.
    pub fn of(values: &hdrhistogram::Histogram<u64>) -> Self {
        summary(values)
    }
}

pub(crate) fn summary(values: &hdrhistogram::Histogram<u64>) -> Summary {
    let count = values.len();
    if count == 0 {
        return Summary::default();
    }
    let mut ranks = QUANTILES.map(|(_, numerator, denominator)| {
        (u128::from(count) * u128::from(numerator)).div_ceil(u128::from(denominator))
    });
    let mut quantiles = [0; 5];
    let (mut min, mut max, mut seen, mut sum) = (None, 0, 0_u128, 0_u128);
    for step in values.iter_recorded() {
        let value = step.value_iterated_to();
        let here = u128::from(step.count_at_value());
        min.get_or_insert(values.lowest_equivalent(value));
        max = values.highest_equivalent(value);
        seen += here;
        sum = sum.saturating_add(u128::from(values.median_equivalent(value)).saturating_mul(here));
        for (rank, quantile) in ranks.iter_mut().zip(&mut quantiles) {
            if *rank <= seen {
                (*rank, *quantile) = (u128::MAX, max);
            }
        }
    }
    let thin = QUANTILES.iter().filter(|(_, numerator, denominator)| {
        u128::from(count) * u128::from(denominator - numerator)
            < u128::from(THIN_BELOW * denominator)
    });
    #[allow(
        clippy::cast_precision_loss,
        reason = "the mean is a float; both sides round the same way"
    )]
    let mean = sum as f64 / count as f64;
    Summary {
        count: Integer(count),
        min: Integer(min.unwrap_or_default()),
        mean: Real::unchecked(mean),
        p50: Integer(quantiles[0]),
        p90: Integer(quantiles[1]),
        p99: Integer(quantiles[2]),
        p99_9: Integer(quantiles[3]),
        p99_99: Integer(quantiles[4]),
        max: Integer(max),
        thin: thin.map(|(statistic, _, _)| *statistic).collect(),
    }
}

fn decode(hdr: &str) -> Result<hdrhistogram::Histogram<u64>, HistogramError> {
    let packed = STANDARD
        .decode(hdr)
        .map_err(|_| HistogramError::NotBase64)?;
    let plain = inflate(&packed)?;
    inspect(&plain)?;
    Deserializer::new()
        .deserialize(&mut plain.as_slice())
        .map_err(|_| HistogramError::NotV2("its counts do not fit its range"))
}

/// Takes the outer layer off, under a limit.
fn inflate(packed: &[u8]) -> Result<Vec<u8>, HistogramError> {
    if be_u32(packed, 0) != Some(COOKIE_V2_DEFLATE) {
        return Err(HistogramError::NotV2("the cookie is another"));
    }
    let stream = packed.get(8..).unwrap_or_default();
    if be_u32(packed, 4).map(|length| length as usize) != Some(stream.len()) {
        return Err(HistogramError::NotV2("the compressed length is wrong"));
    }
    let mut decoder = ZlibDecoder::new(stream);
    let mut plain = Vec::new();
    let limit = MAX_INFLATED as u64 + 1;
    if decoder
        .by_ref()
        .take(limit)
        .read_to_end(&mut plain)
        .is_err()
    {
        return Err(HistogramError::NotV2("the zlib stream is damaged"));
    }
    if plain.len() > MAX_INFLATED {
        return Err(HistogramError::NotV2("it inflates to more than 16 MiB"));
    }
    if decoder.total_in() != stream.len() as u64 {
        return Err(HistogramError::NotV2("bytes follow the zlib stream"));
    }
    Ok(plain)
}

/// Looks at every number of a V2 payload that the library would trust.
fn inspect(plain: &[u8]) -> Result<(), HistogramError> {
    if be_u32(plain, 0) != Some(COOKIE_V2) {
        return Err(HistogramError::NotV2("the inner cookie is another"));
    }
    let counts = plain
        .get(V2_HEADER..)
        .ok_or(HistogramError::NotV2("the header is cut short"))?;
    if be_u32(plain, 4).map(|length| length as usize) != Some(counts.len()) {
        return Err(HistogramError::NotV2("the length of the counts is wrong"));
    }
    let mut total = 0_u64;
    let mut rest = counts;
    while !rest.is_empty() {
        let zigzag;
        (zigzag, rest) = leb128(rest).ok_or(HistogramError::NotV2("a count is cut short"))?;
        #[allow(
            clippy::cast_possible_wrap,
            reason = "zigzag: the halved number is below 2^63"
        )]
        let number = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        if number < -i64::from(u32::MAX) {
            return Err(HistogramError::NotV2("a run of empty buckets is too long"));
        }
        total = total
            .checked_add(u64::try_from(number).unwrap_or_default())
            .filter(|total| i64::try_from(*total).is_ok())
            .ok_or(HistogramError::NotV2(
                "the counts add up to more than 2^63 - 1",
            ))?;
    }
    Ok(())
}

/// Reads one number of the V2 form: seven bits a byte, the ninth byte whole.
fn leb128(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        let bits = if at == 8 { *byte } else { byte & 0x7f };
        value |= u64::from(bits) << (7 * at);
        if at == 8 || byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}

fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..at + 4)?
        .try_into()
        .ok()
        .map(u32::from_be_bytes)
}

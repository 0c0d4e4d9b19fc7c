//! A quick digest of 128 bits: to tell images apart by the hundred thousand, not to stand up to an attacker.
//!
//! Two lanes of multiply-and-fold over words of 64 bits. Among a million images the chance that two
//! share a digest is below 1 in 10^26 for anything that is not made to collide.

/// A digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Digest(pub u128);

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Builds a [`Digest`]. Each piece is taken with its length, so that pieces can not run together.
#[derive(Debug, Clone)]
pub struct Hasher {
    low: u64,
    high: u64,
}

impl Default for Hasher {
    fn default() -> Self {
        Self {
            low: 0x243f_6a88_85a3_08d3,
            high: 0x1319_8a2e_0370_7344,
        }
    }
}

const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are wanted")]
    let halves = (product as u64, (product >> 64) as u64);
    halves.0 ^ halves.1
}

impl Hasher {
    fn pair(&mut self, a: u64, b: u64) {
        self.low = fold(a ^ self.low, b ^ 0xa409_3822_299f_31d1).wrapping_add(self.high);
        self.high = fold(b ^ self.high, a ^ 0x082e_fa98_ec4e_6c89) ^ self.low.rotate_left(29);
    }

    /// Takes bytes in.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.pair(bytes.len() as u64, 0x4528_21e6_38d0_1377);
        let (pairs, rest) = bytes.as_chunks::<16>();
        for chunk in pairs {
            let word = u128::from_le_bytes(*chunk);
            #[expect(clippy::cast_possible_truncation, reason = "the two halves are wanted")]
            self.pair(word as u64, (word >> 64) as u64);
        }
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        let word = u128::from_le_bytes(last);
        #[expect(clippy::cast_possible_truncation, reason = "the two halves are wanted")]
        self.pair(word as u64, (word >> 64) as u64);
    }

    /// Takes a text in.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Takes numbers in.
    pub fn numbers(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.pair(*number, 0xbe54_66cf_34e9_0c6c);
        }
    }

    /// The digest of all that was taken in.
    pub fn finish(mut self) -> Digest {
        self.pair(self.high, self.low);
        self.pair(self.high, 0xc0ac_29b7_c97c_50dd);
        Digest(u128::from(self.high) << 64 | u128::from(self.low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Digest {
        let mut hasher = Hasher::default();
        hasher.bytes(bytes);
        hasher.finish()
    }

    #[test]
    fn one_changed_bit_anywhere_changes_the_digest() {
        let base = vec![0; 100];
        let mut seen = std::collections::HashSet::from([of(&base)]);
        for bit in 0..800 {
            let mut other = base.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(seen.insert(of(&other)), "bit {bit}");
        }
        for length in 0..100 {
            assert!(seen.insert(of(&base[..length])), "length {length}");
        }
    }
}

//! Changes to inputs, from a seeded generator: the same seed gives the same inputs.

/// SplitMix64.
pub struct Random(u64);

impl Random {
    /// A generator.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound.max(1) as u64) as usize
    }
}

/// Longest input, in bytes.
pub const LONGEST: usize = 1 << 16;

/// Numbers at which code changes its mind.
const EDGES: [u64; 14] = [
    0,
    1,
    2,
    7,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0xffff_ffff,
    i64::MAX as u64,
    u64::MAX,
];

/// A changed copy of an input; `other` is another one of the corpus.
pub fn changed(random: &mut Random, input: &[u8], other: &[u8], words: &[&str]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..1 + random.below(4) {
        change(random, &mut bytes, other, words);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8], words: &[&str]) {
    let length = bytes.len();
    let at = random.below(length + 1);
    let scale = random.below(7);
    let span = 1 + random.below(1 << scale);
    let end = (at + span).min(length);
    match random.below(11) {
        0 if length > 0 => bytes[at % length] ^= 1 << random.below(8),
        1 if length > 0 => bytes[at % length] = random.bits() as u8,
        2 => drop(bytes.drain(at..end)),
        3 => {
            let noise: Vec<u8> = (0..span).map(|_| random.bits() as u8).collect();
            bytes.splice(at..at, noise);
        }
        4 => {
            let again = bytes[at..end].to_vec();
            let to = random.below(length + 1);
            bytes.splice(to..to, again);
        }
        5 if !other.is_empty() => {
            let from = random.below(other.len());
            let part = other[from..(from + span * 4).min(other.len())].to_vec();
            bytes.splice(at..end, part);
        }
        6 => {
            let edge = EDGES[random.below(EDGES.len())].wrapping_add(random.below(3) as u64).wrapping_sub(1);
            let width = 1 << random.below(4);
            for (to, value) in bytes[at..].iter_mut().zip(&edge.to_le_bytes()[..width]) {
                *to = *value;
            }
        }
        7 => {
            let edge = EDGES[random.below(EDGES.len())].to_string();
            bytes.splice(at..end, edge.into_bytes());
        }
        8 if !words.is_empty() => {
            // One byte per character: words of binary formats are written with characters below 256.
            let word: Vec<u8> = words[random.below(words.len())].chars().map(|c| c as u32 as u8).collect();
            let until = if random.below(2) == 0 { at } else { end };
            bytes.splice(at..until, word);
        }
        9 => bytes.truncate(at),
        _ => {
            // A digit for a digit: what is left stays well formed.
            let digits: Vec<usize> = (0..length).filter(|&i| bytes[i].is_ascii_digit()).collect();
            if !digits.is_empty() {
                bytes[digits[random.below(digits.len())]] = b'0' + random.below(10) as u8;
            }
        }
    }
}

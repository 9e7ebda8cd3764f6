//! Tiles made from positions: indices and Philox bits.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use crossover_core::philox;

use super::body::output;

/// `((start + i * step) / divisor) % modulus` for i below `n`.
///
/// # Safety
/// `out` has room for `n` elements; positions are not negative; `divisor` and `modulus` are not zero.
#[inline(always)]
pub unsafe fn indices(start: i64, step: i64, divisor: i64, modulus: i64, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    let out = unsafe { output::<i64>(out, n) };
    let at = |i: usize| (start + i as i64 * step) / divisor % modulus;
    if step == 0 {
        let value = if n > 0 { at(0) } else { 0 };
        for slot in out {
            slot.write(value);
        }
        return;
    }
    if step != 1 {
        for (i, slot) in out.iter_mut().enumerate() {
            slot.write(at(i));
        }
        return;
    }
    // Neighbours share the quotient until the next multiple of the divisor, or count up when there is none.
    let mut done = 0;
    while done < n {
        let position = start + done as i64;
        let value = position / divisor % modulus;
        let left = n - done;
        let run = if divisor == 1 { modulus - value } else { divisor - position % divisor };
        let run = left.min(run as usize);
        ramp(&mut out[done..done + run], value, (divisor == 1) as i64);
        done += run;
    }
}

#[inline(always)]
fn ramp(out: &mut [MaybeUninit<i64>], start: i64, step: i64) {
    for (i, slot) in out.iter_mut().enumerate() {
        slot.write(start + i as i64 * step);
    }
}

/// Blocks computed side by side; enough independent rounds to fill the pipelines.
const ABREAST: usize = 16;

/// Words of [`ABREAST`] blocks.
const GROUP: usize = 4 * ABREAST;

/// Philox words at positions `start + i * step`.
///
/// # Safety
/// `out` has room for `n` elements and `key` points to two `u32`.
#[inline(always)]
pub unsafe fn random(start: u64, step: i64, stream: u32, key: *const u32, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    let (out, key) = unsafe { (output::<u32>(out, n), [*key, *key.add(1)]) };
    if step != 1 {
        for (i, slot) in out.iter_mut().enumerate() {
            let position = start.wrapping_add_signed(i as i64 * step);
            slot.write(philox::word(position, stream, key));
        }
        return;
    }
    let head = (start.wrapping_neg() % 4).min(n as u64) as usize;
    let (first, mut rest) = out.split_at_mut(head);
    one_by_one(start, stream, key, first);
    let mut block = (start + head as u64) / 4;
    while !rest.is_empty() {
        // Blocks with the same high word of the counter share most of two rounds.
        let stem = Stem::new((block >> 32) as u32, stream, key);
        let alike = (1 << 32) - (block & LOW);
        let whole = (rest.len() / GROUP).min((alike / ABREAST as u64) as usize);
        let (groups, behind) = rest.split_at_mut(whole * GROUP);
        for group in groups.chunks_exact_mut(GROUP) {
            stem.blocks(block & LOW, group);
            block += ABREAST as u64;
        }
        rest = behind;
        if whole > 0 {
            continue;
        }
        let few = rest.len().min(GROUP);
        let (tail, behind) = rest.split_at_mut(few);
        if alike < ABREAST as u64 {
            one_by_one(4 * block, stream, key, tail);
        } else {
            let mut words = [MaybeUninit::uninit(); GROUP];
            stem.blocks(block & LOW, &mut words);
            tail.copy_from_slice(&words[..few]);
        }
        block += ABREAST as u64;
        rest = behind;
    }
}

#[inline(always)]
fn one_by_one(start: u64, stream: u32, key: [u32; 2], out: &mut [MaybeUninit<u32>]) {
    for (i, slot) in out.iter_mut().enumerate() {
        slot.write(philox::word(start + i as u64, stream, key));
    }
}

const LOW: u64 = u32::MAX as u64;
const FIRST: u64 = 0xD251_1F53;
const SECOND: u64 = 0xCD9E_8D57;

/// The block of each lane: pairs of lanes, taken from every other place, then come out in the order of the blocks.
const LANES: [usize; ABREAST] = [0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15];

/// What blocks have in common whose counters differ in the low word alone.
struct Stem {
    key: [u32; 2],
    /// Words one and two after the first round.
    a: u64,
    b: u64,
}

impl Stem {
    #[inline(always)]
    fn new(high: u32, stream: u32, key: [u32; 2]) -> Stem {
        let b = SECOND * stream as u64;
        Stem { key, a: (b >> 32) ^ high as u64 ^ key[0] as u64, b }
    }

    /// `ABREAST` blocks from counter `low` on, which does not wrap: the rounds of [`philox::block`] side by side.
    ///
    /// A word sits in the low half of a 64-bit lane, where one instruction multiplies it and the high half may hold
    /// anything: no shuffles between rounds. Keys fill both halves, or the compiler would find the high half empty
    /// and drop the mask by which it knows that instruction.
    #[inline(always)]
    fn blocks(&self, low: u64, out: &mut [MaybeUninit<u32>]) {
        let both = |word: u32| word as u64 * 0x1_0000_0001;
        let [mut k0, mut k1] = self.key;
        let mut a = [self.a; ABREAST];
        let mut b = [self.b; ABREAST];
        let mut c = [0; ABREAST];
        let mut d = [0; ABREAST];
        for i in 0..ABREAST {
            d[i] = FIRST * ((low + LANES[i] as u64) & LOW);
            c[i] = (d[i] >> 32) ^ both(k1);
        }
        for _ in 1..9 {
            (k0, k1) = raised(k0, k1);
            for i in 0..ABREAST {
                let (first, second) = (FIRST * (a[i] & LOW), SECOND * (c[i] & LOW));
                a[i] = (second >> 32) ^ b[i] ^ both(k0);
                b[i] = second;
                c[i] = (first >> 32) ^ d[i] ^ both(k1);
                d[i] = first;
            }
        }
        // The last round leaves two words in each lane.
        (k0, k1) = raised(k0, k1);
        for i in 0..ABREAST {
            let (first, second) = (FIRST * (a[i] & LOW), SECOND * (c[i] & LOW));
            a[i] = second.rotate_left(32) ^ (b[i] & LOW) ^ k0 as u64;
            c[i] = first.rotate_left(32) ^ (d[i] & LOW) ^ k1 as u64;
        }
        let mut pairs = [0; 2 * ABREAST];
        for (i, block) in LANES.into_iter().enumerate() {
            pairs[2 * block] = a[i];
            pairs[2 * block + 1] = c[i];
        }
        for (slot, pair) in out.chunks_exact_mut(2).zip(pairs) {
            slot[0].write(pair as u32);
            slot[1].write((pair >> 32) as u32);
        }
    }
}

/// The keys of the next round.
#[inline(always)]
fn raised(k0: u32, k1: u32) -> (u32, u32) {
    (k0.wrapping_add(0x9E37_79B9), k1.wrapping_add(0xBB67_AE85))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_abreast_are_the_words_of_the_stream() {
        for start in
            [0, 3, (1u64 << 34) - 300, (1 << 34) - 128, (1 << 34) - 100, (1 << 34) - 28, u64::MAX / 8]
        {
            let mut words = [0u32; 301];
            // SAFETY: room for 301 words, and a key of two.
            unsafe { random(start, 1, 9, [5u32, 6].as_ptr(), words.as_mut_ptr().cast(), 301) };
            for (i, &word) in words.iter().enumerate() {
                assert_eq!(word, philox::word(start + i as u64, 9, [5, 6]));
            }
        }
    }
}

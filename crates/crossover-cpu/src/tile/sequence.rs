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
    let (first, rest) = out.split_at_mut(head);
    for (i, slot) in first.iter_mut().enumerate() {
        slot.write(philox::word(start + i as u64, stream, key));
    }
    let mut position = start + head as u64;
    let mut groups = rest.chunks_exact_mut(4 * ABREAST);
    for group in &mut groups {
        abreast(position, stream, key, group);
        position += 4 * ABREAST as u64;
    }
    let tail = groups.into_remainder();
    if tail.is_empty() {
        return;
    }
    let mut words = [MaybeUninit::uninit(); 4 * ABREAST];
    abreast(position, stream, key, &mut words);
    tail.copy_from_slice(&words[..tail.len()]);
}

/// `ABREAST` blocks from a position that is a multiple of 4: the rounds of [`philox::block`], counters side by side.
///
/// A word sits in the low half of a 64-bit lane, where one instruction multiplies it and the high half may hold
/// anything: no shuffles between rounds.
#[inline(always)]
fn abreast(position: u64, stream: u32, key: [u32; 2], out: &mut [MaybeUninit<u32>]) {
    const LOW: u64 = u32::MAX as u64;
    let mut a = [0u64; ABREAST];
    let mut b = [0u64; ABREAST];
    let mut c = [stream as u64; ABREAST];
    let mut d = [0u64; ABREAST];
    for i in 0..ABREAST {
        let at = position / 4 + i as u64;
        a[i] = at;
        b[i] = at >> 32;
    }
    let (mut k0, mut k1) = (key[0], key[1]);
    for _ in 0..10 {
        for i in 0..ABREAST {
            let first = 0xD251_1F53 * (a[i] & LOW);
            let second = 0xCD9E_8D57 * (c[i] & LOW);
            a[i] = (second >> 32) ^ b[i] ^ k0 as u64;
            b[i] = second;
            c[i] = (first >> 32) ^ d[i] ^ k1 as u64;
            d[i] = first;
        }
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    for (i, slot) in out.chunks_exact_mut(4).enumerate() {
        slot[0].write(a[i] as u32);
        slot[1].write(b[i] as u32);
        slot[2].write(c[i] as u32);
        slot[3].write(d[i] as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_abreast_are_the_words_of_the_stream() {
        for start in [0, 3, (1u64 << 34) - 100, u64::MAX / 8] {
            let mut words = [0u32; 301];
            // SAFETY: room for 301 words, and a key of two.
            unsafe { random(start, 1, 9, [5u32, 6].as_ptr(), words.as_mut_ptr().cast(), 301) };
            for (i, &word) in words.iter().enumerate() {
                assert_eq!(word, philox::word(start + i as u64, 9, [5, 6]));
            }
        }
    }
}

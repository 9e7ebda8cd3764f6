//! Sorting words by their digits, least significant first; each pass is stable.
//!
//! Threads share a pass: every one counts the digits of its part, and the counts of all parts tell each where its
//! words go. A stable pass has one result, so the number of parts does not show in it.
#![allow(unsafe_code)]

use parking_lot::Mutex;

use super::key::Word;
use crate::threads::Threads;

/// Bits of a digit. 256 places to write to stay within the first-level cache and its address table.
const DIGIT: u32 = 8;
const BUCKETS: usize = 1 << DIGIT;
/// Up to here, comparing is faster than counting.
const SHORT: usize = 256;
/// Words that are worth a thread.
const PART: usize = 32 << 10;

/// Sorts `words` by the `bits` bits from `low` on, with `spare` as the other half of every pass. Bits below `low` must
/// be such that equal keys come in their order, or all equal.
pub fn sort<W: Word>(words: &mut [W], spare: &mut [W], low: u32, bits: u32, threads: Option<&Threads>) {
    let n = words.len();
    if n <= SHORT {
        return words.sort_unstable();
    }
    let varying = words.iter().fold(W::default(), |all, &w| all.either(w.differing(words[0])));
    let (mut from, mut to) = (words, spare);
    let mut swapped = false;
    for shift in (low..low + bits).step_by(DIGIT as usize) {
        if varying.digit(shift, DIGIT) == 0 {
            continue;
        }
        pass(from, to, shift, threads);
        std::mem::swap(&mut from, &mut to);
        swapped = !swapped;
    }
    if swapped {
        to.copy_from_slice(from);
    }
}

/// One pass over one digit.
fn pass<W: Word>(from: &[W], to: &mut [W], shift: u32, threads: Option<&Threads>) {
    let n = from.len();
    assert_eq!(n, to.len(), "a pass moves every word");
    let parts = threads.map_or(1, |t| t.count().min(n.div_ceil(PART)));
    let range = |part: usize| n * part / parts..n * (part + 1) / parts;
    let counts: Vec<Mutex<[usize; BUCKETS]>> = (0..parts).map(|_| Mutex::new([0; BUCKETS])).collect();
    let each = |f: &(dyn Fn(usize) + Sync)| match threads {
        Some(threads) if parts > 1 => threads.each(parts, 1, |parts| parts.for_each(f)),
        _ => f(0),
    };
    each(&|part| {
        let mut count = [0usize; BUCKETS];
        for word in &from[range(part)] {
            count[word.digit(shift, DIGIT)] += 1;
        }
        *counts[part].lock() = count;
    });
    // Where each part starts to write each digit: after smaller digits, and after the same digit of earlier parts.
    let mut next = 0;
    for digit in 0..BUCKETS {
        for part in &counts {
            let count = std::mem::replace(&mut part.lock()[digit], next);
            next += count;
        }
    }
    let out = to.as_mut_ptr() as usize;
    each(&|part| {
        let mut places = *counts[part].lock();
        let out = out as *mut W;
        for &word in &from[range(part)] {
            let place = &mut places[word.digit(shift, DIGIT)];
            // SAFETY: the counts add up to the length, so every place is inside and written once.
            unsafe { *out.add(*place) = word };
            *place += 1;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_any_width_are_sorted_with_any_number_of_threads() {
        let random = |n: usize| {
            let mut x = 0x9e37_79b9_7f4a_7c15u64;
            (0..n).map(move |_| {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                x
            })
        };
        for count in [1, 2, 3, 7] {
            let threads = Threads::own(count).unwrap();
            for n in [0, 1, 255, 257, 5000, 100_000] {
                let mut narrow: Vec<u32> = random(n).map(|x| x as u32 >> (x % 20)).collect();
                let mut want = narrow.clone();
                want.sort_unstable();
                sort(&mut narrow, &mut vec![0; n], 0, 32, Some(&threads));
                assert_eq!(narrow, want);
                let mut wide: Vec<u128> =
                    random(n).enumerate().map(|(i, x)| (x as u128 % 100) << 64 | i as u128).collect();
                let mut want = wide.clone();
                want.sort_unstable();
                sort(&mut wide, &mut vec![0; n], 64, 64, Some(&threads));
                assert_eq!(wide, want);
            }
        }
    }
}

//! Sorting words by their digits, least significant first; each pass is stable.
//!
//! Threads share a pass: every one counts the digits of its part, and the counts of all parts tell each where its
//! words go. A stable pass has one result, so the number of parts does not show in it.
#![allow(unsafe_code)]

use std::{mem::MaybeUninit, ops::Range};

use parking_lot::Mutex;

use super::key::Word;
use crate::threads::Threads;

/// Bits of a digit. 256 places to write to stay within the first-level cache and its address table.
const DIGIT: u32 = 8;
const BUCKETS: usize = 1 << DIGIT;
/// Digits of the widest key.
const DIGITS: usize = 8;
/// Up to here, comparing is faster than counting (`sort rows` of a few hundred).
const SHORT: usize = 192;
/// Words that are worth a thread.
pub const PART: usize = 32 << 10;

type Counts = [u32; BUCKETS];

/// Ranges that the threads share a line by; one without threads.
pub fn parts(n: usize, threads: Option<&Threads>) -> impl Fn(usize) -> Range<usize> + Copy + Sync {
    let count = part_count(n, threads);
    move |part| n * part / count..n * (part + 1) / count
}

fn part_count(n: usize, threads: Option<&Threads>) -> usize {
    threads.map_or(1, |t| t.count().min(n.div_ceil(PART))).max(1)
}

/// Calls `f` for every part of `n` elements.
pub fn each_part(n: usize, threads: Option<&Threads>, f: impl Fn(usize, Range<usize>) + Sync) {
    let (count, range) = (part_count(n, threads), parts(n, threads));
    match threads {
        Some(threads) if count > 1 => {
            threads.each(count, 1, |parts| parts.for_each(|part| f(part, range(part))));
        }
        _ => f(0, range(0)),
    }
}

/// The words sorted by the `bits` bits from `low` on, in one of the two halves. Bits below `low` must be such that equal
/// keys come in their order, or all equal. At most 2^32 - 1 words.
pub fn sort<'a, W: Word>(
    words: &'a mut [W],
    spare: &'a mut [MaybeUninit<W>],
    low: u32,
    bits: u32,
    threads: Option<&Threads>,
) -> &'a [W] {
    assert!(words.len() == spare.len() && words.len() <= u32::MAX as usize, "both halves are one line");
    if words.len() <= SHORT {
        words.sort_unstable();
        return words;
    }
    let shifts = (low..low + bits).step_by(DIGIT as usize);
    if part_count(words.len(), threads) > 1 {
        return shared(words, spare, shifts, threads);
    }
    // One look at the words counts every digit.
    let mut counts = [[0u32; BUCKETS]; DIGITS];
    for word in &*words {
        for (count, shift) in counts.iter_mut().zip(shifts.clone()) {
            count[word.digit(shift, DIGIT)] += 1;
        }
    }
    let (mut from, mut to) = (words, spare);
    for (count, shift) in counts.iter_mut().zip(shifts) {
        if count.contains(&(from.len() as u32)) {
            continue;
        }
        let mut next = 0;
        for slot in count.iter_mut() {
            next += std::mem::replace(slot, next);
        }
        // SAFETY: the counts are those of these words, so they go to every place once.
        unsafe { spread(from, to.as_mut_ptr().cast(), shift, count) };
        // SAFETY: as above, every word of `to` has been written.
        (from, to) = unsafe { swapped(from, to) };
    }
    from
}

/// As [`sort`], by several threads.
fn shared<'a, W: Word>(
    mut from: &'a mut [W],
    mut to: &'a mut [MaybeUninit<W>],
    shifts: impl Iterator<Item = u32>,
    threads: Option<&Threads>,
) -> &'a [W] {
    let n = from.len();
    let counts: Vec<Mutex<Counts>> = (0..part_count(n, threads)).map(|_| Mutex::new([0; BUCKETS])).collect();
    for shift in shifts {
        let words = &*from;
        each_part(n, threads, |part, range| {
            let mut count = [0; BUCKETS];
            for word in &words[range] {
                count[word.digit(shift, DIGIT)] += 1;
            }
            *counts[part].lock() = count;
        });
        // Where each part starts to write each digit: after smaller digits, and after the same digit of earlier parts.
        let (mut next, mut constant) = (0u32, false);
        for digit in 0..BUCKETS {
            let before = next;
            for part in &counts {
                next += std::mem::replace(&mut part.lock()[digit], next);
            }
            constant |= (next - before) as usize == n;
        }
        if constant {
            continue;
        }
        let out = to.as_mut_ptr() as usize;
        each_part(n, threads, |part, range| {
            // SAFETY: the counts of all parts add up to the length, so every place is inside and written once.
            unsafe { spread(&words[range], out as *mut W, shift, &mut counts[part].lock()) };
        });
        // SAFETY: as above, every word of `to` has been written.
        (from, to) = unsafe { swapped(from, to) };
    }
    from
}

/// Writes every word to the next place of its digit.
///
/// # Safety
/// The places that `places` will name are writable, each by this call alone.
unsafe fn spread<W: Word>(words: &[W], to: *mut W, shift: u32, places: &mut Counts) {
    for &word in words {
        let place = &mut places[word.digit(shift, DIGIT)];
        // SAFETY: the caller's contract.
        unsafe { *to.add(*place as usize) = word };
        *place += 1;
    }
}

/// The halves with their roles exchanged.
///
/// # Safety
/// Every word of `to` has been written.
unsafe fn swapped<'a, W: Word>(
    from: &'a mut [W],
    to: &'a mut [MaybeUninit<W>],
) -> (&'a mut [W], &'a mut [MaybeUninit<W>]) {
    let n = from.len();
    // SAFETY: the caller's contract; a written word may be treated as one that is not.
    unsafe {
        (
            std::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), n),
            std::slice::from_raw_parts_mut(from.as_mut_ptr().cast(), n),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<W: Word>(mut words: Vec<W>, low: u32, bits: u32, threads: &Threads) -> Vec<W> {
        let mut spare = vec![MaybeUninit::uninit(); words.len()];
        sort(&mut words, &mut spare, low, bits, Some(threads)).to_vec()
    }

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
            for n in [0, 1, SHORT, SHORT + 1, 5000, 100_000] {
                let narrow: Vec<u32> = random(n).map(|x| x as u32 >> (x % 20)).collect();
                let mut want = narrow.clone();
                want.sort_unstable();
                assert_eq!(sorted(narrow, 0, 32, &threads), want);
                let wide: Vec<u128> =
                    random(n).enumerate().map(|(i, x)| (x as u128 % 100) << 64 | i as u128).collect();
                let mut want = wide.clone();
                want.sort_unstable();
                assert_eq!(sorted(wide, 64, 64, &threads), want);
            }
        }
    }
}

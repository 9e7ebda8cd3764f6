//! Sorting words with 512-bit vectors: quicksort between two halves of memory, down to blocks that networks sort in registers.
//!
//! A partition reads one half and writes the other, smaller words from the front and the others from the back, so it has no branch
//! that depends on the words. Words that are equal cannot be told apart, so any order of work gives the same result; words are
//! counted as [`radix`](super::radix) does it where most are digits.
#![allow(unsafe_code)]

use std::{arch::x86_64::*, mem::MaybeUninit, ops::Range};

use super::{key::Word, radix::PART};
use crate::threads::Threads;

/// Vectors of the largest block that is sorted in registers.
const VECTORS: usize = 16;
/// Pivots are the middle of so many words, where there are many to part.
const SAMPLES: usize = 64;
/// Words from which a pivot is worth [`SAMPLES`] looks.
const MANY: usize = 4096;
/// Ranges per thread that partitions make before every thread sorts ranges of its own.
const RANGES: usize = 4;

/// A word of which a 512-bit vector holds several.
///
/// # Safety
/// Every function needs a processor with AVX-512 F, and is inlined into a function that says so.
pub unsafe trait Lanes: Word {
    /// A vector of words.
    type Vector: Copy;
    /// Words of a vector.
    const COUNT: usize;
    /// Larger than no word.
    const MOST: Self;
    /// Words at the mask, and the largest one elsewhere.
    unsafe fn load(from: *const Self, mask: u16) -> Self::Vector;
    /// Writes words at the mask.
    unsafe fn store(to: *mut Self, mask: u16, words: Self::Vector);
    /// The same word everywhere.
    unsafe fn splat(self) -> Self::Vector;
    /// The smaller words.
    unsafe fn smaller(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The larger words.
    unsafe fn larger(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Where words of `a` are below those of `b`.
    unsafe fn below(a: Self::Vector, b: Self::Vector) -> u16;
    /// Words at the mask, side by side from the first lane on.
    unsafe fn pack(words: Self::Vector, mask: u16) -> Self::Vector;
    /// Lane `i` gets the word of lane `i ^ turn`.
    unsafe fn turned(words: Self::Vector, turn: usize) -> Self::Vector;
    /// Words of `b` at the mask and of `a` elsewhere.
    unsafe fn blend(a: Self::Vector, b: Self::Vector, mask: u16) -> Self::Vector;
}

macro_rules! lanes {
    ($($word:ty, $count:literal, $mask:ty, $load:ident, $store:ident, $splat:ident, $min:ident, $max:ident, $below:ident, $pack:ident,
       $permute:ident, $blend:ident, [$($lane:literal)*], $set:ident;)*) => {$(
        // SAFETY: the intrinsics are those of AVX-512 F.
        unsafe impl Lanes for $word {
            type Vector = __m512i;
            const COUNT: usize = $count;
            const MOST: $word = <$word>::MAX;
            #[inline(always)]
            unsafe fn load(from: *const $word, mask: u16) -> __m512i {
                // SAFETY: the caller's contract, here and below.
                unsafe { $load($splat(-1), mask as $mask, from.cast()) }
            }
            #[inline(always)]
            unsafe fn store(to: *mut $word, mask: u16, words: __m512i) {
                // SAFETY: as above.
                unsafe { $store(to.cast(), mask as $mask, words) }
            }
            #[inline(always)]
            unsafe fn splat(self) -> __m512i {
                // SAFETY: as above.
                unsafe { $splat(self as _) }
            }
            #[inline(always)]
            unsafe fn smaller(a: __m512i, b: __m512i) -> __m512i {
                // SAFETY: as above.
                unsafe { $min(a, b) }
            }
            #[inline(always)]
            unsafe fn larger(a: __m512i, b: __m512i) -> __m512i {
                // SAFETY: as above.
                unsafe { $max(a, b) }
            }
            #[inline(always)]
            unsafe fn below(a: __m512i, b: __m512i) -> u16 {
                // SAFETY: as above.
                unsafe { $below(a, b) as u16 }
            }
            #[inline(always)]
            unsafe fn pack(words: __m512i, mask: u16) -> __m512i {
                // SAFETY: as above.
                unsafe { $pack(mask as $mask, words) }
            }
            #[inline(always)]
            unsafe fn turned(words: __m512i, turn: usize) -> __m512i {
                // SAFETY: as above.
                unsafe { $permute($set($(($lane as usize ^ turn) as _),*), words) }
            }
            #[inline(always)]
            unsafe fn blend(a: __m512i, b: __m512i, mask: u16) -> __m512i {
                // SAFETY: as above.
                unsafe { $blend(mask as $mask, a, b) }
            }
        }
    )*};
}

lanes! {
    u32, 16, __mmask16, _mm512_mask_loadu_epi32, _mm512_mask_storeu_epi32, _mm512_set1_epi32, _mm512_min_epu32, _mm512_max_epu32,
        _mm512_cmplt_epu32_mask, _mm512_maskz_compress_epi32, _mm512_permutexvar_epi32, _mm512_mask_blend_epi32,
        [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15], _mm512_setr_epi32;
    u64, 8, __mmask8, _mm512_mask_loadu_epi64, _mm512_mask_storeu_epi64, _mm512_set1_epi64, _mm512_min_epu64, _mm512_max_epu64,
        _mm512_cmplt_epu64_mask, _mm512_maskz_compress_epi64, _mm512_permutexvar_epi64, _mm512_mask_blend_epi64,
        [0 1 2 3 4 5 6 7], _mm512_setr_epi64;
}

/// The first `n` lanes, all of them from 16 on.
#[inline(always)]
fn first(n: usize) -> u16 {
    u16::MAX.checked_shr(16u32.saturating_sub(n.min(16) as u32)).unwrap_or(0)
}

/// Lanes whose number has a bit of `bits`.
#[inline(always)]
const fn lanes_with(bits: usize) -> u16 {
    let (mut mask, mut lane) = (0, 0);
    while lane < 16 {
        mask |= ((lane & bits != 0) as u16) << lane;
        lane += 1;
    }
    mask
}

/// Puts the smaller of lanes `i` and `i ^ turn` where `upper` is not, and the larger where it is.
///
/// # Safety
/// As for [`Lanes`].
#[inline(always)]
unsafe fn exchange<W: Lanes>(words: &mut W::Vector, turn: usize, upper: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let other = W::turned(*words, turn);
        *words = W::blend(W::smaller(*words, other), W::larger(*words, other), lanes_with(upper));
    }
}

/// Sorts the lanes of a vector that rise and then fall, in blocks of `2 * half`.
///
/// # Safety
/// As for [`Lanes`].
#[inline(always)]
unsafe fn settle<W: Lanes>(words: &mut W::Vector, half: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if half >= 8 {
            exchange::<W>(words, 8, 8);
        }
        if half >= 4 {
            exchange::<W>(words, 4, 4);
        }
        if half >= 2 {
            exchange::<W>(words, 2, 2);
        }
        exchange::<W>(words, 1, 1);
    }
}

/// Merges neighbouring runs of `RUN` sorted vectors.
///
/// # Safety
/// As for [`Lanes`].
#[inline(always)]
unsafe fn merge<W: Lanes, const ALL: usize, const RUN: usize>(words: &mut [W::Vector; ALL]) {
    if 2 * RUN > ALL {
        return;
    }
    // SAFETY: the caller's contract.
    unsafe {
        let pair = |words: &mut [W::Vector; ALL], i: usize, j: usize| {
            (words[i], words[j]) = (W::smaller(words[i], words[j]), W::larger(words[i], words[j]));
        };
        for start in (0..ALL).step_by(2 * RUN) {
            // The second run backwards makes one that rises and falls.
            for i in 0..RUN / 2 {
                words.swap(start + RUN + i, start + 2 * RUN - 1 - i);
            }
            for i in start..start + RUN {
                words[i + RUN] = W::turned(words[i + RUN], W::COUNT - 1);
                pair(words, i, i + RUN);
            }
        }
        let mut apart = RUN / 2;
        while apart > 0 {
            for i in (0..ALL).filter(|i| i & apart == 0) {
                pair(words, i, i + apart);
            }
            apart /= 2;
        }
        for vector in words {
            settle::<W>(vector, W::COUNT / 2);
        }
    }
}

/// Sorts up to `ALL` vectors of words from one place to another, which may be the same.
///
/// # Safety
/// A processor with AVX-512; both places hold `n` words.
#[inline(always)]
unsafe fn block<W: Lanes, const ALL: usize>(from: *const W, to: *mut W, n: usize) {
    // SAFETY: the caller's contract; lanes behind the last word are masked.
    unsafe {
        let mask = |i: usize| first(n.saturating_sub(i * W::COUNT).min(W::COUNT));
        let mut words: [W::Vector; ALL] = [W::MOST.splat(); ALL];
        for (i, words) in words.iter_mut().enumerate() {
            *words = W::load(from.wrapping_add(i * W::COUNT), mask(i));
            exchange::<W>(words, 1, 1);
            exchange::<W>(words, 3, 2);
            settle::<W>(words, 1);
            exchange::<W>(words, 7, 4);
            settle::<W>(words, 2);
            if W::COUNT > 8 {
                exchange::<W>(words, 15, 8);
                settle::<W>(words, 4);
            }
        }
        merge::<W, ALL, 1>(&mut words);
        merge::<W, ALL, 2>(&mut words);
        merge::<W, ALL, 4>(&mut words);
        merge::<W, ALL, 8>(&mut words);
        for (i, &words) in words.iter().enumerate() {
            W::store(to.wrapping_add(i * W::COUNT), mask(i), words);
        }
    }
}

/// Sorts a block of up to [`VECTORS`] vectors.
///
/// # Safety
/// As [`block`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn small<W: Lanes>(from: *const W, to: *mut W, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        match n.div_ceil(W::COUNT) {
            0 => {}
            1 => block::<W, 1>(from, to, n),
            2 => block::<W, 2>(from, to, n),
            3..=4 => block::<W, 4>(from, to, n),
            5..=8 => block::<W, 8>(from, to, n),
            _ => block::<W, VECTORS>(from, to, n),
        }
    }
}

/// The middle of some of the words.
///
/// # Safety
/// A processor with AVX-512; `n` words, at least one.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn pivot<W: Lanes>(from: *const W, n: usize) -> W {
    let mut some = [W::MOST; SAMPLES];
    let count = if n < MANY { SAMPLES / 4 } else { SAMPLES };
    // One from every piece, each at another place of it.
    let (piece, mut place) = (n / count, 0x9e37_79b9_7f4a_7c15u64 ^ n as u64);
    // SAFETY: places lie inside; the processor is the caller's.
    unsafe {
        for (i, some) in some[..count].iter_mut().enumerate() {
            place = place.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            *some = *from.add(i * piece + (((place >> 32) * piece as u64) >> 32) as usize);
        }
        small(some.as_ptr(), some.as_mut_ptr(), count);
    }
    some[count / 2]
}

/// How many words are below the pivot, or equal to it where `equal`.
///
/// # Safety
/// As [`pivot`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn count<W: Lanes>(from: *const W, n: usize, pivot: W) -> usize {
    let mut total = 0;
    // SAFETY: the caller's contract; lanes behind the last word are masked.
    unsafe {
        let pivot = pivot.splat();
        for i in (0..n).step_by(W::COUNT) {
            let mask = first((n - i).min(W::COUNT));
            total += (W::below(W::load(from.add(i), mask), pivot) & mask).count_ones() as usize;
        }
    }
    total
}

/// Writes words below the pivot from `low` on, and the others up to `high`; returns how many are below. With `EQUAL`, those that
/// equal the pivot count as below.
///
/// # Safety
/// A processor with AVX-512; `n` words, and room for those below and for the others, which nothing else uses.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn part<W: Lanes, const EQUAL: bool>(
    from: *const W,
    n: usize,
    pivot: W,
    low: *mut W,
    high: *mut W,
) -> usize {
    // SAFETY: the caller's contract; lanes behind the last word are masked.
    unsafe {
        let pivot = pivot.splat();
        let (mut to, mut end) = (low, high);
        let mut put = |words: W::Vector, all: u16| {
            let below = if EQUAL { !W::below(pivot, words) } else { W::below(words, pivot) } & all;
            let (smaller, others) = (below.count_ones() as usize, (all & !below).count_ones() as usize);
            end = end.sub(others);
            W::store(end, first(others), W::pack(words, all & !below));
            W::store(to, first(smaller), W::pack(words, below));
            to = to.add(smaller);
        };
        let whole = n / W::COUNT * W::COUNT;
        for i in (0..whole).step_by(W::COUNT) {
            put(W::load(from.add(i), u16::MAX), first(W::COUNT));
        }
        if whole < n {
            let mask = first(n - whole);
            put(W::load(from.add(whole), mask), mask);
        }
        to.offset_from_unsigned(low)
    }
}

/// Sorts words at `from` into `other` or, unless `cross`, back to where they are, with `other` as scratch.
///
/// # Safety
/// A processor with AVX-512; both places hold `n` words that nothing else uses.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn quick<W: Lanes>(mut from: *mut W, mut other: *mut W, mut n: usize, mut cross: bool, mut left: u32) {
    // SAFETY: the caller's contract; both parts lie side by side in the other place.
    unsafe {
        loop {
            let to = if cross { other } else { from };
            if n <= VECTORS * W::COUNT {
                return small(from, to, n);
            }
            if left == 0 {
                // Pivots have been bad too often.
                std::slice::from_raw_parts_mut(from, n).sort_unstable();
                if cross {
                    from.copy_to_nonoverlapping(other, n);
                }
                return;
            }
            left -= 1;
            let middle = pivot(from, n);
            let mut below = part::<W, false>(from, n, middle, other, other.add(n));
            if below == 0 {
                // The pivot is the smallest word: all that equal it are done.
                below = part::<W, true>(from, n, middle, other, other.add(n));
                for i in 0..below {
                    *to.add(i) = middle;
                }
            } else {
                quick(other, from, below, !cross, left);
            }
            (from, other) = (other.add(below), from.add(below));
            (n, cross) = (n - below, !cross);
        }
    }
}

/// Words in one of the two places, of which all before are smaller or equal and all behind larger or equal.
struct Run {
    range: Range<usize>,
    /// Whether they are in the second place.
    spare: bool,
}

/// Sorts words where they are, with a spare place of the same length.
pub fn sort<W: Lanes>(words: &mut [W], spare: &mut [MaybeUninit<W>], threads: Option<&Threads>) {
    assert!(words.len() == spare.len(), "both halves are one line");
    let places = [words.as_mut_ptr() as usize, spare.as_mut_ptr() as usize];
    let at = |run: &Run, spare: bool| (places[spare as usize] as *mut W).wrapping_add(run.range.start);
    let sorted = |run: &Run| {
        let n = run.range.len();
        // SAFETY: whoever sorts by vectors has looked at the processor; runs do not overlap.
        unsafe { quick(at(run, run.spare), at(run, !run.spare), n, run.spare, 2 * (n | 1).ilog2()) };
    };
    let mut runs = vec![Run { range: 0..words.len(), spare: false }];
    if let Some(threads) = threads.filter(|t| t.count() > 1 && words.len() >= 2 * PART) {
        for _ in 0..(RANGES * threads.count()).ilog2() {
            runs = halves(runs, &at, threads);
        }
        return threads.each(runs.len(), 1, |some| some.for_each(|i| sorted(&runs[i])));
    }
    runs.iter().for_each(sorted);
}

/// Parts every long run in two, by all threads.
fn halves<W: Lanes>(
    runs: Vec<Run>,
    at: &(impl Fn(&Run, bool) -> *mut W + Sync),
    threads: &Threads,
) -> Vec<Run> {
    /// A piece of a run: words, the run's pivot, and how many go to the front of the run.
    struct Piece<W> {
        run: usize,
        range: Range<usize>,
        pivot: W,
        below: usize,
    }
    let mut pieces = Vec::new();
    for (i, run) in runs.iter().enumerate().filter(|(_, run)| run.range.len() >= 2 * PART) {
        // SAFETY: as in `sort`; the run is not empty.
        let middle = unsafe { pivot(at(run, run.spare), run.range.len()) };
        for start in (0..run.range.len()).step_by(PART) {
            let range = start..run.range.len().min(start + PART);
            pieces.push(Piece { run: i, range, pivot: middle, below: 0 });
        }
    }
    let shared = pieces.as_mut_ptr() as usize;
    let piece = |i: usize| (shared as *mut Piece<W>).wrapping_add(i);
    threads.each(pieces.len(), 1, |some| {
        for i in some {
            // SAFETY: every piece is one thread's; its words lie inside its run.
            unsafe {
                let piece = &mut *piece(i);
                let run = &runs[piece.run];
                piece.below =
                    count(at(run, run.spare).add(piece.range.start), piece.range.len(), piece.pivot);
            }
        }
    });
    // Where the words of every piece go, counted within its run: from the front, and back from the end.
    let mut fronts = vec![0; runs.len()];
    let targets: Vec<(usize, usize)> = pieces
        .iter()
        .map(|piece| {
            let front = fronts[piece.run];
            fronts[piece.run] += piece.below;
            (front, piece.range.start - front)
        })
        .collect();
    threads.each(pieces.len(), 1, |some| {
        for i in some {
            // SAFETY: as above; the counts say that no two pieces write the same places.
            unsafe {
                let piece = &*piece(i);
                let run = &runs[piece.run];
                let (from, to) = (at(run, run.spare).add(piece.range.start), at(run, !run.spare));
                let high = to.add(run.range.len() - targets[i].1);
                part::<W, false>(from, piece.range.len(), piece.pivot, to.add(targets[i].0), high);
            }
        }
    });
    let parted = |(run, below): (Run, usize)| {
        let Range { start, end } = run.range;
        if end - start < 2 * PART {
            return [Some(run), None];
        }
        let half = |range: Range<usize>| Some(Run { range, spare: !run.spare });
        [half(start..start + below), half(start + below..end)]
    };
    runs.into_iter().zip(fronts).flat_map(parted).flatten().filter(|run| !run.range.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simd;

    fn check<W: Lanes + std::fmt::Debug>(words: Vec<W>, threads: &Threads) {
        let (mut found, mut want) = (words.clone(), words);
        let mut spare = vec![MaybeUninit::uninit(); found.len()];
        sort(&mut found, &mut spare, Some(threads));
        want.sort_unstable();
        assert!(found == want, "{} words", want.len());
    }

    #[test]
    fn words_in_any_order_are_sorted() {
        if Simd::detect() != Simd::Avx512 {
            return;
        }
        let mut state = 7u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for count in [1, 2, 3] {
            let threads = Threads::own(count).unwrap();
            let lengths = (0..300).chain([511, 4095, 4097, 70_000, 300_001]);
            for n in lengths {
                let random: Vec<u64> = (0..n).map(|_| next()).collect();
                let few: Vec<u64> = random.iter().map(|x| [0, 5, u64::MAX][(x % 3) as usize]).collect();
                let up: Vec<u64> = (0..n as u64).collect();
                let down: Vec<u64> = up.iter().map(|x| u64::MAX - x / 3).collect();
                let skewed: Vec<u64> = random.iter().map(|x| x >> (x % 64)).collect();
                let same = vec![u64::MAX; n];
                for words in [random, few, up, down, skewed, same] {
                    check(words.iter().map(|&x| (x >> 32) as u32 ^ x as u32).collect(), &threads);
                    check(words, &threads);
                }
            }
        }
    }

    #[test]
    fn pivots_that_part_nothing_end_in_another_sort() {
        if Simd::detect() != Simd::Avx512 {
            return;
        }
        for cross in [false, true] {
            let mut words: Vec<u32> = (0..5000u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
            let mut other = vec![0; 5000];
            let mut want = words.clone();
            want.sort_unstable();
            // SAFETY: the processor has AVX-512, and both places have the length.
            unsafe { quick(words.as_mut_ptr(), other.as_mut_ptr(), 5000, cross, 1) };
            assert!(if cross { other } else { words } == want);
        }
    }
}

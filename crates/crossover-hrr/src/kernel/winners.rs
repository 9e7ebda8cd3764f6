//! The nearest item of every query on the CPU.
//!
//! A block of items at a time is multiplied and searched while its scores are in the cache; of every group of items the largest score is kept. A
//! product in f32 is off by at most [`margin`], so the winner is in a group within twice that of the largest: those groups, one as a rule, are
//! scored again in f64. What always holds: winners are those of exact arithmetic, whatever the order in which a product is added up.

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
use half::{bf16, f16, slice::HalfFloatSliceExt};
use pulp::Arch;
use rayon::prelude::*;

use super::nearest::packed;

/// Items that are multiplied together, and queries that they are multiplied with: their scores fit the second-level cache.
const BLOCK: usize = 512;
const QUERIES: usize = 128;
/// Items whose largest score is kept.
const GROUP: usize = 64;
/// Largest scores that are kept at a time: 64 MiB. Queries beyond come after.
const KEPT: usize = 1 << 24;
/// What is packed where nothing is alike, because everything is NaN.
pub(super) const NONE: u64 = packed(f32::NEG_INFINITY, u32::MAX);

/// What rows are made of: numbers that are exact in f32.
pub(super) trait Number: Copy + Sync {
    /// The same in f32: in `room`, unless they are.
    fn widened<'a>(from: &'a [Self], room: &'a mut Vec<f32>) -> &'a [f32];
}

impl Number for f32 {
    fn widened<'a>(from: &'a [f32], _: &'a mut Vec<f32>) -> &'a [f32] {
        from
    }
}

macro_rules! halves {
    ($($t:ty),*) => {$(
        impl Number for $t {
            fn widened<'a>(from: &'a [$t], room: &'a mut Vec<f32>) -> &'a [f32] {
                room.resize(from.len(), 0.0);
                from.convert_to_f32_slice(room);
                room
            }
        }
    )*};
}

halves!(f16, bf16);

/// Rows of `k` numbers, of length at most 1, up to rounding to 16 bits where they are.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a, T = f32> {
    pub numbers: &'a [T],
    pub k: usize,
}

impl<'a, T: Number> Rows<'a, T> {
    fn count(self) -> usize {
        self.numbers.len() / self.k
    }

    /// Some of the rows.
    fn range(self, first: usize, end: usize) -> Rows<'a, T> {
        Rows { numbers: &self.numbers[first * self.k..end * self.k], k: self.k }
    }

    /// The same in f32: in `room`, unless they are.
    fn widened<'b>(self, room: &'b mut Vec<f32>) -> Rows<'b>
    where
        'a: 'b,
    {
        Rows { numbers: T::widened(self.numbers, room), k: self.k }
    }
}

impl<'a> Rows<'a> {
    fn matrix(self) -> MatRef<'a, f32> {
        MatRef::from_row_major_slice(self.numbers, self.count(), self.k)
    }

    fn row(self, at: usize) -> &'a [f32] {
        &self.numbers[at * self.k..][..self.k]
    }
}

/// How far a product of rows of length at most 1 in f32 is from the true one: `k` roundings of the sum and of the products, 2⁻²⁴ each.
fn margin(k: usize) -> f32 {
    ((k + 1) as f64 * 2f64.powi(-24) * 1.01) as f32
}

/// The winners, [packed].
pub(super) fn winners<T: Number>(queries: Rows<'_, T>, items: Rows<'_, T>, out: &mut [u64]) {
    winners_by(queries, items, out, KEPT);
}

/// As [`winners`], with so many largest scores at a time. A query's winner does not depend on those beside it.
fn winners_by<T: Number>(queries: Rows<'_, T>, items: Rows<'_, T>, out: &mut [u64], kept: usize) {
    let (k, n) = (queries.k, items.count());
    if n == 0 {
        return out.fill(NONE);
    }
    let together = (kept / (n.div_ceil(BLOCK) * (BLOCK / GROUP))).max(1);
    let mut room = Vec::new();
    for (numbers, out) in queries.numbers.chunks(together * k).zip(out.chunks_mut(together)) {
        winners_together(Rows { numbers, k }.widened(&mut room), items, out);
    }
}

fn winners_together<T: Number>(queries: Rows<'_>, items: Rows<'_, T>, out: &mut [u64]) {
    let (q, n) = (queries.count(), items.count());
    let each = BLOCK / GROUP;
    // By blocks of items, in each by queries, in each by groups.
    let mut largest = vec![f32::NEG_INFINITY; n.div_ceil(BLOCK) * q * each];
    let room = || (vec![0.0f32; QUERIES.min(q) * BLOCK], Vec::new());
    largest.par_chunks_mut(q * each).enumerate().for_each_init(room, |(room, wide), (block, largest)| {
        let (first, end) = (block * BLOCK, ((block + 1) * BLOCK).min(n));
        let part = items.range(first, end).widened(wide).matrix();
        for (start, largest) in (0..q).step_by(QUERIES).zip(largest.chunks_mut(QUERIES * each)) {
            let stop = (start + QUERIES).min(q);
            let scores = &mut room[..(stop - start) * (end - first)];
            let to = MatMut::from_row_major_slice_mut(scores, stop - start, end - first);
            let asked = queries.range(start, stop).matrix();
            matmul(to, Accum::Replace, asked, part.transpose(), 1.0, Par::Seq);
            Arch::new().dispatch(|| {
                for (row, largest) in scores.chunks(end - first).zip(largest.chunks_mut(each)) {
                    for (group, largest) in row.chunks(GROUP).zip(largest) {
                        *largest = largest_of(group);
                    }
                }
            });
        }
    });
    out.par_iter_mut().enumerate().for_each_init(Vec::new, |wide, (at, out)| {
        let group = |g: usize| largest[(g / each * q + at) * each + g % each];
        let top = (0..n.div_ceil(GROUP)).map(group).fold(f32::NEG_INFINITY, f32::max);
        if top == f32::NEG_INFINITY {
            *out = NONE;
            return;
        }
        let least = top - 2.0 * margin(queries.k);
        *out = Arch::new().dispatch(|| {
            let mut best = (f64::NEG_INFINITY, u32::MAX);
            for g in (0..n.div_ceil(GROUP)).filter(|&g| group(g) >= least) {
                let first = g * GROUP;
                let rows = items.range(first, (first + GROUP).min(n)).widened(wide);
                for i in 0..rows.count() {
                    let score = exact(queries.row(at), rows.row(i));
                    // The first among equals; a comparison with NaN is false.
                    if score > best.0 {
                        best = (score, (first + i) as u32);
                    }
                }
            }
            packed(best.0 as f32, best.1)
        });
    });
}

/// The largest of some scores; NaN is none.
#[inline(always)]
fn largest_of(scores: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; 16];
    let mut chunks = scores.chunks_exact(16);
    for chunk in &mut chunks {
        for (lane, &score) in lanes.iter_mut().zip(chunk) {
            *lane = if score > *lane { score } else { *lane };
        }
    }
    let rest = chunks.remainder().iter().chain(&lanes);
    rest.fold(f32::NEG_INFINITY, |most, &score| if score > most { score } else { most })
}

/// The scores in f64 of rows of `k` numbers, each with the query of this number.
pub(crate) fn scores(queries: &[f32], rows: &[f32], k: usize, of: &[usize]) -> Vec<f64> {
    let (queries, rows) = (Rows { numbers: queries, k }, Rows { numbers: rows, k });
    let score =
        |(at, &query): (usize, &usize)| Arch::new().dispatch(|| exact(queries.row(query), rows.row(at)));
    of.par_iter().enumerate().with_min_len(64).map(score).collect()
}

/// The product of two rows in f64: products of f32 are exact there, and sums nearly so.
#[inline(always)]
fn exact(a: &[f32], b: &[f32]) -> f64 {
    let mut lanes = [0.0f64; 16];
    let (mut a, mut b) = (a.chunks_exact(16), b.chunks_exact(16));
    for (a, b) in (&mut a).zip(&mut b) {
        for (lane, (&a, &b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += f64::from(a) * f64::from(b);
        }
    }
    let rest = a.remainder().iter().zip(b.remainder());
    rest.fold(lanes.iter().sum(), |sum, (&a, &b)| sum + f64::from(a) * f64::from(b))
}

#[cfg(test)]
mod tests {
    use super::{super::nearest::unpacked, *};

    /// Rows of length 1, from a small generator of numbers in -1..1.
    fn rows(count: usize, k: usize, mut seed: u64) -> Vec<f32> {
        let mut next = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        };
        let mut all: Vec<f32> = (0..count * k).map(|_| next()).collect();
        for row in all.chunks_mut(k) {
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt() * 1.000001;
            row.iter_mut().for_each(|x| *x /= length);
        }
        all
    }

    fn found(queries: &[f32], items: &[f32], k: usize) -> Vec<(u32, f32)> {
        let mut out = vec![0; queries.len() / k];
        winners(Rows { numbers: queries, k }, Rows { numbers: items, k }, &mut out);
        out.into_iter().map(unpacked).collect()
    }

    #[test]
    fn winners_are_those_of_exact_arithmetic() {
        // More queries than are multiplied together, and items that are no multiple of a block.
        let k = 40;
        let (queries, mut items) = (rows(150, k, 1), rows(1300, k, 2));
        // Items that differ in the last bits only, in different groups and blocks: f32 sums cannot tell them apart.
        for (at, like, by) in [(700usize, 3usize, 1.0e-7f32), (1299, 3, 2.0e-7), (64, 9, -1.0e-7)] {
            let copy: Vec<f32> = items[like * k..][..k].to_vec();
            items[at * k..][..k].copy_from_slice(&copy);
            items[at * k] *= 1.0 + by;
        }
        let got = found(&queries, &items, k);
        for (query, (index, score)) in queries.chunks(k).zip(got) {
            let mut best = (f64::NEG_INFINITY, 0);
            for (i, item) in items.chunks(k).enumerate() {
                let sum: f64 = query.iter().zip(item).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                if sum > best.0 + 1e-15 {
                    best = (sum, i);
                }
            }
            assert_eq!(index as usize, best.1);
            assert!((f64::from(score) - best.0).abs() < 1e-7);
        }
    }

    #[test]
    fn winners_do_not_depend_on_how_many_queries_are_looked_at_together() {
        let k = 24;
        let (queries, items) = (rows(37, k, 3), rows(1100, k, 4));
        let wanted = found(&queries, &items, k);
        // Three blocks of 8 groups: one query, two, five, all.
        for kept in [0, 24, 48, 120, 1 << 20] {
            let mut out = vec![0; 37];
            winners_by(Rows { numbers: &queries, k }, Rows { numbers: &items, k }, &mut out, kept);
            assert_eq!(out.into_iter().map(unpacked).collect::<Vec<_>>(), wanted, "{kept}");
        }
        let mut out = vec![0; 37];
        winners_by(Rows { numbers: &queries, k }, Rows { numbers: &[][..], k }, &mut out, 24);
        assert!(out.iter().all(|&out| out == NONE));
    }

    #[test]
    fn winners_of_16_bits_are_those_of_exact_arithmetic() {
        fn check<T: Number + Default + PartialEq>(narrow: fn(f32) -> T, wide: fn(T) -> f64) {
            let k = 40;
            let narrowed = |x: Vec<f32>| x.into_iter().map(narrow).collect::<Vec<T>>();
            let (queries, mut items) = (narrowed(rows(150, k, 7)), narrowed(rows(1300, k, 8)));
            // The same item twice: the first wins.
            for (at, like) in [(1299, 3), (700, 3), (64, 9)] {
                let copy = items[like * k..][..k].to_vec();
                items[at * k..][..k].copy_from_slice(&copy);
            }
            let mut out = vec![0; 150];
            winners(Rows { numbers: &queries, k }, Rows { numbers: &items, k }, &mut out);
            for (query, out) in queries.chunks(k).zip(out) {
                let score =
                    |item: &[T]| query.iter().zip(item).map(|(&a, &b)| wide(a) * wide(b)).sum::<f64>();
                let scores: Vec<f64> = items.chunks(k).map(score).collect();
                let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let first = scores.iter().position(|&score| score > most - 1e-15);
                let (index, score) = unpacked(out);
                assert_eq!(Some(index as usize), first);
                assert_eq!(score, most as f32);
            }
        }
        check(f16::from_f32, f16::to_f64);
        check(bf16::from_f32, bf16::to_f64);
    }

    #[test]
    fn the_first_of_equal_items_wins_and_nan_never_does() {
        let k = 16;
        let query = rows(1, k, 5);
        let mut items = rows(600, k, 6);
        for at in [590, 70, 71] {
            items[at * k..][..k].copy_from_slice(&query);
        }
        items[3 * k] = f32::NAN;
        assert_eq!(found(&query, &items, k)[0].0, 70);
        let nothing = vec![f32::NAN; k];
        assert_eq!(found(&nothing, &items, k)[0], (u32::MAX, f32::NEG_INFINITY));
        // A zero is as alike to all.
        assert_eq!(found(&vec![0.0; k], &items, k)[0], (0, 0.0));
    }
}

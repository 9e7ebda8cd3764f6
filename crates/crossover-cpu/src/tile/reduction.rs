//! Reductions of tiles in the order of [`crossover_core::canonical`].
#![allow(unsafe_code)]

use std::hint::black_box;

use crossover_core::{
    canonical::{CHUNK, LANES},
    ops::Apply2,
};

use super::body::{input, output};

/// Combines 1 to [`crossover_core::canonical::CHUNK`] elements in the order of a row's chunk.
#[inline(always)]
pub(super) fn chunk<O: Apply2<T>, T: Copy, const VECTOR: usize>(values: &[T]) -> T {
    if values.len() <= LANES {
        return few::<O, T, { LANES / 4 }>(values);
    }
    if values.len() == CHUNK {
        // The usual length, known to the compiler.
        return full::<O, T>(&fold_lanes::<O, T, VECTOR>(&values[..CHUNK]));
    }
    full::<O, T>(&fold_lanes::<O, T, VECTOR>(values))
}

/// Combines all lanes: adjacent quads first, then quads by halving. Fixed lengths let every step be a few vector
/// instructions; the compiler must not see through all of them at once, or it takes them apart into scalars.
#[inline(always)]
fn full<O: Apply2<T>, T: Copy>(lane: &[T; LANES]) -> T {
    const QUADS: usize = LANES / 4;
    let pairs: [T; LANES / 2] = std::array::from_fn(|i| O::apply(lane[2 * i], lane[2 * i + 1]));
    let pairs = black_box(pairs);
    let quads: [T; QUADS] = std::array::from_fn(|i| O::apply(pairs[2 * i], pairs[2 * i + 1]));
    let quads = black_box(quads);
    let half: [T; QUADS / 2] = std::array::from_fn(|i| O::apply(quads[i], quads[i + QUADS / 2]));
    let half = black_box(half);
    let quarter: [T; QUADS / 4] = std::array::from_fn(|i| O::apply(half[i], half[i + QUADS / 4]));
    let quarter = black_box(quarter);
    let eighth: [T; QUADS / 8] = std::array::from_fn(|i| O::apply(quarter[i], quarter[i + QUADS / 8]));
    let two: [T; QUADS / 16] = std::array::from_fn(|i| O::apply(eighth[i], eighth[i + QUADS / 16]));
    O::apply(two[0], two[1])
}

/// A chunk with at most one element per lane, in at most `QUADS` quads.
#[inline(always)]
fn few<O: Apply2<T>, T: Copy, const QUADS: usize>(values: &[T]) -> T {
    let n = values.len();
    let mut lane = [values[0]; QUADS];
    let mut present = n / 4;
    for (slot, q) in lane.iter_mut().zip(values.chunks_exact(4)) {
        *slot = quad::<O, T>(q);
    }
    // The last quad may be partly absent: absent lanes are skipped.
    if let Some((&first, rest)) = values[4 * present..].split_first() {
        lane[present] = rest.iter().fold(first, |sum, &x| O::apply(sum, x));
        present += 1;
    }
    halve::<O, T>(&mut lane, n.next_power_of_two().div_ceil(4), present)
}

#[inline(always)]
fn quad<O: Apply2<T>, T: Copy>(q: &[T]) -> T {
    O::apply(O::apply(q[0], q[1]), O::apply(q[2], q[3]))
}

/// Combines `width` lanes by halving, of which the first `present` hold values.
#[inline(always)]
fn halve<O: Apply2<T>, T: Copy>(lane: &mut [T], mut width: usize, mut present: usize) -> T {
    while width > 1 {
        width /= 2;
        for i in 0..present.saturating_sub(width) {
            lane[i] = O::apply(lane[i], lane[i + width]);
        }
        present = present.min(width);
    }
    lane[0]
}

/// Elements j, j + LANES, … into lane j; `values` has more than LANES elements.
#[inline(always)]
fn fold_lanes<O: Apply2<T>, T: Copy, const VECTOR: usize>(values: &[T]) -> [T; LANES] {
    // As many lanes at a time as stay in registers while the rows of the chunk go by: all of them where there are 32
    // registers, so that memory is read from front to back.
    let mut lane = match (VECTOR, size_of::<T>()) {
        (64, 0..=8) | (_, 1) => fold_block::<O, T, LANES>(values, 0),
        (_, 0..=4) => fold_blocks::<O, T, 64>(values),
        _ => fold_blocks::<O, T, 32>(values),
    };
    let rest = &values[values.len() / LANES * LANES..];
    for (l, &x) in lane.iter_mut().zip(rest) {
        *l = O::apply(*l, x);
    }
    lane
}

#[inline(always)]
fn fold_blocks<O: Apply2<T>, T: Copy, const W: usize>(values: &[T]) -> [T; LANES] {
    let mut lane = [values[0]; LANES];
    for start in (0..LANES).step_by(W) {
        lane[start..][..W].copy_from_slice(&fold_block::<O, T, W>(values, start));
    }
    lane
}

/// `W` lanes from `start` on.
#[inline(always)]
fn fold_block<O: Apply2<T>, T: Copy, const W: usize>(values: &[T], start: usize) -> [T; W] {
    let row = |at: usize| -> &[T; W] {
        let row = &values[at * LANES + start..][..W];
        // SAFETY: a slice of W elements.
        unsafe { &*row.as_ptr().cast() }
    };
    let mut sum = *row(0);
    for at in 1..values.len() / LANES {
        let x = row(at);
        for j in 0..W {
            sum[j] = O::apply(sum[j], x[j]);
        }
    }
    sum
}

/// Asks for the lines that lie `ahead` bytes after those of a slice; they need not exist. For rows that lie apart, whose
/// next the processor does not foresee.
#[inline(always)]
fn fetch<T>(from: &[T], ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of_val(from)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = from.as_ptr().cast::<i8>().wrapping_add(ahead.wrapping_add(line));
        // SAFETY: a prefetch of any address, mapped or not, reads nothing and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, ahead);
}

/// `rows` rows of `n` elements, each reduced to one.
///
/// # Safety
/// `from` holds `rows * n` elements, `out` room for `rows`; `n` is 1 to CHUNK. Otherwise as [`super::body`] says.
#[inline(always)]
pub unsafe fn rows<O: Apply2<T>, T: Copy, const VECTOR: usize>(
    from: *const u8,
    out: *mut u8,
    rows: usize,
    n: usize,
) {
    // SAFETY: the caller's contract.
    let (values, out) = unsafe { (input::<T>(from, rows * n), output::<T>(out, rows)) };
    for (slot, row) in out.iter_mut().zip(values.chunks_exact(n)) {
        slot.write(chunk::<O, T, VECTOR>(row));
    }
}

/// [`rows`] for `n` up to [`SHORT`]: side by side, one row per vector lane.
///
/// # Safety
/// As [`rows`].
#[inline(always)]
pub unsafe fn short_rows<O: Apply2<T>, T: Copy>(from: *const u8, out: *mut u8, rows: usize, n: usize) {
    // SAFETY: the caller's contract.
    let (values, out) = unsafe { (input::<T>(from, rows * n), output::<T>(out, rows)) };
    let mut blocks = out.chunks_exact_mut(ABREAST);
    for (block, values) in (&mut blocks).zip(values.chunks_exact(ABREAST * n)) {
        for (slot, value) in block.iter_mut().zip(abreast::<O, T>(values, n)) {
            slot.write(value);
        }
    }
    let rest = &values[rows / ABREAST * ABREAST * n..];
    for (slot, row) in blocks.into_remainder().iter_mut().zip(rest.chunks_exact(n)) {
        slot.write(few::<O, T, { SHORT / 4 }>(row));
    }
}

/// Rows up to this length are reduced side by side.
pub const SHORT: usize = 32;
/// Rows reduced side by side.
const ABREAST: usize = 16;

/// `ABREAST` rows of `n` elements, `n` at most `SHORT`: the tree of [`few`], for all rows at once.
#[inline(always)]
fn abreast<O: Apply2<T>, T: Copy>(values: &[T], n: usize) -> [T; ABREAST] {
    let at = |j: usize| -> [T; ABREAST] { std::array::from_fn(|row| values[row * n + j]) };
    let join = |a: &[T; ABREAST], b: &[T; ABREAST]| -> [T; ABREAST] {
        std::array::from_fn(|row| O::apply(a[row], b[row]))
    };
    let mut quads = [at(0); SHORT / 4];
    let mut present = 0;
    while 4 * present < n {
        let j = 4 * present;
        quads[present] = match n - j {
            1 => at(j),
            2 => join(&at(j), &at(j + 1)),
            3 => join(&join(&at(j), &at(j + 1)), &at(j + 2)),
            _ => join(&join(&at(j), &at(j + 1)), &join(&at(j + 2), &at(j + 3))),
        };
        present += 1;
    }
    let mut width = n.next_power_of_two().div_ceil(4);
    while width > 1 {
        width /= 2;
        for i in 0..present.saturating_sub(width) {
            quads[i] = join(&quads[i], &quads[i + width]);
        }
        present = present.min(width);
    }
    quads[0]
}

/// Adds `rows` rows of `n` elements, `pitch` elements apart, to the `n` accumulators, in order.
///
/// # Safety
/// Every row is readable and `sums` holds `n` elements; they do not overlap.
#[inline(always)]
pub unsafe fn columns<O: Apply2<T>, T: Copy>(
    from: *const u8,
    pitch: isize,
    sums: *mut u8,
    rows: usize,
    n: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let from = from.cast::<T>();
        let sums = sums.cast::<T>();
        // Rows this far apart lie in memory, where nothing else foresees what comes next.
        let far = (pitch * size_of::<T>() as isize).unsigned_abs() >= 2048;
        match n {
            2 => strip::<O, T, 2, false>(from, sums, rows, pitch),
            3 => strip::<O, T, 3, false>(from, sums, rows, pitch),
            4 => strip::<O, T, 4, false>(from, sums, rows, pitch),
            _ => {
                let mut at = 0;
                while at + 64 <= n {
                    match far {
                        false => strip::<O, T, 64, false>(from.add(at), sums.add(at), rows, pitch),
                        true => strip::<O, T, 64, true>(from.add(at), sums.add(at), rows, pitch),
                    }
                    at += 64;
                }
                while at + 8 <= n {
                    strip::<O, T, 8, false>(from.add(at), sums.add(at), rows, pitch);
                    at += 8;
                }
                while at < n {
                    strip::<O, T, 1, false>(from.add(at), sums.add(at), rows, pitch);
                    at += 1;
                }
            }
        }
    }
}

/// # Safety
/// As [`columns`], for `W` of its columns, rows `pitch` elements apart; `FETCH` asks for later rows.
#[inline(always)]
unsafe fn strip<O: Apply2<T>, T: Copy, const W: usize, const FETCH: bool>(
    from: *const T,
    sums: *mut T,
    rows: usize,
    pitch: isize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut sum: [T; W] = *sums.cast();
        for row in 0..rows {
            let x: &[T; W] = &*from.offset(row as isize * pitch).cast();
            if FETCH {
                fetch(x, (ROWS_AHEAD * pitch * size_of::<T>() as isize) as usize);
            }
            for j in 0..W {
                sum[j] = O::apply(sum[j], x[j]);
            }
        }
        *sums.cast() = sum;
    }
}

/// Rows between what is added and what is fetched.
const ROWS_AHEAD: isize = 8;

/// An element that argmin and argmax can order.
pub trait Ordered: Copy + PartialOrd {
    /// Whether `self` comes before `other` as the smallest (or largest): NaN wins, the first of equals stays.
    #[inline(always)]
    fn beats<const MAX: bool>(self, other: Self) -> bool {
        let better = if MAX { self > other } else { self < other };
        #[allow(clippy::eq_op)]
        {
            (better | (self != self)) & (other == other)
        }
    }
    /// Whether `self` is the element that a minimum or maximum of value `best` came from.
    #[inline(always)]
    fn is(self, best: Self) -> bool {
        #[allow(clippy::eq_op)]
        {
            (self == best) | ((self != self) & (best != best))
        }
    }
}

impl Ordered for u8 {}
impl Ordered for u16 {}
impl Ordered for u32 {}
impl Ordered for u64 {}
impl Ordered for i8 {}
impl Ordered for i16 {}
impl Ordered for i32 {}
impl Ordered for i64 {}
impl Ordered for f32 {}
impl Ordered for f64 {}

/// Value and position of the smallest or largest element of each of `rows` rows of `n` elements.
///
/// # Safety
/// `from` holds `rows * n` elements, `best` and `index` have room for `rows`; `n` is 1 to CHUNK.
#[inline(always)]
pub unsafe fn arg_rows<O: Apply2<T>, T: Ordered>(
    from: *const u8,
    best: *mut u8,
    index: *mut i64,
    rows: usize,
    n: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let out = output::<T>(best, rows);
        let index = output::<i64>(index.cast(), rows);
        for ((slot, at), row) in out.iter_mut().zip(index).zip(input::<T>(from, rows * n).chunks_exact(n)) {
            let value = chunk::<O, T, 32>(row);
            slot.write(value);
            at.write(first(row, value));
        }
    }
}

/// Position of the first element that is the extreme; blocks are tested whole, which vectorises.
#[inline(always)]
fn first<T: Ordered>(row: &[T], value: T) -> i64 {
    const BLOCK: usize = 64;
    let mut start = 0;
    for block in row.chunks(BLOCK) {
        let mut found = 0u32;
        for &x in block {
            found |= x.is(value) as u32;
        }
        if found != 0 {
            let inside = block.iter().position(|&x| x.is(value));
            return (start + inside.unwrap_or(0)) as i64;
        }
        start += block.len();
    }
    0
}

/// Merges one row of `n` candidates into the best so far. Candidate positions are `index[c]`, or all `index[0]`.
///
/// # Safety
/// `from`, `best` and `at` hold `n` elements, `index` holds `n` or one; nothing overlaps.
#[inline(always)]
pub unsafe fn arg_columns<T: Ordered, const MAX: bool, const SAME: bool>(
    from: *const u8,
    index: *const i64,
    best: *mut u8,
    at: *mut i64,
    n: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let values = input::<T>(from, n);
        let best = std::slice::from_raw_parts_mut(best.cast::<T>(), n);
        let at = std::slice::from_raw_parts_mut(at, n);
        let step = if SAME { 0 } else { 1 };
        for c in 0..n {
            let position = *index.add(c * step);
            let better = values[c].beats::<MAX>(best[c]);
            best[c] = if better { values[c] } else { best[c] };
            at[c] = if better { position } else { at[c] };
        }
    }
}

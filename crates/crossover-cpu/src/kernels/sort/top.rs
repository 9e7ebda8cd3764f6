//! The indices of the first few elements of a line, without sorting the rest.
//!
//! One pass keeps the elements that may still be among the first; whenever twice as many as wanted have come together, the
//! worse half goes, and what is left bounds the elements to come. Threads do so for parts of the line. Pairs hold the index
//! below the rank, so no two are equal: what is selected without keeping order is what a stable sort puts first.
#![allow(unsafe_code)]

use std::ops::Range;

use crossover_core::DType;
use num_complex::Complex;
use parking_lot::Mutex;

use super::{
    Line, LineFn, compared_line,
    key::{Coded, Ranked, Tagged},
    radix,
};
use crate::kernels::scan::{BF16, F16};

/// Elements that are compared with the bound together.
const BLOCK: usize = 64;
/// Candidates below which none are thrown out: fewer are not worth the selection.
const FEW: usize = 256;

/// The function for lines of a dtype; it takes the scratch of a sort of indices.
pub(super) fn line_of(dtype: DType) -> LineFn {
    match dtype {
        // Truth values are 0 and 1, whose order is that of the numbers.
        DType::Bool | DType::U8 => top_line::<u8>,
        DType::I8 => top_line::<i8>,
        DType::I16 => top_line::<i16>,
        DType::I32 => top_line::<i32>,
        DType::I64 => top_line::<i64>,
        DType::U16 => top_line::<u16>,
        DType::U32 => top_line::<u32>,
        DType::U64 => top_line::<u64>,
        DType::F16 => top_line::<F16>,
        DType::BF16 => top_line::<BF16>,
        DType::F32 => top_line::<f32>,
        DType::F64 => top_line::<f64>,
        DType::C64 => compared_line::<Complex<f32>, true>,
        DType::C128 => compared_line::<Complex<f64>, true>,
    }
}

type Pair<M> = <<M as Ranked>::Rank as Tagged>::Pair;

/// The indices of the first elements of a sorted line.
///
/// # Safety
/// The source is of type M, the result `i64`, the scratch holds two pairs per element, and at least one element is kept.
unsafe fn top_line<M: Coded>(line: &Line<'_>) {
    let start = line.scratch as usize;
    let found = Mutex::new(Vec::new());
    radix::each_part(line.length, line.threads, |_, range| {
        let place = (start as *mut Pair<M>).wrapping_add(range.start);
        // SAFETY: the caller's contract; parts are disjoint, and each has scratch for all of its elements.
        let count = unsafe { firsts::<M>(line, range.clone(), place) };
        found.lock().push((range.start, count));
    });
    let mut found = found.into_inner();
    found.sort_unstable();
    let pairs = line.scratch.cast::<Pair<M>>();
    let mut total = 0;
    for (from, count) in found {
        // SAFETY: the part has left this many pairs at the start of its scratch, and fewer than it have come before.
        unsafe { pairs.add(from).copy_to(pairs.add(total), count) };
        total += count;
    }
    // SAFETY: as above; every part leaves as many as are kept, or all it has.
    let pairs = unsafe { std::slice::from_raw_parts_mut(pairs, total) };
    let first = select(pairs, line.kept);
    first.sort_unstable();
    for (i, &pair) in first.iter().enumerate() {
        // SAFETY: the caller's contract.
        unsafe { line.write(i, <M::Rank as Tagged>::index(pair)) };
    }
}

/// Leaves the pairs of the first elements of a part of the line at `place`, in any order, and says how many.
///
/// # Safety
/// As [`top_line`]; this call alone uses the room at `place`, which is as long as the range.
unsafe fn firsts<M: Coded>(line: &Line<'_>, range: Range<usize>, place: *mut Pair<M>) -> usize {
    let most = (2 * line.kept).max(FEW);
    let (mut count, mut bound) = (0, None);
    let mut at = range.start;
    while at < range.end {
        let n = BLOCK.min(range.end - at);
        // SAFETY: the caller's contract; the place is inside the range.
        let rank = |i: usize| unsafe { line.read::<M>(i) }.rank(line.descending);
        // Places past the last element repeat it.
        let ranks: [M::Rank; BLOCK] = if n == BLOCK {
            std::array::from_fn(|k| rank(at + k))
        } else {
            std::array::from_fn(|k| rank(at + k.min(n - 1)))
        };
        // A later element that equals the last of the first is behind it.
        let enters = |rank: M::Rank| bound.is_none_or(|bound| rank < bound);
        if ranks.iter().fold(false, |any, &rank| any | enters(rank)) {
            for (k, &rank) in ranks[..n].iter().enumerate() {
                if enters(rank) {
                    // SAFETY: no more have entered than elements were seen.
                    unsafe { place.add(count).write(rank.pair(at + k)) };
                    count += 1;
                }
            }
            if count >= most {
                // SAFETY: this many have been written.
                let pairs = unsafe { std::slice::from_raw_parts_mut(place, count) };
                let first = select(pairs, line.kept);
                bound = first.last().map(|&pair| <M::Rank as Tagged>::of(pair));
                count = first.len();
            }
        }
        at += n;
    }
    // SAFETY: as above.
    select(unsafe { std::slice::from_raw_parts_mut(place, count) }, line.kept).len()
}

/// The `n` smallest, or all where there are fewer; the largest of them is last.
fn select<W: Ord>(pairs: &mut [W], n: usize) -> &mut [W] {
    if n < pairs.len() {
        pairs.select_nth_unstable(n - 1);
        return &mut pairs[..n];
    }
    pairs
}

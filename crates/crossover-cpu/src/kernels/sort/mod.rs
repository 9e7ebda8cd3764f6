//! Lines along an axis, sorted, or the indices that sort them.
//!
//! Elements become unsigned numbers in the order of [`crossover_core::ops::order`] and are sorted by their digits, or in vectors
//! where the processor has AVX-512; complex numbers are compared one by one. A stable sort has one result, so neither threads nor
//! methods show in it. Where only the first few indices are asked for, they are selected before they are sorted.
#![allow(unsafe_code)]

pub mod key;
mod radix;
mod top;
#[cfg(target_arch = "x86_64")]
mod vector;

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crossover_core::DType;
use crossover_plan::kernel::Call;
use crossover_runtime::{Block, Error, Executable, Launch, Result};
use num_complex::Complex;
use parking_lot::Mutex;

use self::key::{Coded, Ranked, Tagged, Word};
use crate::{
    kernels::{
        scan::{BF16, F16},
        walk::Walk,
    },
    memory::Pool,
    simd::Simd,
    threads::Threads,
};

/// Elements below which one thread sorts everything.
const ALONE: usize = 16 << 10;
/// Bits of keys that few passes over their digits sort, so that vectors are no faster.
const NARROW: u32 = 16;

/// A sort made ready.
#[derive(Debug)]
pub struct Sort {
    /// Where lines start: source and result.
    lines: Walk<2>,
    offset: isize,
    count: usize,
    length: usize,
    /// Elements of the result along the axis; fewer than `length` where the rest is not asked for.
    kept: usize,
    /// Strides of source and result along the axis.
    strides: [isize; 2],
    /// Bytes of an element of source and result.
    sizes: [usize; 2],
    /// Bytes of scratch that a line needs.
    scratch: usize,
    descending: bool,
    vectors: bool,
    run: LineFn,
    threads: Arc<Threads>,
    pool: Arc<Pool>,
}

/// One line: pointers to its first elements, strides in elements, and what it may use.
struct Line<'a> {
    from: *const u8,
    to: *mut u8,
    strides: [isize; 2],
    length: usize,
    kept: usize,
    scratch: *mut u8,
    descending: bool,
    /// Whether the processor has AVX-512, and may use it.
    vectors: bool,
    /// Threads for this line alone.
    threads: Option<&'a Threads>,
}

type LineFn = unsafe fn(&Line<'_>);

impl Sort {
    /// Prepares a call.
    pub fn new(
        call: &Call,
        (axis, descending, indices): (usize, bool, bool),
        simd: Simd,
        threads: Arc<Threads>,
        pool: Arc<Pool>,
    ) -> Result<Sort> {
        let [operand] = call.operands.as_slice() else {
            return Err(Error::Internal(format!("sort with {} operands", call.operands.len())));
        };
        let without = |all: &[isize]| -> Vec<isize> {
            all.iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &s)| s).collect()
        };
        let dims = operand.layout.shape.dims();
        let others: Vec<usize> =
            dims.iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &n)| n).collect();
        let (source, result) = (without(&operand.layout.strides), without(&call.layout.strides));
        let length = dims[axis];
        if length as u64 > u32::MAX as u64 {
            let what = format!("a line of {length} elements; at most {} are sorted", u32::MAX);
            return Err(Error::Unsupported { device: "CPU".into(), what });
        }
        let (run, word) = line_of(operand.dtype, indices);
        Ok(Sort {
            lines: Walk::new(&others, [&source, &result]),
            offset: operand.layout.offset as isize,
            count: others.iter().product(),
            length,
            kept: call.layout.shape[axis],
            strides: [operand.layout.strides[axis], call.layout.strides[axis]],
            sizes: [operand.dtype.size(), call.dtype.size()],
            scratch: 2 * word * length,
            descending,
            vectors: simd == Simd::Avx512,
            run,
            threads,
            pool,
        })
    }

    /// Prepares a call for the indices of the first elements.
    pub fn top(
        call: &Call,
        (axis, descending): (usize, bool),
        simd: Simd,
        threads: Arc<Threads>,
        pool: Arc<Pool>,
    ) -> Result<Sort> {
        let mut sort = Sort::new(call, (axis, descending, true), simd, threads, pool)?;
        // Where most are kept, sorting all of them is as good.
        if sort.kept < sort.length / 4 {
            sort.run = top::line_of(call.operands[0].dtype);
        }
        Ok(sort)
    }

    /// Sorts a range of lines in one block of scratch.
    fn sort(&self, from: usize, to: usize, range: Range<usize>, alone: bool) -> Result<()> {
        let scratch = Lent { pool: &self.pool, block: self.pool.allocate(self.scratch.max(1))? };
        let steps = self.lines.steps();
        self.lines.runs(range.start, range.len(), |start, n| {
            for i in 0..n as isize {
                let at = self.offset + start[0] + i * steps[0];
                let put = start[1] + i * steps[1];
                let line = Line {
                    from: (from as *const u8).wrapping_offset(at * self.sizes[0] as isize),
                    to: (to as *mut u8).wrapping_offset(put * self.sizes[1] as isize),
                    strides: self.strides,
                    length: self.length,
                    kept: self.kept,
                    scratch: scratch.block.address.0 as *mut u8,
                    descending: self.descending,
                    vectors: self.vectors,
                    threads: (!alone).then_some(&*self.threads),
                };
                // SAFETY: `Launch::new` has checked both blocks; lines do not overlap in the result; the scratch is
                // as large as `line_of` asks for, aligned to 64 bytes, and only this call uses it.
                unsafe { (self.run)(&line) };
            }
        });
        Ok(())
    }
}

impl Executable for Sort {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let from = launch.inputs()[0].address.0 as usize;
        let to = launch.outputs()[0].address.0 as usize;
        if self.count * self.length * self.kept == 0 {
            return Ok(());
        }
        let threads = self.threads.count();
        if threads == 1 || self.count * self.length <= ALONE {
            return self.sort(from, to, 0..self.count, true);
        }
        if self.count < 2 * threads {
            return self.sort(from, to, 0..self.count, false);
        }
        let failed = Mutex::new(None);
        self.threads.each(self.count, self.count.div_ceil(8 * threads), |range| {
            if let Err(error) = self.sort(from, to, range, true) {
                *failed.lock() = Some(error);
            }
        });
        failed.into_inner().map_or(Ok(()), Err)
    }
}

/// Scratch from the pool, given back when it goes out of scope.
struct Lent<'a> {
    pool: &'a Pool,
    block: Block,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.pool.free(self.block);
    }
}

/// The function for lines of a dtype, and the bytes of a word it sorts; it takes scratch for two per element.
fn line_of(dtype: DType, indices: bool) -> (LineFn, usize) {
    fn pick<M: Coded>(indices: bool) -> (LineFn, usize) {
        if indices {
            (arg_line::<M>, size_of::<<M::Rank as Tagged>::Pair>())
        } else {
            (line::<M>, size_of::<M::Rank>())
        }
    }
    fn compared<M: Ranked>(indices: bool) -> (LineFn, usize) {
        // Ranks are kept on the heap; the scratch stays empty.
        (if indices { compared_line::<M, true> } else { compared_line::<M, false> }, 0)
    }
    match dtype {
        // Truth values are 0 and 1, whose order is that of the numbers.
        DType::Bool | DType::U8 => pick::<u8>(indices),
        DType::I8 => pick::<i8>(indices),
        DType::I16 => pick::<i16>(indices),
        DType::I32 => pick::<i32>(indices),
        DType::I64 => pick::<i64>(indices),
        DType::U16 => pick::<u16>(indices),
        DType::U32 => pick::<u32>(indices),
        DType::U64 => pick::<u64>(indices),
        DType::F16 => pick::<F16>(indices),
        DType::BF16 => pick::<BF16>(indices),
        DType::F32 => pick::<f32>(indices),
        DType::F64 => pick::<f64>(indices),
        DType::C64 => compared::<Complex<f32>>(indices),
        DType::C128 => compared::<Complex<f64>>(indices),
    }
}

impl Line<'_> {
    /// Element i.
    ///
    /// # Safety
    /// The line holds elements of type M, and i is below its length.
    #[inline(always)]
    unsafe fn read<M: Copy>(&self, i: usize) -> M {
        // SAFETY: the caller's contract.
        unsafe { *self.from.cast::<M>().offset(i as isize * self.strides[0]) }
    }

    /// Writes result i.
    ///
    /// # Safety
    /// Results are of type M, and i is below the length.
    #[inline(always)]
    unsafe fn write<M: Copy>(&self, i: usize, value: M) {
        // SAFETY: the caller's contract.
        unsafe { *self.to.cast::<M>().offset(i as isize * self.strides[1]) = value };
    }

    /// What stands for the elements, sorted by its `bits` bits from `low` on.
    ///
    /// # Safety
    /// The line is of type M, the scratch has room for two words per element, and nothing else uses it as long as the words live.
    unsafe fn sorted<'s, M: Coded, S: Stand<M>>(&self, low: u32, bits: u32) -> &'s [S::Word] {
        let (start, n) = (self.scratch as usize, self.length);
        radix::each_part(n, self.threads, |_, range| {
            let to = start as *mut S::Word;
            // SAFETY: the caller's contract; parts are disjoint, and `vectors` says what the processor has.
            unsafe {
                match self.vectors {
                    #[cfg(target_arch = "x86_64")]
                    true => level::fill::<M, S>(self, range, to),
                    _ => fill::<M, S>(self, range, to),
                }
            }
        });
        let start = self.scratch.cast::<S::Word>();
        // SAFETY: the caller's contract; the first half has been written, and the second claims nothing.
        let (words, spare) = unsafe {
            (std::slice::from_raw_parts_mut(start, n), std::slice::from_raw_parts_mut(start.add(n).cast(), n))
        };
        match S::Word::BY_VECTORS {
            Some(sort) if self.vectors && bits > NARROW => {
                sort(words, spare, self.threads);
                words
            }
            _ => radix::sort(words, spare, low, bits, self.threads),
        }
    }
}

/// What is sorted in the place of elements.
trait Stand<M> {
    type Word: Word;
    fn of(value: M, index: usize, descending: bool) -> Self::Word;
}

/// Codes, from which elements are made again.
struct Codes;

impl<M: Coded> Stand<M> for Codes {
    type Word = M::Rank;
    #[inline(always)]
    fn of(value: M, _: usize, descending: bool) -> M::Rank {
        value.code(descending)
    }
}

/// Ranks beside indices.
struct Pairs;

impl<M: Coded> Stand<M> for Pairs {
    type Word = <M::Rank as Tagged>::Pair;
    #[inline(always)]
    fn of(value: M, index: usize, descending: bool) -> Self::Word {
        value.rank(descending).pair(index)
    }
}

/// Writes what stands for a range of elements.
///
/// # Safety
/// The line is of type M, and `to` has room for a word per element of the line.
#[inline(always)]
unsafe fn fill<M: Coded, S: Stand<M>>(line: &Line<'_>, range: Range<usize>, to: *mut S::Word) {
    let side_by_side = line.strides[0] == 1;
    for i in range {
        // SAFETY: the caller's contract.
        unsafe {
            let value = if side_by_side { *line.from.cast::<M>().add(i) } else { line.read::<M>(i) };
            to.add(i).write(S::of(value, i, line.descending));
        }
    }
}

/// Writes the elements of a range of sorted codes, and says how many of them have equals of other bits.
///
/// # Safety
/// The result is of type M, and has room for all codes.
#[inline(always)]
unsafe fn put<M: Coded>(line: &Line<'_>, codes: &[M::Rank], range: Range<usize>) -> usize {
    let side_by_side = line.strides[1] == 1;
    let mut ambiguous = 0;
    for i in range {
        let value = M::decode(codes[i], line.descending);
        ambiguous += value.is_ambiguous() as usize;
        // SAFETY: the caller's contract.
        unsafe { if side_by_side { *line.to.cast::<M>().add(i) = value } else { line.write(i, value) } };
    }
    ambiguous
}

/// The same with 512-bit vectors.
#[cfg(target_arch = "x86_64")]
mod level {
    use super::*;

    /// # Safety
    /// As for [`super::fill`], on a processor with AVX-512.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) unsafe fn fill<M: Coded, S: Stand<M>>(line: &Line<'_>, range: Range<usize>, to: *mut S::Word) {
        // SAFETY: the caller's contract.
        unsafe { super::fill::<M, S>(line, range, to) }
    }

    /// # Safety
    /// As for [`super::put`], on a processor with AVX-512.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) unsafe fn put<M: Coded>(line: &Line<'_>, codes: &[M::Rank], range: Range<usize>) -> usize {
        // SAFETY: the caller's contract.
        unsafe { super::put::<M>(line, codes, range) }
    }
}

// SAFETY: threads read the source and write disjoint parts of result and scratch.
unsafe impl Sync for Line<'_> {}

/// Sorts a line of values.
///
/// # Safety
/// The line is of type M, source and result, and its scratch holds two words per element.
unsafe fn line<M: Coded>(line: &Line<'_>) {
    // SAFETY: the caller's contract; this call alone uses the scratch of its line.
    let words = unsafe { line.sorted::<M, Codes>(0, M::BITS) };
    let ambiguous = AtomicUsize::new(0);
    radix::each_part(line.length, line.threads, |_, range| {
        // SAFETY: as above; parts are disjoint, and `vectors` says what the processor has.
        let found = unsafe {
            match line.vectors {
                #[cfg(target_arch = "x86_64")]
                true => level::put::<M>(line, words, range),
                _ => put::<M>(line, words, range),
            }
        };
        ambiguous.fetch_add(found, Ordering::Relaxed);
    });
    if ambiguous.into_inner() > 1 {
        // SAFETY: as above.
        unsafe { restore::<M>(line, words) };
    }
}

/// Puts zeros, and NaNs, back into the order in which they came: codes order them by their bits.
///
/// # Safety
/// As [`line`]; `words` are the sorted codes of the line.
unsafe fn restore<M: Coded>(line: &Line<'_>, words: &[M::Rank]) {
    // SAFETY: the caller's contract, here and below.
    let read = |i: usize| unsafe { line.read::<M>(i) };
    // The first of the zeros and the first of the NaNs in the result.
    let first = |i: &usize| M::decode(words[*i], line.descending).is_ambiguous();
    let Some(start) = (0..words.len()).find(first) else { return };
    let rank = |i: usize| M::decode(words[i], line.descending).rank(line.descending);
    let group = rank(start);
    let end = (start..words.len()).find(|&i| rank(i) != group).unwrap_or(words.len());
    let other = (end..words.len()).find(first);
    let (mut here, mut there) = (start, other.unwrap_or(words.len()));
    for i in 0..line.length {
        let value = read(i);
        if !value.is_ambiguous() {
            continue;
        }
        let place = if value.rank(line.descending) == group { &mut here } else { &mut there };
        // SAFETY: as above; there are as many places as elements of the group.
        unsafe { line.write(*place, value) };
        *place += 1;
    }
}

/// The indices that sort a line.
///
/// # Safety
/// The source is of type M, the result `i64`, and the scratch holds two pairs per element.
unsafe fn arg_line<M: Coded>(line: &Line<'_>) {
    // SAFETY: the caller's contract; this call alone uses the scratch of its line.
    let pairs = unsafe { line.sorted::<M, Pairs>(<M::Rank as Tagged>::SHIFT, M::BITS) };
    radix::each_part(line.kept, line.threads, |_, range| {
        for i in range {
            // SAFETY: as above; parts are disjoint.
            unsafe { line.write(i, <M::Rank as Tagged>::index(pairs[i])) };
        }
    });
}

/// Sorts a line by comparing, or finds the indices that do.
///
/// # Safety
/// The source is of type M; the result is `i64` for indices and M otherwise.
unsafe fn compared_line<M: Ranked, const INDICES: bool>(line: &Line<'_>) {
    // SAFETY: the caller's contract, here and below.
    let read = |i: usize| unsafe { line.read::<M>(i) };
    let mut order: Vec<usize> = (0..line.length).collect();
    // The sort of the standard library is stable.
    order.sort_by_cached_key(|&i| read(i).rank(line.descending));
    for (i, from) in order.into_iter().take(line.kept).enumerate() {
        // SAFETY: as above.
        unsafe {
            if INDICES {
                line.write(i, from as i64);
            } else {
                line.write(i, read(from));
            }
        }
    }
}

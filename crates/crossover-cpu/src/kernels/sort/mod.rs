//! Lines along an axis, sorted, or the indices that sort them.
//!
//! Elements become unsigned numbers in the order of [`crossover_core::ops::order`] and are sorted by their digits;
//! complex numbers are compared. A stable sort has one result, so neither threads nor methods show in it. Where only the first
//! few indices are asked for, they are selected before they are sorted.
#![allow(unsafe_code)]

pub mod key;
mod radix;
mod top;

use std::{
    mem::MaybeUninit,
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
    threads::Threads,
};

/// Elements below which one thread sorts everything.
const ALONE: usize = 16 << 10;

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
    /// Threads for this line alone.
    threads: Option<&'a Threads>,
}

type LineFn = unsafe fn(&Line<'_>);

impl Sort {
    /// Prepares a call.
    pub fn new(
        call: &Call,
        (axis, descending, indices): (usize, bool, bool),
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
            run,
            threads,
            pool,
        })
    }

    /// Prepares a call for the indices of the first elements.
    pub fn top(
        call: &Call,
        axis: usize,
        descending: bool,
        threads: Arc<Threads>,
        pool: Arc<Pool>,
    ) -> Result<Sort> {
        let mut sort = Sort::new(call, (axis, descending, true), threads, pool)?;
        // Where most are kept, sorting all of them is as good.
        if sort.kept < sort.length / 4 {
            sort.run = top::line_of(call.operands[0].dtype);
        }
        Ok(sort)
    }

    /// Sorts a range of lines in one block of scratch.
    fn sort(&self, from: usize, to: usize, range: std::ops::Range<usize>, alone: bool) -> Result<()> {
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

    /// Both halves of the scratch, the first filled by `make`.
    ///
    /// # Safety
    /// The scratch has room for two words per element, and nothing else uses it as long as the halves live.
    unsafe fn halves<'s, W: Word>(
        &self,
        make: impl Fn(usize) -> W + Sync,
    ) -> (&'s mut [W], &'s mut [MaybeUninit<W>]) {
        let (start, n) = (self.scratch as usize, self.length);
        radix::each_part(n, self.threads, |_, range| {
            for i in range {
                // SAFETY: the caller's contract; parts are disjoint.
                unsafe { (start as *mut W).add(i).write(make(i)) };
            }
        });
        let start = self.scratch.cast::<W>();
        // SAFETY: the caller's contract; the first half has been written, and the second claims nothing.
        unsafe {
            (std::slice::from_raw_parts_mut(start, n), std::slice::from_raw_parts_mut(start.add(n).cast(), n))
        }
    }
}

// SAFETY: threads read the source and write disjoint parts of result and scratch.
unsafe impl Sync for Line<'_> {}

/// Sorts a line of values.
///
/// # Safety
/// The line is of type M, source and result, and its scratch holds two words per element.
unsafe fn line<M: Coded>(line: &Line<'_>) {
    // SAFETY: the caller's contract, here and below.
    let read = |i: usize| unsafe { line.read::<M>(i) };
    // SAFETY: as above; this call alone uses the scratch of its line.
    let (words, spare) = unsafe { line.halves(|i| read(i).code(line.descending)) };
    let words = radix::sort(words, spare, 0, M::BITS, line.threads);
    let ambiguous = AtomicUsize::new(0);
    radix::each_part(line.length, line.threads, |_, range| {
        let mut found = 0;
        for i in range {
            let value = M::decode(words[i], line.descending);
            found += value.is_ambiguous() as usize;
            // SAFETY: as above; parts are disjoint.
            unsafe { line.write(i, value) };
        }
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
    // SAFETY: the caller's contract, here and below.
    let read = |i: usize| unsafe { line.read::<M>(i) };
    // SAFETY: as above; this call alone uses the scratch of its line.
    let (pairs, spare) = unsafe { line.halves(|i| read(i).rank(line.descending).pair(i)) };
    let pairs = radix::sort(pairs, spare, <M::Rank as Tagged>::SHIFT, M::BITS, line.threads);
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

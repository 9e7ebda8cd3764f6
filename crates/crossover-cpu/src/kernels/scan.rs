//! Running sums and products in the order of [`crossover_core::canonical::scan`].
//!
//! A line is read twice: for the totals of its runs of 32, which are scanned by the same rule, and for the result. Several runs
//! go side by side, because each addition of a run waits for the one before; threads share the runs of a long line. Integers give the same
//! in any order: what one thread has of a line it reads once.
//! 16-bit floats are carried in `f32` and rounded once per element.
#![allow(unsafe_code)]

use std::{ops::Range, sync::Arc};

use crossover_core::{
    DType,
    canonical::RUN,
    lane::FloatLane,
    ops::{Apply2, add::Add, cast, multiply::Multiply, reduce::ReduceOp},
};
use crossover_plan::kernel::Call;
use crossover_runtime::{Error, Executable, Launch, Result};
use num_complex::Complex;

use crate::{threads::Threads, window::View};

/// Elements below which one thread scans everything.
const ALONE: usize = 1 << 15;
/// Runs that are added up side by side.
const ABREAST: usize = 8;
/// Runs that are worth a turn of a thread.
const PART: usize = 256;

/// Where the elements of lines are.
#[derive(Debug)]
struct Lines {
    offset: isize,
    /// Positions of lines in the source: all axes but the scanned one.
    source: View,
    /// Stride along the scanned axis.
    stride: isize,
    /// The same for the result, which is row-major.
    result: View,
    result_stride: isize,
    count: usize,
    length: usize,
}

/// A scan made ready.
#[derive(Debug)]
pub struct Scan {
    lines: Lines,
    run: LineFn,
    threads: Arc<Threads>,
}

impl Scan {
    /// Prepares a call.
    pub fn new(call: &Call, op: ReduceOp, axis: usize, threads: Arc<Threads>) -> Result<Scan> {
        let [operand] = call.operands.as_slice() else {
            return Err(Error::Internal(format!("scan with {} operands", call.operands.len())));
        };
        let without = |all: &[isize]| -> Vec<isize> {
            all.iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &s)| s).collect()
        };
        let dims = operand.layout.shape.dims();
        let others: Vec<usize> =
            dims.iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &n)| n).collect();
        let lines = Lines {
            offset: operand.layout.offset as isize,
            source: View::new(&others, &without(&operand.layout.strides)),
            stride: operand.layout.strides[axis],
            result: View::new(&others, &without(&call.layout.strides)),
            result_stride: call.layout.strides[axis],
            count: others.iter().product(),
            length: dims[axis],
        };
        let run = match op {
            ReduceOp::Sum => line_of::<Add>(operand.dtype),
            ReduceOp::Prod => line_of::<Multiply>(operand.dtype),
            _ => None,
        };
        let run = run.ok_or_else(|| Error::Unsupported {
            device: "CPU".into(),
            what: format!("a scan of {} by {op}", operand.dtype),
        })?;
        Ok(Scan { lines, run, threads })
    }
}

impl Executable for Scan {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let from = launch.inputs()[0].address.0 as usize;
        let to = launch.outputs()[0].address.0 as usize;
        let lines = &self.lines;
        if lines.count * lines.length == 0 {
            return Ok(());
        }
        let alone = lines.count * lines.length <= ALONE;
        if !alone && lines.count < 2 * self.threads.count() {
            for line in 0..lines.count {
                (self.run)(lines, from as *const u8, to as *mut u8, line, Some(&self.threads));
            }
            return Ok(());
        }
        let grain = if alone { lines.count } else { lines.count.div_ceil(8 * self.threads.count()) };
        self.threads.each(lines.count, grain, |range| {
            for line in range {
                (self.run)(lines, from as *const u8, to as *mut u8, line, None);
            }
        });
        Ok(())
    }
}

/// An element as memory has it and as sums carry it.
pub(super) trait Carried: Copy {
    type Held: Copy;
    /// Whether sums and products are the same in any order.
    const ANY_ORDER: bool;
    fn hold(self) -> Self::Held;
    fn release(held: Self::Held) -> Self;
}

macro_rules! carried {
    ($($memory:ty, $held:ty, $any_order:literal, $hold:expr, $release:expr;)*) => {$(
        impl Carried for $memory {
            type Held = $held;
            const ANY_ORDER: bool = $any_order;
            #[inline(always)]
            fn hold(self) -> $held { let f: fn($memory) -> $held = $hold; f(self) }
            #[inline(always)]
            fn release(held: $held) -> Self { let f: fn($held) -> $memory = $release; f(held) }
        }
    )*};
}

/// A 16-bit float in memory.
#[derive(Clone, Copy)]
pub struct F16(pub(super) u16);
/// A 16-bit float in memory.
#[derive(Clone, Copy)]
pub struct BF16(pub(super) u16);

carried! {
    i8, i8, true, |x| x, |x| x; i16, i16, true, |x| x, |x| x;
    i32, i32, true, |x| x, |x| x; i64, i64, true, |x| x, |x| x;
    u8, u8, true, |x| x, |x| x; u16, u16, true, |x| x, |x| x;
    u32, u32, true, |x| x, |x| x; u64, u64, true, |x| x, |x| x;
    f32, f32, false, |x| x, |x| x.canonical(); f64, f64, false, |x| x, |x| x.canonical();
    F16, f32, false, |x| cast::widen_f16(x.0), |x| F16(cast::narrow_f16(x.canonical()));
    BF16, f32, false, |x| cast::widen_bf16(x.0), |x| BF16(cast::narrow_bf16(x.canonical()));
    Complex<f32>, Complex<f32>, false, |x| x, |x| Complex::new(x.re.canonical(), x.im.canonical());
    Complex<f64>, Complex<f64>, false, |x| x, |x| Complex::new(x.re.canonical(), x.im.canonical());
}

/// Source, result, the number of the line, and threads for it alone.
type LineFn = fn(&Lines, *const u8, *mut u8, usize, Option<&Threads>);

fn line_of<O>(dtype: DType) -> Option<LineFn>
where
    O: Apply2<i8> + Apply2<i16> + Apply2<i32> + Apply2<i64> + Apply2<u8> + Apply2<u16> + Apply2<u32>,
    O: Apply2<u64> + Apply2<f32> + Apply2<f64> + Apply2<Complex<f32>> + Apply2<Complex<f64>>,
{
    Some(match dtype {
        DType::Bool => return None,
        DType::I8 => line::<O, i8>,
        DType::I16 => line::<O, i16>,
        DType::I32 => line::<O, i32>,
        DType::I64 => line::<O, i64>,
        DType::U8 => line::<O, u8>,
        DType::U16 => line::<O, u16>,
        DType::U32 => line::<O, u32>,
        DType::U64 => line::<O, u64>,
        DType::F16 => line::<O, F16>,
        DType::BF16 => line::<O, BF16>,
        DType::F32 => line::<O, f32>,
        DType::F64 => line::<O, f64>,
        DType::C64 => line::<O, Complex<f32>>,
        DType::C128 => line::<O, Complex<f64>>,
    })
}

/// Scans one line.
fn line<O, M>(lines: &Lines, from: *const u8, to: *mut u8, line: usize, threads: Option<&Threads>)
where
    O: Apply2<M::Held>,
    M: Carried<Held: Send + Sync>,
{
    let (mut source, mut result) = (lines.offset, 0isize);
    lines.source.runs(line, 1, |at, _, _| source += at);
    lines.result.runs(line, 1, |at, _, _| result += at);
    let from = from.cast::<M>().wrapping_offset(source) as usize;
    let to = to.cast::<M>().wrapping_offset(result) as usize;
    if (lines.stride, lines.result_stride) == (1, 1) {
        // As below, with strides that the compiler knows.
        // SAFETY: as below.
        let read = |i: usize| unsafe { (*(from as *const M).add(i)).hold() };
        // SAFETY: as below.
        let write = |i: usize, value: M::Held| unsafe { *(to as *mut M).add(i) = M::release(value) };
        return scanned::<O, M>(lines.length, threads, read, write);
    }
    let read = |i: usize| {
        // SAFETY: `Launch::new` has checked the block.
        unsafe { (*(from as *const M).wrapping_offset(i as isize * lines.stride)).hold() }
    };
    let write = |i: usize, value: M::Held| {
        let to = (to as *mut M).wrapping_offset(i as isize * lines.result_stride);
        // SAFETY: as above; lines do not overlap in the result, nor parts of one.
        unsafe { *to = M::release(value) };
    };
    scanned::<O, M>(lines.length, threads, read, write);
}

/// Scans a line of at least one element.
#[inline(always)]
fn scanned<O, M>(
    length: usize,
    threads: Option<&Threads>,
    read: impl Fn(usize) -> M::Held + Sync,
    write: impl Fn(usize, M::Held) + Sync,
) where
    O: Apply2<M::Held>,
    M: Carried<Held: Send + Sync>,
{
    // One total for each run, or for each part of a thread.
    let step = match (M::ANY_ORDER, threads) {
        (false, _) => RUN,
        (true, Some(_)) => PART * RUN,
        (true, None) => length,
    };
    let count = length.div_ceil(step);
    let mut totals = vec![read(0); count];
    let place = totals.as_mut_ptr() as usize;
    if count > 1 {
        each_part(count, if M::ANY_ORDER { 1 } else { PART }, threads, |part| {
            // SAFETY: parts are disjoint ranges of the totals.
            let totals = unsafe {
                std::slice::from_raw_parts_mut((place as *mut M::Held).add(part.start), part.len())
            };
            if M::ANY_ORDER {
                for (at, total) in part.zip(totals) {
                    let rest = at * step + 1..((at + 1) * step).min(length);
                    *total = rest.fold(read(at * step), |sum, i| O::apply(sum, read(i)));
                }
            } else {
                total::<O, M::Held>(length, part, totals, &read);
            }
        });
        scan::<O, M::Held>(&mut totals);
    }
    let totals = &totals;
    each_part(count, if M::ANY_ORDER { 1 } else { PART }, threads, |part| {
        if !M::ANY_ORDER {
            return spread::<O, M::Held>(length, part, totals, &read, &write);
        }
        for at in part {
            let mut sum = read(at * step);
            if at > 0 {
                sum = O::apply(totals[at - 1], sum);
            }
            write(at * step, sum);
            for i in at * step + 1..((at + 1) * step).min(length) {
                sum = O::apply(sum, read(i));
                write(i, sum);
            }
        }
    });
}

/// Calls `work` with ranges of runs that cover all of them, `grain` at a time.
fn each_part(runs: usize, grain: usize, threads: Option<&Threads>, work: impl Fn(Range<usize>) + Sync) {
    match threads {
        Some(threads) => threads.each(runs, grain, work),
        None => work(0..runs),
    }
}

/// The totals of some runs of a line.
#[inline(always)]
fn total<O: Apply2<T>, T: Copy>(
    length: usize,
    runs: Range<usize>,
    totals: &mut [T],
    read: impl Fn(usize) -> T,
) {
    let (groups, rest) = totals.as_chunks_mut::<ABREAST>();
    let mut at = runs.start * RUN;
    for group in groups {
        let mut sums: [T; ABREAST] = std::array::from_fn(|k| read(at + k * RUN));
        // Only the last run of a line may be shorter than the others.
        let last = RUN.min(length - at - (ABREAST - 1) * RUN);
        for i in 1..last {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = O::apply(*sum, read(at + k * RUN + i));
            }
        }
        for (k, sum) in sums.iter_mut().enumerate().take(ABREAST - 1) {
            *sum = (last..RUN).fold(*sum, |sum, i| O::apply(sum, read(at + k * RUN + i)));
        }
        *group = sums;
        at += ABREAST * RUN;
    }
    for total in rest {
        let end = (at + RUN).min(length);
        *total = (at + 1..end).fold(read(at), |sum, i| O::apply(sum, read(i)));
        at += RUN;
    }
}

/// Writes the result of some runs of a line, given the scanned totals.
#[inline(always)]
fn spread<O: Apply2<T>, T: Copy>(
    length: usize,
    runs: Range<usize>,
    totals: &[T],
    read: impl Fn(usize) -> T,
    write: impl Fn(usize, T),
) {
    let mut run = runs.start;
    while run < runs.end {
        let at = run * RUN;
        // The first run of a line has nothing before it, the last one may be short.
        if run > 0 && run + ABREAST <= runs.end && at + ABREAST * RUN <= length {
            let carries: [T; ABREAST] = std::array::from_fn(|k| totals[run + k - 1]);
            let mut sums: [T; ABREAST] = std::array::from_fn(|k| read(at + k * RUN));
            for k in 0..ABREAST {
                write(at + k * RUN, O::apply(carries[k], sums[k]));
            }
            for i in 1..RUN {
                for k in 0..ABREAST {
                    sums[k] = O::apply(sums[k], read(at + k * RUN + i));
                    write(at + k * RUN + i, O::apply(carries[k], sums[k]));
                }
            }
            run += ABREAST;
            continue;
        }
        let carry = run.checked_sub(1).map(|before| totals[before]);
        let carried = |sum: T| carry.map_or(sum, |carry| O::apply(carry, sum));
        let mut sum = read(at);
        write(at, carried(sum));
        for i in at + 1..(at + RUN).min(length) {
            sum = O::apply(sum, read(i));
            write(i, carried(sum));
        }
        run += 1;
    }
}

/// Scans values in place by the canonical rule.
fn scan<O: Apply2<T>, T: Copy>(values: &mut [T]) {
    let mut totals = Vec::with_capacity(values.len().div_ceil(RUN));
    for run in values.chunks_mut(RUN) {
        for i in 1..run.len() {
            run[i] = O::apply(run[i - 1], run[i]);
        }
        totals.push(run[run.len() - 1]);
    }
    if totals.len() > 1 {
        scan::<O, T>(&mut totals);
        for (run, &carry) in values.chunks_mut(RUN).skip(1).zip(&totals) {
            run.iter_mut().for_each(|x| *x = O::apply(carry, *x));
        }
    }
}

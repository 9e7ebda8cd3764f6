//! Running sums and products in the order of [`crossover_core::canonical::scan`].
//!
//! A line is gathered into scratch, scanned in place (runs of 32, then the run totals by the same rule, then the
//! carries) and written back. 16-bit floats are carried in `f32` and rounded once per element.
#![allow(unsafe_code)]

use std::sync::Arc;

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
    run: fn(&Lines, *const u8, *mut u8, usize),
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
        let grain = if alone { lines.count } else { lines.count.div_ceil(8 * self.threads.count()) };
        self.threads.each(lines.count, grain, |range| {
            for line in range {
                (self.run)(lines, from as *const u8, to as *mut u8, line);
            }
        });
        Ok(())
    }
}

/// An element as memory has it and as sums carry it.
pub(super) trait Carried: Copy {
    type Held: Copy;
    fn hold(self) -> Self::Held;
    fn release(held: Self::Held) -> Self;
}

macro_rules! carried {
    ($($memory:ty, $held:ty, $hold:expr, $release:expr;)*) => {$(
        impl Carried for $memory {
            type Held = $held;
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
    i8, i8, |x| x, |x| x; i16, i16, |x| x, |x| x; i32, i32, |x| x, |x| x; i64, i64, |x| x, |x| x;
    u8, u8, |x| x, |x| x; u16, u16, |x| x, |x| x; u32, u32, |x| x, |x| x; u64, u64, |x| x, |x| x;
    f32, f32, |x| x, |x| x.canonical(); f64, f64, |x| x, |x| x.canonical();
    F16, f32, |x| cast::widen_f16(x.0), |x| F16(cast::narrow_f16(x.canonical()));
    BF16, f32, |x| cast::widen_bf16(x.0), |x| BF16(cast::narrow_bf16(x.canonical()));
    Complex<f32>, Complex<f32>, |x| x, |x| Complex::new(x.re.canonical(), x.im.canonical());
    Complex<f64>, Complex<f64>, |x| x, |x| Complex::new(x.re.canonical(), x.im.canonical());
}

type LineFn = fn(&Lines, *const u8, *mut u8, usize);

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
fn line<O: Apply2<M::Held>, M: Carried>(lines: &Lines, from: *const u8, to: *mut u8, line: usize) {
    let (mut source, mut result) = (lines.offset, 0isize);
    lines.source.runs(line, 1, |at, _, _| source += at);
    lines.result.runs(line, 1, |at, _, _| result += at);
    let from = from.cast::<M>().wrapping_offset(source);
    let to = to.cast::<M>().wrapping_offset(result);
    // SAFETY: `Launch::new` has checked both blocks; lines do not overlap in the result.
    let read = |i: usize| unsafe { (*from.wrapping_offset(i as isize * lines.stride)).hold() };
    let mut totals = Vec::with_capacity(lines.length.div_ceil(RUN));
    for start in (0..lines.length).step_by(RUN) {
        let end = (start + RUN).min(lines.length);
        totals.push((start + 1..end).fold(read(start), |sum, i| O::apply(sum, read(i))));
    }
    scan::<O, M::Held>(&mut totals);
    for (run, start) in (0..lines.length).step_by(RUN).enumerate() {
        let end = (start + RUN).min(lines.length);
        let mut prefix = None;
        for i in start..end {
            let value = read(i);
            let sum = prefix.map_or(value, |p| O::apply(p, value));
            prefix = Some(sum);
            let total = if run > 0 { O::apply(totals[run - 1], sum) } else { sum };
            // SAFETY: as above.
            unsafe { *to.wrapping_offset(i as isize * lines.result_stride) = M::release(total) };
        }
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

//! Fourier transforms through `rustfft` and `realfft`.
//!
//! A pass transforms every line along one axis. Lines are gathered in blocks into scratch, where they lie one after
//! another, transformed there, scaled, made canonical and written back; a block of neighbouring columns is read and written
//! a cache line at a time. The first pass reads the operand, later ones work in place on the result. Lines are
//! independent, so bits do not depend on threads.
#![allow(unsafe_code)]

use std::sync::Arc;

use crossover_core::{
    DType, Layout,
    graph::Axes,
    lane::FloatLane,
    ops::fft::{FftKind, FftScale},
};
use crossover_plan::kernel::Call;
use crossover_runtime::{Error, Executable, Launch, Result};
use num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{FftDirection, FftNum, FftPlanner};

use crate::{memory::Pool, scratch::Scratch, threads::Threads, window::View};

/// Points below which one thread transforms everything.
const ALONE: usize = 1 << 13;
/// Bytes of a block of lines: with its result and the transform's own scratch it stays in the second-level cache.
const BLOCK: usize = 128 << 10;
/// Most lines of a block.
const LINES: usize = 32;

/// Where the elements of lines along one axis are.
#[derive(Debug)]
struct Lines {
    offset: isize,
    /// First elements of lines: all axes but the transformed one.
    starts: View,
    /// Distance along the axis.
    stride: isize,
    /// Elements of a line.
    length: usize,
}

impl Lines {
    fn new(layout: &Layout, axis: usize) -> Lines {
        let others = |i: &usize| *i != axis;
        let axes: Vec<usize> = (0..layout.shape.rank()).filter(others).collect();
        let dims: Vec<usize> = axes.iter().map(|&i| layout.shape[i]).collect();
        let strides: Vec<isize> = axes.iter().map(|&i| layout.strides[i]).collect();
        Lines {
            offset: layout.offset as isize,
            starts: View::new(&dims, &strides),
            stride: layout.strides[axis],
            length: layout.shape[axis],
        }
    }

    /// Calls `f(position in memory, position in the block)` for all elements of `count` lines: line by line where these are
    /// the shorter step in memory, else in squares of `step`, a cache line of the block each.
    #[inline(always)]
    fn walk(&self, start: usize, count: usize, step: usize, mut f: impl FnMut(isize, usize)) {
        let (length, along) = (self.length, self.stride);
        let mut line = 0;
        self.starts.runs(start, count, |at, across, n| {
            let at = self.offset + at;
            if across.unsigned_abs() < along.unsigned_abs() && n > 1 {
                for first in (0..length).step_by(step) {
                    for l in 0..n {
                        for j in first..(first + step).min(length) {
                            f(at + j as isize * along + l as isize * across, (line + l) * length + j);
                        }
                    }
                }
            } else {
                for l in 0..n {
                    for j in 0..length {
                        f(at + j as isize * along + l as isize * across, (line + l) * length + j);
                    }
                }
            }
            line += n;
        });
    }

    /// Copies lines into a block, where they lie one after another.
    ///
    /// # Safety
    /// Every element of the lines is readable, and the block has room for them.
    unsafe fn gather<T: Copy>(&self, from: *const T, start: usize, count: usize, to: *mut T) {
        // SAFETY: the caller's contract; positions in the block are below count times the length.
        self.walk(start, count, line_of::<T>(), |at, place| unsafe { *to.add(place) = *from.offset(at) });
    }

    /// Writes lines of a block back, each element through `f`.
    ///
    /// # Safety
    /// As for `gather`, with the lines writable and not shared.
    unsafe fn scatter<T: Copy>(
        &self,
        from: *const T,
        start: usize,
        count: usize,
        to: *mut T,
        f: impl Fn(T) -> T,
    ) {
        // SAFETY: the caller's contract.
        self.walk(start, count, line_of::<T>(), |at, place| unsafe { *to.offset(at) = f(*from.add(place)) });
    }
}

/// Elements of a cache line.
const fn line_of<T>() -> usize {
    64 / size_of::<T>()
}

/// The numbers that transforms are made of.
trait Real: FftNum {
    fn canonical(self) -> Self;
    fn of(value: f64) -> Self;
}

macro_rules! real {
    ($($type:ty)*) => {$(
        impl Real for $type {
            #[inline(always)]
            fn canonical(self) -> Self { FloatLane::canonical(self) }
            fn of(value: f64) -> Self { value as $type }
        }
    )*};
}

real!(f32 f64);

/// What is done to a line.
enum Plan<T> {
    Complex(Arc<dyn rustfft::Fft<T>>),
    Real(Arc<dyn RealToComplex<T>>),
    Hermitian(Arc<dyn ComplexToReal<T>>),
}

impl<T: Real> Plan<T> {
    /// Complex numbers of scratch.
    fn scratch(&self) -> usize {
        match self {
            Plan::Complex(fft) => fft.get_inplace_scratch_len(),
            Plan::Real(fft) => fft.get_scratch_len(),
            Plan::Hermitian(fft) => fft.get_scratch_len(),
        }
    }
}

/// Transforms along one axis.
struct Pass<T> {
    plan: Plan<T>,
    /// The operand's lines, or the result's own for a pass in place.
    source: Lines,
    result: Lines,
    in_place: bool,
    /// Number of lines.
    count: usize,
    /// Lines of a block.
    block: usize,
    scale: T,
}

impl<T: Real> Pass<T> {
    fn new(
        plan: Plan<T>,
        source: &Layout,
        result: &Layout,
        axis: usize,
        in_place: bool,
        scale: T,
    ) -> Pass<T> {
        let (source, count) = (Lines::new(source, axis), source.shape.size() / source.shape[axis]);
        let result = Lines::new(result, axis);
        let bytes = source.length.max(result.length) * size_of::<Complex<T>>();
        // At least a cache line across, so that columns are not read again and again.
        let block = (BLOCK / bytes.max(1)).clamp(64 / size_of::<Complex<T>>(), LINES).min(count.max(1));
        Pass { plan, source, result, in_place, count, block, scale }
    }

    /// Bytes of scratch: the lines before and after, and the transform's own.
    fn bytes(&self) -> usize {
        let lines = self.block * (self.source.length + self.result.length) + self.plan.scratch() + 16;
        lines * size_of::<Complex<T>>()
    }

    fn run(&self, threads: &Threads, from: usize, to: usize) -> Result<()> {
        let blocks = self.count.div_ceil(self.block);
        let alone = self.count * self.source.length.max(self.result.length) <= ALONE;
        let grain = if alone { blocks } else { blocks.div_ceil(8 * threads.count()) };
        let failed = parking_lot::Mutex::new(None);
        threads.each(blocks, grain, |range| {
            let scratch = match Scratch::take(self.bytes()) {
                Ok(scratch) => scratch,
                Err(error) => return *failed.lock() = Some(error),
            };
            for block in range {
                let start = block * self.block;
                let count = self.block.min(self.count - start);
                // SAFETY: `Launch::new` has checked operand and result; blocks of lines are disjoint, and a pass in place
                // reads only the lines it writes; the scratch has room for both sides and the transform's own.
                unsafe { self.lines(from, to, start, count, &scratch) };
            }
        });
        failed.into_inner().map_or(Ok(()), Err)
    }

    /// Transforms `count` lines.
    ///
    /// # Safety
    /// See `run`.
    unsafe fn lines(&self, from: usize, to: usize, start: usize, count: usize, scratch: &Scratch) {
        let from = if self.in_place { to } else { from };
        let (n, m) = (self.source.length, self.result.length);
        let first = scratch.start().cast::<Complex<T>>();
        let scale = self.scale;
        let wide = |z: Complex<T>| Complex::new((z.re * scale).canonical(), (z.im * scale).canonical());
        // SAFETY: the caller's contract. Scratch is aligned to 64 bytes, and slices are made over elements that were
        // gathered or zeroed.
        unsafe {
            let second = first.add(self.block * n);
            let own = second.add(self.block * m);
            let own = zeroed(own, self.plan.scratch());
            match &self.plan {
                Plan::Complex(fft) => {
                    self.source.gather(from as *const Complex<T>, start, count, first);
                    fft.process_with_scratch(std::slice::from_raw_parts_mut(first, count * n), own);
                    self.result.scatter(first, start, count, to as *mut Complex<T>, wide);
                }
                Plan::Real(fft) => {
                    let real = first.cast::<T>();
                    self.source.gather(from as *const T, start, count, real);
                    let out = zeroed(second, count * m);
                    for (line, out) in out.chunks_exact_mut(m).enumerate() {
                        let line = std::slice::from_raw_parts_mut(real.add(line * n), n);
                        // Fails only for lengths that do not fit, and these do.
                        let _ = fft.process_with_scratch(line, out, own);
                    }
                    self.result.scatter(second, start, count, to as *mut Complex<T>, wide);
                }
                Plan::Hermitian(fft) => {
                    self.source.gather(from as *const Complex<T>, start, count, first);
                    let real = second.cast::<T>();
                    real.write_bytes(0, count * m);
                    for line in 0..count {
                        let spectrum = std::slice::from_raw_parts_mut(first.add(line * n), n);
                        // These parts do not count; `realfft` would report them.
                        spectrum[0].im = T::zero();
                        if m.is_multiple_of(2) {
                            spectrum[n - 1].im = T::zero();
                        }
                        let out = std::slice::from_raw_parts_mut(real.add(line * m), m);
                        let _ = fft.process_with_scratch(spectrum, out, own);
                    }
                    self.result.scatter(real, start, count, to as *mut T, |x| (x * scale).canonical());
                }
            }
        }
    }
}

/// A slice of zeros.
///
/// # Safety
/// There is room for `count` numbers at `start`, and nobody else uses it.
unsafe fn zeroed<'a, T: Real>(start: *mut Complex<T>, count: usize) -> &'a mut [Complex<T>] {
    // SAFETY: the caller's contract; all bits zero is the number 0.
    unsafe {
        start.write_bytes(0, count);
        std::slice::from_raw_parts_mut(start, count)
    }
}

/// A transform made ready.
struct Fft<T> {
    passes: Vec<Pass<T>>,
    threads: Arc<Threads>,
}

impl<T: Real> Executable for Fft<T> {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let (from, to) = (launch.inputs()[0].address.0 as usize, launch.outputs()[0].address.0 as usize);
        self.passes.iter().try_for_each(|pass| pass.run(&self.threads, from, to))
    }
}

/// Prepares a call.
pub fn fft(
    call: &Call,
    kind: FftKind,
    axes: &Axes,
    scale: FftScale,
    threads: Arc<Threads>,
    pool: &Pool,
) -> Result<Box<dyn Executable>> {
    match call.dtype.real() {
        DType::F32 => prepared::<f32>(call, kind, axes, scale, threads, pool),
        DType::F64 => prepared::<f64>(call, kind, axes, scale, threads, pool),
        other => Err(Error::Unsupported { device: "CPU".into(), what: format!("fft of {other}") }),
    }
}

fn prepared<T: Real>(
    call: &Call,
    kind: FftKind,
    axes: &Axes,
    scale: FftScale,
    threads: Arc<Threads>,
    pool: &Pool,
) -> Result<Box<dyn Executable>> {
    let [operand] = call.operands.as_slice() else {
        return Err(Error::Internal(format!("fft with {} operands", call.operands.len())));
    };
    let points = kind.points(&operand.layout.shape, axes);
    let mut passes = Vec::new();
    // Last axes first: the first pass then reads rows and writes rows in the usual case.
    for (at, &axis) in axes.iter().rev().enumerate() {
        let length = kind.points(&operand.layout.shape, &[axis]);
        // The roots of a plan are as many as the points, and the library takes its memory without asking.
        pool.admit(length.saturating_mul(size_of::<Complex<T>>()))?;
        let plan = match kind {
            FftKind::Forward => Plan::Complex(FftPlanner::new().plan_fft(length, FftDirection::Forward)),
            FftKind::Inverse => Plan::Complex(FftPlanner::new().plan_fft(length, FftDirection::Inverse)),
            FftKind::Real => Plan::Real(RealFftPlanner::new().plan_fft_forward(length)),
            FftKind::Hermitian { .. } => Plan::Hermitian(RealFftPlanner::new().plan_fft_inverse(length)),
        };
        let source = if at == 0 { &operand.layout } else { &call.layout };
        let last = at + 1 == axes.len();
        let factor = if last { T::of(scale.factor(points)) } else { T::one() };
        passes.push(Pass::new(plan, source, &call.layout, axis, at > 0, factor));
    }
    Ok(Box::new(Fft { passes, threads }))
}

//! Values written or combined into a copy of an array, along an axis.
//!
//! Every element of the result is written by one thread, which takes the values in row-major order; so results do
//! not depend on how the work is cut. Lines along the axis are independent; where there are too few of them, each
//! thread walks all indices and takes those in its part of the axis.
#![allow(unsafe_code)]

use std::{ops::Range, sync::Arc};

use crossover_core::{
    DType,
    ops::{Apply2, add::Add, maximum::Maximum, minimum::Minimum, scatter::ScatterOp},
};
use crossover_plan::kernel::{Call, Operand};
use crossover_runtime::{Error, Executable, Launch, Result};
use num_complex::Complex;

use crate::{
    kernels::{
        scan::{BF16, Carried, F16},
        walk::Walk,
    },
    threads::Threads,
    tile::{GatherFn, Tiles},
    window::View,
};

/// Elements below which one thread does everything.
const ALONE: usize = 1 << 15;

/// A scatter made ready. Index, value and result have outer axes, the axis, and inner axes.
#[derive(Debug)]
pub struct Scatter {
    source: View,
    source_offset: isize,
    size: usize,
    /// Elements of the result.
    total: usize,
    /// Indices, values and result along the outer axes.
    outer: Walk<3>,
    outer_size: usize,
    /// Strides of indices and values along the axis, and their number.
    along: [isize; 2],
    count: usize,
    /// Length of the axis in the result.
    length: usize,
    inner: Walk<3>,
    inner_size: usize,
    offsets: [isize; 2],
    gather: GatherFn,
    run: RunFn,
    threads: Arc<Threads>,
}

/// One run of values: where indices, values and results start, and their steps.
struct Run {
    index: *const i64,
    value: *const u8,
    /// The result at index 0.
    to: *mut u8,
    steps: [isize; 3],
    n: usize,
    /// Elements from one index to the next in the result.
    stride: isize,
    /// Indices that are written; others are left to other threads or lie outside.
    target: Range<usize>,
}

type RunFn = unsafe fn(&Run);

/// Part of the work: outer positions, inner positions, positions along the axis.
type Part = [Range<usize>; 3];

impl Scatter {
    /// Prepares a call.
    pub fn new(
        call: &Call,
        op: ScatterOp,
        axis: usize,
        tiles: &'static Tiles,
        threads: Arc<Threads>,
    ) -> Result<Scatter> {
        let [source, index, value] = call.operands.as_slice() else {
            return Err(Error::Internal(format!("a scatter with {} operands", call.operands.len())));
        };
        let unsupported =
            || Error::Unsupported { device: "CPU".into(), what: format!("{op} of {}", call.dtype) };
        let dims = index.layout.shape.dims();
        let part = |o: &Operand, r: Range<usize>| o.layout.strides[r].to_vec();
        let walk = |r: Range<usize>| {
            let strides =
                [part(index, r.clone()), part(value, r.clone()), call.layout.strides[r.clone()].to_vec()];
            Walk::new(&dims[r], [&strides[0], &strides[1], &strides[2]])
        };
        let rank = dims.len();
        Ok(Scatter {
            source: View::new(source.layout.shape.dims(), &source.layout.strides),
            source_offset: source.layout.offset as isize,
            size: call.dtype.size(),
            total: call.layout.shape.size(),
            outer: walk(0..axis),
            outer_size: dims[..axis].iter().product(),
            along: [index.layout.strides[axis], value.layout.strides[axis]],
            count: dims[axis],
            length: call.layout.shape[axis],
            inner: walk(axis + 1..rank),
            inner_size: dims[axis + 1..].iter().product(),
            offsets: [index.layout.offset as isize, value.layout.offset as isize],
            gather: (tiles.gather)(call.dtype.size()),
            run: run_of(op, call.dtype).ok_or_else(unsupported)?,
            threads,
        })
    }

    /// The first operand, copied into the result.
    fn copy(&self, from: usize, to: usize) {
        let grain =
            if self.total <= ALONE { self.total } else { self.total.div_ceil(4 * self.threads.count()) };
        let size = self.size as isize;
        self.threads.each(self.total, grain, |range| {
            let mut out = to + range.start * self.size;
            self.source.runs(range.start, range.len(), |at, stride, n| {
                // SAFETY: `Launch::new` has checked both blocks; ranges of the result are disjoint.
                unsafe {
                    let at = (from as *const u8).offset((self.source_offset + at) * size);
                    (self.gather)(at, stride, out as *mut u8, n);
                }
                out += n * self.size;
            });
        });
    }

    /// How the work is cut: pieces of the first axis group that has enough of them.
    fn parts(&self) -> Vec<Part> {
        let whole = [0..self.outer_size, 0..self.inner_size, 0..self.length];
        let threads = self.threads.count();
        if threads == 1 || self.outer_size * self.count * self.inner_size <= ALONE {
            return vec![whole];
        }
        let (group, pieces) = if self.outer_size >= 2 * threads {
            (0, 4 * threads)
        } else if self.inner_size >= 64 * threads {
            (1, threads)
        } else {
            (2, threads)
        };
        let n = whole[group].end;
        let cut = |i: usize| n * i / pieces;
        let piece = |i: usize| {
            let mut part = whole.clone();
            part[group] = cut(i)..cut(i + 1);
            part
        };
        (0..pieces).map(piece).collect()
    }

    fn scatter(&self, index: usize, value: usize, to: usize, [outer, inner, target]: &Part) {
        let (index, value, to) = (index as *const i64, value as *const u8, to as *mut u8);
        let size = self.size as isize;
        // SAFETY (of the pointers below): positions of indices and values lie inside their blocks, which
        // `Launch::new` has checked; a result is written only where its index lies inside the axis.
        let run = |at: [isize; 3], steps: [isize; 3], n: usize| Run {
            index: index.wrapping_offset(self.offsets[0] + at[0]),
            value: value.wrapping_offset((self.offsets[1] + at[1]) * size),
            to: to.wrapping_offset(at[2] * size),
            steps,
            n,
            stride: self.inner_size as isize,
            target: target.clone(),
        };
        let outer_steps = self.outer.steps();
        self.outer.runs(outer.start, outer.len(), |start, n| {
            for o in 0..n as isize {
                let base: [isize; 3] = std::array::from_fn(|k| start[k] + o * outer_steps[k]);
                if self.inner_size == 1 {
                    let steps = [self.along[0], self.along[1], 0];
                    // SAFETY: as above.
                    unsafe { (self.run)(&run(base, steps, self.count)) };
                    continue;
                }
                for k in 0..self.count as isize {
                    let base = [base[0] + k * self.along[0], base[1] + k * self.along[1], base[2]];
                    self.inner.runs(inner.start, inner.len(), |at, n| {
                        let at = std::array::from_fn(|i| base[i] + at[i]);
                        // SAFETY: as above.
                        unsafe { (self.run)(&run(at, self.inner.steps(), n)) };
                    });
                }
            }
        });
    }
}

impl Executable for Scatter {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let [from, index, value] =
            [launch.inputs()[0], launch.inputs()[1], launch.inputs()[2]].map(|b| b.address.0 as usize);
        let to = launch.outputs()[0].address.0 as usize;
        if self.total == 0 {
            return Ok(());
        }
        self.copy(from, to);
        if self.outer_size * self.count * self.inner_size > 0 {
            let parts = self.parts();
            self.threads.each(parts.len(), 1, |range| {
                parts[range].iter().for_each(|part| self.scatter(index, value, to, part));
            });
        }
        Ok(())
    }
}

/// Combines an element in memory with a value.
trait Combine<M> {
    fn combine(old: M, new: M) -> M;
}

/// The value replaces the element.
struct Replace;

impl<M> Combine<M> for Replace {
    #[inline(always)]
    fn combine(_: M, new: M) -> M {
        new
    }
}

/// An op on values as registers hold them.
struct Through<O>(std::marker::PhantomData<O>);

impl<M: Carried, O: Apply2<M::Held>> Combine<M> for Through<O> {
    #[inline(always)]
    fn combine(old: M, new: M) -> M {
        M::release(O::apply(old.hold(), new.hold()))
    }
}

/// # Safety
/// Indices and values of the run are readable; results at indices inside the target are writable, by this thread
/// alone.
unsafe fn run<C: Combine<M>, M: Copy>(r: &Run) {
    let [index_step, value_step, step] = r.steps;
    let (value, to) = (r.value.cast::<M>(), r.to.cast::<M>());
    for i in 0..r.n as isize {
        // SAFETY: the caller's contract.
        unsafe {
            let at = *r.index.offset(i * index_step);
            // A negative index is huge here, and inside no target.
            if r.target.contains(&(at as usize)) {
                let slot = to.offset(at as isize * r.stride + i * step);
                *slot = C::combine(*slot, *value.offset(i * value_step));
            }
        }
    }
}

fn run_of(op: ScatterOp, dtype: DType) -> Option<RunFn> {
    match op {
        ScatterOp::Set => Some(match dtype.size() {
            1 => run::<Replace, u8>,
            2 => run::<Replace, u16>,
            4 => run::<Replace, u32>,
            8 => run::<Replace, u64>,
            _ => run::<Replace, [u64; 2]>,
        }),
        ScatterOp::Add => match dtype {
            DType::Bool => None,
            DType::C64 => Some(run::<Through<Add>, Complex<f32>>),
            DType::C128 => Some(run::<Through<Add>, Complex<f64>>),
            _ => real::<Add>(dtype),
        },
        ScatterOp::Min => real::<Minimum>(dtype),
        ScatterOp::Max => real::<Maximum>(dtype),
    }
}

fn real<O>(dtype: DType) -> Option<RunFn>
where
    O: Apply2<i8> + Apply2<i16> + Apply2<i32> + Apply2<i64> + Apply2<u8> + Apply2<u16> + Apply2<u32>,
    O: Apply2<u64> + Apply2<f32> + Apply2<f64>,
{
    Some(match dtype {
        DType::I8 => run::<Through<O>, i8>,
        DType::I16 => run::<Through<O>, i16>,
        DType::I32 => run::<Through<O>, i32>,
        DType::I64 => run::<Through<O>, i64>,
        // Truth values are 0 and 1, whose order is that of the numbers.
        DType::Bool | DType::U8 => run::<Through<O>, u8>,
        DType::U16 => run::<Through<O>, u16>,
        DType::U32 => run::<Through<O>, u32>,
        DType::U64 => run::<Through<O>, u64>,
        DType::F16 => run::<Through<O>, F16>,
        DType::BF16 => run::<Through<O>, BF16>,
        DType::F32 => run::<Through<O>, f32>,
        DType::F64 => run::<Through<O>, f64>,
        DType::C64 | DType::C128 => return None,
    })
}

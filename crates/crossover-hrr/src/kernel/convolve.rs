//! Circular convolution and correlation of rows as kernels: a CPU closure that does several rows across SIMD lanes, and CUDA source with the
//! transform in shared memory. Lengths that neither can do go through the library's transforms.

use std::sync::{LazyLock, Mutex, PoisonError};

use crossover_array::{
    Array, CustomKernel, DType, Element, Grid, KernelInputs, KernelOutput, Shape,
    fft::{self, Options},
};
use crossover_core::custom::Work;
use half::bf16;
use rustc_hash::FxHashMap;

use super::{
    lanes::{Job, Real},
    source::{self, Geometry},
};
use crate::{Result, Space};

/// Blocks for each multiprocessor at most: they go on with the next rows and keep their roots.
const RESIDENT: usize = 16;

/// Rows that a GPU does at the same time, about: up to them each has a block of its own.
const AT_ONCE: usize = 1024;

/// What a kernel does with pairs of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Task {
    pub d: usize,
    pub dtype: DType,
    /// Correlate instead of convolve.
    pub correlate: bool,
    /// Scale results to length 1.
    pub normalise: bool,
    /// Add up results: one row for each [part](parts) of the rows.
    pub sum: bool,
}

/// The convolution of the rows of `a` with those of `b`, or the correlation.
pub(crate) fn convolve(
    space: &Space,
    a: &Array,
    b: &Array,
    correlate: bool,
    normalise: bool,
) -> Result<Array> {
    let d = space.d();
    let task = Task { d, dtype: space.dtype(), correlate, normalise, sum: false };
    if !source::is_direct(d) {
        let (x, y) = (space.spectrum(a), space.spectrum(b));
        let product = if correlate { x * y.conj() } else { x * y };
        let made = fft::irfft_with(&product, Options::new().length(d));
        return Ok(if normalise { space.normalised(&made) } else { space.narrowed(&made) });
    }
    // One row for all stays one row; any other repetition is written out.
    let single = |x: &Array| x.size() == d;
    let shape = a.shape().broadcast("bind", b.shape()).map_err(crossover_array::Error::from)?;
    let kernel = of(task)?;
    if a.shape() == b.shape() {
        return Ok(kernel.call(&[a, b]));
    }
    if single(b) && *a.shape() == shape {
        return Ok(kernel.call(&[a, &b.reshape([d])]));
    }
    if single(a) && *b.shape() == shape && !correlate {
        return Ok(kernel.call(&[b, &a.reshape([d])]));
    }
    Ok(kernel.call(&[&a.broadcast_to(shape.clone()), &b.broadcast_to(shape)]))
}

/// The sum over the last axis but one of the convolutions of rows, in the dtype that is computed in. Of 16-bit vectors what is added up is in 16 bits: the
/// convolutions, or where they are one kernel the sums of its [parts].
pub(crate) fn convolve_sum(space: &Space, a: &Array, b: &Array) -> Result<Array> {
    let d = space.d();
    if a.ndim() != 2 || !source::is_direct(d) || a.shape().dims()[0] == 0 {
        let made = convolve(space, a, b, false, false)?;
        return Ok(space.widened(&made).sum(-2));
    }
    let task = Task { d, dtype: space.dtype(), correlate: false, normalise: false, sum: true };
    Ok(space.widened(&of(task)?.call(&[a, b])).sum(0))
}

/// Parts that the rows of a sum are cut into: by their number and length only, so that bits depend on nothing else. A multiple of the groups that a
/// block of the GPU has.
pub(crate) fn parts(d: usize, rows: usize) -> usize {
    let groups = Geometry::of(d).map_or(1, |g| g.groups);
    rows.div_ceil(16 * groups).clamp(1, 1024 / groups) * groups
}

/// The kernel for a task; each is built once.
fn of(task: Task) -> Result<CustomKernel> {
    static MADE: LazyLock<Mutex<FxHashMap<Task, CustomKernel>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kernel) = made.get(&task) {
        return Ok(kernel.clone());
    }
    let kernel = build(task)?;
    made.insert(task, kernel.clone());
    Ok(kernel)
}

fn build(task: Task) -> Result<CustomKernel> {
    let Task { d, dtype, .. } = task;
    let geometry = Geometry::of(d);
    let mut builder = CustomKernel::builder(source::name(task))
        .input("a", dtype)
        .input("b", dtype)
        .output("c", dtype)
        .shape(move |shapes| shape(task, shapes))
        .work(move |inputs, _| {
            // Three transforms of half the length.
            let each = 1.5 * 5.0 * d as f64 * (d as f64).log2();
            Work { transforms: ((inputs[0].size() / d) as f64 * each) as u64, ..Work::default() }
        })
        .cpu(move |inputs, output| match dtype {
            DType::F64 => run::<f64>(task, inputs, output),
            DType::BF16 => run_widened(task, inputs, output),
            _ => run::<f32>(task, inputs, output),
        });
    if let Some(geometry) = geometry {
        builder = builder.cuda(&source::text(task, &geometry), move |inputs, output| {
            let rows = inputs[0].size() / d;
            let once = inputs[1].size() == d && rows != 1;
            let wanted = if task.sum { output.size() / d } else { rows };
            let few = Geometry::few(d).filter(|_| rows <= AT_ONCE && !task.sum);
            let shape = few.unwrap_or(geometry);
            let grid = Grid::new([wanted.div_ceil(shape.groups), 1, 1], [shape.threads(), 1, 1])
                .shared(shape.shared(task))
                .size(rows)
                .argument(once.into());
            match few {
                Some(_) => grid.entry(&source::few_name(task)),
                // Every group of a sum has a row of the result.
                None if task.sum => grid,
                None => grid.resident(RESIDENT),
            }
        });
    }
    Ok(builder.build()?)
}

fn shape(task: Task, shapes: &[&Shape]) -> Result<Shape, String> {
    let (a, b) = (shapes[0], shapes[1]);
    if a.dims().last() != Some(&task.d) || !(a == b || b.dims() == [task.d]) {
        return Err(format!("wants rows of {} numbers and as many of them, or one, not {a} and {b}", task.d));
    }
    Ok(if task.sum { Shape::from([parts(task.d, a.size() / task.d), task.d]) } else { a.clone() })
}

fn run<T: Real + Element>(
    task: Task,
    inputs: &KernelInputs<'_>,
    output: &mut KernelOutput<'_>,
) -> crossover_core::Result<()> {
    let (a, b) = (inputs.slice::<T>(0)?, inputs.slice::<T>(1)?);
    Job { task, a, b }.run(output.slice::<T>()?);
    Ok(())
}

/// 16-bit rows are widened, convolved and rounded once.
fn run_widened(
    task: Task,
    inputs: &KernelInputs<'_>,
    output: &mut KernelOutput<'_>,
) -> crossover_core::Result<()> {
    let widened = |x: &[bf16]| x.iter().map(|x| x.to_f32()).collect::<Vec<f32>>();
    let (a, b) = (widened(inputs.slice::<bf16>(0)?), widened(inputs.slice::<bf16>(1)?));
    let to = output.slice::<bf16>()?;
    let mut made = vec![0.0f32; to.len()];
    Job { task, a: &a, b: &b }.run(&mut made);
    for (to, made) in to.iter_mut().zip(made) {
        *to = bf16::from_f32(made);
    }
    Ok(())
}

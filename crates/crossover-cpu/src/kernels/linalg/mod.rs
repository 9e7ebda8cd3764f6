//! Decompositions through `faer`, one matrix at a time; threads take matrices.
//!
//! Inside a matrix one thread works, and two on the iterations of a large one: `faer` cuts its work by the number of
//! threads it is told, and bits must not depend on how many there are. The operand is copied into column-major scratch,
//! which the factorisation overwrites; results are written row-major. NaNs are canonical. The first matrix without a
//! result is the error, whatever the others are.
#![allow(unsafe_code)]

mod factor;
mod field;
mod spectrum;
mod tridiagonal;

use std::sync::{Arc, OnceLock};

use crossover_core::{
    DType,
    ops::linalg::{LinalgOp, NOT_FINITE},
};
use crossover_plan::kernel::{Call, Operand};
use crossover_runtime::{Error, Executable, Launch, Result};
use faer::{MatMut, dyn_stack::StackReq};
use num_complex::Complex;
use parking_lot::Mutex;

use self::field::Field;
use super::panel::Panel;
use crate::{control, memory::Pool, threads::Threads, window::View};

/// Elementary steps below which one thread works alone.
const ALONE: usize = 1 << 16;

/// Why a matrix has no result.
#[derive(Debug)]
enum Failure {
    /// Something about the matrix.
    Matrix(&'static str),
    /// Something about this machine.
    Machine(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Machine(error)
    }
}

/// Working memory of a factorisation. From the pool, where it stays mapped from one call to the next.
fn workspace(pool: &Pool, request: StackReq) -> Result<Panel<'_>, Failure> {
    Ok(Panel::new(pool, request.unaligned_bytes_required())?)
}

/// Elements of a side of the squares in which matrices are transposed: a line of memory is used as a whole.
const SQUARE: usize = 16;

/// Calls `f(i, j)` for all elements of an m×n matrix, square by square.
#[inline(always)]
fn by_squares(m: usize, n: usize, mut f: impl FnMut(usize, usize)) {
    for top in (0..m).step_by(SQUARE) {
        for left in (0..n).step_by(SQUARE) {
            for j in left..n.min(left + SQUARE) {
                for i in top..m.min(top + SQUARE) {
                    f(i, j);
                }
            }
        }
    }
}

/// Matrices of an operand.
#[derive(Debug)]
struct Matrices {
    offset: isize,
    batches: View,
    strides: [isize; 2],
    rows: usize,
    columns: usize,
}

impl Matrices {
    fn new(operand: &Operand) -> Result<Matrices> {
        let (dims, strides) = (operand.layout.shape.dims(), &operand.layout.strides);
        let ([lead @ .., rows, columns], [outer @ .., down, across]) = (dims, strides.as_slice()) else {
            return Err(Error::Internal(format!("no matrix in {}", operand.layout.shape)));
        };
        Ok(Matrices {
            offset: operand.layout.offset as isize,
            batches: View::new(lead, outer),
            strides: [*down, *across],
            rows: *rows,
            columns: *columns,
        })
    }

    fn size(&self) -> usize {
        self.rows * self.columns
    }

    /// A matrix, column-major.
    ///
    /// # Safety
    /// `Launch::new` has checked that the operand lies inside its block, which starts at `from`.
    unsafe fn read<T: Copy>(&self, from: usize, batch: usize, to: &mut [T]) {
        let mut start = self.offset;
        self.batches.runs(batch, 1, |at, _, _| start += at);
        let from = (from as *const T).wrapping_offset(start);
        let (m, n, [down, across]) = (self.rows, self.columns, self.strides);
        by_squares(m, n, |i, j| {
            let at = i as isize * down + j as isize * across;
            // SAFETY: the caller's contract.
            to[j * m + i] = unsafe { *from.wrapping_offset(at) };
        });
    }
}

/// A decomposition made ready.
struct Linalg<T> {
    op: LinalgOp,
    left: Matrices,
    right: Option<Matrices>,
    batches: usize,
    threads: Arc<Threads>,
    pool: Arc<Pool>,
    element: std::marker::PhantomData<fn() -> T>,
}

impl<T: Field> Linalg<T> {
    /// Elements of one result.
    fn outputs(&self) -> usize {
        match &self.right {
            Some(b) => b.size(),
            None => self.op.tail(self.left.rows, self.left.columns).size(),
        }
    }

    fn one(&self, launch: &Launch<'_>, batch: usize) -> Result<(), Failure> {
        let (m, n) = (self.left.rows, self.left.columns);
        let right = self.right.as_ref().map_or(0, Matrices::size);
        let from = launch.inputs()[0].address.0 as usize;
        let to = launch.outputs()[0].address.0 as usize;
        let mut panel = Panel::new(&self.pool, (m * n + right) * size_of::<T>())?;
        let (columns, b) = panel.filled(m * n + right, T::ZERO).split_at_mut(m * n);
        // SAFETY: see `read`.
        unsafe { self.left.read(from, batch, columns) };
        if self.op.is_iterative() && columns.iter().any(|&x| !x.is_finite()) {
            return Err(Failure::Matrix(NOT_FINITE));
        }
        let outputs = self.outputs();
        // SAFETY: results of different matrices are disjoint, `Launch::new` has checked the block, and result dtypes are
        // the ones that `LinalgOp::result` says.
        let out = unsafe { std::slice::from_raw_parts_mut((to as *mut T).add(batch * outputs), outputs) };
        let a = MatMut::from_column_major_slice_mut(&mut *columns, m, n);
        match self.op {
            LinalgOp::Det => {
                out[0] = factor::det(&self.pool, a)?;
                out[0] = out[0].canonical();
            }
            LinalgOp::SlogDet => {
                let (sign, log) = factor::slogdet(&self.pool, a)?;
                (out[0], out[1]) = (sign.canonical(), log.canonical());
            }
            LinalgOp::Inv => factor::inv(&self.pool, a, out)?,
            LinalgOp::Solve => {
                let Some(matrices) = &self.right else {
                    return Err(Error::Internal("solve without a right-hand side".into()).into());
                };
                let from = launch.inputs()[1].address.0 as usize;
                // SAFETY: see `read`.
                unsafe { matrices.read(from, batch, b) };
                factor::solve(
                    &self.pool,
                    a,
                    MatMut::from_column_major_slice_mut(b, matrices.rows, matrices.columns),
                    out,
                )?;
            }
            LinalgOp::Cholesky { upper } => factor::cholesky(&self.pool, a, upper, out)?,
            LinalgOp::Qr { complete } => factor::qr(&self.pool, a, complete, out)?,
            LinalgOp::Svd { full } => spectrum::svd(&self.pool, a, full, out)?,
            LinalgOp::Eigh { upper } => spectrum::eigh(&self.threads, &self.pool, columns, upper, out)?,
            LinalgOp::SvdVals | LinalgOp::EigValsH { .. } => {
                // SAFETY: as above; the result is real.
                let out = unsafe {
                    std::slice::from_raw_parts_mut((to as *mut T::Part).add(batch * outputs), outputs)
                };
                match self.op {
                    LinalgOp::EigValsH { upper } => {
                        spectrum::eigvalsh(&self.threads, &self.pool, columns, upper, out)?
                    }
                    _ => spectrum::svdvals(&self.pool, a, out)?,
                }
            }
            LinalgOp::Eig | LinalgOp::EigVals => {
                let at = (to as *mut T::Whole).wrapping_add(batch * outputs);
                // SAFETY: as above; the result is complex.
                let out = unsafe { std::slice::from_raw_parts_mut(at, outputs) };
                spectrum::eig(&self.pool, a, self.op == LinalgOp::Eig, out)?;
            }
        }
        Ok(())
    }
}

impl<T: Field> Linalg<T> {
    /// Calls a function that may spread its work, so that it uses the threads of this backend and no others.
    fn confined<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        let is_cut = self.op.is_iterative() && spectrum::is_large(self.left.rows.min(self.left.columns));
        if !is_cut {
            return f();
        }
        let guarded = || {
            let _control = control::Guard::new();
            f()
        };
        match (self.threads.count(), alone()) {
            (1, Some(pool)) => pool.install(guarded),
            _ => self.threads.install(guarded),
        }
    }
}

/// A pool of one thread, where both parts of a cut run one after the other; `None` where it cannot be started.
fn alone() -> Option<&'static rayon::ThreadPool> {
    static POOL: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();
    let name = |_| "crossover-cpu-alone".to_owned();
    POOL.get_or_init(|| rayon::ThreadPoolBuilder::new().num_threads(1).thread_name(name).build().ok())
        .as_ref()
}

impl<T: Field> Executable for Linalg<T> {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let (m, n) = (self.left.rows, self.left.columns);
        let steps = (m * n * m.min(n)).max(1);
        let grain = (ALONE / steps).max(self.batches.div_ceil(8 * self.threads.count())).max(1);
        let grain = if steps > ALONE { 1 } else { grain };
        let first: Mutex<Option<(usize, Failure)>> = Mutex::new(None);
        self.threads.each(self.batches, grain, |range| {
            for batch in range {
                if let Err(failure) = self.confined(|| self.one(launch, batch)) {
                    let mut first = first.lock();
                    if first.as_ref().is_none_or(|(at, _)| batch < *at) {
                        *first = Some((batch, failure));
                    }
                }
            }
        });
        match first.into_inner() {
            None => Ok(()),
            Some((_, Failure::Machine(error))) => Err(error),
            Some((matrix, Failure::Matrix(what))) => {
                Err(crossover_core::Error::Matrix { op: self.op.name(), matrix, what }.into())
            }
        }
    }
}

/// Prepares a call.
pub fn linalg(
    call: &Call,
    op: LinalgOp,
    threads: Arc<Threads>,
    pool: Arc<Pool>,
) -> Result<Box<dyn Executable>> {
    let dtype = call.operands.first().map_or(DType::Bool, |o| o.dtype);
    match dtype {
        DType::F32 => prepared::<f32>(call, op, threads, pool),
        DType::F64 => prepared::<f64>(call, op, threads, pool),
        DType::C64 => prepared::<Complex<f32>>(call, op, threads, pool),
        DType::C128 => prepared::<Complex<f64>>(call, op, threads, pool),
        _ => Err(Error::Unsupported { device: "CPU".into(), what: format!("{} of {dtype}", op.name()) }),
    }
}

fn prepared<T: Field>(
    call: &Call,
    op: LinalgOp,
    threads: Arc<Threads>,
    pool: Arc<Pool>,
) -> Result<Box<dyn Executable>> {
    if call.operands.len() != op.arity() {
        return Err(Error::Internal(format!("{} with {} operands", op.name(), call.operands.len())));
    }
    let left = Matrices::new(&call.operands[0])?;
    let right = call.operands.get(1).map(Matrices::new).transpose()?;
    let dims = call.operands[0].layout.shape.dims();
    let batches = dims[..dims.len() - 2].iter().product();
    Ok(Box::new(Linalg::<T> { op, left, right, batches, threads, pool, element: std::marker::PhantomData }))
}

//! Matrix products over the last two axes.
//!
//! Floats and complex numbers go through `gemm`, which takes any strides. 16-bit floats are widened panel by panel,
//! accumulated in `f32` and rounded once. Integers wrap. An inner length of 0 gives zeros. NaNs are canonical.
#![allow(unsafe_code)]

use std::{
    ops::Range,
    sync::{Arc, Once},
};

use crossover_core::{DType, lane::FloatLane};
use crossover_plan::kernel::Call;
use crossover_runtime::{Block, Error, Executable, Launch, Result};
use gemm::Parallelism;
use num_complex::Complex;

use super::panel::Panel;
use crate::{memory::Pool, threads::Threads, tile::Tiles, window::View};

/// Multiply-adds below which one thread works alone.
const ALONE: usize = 1 << 20;
/// Multiply-adds up to which threads take whole rows; above, blocks of [`ROWS`] and [`COLUMNS`]. What each packs for itself is little beside what it
/// multiplies, and nobody waits for another as threads that share packed panels do (`cargo xtask bench --only matmul`).
const BANDS: usize = 1 << 27;
/// Rows and columns of a block of a large product.
const ROWS: usize = 256;
const COLUMNS: usize = 512;
/// Result panels up to which `gemm` reads the left operand where it lies; copying it costs more than it gains.
const UNPACKED: usize = 16;
/// Bytes of a widened panel of each operand.
const PANEL: usize = 8 << 20;

/// One operand: where each batch starts, and the strides of its matrix.
#[derive(Debug)]
struct Matrix {
    offset: isize,
    batches: View,
    rows: isize,
    columns: isize,
}

impl Matrix {
    /// Position of the first element of a batch.
    fn start(&self, batch: usize) -> isize {
        let mut at = self.offset;
        self.batches.runs(batch, 1, |position, _, _| at += position);
        at
    }
}

/// A matrix product made ready.
#[derive(Debug)]
pub struct MatMul {
    dtype: DType,
    left: Matrix,
    right: Matrix,
    batches: usize,
    m: usize,
    k: usize,
    n: usize,
    tiles: &'static Tiles,
    threads: Arc<Threads>,
    pool: Arc<Pool>,
}

impl MatMul {
    /// Prepares a call.
    pub fn new(call: &Call, tiles: &'static Tiles, threads: Arc<Threads>, pool: Arc<Pool>) -> Result<MatMul> {
        let [left, right] = call.operands.as_slice() else {
            return Err(Error::Internal(format!("matmul with {} operands", call.operands.len())));
        };
        static TUNED: Once = Once::new();
        TUNED.call_once(|| gemm::set_lhs_packing_threshold_single_thread(UNPACKED));
        let rank = left.layout.shape.rank();
        if rank < 2 || right.layout.shape.rank() != rank || left.dtype != right.dtype {
            return Err(Error::Internal("matmul operands differ in rank or dtype".into()));
        }
        if left.dtype == DType::Bool {
            return Err(Error::Unsupported { device: "CPU".into(), what: "matmul of bool".into() });
        }
        let matrix = |operand: &crossover_plan::kernel::Operand| {
            let (dims, strides) = (operand.layout.shape.dims(), &operand.layout.strides);
            Matrix {
                offset: operand.layout.offset as isize,
                batches: View::new(&dims[..rank - 2], &strides[..rank - 2]),
                rows: strides[rank - 2],
                columns: strides[rank - 1],
            }
        };
        let (a, b) = (left.layout.shape.dims(), right.layout.shape.dims());
        Ok(MatMul {
            dtype: left.dtype,
            batches: a[..rank - 2].iter().product(),
            m: a[rank - 2],
            k: a[rank - 1],
            n: b[rank - 1],
            left: matrix(left),
            right: matrix(right),
            tiles,
            threads,
            pool,
        })
    }

    /// Calls `f` for every batch with rows and columns of its result: all of a small product, or blocks of larger ones, shared by the threads. `gemm`
    /// adapts the order of its sums to the shape it is given, so the blocks do not depend on the number of threads.
    fn each_block(&self, f: impl Fn(usize, Range<usize>, Range<usize>) + Sync) {
        let work = self.m.saturating_mul(self.n).saturating_mul(self.k.max(1));
        let (rows, columns) = if work <= ALONE {
            (self.m, self.n)
        } else if work <= BANDS {
            (self.m.div_ceil(4).next_multiple_of(16), self.n)
        } else {
            (ROWS, COLUMNS)
        };
        let (across, down) = (self.n.div_ceil(columns), self.m.div_ceil(rows));
        let blocks = self.batches * across * down;
        let grain = if work <= ALONE {
            blocks.div_ceil(4 * self.threads.count()).max(ALONE / 2 / work.max(1)).max(1)
        } else {
            1
        };
        let part = |at: usize, step: usize, end: usize| at * step..(at * step + step).min(end);
        self.threads.each(blocks, grain, |range| {
            for block in range {
                // Neighbours share the rows of the left operand.
                let (above, column) = (block / across, block % across);
                let (batch, row) = (above / down, above % down);
                f(batch, part(row, rows, self.m), part(column, columns, self.n));
            }
        });
    }

    fn float<T: Float>(&self, launch: &Launch<'_>) {
        let (a, b, out) = addresses(launch);
        let canonical = (self.tiles.canonical)(self.dtype);
        self.each_block(|batch, rows, columns| {
            let above = self.left.start(batch) + rows.start as isize * self.left.rows;
            let beside = self.right.start(batch) + columns.start as isize * self.right.columns;
            let a = (a as *const T).wrapping_offset(above);
            let b = (b as *const T).wrapping_offset(beside);
            let out = (out as *mut T).wrapping_add((batch * self.m + rows.start) * self.n + columns.start);
            // SAFETY: `Launch::new` has checked that operands and result lie inside their blocks; batches and blocks of
            // the result are disjoint.
            unsafe {
                let left = (a, self.left.rows, self.left.columns);
                let right = (b, self.right.rows, self.right.columns);
                let shape = (rows.len(), columns.len(), self.k);
                product(shape, out, self.n, left, right, Parallelism::None);
                let Some(canonical) = canonical else { return };
                let (lines, length) = if columns.len() == self.n {
                    (1, rows.len() * self.n)
                } else {
                    (rows.len(), columns.len())
                };
                for line in 0..lines {
                    let at = out.add(line * self.n).cast::<u8>();
                    canonical(at, at, at, at, length);
                }
            }
        });
    }

    /// 16-bit floats: panels of both operands as `f32`, one result panel at a time.
    fn half(&self, launch: &Launch<'_>) -> Result<()> {
        let (a, b, out) = addresses(launch);
        let (m, n, k) = (self.m, self.n, self.k.max(1));
        let columns = (PANEL / 4 / k).clamp(16, n.max(16)).min(n);
        let rows = (PANEL / 4 / k.max(columns)).clamp(16, m.max(16)).min(m);
        let panel = |elements: usize| Panel::new(&self.pool, elements * 4);
        let (left, right, sums) = (panel(rows * k)?, panel(k * columns)?, panel(rows * columns)?);
        let (widen, narrow) =
            match ((self.tiles.half)(self.dtype, true), (self.tiles.half)(self.dtype, false)) {
                (Some(widen), Some(narrow)) => (widen, narrow),
                _ => return Err(Error::Internal(format!("{} is not a 16-bit float", self.dtype))),
            };
        let gather = (self.tiles.gather)(2);
        let mut line = vec![0u16; k.max(columns)];
        // Widens `count` lines of `length` elements into a panel whose lines follow each other.
        let mut fill =
            |to: &Panel<'_>, from: usize, start: isize, lines: (usize, isize), along: (usize, isize)| {
                for i in 0..lines.0 {
                    let at = (from as *const u16).wrapping_offset(start + i as isize * lines.1).cast::<u8>();
                    let out = to.at().wrapping_add(i * along.0 * 4);
                    // SAFETY: the line lies inside the operand, and the panel has room for it.
                    unsafe {
                        let side_by_side = along.1 == 1;
                        if !side_by_side {
                            gather(at, along.1, line.as_mut_ptr().cast(), along.0);
                        }
                        let at = if side_by_side { at } else { line.as_ptr().cast() };
                        widen(at, at, at, out, along.0);
                    }
                }
            };
        for batch in 0..self.batches {
            let (la, lb) = (self.left.start(batch), self.right.start(batch));
            for j in (0..n).step_by(columns.max(1)) {
                let nb = columns.min(n - j);
                fill(
                    &right,
                    b,
                    lb + j as isize * self.right.columns,
                    (self.k, self.right.rows),
                    (nb, self.right.columns),
                );
                for i in (0..m).step_by(rows.max(1)) {
                    let mb = rows.min(m - i);
                    fill(
                        &left,
                        a,
                        la + i as isize * self.left.rows,
                        (mb, self.left.rows),
                        (self.k, self.left.columns),
                    );
                    let work = mb * nb * self.k;
                    let threads = self.threads.count();
                    let parallelism = if threads > 1 && work > ALONE {
                        Parallelism::Rayon(threads)
                    } else {
                        Parallelism::None
                    };
                    let (l, r, s) = (left.at() as usize, right.at() as usize, sums.at() as usize);
                    self.threads.install(|| {
                        let left = (l as *const f32, self.k as isize, 1);
                        let right = (r as *const f32, nb as isize, 1);
                        // SAFETY: the panels were filled to these shapes.
                        unsafe { product((mb, nb, self.k), s as *mut f32, nb, left, right, parallelism) }
                    });
                    for row in 0..mb {
                        let from = sums.at().wrapping_add(row * nb * 4);
                        let to = (out as *mut u16).wrapping_add((batch * m + i + row) * n + j);
                        // SAFETY: the row lies inside the panel and the result.
                        unsafe {
                            let sums = std::slice::from_raw_parts_mut(from.cast::<f32>(), nb);
                            sums.iter_mut().for_each(|x| *x = FloatLane::canonical(*x));
                            narrow(from, from, from, to.cast(), nb);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn int<T: Int>(&self, launch: &Launch<'_>) {
        let (a, b, out) = addresses(launch);
        let work = [self.n, self.k.max(1), self.batches].into_iter().fold(self.m, usize::saturating_mul);
        let rows = self.batches * self.m;
        let grain = if work <= ALONE { rows } else { rows.div_ceil(4 * self.threads.count()) };
        self.threads.each(rows, grain, |range| {
            for row in range {
                let (batch, i) = (row / self.m, row % self.m);
                let a = (a as *const T).wrapping_offset(self.left.start(batch) + i as isize * self.left.rows);
                let b = (b as *const T).wrapping_offset(self.right.start(batch));
                // SAFETY: `Launch::new` has checked operands and result; rows of the result are disjoint.
                unsafe {
                    let out = std::slice::from_raw_parts_mut((out as *mut T).add(row * self.n), self.n);
                    out.fill(T::default());
                    for p in 0..self.k {
                        let x = *a.wrapping_offset(p as isize * self.left.columns);
                        let b = b.wrapping_offset(p as isize * self.right.rows);
                        if self.right.columns == 1 {
                            let b = std::slice::from_raw_parts(b, self.n);
                            out.iter_mut().zip(b).for_each(|(o, &y)| *o = o.plus(x.times(y)));
                        } else {
                            for (j, o) in out.iter_mut().enumerate() {
                                *o = o.plus(x.times(*b.wrapping_offset(j as isize * self.right.columns)));
                            }
                        }
                    }
                }
            }
        });
    }
}

impl Executable for MatMul {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let _control = crate::control::Guard::new();
        if self.batches * self.m * self.n == 0 {
            return Ok(());
        }
        match self.dtype {
            DType::F32 => self.float::<f32>(launch),
            DType::F64 => self.float::<f64>(launch),
            DType::C64 => self.float::<Complex<f32>>(launch),
            DType::C128 => self.float::<Complex<f64>>(launch),
            DType::F16 | DType::BF16 => return self.half(launch),
            DType::I8 | DType::U8 => self.int::<u8>(launch),
            DType::I16 | DType::U16 => self.int::<u16>(launch),
            DType::I32 | DType::U32 => self.int::<u32>(launch),
            DType::I64 | DType::U64 => self.int::<u64>(launch),
            DType::Bool => return Err(Error::Internal("matmul of bool was refused before".into())),
        }
        Ok(())
    }
}

/// Integers by width: modulo a power of two, signed and unsigned products have the same bits.
trait Int: Copy + Default + Send + Sync {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! int {
    ($($type:ty)*) => {$(
        impl Int for $type {
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            fn times(self, other: Self) -> Self { self.wrapping_mul(other) }
        }
    )*};
}

int!(u8 u16 u32 u64);

/// What `gemm` multiplies.
trait Float: Copy + 'static {
    const ZERO: Self;
    const ONE: Self;
}

macro_rules! float {
    ($($type:ty)*) => {$(
        impl Float for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
        }
        impl Float for Complex<$type> {
            const ZERO: Self = Complex { re: 0.0, im: 0.0 };
            const ONE: Self = Complex { re: 1.0, im: 0.0 };
        }
    )*};
}

float!(f32 f64);

/// `out = left · right` for matrices given as pointer, row stride and column stride; `out` is row-major.
///
/// # Safety
/// Operands are readable and the result writable at every position, and they do not overlap.
unsafe fn product<T: Float>(
    (m, n, k): (usize, usize, usize),
    out: *mut T,
    pitch: usize,
    left: (*const T, isize, isize),
    right: (*const T, isize, isize),
    parallelism: Parallelism,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if k == 0 {
            (0..m).for_each(|row| std::slice::from_raw_parts_mut(out.add(row * pitch), n).fill(T::ZERO));
            return;
        }
        gemm::gemm(
            m,
            n,
            k,
            out,
            1,
            pitch as isize,
            false,
            left.0,
            left.2,
            left.1,
            right.0,
            right.2,
            right.1,
            T::ZERO,
            T::ONE,
            false,
            false,
            false,
            parallelism,
        );
    }
}

fn addresses(launch: &Launch<'_>) -> (usize, usize, usize) {
    let at = |block: Block| block.address.0 as usize;
    (at(launch.inputs()[0]), at(launch.inputs()[1]), at(launch.outputs()[0]))
}

//! Direct convolution, in the order that [`crossover_core::ops::convolve`] states.
//!
//! The operand is copied into scratch together with what its boundary adds, so that every window lies inside; the kernel
//! is copied flipped. The result is computed in pieces: some rows, and of long rows some columns, so that one long row has
//! work for every thread. An element's terms are added one after another whatever the piece is, so bits depend on nothing else.
#![allow(unsafe_code)]

mod extend;
mod term;
mod tile;

use std::sync::Arc;

use crossover_core::{
    DType, Layout,
    ops::convolve::{Boundary, ConvolveMode},
};
use crossover_plan::kernel::Call;
use crossover_runtime::{Error, Executable, Launch, Result};
use num_complex::Complex;

use self::{
    extend::{Extend, Window},
    term::Term,
    tile::{Block, Piece, block},
};
use super::panel::Panel;
use crate::{memory::Pool, simd::Simd, threads::Threads};

/// Terms below which one thread works alone, and about as many as a piece has.
const ALONE: usize = 1 << 17;

/// The shape of the work: leading axes, then rows and columns.
#[derive(Debug, Clone)]
struct Shape {
    /// Leading axes of result and kernel.
    lead: Vec<(usize, usize)>,
    /// Rows of result and kernel.
    rows: (usize, usize),
    /// Columns of result and kernel.
    columns: (usize, usize),
    /// Elements of a row of the scratch, and rows of each of its planes.
    pitch: usize,
    height: usize,
}

impl Shape {
    fn planes(&self) -> usize {
        self.lead.iter().map(|&(n, _)| n).product()
    }

    /// Planes of the scratch.
    fn deep(&self) -> usize {
        self.lead.iter().map(|&(n, k)| n + k - 1).product()
    }

    /// Planes of the kernel.
    fn slabs(&self) -> usize {
        self.lead.iter().map(|&(_, k)| k).product()
    }

    /// Columns of a piece, whole tiles but for the last: all of a row, unless they are far more than a thread needs at a time.
    fn piece(&self, (rows, columns): (usize, usize), taps: usize) -> usize {
        (ALONE / (rows * taps)).max(1).next_multiple_of(columns).min(self.columns.0)
    }

    /// The plane of the scratch that slab `slab` of the window at plane `plane` of the result lies on.
    fn plane(&self, mut plane: usize, mut slab: usize) -> usize {
        let (mut at, mut step) = (0, 1);
        for &(n, k) in self.lead.iter().rev() {
            at += (plane % n + slab % k) * step;
            step *= n + k - 1;
            (plane, slab) = (plane / n, slab / k);
        }
        at
    }
}

/// A convolution made ready.
struct Convolve<T> {
    shape: Shape,
    /// Rows and columns of a tile.
    tile: (usize, usize),
    block: Block<T>,
    extend: Extend,
    kernel: Layout,
    fill: usize,
    threads: Arc<Threads>,
    pool: Arc<Pool>,
}

impl<T: Term> Executable for Convolve<T> {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let at = |i: usize| launch.inputs()[i].address.0 as *const T;
        let shape = &self.shape;
        let taps = self.kernel.shape.size();
        let size = shape.deep() * shape.height * shape.pitch;
        let panel = Panel::new(&self.pool, size * size_of::<T>())?;
        let mut flipped = Panel::new(&self.pool, taps * size_of::<T>())?;
        let weights = flipped.filled(taps, T::ZERO);
        // SAFETY: `Launch::new` has checked that the kernel and the fill value lie inside their blocks.
        let outside = unsafe {
            let first = at(1);
            for (weight, position) in weights.iter_mut().rev().zip(self.kernel.positions()) {
                *weight = *first.add(position);
            }
            *at(2).add(self.fill)
        };
        // SAFETY: `Launch::new` has checked the operand, and the panel has room for all planes.
        unsafe { self.extend.write(&self.threads, shape, at(0), outside, panel.at().cast()) };
        let (input, weights) = (panel.at() as usize, weights.as_ptr() as usize);
        let out = launch.outputs()[0].address.0 as usize;
        let (blocks, piece) = (shape.rows.0.div_ceil(self.tile.0), shape.piece(self.tile, taps));
        let pieces = shape.columns.0.div_ceil(piece);
        let terms = self.tile.0 * piece * taps;
        let units = shape.planes() * blocks * pieces;
        let grain = if units * terms <= ALONE { units } else { (ALONE / terms).max(1) };
        self.threads.each(units, grain, |range| {
            for unit in range {
                let (line, column) = (unit / pieces, unit % pieces * piece);
                let piece = Piece {
                    plane: line / blocks,
                    row: line % blocks * self.tile.0,
                    columns: column..shape.columns.0.min(column + piece),
                };
                // SAFETY: the scratch has whole tiles of windows, pieces of the result are disjoint, and the block
                // function's instructions were found to be available.
                unsafe { (self.block)(shape, input as *const T, weights as *const T, out as *mut T, &piece) };
            }
        });
        Ok(())
    }
}

/// Prepares a call.
pub fn convolve(
    call: &Call,
    mode: ConvolveMode,
    boundary: Boundary,
    simd: Simd,
    threads: Arc<Threads>,
    pool: Arc<Pool>,
) -> Result<Box<dyn Executable>> {
    let rows = |call: &Call| match call.operands.get(1).map(|k| k.layout.shape.dims()) {
        Some([.., ky, _]) => *ky,
        _ => 1,
    };
    let ky = rows(call);
    macro_rules! prepared {
        ($type:ty, $wide:literal, $wider:literal, $narrow:literal) => {
            prepared::<$type>(
                call,
                mode,
                boundary,
                block::<$type, $wide, $wider, $narrow>(simd, ky),
                threads,
                pool,
            )
        };
    }
    match call.dtype {
        DType::F32 => prepared!(f32, 64, 128, 16),
        DType::F64 => prepared!(f64, 32, 64, 8),
        DType::C64 => prepared!(Complex<f32>, 16, 32, 8),
        DType::C128 => prepared!(Complex<f64>, 8, 16, 4),
        DType::I8 | DType::U8 => prepared!(u8, 128, 256, 64),
        DType::I16 | DType::U16 => prepared!(u16, 128, 256, 32),
        DType::I32 | DType::U32 => prepared!(u32, 64, 128, 16),
        DType::I64 | DType::U64 => prepared!(u64, 32, 64, 8),
        other => Err(Error::Unsupported { device: "CPU".into(), what: format!("convolve of {other}") }),
    }
}

fn prepared<T: Term>(
    call: &Call,
    mode: ConvolveMode,
    boundary: Boundary,
    (tile, block): ((usize, usize), Block<T>),
    threads: Arc<Threads>,
    pool: Arc<Pool>,
) -> Result<Box<dyn Executable>> {
    let [source, kernel, fill] = call.operands.as_slice() else {
        return Err(Error::Internal(format!("convolve with {} operands", call.operands.len())));
    };
    let (result, taps) = (call.layout.shape.dims(), kernel.layout.shape.dims());
    let mut axes: Vec<(usize, usize)> = result.iter().copied().zip(taps.iter().copied()).collect();
    let Some(columns) = axes.pop() else {
        return Err(Error::Internal("convolve without axes".into()));
    };
    let rows = axes.pop().unwrap_or((1, 1));
    let shape = Shape {
        lead: axes,
        rows,
        columns,
        pitch: columns.0.next_multiple_of(tile.1) + columns.1 - 1,
        height: rows.0.next_multiple_of(tile.0) + rows.1 - 1,
    };
    let window = |(&n, &k): (&usize, &usize)| {
        let (length, before) = mode.extent(n, k);
        Window { n, before, length: length + k - 1 }
    };
    let windows = source.layout.shape.iter().zip(taps).map(window).collect();
    Ok(Box::new(Convolve {
        shape,
        tile,
        block,
        extend: Extend { source: source.layout.clone(), windows, boundary },
        kernel: kernel.layout.clone(),
        fill: fill.layout.offset,
        threads,
        pool,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_have_work_for_every_thread_and_short_ones_stay_whole() {
        let shape = |rows: (usize, usize), columns: (usize, usize)| Shape {
            lead: Vec::new(),
            rows,
            columns,
            pitch: columns.0 + columns.1 - 1,
            height: rows.0 + rows.1 - 1,
        };
        let signal = shape((1, 1), (1_000_000, 31));
        let piece = signal.piece((1, 64), 31);
        assert!(piece.is_multiple_of(64) && (100..1000).contains(&(1_000_000 / piece)), "{piece}");
        assert_eq!(shape((1, 1), (1000, 5000)).piece((1, 64), 5000), 64);
        assert_eq!(shape((64, 3), (64, 3)).piece((4, 32), 9), 64);
    }
}

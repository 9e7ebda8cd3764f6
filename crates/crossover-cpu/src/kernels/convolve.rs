//! Direct convolution, in the order that [`crossover_core::ops::convolve`] states.
//!
//! The operand is copied into scratch together with what its boundary adds, so that every window lies inside; the kernel
//! is copied flipped. A tile of the result, `R` rows of `W` columns, stays in registers while the window walks over it:
//! each row of the scratch is loaded once per tap of a row and used for every row of the tile that it belongs to.
//! An element's terms are added one after another whatever the tile is, so bits depend on nothing else.
#![allow(unsafe_code)]

use std::sync::Arc;

use crossover_core::{
    DType, Layout,
    lane::FloatLane,
    ops::convolve::{Boundary, ConvolveMode},
};
use crossover_plan::kernel::Call;
use crossover_runtime::{Error, Executable, Launch, Result};
use num_complex::Complex;

use super::panel::Panel;
use crate::{memory::Pool, simd::Simd, threads::Threads};

/// Terms below which one thread works alone.
const ALONE: usize = 1 << 17;

/// An element, and how a term is added.
trait Term: Copy + Send + Sync + 'static {
    const ZERO: Self;
    fn add(self, x: Self, weight: Self) -> Self;
    fn canonical(self) -> Self;
}

macro_rules! real_term {
    ($($type:ty)*) => {$(
        impl Term for $type {
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn add(self, x: Self, weight: Self) -> Self { x.mul_add(weight, self) }
            #[inline(always)]
            fn canonical(self) -> Self { FloatLane::canonical(self) }
        }
        impl Term for Complex<$type> {
            const ZERO: Self = Complex { re: 0.0, im: 0.0 };
            #[inline(always)]
            fn add(self, x: Self, weight: Self) -> Self {
                Complex {
                    re: (-x.im).mul_add(weight.im, x.re.mul_add(weight.re, self.re)),
                    im: x.im.mul_add(weight.re, x.re.mul_add(weight.im, self.im)),
                }
            }
            #[inline(always)]
            fn canonical(self) -> Self {
                Complex { re: FloatLane::canonical(self.re), im: FloatLane::canonical(self.im) }
            }
        }
    )*};
}

real_term!(f32 f64);

/// Integers by width: modulo a power of two, signed and unsigned products have the same bits.
macro_rules! int_term {
    ($($type:ty)*) => {$(
        impl Term for $type {
            const ZERO: Self = 0;
            #[inline(always)]
            fn add(self, x: Self, weight: Self) -> Self { self.wrapping_add(x.wrapping_mul(weight)) }
            #[inline(always)]
            fn canonical(self) -> Self { self }
        }
    )*};
}

int_term!(u8 u16 u32 u64);

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
    source: Layout,
    kernel: Layout,
    fill: usize,
    /// For each axis of the scratch, the index it shows; `None` is outside.
    maps: Vec<Vec<Option<usize>>>,
    threads: Arc<Threads>,
    pool: Arc<Pool>,
}

/// Computes rows `row` to `row + R` of a plane of the result.
type Block<T> = unsafe fn(&Shape, *const T, *const T, *mut T, usize, usize);

impl<T: Term> Convolve<T> {
    /// Writes the extended operand: rows of `pitch`, columns and rows beyond the last window zero.
    ///
    /// # Safety
    /// The operand lies inside its block, and there is room for all planes at `scratch`.
    unsafe fn extend(&self, from: *const T, outside: T, scratch: *mut T) {
        let rank = self.maps.len();
        let columns = &self.maps[rank - 1];
        let one = [Some(0)];
        let rows: &[Option<usize>] = if rank > 1 { &self.maps[rank - 2] } else { &one };
        let lead = &self.maps[..rank.saturating_sub(2)];
        let (pitch, height) = (self.shape.pitch, self.shape.height);
        let across = self.source.strides[rank - 1];
        let (start, from) = (scratch as usize, from as usize);
        // Where columns follow each other as they do in the operand.
        let inside = {
            let first = columns.iter().position(|c| *c == Some(0)).unwrap_or(columns.len());
            let run = columns[first..].iter().enumerate().take_while(|&(i, c)| *c == Some(i)).count();
            first..first + run
        };
        let units = self.shape.deep() * height;
        let grain = (ALONE / 8 / pitch).max(1);
        self.threads.each(units, grain, |range| {
            for unit in range {
                let (mut plane, row) = (unit / height, unit % height);
                // SAFETY: rows of the scratch are disjoint.
                let line = unsafe { (start as *mut T).add(unit * pitch) };
                let mut position = (row < rows.len()).then_some(self.source.offset as isize);
                let mut step = |axis: usize, index: Option<usize>| {
                    position = position.zip(index).map(|(p, i)| p + i as isize * self.source.strides[axis]);
                };
                if rank > 1 {
                    step(rank - 2, rows.get(row).copied().flatten());
                }
                for (axis, map) in lead.iter().enumerate().rev() {
                    step(axis, map[plane % map.len()]);
                    plane /= map.len();
                }
                let value = |column: usize| match (position, columns.get(column)) {
                    // SAFETY: the operand lies inside its block, and maps hold indices inside it.
                    (Some(p), Some(Some(i))) => unsafe {
                        *(from as *const T).wrapping_offset(p + *i as isize * across)
                    },
                    (_, Some(_)) if row < rows.len() => outside,
                    _ => T::ZERO,
                };
                let straight = if across == 1 && position.is_some() { inside.clone() } else { 0..0 };
                // SAFETY: every column is below the pitch, and the straight ones lie side by side in the operand.
                unsafe {
                    if let Some(p) = position.filter(|_| !straight.is_empty()) {
                        let source = (from as *const T).wrapping_offset(p);
                        std::ptr::copy_nonoverlapping(source, line.add(straight.start), straight.len());
                    }
                    for column in (0..straight.start).chain(straight.end..pitch) {
                        line.add(column).write(value(column));
                    }
                }
            }
        });
    }
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
        unsafe { self.extend(at(0), outside, panel.at().cast()) };
        let (input, weights) = (panel.at() as usize, weights.as_ptr() as usize);
        let out = launch.outputs()[0].address.0 as usize;
        let blocks = shape.rows.0.div_ceil(self.tile.0);
        let terms = self.tile.0 * shape.columns.0 * taps;
        let units = shape.planes() * blocks;
        let grain = if units * terms <= ALONE { units } else { (ALONE / terms).max(1) };
        self.threads.each(units, grain, |range| {
            for unit in range {
                let (plane, row) = (unit / blocks, unit % blocks * self.tile.0);
                // SAFETY: the scratch has whole tiles of windows, blocks of rows of the result are disjoint, and the block
                // function's instructions were found to be available.
                unsafe {
                    (self.block)(shape, input as *const T, weights as *const T, out as *mut T, plane, row);
                }
            }
        });
        Ok(())
    }
}

/// Rows `row` to `row + R` of a plane, tile by tile.
///
/// # Safety
/// The scratch has all rows and columns that windows of whole tiles reach; `out` has room for the result.
#[inline(always)]
unsafe fn rows<T: Term, const R: usize, const W: usize>(
    shape: &Shape,
    input: *const T,
    weights: *const T,
    out: *mut T,
    plane: usize,
    row: usize,
) {
    let (height, width) = (shape.rows.0.min(row + R) - row, shape.columns.0);
    for column in (0..width).step_by(W) {
        // SAFETY: the caller's contract.
        unsafe {
            let tile = tile::<T, R, W>(shape, input, weights, plane, row, column);
            let count = W.min(width - column);
            for (r, values) in tile.iter().enumerate().take(height) {
                let to = out.add((plane * shape.rows.0 + row + r) * width + column);
                for (i, value) in values.iter().enumerate().take(count) {
                    *to.add(i) = value.canonical();
                }
            }
        }
    }
}

/// One tile.
///
/// # Safety
/// As for `rows`.
#[inline(always)]
unsafe fn tile<T: Term, const R: usize, const W: usize>(
    shape: &Shape,
    input: *const T,
    weights: *const T,
    plane: usize,
    row: usize,
    column: usize,
) -> [[T; W]; R] {
    let ((_, ky), (_, kx)) = (shape.rows, shape.columns);
    let mut sums = [[T::ZERO; W]; R];
    for slab in 0..shape.slabs() {
        let top = (shape.plane(plane, slab) * shape.height + row) * shape.pitch + column;
        // SAFETY: the caller's contract.
        unsafe {
            let (top, weights) = (input.add(top), weights.add(slab * ky * kx));
            for i in 0..R + ky - 1 {
                let line = top.add(i * shape.pitch);
                if i + 1 >= R && i < ky {
                    // Every row of the tile has a tap here.
                    for x in 0..kx {
                        let values = *line.add(x).cast::<[T; W]>();
                        for (r, sums) in sums.iter_mut().enumerate() {
                            let weight = *weights.add((i - r) * kx + x);
                            for (sum, &value) in sums.iter_mut().zip(&values) {
                                *sum = sum.add(value, weight);
                            }
                        }
                    }
                } else {
                    for x in 0..kx {
                        let values = *line.add(x).cast::<[T; W]>();
                        for (r, sums) in sums.iter_mut().enumerate() {
                            if i < r || i - r >= ky {
                                continue;
                            }
                            let weight = *weights.add((i - r) * kx + x);
                            for (sum, &value) in sums.iter_mut().zip(&values) {
                                *sum = sum.add(value, weight);
                            }
                        }
                    }
                }
            }
        }
    }
    sums
}

/// The same rows with one set of vector instructions.
macro_rules! level {
    ($name:ident, $(#[$attribute:meta])*) => {
        /// # Safety
        /// As for `rows`, on a processor that has the instructions.
        $(#[$attribute])*
        unsafe fn $name<T: Term, const R: usize, const W: usize>(
            shape: &Shape,
            input: *const T,
            weights: *const T,
            out: *mut T,
            plane: usize,
            row: usize,
        ) {
            // SAFETY: the caller's contract.
            unsafe { rows::<T, R, W>(shape, input, weights, out, plane, row) }
        }
    };
}

level!(plain,);
#[cfg(target_arch = "x86_64")]
level!(avx2, #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,popcnt,lzcnt")]);
#[cfg(target_arch = "x86_64")]
level!(
    avx512,
    #[target_feature(
        enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2,popcnt,lzcnt"
    )]
);

/// Rows and columns of a tile, and the function that computes it: four rows of `WIDE` or `NARROW` columns where the
/// kernel has rows, one row of twice as many columns where it has not.
fn block<T: Term, const WIDE: usize, const WIDER: usize, const NARROW: usize>(
    simd: Simd,
    ky: usize,
) -> ((usize, usize), Block<T>) {
    let flat = ky == 1;
    match simd {
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 if flat => ((1, WIDER), avx512::<T, 1, WIDER>),
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => ((4, WIDE), avx512::<T, 4, WIDE>),
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 if flat => ((1, WIDE), avx2::<T, 1, WIDE>),
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => ((4, NARROW), avx2::<T, 4, NARROW>),
        _ if flat => ((1, NARROW), plain::<T, 1, NARROW>),
        _ => ((4, NARROW), plain::<T, 4, NARROW>),
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
    let (result, window) = (call.layout.shape.dims(), kernel.layout.shape.dims());
    let mut axes: Vec<(usize, usize)> = result.iter().copied().zip(window.iter().copied()).collect();
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
    let map = |(axis, &n): (usize, &usize)| {
        let (length, before) = mode.extent(n, window[axis]);
        let at = |i: usize| boundary.source(i as isize - before as isize, n);
        (0..length + window[axis] - 1).map(at).collect()
    };
    let maps = source.layout.shape.iter().enumerate().map(map).collect();
    Ok(Box::new(Convolve {
        shape,
        tile,
        block,
        source: source.layout.clone(),
        kernel: kernel.layout.clone(),
        fill: fill.layout.offset,
        maps,
        threads,
        pool,
    }))
}

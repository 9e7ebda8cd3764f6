//! Tiles of a convolution: `R` rows of `W` columns of the result, which stay in registers while the window walks over them.
//!
//! Each row of the extended operand is loaded once per tap of a row and used for every row of the tile that it belongs to. An
//! element's terms are added one after another in the order of the definition, whatever the tile is.
#![allow(unsafe_code)]

use std::ops::Range;

use super::{Shape, term::Term};
use crate::simd::Simd;

/// Rows from `row` on, as many as a tile has, and some columns of a plane of the result; the columns begin at a whole tile.
pub struct Piece {
    pub plane: usize,
    pub row: usize,
    pub columns: Range<usize>,
}

/// Computes a piece of the result: extended operand, flipped kernel, result, piece.
pub type Block<T> = unsafe fn(&Shape, *const T, *const T, *mut T, &Piece);

/// A piece, tile by tile.
///
/// # Safety
/// The extended operand has all rows and columns that windows of whole tiles reach; `out` has room for the result, of which
/// nobody else writes the piece.
#[inline(always)]
unsafe fn tiles<T: Term, const R: usize, const W: usize>(
    shape: &Shape,
    input: *const T,
    weights: *const T,
    out: *mut T,
    &Piece { plane, row, ref columns }: &Piece,
) {
    let (height, width) = (shape.rows.0.min(row + R) - row, shape.columns.0);
    for column in columns.clone().step_by(W) {
        // SAFETY: the caller's contract.
        unsafe {
            let tile = tile::<T, R, W>(shape, input, weights, plane, row, column);
            let count = W.min(columns.end - column);
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
/// As for `tiles`.
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
        /// As for `tiles`, on a processor that has the instructions.
        $(#[$attribute])*
        unsafe fn $name<T: Term, const R: usize, const W: usize>(
            shape: &Shape,
            input: *const T,
            weights: *const T,
            out: *mut T,
            piece: &Piece,
        ) {
            // SAFETY: the caller's contract.
            unsafe { tiles::<T, R, W>(shape, input, weights, out, piece) }
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
pub fn block<T: Term, const WIDE: usize, const WIDER: usize, const NARROW: usize>(
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

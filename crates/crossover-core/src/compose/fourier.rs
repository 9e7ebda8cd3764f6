//! Convolutions through Fourier transforms, and where they pay.
//!
//! The spectra of operand and kernel are multiplied. A long vector with a far shorter kernel is cut into pieces that overlap by
//! the length of the kernel: their transforms stay in a cache, are shared between threads, and together take fewer steps.

use super::{
    Build, binary,
    fft::{FftNorm, fftn, irfftn, part, resized, rfftn},
    pad::{Padding, pad},
};
use crate::{
    Error, Layout, Number, Result, Shape,
    graph::Op,
    ops::{MapOp, convolve::ConvolveMode},
};

/// Points of a piece, at least.
const PIECE: usize = 4096;

/// A vector in pieces.
#[derive(Debug, PartialEq)]
struct Pieces {
    /// Points of each transform.
    points: usize,
    /// Elements from one piece to the next: as many of each piece are results.
    step: usize,
    count: usize,
}

impl Pieces {
    /// The pieces of `n` elements under a kernel of `k`; `None` where one transform of the whole is the better way.
    fn of(n: &Shape, k: &Shape) -> Option<Pieces> {
        let (&[n], &[k]) = (n.dims(), k.dims()) else { return None };
        // The larger they are, the less they overlap, and the more steps each point takes.
        let points = k.checked_mul(6)?.checked_next_power_of_two()?.max(PIECE);
        let step = points - (k - 1);
        let pieces = Pieces { points, step, count: (n + k - 1).div_ceil(step) };
        (pieces.count > 2).then_some(pieces)
    }
}

/// Whether Fourier transforms are expected to be faster than sums of products.
///
/// A transform of m points takes about 2.5·m·log2(m) multiply-adds for real numbers, three of them are needed, or one and two
/// for each piece, and each is taken to cost ten times as much as one of the direct kernel, which keeps its sums in registers.
/// An estimate: no device has been asked.
pub fn fft_pays(n: &Shape, k: &Shape, mode: ConvolveMode, complex: bool) -> bool {
    let result: f64 = n.iter().zip(k.iter()).map(|(&n, &k)| mode.extent(n, k).0 as f64).product();
    let direct = result * k.size() as f64 * if complex { 4.0 } else { 1.0 };
    let (points, count) = match Pieces::of(n, k) {
        Some(pieces) => (pieces.points as f64, 2.0 * pieces.count as f64 + 1.0),
        None => (n.iter().zip(k.iter()).map(|(&n, &k)| quick_length(n + k - 1) as f64).product(), 3.0),
    };
    let transforms = count * 2.5 * points * points.max(2.0).log2() * if complex { 2.0 } else { 1.0 };
    // Small ones are not worth several kernels.
    direct > 10.0 * transforms && direct > 1e6
}

/// The next length from `n` on whose only prime factors are 2, 3 and 5.
pub fn quick_length(n: usize) -> usize {
    let wanted = n.max(1) as u128;
    let mut best = wanted.next_power_of_two();
    let mut fives = 1;
    while fives < best {
        let mut odd = fives;
        while odd < best {
            best = best.min(odd * wanted.div_ceil(odd).next_power_of_two());
            odd *= 3;
        }
        fives *= 5;
    }
    usize::try_from(best).unwrap_or(n)
}

/// The convolution of floats or complex numbers with a kernel of the same dtype and as many axes, zeros outside.
pub(super) fn transformed<B: Build>(
    b: &mut B,
    x: &B::Value,
    kernel: &B::Value,
    mode: ConvolveMode,
) -> Result<B::Value> {
    let (n, k) = (b.ty(x).shape, b.ty(kernel).shape);
    if mode == ConvolveMode::Valid && n.iter().zip(k.iter()).any(|(n, k)| k > n) {
        let why = "for mode valid no axis of the kernel is longer than the operand's";
        return Err(Error::Shape { op: "convolve", left: n, right: k, why });
    }
    let mut value = match Pieces::of(&n, &k) {
        Some(pieces) => pieced(b, x, kernel, &pieces)?,
        None => whole(b, x, kernel)?,
    };
    for (axis, (&n, &k)) in n.iter().zip(k.iter()).enumerate() {
        let (length, before) = mode.extent(n, k);
        // The full result starts k - 1 before the operand.
        value = part(b, &value, axis, k - 1 - before, length)?;
    }
    Ok(value)
}

/// The full result, and beyond it zeros, by one transform.
fn whole<B: Build>(b: &mut B, x: &B::Value, kernel: &B::Value) -> Result<B::Value> {
    let (n, k) = (b.ty(x).shape, b.ty(kernel).shape);
    let lengths: Vec<usize> = n.iter().zip(k.iter()).map(|(&n, &k)| quick_length(n + k - 1)).collect();
    let pairs: Vec<(usize, usize)> = lengths.iter().copied().enumerate().collect();
    let axes: Vec<i64> = (0..n.rank() as i64).collect();
    let (x, kernel) = (resized(b, "convolve", x, &pairs)?, resized(b, "convolve", kernel, &pairs)?);
    around(b, &x, &kernel, &lengths, &axes)
}

/// The full result, and beyond it zeros, by a transform for each piece.
fn pieced<B: Build>(b: &mut B, x: &B::Value, kernel: &B::Value, pieces: &Pieces) -> Result<B::Value> {
    let &Pieces { points, step, count } = pieces;
    let (n, overlap) = (b.ty(x).shape.size(), points - step);
    let x = pad(b, x, &[(overlap, count * step - n)], Padding::Constant(Number::Int(0)))?;
    let shape = Shape::from([count, points]);
    let rows = Layout { shape, strides: [step as isize, 1].into_iter().collect(), offset: 0 };
    let x = b.push(Op::Strided(rows), &[&x])?;
    let kernel = resized(b, "convolve", kernel, &[(0, points)])?;
    let value = around(b, &x, &kernel, &[points], &[-1])?;
    // What comes first of a piece has wrapped around its end.
    let value = part(b, &value, 1, overlap, step)?;
    b.push(Op::Reshape(Shape::from([count * step])), &[&value])
}

/// Convolution on a torus.
fn around<B: Build>(
    b: &mut B,
    x: &B::Value,
    kernel: &B::Value,
    lengths: &[usize],
    axes: &[i64],
) -> Result<B::Value> {
    let norm = FftNorm::Backward;
    if b.dtype(x).is_complex() {
        let (x, y) = (fftn(b, x, &[], axes, false, norm)?, fftn(b, kernel, &[], axes, false, norm)?);
        let product = binary(b, MapOp::Multiply, &x, &y)?;
        fftn(b, &product, &[], axes, true, norm)
    } else {
        let (x, y) = (rfftn(b, x, &[], axes, norm)?, rfftn(b, kernel, &[], axes, norm)?);
        let product = binary(b, MapOp::Multiply, &x, &y)?;
        irfftn(b, &product, lengths, axes, norm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_lengths_have_small_factors_and_are_found_at_once() {
        let smooth = |mut m: usize| {
            for p in [2, 3, 5] {
                while m.is_multiple_of(p) {
                    m /= p;
                }
            }
            m == 1
        };
        for n in 0..5000 {
            assert_eq!(quick_length(n), (n.max(1)..).find(|&m| smooth(m)).unwrap(), "{n}");
        }
        let far = quick_length((1 << 59) + 1);
        assert!(far > 1 << 59 && far < (1 << 59) / 100 * 101 && smooth(far), "{far}");
    }

    #[test]
    fn long_vectors_are_cut_where_the_kernel_is_far_shorter() {
        let of = |n: &[usize], k: &[usize]| Pieces::of(&Shape::from(n), &Shape::from(k));
        let pieces = of(&[1_000_000], &[10_000]).unwrap();
        assert_eq!(pieces, Pieces { points: 65536, step: 55537, count: 19 });
        assert_eq!(of(&[1_000_000], &[3]).unwrap().points, PIECE);
        assert!(of(&[10_000], &[10_000]).is_none() && of(&[5000], &[50]).is_none());
        assert!(of(&[1000, 1000], &[3, 3]).is_none() && of(&[5], &[usize::MAX]).is_none());
        let pays =
            |n: usize, k: usize| fft_pays(&Shape::from([n]), &Shape::from([k]), ConvolveMode::Full, false);
        assert!(
            pays(1_000_000, 1000) && pays(1_000_000, 10_000) && !pays(1_000_000, 100) && !pays(1000, 500)
        );
    }
}

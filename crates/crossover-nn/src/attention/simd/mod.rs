//! The loops of attention on the CPU, at the vector width of the machine: products with packed panels, and softmax that is
//! corrected as larger scores appear.
//!
//! What always holds: every element is made by the same operations in the same order, whatever rows and columns are computed
//! together, so that bits do not depend on how work is cut.

#![allow(unsafe_code)]

mod lanes;

use std::{f32::consts::LN_2, sync::OnceLock};

use self::lanes::{Lanes, Plain};

/// A multiple of the rows that every width computes at once.
pub(super) const STRIP: usize = 24;
/// A multiple of the columns of every width's panels.
pub(super) const COLUMNS: usize = 32;
/// The largest number of lanes of a vector: partial sums of a row.
pub(super) const SUMS: usize = 16;

/// `c = a · b`, or `c += a · b`, for matrices of `rows x depth`, `depth x columns` and `rows x columns`.
struct Product {
    rows: usize,
    depth: usize,
    columns: usize,
    /// Rows, with the elements between them.
    a: (*const f32, usize),
    /// Panels of as many columns as [`Loops::columns`], each with its rows side by side, with the elements between panels.
    b: (*const f32, usize),
    c: (*mut f32, usize),
    adds: bool,
}

/// Rows of scores that become weights.
struct Weights {
    rows: usize,
    columns: usize,
    /// With the elements between rows.
    scores: (*mut f32, usize),
    /// The largest score of each row so far, and [`SUMS`] partial sums of weights.
    largest: *mut f32,
    sums: *mut f32,
    /// Sums of weighted values so far, with the elements of a row.
    out: (*mut f32, usize),
}

/// The loops for a vector width.
#[derive(Clone, Copy)]
pub(super) struct Loops {
    /// Rows that are computed together; operands and results have whole multiples of them.
    rows: usize,
    /// Columns of a panel.
    columns: usize,
    product: unsafe fn(&Product),
    weigh: unsafe fn(&Weights),
}

impl Loops {
    /// Those of this machine.
    pub(super) fn get() -> Loops {
        static FOUND: OnceLock<Loops> = OnceLock::new();
        *FOUND.get_or_init(|| Loops::available().pop().unwrap_or(Loops::PLAIN))
    }

    /// Those of every machine.
    const PLAIN: Loops =
        Loops { rows: 4, columns: 8, product: product::<Plain, 4, 2>, weigh: weigh::<Plain> };

    /// All that this machine can run, the fastest last.
    #[cfg(target_arch = "x86_64")]
    fn available() -> Vec<Loops> {
        use std::arch::is_x86_feature_detected as has;
        let mut out = vec![Loops::PLAIN];
        if has!("avx2") && has!("fma") {
            out.push(Loops { rows: 6, columns: 16, product: avx2::product, weigh: avx2::weigh });
            if has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw") {
                out.push(Loops { rows: 12, columns: 32, product: avx512::product, weigh: avx512::weigh });
            }
        }
        out
    }

    #[cfg(target_arch = "aarch64")]
    fn available() -> Vec<Loops> {
        use std::arch::aarch64::float32x4_t as Four;
        let neon = Loops { rows: 6, columns: 16, product: product::<Four, 6, 4>, weigh: weigh::<Four> };
        vec![Loops::PLAIN, neon]
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn available() -> Vec<Loops> {
        vec![Loops::PLAIN]
    }

    /// Rows that are computed together.
    pub(super) fn rows(self) -> usize {
        self.rows
    }

    /// Columns of a panel.
    pub(super) fn columns(self) -> usize {
        self.columns
    }

    /// `c = a · b`, or `c += a · b` if `adds`. Rows are a multiple of [`rows`](Loops::rows), columns are whole panels. The right operand
    /// comes with the elements between panels, the others with those between rows.
    pub(super) fn product(
        self,
        (rows, depth, columns): (usize, usize, usize),
        (a, a_stride): (&[f32], usize),
        (b, panel): (&[f32], usize),
        (c, c_stride): (&mut [f32], usize),
        adds: bool,
    ) {
        assert!(rows.is_multiple_of(self.rows) && columns.is_multiple_of(self.columns), "whole tiles");
        if rows == 0 || columns == 0 {
            return;
        }
        let covers = |length: usize, rows: usize, stride: usize, columns: usize| {
            stride >= columns && (rows - 1) * stride + columns <= length
        };
        assert!(covers(a.len(), rows, a_stride, depth), "a holds its rows");
        assert!(covers(b.len(), columns / self.columns, panel, depth * self.columns), "b holds its panels");
        assert!(covers(c.len(), rows, c_stride, columns), "c holds its rows");
        let (a, b, c) = ((a.as_ptr(), a_stride), (b.as_ptr(), panel), (c.as_mut_ptr(), c_stride));
        // SAFETY: the operands hold what the product reads and writes, which was checked above; the processor has the instructions,
        // or `available` would not have listed the function.
        unsafe { (self.product)(&Product { rows, depth, columns, a, b, c, adds }) }
    }

    /// Makes weights of rows of scores, as many as whole panels have columns: powers of two relative to the largest score of each row
    /// so far. Sums of weights and of weighted values that were made relative to a smaller one are corrected.
    pub(super) fn weigh(
        self,
        (rows, columns): (usize, usize),
        (scores, stride): (&mut [f32], usize),
        largest: &mut [f32],
        sums: &mut [f32],
        (out, width): (&mut [f32], usize),
    ) {
        assert!(columns.is_multiple_of(self.columns) && width.is_multiple_of(self.columns), "whole panels");
        assert!(rows == 0 || (rows - 1) * stride + columns <= scores.len(), "scores hold their rows");
        assert!(largest.len() >= rows && sums.len() >= rows * SUMS, "each row has its sums");
        assert!(out.len() >= rows * width, "results hold their rows");
        let (scores, out) = ((scores.as_mut_ptr(), stride), (out.as_mut_ptr(), width));
        let (largest, sums) = (largest.as_mut_ptr(), sums.as_mut_ptr());
        // SAFETY: as for `product`.
        unsafe { (self.weigh)(&Weights { rows, columns, scores, largest, sums, out }) }
    }
}

/// # Safety
/// The operands hold what [`Product`] says, in whole tiles of `ROWS` rows and `WIDE` vectors.
#[inline(always)]
unsafe fn product<V: Lanes, const ROWS: usize, const WIDE: usize>(p: &Product) {
    let columns = WIDE * V::COUNT;
    // A panel stays in the first-level cache while all rows pass by.
    for panel in 0..p.columns / columns {
        for row in (0..p.rows).step_by(ROWS) {
            // SAFETY: the caller's contract.
            unsafe {
                let a = p.a.0.add(row * p.a.1);
                let b = p.b.0.add(panel * p.b.1);
                let c = p.c.0.add(row * p.c.1 + panel * columns);
                tile::<V, ROWS, WIDE>(p.depth, (a, p.a.1), b, (c, p.c.1), p.adds);
            }
        }
    }
}

/// One tile of a product: `ROWS` rows of `WIDE` vectors, whose sums stay in registers.
///
/// # Safety
/// As for [`product`].
#[inline(always)]
unsafe fn tile<V: Lanes, const ROWS: usize, const WIDE: usize>(
    depth: usize,
    (a, a_stride): (*const f32, usize),
    b: *const f32,
    (c, c_stride): (*mut f32, usize),
    adds: bool,
) {
    // SAFETY: the caller's contract: every row of a has an element `k`, row `k` of the panel WIDE vectors.
    unsafe {
        let mut sums = [[V::splat(0.0); WIDE]; ROWS];
        let mut from = b;
        for k in 0..depth {
            let mut b = [V::splat(0.0); WIDE];
            for (j, b) in b.iter_mut().enumerate() {
                *b = V::load(from.add(j * V::COUNT));
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let a = V::splat(*a.add(i * a_stride + k));
                for (sum, b) in sums.iter_mut().zip(&b) {
                    *sum = a.fma(*b, *sum);
                }
            }
            from = from.add(WIDE * V::COUNT);
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.iter().enumerate() {
                let to = c.add(i * c_stride + j * V::COUNT);
                let sum = if adds { V::load(to).plus(*sum) } else { *sum };
                sum.store(to);
            }
        }
    }
}

/// `(2^r - 1) / r` on ±1/2: with it, the error of `2^r` is 2^-26.8 of it.
const SERIES: [f32; 6] = [LN_2, 0.240_226_5, 0.055_503_57, 0.009_618_082, 0.001_339_097_9, 0.000_154_532_62];
/// A float of this size has no bits behind the point: adding it rounds to a whole number, in the low bits, with the bias of exponents.
const SHIFTER: f32 = 12_582_912.0 + 127.0;
/// Below it a power of two counts as 0.
const LOWEST: f32 = -125.0;

/// 2 to the power of each of `x`, which are at most 0; a NaN stays one, and minus infinity gives 0. Several vectors at a time: each
/// waits for itself at every step.
///
/// # Safety
/// As for [`Lanes`].
#[inline(always)]
unsafe fn powers<V: Lanes, const MANY: usize>(x: [V; MANY]) -> [V; MANY] {
    // SAFETY: the caller's contract.
    unsafe {
        let [c1, c2, c3, c4, c5, c6] = SERIES.map(|c| V::splat(c));
        let shifted = x.map(|x| x.plus(V::splat(SHIFTER)));
        let mut r = shifted.map(|shifted| shifted.minus(V::splat(SHIFTER)));
        for (r, x) in r.iter_mut().zip(x) {
            *r = x.minus(*r);
        }
        let mut out = [c6; MANY];
        for c in [c5, c4, c3, c2, c1, V::splat(1.0)] {
            for (out, r) in out.iter_mut().zip(r) {
                *out = out.fma(r, c);
            }
        }
        for (out, (shifted, x)) in out.iter_mut().zip(shifted.iter().zip(x)) {
            *out = out.times(shifted.exponent()).zero_below(x, V::splat(LOWEST));
        }
        out
    }
}

/// # Safety
/// The operands hold what [`Weights`] says; rows are whole pairs of vectors.
#[inline(always)]
unsafe fn weigh<V: Lanes>(p: &Weights) {
    // All rows of scores are searched before the first is changed: what is found is there when it is needed.
    for row in 0..p.rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (scores, largest) = (p.scores.0.add(row * p.scores.1), p.largest.add(row));
            let before = *largest;
            let mut top = [V::splat(before); 2];
            for at in (0..p.columns).step_by(2 * V::COUNT) {
                top[0] = top[0].larger(V::load(scores.add(at)));
                top[1] = top[1].larger(V::load(scores.add(at + V::COUNT)));
            }
            let top = top[0].larger(top[1]).largest();
            if top > before {
                *largest = top;
                let [old] = powers([V::splat(before - top)]);
                let sums = p.sums.add(row * SUMS);
                V::load(sums).times(old).store(sums);
                let out = p.out.0.add(row * p.out.1);
                for at in (0..p.out.1).step_by(V::COUNT) {
                    V::load(out.add(at)).times(old).store(out.add(at));
                }
            }
        }
    }
    for row in 0..p.rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (scores, sums) = (p.scores.0.add(row * p.scores.1), p.sums.add(row * SUMS));
            let top = *p.largest.add(row);
            // A row that has seen only what a mask hides weighs nothing, and a NaN stays one.
            let reference = V::splat(if top == f32::NEG_INFINITY { 0.0 } else { top });
            let mut sum = [V::load(sums), V::splat(0.0)];
            let mut at = 0;
            while at + 4 * V::COUNT <= p.columns {
                exponentiate::<V, 4>(scores.add(at), reference, &mut sum);
                at += 4 * V::COUNT;
            }
            if at < p.columns {
                exponentiate::<V, 2>(scores.add(at), reference, &mut sum);
            }
            sum[0].plus(sum[1]).store(sums);
        }
    }
}

/// Makes weights of `MANY` vectors of scores, two or four, and adds them to two sums.
///
/// # Safety
/// As for [`Lanes`]; the scores are there.
#[inline(always)]
unsafe fn exponentiate<V: Lanes, const MANY: usize>(scores: *mut f32, reference: V, sums: &mut [V; 2]) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut x = [reference; MANY];
        for (i, x) in x.iter_mut().enumerate() {
            *x = V::load(scores.add(i * V::COUNT)).minus(reference);
        }
        for (i, weight) in powers(x).into_iter().enumerate() {
            weight.store(scores.add(i * V::COUNT));
            sums[i % 2] = sums[i % 2].plus(weight);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::__m512;

    use super::{Product, Weights};

    /// # Safety
    /// As for [`super::product`], on a processor with AVX-512.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,fma")]
    pub(super) unsafe fn product(p: &Product) {
        // SAFETY: the caller's contract.
        unsafe { super::product::<__m512, 12, 2>(p) }
    }

    /// # Safety
    /// As for [`super::weigh`], on a processor with AVX-512.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,fma")]
    pub(super) unsafe fn weigh(p: &Weights) {
        // SAFETY: the caller's contract.
        unsafe { super::weigh::<__m512>(p) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::__m256;

    use super::{Product, Weights};

    /// # Safety
    /// As for [`super::product`], on a processor with AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn product(p: &Product) {
        // SAFETY: the caller's contract.
        unsafe { super::product::<__m256, 6, 2>(p) }
    }

    /// # Safety
    /// As for [`super::weigh`], on a processor with AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn weigh(p: &Weights) {
        // SAFETY: the caller's contract.
        unsafe { super::weigh::<__m256>(p) }
    }
}

#[cfg(test)]
mod tests;

//! The loops of attention on the CPU, at the vector width of the machine: small matrix products, and softmax over rows.

#![allow(unsafe_code)]

use std::sync::OnceLock;

use crossover_core::ops::{Unary, exp::Exp};

/// Rows that one call of [`Loops::product`] computes.
pub(super) const ROWS: usize = 8;
/// Columns that one call computes.
pub(super) const COLUMNS: usize = 32;

/// Operands of a product: `c[ROWS x COLUMNS] += a[ROWS x depth] · b[depth x COLUMNS]`, each with the elements between its rows.
#[derive(Clone, Copy)]
struct Product {
    depth: usize,
    a: (*const f32, usize),
    b: (*const f32, usize),
    c: (*mut f32, usize),
}

/// The loops for a vector width.
#[derive(Clone, Copy)]
pub(super) struct Loops {
    product: unsafe fn(Product),
    weigh: unsafe fn(&mut [f32], f32) -> f32,
    largest: unsafe fn(&[f32]) -> f32,
}

impl Loops {
    /// Those of this machine.
    pub(super) fn get() -> Loops {
        static FOUND: OnceLock<Loops> = OnceLock::new();
        *FOUND.get_or_init(Loops::detect)
    }

    #[cfg(target_arch = "x86_64")]
    fn detect() -> Loops {
        use std::arch::is_x86_feature_detected as has;
        let avx2 = has!("avx2") && has!("fma");
        if avx2 && has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw") {
            return Loops { product: avx512::product, weigh: avx512::weigh, largest: avx512::largest };
        }
        if avx2 {
            return Loops { product: avx2::product, weigh: avx2::weigh, largest: avx2::largest };
        }
        Loops::plain()
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn detect() -> Loops {
        Loops::plain()
    }

    /// Those of every machine.
    pub(super) fn plain() -> Loops {
        Loops { product: plain_product, weigh: plain_weigh, largest: plain_largest }
    }

    /// `c += a · b` for matrices of `rows x depth`, `depth x columns` and `rows x columns`; rows and columns are multiples of
    /// [`ROWS`] and [`COLUMNS`]. Each operand comes with the elements between its rows.
    pub(super) fn product(
        self,
        (rows, depth, columns): (usize, usize, usize),
        (a, a_stride): (&[f32], usize),
        (b, b_stride): (&[f32], usize),
        (c, c_stride): (&mut [f32], usize),
    ) {
        assert!(rows.is_multiple_of(ROWS) && columns.is_multiple_of(COLUMNS), "whole tiles");
        if rows == 0 || columns == 0 || depth == 0 {
            return;
        }
        let covers = |length: usize, rows: usize, stride: usize, columns: usize| {
            stride >= columns && (rows - 1) * stride + columns <= length
        };
        assert!(covers(a.len(), rows, a_stride, depth), "a holds its rows");
        assert!(covers(b.len(), depth, b_stride, columns), "b holds its rows");
        assert!(covers(c.len(), rows, c_stride, columns), "c holds its rows");
        for column in (0..columns).step_by(COLUMNS) {
            for row in (0..rows).step_by(ROWS) {
                // SAFETY: the tile lies inside the matrices, which was checked above; the processor has the instructions, or
                // `detect` would not have chosen the function.
                unsafe {
                    (self.product)(Product {
                        depth,
                        a: (a.as_ptr().add(row * a_stride), a_stride),
                        b: (b.as_ptr().add(column), b_stride),
                        c: (c.as_mut_ptr().add(row * c_stride + column), c_stride),
                    });
                }
            }
        }
    }

    /// Makes exponentials of scores relative to a reference, and returns their sum. The row is a multiple of [`COLUMNS`] long.
    pub(super) fn weigh(self, row: &mut [f32], reference: f32) -> f32 {
        // SAFETY: the processor has the instructions, or `detect` would not have chosen the function.
        unsafe { (self.weigh)(row, reference) }
    }

    /// The largest of a row, which is a multiple of [`COLUMNS`] long.
    pub(super) fn largest(self, row: &[f32]) -> f32 {
        // SAFETY: as above.
        unsafe { (self.largest)(row) }
    }
}

/// Exponentials and their sum, in lanes that the compiler makes vectors of.
#[inline(always)]
fn weigh(row: &mut [f32], reference: f32) -> f32 {
    let mut sums = [0.0f32; COLUMNS];
    for part in row.chunks_exact_mut(COLUMNS) {
        for (x, sum) in part.iter_mut().zip(&mut sums) {
            *x = Exp::float(*x - reference);
            *sum += *x;
        }
    }
    sums.iter().sum()
}

#[inline(always)]
fn largest(row: &[f32]) -> f32 {
    let mut most = [f32::NEG_INFINITY; COLUMNS];
    for part in row.chunks_exact(COLUMNS) {
        for (&x, most) in part.iter().zip(&mut most) {
            *most = if x > *most { x } else { *most };
        }
    }
    most.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

unsafe fn plain_weigh(row: &mut [f32], reference: f32) -> f32 {
    weigh(row, reference)
}

unsafe fn plain_largest(row: &[f32]) -> f32 {
    largest(row)
}

/// # Safety
/// The operands have the rows and columns that [`Product`] says.
unsafe fn plain_product(p: Product) {
    // Eight columns at a time stay in registers of 128 bits.
    const LANES: usize = 8;
    for column in (0..COLUMNS).step_by(LANES) {
        for row in (0..ROWS).step_by(4) {
            let mut sums = [[0.0f32; LANES]; 4];
            for k in 0..p.depth {
                // SAFETY: the caller's contract.
                let b = unsafe { &*p.b.0.add(k * p.b.1 + column).cast::<[f32; LANES]>() };
                for (i, sums) in sums.iter_mut().enumerate() {
                    // SAFETY: the caller's contract.
                    let a = unsafe { *p.a.0.add((row + i) * p.a.1 + k) };
                    for (sum, b) in sums.iter_mut().zip(b) {
                        *sum += a * b;
                    }
                }
            }
            for (i, sums) in sums.iter().enumerate() {
                // SAFETY: the caller's contract.
                let c = unsafe { &mut *p.c.0.add((row + i) * p.c.1 + column).cast::<[f32; LANES]>() };
                for (c, sum) in c.iter_mut().zip(sums) {
                    *c += sum;
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::{COLUMNS, Product, ROWS};

    /// # Safety
    /// As for `plain_product`, on a processor with AVX-512.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,fma")]
    pub(super) unsafe fn product(p: Product) {
        let mut sums = [[_mm512_setzero_ps(); COLUMNS / 16]; ROWS];
        for k in 0..p.depth {
            // SAFETY: the caller's contract: row `k` of b has COLUMNS columns, and every row of a an element `k`.
            unsafe {
                let from = p.b.0.add(k * p.b.1);
                let b = [_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16))];
                for (i, sums) in sums.iter_mut().enumerate() {
                    let a = _mm512_set1_ps(*p.a.0.add(i * p.a.1 + k));
                    for (sum, b) in sums.iter_mut().zip(&b) {
                        *sum = _mm512_fmadd_ps(a, *b, *sum);
                    }
                }
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.iter().enumerate() {
                // SAFETY: the caller's contract: row `i` of c has COLUMNS columns.
                unsafe {
                    let to = p.c.0.add(i * p.c.1 + 16 * j);
                    _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), *sum));
                }
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,fma")]
    pub(super) unsafe fn weigh(row: &mut [f32], reference: f32) -> f32 {
        super::weigh(row, reference)
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,fma")]
    pub(super) unsafe fn largest(row: &[f32]) -> f32 {
        super::largest(row)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{COLUMNS, Product, ROWS};

    /// # Safety
    /// As for `plain_product`, on a processor with AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn product(p: Product) {
        // Four rows of sixteen columns: eight sums stay in registers.
        for column in (0..COLUMNS).step_by(16) {
            for row in (0..ROWS).step_by(4) {
                let mut sums = [[_mm256_setzero_ps(); 2]; 4];
                for k in 0..p.depth {
                    // SAFETY: the caller's contract.
                    unsafe {
                        let from = p.b.0.add(k * p.b.1 + column);
                        let b = [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))];
                        for (i, sums) in sums.iter_mut().enumerate() {
                            let a = _mm256_set1_ps(*p.a.0.add((row + i) * p.a.1 + k));
                            for (sum, b) in sums.iter_mut().zip(&b) {
                                *sum = _mm256_fmadd_ps(a, *b, *sum);
                            }
                        }
                    }
                }
                for (i, sums) in sums.iter().enumerate() {
                    for (j, sum) in sums.iter().enumerate() {
                        // SAFETY: the caller's contract.
                        unsafe {
                            let to = p.c.0.add((row + i) * p.c.1 + column + 8 * j);
                            _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), *sum));
                        }
                    }
                }
            }
        }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn weigh(row: &mut [f32], reference: f32) -> f32 {
        super::weigh(row, reference)
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn largest(row: &[f32]) -> f32 {
        super::largest(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn products_of_every_width_agree_with_the_textbook() {
        let (rows, depth, columns) = (16, 37, 64);
        let (a, b) = (numbers(rows * 40, 1), numbers(depth * 70, 2));
        for loops in [Loops::get(), Loops::plain()] {
            let mut c = vec![0.25f32; rows * 66];
            loops.product((rows, depth, columns), (&a, 40), (&b, 70), (&mut c, 66));
            for i in 0..rows {
                for j in 0..columns {
                    let want: f64 =
                        (0..depth).map(|k| f64::from(a[i * 40 + k]) * f64::from(b[k * 70 + j])).sum();
                    assert!((f64::from(c[i * 66 + j]) - want - 0.25).abs() < 1e-5, "{i} {j}");
                }
                assert_eq!(c.get(i * 66 + 65).copied().unwrap_or(0.25), 0.25, "beyond the columns");
            }
        }
    }

    #[test]
    #[should_panic(expected = "b holds its rows")]
    fn operands_that_are_too_short_are_refused() {
        Loops::get().product((8, 2, 32), (&[0.0; 16], 2), (&[0.0; 63], 32), (&mut [0.0; 256], 32));
    }

    #[test]
    fn weights_are_exponentials_and_hidden_scores_weigh_nothing() {
        for loops in [Loops::get(), Loops::plain()] {
            let mut row = numbers(64, 3);
            row[5] = f32::NEG_INFINITY;
            row[40] = 9.0;
            assert_eq!(loops.largest(&row), 9.0);
            let want: Vec<f64> = row.iter().map(|&x| (f64::from(x) - 9.0).exp()).collect();
            let sum = loops.weigh(&mut row, 9.0);
            assert!((f64::from(sum) - want.iter().sum::<f64>()).abs() < 1e-6);
            assert_eq!((row[5], row[40]), (0.0, 1.0));
            assert!(row.iter().zip(&want).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-7));
        }
    }
}

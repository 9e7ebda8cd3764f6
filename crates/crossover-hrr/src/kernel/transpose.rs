//! Rows into lanes and back: element c of row r goes to place r of vector c.
#![allow(unsafe_code)]

/// Numbers that can be transposed in blocks.
pub(crate) trait Transpose: Copy + Default + Send + Sync {
    /// Whether [`block`](Transpose::block) can be used on this machine.
    fn has_blocks() -> bool {
        false
    }

    /// Transposes 8 × 8 numbers from rows that are `from_stride` apart to rows that are `to_stride` apart.
    ///
    /// # Safety
    ///
    /// [`has_blocks`](Transpose::has_blocks); 8 rows of 8 numbers lie inside both slices.
    unsafe fn block(from: &[Self], from_stride: usize, to: &mut [Self], to_stride: usize) {
        for (c, row) in (0..8).flat_map(|c| (0..8).map(move |r| (c, r))) {
            to[c * to_stride + row] = from[row * from_stride + c];
        }
    }
}

impl Transpose for f64 {}

impl Transpose for f32 {
    #[cfg(target_arch = "x86_64")]
    fn has_blocks() -> bool {
        is_x86_feature_detected!("avx")
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx")]
    unsafe fn block(from: &[f32], from_stride: usize, to: &mut [f32], to_stride: usize) {
        use std::arch::x86_64::*;
        debug_assert!(from.len() >= 7 * from_stride + 8 && to.len() >= 7 * to_stride + 8);
        // SAFETY: the caller promises that row r, 8 numbers from r·stride on, lies inside the slice.
        let load = |r: usize| unsafe { _mm256_loadu_ps(from.as_ptr().add(r * from_stride)) };
        let rows = [load(0), load(1), load(2), load(3), load(4), load(5), load(6), load(7)];
        // Neighbours, then pairs of neighbours, then halves.
        let a0 = _mm256_unpacklo_ps(rows[0], rows[1]);
        let a1 = _mm256_unpackhi_ps(rows[0], rows[1]);
        let a2 = _mm256_unpacklo_ps(rows[2], rows[3]);
        let a3 = _mm256_unpackhi_ps(rows[2], rows[3]);
        let a4 = _mm256_unpacklo_ps(rows[4], rows[5]);
        let a5 = _mm256_unpackhi_ps(rows[4], rows[5]);
        let a6 = _mm256_unpacklo_ps(rows[6], rows[7]);
        let a7 = _mm256_unpackhi_ps(rows[6], rows[7]);
        let b = [
            _mm256_shuffle_ps::<0x44>(a0, a2),
            _mm256_shuffle_ps::<0xee>(a0, a2),
            _mm256_shuffle_ps::<0x44>(a1, a3),
            _mm256_shuffle_ps::<0xee>(a1, a3),
            _mm256_shuffle_ps::<0x44>(a4, a6),
            _mm256_shuffle_ps::<0xee>(a4, a6),
            _mm256_shuffle_ps::<0x44>(a5, a7),
            _mm256_shuffle_ps::<0xee>(a5, a7),
        ];
        for c in 0..8 {
            let (x, y) = (b[c % 4], b[c % 4 + 4]);
            let column = if c < 4 {
                _mm256_permute2f128_ps::<0x20>(x, y)
            } else {
                _mm256_permute2f128_ps::<0x31>(x, y)
            };
            // SAFETY: as for the rows that are read.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr().add(c * to_stride), column) };
        }
    }
}

/// Rows of `d` numbers, at most `lanes` of them, as `d` vectors; lanes without a row become zero.
pub(super) fn columns<T: Transpose>(rows: &[T], d: usize, lanes: usize, to: &mut [T]) {
    let count = rows.len() / d;
    debug_assert!(count <= lanes && to.len() == d * lanes);
    if count < lanes {
        to.fill(T::default());
    }
    let whole = if T::has_blocks() { (count / 8 * 8, d / 8 * 8) } else { (0, 0) };
    for r in (0..whole.0).step_by(8) {
        for c in (0..whole.1).step_by(8) {
            // SAFETY: the machine has them; rows r to r + 8 and columns c to c + 8 exist on both sides.
            unsafe { T::block(&rows[r * d + c..], d, &mut to[c * lanes + r..], lanes) };
        }
    }
    for r in 0..count {
        let from = if r < whole.0 { whole.1 } else { 0 };
        for c in from..d {
            to[c * lanes + r] = rows[r * d + c];
        }
    }
}

/// The first lanes of `d` vectors as rows, as many as there is room for.
pub(super) fn rows<T: Transpose>(from: &[T], d: usize, lanes: usize, rows: &mut [T]) {
    let count = rows.len() / d;
    debug_assert!(count <= lanes && from.len() == d * lanes);
    let whole = if T::has_blocks() { (count / 8 * 8, d / 8 * 8) } else { (0, 0) };
    for r in (0..whole.0).step_by(8) {
        for c in (0..whole.1).step_by(8) {
            // SAFETY: as in `columns`.
            unsafe { T::block(&from[c * lanes + r..], lanes, &mut rows[r * d + c..], d) };
        }
    }
    for r in 0..count {
        let start = if r < whole.0 { whole.1 } else { 0 };
        for c in start..d {
            rows[r * d + c] = from[c * lanes + r];
        }
    }
}

//! Vectors of `f32` of each width, with the few operations that attention needs.
//!
//! Loops are written once, over [`Lanes`], and compiled for each width inside a function that enables its instructions.

#![allow(unsafe_code)]

/// A vector of `f32`.
///
/// # Safety
/// Every function needs a processor that has the vector's instructions; pointers are to [`COUNT`](Lanes::COUNT) numbers.
pub(super) trait Lanes: Copy {
    /// Numbers in it.
    const COUNT: usize;
    /// The same number in each lane.
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn plus(self, other: Self) -> Self;
    unsafe fn minus(self, other: Self) -> Self;
    unsafe fn times(self, other: Self) -> Self;
    /// `self * b + c`; rounded once where the processor can.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    /// The larger; `self` where `other` is NaN.
    unsafe fn larger(self, other: Self) -> Self;
    /// Zero where `x` is below `limit`.
    unsafe fn zero_below(self, x: Self, limit: Self) -> Self;
    /// The number whose bits are these, shifted by 23 to the left.
    unsafe fn exponent(self) -> Self;
    /// The largest lane.
    unsafe fn largest(self) -> f32;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Lanes;

    impl Lanes for __m256 {
        const COUNT: usize = 8;
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: the caller has looked for AVX2 and FMA, here and below.
            unsafe { _mm256_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as above; the caller's pointer is to eight numbers.
            unsafe { _mm256_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as above.
            unsafe { _mm256_storeu_ps(to, self) }
        }
        #[inline(always)]
        unsafe fn plus(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm256_add_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn minus(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm256_sub_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn times(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm256_mul_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn fma(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm256_fmadd_ps(self, b, c) }
        }
        #[inline(always)]
        unsafe fn larger(self, other: Self) -> Self {
            // SAFETY: as above. Of two numbers with a NaN among them the instruction gives the second.
            unsafe { _mm256_max_ps(other, self) }
        }
        #[inline(always)]
        unsafe fn zero_below(self, x: Self, limit: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm256_andnot_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(x, limit), self) }
        }
        #[inline(always)]
        unsafe fn exponent(self) -> Self {
            // SAFETY: as above.
            unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_castps_si256(self))) }
        }
        #[inline(always)]
        unsafe fn largest(self) -> f32 {
            // SAFETY: as above.
            unsafe {
                let four = _mm_max_ps(_mm256_castps256_ps128(self), _mm256_extractf128_ps::<1>(self));
                let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
                _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
            }
        }
    }

    impl Lanes for __m512 {
        const COUNT: usize = 16;
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: the caller has looked for AVX-512, here and below.
            unsafe { _mm512_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as above; the caller's pointer is to sixteen numbers.
            unsafe { _mm512_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as above.
            unsafe { _mm512_storeu_ps(to, self) }
        }
        #[inline(always)]
        unsafe fn plus(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm512_add_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn minus(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm512_sub_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn times(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm512_mul_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn fma(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm512_fmadd_ps(self, b, c) }
        }
        #[inline(always)]
        unsafe fn larger(self, other: Self) -> Self {
            // SAFETY: as above. Of two numbers with a NaN among them the instruction gives the second.
            unsafe { _mm512_max_ps(other, self) }
        }
        #[inline(always)]
        unsafe fn zero_below(self, x: Self, limit: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x, limit), self) }
        }
        #[inline(always)]
        unsafe fn exponent(self) -> Self {
            // SAFETY: as above.
            unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<23>(_mm512_castps_si512(self))) }
        }
        #[inline(always)]
        unsafe fn largest(self) -> f32 {
            // SAFETY: as above.
            unsafe { _mm512_reduce_max_ps(self) }
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::*;

    use super::Lanes;

    impl Lanes for float32x4_t {
        const COUNT: usize = 4;
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: every aarch64 has these instructions, here and below.
            unsafe { vdupq_n_f32(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as above; the caller's pointer is to four numbers.
            unsafe { vld1q_f32(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as above.
            unsafe { vst1q_f32(to, self) }
        }
        #[inline(always)]
        unsafe fn plus(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { vaddq_f32(self, other) }
        }
        #[inline(always)]
        unsafe fn minus(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { vsubq_f32(self, other) }
        }
        #[inline(always)]
        unsafe fn times(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { vmulq_f32(self, other) }
        }
        #[inline(always)]
        unsafe fn fma(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            unsafe { vfmaq_f32(c, self, b) }
        }
        #[inline(always)]
        unsafe fn larger(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { vbslq_f32(vcgtq_f32(other, self), other, self) }
        }
        #[inline(always)]
        unsafe fn zero_below(self, x: Self, limit: Self) -> Self {
            // SAFETY: as above.
            unsafe { vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(self), vcltq_f32(x, limit))) }
        }
        #[inline(always)]
        unsafe fn exponent(self) -> Self {
            // SAFETY: as above.
            unsafe { vreinterpretq_f32_u32(vshlq_n_u32::<23>(vreinterpretq_u32_f32(self))) }
        }
        #[inline(always)]
        unsafe fn largest(self) -> f32 {
            // SAFETY: as above.
            unsafe { vmaxvq_f32(self) }
        }
    }
}

/// What every processor has: the compiler makes vectors of it where it can.
#[derive(Clone, Copy)]
pub(super) struct Plain([f32; 4]);

impl Plain {
    #[inline(always)]
    fn with(self, other: Plain, f: impl Fn(f32, f32) -> f32) -> Plain {
        Plain(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl Lanes for Plain {
    const COUNT: usize = 4;
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Plain([x; 4])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's pointer is to four numbers.
        Plain(unsafe { from.cast::<[f32; 4]>().read() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as above.
        unsafe { to.cast::<[f32; 4]>().write(self.0) }
    }
    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        self.with(b, |a, b| a * b).with(c, |product, c| product + c)
    }
    #[inline(always)]
    unsafe fn larger(self, other: Self) -> Self {
        self.with(other, |a, b| if b > a { b } else { a })
    }
    #[inline(always)]
    unsafe fn zero_below(self, x: Self, limit: Self) -> Self {
        Plain(std::array::from_fn(|i| if x.0[i] < limit.0[i] { 0.0 } else { self.0[i] }))
    }
    #[inline(always)]
    unsafe fn exponent(self) -> Self {
        Plain(self.0.map(|x| f32::from_bits(x.to_bits() << 23)))
    }
    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        self.0.into_iter().fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a })
    }
}

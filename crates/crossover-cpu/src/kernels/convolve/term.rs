//! Elements of a convolution, and how a term is added to a sum: part of the definition, so every device does it this way.

use crossover_core::lane::FloatLane;
use num_complex::Complex;

/// An element, and how a term is added.
pub trait Term: Copy + Send + Sync + 'static {
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

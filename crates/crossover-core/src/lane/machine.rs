//! Machine scalars as lanes.
//!
//! Everything here is `#[inline(always)]`: the instructions are chosen by the `#[target_feature]` function that
//! a body ends up in, and without any such function they are the baseline of the target.

use super::{Arith, F32Lane, F64Lane, FloatLane, IntLane, Lane, Mask};

impl Mask for bool {
    #[inline(always)]
    fn constant(value: bool) -> bool {
        value
    }
}

macro_rules! lane {
    ($($type:ty)*) => {$(
        impl Lane for $type {
            type Mask = bool;
            #[inline(always)]
            fn is_eq(self, other: Self) -> bool { self == other }
            #[inline(always)]
            fn is_ne(self, other: Self) -> bool { self != other }
            #[inline(always)]
            fn is_lt(self, other: Self) -> bool { self < other }
            #[inline(always)]
            fn is_le(self, other: Self) -> bool { self <= other }
            #[inline(always)]
            fn is_gt(self, other: Self) -> bool { self > other }
            #[inline(always)]
            fn is_ge(self, other: Self) -> bool { self >= other }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self { if mask { yes } else { no } }
        }
    )*};
}

lane!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

macro_rules! int_lane {
    ($($type:ty, $signed:literal;)*) => {$(
        impl Arith for $type {
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn minus(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)]
            fn times(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)]
            fn whole(value: i32) -> Self { value as $type }
        }

        impl IntLane for $type {
            const BITS: u32 = <$type>::BITS;
            const SIGNED: bool = $signed;
            #[inline(always)]
            fn int(value: i64) -> Self { value as $type }
            #[inline(always)]
            fn and(self, other: Self) -> Self { self & other }
            #[inline(always)]
            fn or(self, other: Self) -> Self { self | other }
            #[inline(always)]
            fn xor(self, other: Self) -> Self { self ^ other }
            #[inline(always)]
            fn invert(self) -> Self { !self }
            #[inline(always)]
            fn shl(self, count: u32) -> Self { self.wrapping_shl(count) }
            #[inline(always)]
            fn shr(self, count: u32) -> Self { self.wrapping_shr(count) }
            #[inline(always)]
            fn shl_lane(self, count: Self) -> Self { self.wrapping_shl(count as u32) }
            #[inline(always)]
            fn shr_lane(self, count: Self) -> Self { self.wrapping_shr(count as u32) }
            #[inline(always)]
            fn quotient(self, other: Self) -> Self { if other == 0 { 0 } else { self.wrapping_div(other) } }
            #[inline(always)]
            fn modulo(self, other: Self) -> Self { if other == 0 { 0 } else { self.wrapping_rem(other) } }
        }
    )*};
}

int_lane! {
    i8, true; i16, true; i32, true; i64, true;
    u8, false; u16, false; u32, false; u64, false;
}

macro_rules! float_lane {
    ($float:ty, $bits:ty, $int:ty, $digits:literal, $nan:literal) => {
        impl Arith for $float {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn whole(value: i32) -> Self {
                value as $float
            }
        }

        impl FloatLane for $float {
            type Bits = $bits;
            type Int = $int;
            type Double = f64;
            const DIGITS: u32 = $digits;
            #[inline(always)]
            fn nan() -> Self {
                <$float>::from_bits($nan)
            }
            #[inline(always)]
            fn real(value: f64) -> Self {
                value as $float
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$float>::sqrt(self)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                <$float>::floor(self)
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                <$float>::ceil(self)
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                <$float>::trunc(self)
            }
            #[inline(always)]
            fn round(self) -> Self {
                <$float>::round_ties_even(self)
            }
            #[inline(always)]
            fn bits(self) -> $bits {
                self.to_bits()
            }
            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                <$float>::from_bits(bits)
            }
            #[inline(always)]
            fn int_bits(self) -> $int {
                self.to_bits() as $int
            }
            #[inline(always)]
            fn from_int_bits(bits: $int) -> Self {
                <$float>::from_bits(bits as $bits)
            }
            #[inline(always)]
            fn to_int(self) -> $int {
                // `as` saturates, which keeps the loop from vectorising; clamping inside the range of the
                // integer first makes the unchecked conversion sound for every argument, NaN included.
                const TOP: $float = <$int>::MAX as $float;
                const LIMIT: $float = <$float>::from_bits(TOP.to_bits() - 1);
                let low = if self > -TOP { self } else { -TOP };
                let clamped = if low < LIMIT { low } else { LIMIT };
                // SAFETY: `clamped` is finite (a NaN fails both comparisons and becomes a bound) and lies
                // within [-2^(w-1), 2^(w-1)) because LIMIT is the float just below 2^(w-1).
                #[allow(unsafe_code)]
                unsafe {
                    clamped.to_int_unchecked::<$int>()
                }
            }
            #[inline(always)]
            fn from_int(value: $int) -> Self {
                value as $float
            }
            #[inline(always)]
            fn to_double(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_double(value: f64) -> Self {
                value as $float
            }
        }
    };
}

float_lane!(f32, u32, i32, 24, 0x7fc0_0000);
float_lane!(f64, u64, i64, 53, 0x7ff8_0000_0000_0000);

impl F32Lane for f32 {
    type Wide = f64;
    #[inline(always)]
    fn widen(self) -> f64 {
        self as f64
    }
    #[inline(always)]
    fn narrow(wide: f64) -> f32 {
        wide as f32
    }
}

impl F64Lane for f64 {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_int_is_defined_for_every_argument() {
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30] {
            let _ = x.to_int();
        }
        assert_eq!((-7.9f32).to_int(), -7);
        assert_eq!(1e18f64.to_int(), 1_000_000_000_000_000_000);
        assert_eq!((-2147483648.0f32).to_int(), i32::MIN);
    }

    #[test]
    fn integer_division_is_total() {
        assert_eq!(5i32.quotient(0), 0);
        assert_eq!(i32::MIN.quotient(-1), i32::MIN);
        assert_eq!(i64::MIN.modulo(-1), 0);
        assert_eq!(7u8.modulo(0), 0);
    }

    #[test]
    fn signs_move_without_touching_nan_payloads() {
        let nan = f32::from_bits(0xffc0_1234);
        assert_eq!(nan.magnitude().to_bits(), 0x7fc0_1234);
        assert_eq!(1.5f32.with_sign(nan).to_bits(), (-1.5f32).to_bits());
        assert_eq!(f64::MIN_POSITIVE.with_sign(-0.0), -f64::MIN_POSITIVE);
        assert_eq!(FloatLane::canonical(nan).to_bits(), 0x7fc0_0000);
    }
}

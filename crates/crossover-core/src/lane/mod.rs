//! The alphabet that op bodies are written in.
//!
//! A body is one generic function over these traits. It is instantiated with machine scalars (`f32`, `i64`, …)
//! inside tile loops that the compiler vectorises, with the same scalars one at a time in the reference
//! interpreter, with [`Text`], which writes every operation as one CUDA C++ statement, and with [`Recorded`], whose list
//! of operations the CPU backend turns into machine code. All of them therefore perform the same IEEE operations in the
//! same order, and give the same bits.
//!
//! What always holds: integer arithmetic wraps; every float operation rounds once to nearest even; nothing
//! contracts (`fma` is written where it is meant); comparisons with NaN are false except `is_ne`; the bits of a
//! NaN made by arithmetic are not specified here (see [`crate::ops::NanRule`]).
//!
//! What these traits do not have: tables, loops over memory, and branches. A slow path for a few arguments is
//! a separate method of the op (see [`crate::ops::Unary::rare_f32`]), tested once per tile.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

mod machine;
mod record;
mod text;

pub use record::{Node, Primitive, RecordType, Recorded, Recorder, Relation, Type};
pub use text::{Function, Text, TextType};

/// A truth value.
pub trait Mask:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// A constant.
    fn constant(value: bool) -> Self;
}

/// A value of any dtype.
pub trait Lane: Copy {
    /// The result of a comparison.
    type Mask: Mask;
    /// `self == other`; false when either is NaN.
    fn is_eq(self, other: Self) -> Self::Mask;
    /// `self != other`; true when either is NaN.
    fn is_ne(self, other: Self) -> Self::Mask;
    /// `self < other`; false when either is NaN.
    fn is_lt(self, other: Self) -> Self::Mask;
    /// `self <= other`; false when either is NaN.
    fn is_le(self, other: Self) -> Self::Mask;
    /// `self > other`; false when either is NaN.
    fn is_gt(self, other: Self) -> Self::Mask;
    /// `self >= other`; false when either is NaN.
    fn is_ge(self, other: Self) -> Self::Mask;
    /// `yes` where `mask` holds, `no` elsewhere; both are evaluated, bits pass unchanged.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
}

/// What integers and floats share.
pub trait Arith: Lane {
    /// Sum; integers wrap.
    fn plus(self, other: Self) -> Self;
    /// Difference; integers wrap.
    fn minus(self, other: Self) -> Self;
    /// Product; integers wrap.
    fn times(self, other: Self) -> Self;
    /// A small whole number.
    fn whole(value: i32) -> Self;
}

/// An integer of some width and sign; booleans are `u8` lanes holding 0 or 1.
pub trait IntLane: Arith {
    /// Width in bits.
    const BITS: u32;
    /// Whether the type is signed.
    const SIGNED: bool;
    /// A constant, wrapped to the width.
    fn int(value: i64) -> Self;
    /// Bitwise and.
    fn and(self, other: Self) -> Self;
    /// Bitwise or.
    fn or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Bitwise complement.
    fn invert(self) -> Self;
    /// Shift left by a constant below the width.
    fn shl(self, count: u32) -> Self;
    /// Shift right by a constant below the width: arithmetic if signed, logical if not.
    fn shr(self, count: u32) -> Self;
    /// Shift left by a lane; the count is taken modulo the width.
    fn shl_lane(self, count: Self) -> Self;
    /// Shift right by a lane; the count is taken modulo the width.
    fn shr_lane(self, count: Self) -> Self;
    /// Quotient towards zero; 0 when the divisor is 0; wraps for MIN / -1.
    fn quotient(self, other: Self) -> Self;
    /// Remainder with the sign of the dividend; 0 when the divisor is 0 or -1.
    fn modulo(self, other: Self) -> Self;
}

/// A real floating-point number in which bodies compute: `f32` or `f64`.
pub trait FloatLane:
    Arith + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Unsigned integer of the same width.
    type Bits: IntLane<Mask = Self::Mask>;
    /// Signed integer of the same width.
    type Int: IntLane<Mask = Self::Mask>;
    /// The 64-bit lane of the same machine.
    type Double: F64Lane<Mask = Self::Mask>;
    /// Bits of the significand, the hidden one included: 24 or 53.
    const DIGITS: u32;
    /// The quiet NaN that stands for every NaN made by arithmetic.
    fn nan() -> Self;
    /// A constant, rounded to the type.
    fn real(value: f64) -> Self;
    /// `self * b + c`, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
    /// Square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// Largest whole number not above.
    fn floor(self) -> Self;
    /// Smallest whole number not below.
    fn ceil(self) -> Self;
    /// Nearest whole number towards zero.
    fn trunc(self) -> Self;
    /// Nearest whole number, ties to even.
    fn round(self) -> Self;
    /// The bits.
    fn bits(self) -> Self::Bits;
    /// The float with these bits.
    fn from_bits(bits: Self::Bits) -> Self;
    /// The bits as a signed integer.
    fn int_bits(self) -> Self::Int;
    /// The float with these bits, given as a signed integer.
    fn from_int_bits(bits: Self::Int) -> Self;
    /// The whole number `self` truncates to. The caller guarantees that it fits; nothing is promised otherwise
    /// except that some integer results.
    fn to_int(self) -> Self::Int;
    /// Nearest float of an integer.
    fn from_int(value: Self::Int) -> Self;
    /// Exact conversion to 64 bits.
    fn to_double(self) -> Self::Double;
    /// Conversion from 64 bits, rounded to nearest even.
    fn from_double(value: Self::Double) -> Self;

    /// The product with `2^n`, rounded once, for a whole number `n`. `by_parts` computes it in the operations there are
    /// everywhere; where the machine has an instruction for it, that takes `n`.
    #[inline(always)]
    fn times_power(self, n: impl FnOnce() -> Self, by_parts: impl FnOnce(Self) -> Self) -> Self {
        let _ = n;
        by_parts(self)
    }

    /// Magnitude: the sign bit cleared, NaN included.
    #[inline(always)]
    fn magnitude(self) -> Self {
        Self::from_bits(self.bits().and(Self::Bits::int(i64::MAX >> (64 - Self::Bits::BITS))))
    }

    /// Sign bit of `sign`, everything else of `self`.
    #[inline(always)]
    fn with_sign(self, sign: Self) -> Self {
        let top = Self::Bits::int(1).shl(Self::Bits::BITS - 1);
        Self::from_bits(self.magnitude().bits().or(sign.bits().and(top)))
    }

    /// Whether the value is NaN.
    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        self.is_ne(self)
    }

    /// The value, with every NaN replaced by the canonical one.
    #[inline(always)]
    fn canonical(self) -> Self {
        Self::select(self.is_nan(), Self::nan(), self)
    }
}

/// The 32-bit float lane.
pub trait F32Lane: FloatLane {
    /// The 64-bit lane of the same machine.
    type Wide: F64Lane<Mask = Self::Mask>;
    /// Exact conversion to 64 bits.
    fn widen(self) -> Self::Wide;
    /// Conversion from 64 bits, rounded to nearest even.
    fn narrow(wide: Self::Wide) -> Self;
}

/// The 64-bit float lane.
pub trait F64Lane: FloatLane {}

/// A complex number of two float lanes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cx<L> {
    /// Real part.
    pub re: L,
    /// Imaginary part.
    pub im: L,
}

//! The elementwise operations: one file each, one generic body each.
//!
//! An op is a unit struct that implements [`Unary`], [`Binary`], [`Compare`], [`Ternary`] or [`Part`]. Its file
//! holds the body, the facts passes ask for ([`OpInfo`]) and the tests. `table.rs` lists every op once. To add
//! an op, write its file and add one line to the table; tiles, CUDA text, reference, documentation and tests
//! follow from there.

mod info;
mod machine;
mod parts;
mod recording;
mod source;
mod table;

pub mod abs;
pub mod acos;
pub mod acosh;
pub mod add;
pub mod asin;
pub mod asinh;
pub mod atan;
pub mod atan2;
pub mod atanh;
pub mod bitwise_and;
pub mod bitwise_invert;
pub mod bitwise_left_shift;
pub mod bitwise_or;
pub mod bitwise_right_shift;
pub mod bitwise_xor;
pub mod cast;
pub mod ceil;
pub mod conj;
pub mod convolve;
pub mod copysign;
pub mod cos;
pub mod cosh;
pub mod cospi;
pub mod divide;
pub mod equal;
pub mod erf;
pub mod erfc;
pub mod exp;
pub mod exp2;
pub mod expm1;
pub mod fft;
pub mod floor;
pub mod floor_divide;
pub mod fma;
pub mod gelu;
pub mod gelu_exact;
pub mod greater;
pub mod greater_equal;
pub mod hypot;
pub mod imag;
pub mod less;
pub mod less_equal;
pub mod linalg;
pub mod log;
pub mod log10;
pub mod log1p;
pub mod log2;
pub mod logaddexp;
pub mod logical_not;
pub mod maximum;
pub mod minimum;
pub mod modulus;
pub mod multiply;
pub mod negative;
pub mod nextafter;
pub mod not_equal;
pub mod order;
pub mod pow;
pub mod real;
pub mod reciprocal;
pub mod reduce;
pub mod remainder;
pub mod round;
pub mod scatter;
pub mod select;
pub mod sigmoid;
pub mod sign;
pub mod silu;
pub mod sin;
pub mod sinh;
pub mod sinpi;
pub mod softplus;
pub mod sqrt;
pub mod square;
pub mod subtract;
pub mod tan;
pub mod tanh;
pub mod trunc;

pub use info::{Cost, Facts, NanRule, OpInfo};
pub use machine::{Apply1, Apply2, Apply3, ApplyCompare, ApplyPart, Truth};
pub use recording::type_of;
pub use source::device_function;
pub use table::*;

use crate::lane::{Cx, F32Lane, F64Lane, FloatLane, IntLane, Lane, Mask};

/// Reached only when a caller skips the dtype check of [`MapOp::supports`].
#[cold]
fn undefined(op: &OpInfo) -> ! {
    panic!("{} has no body for this dtype: the dtype check was skipped", op.name)
}

/// An op of one operand whose result has the operand's dtype.
///
/// Implement `float` when one body serves both widths, `f32` and `f64` when they differ.
pub trait Unary: 'static {
    /// Name, dtypes and facts.
    const INFO: OpInfo;
    /// Whether some real arguments take a slow path.
    const RARE: bool = false;
    /// Whether some complex arguments take a slow path.
    const RARE_COMPLEX: bool = false;

    /// Body for real floats.
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let _ = x;
        undefined(&Self::INFO)
    }
    /// Body for `f32` (and 16-bit floats, which compute in `f32`).
    #[inline(always)]
    fn f32<L: F32Lane>(x: L) -> L {
        Self::float(x)
    }
    /// Body for `f64`.
    #[inline(always)]
    fn f64<L: F64Lane>(x: L) -> L {
        Self::float(x)
    }
    /// Arguments for which `slow_f32` replaces `f32`. The CPU tests this once per tile, CUDA branches.
    #[inline(always)]
    fn rare_f32<L: F32Lane>(x: L) -> L::Mask {
        let _ = x;
        L::Mask::constant(false)
    }
    /// The body for rare arguments.
    #[inline(always)]
    fn slow_f32<L: F32Lane>(x: L) -> L {
        Self::f32(x)
    }
    /// Arguments for which `slow_f64` replaces `f64`.
    #[inline(always)]
    fn rare_f64<L: F64Lane>(x: L) -> L::Mask {
        let _ = x;
        L::Mask::constant(false)
    }
    /// The body for rare arguments.
    #[inline(always)]
    fn slow_f64<L: F64Lane>(x: L) -> L {
        Self::f64(x)
    }
    /// Body for integers.
    #[inline(always)]
    fn int<L: IntLane>(x: L) -> L {
        let _ = x;
        undefined(&Self::INFO)
    }
    /// Body for booleans, as 0 or 1.
    #[inline(always)]
    fn boolean<L: IntLane>(x: L) -> L {
        Self::int(x)
    }
    /// Body for complex numbers.
    #[inline(always)]
    fn complex<L: FloatLane>(x: Cx<L>) -> Cx<L> {
        let _ = x;
        undefined(&Self::INFO)
    }
    /// Complex arguments for which `slow_complex` replaces `complex`.
    #[inline(always)]
    fn rare_complex<L: FloatLane>(x: Cx<L>) -> L::Mask {
        let _ = x;
        L::Mask::constant(false)
    }
    /// The body for rare complex arguments.
    #[inline(always)]
    fn slow_complex<L: FloatLane>(x: Cx<L>) -> Cx<L> {
        Self::complex(x)
    }
}

/// An op of two operands of one dtype whose result has that dtype.
pub trait Binary: 'static {
    /// Name, dtypes and facts.
    const INFO: OpInfo;

    /// Body for real floats.
    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        let _ = (a, b);
        undefined(&Self::INFO)
    }
    /// Body for `f32` (and 16-bit floats, which compute in `f32`).
    #[inline(always)]
    fn f32<L: F32Lane>(a: L, b: L) -> L {
        Self::float(a, b)
    }
    /// Body for `f64`.
    #[inline(always)]
    fn f64<L: F64Lane>(a: L, b: L) -> L {
        Self::float(a, b)
    }
    /// Whether floats have a shorter body for plain operands, which gives the same bits. The CPU uses it for tiles that hold no
    /// others.
    const SHORT: bool = false;
    /// Operands for which `short` may replace the body.
    #[inline(always)]
    fn is_plain<L: FloatLane>(a: L, b: L) -> L::Mask {
        let _ = (a, b);
        L::Mask::constant(false)
    }
    /// The body for plain operands.
    #[inline(always)]
    fn short<L: FloatLane>(a: L, b: L) -> L {
        let _ = (a, b);
        undefined(&Self::INFO)
    }
    /// Body for integers.
    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        let _ = (a, b);
        undefined(&Self::INFO)
    }
    /// Whether integers have a shorter body for plain operands, as floats may have.
    const SHORT_INT: bool = false;
    /// Operands for which `short_int` may replace the body.
    #[inline(always)]
    fn is_plain_int<L: IntLane>(a: L, b: L) -> L::Mask {
        let _ = (a, b);
        L::Mask::constant(false)
    }
    /// The body for plain integers.
    #[inline(always)]
    fn short_int<L: IntLane>(a: L, b: L) -> L {
        Self::int(a, b)
    }
    /// Body for booleans, as 0 or 1.
    #[inline(always)]
    fn boolean<L: IntLane>(a: L, b: L) -> L {
        Self::int(a, b)
    }
    /// Body for complex numbers.
    #[inline(always)]
    fn complex<L: FloatLane>(a: Cx<L>, b: Cx<L>) -> Cx<L> {
        let _ = (a, b);
        undefined(&Self::INFO)
    }
}

/// An op of two operands of one dtype with a boolean result.
pub trait Compare: 'static {
    /// Name, dtypes and facts.
    const INFO: OpInfo;

    /// Body for every real dtype.
    fn real<L: Lane>(a: L, b: L) -> L::Mask;
    /// Body for complex numbers.
    #[inline(always)]
    fn complex<L: FloatLane>(a: Cx<L>, b: Cx<L>) -> L::Mask {
        let _ = (a, b);
        undefined(&Self::INFO)
    }
}

/// An op of three operands of one dtype whose result has that dtype.
pub trait Ternary: 'static {
    /// Name, dtypes and facts.
    const INFO: OpInfo;

    /// Body for real floats.
    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L, c: L) -> L {
        let _ = (a, b, c);
        undefined(&Self::INFO)
    }
    /// Body for integers.
    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L, c: L) -> L {
        let _ = (a, b, c);
        undefined(&Self::INFO)
    }
}

/// An op of one complex operand with a real result.
pub trait Part: 'static {
    /// Name, dtypes and facts.
    const INFO: OpInfo;
    /// The body.
    fn complex<L: FloatLane>(x: Cx<L>) -> L;
}

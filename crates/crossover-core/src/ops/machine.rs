//! Ops on the machine types that hold elements: what tile loops and the reference interpreter call.
//!
//! One blanket implementation per element type routes to the right body, so a loop can be generic over the op
//! and the type alone.

use num_complex::Complex;

use super::{Binary, Compare, Part, Ternary, Unary};
use crate::lane::{Arith, Cx, FloatLane};

/// A boolean in memory: one byte, 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Truth(pub u8);

/// A unary op on elements of type `T`.
pub trait Apply1<T: Copy>: Unary {
    /// Whether [`Apply1::rare`] can hold at all.
    const SOME_RARE: bool = false;
    /// The body.
    fn apply(x: T) -> T;
    /// Whether [`Apply1::slow`] replaces the body for this argument.
    #[inline(always)]
    fn rare(x: T) -> bool {
        let _ = x;
        false
    }
    /// The body for rare arguments.
    #[inline(always)]
    fn slow(x: T) -> T {
        Self::apply(x)
    }
    /// The value for any argument.
    #[inline(always)]
    fn value(x: T) -> T {
        if Self::SOME_RARE && Self::rare(x) { Self::slow(x) } else { Self::apply(x) }
    }
}

/// A binary op on elements of type `T`.
pub trait Apply2<T: Copy>: Binary {
    /// Whether there is a shorter body for plain operands.
    const SHORTENED: bool = false;
    /// The body.
    fn apply(a: T, b: T) -> T;
    /// Whether [`Apply2::short`] gives what the body gives.
    #[inline(always)]
    fn is_plain(a: T, b: T) -> bool {
        let _ = (a, b);
        false
    }
    /// The body for plain operands.
    #[inline(always)]
    fn short(a: T, b: T) -> T {
        Self::apply(a, b)
    }
}

/// A ternary op on elements of type `T`.
pub trait Apply3<T: Copy>: Ternary {
    /// The body.
    fn apply(a: T, b: T, c: T) -> T;
}

/// A comparison of elements of type `T`.
pub trait ApplyCompare<T: Copy>: Compare {
    /// The body.
    fn apply(a: T, b: T) -> Truth;
}

/// A real-valued op on complex elements of type `T`.
pub trait ApplyPart<T: Copy>: Part {
    /// The real type.
    type Real: Copy;
    /// The body.
    fn apply(x: T) -> Self::Real;
}

macro_rules! floats {
    ($($float:ident, $rare:ident, $slow:ident;)*) => {$(
        impl<O: Unary> Apply1<$float> for O {
            const SOME_RARE: bool = O::RARE;
            #[inline(always)]
            fn apply(x: $float) -> $float { O::$float(x) }
            #[inline(always)]
            fn rare(x: $float) -> bool { O::$rare(x) }
            #[inline(always)]
            fn slow(x: $float) -> $float { O::$slow(x) }
        }
        impl<O: Binary> Apply2<$float> for O {
            const SHORTENED: bool = O::SHORT;
            #[inline(always)]
            fn apply(a: $float, b: $float) -> $float { O::$float(a, b) }
            #[inline(always)]
            fn is_plain(a: $float, b: $float) -> bool { <O as Binary>::is_plain(a, b) }
            #[inline(always)]
            fn short(a: $float, b: $float) -> $float { <O as Binary>::short(a, b) }
        }
        impl<O: Ternary> Apply3<$float> for O {
            #[inline(always)]
            fn apply(a: $float, b: $float, c: $float) -> $float { O::float(a, b, c) }
        }
        impl<O: Unary> Apply1<Complex<$float>> for O {
            const SOME_RARE: bool = O::RARE_COMPLEX;
            #[inline(always)]
            fn apply(x: Complex<$float>) -> Complex<$float> { out(O::complex(cx(x))) }
            #[inline(always)]
            fn rare(x: Complex<$float>) -> bool { O::rare_complex(cx(x)) }
            #[inline(always)]
            fn slow(x: Complex<$float>) -> Complex<$float> { out(O::slow_complex(cx(x))) }
        }
        impl<O: Binary> Apply2<Complex<$float>> for O {
            #[inline(always)]
            fn apply(a: Complex<$float>, b: Complex<$float>) -> Complex<$float> { out(O::complex(cx(a), cx(b))) }
        }
        impl<O: Compare> ApplyCompare<Complex<$float>> for O {
            #[inline(always)]
            fn apply(a: Complex<$float>, b: Complex<$float>) -> Truth { Truth(O::complex(cx(a), cx(b)) as u8) }
        }
        impl<O: Part> ApplyPart<Complex<$float>> for O {
            type Real = $float;
            #[inline(always)]
            fn apply(x: Complex<$float>) -> $float { O::complex(cx(x)) }
        }
    )*};
}

floats! { f32, rare_f32, slow_f32; f64, rare_f64, slow_f64; }

macro_rules! ints {
    ($($int:ty)*) => {$(
        impl<O: Unary> Apply1<$int> for O {
            #[inline(always)]
            fn apply(x: $int) -> $int { O::int(x) }
        }
        impl<O: Binary> Apply2<$int> for O {
            const SHORTENED: bool = O::SHORT_INT;
            #[inline(always)]
            fn apply(a: $int, b: $int) -> $int { O::int(a, b) }
            #[inline(always)]
            fn is_plain(a: $int, b: $int) -> bool { O::is_plain_int(a, b) }
            #[inline(always)]
            fn short(a: $int, b: $int) -> $int { O::short_int(a, b) }
        }
        impl<O: Ternary> Apply3<$int> for O {
            #[inline(always)]
            fn apply(a: $int, b: $int, c: $int) -> $int { O::int(a, b, c) }
        }
    )*};
}

ints!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! compares {
    ($($type:ty)*) => {$(
        impl<O: Compare> ApplyCompare<$type> for O {
            #[inline(always)]
            fn apply(a: $type, b: $type) -> Truth { Truth(O::real(a, b) as u8) }
        }
    )*};
}

compares!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl<O: Unary> Apply1<Truth> for O {
    #[inline(always)]
    fn apply(x: Truth) -> Truth {
        Truth(O::boolean(x.0))
    }
}

impl<O: Binary> Apply2<Truth> for O {
    #[inline(always)]
    fn apply(a: Truth, b: Truth) -> Truth {
        Truth(O::boolean(a.0, b.0))
    }
}

impl<O: Compare> ApplyCompare<Truth> for O {
    #[inline(always)]
    fn apply(a: Truth, b: Truth) -> Truth {
        Truth(O::real(a.0, b.0) as u8)
    }
}

#[inline(always)]
fn cx<F: FloatLane + Arith>(z: Complex<F>) -> Cx<F> {
    Cx { re: z.re, im: z.im }
}

#[inline(always)]
fn out<F>(z: Cx<F>) -> Complex<F> {
    Complex { re: z.re, im: z.im }
}

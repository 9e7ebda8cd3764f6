//! `cast`: conversion between dtypes.
//!
//! - to bool: true where the value is not zero (NaN is not zero);
//! - integer to integer: wraps, as NumPy does;
//! - float to integer: truncates, saturates, NaN becomes 0;
//! - to a float: rounds once to nearest even, also into 16 bits: wide sources pass through `f32` rounded to
//!   odd, so that the second rounding decides alone (64-bit integers are rounded to `f64` first);
//! - real to complex: imaginary part +0. Complex to real is refused: take `real` or `abs`.
//!
//! Tiles hold 16-bit floats as `f32`, so a conversion is a chain of primitive steps between the types that
//! tiles hold ([`path`]), and 16-bit memory is read and written by functions like [`widen_f16`] and [`narrow_f16`].

use num_complex::Complex;
use smallvec::{SmallVec, smallvec};

use super::Truth;
use crate::{DType, Error, Kind, Result, Scalar, lane::FloatLane};

/// Name in text and messages.
pub const NAME: &str = "cast";

/// One primitive step of a conversion, between types that tiles hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// A plain conversion; neither side is a 16-bit float.
    Plain(DType, DType),
    /// `f64` to `f32`, rounded to odd: towards zero, with the last bit set if anything was lost.
    Odd,
    /// `f32` rounded to the nearest value of a 16-bit dtype, still held as `f32`.
    Round(DType),
}

/// Whether a conversion exists.
pub fn check(from: DType, to: DType) -> Result<()> {
    if from.is_complex() && !to.is_complex() {
        let supported = "complex dtypes; take real(), imag() or abs() of a complex array".to_string();
        return Err(Error::DType { op: NAME, dtype: to, supported });
    }
    Ok(())
}

/// The primitive steps from one dtype to another; empty when values are already right.
pub fn path(from: DType, to: DType) -> SmallVec<[Step; 3]> {
    use Step::{Odd, Plain, Round};
    if from == to || (from.is_half() && to == DType::F32) {
        return smallvec![];
    }
    let held = from.compute();
    if to.is_half() {
        let mut steps: SmallVec<[Step; 3]> = match (from.kind(), from.size()) {
            (Kind::Float, 8) => smallvec![Odd],
            (Kind::Int, 4 | 8) => smallvec![Plain(held, DType::F64), Odd],
            _ if held == DType::F32 => smallvec![],
            _ => smallvec![Plain(held, DType::F32)],
        };
        steps.push(Round(to));
        return steps;
    }
    if to.is_complex() && !from.is_complex() && held != to.real() {
        return smallvec![Plain(held, to.real()), Plain(to.real(), to)];
    }
    smallvec![Plain(held, to)]
}

/// Conversion between two machine types by the rules above.
pub trait CastTo<R> {
    /// The converted value.
    fn cast_to(self) -> R;
}

macro_rules! from_int {
    ($($from:ty)*) => {$(
        impl CastTo<Truth> for $from {
            #[inline(always)]
            fn cast_to(self) -> Truth { Truth((self != 0) as u8) }
        }
        from_int!($from => i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
    )*};
    ($from:ty => $($to:ty)*) => {$(
        impl CastTo<$to> for $from {
            #[inline(always)]
            fn cast_to(self) -> $to { self as $to }
        }
    )*};
}

from_int!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! from_truth {
    ($($to:ty)*) => {$(
        impl CastTo<$to> for Truth {
            #[inline(always)]
            fn cast_to(self) -> $to { self.0 as $to }
        }
    )*};
}

from_truth!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl CastTo<Truth> for Truth {
    #[inline(always)]
    fn cast_to(self) -> Truth {
        self
    }
}

/// `as` between float and integer saturates by branches that do not vectorise; clamping first does.
macro_rules! float_to_int {
    ($float:ty => $($int:ty, $through:ty;)*) => {$(
        impl CastTo<$int> for $float {
            #[inline(always)]
            fn cast_to(self) -> $int {
                // The power of two just above the largest integer is always a float; the integer itself may not be.
                const TOP: $float = (<$int>::MAX / 2 + 1) as $float * 2.0;
                const BELOW: $float = <$float>::from_bits(TOP.to_bits() - 1);
                const LOW: $float = <$int>::MIN as $float;
                let number = if self != self { 0.0 } else { self };
                let low = if number > LOW { number } else { LOW };
                let inside = if low < BELOW { low } else { BELOW };
                // SAFETY: `inside` is not NaN and lies in [MIN, TOP), all of which truncates into the integer type
                // and into the wider one the conversion goes through.
                #[allow(unsafe_code)]
                let value = unsafe { inside.to_int_unchecked::<$through>() } as $int;
                if number >= TOP { <$int>::MAX } else { value }
            }
        }
    )*};
}

macro_rules! from_float {
    ($($float:ty)*) => {$(
        float_to_int!($float =>
            i8, i32; i16, i32; i32, i32; i64, i64;
            u8, i32; u16, i32; u32, u32; u64, u64;
        );
        impl CastTo<Truth> for $float {
            #[inline(always)]
            fn cast_to(self) -> Truth { Truth((self != 0.0) as u8) }
        }
        impl CastTo<f32> for $float {
            #[inline(always)]
            fn cast_to(self) -> f32 { self as f32 }
        }
        impl CastTo<f64> for $float {
            #[inline(always)]
            fn cast_to(self) -> f64 { self as f64 }
        }
        impl CastTo<Complex<$float>> for $float {
            #[inline(always)]
            fn cast_to(self) -> Complex<$float> { Complex::new(self, 0.0) }
        }
        impl CastTo<Complex<f32>> for Complex<$float> {
            #[inline(always)]
            fn cast_to(self) -> Complex<f32> { Complex::new(self.re as f32, self.im as f32) }
        }
        impl CastTo<Complex<f64>> for Complex<$float> {
            #[inline(always)]
            fn cast_to(self) -> Complex<f64> { Complex::new(self.re as f64, self.im as f64) }
        }
    )*};
}

from_float!(f32 f64);

/// `f64` to `f32` rounded to odd.
#[inline(always)]
pub fn odd(x: f64) -> f32 {
    let near = x as f32;
    let back = near as f64;
    // One step towards zero if rounding went away from it; infinity steps back to the largest float.
    let away = back.abs() > x.abs();
    let truncated = near.to_bits() - (away & (x.abs() < f64::INFINITY)) as u32;
    let lost = (back != x) & !x.is_nan();
    f32::from_bits(if lost { truncated | 1 } else { near.to_bits() })
}

/// `f32` rounded to the nearest `bf16`, as bits. A NaN keeps its sign and the leading bits of its payload, so that
/// movement keeps the bits of what was loaded; [`round_bf16`] is what makes NaNs canonical.
#[inline(always)]
pub fn narrow_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    // A payload that lies in the dropped bits alone would read as infinity: then the quiet bit is set.
    let kept = bits >> 16;
    let nan = if kept & 0x7f == 0 { kept | 0x40 } else { kept };
    (if x.is_nan() { nan } else { rounded }) as u16
}

/// The `f32` that a `bf16` stands for.
#[inline(always)]
pub fn widen_bf16(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// `f32` rounded to the nearest `f16`, as bits. NaNs as in [`narrow_bf16`].
#[inline(always)]
pub fn narrow_f16(x: f32) -> u16 {
    let bits = x.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Normal results: rebias the exponent and round the 13 dropped bits to nearest even; a carry runs into the
    // exponent, which is right, and past the largest value it makes infinity.
    let normal = magnitude.wrapping_add(0xc800_0fff + ((magnitude >> 13) & 1)) >> 13;
    // Subnormal results: adding 0.5 aligns the last kept bit with the last bit of the sum, and the addition rounds.
    let aligned = f32::from_bits(magnitude) + 0.5;
    let subnormal = aligned.to_bits().wrapping_sub(0x3f00_0000);
    let value = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let value = if magnitude >= 0x4780_0000 { 0x7c00 } else { value };
    let kept = 0x7c00 | ((magnitude >> 13) & 0x3ff);
    let nan = if kept == 0x7c00 { 0x7e00 } else { kept };
    ((if magnitude > 0x7f80_0000 { nan } else { value }) | sign) as u16
}

/// The `f32` that an `f16` stands for.
#[inline(always)]
pub fn widen_f16(bits: u16) -> f32 {
    let sign = (bits as u32 & 0x8000) << 16;
    let magnitude = bits as u32 & 0x7fff;
    let normal = (magnitude << 13) + 0x3800_0000;
    let special = (magnitude << 13) | 0x7f80_0000;
    // Subnormals: the significand as an integer times 2^-24, which is exact.
    let subnormal = (magnitude as f32 * f32::from_bits(0x3380_0000)).to_bits();
    let value = if magnitude < 0x0400 { subnormal } else { normal };
    let value = if magnitude >= 0x7c00 { special } else { value };
    f32::from_bits(value | sign)
}

/// `f32` rounded to the nearest value of `f16`; NaN becomes the canonical one.
#[inline(always)]
pub fn round_f16(x: f32) -> f32 {
    FloatLane::canonical(widen_f16(narrow_f16(x)))
}

/// `f32` rounded to the nearest value of `bf16`; NaN becomes the canonical one.
#[inline(always)]
pub fn round_bf16(x: f32) -> f32 {
    FloatLane::canonical(widen_bf16(narrow_bf16(x)))
}

/// The reference: a value converted to another dtype.
pub fn scalar(value: Scalar, to: DType) -> Scalar {
    let from = value.dtype();
    if from == to {
        return value;
    }
    if from.is_complex() && !to.is_complex() {
        // Reached only for host scalars; graphs refuse this conversion.
        return scalar(Scalar::from_bits(from.real(), value.bits()), to);
    }
    let mut held = hold(value);
    for step in path(from, to) {
        held = apply(step, held);
    }
    release(held, to)
}

/// The value as tiles hold it: 16-bit floats as `f32`.
pub(crate) fn hold(value: Scalar) -> Scalar {
    let bits = value.bits()[0];
    let float = |x: f32| Scalar::from_bits(DType::F32, [x.to_bits() as u64, 0]);
    match value.dtype() {
        DType::F16 => float(widen_f16(bits as u16)),
        DType::BF16 => float(widen_bf16(bits as u16)),
        _ => value,
    }
}

/// A computed value as memory has it: `f32` rounded to a 16-bit dtype where asked for, NaN canonical there.
pub(crate) fn release(held: Scalar, dtype: DType) -> Scalar {
    let x = f32::from_bits(held.bits()[0] as u32);
    match dtype {
        DType::F16 => Scalar::from_bits(dtype, [narrow_f16(round_f16(x)) as u64, 0]),
        DType::BF16 => Scalar::from_bits(dtype, [narrow_bf16(round_bf16(x)) as u64, 0]),
        _ => held,
    }
}

fn apply(step: Step, value: Scalar) -> Scalar {
    let float = |x: f32| Scalar::from_bits(DType::F32, [x.to_bits() as u64, 0]);
    match step {
        Step::Odd => float(FloatLane::canonical(odd(f64::from_bits(value.bits()[0])))),
        Step::Round(DType::F16) => float(round_f16(f32::from_bits(value.bits()[0] as u32))),
        Step::Round(_) => float(round_bf16(f32::from_bits(value.bits()[0] as u32))),
        Step::Plain(from, to) => plain(from, to, value),
    }
}

/// Bits of a machine value, and back: how [`Scalar`] meets the generic conversions.
trait Raw: Copy {
    fn raw(self) -> [u64; 2];
    fn of(bits: [u64; 2]) -> Self;
}

macro_rules! raw {
    ($($type:ty, $to:expr, $from:expr;)*) => {$(
        impl Raw for $type {
            fn raw(self) -> [u64; 2] { let to: fn($type) -> [u64; 2] = $to; to(self) }
            fn of(bits: [u64; 2]) -> Self { let from: fn([u64; 2]) -> $type = $from; from(bits) }
        }
    )*};
}

raw! {
    Truth, |v| [v.0 as u64, 0], |b| Truth(b[0] as u8);
    i8, |v| [v as u64, 0], |b| b[0] as i8; i16, |v| [v as u64, 0], |b| b[0] as i16;
    i32, |v| [v as u64, 0], |b| b[0] as i32; i64, |v| [v as u64, 0], |b| b[0] as i64;
    u8, |v| [v as u64, 0], |b| b[0] as u8; u16, |v| [v as u64, 0], |b| b[0] as u16;
    u32, |v| [v as u64, 0], |b| b[0] as u32; u64, |v| [v, 0], |b| b[0];
    f32, |v| [FloatLane::canonical(v).to_bits() as u64, 0], |b| f32::from_bits(b[0] as u32);
    f64, |v| [FloatLane::canonical(v).to_bits(), 0], |b| f64::from_bits(b[0]);
    Complex<f32>, |v| [v.re.raw()[0], v.im.raw()[0]], |b| Complex::new(Raw::of([b[0], 0]), Raw::of([b[1], 0]));
    Complex<f64>, |v| [v.re.raw()[0], v.im.raw()[0]], |b| Complex::new(Raw::of([b[0], 0]), Raw::of([b[1], 0]));
}

/// Calls a macro with every primitive conversion as `FromDType from_type ToDType to_type;`.
#[macro_export]
macro_rules! for_each_cast {
    ($callback:ident) => {
        $crate::for_each_cast! { @from $callback [
            Bool Truth, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64
        ] }
    };
    (@from $callback:ident [$($d:ident $t:ident),*]) => {
        $callback! {
            $(to_all $d $t;)*
            one F32 f32 C64 c64;
            one F64 f64 C128 c128;
            one C64 c64 C128 c128;
            one C128 c128 C64 c64;
        }
    };
}

#[allow(non_camel_case_types)]
type c64 = Complex<f32>;
#[allow(non_camel_case_types)]
type c128 = Complex<f64>;

macro_rules! define_plain {
    ($(to_all $d:ident $t:ident;)* $(one $fd:ident $ft:ident $td:ident $tt:ident;)*) => {
        fn plain(from: DType, to: DType, value: Scalar) -> Scalar {
            fn go<A: Raw + CastTo<R>, R: Raw>(to: DType, value: Scalar) -> Scalar {
                Scalar::from_bits(to, A::of(value.bits()).cast_to().raw())
            }
            match (from, to) {
                $((DType::$d, _) if !to.is_complex() => match to {
                    DType::Bool => go::<$t, Truth>(to, value),
                    DType::I8 => go::<$t, i8>(to, value),
                    DType::I16 => go::<$t, i16>(to, value),
                    DType::I32 => go::<$t, i32>(to, value),
                    DType::I64 => go::<$t, i64>(to, value),
                    DType::U8 => go::<$t, u8>(to, value),
                    DType::U16 => go::<$t, u16>(to, value),
                    DType::U32 => go::<$t, u32>(to, value),
                    DType::U64 => go::<$t, u64>(to, value),
                    DType::F64 => go::<$t, f64>(to, value),
                    _ => go::<$t, f32>(to, value),
                },)*
                $((DType::$fd, DType::$td) => go::<$ft, $tt>(to, value),)*
                _ => value,
            }
        }
    };
}

for_each_cast!(define_plain);

/// CUDA C++ for one primitive step applied to the expression `x`.
pub fn source(step: Step, x: &str) -> String {
    match step {
        Step::Odd => format!("xo_odd({x})"),
        Step::Round(dtype) => format!("xo_round_{dtype}({x})"),
        Step::Plain(from, to) if to.is_complex() && !from.is_complex() => format!("xo_complex_of({x})"),
        Step::Plain(_, DType::C64) => format!("xo_complex_cast<float>({x})"),
        Step::Plain(_, DType::C128) => format!("xo_complex_cast<double>({x})"),
        Step::Plain(_, DType::Bool) => format!("(unsigned char)({x} != 0)"),
        Step::Plain(from, to) if from.is_float() && to.is_int() => format!("xo_{from}_to_{to}({x})"),
        Step::Plain(_, to) => format!("({})({x})", cuda_type(to)),
    }
}

/// The C++ type that a tile or register of this dtype has.
pub fn cuda_type(dtype: DType) -> &'static str {
    match dtype.compute() {
        DType::Bool | DType::U8 => "unsigned char",
        DType::I8 => "signed char",
        DType::I16 => "short",
        DType::I32 => "int",
        DType::I64 => "long long",
        DType::U16 => "unsigned short",
        DType::U32 => "unsigned",
        DType::U64 => "unsigned long long",
        DType::F64 => "double",
        DType::C64 => "xo_complex<float>",
        DType::C128 => "xo_complex<double>",
        _ => "float",
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;
    use crate::Element;

    #[test]
    fn sixteen_bit_floats_round_as_the_half_crate_does() {
        for high in 0..=0xffffu32 {
            for low in [0u32, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let x = f32::from_bits(high << 16 | low);
                if x.is_nan() {
                    let canonical = 0x7fc0_0000;
                    assert_eq!((round_f16(x).to_bits(), round_bf16(x).to_bits()), (canonical, canonical));
                    assert!(
                        f16::from_bits(narrow_f16(x)).is_nan() && bf16::from_bits(narrow_bf16(x)).is_nan()
                    );
                    continue;
                }
                assert_eq!(narrow_f16(x), f16::from_f32(x).to_bits(), "{x:e}");
                assert_eq!(narrow_bf16(x), bf16::from_f32(x).to_bits(), "{x:e}");
            }
            let bits = high as u16;
            if !f16::from_bits(bits).is_nan() {
                assert_eq!(widen_f16(bits).to_bits(), f16::from_bits(bits).to_f32().to_bits());
            }
            // Whatever is loaded and stored again keeps its bits, NaN payloads included.
            assert_eq!((narrow_f16(widen_f16(bits)), narrow_bf16(widen_bf16(bits))), (bits, bits));
        }
    }

    #[test]
    fn wide_sources_are_rounded_once() {
        // Just above the midpoint between 1 and the next f16; a rounding to f32 in between would tie to even.
        let x = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        let half = |x: f64| x.to_scalar().cast(DType::F16).get::<f16>().unwrap().to_bits();
        assert_eq!((half(x), half(-x)), (0x3c01, 0xbc01));
        assert_eq!(half(1.0 + 2f64.powi(-11)), 0x3c00);
        let edges = [
            (-0.0, 0x8000),
            (1e300, 0x7c00),
            (-1e300, 0xfc00),
            (f64::INFINITY, 0x7c00),
            (65519.999, 0x7bff),
            (65520.0, 0x7c00),
            (5e-324, 0x0000),
            (3.0e-8, 0x0001),
            (2.98e-8, 0x0000),
        ];
        for (x, bits) in edges {
            assert_eq!(half(x), bits, "{x:e}");
        }
        let n = (1i32 << 24) + 1;
        assert_eq!(n.to_scalar().cast(DType::BF16).get::<bf16>(), Some(bf16::from_f64(n as f64)));
    }

    #[test]
    fn floats_saturate_into_integers_and_nan_is_zero() {
        let hard =
            [0.0, -0.5, 255.9, 256.0, -129.0, 2147483648.0, -2147483649.0, 1.8446744073709552e19, 1e300];
        for x in hard.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN, f64::INFINITY]) {
            let s = x.to_scalar();
            assert_eq!(s.cast(DType::I8).get(), Some(x as i8), "{x}");
            assert_eq!(s.cast(DType::U8).get(), Some(x as u8), "{x}");
            assert_eq!(s.cast(DType::I32).get(), Some(x as i32), "{x}");
            assert_eq!(s.cast(DType::U32).get(), Some(x as u32), "{x}");
            assert_eq!(s.cast(DType::I64).get(), Some(x as i64), "{x}");
            assert_eq!(s.cast(DType::U64).get(), Some(x as u64), "{x}");
            let f = x as f32;
            assert_eq!(f.to_scalar().cast(DType::I32).get(), Some(f as i32), "{x}");
            assert_eq!(f.to_scalar().cast(DType::U64).get(), Some(f as u64), "{x}");
        }
    }

    #[test]
    fn integers_wrap_and_booleans_test_for_zero() {
        assert_eq!(300i64.to_scalar().cast(DType::I8).get(), Some(44i8));
        assert_eq!((-1i8).to_scalar().cast(DType::U64).get(), Some(u64::MAX));
        assert_eq!(f32::NAN.to_scalar().cast(DType::Bool).get(), Some(true));
        assert_eq!((-0.0f32).to_scalar().cast(DType::Bool).get(), Some(false));
        assert_eq!(true.to_scalar().cast(DType::BF16).get(), Some(bf16::ONE));
        assert!(check(DType::C64, DType::F32).is_err());
    }
}

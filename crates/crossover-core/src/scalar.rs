//! Single values: the Rust types an element can be, and a value whose dtype is known at run time.

use std::fmt;

use half::{bf16, f16};
use num_complex::Complex;

use crate::{DType, Kind, ops::cast};

mod sealed {
    pub trait Sealed: Sized {
        /// The value with every NaN replaced by the one that may be seen.
        #[inline(always)]
        fn settled(self) -> Self {
            self
        }
    }
}

/// A Rust type that can be an element of an array.
///
/// Implemented for exactly the fifteen dtypes; `bool` is stored as one byte holding 0 or 1.
///
/// ```
/// use crossover_core::{DType, Element, Scalar};
/// fn double<T: Element + std::ops::Add<Output = T>>(x: T) -> Scalar {
///     (x + x).to_scalar()
/// }
/// assert_eq!((f32::DTYPE, double(1.5f32).get::<f32>()), (DType::F32, Some(3.0)));
/// ```
pub trait Element: sealed::Sealed + Copy + Send + Sync + PartialEq + fmt::Debug + 'static {
    /// The dtype of this type.
    const DTYPE: DType;
    /// The value as a [`Scalar`].
    fn to_scalar(self) -> Scalar;
    /// The value of a scalar of exactly this dtype.
    fn from_scalar(scalar: Scalar) -> Self;
}

macro_rules! element {
    ($($type:ty => $dtype:ident, $to:expr, $from:expr;)*) => {$(
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            fn to_scalar(self) -> Scalar {
                let to: fn($type) -> [u64; 2] = $to;
                Scalar { dtype: DType::$dtype, bits: to(self) }
            }
            fn from_scalar(scalar: Scalar) -> Self {
                debug_assert_eq!(scalar.dtype, DType::$dtype);
                let from: fn([u64; 2]) -> $type = $from;
                from(scalar.bits)
            }
        }
    )*};
}

macro_rules! sealed {
    ($($type:ty)*) => {$(impl sealed::Sealed for $type {})*};
}

macro_rules! sealed_float {
    ($($type:ident $nan:literal $infinity:literal;)*) => {$(
        impl sealed::Sealed for $type {
            #[inline(always)]
            fn settled(self) -> $type {
                // On bits: as floats, one NaN is as good as another, and the compiler may keep the one that is there.
                let bits = self.to_bits();
                $type::from_bits(if bits << 1 > $infinity << 1 { $nan } else { bits })
            }
        }
    )*};
}

sealed!(bool i8 i16 i32 i64 u8 u16 u32 u64);
sealed_float! {
    f16 0x7e00 0x7c00u16;
    bf16 0x7fc0 0x7f80u16;
    f32 0x7fc0_0000 0x7f80_0000u32;
    f64 0x7ff8_0000_0000_0000 0x7ff0_0000_0000_0000u64;
}

impl<T: sealed::Sealed> sealed::Sealed for Complex<T> {
    #[inline(always)]
    fn settled(self) -> Complex<T> {
        Complex::new(self.re.settled(), self.im.settled())
    }
}

element! {
    bool => Bool, |v| [v as u64, 0], |b| b[0] != 0;
    i8 => I8, |v| [v as u8 as u64, 0], |b| b[0] as i8;
    i16 => I16, |v| [v as u16 as u64, 0], |b| b[0] as i16;
    i32 => I32, |v| [v as u32 as u64, 0], |b| b[0] as i32;
    i64 => I64, |v| [v as u64, 0], |b| b[0] as i64;
    u8 => U8, |v| [v as u64, 0], |b| b[0] as u8;
    u16 => U16, |v| [v as u64, 0], |b| b[0] as u16;
    u32 => U32, |v| [v as u64, 0], |b| b[0] as u32;
    u64 => U64, |v| [v, 0], |b| b[0];
    f16 => F16, |v| [v.to_bits() as u64, 0], |b| f16::from_bits(b[0] as u16);
    bf16 => BF16, |v| [v.to_bits() as u64, 0], |b| bf16::from_bits(b[0] as u16);
    f32 => F32, |v| [v.to_bits() as u64, 0], |b| f32::from_bits(b[0] as u32);
    f64 => F64, |v| [v.to_bits(), 0], |b| f64::from_bits(b[0]);
    Complex<f32> => C64, |v| [v.re.to_bits() as u64, v.im.to_bits() as u64],
        |b| Complex::new(f32::from_bits(b[0] as u32), f32::from_bits(b[1] as u32));
    Complex<f64> => C128, |v| [v.re.to_bits(), v.im.to_bits()],
        |b| Complex::new(f64::from_bits(b[0]), f64::from_bits(b[1]));
}

/// One value with its dtype; equality is equality of bits.
///
/// ```
/// use crossover_core::{DType, Element, Scalar};
/// let half = 2.5f64.to_scalar();
/// assert_eq!((half.dtype(), half.get::<f64>(), half.get::<f32>()), (DType::F64, Some(2.5), None));
/// assert_eq!(half.cast(DType::I8), Scalar::from_bits(DType::I8, [2, 0]));
/// assert_eq!(Scalar::one(DType::U8).bits(), [1, 0]);
/// let mut bytes = [9; 2];
/// Scalar::zero(DType::F16).write_to(&mut bytes);
/// assert_eq!(Scalar::read_from(DType::F16, &bytes), Scalar::zero(DType::F16));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scalar {
    dtype: DType,
    /// Real part (or the whole value, zero-extended) and imaginary part.
    bits: [u64; 2],
}

impl Scalar {
    /// The dtype of the value.
    pub fn dtype(self) -> DType {
        self.dtype
    }

    /// A value from its raw bits, as [`Scalar::bits`] gives them.
    pub fn from_bits(dtype: DType, bits: [u64; 2]) -> Scalar {
        let width = dtype.real().size() * 8;
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        Scalar { dtype, bits: [bits[0] & mask, if dtype.is_complex() { bits[1] & mask } else { 0 }] }
    }

    /// Raw bits: real part or whole value, and imaginary part.
    pub fn bits(self) -> [u64; 2] {
        self.bits
    }

    /// Zero of a dtype.
    pub fn zero(dtype: DType) -> Scalar {
        Scalar { dtype, bits: [0, 0] }
    }

    /// One of a dtype.
    pub fn one(dtype: DType) -> Scalar {
        Number::Int(1).to_scalar(dtype)
    }

    /// The value of a Rust type, if this is exactly that dtype.
    pub fn get<T: Element>(self) -> Option<T> {
        (self.dtype == T::DTYPE).then(|| T::from_scalar(self))
    }

    /// The value converted to another dtype by the rules of `cast`.
    pub fn cast(self, dtype: DType) -> Scalar {
        cast::scalar(self, dtype)
    }

    /// Writes the value in its memory form.
    pub fn write_to(self, out: &mut [u8]) {
        let part = self.dtype.real().size();
        out[..part].copy_from_slice(&self.bits[0].to_le_bytes()[..part]);
        if self.dtype.is_complex() {
            out[part..2 * part].copy_from_slice(&self.bits[1].to_le_bytes()[..part]);
        }
    }

    /// Reads a value from its memory form.
    pub fn read_from(dtype: DType, bytes: &[u8]) -> Scalar {
        let part = dtype.real().size();
        let word = |from: usize| {
            let mut raw = [0; 8];
            raw[..part].copy_from_slice(&bytes[from..from + part]);
            u64::from_le_bytes(raw)
        };
        Scalar { dtype, bits: [word(0), if dtype.is_complex() { word(part) } else { 0 }] }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let real = |bits: u64| match self.dtype.real() {
            DType::Bool => (bits != 0).to_string(),
            DType::I8 => (bits as i8).to_string(),
            DType::I16 => (bits as i16).to_string(),
            DType::I32 => (bits as i32).to_string(),
            DType::I64 => (bits as i64).to_string(),
            DType::F16 => format!("{:?}", f16::from_bits(bits as u16).to_f32()),
            DType::BF16 => format!("{:?}", bf16::from_bits(bits as u16).to_f32()),
            DType::F32 => format!("{:?}", f32::from_bits(bits as u32)),
            DType::F64 => format!("{:?}", f64::from_bits(bits)),
            _ => bits.to_string(),
        };
        f.write_str(&real(self.bits[0]))?;
        if self.dtype.is_complex() {
            let imaginary = real(self.bits[1]);
            let plus = if imaginary.starts_with('-') { "" } else { "+" };
            write!(f, "{plus}{imaginary}j")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.dtype, self)
    }
}

/// A host number before it meets an array: its kind is known, its width is not.
///
/// ```
/// use crossover_core::{DType, Kind, Number};
/// let number = Number::from(300);
/// assert_eq!((number.kind(), number.default_dtype()), (Kind::Int, DType::I64));
/// assert!(number.overflows(DType::U8));
/// assert_eq!(number.to_scalar(DType::I16).get::<i16>(), Some(300));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A boolean.
    Bool(bool),
    /// An integer of any Rust width.
    Int(i128),
    /// A real number.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
}

impl Number {
    /// The kind that promotion looks at.
    pub fn kind(self) -> Kind {
        match self {
            Number::Bool(_) => Kind::Bool,
            Number::Int(_) => Kind::Int,
            Number::Float(_) => Kind::Float,
            Number::Complex(..) => Kind::Complex,
        }
    }

    /// The dtype of an array made from this number alone.
    pub fn default_dtype(self) -> DType {
        match self {
            Number::Bool(_) => DType::Bool,
            Number::Int(v) if v > i64::MAX as i128 => DType::U64,
            Number::Int(_) => DType::I64,
            Number::Float(_) => DType::F64,
            Number::Complex(..) => DType::C128,
        }
    }

    /// Whether the number is an integer outside the range of an integer dtype.
    pub fn overflows(self, dtype: DType) -> bool {
        let Number::Int(v) = self else { return false };
        let bits = dtype.size() as u32 * 8;
        if dtype.is_signed_int() {
            v < -(1i128 << (bits - 1)) || v >= 1i128 << (bits - 1)
        } else {
            dtype.is_unsigned_int() && (v < 0 || v >= 1i128 << bits)
        }
    }

    /// The number as a value of `dtype`; integers wrap, reals round to nearest.
    pub fn to_scalar(self, dtype: DType) -> Scalar {
        match self {
            Number::Bool(v) => v.to_scalar().cast(dtype),
            Number::Int(v) if dtype == DType::U64 || v > i64::MAX as i128 => {
                (v as u64).to_scalar().cast(dtype)
            }
            Number::Int(v) => (v as i64).to_scalar().cast(dtype),
            Number::Float(v) => v.to_scalar().cast(dtype),
            Number::Complex(re, im) => Complex::new(re, im).to_scalar().cast(dtype),
        }
    }
}

macro_rules! number_from {
    ($($type:ty => $variant:ident,)*) => {$(
        impl From<$type> for Number {
            fn from(value: $type) -> Number {
                Number::$variant(value.into())
            }
        }
    )*};
}

number_from! {
    bool => Bool,
    i8 => Int, i16 => Int, i32 => Int, i64 => Int,
    u8 => Int, u16 => Int, u32 => Int, u64 => Int,
    f32 => Float, f64 => Float, f16 => Float, bf16 => Float,
}

impl From<usize> for Number {
    fn from(value: usize) -> Number {
        Number::Int(value as i128)
    }
}

impl From<Complex<f32>> for Number {
    fn from(value: Complex<f32>) -> Number {
        Number::Complex(value.re.into(), value.im.into())
    }
}

impl From<Complex<f64>> for Number {
    fn from(value: Complex<f64>) -> Number {
        Number::Complex(value.re, value.im)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_form_round_trips() {
        for dtype in DType::ALL {
            let value = Scalar::one(dtype);
            let mut bytes = [0; 16];
            value.write_to(&mut bytes);
            assert_eq!(Scalar::read_from(dtype, &bytes), value);
        }
    }

    #[test]
    fn numbers_know_what_they_overflow() {
        assert!(Number::from(300).overflows(DType::I8));
        assert!(Number::from(-1).overflows(DType::U64));
        assert!(!Number::from(255u8).overflows(DType::U8));
        assert!(!Number::from(u64::MAX).overflows(DType::U64));
        assert!(!Number::from(1e300).overflows(DType::I8));
    }

    #[test]
    fn complex_values_print_both_parts() {
        assert_eq!(Complex::new(1.5f32, -2.0).to_scalar().to_string(), "1.5-2.0j");
        assert_eq!(Complex::new(0.0f64, 1.0).to_scalar().to_string(), "0.0+1.0j");
    }
}

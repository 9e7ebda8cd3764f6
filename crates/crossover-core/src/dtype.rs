//! Element types and how they promote.
//!
//! Promotion between arrays follows the Python Array API standard where it speaks and NumPy 2 where it is
//! silent (mixed integer and float kinds, `u64` with signed). Host scalars are weak: they never widen an array
//! of their own kind or a higher one.

use std::fmt;

/// The type of one element.
///
/// ```
/// use crossover_core::{DType, Kind};
/// assert_eq!((DType::C64.kind(), DType::C64.real(), DType::C64.is_complex()), (Kind::Complex, DType::F32, true));
/// assert_eq!((DType::BF16.compute(), DType::BF16.is_half(), DType::BF16.is_float()), (DType::F32, true, true));
/// assert!(DType::U8.is_int() && DType::U8.is_unsigned_int() && !DType::U8.is_signed_int());
/// assert_eq!(DType::from_name("f16"), Some(DType::F16));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    /// True or false, one byte holding 1 or 0.
    Bool,
    /// Signed 8-bit integer.
    I8,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of an IEEE 754 binary32.
    BF16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Two `f32`: real and imaginary part.
    C64,
    /// Two `f64`: real and imaginary part.
    C128,
}

/// The family an element type belongs to, in promotion order.
///
/// ```
/// use crossover_core::{DType, Kind};
/// assert!(Kind::Bool < Kind::Int && Kind::Float < Kind::Complex);
/// assert_eq!(DType::U16.kind(), Kind::Int);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Booleans.
    Bool,
    /// Signed and unsigned integers.
    Int,
    /// Real floating point.
    Float,
    /// Complex floating point.
    Complex,
}

impl DType {
    /// Every dtype, in declaration order.
    pub const ALL: [DType; 15] = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];

    /// Bytes of one element.
    ///
    /// ```
    /// assert_eq!(crossover_core::DType::C64.size(), 8);
    /// ```
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::C64 => 8,
            DType::C128 => 16,
        }
    }

    /// The family of this dtype.
    pub const fn kind(self) -> Kind {
        match self {
            DType::Bool => Kind::Bool,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Kind::Float,
            DType::C64 | DType::C128 => Kind::Complex,
            _ => Kind::Int,
        }
    }

    /// Whether this is a signed integer.
    pub const fn is_signed_int(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }

    /// Whether this is an unsigned integer.
    pub const fn is_unsigned_int(self) -> bool {
        matches!(self, DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }

    /// Whether this is a real floating-point dtype.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// Whether this is an integer dtype, signed or not.
    pub const fn is_int(self) -> bool {
        matches!(self.kind(), Kind::Int)
    }

    /// Whether this is a complex dtype.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }

    /// Whether this is a 16-bit float: stored narrow, computed in `f32`, rounded after every node.
    pub const fn is_half(self) -> bool {
        matches!(self, DType::F16 | DType::BF16)
    }

    /// The dtype its arithmetic is carried out in: `f32` for 16-bit floats, itself otherwise.
    pub const fn compute(self) -> DType {
        if self.is_half() { DType::F32 } else { self }
    }

    /// The real dtype of a complex one; any other dtype unchanged.
    pub const fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// The complex dtype of a real one; `f64`'s for what is neither 16-bit nor `f32`, complex dtypes unchanged.
    ///
    /// ```
    /// use crossover_core::DType;
    /// assert_eq!(DType::F32.complex(), DType::C64);
    /// assert_eq!(DType::I8.complex(), DType::C128);
    /// ```
    pub const fn complex(self) -> DType {
        match self {
            DType::F16 | DType::BF16 | DType::F32 | DType::C64 => DType::C64,
            _ => DType::C128,
        }
    }

    /// The name used in text, documentation and messages.
    ///
    /// ```
    /// assert_eq!(crossover_core::DType::BF16.name(), "bf16");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::C64 => "c64",
            DType::C128 => "c128",
        }
    }

    /// The dtype with this name.
    pub fn from_name(name: &str) -> Option<DType> {
        Self::ALL.into_iter().find(|d| d.name() == name)
    }

    /// The dtype that holds values of both operands.
    ///
    /// ```
    /// use crossover_core::DType;
    /// assert_eq!(DType::U8.promote(DType::I8), DType::I16);
    /// assert_eq!(DType::I32.promote(DType::F32), DType::F64); // as NumPy does
    /// assert_eq!(DType::F16.promote(DType::BF16), DType::F32);
    /// ```
    pub fn promote(self, other: DType) -> DType {
        if self == other {
            return self;
        }
        let (low, high) = if self.kind() <= other.kind() { (self, other) } else { (other, self) };
        match (low.kind(), high.kind()) {
            (Kind::Bool, _) => high,
            (Kind::Int, Kind::Int) => promote_ints(low, high),
            (Kind::Int, Kind::Float) => promote_floats(float_for_int(low, high), high),
            (Kind::Int, _) => promote_complex(float_for_int(low, high.real()), high),
            (Kind::Float, Kind::Float) => promote_floats(low, high),
            _ => promote_complex(low.real(), high),
        }
    }

    /// The dtype of an operation between an array of this dtype and a host scalar of `kind`.
    ///
    /// ```
    /// use crossover_core::{DType, Kind};
    /// assert_eq!(DType::F32.with_scalar(Kind::Int), DType::F32);
    /// assert_eq!(DType::I8.with_scalar(Kind::Float), DType::F64);
    /// ```
    pub fn with_scalar(self, kind: Kind) -> DType {
        if kind <= self.kind() {
            return self;
        }
        match (kind, self) {
            (Kind::Int, _) => DType::I64,
            (Kind::Float, _) => DType::F64,
            (Kind::Complex, DType::F16 | DType::BF16 | DType::F32) => DType::C64,
            _ => DType::C128,
        }
    }
}

fn promote_ints(a: DType, b: DType) -> DType {
    if a.is_signed_int() == b.is_signed_int() {
        return if a.size() >= b.size() { a } else { b };
    }
    let (signed, unsigned) = if a.is_signed_int() { (a, b) } else { (b, a) };
    if signed.size() > unsigned.size() {
        return signed;
    }
    match unsigned {
        DType::U8 => DType::I16,
        DType::U16 => DType::I32,
        DType::U32 => DType::I64,
        _ => DType::F64,
    }
}

/// The float that holds every value of `int`, of the same 16-bit flavour as `float` where that is enough.
fn float_for_int(int: DType, float: DType) -> DType {
    match (int.size(), float) {
        (1, DType::BF16) => DType::BF16,
        (1, _) => DType::F16,
        (2, _) => DType::F32,
        _ => DType::F64,
    }
}

fn promote_floats(a: DType, b: DType) -> DType {
    match (a, b) {
        _ if a == b => a,
        (DType::F64, _) | (_, DType::F64) => DType::F64,
        _ => DType::F32,
    }
}

fn promote_complex(real: DType, complex: DType) -> DType {
    if real == DType::F64 || complex == DType::C128 { DType::C128 } else { DType::C64 }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of dtypes, as op files declare it.
///
/// ```
/// use crossover_core::{DType, DTypeSet};
/// let few = DTypeSet::of(&[DType::F32]).or(DTypeSet::BOOL);
/// assert!(few.contains(DType::Bool) && !few.contains(DType::F64));
/// assert_eq!(few.iter().count(), 2);
/// assert_eq!(few.to_string(), "bool, f32");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DTypeSet(u16);

impl DTypeSet {
    /// Every dtype.
    pub const ALL: DTypeSet = DTypeSet(0x7fff);
    /// Booleans.
    pub const BOOL: DTypeSet = DTypeSet(1);
    /// Integers of every width and sign.
    pub const INT: DTypeSet = DTypeSet(0x01fe);
    /// Signed integers of every width.
    pub const SIGNED_INT: DTypeSet = DTypeSet(0x001e);
    /// Unsigned integers of every width.
    pub const UNSIGNED_INT: DTypeSet = DTypeSet(0x01e0);
    /// Real floats of every width.
    pub const FLOAT: DTypeSet = DTypeSet(0x1e00);
    /// The real floats that are computed in their own width.
    pub const FLOAT32_64: DTypeSet = DTypeSet(0x1800);
    /// Both complex dtypes.
    pub const COMPLEX: DTypeSet = DTypeSet(0x6000);
    /// Integers and real floats.
    pub const REAL: DTypeSet = Self::INT.or(Self::FLOAT);
    /// Integers, real floats and complex numbers.
    pub const NUMBER: DTypeSet = Self::REAL.or(Self::COMPLEX);

    /// The set of these dtypes.
    pub const fn of(dtypes: &[DType]) -> DTypeSet {
        let (mut bits, mut i) = (0, 0);
        while i < dtypes.len() {
            bits |= 1 << dtypes[i] as u8;
            i += 1;
        }
        DTypeSet(bits)
    }

    /// The union of two sets.
    pub const fn or(self, other: DTypeSet) -> DTypeSet {
        DTypeSet(self.0 | other.0)
    }

    /// Whether the set holds `dtype`.
    pub const fn contains(self, dtype: DType) -> bool {
        self.0 & (1 << dtype as u8) != 0
    }

    /// The members, in declaration order.
    pub fn iter(self) -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(move |&d| self.contains(d))
    }
}

impl fmt::Display for DTypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(DType::name).collect();
        f.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_is_commutative_and_idempotent() {
        for a in DType::ALL {
            assert_eq!(a.promote(a), a);
            for b in DType::ALL {
                assert_eq!(a.promote(b), b.promote(a), "{a} {b}");
            }
        }
    }

    #[test]
    fn promotion_agrees_with_numpy() {
        let cases = [
            (DType::I8, DType::U8, DType::I16),
            (DType::I64, DType::U64, DType::F64),
            (DType::I16, DType::F16, DType::F32),
            (DType::U8, DType::F16, DType::F16),
            (DType::I64, DType::F32, DType::F64),
            (DType::I64, DType::C64, DType::C128),
            (DType::F64, DType::C64, DType::C128),
            (DType::Bool, DType::F16, DType::F16),
        ];
        for (a, b, want) in cases {
            assert_eq!(a.promote(b), want, "{a} {b}");
        }
    }

    #[test]
    fn sets_list_their_members() {
        assert_eq!(DTypeSet::FLOAT.to_string(), "f16, bf16, f32, f64");
        assert_eq!(DTypeSet::ALL.iter().count(), 15);
        assert_eq!(DTypeSet::INT.iter().count(), 8);
    }
}

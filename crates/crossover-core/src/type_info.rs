//! What a dtype can hold and where it may go: the standard's `finfo`, `iinfo`, `can_cast`, `result_type` and `isdtype`.

use crate::{DType, DTypeSet, Error, Kind, Result};

/// The range and the precision of a float dtype; complex dtypes have those of their parts. Every value is exact in `f64`.
///
/// ```
/// use crossover_core::DType;
/// let half = DType::F16.finfo()?;
/// assert_eq!((half.bits, half.max, half.min), (16, 65504.0, -65504.0));
/// assert_eq!(half.smallest_normal, 2f64.powi(-14));
/// # Ok::<(), crossover_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloatInfo {
    /// The real dtype that is described.
    pub dtype: DType,
    /// Bits of one number.
    pub bits: usize,
    /// Distance from 1 to the next larger number.
    pub eps: f64,
    /// Largest finite number.
    pub max: f64,
    /// Smallest finite number, `-max`.
    pub min: f64,
    /// Smallest positive number of full precision.
    pub smallest_normal: f64,
}

/// The range of an integer dtype.
///
/// ```
/// use crossover_core::DType;
/// let bytes = DType::I8.iinfo()?;
/// assert_eq!((bytes.bits, bytes.min, bytes.max), (8, -128, 127));
/// # Ok::<(), crossover_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntInfo {
    /// The dtype that is described.
    pub dtype: DType,
    /// Bits of one number.
    pub bits: usize,
    /// Largest number.
    pub max: i128,
    /// Smallest number.
    pub min: i128,
}

impl DType {
    /// Range and precision of a float dtype, or of the parts of a complex one.
    ///
    /// ```
    /// use crossover_core::DType;
    /// assert_eq!(DType::C64.finfo()?.eps, f32::EPSILON as f64);
    /// assert!(DType::I32.finfo().is_err());
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn finfo(self) -> Result<FloatInfo> {
        let dtype = self.real();
        let (digits, most) = match dtype {
            DType::F16 => (10, 15),
            DType::BF16 => (7, 127),
            DType::F32 => (23, 127),
            DType::F64 => (52, 1023),
            _ => {
                let supported = DTypeSet::FLOAT.or(DTypeSet::COMPLEX).to_string();
                return Err(Error::DType { op: "finfo", dtype: self, supported });
            }
        };
        let eps = 2f64.powi(-digits);
        let max = (2.0 - eps) * 2f64.powi(most);
        let smallest_normal = 2f64.powi(1 - most);
        Ok(FloatInfo { dtype, bits: dtype.size() * 8, eps, max, min: -max, smallest_normal })
    }

    /// Range of an integer dtype.
    ///
    /// ```
    /// use crossover_core::DType;
    /// assert_eq!(DType::U64.iinfo()?.max, u64::MAX as i128);
    /// assert!(DType::Bool.iinfo().is_err());
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn iinfo(self) -> Result<IntInfo> {
        if !self.is_int() {
            return Err(Error::DType { op: "iinfo", dtype: self, supported: DTypeSet::INT.to_string() });
        }
        let bits = self.size() * 8;
        let (min, max) = if self.is_signed_int() {
            (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        } else {
            (0, (1i128 << bits) - 1)
        };
        Ok(IntInfo { dtype: self, bits, max, min })
    }

    /// Whether promotion alone leads from this dtype to another. `astype` converts more than that.
    ///
    /// ```
    /// use crossover_core::DType;
    /// assert!(DType::I16.can_cast(DType::F32));
    /// assert!(!DType::I32.can_cast(DType::F32) && !DType::F64.can_cast(DType::I64));
    /// ```
    pub fn can_cast(self, to: DType) -> bool {
        self.promote(to) == to
    }

    /// The dtype that all of these promote to; there must be at least one. Host numbers come after it, by
    /// [`with_scalar`](DType::with_scalar).
    ///
    /// ```
    /// use crossover_core::{DType, Kind};
    /// assert_eq!(DType::result_type([DType::U8, DType::I8, DType::F16])?, DType::F32);
    /// assert_eq!(DType::result_type([DType::I16])?.with_scalar(Kind::Float), DType::F64);
    /// assert!(DType::result_type([]).is_err());
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn result_type(dtypes: impl IntoIterator<Item = DType>) -> Result<DType> {
        dtypes.into_iter().reduce(DType::promote).ok_or_else(|| Error::Value {
            op: "result_type",
            what: "no dtype is given; there must be at least one".to_string(),
        })
    }

    /// Whether this is one of some dtypes: a [`DTypeSet`], a [`Kind`], or one dtype.
    ///
    /// ```
    /// use crossover_core::{DType, DTypeSet, Kind};
    /// assert!(DType::BF16.isdtype(Kind::Float) && DType::U8.isdtype(DTypeSet::UNSIGNED_INT));
    /// assert!(DType::I8.isdtype(DTypeSet::NUMBER) && !DType::Bool.isdtype(DTypeSet::NUMBER));
    /// assert!(DType::F32.isdtype(DType::F32));
    /// ```
    pub fn isdtype(self, dtypes: impl Into<DTypeSet>) -> bool {
        dtypes.into().contains(self)
    }
}

impl From<DType> for DTypeSet {
    fn from(dtype: DType) -> DTypeSet {
        DTypeSet::of(&[dtype])
    }
}

impl From<Kind> for DTypeSet {
    fn from(kind: Kind) -> DTypeSet {
        match kind {
            Kind::Bool => DTypeSet::BOOL,
            Kind::Int => DTypeSet::INT,
            Kind::Float => DTypeSet::FLOAT,
            Kind::Complex => DTypeSet::COMPLEX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_types() -> Result<()> {
        let of = |dtype: DType| dtype.finfo().map(|i| (i.eps, i.max, i.min, i.smallest_normal));
        let f32 = (f32::EPSILON as f64, f32::MAX as f64, f32::MIN as f64, f32::MIN_POSITIVE as f64);
        assert_eq!(of(DType::F32)?, f32);
        assert_eq!(of(DType::F64)?, (f64::EPSILON, f64::MAX, f64::MIN, f64::MIN_POSITIVE));
        let f16 = [half::f16::EPSILON, half::f16::MAX, half::f16::MIN, half::f16::MIN_POSITIVE];
        assert_eq!(of(DType::F16)?, f16.map(f64::from).into());
        let bf16 = [half::bf16::EPSILON, half::bf16::MAX, half::bf16::MIN, half::bf16::MIN_POSITIVE];
        assert_eq!(of(DType::BF16)?, bf16.map(f64::from).into());
        let ints = [DType::I8, DType::I64, DType::U16].map(|d| d.iinfo().map(|i| (i.min, i.max)));
        assert_eq!(ints[0].clone()?, (i8::MIN.into(), i8::MAX.into()));
        assert_eq!(ints[1].clone()?, (i64::MIN.into(), i64::MAX.into()));
        assert_eq!(ints[2].clone()?, (0, u16::MAX.into()));
        Ok(())
    }

    #[test]
    fn casts_that_promotion_allows_lose_nothing_and_kinds_are_sets() {
        for from in DType::ALL {
            assert!(from.can_cast(from) && DType::Bool.can_cast(from));
            assert!(from.isdtype(from.kind()) && from.isdtype(from));
            assert_eq!(from.isdtype(DTypeSet::SIGNED_INT), from.is_signed_int());
            assert_eq!(from.isdtype(DTypeSet::UNSIGNED_INT), from.is_unsigned_int());
        }
        assert!(!DType::U64.can_cast(DType::I64) && DType::U32.can_cast(DType::I64));
        assert!(DType::F32.can_cast(DType::C64) && !DType::C64.can_cast(DType::F64));
    }
}

//! Elementwise ops on single values: the same bodies as on every device, one value at a time.

use num_complex::Complex;

use crate::{
    DType, Element, Scalar,
    lane::FloatLane,
    ops::{
        Apply1, Apply2, Apply3, ApplyCompare, ApplyPart, Binary, Compare, MapOp, NanRule, Part, Ternary,
        Truth, Unary, cast,
    },
};

/// An elementwise op on values in their memory dtype.
///
/// 16-bit floats are computed in `f32` and rounded once. A NaN result is canonical unless the op's rule is
/// [`NanRule::Exact`].
///
/// ```
/// use crossover_core::{Element, ops::MapOp, reference};
/// let sum = reference::map(MapOp::Add, &[1.5f32.to_scalar(), 2.0f32.to_scalar()]);
/// assert_eq!(sum.get(), Some(3.5f32));
/// ```
///
/// # Panics
/// If the number of values is not the op's arity, or their dtype is not one that it supports. A graph that passes
/// the verifier asks for neither.
pub fn map(op: MapOp, args: &[Scalar]) -> Scalar {
    let dtype = args[0].dtype();
    assert_eq!(args.len(), op.arity(), "operands of {op}");
    assert!(args.iter().all(|a| a.dtype() == dtype), "operands of {op} have one dtype");
    let held: [Scalar; 3] = std::array::from_fn(|i| cast::hold(args[i.min(args.len() - 1)]));
    let value = body(op, &held);
    let exact = op.info().nan == NanRule::Exact;
    // Results of comparisons have their own dtype; all others have the operands' or its real part.
    let to = if dtype.is_half() && value.dtype() == DType::F32 { dtype } else { value.dtype() };
    match (to.is_half(), exact) {
        (true, true) => narrow_exact(value, to),
        (true, false) => cast::release(value, to),
        (false, true) => value,
        (false, false) => canonical(value),
    }
}

/// The value, with every NaN replaced by the canonical one of its dtype, in both parts of a complex value.
pub fn canonical(value: Scalar) -> Scalar {
    let [re, im] = value.bits();
    let narrow = |bits: u64| FloatLane::canonical(f32::from_bits(bits as u32)).to_bits() as u64;
    let wide = |bits: u64| FloatLane::canonical(f64::from_bits(bits)).to_bits();
    let bits = match value.dtype() {
        DType::F16 | DType::BF16 => return cast::release(cast::hold(value), value.dtype()),
        DType::F32 => [narrow(re), 0],
        DType::C64 => [narrow(re), narrow(im)],
        DType::F64 => [wide(re), 0],
        DType::C128 => [wide(re), wide(im)],
        _ => return value,
    };
    Scalar::from_bits(value.dtype(), bits)
}

/// Sign and bit ops of a 16-bit float: the `f32` is a 16-bit value already, and a NaN keeps sign and payload.
fn narrow_exact(value: Scalar, dtype: DType) -> Scalar {
    let x = f32::from_bits(value.bits()[0] as u32);
    let bits = if dtype == DType::BF16 { cast::narrow_bf16(x) } else { cast::narrow_f16(x) };
    Scalar::from_bits(dtype, [bits as u64, 0])
}

/// The Rust type that bodies take for a dtype that is held.
trait Held: Copy {
    fn of(value: Scalar) -> Self;
    fn scalar(self) -> Scalar;
}

macro_rules! held {
    ($($type:ty)*) => {$(
        impl Held for $type {
            fn of(value: Scalar) -> Self { <$type as Element>::from_scalar(value) }
            fn scalar(self) -> Scalar { self.to_scalar() }
        }
    )*};
}

held!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 Complex<f32> Complex<f64>);

impl Held for Truth {
    fn of(value: Scalar) -> Truth {
        Truth(value.bits()[0] as u8)
    }
    fn scalar(self) -> Scalar {
        Scalar::from_bits(DType::Bool, [self.0 as u64, 0])
    }
}

/// Calls a generic function with an op and the Rust type of the operands' held dtype.
macro_rules! by_dtype {
    ($go:ident, $op:ty, $args:ident, [$($dtype:ident $type:ty),*]) => {
        match $args[0].dtype() {
            $(DType::$dtype => $go::<$op, $type>($args),)*
            other => unreachable!("{other} passed the dtype check"),
        }
    };
    (real $go:ident, $op:ty, $args:ident $(, $dtype:ident $type:ty)*) => {
        by_dtype!($go, $op, $args, [
            I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64
            $(, $dtype $type)*
        ])
    };
    (all $go:ident, $op:ty, $args:ident) => {
        by_dtype!(real $go, $op, $args, Bool Truth, C64 Complex<f32>, C128 Complex<f64>)
    };
}

fn unary<O: Unary + Apply1<T>, T: Held>(args: &[Scalar]) -> Scalar {
    O::value(T::of(args[0])).scalar()
}

fn binary<O: Binary + Apply2<T>, T: Held>(args: &[Scalar]) -> Scalar {
    O::apply(T::of(args[0]), T::of(args[1])).scalar()
}

fn ternary<O: Ternary + Apply3<T>, T: Held>(args: &[Scalar]) -> Scalar {
    O::apply(T::of(args[0]), T::of(args[1]), T::of(args[2])).scalar()
}

fn compare<O: Compare + ApplyCompare<T>, T: Held>(args: &[Scalar]) -> Scalar {
    O::apply(T::of(args[0]), T::of(args[1])).scalar()
}

fn part<O: Part + ApplyPart<T, Real: Held>, T: Held>(args: &[Scalar]) -> Scalar {
    O::apply(T::of(args[0])).scalar()
}

macro_rules! dispatch {
    (unary $op:ty, $args:ident) => { by_dtype!(all unary, $op, $args) };
    (binary $op:ty, $args:ident) => { by_dtype!(all binary, $op, $args) };
    (compare $op:ty, $args:ident) => { by_dtype!(all compare, $op, $args) };
    (ternary $op:ty, $args:ident) => { by_dtype!(real ternary, $op, $args) };
    (part $op:ty, $args:ident) => { by_dtype!(part, $op, $args, [C64 Complex<f32>, C128 Complex<f64>]) };
}

macro_rules! define_body {
    ($($class:ident $op:ident $module:ident;)*) => {
        fn body(op: MapOp, args: &[Scalar]) -> Scalar {
            match op {
                $(MapOp::$op => dispatch!($class crate::ops::$module::$op, args),)*
            }
        }
    };
}

crate::for_each_op!(define_body);

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    fn bits(dtype: DType, bits: u64) -> Scalar {
        Scalar::from_bits(dtype, [bits, 0])
    }

    #[test]
    fn every_op_has_a_value_for_every_dtype_it_supports() {
        for &op in MapOp::ALL {
            for dtype in op.info().dtypes.iter() {
                let args = vec![Scalar::one(dtype); op.arity()];
                assert_eq!(map(op, &args).dtype(), op.result(dtype).unwrap(), "{op} {dtype}");
            }
        }
    }

    #[test]
    fn sixteen_bit_results_are_rounded_once_from_f32() {
        let (a, b) = (f16::from_f32(2048.0).to_scalar(), f16::from_f32(1.0).to_scalar());
        assert_eq!(map(MapOp::Add, &[a, b]).get(), Some(f16::from_f32(2048.0)));
        let (a, b) = (bf16::from_f32(256.0).to_scalar(), bf16::from_f32(3.0).to_scalar());
        assert_eq!(map(MapOp::Add, &[a, b]).get(), Some(bf16::from_f32(260.0)));
    }

    #[test]
    fn arithmetic_makes_nan_canonical() {
        for (dtype, nan, want) in [
            (DType::F16, 0xfe01, 0x7e00),
            (DType::BF16, 0xff81, 0x7fc0),
            (DType::F32, 0xffc0_1234, 0x7fc0_0000),
            (DType::F64, 0xfff8_0000_0000_0001, 0x7ff8_0000_0000_0000),
        ] {
            let sum = map(MapOp::Add, &[bits(dtype, nan), Scalar::one(dtype)]);
            assert_eq!(sum, bits(dtype, want), "{dtype}");
            assert_eq!(canonical(bits(dtype, nan)), bits(dtype, want), "{dtype}");
        }
    }

    #[test]
    fn sign_ops_keep_nan_payloads_in_every_width() {
        for (dtype, nan, sign) in [
            (DType::F16, 0x7c01, 0x8000),
            (DType::BF16, 0x7f81, 0x8000),
            (DType::F32, 0x7f80_0001, 0x8000_0000),
            (DType::F64, 0x7ff0_0000_0000_0001, 1 << 63),
        ] {
            let negative = map(MapOp::Negative, &[bits(dtype, nan)]);
            assert_eq!(negative, bits(dtype, nan | sign), "{dtype}");
            assert_eq!(map(MapOp::Abs, &[negative]), bits(dtype, nan), "{dtype}");
        }
    }
}

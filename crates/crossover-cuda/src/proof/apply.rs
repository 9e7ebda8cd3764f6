//! Any op on any dtype, over slices of raw bits: the bodies of `crossover-core`, one element at a time.

use crossover_core::{
    DType, for_each_op,
    ops::{
        Apply1, Apply2, Apply3, ApplyCompare, ApplyPart, Binary, Compare, MapOp, Part, Ternary, Truth, Unary,
    },
};
use num_complex::Complex;

/// A value as bits: real part or whole value zero-extended, and imaginary part.
pub type Bits = [u64; 2];

/// A machine value that is made of bits.
pub trait Raw: Copy {
    /// The value of these bits.
    fn of(bits: Bits) -> Self;
    /// The bits of this value.
    fn raw(self) -> Bits;
}

macro_rules! raw {
    ($($type:ty, $of:expr, $raw:expr;)*) => {$(
        impl Raw for $type {
            fn of(bits: Bits) -> Self { let of: fn(Bits) -> $type = $of; of(bits) }
            fn raw(self) -> Bits { let raw: fn($type) -> Bits = $raw; raw(self) }
        }
    )*};
}

raw! {
    Truth, |b| Truth(b[0] as u8), |v| [v.0 as u64, 0];
    i8, |b| b[0] as i8, |v| [v as u8 as u64, 0];
    i16, |b| b[0] as i16, |v| [v as u16 as u64, 0];
    i32, |b| b[0] as i32, |v| [v as u32 as u64, 0];
    i64, |b| b[0] as i64, |v| [v as u64, 0];
    u8, |b| b[0] as u8, |v| [v as u64, 0];
    u16, |b| b[0] as u16, |v| [v as u64, 0];
    u32, |b| b[0] as u32, |v| [v as u64, 0];
    u64, |b| b[0], |v| [v, 0];
    f32, |b| f32::from_bits(b[0] as u32), |v| [v.to_bits() as u64, 0];
    f64, |b| f64::from_bits(b[0]), |v| [v.to_bits(), 0];
    Complex<f32>, |b| Complex::new(f32::from_bits(b[0] as u32), f32::from_bits(b[1] as u32)),
        |v| [v.re.to_bits() as u64, v.im.to_bits() as u64];
    Complex<f64>, |b| Complex::new(f64::from_bits(b[0]), f64::from_bits(b[1])), |v| [v.re.to_bits(), v.im.to_bits()];
}

/// One operand: a value per element, or one for all.
pub type Operand<'a> = &'a [Bits];

fn at(operand: Operand<'_>, i: usize) -> Bits {
    operand[if operand.len() == 1 { 0 } else { i }]
}

/// Applies an op to operands of `dtype` (never a 16-bit float), `count` times.
pub fn apply(op: MapOp, dtype: DType, args: &[Operand<'_>], count: usize) -> Vec<Bits> {
    dispatch(op, dtype, args, count)
}

macro_rules! define_dispatch {
    ($($class:ident $op:ident $module:ident;)*) => {
        fn dispatch(op: MapOp, dtype: DType, args: &[Operand<'_>], count: usize) -> Vec<Bits> {
            match op {
                $(MapOp::$op => $class::<crossover_core::ops::$module::$op>(dtype, args, count),)*
            }
        }
    };
}

for_each_op!(define_dispatch);

/// Expands to a match over the dtypes that registers hold.
macro_rules! by_type {
    ($dtype:expr, $alias:ident => $body:expr) => {
        by_type!(@ $dtype, $alias => $body; Bool Truth, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16,
            U32 u32, U64 u64, F32 f32, F64 f64, C64 Complex<f32>, C128 Complex<f64>)
    };
    (@ $dtype:expr, $alias:ident => $body:expr; $($variant:ident $type:ty),*) => {
        match $dtype {
            $(DType::$variant => { type $alias = $type; $body })*
            DType::F16 | DType::BF16 => unreachable!("registers never hold 16-bit floats"),
        }
    };
}

fn unary<O: Unary>(dtype: DType, args: &[Operand<'_>], count: usize) -> Vec<Bits> {
    by_type!(dtype, T => (0..count).map(|i| <O as Apply1<T>>::value(T::of(at(args[0], i))).raw()).collect())
}

fn binary<O: Binary>(dtype: DType, args: &[Operand<'_>], count: usize) -> Vec<Bits> {
    by_type!(dtype, T => (0..count)
        .map(|i| <O as Apply2<T>>::apply(T::of(at(args[0], i)), T::of(at(args[1], i))).raw())
        .collect())
}

fn compare<O: Compare>(dtype: DType, args: &[Operand<'_>], count: usize) -> Vec<Bits> {
    by_type!(dtype, T => (0..count)
        .map(|i| <O as ApplyCompare<T>>::apply(T::of(at(args[0], i)), T::of(at(args[1], i))).raw())
        .collect())
}

fn ternary<O: Ternary>(dtype: DType, args: &[Operand<'_>], count: usize) -> Vec<Bits> {
    macro_rules! real {
        ($($variant:ident $type:ty),*) => {
            match dtype {
                $(DType::$variant => (0..count)
                    .map(|i| {
                        let [a, b, c] = [0, 1, 2].map(|k| <$type>::of(at(args[k], i)));
                        <O as Apply3<$type>>::apply(a, b, c).raw()
                    })
                    .collect(),)*
                _ => unreachable!("ternary ops are defined for real numbers"),
            }
        };
    }
    real!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
}

fn part<O: Part>(dtype: DType, args: &[Operand<'_>], count: usize) -> Vec<Bits> {
    match dtype {
        DType::C64 => {
            (0..count).map(|i| <O as ApplyPart<Complex<f32>>>::apply(Raw::of(at(args[0], i))).raw()).collect()
        }
        _ => {
            (0..count).map(|i| <O as ApplyPart<Complex<f64>>>::apply(Raw::of(at(args[0], i))).raw()).collect()
        }
    }
}

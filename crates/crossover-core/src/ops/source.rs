//! Ops as CUDA C++ device functions, by running their bodies on text lanes.

use super::{Binary, Compare, MapOp, Part, Ternary, Unary};
use crate::{
    DType,
    lane::{Cx, FloatLane, Function, Lane, Text, TextType},
};

/// The device function of an op for operands of `dtype`, or `None` where the op does not support it.
///
/// 16-bit floats compute in `float`: ask for any of them and round the result. The function is named
/// `xo_{op}_{dtype}` after the dtype it computes in.
///
/// ```
/// use crossover_core::{DType, ops::{MapOp, device_function}};
/// let add = device_function(MapOp::Add, DType::F32).unwrap();
/// assert!(add.source().starts_with("__device__ __forceinline__ float xo_add_f32(float v0, float v1)"));
/// ```
pub fn device_function(op: MapOp, dtype: DType) -> Option<Function> {
    let dtype = dtype.compute();
    if !op.supports(dtype) {
        return None;
    }
    let name = format!("xo_{}_{}", op.name(), dtype);
    Some(dispatch(op, &name, dtype))
}

macro_rules! define_dispatch {
    ($($class:ident $op:ident $module:ident;)*) => {
        fn dispatch(op: MapOp, name: &str, dtype: DType) -> Function {
            match op {
                $(MapOp::$op => $class::<super::$module::$op>(name, dtype),)*
            }
        }
    };
}

crate::for_each_op!(define_dispatch);

/// Expands to a match over dtypes: booleans, floats and complex numbers as given, one arm per integer type.
macro_rules! by_dtype {
    ($dtype:expr, bool $bool:expr, f32 $f32:expr, f64 $f64:expr, c64 $c64:expr, c128 $c128:expr,
     int $alias:ident => $int:expr) => {
        match $dtype {
            DType::Bool => $bool,
            DType::I8 => {
                type $alias = i8;
                $int
            }
            DType::I16 => {
                type $alias = i16;
                $int
            }
            DType::I32 => {
                type $alias = i32;
                $int
            }
            DType::I64 => {
                type $alias = i64;
                $int
            }
            DType::U8 => {
                type $alias = u8;
                $int
            }
            DType::U16 => {
                type $alias = u16;
                $int
            }
            DType::U32 => {
                type $alias = u32;
                $int
            }
            DType::U64 => {
                type $alias = u64;
                $int
            }
            DType::F16 | DType::BF16 | DType::F32 => $f32,
            DType::F64 => $f64,
            DType::C64 => $c64,
            DType::C128 => $c128,
        }
    };
}

fn unary<O: Unary>(name: &str, dtype: DType) -> Function {
    by_dtype!(dtype,
        bool Function::unary(name, |x: Text<u8>| O::boolean(x)),
        f32 if O::RARE {
            Function::unary_with_rare(name, |x: Text<f32>| O::rare_f32(x), |x| O::slow_f32(x), |x| O::f32(x))
        } else {
            Function::unary(name, |x: Text<f32>| O::f32(x))
        },
        f64 if O::RARE {
            Function::unary_with_rare(name, |x: Text<f64>| O::rare_f64(x), |x| O::slow_f64(x), |x| O::f64(x))
        } else {
            Function::unary(name, |x: Text<f64>| O::f64(x))
        },
        c64 complex::<O, f32>(name),
        c128 complex::<O, f64>(name),
        int I => Function::unary(name, |x: Text<I>| O::int(x)))
}

fn complex<O: Unary, T: TextType>(name: &str) -> Function
where
    Text<T>: FloatLane<Mask = Text<bool>>,
{
    if O::RARE_COMPLEX {
        Function::complex_with_rare::<T>(
            name,
            |z| O::rare_complex(z),
            |z| O::slow_complex(z),
            |z| O::complex(z),
        )
    } else {
        Function::complex::<T>(name, 1, |z| O::complex(z[0]))
    }
}

fn binary<O: Binary>(name: &str, dtype: DType) -> Function {
    by_dtype!(dtype,
        bool Function::binary(name, |a: Text<u8>, b: Text<u8>| O::boolean(a, b)),
        f32 Function::binary(name, |a: Text<f32>, b: Text<f32>| O::f32(a, b)),
        f64 Function::binary(name, |a: Text<f64>, b: Text<f64>| O::f64(a, b)),
        c64 Function::complex::<f32>(name, 2, |z| O::complex(z[0], z[1])),
        c128 Function::complex::<f64>(name, 2, |z| O::complex(z[0], z[1])),
        int I => Function::binary(name, |a: Text<I>, b: Text<I>| O::int(a, b)))
}

fn compare<O: Compare>(name: &str, dtype: DType) -> Function {
    fn real<O: Compare, T: TextType>(name: &str) -> Function
    where
        Text<T>: Lane<Mask = Text<bool>>,
    {
        Function::binary(name, |a: Text<T>, b: Text<T>| O::real(a, b).convert::<u8>())
    }
    by_dtype!(dtype,
        bool real::<O, u8>(name),
        f32 real::<O, f32>(name),
        f64 real::<O, f64>(name),
        c64 Function::complex_to::<f32, u8>(name, 2, |z| O::complex(z[0], z[1]).convert()),
        c128 Function::complex_to::<f64, u8>(name, 2, |z| O::complex(z[0], z[1]).convert()),
        int I => real::<O, I>(name))
}

fn ternary<O: Ternary>(name: &str, dtype: DType) -> Function {
    by_dtype!(dtype,
        bool super::undefined(&O::INFO),
        f32 Function::ternary(name, |a: Text<f32>, b: Text<f32>, c: Text<f32>| O::float(a, b, c)),
        f64 Function::ternary(name, |a: Text<f64>, b: Text<f64>, c: Text<f64>| O::float(a, b, c)),
        c64 super::undefined(&O::INFO),
        c128 super::undefined(&O::INFO),
        int I => Function::ternary(name, |a: Text<I>, b: Text<I>, c: Text<I>| O::int(a, b, c)))
}

fn part<O: Part>(name: &str, dtype: DType) -> Function {
    match dtype {
        DType::C64 => Function::complex_to::<f32, f32>(name, 1, |z: &[Cx<_>]| O::complex(z[0])),
        _ => Function::complex_to::<f64, f64>(name, 1, |z: &[Cx<_>]| O::complex(z[0])),
    }
}

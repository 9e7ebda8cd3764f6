//! The list of elementwise ops, and the enum that names them at run time.

use std::fmt;

use super::{Binary, Compare, OpInfo, Part, Ternary, Unary};
use crate::{DType, Error, Result};

/// Calls a macro with every elementwise op: `class Type module;` per line.
///
/// Whoever needs something per op (tiles, reference, CUDA text, documentation) invokes this with its own macro.
#[macro_export]
macro_rules! for_each_op {
    ($callback:path) => {
        $callback! {
            unary Abs abs;
            unary Acos acos;
            unary Acosh acosh;
            unary Asin asin;
            unary Asinh asinh;
            unary Atan atan;
            unary Atanh atanh;
            unary BitwiseInvert bitwise_invert;
            unary Ceil ceil;
            unary Conj conj;
            unary Cos cos;
            unary Cosh cosh;
            unary Erf erf;
            unary Erfc erfc;
            unary Exp exp;
            unary Exp2 exp2;
            unary Expm1 expm1;
            unary Floor floor;
            unary Gelu gelu;
            unary GeluExact gelu_exact;
            unary Log log;
            unary Log10 log10;
            unary Log1p log1p;
            unary Log2 log2;
            unary LogicalNot logical_not;
            unary Negative negative;
            unary Reciprocal reciprocal;
            unary Round round;
            unary Sigmoid sigmoid;
            unary Sign sign;
            unary Silu silu;
            unary Sin sin;
            unary Sinh sinh;
            unary Softplus softplus;
            unary Sqrt sqrt;
            unary Square square;
            unary Tan tan;
            unary Tanh tanh;
            unary Trunc trunc;
            binary Add add;
            binary Atan2 atan2;
            binary BitwiseAnd bitwise_and;
            binary BitwiseLeftShift bitwise_left_shift;
            binary BitwiseOr bitwise_or;
            binary BitwiseRightShift bitwise_right_shift;
            binary BitwiseXor bitwise_xor;
            binary Copysign copysign;
            binary Cospi cospi;
            binary Divide divide;
            binary FloorDivide floor_divide;
            binary Hypot hypot;
            binary Logaddexp logaddexp;
            binary Maximum maximum;
            binary Minimum minimum;
            binary Multiply multiply;
            binary Nextafter nextafter;
            binary Pow pow;
            binary Remainder remainder;
            binary Sinpi sinpi;
            binary Subtract subtract;
            compare Equal equal;
            compare Greater greater;
            compare GreaterEqual greater_equal;
            compare Less less;
            compare LessEqual less_equal;
            compare NotEqual not_equal;
            ternary Fma fma;
            part Imag imag;
            part Modulus modulus;
            part Real real;
        }
    };
}

/// How an op's operands and result relate; decides which trait its struct implements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// One operand, same dtype.
    Unary,
    /// Two operands, same dtype.
    Binary,
    /// Two operands, boolean result.
    Compare,
    /// Three operands, same dtype.
    Ternary,
    /// One complex operand, real result.
    Part,
}

macro_rules! class_of {
    (unary) => {
        Class::Unary
    };
    (binary) => {
        Class::Binary
    };
    (compare) => {
        Class::Compare
    };
    (ternary) => {
        Class::Ternary
    };
    (part) => {
        Class::Part
    };
}

macro_rules! info_of {
    (unary $op:ty) => {
        <$op as Unary>::INFO
    };
    (binary $op:ty) => {
        <$op as Binary>::INFO
    };
    (compare $op:ty) => {
        <$op as Compare>::INFO
    };
    (ternary $op:ty) => {
        <$op as Ternary>::INFO
    };
    (part $op:ty) => {
        <$op as Part>::INFO
    };
}

macro_rules! declare {
    ($($class:ident $op:ident $module:ident;)*) => {
        /// An elementwise op, by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum MapOp {
            $(
                #[doc = concat!("See [`", stringify!($op), "`](super::", stringify!($module), "::", stringify!($op), ").")]
                $op,
            )*
        }

        impl MapOp {
            /// Every op, in table order.
            pub const ALL: &'static [MapOp] = &[$(MapOp::$op,)*];

            /// Name, dtypes and facts.
            pub const fn info(self) -> &'static OpInfo {
                match self {
                    $(MapOp::$op => const { &info_of!($class super::$module::$op) },)*
                }
            }

            /// Which kind of op this is.
            pub const fn class(self) -> Class {
                match self {
                    $(MapOp::$op => class_of!($class),)*
                }
            }
        }
    };
}

for_each_op!(declare);

impl MapOp {
    /// The op with this name.
    pub fn from_name(name: &str) -> Option<MapOp> {
        Self::ALL.iter().copied().find(|op| op.info().name == name)
    }

    /// The name as in the Python Array API standard, where it has one.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Number of operands.
    pub const fn arity(self) -> usize {
        match self.class() {
            Class::Unary | Class::Part => 1,
            Class::Binary | Class::Compare => 2,
            Class::Ternary => 3,
        }
    }

    /// Whether operands of this dtype are allowed.
    pub const fn supports(self, dtype: DType) -> bool {
        self.info().dtypes.contains(dtype)
    }

    /// The dtype of the result for operands of `dtype`.
    pub fn result(self, dtype: DType) -> Result<DType> {
        if !self.supports(dtype) {
            let info = self.info();
            return Err(Error::DType { op: info.name, dtype, supported: info.dtypes.to_string() });
        }
        Ok(match self.class() {
            Class::Compare => DType::Bool,
            Class::Part => dtype.real(),
            _ => dtype,
        })
    }
}

impl fmt::Display for MapOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_sorted_within_their_class() {
        for pair in MapOp::ALL.windows(2) {
            if pair[0].class() == pair[1].class() {
                assert!(pair[0].name() < pair[1].name(), "{} before {}", pair[0], pair[1]);
            }
            assert_eq!(MapOp::from_name(pair[0].name()), Some(pair[0]));
        }
    }
}

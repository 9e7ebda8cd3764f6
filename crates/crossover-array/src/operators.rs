//! `+ - * / % & | ^ << >>`, unary `-` and `!`, and their assigning forms.
//!
//! Either side may be an array, a reference to one, or a host number. Nothing here panics: errors travel in the
//! result. `a += b` gives the variable `a` a new array; [`Array::assign`] is what changes an array in place.
//!
//! A literal on the left needs a type when a method is called on the result, because Rust settles the types of
//! literals last: `let y: Array = 1.0 / (1.0 + x.exp())`, or `(1.0f64 - &x).sqrt()`.

use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul,
    MulAssign, Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use crossover_core::ops::MapOp;
use half::{bf16, f16};
use num_complex::Complex;

use crate::{Array, Operand};

macro_rules! operators {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident $op:ident;)*) => {$(
        impl<'a, R: Into<Operand<'a>>> $trait<R> for &Array {
            type Output = Array;
            #[track_caller]
            fn $method(self, right: R) -> Array {
                self.binary(MapOp::$op, right.into())
            }
        }

        impl<'a, R: Into<Operand<'a>>> $trait<R> for Array {
            type Output = Array;
            #[track_caller]
            fn $method(self, right: R) -> Array {
                self.binary(MapOp::$op, right.into())
            }
        }

        impl<'a, R: Into<Operand<'a>>> $assign<R> for Array {
            #[track_caller]
            fn $assign_method(&mut self, right: R) {
                *self = self.binary(MapOp::$op, right.into());
            }
        }
    )*};
}

operators! {
    Add add AddAssign add_assign Add;
    Sub sub SubAssign sub_assign Subtract;
    Mul mul MulAssign mul_assign Multiply;
    Div div DivAssign div_assign Divide;
    Rem rem RemAssign rem_assign Remainder;
    BitAnd bitand BitAndAssign bitand_assign BitwiseAnd;
    BitOr bitor BitOrAssign bitor_assign BitwiseOr;
    BitXor bitxor BitXorAssign bitxor_assign BitwiseXor;
    Shl shl ShlAssign shl_assign BitwiseLeftShift;
    Shr shr ShrAssign shr_assign BitwiseRightShift;
}

/// Host numbers on the left.
macro_rules! left_numbers {
    ($trait:ident $method:ident $op:ident: $($number:ty)*) => {$(
        impl $trait<&Array> for $number {
            type Output = Array;
            #[track_caller]
            fn $method(self, right: &Array) -> Array {
                Array::binary_from(self.into(), MapOp::$op, right)
            }
        }

        impl $trait<Array> for $number {
            type Output = Array;
            #[track_caller]
            fn $method(self, right: Array) -> Array {
                Array::binary_from(self.into(), MapOp::$op, &right)
            }
        }
    )*};
}

macro_rules! left_arithmetic {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        left_numbers!($trait $method $op:
            i8 i16 i32 i64 u8 u16 u32 u64 usize f16 bf16 f32 f64 Complex<f32> Complex<f64>);
    )*};
}

macro_rules! left_bits {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        left_numbers!($trait $method $op: bool i8 i16 i32 i64 u8 u16 u32 u64 usize);
    )*};
}

left_arithmetic! {
    Add add Add;
    Sub sub Subtract;
    Mul mul Multiply;
    Div div Divide;
    Rem rem Remainder;
}

left_bits! {
    BitAnd bitand BitwiseAnd;
    BitOr bitor BitwiseOr;
    BitXor bitxor BitwiseXor;
    Shl shl BitwiseLeftShift;
    Shr shr BitwiseRightShift;
}

macro_rules! signs {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        impl $trait for &Array {
            type Output = Array;
            #[track_caller]
            fn $method(self) -> Array {
                self.unary(MapOp::$op)
            }
        }

        impl $trait for Array {
            type Output = Array;
            #[track_caller]
            fn $method(self) -> Array {
                self.unary(MapOp::$op)
            }
        }
    )*};
}

signs! {
    Neg neg Negative;
    Not not BitwiseInvert;
}

//! Truth values: logical operations, tests of numbers, and choosing by a mask.

use std::{panic::Location, sync::Arc};

use crossover_core::{DType, Number, Scalar, compose, graph::Op, ops::MapOp};

use crate::{
    Array, Operand,
    node::{Arg, Args, Node, Turn},
    operand::Bound,
};

/// Logic. Numbers count as true unless they are zero.
impl Array {
    /// True where the operand is false, or zero.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([0, 5]).logical_not().to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn logical_not(&self) -> Array {
        match self.dtype() {
            DType::Bool => self.unary(MapOp::LogicalNot),
            _ => self.binary(MapOp::Equal, 0.into()),
        }
    }

    /// True where both operands are true, or not zero.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let mask = Array::from([0, 5]).logical_and(&Array::from([true, true]));
    /// assert_eq!(mask.to_vec::<bool>()?, [false, true]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn logical_and<'a>(&self, other: impl Into<Operand<'a>>) -> Array {
        self.logical(MapOp::BitwiseAnd, other.into())
    }

    /// True where either operand is true, or not zero.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let mask = Array::from([0, 5]).logical_or(&Array::from([false, false]));
    /// assert_eq!(mask.to_vec::<bool>()?, [false, true]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn logical_or<'a>(&self, other: impl Into<Operand<'a>>) -> Array {
        self.logical(MapOp::BitwiseOr, other.into())
    }

    /// True where exactly one operand is true, or not zero.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let mask = Array::from([0, 5]).logical_xor(&Array::from([true, true]));
    /// assert_eq!(mask.to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn logical_xor<'a>(&self, other: impl Into<Operand<'a>>) -> Array {
        self.logical(MapOp::BitwiseXor, other.into())
    }

    #[track_caller]
    fn logical(&self, op: MapOp, other: Operand<'_>) -> Array {
        if self.dtype() == DType::Bool
            && matches!(&other, Operand::Array(array) if array.dtype() == DType::Bool)
        {
            return self.binary(op, other);
        }
        if let Some(both) = self.truths(op, &other, Location::caller()) {
            return both;
        }
        // A number is true or false whatever the array holds.
        let beside = match &other {
            Operand::Number(number) => number.default_dtype(),
            Operand::Array(array) => array.dtype(),
        };
        let other = other.into_array(beside);
        Array::build([self, &other], |b, [x, y]| {
            let (x, y) = (compose::truth(b, x)?, compose::truth(b, y)?);
            compose::binary(b, op, &x, &y)
        })
    }

    /// A logical operation on arrays of one shape and real numbers: they become truth values on the way, and nothing is left to compose.
    fn truths(&self, op: MapOp, other: &Operand<'_>, location: &'static Location<'static>) -> Option<Array> {
        let Operand::Array(other) = other else { return None };
        let is_real = |array: &Array| !array.dtype().is_complex() && !array.is_constant();
        if self.shape() != other.shape() || !is_real(self) || !is_real(other) {
            return None;
        }
        let truth = |node: Arc<Node>| match node.ty.dtype {
            DType::Bool => Arg::Node(node),
            _ => Arg::Turned(node, Turn::Cast(DType::Bool)),
        };
        let second = other.node();
        if second.is_failed() {
            return None;
        }
        let args = |first| Args::from_buf([truth(first), truth(second)]);
        Some(self.elementwise(Op::Map(op), DType::Bool, args, location))
    }

    /// A comparison of the magnitudes of floats with infinity.
    fn beside_infinity(&self, op: MapOp, location: &'static Location<'static>) -> Option<Array> {
        let dtype = self.dtype();
        if !dtype.is_float() || self.is_constant() {
            return None;
        }
        let infinity = Number::Float(f64::INFINITY).to_scalar(dtype);
        let args = |node| Args::from_buf([Arg::Turned(node, Turn::Abs), Arg::Scalar(infinity)]);
        Some(self.elementwise(Op::Map(op), DType::Bool, args, location))
    }

    /// True where the operand is NaN.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1.0f32, f32::NAN]).isnan().to_vec::<bool>()?, [false, true]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn isnan(&self) -> Array {
        // NaN is the only thing that differs from itself.
        let twice = |node: Arc<Node>| Args::from_buf([Arg::Node(node.clone()), Arg::Node(node)]);
        self.elementwise(Op::Map(MapOp::NotEqual), DType::Bool, twice, Location::caller())
    }

    /// True where the operand is neither infinite nor NaN.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1.0f32, f32::NAN, f32::INFINITY]);
    /// assert_eq!(x.isfinite().to_vec::<bool>()?, [true, false, false]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn isfinite(&self) -> Array {
        match self.beside_infinity(MapOp::Less, Location::caller()) {
            Some(found) => found,
            None => Array::build([self], |b, [x]| compose::isfinite(b, x)),
        }
    }

    /// True where the operand is infinite.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1.0f32, f32::NAN, f32::NEG_INFINITY]);
    /// assert_eq!(x.isinf().to_vec::<bool>()?, [false, false, true]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn isinf(&self) -> Array {
        match self.beside_infinity(MapOp::Equal, Location::caller()) {
            Some(found) => found,
            None => Array::build([self], |b, [x]| compose::isinf(b, x)),
        }
    }

    /// True where the operand is +infinity. An error for complex numbers.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([f32::INFINITY, f32::NAN, f32::NEG_INFINITY]);
    /// assert_eq!(x.isposinf().to_vec::<bool>()?, [true, false, false]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn isposinf(&self) -> Array {
        Array::build([self], |b, [x]| compose::isposinf(b, x))
    }

    /// True where the operand is -infinity. An error for complex numbers.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([f32::INFINITY, f32::NAN, f32::NEG_INFINITY]);
    /// assert_eq!(x.isneginf().to_vec::<bool>()?, [false, false, true]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn isneginf(&self) -> Array {
        Array::build([self], |b, [x]| compose::isneginf(b, x))
    }

    /// True where the imaginary part is zero, as that of real numbers is.
    ///
    /// ```
    /// # use crossover_array::{Array, Complex};
    /// let z = Array::from([Complex::new(1.0f32, -0.0), Complex::new(1.0, 2.0)]);
    /// assert_eq!(z.isreal().to_vec::<bool>()?, [true, false]);
    /// assert_eq!(Array::from([f64::NAN]).isreal().to_vec::<bool>()?, [true]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn isreal(&self) -> Array {
        Array::build([self], |b, [x]| compose::isreal(b, x))
    }

    /// True where the imaginary part is not zero; nowhere in real numbers.
    ///
    /// ```
    /// # use crossover_array::{Array, Complex};
    /// let z = Array::from([Complex::new(1.0f32, -0.0), Complex::new(1.0, f32::NAN)]);
    /// assert_eq!(z.iscomplex().to_vec::<bool>()?, [false, true]);
    /// assert_eq!(Array::from([1i32]).iscomplex().to_vec::<bool>()?, [false]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn iscomplex(&self) -> Array {
        Array::build([self], |b, [x]| compose::iscomplex(b, x))
    }

    /// True where the sign bit is set: negative numbers, -0 and NaN with a sign.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1.0f32, -0.0, -2.0]).signbit().to_vec::<bool>()?, [false, true, true]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn signbit(&self) -> Array {
        let dtype = self.dtype();
        if dtype.is_float() && !self.is_constant() {
            // A unit with that sign compares, where -0 and NaN themselves do not.
            let zero = Scalar::zero(dtype);
            let args = |node| Args::from_buf([Arg::Turned(node, Turn::Sign), Arg::Scalar(zero)]);
            return self.elementwise(Op::Map(MapOp::Less), DType::Bool, args, Location::caller());
        }
        Array::build([self], |b, [x]| compose::signbit(b, x))
    }

    /// The operand, but at least `low` and at most `high`; `()` is no bound.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([-5, 0, 5]);
    /// assert_eq!(x.clip(-1, 2).to_vec::<i32>()?, [-1, 0, 2]);
    /// assert_eq!(x.clip((), 2).to_vec::<i32>()?, [-5, 0, 2]);
    /// assert_eq!(x.clip(&Array::from([-9, 1, 9]), ()).to_vec::<i32>()?, [-5, 1, 9]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn clip<'a>(&self, low: impl Into<Bound<'a>>, high: impl Into<Bound<'a>>) -> Array {
        match (low.into().0, high.into().0) {
            (None, None) => self.snapshot(),
            (Some(low), None) => self.binary(MapOp::Maximum, low),
            (None, Some(high)) => self.binary(MapOp::Minimum, high),
            (Some(low), Some(high)) => self.binary(MapOp::Maximum, low).binary(MapOp::Minimum, high),
        }
    }

    /// `yes` where this mask holds, `no` elsewhere, promoted and broadcast.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([-1.0f32, 2.0]);
    /// assert_eq!(x.less(0.0).where_(0.0, &x).to_vec::<f32>()?, [0.0, 2.0]);
    /// assert_eq!(Array::where_(&x.less(0.0), 1, 2).to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn where_<'a>(&self, yes: impl Into<Operand<'a>>, no: impl Into<Operand<'a>>) -> Array {
        let (yes, no) = (yes.into(), no.into());
        // Numbers take the dtype of the array beside them; two numbers that of the higher kind.
        let beside = match (&yes, &no) {
            (Operand::Array(array), _) | (_, Operand::Array(array)) => array.dtype(),
            (Operand::Number(a), Operand::Number(b)) => a.default_dtype().promote(b.default_dtype()),
        };
        let (yes, no) = (yes.into_array(beside), no.into_array(beside));
        Array::build([self, &yes, &no], |b, [mask, yes, no]| {
            let mask = compose::truth(b, mask)?;
            compose::select(b, &mask, yes, no)
        })
    }
}

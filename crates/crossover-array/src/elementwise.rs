//! One method per elementwise op, and the few that are made of them.
//!
//! The first line of each method's documentation is the op's own (`OpInfo::doc`); a test compares them and looks
//! for ops without a method.

use std::panic::Location;

use crossover_core::{
    DType, Kind, Number, Result as CoreResult,
    compose::{self, Build},
    graph::Op,
    ops::MapOp,
};
use smallvec::smallvec;

use crate::{
    Array, Operand,
    compose::{Composer, Value},
    node::Arg,
};

/// Defines methods and, for the tests, a list of what they say.
macro_rules! methods {
    (
        unary { $($unary:ident $unary_op:ident $unary_doc:literal $unary_example:literal)* }
        binary { $($binary:ident $binary_op:ident $binary_doc:literal $binary_example:literal)* }
    ) => {
        /// Elementwise operations of one array. The result has the array's dtype; integers become `f64` where the
        /// operation needs floats.
        impl Array {
            $(
                #[doc = $unary_doc]
                #[doc = concat!(
                    "\n```\n# use crossover_array::Array;\n", $unary_example,
                    "\n# Ok::<(), crossover_array::Error>(())\n```"
                )]
                #[track_caller]
                pub fn $unary(&self) -> Array {
                    self.unary(MapOp::$unary_op)
                }
            )*
        }

        /// Elementwise operations with another array or a host number, after broadcasting and promotion.
        impl Array {
            $(
                #[doc = $binary_doc]
                #[doc = concat!(
                    "\n```\n# use crossover_array::Array;\n", $binary_example,
                    "\n# Ok::<(), crossover_array::Error>(())\n```"
                )]
                #[track_caller]
                pub fn $binary<'a>(&self, other: impl Into<Operand<'a>>) -> Array {
                    self.binary(MapOp::$binary_op, other.into())
                }
            )*
        }

        #[cfg(test)]
        const DOCUMENTED: &[(MapOp, &str)] =
            &[$((MapOp::$unary_op, $unary_doc),)* $((MapOp::$binary_op, $binary_doc),)*];
    };
}

methods! {
    unary {
        acos Acos "Arc cosine in radians, between 0 and π; NaN beyond ±1."
            "assert_eq!(Array::from([1.0f32]).acos().to_vec::<f32>()?, [0.0]);"
        acosh Acosh "Inverse hyperbolic cosine; NaN below 1."
            "assert_eq!(Array::from([1.0f32]).acosh().to_vec::<f32>()?, [0.0]);"
        asin Asin "Arc sine in radians, between -π/2 and π/2; NaN beyond ±1."
            "assert_eq!(Array::from([0.0f32, -0.0]).asin().to_vec::<f32>()?, [0.0, -0.0]);"
        asinh Asinh "Inverse hyperbolic sine."
            "assert_eq!(Array::from([1e-30f32]).asinh().to_vec::<f32>()?, [1e-30]);"
        atan Atan "Arc tangent in radians, between -π/2 and π/2."
            "assert_eq!(Array::from([1.0f64]).atan().to_vec::<f64>()?, [std::f64::consts::FRAC_PI_4]);"
        atanh Atanh "Inverse hyperbolic tangent; infinite at ±1, NaN beyond."
            "assert_eq!(Array::from([0.0f32, 1.0]).atanh().to_vec::<f32>()?, [0.0, f32::INFINITY]);"
        bitwise_invert BitwiseInvert "Every bit flipped; logical not for booleans."
            "assert_eq!(Array::from([0u8, 1]).bitwise_invert().to_vec::<u8>()?, [255, 254]);"
        ceil Ceil "Smallest whole number not below."
            "assert_eq!(Array::from([1.2f32, -1.2]).ceil().to_vec::<f32>()?, [2.0, -1.0]);"
        cos Cos "Cosine of radians."
            "assert_eq!(Array::from([0.0f32]).cos().to_vec::<f32>()?, [1.0]);"
        cosh Cosh "Hyperbolic cosine."
            "assert_eq!(Array::from([0.0f32]).cosh().to_vec::<f32>()?, [1.0]);"
        erf Erf "Gauss error function."
            "assert_eq!(Array::from([0.0f64, f64::INFINITY]).erf().to_vec::<f64>()?, [0.0, 1.0]);"
        erfc Erfc "Complementary error function, 1 - erf(x), accurate where that is small."
            "assert_eq!(Array::from([0.0f64, f64::INFINITY]).erfc().to_vec::<f64>()?, [1.0, 0.0]);"
        exp Exp "e to the power of the operand."
            "assert_eq!(Array::from([0, 1]).exp().to_vec::<f64>()?, [1.0, std::f64::consts::E]);"
        exp2 Exp2 "Two to the power of the operand."
            "assert_eq!(Array::from([3.0f32, -1.0]).exp2().to_vec::<f32>()?, [8.0, 0.5]);"
        expm1 Expm1 "e to the power of the operand, minus one, accurate near zero."
            "assert_eq!(Array::from([1e-30f32]).expm1().to_vec::<f32>()?, [1e-30]);"
        floor Floor "Largest whole number not above."
            "assert_eq!(Array::from([1.8f32, -1.2]).floor().to_vec::<f32>()?, [1.0, -2.0]);"
        gelu Gelu "Gaussian error linear unit, tanh form: x * sigmoid(2u), u = sqrt(2/pi) * (x + 0.044715 x^3)."
            "assert_eq!(Array::from([0.0f32, 100.0]).gelu().to_vec::<f32>()?, [0.0, 100.0]);"
        gelu_exact GeluExact "Gaussian error linear unit, exact form: x * (1 + erf(x / sqrt(2))) / 2."
            "assert_eq!(Array::from([0.0f32, 100.0]).gelu_exact().to_vec::<f32>()?, [0.0, 100.0]);"
        log Log "Natural logarithm."
            "assert_eq!(Array::from([1.0f32, 0.0]).log().to_vec::<f32>()?, [0.0, f32::NEG_INFINITY]);"
        log10 Log10 "Logarithm to base 10."
            "assert_eq!(Array::from([1000.0f32]).log10().to_vec::<f32>()?, [3.0]);"
        log1p Log1p "Natural logarithm of one plus the operand, accurate near zero."
            "assert_eq!(Array::from([1e-30f32]).log1p().to_vec::<f32>()?, [1e-30]);"
        log2 Log2 "Logarithm to base 2."
            "assert_eq!(Array::from([8.0f32]).log2().to_vec::<f32>()?, [3.0]);"
        negative Negative "The sign flipped; integers wrap."
            "assert_eq!(Array::from([1.5f32, -2.0]).negative().to_vec::<f32>()?, [-1.5, 2.0]);"
        reciprocal Reciprocal "One over the operand, correctly rounded for reals."
            "assert_eq!(Array::from([4.0f32]).reciprocal().to_vec::<f32>()?, [0.25]);"
        round Round "Nearest whole number, ties to even."
            "assert_eq!(Array::from([0.5f32, 1.5, -2.6]).round().to_vec::<f32>()?, [0.0, 2.0, -3.0]);"
        sigmoid Sigmoid "Logistic function 1 / (1 + exp(-x))."
            "assert_eq!(Array::from([0.0f32]).sigmoid().to_vec::<f32>()?, [0.5]);"
        sign Sign
            "-1, 0 or 1 with the sign of the operand, a complex number over its magnitude; NaN stays itself."
            "assert_eq!(Array::from([-7i32, 0, 3]).sign().to_vec::<i32>()?, [-1, 0, 1]);"
        silu Silu "Sigmoid linear unit: x * sigmoid(x)."
            "assert_eq!(Array::from([0.0f32, 200.0]).silu().to_vec::<f32>()?, [0.0, 200.0]);"
        sin Sin "Sine of radians."
            "assert_eq!(Array::from([0.0f32]).sin().to_vec::<f32>()?, [0.0]);"
        sinh Sinh "Hyperbolic sine."
            "assert_eq!(Array::from([1e-30f32]).sinh().to_vec::<f32>()?, [1e-30]);"
        softplus Softplus "Smooth version of max(x, 0): log(1 + exp(x))."
            "assert_eq!(Array::from([200.0f32]).softplus().to_vec::<f32>()?, [200.0]);"
        sqrt Sqrt "Square root, correctly rounded; NaN below zero."
            "assert_eq!(Array::from([4.0f32, 9.0]).sqrt().to_vec::<f32>()?, [2.0, 3.0]);"
        square Square "The operand times itself."
            "assert_eq!(Array::from([3i32, -4]).square().to_vec::<i32>()?, [9, 16]);"
        tan Tan "Tangent of radians."
            "assert_eq!(Array::from([0.0f32]).tan().to_vec::<f32>()?, [0.0]);"
        tanh Tanh "Hyperbolic tangent."
            "assert_eq!(Array::from([0.0f32, 100.0]).tanh().to_vec::<f32>()?, [0.0, 1.0]);"
        trunc Trunc "Nearest whole number towards zero."
            "assert_eq!(Array::from([1.8f32, -1.8]).trunc().to_vec::<f32>()?, [1.0, -1.0]);"
    }
    binary {
        add Add "Sum; integers wrap, and for booleans it is or."
            "assert_eq!(Array::from([1, 2]).add(10).to_vec::<i32>()?, [11, 12]);"
        atan2 Atan2
            "Angle in radians of the point whose height is the first operand and whose width the second, between -π and π."
            "assert_eq!(Array::from([0.0f64]).atan2(-1.0).to_vec::<f64>()?, [std::f64::consts::PI]);"
        bitwise_and BitwiseAnd "Bitwise and; logical for booleans."
            "assert_eq!(Array::from([6u8]).bitwise_and(3).to_vec::<u8>()?, [2]);"
        bitwise_left_shift BitwiseLeftShift
            "Bits moved up by the second operand; 0 when it is negative or not below the width."
            "assert_eq!(Array::from([3u8]).bitwise_left_shift(2).to_vec::<u8>()?, [12]);"
        bitwise_or BitwiseOr "Bitwise or; logical for booleans."
            "assert_eq!(Array::from([6u8]).bitwise_or(1).to_vec::<u8>()?, [7]);"
        bitwise_right_shift BitwiseRightShift
            "Bits moved down by the second operand, the sign repeated; all sign when it is negative or not below the width."
            "assert_eq!(Array::from([-8i32]).bitwise_right_shift(1).to_vec::<i32>()?, [-4]);"
        bitwise_xor BitwiseXor "Bitwise exclusive or; logical for booleans."
            "assert_eq!(Array::from([6u8]).bitwise_xor(3).to_vec::<u8>()?, [5]);"
        copysign Copysign "Magnitude of the first operand with the sign bit of the second."
            "assert_eq!(Array::from([1.5f32, -2.0]).copysign(-0.0).to_vec::<f32>()?, [-1.5, -2.0]);"
        cospi Cospi "Cosine of π·(a + b); the sum is not rounded below 2^12 (f32) or 2^41 (f64)."
            "assert_eq!(Array::from([0.0f32, 1.0, 1e6]).cospi(0.5).to_vec::<f32>()?, [0.0, 0.0, 0.0]);"
        divide Divide "Quotient, correctly rounded for reals; complex by scaling with the larger part of the divisor."
            "assert_eq!(Array::from([1, 2]).divide(4).to_vec::<f64>()?, [0.25, 0.5]);"
        equal Equal "True where the first operand is equal to the second."
            "assert_eq!(Array::from([1, 2]).equal(2).to_vec::<bool>()?, [false, true]);"
        floor_divide FloorDivide "Quotient rounded towards minus infinity; integers divided by zero give 0."
            "assert_eq!(Array::from([7, -7]).floor_divide(2).to_vec::<i32>()?, [3, -4]);"
        greater Greater "True where the first operand is greater than the second."
            "assert_eq!(Array::from([1, 2, 3]).greater(2).to_vec::<bool>()?, [false, false, true]);"
        greater_equal GreaterEqual "True where the first operand is greater than or equal to the second."
            "assert_eq!(Array::from([1, 2, 3]).greater_equal(2).to_vec::<bool>()?, [false, true, true]);"
        hypot Hypot "Square root of the sum of squares, without overflow on the way."
            "assert_eq!(Array::from([3.0f32]).hypot(4.0).to_vec::<f32>()?, [5.0]);"
        less Less "True where the first operand is less than the second."
            "assert_eq!(Array::from([1, 2, 3]).less(2).to_vec::<bool>()?, [true, false, false]);"
        less_equal LessEqual "True where the first operand is less than or equal to the second."
            "assert_eq!(Array::from([1, 2, 3]).less_equal(2).to_vec::<bool>()?, [true, true, false]);"
        logaddexp Logaddexp "Logarithm of the sum of exponentials: log(exp(a) + exp(b))."
            "assert_eq!(Array::from([1000.0f32]).logaddexp(0.0).to_vec::<f32>()?, [1000.0]);"
        maximum Maximum "Larger of two; NaN wins, and +0 is larger than -0."
            "assert_eq!(Array::from([-1.5f32, 2.0]).maximum(0.0).to_vec::<f32>()?, [0.0, 2.0]);"
        minimum Minimum "Smaller of two; NaN wins, and +0 is larger than -0."
            "assert_eq!(Array::from([-1.5f32, 2.0]).minimum(0.0).to_vec::<f32>()?, [-1.5, 0.0]);"
        multiply Multiply "Product; integers wrap, and for booleans it is and."
            "assert_eq!(Array::from([2.0f32, 3.0]).multiply(0.5).to_vec::<f32>()?, [1.0, 1.5]);"
        nextafter Nextafter "Next float after the first operand in the direction of the second."
            "assert_eq!(Array::from([1.0f32]).nextafter(2.0).to_vec::<f32>()?, [1.0 + f32::EPSILON]);"
        not_equal NotEqual "True where the first operand is different from the second."
            "assert_eq!(Array::from([1, 2]).not_equal(2).to_vec::<bool>()?, [true, false]);"
        pow Pow "The first operand to the power of the second; integers wrap, and give 0 for a negative exponent unless the base is 1 or -1."
            "assert_eq!(Array::from([2.0f32, 3.0]).pow(2).to_vec::<f32>()?, [4.0, 9.0]);"
        remainder Remainder "Remainder with the sign of the divisor; integers modulo zero give 0."
            "assert_eq!(Array::from([7, -7]).remainder(3).to_vec::<i32>()?, [1, 2]);"
        sinpi Sinpi "Sine of π·(a + b); the sum is not rounded below 2^12 (f32) or 2^41 (f64)."
            "assert_eq!(Array::from([0.5f64, 1e6]).sinpi(1e-30).to_vec::<f64>()?, [1.0, std::f64::consts::PI * 1e-30]);"
        subtract Subtract "Difference; integers wrap."
            "assert_eq!(Array::from([1, 2]).subtract(10).to_vec::<i32>()?, [-9, -8]);"
    }
}

/// Elementwise operations that choose by dtype.
impl Array {
    /// Magnitude: the sign bit cleared; the most negative integer stays itself. For complex arrays the modulus, a
    /// real array.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// use num_complex::Complex;
    /// assert_eq!(Array::from([-1.5f32, 2.0]).abs().to_vec::<f32>()?, [1.5, 2.0]);
    /// assert_eq!(Array::from([Complex::new(3.0f32, 4.0)]).abs().to_vec::<f32>()?, [5.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn abs(&self) -> Array {
        match self.dtype().kind() {
            Kind::Complex => self.unary(MapOp::Modulus),
            Kind::Bool => self.snapshot(),
            _ => self.unary(MapOp::Abs),
        }
    }

    /// Real part of a complex number; real arrays as they are.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// use num_complex::Complex;
    /// assert_eq!(Array::from([Complex::new(3.0f32, 4.0)]).real().to_vec::<f32>()?, [3.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn real(&self) -> Array {
        if self.dtype().is_complex() { self.unary(MapOp::Real) } else { self.snapshot() }
    }

    /// Imaginary part of a complex number; zeros for real arrays.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// use num_complex::Complex;
    /// assert_eq!(Array::from([Complex::new(3.0f32, 4.0)]).imag().to_vec::<f32>()?, [4.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn imag(&self) -> Array {
        if self.dtype().is_complex() { self.unary(MapOp::Imag) } else { self.zeros_like() }
    }

    /// Complex conjugate: the sign of the imaginary part flipped; real arrays as they are.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// use num_complex::Complex;
    /// let z = Array::from([Complex::new(3.0f32, 4.0)]);
    /// assert_eq!(z.conj().to_vec::<Complex<f32>>()?, [Complex::new(3.0, -4.0)]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn conj(&self) -> Array {
        if self.dtype().is_complex() { self.unary(MapOp::Conj) } else { self.snapshot() }
    }

    /// The array as it is: `+x`.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([-1.5f32]).positive().to_vec::<f32>()?, [-1.5]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn positive(&self) -> Array {
        self.snapshot()
    }

    /// Rectified linear unit: the larger of the operand and zero. NaN stays NaN.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([-1.5f32, 2.0]).relu().to_vec::<f32>()?, [0.0, 2.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn relu(&self) -> Array {
        self.binary(MapOp::Maximum, 0.into())
    }

    /// `self * b + c` rounded once; integers wrap.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1.0f32, 2.0]);
    /// assert_eq!(x.fma(10.0, 0.5).to_vec::<f32>()?, [10.5, 20.5]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn fma<'a>(&self, b: impl Into<Operand<'a>>, c: impl Into<Operand<'a>>) -> Array {
        let dtype = self.dtype();
        let (second, third) = (b.into().into_array(dtype), c.into().into_array(dtype));
        Array::build([self, &second, &third], |b, [x, y, z]| compose::fma(b, x, y, z))
    }

    /// Conversion to another dtype. Reals become integers towards zero and saturate, NaN becomes 0; anything becomes a
    /// truth value, true where it is not zero; complex numbers do not become real ones.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// let x = Array::from([1.9f32, -300.0, f32::NAN]);
    /// assert_eq!(x.astype(DType::I8).to_vec::<i8>()?, [1, -128, 0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn astype(&self, dtype: DType) -> Array {
        let from = self.dtype();
        let is_cast = from != dtype && !(from.is_complex() && dtype == DType::Bool);
        if is_cast && !self.is_constant() && compose::check_cast(from, dtype).is_ok() {
            let args = |node| smallvec![Arg::Node(node)];
            return self.elementwise(Op::Cast(dtype), dtype, args, Location::caller());
        }
        Array::build([self], |b, [x]| match dtype {
            DType::Bool => compose::truth(b, x),
            _ => compose::cast(b, x, dtype),
        })
    }

    #[track_caller]
    pub(crate) fn unary(&self, op: MapOp) -> Array {
        if op.supports(self.dtype())
            && let Ok(array) = self.map(op, None, Location::caller())
        {
            return array;
        }
        Array::build([self], |b, [x]| compose::unary(b, op, x))
    }

    #[track_caller]
    pub(crate) fn binary(&self, op: MapOp, other: Operand<'_>) -> Array {
        // Operands that agree already, the common case, need no composition.
        if let Some(arg) = self.agreeing(op, &other)
            && let Ok(array) = self.map(op, Some(arg), Location::caller())
        {
            return array;
        }
        match other {
            Operand::Array(other) => Array::build([self, &other], |b, [x, y]| compose::binary(b, op, x, y)),
            Operand::Number(number) => Array::build([self], |b, [x]| {
                if let Some(constant) = compare_out_of_range(b, op, x, number)? {
                    return Ok(constant);
                }
                let y = compose::number(b, number, b.dtype(x))?;
                compose::binary(b, op, x, &y)
            }),
        }
    }

    /// The second operand, if it has the dtype and shape of this array as it is and the op supports them.
    fn agreeing(&self, op: MapOp, other: &Operand<'_>) -> Option<Arg> {
        let dtype = self.dtype();
        if !op.supports(dtype) {
            return None;
        }
        match other {
            Operand::Array(other) if other.dtype() == dtype && other.shape() == self.shape() => {
                Some(other.node()).filter(|node| !node.is_failed()).map(Arg::Node)
            }
            Operand::Number(number)
                if dtype.with_scalar(number.kind()) == dtype && !number.overflows(dtype) =>
            {
                Some(Arg::Scalar(number.to_scalar(dtype)))
            }
            _ => None,
        }
    }

    /// A host number on the left.
    #[track_caller]
    pub(crate) fn binary_from(number: Number, op: MapOp, right: &Array) -> Array {
        Array::build([right], |b, [y]| {
            let x = compose::number(b, number, b.dtype(y))?;
            compose::binary(b, op, &x, y)
        })
    }
}

impl Operand<'_> {
    /// An array, made beside one of dtype `beside` if this is a number.
    #[track_caller]
    pub(crate) fn into_array(self, beside: DType) -> Array {
        match self {
            Operand::Array(array) => array.into_owned(),
            Operand::Number(number) => Array::build([], |b, []| compose::number(b, number, beside)),
        }
    }
}

/// Comparing with an integer that the array's dtype cannot hold has an answer, as in NumPy 2: the same everywhere.
fn compare_out_of_range(b: &mut Composer, op: MapOp, x: &Value, number: Number) -> CoreResult<Option<Value>> {
    let ty = b.ty(x);
    let Number::Int(value) = number else { return Ok(None) };
    if !number.overflows(ty.dtype) {
        return Ok(None);
    }
    let answer = match op {
        MapOp::Equal => false,
        MapOp::NotEqual => true,
        MapOp::Less | MapOp::LessEqual => value > 0,
        MapOp::Greater | MapOp::GreaterEqual => value < 0,
        _ => return Ok(None),
    };
    let constant = compose::number(b, answer.into(), DType::Bool)?;
    compose::expand(b, &constant, &ty.shape).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_has_a_method_that_says_what_the_op_says() {
        let by_hand = [
            MapOp::Abs,
            MapOp::Modulus,
            MapOp::Real,
            MapOp::Imag,
            MapOp::Conj,
            MapOp::LogicalNot,
            MapOp::Fma,
        ];
        for &op in MapOp::ALL {
            match DOCUMENTED.iter().find(|entry| entry.0 == op) {
                Some((_, doc)) => assert_eq!(*doc, op.info().doc, "{op}"),
                None => assert!(by_hand.contains(&op), "{op} has no method"),
            }
        }
    }
}

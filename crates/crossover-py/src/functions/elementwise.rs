//! Elementwise functions.

use std::borrow::Cow;

use crossover::{Array, DType, Number, Operand};
use pyo3::prelude::*;

use crate::{
    array::PyArray,
    device::building,
    errors::{type_error, value_error},
    values::{Arg, Arr, check_range, pair},
};

/// Calls `f` with the array that an argument is, or becomes. What is an array already is not held once more.
fn with_one(x: &Bound<'_, PyAny>, f: impl FnOnce(&Array) -> PyResult<PyArray>) -> PyResult<PyArray> {
    match x.cast::<PyArray>() {
        Ok(known) => f(&known.get().0),
        Err(_) => f(&x.extract::<Arr>()?.0),
    }
}

/// As [`with_one`], with a second operand, which may be a number.
fn with_two(
    x1: &Bound<'_, PyAny>,
    x2: &Bound<'_, PyAny>,
    f: impl FnOnce(&Array, Operand<'_>) -> PyResult<PyArray>,
) -> PyResult<PyArray> {
    if let (Ok(left), Ok(right)) = (x1.cast::<PyArray>(), x2.cast::<PyArray>()) {
        return f(&left.get().0, Operand::from(&right.get().0));
    }
    let (left, right) = pair(x1.extract()?, x2.extract()?)?;
    f(&left, right.operand())
}

macro_rules! unary {
    ($($name:ident $doc:literal $example:literal |$x:ident| $body:expr;)*) => {
        $(
            #[doc = $doc]
            #[doc = ""]
            #[doc = $example]
            #[pyfunction]
            #[pyo3(signature = (x, /))]
            fn $name(x: &Bound<'_, PyAny>) -> PyResult<PyArray> {
                with_one(x, |$x| PyArray::done(building(|| $body)))
            }
        )*

        fn register_unary(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

/// The array, as floats if it is of whole numbers.
fn floats(x: &Array) -> Cow<'_, Array> {
    match x.dtype().is_float() || x.dtype().is_complex() {
        true => Cow::Borrowed(x),
        false => Cow::Owned(x.astype(DType::F64)),
    }
}

/// Rounding leaves integers as they are.
fn rounded(x: &Array, round: fn(&Array) -> Array) -> Array {
    if x.dtype().is_float() || x.dtype().is_complex() { round(x) } else { x.copy() }
}

unary! {
    abs "Magnitude of each element."
        ">>> xo.abs(xo.asarray([-1, 2]))\narray([1, 2])" |x| x.abs();
    acos "Arc cosine in radians."
        ">>> xo.acos(xo.asarray([1.0, 0.0]))\narray([0.        , 1.57079633])" |x| x.acos();
    acosh "Inverse hyperbolic cosine."
        ">>> xo.acosh(xo.asarray([1.0, 2.0]))\narray([0.       , 1.3169579])" |x| x.acosh();
    asin "Arc sine in radians."
        ">>> xo.asin(xo.asarray([0.0, 1.0]))\narray([0.        , 1.57079633])" |x| x.asin();
    asinh "Inverse hyperbolic sine."
        ">>> xo.asinh(xo.asarray([0.0, 1.0]))\narray([0.        , 0.88137359])" |x| x.asinh();
    atan "Arc tangent in radians."
        ">>> xo.atan(xo.asarray([0.0, 1.0]))\narray([0.        , 0.78539816])" |x| x.atan();
    atanh "Inverse hyperbolic tangent."
        ">>> xo.atanh(xo.asarray([0.0, 0.5]))\narray([0.        , 0.54930614])" |x| x.atanh();
    bitwise_invert "Every bit flipped; logical not for booleans."
        ">>> xo.bitwise_invert(xo.asarray([0, 5]))\narray([-1, -6])" |x| x.bitwise_invert();
    ceil "Smallest whole number not below."
        ">>> xo.ceil(xo.asarray([-1.5, 1.5]))\narray([-1.,  2.])" |x| rounded(x, Array::ceil);
    conj "Complex conjugate."
        ">>> xo.conj(xo.asarray([1 + 2j]))\narray([1.-2.j])" |x| x.conj();
    cos "Cosine of radians."
        ">>> xo.cos(xo.asarray([0.0, 1.0]))\narray([1.        , 0.54030231])" |x| x.cos();
    cosh "Hyperbolic cosine."
        ">>> xo.cosh(xo.asarray([0.0, 1.0]))\narray([1.        , 1.54308063])" |x| x.cosh();
    erf "Gauss error function."
        ">>> xo.erf(xo.asarray([0.0, 1.0]))\narray([0.        , 0.84270079])" |x| x.erf();
    erfc "Complementary error function."
        ">>> xo.erfc(xo.asarray([0.0, 1.0]))\narray([1.        , 0.15729921])" |x| x.erfc();
    exp "e to the power of each element."
        ">>> xo.exp(xo.asarray([0.0, 1.0]))\narray([1.        , 2.71828183])" |x| x.exp();
    exp2 "Two to the power of each element."
        ">>> xo.exp2(xo.asarray([0.5, 3.0]))\narray([1.41421356, 8.        ])" |x| x.exp2();
    expm1 "e to the power of each element, minus one."
        ">>> xo.expm1(xo.asarray([0.0, 1e-10]))\narray([0.e+00, 1.e-10])" |x| x.expm1();
    fabs "Magnitude of each element, as floats."
        ">>> xo.fabs(xo.asarray([-1, 2]))\narray([1., 2.])" |x| floats(x).abs();
    floor "Largest whole number not above."
        ">>> xo.floor(xo.asarray([-1.5, 1.5]))\narray([-2.,  1.])" |x| rounded(x, Array::floor);
    gelu "Gaussian error linear unit, tanh form."
        ">>> xo.gelu(xo.asarray([-1.0, 0.0, 1.0]))\narray([-0.15880801,  0.        ,  0.84119199])" |x| x.gelu();
    gelu_exact "Gaussian error linear unit, exact form."
        ">>> xo.gelu_exact(xo.asarray([-1.0, 0.0, 1.0]))\narray([-0.15865525,  0.        ,  0.84134475])" |x| x.gelu_exact();
    imag "Imaginary part."
        ">>> xo.imag(xo.asarray([1 + 2j]))\narray([2.])" |x| x.imag();
    isfinite "True where an element is neither infinite nor NaN."
        ">>> xo.isfinite(xo.asarray([1.0, xo.inf, xo.nan]))\narray([ True, False, False])" |x| x.isfinite();
    isinf "True where an element is infinite."
        ">>> xo.isinf(xo.asarray([1.0, xo.inf, xo.nan]))\narray([False,  True, False])" |x| x.isinf();
    isnan "True where an element is NaN."
        ">>> xo.isnan(xo.asarray([1.0, xo.inf, xo.nan]))\narray([False, False,  True])" |x| x.isnan();
    log "Natural logarithm."
        ">>> xo.log(xo.asarray([1.0, xo.e]))\narray([0., 1.])" |x| x.log();
    log10 "Logarithm to base 10."
        ">>> xo.log10(xo.asarray([1.0, 1000.0]))\narray([0., 3.])" |x| x.log10();
    log1p "Natural logarithm of one plus each element."
        ">>> xo.log1p(xo.asarray([0.0, 1e-10]))\narray([0.e+00, 1.e-10])" |x| x.log1p();
    log2 "Logarithm to base 2."
        ">>> xo.log2(xo.asarray([1.0, 8.0]))\narray([0., 3.])" |x| x.log2();
    logical_not "True where an element is false, or zero."
        ">>> xo.logical_not(xo.asarray([True, False]))\narray([False,  True])" |x| x.logical_not();
    positive "Each element as it is."
        ">>> xo.positive(xo.asarray([-1, 2]))\narray([-1,  2])" |x| x.positive();
    reciprocal "One over each element."
        ">>> xo.reciprocal(xo.asarray([2.0, 4.0]))\narray([0.5 , 0.25])" |x| x.reciprocal();
    relu "The larger of each element and zero."
        ">>> xo.relu(xo.asarray([-1.0, 2.0]))\narray([0., 2.])" |x| x.relu();
    rint "Nearest whole number, ties to even, as floats."
        ">>> xo.rint(xo.asarray([0.5, 1.5, 2.4]))\narray([0., 2., 2.])" |x| floats(x).round();
    sigmoid "Logistic function."
        ">>> xo.sigmoid(xo.asarray([0.0, 1.0]))\narray([0.5       , 0.73105858])" |x| x.sigmoid();
    sign "-1, 0 or 1 with the sign of each element."
        ">>> xo.sign(xo.asarray([-3, 0, 5]))\narray([-1,  0,  1])" |x| x.sign();
    signbit "True where the sign bit is set."
        ">>> xo.signbit(xo.asarray([-0.0, 1.0]))\narray([ True, False])" |x| x.signbit();
    silu "Sigmoid linear unit."
        ">>> xo.silu(xo.asarray([0.0, 1.0]))\narray([0.        , 0.73105858])" |x| x.silu();
    sin "Sine of radians."
        ">>> xo.sin(xo.asarray([0.0, 1.0]))\narray([0.        , 0.84147098])" |x| x.sin();
    sinh "Hyperbolic sine."
        ">>> xo.sinh(xo.asarray([0.0, 1.0]))\narray([0.        , 1.17520119])" |x| x.sinh();
    softplus "Smooth version of max(x, 0)."
        ">>> xo.softplus(xo.asarray([0.0, 1.0]))\narray([0.69314718, 1.31326169])" |x| x.softplus();
    sqrt "Square root."
        ">>> xo.sqrt(xo.asarray([4.0, 2.0]))\narray([2.        , 1.41421356])" |x| x.sqrt();
    square "Each element times itself."
        ">>> xo.square(xo.asarray([-3, 2]))\narray([9, 4])" |x| x.square();
    tan "Tangent of radians."
        ">>> xo.tan(xo.asarray([0.0, 1.0]))\narray([0.        , 1.55740772])" |x| x.tan();
    tanh "Hyperbolic tangent."
        ">>> xo.tanh(xo.asarray([0.0, 1.0]))\narray([0.        , 0.76159416])" |x| x.tanh();
    trunc "Nearest whole number towards zero."
        ">>> xo.trunc(xo.asarray([-1.5, 1.5]))\narray([-1.,  1.])" |x| rounded(x, Array::trunc);
}

macro_rules! binary {
    ($($name:ident $doc:literal $example:literal |$x:ident, $y:ident| $body:expr;)*) => {
        $(
            #[doc = $doc]
            #[doc = ""]
            #[doc = $example]
            #[pyfunction]
            #[pyo3(signature = (x1, x2, /))]
            fn $name(x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>) -> PyResult<PyArray> {
                with_two(x1, x2, |$x, $y| PyArray::done(building(|| $body)))
            }
        )*

        fn register_binary(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

binary! {
    add "Sum."
        ">>> xo.add(xo.asarray([1, 2]), 10)\narray([11, 12])" |x, y| x.add(y);
    atan2 "Angle in radians of the point with height x1 and width x2."
        ">>> xo.atan2(xo.asarray([1.0, 1.0]), xo.asarray([0.0, 1.0]))\narray([1.57079633, 0.78539816])" |x, y| x.atan2(y);
    bitwise_and "Bitwise and."
        ">>> xo.bitwise_and(xo.asarray([6, 5]), 3)\narray([2, 1])" |x, y| x.bitwise_and(y);
    bitwise_left_shift "Bits moved up."
        ">>> xo.bitwise_left_shift(xo.asarray([1, 3]), 2)\narray([ 4, 12])" |x, y| x.bitwise_left_shift(y);
    bitwise_or "Bitwise or."
        ">>> xo.bitwise_or(xo.asarray([6, 5]), 3)\narray([7, 7])" |x, y| x.bitwise_or(y);
    bitwise_right_shift "Bits moved down."
        ">>> xo.bitwise_right_shift(xo.asarray([8, -8]), 2)\narray([ 2, -2])" |x, y| x.bitwise_right_shift(y);
    bitwise_xor "Bitwise exclusive or."
        ">>> xo.bitwise_xor(xo.asarray([6, 5]), 3)\narray([5, 6])" |x, y| x.bitwise_xor(y);
    copysign "Magnitude of x1 with the sign of x2."
        ">>> xo.copysign(xo.asarray([1.0, 2.0]), -0.0)\narray([-1., -2.])" |x, y| x.copysign(y);
    cospi "Cosine of pi times the sum, which is not rounded."
        ">>> xo.cospi(xo.asarray([0.0, 1.0]), 0.25)\narray([ 0.70710678, -0.70710678])" |x, y| x.cospi(y);
    divide "Quotient."
        ">>> xo.divide(xo.asarray([1, 3]), 2)\narray([0.5, 1.5])" |x, y| x.divide(y);
    floor_divide "Quotient rounded towards minus infinity; integers divided by zero give 0."
        ">>> xo.floor_divide(xo.asarray([-7, 7]), 2)\narray([-4,  3])" |x, y| x.floor_divide(y);
    hypot "Square root of the sum of squares."
        ">>> xo.hypot(xo.asarray([3.0, 5.0]), xo.asarray([4.0, 12.0]))\narray([ 5., 13.])" |x, y| x.hypot(y);
    logaddexp "Logarithm of the sum of exponentials."
        ">>> xo.logaddexp(xo.asarray([0.0, 1000.0]), xo.asarray([0.0, 1000.0]))\narray([6.93147181e-01, 1.00069315e+03])" |x, y| x.logaddexp(y);
    logical_and "True where both are."
        ">>> xo.logical_and(xo.asarray([True, True]), xo.asarray([True, False]))\narray([ True, False])" |x, y| x.logical_and(y);
    logical_or "True where either is."
        ">>> xo.logical_or(xo.asarray([False, True]), xo.asarray([False, False]))\narray([False,  True])" |x, y| x.logical_or(y);
    logical_xor "True where exactly one is."
        ">>> xo.logical_xor(xo.asarray([True, True]), xo.asarray([True, False]))\narray([False,  True])" |x, y| x.logical_xor(y);
    maximum "Larger of two; NaN wins."
        ">>> xo.maximum(xo.asarray([1.0, 5.0]), xo.asarray([3.0, xo.nan]))\narray([ 3., nan])" |x, y| x.maximum(y);
    minimum "Smaller of two; NaN wins."
        ">>> xo.minimum(xo.asarray([1.0, 5.0]), xo.asarray([3.0, xo.nan]))\narray([ 1., nan])" |x, y| x.minimum(y);
    multiply "Product."
        ">>> xo.multiply(xo.asarray([1, 2]), xo.asarray([3, 4]))\narray([3, 8])" |x, y| x.multiply(y);
    nextafter "Next float after x1 towards x2."
        ">>> xo.nextafter(xo.asarray([1.0]), 2.0) > 1.0\narray([ True])" |x, y| x.nextafter(y);
    remainder "Remainder with the sign of the divisor."
        ">>> xo.remainder(xo.asarray([-7, 7]), 3)\narray([2, 1])" |x, y| x.remainder(y);
    sinpi "Sine of pi times the sum, which is not rounded."
        ">>> xo.sinpi(xo.asarray([0.0, 1.0]), 0.5)\narray([ 1., -1.])" |x, y| x.sinpi(y);
}

macro_rules! compare {
    ($($name:ident $doc:literal $example:literal)*) => {
        $(
            #[doc = $doc]
            #[doc = ""]
            #[doc = $example]
            #[pyfunction]
            #[pyo3(signature = (x1, x2, /))]
            fn $name(x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>) -> PyResult<PyArray> {
                if let (Ok(left), Ok(right)) = (x1.cast::<PyArray>(), x2.cast::<PyArray>()) {
                    let (left, right) = (&left.get().0, &right.get().0);
                    return PyArray::done(building(|| left.$name(right)));
                }
                let (x1, x2) = (x1.extract::<Arg>()?, x2.extract::<Arg>()?);
                // An integer that the dtype cannot hold still compares.
                let x1 = match (&x1, &x2) {
                    (Arg::Number(_), Arg::Array(array)) => x1.beside(array.dtype())?,
                    _ => x1.into_array(),
                };
                PyArray::done(building(|| x1.$name(x2.operand())))
            }
        )*

        fn register_compare(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

compare! {
    equal "True where x1 is equal to x2."
        ">>> xo.equal(xo.asarray([1, 2]), xo.asarray([1, 3]))\narray([ True, False])"
    greater "True where x1 is greater than x2."
        ">>> xo.greater(xo.asarray([1, 2, 3]), 2)\narray([False, False,  True])"
    greater_equal "True where x1 is greater than or equal to x2."
        ">>> xo.greater_equal(xo.asarray([1, 2, 3]), 2)\narray([False,  True,  True])"
    less "True where x1 is less than x2."
        ">>> xo.less(xo.asarray([1, 2, 3]), 2)\narray([ True, False, False])"
    less_equal "True where x1 is less than or equal to x2."
        ">>> xo.less_equal(xo.asarray([1, 2, 3]), 2)\narray([ True,  True, False])"
    not_equal "True where x1 is different from x2."
        ">>> xo.not_equal(xo.asarray([1, 2]), xo.asarray([1, 3]))\narray([False,  True])"
}

/// Real part; real arrays themselves.
///
/// >>> xo.real(xo.asarray([1 + 2j]))
/// array([1.])
#[pyfunction]
#[pyo3(signature = (x, /))]
fn real<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // As with NumPy's, what is assigned to the part shows in the array.
    match x.cast::<PyArray>() {
        Ok(known) if !known.get().0.dtype().is_complex() => Ok(x.clone()),
        _ => {
            let part = with_one(x, |x| PyArray::done(building(|| x.real())))?;
            Ok(Bound::new(x.py(), part)?.into_any())
        }
    }
}

/// Booleans have no sign and no difference, as in NumPy.
pub fn refuse_booleans(op: &str, remedy: &str, dtypes: &[DType]) -> PyResult<()> {
    if dtypes.iter().all(|&dtype| dtype == DType::Bool) {
        return Err(type_error(format!("{op} of bool is not supported; use {remedy}")));
    }
    Ok(())
}

/// The sign flipped.
///
/// >>> xo.negative(xo.asarray([1, -2]))
/// array([-1,  2])
#[pyfunction]
#[pyo3(signature = (x, /))]
fn negative(x: &Bound<'_, PyAny>) -> PyResult<PyArray> {
    with_one(x, |x| {
        refuse_booleans("negative", "logical_not", &[x.dtype()])?;
        PyArray::done(building(|| x.negative()))
    })
}

/// Difference.
///
/// >>> xo.subtract(xo.asarray([5, 7]), xo.asarray([1, 2]))
/// array([4, 5])
#[pyfunction]
#[pyo3(signature = (x1, x2, /))]
fn subtract(x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>) -> PyResult<PyArray> {
    with_two(x1, x2, |x1, x2| {
        let other = match &x2 {
            Operand::Array(array) => array.dtype(),
            Operand::Number(number) => number.default_dtype(),
        };
        refuse_booleans("subtract", "bitwise_xor", &[x1.dtype(), other])?;
        PyArray::done(building(|| x1.subtract(x2)))
    })
}

/// Remainder with the sign of the dividend.
///
/// >>> xo.fmod(xo.asarray([-7, 7]), xo.asarray([3, -3]))
/// array([-1,  1])
#[pyfunction]
#[pyo3(signature = (x1, x2, /))]
fn fmod(x1: Arr, x2: Arr) -> PyResult<PyArray> {
    let (x1, x2) = (&x1.0, &x2.0);
    PyArray::done(building(|| {
        // That of Python's has the sign of the divisor, and where both agree they are the same.
        let rest = x1.remainder(x2);
        if rest.dtype().is_float() {
            return x1.abs().remainder(x2.abs()).copysign(x1);
        }
        if !rest.dtype().is_signed_int() {
            return rest;
        }
        let differ = match x1.dtype() == x2.dtype() && x1.dtype().is_int() {
            true => x1.bitwise_xor(x2).less(0),
            false => x1.less(0).not_equal(x2.less(0)),
        };
        rest.not_equal(0).logical_and(&differ).where_(&rest - x2, &rest)
    }))
}

/// x1 to the power of x2.
///
/// >>> xo.pow(xo.asarray([2.0, 3.0]), 2)
/// array([4., 9.])
#[pyfunction]
#[pyo3(signature = (x1, x2, /))]
fn pow(x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>) -> PyResult<PyArray> {
    with_two(x1, x2, |x1, x2| {
        if let Operand::Number(Number::Int(power)) = x2
            && power < 0
            && x1.dtype().is_int()
        {
            let what = format!(
                "integers to the negative power {power} are no integers; convert to a float dtype first"
            );
            return Err(value_error(what));
        }
        PyArray::done(building(|| x1.pow(x2)))
    })
}

/// Nearest whole number, ties to even; with `decimals`, nearest multiple of that power of ten.
///
/// >>> xo.round(xo.asarray([0.5, 1.5, 2.71828]), 2)
/// array([0.5 , 1.5 , 2.72])
#[pyfunction]
#[pyo3(signature = (x, /, decimals=0))]
pub fn round(x: Arr, decimals: i32) -> PyResult<PyArray> {
    let x = x.0;
    if decimals == 0 {
        return PyArray::done(building(|| rounded(&x, Array::round)));
    }
    let scale = 10f64.powi(decimals.abs());
    let is_float = x.dtype().is_float() || x.dtype().is_complex();
    PyArray::done(building(|| match (is_float, decimals > 0) {
        (true, true) => (&x * scale).round() / scale,
        (true, false) => (&x / scale).round() * scale,
        (false, true) => x.copy(),
        (false, false) => ((&x / scale).round() * scale).astype(x.dtype()),
    }))
}

/// Each element, but at least `min` and at most `max`.
///
/// >>> xo.clip(xo.asarray([-5, 1, 9]), 0, 3)
/// array([0, 1, 3])
#[pyfunction]
#[pyo3(signature = (x, /, min=None, max=None))]
pub fn clip(x: Arr, min: Option<Arg>, max: Option<Arg>) -> PyResult<PyArray> {
    let x = x.0;
    for bound in [&min, &max].into_iter().flatten() {
        if let Arg::Number(number) = bound {
            check_range(*number, x.dtype())?;
        }
    }
    let bounds = (min.as_ref().map(Arg::operand), max.as_ref().map(Arg::operand));
    PyArray::done(building(|| x.clip(bounds.0, bounds.1)))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    register_unary(module)?;
    register_binary(module)?;
    register_compare(module)?;
    module.add_function(wrap_pyfunction!(real, module)?)?;
    module.add_function(wrap_pyfunction!(negative, module)?)?;
    module.add_function(wrap_pyfunction!(subtract, module)?)?;
    module.add_function(wrap_pyfunction!(fmod, module)?)?;
    module.add_function(wrap_pyfunction!(pow, module)?)?;
    module.add_function(wrap_pyfunction!(round, module)?)?;
    module.add_function(wrap_pyfunction!(clip, module)?)
}

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
    ($($name:ident $doc:literal |$x:ident| $body:expr;)*) => {
        $(
            #[doc = $doc]
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
    abs "Magnitude of each element." |x| x.abs();
    acos "Arc cosine in radians." |x| x.acos();
    acosh "Inverse hyperbolic cosine." |x| x.acosh();
    asin "Arc sine in radians." |x| x.asin();
    asinh "Inverse hyperbolic sine." |x| x.asinh();
    atan "Arc tangent in radians." |x| x.atan();
    atanh "Inverse hyperbolic tangent." |x| x.atanh();
    bitwise_invert "Every bit flipped; logical not for booleans." |x| x.bitwise_invert();
    ceil "Smallest whole number not below." |x| rounded(x, Array::ceil);
    conj "Complex conjugate." |x| x.conj();
    cos "Cosine of radians." |x| x.cos();
    cosh "Hyperbolic cosine." |x| x.cosh();
    erf "Gauss error function." |x| x.erf();
    erfc "Complementary error function." |x| x.erfc();
    exp "e to the power of each element.\n\n>>> xo.exp(xo.asarray([0.0, 1.0]))\narray([1.        , 2.71828183])" |x| x.exp();
    exp2 "Two to the power of each element." |x| x.exp2();
    expm1 "e to the power of each element, minus one." |x| x.expm1();
    fabs "Magnitude of each element, as floats." |x| floats(x).abs();
    floor "Largest whole number not above." |x| rounded(x, Array::floor);
    gelu "Gaussian error linear unit, tanh form." |x| x.gelu();
    gelu_exact "Gaussian error linear unit, exact form." |x| x.gelu_exact();
    imag "Imaginary part." |x| x.imag();
    isfinite "True where an element is neither infinite nor NaN." |x| x.isfinite();
    isinf "True where an element is infinite." |x| x.isinf();
    isnan "True where an element is NaN." |x| x.isnan();
    log "Natural logarithm." |x| x.log();
    log10 "Logarithm to base 10." |x| x.log10();
    log1p "Natural logarithm of one plus each element." |x| x.log1p();
    log2 "Logarithm to base 2." |x| x.log2();
    logical_not "True where an element is false, or zero." |x| x.logical_not();
    positive "Each element as it is." |x| x.positive();
    reciprocal "One over each element." |x| x.reciprocal();
    relu "The larger of each element and zero." |x| x.relu();
    rint "Nearest whole number, ties to even, as floats." |x| floats(x).round();
    sigmoid "Logistic function." |x| x.sigmoid();
    sign "-1, 0 or 1 with the sign of each element." |x| x.sign();
    signbit "True where the sign bit is set." |x| x.signbit();
    silu "Sigmoid linear unit." |x| x.silu();
    sin "Sine of radians." |x| x.sin();
    sinh "Hyperbolic sine." |x| x.sinh();
    softplus "Smooth version of max(x, 0)." |x| x.softplus();
    sqrt "Square root." |x| x.sqrt();
    square "Each element times itself." |x| x.square();
    tan "Tangent of radians." |x| x.tan();
    tanh "Hyperbolic tangent." |x| x.tanh();
    trunc "Nearest whole number towards zero." |x| rounded(x, Array::trunc);
}

macro_rules! binary {
    ($($name:ident $doc:literal |$x:ident, $y:ident| $body:expr;)*) => {
        $(
            #[doc = $doc]
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
    add "Sum." |x, y| x.add(y);
    atan2 "Angle in radians of the point with height x1 and width x2." |x, y| x.atan2(y);
    bitwise_and "Bitwise and." |x, y| x.bitwise_and(y);
    bitwise_left_shift "Bits moved up." |x, y| x.bitwise_left_shift(y);
    bitwise_or "Bitwise or." |x, y| x.bitwise_or(y);
    bitwise_right_shift "Bits moved down." |x, y| x.bitwise_right_shift(y);
    bitwise_xor "Bitwise exclusive or." |x, y| x.bitwise_xor(y);
    copysign "Magnitude of x1 with the sign of x2." |x, y| x.copysign(y);
    cospi "Cosine of pi times the sum, which is not rounded." |x, y| x.cospi(y);
    divide "Quotient." |x, y| x.divide(y);
    floor_divide "Quotient rounded towards minus infinity; integers divided by zero give 0." |x, y| x.floor_divide(y);
    hypot "Square root of the sum of squares." |x, y| x.hypot(y);
    logaddexp "Logarithm of the sum of exponentials." |x, y| x.logaddexp(y);
    logical_and "True where both are." |x, y| x.logical_and(y);
    logical_or "True where either is." |x, y| x.logical_or(y);
    logical_xor "True where exactly one is." |x, y| x.logical_xor(y);
    maximum "Larger of two; NaN wins." |x, y| x.maximum(y);
    minimum "Smaller of two; NaN wins." |x, y| x.minimum(y);
    multiply "Product." |x, y| x.multiply(y);
    nextafter "Next float after x1 towards x2." |x, y| x.nextafter(y);
    remainder "Remainder with the sign of the divisor." |x, y| x.remainder(y);
    sinpi "Sine of pi times the sum, which is not rounded." |x, y| x.sinpi(y);
}

macro_rules! compare {
    ($($name:ident $doc:literal)*) => {
        $(
            #[doc = $doc]
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
    greater "True where x1 is greater than x2."
    greater_equal "True where x1 is greater than or equal to x2."
    less "True where x1 is less than x2."
    less_equal "True where x1 is less than or equal to x2."
    not_equal "True where x1 is different from x2."
}

/// Real part; real arrays themselves.
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
#[pyfunction]
#[pyo3(signature = (x, /))]
fn negative(x: &Bound<'_, PyAny>) -> PyResult<PyArray> {
    with_one(x, |x| {
        refuse_booleans("negative", "logical_not", &[x.dtype()])?;
        PyArray::done(building(|| x.negative()))
    })
}

/// Difference.
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

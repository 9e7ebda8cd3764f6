//! Where the standard says something else than the library about a special value.
//!
//! The library follows NumPy and C there. The differences are written as expressions, which fuse with what is around them, and only for
//! the dtypes concerned.

use crossover::{Array, DType, Number};

const NAN: f64 = f64::NAN;

/// `value` where `mask` holds, else `rest`.
fn choose(mask: &Array, value: Number, rest: &Array) -> Array {
    mask.where_(value, rest)
}

/// The sign of a zero is +0.
pub fn sign(x: &Array) -> Array {
    let sign = x.sign();
    if x.dtype().is_float() || x.dtype().is_complex() { sign.add(0) } else { sign }
}

/// The quotient with an infinity is rounded like any other, and no NaN.
pub fn floor_divide(x: &Array, y: &Array) -> Array {
    let quotient = x.floor_divide(y);
    if !quotient.dtype().is_float() {
        return quotient;
    }
    let infinite = x.isinf().logical_or(y.isinf());
    infinite.where_(x.divide(y).floor(), &quotient)
}

/// ±1 with a zero of the sign of the imaginary part, beyond all bounds.
pub fn tanh(x: &Array) -> Array {
    let tanh = x.tanh();
    if !x.dtype().is_complex() {
        return tanh;
    }
    let (re, im) = (x.real(), x.imag());
    let far = re.isinf().logical_and(im.isfinite());
    let (right, above) = (re.greater(0), im.signbit().logical_not());
    let mut result = tanh;
    for (value, zero) in [(1.0, 0.0), (1.0, -0.0), (-1.0, 0.0), (-1.0, -0.0)] {
        let side = if value > 0.0 { right.clone() } else { right.logical_not() };
        let half = if f64::is_sign_positive(zero) { above.clone() } else { above.logical_not() };
        result = choose(&far.logical_and(&side).logical_and(&half), Number::Complex(value, zero), &result);
    }
    result
}

/// π/2 beside a NaN, over the imaginary axis.
pub fn acosh(x: &Array) -> Array {
    let acosh = x.acosh();
    if !x.dtype().is_complex() {
        return acosh;
    }
    let there = x.real().equal(0).logical_and(x.imag().isnan());
    choose(&there, Number::Complex(NAN, std::f64::consts::FRAC_PI_2), &acosh)
}

/// The zero of the imaginary part stays beside a NaN.
pub fn asinh(x: &Array) -> Array {
    let asinh = x.asinh();
    if !x.dtype().is_complex() {
        return asinh;
    }
    let there = x.real().isnan().logical_and(x.imag().equal(0));
    let below = there.logical_and(x.imag().signbit());
    let asinh = choose(&there, Number::Complex(NAN, 0.0), &asinh);
    choose(&below, Number::Complex(NAN, -0.0), &asinh)
}

/// The zero of the real part stays beside a NaN; a NaN there makes both parts NaN.
pub fn atanh(x: &Array) -> Array {
    let atanh = x.atanh();
    if !x.dtype().is_complex() {
        return atanh;
    }
    let there = x.real().equal(0).logical_and(x.imag().isnan());
    let left = there.logical_and(x.real().signbit());
    let atanh = choose(&there, Number::Complex(0.0, NAN), &atanh);
    let lost = x.real().isnan().logical_and(x.imag().isfinite());
    let atanh = choose(&lost, Number::Complex(NAN, NAN), &atanh);
    choose(&left, Number::Complex(-0.0, NAN), &atanh)
}

/// Of a zero, +0 with the zero of the imaginary part.
pub fn expm1(x: &Array) -> Array {
    let expm1 = x.expm1();
    if !x.dtype().is_complex() {
        return expm1;
    }
    let there = x.real().equal(0).logical_and(x.imag().equal(0));
    let below = there.logical_and(x.imag().signbit());
    let expm1 = choose(&there, Number::Complex(0.0, 0.0), &expm1);
    choose(&below, Number::Complex(0.0, -0.0), &expm1)
}

/// Booleans have no sign and no difference, as in NumPy.
pub fn refuse_booleans(op: &str, remedy: &str, dtypes: &[DType]) -> Result<(), pyo3::PyErr> {
    if dtypes.iter().all(|&dtype| dtype == DType::Bool) {
        return Err(crate::errors::type_error(format!("{op} of bool is not supported; use {remedy}")));
    }
    Ok(())
}

//! What the errors of `f32` bodies are measured against: `f64` functions, 29 bits finer. Shared with `examples/ulp.rs`.

/// Calls a macro with every function: `Type module reference`.
#[macro_export]
macro_rules! for_each_function {
    ($callback:ident) => {
        $callback! {
            Exp exp f64::exp;
            Expm1 expm1 f64::exp_m1;
            Log log f64::ln;
            Log1p log1p f64::ln_1p;
            Sin sin f64::sin;
            Cos cos f64::cos;
            Tanh tanh f64::tanh;
            Sigmoid sigmoid truth::sigmoid;
            Erf erf libm::erf;
            Gelu gelu truth::gelu;
            Acos acos libm::acos;
            Acosh acosh truth::acosh;
            Asin asin libm::asin;
            Asinh asinh libm::asinh;
            Atan atan libm::atan;
            Atanh atanh libm::atanh;
            Cosh cosh f64::cosh;
            Erfc erfc libm::erfc;
            Exp2 exp2 f64::exp2;
            GeluExact gelu_exact truth::gelu_exact;
            Log10 log10 f64::log10;
            Log2 log2 f64::log2;
            Silu silu truth::silu;
            Sinh sinh f64::sinh;
            Softplus softplus truth::softplus;
            Tan tan f64::tan;
        }
    };
}

/// The logistic function.
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The defining formula of GELU in its tanh form; at minus infinity, where it is undefined, its limit.
pub fn gelu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return -0.0;
    }
    let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    x / (1.0 + (-2.0 * u).exp())
}

/// The defining formula of the exact GELU; at minus infinity, where it is undefined, its limit.
pub fn gelu_exact(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return -0.0;
    }
    0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The defining formula of SiLU; at minus infinity, where it is undefined, its limit.
pub fn silu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY { -0.0 } else { x / (1.0 + (-x).exp()) }
}

/// The inverse hyperbolic cosine; the library's is not NaN everywhere below 1.
pub fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// log(1 + e^x) without overflow.
pub fn softplus(x: f64) -> f64 {
    if x.is_nan() { x } else { x.max(0.0) + (-x.abs()).exp().ln_1p() }
}

/// Distance of `got` from the true value in units in the last place of an `f32` of the true value's size. An
/// overflowed result counts as 2^128; a NaN or a zero of the wrong sign is infinitely far.
pub fn ulps(got: f32, truth: f64) -> f64 {
    if truth.is_nan() || got.is_nan() {
        return if truth.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if truth == 0.0 && got == 0.0 {
        return if truth.is_sign_negative() == got.is_sign_negative() { 0.0 } else { f64::INFINITY };
    }
    let top = 2f64.powi(128);
    let clamp = |v: f64| v.clamp(-top, top);
    let exponent = ((clamp(truth).to_bits() >> 52 & 0x7ff) as i32 - 1023).clamp(-126, 127);
    (clamp(got as f64) - clamp(truth)).abs() / 2f64.powi(exponent - 23)
}

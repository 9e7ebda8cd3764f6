//! The workloads of the benchmark's group `functions`: every elementwise function and reduction by itself.
//!
//! `bench/functions.py` lists them with their peers; a name is the function, the dtype and the size, and only the first
//! matters here.

use crossover::Array;

/// A function of one, two or three operands.
pub struct Function {
    /// As `bench/functions.py` spells it.
    pub name: &'static str,
    /// Operands in order.
    pub operands: &'static [&'static str],
    /// The work; the number of the iteration is not used.
    pub work: fn(&[Array], u64) -> Array,
}

macro_rules! functions {
    (one $($one:ident)* ; two $($two:ident)* ; reductions $($reduction:ident)* ; others $($other:ident $form:expr,)*) => {
        /// Every function.
        pub const FUNCTIONS: &[Function] = &[
            $(Function { name: stringify!($one), operands: &["x"], work: |x, _| x[0].$one() },)*
            $(Function { name: stringify!($two), operands: &["x", "y"], work: |x, _| x[0].$two(&x[1]) },)*
            $(Function { name: stringify!($reduction), operands: &["x"], work: |x, _| x[0].$reduction(()) },)*
            $(Function { name: stringify!($other), operands: &["x"], work: $form },)*
            Function { name: "fma", operands: &["x", "y", "z"], work: |x, _| x[0].fma(&x[1], &x[2]) },
        ];
    };
}

functions! {
    one abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh erf erfc exp exp2 expm1 floor gelu gelu_exact
        imag isfinite isinf isnan log log10 log1p log2 logical_not negative real reciprocal relu round sigmoid sign signbit silu
        sin sinh softplus sqrt square tan tanh trunc;
    two add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign cospi divide equal
        floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum
        multiply nextafter not_equal pow remainder sinpi subtract;
    reductions sum prod min max mean var std logsumexp all any argmax argmin count_nonzero vector_norm;
    others
        clip |x, _| x[0].clip(-3, 3),
        cumulative_prod |x, _| x[0].cumulative_prod(0),
        cumulative_sum |x, _| x[0].cumulative_sum(0),
        diff |x, _| x[0].diff(0, 1),
        modulus |x, _| x[0].abs(),
}

/// The names of all cases: a function, a dtype and a size. Which dtypes a function is asked for is up to the driver.
pub fn cases() -> impl Iterator<Item = (String, &'static Function)> {
    FUNCTIONS.iter().flat_map(|function| {
        ["f32", "f64", "i64", "bool", "c128"].into_iter().flat_map(move |dtype| {
            ["1e3", "1e6"].map(|size| (format!("{}_{dtype}_{size}", function.name), function))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossover::core::ops::MapOp;

    #[test]
    fn the_driver_knows_every_function() {
        const DRIVER: &str = include_str!("../../../bench/functions.py");
        for function in FUNCTIONS {
            assert!(DRIVER.contains(&format!("(\"{}\"", function.name)), "{} has no peers", function.name);
        }
    }

    #[test]
    fn every_function_is_timed() {
        for op in MapOp::ALL {
            assert!(FUNCTIONS.iter().any(|function| function.name == op.name()), "{op} is not timed");
        }
    }
}

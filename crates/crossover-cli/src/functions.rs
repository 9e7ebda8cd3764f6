//! The workloads of the benchmark's group `functions`: every elementwise function and reduction by itself.
//!
//! `bench/functions.py` lists them with their peers; a name is the function, the dtype and the size, and only the first
//! matters here.

use crossover::Array;

/// A function of one or two operands.
pub struct Function {
    /// As `bench/functions.py` spells it.
    pub name: &'static str,
    /// Operands in order.
    pub operands: &'static [&'static str],
    /// The work; the number of the iteration is not used.
    pub work: fn(&[Array], u64) -> Array,
}

macro_rules! functions {
    (one $($one:ident)* ; two $($two:ident)* ; reductions $($reduction:ident)*) => {
        /// Every function.
        pub const FUNCTIONS: &[Function] = &[
            $(Function { name: stringify!($one), operands: &["x"], work: |x, _| x[0].$one() },)*
            $(Function { name: stringify!($two), operands: &["x", "y"], work: |x, _| x[0].$two(&x[1]) },)*
            $(Function { name: stringify!($reduction), operands: &["x"], work: |x, _| x[0].$reduction(()) },)*
            Function { name: "cumulative_sum", operands: &["x"], work: |x, _| x[0].cumulative_sum(0) },
        ];
    };
}

functions! {
    one abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor gelu gelu_exact log log10 log1p log2
        negative reciprocal round sigmoid sign silu sin sinh softplus sqrt square tan tanh trunc;
    two add atan2 copysign cospi divide floor_divide hypot logaddexp maximum minimum multiply nextafter pow remainder sinpi
        subtract;
    reductions sum prod min max mean var std logsumexp
}

/// The names of all cases: a function, a dtype and a size.
pub fn cases() -> impl Iterator<Item = (String, &'static Function)> {
    FUNCTIONS.iter().flat_map(|function| {
        ["f32_1e3", "f32_1e6", "f64_1e3", "f64_1e6"]
            .map(|kind| (format!("{}_{kind}", function.name), function))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossover::{DType, core::ops::Class, core::ops::MapOp};

    #[test]
    fn the_driver_knows_every_function() {
        const DRIVER: &str = include_str!("../../../bench/functions.py");
        for function in FUNCTIONS {
            assert!(DRIVER.contains(&format!("(\"{}\",", function.name)), "{} has no peers", function.name);
        }
    }

    #[test]
    fn every_function_of_floats_is_timed() {
        let floats = MapOp::ALL.iter().filter(|op| op.supports(DType::F32));
        for op in floats.filter(|op| matches!(op.class(), Class::Unary | Class::Binary)) {
            assert!(FUNCTIONS.iter().any(|function| function.name == op.name()), "{op} is not timed");
        }
    }
}

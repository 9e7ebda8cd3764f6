//! Every function stays within the error that its op declares.
//!
//! `single` samples all `f32` arguments (`examples/ulp.rs` looks at every one), `double` compares `f64` bodies with
//! arbitrary-precision arithmetic on random and on hard arguments, `complex` complex ones.

use std::collections::BTreeSet;

use crossover_core::ops::MapOp;

mod big;
mod complex;
mod double;
mod single;
mod truth;

/// A stream of 64-bit numbers that is the same in every run.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 ^ (self.0 >> 31)
    }

    /// Between `low` and `high`.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// The tests of a precision by the op that each looks at.
type Checked = &'static [(&'static str, fn())];

/// Lists tests under the names of their ops: `test` alone, or `op test` where they differ.
#[macro_export]
macro_rules! checked {
    ($($op:ident $($test:ident)?;)*) => {
        /// The ops that are compared with true values, and the test of each.
        pub const CHECKED: $crate::Checked = &[$((stringify!($op), $crate::checked!(@ $op $($test)?))),*];
    };
    (@ $op:ident) => { $op };
    (@ $op:ident $test:ident) => { $test };
}

#[test]
fn every_function_with_an_error_is_compared_with_true_values() {
    let inexact: BTreeSet<&str> =
        MapOp::ALL.iter().filter(|op| op.info().max_ulp > 0.0).map(|op| op.name()).collect();
    for (precision, checked) in [("f32", single::CHECKED), ("f64", double::CHECKED)] {
        let names: BTreeSet<&str> = checked.iter().map(|(name, _)| *name).collect();
        let missing: Vec<_> = inexact.difference(&names).collect();
        assert!(missing.is_empty(), "{missing:?} have no true values in {precision}");
        let exact: Vec<_> = names.difference(&inexact).collect();
        assert!(exact.is_empty(), "{exact:?} are no operations with an error");
    }
}

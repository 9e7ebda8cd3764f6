//! Sums and products that keep their rounding error: a value as the sum of two floats, `hi + lo`.

use crate::lane::FloatLane;

/// `a + b` rounded, and the exact error. Needs `|a| >= |b|` or `a == 0`.
#[inline(always)]
pub fn sum_ordered<L: FloatLane>(a: L, b: L) -> (L, L) {
    let hi = a + b;
    (hi, b - (hi - a))
}

/// `a + b` rounded, and the exact error, for any order of magnitudes.
#[inline(always)]
pub fn sum<L: FloatLane>(a: L, b: L) -> (L, L) {
    let hi = a + b;
    let part = hi - a;
    (hi, (a - (hi - part)) + (b - part))
}

/// `a * b` rounded, and the exact error.
#[inline(always)]
pub fn product<L: FloatLane>(a: L, b: L) -> (L, L) {
    let hi = a * b;
    (hi, a.fma(b, -hi))
}

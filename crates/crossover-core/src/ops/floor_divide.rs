//! `floor_divide`: quotient rounded down.

use super::{Binary, Cost, OpInfo};
use crate::{
    DTypeSet,
    lane::{FloatLane, IntLane},
};

/// Quotient rounded towards minus infinity; integers divided by zero give 0.
///
/// For floats the floor of the exact quotient, as long as it has no more bits than the significand; beyond that,
/// where every float is whole, the quotient rounded to nearest. By zero, and where an operand is infinite, it is the floor of what division gives,
/// as the Array API standard asks: an infinity over a number is an infinity, a number over an infinity a zero of the quotient's sign.
pub struct FloorDivide;

impl Binary for FloorDivide {
    const INFO: OpInfo = OpInfo::new(
        "floor_divide",
        DTypeSet::REAL,
        "Quotient rounded towards minus infinity; integers divided by zero give 0.",
    )
    .cost(Cost::Divide);

    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        let (zero, one) = (L::real(0.0), L::real(1.0));
        let quotient = a / b;
        let whole = quotient.floor();
        // Division may have rounded up to the next whole number; then what is left over has the wrong sign. The
        // fma loses nothing there: the rest is a multiple of the last places of a and b.
        let rest = (-whole).fma(b, a);
        let above = (rest.is_lt(zero) & b.is_gt(zero)) | (rest.is_gt(zero) & b.is_lt(zero));
        let small = whole.magnitude().is_lt(L::real((1u64 << L::DIGITS) as f64));
        let value = L::select(above & small, whole - one, whole);
        // A zero keeps the sign of the quotient; one that a negative quotient was too small for is below zero, so -1.
        let opposite = (a.is_lt(zero) & b.is_gt(zero)) | (a.is_gt(zero) & b.is_lt(zero));
        let value = L::select(value.is_eq(zero), zero.with_sign(quotient), value);
        let finite = b.magnitude().is_lt(L::real(f64::INFINITY));
        L::select(quotient.is_eq(zero) & opposite & finite, -one, value)
    }

    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        let q = a.quotient(b);
        if !L::SIGNED {
            return q;
        }
        let r = a.minus(q.times(b));
        let uneven = r.is_ne(L::int(0)) & (r.is_lt(L::int(0)) ^ b.is_lt(L::int(0))) & b.is_ne(L::int(0));
        L::select(uneven, q.minus(L::int(1)), q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_give_the_floor_of_the_exact_quotient() {
        let f = FloorDivide::float::<f64>;
        // 1.0 / 0.1 rounds to 10, but 0.1 is a little more than a tenth.
        assert_eq!(f(1.0, 0.1), 9.0);
        assert_eq!(f(-1.0, 0.1), -10.0);
        assert_eq!(f(7.0, -2.0), -4.0);
        assert_eq!(f(6.0, 3.0), 2.0);
        assert_eq!(f(1.0, 3.0).to_bits(), 0f64.to_bits());
        assert_eq!(f(-1.0, -3.0).to_bits(), 0f64.to_bits());
        assert_eq!(f(1.0, -3.0), -1.0);
        assert_eq!(FloorDivide::float(2.0f32, 3.0).to_bits(), 0);
        assert_eq!(FloorDivide::float(1.0f32, 0.1), 9.0);
        assert_eq!(f(1e300, 1e-5), 1e300 / 1e-5);
        assert_eq!(f(-1.0, f64::INFINITY).to_bits(), (-0f64).to_bits());
        assert_eq!(f(f64::NEG_INFINITY, 2.0), f64::NEG_INFINITY);
        assert!(f(f64::INFINITY, f64::INFINITY).is_nan());
        assert_eq!(f(1.0, f64::INFINITY).to_bits(), 0f64.to_bits());
        assert_eq!(f(-0.0, 2.0).to_bits(), (-0f64).to_bits());
        assert_eq!(f(-1e-320, 1e300), -1.0);
        assert_eq!(f(1.0, 0.0), f64::INFINITY);
        assert_eq!(f(-1.0, 0.0), f64::NEG_INFINITY);
        assert!(f(f64::INFINITY, 2.0) == f64::INFINITY && f(f64::INFINITY, 0.0) == f64::INFINITY);
        assert!(f(0.0, 0.0).is_nan() && f(f64::NAN, 1.0).is_nan() && f(1.0, f64::NAN).is_nan());
    }

    #[test]
    fn integers_round_down_and_never_trap() {
        assert_eq!(FloorDivide::int(-7i32, 2), -4);
        assert_eq!(FloorDivide::int(7i32, -2), -4);
        assert_eq!(FloorDivide::int(7i32, 0), 0);
        assert_eq!(FloorDivide::int(i8::MIN, -1), i8::MIN);
        assert_eq!(FloorDivide::int(200u8, 7), 28);
    }
}

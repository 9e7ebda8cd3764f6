//! `pow`: power.

use super::{
    Binary, Cost, NanRule, OpInfo,
    parts::{
        exponential,
        logarithm::{decompose, log_double, log_sum},
    },
};
use crate::{
    DTypeSet,
    lane::{F32Lane, F64Lane, FloatLane, IntLane},
};

/// The first operand to the power of the second. Integers wrap; a negative integer exponent gives the reciprocal
/// rounded towards zero: 1 or -1 for those bases, 0 for every other, 0 included.
pub struct Pow;

impl Binary for Pow {
    const INFO: OpInfo = OpInfo::new(
        "pow",
        DTypeSet::REAL,
        "The first operand to the power of the second; integers wrap, and give 0 for a negative exponent \
         unless the base is 1 or -1.",
    )
    .max_ulp(1.0)
    .cost(Cost::Heavy)
    .nan(NanRule::Canonical);

    /// In f64, where a plain logarithm leaves 20 bits to spare.
    #[inline(always)]
    fn f32<L: F32Lane>(a: L, b: L) -> L {
        let (a, b) = (a.widen(), b.widen());
        let value = special(a, b, |size| {
            let (e, mantissa) = decompose(size);
            (log_sum(e, mantissa - L::Wide::real(1.0), |_| L::Wide::real(0.0)), L::Wide::real(0.0))
        });
        L::narrow(value).canonical() // devices narrow a NaN to different bits
    }

    #[inline(always)]
    fn f64<L: F64Lane>(a: L, b: L) -> L {
        special(a, b, log_double)
    }

    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        let (zero, one) = (L::int(0), L::int(1));
        let (mut value, mut square) = (one, a);
        let mut left = b;
        // Negative exponents are replaced below, so the sign bit of a signed type is never used.
        let steps = if L::SIGNED { L::BITS - 1 } else { L::BITS };
        for step in 0..steps {
            value = L::select(left.and(one).is_ne(zero), value.times(square), value);
            if step + 1 < steps {
                square = square.times(square);
                left = left.shr(1);
            }
        }
        if !L::SIGNED {
            return value;
        }
        let minus = L::int(-1);
        let sign = L::select(b.and(one).is_ne(zero), minus, one);
        let inverse = L::select(a.is_eq(one), one, L::select(a.is_eq(minus), sign, zero));
        L::select(b.is_lt(zero), inverse, value)
    }
}

/// `a` to the power of `b` by IEEE 754 rules, from a logarithm (as two parts) of positive finite numbers.
#[inline(always)]
fn special<L: F64Lane>(a: L, b: L, log: impl FnOnce(L) -> (L, L)) -> L {
    let (zero, one, infinity) = (L::real(0.0), L::real(1.0), L::real(f64::INFINITY));
    let size = a.magnitude();
    let (hi, lo) = log(size);
    // The logarithm of zero and infinity; with it, infinite products go the right way below.
    let hi = L::select(size.is_eq(zero), -infinity, L::select(size.is_lt(infinity), hi, infinity));
    let product = b * hi;
    let product_lo = b.fma(hi, -product) + b * lo;
    // Beyond 800 the result has overflowed or vanished, and the second part may not be a number.
    let inside = product.magnitude().is_lt(L::real(800.0));
    let product = L::select(inside, product, L::real(800.0).with_sign(product));
    let product_lo = L::select(inside, product_lo, zero);
    // 1 to any power, infinite ones included.
    let still = hi.is_eq(zero);
    let product = L::select(still, zero, product);
    let product_lo = L::select(still, zero, product_lo);
    let split = exponential::split(product, product_lo);
    let value = split.scale(split.mantissa());

    let half = b * L::real(0.5);
    let whole = b.trunc().is_eq(b);
    let odd = whole & half.trunc().is_ne(half);
    let value = L::select(odd, value.with_sign(a), value);
    let undefined = a.is_lt(zero) & a.is_gt(-infinity) & !whole;
    let value = L::select(undefined | a.is_nan() | b.is_nan(), L::nan(), value);
    L::select(b.is_eq(zero) | a.is_eq(one), one, value)
}

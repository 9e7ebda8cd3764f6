//! `remainder`: what floor division leaves.

use super::{
    Binary, Cost, NanRule, OpInfo,
    parts::{pick, residue::residue},
};
use crate::{
    DTypeSet,
    lane::{F32Lane, F64Lane, FloatLane, IntLane},
};

/// Remainder with the sign of the divisor; integers modulo zero give 0.
///
/// For floats it is the exact remainder of the magnitudes (`fmod`), for quotients of any size, moved to the sign of
/// the divisor by one rounded addition where needed: NumPy's definition.
pub struct Remainder;

impl Binary for Remainder {
    const INFO: OpInfo = OpInfo::new(
        "remainder",
        DTypeSet::REAL,
        "Remainder with the sign of the divisor; integers modulo zero give 0.",
    )
    .cost(Cost::Heavy)
    .nan(NanRule::Canonical);

    const SHORT: bool = true;

    #[inline(always)]
    fn is_plain<L: FloatLane>(a: L, b: L) -> L::Mask {
        // Quotients well below the number of digits; false where an operand is NaN, infinite, or the divisor zero.
        let limit: L = pick(4194304.0, 1125899906842624.0);
        let size = b.magnitude();
        a.magnitude().is_lt(size * limit) & size.is_lt(L::real(f64::INFINITY))
    }

    #[inline(always)]
    fn short<L: FloatLane>(a: L, b: L) -> L {
        // The quotient is within 1/8 of itself, so rounded it leaves at most 5/8 of the divisor. That is a multiple of the
        // last digit of the smaller operand with no more digits than it has, so the fma is exact, and so is the sum.
        let (x, y) = (a.magnitude(), b.magnitude());
        let r = (-(x / y).round()).fma(y, x);
        let r = L::select(r.is_lt(L::real(0.0)), r + y, r);
        floored(a, b, r.magnitude())
    }

    #[inline(always)]
    fn f32<L: F32Lane>(a: L, b: L) -> L {
        let exact = residue::<true, L::Wide>(a.magnitude().widen(), b.magnitude().widen());
        floored(a, b, L::narrow(exact))
    }

    #[inline(always)]
    fn f64<L: F64Lane>(a: L, b: L) -> L {
        floored(a, b, residue::<false, L>(a.magnitude(), b.magnitude()))
    }

    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        let r = a.modulo(b);
        if !L::SIGNED {
            return r;
        }
        let wrong = r.is_ne(L::int(0)) & (r.is_lt(L::int(0)) ^ b.is_lt(L::int(0)));
        L::select(wrong, r.plus(b), r)
    }
}

/// The floored remainder, from the remainder of the magnitudes.
#[inline(always)]
fn floored<L: FloatLane>(a: L, b: L, residue: L) -> L {
    let (zero, infinity) = (L::real(0.0), L::real(f64::INFINITY));
    let r = residue.with_sign(a);
    let r = L::select(r.is_lt(zero) ^ b.is_lt(zero), r + b, r);
    let r = L::select(residue.is_eq(zero), zero.with_sign(b), r);
    let defined = a.magnitude().is_lt(infinity) & b.magnitude().is_gt(zero); // false for NaN
    L::select(defined, r, L::nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(a: f64, b: f64) -> f64 {
        let r = a % b;
        if r == 0.0 {
            return 0f64.copysign(b);
        }
        if (r < 0.0) != (b < 0.0) { r + b } else { r }
    }

    fn same(got: f64, want: f64, a: f64, b: f64) {
        let equal = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(equal, "remainder({a:e}, {b:e}) = {got:e}, not {want:e}");
    }

    #[test]
    fn floats_are_exact_for_quotients_of_any_size() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ (state >> 29)
        };
        let special =
            [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, 5e-324, -5e-324];
        let special32 = special.map(|x: f64| x as f32);
        for i in 0..200_000usize {
            let (mut a, mut b) = (f64::from_bits(next()), f64::from_bits(next()));
            if i < 100 {
                (a, b) = (special[i / 10], special[i % 10]);
            } else if i % 3 == 0 {
                a = b * (1.0 + (next() >> 40) as f64);
            }
            same(Remainder::f64(a, b), truth(a, b), a, b);
            if Remainder::is_plain(a, b) {
                same(Remainder::short(a, b), truth(a, b), a, b);
            }
            let (mut a, mut b) = (f32::from_bits(next() as u32), f32::from_bits(next() as u32));
            if i < 100 {
                (a, b) = (special32[i / 10], special32[i % 10]);
            }
            let r = a % b;
            let want = if r == 0.0 {
                0f32.copysign(b)
            } else if (r < 0.0) != (b < 0.0) {
                r + b
            } else {
                r
            };
            same(Remainder::f32(a, b) as f64, want as f64, a as f64, b as f64);
            if Remainder::is_plain(a, b) {
                same(Remainder::short(a, b) as f64, want as f64, a as f64, b as f64);
            }
        }
    }

    #[test]
    fn plain_operands_have_the_same_bits_by_the_shorter_way() {
        let mut state = 3u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ (state >> 31)
        };
        let mut plain = [0; 2];
        for _ in 0..300_000 {
            // Exponents up to 60 apart, around 1 and at the bottom of the range.
            let low = if next() % 4 == 0 { 0 } else { 1000 + next() % 40 };
            let bits = |exponent: u64, more: u64| f64::from_bits(more & !(0x7ff << 52) | exponent << 52);
            let (a, b) = (bits(low + next() % 60, next()), bits(low, next()));
            if Remainder::is_plain(a, b) {
                plain[0] += 1;
                same(Remainder::short(a, b), truth(a, b), a, b);
            }
            let low = if next() % 4 == 0 { 0 } else { 100 + next() as u32 % 40 };
            let bits =
                |exponent: u32, more: u64| f32::from_bits(more as u32 & !(0xff << 23) | exponent << 23);
            let (a, b) = (bits(low + next() as u32 % 30, next()), bits(low, next()));
            if Remainder::is_plain(a, b) {
                plain[1] += 1;
                same(Remainder::short(a, b) as f64, Remainder::f32(a, b) as f64, a as f64, b as f64);
            }
        }
        assert!(plain.iter().all(|&n| n > 100_000), "{plain:?}");
        assert!(!Remainder::is_plain(1.0f64, 0.0) && !Remainder::is_plain(f64::NAN, 1.0));
        assert!(!Remainder::is_plain(1.0, f64::INFINITY) && !Remainder::is_plain(f32::INFINITY, 1.0));
    }

    #[test]
    fn integers_take_the_sign_of_the_divisor() {
        assert_eq!(Remainder::int(-7i32, 3), 2);
        assert_eq!(Remainder::int(7i32, -3), -2);
        assert_eq!(Remainder::int(7u8, 0), 0);
        assert_eq!(Remainder::int(i64::MIN, -1), 0);
    }
}

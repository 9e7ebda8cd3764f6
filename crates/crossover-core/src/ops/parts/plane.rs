//! Pieces of the complex functions. Signs of zeros, infinities and NaN follow Annex G of C99.
//!
//! Functions of an angle take its sine and cosine, so that a body and its slow path differ only in where these come
//! from: [`turn`] for angles that reduce quickly, [`turn_any`] for all.

use super::{
    angle::{is_huge, reduce, reduce_huge, sine},
    double::{product, sum},
    exponential::{self, split},
    hyperbolic::{Hyperbolic, hyperbolic},
    length::length,
    logarithm::{decompose_any, log_sum, one_plus, with_ends},
    pick,
};
use crate::lane::{Cx, FloatLane, IntLane};

/// Whether a number is neither infinite nor NaN.
#[inline(always)]
pub fn is_finite<L: FloatLane>(x: L) -> L::Mask {
    x.magnitude().is_lt(L::real(f64::INFINITY))
}

/// Both parts, with every NaN replaced by the canonical one.
#[inline(always)]
pub fn canonical<L: FloatLane>(z: Cx<L>) -> Cx<L> {
    Cx { re: z.re.canonical(), im: z.im.canonical() }
}

/// i times a number.
#[inline(always)]
pub fn times_i<L: FloatLane>(z: Cx<L>) -> Cx<L> {
    Cx { re: flipped(z.im), im: z.re }
}

/// A number over i.
#[inline(always)]
pub fn over_i<L: FloatLane>(z: Cx<L>) -> Cx<L> {
    Cx { re: z.im, im: flipped(z.re) }
}

/// The sign bit flipped.
#[inline(always)]
fn flipped<L: FloatLane>(x: L) -> L {
    L::from_bits(x.bits().xor(L::Bits::int(1).shl(L::Bits::BITS - 1)))
}

/// `value` with the sign flipped where that of `sign` is set.
#[inline(always)]
pub fn signed<L: FloatLane>(value: L, sign: L) -> L {
    L::from_bits(value.bits().xor(sign.bits().and(L::Bits::int(1).shl(L::Bits::BITS - 1))))
}

/// Sine and cosine of an angle that is not [huge](is_huge); NaN for infinities.
#[inline(always)]
pub fn turn<L: FloatLane>(angle: L) -> (L, L) {
    let reduced = reduce(angle.magnitude());
    finish(angle, sine(reduced, 0), sine(reduced, 1))
}

/// Sine and cosine of any angle.
#[inline(always)]
pub fn turn_any<L: FloatLane>(angle: L) -> (L, L) {
    let (sin, cos) = turn(angle);
    let wide = angle.magnitude().to_double();
    let reduced = if L::DIGITS == 24 {
        reduce_huge::<true, L::Double>(wide)
    } else {
        reduce_huge::<false, L::Double>(wide)
    };
    let (far_sin, far_cos) = (L::from_double(sine(reduced, 0)), L::from_double(sine(reduced, 1)));
    let huge = is_huge(angle);
    (L::select(huge, signed(far_sin, angle), sin), L::select(huge, far_cos, cos))
}

#[inline(always)]
fn finish<L: FloatLane>(angle: L, sin: L, cos: L) -> (L, L) {
    let finite = is_finite(angle);
    (L::select(finite, signed(sin, angle), L::nan()), L::select(finite, cos, L::nan()))
}

/// `e^z`, given sine and cosine of the imaginary part.
#[inline(always)]
pub fn exp<L: FloatLane>(z: Cx<L>, (sin, cos): (L, L)) -> Cx<L> {
    let (zero, infinity) = (L::real(0.0), L::real(f64::INFINITY));
    // The power of two is applied to the products, which may be finite where e^x is not.
    let inside = z.re.is_gt(-exponential::wide_limit::<L>()) & z.re.is_lt(exponential::product_limit());
    let split = split(L::select(inside, z.re, zero), zero);
    let mantissa = split.mantissa();
    let end = L::select(z.re.is_gt(zero), infinity, zero);
    let end = L::select(z.re.is_nan(), L::nan(), end);
    let scaled = |part: L| L::select(inside, split.product(z.re, mantissa, part), end * part);
    let (re, im) = (scaled(cos), scaled(sin));
    // Infinite e^x without a direction: some infinity, or some zero.
    let lost = z.re.magnitude().is_eq(infinity) & !is_finite(z.im);
    let re = L::select(lost, end, re);
    let im = L::select(lost, L::select(z.re.is_lt(zero), zero.with_sign(z.im), L::nan()), im);
    Cx { re, im: L::select(z.im.is_eq(zero), z.im, im) }
}

/// Hyperbolic functions of the real part of a number, ready to be multiplied by sine or cosine of the imaginary part.
struct Stretch<L: FloatLane> {
    both: Hyperbolic<L>,
    size: L,
    inside: L::Mask,
    end: L,
}

impl<L: FloatLane> Stretch<L> {
    #[inline(always)]
    fn new(x: L) -> Stretch<L> {
        let size = x.magnitude();
        let most = exponential::product_limit();
        let end = L::select(x.is_nan(), L::nan(), L::real(f64::INFINITY));
        Stretch { both: hyperbolic(size, most), size, inside: size.is_lt(most), end }
    }

    #[inline(always)]
    fn times(&self, value: L, part: L) -> L {
        L::select(self.inside, self.both.product(self.size, value, part), self.end * part)
    }
}

/// Hyperbolic sine, given sine and cosine of the imaginary part.
#[inline(always)]
pub fn sinh<L: FloatLane>(z: Cx<L>, (sin, cos): (L, L)) -> Cx<L> {
    let (zero, infinity) = (L::real(0.0), L::real(f64::INFINITY));
    let stretch = Stretch::new(z.re);
    let re = signed(stretch.times(stretch.both.sinh, cos), z.re);
    let im = stretch.times(stretch.both.cosh, sin);
    let lost = z.re.magnitude().is_eq(infinity) & !is_finite(z.im);
    Cx { re: L::select(lost | z.re.is_eq(zero), z.re, re), im: L::select(z.im.is_eq(zero), z.im, im) }
}

/// Hyperbolic cosine, given sine and cosine of the imaginary part.
#[inline(always)]
pub fn cosh<L: FloatLane>(z: Cx<L>, (sin, cos): (L, L)) -> Cx<L> {
    let (zero, infinity) = (L::real(0.0), L::real(f64::INFINITY));
    let stretch = Stretch::new(z.re);
    let re = stretch.times(stretch.both.cosh, cos);
    let im = signed(stretch.times(stretch.both.sinh, sin), z.re);
    let lost = z.re.magnitude().is_eq(infinity) & !is_finite(z.im);
    let flat = z.re.is_eq(zero) | z.im.is_eq(zero);
    Cx { re: L::select(lost, infinity, re), im: L::select(flat, signed(zero.with_sign(z.im), z.re), im) }
}

/// Hyperbolic tangent, given sine and cosine of the imaginary part:
/// `(sinh x·cosh x + i·sin y·cos y)/(sinh² x + cos² y)`, in which nothing cancels.
#[inline(always)]
pub fn tanh<L: FloatLane>(z: Cx<L>, (sin, cos): (L, L)) -> Cx<L> {
    let (zero, one) = (L::real(0.0), L::real(1.0));
    let size = z.re.magnitude();
    // From here on the real part is one, and the imaginary part what is left of 4·sin y·cos y·e^-2x.
    let limit: L = pick(12.0, 24.0);
    let far = size.is_ge(limit);
    let both = hyperbolic(L::select(far, zero, size), limit);
    let (s, c) = (both.scale(both.sinh), both.scale(both.cosh));
    let under = s.fma(s, cos * cos);
    let across = sin * cos;
    let (low, _) = exponential::limits::<L>();
    let tail = split(super::at_least(-(size + size), low), zero);
    let im = L::select(far, tail.scale(L::real(4.0) * tail.mantissa() * across), across / under);
    let re = L::select(far, one, s * c / under);
    let re = signed(L::select(size.is_nan(), L::nan(), re), z.re);
    let endless = size.is_eq(L::real(f64::INFINITY));
    let re = L::select(!endless & !is_finite(z.im), L::nan(), re);
    let im = L::select(size.is_nan(), L::nan(), im);
    // Beyond all bounds a zero is left, with the sign of the imaginary part if that is a number.
    let im = L::select(endless, zero.with_sign(L::select(is_finite(z.im), z.im, zero)), im);
    Cx { re: L::select(z.re.is_eq(zero), z.re, re), im: L::select(z.im.is_eq(zero), z.im, im) }
}

/// Logarithm of the magnitude. Near magnitude one it is log1p(|z|² - 1)/2 with that difference in two parts.
#[inline(always)]
pub fn log_length<L: FloatLane>(z: Cx<L>) -> L {
    let (zero, one) = (L::real(0.0), L::real(1.0));
    let (a, b) = (z.re.magnitude(), z.im.magnitude());
    let large = L::select(a.is_gt(b), a, b);
    let small = L::select(a.is_gt(b), b, a);
    let (p, p_error) = product(large, large);
    let (q, q_error) = product(small, small);
    let (above, above_error) = sum(p - one, q);
    let near =
        large.is_gt(L::real(0.5)) & large.is_lt(L::real(1.5)) & above.is_lt(one) & above.is_gt(L::real(-0.6));
    let (near_e, near_f, near_low) = one_plus(above, above_error + (p_error + q_error));
    // Elsewhere the logarithm of the length, of numbers whose length is in range and has all its digits.
    let (huge, tiny) = (
        large.is_gt(pick(2f64.powi(100), 2f64.powi(900))),
        large.is_lt(pick(2f64.powi(-100), 2f64.powi(-900))),
    );
    let scale =
        L::select(huge, pick(2f64.powi(-60), 2f64.powi(-60)), L::select(tiny, L::real(2f64.powi(60)), one));
    let shift = L::select(huge, L::real(60.0), L::select(tiny, L::real(-60.0), zero));
    let far = length(z.re * scale, z.im * scale);
    let (far_e, far_m) = decompose_any(far);
    let e = L::select(near, near_e, far_e + shift);
    let f = L::select(near, near_f, far_m - one);
    let low = L::select(near, near_low, zero);
    let value = log_sum(e, f, |_| low);
    L::select(near, L::real(0.5) * value, with_ends(far, value))
}

/// Square root, with a real part that is not negative.
#[inline(always)]
pub fn sqrt<L: FloatLane>(z: Cx<L>) -> Cx<L> {
    let (zero, one, infinity) = (L::real(0.0), L::real(1.0), L::real(f64::INFINITY));
    let (a, b) = (z.re.magnitude(), z.im.magnitude());
    let large = L::select(a.is_gt(b), a, b);
    // Even powers of two that bring the sum below into range.
    let (huge, tiny) = (
        large.is_gt(pick(2f64.powi(100), 2f64.powi(900))),
        large.is_lt(pick(2f64.powi(-100), 2f64.powi(-900))),
    );
    let scale = L::select(huge, L::real(2f64.powi(-60)), L::select(tiny, L::real(2f64.powi(60)), one));
    let back = L::select(huge, L::real(2f64.powi(30)), L::select(tiny, L::real(2f64.powi(-30)), one));
    let (x, y) = (a * scale, b * scale);
    let root = (L::real(0.5) * (x + length(x, y))).sqrt();
    let other = L::select(root.is_eq(zero), zero, y / (root + root));
    let left = z.re.is_lt(zero);
    let re = L::select(left, other, root) * back;
    let im = L::select(left, root, other) * back;
    // A number that is infinitely high has a root that is infinite in both directions, whatever its width.
    let high = b.is_eq(infinity);
    Cx { re: L::select(high, infinity, re), im: L::select(high, infinity, im).with_sign(z.im) }
}

/// Where the inverse functions are those of a number infinitely far away, up to rounding.
#[inline(always)]
pub fn is_far<L: FloatLane>(z: Cx<L>) -> L::Mask {
    let (a, b) = (z.re.magnitude(), z.im.magnitude());
    let limit: L = pick(2f64.powi(30), 2f64.powi(60));
    a.is_gt(limit) | b.is_gt(limit)
}

/// The square roots of 1 - z and 1 + z: what Kahan's formulas for the inverse functions are made of.
#[inline(always)]
pub fn roots<L: FloatLane>(z: Cx<L>) -> (Cx<L>, Cx<L>) {
    let one = L::real(1.0);
    (sqrt(Cx { re: one - z.re, im: flipped(z.im) }), sqrt(Cx { re: one + z.re, im: z.im }))
}

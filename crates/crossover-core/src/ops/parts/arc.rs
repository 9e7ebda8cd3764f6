//! The core of asin, acos, atan and atan2.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use super::{double::product, pick, polynomial};
use crate::lane::FloatLane;

/// The angle of a point: `over` up and `along` to the right, both magnitudes, or to the left where `left` holds.
/// Between 0 and π; NaN where an operand is.
///
/// The smaller magnitude over the larger is a tangent up to 1; above tan(π/8), π/4 is subtracted from its angle. What
/// remains is within ±tan(π/8), and the angle a multiple of π/4 plus or minus its arc tangent: one division in all.
#[inline(always)]
pub fn direction<L: FloatLane>(over: L, along: L, left: L::Mask) -> L {
    let (zero, one, infinity) = (L::real(0.0), L::real(1.0), L::real(f64::INFINITY));
    let steep = over.is_gt(along);
    let small = L::select(steep, along, over);
    let large = L::select(steep, over, along);
    // Subnormal numbers are too coarse for what follows.
    let lift = L::select(
        large.is_lt(pick(2f64.powi(-100), 2f64.powi(-900))),
        pick(2f64.powi(30), 2f64.powi(60)),
        one,
    );
    let (small, large) = (small * lift, large * lift);
    // Two infinities are a diagonal, two zeros lie on the axis.
    let diagonal = small.is_eq(infinity);
    let far = small.is_gt(large * L::real(0.414_213_562_373_095_1)) | diagonal;
    let scale = L::select(large.is_gt(one), L::real(0.5), one); // the sum must not overflow
    let numerator = L::select(far, small * scale - large * scale, small);
    let denominator = L::select(far, small * scale + large * scale, large);
    let plain = diagonal | large.is_eq(zero);
    let q = L::select(plain, zero, numerator / L::select(plain, one, denominator));
    // How many times π/4, and on which side of it the rest lies.
    let times = L::select(far, one, zero);
    let times = L::select(steep, L::real(2.0) - times, times);
    let times = L::select(left, L::real(4.0) - times, times);
    let q = L::select(steep ^ left, -q, q);
    let (base, base_error) = product(times, L::real(FRAC_PI_4));
    let base_lo = times.fma(pick(-2.1855694143368964e-8, 3.061616997868383e-17), base_error);
    let z = q * q;
    let value = base + (q + (q * z).fma(tangent_series(z), base_lo));
    L::select(over.is_nan() | along.is_nan(), L::nan(), value)
}

/// `(atan x - x)/x³` for `z = x²` up to 1.001·tan²(π/8); error 2^-30.4 (f32) and 2^-59.4 (f64) of the arc tangent.
#[inline(always)]
fn tangent_series<L: FloatLane>(z: L) -> L {
    polynomial(
        z,
        &[
            -0.33333316445350647,
            0.1999853104352951,
            -0.14244461059570312,
            0.10599682480096817,
            -0.06091242656111717,
        ],
        &[
            -0.3333333333333319,
            0.1999999999995237,
            -0.1428571428008419,
            0.11111110778203959,
            -0.09090897614510128,
            0.076920577792453,
            -0.06663077397304613,
            0.05847701600829916,
            -0.05038482504853473,
            0.03804418267810466,
            -0.017885378110519774,
        ],
    )
}

/// An arc sine before its pieces are put together.
#[derive(Clone, Copy)]
pub struct Arc<L: FloatLane> {
    /// Whether the magnitude exceeds 1/2, where `asin x = π/2 - 2·asin(√((1 - x)/2))`.
    pub steep: L::Mask,
    /// The magnitude, or that root.
    pub s: L,
    /// `asin s - s`.
    pub rest: L,
}

/// The arc sine of a magnitude up to 1.
#[inline(always)]
pub fn arc<L: FloatLane>(size: L) -> Arc<L> {
    let half = L::real(0.5);
    let steep = size.is_gt(half);
    let z = L::select(steep, (L::real(1.0) - size) * half, size * size);
    let s = L::select(steep, z.sqrt(), size);
    Arc { steep, s, rest: s * (z * sine_series(z)) }
}

/// π/2 rounded, and the error.
#[inline(always)]
pub fn half_pi<L: FloatLane>() -> (L, L) {
    (L::real(FRAC_PI_2), pick(-4.371138828673793e-8, 6.123233995736766e-17))
}

/// `(asin x - x)/x³` for `z = x²` up to 1.001/4; error 2^-31.7 (f32) and 2^-59.8 (f64) of the arc sine.
#[inline(always)]
fn sine_series<L: FloatLane>(z: L) -> L {
    polynomial(
        z,
        &[
            0.16666659712791443,
            0.0750051736831665,
            0.04451476037502289,
            0.03182435780763626,
            0.014379860833287239,
            0.037594880908727646,
        ],
        &[
            0.1666666666666676,
            0.07499999999970816,
            0.044642857174647575,
            0.030381942704118065,
            0.022372215137263098,
            0.017351608597428386,
            0.013980869354757015,
            0.011398453948585222,
            0.010783128849466075,
            0.0036944521068241675,
            0.02173906346308881,
            -0.021047219729092095,
            0.03266079233050584,
        ],
    )
}

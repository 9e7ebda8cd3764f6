//! The core of sinpi and cospi: angles in half turns, given as sums that are not rounded.
//!
//! Multiples of half a turn leave no rounding error, so nothing like the reduction of radians is needed; the sum is what takes care: next to a
//! zero almost all of it is taken off, and what is left must still have all its digits.

use super::{double::sum, pick, polynomial};
use crate::lane::{Arith, FloatLane, IntLane, Lane};

/// Sine of `a + b + shift / 2` half turns. Sums from 2^12 (f32) and 2^41 (f64) on are rounded, to a multiple of 2^-11.
#[inline(always)]
pub fn sine<L: FloatLane>(a: L, b: L, shift: i64) -> L {
    let (whole, low) = sum(a, b);
    let size = whole.magnitude();
    // Below, what the sum leaves out is less than a thousandth of a quarter, and the series still hold with it added.
    let low = L::select(size.is_lt(pick(4096.0, 2199023255552.0)), low, L::real(0.0));
    // From here on all numbers are whole turns, and twice the largest would overflow.
    let whole = L::select(size.is_lt(pick(33554432.0, 18014398509481984.0)), whole, L::real(0.0));
    let quarters = (whole + whole).round();
    // Exact, since both are multiples of the last place of the larger and their difference is at most a quarter.
    let left = quarters.fma(L::real(-0.5), whole) + low;
    // Which of the four quarters, in the low two bits. Whatever the size, a multiple of four taken off is exact.
    let fours = (quarters * L::real(0.25)).round();
    let shifter: L = pick(12582912.0, 6755399441055744.0);
    let turns = (fours.fma(L::real(-4.0), quarters) + shifter).bits().plus(L::Bits::int(shift));
    let s = left * left;
    let (sin, cos) = (sine_near(left, s), s.fma(cosine_series(s), L::real(1.0)));
    let is_odd = turns.and(L::Bits::int(1)).is_ne(L::Bits::int(0));
    let sign = turns.shr(1).shl(L::Bits::BITS - 1);
    let value = L::from_bits(L::select(is_odd, cos, sin).bits().xor(sign));
    // Infinities have no sine; so has a sum that overflows.
    L::select(size.is_lt(L::real(f64::INFINITY)), value, L::nan())
}

/// Sine of at most a quarter: `r·π + r³·P(r²)`, π in two parts. Error of the series 2^-27.8 (f32) and 2^-57.9 (f64) of the sine.
#[inline(always)]
fn sine_near<L: FloatLane>(r: L, s: L) -> L {
    let series = polynomial(
        s,
        &[-5.167708873748779, 2.5497968196868896, -0.5893228650093079],
        &[
            -5.167712780049959,
            2.5501640398738714,
            -0.5992645289646998,
            0.08214586979604384,
            -0.007370028858082654,
            0.0004615648480048768,
        ],
    );
    let low = pick(-8.742277657347586e-8, 1.2246467991473532e-16);
    r.fma(L::real(std::f64::consts::PI), r.fma(low, (r * s) * series))
}

/// `(cos(π·r) - 1) / r²` at `s = r²`, error 2^-31 (f32) and 2^-61.4 (f64) of the cosine.
#[inline(always)]
fn cosine_series<L: FloatLane>(s: L) -> L {
    polynomial(
        s,
        &[-4.934802055358887, 4.058696746826172, -1.334755301475525, 0.22893089056015015],
        &[
            -4.934802200544679,
            4.058712126416668,
            -1.3352627688437282,
            0.23533062980264957,
            -0.025806876350386296,
            0.0019293560792221689,
            -0.00010306184723061635,
        ],
    )
}

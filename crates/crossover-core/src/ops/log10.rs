//! `log10`: logarithm to base 10.

use std::f64::consts::LOG10_E;

use super::{
    Cost, NanRule, OpInfo, Unary,
    log::Log,
    parts::{
        logarithm::{Base, ROOT_HALF, log_in_base},
        plane,
    },
};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

const BASE: Base = Base {
    unit: Some([(0.30103302001953125, -3.024355464731343e-6), (0.30102999566395283, 2.8363394551044964e-14)]),
    factor: [(LOG10_E, -1.0103049952192578e-8), (LOG10_E, 1.098319650216765e-17)],
    least: ROOT_HALF,
    series: [
        -0.21714718639850616,
        0.14476479589939117,
        -0.10858074575662613,
        0.08686744421720505,
        -0.07212743163108826,
        0.061589621007442474,
        -0.05754822865128517,
        0.05605959892272949,
        -0.03304040804505348,
    ],
};

/// Logarithm to base 10.
pub struct Log10;

impl Unary for Log10 {
    // Measured: f32 0.854 ulp over all arguments, f64 0.57 on 2000 points.
    const INFO: OpInfo = OpInfo::new("log10", DTypeSet::FLOAT.or(DTypeSet::COMPLEX), "Logarithm to base 10.")
        .max_ulp(1.0)
        .cost(Cost::Function)
        .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        log_in_base(x, &BASE)
    }
    #[inline(always)]
    fn complex<L: FloatLane>(z: Cx<L>) -> Cx<L> {
        let log = Log::complex(z);
        plane::canonical(Cx { re: log.re * L::real(LOG10_E), im: log.im * L::real(LOG10_E) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        assert_eq!(Log10::float(1.0f32).to_bits(), 0);
        assert_eq!(Log10::float(0.0f32), f32::NEG_INFINITY);
        assert_eq!(Log10::float(-0.0f64), f64::NEG_INFINITY);
        assert_eq!(Log10::float(f64::INFINITY), f64::INFINITY);
        for x in [-1.0f32, -1e-45, f32::NEG_INFINITY, -f32::NAN] {
            assert_eq!(Log10::float(x).to_bits(), 0x7fc0_0000);
        }
    }

    #[test]
    fn powers_of_ten_are_exact() {
        for n in 0..=22 {
            let x: f64 = format!("1e{n}").parse().unwrap();
            assert_eq!(Log10::float(x), n as f64);
            if n <= 10 {
                assert_eq!(Log10::float(x as f32), n as f32);
            }
        }
    }
}

//! `log10`: logarithm to base 10.

use std::f64::consts::{LOG10_2, LOG10_E};

use super::{
    Cost, NanRule, OpInfo, Unary,
    log::Log,
    parts::{logarithm::log_in_base, pick, plane},
};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// Logarithm to base 10.
pub struct Log10;

impl Unary for Log10 {
    // Measured: f32 0.643 ulp over every 37th argument, f64 0.57 on 2000 points.
    const INFO: OpInfo = OpInfo::new("log10", DTypeSet::FLOAT.or(DTypeSet::COMPLEX), "Logarithm to base 10.")
        .max_ulp(1.0)
        .cost(Cost::Function)
        .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let unit = (L::real(LOG10_2), pick(-1.4320988897559699e-8, -2.8037281277851704e-18));
        let factor = (L::real(LOG10_E), pick(-1.0103050052231683e-8, 1.098319650216765e-17));
        log_in_base(x, unit, factor)
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

//! Gamma numbers, by the method of Marsaglia and Tsang, "A simple method for generating gamma variables" (2000).
//!
//! For a shape a ≥ 1 with d = a - 1/3 and c = 1/sqrt(9 d): x normal and u uniform give d·(1 + c·x)³, if that is
//! positive and log u < x²/2 + d - d·v + d·log v with v = (1 + c·x)³. At least 95% of rounds succeed. For a < 1 the number for
//! a + 1 is multiplied by u^(1/a).
//!
//! Draw 0 holds the u of the last step; round r takes its normal from draw 2r + 1 and its u from draw 2r + 2.

use super::{Draws, exp, log, log1p};

/// Rounds after which the number is d: 0.05^64 of all elements get there.
const ROUNDS: u32 = 64;

pub(super) fn draw(shape: f64, draws: &Draws) -> f64 {
    if shape.is_nan() || shape < 0.0 {
        return f64::NAN;
    }
    if shape == 0.0 || shape == f64::INFINITY {
        // The limits: all mass at zero, all mass at infinity.
        return shape;
    }
    if shape >= 1.0 {
        return large(shape, draws);
    }
    let [u, _] = draws.pair(0);
    // The power as a logarithm; 1 - u is in (0, 1].
    large(shape + 1.0, draws) * exp(log1p(-u) / shape)
}

fn large(shape: f64, draws: &Draws) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    for round in 0..ROUNDS {
        let x = draws.normal(2 * round + 1);
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let [u, _] = draws.pair(2 * round + 2);
        // log u with 1 - u in its place, so that the argument is never zero.
        if log1p(-u) < 0.5 * x * x + d - d * v + d * log(v) {
            return d * v;
        }
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_their_own_numbers() {
        let draws = Draws { key: [1, 2], index: 3 };
        assert_eq!(draw(0.0, &draws), 0.0);
        assert_eq!(draw(f64::INFINITY, &draws), f64::INFINITY);
        assert!(draw(1e-300, &draws) >= 0.0);
        let large = draw(1e300, &draws);
        assert!((large / 1e300 - 1.0).abs() < 1e-10);
    }
}

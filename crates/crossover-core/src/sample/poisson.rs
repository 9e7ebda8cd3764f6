//! Poisson numbers.
//!
//! A mean below 10: the smallest k whose cumulative probability exceeds the first number of draw 0, the terms
//! e^-λ, e^-λ·λ/1, e^-λ·λ²/2, … added in order. Otherwise Hörmann's transformed rejection, "The transformed rejection
//! method for generating Poisson random variables" (1993), algorithm PTRS; round r takes both numbers of draw r, and about
//! nine in ten rounds succeed.

use super::{Draws, exp, log};

/// Means from here on use rejection.
const REJECTION: f64 = 10.0;

/// Terms after which the cumulative probability of a mean below 10 no longer grows.
const TERMS: u32 = 128;

/// Rounds after which the number is the mean, rounded down: fewer than 0.4^128 of all elements get there.
const ROUNDS: u32 = 128;

pub(super) fn draw(mean: f64, draws: &Draws) -> f64 {
    if mean.is_nan() || mean < 0.0 || mean == f64::INFINITY {
        return f64::NAN;
    }
    if mean < REJECTION { small(mean, draws) } else { large(mean, draws) }
}

fn small(mean: f64, draws: &Draws) -> f64 {
    let [u, _] = draws.pair(0);
    let mut term = exp(-mean);
    let mut total = term;
    let mut k = 0;
    while u >= total && k < TERMS {
        k += 1;
        term *= mean / k as f64;
        total += term;
    }
    k as f64
}

fn large(mean: f64, draws: &Draws) -> f64 {
    let b = 0.931 + 2.53 * mean.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let squeeze = 0.9277 - 3.6224 / (b - 2.0);
    for round in 0..ROUNDS {
        let [u, v] = draws.pair(round);
        // In (0, 1]: the logarithm below is finite.
        let (u, v) = (u - 0.5, 1.0 - v);
        let edge = 0.5 - u.abs();
        let k = ((2.0 * a / edge + b) * u + mean + 0.43).floor();
        if edge >= 0.07 && v <= squeeze {
            return k;
        }
        // At the very edge k is infinite or no number; neither is at least 0 and finite.
        if !(0.0..f64::INFINITY).contains(&k) || (edge < 0.013 && v > edge) {
            continue;
        }
        if log(v * inverse_alpha / (a / (edge * edge) + b)) <= log_probability(k, mean) {
            return k;
        }
    }
    mean.floor()
}

/// Logarithm of the probability of k, for a mean of at least 10, after Loader, "Fast and accurate computation of
/// binomial probabilities" (2000): without the cancellation of k·log λ against log k!.
fn log_probability(k: f64, mean: f64) -> f64 {
    if k < 10.0 {
        let factorial: f64 = (1..=k as u32).map(f64::from).product();
        return k * log(mean) - mean - log(factorial);
    }
    -stirling_error(k) - deviance(k, mean) - 0.5 * log(std::f64::consts::TAU * k)
}

/// What Stirling's formula lacks of log k!, for k of at least 10.
fn stirling_error(k: f64) -> f64 {
    let square = k * k;
    let terms = [1.0 / 1188.0, -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0];
    terms.iter().fold(0.0, |sum, term| sum / square + term) / k
}

/// k·log(k / mean) + mean - k, accurate where k is close to the mean.
fn deviance(k: f64, mean: f64) -> f64 {
    let distance = k - mean;
    if distance.abs() >= 0.1 * (k + mean) {
        return k * log(k / mean) - distance;
    }
    let ratio = distance / (k + mean);
    let square = ratio * ratio;
    let mut sum = distance * ratio;
    let mut power = 2.0 * k * ratio;
    // The ratio is below 0.1: each term is less than a hundredth of the one before.
    for odd in 1..16 {
        power *= square;
        sum += power / (2 * odd + 1) as f64;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_add_up_to_one() {
        for mean in [10.0, 10.5, 33.3, 1000.0, 1e6] {
            let reach = 12.0 * f64::sqrt(mean) + 20.0;
            let (low, high) = ((mean - reach).max(0.0).floor() as i64, (mean + reach) as i64);
            let total: f64 = (low..=high).map(|k| exp(log_probability(k as f64, mean))).sum();
            assert!((total - 1.0).abs() < 1e-10, "{mean}: {total}");
        }
    }

    #[test]
    fn huge_means_stay_close_to_themselves() {
        for mean in [1e9, 1e15] {
            for index in 0..100 {
                let drawn = draw(mean, &Draws { key: [1, 2], index });
                assert!((drawn - mean).abs() < 10.0 * mean.sqrt(), "{drawn}");
                assert_eq!(drawn, drawn.floor());
            }
        }
        assert_eq!(draw(0.0, &Draws { key: [1, 2], index: 0 }), 0.0);
    }
}

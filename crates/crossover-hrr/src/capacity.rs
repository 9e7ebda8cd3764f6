//! How many associations a superposition can hold.
//!
//! The right item among N wins when its similarity, shifted by s, beats N - 1 others: P = ∫ φ(h) Φ(h + s)^(N-1) dh, where s is the
//! distance of the means in standard deviations. Sampled retrieval agrees with it; see `tests/capacity.rs`.

use crate::{Model, Space};

/// Retrieval from `pairs` superposed pairs, less reliable than this, is warned of.
pub const RELIABLE: f64 = 0.99;

impl Space {
    /// The probability that the right one of `items` items is found from one key in a superposition of `pairs` bound pairs.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 1024)?;
    /// assert!(space.retrieval_probability(10, 1000) > 0.999);
    /// assert!(space.retrieval_probability(300, 1000) < 0.5);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn retrieval_probability(&self, pairs: usize, items: usize) -> f64 {
        if items <= 1 {
            return 1.0;
        }
        if pairs == 0 {
            return 1.0 / items as f64;
        }
        integral(self.separation(pairs), items)
    }

    /// The distance between the similarity of the right item and of another one, in standard deviations.
    fn separation(&self, pairs: usize) -> f64 {
        let (d, k) = (self.d() as f64, pairs as f64);
        let ratio = match self.model() {
            // The involution adds the noise of one more pair.
            Model::Hrr => d / k,
            // Only the other pairs are noise, and only their real part.
            Model::Fhrr => 2.0 * d / (k - 1.0),
            Model::Map | Model::Hlb => d / (k - 1.0),
            // A majority keeps 2/π of what a sum tells.
            Model::Bsc => d / ((k - 1.0).max(0.0) * std::f64::consts::FRAC_PI_2),
        };
        ratio.sqrt()
    }

    /// The most pairs that can be superposed so that the right one of `items` items is found with probability `wanted`.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 1024)?;
    /// let most = space.capacity(1000, 0.99);
    /// assert!(space.retrieval_probability(most, 1000) >= 0.99);
    /// assert!(space.retrieval_probability(most + 1, 1000) < 0.99);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn capacity(&self, items: usize, wanted: f64) -> usize {
        let enough = |pairs| self.retrieval_probability(pairs, items) >= wanted;
        if !enough(1) {
            return 0;
        }
        let (mut low, mut high) = (1usize, 2usize);
        while high < 1 << 40 && enough(high) {
            (low, high) = (high, high * 2);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if enough(middle) { low = middle } else { high = middle }
        }
        low
    }
}

/// ∫ φ(h) Φ(h + s)^(N-1) dh, by Simpson's rule where φ is not negligible.
fn integral(s: f64, items: usize) -> f64 {
    if s.is_infinite() {
        return 1.0;
    }
    const STEPS: usize = 2000;
    const REACH: f64 = 9.0;
    let width = 2.0 * REACH / STEPS as f64;
    let at = |i: usize| {
        let h = -REACH + i as f64 * width;
        let density = (-0.5 * h * h).exp() / (2.0 * std::f64::consts::PI).sqrt();
        // Φ^(N-1) by logarithms: N may be large and Φ close to 1.
        let missed = 0.5 * libm::erfc((h + s) / std::f64::consts::SQRT_2);
        density * ((items - 1) as f64 * libm::log1p(-missed.min(1.0))).exp()
    };
    let inner: f64 = (1..STEPS).map(|i| at(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    ((at(0) + inner + at(STEPS)) * width / 3.0).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_signal_all_items_are_equally_likely() {
        for items in [2, 10, 1000] {
            assert!((integral(0.0, items) - 1.0 / items as f64).abs() < 1e-6);
        }
    }

    #[test]
    fn two_items_have_a_closed_form() {
        // P(h + s > g) for independent normals is Φ(s/√2).
        for s in [0.5, 1.0, 3.0] {
            assert!((integral(s, 2) - 0.5 * libm::erfc(-s / 2.0)).abs() < 1e-9);
        }
    }

    #[test]
    fn one_pair_of_exact_models_is_always_found() {
        for model in [Model::Fhrr, Model::Map, Model::Bsc, Model::Hlb] {
            assert_eq!(Space::new(model, 16).unwrap().retrieval_probability(1, 1 << 20), 1.0);
        }
    }
}

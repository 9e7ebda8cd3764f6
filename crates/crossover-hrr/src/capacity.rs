//! How many associations a superposition can hold.
//!
//! The right item among N wins when its similarity beats that of N - 1 others: P = ∫ φ(h) Φ(m(h))^(N-1) dh, where m(h) is what separates the right item
//! from another one, in standard deviations of the other's similarity, if the right one's is h of its own from its mean. For HRR it is near h + √(d/k) for many
//! pairs; `hrr` has the rest. Where binding is exact, the noise of the right item's similarity is in the length of the vector too, by which those of the others vary.
//! Sampled retrieval agrees with it within sampling error; see `tests/capacity.rs`.

use crate::{Model, Space};

/// Retrieval from `pairs` superposed pairs, less reliable than this, is warned of.
pub const RELIABLE: f64 = 0.99;

impl Space {
    /// The probability that the right one of `items` items is found from one key in a sum of `pairs` bound pairs, as an
    /// [`AssociativeMemory`](crate::AssociativeMemory) keeps them; for BSC in their majority.
    ///
    /// [`superpose`](Space::superpose) and what is built with it keep no lengths of MAP's and FHRR's elements, so that less is found in them: about as
    /// much as in a sum of π/2 (MAP) and 4/π (FHRR) times as many pairs.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 1024)?;
    /// assert!(space.retrieval_probability(10, 1000) > 0.999);
    /// assert!(space.retrieval_probability(300, 1000) < 0.5);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn retrieval_probability(&self, pairs: usize, items: usize) -> f64 {
        match (pairs, items) {
            (_, 0) => 0.0,
            (_, 1) => 1.0,
            (0, items) => 1.0 / items as f64,
            (pairs, items) if self.model() == Model::Hrr => hrr(self.d(), pairs, items),
            (pairs, items) => integral(|h| beaten(items - 1, self.separation(pairs, h))),
        }
    }

    /// What separates the similarity of the right item from that of another one, in standard deviations of the latter, where the right one's noise is `h`
    /// standard deviations.
    fn separation(&self, pairs: usize, h: f64) -> f64 {
        let (d, k) = (self.d() as f64, pairs as f64);
        // The length of the vector goes with the similarity of the right item: both have its noise.
        let exact = |numbers: f64| {
            let noise = h * ((k - 1.0) / numbers).sqrt();
            numbers.sqrt() * (1.0 + noise) / (k + 2.0 * noise).max(f64::MIN_POSITIVE).sqrt()
        };
        match self.model() {
            // The limit for many pairs; see `hrr`.
            Model::Hrr => h + (d / k).sqrt(),
            // Only the real part is noise.
            Model::Fhrr => exact(2.0 * d),
            Model::Map | Model::Hlb => exact(d),
            Model::Bsc => {
                let kept = majority(pairs);
                kept * d.sqrt() + h * (1.0 - kept * kept).sqrt()
            }
        }
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

/// The probability for HRR. What separates the right item from another one is x/√y, where x is the product of the unbound vector with the right item, scaled
/// to length 1, and y the square of the unbound vector's length. In the spectrum, with K the key, V the item and O the sum of the other k - 1 = n pairs,
///
/// y = Σ |K|²|KV + O|²/d, and x = Σ Re(|K|²|V|² + K*O V*)/d over √(Σ |V|²/d),
///
/// in which every coefficient is a complex normal number of variance 1, of O n. Moments of products of them give, with d/2 independent frequencies,
///
/// E y = n + 2 = m, d·Var y = 2(44 + 24n + 3n²), d·Var x = n + 9/2, d·Cov(x, y) = 6n + 18,
///
/// and to first order the separation √d·x/√y has the mean √(d/m) and the variance (n + 9/2 + (22 + 12n + 3n²/2)/m² - (6n + 18)/m)/m. Both go to those of
/// h + √(d/k) as pairs become many. An item of another pair has the noise of one pair more: its similarity varies by (m + 1)/d, that of an item that is
/// in no pair by m/d. The angle of an item to the vector is that of a random direction, see [`normal_of`].
fn hrr(d: usize, pairs: usize, items: usize) -> f64 {
    let (d, n, stored) = (d as f64, pairs as f64 - 1.0, (pairs - 1).min(items - 1));
    let m = n + 2.0;
    let variance = (n + 4.5 + (22.0 + 12.0 * n + 1.5 * n * n) / (m * m) - (6.0 * n + 18.0) / m) / m;
    let (mean, spread, more) = ((d / m).sqrt(), variance.sqrt(), (m / (m + 1.0)).sqrt());
    integral(|h| {
        let separation = mean + h * spread;
        beaten(items - 1 - stored, normal_of(separation, d)) + beaten(stored, normal_of(separation * more, d))
    })
}

/// The normal number that is exceeded as often as √d times an element of a random vector of length 1 exceeds `s`: Wallace's approximation of Student's
/// distribution with d - 1 degrees of freedom, to which that belongs.
fn normal_of(s: f64, d: f64) -> f64 {
    let (share, degrees) = (s * s / d, d - 1.0);
    if share >= 1.0 || degrees < 1.0 {
        return f64::INFINITY.copysign(s);
    }
    let factor = (8.0 * degrees + 1.0) / (8.0 * degrees + 3.0);
    (factor * (-degrees * libm::log1p(-share)).sqrt()).copysign(s)
}

/// The logarithm of the probability that as many normal numbers are all less than `s`.
fn beaten(others: usize, s: f64) -> f64 {
    let missed = 0.5 * libm::erfc(s / std::f64::consts::SQRT_2);
    // None at all are, however large they may be.
    if others == 0 { 0.0 } else { others as f64 * libm::log1p(-missed.min(1.0)) }
}

/// How alike a majority of bits and each of them are: what is left of one in 2m or 2m + 1 is C(2m, m)/4^m.
fn majority(bits: usize) -> f64 {
    let m = (bits / 2) as f64;
    (libm::lgamma(2.0 * m + 1.0) - 2.0 * libm::lgamma(m + 1.0) - 2.0 * m * std::f64::consts::LN_2)
        .exp()
        .min(1.0)
}

/// ∫ φ(h) exp(won(h)) dh, by Simpson's rule where φ is not negligible.
fn integral(won: impl Fn(f64) -> f64) -> f64 {
    const STEPS: usize = 2000;
    const REACH: f64 = 9.0;
    let width = 2.0 * REACH / STEPS as f64;
    let at = |i: usize| {
        let h = -REACH + i as f64 * width;
        let density = (-0.5 * h * h).exp() / (2.0 * std::f64::consts::PI).sqrt();
        density * won(h).exp()
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
            assert!((integral(|h| beaten(items - 1, h)) - 1.0 / items as f64).abs() < 1e-6);
        }
    }

    #[test]
    fn two_items_have_a_closed_form() {
        // P(h + s > g) for independent normals is Φ(s/√2).
        for s in [0.5, 1.0, 3.0] {
            assert!((integral(|h| beaten(1, h + s)) - 0.5 * libm::erfc(-s / 2.0)).abs() < 1e-9);
        }
    }

    #[test]
    fn many_pairs_of_hrr_are_found_as_the_limit_says() {
        for (d, pairs, items) in [(4096, 300, 100), (8192, 900, 1000), (65_536, 6000, 10_000)] {
            let limit = integral(|h| beaten(items - 1, h + (d as f64 / pairs as f64).sqrt()));
            let found = Space::new(Model::Hrr, d).unwrap().retrieval_probability(pairs, items);
            assert!((found - limit).abs() < 0.004, "{d} {pairs}: {found} {limit}");
        }
    }

    #[test]
    fn one_pair_of_an_exact_model_is_found_unless_an_item_is_the_same() {
        for model in [Model::Fhrr, Model::Map, Model::Bsc, Model::Hlb] {
            let found = |d| Space::new(model, d).unwrap().retrieval_probability(1, 1 << 20);
            assert!(found(256) > 1.0 - 1e-12, "{model}");
            // There are 2^16 vectors of 16 bits, and 2^20 items.
            assert!(model == Model::Fhrr || found(16) < 0.1, "{model}: {}", found(16));
        }
    }

    #[test]
    fn a_majority_keeps_what_counting_says() {
        for (bits, kept) in [(1, 1.0), (2, 0.5), (3, 0.5), (4, 0.375), (5, 0.375), (6, 0.3125)] {
            assert!((majority(bits) - kept).abs() < 1e-12, "{bits}");
        }
        // Of many 2/π, as of the signs of normal numbers.
        let many = majority(1_000_001);
        assert!((many * many * 1_000_001.0 - std::f64::consts::FRAC_2_PI).abs() < 1e-5, "{many}");
    }

    #[test]
    fn more_pairs_and_more_items_are_never_found_more_often() {
        for model in Model::ALL {
            let space = Space::new(model, 64).unwrap();
            for pairs in 1..60 {
                let found = |pairs, items| space.retrieval_probability(pairs, items) + 1e-12;
                assert!(found(pairs, 100) >= found(pairs + 1, 100) - 2e-12, "{model} {pairs}");
                assert!(found(pairs, 100) >= found(pairs, 200) - 2e-12, "{model} {pairs}");
            }
            assert_eq!((space.retrieval_probability(3, 0), space.capacity(0, 0.99)), (0.0, 0));
        }
    }
}

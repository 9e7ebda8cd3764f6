//! Random numbers that take a varying number of draws: gamma and Poisson.
//!
//! A sampler is a pure function of a parameter, a key and a position. Each position has a sequence of its own: draw t
//! of position i is the Philox block with counter (i, t, 3), which no other use of the key touches. So how often one
//! element was rejected never shows in another, and any sub-range can be drawn anywhere.
//!
//! Rounds are bounded; what is returned after the last one is part of the definition, and so improbable that nobody
//! will see it. Arithmetic is `f64` with the bodies of our own operations: the bits are those of every machine.

mod gamma;
mod poisson;

use std::fmt;

use crate::{
    ops::{Apply1, cos::Cos, exp::Exp, log::Log, log1p::Log1p},
    philox,
};

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sampler {
    /// The gamma distribution with scale 1; the parameter is its shape.
    Gamma,
    /// The Poisson distribution; the parameter is its mean. Whole numbers.
    Poisson,
}

impl Sampler {
    /// Every sampler.
    pub const ALL: [Sampler; 2] = [Sampler::Gamma, Sampler::Poisson];

    /// Name in text and messages.
    pub fn name(self) -> &'static str {
        match self {
            Sampler::Gamma => "gamma",
            Sampler::Poisson => "poisson",
        }
    }

    /// What is drawn, in a sentence.
    pub const fn doc(self) -> &'static str {
        match self {
            Sampler::Gamma => "The gamma distribution with scale 1; the parameter is its shape.",
            Sampler::Poisson => "The Poisson distribution; the parameter is its mean. Whole numbers.",
        }
    }

    /// The sampler with this name.
    pub fn from_name(name: &str) -> Option<Sampler> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// The number at a position. Parameters outside the distribution's domain give NaN.
    ///
    /// ```
    /// use crossover_core::sample::Sampler;
    /// assert_eq!(Sampler::Poisson.draw(0.0, [1, 2], 7), 0.0);
    /// assert!(Sampler::Gamma.draw(2.0, [1, 2], 7) > 0.0);
    /// assert!(Sampler::Gamma.draw(-1.0, [1, 2], 7).is_nan());
    /// ```
    pub fn draw(self, parameter: f64, key: [u32; 2], index: u64) -> f64 {
        let draws = Draws { key, index };
        let value = match self {
            Sampler::Gamma => gamma::draw(parameter, &draws),
            Sampler::Poisson => poisson::draw(parameter, &draws),
        };
        // One NaN, as everywhere.
        if value.is_nan() { f64::from_bits(0x7ff8_0000_0000_0000) } else { value }
    }
}

impl fmt::Display for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The last word of a counter says what a block is for: 0 numbers by position, 1 and 2 derived keys, 3 sequences.
const SEQUENCE: u32 = 3;

/// The sequence of one position.
struct Draws {
    key: [u32; 2],
    index: u64,
}

impl Draws {
    /// Two uniform numbers in [0, 1) of 53 bits: draw `number` of the sequence.
    fn pair(&self, number: u32) -> [f64; 2] {
        let counter = [self.index as u32, (self.index >> 32) as u32, number, SEQUENCE];
        let block = philox::block(counter, self.key);
        let uniform = |high: u32, low: u32| {
            let bits = ((high >> 5) as u64) << 26 | (low >> 6) as u64;
            bits as f64 * 2f64.powi(-53)
        };
        [uniform(block[0], block[1]), uniform(block[2], block[3])]
    }

    /// A standard normal number, by Box and Muller's transform of a pair.
    fn normal(&self, number: u32) -> f64 {
        let [u, v] = self.pair(number);
        // 1 - u is in (0, 1]: the logarithm is finite.
        (-2.0 * log(1.0 - u)).sqrt() * <Cos as Apply1<f64>>::value(std::f64::consts::TAU * v)
    }
}

fn log(x: f64) -> f64 {
    <Log as Apply1<f64>>::value(x)
}

fn log1p(x: f64) -> f64 {
    <Log1p as Apply1<f64>>::value(x)
}

fn exp(x: f64) -> f64 {
    <Exp as Apply1<f64>>::value(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_functions_of_key_and_position() {
        for sampler in Sampler::ALL {
            assert_eq!(Sampler::from_name(sampler.name()), Some(sampler));
            let row: Vec<f64> = (0..100).map(|i| sampler.draw(20.5, [1, 2], i)).collect();
            let backwards: Vec<f64> = (0..100).rev().map(|i| sampler.draw(20.5, [1, 2], i)).collect();
            assert!(row.iter().eq(backwards.iter().rev()));
            assert_ne!(row, (0..100).map(|i| sampler.draw(20.5, [1, 3], i)).collect::<Vec<_>>());
            assert_ne!(
                row,
                (1 << 32..(1 << 32) + 100).map(|i| sampler.draw(20.5, [1, 2], i)).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn sequences_are_blocks_of_philox() {
        let draws = Draws { key: [5, 6], index: 0x0000_0002_0000_0001 };
        let block = philox::block([1, 2, 9, 3], [5, 6]);
        let first = (block[0] >> 5) as f64 * 67_108_864.0 + (block[1] >> 6) as f64;
        assert_eq!(draws.pair(9)[0], first / 9_007_199_254_740_992.0);
    }

    #[test]
    fn parameters_outside_the_domain_give_the_one_nan() {
        for sampler in Sampler::ALL {
            for parameter in [-1.0, f64::NAN, -f64::NAN, f64::NEG_INFINITY, -1e-300] {
                let drawn = sampler.draw(parameter, [1, 2], 3);
                assert_eq!(drawn.to_bits(), 0x7ff8_0000_0000_0000, "{sampler} {parameter}");
            }
        }
    }
}

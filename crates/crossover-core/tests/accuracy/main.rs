//! Every function stays within the error that its op declares.
//!
//! `single` samples all `f32` arguments (`examples/ulp.rs` looks at every one), `double` compares `f64` bodies with
//! arbitrary-precision arithmetic on random and on hard arguments.

mod double;
mod single;
mod truth;

/// A stream of 64-bit numbers that is the same in every run.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 ^ (self.0 >> 31)
    }

    /// Between `low` and `high`.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1u64 << 53) as f64)
    }
}

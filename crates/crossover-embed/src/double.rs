//! Numbers of twice the precision of `f64`, as unevaluated sums: enough to say where in its turn an angle of ten million periods ends.

/// A sum of two `f64`, the second less than half a unit in the last place of the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Double {
    pub high: f64,
    pub low: f64,
}

pub(crate) const LN_2: Double = Double { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };
/// 1 / π: half turns per radian.
pub(crate) const HALF_TURNS: Double =
    Double { high: 2.0 * 0.159_154_943_091_895_35, low: 2.0 * -9.839_338_337_591_243e-18 };

impl Double {
    pub fn new(value: f64) -> Double {
        Double { high: value, low: 0.0 }
    }

    /// The exact sum of two numbers.
    pub fn sum(a: f64, b: f64) -> Double {
        let high = a + b;
        let part = high - a;
        Double { high, low: (a - (high - part)) + (b - part) }
    }

    fn settled(high: f64, low: f64) -> Double {
        let sum = high + low;
        Double { high: sum, low: low - (sum - high) }
    }

    pub fn plus(self, other: Double) -> Double {
        let (high, low) = (Double::sum(self.high, other.high), Double::sum(self.low, other.low));
        let first = Double::settled(high.high, high.low + low.high);
        Double::settled(first.high, first.low + low.low)
    }

    pub fn times(self, other: Double) -> Double {
        let high = self.high * other.high;
        let low = self.high.mul_add(other.high, -high);
        Double::settled(high, low + (self.high * other.low + self.low * other.high))
    }

    pub fn over(self, divisor: f64) -> Double {
        let first = self.high / divisor;
        let left = self.plus(Double::new(divisor).times(Double::new(-first)));
        Double::settled(first, (left.high + left.low) / divisor)
    }

    pub fn negated(self) -> Double {
        Double { high: -self.high, low: -self.low }
    }

    /// e to this, to about 2^-100 of itself; for results that `f64` can hold.
    pub fn exp(self) -> Double {
        let twos = (self.high / LN_2.high).round();
        // 512 times smaller, so that few terms suffice; then squared nine times.
        let small = self.plus(LN_2.times(Double::new(-twos))).over(512.0);
        let (mut term, mut less) = (small, small);
        for n in 2..=9 {
            term = term.times(small).over(f64::from(n));
            less = less.plus(term);
        }
        // e^x - 1 keeps its precision: (1 + y)² - 1 = 2y + y².
        for _ in 0..9 {
            less = less.plus(less).plus(less.times(less));
        }
        let power = Double::new(1.0).plus(less);
        let scale = 2f64.powi(twos as i32);
        Double { high: power.high * scale, low: power.low * scale }
    }

    /// The natural logarithm of a number above 0, to about 2^-100.
    pub fn ln(value: f64) -> Double {
        let guess = Double::new(value.ln());
        // One step of Newton's: y + (x·e^-y - 1), twice as many digits.
        let left = guess.negated().exp().times(Double::new(value)).plus(Double::new(-1.0));
        guess.plus(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: Double, b: Double) -> bool {
        let left = a.plus(b.negated());
        (left.high + left.low).abs() <= 1e-29 * b.high.abs()
    }

    #[test]
    fn powers_and_logarithms_undo_each_other() {
        assert!(close(Double::ln(2.0), LN_2), "{:?}", Double::ln(2.0));
        for value in [0.001, 0.5, 1.0, 3.7, 10_000.0] {
            assert!(close(Double::ln(value).exp(), Double::new(value)), "{value}");
        }
        // A root of a power of two that is exact.
        assert!(close(Double::ln(1024.0).over(10.0).exp(), Double::new(2.0)));
        let third = Double::new(1.0).over(3.0);
        assert!(close(third.plus(third).plus(third), Double::new(1.0)));
    }
}

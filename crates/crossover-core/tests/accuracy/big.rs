//! Arithmetic of any precision: what `f64` bodies and complex functions are measured against.

use astro_float::{BigFloat, Consts, RoundingMode, Sign};

pub const NEAREST: RoundingMode = RoundingMode::ToEven;

/// Arithmetic at one precision, in bits.
pub struct Big {
    pub bits: usize,
    pub constants: Consts,
}

impl Big {
    pub fn new(bits: usize) -> Big {
        Big { bits, constants: Consts::new().expect("constants fit in memory") }
    }
    pub fn of(&self, x: f64) -> BigFloat {
        exactly(x, self.bits)
    }
    pub fn add(&self, a: &BigFloat, b: &BigFloat) -> BigFloat {
        a.add(b, self.bits, NEAREST)
    }
    pub fn sub(&self, a: &BigFloat, b: &BigFloat) -> BigFloat {
        a.sub(b, self.bits, NEAREST)
    }
    pub fn mul(&self, a: &BigFloat, b: &BigFloat) -> BigFloat {
        a.mul(b, self.bits, NEAREST)
    }
    pub fn div(&self, a: &BigFloat, b: &BigFloat) -> BigFloat {
        a.div(b, self.bits, NEAREST)
    }
    pub fn exp(&mut self, x: &BigFloat) -> BigFloat {
        x.exp(self.bits, NEAREST, &mut self.constants)
    }
    pub fn ln(&mut self, x: &BigFloat) -> BigFloat {
        x.ln(self.bits, NEAREST, &mut self.constants)
    }

    pub fn expm1(&mut self, x: f64) -> BigFloat {
        let big = self.of(x);
        if x.abs() < 1e-50 {
            // x + x²/2; the next term is beyond the precision.
            return self.add(&big, &self.div(&self.mul(&big, &big), &self.of(2.0)));
        }
        let e = self.exp(&big);
        self.sub(&e, &self.of(1.0))
    }

    pub fn log1p(&mut self, x: f64) -> BigFloat {
        let big = self.of(x);
        if x.abs() < 1e-50 {
            return self.sub(&big, &self.div(&self.mul(&big, &big), &self.of(2.0)));
        }
        let sum = self.add(&self.of(1.0), &big);
        self.ln(&sum)
    }

    pub fn tanh(&mut self, x: f64) -> BigFloat {
        if x.abs() > 400.0 {
            return self.of(x.signum());
        }
        let e = self.expm1(2.0 * x);
        self.div(&e, &self.add(&e, &self.of(2.0)))
    }

    pub fn logistic(&mut self, x: &BigFloat) -> BigFloat {
        let e = self.exp(&x.neg());
        self.div(&self.of(1.0), &self.add(&self.of(1.0), &e))
    }

    pub fn gelu(&mut self, x: f64) -> BigFloat {
        let big = self.of(x);
        let cube = self.mul(&big, &self.mul(&big, &big));
        let factor = self.div(&self.of(44715.0), &self.of(1e6));
        let sum = self.add(&big, &self.mul(&factor, &cube));
        let pi = self.constants.pi(self.bits, NEAREST);
        let root = self.div(&self.of(8.0), &pi).sqrt(self.bits, NEAREST);
        let sigmoid = self.logistic(&self.mul(&root, &sum));
        self.mul(&big, &sigmoid)
    }

    /// 2/√π · Σ (-1)^n x^(2n+1) / (n! (2n+1)); the terms reach e^(x²), which the precision covers up to 7.
    pub fn erf(&mut self, x: f64) -> BigFloat {
        if x.abs() > 7.0 { self.of(x.signum()) } else { self.erf_series(x) }
    }

    /// The series of [`Big::erf`] at the precision there is.
    pub fn erf_series(&mut self, x: f64) -> BigFloat {
        let big = self.of(x);
        self.erf_of(&big)
    }

    pub fn erf_of(&mut self, big: &BigFloat) -> BigFloat {
        let square = self.mul(big, big);
        let (mut power, mut sum, mut n) = (big.clone(), big.clone(), 0u32);
        while n < 10 || power.exponent() > sum.exponent().map(|e| e - self.bits as i32) {
            n += 1;
            power = self.div(&self.mul(&power, &square), &self.of(-(n as f64)));
            sum = self.add(&sum, &self.div(&power, &self.of((2 * n + 1) as f64)));
            if power.is_zero() {
                break;
            }
        }
        let root = self.constants.pi(self.bits, NEAREST).sqrt(self.bits, NEAREST);
        self.div(&self.mul(&sum, &self.of(2.0)), &root)
    }

    /// log(1 + x), to all digits where x is tiny too.
    pub fn log_of_one_plus(&mut self, x: &BigFloat) -> BigFloat {
        if x.is_zero() || x.exponent().is_some_and(|e| e < -(self.bits as i32) / 2) {
            // The next term of the series is beyond the precision.
            return self.sub(x, &self.div(&self.mul(x, x), &self.of(2.0)));
        }
        let sum = self.add(&self.of(1.0), x);
        self.ln(&sum)
    }

    /// Square root of the sum of squares.
    pub fn length(&self, a: &BigFloat, b: &BigFloat) -> BigFloat {
        self.add(&self.mul(a, a), &self.mul(b, b)).sqrt(self.bits, NEAREST)
    }

    /// Angle of the point (x, y), one of whose coordinates is not zero. A zero counts as positive.
    pub fn angle(&mut self, y: &BigFloat, x: &BigFloat) -> BigFloat {
        let (height, width) = (y.abs(), x.abs());
        let steep = height.cmp(&width).is_some_and(|order| order > 0);
        let ratio = if steep { self.div(&width, &height) } else { self.div(&height, &width) };
        // The library's is the argument itself to more digits than anyone looks at where that is tiny.
        let tiny = ratio.is_zero() || ratio.exponent().is_some_and(|e| e < -(self.bits as i32) / 2);
        let arc = if tiny { ratio } else { ratio.atan(self.bits, NEAREST, &mut self.constants) };
        let pi = self.constants.pi(self.bits, NEAREST);
        let arc = if steep { self.sub(&self.div(&pi, &self.of(2.0)), &arc) } else { arc };
        let arc = if x.is_negative() { self.sub(&pi, &arc) } else { arc };
        if y.is_negative() { arc.neg() } else { arc }
    }

    /// sin or cos; the reduction of a large argument needs as many bits as its exponent.
    pub fn turn(&mut self, x: f64, sine: bool) -> BigFloat {
        let bits = self.bits + if x.abs() > 1e6 { 1100 } else { 0 };
        let big = exactly(x, bits);
        if sine {
            big.sin(bits, NEAREST, &mut self.constants)
        } else {
            big.cos(bits, NEAREST, &mut self.constants)
        }
    }
}

/// The float at a precision. The crate mistakes subnormal numbers, so they are scaled on the way.
pub fn exactly(x: f64, bits: usize) -> BigFloat {
    if x.abs() >= f64::MIN_POSITIVE {
        return BigFloat::from_f64(x, bits);
    }
    let scale = 2f64.powi(200);
    BigFloat::from_f64(x * scale, bits).div(&BigFloat::from_f64(scale, bits), bits, NEAREST)
}

/// Significand in [1/2, 1) and exponent.
pub fn parts(x: &BigFloat) -> (f64, i32) {
    let Some((words, _, sign, exponent, _)) = x.as_raw_parts() else { return (0.0, 0) };
    let top = words.last().map_or(0.0, |&w| w as f64 / 2f64.powi(64));
    let next = words.iter().rev().nth(1).map_or(0.0, |&w| w as f64 / 2f64.powi(128));
    (if sign == Sign::Neg { -(top + next) } else { top + next }, exponent)
}

/// Distance in units in the last place of an `f64` of the true value's size; infinity counts as 2^1024.
pub fn ulps(got: f64, truth: &BigFloat) -> f64 {
    ulps_of(got, truth, i32::MIN)
}

/// As [`ulps`], in units of a number with the exponent `least` where that is larger than the true value's.
pub fn ulps_of(got: f64, truth: &BigFloat, least: i32) -> f64 {
    assert!(!got.is_nan() && !truth.is_nan());
    let (_, exponent) = parts(truth);
    let capped = if truth.is_zero() { -1021 } else { exponent.clamp(-1021, 1024) }.max(least);
    let mut big = exactly(if got.is_infinite() { 2f64.powi(1023).copysign(got) } else { got }, 1300);
    if got.is_infinite() {
        if exponent > 1024 {
            return 0.0;
        }
        big = big.mul(&BigFloat::from_f64(2.0, 64), 1300, NEAREST);
    }
    let (difference, scale) = parts(&big.sub(truth, 1300, NEAREST));
    let scale = scale - (capped - 53);
    if difference == 0.0 || scale < -100 { 0.0 } else { difference.abs() * 2f64.powi(scale.min(1000)) }
}

//! `f64` bodies against arbitrary-precision arithmetic.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, SQRT_2};

use astro_float::BigFloat;
use crossover_core::ops::{self, Apply1, Apply2, ApplyPart, Binary, Part, Unary};
use num_complex::Complex;

use crate::{
    Stream,
    big::{Big, NEAREST, parts, ulps, ulps_of},
    checked,
};

checked! {
    acos; acosh; asin; asinh; atan; atan2; atanh; cos; cosh; cospi half_turns; erf; erfc; exp; exp2;
    expm1; gelu; gelu_exact; hypot; log; log10; log1p; log2; logaddexp; modulus; pow; sigmoid; silu; sin;
    sinh; sinpi half_turns; softplus; tan; tanh;
}

/// How many random arguments each distribution gives; the maxima noted beside the ops were measured with 5000.
fn points() -> usize {
    std::env::var("ACCURACY_POINTS").ok().and_then(|n| n.parse().ok()).unwrap_or(600)
}

struct Worst {
    name: &'static str,
    limit: f64,
    error: f64,
    at: String,
}

impl Worst {
    fn new(name: &'static str, limit: f64) -> Worst {
        Worst { name, limit, error: 0.0, at: String::new() }
    }
    fn see(&mut self, got: f64, truth: &BigFloat, at: &dyn std::fmt::Debug) {
        self.see_of(got, truth, i32::MIN, at);
    }
    /// In units of a number with the exponent `least` where the true value is smaller.
    fn see_of(&mut self, got: f64, truth: &BigFloat, least: i32, at: &dyn std::fmt::Debug) {
        assert!(!got.is_nan() && !truth.is_nan(), "{}{at:?} = {got:e}: {truth:?}", self.name);
        let error = ulps_of(got, truth, least);
        assert!(error <= self.limit, "{}{at:?} = {got:e}: {error} ulp, limit {}", self.name, self.limit);
        if error > self.error {
            (self.error, self.at) = (error, format!("{at:?}"));
        }
    }
}

impl Drop for Worst {
    fn drop(&mut self) {
        println!("{:<8} f64 max {:.4} ulp at {}", self.name, self.error, self.at);
    }
}

fn neighbours(x: f64) -> impl Iterator<Item = f64> {
    (x.abs().to_bits().saturating_sub(2)..=x.abs().to_bits() + 2)
        .map(move |b| f64::from_bits(b).copysign(x))
        .filter(|x| x.is_finite())
}

/// Random arguments of every size below `top`, dense ones in each interval, and the given hard ones with neighbours.
fn check<O: Unary>(
    intervals: &[(f64, f64)],
    top: f64,
    hard: &[f64],
    mut truth: impl FnMut(&mut Big, f64) -> BigFloat,
) {
    let mut big = Big::new(320);
    let mut stream = Stream(11);
    let mut worst = Worst::new(O::INFO.name, O::INFO.max_ulp);
    let mut see = |x: f64| worst.see(<O as Apply1<f64>>::value(x), &truth(&mut big, x), &x);
    for &(low, high) in intervals {
        (0..points()).for_each(|_| see(stream.between(low, high)));
    }
    let signed = intervals[0].0 < 0.0;
    for _ in 0..points() {
        let x = f64::from_bits(stream.next());
        let x = if signed { x } else { x.abs() };
        if x.is_finite() && x.abs() < top {
            see(x);
        }
    }
    hard.iter().flat_map(|&x| neighbours(x)).for_each(&mut see);
}

#[test]
fn exp() {
    // The ends: overflow, the normal range, the last subnormal.
    let hard =
        [709.782712893384, -708.3964185322641, -745.1332191019411, -744.4400719213812, 1e-300, 0.34657359];
    check::<ops::exp::Exp>(&[(-1.0, 1.0), (-745.0, 709.0), (-745.2, -708.0)], 746.0, &hard, |b, x| {
        b.exp(&b.of(x))
    });
}

#[test]
fn expm1() {
    let hard = [709.782712893384, -40.0, -37.4, 36.7, 37.4, 0.34657359, -0.34657359, 1e-300, 5e-324, 1e-17];
    check::<ops::expm1::Expm1>(&[(-1.0, 1.0), (-42.0, 42.0), (0.0, 709.0)], 709.0, &hard, Big::expm1);
}

#[test]
fn log() {
    let hard = [1.0, 1.0 - 1e-10, FRAC_1_SQRT_2, SQRT_2, f64::MIN_POSITIVE, 5e-324, f64::MAX];
    check::<ops::log::Log>(&[(0.5, 2.0), (0.99, 1.01), (0.0, 100.0)], f64::MAX, &hard, |b, x| b.ln(&b.of(x)));
}

#[test]
fn log1p() {
    let hard = [
        -0.9999999999,
        -0.2928932188134524,
        0.41421356237309503,
        1e-17,
        5e-324,
        1.0,
        9007199254740993.0,
        1e300,
    ];
    let truth = |b: &mut Big, x: f64| b.log1p(x.max(-0.9999999999999999));
    check::<ops::log1p::Log1p>(&[(-0.9999, 1.0), (-0.01, 0.01), (0.0, 100.0)], 0.99, &hard, truth);
}

/// Numbers very near a multiple of π/2: the worst of all `f64`, and the nearest numbers to many multiples.
fn near_multiples() -> Vec<f64> {
    let mut all = vec![
        6381956970095103.0 * 2f64.powi(797),
        52707178.0,
        52707179.0,
        f64::MAX,
        1e22,
        2f64.powi(1000),
        1e-300,
    ];
    all.extend((1..400).map(|n| n as f64 * FRAC_PI_2));
    all.extend((1..60).map(|k| 1.7f64.powi(k).round() * FRAC_PI_2));
    all
}

const ANGLES: [(f64, f64); 5] = [(-0.8, 0.8), (-7.0, 7.0), (-1e4, 1e4), (-5e7, 5e7), (-1e9, 1e9)];

#[test]
fn sin() {
    check::<ops::sin::Sin>(&ANGLES, f64::INFINITY, &near_multiples(), |b, x| b.turn(x, true));
}

#[test]
fn cos() {
    check::<ops::cos::Cos>(&ANGLES, f64::INFINITY, &near_multiples(), |b, x| b.turn(x, false));
}

#[test]
fn tanh() {
    let hard = [0.55, -0.55, 19.06, 20.0, 1e-8, 1e-300, 5e-324, 0.17];
    check::<ops::tanh::Tanh>(&[(-0.6, 0.6), (-3.0, 3.0), (-22.0, 22.0)], f64::INFINITY, &hard, Big::tanh);
}

#[test]
fn sigmoid() {
    let hard = [-745.1, -708.4, -36.7, 36.8, 1e-17, -1e-17];
    let truth = |b: &mut Big, x: f64| b.logistic(&b.of(x));
    check::<ops::sigmoid::Sigmoid>(&[(-1.0, 1.0), (-40.0, 40.0), (-745.0, -30.0)], 746.0, &hard, truth);
}

#[test]
fn erf() {
    let hard = [1.0, -1.0, 5.92, 6.0, 1e-300, 5e-324, 1e-8];
    check::<ops::erf::Erf>(&[(-1.1, 1.1), (-3.0, 3.0), (1.0, 6.1)], f64::INFINITY, &hard, Big::erf);
}

#[test]
fn gelu() {
    let hard = [-21.4, -20.9, 8.0, 1e-300, 5e-324, -5e-324, -0.1, 24.0];
    check::<ops::gelu::Gelu>(&[(-1.0, 1.0), (-9.0, 9.0), (-21.4, -8.0)], 21.4, &hard, Big::gelu);
}

#[test]
fn tan() {
    let truth = |b: &mut Big, x: f64| {
        let (sine, cosine) = (b.turn(x, true), b.turn(x, false));
        b.div(&sine, &cosine)
    };
    check::<ops::tan::Tan>(&ANGLES, f64::INFINITY, &near_multiples(), truth);
}

/// Functions of the library that are `x` itself to more digits than anyone looks at where `x` is tiny.
macro_rules! odd_truth {
    ($name:ident) => {
        |b: &mut Big, x: f64| {
            let big = b.of(x);
            if x.abs() < 1e-60 { big } else { big.$name(b.bits, NEAREST, &mut b.constants) }
        }
    };
}

#[test]
fn asin() {
    let hard = [0.5, -0.5, 0.9999999999, 1e-300, 5e-324, 1e-8, 0.8660254037844386];
    check::<ops::asin::Asin>(&[(-1.0, 1.0), (-0.5, 0.5), (0.999, 1.0)], 1.0, &hard, odd_truth!(asin));
}

#[test]
fn acos() {
    let hard = [0.5, -0.5, 0.9999999999, -0.9999999999, 1e-300, 1e-8, 6.123233995736766e-17];
    let truth = |b: &mut Big, x: f64| b.of(x).acos(b.bits, NEAREST, &mut b.constants);
    check::<ops::acos::Acos>(&[(-1.0, 1.0), (-0.5, 0.5), (0.999, 1.0)], 1.0, &hard, truth);
}

#[test]
fn atan() {
    let hard = [1.0, SQRT_2 - 1.0, SQRT_2 + 1.0, 1e-300, 5e-324, 1e16, f64::MAX];
    check::<ops::atan::Atan>(&[(-1.0, 1.0), (-3.0, 3.0), (0.0, 1e3)], f64::INFINITY, &hard, odd_truth!(atan));
}

#[test]
fn sinh() {
    let hard = [0.34657359, 1.0397, 18.0, 37.5, 710.4758600739438, 1e-300, 5e-324];
    let truth = |b: &mut Big, x: f64| {
        let (plus, minus) = (b.expm1(x), b.expm1(-x));
        b.div(&b.sub(&plus, &minus), &b.of(2.0))
    };
    check::<ops::sinh::Sinh>(&[(-1.0, 1.0), (-40.0, 40.0), (0.0, 710.0)], 710.4, &hard, truth);
}

#[test]
fn cosh() {
    let hard = [0.34657359, 1.0397, 18.0, 37.5, 710.4758600739438, 1e-300];
    let truth = |b: &mut Big, x: f64| {
        let (plus, minus) = (b.exp(&b.of(x)), b.exp(&b.of(-x)));
        b.div(&b.add(&plus, &minus), &b.of(2.0))
    };
    check::<ops::cosh::Cosh>(&[(-1.0, 1.0), (-40.0, 40.0), (0.0, 710.0)], 710.4, &hard, truth);
}

#[test]
fn asinh() {
    let hard = [268435456.0, 1.0, 1e-8, 1e-300, 5e-324, f64::MAX, 0.41421356];
    check::<ops::asinh::Asinh>(&[(-1.0, 1.0), (-50.0, 50.0), (1e8, 4e8)], f64::MAX, &hard, odd_truth!(asinh));
}

#[test]
fn acosh() {
    let mut big = Big::new(320);
    let mut stream = Stream(17);
    let mut worst = Worst::new("acosh", ops::acosh::Acosh::INFO.max_ulp);
    let mut see = |x: f64| {
        let one = big.of(1.0);
        let root = big.sub(&big.mul(&big.of(x), &big.of(x)), &one).sqrt(big.bits, NEAREST);
        let sum = big.add(&big.of(x), &root);
        let truth = big.ln(&sum);
        worst.see(<ops::acosh::Acosh as Apply1<f64>>::value(x), &truth, &x);
    };
    for _ in 0..points() {
        see(stream.between(1.0, 3.0));
        see(1.0 + stream.between(0.0, 1e-6));
        see(stream.between(1.0, 1e4));
        see(f64::from_bits(0x3ff0 << 48 | stream.next() >> 2).max(1.0 + f64::EPSILON));
    }
    [1.25, 2.0, 268435456.0, f64::MAX].into_iter().flat_map(neighbours).for_each(&mut see);
}

#[test]
fn atanh() {
    let hard = [0.5, -0.5, 1.0 / 3.0, 0.17157287525381, 0.9999999999, 1e-8, 1e-300, 5e-324];
    check::<ops::atanh::Atanh>(&[(-1.0, 1.0), (-0.2, 0.2), (0.99, 1.0)], 1.0, &hard, odd_truth!(atanh));
}

#[test]
fn log2() {
    let hard = [1.0 - 1e-10, FRAC_1_SQRT_2, SQRT_2, f64::MIN_POSITIVE, 5e-324, f64::MAX];
    let truth = |b: &mut Big, x: f64| {
        let (log, two) = (b.ln(&b.of(x)), b.ln(&b.of(2.0)));
        b.div(&log, &two)
    };
    check::<ops::log2::Log2>(&[(0.5, 2.0), (0.99, 1.01), (0.0, 100.0)], f64::MAX, &hard, truth);
}

#[test]
fn log10() {
    let hard = [1.0 - 1e-10, FRAC_1_SQRT_2, SQRT_2, f64::MIN_POSITIVE, 5e-324, f64::MAX, 1e15];
    let truth = |b: &mut Big, x: f64| {
        let (log, ten) = (b.ln(&b.of(x)), b.ln(&b.of(10.0)));
        b.div(&log, &ten)
    };
    check::<ops::log10::Log10>(&[(0.5, 2.0), (0.99, 1.01), (0.0, 100.0)], f64::MAX, &hard, truth);
}

#[test]
fn exp2() {
    let hard = [1023.9999999, -1022.0, -1074.5, -1074.0, 0.5, -0.5, 1e-300];
    let truth = |b: &mut Big, x: f64| {
        let two = b.ln(&b.of(2.0));
        let exponent = b.mul(&b.of(x), &two);
        b.exp(&exponent)
    };
    check::<ops::exp2::Exp2>(&[(-1.0, 1.0), (-1074.0, 1023.0), (-1076.0, -1021.0)], 1100.0, &hard, truth);
}

#[test]
fn silu() {
    let hard = [-751.0, -708.4, -745.2, -36.7, 36.8, 1e-300, -5e-324, 760.0];
    let truth = |b: &mut Big, x: f64| {
        let gate = b.logistic(&b.of(x));
        b.mul(&gate, &b.of(x))
    };
    check::<ops::silu::Silu>(&[(-1.0, 1.0), (-40.0, 40.0), (-751.0, -30.0)], 760.0, &hard, truth);
}

#[test]
fn softplus() {
    let hard = [-745.1, -708.4, -36.7, 36.8, 1e-17, -1e-17, 0.0];
    let truth = |b: &mut Big, x: f64| {
        let e = b.exp(&b.of(-x.abs()));
        // Beyond this 1 + e would lose digits of e; the next term of the series is e³/3.
        let log = if x.abs() > 100.0 {
            b.sub(&e, &b.div(&b.mul(&e, &e), &b.of(2.0)))
        } else {
            b.ln(&b.add(&b.of(1.0), &e))
        };
        b.add(&log, &b.of(x.max(0.0)))
    };
    check::<ops::softplus::Softplus>(&[(-1.0, 1.0), (-40.0, 40.0), (-745.0, -30.0)], 746.0, &hard, truth);
}

/// erfc over a range where 1 - erf leaves enough digits of a precision that grows with the argument.
fn complement(x: f64, big: &mut Big) -> BigFloat {
    let erf = big.erf_series(x);
    big.sub(&big.of(1.0), &erf)
}

#[test]
fn erfc() {
    let mut stream = Stream(19);
    let mut worst = Worst::new("erfc", ops::erfc::Erfc::INFO.max_ulp);
    let mut moderate = Big::new(640);
    for _ in 0..points() {
        for x in [stream.between(-6.0, 6.0), stream.between(-1.0, 1.0), stream.between(3.0, 9.0)] {
            worst.see(<ops::erfc::Erfc as Apply1<f64>>::value(x), &complement(x, &mut moderate), &x);
        }
    }
    // The tail takes e^(x²) in the series and e^-(x²) in the difference: twice 1060 bits at its end.
    let mut precise = Big::new(2400);
    for _ in 0..points() / 60 {
        let x = stream.between(9.0, 27.0);
        worst.see(<ops::erfc::Erfc as Apply1<f64>>::value(x), &complement(x, &mut precise), &x);
    }
}

#[test]
fn gelu_exact() {
    let mut stream = Stream(23);
    let mut worst = Worst::new("gelu_exact", ops::gelu_exact::GeluExact::INFO.max_ulp);
    let mut see = |x: f64, big: &mut Big| {
        let argument = big.div(&big.of(x), &big.of(2.0).sqrt(big.bits, NEAREST));
        let erf = big.erf_of(&argument);
        let share = big.div(&big.add(&big.of(1.0), &erf), &big.of(2.0));
        let truth = big.mul(&share, &big.of(x));
        worst.see(<ops::gelu_exact::GeluExact as Apply1<f64>>::value(x), &truth, &x);
    };
    let mut moderate = Big::new(640);
    for _ in 0..points() {
        see(stream.between(-9.0, 9.0), &mut moderate);
        see(stream.between(-1.0, 1.0), &mut moderate);
    }
    let mut precise = Big::new(2400);
    for _ in 0..points() / 60 {
        see(stream.between(-38.4, -9.0), &mut precise);
    }
}

#[test]
fn pow() {
    let mut big = Big::new(320);
    let mut stream = Stream(5);
    let mut worst = Worst::new("pow", ops::pow::Pow::INFO.max_ulp);
    let mut see = |a: f64, b: f64| {
        let log = big.ln(&big.of(a));
        let exponent = big.mul(&log, &big.of(b));
        if parts(&exponent).1 < 11 {
            let truth = big.exp(&exponent);
            worst.see(<ops::pow::Pow as Apply2<f64>>::apply(a, b), &truth, &(a, b));
        }
    };
    for _ in 0..points() {
        see(stream.between(0.0, 10.0), stream.between(-300.0, 300.0));
        see(1.0 + stream.between(-1e-3, 1e-3), stream.between(-7e5, 7e5));
        see(1.0 + stream.between(-1e-9, 1e-9), stream.between(-7e11, 7e11));
        let a = f64::from_bits(stream.next() >> 1);
        if a.is_finite() && a > 0.0 {
            // Results over the whole range, subnormal ones too.
            see(a, stream.between(-745.0, 709.0) / a.ln());
            see(a, stream.between(-3.0, 3.0));
        }
    }
    // Largest finite results, exact powers, halfway cases, bases next to one.
    for (a, b) in
        [(2.0, 1023.5), (2.0, -1074.0), (3.0, 33.0), (1.5, 40.0), (10.0, 22.0), (10.0, -5.0), (f64::MAX, 0.5)]
    {
        neighbours(a).for_each(|a| neighbours(b).for_each(|b| see(a, b)));
    }
    for (a, b) in [(1.0 + f64::EPSILON, 3e18), (1.0 - f64::EPSILON / 2.0, 3e18), (FRAC_1_SQRT_2, 2000.0)] {
        see(a, b);
    }
}

/// Pairs of every size, of similar size, and of special ratios.
fn pairs(mut see: impl FnMut(f64, f64)) {
    let mut stream = Stream(29);
    for _ in 0..points() {
        let (a, b) = (f64::from_bits(stream.next()), f64::from_bits(stream.next()));
        if a.is_finite() && b.is_finite() {
            see(a, b);
            see(a, a * stream.between(-1.0, 1.0));
        }
        see(stream.between(-1.0, 1.0), stream.between(-1.0, 1.0));
        see(stream.between(-60.0, 60.0), stream.between(-60.0, 60.0));
        see(stream.between(-1.0, 1.0), stream.between(-1.0, 1.0) * 2f64.powf(stream.between(-60.0, 60.0)));
        // Sums of squares around the smallest normal number and around the largest.
        see(stream.between(-1e-307, 1e-307), stream.between(-1e-307, 1e-307));
        see(stream.between(-8e307, 8e307), stream.between(-8e307, 8e307));
    }
    let hard = [0.0, 1.0, -1.0, 5e-324, -5e-324, f64::MIN_POSITIVE, 1e-160, -1e160, 0.41421356237309503];
    for a in hard.into_iter().chain([f64::MAX, -f64::MAX]) {
        for b in hard.into_iter().chain([f64::MAX]) {
            neighbours(a).for_each(|a| neighbours(b).for_each(|b| see(a, b)));
        }
    }
}

#[test]
fn hypot() {
    let big = Big::new(320);
    let mut worst = Worst::new("hypot", ops::hypot::Hypot::INFO.max_ulp);
    pairs(|a, b| {
        let truth = big.length(&big.of(a), &big.of(b));
        worst.see(<ops::hypot::Hypot as Apply2<f64>>::apply(a, b), &truth, &(a, b));
    });
}

#[test]
fn modulus() {
    let big = Big::new(320);
    let mut worst = Worst::new("modulus", ops::modulus::Modulus::INFO.max_ulp);
    pairs(|re, im| {
        let truth = big.length(&big.of(re), &big.of(im));
        let got = <ops::modulus::Modulus as ApplyPart<Complex<f64>>>::apply(Complex::new(re, im));
        worst.see(got, &truth, &(re, im));
    });
}

#[test]
fn atan2() {
    let mut big = Big::new(320);
    let mut worst = Worst::new("atan2", ops::atan2::Atan2::INFO.max_ulp);
    pairs(|y, x| {
        // Angles of zero have special values, which the tests beside the op look at.
        if y != 0.0 && x != 0.0 {
            let truth = big.angle(&big.of(y), &big.of(x));
            worst.see(<ops::atan2::Atan2 as Apply2<f64>>::apply(y, x), &truth, &(y, x));
        }
    });
}

#[test]
fn logaddexp() {
    let mut big = Big::new(320);
    let mut worst = Worst::new("logaddexp", ops::logaddexp::Logaddexp::INFO.max_ulp);
    let mut see = |a: f64, b: f64| {
        let (larger, smaller) = (big.of(a.max(b)), big.of(a.min(b)));
        let distance = big.sub(&smaller, &larger);
        // Beyond this the other one is less than the smallest number.
        let truth = if parts(&distance).1 > 10 {
            larger.clone()
        } else {
            let share = big.exp(&distance);
            let log = big.log_of_one_plus(&share);
            big.add(&larger, &log)
        };
        // Near a result of zero the terms cancel: the error is that of the larger operand.
        let least = if larger.is_zero() { i32::MIN } else { parts(&larger).1 };
        worst.see_of(<ops::logaddexp::Logaddexp as Apply2<f64>>::apply(a, b), &truth, least, &(a, b));
    };
    pairs(&mut see);
    let mut stream = Stream(31);
    for _ in 0..points() {
        // Sums near one, whose logarithm is near zero.
        let a = stream.between(-3.0, -1e-6);
        see(a, (-a.exp()).ln_1p());
        see(a, (-a.exp()).ln_1p() + stream.between(-1e-9, 1e-9));
        let a = stream.between(-700.0, 700.0);
        see(a, a + stream.between(-1.0, 1.0));
        see(a, a + stream.between(-740.0, 40.0));
    }
}

/// Half turns as sums of two numbers, most of them next to a multiple of a quarter.
#[test]
fn half_turns() {
    let mut stream = Stream(23);
    let mut big = Big::new(640);
    let mut worst = [0.0f64; 2];
    for round in 0..4000 {
        let whole = (stream.between(-1e9, 1e9)).round() / 2.0;
        let part = stream.between(-0.5, 0.5)
            * if round % 2 == 0 { 1.0 } else { 2f64.powf(stream.between(-90.0, 0.0)) };
        let (a, b) = match round % 4 {
            3 => (whole + stream.between(-0.5, 0.5), part * 1e-9),
            _ => (whole, part),
        };
        let pi = big.constants.pi(big.bits, NEAREST);
        let angle = big.mul(&big.add(&big.of(a), &big.of(b)), &pi);
        let truth = [
            angle.sin(big.bits, NEAREST, &mut big.constants),
            angle.cos(big.bits, NEAREST, &mut big.constants),
        ];
        let got = [
            <ops::sinpi::Sinpi as Apply2<f64>>::apply(a, b),
            <ops::cospi::Cospi as Apply2<f64>>::apply(a, b),
        ];
        for ((got, truth), worst) in got.into_iter().zip(&truth).zip(&mut worst) {
            let error = ulps(got, truth);
            assert!(error <= ops::sinpi::Sinpi::INFO.max_ulp, "{a:e} + {b:e}: {got:e}: {error} ulp");
            *worst = worst.max(error);
        }
    }
    println!("sinpi {:.3} ulp, cospi {:.3} ulp", worst[0], worst[1]);
}

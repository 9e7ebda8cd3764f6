//! `f32` bodies against `f64` references.

use std::f32::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4, LN_2, PI, SQRT_2};

use crossover_core::ops::{self, Apply1, Apply2, ApplyPart, Binary, Part, Unary};
use num_complex::Complex;

use crate::{Stream, checked, for_each_function, truth};

/// Arguments where something changes: zeros, ends of the range, limits of the methods, neighbours of each.
fn corners() -> Vec<f32> {
    let units =
        [0.0, 1.0, 2.0, 0.5, 1.5, 0.55, f32::EPSILON, FRAC_1_SQRT_2, SQRT_2, LN_2 / 2.0, SQRT_2 - 1.0];
    let angles = [FRAC_PI_4, FRAC_PI_2, PI, 205887.0, 1e10, 16367173.0 * 2f32.powi(72)];
    let bounds = [
        4.0, 9.0, 10.0, 10.05, 12.0, 14.2, 16.6, 17.3, 20.0, 87.33655, 88.0, 88.72284, 89.0, 89.41599,
        103.97208, 104.0, 8192.0,
    ];
    let range = [1e-45, 1e-39, f32::MIN_POSITIVE, 1e38, f32::MAX, f32::INFINITY];
    let mut all = vec![f32::NAN, -f32::NAN];
    for v in units.into_iter().chain(angles).chain(bounds).chain(range) {
        for bits in v.to_bits().saturating_sub(2)..=v.to_bits() + 2 {
            all.extend([f32::from_bits(bits), -f32::from_bits(bits)]);
        }
    }
    all
}

fn check<O: Unary>(reference: fn(f64) -> f64) {
    const STRIDE: usize = 10007; // prime, so that every low bit pattern occurs
    let sample = (0..=u32::MAX).step_by(STRIDE).map(f32::from_bits);
    for x in sample.chain(corners()) {
        let got = <O as Apply1<f32>>::value(x);
        let error = truth::ulps(got, reference(x as f64));
        let limit = O::INFO.max_ulp;
        assert!(error <= limit, "{}({x:e}) = {got:e}: {error} ulp, limit {limit}", O::INFO.name);
    }
}

macro_rules! single_tests {
    ($($op:ident $module:ident $reference:path;)*) => {$(
        #[test]
        fn $module() {
            check::<ops::$module::$op>($reference);
        }
    )*
    checked! { $($module;)* atan2; cospi half_turns; hypot; logaddexp; modulus; pow; sinpi half_turns; }
    };
}

for_each_function!(single_tests);

#[test]
fn pow() {
    let mut stream = Stream(7);
    let check = |a: f32, b: f32| {
        let got = <ops::pow::Pow as Apply2<f32>>::apply(a, b);
        let error = truth::ulps(got, (a as f64).powf(b as f64));
        let limit = ops::pow::Pow::INFO.max_ulp;
        assert!(error <= limit, "pow({a:e}, {b:e}) = {got:e}: {error} ulp, limit {limit}");
    };
    let corners = corners();
    for &a in &corners {
        for b in corners.iter().copied().chain([3.0, -3.0, 1.0 / 3.0, 7.5, 16777217.0]) {
            check(a, b);
        }
    }
    for _ in 0..100_000 {
        check(f32::from_bits(stream.next() as u32), f32::from_bits(stream.next() as u32));
        check(stream.between(0.0, 8.0) as f32, stream.between(-60.0, 60.0) as f32);
        check(1.0 + stream.between(-1e-3, 1e-3) as f32, stream.between(-1e5, 1e5) as f32);
    }
}

#[test]
fn modulus() {
    let mut stream = Stream(9);
    let check = |re: f32, im: f32| {
        let got = <ops::modulus::Modulus as ApplyPart<Complex<f32>>>::apply(Complex::new(re, im));
        let error = truth::ulps(got, (re as f64).hypot(im as f64));
        let limit = ops::modulus::Modulus::INFO.max_ulp;
        assert!(error <= limit, "|{re:e} + {im:e} i| = {got:e}: {error} ulp, limit {limit}");
    };
    let corners = corners();
    for &re in &corners {
        corners.iter().for_each(|&im| check(re, im));
    }
    for _ in 0..200_000 {
        check(f32::from_bits(stream.next() as u32), f32::from_bits(stream.next() as u32));
        check(stream.between(-1.0, 1.0) as f32, stream.between(-1.0, 1.0) as f32);
    }
}

/// A function of two operands over corners, random bits and moderate pairs; `unit` is what the error is measured in.
fn check_pairs<O: Binary>(reference: fn(f64, f64) -> f64, unit: fn(f64, f64, f64) -> f64) {
    let mut stream = Stream(13);
    let check = |a: f32, b: f32| {
        let got = <O as Apply2<f32>>::apply(a, b);
        let truth = reference(a as f64, b as f64);
        let scale = (unit(a as f64, b as f64, truth) / truth).abs();
        let error = truth::ulps(got, truth) / if scale > 1.0 { scale } else { 1.0 };
        let limit = O::INFO.max_ulp;
        assert!(error <= limit, "{}({a:e}, {b:e}) = {got:e}: {error} ulp, limit {limit}", O::INFO.name);
    };
    let corners = corners();
    for &a in &corners {
        corners.iter().for_each(|&b| check(a, b));
    }
    for _ in 0..200_000 {
        check(f32::from_bits(stream.next() as u32), f32::from_bits(stream.next() as u32));
        check(stream.between(-3.0, 3.0) as f32, stream.between(-3.0, 3.0) as f32);
        check(stream.between(-60.0, 60.0) as f32, stream.between(-60.0, 60.0) as f32);
    }
}

#[test]
fn atan2() {
    check_pairs::<ops::atan2::Atan2>(f64::atan2, |_, _, truth| truth);
}

#[test]
fn hypot() {
    check_pairs::<ops::hypot::Hypot>(f64::hypot, |_, _, truth| truth);
}

#[test]
fn logaddexp() {
    let reference = |a: f64, b: f64| match a == b {
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        true => a + std::f64::consts::LN_2,
        false => a.max(b) + truth::softplus(-(a - b).abs()),
    };
    // Near a result of zero the terms cancel: the error is that of the larger operand.
    check_pairs::<ops::logaddexp::Logaddexp>(reference, |a, b, _| a.max(b));
}

/// Sums of half turns, in `f64` once whole turns are taken off the first, which is exact.
#[test]
fn half_turns() {
    let mut stream = Stream(17);
    let mut worst = [0.0f64; 2];
    let mut check = |a: f32, b: f32| {
        let near = f64::from(a) - 2.0 * (f64::from(a) / 2.0).round();
        let quarter = (2.0 * (near + f64::from(b))).round();
        let (sine, cosine) = (((near - quarter / 2.0) + f64::from(b)) * std::f64::consts::PI).sin_cos();
        let turned = match quarter as i32 & 3 {
            0 => [sine, cosine],
            1 => [cosine, -sine],
            2 => [-sine, -cosine],
            _ => [-cosine, sine],
        };
        let got = [
            <ops::sinpi::Sinpi as Apply2<f32>>::apply(a, b),
            <ops::cospi::Cospi as Apply2<f32>>::apply(a, b),
        ];
        for ((got, truth), worst) in got.into_iter().zip(turned).zip(&mut worst) {
            // The sign of an exact zero is not promised.
            let error = if truth == 0.0 && got == 0.0 { 0.0 } else { truth::ulps(got, truth) };
            assert!(
                error <= ops::sinpi::Sinpi::INFO.max_ulp,
                "{a:e} + {b:e}: {got:e}, {truth:e}: {error} ulp"
            );
            *worst = worst.max(error);
        }
    };
    for _ in 0..400_000 {
        let (whole, part) = (stream.between(-8e3, 8e3).round() / 2.0, stream.between(-0.5, 0.5));
        check(whole as f32, part as f32);
        check(whole as f32, (part * 2f64.powf(stream.between(-28.0, 0.0))) as f32);
        check(stream.between(-3.0, 3.0) as f32, stream.between(-3.0, 3.0) as f32);
        check(stream.between(-1000.0, 1000.0) as f32, stream.between(-1e-4, 1e-4) as f32);
    }
    println!("sinpi {:.3} ulp, cospi {:.3} ulp", worst[0], worst[1]);
}

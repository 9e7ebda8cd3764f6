//! Complex functions: inverses, powers, symmetry, and the special values of Annex G. True values are in `accuracy/complex.rs`.

use crossover_core::{
    DType, Element, Scalar,
    ops::{Class, MapOp},
    reference::{self, Pattern},
};
use num_complex::Complex;

type C64 = Complex<f32>;
type C128 = Complex<f64>;

fn apply<T: Element>(op: MapOp, z: T) -> T {
    T::from_scalar(reference::map(op, &[z.to_scalar()]))
}

/// A stream of numbers between -1 and 1 that is the same in every run.
struct Stream(u64);

impl Stream {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 ^ (self.0 >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Function, argument, result.
type Row = (MapOp, (f64, f64), (f64, f64));

#[test]
fn inverse_functions_come_back() {
    let pairs = [
        (MapOp::Acosh, MapOp::Cosh),
        (MapOp::Asinh, MapOp::Sinh),
        (MapOp::Atanh, MapOp::Tanh),
        (MapOp::Acos, MapOp::Cos),
        (MapOp::Asin, MapOp::Sin),
        (MapOp::Atan, MapOp::Tan),
        (MapOp::Log1p, MapOp::Expm1),
        (MapOp::Sqrt, MapOp::Square),
    ];
    let mut stream = Stream(5);
    for (inverse, function) in pairs {
        for i in 0..4000 {
            let size = [4.0, 1.0, 50.0, 1e-3][i % 4];
            let z = C128::new(stream.unit() * size, stream.unit() * size);
            let w = apply(inverse, z);
            let back = apply(function, w);
            // What an error of half a unit in each part of w becomes.
            let slope = match function {
                MapOp::Tanh | MapOp::Tan => 1.0 + back.norm_sqr(),
                MapOp::Cosh | MapOp::Sinh | MapOp::Cos | MapOp::Sin | MapOp::Expm1 => 1.0 + back.norm(),
                _ => back.norm(),
            };
            let error = (back - z).norm() / (slope * w.norm().max(f64::MIN_POSITIVE)).max(z.norm());
            assert!(error < 2e-15, "{function}({inverse}({z})) = {back}: {error:e}");
        }
    }
}

#[test]
fn powers_agree_with_products() {
    let mut stream = Stream(7);
    for _ in 0..2000 {
        let z = C128::new(stream.unit() * 3.0, stream.unit() * 3.0);
        for n in 0..6 {
            let args = [z.to_scalar(), C128::new(n as f64, 0.0).to_scalar()];
            let got = C128::from_scalar(reference::map(MapOp::Pow, &args));
            let want = z.powu(n);
            assert!((got - want).norm() <= 1e-14 * want.norm(), "{z}^{n} = {got}, not {want}");
        }
    }
    let zero = C128::new(0.0, 0.0).to_scalar();
    let one = C128::new(1.0, 0.0);
    assert_eq!(C128::from_scalar(reference::map(MapOp::Pow, &[zero, zero])), one);
    assert_eq!(reference::map(MapOp::Pow, &[zero, one.to_scalar()]), zero);
}

/// Functions that are real on the real axis map mirror images to mirror images, bit for bit. Products and quotients do
/// so up to the sign of zero, which follows from their formulas.
#[test]
fn conjugate_arguments_give_conjugate_results() {
    let mirrored = |z: Scalar| {
        let [re, im] = z.bits();
        let nan = |bits: u64| f64::from_bits(bits).is_nan();
        Scalar::from_bits(DType::C128, [re, if nan(im) { im } else { im ^ (1 << 63) }])
    };
    let patterns = [Pattern::Edges, Pattern::Mixed(3), Pattern::Bits(5)];
    for &op in MapOp::ALL {
        let arithmetic = [MapOp::Reciprocal, MapOp::Square].contains(&op);
        if op.class() != Class::Unary || !op.supports(DType::C128) || arithmetic {
            continue;
        }
        for pattern in &patterns {
            let tensor = pattern.tensor(DType::C128, [500].into()).unwrap();
            for z in tensor.scalars() {
                let direct = reference::map(op, &[mirrored(z)]);
                assert_eq!(direct, mirrored(reference::map(op, &[z])), "{op} of {z}");
            }
        }
    }
}

#[test]
fn huge_angles_are_reduced_exactly() {
    // Sine and cosine of 10^22 and of f32::MAX.
    let z = apply(MapOp::Exp, C128::new(0.0, 1e22));
    assert_eq!((z.re, z.im), (0.523214785395139, -0.8522008497671888));
    let z = apply(MapOp::Exp, C64::new(0.0, f32::MAX));
    assert_eq!((z.re, z.im), (0.853021, -0.5218765));
    let z = apply(MapOp::Sin, C128::new(1e22, 0.0));
    assert_eq!((z.re, z.im.to_bits()), (-0.8522008497671888, 0.0f64.to_bits()));
    // A product that is finite although its first factor is not.
    let z = apply(MapOp::Exp, C128::new(720.0, 1e-300));
    let want = (720.0 + 1e-300f64.ln()).exp();
    assert!(z.re.is_infinite() && (z.im / want - 1.0).abs() < 1e-12, "{z}");
}

/// Rows of Annex G: function, argument, result; NaN matches NaN, zeros match with their sign.
#[test]
fn special_values_follow_annex_g() {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    const PI: f64 = std::f64::consts::PI;
    let rows: &[Row] = &[
        (MapOp::Exp, (0.0, 0.0), (1.0, 0.0)),
        (MapOp::Exp, (-0.0, -0.0), (1.0, -0.0)),
        (MapOp::Exp, (1.0, INF), (NAN, NAN)),
        (MapOp::Exp, (INF, 0.0), (INF, 0.0)),
        (MapOp::Exp, (-INF, 2.0), (-0.0, 0.0)),
        (MapOp::Exp, (INF, 2.0), (-INF, INF)),
        (MapOp::Exp, (-INF, INF), (0.0, 0.0)),
        (MapOp::Exp, (INF, INF), (INF, NAN)),
        (MapOp::Exp, (INF, NAN), (INF, NAN)),
        (MapOp::Exp, (-INF, NAN), (0.0, 0.0)),
        (MapOp::Exp, (NAN, 0.0), (NAN, 0.0)),
        (MapOp::Exp, (NAN, 1.0), (NAN, NAN)),
        (MapOp::Log, (-0.0, 0.0), (-INF, PI)),
        (MapOp::Log, (0.0, 0.0), (-INF, 0.0)),
        (MapOp::Log, (1.0, INF), (INF, PI / 2.0)),
        (MapOp::Log, (-INF, 1.0), (INF, PI)),
        (MapOp::Log, (INF, 1.0), (INF, 0.0)),
        (MapOp::Log, (-INF, INF), (INF, 0.75 * PI)),
        (MapOp::Log, (INF, INF), (INF, PI / 4.0)),
        (MapOp::Log, (INF, NAN), (INF, NAN)),
        (MapOp::Log, (NAN, INF), (INF, NAN)),
        (MapOp::Log, (NAN, 1.0), (NAN, NAN)),
        (MapOp::Log, (1.0, 0.0), (0.0, 0.0)),
        (MapOp::Sqrt, (-0.0, 0.0), (0.0, 0.0)),
        (MapOp::Sqrt, (-4.0, 0.0), (0.0, 2.0)),
        (MapOp::Sqrt, (-4.0, -0.0), (0.0, -2.0)),
        (MapOp::Sqrt, (1.0, INF), (INF, INF)),
        (MapOp::Sqrt, (NAN, INF), (INF, INF)),
        (MapOp::Sqrt, (-INF, 1.0), (0.0, INF)),
        (MapOp::Sqrt, (INF, 1.0), (INF, 0.0)),
        (MapOp::Sqrt, (-INF, NAN), (NAN, INF)),
        (MapOp::Sqrt, (INF, NAN), (INF, NAN)),
        (MapOp::Sqrt, (1.0, NAN), (NAN, NAN)),
        (MapOp::Sinh, (0.0, 0.0), (0.0, 0.0)),
        (MapOp::Sinh, (0.0, INF), (0.0, NAN)),
        (MapOp::Sinh, (0.0, NAN), (0.0, NAN)),
        (MapOp::Sinh, (1.0, INF), (NAN, NAN)),
        (MapOp::Sinh, (INF, 0.0), (INF, 0.0)),
        (MapOp::Sinh, (INF, 2.0), (-INF, INF)),
        (MapOp::Sinh, (INF, INF), (INF, NAN)),
        (MapOp::Sinh, (INF, NAN), (INF, NAN)),
        (MapOp::Sinh, (NAN, 0.0), (NAN, 0.0)),
        (MapOp::Cosh, (0.0, 0.0), (1.0, 0.0)),
        (MapOp::Cosh, (0.0, INF), (NAN, 0.0)),
        (MapOp::Cosh, (INF, 0.0), (INF, 0.0)),
        (MapOp::Cosh, (INF, 2.0), (-INF, INF)),
        (MapOp::Cosh, (INF, INF), (INF, NAN)),
        (MapOp::Cosh, (NAN, 0.0), (NAN, 0.0)),
        (MapOp::Tanh, (0.0, 0.0), (0.0, 0.0)),
        (MapOp::Tanh, (1.0, INF), (NAN, NAN)),
        (MapOp::Tanh, (INF, 1.0), (1.0, 0.0)),
        (MapOp::Tanh, (INF, 2.0), (1.0, 0.0)),
        (MapOp::Tanh, (-INF, -2.0), (-1.0, -0.0)),
        (MapOp::Tanh, (INF, INF), (1.0, 0.0)),
        (MapOp::Tanh, (INF, NAN), (1.0, 0.0)),
        (MapOp::Tanh, (NAN, 0.0), (NAN, 0.0)),
        (MapOp::Tanh, (NAN, 1.0), (NAN, NAN)),
        (MapOp::Acos, (0.0, NAN), (PI / 2.0, NAN)),
        (MapOp::Acos, (1.0, INF), (PI / 2.0, -INF)),
        (MapOp::Acos, (-INF, 1.0), (PI, -INF)),
        (MapOp::Acos, (INF, 1.0), (0.0, -INF)),
        (MapOp::Acos, (-INF, INF), (0.75 * PI, -INF)),
        (MapOp::Acos, (NAN, INF), (NAN, -INF)),
        (MapOp::Acosh, (1.0, INF), (INF, PI / 2.0)),
        (MapOp::Acosh, (-INF, 1.0), (INF, PI)),
        (MapOp::Acosh, (INF, 1.0), (INF, 0.0)),
        (MapOp::Acosh, (NAN, INF), (INF, NAN)),
        (MapOp::Acosh, (0.0, NAN), (NAN, PI / 2.0)),
        (MapOp::Acosh, (1.0, NAN), (NAN, NAN)),
        (MapOp::Asinh, (0.0, 0.0), (0.0, 0.0)),
        (MapOp::Asinh, (1.0, INF), (INF, PI / 2.0)),
        (MapOp::Asinh, (INF, 1.0), (INF, 0.0)),
        (MapOp::Asinh, (INF, INF), (INF, PI / 4.0)),
        (MapOp::Asinh, (INF, NAN), (INF, NAN)),
        (MapOp::Asinh, (NAN, 0.0), (NAN, 0.0)),
        (MapOp::Asinh, (NAN, -0.0), (NAN, -0.0)),
        (MapOp::Asinh, (NAN, 1.0), (NAN, NAN)),
        (MapOp::Atanh, (0.0, 0.0), (0.0, 0.0)),
        (MapOp::Atanh, (1.0, 0.0), (INF, 0.0)),
        (MapOp::Atanh, (1.0, INF), (0.0, PI / 2.0)),
        (MapOp::Atanh, (INF, 1.0), (0.0, PI / 2.0)),
        (MapOp::Atanh, (INF, INF), (0.0, PI / 2.0)),
        (MapOp::Atanh, (INF, NAN), (0.0, NAN)),
        (MapOp::Atanh, (NAN, INF), (0.0, PI / 2.0)),
        (MapOp::Atanh, (-0.0, NAN), (-0.0, NAN)),
        (MapOp::Atanh, (NAN, 1.0), (NAN, NAN)),
        (MapOp::Expm1, (0.0, 0.0), (0.0, 0.0)),
        (MapOp::Expm1, (-0.0, -0.0), (0.0, -0.0)),
        (MapOp::Expm1, (-INF, INF), (-1.0, 0.0)),
        (MapOp::Sign, (-0.0, -0.0), (0.0, 0.0)),
        (MapOp::Expm1, (INF, 0.0), (INF, 0.0)),
        (MapOp::Log1p, (0.0, 0.0), (0.0, 0.0)),
        (MapOp::Log1p, (-1.0, 0.0), (-INF, 0.0)),
        (MapOp::Log1p, (INF, 1.0), (INF, 0.0)),
    ];
    let same = |a: f64, b: f64| a.is_nan() && b.is_nan() || a.to_bits() == b.to_bits();
    let mut wrong = Vec::new();
    for &(op, (re, im), want) in rows {
        let z = apply(op, C128::new(re, im));
        if !same(z.re, want.0) || !same(z.im, want.1) {
            wrong.push(format!("{op}({re}, {im}) = ({}, {}), not {want:?}", z.re, z.im));
        }
        let z = apply(op, C64::new(re as f32, im as f32));
        let near = |a: f32, b: f64| same(a as f64, b) || (a - b as f32).abs() < 1e-6;
        if !near(z.re, want.0) || !near(z.im, want.1) {
            wrong.push(format!("c64 {op}({re}, {im}) = ({}, {}), not {want:?}", z.re, z.im));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

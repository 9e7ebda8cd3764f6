//! Complex functions against arbitrary-precision arithmetic, in units of the last place of the magnitude of the result.
//!
//! The true values are textbook formulas on the principal branch. They cancel, which the precision covers.

use astro_float::BigFloat;
use crossover_core::{
    DType, Element,
    ops::{Class, MapOp},
    reference,
};
use num_complex::Complex;

use crate::{
    Stream,
    big::{Big, NEAREST, parts},
};

/// A complex number of any precision.
#[derive(Clone)]
struct Number {
    re: BigFloat,
    im: BigFloat,
}

impl Number {
    /// The product with the imaginary unit.
    fn turned(&self) -> Number {
        Number { re: self.im.neg(), im: self.re.clone() }
    }

    /// The product with minus the imaginary unit.
    fn turned_back(&self) -> Number {
        Number { re: self.im.clone(), im: self.re.neg() }
    }

    fn negative(&self) -> Number {
        Number { re: self.re.neg(), im: self.im.neg() }
    }
}

/// Arithmetic of complex numbers at one precision.
struct Plane(Big);

impl Plane {
    fn of(&self, z: Complex<f64>) -> Number {
        Number { re: self.0.of(z.re), im: self.0.of(z.im) }
    }

    fn real(&self, x: f64) -> Number {
        self.of(Complex::new(x, 0.0))
    }

    fn add(&self, a: &Number, b: &Number) -> Number {
        Number { re: self.0.add(&a.re, &b.re), im: self.0.add(&a.im, &b.im) }
    }

    fn sub(&self, a: &Number, b: &Number) -> Number {
        self.add(a, &b.negative())
    }

    fn mul(&self, a: &Number, b: &Number) -> Number {
        let big = &self.0;
        Number {
            re: big.sub(&big.mul(&a.re, &b.re), &big.mul(&a.im, &b.im)),
            im: big.add(&big.mul(&a.re, &b.im), &big.mul(&a.im, &b.re)),
        }
    }

    fn div(&self, a: &Number, b: &Number) -> Number {
        let conjugate = Number { re: b.re.clone(), im: b.im.neg() };
        let (product, scale) = (self.mul(a, &conjugate), self.mul(b, &conjugate).re);
        Number { re: self.0.div(&product.re, &scale), im: self.0.div(&product.im, &scale) }
    }

    fn half(&self, a: &Number) -> Number {
        self.div(a, &self.real(2.0))
    }

    fn magnitude(&self, a: &Number) -> BigFloat {
        self.0.length(&a.re, &a.im)
    }

    fn exp(&mut self, z: &Number) -> Number {
        let big = &mut self.0;
        let size = big.exp(&z.re);
        let (sine, cosine) = (
            z.im.sin(big.bits, NEAREST, &mut big.constants),
            z.im.cos(big.bits, NEAREST, &mut big.constants),
        );
        Number { re: big.mul(&size, &cosine), im: big.mul(&size, &sine) }
    }

    fn log(&mut self, z: &Number) -> Number {
        let size = self.magnitude(z);
        Number { re: self.0.ln(&size), im: self.0.angle(&z.im, &z.re) }
    }

    fn sqrt(&self, z: &Number) -> Number {
        let (big, size) = (&self.0, self.magnitude(z));
        let root = |x: BigFloat| big.div(&x, &big.of(2.0)).sqrt(big.bits, NEAREST);
        let (re, im) = (root(big.add(&size, &z.re)), root(big.sub(&size, &z.re)));
        Number { re, im: if z.im.is_negative() { im.neg() } else { im } }
    }

    /// exp(z) and exp(-z).
    fn exponentials(&mut self, z: &Number) -> (Number, Number) {
        let up = self.exp(z);
        let down = self.div(&self.real(1.0), &up);
        (up, down)
    }

    fn sinh(&mut self, z: &Number) -> Number {
        let (up, down) = self.exponentials(z);
        self.half(&self.sub(&up, &down))
    }

    fn cosh(&mut self, z: &Number) -> Number {
        let (up, down) = self.exponentials(z);
        self.half(&self.add(&up, &down))
    }

    fn tanh(&mut self, z: &Number) -> Number {
        let (up, down) = self.exponentials(z);
        self.div(&self.sub(&up, &down), &self.add(&up, &down))
    }

    fn asinh(&mut self, z: &Number) -> Number {
        let root = self.sqrt(&self.add(&self.mul(z, z), &self.real(1.0)));
        // The sum of the two cancels on the left half.
        match z.re.is_negative() {
            true => self.log(&self.sub(&root, z)).negative(),
            false => self.log(&self.add(&root, z)),
        }
    }

    fn acosh(&mut self, z: &Number) -> Number {
        let one = self.real(1.0);
        let roots = self.mul(&self.sqrt(&self.add(z, &one)), &self.sqrt(&self.sub(z, &one)));
        self.log(&self.add(z, &roots))
    }

    fn atanh(&mut self, z: &Number) -> Number {
        let one = self.real(1.0);
        let (above, below) = (self.log(&self.add(&one, z)), self.log(&self.sub(&one, z)));
        self.half(&self.sub(&above, &below))
    }

    fn asin(&mut self, z: &Number) -> Number {
        self.asinh(&z.turned()).turned_back()
    }

    /// The logarithm to a base.
    fn log_to(&mut self, z: &Number, base: f64) -> Number {
        let (log, scale) = (self.log(z), self.log(&self.real(base)));
        self.div(&log, &scale)
    }
}

type Truth = fn(&mut Plane, &Number) -> Number;
type TruthOfTwo = fn(&mut Plane, &Number, &Number) -> Number;

/// Functions of one operand, their true value, and the largest error in units of 2⁻⁵³ (`c128`) or 2⁻²⁴ (`c64`) of the
/// magnitude of the result.
const FUNCTIONS: [(MapOp, f64, Truth); 22] = [
    (MapOp::Acos, 4.0, |p, z| {
        let pi = p.0.constants.pi(p.0.bits, NEAREST);
        let right = Number { re: pi, im: p.0.of(0.0) };
        let asin = p.asin(z);
        p.sub(&p.half(&right), &asin)
    }),
    (MapOp::Acosh, 4.0, Plane::acosh),
    (MapOp::Asin, 3.5, Plane::asin),
    (MapOp::Asinh, 3.5, Plane::asinh),
    (MapOp::Atan, 3.5, |p, z| p.atanh(&z.turned()).turned_back()),
    (MapOp::Atanh, 3.5, Plane::atanh),
    (MapOp::Cos, 3.5, |p, z| p.cosh(&z.turned())),
    (MapOp::Cosh, 3.5, Plane::cosh),
    (MapOp::Exp, 3.0, Plane::exp),
    (MapOp::Expm1, 3.5, |p, z| {
        let exp = p.exp(z);
        p.sub(&exp, &p.real(1.0))
    }),
    (MapOp::Log, 3.0, Plane::log),
    (MapOp::Log10, 3.0, |p, z| p.log_to(z, 10.0)),
    (MapOp::Log1p, 3.5, |p, z| p.log(&p.add(z, &p.real(1.0)))),
    (MapOp::Log2, 3.0, |p, z| p.log_to(z, 2.0)),
    (MapOp::Reciprocal, 2.5, |p, z| p.div(&p.real(1.0), z)),
    (MapOp::Sign, 2.0, |p, z| {
        let size = Number { re: p.magnitude(z), im: p.0.of(0.0) };
        p.div(z, &size)
    }),
    (MapOp::Sin, 3.0, |p, z| p.sinh(&z.turned()).turned_back()),
    (MapOp::Sinh, 3.0, Plane::sinh),
    (MapOp::Sqrt, 2.5, |p, z| p.sqrt(z)),
    (MapOp::Square, 2.5, |p, z| p.mul(z, z)),
    (MapOp::Tan, 4.5, |p, z| p.tanh(&z.turned()).turned_back()),
    (MapOp::Tanh, 4.5, Plane::tanh),
];

/// Functions of two operands; of `pow`, moderate powers: its error grows with the exponent.
const PAIRS: [(MapOp, f64, TruthOfTwo); 3] = [
    (MapOp::Divide, 3.5, |p, a, b| p.div(a, b)),
    (MapOp::Multiply, 2.0, |p, a, b| p.mul(a, b)),
    (MapOp::Pow, 40.0, |p, a, b| {
        let log = p.log(a);
        let power = p.mul(b, &log);
        p.exp(&power)
    }),
];

/// Both parts are exact or correctly rounded, by the tests of real numbers.
const BY_PARTS: [MapOp; 5] = [MapOp::Add, MapOp::Conj, MapOp::Negative, MapOp::Round, MapOp::Subtract];

/// Distance from the true value as a share of its magnitude, in units of 2^-`bits`.
fn units(plane: &Plane, got: Complex<f64>, truth: &Number, bits: i32) -> f64 {
    assert!(got.is_finite(), "{got} is not finite");
    let difference = plane.magnitude(&plane.sub(&plane.of(got), truth));
    let (share, exponent) = parts(&plane.0.div(&difference, &plane.magnitude(truth)));
    share * 2f64.powi((exponent + bits).max(-1000))
}

/// Results in both dtypes for operands that both hold.
fn both(op: MapOp, operands: &[Complex<f32>]) -> (Complex<f32>, Complex<f64>) {
    let narrow: Vec<_> = operands.iter().map(|z| z.to_scalar()).collect();
    let wide: Vec<_> = operands.iter().map(|z| widened(*z).to_scalar()).collect();
    (Element::from_scalar(reference::map(op, &narrow)), Element::from_scalar(reference::map(op, &wide)))
}

fn widened(z: Complex<f32>) -> Complex<f64> {
    Complex::new(z.re.into(), z.im.into())
}

/// Numbers of several sizes, and numbers beside the points where functions branch or are zero.
fn argument(stream: &mut Stream, turn: usize) -> Complex<f32> {
    let size = [4.0, 1.0, 20.0, 0.1, 1e-3, 1e-7][turn % 6];
    let mut unit = || stream.between(-1.0, 1.0);
    let near = Complex::new(unit() * size, unit() * size);
    let centre = match turn / 6 % 6 {
        1 => Complex::new(1.0, 0.0),
        2 => Complex::new(-1.0, 0.0),
        3 => Complex::new(0.0, 1.0),
        4 => Complex::new(0.0, -std::f64::consts::PI),
        _ => Complex::new(0.0, 0.0),
    };
    let z = centre + near;
    Complex::new(z.re as f32, z.im as f32)
}

fn points() -> usize {
    std::env::var("ACCURACY_POINTS").ok().and_then(|n| n.parse().ok()).unwrap_or(600)
}

/// The largest error of a function in both dtypes.
struct Worst {
    op: MapOp,
    limit: f64,
    found: [(f64, String); 2],
}

impl Worst {
    fn new(op: MapOp, limit: f64) -> Worst {
        Worst { op, limit, found: Default::default() }
    }

    fn see(&mut self, plane: &Plane, operands: &[Complex<f32>], truth: &Number) {
        let (narrow, wide) = both(self.op, operands);
        let errors = [units(plane, widened(narrow), truth, 24), units(plane, wide, truth, 53)];
        for (error, found) in errors.into_iter().zip(&mut self.found) {
            if error > found.0 {
                *found = (error, format!("{operands:?}"));
            }
        }
    }

    /// What is too far off, if anything is.
    fn judge(self) -> Option<String> {
        let [(single, here), (double, there)] = &self.found;
        let line =
            format!("{:<10} {single:.2} units (c64) at {here}, {double:.2} (c128) at {there}", self.op);
        println!("{line}");
        (single.max(*double) > self.limit).then(|| format!("{line}, limit {}", self.limit))
    }
}

#[test]
fn functions_stay_near_the_true_value() {
    let mut plane = Plane(Big::new(448));
    let mut wrong = Vec::new();
    for (op, limit, truth) in FUNCTIONS {
        let (mut stream, mut worst) = (Stream(3), Worst::new(op, limit));
        for turn in 0..points() {
            let z = argument(&mut stream, turn);
            let wide = plane.of(widened(z));
            let truth = truth(&mut plane, &wide);
            worst.see(&plane, &[z], &truth);
        }
        wrong.extend(worst.judge());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn functions_of_two_operands_stay_near_the_true_value() {
    let mut plane = Plane(Big::new(448));
    let mut wrong = Vec::new();
    for (op, limit, truth) in PAIRS {
        let (mut stream, mut worst) = (Stream(5), Worst::new(op, limit));
        for turn in 0..points() {
            // No power leaves the range of either dtype.
            let (a, b) = (argument(&mut stream, turn), argument(&mut stream, 1));
            let operands = [plane.of(widened(a)), plane.of(widened(b))];
            let truth = truth(&mut plane, &operands[0], &operands[1]);
            worst.see(&plane, &[a, b], &truth);
        }
        wrong.extend(worst.judge());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_operation_on_complex_numbers_is_compared() {
    let known: Vec<MapOp> =
        FUNCTIONS.iter().map(|f| f.0).chain(PAIRS.iter().map(|f| f.0)).chain(BY_PARTS).collect();
    for &op in MapOp::ALL {
        let wanted = op.supports(DType::C128) && matches!(op.class(), Class::Unary | Class::Binary);
        assert_eq!(known.contains(&op), wanted, "{op}");
    }
}

//! Functions and reductions of arrays against plain loops over `f64`, on views, empty arrays and every float dtype.

use crossover::{Array, Complex, DType, MatrixNorm, Runtime, Shape, Simd, bf16, f16, keepdims};

/// A stream of numbers between 0 and 1 that is the same in every run.
struct Stream(u64);

impl Stream {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 ^ (self.0 >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
    fn list(&mut self, n: usize, low: f64, high: f64) -> Vec<f64> {
        (0..n).map(|_| low + (high - low) * self.unit()).collect()
    }
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

type Function = (&'static str, fn(&Array) -> Array, fn(f64) -> f64, f64, f64);

const FUNCTIONS: [Function; 19] = [
    ("acos", Array::acos, f64::acos, -1.0, 1.0),
    ("acosh", Array::acosh, f64::acosh, 1.5, 90.0),
    ("asin", Array::asin, f64::asin, -1.0, 1.0),
    ("asinh", Array::asinh, f64::asinh, -50.0, 50.0),
    ("atan", Array::atan, f64::atan, -20.0, 20.0),
    ("atanh", Array::atanh, f64::atanh, -0.9, 0.9),
    ("cos", Array::cos, f64::cos, -1.5, 1.5),
    ("cosh", Array::cosh, f64::cosh, -9.0, 9.0),
    ("exp2", Array::exp2, f64::exp2, -9.0, 9.0),
    ("log10", Array::log10, f64::log10, 1.5, 900.0),
    ("log2", Array::log2, f64::log2, 1.5, 900.0),
    ("reciprocal", Array::reciprocal, f64::recip, 0.1, 9.0),
    ("relu", Array::relu, |x| x.max(0.0), -3.0, 3.0),
    ("silu", Array::silu, silu, -9.0, 9.0),
    ("sin", Array::sin, f64::sin, -1.5, 1.5),
    ("sinh", Array::sinh, f64::sinh, -9.0, 9.0),
    ("softplus", Array::softplus, softplus, -9.0, 9.0),
    ("tan", Array::tan, f64::tan, -1.5, 1.5),
    ("tanh", Array::tanh, f64::tanh, -3.0, 3.0),
];

#[test]
fn functions_agree_with_the_host_in_every_float_dtype_and_through_views() {
    let mut stream = Stream(1);
    // Half a unit for the rounding of the argument's dtype is not counted: the reference takes the rounded argument.
    for (dtype, digits) in [(DType::F16, 11), (DType::BF16, 8), (DType::F32, 24), (DType::F64, 53)] {
        for (name, function, truth, low, high) in FUNCTIONS {
            let x = Array::from_vec(stream.list(3 * 1030, low, high), [3, 1030]).astype(dtype);
            // Every second column, backwards, transposed.
            let view = x.flip(1).slice(crossover::s![.., ..; 2]).t();
            let want: Vec<f64> =
                view.astype(DType::F64).to_vec::<f64>().unwrap().into_iter().map(truth).collect();
            let got = function(&view);
            assert_eq!((got.dtype(), got.shape()), (dtype, view.shape()), "{name}");
            let got = got.astype(DType::F64).to_vec::<f64>().unwrap();
            for (g, w) in got.iter().zip(&want) {
                // Four units: the host's own functions are within one or two.
                let limit = w.abs().max(1e-4) * 2f64.powi(2 - digits + 1);
                assert!((g - w).abs() <= limit, "{name} {dtype}: {g}, not {w}");
            }
        }
    }
}

#[test]
fn exponentials_of_many_elements_have_their_bits_to_the_ends_of_their_range() {
    type Exponential = (&'static str, fn(&Array) -> Array);
    let functions: [Exponential; 12] = [
        ("cosh", Array::cosh),
        ("erfc", Array::erfc),
        ("exp", Array::exp),
        ("exp2", Array::exp2),
        ("expm1", Array::expm1),
        ("gelu", Array::gelu),
        ("gelu_exact", Array::gelu_exact),
        ("sigmoid", Array::sigmoid),
        ("silu", Array::silu),
        ("sinh", Array::sinh),
        ("softplus", Array::softplus),
        ("tanh", Array::tanh),
    ];
    // Arguments of every exponent, NaN among them, and those whose results are subnormal numbers or nearly infinite.
    let n = 1u32 << 16;
    let all = (0..n).map(|i| f32::from_bits(i * 65537));
    let singles: Vec<f32> = all.chain((0..n).map(|i| i as f32 * 0.005 - 160.0)).collect();
    let doubles: Vec<f64> = (0..n).map(|i| f64::from_bits(u64::from(i) * 0x1_0001_0001_0001)).collect();
    let doubles: Vec<f64> =
        doubles.into_iter().chain((0..n).map(|i| f64::from(i) * 0.035 - 1150.0)).collect();
    let plain = Runtime::builder().threads(1).simd(Simd::Scalar).build().unwrap();
    for (name, function) in functions {
        let single = || function(&Array::from_slice(&singles, [singles.len()])).to_vec::<f32>().unwrap();
        let double = || function(&Array::from_slice(&doubles, [doubles.len()])).to_vec::<f64>().unwrap();
        for ((x, got), want) in singles.iter().zip(single()).zip(plain.scope(single)) {
            assert_eq!(got.to_bits(), want.to_bits(), "{name} of {x:e}: {got:e}, not {want:e}");
        }
        for ((x, got), want) in doubles.iter().zip(double()).zip(plain.scope(double)) {
            assert_eq!(got.to_bits(), want.to_bits(), "{name} of {x:e}: {got:e}, not {want:e}");
        }
    }
}

#[test]
fn empty_and_scalar_operands_keep_their_shape() {
    for (name, function, ..) in FUNCTIONS {
        let empty = Array::zeros::<f32>([3, 0, 2]);
        assert_eq!(function(&empty).to_vec::<f32>().unwrap().len(), 0, "{name}");
        let scalar = function(&Array::scalar(0.5f64));
        assert_eq!(scalar.shape(), &Shape::scalar(), "{name}");
        assert!(scalar.check().is_ok(), "{name}");
    }
    let nothing = Array::zeros::<f32>([0, 3]);
    assert_eq!(nothing.logsumexp(0).to_vec::<f32>().unwrap(), [f32::NEG_INFINITY; 3]);
    assert_eq!(nothing.vector_norm(0).to_vec::<f32>().unwrap(), [0.0; 3]);
    assert_eq!(nothing.count_nonzero(0).to_vec::<i64>().unwrap(), [0; 3]);
    assert_eq!(nothing.cumulative_prod(0).size(), 0);
    assert_eq!(nothing.cumulative_sum_with(0, true).to_vec::<f32>().unwrap(), [0.0; 3]);
    assert_eq!(nothing.diff(0, 1).shape().dims(), [0, 3]);
}

#[test]
fn integers_become_doubles_where_a_function_needs_floats() {
    for x in [Array::from([1u8, 2]), Array::from([1i64, 2]), Array::from([true, true])] {
        assert_eq!(x.atan().dtype(), DType::F64);
        assert_eq!(x.atan2(&x).to_vec::<f64>().unwrap(), [std::f64::consts::FRAC_PI_4; 2]);
        assert_eq!(x.logsumexp(()).dtype(), DType::F64);
    }
    assert_eq!(Array::from([-3i8, 4]).relu().to_vec::<i8>().unwrap(), [0, 4]);
}

#[test]
fn predicates_see_signs_and_parts() {
    let x = Array::from([0.0f32, -0.0, f32::NAN, -f32::NAN, f32::NEG_INFINITY, 1.0]);
    assert_eq!(x.signbit().to_vec::<bool>().unwrap(), [false, true, false, true, true, false]);
    assert_eq!(x.isinf().to_vec::<bool>().unwrap(), [false, false, false, false, true, false]);
    assert_eq!(x.isfinite().to_vec::<bool>().unwrap(), [true, true, false, false, false, true]);
    let z = Array::from([
        Complex::new(1.0f64, f64::INFINITY),
        Complex::new(f64::NAN, 1.0),
        Complex::new(f64::MAX, f64::MAX),
    ]);
    assert_eq!(z.isinf().to_vec::<bool>().unwrap(), [true, false, false]);
    assert_eq!(z.isnan().to_vec::<bool>().unwrap(), [false, true, false]);
    assert_eq!(z.isfinite().to_vec::<bool>().unwrap(), [false, false, true]);
    let whole = Array::from([-1i32, 0, 7]);
    assert_eq!(whole.signbit().to_vec::<bool>().unwrap(), [true, false, false]);
    assert_eq!(whole.isinf().to_vec::<bool>().unwrap(), [false; 3]);
    assert_eq!(Array::from([3u8]).signbit().to_vec::<bool>().unwrap(), [false]);
    assert!(z.signbit().check().is_err());
    assert_eq!(x.isneginf().to_vec::<bool>().unwrap(), [false, false, false, false, true, false]);
    assert_eq!((-&x).isposinf().to_vec::<bool>().unwrap(), [false, false, false, false, true, false]);
    assert_eq!(whole.isposinf().to_vec::<bool>().unwrap(), [false; 3]);
    assert!(z.isposinf().check().is_err() && z.isneginf().check().is_err());
    assert_eq!(z.isreal().to_vec::<bool>().unwrap(), [false; 3]);
    assert_eq!(x.isreal().to_vec::<bool>().unwrap(), [true; 6]);
    assert_eq!(z.iscomplex().to_vec::<bool>().unwrap(), [true; 3]);
    assert_eq!(x.iscomplex().to_vec::<bool>().unwrap(), [false; 6]);
    let half = Array::from([f16::from_f32(-0.0), f16::NEG_INFINITY]);
    assert_eq!(half.signbit().to_vec::<bool>().unwrap(), [true, true]);
    assert_eq!(half.isinf().to_vec::<bool>().unwrap(), [false, true]);
    assert_eq!(whole.logical_xor(1).to_vec::<bool>().unwrap(), [false, true, false]);
    assert_eq!(whole.logical_and(0.5).to_vec::<bool>().unwrap(), [true, false, true]);
}

#[test]
fn neighbours_of_every_sixteen_bit_float_are_next_to_it() {
    // The neighbour in the bits: up for magnitudes that grow, down for those that shrink, across zero to the smallest.
    fn neighbour(bits: u16, up: bool, infinity: u16) -> u16 {
        let (size, negative) = (bits & 0x7fff, bits & 0x8000 != 0);
        match (size, up) {
            (size, _) if size > infinity => bits,
            (0, up) => {
                if up {
                    1
                } else {
                    0x8001
                }
            }
            (size, true) if !negative && size == infinity => bits,
            (size, false) if negative && size == infinity => bits,
            (_, up) => {
                if up != negative {
                    bits + 1
                } else {
                    bits - 1
                }
            }
        }
    }
    let bits: Vec<u16> = (0..=u16::MAX).collect();
    for (up, towards) in [(true, f64::INFINITY), (false, f64::NEG_INFINITY)] {
        let x = Array::from_vec(bits.iter().map(|&b| f16::from_bits(b)).collect(), [65536]);
        let got = x.nextafter(towards).to_vec::<f16>().unwrap();
        for (&b, g) in bits.iter().zip(got) {
            let want = f16::from_bits(neighbour(b, up, 0x7c00));
            assert!(g.to_bits() == want.to_bits() || (g.is_nan() && want.is_nan()), "{b:04x}: {g} {want}");
        }
        let x = Array::from_vec(bits.iter().map(|&b| bf16::from_bits(b)).collect(), [65536]);
        let got = x.nextafter(towards).to_vec::<bf16>().unwrap();
        for (&b, g) in bits.iter().zip(got) {
            let want = bf16::from_bits(neighbour(b, up, 0x7f80));
            assert!(g.to_bits() == want.to_bits() || (g.is_nan() && want.is_nan()), "{b:04x}: {g} {want}");
        }
    }
    let same = Array::from([bf16::ZERO]).nextafter(Array::from([bf16::NEG_ZERO])).to_vec::<bf16>().unwrap();
    assert_eq!(same[0].to_bits(), 0x8000);
}

#[test]
fn complex_arrays_go_through_the_same_methods() {
    let z = Array::from([Complex::new(3.0f64, -4.0), Complex::new(-1.0, 0.0)]);
    let root = z.sqrt().to_vec::<Complex<f64>>().unwrap();
    assert_eq!(root, [Complex::new(2.0, -1.0), Complex::new(0.0, 1.0)]);
    assert_eq!(z.sign().to_vec::<Complex<f64>>().unwrap()[1], Complex::new(-1.0, 0.0));
    let back = z.log().exp().to_vec::<Complex<f64>>().unwrap();
    assert!((back[0] - Complex::new(3.0, -4.0)).norm() < 1e-14);
    assert_eq!(z.vector_norm(()).item::<f64>().unwrap(), 26f64.sqrt());
    assert_eq!(z.vector_norm_with((), f64::INFINITY).item::<f64>().unwrap(), 5.0);
    // A tile with one huge angle among ordinary ones.
    let mut list = vec![Complex::new(0.0f32, 1.0); 5000];
    list[4321].im = f32::MAX;
    let turned = Array::from_vec(list, [5000]).exp().to_vec::<Complex<f32>>().unwrap();
    assert_eq!(turned[4321], Complex::new(0.853021, -0.5218765));
    assert_eq!(turned[0], turned[4999]);
}

/// Sum over the axes in `over` of an array of shape [4, 5, 6], by loops.
fn totals(values: &[f64], over: &[usize], each: impl Fn(f64) -> f64) -> Vec<f64> {
    let dims = [4, 5, 6];
    let kept: Vec<usize> = (0..3).filter(|a| !over.contains(a)).collect();
    let mut out = vec![0.0; kept.iter().map(|&a| dims[a]).product()];
    for (i, &v) in values.iter().enumerate() {
        let index = [i / 30, i / 6 % 5, i % 6];
        let at = kept.iter().fold(0, |at, &a| at * dims[a] + index[a]);
        out[at] += each(v);
    }
    out
}

#[test]
fn reductions_over_several_axes_agree_with_loops() {
    let values = Stream(2).list(120, -3.0, 3.0);
    let x = Array::from_vec(values.clone(), [4, 5, 6]);
    for axes in [vec![0i64], vec![1], vec![-1], vec![0, 2], vec![1, 2], vec![0, 1, 2]] {
        let over: Vec<usize> = axes.iter().map(|&a| if a < 0 { 2 } else { a as usize }).collect();
        let sums = totals(&values, &over, f64::exp);
        let close = |got: Array, want: &dyn Fn(f64) -> f64, from: &[f64], what: &str| {
            for (g, &w) in got.to_vec::<f64>().unwrap().iter().zip(from) {
                assert!((g - want(w)).abs() < 1e-12, "{what} over {axes:?}: {g}, not {}", want(w));
            }
        };
        close(x.logsumexp(axes.clone()), &f64::ln, &sums, "logsumexp");
        let squares = totals(&values, &over, |v| v * v);
        close(x.vector_norm(axes.clone()), &f64::sqrt, &squares, "norm");
        let cubes = totals(&values, &over, |v| v.abs().powi(3));
        close(x.vector_norm_with(axes.clone(), 3.0), &f64::cbrt, &cubes, "norm of order 3");
        let sizes = totals(&values, &over, f64::abs);
        close(x.vector_norm_with(axes.clone(), 1.0), &|v| v, &sizes, "norm of order 1");
        let shape = x.logsumexp(keepdims(axes.clone())).shape().clone();
        let want: Vec<usize> =
            [4, 5, 6].iter().enumerate().map(|(a, &n)| if over.contains(&a) { 1 } else { n }).collect();
        assert_eq!(shape.dims(), want);
    }
}

#[test]
fn infinite_terms_do_not_spoil_a_logarithm_of_a_sum() {
    let inf = f64::INFINITY;
    let rows = Array::from([[-inf, -inf], [inf, 1.0], [-inf, 2.0], [f64::NAN, inf], [1e300, 1e300]]);
    let got = rows.logsumexp(1).to_vec::<f64>().unwrap();
    assert_eq!(got[..3], [-inf, inf, 2.0]);
    assert!(got[3].is_nan());
    assert_eq!(got[4], 1e300);
}

#[test]
fn matrix_norms_agree_with_their_definitions() {
    let x = Array::from([[[1.0f32, -2.0, 3.0], [4.0, 5.0, -6.0]], [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]]);
    let norm = |order| x.matrix_norm(order, false).to_vec::<f32>().unwrap();
    assert_eq!(norm(MatrixNorm::One), [9.0, 1.0]);
    assert_eq!(norm(MatrixNorm::LeastOne), [5.0, 1.0]);
    assert_eq!(norm(MatrixNorm::Infinity), [15.0, 3.0]);
    assert_eq!(norm(MatrixNorm::LeastInfinity), [6.0, 0.0]);
    assert_eq!(norm(MatrixNorm::Frobenius), [91f32.sqrt(), 3f32.sqrt()]);
    assert_eq!(x.matrix_norm(MatrixNorm::One, true).shape().dims(), [2, 1, 1]);
    assert_eq!(
        Array::from([[3i32, 4]]).matrix_norm(MatrixNorm::Frobenius, false).item::<f64>().unwrap(),
        5.0
    );
    let error = Array::from([1.0f32]).matrix_norm(MatrixNorm::One, false).check().unwrap_err();
    assert!(error.to_string().contains("vector_norm"), "{error}");
    assert!(x.vector_norm_with((), f64::NAN).check().is_err());
}

#[test]
fn sixteen_bit_sums_and_norms_accumulate_in_single_precision() {
    // 4096 ones: in f16 the running sum would stop at 2048, and the sum of squares overflow.
    let x = Array::full([4096], f16::ONE);
    assert_eq!(x.vector_norm(()).item::<f16>().unwrap(), f16::from_f32(64.0));
    let big = Array::full([4], f16::from_f32(300.0));
    assert_eq!(big.vector_norm(()).item::<f16>().unwrap(), f16::from_f32(600.0));
    assert_eq!(x.logsumexp(()).item::<f16>().unwrap(), f16::from_f32((4096.0f32).ln() + 1.0));
    assert_eq!(x.cumulative_sum(0).index(4095).item::<f16>().unwrap(), f16::from_f32(4096.0));
}

#[test]
fn running_products_and_differences_wrap_and_shrink() {
    let x = Array::from([[1i8, 2, 3], [4, 5, 6]]);
    assert_eq!(x.cumulative_prod(1).to_vec::<i64>().unwrap(), [1, 2, 6, 4, 20, 120]);
    assert_eq!(x.cumulative_prod(-2).to_vec::<i64>().unwrap(), [1, 2, 3, 4, 10, 18]);
    assert_eq!(x.cumulative_prod_with(1, true).shape().dims(), [2, 4]);
    assert_eq!(x.flip(1).cumulative_sum_with(1, true).to_vec::<i64>().unwrap(), [0, 3, 5, 6, 0, 6, 11, 15]);
    let ends = Array::from([i8::MAX, i8::MIN]);
    assert_eq!(ends.diff(0, 1).to_vec::<i8>().unwrap(), [1]);
    assert_eq!(x.diff(-1, 2).to_vec::<i8>().unwrap(), [0, 0]);
    assert_eq!(x.diff(0, 0).to_vec::<i8>().unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(x.diff(1, 9).shape().dims(), [2, 0]);
    assert_eq!(Array::from([true, true, false]).diff(0, 1).to_vec::<bool>().unwrap(), [false, true]);
    assert!(x.diff(2, 1).check().is_err() && x.cumulative_prod(5).check().is_err());
    let padded = x.diff_with(1, 1, Some(&Array::from([[0i32], [0]])), Some(&Array::from([[0.5f32], [0.5]])));
    assert_eq!(padded.to_vec::<f64>().unwrap(), [1.0, 1.0, 1.0, -2.5, 4.0, 1.0, 1.0, -5.5]);
}

//! Attention against the definition in `f64`, over options, shapes and dtypes; and what is refused.

#![allow(clippy::unwrap_used)]

use crossover_array::{Array, DType, Key, bf16, f16, keepdims, random, s};
use crossover_nn::{Attention, attention};

/// A call and its options, as plain numbers.
#[derive(Clone, Default)]
struct Case {
    q: [usize; 4],
    k: [usize; 4],
    scale: Option<f64>,
    causal: bool,
    window: Option<(usize, usize)>,
    lengths: Option<Vec<i64>>,
    /// Shapes of what is added and of a mask.
    bias: Option<[usize; 4]>,
    mask: Option<[usize; 4]>,
    block: Option<usize>,
}

impl Case {
    fn new(q: [usize; 4], heads: usize, keys: usize) -> Case {
        Case { q, k: [q[0], heads, keys, q[3]], ..Case::default() }
    }

    fn options(&self, bias: Option<&Array>, mask: Option<&Array>) -> Attention {
        let mut out = Attention::new();
        if let Some(scale) = self.scale {
            out = out.scale(scale);
        }
        if self.causal {
            out = out.causal();
        }
        if let Some((before, behind)) = self.window {
            out = out.window(before, behind);
        }
        if let Some(lengths) = &self.lengths {
            out = out.lengths(lengths);
        }
        if let Some(block) = self.block {
            out = out.block_size(block);
        }
        if let Some(bias) = bias {
            out = out.bias(bias);
        }
        if let Some(mask) = mask {
            out = out.mask(mask);
        }
        out
    }

    fn sees(&self, batch: usize, query: usize, key: usize) -> bool {
        let place = query as i64 + self.k[2] as i64 - self.q[2] as i64;
        let key = key as i64;
        let (before, behind) = self.window.map_or((1 << 40, 1 << 40), |(a, b)| (a as i64, b as i64));
        let behind = if self.causal { 0 } else { behind };
        key >= place - before
            && key <= place + behind
            && self.lengths.as_ref().is_none_or(|lengths| key < lengths[batch])
    }
}

fn at(shape: &[usize; 4], index: [usize; 4]) -> usize {
    index.iter().zip(shape).fold(0, |sum, (&i, &n)| sum * n + if n == 1 { 0 } else { i })
}

/// The definition: values and log-sum-exps.
fn attention_reference(
    case: &Case,
    [q, k, v]: [&[f64]; 3],
    bias: Option<&[f64]>,
    mask: Option<&[bool]>,
) -> (Vec<f64>, Vec<f64>) {
    let ([batches, heads, queries, size], keys) = (case.q, case.k[2]);
    let scale = case.scale.unwrap_or(1.0 / (size as f64).sqrt());
    let (mut out, mut logs) = (Vec::new(), Vec::new());
    for (b, h, i) in itertools(batches, heads, queries) {
        let shared = h / (heads / case.k[1]);
        let row = |x: &[f64], shape: &[usize; 4], h: usize, i: usize| {
            let from = at(shape, [b, h, i, 0]);
            x[from..from + size].to_vec()
        };
        let query = row(q, &case.q, h, i);
        let score = |j: usize| {
            let hidden = mask.is_some_and(|mask| !mask[at(&case.mask.unwrap(), [b, h, i, j])]);
            if hidden || !case.sees(b, i, j) {
                return f64::NEG_INFINITY;
            }
            let key = row(k, &case.k, shared, j);
            let product: f64 = query.iter().zip(&key).map(|(a, b)| a * b).sum();
            product * scale + bias.map_or(0.0, |bias| bias[at(&case.bias.unwrap(), [b, h, i, j])])
        };
        let scores: Vec<f64> = (0..keys).map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut values = vec![0.0; size];
        let mut sum = 0.0;
        if largest > f64::NEG_INFINITY {
            for (j, score) in scores.iter().enumerate() {
                let weight = (score - largest).exp();
                sum += weight;
                let value = row(v, &case.k, shared, j);
                values.iter_mut().zip(&value).for_each(|(out, v)| *out += weight * v);
            }
            values.iter_mut().for_each(|x| *x /= sum);
        }
        out.extend(values);
        logs.push(largest + sum.ln());
    }
    (out, logs)
}

fn itertools(batches: usize, heads: usize, queries: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..batches).flat_map(move |b| (0..heads).flat_map(move |h| (0..queries).map(move |i| (b, h, i))))
}

fn wide(x: &Array) -> Vec<f64> {
    x.astype(DType::F64).to_vec::<f64>().unwrap()
}

/// Largest and root-mean-square differences relative to those of what is wanted.
fn apart(got: &[f64], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    assert!(got.iter().all(|x| x.is_finite()), "every number is finite");
    norm(&mut got.iter().zip(want).map(|(a, b)| a - b)) / norm(&mut want.iter().copied()).max(1e-30)
}

fn check(name: &str, case: &Case, dtype: DType, bound: f64) {
    let make = |seed, shape: [usize; 4]| random::normal::<f32>(&Key::new(seed), shape).astype(dtype);
    let (q, k, v) = (make(1, case.q), make(2, case.k), make(3, case.k));
    let bias = case.bias.map(|shape| random::normal::<f32>(&Key::new(4), shape) * 2.0);
    let mask = case.mask.map(|shape| random::uniform::<f32>(&Key::new(5), shape).less(0.6f32));
    let options = case.options(bias.as_ref(), mask.as_ref());
    let (bias, mask) = (bias.as_ref().map(wide), mask.as_ref().map(|m| m.to_vec::<bool>().unwrap()));
    let (want, logs) =
        attention_reference(case, [&wide(&q), &wide(&k), &wide(&v)], bias.as_deref(), mask.as_deref());
    let out = options.call(&q, &k, &v);
    assert_eq!((out.dtype(), out.shape().dims()), (dtype, &case.q[..]), "{name}");
    let error = apart(&wide(&out), &want);
    assert!(error < bound, "{name} {dtype}: {error:e}");
    // Rows as projections leave them are read where they are, and give the same bits.
    let rows = |x: &Array| x.swap_axes(1, 2).expand_dims(2);
    let pairs = Array::concat(&[&rows(&k), &rows(&v)], 2);
    let beside = options.call_pairs(&q.swap_axes(1, 2), &pairs).swap_axes(1, 2);
    assert_eq!(wide(&beside), wide(&out), "{name} {dtype}: of pairs");
    if case.q == case.k {
        let joined = options.call_joined(&Array::concat(&[&rows(&q), &pairs], 2));
        assert_eq!(wide(&joined.swap_axes(1, 2)), wide(&out), "{name} {dtype}: of rows that are joined");
    }
    let (again, lse) = options.call_with_lse(&q, &k, &v);
    assert_eq!(again.dtype(), dtype);
    assert!(apart(&wide(&again), &want) < bound, "{name} {dtype} with log-sum-exps");
    for (got, want) in lse.to_vec::<f32>().unwrap().into_iter().zip(logs) {
        let same = f64::from(got) == want || (f64::from(got) - want).abs() < 1e-4;
        assert!(same, "{name} {dtype}: log-sum-exp {got} for {want}");
    }
}

fn cases() -> Vec<(&'static str, Case)> {
    let base = || Case::new([2, 4, 37, 24], 4, 150);
    vec![
        ("plain", base()),
        ("one key", Case::new([1, 1, 3, 8], 1, 1)),
        ("many blocks", Case::new([1, 2, 300, 16], 2, 290)),
        ("many pieces", Case { causal: true, ..Case::new([1, 1, 700, 40], 1, 650) }),
        ("odd head", Case::new([1, 2, 9, 13], 2, 40)),
        ("shared heads", Case::new([2, 6, 20, 32], 2, 33)),
        ("one head of keys", Case::new([1, 5, 20, 64], 1, 70)),
        ("causal", Case { causal: true, ..Case::new([1, 2, 140, 16], 2, 140) }),
        ("causal after a prefix", Case { causal: true, ..Case::new([1, 2, 5, 16], 2, 140) }),
        ("causal, more queries than keys", Case { causal: true, ..Case::new([1, 2, 50, 16], 2, 20) }),
        ("window", Case { window: Some((7, 3)), ..Case::new([1, 2, 150, 16], 2, 150) }),
        (
            "causal window",
            Case { window: Some((40, 99)), causal: true, ..Case::new([1, 2, 150, 16], 2, 150) },
        ),
        ("lengths", Case { lengths: Some(vec![17, 0]), ..base() }),
        ("bias", Case { bias: Some([2, 4, 37, 150]), ..base() }),
        ("bias of heads", Case { bias: Some([1, 4, 1, 150]), ..base() }),
        ("mask", Case { mask: Some([2, 1, 37, 150]), ..base() }),
        ("bias and mask", Case { bias: Some([1, 1, 37, 150]), mask: Some([1, 1, 37, 150]), ..base() }),
        ("negative scale", Case { scale: Some(-0.7), ..base() }),
        ("no scale", Case { scale: Some(0.0), ..base() }),
        (
            "a scale below the smallest f32",
            Case { scale: Some(1e-60), mask: Some([2, 1, 37, 150]), ..base() },
        ),
        ("small blocks", Case { block: Some(16), causal: true, ..Case::new([1, 1, 90, 8], 1, 90) }),
    ]
}

#[test]
fn agrees_with_the_definition() {
    for (name, case) in cases() {
        check(name, &case, DType::F32, 2e-6);
        check(name, &case, DType::BF16, 4e-3);
    }
    for (name, case) in cases().into_iter().step_by(4) {
        check(name, &case, DType::F16, 5e-4);
    }
}

#[test]
fn large_scores_do_not_overflow_and_queries_that_see_nothing_get_zeros() {
    let [q, k, v] = [1, 2, 3].map(|seed| random::normal::<f32>(&Key::new(seed), [1, 2, 40, 16]));
    let out = attention(&(&q * 1e4), &(&k * 1e4), &v).to_vec::<f32>().unwrap();
    assert!(out.iter().all(|x| x.is_finite()));
    let hidden = Attention::new().mask(&Array::zeros::<bool>([40, 40]));
    let (out, lse) = hidden.call_with_lse(&q, &k, &v);
    assert!(out.to_vec::<f32>().unwrap().iter().all(|&x| x == 0.0));
    assert!(lse.to_vec::<f32>().unwrap().iter().all(|&x| x == f32::NEG_INFINITY));
    let rows = Array::arange(40).expand_dims(1).greater(0i64).broadcast_to([40, 40]);
    let out = Attention::new().mask(&rows).call(&q, &k, &v);
    let first = out.slice(s![.., .., 0]).to_vec::<f32>().unwrap();
    assert!(first.iter().all(|&x| x == 0.0));
    assert!(out.slice(s![.., .., 1]).abs().min(()).item::<f32>().unwrap() > 0.0);
}

#[test]
fn a_nan_stays_one() {
    let mut numbers = vec![0.5f32; 2 * 16];
    numbers[0] = f32::NAN;
    let (q, k) = (Array::from_vec(numbers, [1, 1, 2, 16]), Array::ones::<f32>([1, 1, 5, 16]));
    let out = attention(&q, &k, &k).to_vec::<f32>().unwrap();
    assert!(out[..16].iter().all(|x| x.is_nan()) && out[16..].iter().all(|&x| (x - 1.0).abs() < 1e-6));
}

#[test]
fn bits_do_not_depend_on_threads() {
    let [q, k, v] = [1, 2, 3].map(|seed| random::normal::<f32>(&Key::new(seed), [2, 3, 300, 16]));
    let run = |threads| {
        let runtime = crossover_array::Runtime::builder().threads(threads).build().unwrap();
        runtime.scope(|| attention(&q, &k, &v).to_vec::<f32>().unwrap())
    };
    let one = run(1);
    assert!(one.iter().zip(run(2)).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
fn bits_do_not_depend_on_the_queries_beside() {
    let q = random::normal::<f32>(&Key::new(1), [1, 2, 1100, 24]);
    let [k, v] = [2, 3].map(|seed| random::normal::<f32>(&Key::new(seed), [1, 2, 333, 24]));
    let whole = attention(&q, &k, &v);
    for (from, to) in [(0, 1), (513, 640), (1000, 1100)] {
        let part = attention(&q.slice(s![.., .., from..to]), &k, &v).to_vec::<f32>().unwrap();
        let want = whole.slice(s![.., .., from..to]).to_vec::<f32>().unwrap();
        assert!(part.iter().zip(want).all(|(a, b)| a.to_bits() == b.to_bits()), "{from}..{to}");
    }
    // A window that moves on: blocks of keys are the same for queries of every piece.
    let window = Attention::new().window(40, 0);
    let [k, v] = [4, 5].map(|seed| random::normal::<f32>(&Key::new(seed), [1, 2, 1100, 24]));
    let whole = window.call(&q, &k, &v).slice(s![.., .., 700..]).to_vec::<f32>().unwrap();
    let part = window.call(&q.slice(s![.., .., 700..]), &k, &v).to_vec::<f32>().unwrap();
    assert!(part.iter().zip(whole).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
fn fewer_axes_and_views_will_do() {
    let x = random::normal::<f32>(&Key::new(1), [3, 20, 2, 16]);
    let [q, k, v] = [0, 1, 2].map(|i| x.index(i).swap_axes(0, 1));
    let out = attention(&q, &k, &v);
    assert_eq!(out.shape().dims(), [2, 20, 16]);
    let whole = attention(&q.expand_dims(0), &k.expand_dims(0), &v.expand_dims(0));
    assert_eq!(out.to_vec::<f32>().unwrap(), whole.to_vec::<f32>().unwrap());
    let one = attention(&q.index(0), &k.index(0), &v.index(0));
    assert_eq!(one.to_vec::<f32>().unwrap(), out.index(0).to_vec::<f32>().unwrap());
}

#[test]
fn weights_are_those_of_the_result() {
    for (name, case) in cases() {
        let make = |seed, shape: [usize; 4]| random::normal::<f32>(&Key::new(seed), shape);
        let (q, k, v) = (make(1, case.q), make(2, case.k), make(3, case.k));
        let bias = case.bias.map(|shape| random::normal::<f32>(&Key::new(4), shape));
        let mask = case.mask.map(|shape| random::uniform::<f32>(&Key::new(5), shape).less(0.6f32));
        let options = case.options(bias.as_ref(), mask.as_ref());
        let weights = options.weights(&q, &k);
        let sums = weights.sum(keepdims(-1)).to_vec::<f32>().unwrap();
        assert!(sums.iter().all(|&x| x == 0.0 || (x - 1.0).abs() < 1e-5), "{name}");
        let repeated = v.repeat(case.q[1] / case.k[1], Some(1));
        let apart =
            (weights.matmul(&repeated) - options.call(&q, &k, &v)).abs().max(()).item::<f32>().unwrap();
        assert!(apart < 1e-4, "{name}: {apart}");
    }
}

#[test]
fn what_is_wrong_names_the_argument() {
    let x = Array::ones::<f32>([2, 4, 10, 16]);
    let y = Array::ones::<f32>([2, 3, 10, 16]);
    let plain = Attention::new;
    for (out, message) in [
        (attention(&x.index(0).index(0).index(0), &x, &x), "attention: k has the shape [2, 4, 10, 16]"),
        (attention(&x, &y, &y), "attention: k has 3 heads; their number must divide the 4 of q"),
        (attention(&x, &x, &y), "attention: v has the shape [2, 3, 10, 16]"),
        (attention(&x.astype(DType::F64), &x, &x), "attention: q is f64; it takes f16, bf16 and f32"),
        (attention(&x, &x.astype(DType::F16), &x), "attention: k is f16 and q is f32"),
        (plain().lengths(&[3, -1]).call(&x, &x, &x), "attention: lengths has -1; it takes 0 to the 10 keys"),
        (plain().lengths(&[3]).call(&x, &x, &x), "attention: lengths has 1 numbers"),
        (plain().block_size(48).call(&x, &x, &x), "attention: block_size is 48"),
        (plain().scale(f64::NAN).call(&x, &x, &x), "attention: scale is NaN"),
        (
            plain().scale(1e39).call(&x, &x, &x),
            "attention: scale is 1e39; it must be finite, and at most 2.4e38",
        ),
        (plain().scale(-2.4e38).call(&x, &x, &x), "attention: scale is -2.4e38; it must be finite"),
        (plain().bias(&y).call(&x, &x, &x), "attention: bias has the shape [2, 3, 10, 16]"),
        (plain().mask(&x).call(&x, &x, &x), "attention: mask is f32; it takes bool"),
        (plain().weights(&x, &y), "attention_weights: k has 3 heads"),
    ] {
        let error = out.check().unwrap_err();
        assert!(error.to_string().starts_with(message), "{error}");
        assert_eq!(error.location().file(), file!());
    }
    let failed = Array::refused("earlier", "went wrong");
    assert!(attention(&failed, &x, &x).check().unwrap_err().to_string().starts_with("earlier: went wrong"));
}

#[test]
fn sixteen_bit_elements_are_rounded_once() {
    let one = Array::from_vec(vec![f16::from_f32(0.1); 16], [1, 1, 1, 16]);
    assert_eq!(attention(&one, &one, &one).to_vec::<f16>().unwrap(), vec![f16::from_f32(0.1); 16]);
    let one = one.astype(DType::BF16);
    let want = one.to_vec::<bf16>().unwrap();
    assert_eq!(attention(&one, &one, &one).to_vec::<bf16>().unwrap(), want);
}

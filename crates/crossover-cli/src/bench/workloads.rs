//! The catalogue of `crossover bench`: kinds of work that can have any size.
//!
//! Each is array code as users write it, in the dtype of its operands; its error is measured by doing the same in float64.

use std::collections::BTreeMap;

use crossover::{
    Array, Complex, DType, fft,
    hrr::{Model, Space},
    keepdims,
    nn::{self, Module, TransformerLayer},
    random::{self, Key},
};

use crate::expressions;

/// Numbers that make a size of a workload.
pub type Params = BTreeMap<String, u64>;

/// An expression of operands.
pub type Expression = fn(&Sizes, &[Array], u64) -> Array;

/// A kind of work.
pub struct Workload {
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    /// Its numbers, with what they are unless somebody says otherwise.
    pub params: &'static [(&'static str, u64)],
    /// Random operands.
    pub operands: fn(&Sizes) -> Vec<Array>,
    /// The expression; the last argument counts calls, so that random numbers are new each time.
    pub work: Expression,
    /// Whether float64 says how wrong the result is.
    pub has_wider: bool,
}

/// The numbers of one size, complete.
pub struct Sizes(Params);

impl Sizes {
    fn get(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or(1) as usize
    }
}

impl Workload {
    /// The numbers of a size: what is not given is as usual.
    pub fn sizes(&self, given: &Params) -> Sizes {
        let usual = self.params.iter().map(|(name, value)| ((*name).to_owned(), *value));
        let mut all: Params = usual.collect();
        all.extend(given.iter().map(|(name, value)| (name.clone(), *value)));
        Sizes(all)
    }

    /// All numbers, those given and the usual ones.
    pub fn params(&self, given: &Params) -> Params {
        self.sizes(given).0
    }
}

/// The workload of a name.
pub fn find(name: &str) -> Option<&'static Workload> {
    ALL.iter().find(|work| work.name == name)
}

fn normal(seed: u64, shape: &[usize]) -> Array {
    random::normal::<f32>(&Key::new(seed), shape.to_vec())
}

fn uniform(seed: u64, shape: &[usize]) -> Array {
    random::uniform::<f32>(&Key::new(seed), shape.to_vec())
}

/// softmax(q·kᵀ / √d)·v, with the whole matrix of scores in between.
pub fn attention(q: &Array, k: &Array, v: &Array) -> Array {
    let d = q.shape().dims().last().copied().unwrap_or(1);
    let scores = q.matmul(&k.swap_axes(-1, -2)) * (1.0 / (d as f64).sqrt());
    scores.softmax(-1).matmul(v)
}

/// A transformer layer with its parameters as operands. Attention has no float64, so nothing wider says how wrong it is.
fn transformer(s: &Sizes, x: &[Array]) -> Array {
    if x[0].dtype() == DType::F64 {
        let narrow: Vec<Array> = x.iter().map(|array| array.astype(DType::F32)).collect();
        return transformer(s, &narrow).astype(DType::F64);
    }
    let mut layer = TransformerLayer::new(&Key::new(2), s.get("d"), s.get("heads"), 4 * s.get("d"));
    let mut given = x[1..].iter();
    layer.each_mut(&mut |_, array| {
        if let Some(x) = given.next() {
            *array = x.clone();
        }
    });
    layer.forward(&x[0])
}

/// Binding of every pair of rows, one kernel. In float64, which says how wrong that is, and beyond the 2²⁴ elements of a space it is spelled out.
fn bind(a: &Array, b: &Array) -> Array {
    let space = space(a).and_then(|space| space.bind(a, b).ok());
    space.unwrap_or_else(|| bind_spelled(a, b))
}

/// Binding of every pair of rows, and what undoes it up to noise.
fn bind_unbind(a: &Array, b: &Array) -> Array {
    let found = space(a).and_then(|space| space.unbind(&space.bind(a, b).ok()?, a).ok());
    found.unwrap_or_else(|| bind_unbind_spelled(a, b))
}

/// The sum of all rows, of length 1.
fn superpose(x: &Array) -> Array {
    let sum = space(x).and_then(|space| space.superpose(x).ok());
    sum.unwrap_or_else(|| superpose_spelled(x))
}

/// The space of rows of `f32`.
fn space(x: &Array) -> Option<Space> {
    let d = x.shape().dims().last().copied()?;
    (x.dtype() == DType::F32).then(|| Space::new(Model::Hrr, d).ok()).flatten()
}

fn superpose_spelled(x: &Array) -> Array {
    let total = x.sum(0);
    &total / total.square().sum(keepdims(-1)).sqrt()
}

/// Circular convolution of every pair of rows, by way of the transform.
fn bind_spelled(a: &Array, b: &Array) -> Array {
    // The length, because that of a spectrum does not say whether it is odd.
    let d = a.shape().dims().last().copied().unwrap_or(1);
    fft::irfft_with(&(fft::rfft(a) * fft::rfft(b)), fft::Options::new().length(d))
}

/// The same by way of transforms: undone by the correlation.
fn bind_unbind_spelled(a: &Array, b: &Array) -> Array {
    let d = a.shape().dims().last().copied().unwrap_or(1);
    fft::irfft_with(&(fft::rfft(&bind_spelled(a, b)) * fft::rfft(a).conj()), fft::Options::new().length(d))
}

pub const ALL: &[Workload] = &[
    Workload {
        name: "add",
        about: "a + b",
        params: &[("n", 1_000_000)],
        operands: |s| vec![normal(1, &[s.get("n")]), normal(2, &[s.get("n")])],
        work: |_, x, _| &x[0] + &x[1],
        has_wider: true,
    },
    Workload {
        name: "gelu",
        about: "GELU, tanh form",
        params: &[("batch", 1024), ("d", 1024)],
        operands: |s| vec![normal(1, &[s.get("batch"), s.get("d")])],
        work: |_, x, _| x[0].gelu(),
        has_wider: true,
    },
    Workload {
        name: "expression",
        about: "a·b + √a − b/2",
        params: &[("n", 4_000_000)],
        operands: |s| vec![uniform(1, &[s.get("n")]), uniform(2, &[s.get("n")])],
        work: |_, x, _| expressions::expression(&x[0], &x[1]),
        has_wider: true,
    },
    Workload {
        name: "chain",
        about: "ten operations that depend on each other",
        params: &[("n", 1_000_000)],
        operands: |s| (1..=3).map(|seed| uniform(seed, &[s.get("n")])).collect(),
        work: |_, x, _| expressions::ten_dependent(&x[0], &x[1], &x[2]),
        has_wider: true,
    },
    Workload {
        name: "sum",
        about: "the sum of all",
        params: &[("n", 4_000_000)],
        operands: |s| vec![uniform(1, &[s.get("n")])],
        work: |_, x, _| x[0].sum(()),
        has_wider: true,
    },
    Workload {
        name: "column_mean",
        about: "the mean of every column",
        params: &[("batch", 4096), ("d", 512)],
        operands: |s| vec![uniform(1, &[s.get("batch"), s.get("d")])],
        work: |_, x, _| x[0].mean(0),
        has_wider: true,
    },
    Workload {
        name: "cumulative_sum",
        about: "running sums",
        params: &[("n", 1_000_000)],
        operands: |s| vec![uniform(1, &[s.get("n")])],
        work: |_, x, _| x[0].cumulative_sum(0),
        has_wider: true,
    },
    Workload {
        name: "layer_norm",
        about: "layer norm of rows, scaled and shifted",
        params: &[("batch", 1024), ("d", 768)],
        operands: |s| {
            let d = s.get("d");
            vec![normal(1, &[s.get("batch"), d]), normal(2, &[d]), normal(3, &[d])]
        },
        work: |_, x, _| expressions::layer_norm(&x[0], &x[1], &x[2]),
        has_wider: true,
    },
    Workload {
        name: "softmax",
        about: "softmax of rows",
        params: &[("batch", 1024), ("d", 1024)],
        operands: |s| vec![normal(1, &[s.get("batch"), s.get("d")])],
        work: |_, x, _| expressions::softmax(&x[0]),
        has_wider: true,
    },
    Workload {
        name: "matmul",
        about: "product of two square matrices",
        params: &[("n", 512)],
        operands: |s| [1, 2].map(|seed| normal(seed, &[s.get("n"), s.get("n")])).into(),
        work: |_, x, _| x[0].matmul(&x[1]),
        has_wider: true,
    },
    Workload {
        name: "batch_matmul",
        about: "products of many pairs of matrices at once",
        params: &[("batch", 10), ("n", 256)],
        operands: |s| [1, 2].map(|seed| normal(seed, &[s.get("batch"), s.get("n"), s.get("n")])).into(),
        work: |_, x, _| x[0].matmul(&x[1]),
        has_wider: true,
    },
    Workload {
        name: "gram_f64",
        about: "x·xᵀ in float64",
        params: &[("n", 512)],
        operands: |s| vec![random::uniform::<f64>(&Key::new(1), [s.get("n"), s.get("n")])],
        work: |_, x, _| x[0].matmul(&x[0].t()),
        has_wider: false,
    },
    Workload {
        name: "linear_gelu",
        about: "GELU of a product and a bias",
        params: &[("batch", 1024), ("d", 512), ("out", 768)],
        operands: |s| {
            let (d, out) = (s.get("d"), s.get("out"));
            vec![normal(1, &[s.get("batch"), d]), normal(2, &[d, out]), normal(3, &[out])]
        },
        work: |_, x, _| (x[0].matmul(&x[1]) + &x[2]).gelu(),
        has_wider: true,
    },
    Workload {
        name: "attention",
        about: "softmax(q·kᵀ)·v, with all scores in memory",
        params: &[("batch", 1), ("heads", 8), ("n", 256), ("d", 64)],
        operands: |s| {
            let shape = [s.get("batch"), s.get("heads"), s.get("n"), s.get("d")];
            [1, 2, 3].map(|seed| normal(seed, &shape)).into()
        },
        work: |_, x, _| attention(&x[0], &x[1], &x[2]),
        has_wider: true,
    },
    Workload {
        name: "flash_attention",
        about: "the same as one kernel, without scores in memory",
        params: &[("batch", 1), ("heads", 12), ("n", 512), ("d", 64)],
        operands: |s| {
            let shape = [s.get("batch"), s.get("heads"), s.get("n"), s.get("d")];
            [1, 2, 3].map(|seed| normal(seed, &shape)).into()
        },
        work: |_, x, _| match x[0].dtype() {
            // The kernel has no float64; what says how wrong it is spells it out.
            DType::F64 => attention(&x[0], &x[1], &x[2]),
            _ => nn::attention(&x[0], &x[1], &x[2]),
        },
        has_wider: true,
    },
    Workload {
        name: "transformer_layer",
        about: "attention and feed-forward with norms before each",
        params: &[("batch", 4), ("n", 128), ("d", 768), ("heads", 12)],
        operands: |s| {
            let d = s.get("d");
            let mut out = vec![normal(1, &[s.get("batch"), s.get("n"), d])];
            let layer = TransformerLayer::new(&Key::new(2), d, s.get("heads"), 4 * d);
            out.extend(layer.parameters().into_iter().map(|(_, array)| array));
            out
        },
        work: |s, x, _| transformer(s, x),
        has_wider: false,
    },
    Workload {
        name: "fft",
        about: "complex transform of rows",
        params: &[("batch", 512), ("d", 1024)],
        operands: |s| {
            let shape = [s.get("batch"), s.get("d")];
            vec![normal(1, &shape) + normal(2, &shape) * Complex::new(0.0f32, 1.0)]
        },
        work: |_, x, _| fft::fft(&x[0]),
        has_wider: true,
    },
    Workload {
        name: "sort",
        about: "ascending order",
        params: &[("n", 1_000_000)],
        operands: |s| vec![uniform(1, &[s.get("n")])],
        work: |_, x, _| x[0].sort(0),
        has_wider: true,
    },
    Workload {
        name: "lookup",
        about: "rows of a table",
        params: &[("vocabulary", 50_000), ("d", 256), ("batch", 8192)],
        operands: |s| {
            let vocabulary = s.get("vocabulary");
            let ids = random::integers::<i64>(&Key::new(2), [s.get("batch")], 0..vocabulary as i64);
            vec![normal(1, &[vocabulary, s.get("d")]), ids]
        },
        work: |_, x, _| x[0].take(&x[1], 0),
        has_wider: true,
    },
    Workload {
        name: "random_pi",
        about: "π from random points",
        params: &[("n", 4_000_000)],
        operands: |_| Vec::new(),
        work: |s, _, round| expressions::pi(&Key::new(2 * round), &Key::new(2 * round + 1), s.get("n")),
        has_wider: false,
    },
    Workload {
        name: "xor",
        about: "a ^ b of bytes",
        params: &[("n", 16_000_000)],
        operands: |s| [1, 2].map(|seed| random::integers::<u8>(&Key::new(seed), [s.get("n")], ..)).into(),
        work: |_, x, _| &x[0] ^ &x[1],
        has_wider: false,
    },
    Workload {
        name: "tiny",
        about: "ten operations on five numbers",
        params: &[("n", 5)],
        operands: |s| (1..=3).map(|seed| uniform(seed, &[s.get("n")])).collect(),
        work: |_, x, _| expressions::ten_dependent(&x[0], &x[1], &x[2]),
        has_wider: true,
    },
    Workload {
        name: "sinusoid",
        about: "sinusoidal encoding of positions",
        params: &[("batch", 10_000), ("d", 256)],
        operands: |s| {
            // Never in host memory all at once: a grid may ask for any size.
            let (half, count) = (s.get("d") / 2, s.get("batch"));
            let step = 10_000f64.ln() / half.max(1) as f64;
            let exponents = Array::arange(half as i64).astype(DType::F64) * -step;
            vec![
                Array::arange(count as i64).astype(DType::F32).reshape([count, 1]),
                exponents.exp().astype(DType::F32).reshape([1, half]),
            ]
        },
        work: |_, x, _| {
            let angles = &x[0] * &x[1];
            Array::concat(&[&angles.sin(), &angles.cos()], 1)
        },
        has_wider: true,
    },
    Workload {
        name: "bind",
        about: "holographic binding: circular convolution of pairs",
        params: &[("batch", 100), ("d", 512)],
        operands: |s| [1, 2].map(|seed| normal(seed, &[s.get("batch"), s.get("d")])).into(),
        work: |_, x, _| bind(&x[0], &x[1]),
        has_wider: true,
    },
    Workload {
        name: "bind_unbind",
        about: "binding of pairs, and unbinding by the first of each",
        params: &[("batch", 1), ("d", 512)],
        operands: |s| [1, 2].map(|seed| normal(seed, &[s.get("batch"), s.get("d")])).into(),
        work: |_, x, _| bind_unbind(&x[0], &x[1]),
        has_wider: true,
    },
    Workload {
        name: "superpose",
        about: "the sum of vectors, of length 1",
        params: &[("batch", 1000), ("d", 512)],
        operands: |s| vec![normal(1, &[s.get("batch"), s.get("d")])],
        work: |_, x, _| superpose(&x[0]),
        has_wider: true,
    },
];

/// The same in array operations only: what one of our operations does at once is spelled out, as users of other libraries do.
pub fn spelled(work: &Workload) -> Expression {
    match work.name {
        "gelu" => |_, x, _| gelu(&x[0]),
        "linear_gelu" => |_, x, _| gelu(&(x[0].matmul(&x[1]) + &x[2])),
        "bind" => |_, x, _| bind_spelled(&x[0], &x[1]),
        "bind_unbind" => |_, x, _| bind_unbind_spelled(&x[0], &x[1]),
        "superpose" => |_, x, _| superpose_spelled(&x[0]),
        _ => work.work,
    }
}

/// GELU in array operations.
pub fn gelu(x: &Array) -> Array {
    let inner = (x + x.square() * x * 0.044_715) * 0.797_884_560_802_865_4;
    x * 0.5 * (inner.tanh() + 1.0)
}

/// The operand in the widest type of its kind.
pub fn wider(array: &Array) -> Array {
    match array.dtype() {
        DType::F32 => array.astype(DType::F64),
        DType::C64 => array.astype(DType::C128),
        _ => array.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_runs_at_small_sizes_and_float64_agrees() {
        for work in ALL {
            let given: Params =
                work.params.iter().map(|(name, usual)| ((*name).to_owned(), (*usual).min(6))).collect();
            let sizes = work.sizes(&given);
            let operands = (work.operands)(&sizes);
            let result = (work.work)(&sizes, &operands, 1);
            let wide: Vec<Array> = operands.iter().map(wider).collect();
            let reference = (work.work)(&sizes, &wide, 1);
            assert_eq!(result.shape(), reference.shape(), "{}", work.name);
            let error = super::super::error::largest(&result, &reference).unwrap();
            assert!(error < 1e-5, "{}: {error}", work.name);
        }
    }

    #[test]
    fn vectors_of_any_length_are_bound_to_vectors_of_that_length() {
        for d in [1, 2, 7, 8] {
            let (a, b) = (normal(1, &[3, d]), normal(2, &[3, d]));
            let bound = bind(&a, &b);
            assert_eq!(bound.shape().dims(), [3, d]);
            let (a, b) = (a.to_vec::<f32>().unwrap(), b.to_vec::<f32>().unwrap());
            let first: f32 = (0..d).map(|at| a[at] * b[(d - at) % d]).sum();
            assert!((bound.to_vec::<f32>().unwrap()[0] - first).abs() < 1e-4, "{d}");
        }
    }

    #[test]
    fn binding_is_one_kernel() {
        use crossover_plan::{Options, Plan};
        let work = find("bind").unwrap();
        let sizes = work.sizes(&Params::new());
        let operands = (work.operands)(&sizes);
        operands.iter().try_for_each(|operand| operand.eval().map(drop)).unwrap();
        let plan = |expression: Expression| {
            Plan::new(&expression(&sizes, &operands, 1).graph().unwrap(), Options::default()).unwrap()
        };
        assert_eq!(plan(work.work).launches.len(), 1, "{}", plan(work.work).explain(None));
        assert!(plan(spelled(work)).launches.len() > 1, "by transforms");
    }

    #[test]
    fn sizes_that_fit_nowhere_are_errors() {
        for work in ALL {
            // Heads share what there is, and points of π are never kept.
            for (name, _) in
                work.params.iter().filter(|(name, _)| *name != "heads" && work.name != "random_pi")
            {
                for size in [1 << 50, super::super::suites::LARGEST] {
                    let sizes = work.sizes(&Params::from([((*name).to_owned(), size)]));
                    let operands = (work.operands)(&sizes);
                    let result = operands.iter().try_for_each(|operand| operand.eval().map(drop));
                    let result = result.and_then(|()| (work.work)(&sizes, &operands, 1).eval().map(drop));
                    assert!(result.is_err(), "{} {name}={size}", work.name);
                }
            }
        }
    }

    #[test]
    fn what_is_spelled_out_is_the_same() {
        for work in ALL {
            let given: Params =
                work.params.iter().map(|(name, usual)| ((*name).to_owned(), (*usual).min(6))).collect();
            let sizes = work.sizes(&given);
            let operands = (work.operands)(&sizes);
            let (usual, spelled) = ((work.work)(&sizes, &operands, 1), spelled(work)(&sizes, &operands, 1));
            assert!(super::super::error::largest(&spelled, &usual).unwrap() < 1e-5, "{}", work.name);
        }
    }

    #[test]
    fn names_and_numbers_are_there_once() {
        for (at, work) in ALL.iter().enumerate() {
            assert!(ALL[..at].iter().all(|other| other.name != work.name), "{}", work.name);
            let sizes = work.sizes(&Params::new());
            assert_eq!(sizes.0.len(), work.params.len(), "{}", work.name);
        }
    }
}

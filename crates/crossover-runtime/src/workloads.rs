//! Typical work of any size: what `crossover calibrate` shows crossover sizes of, and what placement is judged by, on simulated
//! machines and on real ones.

use crossover_core::{
    DType, Graph, NodeId, Number, Result, Shape,
    compose::{self, ConvolveMethod, FftNorm},
    graph::Op,
    ops::{
        MapOp,
        convolve::{Boundary, ConvolveMode},
    },
};

/// A kind of work that can have any size.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// What people call it, with the type of its elements.
    pub name: &'static str,
    build: fn(&mut Graph, usize) -> Result<NodeId>,
}

impl Workload {
    /// Appends the work to a graph; its largest operand has about `n` elements.
    pub fn build(&self, graph: &mut Graph, n: usize) -> Result<NodeId> {
        (self.build)(graph, n)
    }

    /// A graph of nothing else.
    ///
    /// ```
    /// use crossover_runtime::workloads;
    /// let gelu = workloads::find("gelu f32").unwrap().graph(1000)?;
    /// assert_eq!(gelu.outputs().len(), 1);
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn graph(&self, n: usize) -> Result<Graph> {
        let mut graph = Graph::new();
        let y = self.build(&mut graph, n)?;
        graph.output(y);
        Ok(graph)
    }
}

/// The workload of a name.
///
/// ```
/// assert!(crossover_runtime::workloads::find("sort f32").is_some());
/// assert!(crossover_runtime::workloads::find("sorted").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static Workload> {
    ALL.iter().find(|work| work.name == name)
}

/// A plan of ten kernels, products and softmaxes in turn: what the time to decide is measured with.
///
/// ```
/// let graph = crossover_runtime::workloads::ten_kernels(600)?;
/// let plan = crossover_plan::Plan::new(&graph, Default::default())?;
/// assert_eq!(plan.launches.len(), 10);
/// # Ok::<(), crossover_core::Error>(())
/// ```
pub fn ten_kernels(side: usize) -> Result<Graph> {
    let mut graph = Graph::new();
    let x = graph.input(DType::F32, Shape::from([side, side]))?;
    let mut y = x;
    for _ in 0..5 {
        y = compose::matmul(&mut graph, &y, &x)?;
        y = compose::softmax(&mut graph, &y, -1)?;
    }
    graph.output(y);
    Ok(graph)
}

/// Two axes of about `n` elements.
fn rows(n: usize, columns: usize) -> Shape {
    Shape::from([n.div_ceil(columns), columns.min(n)])
}

fn side(n: usize) -> usize {
    (n as f64).sqrt().round().max(1.0) as usize
}

fn vector(g: &mut Graph, dtype: DType, n: usize) -> Result<NodeId> {
    g.input(dtype, Shape::from([n]))
}

fn binary(g: &mut Graph, op: MapOp, dtype: DType, n: usize) -> Result<NodeId> {
    let (a, b) = (vector(g, dtype, n)?, vector(g, dtype, n)?);
    compose::binary(g, op, &a, &b)
}

fn product(g: &mut Graph, dtype: DType, n: usize) -> Result<NodeId> {
    let s = Shape::from([side(n), side(n)]);
    let (a, b) = (g.input(dtype, s.clone())?, g.input(dtype, s)?);
    compose::matmul(g, &a, &b)
}

/// All of them.
pub const ALL: [Workload; 20] = [
    Workload { name: "xor u8", build: |g, n| binary(g, MapOp::BitwiseXor, DType::U8, n) },
    Workload { name: "add f32", build: |g, n| binary(g, MapOp::Add, DType::F32, n) },
    Workload {
        name: "gelu f32",
        build: |g, n| {
            let x = vector(g, DType::F32, n)?;
            compose::unary(g, MapOp::Gelu, &x)
        },
    },
    Workload { name: "power f64", build: |g, n| binary(g, MapOp::Pow, DType::F64, n) },
    Workload {
        name: "sum f32",
        build: |g, n| {
            let x = vector(g, DType::F32, n)?;
            compose::sum(g, &x, &[], false)
        },
    },
    Workload {
        name: "softmax f32",
        build: |g, n| {
            let x = g.input(DType::F32, rows(n, 1024))?;
            compose::softmax(g, &x, -1)
        },
    },
    Workload {
        name: "layer norm f32",
        build: |g, n| {
            let x = g.input(DType::F32, rows(n, 768))?;
            compose::layer_norm(g, &x, None, None, 1e-5)
        },
    },
    Workload {
        name: "standardise f32",
        build: |g, n| {
            let x = g.input(DType::F32, rows(n, 100))?;
            compose::standardise(g, &x, 0)
        },
    },
    Workload {
        name: "sinusoid f32",
        build: |g, n| {
            let positions = g.input(DType::F32, Shape::from([n.div_ceil(512), 1]))?;
            let frequencies = g.input(DType::F32, Shape::from([1, n.min(512).div_ceil(2)]))?;
            let angles = compose::binary(g, MapOp::Multiply, &positions, &frequencies)?;
            let (sine, cosine) = (g.map(MapOp::Sin, &[angles])?, g.map(MapOp::Cos, &[angles])?);
            g.push(Op::Concat { axis: 1 }, &[sine, cosine])
        },
    },
    Workload {
        name: "random pi f32",
        build: |g, n| {
            let mut coordinate = || {
                let key = vector(g, DType::U32, 2)?;
                let x = compose::uniform(g, &key, &Shape::from([n]), DType::F32)?;
                compose::unary(g, MapOp::Square, &x)
            };
            let (x, y) = (coordinate()?, coordinate()?);
            let distance = compose::binary(g, MapOp::Add, &x, &y)?;
            let one = compose::number(g, Number::Float(1.0), DType::F32)?;
            let inside = compose::binary(g, MapOp::LessEqual, &distance, &one)?;
            compose::sum(g, &inside, &[], false)
        },
    },
    Workload {
        name: "lookup f32",
        build: |g, n| {
            let table = g.input(DType::F32, rows(n, 64))?;
            let ids = vector(g, DType::I64, n.div_ceil(64))?;
            compose::take(g, &table, &ids, 0)
        },
    },
    Workload {
        name: "cumulative sum f64",
        build: |g, n| {
            let x = vector(g, DType::F64, n)?;
            compose::cumulative_sum(g, &x, 0, false)
        },
    },
    Workload {
        name: "sort f32",
        build: |g, n| {
            let x = vector(g, DType::F32, n)?;
            compose::sort(g, &x, 0, false)
        },
    },
    Workload {
        name: "convolve 31 f32",
        build: |g, n| {
            let (x, k) = (vector(g, DType::F32, n)?, vector(g, DType::F32, 31)?);
            let (mode, method) = (ConvolveMode::Same, ConvolveMethod::Direct);
            compose::convolve(g, &x, &k, mode, Boundary::Fill, Number::Float(0.0), method)
        },
    },
    Workload {
        name: "fft c64",
        build: |g, n| {
            let x = g.input(DType::C64, rows(n, 1024))?;
            compose::fftn(g, &x, &[], &[-1], false, FftNorm::Backward)
        },
    },
    Workload { name: "matmul f32", build: |g, n| product(g, DType::F32, n) },
    Workload { name: "matmul f64", build: |g, n| product(g, DType::F64, n) },
    Workload {
        name: "linear and gelu f32",
        build: |g, n| {
            let s = side(n);
            let x = g.input(DType::F32, Shape::from([64, s]))?;
            let w = g.input(DType::F32, Shape::from([s, s]))?;
            let b = g.input(DType::F32, Shape::from([s]))?;
            let y = compose::matmul(g, &x, &w)?;
            let y = compose::binary(g, MapOp::Add, &y, &b)?;
            compose::unary(g, MapOp::Gelu, &y)
        },
    },
    Workload {
        name: "solve f64",
        build: |g, n| {
            let s = side(n);
            let a = g.input(DType::F64, Shape::from([s, s]))?;
            let b = g.input(DType::F64, Shape::from([s, 1]))?;
            compose::linalg::solve(g, &a, &b)
        },
    },
    Workload {
        // Several kernels: a product, a softmax, a product with the first operand, and what is left without its sums.
        name: "attention f32",
        build: |g, n| {
            let s = Shape::from([side(n), side(n)]);
            let (a, b) = (g.input(DType::F32, s.clone())?, g.input(DType::F32, s)?);
            let scores = compose::matmul(g, &a, &b)?;
            let weights = compose::softmax(g, &scores, -1)?;
            let mixed = compose::matmul(g, &weights, &a)?;
            let total = compose::sum(g, &mixed, &[0], true)?;
            compose::binary(g, MapOp::Subtract, &mixed, &total)
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_a_valid_graph_at_every_size() {
        for work in ALL {
            for n in [1, 2, 63, 1000, 1_000_000] {
                let graph = work.graph(n).unwrap_or_else(|error| panic!("{} of {n}: {error}", work.name));
                graph.verify().unwrap_or_else(|error| panic!("{} of {n}: {error}", work.name));
            }
        }
    }

    #[test]
    fn names_are_different() {
        let mut names: Vec<_> = ALL.iter().map(|work| work.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}

//! Random graphs that pass the verifier: material for tests of planners, backends and the text form.
//!
//! The generator grows a pool of values. Each turn picks one move (an elementwise op, a reduction whose result
//! comes back to its operand, a view, …) and applies it to values of the pool, converting and expanding operands
//! as the move needs. A move that does not fit its operands is dropped, so every graph is valid by construction.

use smallvec::SmallVec;

use super::{Pattern, Tensor};
use crate::{
    DType, Error, Graph, Layout, NodeId, Result, Scalar, Shape, Span,
    graph::{Axes, Op},
    ops::{
        Class, MapOp,
        convolve::{Boundary, ConvolveMode},
        reduce::ReduceOp,
        scatter::ScatterOp,
    },
    philox,
    sample::Sampler,
};

/// What graphs may contain.
#[derive(Debug, Clone)]
pub struct GraphOptions {
    /// Number of moves; a move adds one to about eight nodes.
    pub moves: usize,
    /// Most elements of a node.
    pub elements: usize,
    /// Dtypes of inputs and conversions. Comparisons make bool, indices `i64` and random bits `u32` regardless.
    pub dtypes: Vec<DType>,
    /// Views: reshape, permute, expand, flip, slice, strided.
    pub views: bool,
    /// Reductions, and rows or columns that use their own reductions.
    pub reductions: bool,
    /// Scans, concat, take, scatters, sorts, searches and convolutions.
    pub calls: bool,
    /// Matrix products, which backends need not reproduce bit for bit.
    pub matmul: bool,
}

impl Default for GraphOptions {
    fn default() -> GraphOptions {
        GraphOptions {
            moves: 8,
            elements: 4096,
            dtypes: DType::ALL.to_vec(),
            views: true,
            reductions: true,
            calls: true,
            matmul: false,
        }
    }
}

/// A valid graph, the same for the same seed and options.
pub fn random_graph(seed: u64, options: &GraphOptions) -> Graph {
    let mut g = Generator { graph: Graph::new(), pool: Vec::new(), dice: Dice { seed, at: 0 }, options };
    for _ in 0..1 + g.dice.below(3) {
        let dtype = g.dtype();
        let shape = g.related_shape();
        // A shape from `shape` has at most `elements` elements, so this cannot fail.
        if let Ok(id) = g.graph.input(dtype, shape) {
            g.pool.push(id);
        }
    }
    for _ in 0..options.moves {
        let before = g.graph.nodes().len();
        if let Ok(id) = g.turn()
            && g.graph.nodes().len() > before
        {
            g.pool.push(id);
        }
    }
    g.finish()
}

/// Inputs for a graph: moderate values, edges and arbitrary bits.
pub fn random_inputs(graph: &Graph, seed: u64) -> Vec<Tensor> {
    let mut dice = Dice { seed: !seed, at: 0 };
    let mut inputs = Vec::new();
    for node in graph.nodes() {
        if !matches!(node.op, Op::Input { .. }) {
            continue;
        }
        let pattern = match dice.below(8) {
            0 => Pattern::Bits(dice.next()),
            1 => Pattern::Edges,
            2 | 3 => Pattern::Mixed(dice.next()),
            _ => Pattern::Random(dice.next()),
        };
        let (dtype, shape) = (node.ty.dtype, node.ty.shape.clone());
        inputs.push(
            pattern.tensor(dtype, shape).expect("patterns make values of the dtype and shape asked for"),
        );
    }
    inputs
}

/// A stream of random numbers.
struct Dice {
    seed: u64,
    at: u64,
}

impl Dice {
    fn next(&mut self) -> u64 {
        self.at += 1;
        let word =
            |stream| philox::word(self.at, stream, [self.seed as u32, (self.seed >> 32) as u32]) as u64;
        word(0) << 32 | word(1)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { Some(&from[self.below(from.len())]) }
    }
}

struct Generator<'a> {
    graph: Graph,
    pool: Vec<NodeId>,
    dice: Dice,
    options: &'a GraphOptions,
}

/// Reported inside the generator where a move does not apply; never leaves it.
fn unfit() -> Error {
    Error::Value { op: "generate", what: "the move does not fit its operands".to_string() }
}

impl Generator<'_> {
    fn turn(&mut self) -> Result<NodeId> {
        let x = self.value()?;
        match self.dice.below(20) {
            0..3 => self.unary(x),
            3..7 => self.binary(x),
            7 => self.ternary(x),
            8 => self.select(x),
            9 => {
                let dtype = self.dtype();
                self.push(Op::Cast(dtype), &[x])
            }
            10 => self.source(),
            11..14 if self.options.reductions => self.reduce(x),
            14 | 15 if self.options.reductions => self.normalise(x),
            16 | 17 if self.options.views => self.view(x),
            18 if self.options.calls => self.call(x),
            19 if self.options.matmul => self.matmul(x),
            _ => self.binary(x),
        }
    }

    fn push(&mut self, op: Op, args: &[NodeId]) -> Result<NodeId> {
        let types: Vec<_> = args.iter().map(|a| &self.graph.node(*a).ty).collect();
        if op.infer(&types)?.shape.size() > self.options.elements {
            return Err(unfit());
        }
        self.graph.push(op, args)
    }

    /// A value of the pool, recent ones more often, so that chains grow.
    fn value(&mut self) -> Result<NodeId> {
        let recent = self.pool.len().saturating_sub(3);
        let from = if self.dice.chance(60) { recent } else { 0 };
        self.dice.pick(&self.pool[from..]).copied().ok_or_else(unfit)
    }

    fn shape_of(&self, x: NodeId) -> Shape {
        self.graph.node(x).ty.shape.clone()
    }

    fn dtype_of(&self, x: NodeId) -> DType {
        self.graph.node(x).ty.dtype
    }

    fn dtype(&mut self) -> DType {
        let common = [DType::F32, DType::F32, DType::F64, DType::I64];
        let options = self.options;
        let pick = if self.dice.chance(30) { self.dice.pick(&common).copied() } else { None };
        let pick = pick.filter(|d| options.dtypes.contains(d));
        pick.or_else(|| self.dice.pick(&options.dtypes).copied()).unwrap_or(DType::F32)
    }

    /// Lengths at which tiles, lanes, segments and runs begin and end, and small ones.
    fn shape(&mut self) -> Shape {
        const LONG: [usize; 12] = [31, 32, 33, 64, 127, 128, 129, 255, 1000, 1023, 1024, 1025];
        let mut room = self.options.elements.max(1);
        let mut shape = Vec::new();
        for _ in 0..[0, 1, 1, 2, 2, 2, 3, 4][self.dice.below(8)] {
            let length = match self.dice.below(40) {
                0 => 0,
                1..7 => 1,
                7..16 => LONG[self.dice.below(LONG.len())],
                _ => 2 + self.dice.below(9),
            };
            let length = length.min(room);
            room /= length.max(1);
            shape.push(length);
        }
        let from = self.dice.below(shape.len());
        shape.rotate_left(from);
        Shape::from(shape)
    }

    /// A new shape, or more often one that broadcasts to a value of the pool, so that inputs meet.
    fn related_shape(&mut self) -> Shape {
        let Some(&x) = self.dice.pick(&self.pool) else { return self.shape() };
        if self.dice.chance(30) {
            return self.shape();
        }
        let shape = self.shape_of(x);
        let dropped = if self.dice.chance(20) { self.dice.below(shape.rank() + 1) } else { 0 };
        shape.dims()[dropped..].iter().map(|&n| if self.dice.chance(20) { 1 } else { n }).collect()
    }

    fn scalar(&mut self, dtype: DType) -> NodeId {
        let seed = self.dice.next();
        let pattern = if self.dice.chance(20) { Pattern::Mixed(seed) } else { Pattern::Random(seed) };
        let value = pattern.tensor(dtype, Shape::scalar()).map_or(Scalar::one(dtype), |t| t.at(0));
        self.graph.scalar(value)
    }

    /// Some value with the dtype and shape of `x`: from the pool if one can be made to fit, else a scalar.
    fn partner(&mut self, x: NodeId) -> Result<NodeId> {
        let (dtype, shape) = (self.dtype_of(x), self.shape_of(x));
        let mut found = None;
        for _ in 0..4 {
            let y = self.value()?;
            let fits = self.shape_of(y).broadcast("expand", &shape).is_ok_and(|s| s == shape);
            let castable = !self.dtype_of(y).is_complex() || dtype.is_complex();
            if fits && castable && (y != x || self.dice.chance(20)) {
                found = Some(y);
            }
        }
        let y = found.filter(|_| self.dice.chance(85)).unwrap_or_else(|| self.scalar(dtype));
        let y = if self.dtype_of(y) == dtype { y } else { self.push(Op::Cast(dtype), &[y])? };
        if self.shape_of(y) == shape { Ok(y) } else { self.push(Op::Expand(shape), &[y]) }
    }

    fn map_op(&mut self, dtype: DType, classes: &[Class]) -> Result<MapOp> {
        let fits = |op: &&MapOp| op.supports(dtype) && classes.contains(&op.class());
        let ops: Vec<MapOp> = MapOp::ALL.iter().filter(fits).copied().collect();
        self.dice.pick(&ops).copied().ok_or_else(unfit)
    }

    fn unary(&mut self, x: NodeId) -> Result<NodeId> {
        let op = self.map_op(self.dtype_of(x), &[Class::Unary, Class::Part])?;
        self.push(Op::Map(op), &[x])
    }

    fn binary(&mut self, x: NodeId) -> Result<NodeId> {
        let op = self.map_op(self.dtype_of(x), &[Class::Binary, Class::Binary, Class::Compare])?;
        let y = self.partner(x)?;
        let args = if self.dice.chance(50) { [x, y] } else { [y, x] };
        self.push(Op::Map(op), &args)
    }

    fn ternary(&mut self, x: NodeId) -> Result<NodeId> {
        let op = self.map_op(self.dtype_of(x), &[Class::Ternary])?;
        let (y, z) = (self.partner(x)?, self.partner(x)?);
        self.push(Op::Map(op), &[x, y, z])
    }

    fn select(&mut self, x: NodeId) -> Result<NodeId> {
        let op = self.map_op(self.dtype_of(x), &[Class::Compare])?;
        let (y, z) = (self.partner(x)?, self.partner(x)?);
        let mask = self.push(Op::Map(op), &[x, y])?;
        self.push(Op::Where, &[mask, x, z])
    }

    fn source(&mut self) -> Result<NodeId> {
        let shape = self.related_shape();
        match self.dice.below(3) {
            0 => {
                let axis = self.dice.below(shape.rank());
                self.push(Op::Index { shape, axis }, &[])
            }
            1 => {
                let key = self.graph.input(DType::U32, Shape::from([2]))?;
                if self.options.calls && self.dice.chance(25) {
                    let parameters = self.graph.input(DType::F64, shape)?;
                    let sampler = Sampler::ALL[self.dice.below(Sampler::ALL.len())];
                    return self.push(Op::Sample(sampler), &[key, parameters]);
                }
                let stream = self.dice.below(4) as u32;
                self.push(Op::Random { shape, stream }, &[key])
            }
            _ => {
                let dtype = self.dtype();
                self.graph.input(dtype, shape)
            }
        }
    }

    /// A non-empty set of axes: the last, all but the last, any.
    fn axes(&mut self, rank: usize) -> Result<Axes> {
        if rank == 0 {
            return Err(unfit());
        }
        let mut axes: Axes = match self.dice.below(4) {
            0 => (rank - 1..rank).collect(),
            1 => (0..rank).collect(),
            2 => (0..rank.max(2) - 1).collect(),
            _ => (0..rank).filter(|_| self.dice.chance(50)).collect(),
        };
        if axes.is_empty() {
            axes.push(self.dice.below(rank));
        }
        Ok(axes)
    }

    fn reduce(&mut self, x: NodeId) -> Result<NodeId> {
        let op = ReduceOp::ALL[self.dice.below(6)];
        let axes = self.axes(self.shape_of(x).rank())?;
        let keepdims = self.dice.chance(60);
        let total = self.push(Op::Reduce { op, axes, keepdims }, &[x])?;
        if !keepdims || op.is_arg() || self.dice.chance(30) {
            return Ok(total);
        }
        // Back to the row or column that was reduced.
        let wide = self.push(Op::Expand(self.shape_of(x)), &[total])?;
        let op = self.map_op(self.dtype_of(x), &[Class::Binary])?;
        self.push(Op::Map(op), &[x, wide])
    }

    /// Softmax or standardisation along axes: two dependent reductions.
    fn normalise(&mut self, x: NodeId) -> Result<NodeId> {
        if !self.dtype_of(x).is_float() {
            return Err(unfit());
        }
        let (shape, axes) = (self.shape_of(x), self.axes(self.shape_of(x).rank())?);
        let softmax = self.dice.chance(50);
        let first = if softmax { ReduceOp::Max } else { ReduceOp::Sum };
        let reduce = |op| Op::Reduce { op, axes: axes.clone(), keepdims: true };
        let top = self.push(reduce(first), &[x])?;
        let top = self.push(Op::Expand(shape.clone()), &[top])?;
        let shifted = self.push(Op::Map(MapOp::Subtract), &[x, top])?;
        let op = if softmax { MapOp::Exp } else { MapOp::Square };
        let powers = self.push(Op::Map(op), &[shifted])?;
        let total = self.push(reduce(ReduceOp::Sum), &[powers])?;
        let total = if softmax { total } else { self.push(Op::Map(MapOp::Sqrt), &[total])? };
        let total = self.push(Op::Expand(shape), &[total])?;
        self.push(Op::Map(MapOp::Divide), &[if softmax { powers } else { shifted }, total])
    }

    fn view(&mut self, x: NodeId) -> Result<NodeId> {
        let shape = self.shape_of(x);
        let op = match self.dice.below(6) {
            0 => Op::Reshape(self.reshaped(shape.size())),
            1 => {
                let mut axes: Axes = (0..shape.rank()).collect();
                for i in (1..axes.len()).rev() {
                    axes.swap(i, self.dice.below(i + 1));
                }
                Op::Permute(axes)
            }
            2 => {
                let repeat = 1 + self.dice.below(4);
                let lead = self.dice.chance(50).then_some(repeat);
                Op::Expand(
                    lead.into_iter().chain(shape.iter().map(|&n| if n == 1 { repeat } else { n })).collect(),
                )
            }
            3 => Op::Flip((0..shape.rank()).filter(|_| self.dice.chance(60)).collect()),
            4 => Op::Slice(shape.iter().map(|&n| self.span(n)).collect()),
            _ => Op::Strided(self.window(shape.size())),
        };
        self.push(op, &[x])
    }

    /// Any shape of the given size.
    fn reshaped(&mut self, size: usize) -> Shape {
        let mut rest = size;
        let mut shape = Vec::new();
        while rest > 1 && shape.len() < 4 {
            let divisors: Vec<usize> = (1..=rest.min(256)).filter(|d| rest.is_multiple_of(*d)).collect();
            let length = self.dice.pick(&divisors).copied().unwrap_or(1);
            shape.push(length);
            rest /= length;
        }
        shape.push(rest);
        let from = self.dice.below(shape.len());
        shape.rotate_left(from);
        Shape::from(shape)
    }

    fn span(&mut self, n: usize) -> Span {
        if n == 0 || self.dice.chance(5) {
            return Span { start: 0, step: 1, length: 0 };
        }
        let start = self.dice.below(n);
        let step: isize = [1, 1, 1, 2, 3, -1, -1, -2, 0][self.dice.below(9)];
        let reach = match step {
            0 => 4,
            1.. => (n - 1 - start) / step as usize + 1,
            _ => start / step.unsigned_abs() + 1,
        };
        Span { start, step, length: 1 + self.dice.below(reach) }
    }

    /// A window of up to three axes that stays inside `size` elements.
    fn window(&mut self, size: usize) -> Layout {
        let offset = self.dice.below(size);
        let (mut low, mut high) = (offset, size.saturating_sub(1) - offset.min(size.saturating_sub(1)));
        let mut layout = Layout { shape: Shape::scalar(), strides: SmallVec::new(), offset };
        let mut lengths = Vec::new();
        for _ in 0..self.dice.below(4) {
            let back = self.dice.chance(30);
            let room = if back { &mut low } else { &mut high };
            let stride = self.dice.below(4.min(*room + 1));
            let most = room.checked_div(stride).map_or(3, |n| n + 1);
            let length = if size == 0 { 0 } else { 1 + self.dice.below(most.min(40)) };
            *room -= stride * length.saturating_sub(1);
            lengths.push(length);
            layout.strides.push(if back { -(stride as isize) } else { stride as isize });
        }
        if size == 0 && lengths.is_empty() {
            lengths.push(0);
            layout.strides.push(1);
        }
        layout.shape = Shape::from(lengths);
        layout
    }

    fn call(&mut self, x: NodeId) -> Result<NodeId> {
        let shape = self.shape_of(x);
        let axis = self.dice.below(shape.rank());
        match self.dice.below(9) {
            8 => self.convolve(x),
            0 => {
                let op = if self.dice.chance(70) { ReduceOp::Sum } else { ReduceOp::Prod };
                self.push(Op::Scan { op, axis }, &[x])
            }
            1 | 2 => {
                let mut parts = vec![x, self.partner(x)?];
                if let Some(&n) = shape.dims().get(axis)
                    && self.dice.chance(50)
                {
                    let mut spans: SmallVec<[Span; 4]> =
                        shape.iter().map(|&n| Span { start: 0, step: 1, length: n }).collect();
                    spans[axis] = self.span(n);
                    parts.push(self.push(Op::Slice(spans), &[x])?);
                }
                self.push(Op::Concat { axis }, &parts)
            }
            3 => {
                let indices = self.graph.input(DType::I64, Shape::from([1 + self.dice.below(9)]))?;
                self.push(Op::Take { axis }, &[x, indices])
            }
            _ => self.lookup(x, axis),
        }
    }

    /// Gathers, scatters, sorts, searches and masks.
    fn lookup(&mut self, x: NodeId, axis: usize) -> Result<NodeId> {
        let shape = self.shape_of(x);
        if axis >= shape.rank() {
            return Err(unfit());
        }
        match self.dice.below(5) {
            0 => {
                let indices = self.indices(&shape, axis)?;
                self.push(Op::Gather { axis }, &[x, indices])
            }
            1 => {
                let indices = self.indices(&shape, axis)?;
                let taken = self.push(Op::Gather { axis }, &[x, indices])?;
                let values = self.partner(taken)?;
                let op = ScatterOp::ALL[self.dice.below(4)];
                self.push(Op::Scatter { op, axis }, &[x, indices, values])
            }
            2 => {
                let (descending, indices) = (self.dice.chance(40), self.dice.chance(50));
                if self.dice.chance(25) {
                    let k = self.dice.below(shape[axis] + 1);
                    return self.push(Op::TopK { axis, k, descending }, &[x]);
                }
                self.push(Op::Sort { axis, descending, indices }, &[x])
            }
            3 => {
                let line = self.graph.input(self.dtype_of(x), Shape::from([self.dice.below(40)]))?;
                let line = self.push(Op::Sort { axis: 0, descending: false, indices: false }, &[line])?;
                let right = self.dice.chance(50);
                self.push(Op::SearchSorted { right }, &[line, x])
            }
            _ => {
                let mask = self.graph.input(DType::Bool, Shape::from([shape[0]]))?;
                let count = self.dice.below(shape[0] + 1);
                self.push(Op::Compress { count }, &[mask, x])
            }
        }
    }

    /// Indices into an axis, most of them inside, one per element or one per slice.
    fn indices(&mut self, shape: &Shape, axis: usize) -> Result<NodeId> {
        let mut whole = shape.clone();
        whole.dims_mut()[axis] = 1 + self.dice.below(9);
        let repeat = self.dice.chance(40);
        let given = (0..shape.rank()).map(|a| if a == axis || !repeat { whole[a] } else { 1 }).collect();
        let indices = self.graph.input(DType::I64, given)?;
        let length = self.graph.scalar(Scalar::from_bits(DType::I64, [shape[axis] as u64 + 1, 0]));
        let lengths = self.push(Op::Expand(self.shape_of(indices)), &[length])?;
        let inside = self.push(Op::Map(MapOp::Remainder), &[indices, lengths])?;
        if repeat { self.push(Op::Expand(whole), &[inside]) } else { Ok(inside) }
    }

    /// Convolution with a small kernel, whose reference is not slow.
    fn convolve(&mut self, x: NodeId) -> Result<NodeId> {
        let (dtype, shape) = (self.dtype_of(x), self.shape_of(x));
        let lengths = shape.iter().map(|&n| 1 + self.dice.below(n.min(3)));
        let kernel: Vec<usize> = lengths.collect();
        let mode = ConvolveMode::ALL[self.dice.below(3)];
        let boundary = Boundary::ALL[self.dice.below(Boundary::ALL.len())];
        let fill = self.scalar(dtype);
        let kernel = self.graph.input(dtype, Shape::from(kernel))?;
        self.push(Op::Convolve { mode, boundary }, &[x, kernel, fill])
    }

    fn matmul(&mut self, x: NodeId) -> Result<NodeId> {
        let shape = self.shape_of(x);
        let rank = shape.rank();
        let mut axes: Axes = (0..rank).collect();
        if rank >= 2 {
            axes.swap(rank - 1, rank - 2);
        }
        let turned = self.push(Op::Permute(axes), &[x])?;
        self.push(Op::MatMul, &[x, turned])
    }

    /// Returns what nothing uses, and now and then something that is used.
    fn finish(mut self) -> Graph {
        let mut used = vec![false; self.graph.nodes().len()];
        for node in self.graph.nodes() {
            for arg in &node.args {
                used[arg.index()] = true;
            }
        }
        let mut outputs: Vec<NodeId> = self.pool.iter().copied().filter(|id| !used[id.index()]).collect();
        if outputs.is_empty() || self.dice.chance(20) {
            outputs.extend(self.dice.pick(&self.pool));
        }
        for id in outputs {
            self.graph.output(id);
        }
        self.graph
    }
}

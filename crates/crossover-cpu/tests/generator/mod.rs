//! Random kernels: steps, dtypes, shapes, strides and extents from one seed.
// Each test binary uses its own part of this.
#![allow(dead_code)]

use crossover_core::{
    DType, Scalar,
    ops::{MapOp, cast, reduce::ReduceOp},
    philox, reference,
};
use crossover_plan::kernel::{
    BufferId, Dims, Extent, Fused, Kind, Load, Space, Step, StepId, StepOp, Store, Window,
};
use smallvec::SmallVec;

/// Counter-based random numbers.
pub struct Dice {
    seed: u64,
    at: u64,
}

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice { seed, at: 0 }
    }
    pub fn next(&mut self) -> u32 {
        self.at += 1;
        philox::word(self.at, 0, [self.seed as u32, (self.seed >> 32) as u32])
    }
    pub fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n.max(1)
    }
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// A kernel with memory for it.
pub struct Case {
    pub fused: Fused,
    pub inputs: Vec<Vec<u8>>,
    /// Poisoned; elements outside the windows must stay so.
    pub outputs: Vec<Vec<u8>>,
    pub scalars: Vec<Scalar>,
}

const MOST: usize = 12_000;

fn group(dice: &mut Dice, lengths: &[usize], left: &mut usize, rank: usize) -> Dims<usize> {
    let mut dims = Dims::new();
    for _ in 0..rank {
        let n = dice.pick(lengths);
        let n = if n > *left { dice.pick(&[1, 2, 3]).min(*left).max(1) } else { n };
        *left /= n.max(1);
        dims.push(n);
    }
    dims
}

fn space(dice: &mut Dice, kind: Kind) -> Space {
    let mut left = MOST;
    let mut space = Space::default();
    match kind {
        Kind::Map => {
            let rank = dice.below(5);
            space.outer = group(dice, &[1, 2, 3, 5, 16, 64, 200, 300, 1030, 2500], &mut left, rank);
        }
        Kind::Row => {
            let rank = dice.pick(&[1, 1, 1, 2]);
            let lengths = [1, 2, 3, 4, 5, 31, 127, 128, 129, 200, 700, 1024, 1025, 2049, 5000];
            space.reduce = group(dice, &lengths, &mut left, rank);
            let rank = dice.below(3);
            space.outer = group(dice, &[1, 2, 3, 7, 40], &mut left, rank);
        }
        Kind::Column => {
            let rank = dice.pick(&[1, 1, 2]);
            space.inner = group(dice, &[1, 2, 3, 5, 17, 33, 191, 192, 500, 1100], &mut left, rank);
            let rank = dice.pick(&[1, 1, 2]);
            space.reduce = group(dice, &[1, 2, 3, 100, 128, 129, 300, 1000, 4000], &mut left, rank);
            let rank = dice.below(2);
            space.outer = group(dice, &[1, 2, 3, 5], &mut left, rank);
        }
    }
    if dice.one_in(25) {
        let all = [&mut space.outer, &mut space.reduce, &mut space.inner];
        let which = dice.below(3);
        if let Some(n) = all[which].first_mut() {
            *n = 0;
        }
    }
    space
}

/// A window over some of the axes without two points sharing an element, and the elements it needs.
fn window(dice: &mut Dice, space: &Space, varies: &[bool]) -> (Window, usize) {
    let dims = space.dims();
    let mut order: Vec<usize> = (0..dims.len()).collect();
    if dice.one_in(3) {
        for i in (1..order.len()).rev() {
            order.swap(i, dice.below(i + 1));
        }
    }
    let gap = if dice.one_in(4) { 2 } else { 1 };
    let mut strides: Dims<isize> = SmallVec::from_elem(0, dims.len());
    let (mut step, mut low) = (gap as isize, 0isize);
    for &axis in order.iter().rev() {
        if !varies[axis] {
            continue;
        }
        let n = dims[axis].max(1) as isize;
        let flip = dice.one_in(6);
        strides[axis] = if flip { -step } else { step };
        if flip {
            low += (n - 1) * step;
        }
        step *= n;
    }
    let shift = dice.pick(&[0, 0, 3]);
    let offset = low as usize + shift;
    (Window { offset, strides }, offset + step as usize + 1)
}

fn axes(space: &Space, extent: Extent) -> Vec<bool> {
    let (o, r, i) = (space.outer.len(), space.reduce.len(), space.inner.len());
    let full = extent == Extent::Full;
    let any = extent != Extent::One;
    (0..o + r + i).map(|a| if (o..o + r).contains(&a) { full } else { any }).collect()
}

/// A value of a dtype: small numbers, often special ones.
pub fn value(dice: &mut Dice, dtype: DType) -> Scalar {
    if dice.one_in(8) {
        let edges = reference::edges(dtype);
        return edges[dice.below(edges.len())];
    }
    let small = (dice.below(4000) as f64 - 2000.0) / dice.pick(&[1.0, 64.0, 1000.0]);
    let from = Scalar::from_bits(DType::F64, [small.to_bits(), 0]);
    if dtype.is_complex() {
        let im = (dice.below(400) as f64 - 200.0) / 16.0;
        return Scalar::from_bits(DType::C128, [small.to_bits(), im.to_bits()]).cast(dtype);
    }
    from.cast(dtype)
}

fn memory(dice: &mut Dice, dtype: DType, elements: usize) -> Vec<u8> {
    let mut bytes = vec![0; elements * dtype.size()];
    bytes.chunks_mut(dtype.size()).for_each(|slot| value(dice, dtype).write_to(slot));
    bytes
}

struct Builder<'d> {
    dice: &'d mut Dice,
    fused: Fused,
    inputs: Vec<Vec<u8>>,
    scalars: Vec<Scalar>,
}

impl Builder<'_> {
    fn push(&mut self, op: StepOp, args: &[StepId], dtype: DType) -> StepId {
        let extent = args.iter().map(|&a| self.fused.steps[a as usize].extent).max().unwrap_or(Extent::One);
        self.push_as(op, args, dtype, extent)
    }

    fn push_as(&mut self, op: StepOp, args: &[StepId], dtype: DType, extent: Extent) -> StepId {
        self.fused.steps.push(Step { op, args: args.into(), dtype, extent });
        (self.fused.steps.len() - 1) as StepId
    }

    fn dtype(&self, step: StepId) -> DType {
        self.fused.steps[step as usize].dtype
    }

    fn extent(&mut self) -> Extent {
        match (self.fused.kind, self.dice.below(6)) {
            (_, 0) => Extent::One,
            (Kind::Row | Kind::Column, 1) => Extent::Reduced,
            _ => Extent::Full,
        }
    }

    fn load(&mut self, dtype: DType, extent: Extent) -> StepId {
        let mut varies = axes(&self.fused.space, extent);
        if self.dice.one_in(5) {
            // Some axes repeated by stride zero.
            varies.iter_mut().for_each(|v| *v &= !self.dice.one_in(3));
        }
        let (window, elements) = window(self.dice, &self.fused.space, &varies);
        let bytes = memory(self.dice, dtype, elements);
        self.inputs.push(bytes);
        let buffer = BufferId(self.inputs.len() as u32);
        self.fused.loads.push(Load { buffer, dtype, window });
        let op = StepOp::Load((self.fused.loads.len() - 1) as u16);
        self.push_as(op, &[], dtype.compute(), extent)
    }

    fn source(&mut self, dtypes: &[DType]) -> StepId {
        let dtype = self.dice.pick(dtypes);
        let extent = self.extent();
        match self.dice.below(10) {
            0 => {
                let scalar = value(self.dice, dtype);
                self.scalars.push(scalar);
                self.push(StepOp::Scalar((self.scalars.len() - 1) as u16), &[], dtype.compute())
            }
            1 => {
                let varies = axes(&self.fused.space, extent);
                let (window, _) = window(self.dice, &self.fused.space, &varies);
                let (divisor, modulus) =
                    (self.dice.pick(&[1, 2, 7, 64]), self.dice.pick(&[1, 3, 50, 1 << 40]));
                self.push_as(StepOp::Index { window, divisor, modulus }, &[], DType::I64, extent)
            }
            2 => {
                let varies = axes(&self.fused.space, extent);
                let (window, _) = window(self.dice, &self.fused.space, &varies);
                let strides = SmallVec::from_elem(0, self.fused.space.rank());
                let buffer = BufferId(99);
                self.inputs.push(memory(self.dice, DType::U32, 3));
                let key = Load { buffer, dtype: DType::U32, window: Window { offset: 1, strides } };
                self.fused.loads.push(key);
                let key = (self.fused.loads.len() - 1) as u16;
                let stream = self.dice.next();
                self.push_as(StepOp::Random { key, window, stream }, &[], DType::U32, extent)
            }
            _ => self.load(dtype, extent),
        }
    }

    /// Some step of a dtype, or a new one.
    fn some(&mut self, dtype: DType) -> StepId {
        let found: Vec<StepId> =
            (0..self.fused.steps.len() as StepId).filter(|&s| self.dtype(s) == dtype).collect();
        if found.is_empty() || self.dice.one_in(6) {
            let extent = self.extent();
            return self.load(dtype, extent);
        }
        self.dice.pick(&found)
    }

    fn operation(&mut self) {
        let any = self.dice.below(self.fused.steps.len()) as StepId;
        let dtype = self.dtype(any);
        match self.dice.below(12) {
            0 => {
                let to = self.dice.pick(&DType::ALL);
                if cast::check(dtype, to).is_ok() {
                    self.cast(any, to);
                }
            }
            1 => {
                let mask = self.some(DType::Bool);
                let other = self.some(dtype);
                self.push(StepOp::Where, &[mask, any, other], dtype);
            }
            2 if dtype.is_float() || dtype.is_complex() => {
                self.push(StepOp::Canonical, &[any], dtype);
            }
            3 if self.fused.steps[any as usize].extent != Extent::Full => {
                self.push_as(StepOp::Expand, &[any], dtype, Extent::Full);
            }
            4..=6 if self.fused.kind != Kind::Map => self.reduce(any),
            _ => {
                let ops: Vec<MapOp> = MapOp::ALL.iter().copied().filter(|op| op.supports(dtype)).collect();
                let op = self.dice.pick(&ops);
                let mut args = vec![any];
                while args.len() < op.arity() {
                    args.push(self.some(dtype));
                }
                let order = self.dice.below(args.len());
                args.swap(0, order);
                let result = op.result(dtype).unwrap();
                self.push(StepOp::Map(op), &args, result);
            }
        }
    }

    fn cast(&mut self, from: StepId, to: DType) -> StepId {
        let mut at = from;
        for step in cast::path(self.dtype(from), to) {
            let dtype = match step {
                cast::Step::Plain(_, to) => to,
                _ => DType::F32,
            };
            at = self.push(StepOp::Cast(step), &[at], dtype);
        }
        at
    }

    fn reduce(&mut self, any: StepId) {
        let dtype = self.dtype(any);
        let empty = self.fused.space.reduce_size() == 0;
        let ops: Vec<ReduceOp> = ReduceOp::ALL
            .into_iter()
            .filter(|op| op.dtypes().contains(dtype) && (op.has_identity() || !empty))
            .collect();
        if ops.is_empty() {
            return;
        }
        let op = self.dice.pick(&ops);
        let arg = match self.fused.steps[any as usize].extent {
            Extent::Full => any,
            _ => self.push_as(StepOp::Expand, &[any], dtype, Extent::Full),
        };
        self.push_as(StepOp::Reduce(op), &[arg], op.result(dtype).unwrap(), Extent::Reduced);
    }

    fn store(&mut self, step: StepId, outputs: &mut Vec<Vec<u8>>) {
        let dtype = self.dtype(step);
        let mut extent = self.fused.steps[step as usize].extent;
        let mut step = step;
        if extent == Extent::One || (extent == Extent::Reduced && self.dice.one_in(3)) {
            extent = if self.fused.kind == Kind::Map { Extent::Full } else { Extent::Reduced.max(extent) };
            if self.dice.one_in(2) {
                extent = Extent::Full;
            }
            step = self.push_as(StepOp::Expand, &[step], dtype, extent);
        }
        let mut memory = dtype;
        if dtype == DType::F32 && self.dice.one_in(4) {
            memory = self.dice.pick(&[DType::F16, DType::BF16]);
            step = self.cast(step, memory);
        }
        let (window, elements) = window(self.dice, &self.fused.space, &axes(&self.fused.space, extent));
        outputs.push(vec![0xA5; elements * memory.size()]);
        let buffer = BufferId(1000 + outputs.len() as u32);
        self.fused.stores.push(Store { step, buffer, dtype: memory, window });
    }
}

pub fn generate(dice: &mut Dice, kind: Kind) -> Case {
    let space = space(dice, kind);
    let fused = Fused { kind, space, loads: vec![], steps: vec![], stores: vec![] };
    let mut builder = Builder { dice, fused, inputs: vec![], scalars: vec![] };
    let all = DType::ALL;
    let few: Vec<DType> = (0..2).map(|_| builder.dice.pick(&all)).collect();
    for _ in 0..1 + builder.dice.below(3) {
        builder.source(&few);
    }
    for _ in 0..builder.dice.below(10) {
        builder.operation();
    }
    if kind != Kind::Map && !builder.fused.steps.iter().any(|s| matches!(s.op, StepOp::Reduce(_))) {
        let any = builder.dice.below(builder.fused.steps.len()) as StepId;
        builder.reduce(any);
    }
    let mut outputs = Vec::new();
    let last = (builder.fused.steps.len() - 1) as StepId;
    builder.store(last, &mut outputs);
    for _ in 0..builder.dice.below(3) {
        let any = builder.dice.below(builder.fused.steps.len()) as StepId;
        builder.store(any, &mut outputs);
    }
    let Builder { fused, inputs, scalars, .. } = builder;
    Case { fused, inputs, outputs, scalars }
}

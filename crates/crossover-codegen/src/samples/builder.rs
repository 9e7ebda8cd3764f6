//! Fused kernels built by hand, with the explicit steps the planner would insert.

use crossover_core::{
    DType,
    ops::{MapOp, NanRule, cast, reduce::ReduceOp},
};
use crossover_plan::kernel::{
    BufferId, Dims, Extent, Fused, Kind, Load, Space, Step, StepId, StepOp, Store, Window,
};

/// A kernel under construction. Every operand has a buffer of its own.
#[derive(Debug, Clone)]
pub struct Builder {
    kernel: Fused,
    /// By step: the dtype of the value, 16-bit floats included.
    logical: Vec<DType>,
    /// By step: whether a NaN may have bits that devices disagree on.
    dirty: Vec<bool>,
}

impl Builder {
    /// A kernel over a space; the kind follows from which groups are given.
    pub fn new(kind: Kind, outer: &[usize], reduce: &[usize], inner: &[usize]) -> Builder {
        let space = Space { outer: outer.into(), reduce: reduce.into(), inner: inner.into() };
        let kernel = Fused { kind, space, loads: Vec::new(), steps: Vec::new(), stores: Vec::new() };
        Builder { kernel, logical: Vec::new(), dirty: Vec::new() }
    }

    /// A Map kernel.
    pub fn map(dims: &[usize]) -> Builder {
        Builder::new(Kind::Map, dims, &[], &[])
    }

    /// A Row kernel.
    pub fn row(outer: &[usize], reduce: &[usize]) -> Builder {
        Builder::new(Kind::Row, outer, reduce, &[])
    }

    /// A Column kernel.
    pub fn column(outer: &[usize], reduce: &[usize], inner: &[usize]) -> Builder {
        Builder::new(Kind::Column, outer, reduce, inner)
    }

    /// The index space.
    pub fn space(&self) -> &Space {
        &self.kernel.space
    }

    /// The dtype of a step's value, 16-bit floats included.
    pub fn dtype(&self, step: StepId) -> DType {
        self.logical[step as usize]
    }

    /// What a step varies over.
    pub fn extent(&self, step: StepId) -> Extent {
        self.kernel.steps[step as usize].extent
    }

    /// Row-major strides over the axes where `varies` holds, 0 elsewhere.
    pub fn strides(&self, varies: impl Fn(usize) -> bool) -> Dims<isize> {
        let dims = self.kernel.space.dims();
        let mut strides = Dims::from_elem(0, dims.len());
        let mut step = 1;
        for axis in (0..dims.len()).rev().filter(|&a| varies(a)) {
            strides[axis] = step;
            step *= dims[axis] as isize;
        }
        strides
    }

    /// Whether an axis belongs to the reduced group.
    pub fn is_reduced(&self, axis: usize) -> bool {
        let start = self.kernel.space.outer.len();
        (start..start + self.kernel.space.reduce.len()).contains(&axis)
    }

    fn push(&mut self, op: StepOp, args: &[StepId], dtype: DType, extent: Extent, dirty: bool) -> StepId {
        let step = Step { op, args: args.into(), dtype: dtype.compute(), extent };
        self.kernel.steps.push(step);
        self.logical.push(dtype);
        self.dirty.push(dirty && (dtype.is_float() || dtype.is_complex()));
        (self.kernel.steps.len() - 1) as StepId
    }

    fn extent_of(&self, window: &Window) -> Extent {
        let dims = self.kernel.space.dims();
        let varies = |a: usize| dims[a] != 1 && window.strides[a] != 0;
        let any = (0..dims.len()).any(varies);
        let reduced = (0..dims.len()).any(|a| varies(a) && self.is_reduced(a));
        match (any, reduced || self.kernel.kind == Kind::Map) {
            (false, _) => Extent::One,
            (true, true) => Extent::Full,
            (true, false) => Extent::Reduced,
        }
    }

    /// An operand with any strides.
    pub fn load(&mut self, dtype: DType, window: Window) -> StepId {
        let extent = self.extent_of(&window);
        let buffer = BufferId(self.kernel.loads.len() as u32);
        self.kernel.loads.push(Load { buffer, dtype, window });
        self.push(StepOp::Load((self.kernel.loads.len() - 1) as u16), &[], dtype, extent, false)
    }

    /// An operand that is row-major over the whole space.
    pub fn input(&mut self, dtype: DType) -> StepId {
        let strides = self.strides(|_| true);
        self.load(dtype, Window { offset: 0, strides })
    }

    /// A host scalar.
    pub fn scalar(&mut self, slot: u16, dtype: DType) -> StepId {
        self.push(StepOp::Scalar(slot), &[], dtype, Extent::One, false)
    }

    /// The value with NaNs that every device agrees on.
    pub fn clean(&mut self, step: StepId) -> StepId {
        if !self.dirty[step as usize] {
            return step;
        }
        let (dtype, extent) = (self.dtype(step), self.extent(step));
        self.push(StepOp::Canonical, &[step], dtype, extent, false)
    }

    fn widest(&self, args: &[StepId]) -> Extent {
        args.iter().map(|&a| self.extent(a)).max().unwrap_or(Extent::One)
    }

    /// An elementwise op, rounded to 16 bits where its operands are.
    ///
    /// # Panics
    /// If the op does not support the dtype of its operands.
    pub fn op(&mut self, op: MapOp, args: &[StepId]) -> StepId {
        let exact = op.info().nan == NanRule::Exact;
        let args: Vec<StepId> = args.iter().map(|&a| if exact { self.clean(a) } else { a }).collect();
        let dtype = self.dtype(args[0]);
        let result = op.result(dtype).expect("the caller chose an op that supports its operands");
        let extent = self.widest(&args);
        let dirty = op.info().nan == NanRule::Arithmetic;
        let value = self.push(StepOp::Map(op), &args, result.compute(), extent, dirty);
        if result.is_half() { self.round(value, result) } else { value }
    }

    fn round(&mut self, value: StepId, dtype: DType) -> StepId {
        let extent = self.extent(value);
        self.push(StepOp::Cast(cast::Step::Round(dtype)), &[value], dtype, extent, false)
    }

    /// A conversion, as the chain of its primitive steps.
    pub fn cast(&mut self, value: StepId, to: DType) -> StepId {
        let path = cast::path(self.dtype(value), to);
        if path.is_empty() {
            let extent = self.extent(value);
            return self.push(StepOp::Expand, &[value], to, extent, self.dirty[value as usize]);
        }
        let mut value = value;
        for step in path {
            let (dtype, dirty) = match step {
                cast::Step::Plain(_, to) => (to, true),
                cast::Step::Odd => (DType::F32, true),
                cast::Step::Round(to) => (to, false),
            };
            let extent = self.extent(value);
            value = self.push(StepOp::Cast(step), &[value], dtype, extent, dirty);
        }
        value
    }

    /// `mask ? yes : no`.
    pub fn choose(&mut self, mask: StepId, yes: StepId, no: StepId) -> StepId {
        let (yes, no) = (self.clean(yes), self.clean(no));
        let (dtype, extent) = (self.dtype(yes), self.widest(&[mask, yes, no]));
        self.push(StepOp::Where, &[mask, yes, no], dtype, extent, false)
    }

    /// The value repeated along the row.
    pub fn expand(&mut self, value: StepId) -> StepId {
        let (dtype, dirty) = (self.dtype(value), self.dirty[value as usize]);
        self.push(StepOp::Expand, &[value], dtype, Extent::Full, dirty)
    }

    /// A reduction over the reduced axes.
    pub fn reduce(&mut self, op: ReduceOp, value: StepId) -> StepId {
        let value = self.clean(value);
        let value = if self.extent(value) == Extent::Full { value } else { self.expand(value) };
        let dtype = self.dtype(value);
        let result = op.result(dtype).expect("the caller chose a reduction that supports its operand");
        let reduced = self.push(StepOp::Reduce(op), &[value], result.compute(), Extent::Reduced, true);
        if result.is_half() { self.round(reduced, result) } else { reduced }
    }

    /// `(position / divisor) % modulus` as `i64`.
    pub fn index(&mut self, window: Window, divisor: usize, modulus: usize) -> StepId {
        let extent = self.extent_of(&window);
        self.push(StepOp::Index { window, divisor, modulus }, &[], DType::I64, extent, false)
    }

    /// Philox bits at the row-major position in the space, under a key of its own.
    pub fn random(&mut self, window: Window, stream: u32) -> StepId {
        let rank = self.kernel.space.rank();
        let buffer = BufferId(self.kernel.loads.len() as u32);
        let key = Window { offset: 0, strides: Dims::from_elem(0, rank) };
        self.kernel.loads.push(Load { buffer, dtype: DType::U32, window: key });
        let key = (self.kernel.loads.len() - 1) as u16;
        let extent = self.extent_of(&window);
        self.push(StepOp::Random { key, window, stream }, &[], DType::U32, extent, false)
    }

    /// A result at the given window.
    pub fn store(&mut self, step: StepId, window: Window) {
        let step = self.clean(step);
        let buffer = BufferId(1000 + self.kernel.stores.len() as u32);
        let dtype = self.dtype(step);
        self.kernel.stores.push(Store { step, buffer, dtype, window });
    }

    /// A row-major result: one element per point the value varies over.
    pub fn output(&mut self, step: StepId) {
        let full = self.extent(step) == Extent::Full || self.kernel.kind == Kind::Map;
        let strides = self.strides(|axis| full || !self.is_reduced(axis));
        self.store(step, Window { offset: 0, strides });
    }

    /// The finished kernel.
    pub fn finish(self) -> Fused {
        self.kernel
    }
}

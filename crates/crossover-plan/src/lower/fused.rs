//! One group of items as a fused kernel.

use crossover_core::{
    DType, Layout,
    graph::Op,
    ops::{MapOp, NanRule, cast},
};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::{Buffers, coalesce};
use crate::{
    draft::{Arg, Draft, Item, ItemId, Work},
    fuse::{Domain, Group},
    kernel::{Dims, Extent, Fused, Kind, Load, Space, Step, StepId, StepOp, Store, Window},
};

struct Lowering<'a, 'b> {
    draft: &'a Draft,
    domain: &'a Domain,
    buffers: &'a mut Buffers<'b>,
    kernel: Fused,
    /// Step of each member, as memory would hold it.
    steps: FxHashMap<ItemId, StepId>,
    /// Steps already made for operands from outside.
    operands: FxHashMap<(ItemId, Window), StepId>,
    /// Whether a NaN in this step may have unspecified bits.
    raw: Vec<bool>,
    /// The step with canonical NaNs.
    canonical: FxHashMap<StepId, StepId>,
    /// For each axis of the domain, its place in `outer ++ reduce ++ inner`.
    place: SmallVec<[usize; 4]>,
}

pub(crate) fn kernel(
    draft: &Draft,
    group: &Group,
    domain: &Domain,
    stored: &[bool],
    buffers: &mut Buffers<'_>,
) -> Fused {
    let (space, place) = space(domain);
    let kernel = Fused { kind: domain.kind, space, loads: Vec::new(), steps: Vec::new(), stores: Vec::new() };
    let mut lowering = Lowering {
        draft,
        domain,
        buffers,
        kernel,
        steps: FxHashMap::default(),
        operands: FxHashMap::default(),
        raw: Vec::new(),
        canonical: FxHashMap::default(),
        place,
    };
    for &(id, extent) in &group.members {
        let step = lowering.item(&draft.items[id], extent);
        lowering.steps.insert(id, step);
        if stored[id] {
            lowering.store(id, step, extent);
        }
    }
    let mut kernel = lowering.kernel;
    coalesce::kernel(&mut kernel);
    kernel
}

/// The space of a domain, and where each of the domain's axes went.
fn space(domain: &Domain) -> (Space, SmallVec<[usize; 4]>) {
    let first = domain.axes.iter().position(|a| a.1).unwrap_or(domain.axes.len());
    let mut space = Space::default();
    let mut groups: SmallVec<[(usize, usize); 4]> = SmallVec::new();
    for (i, &(n, reduced)) in domain.axes.iter().enumerate() {
        let (list, group) = match (reduced, i < first) {
            (true, _) => (&mut space.reduce, 1),
            (false, true) => (&mut space.outer, 0),
            (false, false) => (&mut space.inner, 2),
        };
        groups.push((group, list.len()));
        list.push(n);
    }
    let starts = [0, space.outer.len(), space.outer.len() + space.reduce.len()];
    let place = groups.into_iter().map(|(group, at)| starts[group] + at).collect();
    (space, place)
}

impl Lowering<'_, '_> {
    /// Strides of a layout whose long axes are the domain's long axes of this extent.
    fn window(&self, layout: &Layout, extent: Extent) -> Window {
        let mut strides: Dims<isize> = SmallVec::from_elem(0, self.kernel.space.rank());
        let mut long = layout.shape.iter().zip(&layout.strides).filter(|&(&n, _)| n != 1).map(|(_, &s)| s);
        for (axis, &(n, reduced)) in self.domain.axes.iter().enumerate() {
            if n != 1 && (extent == Extent::Full || !reduced) {
                strides[self.place[axis]] = long.next().unwrap_or(0);
            }
        }
        Window { offset: layout.offset, strides }
    }

    fn push(
        &mut self,
        op: StepOp,
        args: SmallVec<[StepId; 3]>,
        dtype: DType,
        extent: Extent,
        raw: bool,
    ) -> StepId {
        self.kernel.steps.push(Step { op, args, dtype, extent });
        self.raw.push(raw && (dtype.is_float() || dtype.is_complex()));
        (self.kernel.steps.len() - 1) as StepId
    }

    fn extent_of(&self, step: StepId) -> Extent {
        self.kernel.steps[step as usize].extent
    }

    /// The step that holds an operand. Operands of a reduction are read over the whole domain.
    fn operand(&mut self, arg: &Arg, reads: Extent) -> StepId {
        if let Some(&step) = self.steps.get(&arg.item) {
            return step;
        }
        // Nothing is read of an empty operand, whatever its strides; as a contiguous one it varies along its empty
        // axes and is never taken for a value that can be read once.
        let empty = arg.layout.shape.size() == 0;
        let window = if empty {
            self.window(&Layout::contiguous(arg.layout.shape.clone()), reads)
        } else {
            self.window(&arg.layout, reads)
        };
        let key = (arg.item, window.clone());
        if let Some(&step) = self.operands.get(&key) {
            return step;
        }
        let item = &self.draft.items[arg.item];
        let step = match item.work {
            Work::Op(Op::Scalar { slot, dtype }) => {
                self.push(StepOp::Scalar(slot as u16), smallvec![], dtype.compute(), Extent::One, false)
            }
            _ => {
                let dtype = item.ty.dtype;
                let extent = self.window_extent(&window);
                let load = self.load(arg.item, dtype, window);
                self.push(StepOp::Load(load), smallvec![], dtype.compute(), extent, false)
            }
        };
        self.operands.insert(key, step);
        step
    }

    fn load(&mut self, item: ItemId, dtype: DType, window: Window) -> u16 {
        let buffer = self.buffers.of(item);
        self.kernel.loads.push(Load { buffer, dtype, window });
        (self.kernel.loads.len() - 1) as u16
    }

    /// What a window varies over.
    fn window_extent(&self, window: &Window) -> Extent {
        let space = &self.kernel.space;
        let reduce = space.outer.len()..space.outer.len() + space.reduce.len();
        let moves = |axis: usize| window.strides[axis] != 0;
        if reduce.clone().any(moves) {
            Extent::Full
        } else if (0..space.rank()).any(moves) {
            if self.kernel.kind == Kind::Map { Extent::Full } else { Extent::Reduced }
        } else {
            Extent::One
        }
    }

    /// The step with every NaN canonical, for whoever can see its bits.
    fn visible(&mut self, step: StepId) -> StepId {
        if !self.raw[step as usize] {
            return step;
        }
        if let Some(&done) = self.canonical.get(&step) {
            return done;
        }
        let Step { dtype, extent, .. } = self.kernel.steps[step as usize];
        let done = self.push(StepOp::Canonical, smallvec![step], dtype, extent, false);
        self.canonical.insert(step, done);
        done
    }

    fn item(&mut self, item: &Item, extent: Extent) -> StepId {
        let reads = if item.is_reduce() { Extent::Full } else { extent };
        let op = match &item.work {
            Work::Copy | Work::Place { .. } => return self.operand(&item.args[0], reads),
            Work::Op(op) => op,
        };
        if let Op::Random { stream, .. } = op {
            return self.random(item, extent, *stream);
        }
        let mut args: SmallVec<[StepId; 3]> = item.args.iter().map(|a| self.operand(a, reads)).collect();
        // A value varies over what its operands vary over; a member that nobody varies is still one per point
        // when it is stored.
        let widest = args.iter().map(|&a| self.extent_of(a)).max().unwrap_or(Extent::One);
        let dtype = item.ty.dtype;
        match op {
            Op::Index { shape, axis } => {
                let window = self.window(&Layout::contiguous(shape.clone()), extent);
                let divisor = shape.dims()[axis + 1..].iter().map(|&n| n.max(1)).product();
                let op = StepOp::Index { window, divisor, modulus: shape[*axis] };
                self.push(op, smallvec![], DType::I64, extent, false)
            }
            Op::Map(map) => {
                if map.info().sees_nan(self.arg_dtype(item)) {
                    for arg in &mut args {
                        *arg = self.visible(*arg);
                    }
                }
                self.map(*map, args, dtype, widest)
            }
            Op::Cast(to) => self.cast(args[0], self.arg_dtype(item), *to),
            Op::Where => {
                for arg in &mut args[1..] {
                    *arg = self.visible(*arg);
                }
                self.push(StepOp::Where, args, dtype.compute(), widest, false)
            }
            Op::Reduce { op, .. } => {
                let mut arg = args[0];
                if self.extent_of(arg) != Extent::Full {
                    let raw = self.raw[arg as usize];
                    let dtype = self.kernel.steps[arg as usize].dtype;
                    arg = self.push(StepOp::Expand, smallvec![arg], dtype, Extent::Full, raw);
                }
                // Even where nothing is combined, the NaN of a row of one element is made canonical.
                let step =
                    self.push(StepOp::Reduce(*op), smallvec![arg], dtype.compute(), Extent::Reduced, true);
                self.rounded(step, dtype)
            }
            other => unreachable!("{} is not fused", other.name()),
        }
    }

    fn arg_dtype(&self, item: &Item) -> DType {
        self.draft.items[item.args[0].item].ty.dtype
    }

    fn map(&mut self, map: MapOp, args: SmallVec<[StepId; 3]>, dtype: DType, extent: Extent) -> StepId {
        let raw = map.info().nan == NanRule::Arithmetic;
        let step = self.push(StepOp::Map(map), args, dtype.compute(), extent, raw);
        if map.info().nan == NanRule::Exact { step } else { self.rounded(step, dtype) }
    }

    /// A value computed in `f32` rounded to a 16-bit dtype; other values as they are.
    fn rounded(&mut self, step: StepId, dtype: DType) -> StepId {
        if !dtype.is_half() {
            return step;
        }
        let extent = self.extent_of(step);
        self.push(StepOp::Cast(cast::Step::Round(dtype)), smallvec![step], DType::F32, extent, false)
    }

    fn cast(&mut self, arg: StepId, from: DType, to: DType) -> StepId {
        let extent = self.extent_of(arg);
        let mut step = arg;
        for primitive in cast::path(from, to) {
            let (dtype, raw) = match primitive {
                cast::Step::Plain(a, b) => (b, !a.is_int() && a != DType::Bool),
                cast::Step::Odd => (DType::F32, true),
                cast::Step::Round(_) => (DType::F32, false),
            };
            step = self.push(StepOp::Cast(primitive), smallvec![step], dtype, extent, raw);
        }
        step
    }

    fn random(&mut self, item: &Item, extent: Extent, stream: u32) -> StepId {
        let key = &item.args[0];
        let fixed =
            Window { offset: key.layout.offset, strides: SmallVec::from_elem(0, self.kernel.space.rank()) };
        let key = self.load(key.item, DType::U32, fixed);
        let window = self.window(&Layout::contiguous(item.ty.shape.clone()), extent);
        self.push(StepOp::Random { key, window, stream }, smallvec![], DType::U32, extent, false)
    }

    fn store(&mut self, id: ItemId, step: StepId, extent: Extent) {
        let ty = &self.draft.items[id].ty;
        let mut step = self.visible(step);
        if self.extent_of(step) < extent {
            let dtype = self.kernel.steps[step as usize].dtype;
            step = self.push(StepOp::Expand, smallvec![step], dtype, extent, false);
        }
        let window = self.window(&self.draft.items[id].stored_layout(), extent);
        let dtype = ty.dtype;
        let buffer = self.buffers.of(id);
        self.kernel.stores.push(Store { step, buffer, dtype, window });
    }
}

//! Graph to draft: views become layouts, equal computations become one, dead ones go, and reductions over
//! several axes become a row reduction followed by a column reduction.
//!
//! Nothing here changes a bit of any result: no algebra on floats, no constant folding, no removal of casts.

use crossover_core::{
    DType, Graph, Layout, NodeId, Result, Shape,
    graph::{Axes, Node, Op, Type},
    ops::reduce::ReduceOp,
};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::draft::{Arg, Draft, Item, ItemId, Work};

/// What identifies a computation: what it does, and to what.
type Key = (Work, SmallVec<[Arg; 3]>);

/// How the operands of a call lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// With any strides; host scalars are written as often as they are repeated.
    Strided,
    /// With any strides; host scalars are written once.
    Repeated,
    /// Row-major without gaps, from the start of a buffer.
    Whole,
}

struct Simplifier {
    draft: Draft,
    /// For every node of the graph, the elements it stands for.
    values: Vec<Option<Arg>>,
    seen: FxHashMap<Key, ItemId>,
}

pub(crate) fn graph(graph: &Graph) -> Result<Draft> {
    let live = live_nodes(graph);
    let mut s = Simplifier {
        draft: Draft::default(),
        values: vec![None; graph.nodes().len()],
        seen: FxHashMap::default(),
    };
    for (at, node) in graph.nodes().iter().enumerate() {
        // Inputs keep their numbers even when nothing reads them.
        if live[at] || matches!(node.op, Op::Input { .. }) {
            s.values[at] = Some(s.node(node));
        }
    }
    for &output in graph.outputs() {
        let value = s.value(output);
        let item = s.materialised(value);
        s.draft.outputs.push(item);
    }
    Ok(s.draft)
}

fn live_nodes(graph: &Graph) -> Vec<bool> {
    let mut live = vec![false; graph.nodes().len()];
    for output in graph.outputs() {
        live[output.index()] = true;
    }
    for (at, node) in graph.nodes().iter().enumerate().rev() {
        if live[at] {
            for arg in &node.args {
                live[arg.index()] = true;
            }
        }
    }
    live
}

impl Simplifier {
    fn value(&self, id: NodeId) -> Arg {
        self.values[id.index()].clone().expect("operands come before their users, and users keep them alive")
    }

    fn node(&mut self, node: &Node) -> Arg {
        if node.op.is_view() {
            let base = self.value(node.args[0]);
            return self.view(&node.op, base);
        }
        let mut args: SmallVec<[Arg; 3]> = node.args.iter().map(|a| self.value(*a)).collect();
        if node.op.is_call() {
            let form = match &node.op {
                Op::Custom(kernel) if kernel.is_elementwise() => Memory::Repeated,
                Op::Custom(_) => Memory::Whole,
                _ => Memory::Strided,
            };
            args = args.into_iter().map(|a| self.in_memory(a, form)).collect();
        }
        if let Op::Reduce { op, axes, .. } = &node.op {
            let rank = args[0].layout.shape.rank();
            let row = trailing(axes, rank);
            if row > 0 && row < axes.len() {
                // Trailing reduced axes form a row; the others form a column of its results. Between the two, 16-bit
                // floats stay wide: a reduction rounds once.
                let (others, last): (Axes, Axes) = axes.iter().copied().partition(|&a| a < rank - row);
                let wide = self.cast(args[0].clone(), node.ty.dtype.compute());
                let first = self.reduce(*op, wide, last);
                let both = self.reduce(*op, first, others);
                let kept = self.cast(both, node.ty.dtype);
                let layout = kept.layout.reshape(&node.ty.shape).expect("a fresh result is contiguous");
                return Arg { item: kept.item, layout };
            }
        }
        if let Op::Concat { axis } = node.op {
            let parts = self.place(axis, args, &node.ty);
            return self.unique(Work::Op(node.op.clone()), parts, node.ty.clone());
        }
        self.item(Work::Op(node.op.clone()), args, node.ty.clone())
    }

    /// Operands of a concatenation, each put in its place by an item of its own, so that whatever computes it can
    /// write there directly.
    fn place(&mut self, axis: usize, args: SmallVec<[Arg; 3]>, ty: &Type) -> SmallVec<[Arg; 3]> {
        let mut start = 0;
        let mut parts = SmallVec::new();
        for arg in args {
            let shape = arg.layout.shape.clone();
            let work = Work::Place { whole: ty.shape.clone(), axis, start };
            start += shape[axis];
            parts.push(self.unique(work, smallvec![arg], Type { dtype: ty.dtype, shape }));
        }
        parts
    }

    /// Conversion, if there is anything to convert. Indices of extremes stay what they are.
    fn cast(&mut self, value: Arg, dtype: DType) -> Arg {
        let from = self.draft.items[value.item].ty.dtype;
        if from == dtype || from.kind() != dtype.kind() {
            return value;
        }
        let ty = Type { dtype, shape: value.layout.shape.clone() };
        self.item(Work::Op(Op::Cast(dtype)), smallvec![value], ty)
    }

    /// A reduction that keeps its axes with length 1.
    fn reduce(&mut self, op: ReduceOp, value: Arg, axes: Axes) -> Arg {
        let dtype = op.result(self.draft.items[value.item].ty.dtype).expect("the graph was verified");
        let shape = value.layout.shape.reduced(&axes, true);
        let work = Work::Op(Op::Reduce { op, axes, keepdims: true });
        self.item(work, smallvec![value], Type { dtype, shape })
    }

    /// A view as a layout, or as a copy where strides cannot say it.
    fn view(&mut self, op: &Op, base: Arg) -> Arg {
        if let Some(layout) = op.view(&base.layout) {
            return Arg { item: base.item, layout };
        }
        let item = self.materialised(base);
        let shape = self.draft.items[item].ty.shape.clone();
        let layout =
            op.view(&Layout::contiguous(shape)).expect("strides express any view of contiguous elements");
        Arg { item, layout }
    }

    /// The operand of a call, which reads memory: a host scalar is written there first.
    fn in_memory(&mut self, value: Arg, form: Memory) -> Arg {
        let is_scalar = matches!(self.draft.items[value.item].work, Work::Op(Op::Scalar { .. }));
        if is_scalar && form == Memory::Repeated {
            // One element, which strides of 0 repeat.
            let one = Arg { item: value.item, layout: Layout::contiguous(Shape::scalar()) };
            return Arg { item: self.materialised(one), layout: value.layout };
        }
        // The first elements of a buffer need no copy to be at its start.
        let leads = value.layout.offset == 0 && value.layout.is_contiguous();
        if !is_scalar && (form != Memory::Whole || leads) {
            return value;
        }
        let shape = value.layout.shape.clone();
        Arg { item: self.materialised(value), layout: Layout::contiguous(shape) }
    }

    /// The item whose row-major result is exactly these elements.
    fn materialised(&mut self, value: Arg) -> ItemId {
        let item = &self.draft.items[value.item];
        let scalar = matches!(item.work, Work::Op(Op::Scalar { .. }));
        let whole = value.layout.shape.size() == item.ty.shape.size()
            && value.layout.offset == 0
            && value.layout.is_contiguous();
        if whole && !scalar {
            return value.item;
        }
        let ty = Type { dtype: item.ty.dtype, shape: value.layout.shape.clone() };
        self.item(Work::Copy, smallvec![value], ty).item
    }

    fn item(&mut self, work: Work, args: SmallVec<[Arg; 3]>, ty: Type) -> Arg {
        let layout = Layout::contiguous(ty.shape.clone());
        let key = (work, args);
        if let Some(&item) = self.seen.get(&key) {
            return Arg { item, layout };
        }
        self.seen.insert(key.clone(), self.draft.items.len());
        self.unique(key.0, key.1, ty)
    }

    /// An item that is not shared with an equal one.
    fn unique(&mut self, work: Work, args: SmallVec<[Arg; 3]>, ty: Type) -> Arg {
        let layout = Layout::contiguous(ty.shape.clone());
        self.draft.items.push(Item { work, args, ty });
        Arg { item: self.draft.items.len() - 1, layout }
    }
}

/// How many of the sorted axes form a suffix of all `rank` axes.
pub(crate) fn trailing(axes: &[usize], rank: usize) -> usize {
    axes.iter().rev().enumerate().take_while(|&(i, &a)| a + i + 1 == rank).count()
}

//! The form between graph and kernels: views have become layouts, and every item computes something.

use crossover_core::{
    Layout, Shape,
    graph::{Op, Type},
};
use smallvec::SmallVec;

/// An item of a draft, by position.
pub(crate) type ItemId = usize;

/// An operand: elements of an earlier item's row-major result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Arg {
    pub item: ItemId,
    /// Its shape is the one the user sees.
    pub layout: Layout,
}

/// What an item does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    /// An op of the graph that is not a view.
    Op(Op),
    /// The operand's elements in row-major order: a view that strides could not express.
    Copy,
    /// The operand's elements as part of a concatenation, which is the one item that reads this one.
    Place {
        /// Shape of the whole.
        whole: Shape,
        /// The joined axis.
        axis: usize,
        /// Where this part starts along the axis.
        start: usize,
    },
}

/// One computation.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub work: Work,
    pub args: SmallVec<[Arg; 3]>,
    pub ty: Type,
}

impl Item {
    /// Whether the item can be part of a fused kernel, elementwise.
    pub fn is_map(&self) -> bool {
        match &self.work {
            Work::Copy | Work::Place { .. } => true,
            Work::Op(op) => op.is_elementwise() || matches!(op, Op::Index { .. } | Op::Random { .. }),
        }
    }

    /// Whether the item is a reduction.
    pub fn is_reduce(&self) -> bool {
        matches!(self.work, Work::Op(Op::Reduce { .. }))
    }

    /// Whether the item is a value that needs no kernel: an input or a host scalar.
    pub fn is_source(&self) -> bool {
        matches!(self.work, Work::Op(Op::Input { .. } | Op::Scalar { .. }))
    }

    /// Where the item's elements lie in its buffer.
    pub fn stored_layout(&self) -> Layout {
        match &self.work {
            // A copy's elements are in the order of its operand's view, whatever shape they are read with later.
            Work::Copy => Layout::contiguous(self.args[0].layout.shape.clone()),
            Work::Place { whole, axis, start } => {
                let strides = whole.strides();
                let offset = start * strides[*axis] as usize;
                Layout { shape: self.ty.shape.clone(), strides, offset }
            }
            Work::Op(_) => Layout::contiguous(self.ty.shape.clone()),
        }
    }

    /// The shape the item's index space has: the operand's for a reduction or copy, the result's otherwise.
    pub fn space_shape(&self) -> &Shape {
        match self.work {
            Work::Copy | Work::Op(Op::Reduce { .. }) => &self.args[0].layout.shape,
            _ => &self.ty.shape,
        }
    }
}

/// A graph after simplification.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    pub items: Vec<Item>,
    /// Items whose results are the outputs, in order.
    pub outputs: Vec<ItemId>,
}

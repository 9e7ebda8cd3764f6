//! The compositions of the core crate, building arrays.
//!
//! While a call is being composed, its intermediate values are nodes and layouts without cells: nobody can assign
//! to them. Only the result becomes an array, with a cell of its own.

use std::{panic::Location, sync::Arc};

use crossover_core::{
    Layout, Scalar, Shape,
    compose::Build,
    graph::{Op, Type},
};
use smallvec::{SmallVec, smallvec};

use crate::{
    Array,
    node::{Args, Node, State},
};

/// A value while a call is being composed: a node, seen through a layout if there is one.
#[derive(Clone)]
pub(crate) struct Value {
    node: Arc<Node>,
    view: Option<Layout>,
}

impl Value {
    fn shape(&self) -> &Shape {
        self.view.as_ref().map_or(&self.node.ty.shape, |layout| &layout.shape)
    }

    fn layout(&self) -> Layout {
        self.view.clone().unwrap_or_else(|| Layout::contiguous(self.node.ty.shape.clone()))
    }

    /// The node of exactly these elements.
    fn to_node(&self, location: &'static Location<'static>) -> Arc<Node> {
        let Some(layout) = &self.view else { return self.node.clone() };
        let shape = layout.shape.clone();
        // A repeated scalar is the common case, and `expand` says it shorter.
        let op =
            if self.node.ty.shape.rank() == 0 { Op::Expand(shape.clone()) } else { Op::Strided(layout.clone()) };
        let ty = Type { dtype: self.node.ty.dtype, shape };
        Node::new(ty, State::Pending { op, args: smallvec![self.node.clone()] }, location)
    }
}

/// Adds nodes for a call at one place in the caller's code.
pub(crate) struct Composer {
    pub location: &'static Location<'static>,
}

impl Build for Composer {
    type Value = Value;

    fn push(&mut self, op: Op, args: &[&Value]) -> crossover_core::Result<Value> {
        if let (true, [base]) = (op.is_view(), args) {
            op.infer(&[&self.ty(base)])?;
            if let Some(layout) = op.view(&base.layout()) {
                return Ok(Value { node: base.node.clone(), view: Some(layout) });
            }
        }
        let args: Args = args.iter().map(|a| a.to_node(self.location)).collect();
        let ty = {
            let types: SmallVec<[&Type; 3]> = args.iter().map(|n| &n.ty).collect();
            op.infer(&types)?
        };
        Ok(Value { node: Node::new(ty, State::Pending { op, args }, self.location), view: None })
    }

    fn scalar(&mut self, value: Scalar) -> Value {
        let ty = Type { dtype: value.dtype(), shape: Shape::scalar() };
        Value { node: Node::new(ty, State::Scalar(value), self.location), view: None }
    }

    fn ty(&self, value: &Value) -> Type {
        Type { dtype: value.node.ty.dtype, shape: value.shape().clone() }
    }
}

impl Array {
    fn value(&self) -> Value {
        Value { node: self.version(), view: self.view().cloned() }
    }

    /// The result of a composition; the first operand's error; or the composition's error at the caller's location.
    #[track_caller]
    pub(crate) fn build<const N: usize>(
        operands: [&Array; N],
        body: impl FnOnce(&mut Composer, [&Value; N]) -> crossover_core::Result<Value>,
    ) -> Array {
        let location = Location::caller();
        if let Some(error) = operands.iter().find_map(|a| a.failure()) {
            return Array::failed(error);
        }
        let values = operands.map(Array::value);
        match body(&mut Composer { location }, values.each_ref()) {
            Ok(value) => Array::from_node(value.to_node(location)),
            Err(error) => Array::wrong(error, location),
        }
    }

    /// As [`Array::build`], for any number of operands.
    #[track_caller]
    pub(crate) fn build_many(
        operands: &[&Array],
        body: impl FnOnce(&mut Composer, &[Value]) -> crossover_core::Result<Value>,
    ) -> Array {
        let location = Location::caller();
        if let Some(error) = operands.iter().find_map(|a| a.failure()) {
            return Array::failed(error);
        }
        let values: Vec<Value> = operands.iter().map(|a| a.value()).collect();
        match body(&mut Composer { location }, &values) {
            Ok(value) => Array::from_node(value.to_node(location)),
            Err(error) => Array::wrong(error, location),
        }
    }

    /// The same elements now, in a cell of their own: later assignments to this array do not show there.
    pub(crate) fn snapshot(&self) -> Array {
        Array::from_node(self.node())
    }
}

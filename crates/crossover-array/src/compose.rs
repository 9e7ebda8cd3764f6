//! The compositions of the core crate, building arrays.
//!
//! While a call is being composed, its intermediate values are nodes and layouts without cells: nobody can assign
//! to them. Only the result becomes an array, with a cell of its own.

use std::{panic::Location, sync::Arc};

use crossover_core::{
    Layout, Scalar, Shape,
    compose::Build,
    graph::{Op, Type},
    ops::MapOp,
};
use smallvec::{SmallVec, smallvec};

use crate::{
    Array, Error,
    node::{Arg, Args, Node, State},
};

/// A value while a call is being composed.
#[derive(Clone)]
pub(crate) enum Value {
    /// A node, seen through a layout if there is one.
    Node { node: Arc<Node>, view: Option<Layout> },
    /// A host number, repeated to a shape.
    Scalar { value: Scalar, shape: Shape },
}

impl Value {
    /// The node of exactly these elements.
    fn to_node(&self, location: &'static Location<'static>) -> Arc<Node> {
        match self {
            Value::Node { node, view: None } => node.clone(),
            Value::Node { node, view: Some(layout) } => {
                let ty = Type { dtype: node.ty.dtype, shape: layout.shape.clone() };
                let args = smallvec![Arg::Node(node.clone())];
                Node::new(ty, State::Pending { op: Op::Strided(layout.clone()), args }, location)
            }
            Value::Scalar { value, shape } => {
                let ty = Type { dtype: value.dtype(), shape: shape.clone() };
                let state = match shape.rank() {
                    0 => State::Scalar(*value),
                    _ => {
                        State::Pending { op: Op::Expand(shape.clone()), args: smallvec![Arg::Scalar(*value)] }
                    }
                };
                Node::new(ty, state, location)
            }
        }
    }

    /// An operand of an elementwise node, which repeats scalars itself.
    fn to_arg(&self, op: &Op, location: &'static Location<'static>) -> Arg {
        match self {
            Value::Scalar { value, .. } if op.is_elementwise() => Arg::Scalar(*value),
            _ => Arg::Node(self.to_node(location)),
        }
    }

    fn error(&self) -> Option<Error> {
        match self {
            Value::Node { node, .. } => node.error(),
            Value::Scalar { .. } => None,
        }
    }
}

/// Adds nodes for a call at one place in the caller's code.
pub(crate) struct Composer {
    location: &'static Location<'static>,
}

impl Build for Composer {
    type Value = Value;

    fn push(&mut self, op: Op, args: &[&Value]) -> crossover_core::Result<Value> {
        let ty = {
            let types: SmallVec<[Type; 3]> = args.iter().map(|a| self.ty(a)).collect();
            let types: SmallVec<[&Type; 3]> = types.iter().collect();
            op.infer(&types)?
        };
        match (args, &op) {
            ([Value::Scalar { value, .. }], _) if op.is_view() => {
                return Ok(Value::Scalar { value: *value, shape: ty.shape });
            }
            ([Value::Scalar { value, .. }], Op::Cast(dtype)) => {
                return Ok(Value::Scalar { value: value.cast(*dtype), shape: ty.shape });
            }
            ([Value::Node { node, view }], _) if op.is_view() => {
                let base = view.clone().unwrap_or_else(|| Layout::contiguous(node.ty.shape.clone()));
                if let Some(layout) = op.view(&base) {
                    return Ok(Value::Node { node: node.clone(), view: Some(layout) });
                }
            }
            _ => {}
        }
        let args: Args = args.iter().map(|a| a.to_arg(&op, self.location)).collect();
        Ok(Value::Node { node: Node::new(ty, State::Pending { op, args }, self.location), view: None })
    }

    fn scalar(&mut self, value: Scalar) -> Value {
        Value::Scalar { value, shape: Shape::scalar() }
    }

    fn ty(&self, value: &Value) -> Type {
        match value {
            Value::Node { node, view: None } => node.ty.clone(),
            Value::Node { node, view: Some(layout) } => {
                Type { dtype: node.ty.dtype, shape: layout.shape.clone() }
            }
            Value::Scalar { value, shape } => Type { dtype: value.dtype(), shape: shape.clone() },
        }
    }
}

impl Array {
    fn value(&self) -> Value {
        let node = self.version();
        match node.constant() {
            Some(value) => Value::Scalar { value, shape: self.shape().clone() },
            None => Value::Node { node, view: self.view().cloned() },
        }
    }

    /// The node of exactly this array's elements.
    pub(crate) fn node(&self) -> Arc<Node> {
        let node = self.version();
        // Whole arrays keep their node, so that it is computed once for all.
        if self.view().is_none() {
            return node;
        }
        let location = node.location;
        self.value().to_node(location)
    }

    /// The result of a composition; the first operand's error; or the composition's error at the caller's location.
    #[track_caller]
    pub(crate) fn build<const N: usize>(
        operands: [&Array; N],
        body: impl FnOnce(&mut Composer, [&Value; N]) -> crossover_core::Result<Value>,
    ) -> Array {
        let values = operands.map(Array::value);
        composed(&values, Location::caller(), |composer| body(composer, values.each_ref()))
    }

    /// As [`Array::build`], for a composition with several results, which share what they have in common.
    #[track_caller]
    pub(crate) fn build_several<const N: usize, const M: usize>(
        operands: [&Array; N],
        body: impl FnOnce(&mut Composer, [&Value; N]) -> crossover_core::Result<[Value; M]>,
    ) -> [Array; M] {
        let location = Location::caller();
        let values = operands.map(Array::value);
        if let Some(error) = values.iter().find_map(Value::error) {
            return std::array::from_fn(|_| Array::failed(error.clone()));
        }
        match body(&mut Composer { location }, values.each_ref()) {
            Ok(results) => results.map(|value| Array::from_node(value.to_node(location))),
            Err(error) => {
                let error = Error::new(error, location);
                std::array::from_fn(|_| Array::failed(error.clone()))
            }
        }
    }

    /// As [`Array::build`], for any number of operands.
    #[track_caller]
    pub(crate) fn build_many(
        operands: &[&Array],
        body: impl FnOnce(&mut Composer, &[Value]) -> crossover_core::Result<Value>,
    ) -> Array {
        let values: Vec<Value> = operands.iter().map(|a| a.value()).collect();
        composed(&values, Location::caller(), |composer| body(composer, &values))
    }

    /// An elementwise op on operands that agree in shape and are of its dtype: nothing is left to compose.
    pub(crate) fn map(
        &self,
        op: MapOp,
        other: Option<Arg>,
        location: &'static Location<'static>,
    ) -> crossover_core::Result<Array> {
        let node = self.node();
        if let Some(error) = node.error() {
            return Ok(Array::failed(error));
        }
        let ty = Type { dtype: op.result(node.ty.dtype)?, shape: node.ty.shape.clone() };
        let args: Args = match other {
            Some(other) => Args::from_buf([Arg::Node(node), other]),
            None => smallvec![Arg::Node(node)],
        };
        Ok(Array::from_node(Node::new(ty, State::Pending { op: Op::Map(op), args }, location)))
    }

    /// The same elements now, in a cell of their own: later assignments to this array do not show there.
    pub(crate) fn snapshot(&self) -> Array {
        match self.failure() {
            Some(error) => Array::failed(error),
            None => Array::from_node(self.node()),
        }
    }
}

fn composed(
    operands: &[Value],
    location: &'static Location<'static>,
    body: impl FnOnce(&mut Composer) -> crossover_core::Result<Value>,
) -> Array {
    if let Some(error) = operands.iter().find_map(Value::error) {
        return Array::failed(error);
    }
    match body(&mut Composer { location }) {
        Ok(value) => Array::from_node(value.to_node(location)),
        Err(error) => Array::wrong(error, location),
    }
}

//! The compositions of the core crate, building arrays.
//!
//! While a call is being composed, its intermediate values are nodes and layouts without cells: nobody can assign
//! to them. Only the result becomes an array, with a cell of its own.

use std::{panic::Location, sync::Arc};

use crossover_core::{
    DType, Layout, Scalar, Shape,
    compose::Build,
    graph::{Op, Type},
    ops::MapOp,
};
use smallvec::{SmallVec, smallvec};

use crate::{
    Array, Error,
    node::{Arg, Args, Node, State, Turn},
};

/// A value while a call is being composed.
#[derive(Clone)]
pub(crate) enum Value {
    /// A node, seen through a layout if there is one.
    Node { node: Arc<Node>, view: Option<Layout> },
    /// A host number, repeated to a shape.
    Scalar { value: Scalar, shape: Shape },
    /// What becomes of a node on the way to an operation.
    Turned { node: Arc<Node>, turn: Turn },
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
            Value::Turned { node, turn } => {
                let ty = Type { dtype: turn.dtype(node.ty.dtype), shape: node.ty.shape.clone() };
                let args = match turn {
                    Turn::Sign => {
                        Args::from_buf([Arg::Scalar(Scalar::one(ty.dtype)), Arg::Node(node.clone())])
                    }
                    _ => smallvec![Arg::Node(node.clone())],
                };
                let op = match *turn {
                    Turn::Abs => Op::Map(MapOp::Abs),
                    Turn::Sign => Op::Map(MapOp::Copysign),
                    Turn::Cast(dtype) => Op::Cast(dtype),
                };
                Node::new(ty, State::Pending { op, args }, location)
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
            Value::Turned { node, turn } if op.is_elementwise() || matches!(op, Op::Reduce { .. }) => {
                Arg::Turned(node.clone(), *turn)
            }
            _ => Arg::Node(self.to_node(location)),
        }
    }

    fn shape(&self) -> &Shape {
        match self {
            Value::Node { view: Some(layout), .. } => &layout.shape,
            Value::Node { node, view: None } | Value::Turned { node, .. } => &node.ty.shape,
            Value::Scalar { shape, .. } => shape,
        }
    }

    fn error(&self) -> Option<Error> {
        match self {
            Value::Node { node, .. } | Value::Turned { node, .. } => node.error(),
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
        let ty = self.inferred(&op, args)?;
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
            // Until somebody needs it as a whole, it is part of what it is for.
            ([Value::Node { node, view: None }], Op::Cast(dtype)) => {
                return Ok(Value::Turned { node: node.clone(), turn: Turn::Cast(*dtype) });
            }
            ([Value::Node { node, view: None }], Op::Map(MapOp::Abs)) => {
                return Ok(Value::Turned { node: node.clone(), turn: Turn::Abs });
            }
            ([Value::Scalar { value, .. }, Value::Node { node, view: None }], Op::Map(MapOp::Copysign))
                if *value == Scalar::one(node.ty.dtype) =>
            {
                return Ok(Value::Turned { node: node.clone(), turn: Turn::Sign });
            }
            _ => {}
        }
        let args: Args = args.iter().map(|a| a.to_arg(&op, self.location)).collect();
        Ok(Value::Node { node: Node::new(ty, State::Pending { op, args }, self.location), view: None })
    }

    fn scalar(&mut self, value: Scalar) -> Value {
        Value::Scalar { value, shape: Shape::scalar() }
    }

    fn filled(&mut self, value: Scalar, like: &Value) -> crossover_core::Result<Value> {
        Ok(Value::Scalar { value, shape: like.shape().clone() })
    }

    fn dtype(&self, value: &Value) -> DType {
        match value {
            Value::Node { node, .. } => node.ty.dtype,
            Value::Turned { node, turn } => turn.dtype(node.ty.dtype),
            Value::Scalar { value, .. } => value.dtype(),
        }
    }

    fn shape<'a>(&'a self, value: &'a Value) -> &'a Shape {
        value.shape()
    }
}

impl Composer {
    /// The type of an op's result.
    fn inferred(&self, op: &Op, args: &[&Value]) -> crossover_core::Result<Type> {
        // Elementwise operations on operands that agree are most of all; their operands' types need not be brought together.
        if let (Op::Map(map), [first, others @ ..]) = (op, args)
            && map.arity() == args.len()
            && others
                .iter()
                .all(|other| self.dtype(other) == self.dtype(first) && other.shape() == first.shape())
        {
            return Ok(Type { dtype: map.result(self.dtype(first))?, shape: first.shape().clone() });
        }
        let types: SmallVec<[Type; 3]> = args.iter().map(|a| self.ty(a)).collect();
        let types: SmallVec<[&Type; 3]> = types.iter().collect();
        op.infer(&types)
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
        let dtype = op.result(self.dtype())?;
        Ok(match other {
            Some(other) => self.elementwise(
                Op::Map(op),
                dtype,
                |node| Args::from_buf([Arg::Node(node), other]),
                location,
            ),
            None => self.elementwise(Op::Map(op), dtype, |node| smallvec![Arg::Node(node)], location),
        })
    }

    /// The array of an elementwise op on operands made of this one, which fit the op.
    pub(crate) fn elementwise(
        &self,
        op: Op,
        dtype: DType,
        args: impl FnOnce(Arc<Node>) -> Args,
        location: &'static Location<'static>,
    ) -> Array {
        let node = self.node();
        if let Some(error) = node.error() {
            return Array::failed(error);
        }
        let ty = Type { dtype, shape: node.ty.shape.clone() };
        Array::from_node(Node::new(ty, State::Pending { op, args: args(node) }, location))
    }

    /// The same elements now, in a cell of their own: later assignments to this array do not show there.
    pub(crate) fn snapshot(&self) -> Array {
        Array::from_node(self.node())
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

//! A whole graph, one node at a time.

use super::{
    Tensor, convolve::convolve, elementwise::map, fft::fft, linalg::linalg, lookup, matmul::matmul, movement,
    reduce,
};
use crate::{
    DType, Element, Error, Graph, Result, Scalar, Shape,
    custom::{CustomKernel, Room, Values},
    graph::{Node, Op},
    ops::select,
    philox,
};

/// Most elements that one node may have here. The interpreter keeps every node's value; this keeps a graph that
/// expands a scalar to a petabyte an error instead of an abort.
pub const MAX_ELEMENTS: usize = 1 << 28;

/// Values of the outputs of a graph.
///
/// ```
/// use crossover_core::{Graph, Shape, reference::{Tensor, evaluate}};
/// let graph = Graph::parse("graph {
///   %x = input f32[2, 3]
///   %sum = sum %x axes [1]
///   return %sum
/// }")?;
/// let x = Tensor::from_slice([2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(evaluate(&graph, &[x])?[0].to_vec::<f32>()?, [6.0, 15.0]);
/// # Ok::<(), crossover_core::Error>(())
/// ```
pub fn evaluate(graph: &Graph, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    graph.verify()?;
    check_inputs(graph, inputs)?;
    let mut values: Vec<Tensor> = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        if node.ty.shape.size() > MAX_ELEMENTS {
            let what =
                format!("{} has more than {MAX_ELEMENTS} elements, the most the reference holds", node.ty);
            return Err(Error::Value { op: node.op.name(), what });
        }
        let args: Vec<&Tensor> = node.args.iter().map(|a| &values[a.index()]).collect();
        let value = match &node.op {
            Op::Input { index, .. } => inputs[*index as usize].clone(),
            Op::Scalar { slot, .. } => elements(node, [graph.scalars()[*slot as usize]])?,
            _ => evaluate_node(node, &args)?,
        };
        debug_assert_eq!(value.ty(), node.ty);
        values.push(value);
    }
    Ok(graph.outputs().iter().map(|o| values[o.index()].clone()).collect())
}

fn check_inputs(graph: &Graph, inputs: &[Tensor]) -> Result<()> {
    let op = "input";
    if inputs.len() != graph.input_count() {
        let what = format!("the graph has {} inputs, {} given", graph.input_count(), inputs.len());
        return Err(Error::Value { op, what });
    }
    for node in graph.nodes() {
        let Op::Input { index, ty } = &node.op else { continue };
        let given = &inputs[*index as usize];
        if given.dtype != ty.dtype {
            return Err(Error::Mixed { op, left: ty.dtype, right: given.dtype });
        }
        if given.shape != ty.shape {
            let (left, right) = (ty.shape.clone(), given.shape.clone());
            return Err(Error::Shape {
                op,
                left,
                right,
                why: "the first is the graph's, the second was given",
            });
        }
        given.check()?;
        if given.dtype == DType::Bool && given.bytes.iter().any(|&b| b > 1) {
            let what = format!("input {index} is bool and holds a byte other than 0 and 1");
            return Err(Error::Value { op, what });
        }
    }
    Ok(())
}

/// A node's value from values in row-major order.
fn elements(node: &Node, values: impl IntoIterator<Item = Scalar>) -> Result<Tensor> {
    Tensor::from_scalars(node.ty.dtype, node.ty.shape.clone(), values)
}

fn evaluate_node(node: &Node, args: &[&Tensor]) -> Result<Tensor> {
    let size = node.ty.shape.size();
    match &node.op {
        Op::Index { shape, axis } => elements(node, (0..size).map(|at| index_along(shape, *axis, at))),
        Op::Random { stream, .. } => {
            let key = [0, 1].map(|i| args[0].at(i).bits()[0] as u32);
            let word = |at: usize| philox::word(at as u64, *stream, key) as u64;
            elements(node, (0..size).map(|at| Scalar::from_bits(DType::U32, [word(at), 0])))
        }
        Op::Sample(sampler) => {
            let key = [0, 1].map(|i| args[0].at(i).bits()[0] as u32);
            let drawn =
                |at: usize| sampler.draw(f64::from_scalar(args[1].at(at)), key, at as u64).to_scalar();
            elements(node, (0..size).map(drawn))
        }
        Op::Map(op) => {
            let mut operands = [Scalar::zero(DType::Bool); 3];
            elements(
                node,
                (0..size).map(|at| {
                    for (operand, arg) in operands.iter_mut().zip(args) {
                        *operand = arg.at(at);
                    }
                    map(*op, &operands[..args.len()])
                }),
            )
        }
        Op::Cast(dtype) => elements(node, args[0].scalars().map(|value| value.cast(*dtype))),
        Op::Where => {
            elements(node, (0..size).map(|at| select::scalar(args[0].at(at), args[1].at(at), args[2].at(at))))
        }
        Op::Reduce { op, axes, .. } => elements(node, reduce::reduce(*op, axes, args[0])),
        Op::Scan { op, axis } => elements(node, reduce::scan(*op, *axis, args[0])),
        Op::Concat { axis } => elements(node, movement::concat(*axis, &node.ty.shape, args)),
        Op::Take { axis } => elements(node, movement::take(*axis, &node.ty.shape, args[0], args[1])),
        Op::Gather { axis } => elements(node, lookup::gather(*axis, args[0], args[1])),
        Op::Scatter { op, axis } => elements(node, lookup::scatter(*op, *axis, args[0], args[1], args[2])),
        Op::Sort { axis, descending, indices } => {
            elements(node, lookup::sort(*axis, *descending, *indices, args[0]))
        }
        Op::TopK { axis, descending, .. } => {
            elements(node, lookup::top(*axis, *descending, &node.ty.shape, args[0]))
        }
        Op::SearchSorted { right } => elements(node, lookup::search(*right, args[0], args[1])),
        Op::Compress { count } => elements(node, lookup::compress(*count, args[0], args[1])),
        Op::MatMul => elements(node, matmul(args[0], args[1])),
        Op::Fft { kind, axes, scale } => elements(node, fft(*kind, axes, *scale, &node.ty.shape, args[0])),
        Op::Linalg(op) => elements(node, linalg(*op, args)?),
        Op::Custom(kernel) => custom(kernel, node, args),
        Op::Convolve { mode, boundary } => elements(node, convolve(*mode, *boundary, &node.ty.shape, args)),
        view => elements(node, movement::view(view, &node.ty.shape, args[0])),
    }
}

/// What the closure of a user's kernel computes.
fn custom(kernel: &CustomKernel, node: &Node, args: &[&Tensor]) -> Result<Tensor> {
    let rooms: Vec<Room> = args.iter().map(|arg| Room::new(&arg.bytes)).collect();
    let values: Vec<Values<'_>> =
        args.iter().zip(&rooms).map(|(arg, room)| Values::new(arg.dtype, &arg.shape, room.bytes())).collect();
    let mut out = Room::default();
    out.resize(node.ty.shape.size() * node.ty.dtype.size());
    kernel.run(&values, &node.ty.shape, out.bytes_mut())?;
    Ok(Tensor { dtype: node.ty.dtype, shape: node.ty.shape.clone(), bytes: out.bytes().to_vec() })
}

fn index_along(shape: &Shape, axis: usize, position: usize) -> Scalar {
    Scalar::from_bits(DType::I64, [movement::unravel(shape, position)[axis] as u64, 0])
}

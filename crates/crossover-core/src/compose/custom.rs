//! Calls of kernels that users write.

use super::{Build, expand};
use crate::{Result, Shape, custom::CustomKernel, graph::Op};

/// A call of a custom kernel; operands of an elementwise one are repeated to their common shape.
///
/// ```
/// use crossover_core::{DType, Graph, Shape, compose, custom::CustomKernel};
/// let scale = CustomKernel::builder("scale")
///     .input("a", DType::F32)
///     .input("x", DType::F32)
///     .output("out", DType::F32)
///     .elementwise("out = a * x", |a: f32, x: f32| a * x)
///     .build()?;
/// let mut graph = Graph::new();
/// let a = graph.input(DType::F32, Shape::scalar())?;
/// let x = graph.input(DType::F32, Shape::from([5]))?;
/// let y = compose::custom(&mut graph, &scale, &[&a, &x])?;
/// assert_eq!(graph.node(y).ty.shape, Shape::from([5]));
/// # Ok::<(), crossover_core::Error>(())
/// ```
pub fn custom<B: Build>(b: &mut B, kernel: &CustomKernel, args: &[&B::Value]) -> Result<B::Value> {
    let op = Op::Custom(kernel.clone());
    if !kernel.is_elementwise() || args.len() != kernel.inputs().len() {
        return b.push(op, args);
    }
    let mut shape = Shape::scalar();
    for arg in args {
        shape = shape.broadcast(kernel.name(), &b.ty(arg).shape)?;
    }
    let mut repeated = Vec::with_capacity(args.len());
    for arg in args {
        repeated.push(expand(b, arg, &shape)?);
    }
    b.push(op, &repeated.iter().collect::<Vec<_>>())
}

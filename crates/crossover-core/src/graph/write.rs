//! The text form of a graph, one node per line, operands before attributes:
//!
//! ```text
//! graph {
//!   %0 = input f32[4096, 1024]
//!   %1 = scalar f32 2.5
//!   %2 = expand %1 to [4096, 1024]
//!   %3 = multiply %0, %2
//!   %4 = sum %3 axes [1] keepdims
//!   %5 = cast %4 to f16
//!   return %5
//! }
//! ```
//!
//! `{:#}` adds the type of every result (`%3: f32[4096, 1024] = …`), which the reader checks. Slices are written
//! `start:stop:step` as in Python, without a stop where the walk back ends at index 0, and `startxlength` for the
//! one thing Python cannot say, an entry repeated.
//!
//! A kernel that a user has written is `custom %0, %1 kernel saxpy`. Text holds its name and not its code, so reading it
//! needs the kernel: [`Graph::parse_with`].

use std::fmt::{self, Display};

use super::{Graph, Node, NodeId, Op, literal};
use crate::{Layout, Span, ops::fft::FftKind};

/// The word for kernels that users have written.
pub(super) const CUSTOM: &str = "custom";

impl Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

impl Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("graph {\n")?;
        let mut slots = 0;
        for (at, node) in self.nodes.iter().enumerate() {
            write!(f, "  %{at}")?;
            if f.alternate() {
                write!(f, ": {}", node.ty)?;
            }
            // A user's kernel could have any name, so it is no word of its own.
            let word = if matches!(node.op, Op::Custom(_)) { CUSTOM } else { node.op.name() };
            write!(f, " = {word}")?;
            join(f, " ", &node.args)?;
            match node.op {
                Op::Scalar { slot, dtype } => {
                    let value =
                        self.scalars.get(slot as usize).map_or("?".to_string(), |v| literal::write(*v));
                    write!(f, " {dtype} {value}")?;
                    if slot != slots {
                        write!(f, " slot {slot}")?;
                    }
                    slots = slots.max(slot.saturating_add(1));
                }
                _ => attributes(f, node)?,
            }
            f.write_str("\n")?;
        }
        if !self.outputs.is_empty() {
            f.write_str("  return")?;
            join(f, " ", &self.outputs)?;
            f.write_str("\n")?;
        }
        f.write_str("}\n")
    }
}

fn attributes(f: &mut fmt::Formatter<'_>, node: &Node) -> fmt::Result {
    match &node.op {
        Op::Input { ty, .. } => write!(f, " {ty}"),
        Op::Index { shape, axis } => write!(f, " {shape} axis {axis}"),
        Op::Random { shape, stream } => write!(f, " to {shape} stream {stream}"),
        Op::Sample(sampler) => write!(f, " {sampler}"),
        Op::Cast(dtype) => write!(f, " to {dtype}"),
        Op::Reduce { axes, keepdims, .. } => {
            write!(f, " axes {axes:?}{}", if *keepdims { " keepdims" } else { "" })
        }
        Op::Scan { axis, .. }
        | Op::Concat { axis }
        | Op::Take { axis }
        | Op::Gather { axis }
        | Op::Scatter { axis, .. } => write!(f, " axis {axis}"),
        Op::Sort { axis, descending, .. } => {
            write!(f, " axis {axis}{}", if *descending { " descending" } else { "" })
        }
        Op::TopK { axis, k, descending } => {
            write!(f, " axis {axis} first {k}{}", if *descending { " descending" } else { "" })
        }
        Op::SearchSorted { right } => f.write_str(if *right { " right" } else { "" }),
        Op::Compress { count } => write!(f, " count {count}"),
        Op::Reshape(shape) | Op::Expand(shape) => write!(f, " to {shape}"),
        Op::Permute(axes) | Op::Flip(axes) => write!(f, " axes {axes:?}"),
        Op::Slice(spans) => {
            f.write_str(" [")?;
            for (i, span) in spans.iter().enumerate() {
                f.write_str(if i > 0 { ", " } else { "" })?;
                write_span(f, span)?;
            }
            f.write_str("]")
        }
        Op::Strided(Layout { shape, strides, offset }) => {
            write!(f, " to {shape} strides {strides:?} offset {offset}")
        }
        Op::Fft { kind, axes, scale } => {
            write!(f, " axes {axes:?}")?;
            if let FftKind::Hermitian { length } = kind {
                write!(f, " length {length}")?;
            }
            write!(f, " scale {}", scale.name())
        }
        Op::Linalg(op) => op.flag().map_or(Ok(()), |flag| write!(f, " {flag}")),
        Op::Convolve { mode, boundary } => write!(f, " mode {} boundary {}", mode.name(), boundary.name()),
        Op::Custom(kernel) => write!(f, " kernel {}", kernel.name()),
        Op::Scalar { .. } | Op::Map(_) | Op::Where | Op::MatMul => Ok(()),
    }
}

fn write_span(f: &mut fmt::Formatter<'_>, span: &Span) -> fmt::Result {
    let Span { start, step, length } = *span;
    if step == 0 {
        return write!(f, "{start}x{length}");
    }
    let stop = start as i128 + step as i128 * length as i128;
    write!(f, "{start}:")?;
    if stop >= 0 {
        write!(f, "{stop}")?;
    }
    if step == 1 { Ok(()) } else { write!(f, ":{step}") }
}

fn join(f: &mut fmt::Formatter<'_>, before: &str, ids: &[NodeId]) -> fmt::Result {
    for (i, id) in ids.iter().enumerate() {
        write!(f, "{}{id}", if i > 0 { ", " } else { before })?;
    }
    Ok(())
}

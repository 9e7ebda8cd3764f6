//! The type of a node from the types of its operands, or what is wrong with them.

use super::{Axes, Op, Type, lookup};
use crate::{
    DType, Error, Layout, Result, Shape,
    ops::{cast, convolve, reduce::ReduceOp},
};

impl Op {
    /// Number of operands, or `None` where it varies.
    pub fn arity(&self) -> Option<usize> {
        Some(match self {
            Op::Input { .. } | Op::Scalar { .. } | Op::Index { .. } => 0,
            Op::Map(op) => op.arity(),
            Op::Where | Op::Scatter { .. } | Op::Convolve { .. } => 3,
            Op::Take { .. } | Op::Gather { .. } | Op::SearchSorted { .. } | Op::Compress { .. } => 2,
            Op::Sample(_) | Op::MatMul => 2,
            Op::Linalg(op) => op.arity(),
            Op::Custom(kernel) => kernel.inputs().len(),
            Op::Concat { .. } => return None,
            _ => 1,
        })
    }

    /// The type of the result.
    pub fn infer(&self, args: &[&Type]) -> Result<Type> {
        let op = self.name();
        if self.arity().map_or(args.is_empty(), |n| n != args.len()) {
            let wanted = self.arity().map_or("at least 1".to_string(), |n| n.to_string());
            return Err(Error::Value { op, what: format!("takes {wanted} operands, {} given", args.len()) });
        }
        match self {
            Op::Input { ty, .. } => {
                Shape::checked(op, ty.shape.iter().copied())?;
                Ok(ty.clone())
            }
            Op::Scalar { dtype, .. } => Ok(Type { dtype: *dtype, shape: Shape::scalar() }),
            Op::Index { shape, axis } => {
                check_axes(op, shape, &[*axis])?;
                Ok(Type { dtype: DType::I64, shape: Shape::checked(op, shape.iter().copied())? })
            }
            Op::Random { shape, .. } => {
                check_dtype(op, args[0], DType::U32)?;
                check_shape(op, args[0], &Shape::from([2]), "the key is u32[2]")?;
                Ok(Type { dtype: DType::U32, shape: Shape::checked(op, shape.iter().copied())? })
            }
            Op::Sample(_) => {
                check_dtype(op, args[0], DType::U32)?;
                check_shape(op, args[0], &Shape::from([2]), "the key is u32[2]")?;
                check_dtype(op, args[1], DType::F64)?;
                Ok(args[1].clone())
            }
            Op::Map(map) => {
                same_type(op, args)?;
                Ok(Type { dtype: map.result(args[0].dtype)?, shape: args[0].shape.clone() })
            }
            Op::Cast(dtype) => {
                cast::check(args[0].dtype, *dtype)?;
                Ok(Type { dtype: *dtype, shape: args[0].shape.clone() })
            }
            Op::Where => {
                check_dtype(op, args[0], DType::Bool)?;
                same_type(op, &args[1..])?;
                check_shape(op, args[0], &args[1].shape, "the mask has the shape of the values")?;
                Ok(args[1].clone())
            }
            Op::Reduce { op: reduce, axes, keepdims } => infer_reduce(*reduce, axes, *keepdims, args[0]),
            Op::Scan { op: scan, axis } => {
                check_axes(op, &args[0].shape, &[*axis])?;
                if !matches!(scan, ReduceOp::Sum | ReduceOp::Prod) {
                    return Err(Error::Value { op, what: format!("{scan} cannot be scanned") });
                }
                Ok(Type { dtype: scan.result(args[0].dtype)?, shape: args[0].shape.clone() })
            }
            Op::Concat { axis } => infer_concat(*axis, args),
            Op::Take { axis } => {
                check_axes(op, &args[0].shape, &[*axis])?;
                check_dtype(op, args[1], DType::I64)?;
                if args[1].shape.rank() != 1 {
                    let what = format!("indices have one axis, {} given", args[1].shape);
                    return Err(Error::Value { op, what });
                }
                if args[0].shape[*axis] == 0 && args[1].shape[0] > 0 {
                    return Err(Error::Index { op, index: 0, axis: *axis, length: 0 });
                }
                let mut shape = args[0].shape.clone();
                shape.dims_mut()[*axis] = args[1].shape[0];
                Ok(Type { dtype: args[0].dtype, shape: Shape::checked(op, shape.iter().copied())? })
            }
            Op::Gather { .. }
            | Op::Scatter { .. }
            | Op::Sort { .. }
            | Op::TopK { .. }
            | Op::SearchSorted { .. }
            | Op::Compress { .. } => lookup::infer(self, args),
            Op::MatMul => infer_matmul(args[0], args[1]),
            Op::Fft { kind, axes, .. } => kind.infer(axes, args[0]),
            Op::Linalg(op) => op.infer(args),
            Op::Convolve { mode, .. } => convolve::infer(*mode, args),
            Op::Custom(kernel) => kernel.infer(args),
            _ => Ok(Type { dtype: args[0].dtype, shape: self.infer_view(&args[0].shape)? }),
        }
    }

    fn infer_view(&self, from: &Shape) -> Result<Shape> {
        let op = self.name();
        match self {
            Op::Reshape(shape) => {
                Shape::checked(op, shape.iter().copied())?;
                if shape.size() != from.size() {
                    return Err(Error::Shape {
                        op,
                        left: from.clone(),
                        right: shape.clone(),
                        why: "both must have the same number of elements",
                    });
                }
                Ok(shape.clone())
            }
            Op::Permute(axes) => {
                check_axes(op, from, axes)?;
                let mut sorted = axes.clone();
                sorted.sort_unstable();
                if sorted.iter().enumerate().any(|(i, &a)| i != a) || axes.len() != from.rank() {
                    let what = format!("axes {axes:?} are not a permutation of the axes of {from}");
                    return Err(Error::Value { op, what });
                }
                Ok(axes.iter().map(|&a| from[a]).collect())
            }
            Op::Expand(shape) => {
                Shape::checked(op, shape.iter().copied())?;
                Layout::contiguous(from.clone()).expand(shape).map(|l| l.shape)
            }
            Op::Flip(axes) => {
                check_axes(op, from, axes)?;
                if (1..axes.len()).any(|i| axes[..i].contains(&axes[i])) {
                    return Err(Error::Value { op, what: format!("axes {axes:?} name an axis twice") });
                }
                Ok(from.clone())
            }
            Op::Slice(spans) => {
                if spans.len() != from.rank() {
                    let what = format!("{} spans for {} axes", spans.len(), from.rank());
                    return Err(Error::Value { op, what });
                }
                for (axis, (span, &length)) in spans.iter().zip(from.iter()).enumerate() {
                    let reach = (span.length.max(1) as i128 - 1) * span.step as i128;
                    let last = span.start as i128 + reach;
                    let inside = (0..length as i128).contains(&last) && span.start < length;
                    if span.length > 0 && !inside {
                        return Err(Error::Index {
                            op,
                            index: last.clamp(i64::MIN as i128, i64::MAX as i128) as i64,
                            axis,
                            length,
                        });
                    }
                }
                Shape::checked(op, spans.iter().map(|s| s.length))
            }
            Op::Strided(layout) => {
                Shape::checked(op, layout.shape.iter().copied())?;
                check_strided(layout, from)?;
                Ok(layout.shape.clone())
            }
            _ => Err(Error::Value { op, what: "is not a view".to_string() }),
        }
    }
}

fn check_strided(layout: &Layout, from: &Shape) -> Result<()> {
    let op = "strided";
    if layout.strides.len() != layout.shape.rank() {
        let what = format!("{} strides for {} axes", layout.strides.len(), layout.shape.rank());
        return Err(Error::Value { op, what });
    }
    if layout.shape.size() == 0 {
        if layout.offset > from.size() {
            let what = format!("offset {} is outside the {} elements", layout.offset, from.size());
            return Err(Error::Value { op, what });
        }
        return Ok(());
    }
    let (mut low, mut high) = (layout.offset as i128, layout.offset as i128);
    for (&n, &stride) in layout.shape.iter().zip(&layout.strides) {
        let reach = (n as i128 - 1) * stride as i128;
        if reach < 0 {
            low += reach;
        } else {
            high += reach;
        }
    }
    if low < 0 || high >= from.size() as i128 {
        let what = format!("window reaches elements {low} to {high} of {}", from.size());
        return Err(Error::Value { op, what });
    }
    Ok(())
}

pub(super) fn check_axes(op: &'static str, shape: &Shape, axes: &[usize]) -> Result<()> {
    match axes.iter().find(|&&a| a >= shape.rank()) {
        Some(&axis) => Err(Error::Axis { op, axis: axis as i64, shape: shape.clone() }),
        None => Ok(()),
    }
}

pub(super) fn check_dtype(op: &'static str, given: &Type, wanted: DType) -> Result<()> {
    if given.dtype == wanted {
        return Ok(());
    }
    Err(Error::DType { op, dtype: given.dtype, supported: wanted.to_string() })
}

fn check_shape(op: &'static str, given: &Type, wanted: &Shape, why: &'static str) -> Result<()> {
    if given.shape == *wanted {
        return Ok(());
    }
    Err(Error::Shape { op, left: given.shape.clone(), right: wanted.clone(), why })
}

fn same_type(op: &'static str, args: &[&Type]) -> Result<()> {
    for other in &args[1..] {
        if other.dtype != args[0].dtype {
            return Err(Error::Mixed { op, left: args[0].dtype, right: other.dtype });
        }
        check_shape(op, args[0], &other.shape, "elementwise operands have one shape; expand first")?;
    }
    Ok(())
}

fn infer_reduce(op: ReduceOp, axes: &Axes, keepdims: bool, arg: &Type) -> Result<Type> {
    let name = op.name();
    check_axes(name, &arg.shape, axes)?;
    if axes.is_empty() || axes.windows(2).any(|w| w[0] >= w[1]) {
        let what = format!("axes {axes:?} must be sorted, distinct and at least one");
        return Err(Error::Value { op: name, what });
    }
    if op.is_arg() && axes.len() != 1 && axes.len() != arg.shape.rank() {
        let what = format!("index of {} over axes {axes:?}: give one axis or all", arg.shape);
        return Err(Error::Value { op: name, what });
    }
    let empty = axes.iter().any(|&a| arg.shape[a] == 0);
    let reduced = arg.shape.reduced(axes, keepdims);
    if empty && !op.has_identity() && reduced.size() > 0 {
        let what = format!("{} has no elements along axes {axes:?}, and {name} has no identity", arg.shape);
        return Err(Error::Value { op: name, what });
    }
    Ok(Type { dtype: op.result(arg.dtype)?, shape: reduced })
}

fn infer_concat(axis: usize, args: &[&Type]) -> Result<Type> {
    let op = "concat";
    check_axes(op, &args[0].shape, &[axis])?;
    let mut total = 0usize;
    for arg in args {
        if arg.dtype != args[0].dtype {
            return Err(Error::Mixed { op, left: args[0].dtype, right: arg.dtype });
        }
        let fits = arg.shape.rank() == args[0].shape.rank()
            && arg.shape.iter().zip(args[0].shape.iter()).enumerate().all(|(i, (a, b))| i == axis || a == b);
        if !fits {
            return Err(Error::Shape {
                op,
                left: args[0].shape.clone(),
                right: arg.shape.clone(),
                why: "all axes but the joined one must be equal",
            });
        }
        total = total
            .checked_add(arg.shape[axis])
            .ok_or_else(|| Error::TooLarge { op, shape: arg.shape.to_string() })?;
    }
    let mut shape = args[0].shape.clone();
    shape.dims_mut()[axis] = total;
    Ok(Type { dtype: args[0].dtype, shape: Shape::checked(op, shape.iter().copied())? })
}

fn infer_matmul(a: &Type, b: &Type) -> Result<Type> {
    let op = "matmul";
    let wrong = |why| Error::Shape { op, left: a.shape.clone(), right: b.shape.clone(), why };
    if a.dtype != b.dtype {
        return Err(Error::Mixed { op, left: a.dtype, right: b.dtype });
    }
    if a.dtype == DType::Bool {
        let supported = crate::DTypeSet::NUMBER.to_string();
        return Err(Error::DType { op, dtype: a.dtype, supported });
    }
    let rank = a.shape.rank();
    if rank < 2 || b.shape.rank() != rank {
        return Err(wrong("both have the same number of axes, at least two"));
    }
    let lead = rank - 2;
    if a.shape.dims()[..lead] != b.shape.dims()[..lead] {
        return Err(wrong("leading axes must be equal; expand first"));
    }
    if a.shape[rank - 1] != b.shape[rank - 2] {
        return Err(wrong("columns of the first must equal rows of the second"));
    }
    let mut shape = a.shape.clone();
    shape.dims_mut()[rank - 1] = b.shape[rank - 1];
    Ok(Type { dtype: a.dtype, shape: Shape::checked(op, shape.iter().copied())? })
}

//! Types of the ops that look elements up, scatter, sort, search and select them.

use super::{
    Op, Type,
    infer::{check_axes, check_dtype},
};
use crate::{DType, Error, Result, Shape};

/// The type of one of these ops; the number of operands was checked before.
pub(super) fn infer(op: &Op, args: &[&Type]) -> Result<Type> {
    let name = op.name();
    match op {
        Op::Gather { axis } => {
            check_indices(name, *axis, args[0], args[1])?;
            if args[0].shape[*axis] == 0 && args[1].shape.size() > 0 {
                return Err(Error::Index { op: name, index: 0, axis: *axis, length: 0 });
            }
            Ok(Type { dtype: args[0].dtype, shape: args[1].shape.clone() })
        }
        Op::Scatter { op: scatter, axis } => {
            check_indices(name, *axis, args[0], args[1])?;
            scatter.check(args[0].dtype)?;
            check_same(name, args[0].dtype, args[2].dtype)?;
            if args[2].shape != args[1].shape {
                return Err(Error::Shape {
                    op: name,
                    left: args[1].shape.clone(),
                    right: args[2].shape.clone(),
                    why: "there is one value per index; expand first",
                });
            }
            Ok(args[0].clone())
        }
        Op::Sort { axis, indices, .. } => {
            check_axes(name, &args[0].shape, &[*axis])?;
            let dtype = if *indices { DType::I64 } else { args[0].dtype };
            Ok(Type { dtype, shape: args[0].shape.clone() })
        }
        Op::TopK { axis, k, .. } => {
            check_axes(name, &args[0].shape, &[*axis])?;
            let shape = &args[0].shape;
            if *k > shape[*axis] {
                let what =
                    format!("the {k} first of axis {axis} of {shape}, which has {} elements", shape[*axis]);
                return Err(Error::Value { op: name, what });
            }
            let shape = shape.iter().enumerate().map(|(i, &n)| if i == *axis { *k } else { n }).collect();
            Ok(Type { dtype: DType::I64, shape })
        }
        Op::SearchSorted { .. } => {
            one_axis(name, "the sorted line", &args[0].shape)?;
            check_same(name, args[0].dtype, args[1].dtype)?;
            Ok(Type { dtype: DType::I64, shape: args[1].shape.clone() })
        }
        Op::Compress { count } => infer_compress(*count, args[0], args[1]),
        _ => Err(Error::Value { op: name, what: "looks nothing up".to_string() }),
    }
}

fn infer_compress(count: usize, mask: &Type, values: &Type) -> Result<Type> {
    let op = "compress";
    check_dtype(op, mask, DType::Bool)?;
    one_axis(op, "the mask", &mask.shape)?;
    if values.shape.rank() == 0 || values.shape[0] != mask.shape[0] {
        return Err(Error::Shape {
            op,
            left: mask.shape.clone(),
            right: values.shape.clone(),
            why: "the mask has one element per entry along the first axis of the values",
        });
    }
    if count > mask.shape[0] {
        let what = format!("{count} entries of {} are asked for", mask.shape[0]);
        return Err(Error::Value { op, what });
    }
    let mut shape = values.shape.clone();
    shape.dims_mut()[0] = count;
    Ok(Type { dtype: values.dtype, shape })
}

/// Indices are `i64`, with the lengths of the values except along the axis.
fn check_indices(op: &'static str, axis: usize, values: &Type, indices: &Type) -> Result<()> {
    check_axes(op, &values.shape, &[axis])?;
    check_dtype(op, indices, DType::I64)?;
    let (from, at) = (&values.shape, &indices.shape);
    let fits = from.rank() == at.rank() && (0..from.rank()).all(|i| i == axis || from[i] == at[i]);
    if fits {
        return Ok(());
    }
    let why = "all axes but the indexed one must be equal; expand first";
    Err(Error::Shape { op, left: from.clone(), right: at.clone(), why })
}

fn check_same(op: &'static str, left: DType, right: DType) -> Result<()> {
    if left == right { Ok(()) } else { Err(Error::Mixed { op, left, right }) }
}

fn one_axis(op: &'static str, what: &str, shape: &Shape) -> Result<()> {
    if shape.rank() == 1 {
        return Ok(());
    }
    Err(Error::Value { op, what: format!("{what} has one axis, {shape} given") })
}

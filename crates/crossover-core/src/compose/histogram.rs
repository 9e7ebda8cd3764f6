//! Counting: `bincount` of small whole numbers, `histogram` between edges.

use super::{
    Build, binary, cast, expand, number, scatter::scatter_along, select, take::reshaped, with_number,
};
use crate::{DType, Error, Result, Scalar, Shape, graph::Op, ops::MapOp, ops::scatter::ScatterOp};

/// How often each of 0, 1, … below `length` occurs, as `i64`; or the sums of the weights beside them, as `f64` (or
/// `c128`). Other numbers count nowhere.
pub fn bincount<B: Build>(
    b: &mut B,
    x: &B::Value,
    weights: Option<&B::Value>,
    length: usize,
) -> Result<B::Value> {
    let op = "bincount";
    let ty = b.ty(x);
    let size = ty.shape.size();
    let flat = reshaped(b, x, Shape::from([size]))?;
    let weights = match weights {
        None => number(b, 1.into(), DType::I64)?,
        Some(weights) => {
            let given = b.ty(weights);
            if given.shape != ty.shape {
                let why = "there is one weight per element";
                return Err(Error::Shape { op, left: ty.shape, right: given.shape, why });
            }
            let dtype = DType::F64.promote(given.dtype);
            let wide = cast(b, weights, dtype)?;
            reshaped(b, &wide, Shape::from([size]))?
        }
    };
    let dtype = b.dtype(&weights);
    let zero = b.scalar(Scalar::zero(dtype));
    let bins = expand(b, &zero, &Shape::checked(op, [length])?)?;
    scatter_along(b, ScatterOp::Add, &bins, &flat, &weights, 0)
}

/// How many elements lie between neighbouring edges, which rise: from each edge on to before the next, the last
/// one included. As `i64`, or the sums of the weights as [`bincount`] makes them.
pub fn histogram<B: Build>(
    b: &mut B,
    x: &B::Value,
    edges: &B::Value,
    weights: Option<&B::Value>,
) -> Result<B::Value> {
    let op = "histogram";
    let at = b.ty(edges).shape;
    if at.rank() != 1 || at[0] < 2 {
        let what = format!("edges have one axis of at least two, {at} given");
        return Err(Error::Value { op, what });
    }
    let bins = at[0] - 1;
    let dtype = b.dtype(x).promote(b.dtype(edges));
    let (wide, edges) = (cast(b, x, dtype)?, cast(b, edges, dtype)?);
    let after = b.push(Op::SearchSorted { right: true }, &[&edges, &wide])?;
    let bin = with_number(b, MapOp::Subtract, &after, 1)?;
    // The last edge belongs to the last bin; beyond it, and before the first, there is none.
    let last = super::roll::slice(b, &edges, 0, crate::Span { start: bins, step: 1, length: 1 })?;
    let last = reshaped(b, &last, Shape::scalar())?;
    let is_last = binary(b, MapOp::Equal, &wide, &last)?;
    let final_bin = number(b, (bins - 1).into(), DType::I64)?;
    let bin = select(b, &is_last, &final_bin, &bin)?;
    bincount(b, &bin, weights, bins)
}

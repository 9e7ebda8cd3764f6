//! `tril` and `triu`: one side of a diagonal of matrices, zeros on the other.

use super::{Build, binary, select, with_number};
use crate::{Error, Result, Scalar, Shape, graph::Op, ops::MapOp};

/// Elements on and below a diagonal of the last two axes; `offset` moves the diagonal to the right.
pub fn tril<B: Build>(b: &mut B, x: &B::Value, offset: i64) -> Result<B::Value> {
    side(b, "tril", x, offset, MapOp::LessEqual)
}

/// Elements on and above a diagonal of the last two axes; `offset` moves the diagonal to the right.
pub fn triu<B: Build>(b: &mut B, x: &B::Value, offset: i64) -> Result<B::Value> {
    side(b, "triu", x, offset, MapOp::GreaterEqual)
}

fn side<B: Build>(b: &mut B, op: &'static str, x: &B::Value, offset: i64, keep: MapOp) -> Result<B::Value> {
    let ty = b.ty(x);
    let rank = ty.shape.rank();
    if rank < 2 {
        let what = format!("{} has fewer than the two axes of a matrix", ty.shape);
        return Err(Error::Value { op, what });
    }
    let matrix = Shape::from(&ty.shape.dims()[rank - 2..]);
    // Far outside, every offset is the same; this way adding it does not wrap.
    let reach = matrix[0].max(matrix[1]) as i64;
    let row = b.push(Op::Index { shape: matrix.clone(), axis: 0 }, &[])?;
    let column = b.push(Op::Index { shape: matrix, axis: 1 }, &[])?;
    let diagonal = with_number(b, MapOp::Add, &row, offset.clamp(-reach, reach))?;
    let kept = binary(b, keep, &column, &diagonal)?;
    let zero = b.scalar(Scalar::zero(ty.dtype));
    select(b, &kept, x, &zero)
}

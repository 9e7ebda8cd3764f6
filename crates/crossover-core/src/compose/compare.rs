//! Comparisons of signed integers with `u64`. No integer dtype holds both, and `f64` holds neither exactly; as in NumPy 2 the answer is
//! that of the numbers themselves.

use super::{Build, binary, cast, unary, with_number};
use crate::{DType, Result, ops::MapOp};

/// The comparison, if it is one of a signed integer with a `u64`, in either order.
pub(super) fn mixed<B: Build>(b: &mut B, op: MapOp, x: &B::Value, y: &B::Value) -> Result<Option<B::Value>> {
    let (op, signed, unsigned) = match (b.dtype(x), b.dtype(y)) {
        (dtype, DType::U64) if dtype.is_signed_int() => (op, x, y),
        (DType::U64, dtype) if dtype.is_signed_int() => (mirrored(op), y, x),
        _ => return Ok(None),
    };
    let holds_below_zero = match op {
        MapOp::Less | MapOp::LessEqual | MapOp::NotEqual => true,
        MapOp::Greater | MapOp::GreaterEqual | MapOp::Equal => false,
        _ => return Ok(None),
    };
    let negative = with_number(b, MapOp::Less, signed, 0)?;
    let wide = cast(b, signed, DType::U64)?;
    let compared = binary(b, op, &wide, unsigned)?;
    let answer = if holds_below_zero {
        binary(b, MapOp::BitwiseOr, &negative, &compared)?
    } else {
        let counts = unary(b, MapOp::LogicalNot, &negative)?;
        binary(b, MapOp::BitwiseAnd, &counts, &compared)?
    };
    Ok(Some(answer))
}

/// The comparison with its operands exchanged.
fn mirrored(op: MapOp) -> MapOp {
    match op {
        MapOp::Less => MapOp::Greater,
        MapOp::LessEqual => MapOp::GreaterEqual,
        MapOp::Greater => MapOp::Less,
        MapOp::GreaterEqual => MapOp::LessEqual,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Graph, Shape,
        reference::{Tensor, evaluate},
    };

    #[test]
    fn signed_and_unsigned_numbers_compare_as_the_numbers_they_are() {
        let signed = [-1i64, i64::MIN, i64::MAX, i64::MAX, 0, 1 << 53];
        let unsigned = [u64::MAX, 1 << 63, 1 << 63, i64::MAX as u64, 0, (1 << 53) + 1];
        type Holds = fn(&i128, &i128) -> bool;
        let all: [(MapOp, Holds); 6] = [
            (MapOp::Less, i128::lt),
            (MapOp::LessEqual, i128::le),
            (MapOp::Greater, i128::gt),
            (MapOp::GreaterEqual, i128::ge),
            (MapOp::Equal, i128::eq),
            (MapOp::NotEqual, i128::ne),
        ];
        for (op, holds) in all {
            let mut graph = Graph::new();
            let x = graph.input(DType::I64, Shape::from([6])).unwrap();
            let y = graph.input(DType::U64, Shape::from([6])).unwrap();
            for (x, y) in [(x, y), (y, x)] {
                let answer = binary(&mut graph, op, &x, &y).unwrap();
                graph.output(answer);
            }
            let given =
                [Tensor::from_slice([6], &signed).unwrap(), Tensor::from_slice([6], &unsigned).unwrap()];
            let found = evaluate(&graph, &given).unwrap();
            let pairs = || signed.iter().zip(&unsigned).map(|(&x, &y)| (i128::from(x), i128::from(y)));
            let forth: Vec<bool> = pairs().map(|(x, y)| holds(&x, &y)).collect();
            let back: Vec<bool> = pairs().map(|(x, y)| holds(&y, &x)).collect();
            assert_eq!(found[0].to_vec::<bool>().unwrap(), forth, "{}", op.name());
            assert_eq!(found[1].to_vec::<bool>().unwrap(), back, "{}", op.name());
        }
        let mut graph = Graph::new();
        let x = graph.input(DType::I8, Shape::from([1])).unwrap();
        let y = graph.input(DType::U64, Shape::from([2, 1])).unwrap();
        let less = binary(&mut graph, MapOp::Less, &x, &y).unwrap();
        assert_eq!(graph.node(less).ty.shape, Shape::from([2, 1]));
    }
}

//! `nextafter` of 16-bit floats, whose neighbours in `f32` would round back to where they came from.
//!
//! A step of 5/8 of the larger of `|x|·2^-p` and the smallest number, with p the digits behind the point, rounds to the
//! neighbour: `|x|·2^-p` is one to two units in the last place, so the step is above half a unit and below one and a half; right
//! above a power of two, where the unit below is half as long, it is still below one and a half of those.

use super::{Build, binary, cast, number, select, unary};
use crate::{DType, Result, ops::MapOp};

/// The neighbour of `x` towards `y`, both of the 16-bit dtype `dtype` and of one shape.
pub(super) fn narrow<B: Build>(b: &mut B, x: &B::Value, y: &B::Value, dtype: DType) -> Result<B::Value> {
    let (digits, least, most) = match dtype {
        DType::F16 => (10, 2f64.powi(-24), 65504.0),
        _ => (7, 2f64.powi(-133), 3.3895313892515355e38),
    };
    let (x, y) = (cast(b, x, DType::F32)?, cast(b, y, DType::F32)?);
    let constant = |b: &mut B, value: f64| number(b, value.into(), DType::F32);
    let size = unary(b, MapOp::Abs, &x)?;
    let unit = constant(b, 2f64.powi(-digits))?;
    let unit = binary(b, MapOp::Multiply, &size, &unit)?;
    let least = constant(b, least)?;
    let unit = binary(b, MapOp::Maximum, &unit, &least)?;
    let share = constant(b, 0.625)?;
    let step = binary(b, MapOp::Multiply, &unit, &share)?;
    let (above, below) = (binary(b, MapOp::Add, &x, &step)?, binary(b, MapOp::Subtract, &x, &step)?);
    let rises = binary(b, MapOp::Less, &x, &y)?;
    let moved = select(b, &rises, &above, &below)?;
    // An infinity moves to the largest number of its sign.
    let infinity = constant(b, f64::INFINITY)?;
    let endless = binary(b, MapOp::Equal, &size, &infinity)?;
    let most = constant(b, most)?;
    let most = binary(b, MapOp::Copysign, &most, &x)?;
    let moved = select(b, &endless, &most, &moved)?;
    // Equal operands give the second, and so does a second that is NaN.
    let equal = binary(b, MapOp::Equal, &x, &y)?;
    let unordered = binary(b, MapOp::NotEqual, &y, &y)?;
    let stays = binary(b, MapOp::BitwiseOr, &equal, &unordered)?;
    let value = select(b, &stays, &y, &moved)?;
    cast(b, &value, dtype)
}

//! Random integers of any range, a pure function of key and position.
//!
//! A word sequence w is a fraction of 96 bits (128 for ranges above 2^32), and the integer is low + ⌊w · n⌋ for a range
//! of n integers, computed exactly. No integer is more probable than another by more than one part in 2^64, and none at all if
//! n is a power of two; nothing is rejected and nothing divided.

use super::{Build, binary, cast, with_number};
use crate::{DType, DTypeSet, Error, Number, Result, Shape, graph::Op, ops::MapOp};

/// Integers from `low` to `high`, both included.
pub fn integers<B: Build>(
    b: &mut B,
    key: &B::Value,
    shape: &Shape,
    low: i128,
    high: i128,
    dtype: DType,
) -> Result<B::Value> {
    let op = "integers";
    if !dtype.is_int() {
        return Err(Error::DType { op, dtype, supported: DTypeSet::INT.to_string() });
    }
    if low > high {
        return Err(Error::Value { op, what: format!("there is no integer from {low} to {high}") });
    }
    if let Some(bound) = [low, high].into_iter().find(|&v| Number::Int(v).overflows(dtype)) {
        return Err(Error::Value { op, what: format!("{bound} does not fit into {dtype}") });
    }
    // At most 2^64: both bounds fit into 64 bits.
    let count = (high - low) as u128 + 1;
    let scaled = below(b, key, shape, count)?;
    // Both steps wrap, and so end at the right integer modulo the width of the dtype.
    let offset = cast(b, &scaled, dtype)?;
    let start = b.scalar(Number::Int(low).to_scalar(dtype));
    binary(b, MapOp::Add, &offset, &start)
}

/// ⌊w · count⌋ as `u64`.
fn below<B: Build>(b: &mut B, key: &B::Value, shape: &Shape, count: u128) -> Result<B::Value> {
    let word = |b: &mut B, stream| {
        let word = b.push(Op::Random { shape: shape.clone(), stream }, &[key])?;
        cast(b, &word, DType::U64)
    };
    let Ok(count) = u64::try_from(count) else {
        // All of 64 bits: two words as they are.
        let (high, low) = (word(b, 0)?, word(b, 1)?);
        let high = with_number(b, MapOp::BitwiseLeftShift, &high, 32)?;
        return binary(b, MapOp::BitwiseOr, &high, &low);
    };
    let words = if count <= 1 << 32 { 3 } else { 4 };
    let (upper, lower) = (count >> 32, count & 0xffff_ffff);
    let mut carry: Option<B::Value> = None;
    // Long multiplication, least significant word first. The carry is always below `count`, and
    // ⌊(word · count + carry) / 2^32⌋ is the next: no sum below leaves 64 bits.
    for stream in (0..words).rev() {
        let word = word(b, stream)?;
        let mut low = with_number(b, MapOp::Multiply, &word, lower)?;
        if let Some(carry) = &carry {
            let part = with_number(b, MapOp::BitwiseAnd, carry, 0xffff_ffffu32)?;
            low = binary(b, MapOp::Add, &low, &part)?;
        }
        let mut next = with_number(b, MapOp::BitwiseRightShift, &low, 32)?;
        if upper > 0 {
            let high = with_number(b, MapOp::Multiply, &word, upper)?;
            next = binary(b, MapOp::Add, &next, &high)?;
            if let Some(carry) = &carry {
                let part = with_number(b, MapOp::BitwiseRightShift, carry, 32)?;
                next = binary(b, MapOp::Add, &next, &part)?;
            }
        }
        carry = Some(next);
    }
    carry.ok_or_else(|| Error::Value { op: "integers", what: "no words were drawn".to_string() })
}

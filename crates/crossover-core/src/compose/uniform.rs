//! Uniform random numbers in [0, 1), a pure function of key and position.

use super::{Build, binary, cast, with_number};
use crate::{DType, DTypeSet, Error, Result, Shape, graph::Op, ops::MapOp};

/// 24 random bits over 2^24 for `f32`, 53 over 2^53 for `f64`, and as many as they hold for 16-bit dtypes: 11 for `f16`, 8 for `bf16`.
pub fn uniform<B: Build>(b: &mut B, key: &B::Value, shape: &Shape, dtype: DType) -> Result<B::Value> {
    from_streams(b, key, shape, dtype, 0)
}

/// Uniform numbers from the given stream (`f64` also takes the next one).
pub(super) fn from_streams<B: Build>(
    b: &mut B,
    key: &B::Value,
    shape: &Shape,
    dtype: DType,
    stream: u32,
) -> Result<B::Value> {
    let bits = |b: &mut B, stream| b.push(Op::Random { shape: shape.clone(), stream }, &[key]);
    match dtype {
        DType::F64 => {
            let (high, low) = (bits(b, stream)?, bits(b, stream + 1)?);
            let high = with_number(b, MapOp::BitwiseRightShift, &high, 5)?;
            let low = with_number(b, MapOp::BitwiseRightShift, &low, 6)?;
            let (high, low) = (cast(b, &high, DType::F64)?, cast(b, &low, DType::F64)?);
            // 27 bits and 26 bits: both steps are exact.
            let high = with_number(b, MapOp::Multiply, &high, 67_108_864.0)?;
            let sum = binary(b, MapOp::Add, &high, &low)?;
            with_number(b, MapOp::Multiply, &sum, 2f64.powi(-53))
        }
        DType::F16 | DType::BF16 | DType::F32 => {
            let kept = if dtype == DType::F32 {
                24
            } else if dtype == DType::F16 {
                11
            } else {
                8
            };
            let word = bits(b, stream)?;
            // Only as many bits as the dtype holds, so that 1 is never reached by rounding.
            let word = with_number(b, MapOp::BitwiseRightShift, &word, 32 - kept)?;
            let real = cast(b, &word, DType::F32)?;
            let value = with_number(b, MapOp::Multiply, &real, 2f64.powi(-kept))?;
            cast(b, &value, dtype)
        }
        _ => Err(Error::DType { op: "uniform", dtype, supported: DTypeSet::FLOAT.to_string() }),
    }
}

//! Random numbers of distributions with a parameter per element; see [`crate::sample`] for their definition.

use super::{Build, cast, expand};
use crate::{DType, DTypeSet, Error, Result, Shape, graph::Op, sample::Sampler};

/// Gamma numbers of scale 1, drawn in `f64` and rounded once.
pub fn gamma<B: Build>(
    b: &mut B,
    key: &B::Value,
    parameter: &B::Value,
    shape: &Shape,
    dtype: DType,
) -> Result<B::Value> {
    if !dtype.is_float() {
        return Err(Error::DType { op: "gamma", dtype, supported: DTypeSet::FLOAT.to_string() });
    }
    sample(b, Sampler::Gamma, key, parameter, shape, dtype)
}

/// Poisson numbers as integers, which saturate, or as floats, which round.
pub fn poisson<B: Build>(
    b: &mut B,
    key: &B::Value,
    mean: &B::Value,
    shape: &Shape,
    dtype: DType,
) -> Result<B::Value> {
    if !(dtype.is_float() || dtype.is_int()) {
        return Err(Error::DType { op: "poisson", dtype, supported: DTypeSet::REAL.to_string() });
    }
    sample(b, Sampler::Poisson, key, mean, shape, dtype)
}

fn sample<B: Build>(
    b: &mut B,
    sampler: Sampler,
    key: &B::Value,
    parameter: &B::Value,
    shape: &Shape,
    dtype: DType,
) -> Result<B::Value> {
    let wide = cast(b, parameter, DType::F64)?;
    let parameter = expand(b, &wide, shape)?;
    let drawn = b.push(Op::Sample(sampler), &[key, &parameter])?;
    cast(b, &drawn, dtype)
}

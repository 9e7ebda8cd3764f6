//! Inputs by name: short to write in a case file, the same on every machine.

use crate::{DType, Number, Result, Scalar, Shape, philox};

use super::Tensor;

/// How the elements of an input are made.
#[derive(Debug, Clone, PartialEq)]
pub enum Pattern {
    /// The given values.
    Values(Vec<Scalar>),
    /// One value everywhere.
    Fill(Scalar),
    /// `start + i * step`, computed in `f64` and converted; complex numbers get the negative as imaginary part.
    Ramp {
        /// Element 0.
        start: f64,
        /// Distance between neighbours.
        step: f64,
    },
    /// Moderate values: floats in [-4, 4), integers in [-100, 100] or [0, 200].
    Random(u64),
    /// Any bits at all.
    Bits(u64),
    /// The values of [`edges`], over and over.
    Edges,
    /// Moderate values with every fourth replaced by an edge.
    Mixed(u64),
}

impl Pattern {
    /// The input.
    pub fn tensor(&self, dtype: DType, shape: Shape) -> Result<Tensor> {
        let edges = edges(dtype);
        let size = shape.size();
        match self {
            Pattern::Values(values) => Tensor::from_scalars(dtype, shape, values.iter().copied()),
            _ => Tensor::from_scalars(dtype, shape, (0..size).map(|i| self.element(dtype, &edges, i))),
        }
    }

    fn element(&self, dtype: DType, edges: &[Scalar], i: usize) -> Scalar {
        match self {
            Pattern::Values(values) => values[i],
            Pattern::Fill(value) => *value,
            Pattern::Ramp { start, step } => {
                let value = start + i as f64 * step;
                let number =
                    if dtype.is_complex() { Number::Complex(value, -value) } else { Number::Float(value) };
                number.to_scalar(dtype)
            }
            Pattern::Random(seed) => moderate(dtype, *seed, i),
            Pattern::Bits(seed) => any_bits(dtype, *seed, i),
            Pattern::Edges => edges[i % edges.len()],
            Pattern::Mixed(seed) => match word(*seed, 9, i) {
                pick if pick % 4 == 0 => edges[(pick / 4) as usize % edges.len()],
                _ => moderate(dtype, *seed, i),
            },
        }
    }
}

fn word(seed: u64, stream: u32, i: usize) -> u32 {
    philox::word(i as u64, stream, [seed as u32, (seed >> 32) as u32])
}

fn moderate(dtype: DType, seed: u64, i: usize) -> Scalar {
    // 24 bits over 2^21: every value is exact in f32.
    let float = |stream| (word(seed, stream, i) >> 8) as f64 / 2_097_152.0 - 4.0;
    let whole = word(seed, 0, i) % 201;
    let number = match dtype {
        DType::Bool => Number::Bool(whole % 2 == 1),
        _ if dtype.is_unsigned_int() => Number::Int(whole as i128),
        _ if dtype.is_int() => Number::Int(whole as i128 - 100),
        _ if dtype.is_complex() => Number::Complex(float(0), float(1)),
        _ => Number::Float(float(0)),
    };
    number.to_scalar(dtype)
}

fn any_bits(dtype: DType, seed: u64, i: usize) -> Scalar {
    let long = |stream| (word(seed, stream, i) as u64) << 32 | word(seed, stream + 1, i) as u64;
    match dtype {
        DType::Bool => Scalar::from_bits(dtype, [long(0) & 1, 0]),
        _ => Scalar::from_bits(dtype, [long(0), long(2)]),
    }
}

/// Values at which something usually goes wrong.
pub fn edges(dtype: DType) -> Vec<Scalar> {
    let whole = |values: &[i128]| values.iter().map(|&v| Number::Int(v).to_scalar(dtype)).collect::<Vec<_>>();
    let bits = dtype.size() as u32 * 8;
    match dtype {
        DType::Bool => vec![Scalar::zero(dtype), Scalar::one(dtype)],
        _ if dtype.is_signed_int() => {
            let top = 1i128 << (bits - 1);
            whole(&[0, 1, -1, -top, top - 1, 2, -2, 7, -7, 1 - top, bits as i128 - 1, bits as i128])
        }
        _ if dtype.is_int() => {
            let top = 1i128 << bits;
            whole(&[0, 1, top - 1, 2, 7, top / 2, top / 2 - 1, bits as i128 - 1, bits as i128])
        }
        _ if dtype.is_complex() => {
            let parts: Vec<u64> = edges(dtype.real()).into_iter().map(|s| s.bits()[0]).collect();
            let n = parts.len();
            // 5 and the number of parts have no common divisor, so both parts run through all of them.
            (0..n).map(|i| Scalar::from_bits(dtype, [parts[i], parts[(i * 5 + 3) % n]])).collect()
        }
        _ => float_edges(dtype),
    }
}

fn float_edges(dtype: DType) -> Vec<Scalar> {
    // Bits of infinity: the exponent field, whose lowest bit is the smallest normal number.
    let (infinity, sign) = match dtype {
        DType::F16 => (0x7c00u64, 1 << 15),
        DType::BF16 => (0x7f80, 1 << 15),
        DType::F32 => (0x7f80_0000, 1 << 31),
        _ => (0x7ff0_0000_0000_0000, 1 << 63),
    };
    let quiet = (infinity >> 1) & !infinity;
    let normal = infinity & !(infinity << 1);
    let magnitudes = [0, 1, normal, normal - 1, infinity - 1, infinity, infinity | quiet, infinity | 1];
    let special = magnitudes.into_iter().flat_map(|m| [m, m | sign]);
    let plain = [1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, 100.0, -100.25, 1e-3, 1e10];
    special
        .map(|bits| Scalar::from_bits(dtype, [bits, 0]))
        .chain(plain.into_iter().map(|x| Number::Float(x).to_scalar(dtype)))
        .collect()
}

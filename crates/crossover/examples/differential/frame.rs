//! How a case crosses to Python: a length, a header in JSON, and the bytes of its arrays, row-major and little-endian.
//!
//! The header names dtype and shape of every array in the order of the bytes; a case that failed has `error` and no
//! results.

use std::io::{self, Write};

use crossover::{Array, Complex, DType, Element, Result, bf16, f16};
use serde_json::{Value, json};

use crate::case::Case;

/// Writes one frame.
pub fn write(out: &mut impl Write, index: u64, case: &Case) -> io::Result<()> {
    let mut bytes = Vec::new();
    let operands = put(&case.operands, &mut bytes).map_err(io::Error::other)?;
    // Results are read here, so an error of the evaluation shows here too.
    let mut computed = Vec::new();
    let results = case.results.clone().and_then(|arrays| put(&arrays, &mut computed));
    let mut header = json!({"index": index, "parameters": case.parameters, "operands": operands});
    match results {
        Ok(results) => {
            header["results"] = results;
            bytes.append(&mut computed);
        }
        Err(error) => header["error"] = error.to_string().into(),
    }
    let header = header.to_string();
    out.write_all(&(header.len() as u32).to_le_bytes())?;
    out.write_all(&(bytes.len() as u32).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    out.write_all(&bytes)
}

/// Appends the elements; returns dtypes and shapes.
fn put(arrays: &[Array], bytes: &mut Vec<u8>) -> Result<Value> {
    let mut types = Vec::new();
    for array in arrays {
        append(array, bytes)?;
        types.push(json!([array.dtype().name(), array.shape().dims()]));
    }
    Ok(types.into())
}

fn append(array: &Array, bytes: &mut Vec<u8>) -> Result<()> {
    fn typed<T: Element>(array: &Array, bytes: &mut Vec<u8>) -> Result<()> {
        for value in array.to_vec::<T>()? {
            let start = bytes.len();
            bytes.resize(start + T::DTYPE.size(), 0);
            value.to_scalar().write_to(&mut bytes[start..]);
        }
        Ok(())
    }
    array.check()?;
    match array.dtype() {
        DType::Bool => typed::<bool>(array, bytes),
        DType::I8 => typed::<i8>(array, bytes),
        DType::I16 => typed::<i16>(array, bytes),
        DType::I32 => typed::<i32>(array, bytes),
        DType::I64 => typed::<i64>(array, bytes),
        DType::U8 => typed::<u8>(array, bytes),
        DType::U16 => typed::<u16>(array, bytes),
        DType::U32 => typed::<u32>(array, bytes),
        DType::U64 => typed::<u64>(array, bytes),
        DType::F16 => typed::<f16>(array, bytes),
        DType::BF16 => typed::<bf16>(array, bytes),
        DType::F32 => typed::<f32>(array, bytes),
        DType::F64 => typed::<f64>(array, bytes),
        DType::C64 => typed::<Complex<f32>>(array, bytes),
        DType::C128 => typed::<Complex<f64>>(array, bytes),
    }
}

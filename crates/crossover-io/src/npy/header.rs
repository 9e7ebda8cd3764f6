//! The header of a `.npy` file.

use std::io::Read;

use crossover_core::{DType, Shape};

use super::literal::{Literal, parse};
use crate::{data::sized, error::Fault};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Longest header that is read, in bytes. NumPy stops at 10,000; an array of 64 axes needs about 1,400.
const LONGEST: usize = 1 << 16;

/// Most axes; NumPy has 64.
const MOST_AXES: usize = 64;

/// Data starts at a multiple of this, in bytes, in files that are written.
const ALIGN: usize = 64;

/// What a `.npy` file says about its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Type of the elements.
    pub dtype: DType,
    /// Lengths of the axes.
    pub shape: Shape,
    /// Whether the first axis varies fastest: the data is that of the transposed array, row by row.
    pub fortran_order: bool,
    /// Whether numbers start with their most significant byte.
    pub big_endian: bool,
    /// Bytes of data.
    pub bytes: usize,
}

impl Header {
    /// Reads magic number, version and dictionary from a file of `length` bytes.
    pub(crate) fn read(from: &mut impl Read, length: u64) -> Result<Header, Fault> {
        let mut start = [0; 10];
        if length < start.len() as u64 {
            return Fault::corrupt(format!("{length} bytes are too few for a header"));
        }
        from.read_exact(&mut start)?;
        if !start.starts_with(MAGIC) {
            return Fault::corrupt("it does not start with \"\\x93NUMPY\"");
        }
        let mut before = start.len();
        let announced = match (start[6], start[7]) {
            (1, 0) => u16::from_le_bytes([start[8], start[9]]) as usize,
            (2 | 3, 0) => {
                let mut rest = [0; 2];
                from.read_exact(&mut rest)?;
                before += rest.len();
                u32::from_le_bytes([start[8], start[9], rest[0], rest[1]]) as usize
            }
            (major, minor) => {
                return Fault::unsupported(format!(
                    "version {major}.{minor} of .npy; 1.0, 2.0 and 3.0 are known"
                ));
            }
        };
        if announced > LONGEST {
            return Fault::corrupt(format!("a header of {announced} bytes; at most {LONGEST} are read"));
        }
        let behind = (length - before as u64).checked_sub(announced as u64);
        let Some(behind) = behind else {
            return Fault::corrupt(format!("a header of {announced} bytes in a file of {length}"));
        };
        let mut text = vec![0; announced];
        from.read_exact(&mut text)?;
        let header = Header::parse(&text, start[6])?;
        if behind != header.bytes as u64 {
            let Header { dtype, shape, bytes, .. } = header;
            return Fault::corrupt(format!("{behind} bytes of data, but {dtype}{shape} takes {bytes}"));
        }
        Ok(header)
    }

    fn parse(text: &[u8], version: u8) -> Result<Header, Fault> {
        // Versions 1 and 2 are Latin-1. Only names of fields could be outside ASCII, and there are none here.
        let text = match std::str::from_utf8(text) {
            Ok(text) if version == 3 || text.is_ascii() => text,
            _ => return Fault::corrupt("its header has characters that belong to no known dtype"),
        };
        let mut dtype = None;
        let mut fortran_order = None;
        let mut dims = None;
        for (key, value) in parse(text)? {
            let twice = match (key.as_str(), value) {
                ("descr", Literal::Text(descr)) => dtype.replace(element(&descr)?).is_some(),
                ("descr", Literal::List) => {
                    return Fault::unsupported(
                        "its elements are records; save each field as an array of its own",
                    );
                }
                ("fortran_order", Literal::Bool(order)) => fortran_order.replace(order).is_some(),
                ("shape", Literal::Tuple(lengths)) => dims.replace(lengths).is_some(),
                (key @ ("descr" | "fortran_order" | "shape"), value) => {
                    return Fault::corrupt(format!("`{key}` is {value:?}"));
                }
                (key, _) => return Fault::corrupt(format!("its header has the unknown key {key:?}")),
            };
            if twice {
                return Fault::corrupt(format!("its header has {key:?} twice"));
            }
        }
        let (Some((dtype, big_endian)), Some(fortran_order), Some(dims)) = (dtype, fortran_order, dims)
        else {
            return Fault::corrupt("its header lacks `descr`, `fortran_order` or `shape`");
        };
        if dims.len() > MOST_AXES {
            return Fault::unsupported(format!("{} axes; at most {MOST_AXES} are read", dims.len()));
        }
        let (shape, bytes) = sized(&dims, dtype)?;
        Ok(Header { dtype, shape, fortran_order, big_endian, bytes })
    }
}

/// Dtype and byte order of a description such as `<f4`.
fn element(descr: &str) -> Result<(DType, bool), Fault> {
    let big = match descr.chars().next() {
        Some('>' | '!') => true,
        // `=` and `|` say that the writer's order was meant or does not matter; all files of ours are little endian.
        Some('<' | '=' | '|') => false,
        _ => return Fault::corrupt(format!("the dtype {descr:?} has no byte order")),
    };
    let dtype = match &descr[1..] {
        "b1" | "?" => DType::Bool,
        "i1" => DType::I8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "u1" => DType::U8,
        "u2" => DType::U16,
        "u4" => DType::U32,
        "u8" => DType::U64,
        "f2" => DType::F16,
        "V2" => DType::BF16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        "c8" => DType::C64,
        "c16" => DType::C128,
        _ => {
            let known = "bool, integers, floats and complex numbers of up to 64 bits per part";
            return Fault::unsupported(format!(
                "elements of dtype {descr:?} are not supported ({known} are)"
            ));
        }
    };
    Ok((dtype, big))
}

/// The description of a dtype.
fn descr(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "|b1",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::U8 => "|u1",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::F16 => "<f2",
        DType::BF16 => "<V2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::C64 => "<c8",
        DType::C128 => "<c16",
    }
}

/// Everything before the data of a file that is written, padded so that the data is aligned.
pub(super) fn text(dtype: DType, shape: &Shape) -> Vec<u8> {
    let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
    // A tuple of one is written with a comma.
    let tuple =
        if lengths.len() == 1 { format!("({},)", lengths[0]) } else { format!("({})", lengths.join(", ")) };
    let mut text = format!("{{'descr': '{}', 'fortran_order': False, 'shape': {tuple}, }}", descr(dtype));
    let version: u8 = if text.len() + ALIGN < u16::MAX as usize { 1 } else { 2 };
    let before = if version == 1 { 10 } else { 12 };
    let padded = (before + text.len() + 1).next_multiple_of(ALIGN);
    text.extend(std::iter::repeat_n(' ', padded - before - text.len() - 1));
    text.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend([version, 0]);
    match version {
        1 => out.extend((text.len() as u16).to_le_bytes()),
        _ => out.extend((text.len() as u32).to_le_bytes()),
    }
    out.extend(text.as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_round_trip() {
        for dtype in DType::ALL {
            assert_eq!(element(descr(dtype)).unwrap(), (dtype, false));
        }
        assert_eq!(element(">f8").unwrap(), (DType::F64, true));
        for wrong in ["f4", "", "é", "<é", "<f16", "|S5", "<U3", "<M8[ns]", "|O", "<V3", "<f", "<f44"] {
            assert!(element(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn data_is_aligned_for_every_rank() {
        for rank in 0..40 {
            let text = text(DType::F32, &std::iter::repeat_n(1, rank).collect());
            assert_eq!(text.len() % ALIGN, 0);
            assert_eq!(text.last(), Some(&b'\n'));
        }
    }
}

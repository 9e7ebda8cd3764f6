//! The JSON header of a safetensors file.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use crossover_core::DType;

use super::{
    ALIGN, Entry, LONGEST, Tensor,
    json::{Reader, quoted},
};
use crate::{
    data::{self, sized},
    error::Fault,
};

const METADATA: &str = "__metadata__";

/// One entry of the header.
struct Description {
    dtype: String,
    shape: Vec<u64>,
    offsets: [u64; 2],
}

impl Description {
    fn read(reader: &mut Reader<'_>, name: &str) -> Result<Description, Fault> {
        let (mut dtype, mut shape, mut offsets) = (None, None, None);
        reader.object(|reader, key| {
            let twice = match key.as_str() {
                "dtype" => dtype.replace(reader.string()?).is_some(),
                "shape" => shape.replace(reader.numbers()?).is_some(),
                "data_offsets" => offsets.replace(reader.numbers()?).is_some(),
                other => return Fault::corrupt(format!("{name:?} has the unknown key {other:?}")),
            };
            if twice { Fault::corrupt(format!("{name:?} has {key:?} twice")) } else { Ok(()) }
        })?;
        let (Some(dtype), Some(shape), Some(offsets)) = (dtype, shape, offsets) else {
            return Fault::corrupt(format!("{name:?} lacks `dtype`, `shape` or `data_offsets`"));
        };
        match <[u64; 2]>::try_from(offsets) {
            Ok(offsets) => Ok(Description { dtype, shape, offsets }),
            Err(other) => Fault::corrupt(format!("{name:?} has {} offsets, not two", other.len())),
        }
    }
}

/// The tensors, by where their data is, of a file of `length` bytes whose data begins at `start`.
pub(super) fn parse(
    text: &[u8],
    start: u64,
    length: u64,
) -> Result<(Vec<Tensor>, BTreeMap<String, String>), Fault> {
    let Ok(text) = std::str::from_utf8(text) else { return Fault::corrupt("its header is not UTF-8") };
    // As the format asks: no spaces before the object.
    if !text.starts_with('{') {
        return Fault::corrupt("its header does not start with `{`");
    }
    let mut tensors = Vec::new();
    let mut metadata = None;
    let mut reader = Reader::new(text);
    reader.object(|reader, name| {
        if name != METADATA {
            let description = Description::read(reader, &name)?;
            tensors.push(tensor(name, &description, start, length)?);
            return Ok(());
        }
        match metadata.replace(pairs(reader)?) {
            Some(_) => Fault::corrupt(format!("its header has {METADATA:?} twice")),
            None => Ok(()),
        }
    })?;
    reader.end()?;
    tensors.sort_by(|a, b| (a.range.start, a.range.end, &a.name).cmp(&(b.range.start, b.range.end, &b.name)));
    let mut end = start;
    for tensor in &tensors {
        let Tensor { name, range, .. } = tensor;
        if range.start < end {
            let shared = end.min(range.end) - range.start;
            return Fault::corrupt(format!("{name:?} shares {shared} bytes with the tensor before it"));
        }
        if range.start > end {
            return Fault::corrupt(format!(
                "{} bytes before {name:?} belong to no tensor",
                range.start - end
            ));
        }
        end = range.end;
    }
    if end != length {
        return Fault::corrupt(format!("{} bytes at its end belong to no tensor", length - end));
    }
    let mut names: Vec<&str> = tensors.iter().map(|tensor| tensor.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Fault::corrupt(format!("two tensors have the name {:?}", pair[0]));
    }
    Ok((tensors, metadata.unwrap_or_default()))
}

/// Text by name, without repetition.
fn pairs(reader: &mut Reader<'_>) -> Result<BTreeMap<String, String>, Fault> {
    let mut pairs = BTreeMap::new();
    reader.object(|reader, name| {
        let text = reader.string()?;
        if pairs.contains_key(&name) {
            return Fault::corrupt(format!("{METADATA} has the name {name:?} twice"));
        }
        pairs.insert(name, text);
        Ok(())
    })?;
    Ok(pairs)
}

fn tensor(name: String, description: &Description, start: u64, length: u64) -> Result<Tensor, Fault> {
    let Some(dtype) = dtype(&description.dtype) else {
        let known = "BOOL, I8 to I64, U8 to U64, F16, BF16, F32, F64, C64";
        return Fault::unsupported(format!("{name:?} has dtype {:?}; read are {known}", description.dtype));
    };
    let (shape, bytes) = sized(&description.shape, dtype)?;
    let [from, to] = description.offsets;
    let size = length - start;
    if from > to || to > size {
        return Fault::corrupt(format!("{name:?} is at {from}..{to} of {size} bytes of data"));
    }
    if to - from != bytes as u64 {
        let found = to - from;
        return Fault::corrupt(format!("{name:?} has {found} bytes, but {dtype}{shape} takes {bytes}"));
    }
    Ok(Tensor { name, dtype, shape, range: start + from..start + to })
}

fn dtype(name: &str) -> Option<DType> {
    DType::ALL.into_iter().find(|&dtype| dtype_name(dtype) == Some(name))
}

fn dtype_name(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "BOOL",
        DType::I8 => "I8",
        DType::I16 => "I16",
        DType::I32 => "I32",
        DType::I64 => "I64",
        DType::U8 => "U8",
        DType::U16 => "U16",
        DType::U32 => "U32",
        DType::U64 => "U64",
        DType::F16 => "F16",
        DType::BF16 => "BF16",
        DType::F32 => "F32",
        DType::F64 => "F64",
        DType::C64 => "C64",
        DType::C128 => return None,
    })
}

/// The header of tensors whose data follows in this order, padded so that the data is aligned.
pub(super) fn text(entries: &[&Entry<'_>], metadata: &[(&str, &str)]) -> io::Result<Vec<u8>> {
    let refuse = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
    let mut names = BTreeSet::new();
    let mut text = String::from("{");
    if !metadata.is_empty() {
        quoted(METADATA, &mut text);
        text.push_str(":{");
        for (i, &(name, value)) in metadata.iter().enumerate() {
            if metadata[..i].iter().any(|known| known.0 == name) {
                return Err(refuse(format!("the metadata {name:?} is given twice")));
            }
            text.push_str(if i > 0 { "," } else { "" });
            quoted(name, &mut text);
            text.push(':');
            quoted(value, &mut text);
        }
        text.push('}');
    }
    let mut at = 0u64;
    for entry in entries {
        let Entry { name, dtype, shape, data } = entry;
        let Some(dtype_name) = dtype_name(*dtype) else {
            let what = format!("safetensors has no {dtype}; save real and imaginary part, or use .npz");
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        };
        if data::bytes(shape, *dtype) != Some(data.len()) {
            return Err(refuse(format!("{} bytes are no {dtype}{shape}", data.len())));
        }
        if *name == METADATA {
            return Err(refuse(format!("{METADATA:?} cannot be the name of a tensor")));
        }
        let end = at + data.len() as u64;
        if !names.insert(*name) {
            return Err(refuse(format!("two arrays have the name {name:?}")));
        }
        text.push_str(if text.len() > 1 { "," } else { "" });
        quoted(name, &mut text);
        let dims = shape.dims();
        text.push_str(&format!(
            r#":{{"dtype":"{dtype_name}","shape":{dims:?},"data_offsets":[{at},{end}]}}"#
        ));
        at = end;
    }
    text.push('}');
    let mut text = text.into_bytes();
    let padded = (8 + text.len()).next_multiple_of(ALIGN) - 8;
    text.resize(padded, b' ');
    if text.len() as u64 > LONGEST {
        return Err(refuse(format!("a header of {} bytes; at most {LONGEST} are read", text.len())));
    }
    Ok(text)
}

//! What is done with an input. A target panics where a promise is broken, and says what came of the input.

use std::io::{Cursor, Read};

use crossover_core::{Graph, Shape};
use crossover_io::{Npy, Npz, Result, Safetensors, npy as format, npz as archive, safetensors as tensors};

/// A target: its name, what it does, and how much memory an input may take: bytes per byte of input.
pub struct Target {
    /// Name of the target and of its corpus.
    pub name: &'static str,
    /// Runs one input.
    pub run: fn(&[u8]) -> String,
    /// Most bytes of memory for each byte of input, beside a fixed megabyte.
    pub memory: usize,
    /// Pieces that inputs are made of.
    pub words: fn() -> Vec<&'static str>,
}

/// Every target.
pub const TARGETS: [Target; 4] = [
    Target { name: "npy", run: npy, memory: 8, words: || NPY.to_vec() },
    // Deflate makes a thousand bytes of one, and the data is held twice for comparison.
    Target { name: "npz", run: npz, memory: 2200, words: || NPZ.to_vec() },
    Target { name: "safetensors", run: safetensors, memory: 64, words: || SAFETENSORS.to_vec() },
    Target { name: "graph", run: graph, memory: 4096, words: graph_words },
];

const NPY: &[&str] = &[
    "\u{93}NUMPY",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
    "'descr'",
    "'fortran_order'",
    "'shape'",
    "True",
    "False",
    "()",
    "(0,)",
    "(1, 2)",
    "(18446744073709551615, 2)",
    "'|b1'",
    "'>f8'",
    "'<c16'",
    "'<V2'",
    "[('a', '<f4')]",
    "L",
    ",",
    "\n",
    "'",
    "\"",
];
const NPZ: &[&str] = &[
    "PK\u{1}\u{2}",
    "PK\u{3}\u{4}",
    "PK\u{5}\u{6}",
    "PK\u{6}\u{6}",
    "PK\u{6}\u{7}",
    "PK\u{7}\u{8}",
    ".npy",
    "../",
    "/",
    "\u{1}\u{0}\u{10}\u{0}",
    "\u{8}\u{0}",
    "(1, 2)",
];
const SAFETENSORS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\u0041",
    "\\ud83d\\ude00",
    "\"__metadata__\":{\"a\":\"b\"}",
    "\"dtype\":\"F32\"",
    "\"shape\":[1]",
    "\"data_offsets\":[0,4]",
    "18446744073709551615",
    "-1",
    "1e3",
    "\"BOOL\"",
    "\"U8\"",
    "null",
];
const GRAPH: &[&str] = &[
    "graph {\n",
    "}\n",
    "  return %x\n",
    "%x = input f32[2, 3]\n",
    "%y = sum %x axes [1] keepdims\n",
    "%x = input f64[2, 3, 3]\n",
    "%t = top_k %x axis 1 first 2 descending\n",
    "%c = convolve %x, %x, %x mode full boundary fill\n",
    "%m = compress %x, %y count 2\n",
    "%f = irfft %x axes [1] length 4 scale count\n",
    "to [1]",
    "offset",
    "strides [-1]",
    "stream 4294967295",
    "axis 0",
    "axes [0, 1]",
    "descending",
    "first 3",
    "right",
    "count 1",
    "length 5",
    "scale one",
    "scale root",
    "scale count",
    "mode same",
    "mode valid",
    "boundary wrap",
    "boundary symm",
    "boundary nearest",
    "boundary mirror",
    "upper",
    "complete",
    "full",
    "gamma",
    "poisson",
    "slot 1",
    "0x3",
    "1:4:2",
    "18446744073709551615",
    "-9223372036854775808",
    "nan:0x7fc00001",
    "inf",
    "bf16",
    "f64",
    "bool",
    "c128",
    "(1, 2)",
    "[]",
    "[0]",
    "%",
    "#",
];

/// Pieces of graph text, every operation's name among them.
fn graph_words() -> Vec<&'static str> {
    GRAPH.iter().copied().chain(crossover_core::graph::names()).collect()
}

/// One `.npy` file.
pub fn npy(bytes: &[u8]) -> String {
    summary(read_npy(bytes))
}

fn read_npy(bytes: &[u8]) -> Result<String> {
    let (header, data) = read(Npy::new(bytes, bytes.len() as u64, "x")?)?;
    let mut again = Vec::new();
    format::write(&mut again, header.dtype, &header.shape, &data).expect("what was read can be written");
    let (second, same) = read(Npy::new(&again[..], again.len() as u64, "x")?)?;
    assert_eq!((second.dtype, &second.shape), (header.dtype, &header.shape));
    assert_eq!(same, data);
    let (_, start) = format::parse(bytes, "x").expect("the same bytes, in place");
    assert_eq!(bytes.len() - start, header.bytes);
    Ok(format!("{} {} {} {}", header.dtype, header.shape.rank(), header.fortran_order, header.big_endian))
}

fn read(reader: Npy<impl Read>) -> Result<(format::Header, Vec<u8>)> {
    let header = reader.header().clone();
    let mut data = vec![0; header.bytes];
    reader.read(&mut data)?;
    Ok((header, data))
}

/// One `.npz` file.
pub fn npz(bytes: &[u8]) -> String {
    summary(read_npz(bytes))
}

fn read_npz(bytes: &[u8]) -> Result<String> {
    let mut reader = Npz::from_bytes(bytes, "x")?;
    let names = reader.names().to_vec();
    let mut total = 0usize;
    let mut outcome = format!("{} members", names.len().min(4));
    for (index, name) in names.iter().enumerate() {
        let (header, data) = read(reader.member(index)?)?;
        total += data.len();
        assert!(total <= bytes.len().saturating_mul(1040), "{total} bytes from {}", bytes.len());
        let mut writer = archive::Writer::new(Cursor::new(Vec::new()), false);
        writer.add(name, header.dtype, &header.shape, &data).expect("what was read can be written");
        let again = writer.finish().expect("memory is never full").into_inner();
        drop(data);
        assert_eq!(Npz::from_bytes(&again, "x")?.names(), std::slice::from_ref(name));
        outcome.push_str(&format!(" {}", header.dtype));
    }
    Ok(outcome)
}

/// One safetensors file.
pub fn safetensors(bytes: &[u8]) -> String {
    summary(read_safetensors(bytes))
}

fn read_safetensors(bytes: &[u8]) -> Result<String> {
    let mut reader = Safetensors::new(Cursor::new(bytes), bytes.len() as u64, "x")?;
    let all = reader.tensors().to_vec();
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for (index, tensor) in all.iter().enumerate() {
        let mut data = vec![0; tensor.bytes()];
        reader.read(index, &mut data)?;
        assert_eq!(bytes[tensor.range.start as usize..tensor.range.end as usize], data);
        parts.push(data);
    }
    let total: usize = parts.iter().map(Vec::len).sum();
    assert!(total <= bytes.len());
    let entries: Vec<tensors::Entry<'_>> = all
        .iter()
        .zip(&parts)
        .map(|(tensor, data)| tensors::Entry {
            name: &tensor.name,
            dtype: tensor.dtype,
            shape: &tensor.shape,
            data,
        })
        .collect();
    let metadata: Vec<(&str, &str)> =
        reader.metadata().iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let mut again = Vec::new();
    tensors::write(&mut again, &entries, &metadata).expect("what was read can be written");
    let length = again.len() as u64;
    let second = Safetensors::new(Cursor::new(again), length, "x")?;
    assert_eq!(second.metadata(), reader.metadata());
    let types = |tensors: &[tensors::Tensor]| {
        let mut types: Vec<(String, String, Shape)> =
            tensors.iter().map(|t| (t.name.clone(), t.dtype.to_string(), t.shape.clone())).collect();
        types.sort_by(|a, b| a.0.cmp(&b.0));
        types
    };
    assert_eq!(types(second.tensors()), types(&all));
    Ok(format!("{} tensors, {} pairs", all.len().min(4), metadata.len().min(2)))
}

/// The text of one graph.
pub fn graph(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return "not text".to_string() };
    match Graph::parse(text) {
        Err(error) => shortened(&error.to_string()),
        Ok(graph) => {
            graph.verify().expect("what the reader accepts holds every invariant");
            let written = graph.to_string();
            let again = Graph::parse(&written).unwrap_or_else(|e| panic!("{e} in its own text:\n{written}"));
            assert!(graph == again && graph.scalars() == again.scalars(), "{written}");
            assert_eq!(again.to_string(), written);
            // One outcome per operation: sets of them are endlessly many, and would fill the corpus.
            graph.nodes().last().map_or("nothing", |node| node.op.name()).to_string()
        }
    }
}

fn summary(result: Result<String>) -> String {
    result.unwrap_or_else(|error| shortened(&error.to_string()))
}

/// A message without what differs between inputs of the same kind: numbers, and everything between quotes.
fn shortened(message: &str) -> String {
    let quotes = ['"', '\'', '`'];
    let before = message.find(quotes).unwrap_or(message.len());
    let after = message.rfind(quotes).unwrap_or(message.len());
    let plain =
        |text: &str| text.chars().filter(|c| c.is_ascii_alphabetic() || *c == ' ').collect::<String>();
    format!("{} {}", plain(&message[..before]), plain(&message[after..]))
}

//! Safetensors: a JSON header with names, dtypes, shapes and offsets, then the data.
//!
//! The reader is strict, as the format asks: every byte of the data belongs to exactly one tensor (nothing overlaps,
//! nothing hides in gaps), sizes follow from shapes, and no name occurs twice.

mod header;
mod json;

use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
};

use crossover_core::{DType, Shape};

use crate::{Error, Result, data, error::Fault};

const FORMAT: &str = "safetensors";

/// Longest header, in bytes: the limit that the format's own library sets.
const LONGEST: u64 = 100_000_000;

/// Data starts at a multiple of this in files that are written: what mapped arrays of every dtype need.
const ALIGN: usize = 64;

/// One tensor of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Type of the elements.
    pub dtype: DType,
    /// Lengths of the axes.
    pub shape: Shape,
    /// Where its bytes are in the file.
    pub range: Range<u64>,
}

impl Tensor {
    /// Size of the data in bytes.
    pub fn bytes(&self) -> usize {
        self.shape.size().saturating_mul(self.dtype.size())
    }
}

/// A reader of a file whose header has been read and checked.
///
/// ```
/// use std::io::Cursor;
/// use crossover_core::{DType, Shape};
/// use crossover_io::{Safetensors, safetensors::{self, Entry}};
/// let shape = Shape::from([2]);
/// let mut file = Vec::new();
/// let entry = Entry { name: "x", dtype: DType::U8, shape: &shape, data: &[1, 2] };
/// safetensors::write(&mut file, &[entry], &[("made by", "hand")])?;
/// let length = file.len() as u64;
/// let mut reader = Safetensors::new(Cursor::new(file), length, "x.safetensors")?;
/// assert_eq!(reader.metadata()["made by"], "hand");
/// let mut bytes = [0; 2];
/// reader.read(0, &mut bytes)?;
/// assert_eq!(bytes, [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Safetensors<R> {
    from: R,
    tensors: Vec<Tensor>,
    metadata: BTreeMap<String, String>,
    /// What errors call the file.
    file: String,
}

impl<R: Read + Seek> Safetensors<R> {
    /// Reads and checks the header of a file of `length` bytes; no data yet.
    pub fn new(mut from: R, length: u64, file: impl Into<String>) -> Result<Safetensors<R>> {
        let file = file.into();
        match read_header(&mut from, length) {
            Ok((tensors, metadata)) => Ok(Safetensors { from, tensors, metadata, file }),
            Err(fault) => Err(fault.reading(&file, FORMAT)),
        }
    }

    /// The tensors, in the order of their data.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// Free text that the file carries.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// Reads the data of one tensor, by its position. `to` must have [`Tensor::bytes`] bytes.
    pub fn read(&mut self, index: usize, to: &mut [u8]) -> Result<()> {
        let Some(tensor) = self.tensors.get(index).filter(|tensor| tensor.bytes() == to.len()) else {
            let what = format!("no tensor {index} of {} bytes", to.len());
            return Err(Error::Unsupported { file: self.file.clone(), what });
        };
        fill(&mut self.from, tensor, to).map_err(|fault| fault.reading(&self.file, FORMAT))
    }

    /// Checks bytes that are used where they are, instead of being read into place.
    pub fn check_in_place(&self, index: usize, bytes: &[u8]) -> Result<()> {
        let dtype = self.tensors.get(index).map_or(DType::U8, |tensor| tensor.dtype);
        data::check(bytes, dtype).map_err(|fault| fault.reading(&self.file, FORMAT))
    }
}

fn fill(from: &mut (impl Read + Seek), tensor: &Tensor, to: &mut [u8]) -> Result<(), Fault> {
    from.seek(SeekFrom::Start(tensor.range.start))?;
    from.read_exact(to)?;
    data::check(to, tensor.dtype)
}

fn read_header(from: &mut impl Read, length: u64) -> Result<(Vec<Tensor>, BTreeMap<String, String>), Fault> {
    if length < 8 {
        return Fault::corrupt(format!("{length} bytes are too few for a header"));
    }
    let mut prefix = [0; 8];
    from.read_exact(&mut prefix)?;
    let announced = u64::from_le_bytes(prefix);
    if announced > LONGEST {
        return Fault::corrupt(format!("a header of {announced} bytes; at most {LONGEST} are read"));
    }
    if announced > length - 8 {
        return Fault::corrupt(format!("a header of {announced} bytes in a file of {length}"));
    }
    let mut text = vec![0; announced as usize];
    from.read_exact(&mut text)?;
    header::parse(&text, 8 + announced, length)
}

/// One tensor to write.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a str,
    /// Type of the elements.
    pub dtype: DType,
    /// Lengths of the axes.
    pub shape: &'a Shape,
    /// The elements, row by row.
    pub data: &'a [u8],
}

/// Writes a file. Data lies in the order of element sizes, widest first, so that all of it is aligned.
pub fn write(to: &mut impl Write, entries: &[Entry<'_>], metadata: &[(&str, &str)]) -> io::Result<()> {
    let mut sorted: Vec<&Entry<'_>> = entries.iter().collect();
    sorted.sort_by_key(|entry| (std::cmp::Reverse(entry.dtype.size()), entry.name));
    let text = header::text(&sorted, metadata)?;
    to.write_all(&(text.len() as u64).to_le_bytes())?;
    to.write_all(&text)?;
    for entry in sorted {
        to.write_all(entry.data)?;
    }
    Ok(())
}

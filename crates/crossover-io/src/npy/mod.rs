//! NumPy's `.npy`: one array with a header that is a Python dictionary.
//!
//! Versions 1, 2 and 3 are read, in either byte order and either memory order; version 1 is written (2 where the header
//! does not fit), little endian, rows first, with data aligned to 64 bytes. `bf16` is written as `<V2`, two bytes without a meaning, as
//! NumPy does for the type that `ml_dtypes` defines, and read back from that.

mod header;
mod literal;

use std::io::{self, Read, Write};

use crossover_core::{DType, Shape};

pub use self::header::Header;
use crate::{Result, data, error::Fault};

const FORMAT: &str = ".npy";

/// A reader of one `.npy` file whose header has been read.
///
/// ```
/// use crossover_core::{DType, Shape};
/// use crossover_io::{Npy, npy};
/// let mut file = Vec::new();
/// npy::write(&mut file, DType::I16, &Shape::from([3]), &[1, 0, 2, 0, 3, 0])?;
/// let reader = Npy::new(&file[..], file.len() as u64, "x.npy")?;
/// assert_eq!((reader.header().dtype, reader.header().shape.dims()), (DType::I16, &[3][..]));
/// let mut bytes = [0; 6];
/// reader.read(&mut bytes)?;
/// assert_eq!(bytes, [1, 0, 2, 0, 3, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Npy<R> {
    from: R,
    header: Header,
    /// What errors call the file.
    name: String,
}

impl<R: Read> Npy<R> {
    /// Reads the header of a file of `length` bytes, and checks that the data is exactly the rest.
    pub fn new(mut from: R, length: u64, name: impl Into<String>) -> Result<Npy<R>> {
        let name = name.into();
        match Header::read(&mut from, length) {
            Ok(header) => Ok(Npy { from, header, name }),
            Err(fault) => Err(fault.reading(&name, FORMAT)),
        }
    }

    /// What the file says about its data.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads all elements, in the order of the file and in little endian. `to` must have [`Header::bytes`] bytes.
    pub fn read(mut self, to: &mut [u8]) -> Result<()> {
        self.fill(to).map_err(|fault| fault.reading(&self.name, FORMAT))
    }

    fn fill(&mut self, to: &mut [u8]) -> Result<(), Fault> {
        if to.len() != self.header.bytes {
            let what = format!("{} bytes of room for {} bytes of data", to.len(), self.header.bytes);
            return Fault::unsupported(what);
        }
        self.from.read_exact(to)?;
        // Reading past the end also makes an archive compare its checksum.
        if self.from.read(&mut [0])? != 0 {
            return Fault::corrupt("there are bytes behind its data");
        }
        if self.header.big_endian {
            data::swap(to, self.header.dtype);
        }
        data::check(to, self.header.dtype)
    }
}

/// Checks bytes that are used where they are, instead of being read into place.
pub fn check_in_place(header: &Header, bytes: &[u8], name: &str) -> Result<()> {
    data::check(bytes, header.dtype).map_err(|fault| fault.reading(name, FORMAT))
}

/// The header of an array whose bytes are at hand, with the position where they begin.
///
/// ```
/// use crossover_core::{DType, Shape};
/// use crossover_io::npy;
/// let mut file = Vec::new();
/// npy::write(&mut file, DType::U8, &Shape::from([2]), &[7, 8])?;
/// let (header, start) = npy::parse(&file, "x.npy")?;
/// assert_eq!((header.dtype, &file[start..]), (DType::U8, &[7, 8][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse(file: &[u8], name: &str) -> Result<(Header, usize)> {
    let mut rest = file;
    match Header::read(&mut rest, file.len() as u64) {
        Ok(header) => Ok((header, file.len() - rest.len())),
        Err(fault) => Err(fault.reading(name, FORMAT)),
    }
}

/// Writes an array: header and data.
///
/// ```
/// use crossover_core::{DType, Shape};
/// let mut file = Vec::new();
/// crossover_io::npy::write(&mut file, DType::Bool, &Shape::from([1, 2]), &[0, 1])?;
/// assert!(file.starts_with(b"\x93NUMPY\x01\x00"));
/// assert_eq!(file.len(), 128 + 2);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(to: &mut impl Write, dtype: DType, shape: &Shape, data: &[u8]) -> io::Result<()> {
    if data::bytes(shape, dtype) != Some(data.len()) {
        let what = format!("{} bytes are no {dtype}{shape}", data.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    to.write_all(&header::text(dtype, shape))?;
    to.write_all(data)
}

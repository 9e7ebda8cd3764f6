//! NumPy's `.npz`: a zip archive of `.npy` files, stored or deflated.
//!
//! Bounded: the members of an archive may not overlap, and a member may not claim to unpack to more than deflate can
//! make of its bytes (about a thousand times as much). So whatever an archive claims, reading all of it takes time and
//! memory in proportion to its size, and memory is reserved for one member at a time.

use std::io::{self, Cursor, Read, Seek, Write};

use crossover_core::{DType, Shape};
use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

use crate::{Error, Result, error::Fault, name, npy, npy::Npy};

const FORMAT: &str = ".npz";

/// Members are called after their arrays.
const EXTENSION: &str = ".npy";

/// Most bytes that one byte of deflate can stand for, and a little for the last block.
const DEFLATE: u64 = 1032;

/// A reader of an archive.
///
/// ```
/// use std::io::Cursor;
/// use crossover_core::{DType, Shape};
/// use crossover_io::{Npz, npz};
/// let mut writer = npz::Writer::new(Cursor::new(Vec::new()), true);
/// writer.add("x", DType::U8, &Shape::from([2]), &[1, 2])?;
/// let file = writer.finish()?;
/// let mut archive = Npz::new(file, "a.npz")?;
/// assert_eq!(archive.names(), ["x"]);
/// let mut bytes = [0; 2];
/// archive.member(0)?.read(&mut bytes)?;
/// assert_eq!(bytes, [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Npz<R> {
    archive: ZipArchive<R>,
    names: Vec<String>,
    /// What errors call the archive.
    file: String,
}

impl<R: Read + Seek> Npz<R> {
    /// Reads the list of members and checks all of it; no data yet.
    pub fn new(from: R, file: impl Into<String>) -> Result<Npz<R>> {
        let file = file.into();
        match open(from) {
            Ok((archive, names)) => Ok(Npz { archive, names, file }),
            Err(fault) => Err(fault.reading(&file, FORMAT)),
        }
    }

    /// Names of the arrays, in the order of the archive.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A reader of one array, by its position among the [`names`](Npz::names).
    pub fn member(&mut self, index: usize) -> Result<Npy<impl Read + '_>> {
        let Some(name) = self.names.get(index) else {
            let what = format!("array {index} was asked for; it has {}", self.names.len());
            return Err(Error::Unsupported { file: self.file.clone(), what });
        };
        let inside = format!("{}[{name}]", self.file);
        let entry = self.archive.by_index(index).map_err(|e| fault(e).reading(&inside, FORMAT))?;
        let length = entry.size();
        Npy::new(entry, length, inside)
    }
}

impl<R> std::fmt::Debug for Npz<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Npz").field("file", &self.file).field("names", &self.names).finish()
    }
}

fn open<R: Read + Seek>(from: R) -> Result<(ZipArchive<R>, Vec<String>), Fault> {
    let mut archive = ZipArchive::new(from).map_err(fault)?;
    if archive.has_duplicate_names() {
        return Fault::corrupt("two of its members have the same name");
    }
    if archive.has_overlapping_entries().map_err(fault)? {
        return Fault::corrupt("two of its members share bytes");
    }
    let mut names = Vec::with_capacity(archive.len());
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(fault)?;
        let full = entry.name().map_err(fault)?.into_owned();
        let Some(name) = full.strip_suffix(EXTENSION) else {
            let shown: String = full.chars().take(80).collect();
            return Fault::unsupported(format!("its member {shown:?} is no .npy file"));
        };
        name::check(name)?;
        let (packed, size) = (entry.compressed_size(), entry.size());
        let most = match entry.compression() {
            CompressionMethod::Stored => packed,
            CompressionMethod::Deflated => packed.saturating_mul(DEFLATE).saturating_add(DEFLATE),
            other => {
                return Fault::unsupported(format!("{name:?} is compressed with {other}; deflate is read"));
            }
        };
        if size > most {
            return Fault::corrupt(format!(
                "{name:?} claims {size} bytes in {packed}; at most {most} fit there"
            ));
        }
        names.push(name.to_string());
    }
    Ok((archive, names))
}

fn fault(error: ZipError) -> Fault {
    match error {
        ZipError::Io(error) => Fault::Io(error),
        ZipError::UnsupportedArchive(what) => Fault::Unsupported(what.to_string()),
        ZipError::CompressionMethodNotSupported(id) => {
            Fault::Unsupported(format!("compression method {id}; deflate is read"))
        }
        other => Fault::Corrupt(other.to_string()),
    }
}

/// A writer of an archive.
pub struct Writer<W: Write + Seek> {
    zip: ZipWriter<W>,
    method: CompressionMethod,
    names: Vec<String>,
}

impl<W: Write + Seek> Writer<W> {
    /// A new archive, deflated or stored. The same arrays give the same bytes: no times are recorded.
    pub fn new(to: W, compressed: bool) -> Writer<W> {
        let method = if compressed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        Writer { zip: ZipWriter::new(to), method, names: Vec::new() }
    }

    /// Adds an array under a name of its own.
    pub fn add(&mut self, name: &str, dtype: DType, shape: &Shape, data: &[u8]) -> io::Result<()> {
        let refuse = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        if let Err(Fault::Corrupt(what) | Fault::Unsupported(what)) = name::check(name) {
            return Err(refuse(what));
        }
        if self.names.iter().any(|known| known == name) {
            return Err(refuse(format!("two arrays have the name {name:?}")));
        }
        // Sizes of 4 GiB and more need the longer form; headers are short beside the margin.
        let options = SimpleFileOptions::default()
            .compression_method(self.method)
            .large_file(data.len() as u64 >= u32::MAX as u64 - (1 << 20))
            .unix_permissions(0o644);
        self.zip.start_file(format!("{name}{EXTENSION}"), options)?;
        npy::write(&mut self.zip, dtype, shape, data)?;
        self.names.push(name.to_string());
        Ok(())
    }

    /// Writes the list of members; the archive is complete.
    pub fn finish(self) -> io::Result<W> {
        Ok(self.zip.finish()?)
    }
}

impl<W: Write + Seek> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("names", &self.names).finish()
    }
}

/// A reader of an archive whose bytes are at hand.
impl<'a> Npz<Cursor<&'a [u8]>> {
    /// As [`Npz::new`], from bytes.
    pub fn from_bytes(bytes: &'a [u8], file: &str) -> Result<Self> {
        Npz::new(Cursor::new(bytes), file)
    }
}

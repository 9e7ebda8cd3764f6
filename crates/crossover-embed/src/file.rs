//! The file of a table: rows without gaps from the first byte on, then a checksum per block of rows, then a footer.
//!
//! The footer is 64 bytes, all numbers little-endian: magic, dtype (8 bytes of its name), rows, columns, rows per block, number of blocks, 8 bytes
//! of zeros, and the checksum (XXH3, 64 bits) of the list of checksums and the footer up to here. Rows come first so that they are
//! aligned and a writer need not know how many there will be.

use std::{io::Write, path::Path};

use crossover_array::{Array, DType};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"XOTABLE\x01";
const FOOTER: usize = 64;
/// Bytes of a block, about: large enough to hash at full speed, small enough to be verified when one row is touched.
const BLOCK: usize = 1 << 16;

/// What a footer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub dtype: DType,
    pub rows: usize,
    pub columns: usize,
    pub block_rows: usize,
}

impl Header {
    pub fn row_bytes(&self) -> usize {
        self.columns * self.dtype.size()
    }

    pub fn blocks(&self) -> usize {
        self.rows.div_ceil(self.block_rows)
    }

    /// Where the rows of a block are.
    pub fn block(&self, block: usize) -> std::ops::Range<usize> {
        let rows = block * self.block_rows..((block + 1) * self.block_rows).min(self.rows);
        rows.start * self.row_bytes()..rows.end * self.row_bytes()
    }
}

/// Writes a table, part by part: arrays of equal dtype and width, `[rows, columns]`.
pub(crate) fn write(path: &Path, parts: impl IntoIterator<Item = Array>) -> Result<()> {
    let mut header: Option<Header> = None;
    let mut failed = None;
    let written = crossover_io::replace(path, |file| {
        let (mut sums, mut open, mut filled) = (Vec::<u8>::new(), Xxh3::new(), 0);
        for part in parts {
            if let Err(error) = append(file, &part, &mut header, (&mut sums, &mut open, &mut filled)) {
                let text = std::io::Error::other(error.to_string());
                failed = Some(error);
                return Err(text);
            }
        }
        if filled > 0 {
            sums.extend(open.digest().to_le_bytes());
        }
        let Some(header) = header else {
            failed = Some(operand("a table without rows cannot be written".to_string()));
            return Err(std::io::Error::other("no rows"));
        };
        file.write_all(&sums)?;
        let mut footer = Vec::from(MAGIC);
        let mut name = header.dtype.name().as_bytes().to_vec();
        name.resize(8, 0);
        footer.extend(name);
        for number in [header.rows, header.columns, header.block_rows, header.blocks(), 0] {
            footer.extend((number as u64).to_le_bytes());
        }
        sums.extend(&footer);
        footer.extend(xxh3_64(&sums).to_le_bytes());
        file.write_all(&footer)
    });
    match (failed, written) {
        (Some(error), _) => Err(error),
        (None, written) => written.map_err(|error| Error::io(path, "write", &error)),
    }
}

fn operand(what: String) -> Error {
    Error::Operand { op: "table", what }
}

fn append(
    to: &mut impl Write,
    part: &Array,
    header: &mut Option<Header>,
    (sums, open, filled): (&mut Vec<u8>, &mut Xxh3, &mut usize),
) -> Result<()> {
    part.check()?;
    let &[rows, columns] = part.shape().dims() else {
        return Err(operand(format!("rows of shape {}; two axes are needed", part.shape())));
    };
    if !part.dtype().is_float() {
        let dtype = part.dtype();
        return Err(operand(format!(
            "rows of {dtype}; a floating-point dtype is needed, which `astype` makes"
        )));
    }
    let known = header.get_or_insert_with(|| {
        let row = (columns * part.dtype().size()).max(1);
        Header { dtype: part.dtype(), rows: 0, columns, block_rows: (BLOCK / row).max(1) }
    });
    if columns == 0 || known.columns != columns || known.dtype != part.dtype() {
        let what = format!(
            "{}{} after {}[…, {}]; parts of one table are alike",
            part.dtype(),
            part.shape(),
            known.dtype,
            known.columns
        );
        return Err(operand(what));
    }
    known.rows += rows;
    let whole = Array::concat(&[part], 0);
    let view = whole.host_view()?;
    let bytes = view.bytes()?.unwrap_or_default();
    to.write_all(bytes).map_err(|error| operand(error.to_string()))?;
    for row in bytes.chunks(known.row_bytes()) {
        open.update(row);
        *filled += 1;
        if *filled == known.block_rows {
            sums.extend(open.digest().to_le_bytes());
            open.reset();
            *filled = 0;
        }
    }
    Ok(())
}

/// Reads the footer of a whole file: the header, and where the checksums are.
pub(crate) fn read(bytes: &[u8], path: &Path) -> Result<(Header, std::ops::Range<usize>)> {
    let wrong = |what: String| Error::Corrupt { file: path.display().to_string(), what };
    let end = bytes.len();
    let start =
        end.checked_sub(FOOTER).ok_or_else(|| wrong(format!("{end} bytes are less than a footer")))?;
    let footer = &bytes[start..];
    if &footer[..8] != MAGIC {
        return Err(wrong("its footer does not start with the magic of tables".into()));
    }
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| footer[at + i]));
    let name = std::str::from_utf8(&footer[8..16]).unwrap_or_default().trim_end_matches('\0');
    let dtype = DType::from_name(name).filter(|dtype| dtype.is_float());
    let dtype = dtype.ok_or_else(|| wrong(format!("{name:?} is no floating-point dtype")))?;
    let sizes: Vec<usize> =
        [16, 24, 32, 40].iter().filter_map(|&at| usize::try_from(number(at)).ok()).collect();
    let &[rows, columns, block_rows, blocks] = sizes.as_slice() else {
        return Err(wrong("its sizes are larger than this machine can address".into()));
    };
    let header = Header { dtype, rows, columns, block_rows };
    let data = rows.checked_mul(columns).and_then(|n| n.checked_mul(dtype.size()));
    let sums = blocks.checked_mul(8);
    let total = data.zip(sums).and_then(|(data, sums)| data.checked_add(sums)?.checked_add(FOOTER));
    if block_rows == 0 || columns == 0 || header.blocks() != blocks || total != Some(end) {
        return Err(wrong(format!(
            "{rows} rows of {columns} in {blocks} blocks do not make {end} bytes; it may be cut short"
        )));
    }
    let sums = data.unwrap_or(0)..start;
    if xxh3_64(&bytes[sums.start..end - 8]) != number(56) {
        return Err(wrong("the checksum of its footer does not match".into()));
    }
    Ok((header, sums))
}

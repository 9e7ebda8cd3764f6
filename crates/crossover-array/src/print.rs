//! Printing like NumPy: `Display` is `str`, `Debug` is `repr` with this library's dtype names.
//!
//! Arrays of more than a thousand elements show three entries at either end of each axis. Printing computes what
//! it needs; an array that carries an error prints the error.

mod number;

use std::fmt;

use crossover_core::{DType, Scalar, Shape};

use self::number::{Format, single};
use crate::{Array, Error, Result};

/// Arrays larger than this are summarised.
const THRESHOLD: usize = 1000;
/// Entries shown at either end of a summarised axis.
const EDGE: usize = 3;
/// Characters of a line.
const WIDTH: usize = 75;

/// ```
/// # use crossover_array::Array;
/// assert_eq!(Array::from([1.0f32, 2.5]).to_string(), "[1.  2.5]");
/// assert_eq!(Array::arange(5000).to_string(), "[   0    1    2 ... 4997 4998 4999]");
/// ```
impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match shown(self) {
            Ok(shown) if self.ndim() == 0 => f.write_str(&single(shown.values[0])),
            Ok(shown) => f.write_str(&Brackets { shown, separator: " ", indent: 0, width: WIDTH }.text()),
            Err(error) => write!(f, "<error: {error}>"),
        }
    }
}

/// ```
/// # use crossover_array::Array;
/// assert_eq!(format!("{:?}", Array::from([1.0f32, 2.5])), "array([1. , 2.5], dtype=f32)");
/// assert_eq!(format!("{:?}", Array::from([true, false])), "array([ True, False])");
/// ```
impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PREFIX: &str = "array(";
        let shown = match shown(self) {
            Ok(shown) => shown,
            Err(error) => return write!(f, "array(<error: {error}>)"),
        };
        let text = Brackets { shown, separator: ", ", indent: PREFIX.len(), width: WIDTH - 1 }.text();
        let extras = extras(self.dtype(), self.shape());
        if extras.is_empty() {
            return write!(f, "{PREFIX}{text})");
        }
        let body = format!("{PREFIX}{text},");
        let last_line = body.rsplit('\n').next().map_or(0, str::len);
        let fits = last_line + extras.len() + 2 <= WIDTH;
        let space = if fits { " ".to_string() } else { format!("\n{}", " ".repeat(PREFIX.len())) };
        write!(f, "{body}{space}{extras})")
    }
}

/// What the numbers alone do not tell.
fn extras(dtype: DType, shape: &Shape) -> String {
    let mut parts = Vec::new();
    let (size, plain) = (shape.size(), shape.rank() == 1);
    if size > THRESHOLD || (size == 0 && !plain) {
        let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
        let comma = if plain { "," } else { "" };
        parts.push(format!("shape=({}{comma})", dims.join(", ")));
    }
    let implied = matches!(dtype, DType::Bool | DType::I64 | DType::F64 | DType::C128);
    if !implied || size == 0 {
        parts.push(format!("dtype={dtype}"));
    }
    parts.join(", ")
}

/// The elements that are printed, row-major over the entries shown along each axis.
struct Shown {
    dtype: DType,
    shape: Shape,
    /// Whether axes with many entries are cut.
    cut: bool,
    values: Vec<Scalar>,
}

impl Shown {
    /// Positions shown along an axis, and whether some are left out.
    fn entries(&self, axis: usize) -> (Vec<usize>, bool) {
        let n = self.shape[axis];
        if self.cut && n > 2 * EDGE {
            ((0..EDGE).chain(n - EDGE..n).collect(), true)
        } else {
            ((0..n).collect(), false)
        }
    }
}

fn shown(array: &Array) -> Result<Shown> {
    let (buffer, layout) = array.contents()?;
    let bytes = buffer.host_bytes().map_err(|e| Error::new(e, array.version().location))?;
    let (dtype, shape) = (array.dtype(), array.shape().clone());
    let cut = shape.size() > THRESHOLD;
    let mut shown = Shown { dtype, shape, cut, values: Vec::new() };
    let mut positions = vec![layout.offset];
    for axis in 0..shown.shape.rank() {
        let (entries, _) = shown.entries(axis);
        let stride = layout.strides[axis];
        let step = |from: usize| entries.iter().map(move |&i| from.wrapping_add_signed(i as isize * stride));
        positions = positions.into_iter().flat_map(step).collect();
    }
    let size = dtype.size();
    shown.values = positions.into_iter().map(|at| Scalar::read_from(dtype, &bytes[at * size..])).collect();
    Ok(shown)
}

/// Elements in brackets and lines.
struct Brackets {
    shown: Shown,
    separator: &'static str,
    /// Characters before the opening bracket.
    indent: usize,
    /// Characters of a line.
    width: usize,
}

impl Brackets {
    fn text(&self) -> String {
        if self.shown.shape.size() == 0 {
            return "[]".to_string();
        }
        let rank = self.shown.shape.rank();
        let format = Format::of(self.shown.dtype, &self.shown.values, rank > 0);
        let mut words = self.shown.values.iter().map(|&v| format.write(v));
        self.axis(0, &mut words)
    }

    /// One axis and everything inside it; `words` are the elements in order.
    fn axis(&self, axis: usize, words: &mut dyn Iterator<Item = String>) -> String {
        let left = self.shown.shape.rank() - axis;
        if left == 0 {
            return words.next().unwrap_or_default();
        }
        let (entries, cut) = self.shown.entries(axis);
        let indent = " ".repeat(self.indent + 1 + axis);
        let tight = self.separator.trim_end();
        if left == 1 {
            return self.row(entries.len(), cut, &indent, words);
        }
        let between = format!("{tight}{}", "\n".repeat(left - 1));
        let mut parts: Vec<String> = entries.iter().map(|_| self.axis(axis + 1, words)).collect();
        if cut {
            parts.insert(EDGE, "...".to_string());
        }
        format!("[{}]", parts.join(&format!("{between}{indent}")))
    }

    /// The last axis: as many elements per line as fit.
    fn row(&self, count: usize, cut: bool, indent: &str, words: &mut dyn Iterator<Item = String>) -> String {
        let axes_before = self.shown.shape.rank() - 1;
        let limit = self.width - axes_before - self.separator.trim_end().len().max(1);
        let mut done = String::new();
        let mut line = indent.to_string();
        let total = count + cut as usize;
        for at in 0..total {
            let word = if cut && at == EDGE { "...".to_string() } else { words.next().unwrap_or_default() };
            if line.len() + word.len() > limit && line.len() > indent.len() {
                done += line.trim_end();
                done.push('\n');
                line = indent.to_string();
            }
            line += &word;
            if at + 1 < total {
                line += self.separator;
            }
        }
        done += &line;
        format!("[{}]", &done[indent.len()..])
    }
}

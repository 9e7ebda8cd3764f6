//! The operand of a convolution with what its boundary adds, in scratch.
#![allow(unsafe_code)]

use crossover_core::{Layout, ops::convolve::Boundary};

use super::{ALONE, Shape, term::Term};
use crate::threads::Threads;

/// Elements that are written at a time.
const PIECE: usize = ALONE / 8;

/// What windows see along an axis.
pub struct Window {
    /// Elements of the operand.
    pub n: usize,
    /// How many positions before the operand they begin.
    pub before: usize,
    /// Positions that they see.
    pub length: usize,
}

impl Window {
    /// The index that a position shows; `None` is outside, or beyond the last window.
    fn source(&self, at: usize, boundary: Boundary) -> Option<usize> {
        if at < self.length { boundary.source(at as isize - self.before as isize, self.n) } else { None }
    }
}

/// How an operand is extended.
pub struct Extend {
    pub source: Layout,
    /// One for each axis.
    pub windows: Vec<Window>,
    pub boundary: Boundary,
}

impl Extend {
    /// Writes rows of the shape's pitch; columns and rows beyond the last window are zero.
    ///
    /// # Safety
    /// The operand lies inside its block, and there is room for all planes at `scratch`.
    pub unsafe fn write<T: Term>(
        &self,
        threads: &Threads,
        shape: &Shape,
        from: *const T,
        outside: T,
        scratch: *mut T,
    ) {
        let (pitch, height) = (shape.pitch, shape.height);
        let (start, from) = (scratch as usize, from as usize);
        let pieces = pitch.div_ceil(PIECE);
        let units = shape.deep() * height * pieces;
        threads.each(units, (PIECE / pitch).max(1), |range| {
            for unit in range {
                let (line, column) = (unit / pieces, unit % pieces * PIECE);
                let count = PIECE.min(pitch - column);
                // SAFETY: pieces of the scratch are disjoint, and the operand is the caller's contract.
                unsafe {
                    let to = (start as *mut T).add(line * pitch + column);
                    match self.row(line / height, line % height) {
                        Row::Beyond => (0..count).for_each(|i| to.add(i).write(T::ZERO)),
                        Row::Outside => self.columns(None, outside, column, count, to),
                        Row::At(position) => {
                            let row = (from as *const T).wrapping_offset(position);
                            self.columns(Some(row), outside, column, count, to);
                        }
                    }
                }
            }
        });
    }

    /// What a row of a plane of the scratch shows.
    fn row(&self, mut plane: usize, row: usize) -> Row {
        let mut position = Some(self.source.offset as isize);
        let mut step = |axis: usize, index: Option<usize>| {
            position = position.zip(index).map(|(p, i)| p + i as isize * self.source.strides[axis]);
        };
        let last = self.windows.len() - 1;
        for (axis, window) in self.windows[..last].iter().enumerate().rev() {
            // Rows are padded to whole tiles, planes are not.
            let at = if axis + 1 == last { row } else { plane % window.length };
            if at >= window.length {
                return Row::Beyond;
            }
            if axis + 1 < last {
                plane /= window.length;
            }
            step(axis, window.source(at, self.boundary));
        }
        position.map_or(Row::Outside, Row::At)
    }

    /// Writes `count` columns from `column` on, of a row of the operand or of none.
    ///
    /// # Safety
    /// There is room for them at `to`, and the row lies inside its block.
    unsafe fn columns<T: Term>(
        &self,
        row: Option<*const T>,
        outside: T,
        column: usize,
        count: usize,
        to: *mut T,
    ) {
        let (window, end) = (&self.windows[self.windows.len() - 1], column + count);
        let stride = self.source.strides[self.windows.len() - 1];
        let clipped = |at: usize| at.clamp(column, end);
        // Of these columns, those that show the row as it is.
        let inside = match row {
            Some(_) => clipped(window.before)..clipped(window.length.min(window.before + window.n)),
            None => column..column,
        };
        let value = |at: usize| match (row, window.source(at, self.boundary)) {
            // SAFETY: an index of the axis.
            (Some(row), Some(i)) => unsafe { *row.wrapping_offset(i as isize * stride) },
            _ if at < window.length => outside,
            _ => T::ZERO,
        };
        // SAFETY: columns from `column` to `end` have room, and those inside are elements of the operand.
        unsafe {
            let put = |at: usize, value: T| to.add(at - column).write(value);
            match row {
                Some(row) if stride == 1 && !inside.is_empty() => {
                    let source = row.wrapping_add(inside.start - window.before);
                    std::ptr::copy_nonoverlapping(source, to.add(inside.start - column), inside.len());
                }
                Some(row) => {
                    let first = inside.start as isize - window.before as isize;
                    for (i, at) in inside.clone().enumerate() {
                        put(at, *row.wrapping_offset((first + i as isize) * stride));
                    }
                }
                None => {}
            }
            (column..inside.start).chain(inside.end..end).for_each(|at| put(at, value(at)));
        }
    }
}

/// What a row of the scratch shows.
enum Row {
    /// The operand's row that begins at this position.
    At(isize),
    /// Nothing but what lies outside.
    Outside,
    /// Nothing: it makes tiles whole.
    Beyond,
}

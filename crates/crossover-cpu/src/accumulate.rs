//! Reductions across the tiles of a unit, in the order of [`crossover_core::canonical`].
//!
//! A row's chunk results are themselves reduced in chunks, a column's segment results in segments. Both are carried
//! upwards like digits of a counter: `depth` levels are folded while tiles go by, and what leaves the top level is
//! an entry of `results`, folded by the same rule at the end. Threads that share a unit fill disjoint entries, each
//! for a range that starts at a multiple of [`span`].
#![allow(unsafe_code)]

use std::{mem::MaybeUninit, ptr};

use crossover_core::{
    Scalar,
    canonical::{CHUNK, SEGMENT},
    ops::reduce::ReduceOp,
};

use crate::{
    frame::Tile,
    geometry::{Geometry, Mode},
    lower::RESULTS,
    native,
    program::{Combine, Reduction, Stage},
};

/// Stands for the position of an extreme that is better than the best so far, until it has been looked for.
const BETTER: i64 = -1;
/// Most chunks of a row reduced by one call.
const ABREAST: usize = 256;

/// How a stage's reductions are laid out for units of a geometry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// Levels folded on the way.
    pub levels: usize,
    /// Entries that remain.
    pub results: usize,
}

/// Elements of a row, or rows of a column, that make one entry of the results.
pub fn span(geometry: &Geometry, depth: Depth) -> usize {
    base(geometry).saturating_pow(depth.levels as u32)
}

fn base(geometry: &Geometry) -> usize {
    if geometry.mode == Mode::Rows { CHUNK } else { SEGMENT }
}

/// The shallowest layout whose results have at most `most` entries.
pub fn depth(geometry: &Geometry, most: usize) -> Depth {
    let mut depth = Depth { levels: 1, results: geometry.reduce.div_ceil(base(geometry)) };
    while depth.results > most.max(1) {
        depth = Depth { levels: depth.levels + 1, results: depth.results.div_ceil(base(geometry)) };
    }
    depth
}

/// The layout when one thread has a whole unit. Columns fold everything, rows keep a short list.
pub fn whole(geometry: &Geometry) -> Depth {
    depth(geometry, if geometry.mode == Mode::Rows { RESULTS } else { 1 })
}

/// Elements of one entry: a row has one, a column strip one per column.
fn width(geometry: &Geometry) -> usize {
    if geometry.mode == Mode::Rows { 1 } else { geometry.columns }
}

/// Bytes of one entry of a reduction's results; extremes carry their positions. Those of rows lie side by side, as the
/// elements of the row that they are.
pub fn entry(geometry: &Geometry, reduction: &Reduction) -> usize {
    let size = reduction.dtype.size();
    match (geometry.mode, reduction.op.is_arg()) {
        (Mode::Rows, false) => size,
        (_, is_arg) => (width(geometry) * (size + if is_arg { 8 } else { 0 })).next_multiple_of(16),
    }
}

/// Bytes of all results of a reduction.
pub fn results(geometry: &Geometry, reduction: &Reduction, depth: Depth) -> usize {
    (entry(geometry, reduction) * depth.results.max(1)).next_multiple_of(64)
}

/// Bytes of the levels below the results.
fn levels(geometry: &Geometry, reduction: &Reduction, depth: Depth) -> usize {
    let per_level = if geometry.mode == Mode::Rows { CHUNK * 16 } else { entry(geometry, reduction) };
    (per_level * (depth.levels - 1) + entry(geometry, reduction)).next_multiple_of(64)
}

/// Bytes a frame needs for the accumulators of its stages.
pub fn bytes(geometry: &Geometry, stages: &[Stage]) -> usize {
    let depth = whole(geometry);
    let one = |r: &Reduction| levels(geometry, r, depth) + results(geometry, r, depth);
    stages.iter().map(|s| s.reductions.iter().map(one).sum()).max().unwrap_or(0)
}

/// One reduction of one unit in progress.
pub struct Accumulator<'a> {
    reduction: &'a Reduction,
    rows: bool,
    width: usize,
    entry: usize,
    depth: Depth,
    levels: *mut u8,
    results: *mut u8,
    counts: [usize; 8],
    /// Entries of the results that are complete.
    done: usize,
    /// Whether an element has decided the whole.
    decided: bool,
}

impl<'a> Accumulator<'a> {
    /// An empty accumulator with its levels at `place`, followed by its results unless they are given.
    /// Returns it with the end of the place.
    ///
    /// # Safety
    /// `place` has the bytes that [`bytes`] counts, `given` room for the entries this accumulator will fill.
    pub unsafe fn new(
        geometry: &Geometry,
        reduction: &'a Reduction,
        depth: Depth,
        place: *mut u8,
        given: Option<*mut u8>,
    ) -> (Accumulator<'a>, *mut u8) {
        let below = levels(geometry, reduction, depth);
        let own = if given.is_some() { 0 } else { results(geometry, reduction, depth) };
        // SAFETY: the caller's contract.
        let (after, end) = unsafe { (place.add(below), place.add(below + own)) };
        let accumulator = Accumulator {
            reduction,
            rows: geometry.mode == Mode::Rows,
            width: width(geometry),
            entry: entry(geometry, reduction),
            depth,
            levels: place,
            results: given.unwrap_or(after),
            counts: [0; 8],
            done: 0,
            decided: false,
        };
        (accumulator, end)
    }

    /// Where the body of the stage combines the rows of the next tile, of so many columns; tiles never cross the end of a segment.
    ///
    /// # Safety
    /// As [`Accumulator::push`], which follows.
    pub unsafe fn open(&mut self, columns: usize) -> *mut u8 {
        // SAFETY: an entry has room for all columns.
        unsafe {
            let entry = self.level(0);
            if self.counts[0] == 0 {
                native::fill_identity(self.reduction.op, self.reduction.dtype, entry, columns);
            }
            entry
        }
    }

    /// Combines a tile whose first element (or row) is `position` of the reduced group.
    ///
    /// # Safety
    /// `from` holds the tile's elements; tiles come in order.
    pub unsafe fn push(&mut self, from: *const u8, tile: &Tile, position: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            match (self.reduction.combine, self.rows) {
                (Combine::Ordered { rows, .. }, true) => {
                    let at = self.slot(0);
                    let n = if self.reduction.is_folded() { 1 } else { tile.count };
                    rows(from, at, 1, n);
                    self.decided |= self.reduction.decisive() == Some(*at);
                    self.count(0, 1);
                }
                (Combine::Ordered { .. }, false) if self.reduction.is_folded() => {
                    self.counts[0] += tile.rows;
                    if self.counts[0] == SEGMENT {
                        self.carry(0, tile.columns);
                    }
                }
                (Combine::Ordered { .. }, false) => self.push_rows(from, tile),
                (Combine::Arg { value, .. }, true) => {
                    let mut best = [0u64; 2];
                    if self.done > 0 {
                        value(from, best.as_mut_ptr().cast(), 1, tile.count);
                    }
                    self.push_chunk(from, tile.count, best.as_ptr().cast(), position);
                }
                (Combine::Arg { row, .. }, false) => {
                    let pitch = self.pitch(tile);
                    for r in 0..tile.rows {
                        let index = (position + r) as i64;
                        self.candidate(row, from.offset(r as isize * pitch), &index, true);
                    }
                }
            }
        }
    }

    /// Combines a chunk of a row, of which the extreme is known unless it is the first, into the position of the row's.
    ///
    /// # Safety
    /// `from` holds the chunk's elements, which start at `position` of the row, and `best` their extreme; chunks come in order.
    unsafe fn push_chunk(&mut self, from: *const u8, n: usize, best: *const u8, position: usize) {
        let Combine::Arg { rows, merge, .. } = self.reduction.combine else { return };
        // SAFETY: the caller's contract.
        unsafe {
            if self.done > 0 {
                // Most chunks hold nothing better, and nobody asks where in them their extreme is.
                self.candidate(merge, best, &BETTER, false);
                if *self.results.cast::<i64>() != BETTER {
                    return;
                }
            }
            let (mut best, mut index) = ([0u64; 2], 0i64);
            rows(from, best.as_mut_ptr().cast(), &mut index, 1, n);
            index += position as i64;
            match self.done {
                0 => self.candidate(merge, best.as_ptr().cast(), &index, false),
                _ => *self.results.cast() = index,
            }
            self.decided = self.reduction.decisive() == Some(*self.results.add(self.width * 8));
        }
    }

    /// Combines `n` elements of a row that lie side by side; they start at a chunk, which is `position` of the row.
    ///
    /// # Safety
    /// `from` holds the elements; ranges come in order.
    pub unsafe fn push_run(&mut self, from: *const u8, n: usize, position: usize) {
        let decisive = self.reduction.decisive();
        // Where an element may decide there is a look after few chunks, and then after more and more.
        let mut most = if decisive.is_some() { 1 } else { ABREAST };
        let mut done = 0;
        while done < n && !self.decided {
            let length = CHUNK.min(n - done);
            let chunks = ((n - done) / CHUNK).clamp(1, most);
            most = ABREAST.min(4 * most);
            // SAFETY: the chunks lie inside the run.
            done += length
                * unsafe {
                    let from = from.add(done * self.reduction.dtype.size());
                    if self.reduction.op.is_arg() {
                        self.push_extremes(from, chunks, length, position + done)
                    } else {
                        self.push_chunks(from, chunks, length)
                    }
                };
        }
    }

    /// Combines chunks of `length` elements that lie side by side, as many as their level has room for, and returns how many.
    unsafe fn push_chunks(&mut self, from: *const u8, chunks: usize, length: usize) -> usize {
        let Combine::Ordered { rows, .. } = self.reduction.combine else { return chunks };
        // The top has room for all.
        let chunks = if self.depth.levels == 1 { chunks } else { chunks.min(CHUNK - self.counts[0]) };
        // SAFETY: the caller's contract; results of chunks go where the next entries of the level belong.
        unsafe {
            let to = self.slot(0);
            match self.reduction.chunks {
                Some(f) => f([from.cast_mut(), to].as_ptr(), chunks, length),
                None => rows(from, to, chunks, length),
            }
            if let Some(decisive) = self.reduction.decisive() {
                self.decided = std::slice::from_raw_parts(to, chunks).contains(&decisive);
            }
            self.count(0, chunks);
        }
        chunks
    }

    /// Combines the extremes of chunks of `length` elements that lie side by side, the first of which is `position` of the row.
    unsafe fn push_extremes(
        &mut self,
        from: *const u8,
        chunks: usize,
        length: usize,
        position: usize,
    ) -> usize {
        let Combine::Arg { value, .. } = self.reduction.combine else { return chunks };
        let size = self.reduction.dtype.size();
        let mut extremes = [const { MaybeUninit::<u128>::uninit() }; ABREAST];
        let extremes = extremes.as_mut_ptr().cast::<u8>();
        // SAFETY: the caller's contract; an extreme has at most 16 bytes, and each has its slot.
        unsafe {
            value(from, extremes, chunks, length);
            // Without an element that decides all of them are the same.
            if let Some(decisive) = self.reduction.decisive()
                && self.done > 0
                && !std::slice::from_raw_parts(extremes, chunks).contains(&decisive)
            {
                return chunks;
            }
            for i in 0..chunks {
                let at = i * length;
                self.push_chunk(from.add(at * size), length, extremes.add(i * size), position + at);
            }
        }
        chunks
    }

    /// Whether an element has decided the whole, so that what comes after it may be left out.
    pub fn is_decided(&self) -> bool {
        self.decided
    }

    /// Fills the entries of a range of a row that were left out, since an element has decided, with what decides nothing.
    ///
    /// # Safety
    /// The results have room for so many entries.
    pub unsafe fn leave_out(&mut self, entries: usize) {
        let Some(decisive) = self.reduction.decisive().filter(|_| self.rows) else { return };
        for entry in self.done..entries {
            // SAFETY: the caller's contract; extremes have their position before them.
            unsafe {
                let mut to = self.results.add(entry * self.entry);
                if self.reduction.op.is_arg() {
                    to.cast::<i64>().write(i64::MAX);
                    to = to.add(8);
                }
                to.write(1 - decisive);
            }
        }
        self.done = self.done.max(entries);
    }

    /// Bytes from row to row of a tile.
    fn pitch(&self, tile: &Tile) -> isize {
        self.reduction.pitch.unwrap_or((tile.columns * self.reduction.dtype.size()) as isize)
    }

    /// Where the next entry of a row's level goes.
    unsafe fn slot(&self, level: usize) -> *mut u8 {
        let size = self.reduction.dtype.size();
        // SAFETY: a level holds up to CHUNK entries, the results as many as the caller gave room for.
        unsafe {
            if level + 1 == self.depth.levels {
                self.results.add(self.done * self.entry)
            } else {
                self.levels.add(level * CHUNK * 16 + self.counts[level] * size)
            }
        }
    }

    /// Counts entries of a row's level, which has room for them, and folds the level when it is full.
    unsafe fn count(&mut self, level: usize, entries: usize) {
        if level + 1 == self.depth.levels {
            self.done += entries;
            return;
        }
        self.counts[level] += entries;
        if self.counts[level] == CHUNK {
            // SAFETY: as the callers'.
            unsafe { self.fold(level) };
        }
    }

    /// Reduces the entries of a row's level to one of the next.
    unsafe fn fold(&mut self, level: usize) {
        let Combine::Ordered { rows, .. } = self.reduction.combine else { return };
        let n = std::mem::take(&mut self.counts[level]);
        // SAFETY: the level holds `n` entries; levels do not overlap.
        unsafe {
            let from = self.levels.add(level * CHUNK * 16);
            let to = self.slot(level + 1);
            rows(from, to, 1, n);
            self.count(level + 1, 1);
        }
    }

    /// Adds rows to a column, segment by segment.
    unsafe fn push_rows(&mut self, from: *const u8, tile: &Tile) {
        let Combine::Ordered { columns, .. } = self.reduction.combine else { return };
        let size = self.reduction.dtype.size();
        let pitch = self.pitch(tile);
        let mut row = 0;
        while row < tile.rows {
            let have = self.counts[0];
            let take = (SEGMENT - have).min(tile.rows - row);
            // SAFETY: the caller's contract; the accumulator holds one entry of `columns` elements.
            unsafe {
                let sums = self.level(0);
                let from = from.offset(row as isize * pitch);
                let fresh = (have == 0) as usize;
                if fresh == 1 {
                    ptr::copy_nonoverlapping(from, sums, tile.columns * size);
                }
                if take > fresh {
                    let from = from.offset(fresh as isize * pitch);
                    columns(from, pitch / size as isize, sums, take - fresh, tile.columns);
                }
                self.counts[0] += take;
                if self.counts[0] == SEGMENT {
                    self.carry(0, tile.columns);
                }
            }
            row += take;
        }
    }

    /// Where a column's level accumulates.
    unsafe fn level(&self, level: usize) -> *mut u8 {
        // SAFETY: one entry per level below the results.
        unsafe {
            if level + 1 == self.depth.levels {
                self.results.add(self.done * self.entry)
            } else {
                self.levels.add(level * self.entry)
            }
        }
    }

    /// Hands a finished segment of a column to the next level.
    unsafe fn carry(&mut self, level: usize, width: usize) {
        let Combine::Ordered { columns, .. } = self.reduction.combine else { return };
        self.counts[level] = 0;
        if level + 1 == self.depth.levels {
            self.done += 1;
            return;
        }
        // SAFETY: levels do not overlap.
        unsafe {
            let (from, to) = (self.level(level), self.level(level + 1));
            if self.counts[level + 1] == 0 {
                ptr::copy_nonoverlapping(from, to, width * self.reduction.dtype.size());
            } else {
                columns(from, 0, to, 1, width);
            }
            self.counts[level + 1] += 1;
            if self.counts[level + 1] == SEGMENT {
                self.carry(level + 1, width);
            }
        }
    }

    /// Merges candidates for an extreme into the only entry.
    unsafe fn candidate(
        &mut self,
        merge: crate::tile::ArgColumnsFn,
        from: *const u8,
        index: *const i64,
        same: bool,
    ) {
        let (size, width) = (self.reduction.dtype.size(), self.width);
        // SAFETY: an entry holds `width` positions and as many values.
        unsafe {
            let positions = self.results.cast::<i64>();
            let best = self.results.add(width * 8);
            if self.done == 0 {
                ptr::copy_nonoverlapping(from, best, width * size);
                for c in 0..width {
                    *positions.add(c) = if same { *index } else { *index.add(c) };
                }
                self.done = 1;
            } else {
                merge(from, index, best, positions, width);
            }
        }
    }

    /// Completes the entries of a range: partly filled levels fold upwards.
    ///
    /// # Safety
    /// As [`Accumulator::push`]; `width` is the number of columns of the tiles.
    pub unsafe fn flush(&mut self, width: usize) {
        if self.reduction.op.is_arg() {
            return;
        }
        for level in 0..self.depth.levels {
            if self.counts[level] > 0 {
                // SAFETY: the caller's contract.
                unsafe { if self.rows { self.fold(level) } else { self.carry(level, width) } }
            }
        }
    }

    /// Narrows the accumulators to strips of `width` columns.
    pub fn narrow(&mut self, width: usize) {
        if !self.rows {
            self.width = width;
        }
    }

    /// Folds `entries` complete entries of the results into the value of the reduction, at `out`.
    ///
    /// # Safety
    /// The entries are filled, `out` has room for a reduced value, `width` is the number of columns.
    pub unsafe fn finish(&mut self, entries: usize, out: *mut u8, width: usize) {
        let size = self.reduction.dtype.size();
        // SAFETY: the caller's contract.
        unsafe {
            match self.reduction.combine {
                _ if entries == 0 => self.identity(out, width),
                Combine::Arg { merge, .. } => {
                    for e in 1..entries {
                        let from = self.results.add(e * self.entry);
                        let (index, value) = (from.cast::<i64>(), from.add(width * 8));
                        let best = self.results.add(width * 8);
                        merge(value, index, best, self.results.cast(), width);
                    }
                    ptr::copy_nonoverlapping(self.results, out, width * 8);
                }
                Combine::Ordered { rows, .. } if self.rows => {
                    self.fold_rows(rows, entries);
                    ptr::copy_nonoverlapping(self.results, out, size);
                }
                Combine::Ordered { columns, .. } => {
                    self.fold_columns(columns, entries, width);
                    ptr::copy_nonoverlapping(self.results, out, width * size);
                }
            }
        }
    }

    unsafe fn fold_rows(&mut self, rows: crate::tile::ReduceFn, mut n: usize) {
        let size = self.reduction.dtype.size();
        // SAFETY: chunks shrink towards the front.
        unsafe {
            while n > 1 {
                let chunks = n.div_ceil(CHUNK);
                for c in 0..chunks {
                    let mut value = [0u64; 2];
                    let length = CHUNK.min(n - c * CHUNK);
                    rows(self.results.add(c * CHUNK * size), value.as_mut_ptr().cast(), 1, length);
                    ptr::copy_nonoverlapping(value.as_ptr().cast(), self.results.add(c * size), size);
                }
                n = chunks;
            }
        }
    }

    unsafe fn fold_columns(&mut self, columns: crate::tile::ColumnsFn, mut n: usize, width: usize) {
        let pitch = (self.entry / self.reduction.dtype.size()) as isize;
        // SAFETY: segments shrink towards the front, and a segment's first entry is where it accumulates.
        unsafe {
            while n > 1 {
                let segments = n.div_ceil(SEGMENT);
                for s in 0..segments {
                    let first = self.results.add(s * SEGMENT * self.entry);
                    let others = SEGMENT.min(n - s * SEGMENT) - 1;
                    if others > 0 {
                        columns(first.add(self.entry), pitch, first, others, width);
                    }
                    ptr::copy(first, self.results.add(s * self.entry), self.entry);
                }
                n = segments;
            }
        }
    }

    /// The value of an empty sum or product.
    unsafe fn identity(&self, out: *mut u8, width: usize) {
        let dtype = self.reduction.dtype;
        let value = match self.reduction.op {
            ReduceOp::Prod => Scalar::one(dtype),
            _ => Scalar::zero(dtype),
        };
        let mut bytes = [0u8; 16];
        value.write_to(&mut bytes);
        let size = if self.reduction.op.is_arg() { 8 } else { dtype.size() };
        for c in 0..width {
            // SAFETY: `out` has room for `width` elements.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), out.add(c * size), size) };
        }
    }

    /// Entries completed so far.
    pub fn done(&self) -> usize {
        self.done
    }
}

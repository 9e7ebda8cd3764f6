//! How the index space of a kernel is cut into tiles, and how windows look from there.
//!
//! The space is `lines` × `flat`: windows move freely from line to line, and a tile is a range of consecutive
//! positions of one line's flat part. Which axes are which depends on the kind of kernel and its lengths:
//!
//! | kind | lines | flat | a tile holds |
//! | --- | --- | --- | --- |
//! | Map, one axis after merging, or a short last axis | none | all | any range |
//! | Map | all but the last | the last | part of the last axis |
//! | Row, short rows | none | outer, reduce | whole rows |
//! | Row | outer | reduce | one row, or a chunk of it |
//! | Column, narrow | outer | reduce, inner | whole rows of the column block |
//! | Column | outer, reduce | inner | part of one row, or of a few |

use crossover_core::canonical::{CHUNK, SEGMENT};
use crossover_plan::kernel::{Dims, Extent, Fused, Kind, StepOp, Window};
use smallvec::SmallVec;

use crate::window::{View, merge};

/// Elements of the largest tile: one chunk of a row, 4 KiB of `f32`.
pub const TILE: usize = CHUNK;
/// Rows at least this long get tiles of their own; below, several share a tile so that calls amortise.
pub const LONG: usize = 192;
/// How many times larger a tile of a strip of columns is: its rows are short, and each tile costs as much as some of them.
const TALL: usize = 4;
/// How many times longer a tile is at most where none of its values is kept.
const STRETCH: usize = 64;
/// Elements of a tile with an operand that jumps from cache line to cache line.
const JUMPS: usize = 64;
/// Longest row whose intermediate values are kept between phases.
const KEPT_ROW: usize = 32768;
/// Bytes of a strip of columns that several phases read; larger strips fall out of the cache between phases.
const STRIP_BYTES: usize = 2 << 20;

/// Bytes of operands that stay in no cache between phases.
const FAR: usize = 16 << 20;

/// How a kernel walks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All steps in one pass over each tile: Map, and Row with rows that fit a tile.
    Inline,
    /// One row at a time, in chunks; one pass per dependent reduction.
    Rows,
    /// One strip of columns at a time, one or a few rows per tile.
    Columns,
    /// All columns at a time, several rows per tile.
    Blocks,
}

/// The cut.
#[derive(Debug, Clone)]
pub struct Geometry {
    pub mode: Mode,
    /// Lengths of the line axes.
    pub line_dims: SmallVec<[usize; 4]>,
    /// Positions of the flat part.
    pub flat: usize,
    /// Elements of a full tile.
    pub tile: usize,
    /// Elements of a row (Row), or of a row of a tile (Column).
    pub columns: usize,
    /// Length of the reduced group; 1 for Map.
    pub reduce: usize,
    /// Rows per tile.
    pub rows: usize,
    /// Points of the outer group.
    pub outer: usize,
    /// Strips of columns per outer point.
    pub strips: usize,
    /// Whether a value constant along the reduced axes is one element per tile.
    pub reduced_is_one: bool,
    /// Whether the rows of a tile lie apart in memory: a strip of columns several rows high.
    pub pitched: bool,
    /// Whether tiles of the same part of all lines come after each other, so that strided operands are read again
    /// while their cache lines are near.
    pub lines_first: bool,
    /// Whether the flat part holds several rows whose reduced values must be repeated to meet full ones.
    pub grouped: bool,
}

impl Geometry {
    /// Independent pieces of work: tiles when inline, else rows or strips.
    pub fn units(&self) -> usize {
        match self.mode {
            Mode::Inline => self.lines() * self.tiles(),
            _ => self.outer * self.strips,
        }
    }

    /// Tiles per line.
    pub fn tiles(&self) -> usize {
        self.flat.div_ceil(self.tile.max(1))
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.line_dims.iter().product()
    }

    /// Elements of a reduced value in the largest tile.
    pub fn reduced(&self) -> usize {
        match self.mode {
            _ if self.reduced_is_one => 1,
            Mode::Inline => self.rows,
            _ => self.columns,
        }
    }

    /// Positions of one unit, for values kept between phases; `None` when they are too many to keep.
    pub fn kept(&self) -> Option<usize> {
        match self.mode {
            Mode::Rows if self.reduce <= KEPT_ROW => Some(self.reduce),
            Mode::Columns | Mode::Blocks => {
                let positions = self.reduce.checked_mul(self.columns)?;
                (positions <= KEPT_ROW).then_some(positions)
            }
            _ => None,
        }
    }
}

/// A window after merging: offset and strides over the merged axes.
#[derive(Debug, Clone)]
pub struct Strides {
    pub offset: isize,
    pub outer: SmallVec<[isize; 4]>,
    pub reduce: SmallVec<[isize; 4]>,
    pub inner: SmallVec<[isize; 4]>,
}

/// A kernel's space with axes merged, and its windows over it.
#[derive(Debug)]
pub struct Merged {
    pub outer: SmallVec<[usize; 4]>,
    pub reduce: SmallVec<[usize; 4]>,
    pub inner: SmallVec<[usize; 4]>,
    pub windows: Vec<Strides>,
    /// How many windows, from the first, are memory rather than positions.
    pub memory: usize,
}

/// Every window of a kernel: loads, stores, then index and random steps in order.
fn windows(fused: &Fused) -> Vec<&Window> {
    let steps = fused.steps.iter().filter_map(|s| match &s.op {
        StepOp::Index { window, .. } | StepOp::Random { window, .. } => Some(window),
        _ => None,
    });
    let loads = fused.loads.iter().map(|l| &l.window);
    loads.chain(fused.stores.iter().map(|s| &s.window)).chain(steps).collect()
}

impl Merged {
    /// Merges axes within each group. Axes of a Map are first put in the order of its first store, so that results
    /// are written in order however the expression was permuted.
    pub fn new(fused: &Fused) -> Merged {
        let all = windows(fused);
        let space = &fused.space;
        let (a, b) = (space.outer.len(), space.outer.len() + space.reduce.len());
        let mut offsets: Vec<isize> = all.iter().map(|w| w.offset as isize).collect();
        let part = |range: std::ops::Range<usize>| -> Vec<SmallVec<[isize; 4]>> {
            all.iter().map(|w| w.strides[range.clone()].iter().copied().collect()).collect()
        };
        let (mut outer, mut reduce, mut inner) = (part(0..a), part(a..b), part(b..space.rank()));
        let mut outer_dims: SmallVec<[usize; 4]> = space.outer.iter().copied().collect();
        let mut reduce_dims: SmallVec<[usize; 4]> = space.reduce.iter().copied().collect();
        let mut inner_dims: SmallVec<[usize; 4]> = space.inner.iter().copied().collect();
        if fused.kind == Kind::Map && !fused.stores.is_empty() {
            by_first_store(&mut outer_dims, &mut outer, &mut offsets, fused.loads.len());
        }
        merge(&mut outer_dims, &mut outer);
        merge(&mut reduce_dims, &mut reduce);
        merge(&mut inner_dims, &mut inner);
        let windows = offsets
            .into_iter()
            .zip(outer.into_iter().zip(reduce).zip(inner))
            .map(|(offset, ((outer, reduce), inner))| Strides { offset, outer, reduce, inner })
            .collect();
        let memory = fused.loads.len() + fused.stores.len();
        Merged { outer: outer_dims, reduce: reduce_dims, inner: inner_dims, windows, memory }
    }

    /// Strides over the line axes, and the view over the flat part.
    pub fn split(
        &self,
        window: &Strides,
        kind: Kind,
        geometry: &Geometry,
        extent: Extent,
    ) -> (SmallVec<[isize; 4]>, View) {
        let join =
            |a: &[isize], b: &[isize]| -> SmallVec<[isize; 4]> { a.iter().chain(b).copied().collect() };
        let dims = |a: &[usize], b: &[usize]| -> Dims<usize> { a.iter().chain(b).copied().collect() };
        let reduced = extent == Extent::Reduced;
        match (kind, geometry.mode) {
            (Kind::Map, _) => {
                let cut = geometry.line_dims.len();
                (window.outer[..cut].into(), View::new(&self.outer[cut..], &window.outer[cut..]))
            }
            (Kind::Row, _) if geometry.grouped && reduced => {
                (SmallVec::new(), View::new(&self.outer, &window.outer))
            }
            (Kind::Row, _) if geometry.grouped => {
                let flat = View::new(&dims(&self.outer, &self.reduce), &join(&window.outer, &window.reduce));
                (SmallVec::new(), flat)
            }
            (Kind::Row, _) => (window.outer.clone(), View::new(&self.reduce, &window.reduce)),
            (Kind::Column, Mode::Blocks) if reduced => {
                (window.outer.clone(), View::new(&self.inner, &window.inner))
            }
            (Kind::Column, Mode::Blocks) => {
                let flat = View::new(&dims(&self.reduce, &self.inner), &join(&window.reduce, &window.inner));
                (window.outer.clone(), flat)
            }
            (Kind::Column, _) => (join(&window.outer, &window.reduce), View::new(&self.inner, &window.inner)),
        }
    }
}

/// Reorders the axes of a Map by the strides of its first store, and turns axes it walks backwards.
fn by_first_store(
    dims: &mut SmallVec<[usize; 4]>,
    strides: &mut [SmallVec<[isize; 4]>],
    offsets: &mut [isize],
    store: usize,
) {
    let lead = strides[store].clone();
    let mut order: SmallVec<[usize; 4]> = (0..dims.len()).collect();
    order.sort_by_key(|&axis| std::cmp::Reverse(lead[axis].unsigned_abs()));
    let old = dims.clone();
    for (to, &from) in order.iter().enumerate() {
        dims[to] = old[from];
    }
    for (s, offset) in strides.iter_mut().zip(offsets) {
        let old_strides = s.clone();
        for (to, &from) in order.iter().enumerate() {
            s[to] = old_strides[from];
            if lead[from] < 0 {
                *offset += (old[from] as isize - 1) * s[to];
                s[to] = -s[to];
            }
        }
    }
}

/// Cuts a kernel. `bytes` are the bytes its loads read per point; `phases` whether it reads them more than once.
pub fn cut(kind: Kind, merged: &Merged, bytes: usize, phases: bool, threads: usize) -> Geometry {
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    let (outer, reduce, inner) = (product(&merged.outer), product(&merged.reduce), product(&merged.inner));
    let mut geometry = Geometry {
        mode: Mode::Inline,
        line_dims: SmallVec::new(),
        flat: outer,
        tile: TILE.min(outer),
        columns: 1,
        reduce,
        rows: 1,
        outer,
        strips: 1,
        reduced_is_one: true,
        pitched: false,
        lines_first: false,
        grouped: false,
    };
    match kind {
        Kind::Map => {
            if let Some((&last, lines)) = merged.outer.split_last()
                && !lines.is_empty()
                && last >= LONG
            {
                geometry.line_dims = lines.into();
                geometry.flat = last;
                geometry.tile = even(last, TILE);
                // An operand that jumps a cache line per element is read in short pieces of neighbouring lines.
                let jumps = |w: &Strides| w.outer.last().is_some_and(|s| s.unsigned_abs() >= 16);
                if merged.windows[..merged.memory].iter().any(jumps) {
                    geometry.tile = even(last, JUMPS);
                    geometry.lines_first = true;
                }
            }
        }
        Kind::Row => {
            geometry.columns = reduce;
            if reduce > CHUNK || reduce == 0 {
                geometry.mode = Mode::Rows;
            }
            geometry.rows = if (1..LONG).contains(&reduce) { (TILE / reduce).min(outer) } else { 1 };
            geometry.grouped = geometry.rows > 1;
            geometry.reduced_is_one = !geometry.grouped;
            geometry.line_dims = if geometry.grouped { SmallVec::new() } else { merged.outer.clone() };
            geometry.flat = if geometry.grouped { outer * reduce } else { reduce };
            geometry.tile = if geometry.grouped { geometry.rows * reduce } else { reduce.min(TILE) };
        }
        Kind::Column => {
            geometry.reduced_is_one = false;
            geometry.line_dims = merged.outer.clone();
            if inner >= LONG {
                geometry.mode = Mode::Columns;
                // No row of an empty column is ever visited, but its outer point is.
                geometry.line_dims.extend(merged.reduce.iter().map(|&n| if reduce == 0 { 1 } else { n }));
                geometry.flat = inner;
                geometry.columns = strip(outer, reduce, inner, bytes, phases, threads);
                geometry.strips = inner.div_ceil(geometry.columns);
                if merged.reduce.len() == 1 {
                    // Segments consist of whole tiles.
                    let most = (TALL * TILE / geometry.columns).clamp(1, SEGMENT);
                    geometry.rows = (1 << most.ilog2()).min(reduce.max(1));
                }
                geometry.pitched = geometry.rows > 1;
                geometry.grouped = geometry.pitched;
                geometry.tile = geometry.rows * geometry.columns;
            } else {
                geometry.mode = Mode::Blocks;
                geometry.grouped = true;
                geometry.columns = inner;
                geometry.rows = (TILE / inner.max(1)).clamp(1, reduce.max(1));
                geometry.flat = reduce * inner;
                geometry.tile = geometry.rows * inner;
            }
        }
    }
    geometry
}

impl Geometry {
    /// Puts several long rows into a tile, for loops that go from row to row by themselves.
    pub fn group(&mut self, rows: usize) {
        self.rows = rows;
        self.grouped = true;
        self.reduced_is_one = false;
        self.line_dims = SmallVec::new();
        self.flat = self.outer * self.columns;
        self.tile = rows * self.columns;
    }

    /// Makes tiles longer where no value of one has to stay in the first-level cache, as long as every one of
    /// `pieces` has several: a loop that goes on reads memory better than one that starts again every few lines.
    pub fn stretch(&mut self, pieces: usize) {
        let most = (self.lines() * self.flat).div_ceil(4 * pieces.max(1));
        let times = (most / TILE).min(STRETCH);
        if times > 1 && !self.lines_first {
            self.tile = even(self.flat, times * TILE).next_multiple_of(64).min(self.flat);
        }
    }
}

/// Columns per strip: few enough that the strip stays in the cache between phases and every thread has one, many
/// enough that memory is read in long runs.
fn strip(outer: usize, reduce: usize, inner: usize, bytes: usize, phases: bool, threads: usize) -> usize {
    let mut width = TILE;
    // Threads share rows where no cache keeps them anyway: memory is read best from front to back.
    let size = reduce.saturating_mul(inner).saturating_mul(bytes);
    if size >= FAR && reduce >= 2 * threads * SEGMENT && outer < threads {
        return even(inner, TILE).next_multiple_of(16).min(inner);
    }
    if phases {
        width = width.min(STRIP_BYTES / (reduce * bytes).max(1));
    }
    // Splitting rows instead costs a barrier per phase, so strips come first while rows of them stay long.
    let wanted = (2 * threads).div_ceil(outer.max(1));
    width = width.min(inner.div_ceil(wanted)).max(256);
    even(inner, width).next_multiple_of(16).min(inner)
}

/// The length of equal parts of `n`, none longer than `most`.
fn even(n: usize, most: usize) -> usize {
    n.div_ceil(n.div_ceil(most).max(1))
}

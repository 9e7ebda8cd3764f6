//! Attention on the CPU: blocks of keys pass by blocks of queries, and softmax is corrected as larger scores appear.
//!
//! What always holds: memory beyond operands and result is one block of keys and values and the rows of one piece, for each
//! thread; a query that sees no key gets zeros; bits do not depend on the number of threads, nor on how queries are cut into pieces.

use std::{
    f32::consts::{LN_2, LOG2_E},
    ops::Range,
};

use crossover_core::{
    DType, Element, Result,
    custom::{Inputs, Output},
};
use half::{bf16, f16, slice::HalfFloatSliceExt};

use super::{
    panel,
    scratch::Scratch,
    shape::{Band, Dims, Layout, Lines},
    simd::{Loops, STRIP, SUMS},
};

/// Queries that pass by a block of keys before the next block is made ready, at most and at least.
const QUERIES: usize = 512;
const FEWEST: usize = 64;
/// Pieces that keep several threads busy.
const PIECES: usize = 16;
/// Keys of a block, unless the caller asks for others.
pub(super) const KEYS: usize = 256;

/// Queries of a piece: fewer than could be where there are few heads. Bits do not depend on it.
pub(super) fn queries(heads: usize, queries: usize) -> usize {
    let mut each = QUERIES;
    while each > FEWEST && heads * queries.div_ceil(each) < PIECES {
        each /= 2;
    }
    // Pieces of a head are equally long, so that few of them reach into the next.
    queries.div_ceil(queries.div_ceil(each).max(1)).max(1)
}

/// What the closure knows beside its operands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) scale: f32,
    pub(super) layout: Layout,
    pub(super) band: Band,
    /// Keys of a block.
    pub(super) keys: usize,
    /// Whether each row of results is followed by its log-sum-exp.
    pub(super) packed: bool,
    /// What the operand after q, k and v is, if there is one.
    pub(super) bias: Bias,
    /// Whether the last operand is the number of keys of each batch.
    pub(super) lengths: bool,
}

/// What is done to scores beside scaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Bias {
    None,
    /// Numbers are added.
    Added,
    /// A query sees a key where there is `true`.
    Mask,
}

/// Elements that can be widened.
trait Wide: Element {
    /// So many rows of `size` elements, from a row on and `step` rows apart, as `f32`: where they are, if they are that already, or in
    /// `room`, which has space for them then.
    fn widened<'a>(
        from: &'a [Self],
        rows: (usize, usize, usize),
        size: usize,
        room: &'a mut [f32],
    ) -> panel::Rows<'a>;
    fn narrow(from: f32) -> Self;
}

impl Wide for f32 {
    fn widened<'a>(
        from: &'a [f32],
        (first, step, many): (usize, usize, usize),
        size: usize,
        _: &'a mut [f32],
    ) -> panel::Rows<'a> {
        panel::Rows { numbers: &from[first * size..], many, size, stride: step * size }
    }
    fn narrow(from: f32) -> f32 {
        from
    }
}

/// As [`Wide::widened`], for elements of 16 bits.
fn converted<'a, T>(
    from: &'a [T],
    (first, step, many): (usize, usize, usize),
    size: usize,
    room: &'a mut [f32],
) -> panel::Rows<'a>
where
    [T]: HalfFloatSliceExt,
{
    for (at, room) in room.chunks_exact_mut(size).take(many).enumerate() {
        from[(first + at * step) * size..][..size].convert_to_f32_slice(room);
    }
    panel::Rows { numbers: room, many, size, stride: size }
}

impl Wide for f16 {
    fn widened<'a>(
        from: &'a [f16],
        rows: (usize, usize, usize),
        size: usize,
        room: &'a mut [f32],
    ) -> panel::Rows<'a> {
        converted(from, rows, size, room)
    }
    fn narrow(from: f32) -> f16 {
        f16::from_f32(from)
    }
}

impl Wide for bf16 {
    fn widened<'a>(
        from: &'a [bf16],
        rows: (usize, usize, usize),
        size: usize,
        room: &'a mut [f32],
    ) -> panel::Rows<'a> {
        converted(from, rows, size, room)
    }
    fn narrow(from: f32) -> bf16 {
        bf16::from_f32(from)
    }
}

/// The bias or mask of a call.
enum Extra<'a> {
    None,
    Added(&'a [f32], [usize; 4]),
    Mask(&'a [bool], [usize; 4]),
}

impl Extra<'_> {
    /// Applies it to the scores of a query with keys from `first` on.
    fn apply(&self, row: &mut [f32], [batch, head, query, first]: [usize; 4]) {
        let start = |s: &[usize; 4]| batch * s[0] + head * s[1] + query * s[2] + first * s[3];
        match self {
            Extra::None => {}
            Extra::Added(values, strides) => {
                let from = start(strides);
                // Scores are exponents of two.
                for (i, x) in row.iter_mut().enumerate() {
                    *x += values[from + i * strides[3]] * LOG2_E;
                }
            }
            Extra::Mask(values, strides) => {
                let from = start(strides);
                for (i, x) in row.iter_mut().enumerate() {
                    if !values[from + i * strides[3]] {
                        *x = f32::NEG_INFINITY;
                    }
                }
            }
        }
    }
}

/// Elements between neighbours along each axis; none along axes of length 1.
pub(super) fn strides(dims: &[usize]) -> [usize; 4] {
    let mut out = [0; 4];
    let mut step = 1;
    for (axis, &n) in dims.iter().enumerate().rev().take(4) {
        out[axis] = if n == 1 { 0 } else { step };
        step *= n;
    }
    out
}

/// The closure: a piece of the result, which starts at the start of a row.
pub(super) fn attend(
    inputs: &Inputs<'_>,
    output: &mut Output<'_>,
    settings: &Settings,
    dtype: DType,
) -> Result<()> {
    match dtype {
        DType::F16 => piece::<f16>(inputs, output, settings),
        DType::BF16 => piece::<bf16>(inputs, output, settings),
        _ => piece::<f32>(inputs, output, settings),
    }
}

fn piece<T: Wide>(inputs: &Inputs<'_>, output: &mut Output<'_>, settings: &Settings) -> Result<()> {
    let wrong = |what: String| crossover_core::Error::Value { op: "attention", what };
    let dims =
        Dims::new(settings.layout, &inputs.shape(0), &inputs.shape(1), &inputs.shape(2)).map_err(wrong)?;
    let strides = strides(inputs.shape(3).dims());
    let extra = match settings.bias {
        Bias::None => Extra::None,
        Bias::Added => Extra::Added(inputs.slice::<f32>(3)?, strides),
        Bias::Mask => Extra::Mask(inputs.slice::<bool>(3)?, strides),
    };
    let lengths = if settings.lengths { Some(inputs.slice::<i32>(inputs.len() - 1)?) } else { None };
    let call = Call {
        dims,
        settings: *settings,
        q: inputs.slice::<T>(0)?,
        k: inputs.slice::<T>(1)?,
        v: inputs.slice::<T>(2)?,
        extra,
        lengths,
        loops: Loops::get(),
    };
    let width = dims.head_size + usize::from(settings.packed);
    let start = output.start() / width;
    if settings.packed {
        let out = output.slice::<f32>()?;
        call.rows(start, out.len() / width, &mut |row, values, log_sum| {
            let out = &mut out[(row - start) * width..][..width];
            out[..dims.head_size].copy_from_slice(values);
            out[dims.head_size] = log_sum;
        });
    } else {
        let out = output.slice::<T>()?;
        call.rows(start, out.len() / width, &mut |row, values, _| {
            let out = &mut out[(row - start) * width..][..width];
            for (out, &value) in out.iter_mut().zip(values) {
                *out = T::narrow(value);
            }
        });
    }
    Ok(())
}

/// One call.
struct Call<'a, T> {
    dims: Dims,
    settings: Settings,
    q: &'a [T],
    k: &'a [T],
    v: &'a [T],
    extra: Extra<'a>,
    lengths: Option<&'a [i32]>,
    loops: Loops,
}

/// Rows that are being computed, and the keys that pass by.
struct Block<'a> {
    /// Scaled queries, and sums of weighted values, of rows that are padded to whole tiles.
    q: &'a mut [f32],
    out: &'a mut [f32],
    /// The largest score of each row, and its partial sums of weights.
    largest: &'a mut [f32],
    sums: &'a mut [f32],
    /// Panels of keys with axes exchanged, and of values.
    keys: &'a mut [f32],
    values: &'a mut [f32],
    /// Of a strip of queries.
    scores: &'a mut [f32],
    /// Elements of 16 bits as `f32`; nothing for those that are.
    wide: &'a mut [f32],
}

/// A head's queries that pass by together.
#[derive(Clone, Copy)]
struct Rows {
    batch: usize,
    head: usize,
    /// The first.
    query: usize,
    /// Keys of the batch.
    length: usize,
}

impl<T: Wide> Call<'_, T> {
    /// Computes `count` rows from `start` on, and hands each on with its log-sum-exp.
    fn rows(&self, start: usize, count: usize, give: &mut dyn FnMut(usize, &[f32], f32)) {
        if count == 0 {
            return;
        }
        let sizes = self.sizes();
        let mut scratch = Scratch::take(sizes.iter().sum());
        let mut parts = scratch.parts(sizes).into_iter();
        let mut next = || parts.next().expect("as many parts as sizes");
        let mut block = Block {
            q: next(),
            out: next(),
            largest: next(),
            sums: next(),
            keys: next(),
            values: next(),
            scores: next(),
            wide: next(),
        };
        // Heads whose results lie side by side, at each place; `start` and `count` are multiples of them.
        let inside = self.dims.out.step;
        let outside = self.dims.heads / inside;
        let (mut place, end) = (start / inside, (start + count) / inside);
        while place < end {
            let (both, query) = (place / self.dims.queries, place % self.dims.queries);
            let many = QUERIES.min(end - place).min(self.dims.queries - query);
            for head in 0..inside {
                let (batch, head) = (both / outside, both % outside + head);
                self.pass(&mut block, [batch, head], query, many);
                for i in 0..many {
                    let sum: f32 = block.sums[i * SUMS..][..SUMS].iter().sum();
                    let values = &mut block.out[i * self.padded()..][..self.dims.head_size];
                    // A row that has seen nothing has zeros already.
                    let factor = if sum == 0.0 { 0.0 } else { 1.0 / sum };
                    values.iter_mut().for_each(|x| *x *= factor);
                    let log_sum =
                        if sum == 0.0 { f32::NEG_INFINITY } else { block.largest[i] * LN_2 + sum.ln() };
                    give(self.dims.out.row(batch, head, query + i), values, log_sum);
                }
            }
            place += many;
        }
    }

    /// Columns of values and of results, padded to whole panels.
    fn padded(&self) -> usize {
        self.dims.head_size.next_multiple_of(self.loops.columns())
    }

    /// Numbers of each part of a [`Block`], in its order.
    fn sizes(&self) -> [usize; 8] {
        let (size, padded, keys) = (self.dims.head_size, self.padded(), self.settings.keys);
        let rows = QUERIES.min(self.dims.queries).next_multiple_of(STRIP);
        // Elements of 32 bits are read where they are.
        let wide = if T::DTYPE == DType::F32 { 0 } else { keys.max(QUERIES) * size };
        [rows * size, rows * padded, rows, rows * SUMS, size * keys, padded * keys, STRIP * keys, wide]
    }

    /// Lets all blocks of keys pass by queries of a head.
    fn pass(&self, block: &mut Block<'_>, [batch, head]: [usize; 2], query: usize, many: usize) {
        let (dims, band) = (&self.dims, &self.settings.band);
        let length = self.lengths.map_or(dims.keys, |all| (all[batch].max(0) as usize).min(dims.keys));
        let rows = Rows { batch, head, query, length };
        let size = dims.head_size;
        let whole = many.next_multiple_of(STRIP);
        let scale = self.settings.scale * LOG2_E;
        let given = T::widened(self.q, (dims.q.row(batch, head, query), dims.q.step, many), size, block.wide);
        for (at, row) in block.q.chunks_exact_mut(size).take(many).enumerate() {
            row.iter_mut().zip(given.row(at)).for_each(|(q, x)| *q = x * scale);
        }
        block.q[many * size..whole * size].fill(0.0);
        block.out[..whole * self.padded()].fill(0.0);
        block.largest[..whole].fill(f32::NEG_INFINITY);
        block.sums[..whole * SUMS].fill(0.0);
        let low = band.keys(dims, query, length).start;
        let high = band.keys(dims, query + many - 1, length).end;
        // Blocks start at the same keys for all queries, so that a query's sums do not depend on those beside it.
        let mut first = low / self.settings.keys * self.settings.keys;
        while first < high {
            let count = self.settings.keys.min(high - first);
            self.fetch(block, [batch, head / dims.group, first], count);
            for strip in (0..many).step_by(STRIP) {
                self.strip(block, &rows, strip..many.min(strip + STRIP), first..first + count);
            }
            first += count;
        }
    }

    /// Makes a block of keys and values ready. What is beyond the last weighs nothing, but is a number.
    fn fetch(&self, block: &mut Block<'_>, [batch, head, key]: [usize; 3], count: usize) {
        let (dims, wide) = (&self.dims, self.loops.columns());
        let rows = |lines: Lines| (lines.row(batch, head, key), lines.step, count);
        panel::keys(T::widened(self.k, rows(dims.k), dims.head_size, block.wide), block.keys, wide);
        let values = T::widened(self.v, rows(dims.v), dims.head_size, block.wide);
        panel::values(values, block.values, wide, self.settings.keys);
    }

    /// Scores, weights and weighted values of a strip of queries and a block of keys.
    fn strip(&self, block: &mut Block<'_>, all: &Rows, rows: Range<usize>, keys: Range<usize>) {
        let (dims, loops, stride) = (&self.dims, self.loops, self.settings.keys);
        let (size, padded, wide) = (dims.head_size, self.padded(), loops.columns());
        let seen = |row: usize| {
            let seen = self.settings.band.keys(dims, all.query + row, all.length);
            let inside = |key: usize| key.clamp(keys.start, keys.end) - keys.start;
            inside(seen.start)..inside(seen.end)
        };
        // Whole panels that some query of the strip sees.
        let low = seen(rows.start).start / wide * wide;
        let high = seen(rows.end - 1).end.next_multiple_of(wide);
        if low >= high {
            return;
        }
        let columns = high - low;
        let whole = rows.len().next_multiple_of(loops.rows());
        let q = &block.q[rows.start * size..];
        let panels = &block.keys[low * size..];
        let product = (whole, size, columns);
        loops.product(product, (q, size), (panels, wide * size), (block.scores, stride), false);
        for (i, row) in rows.clone().enumerate() {
            let seen = seen(row);
            let scores = &mut block.scores[i * stride..][..columns];
            if seen.is_empty() {
                scores.fill(f32::NEG_INFINITY);
                continue;
            }
            scores[..seen.start - low].fill(f32::NEG_INFINITY);
            scores[seen.end - low..].fill(f32::NEG_INFINITY);
            let at = [all.batch, all.head, all.query + row, keys.start + seen.start];
            self.extra.apply(&mut scores[seen.start - low..seen.end - low], at);
        }
        let out = &mut block.out[rows.start * padded..];
        let (largest, sums) = (&mut block.largest[rows.start..], &mut block.sums[rows.start * SUMS..]);
        loops.weigh((rows.len(), columns), (block.scores, stride), largest, sums, (out, padded));
        let panels = &block.values[low * wide..];
        let product = (whole, columns.min(keys.len() - low), padded);
        loops.product(product, (block.scores, stride), (panels, wide * stride), (out, padded), true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_heads_have_short_pieces() {
        assert_eq!(queries(12, 1024), 512);
        assert_eq!(queries(1, 1024), 64);
        assert_eq!(queries(96, 2048), 512);
        assert_eq!(queries(32, 700), 350);
        assert_eq!((queries(4, 1), queries(0, 0), queries(8, 3)), (1, 1, 3));
    }
}

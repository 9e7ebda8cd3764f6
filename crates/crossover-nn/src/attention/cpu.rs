//! Attention on the CPU: blocks of keys pass by blocks of queries, and softmax is corrected as larger scores appear.
//!
//! What always holds: memory beyond operands and result is one block of keys and values and the rows of one piece; a query that
//! sees no key gets zeros; bits do not depend on the number of threads.

use crossover_core::{
    DType, Element, Result,
    custom::{Inputs, Output},
};
use half::{bf16, f16, slice::HalfFloatSliceExt};

use super::{
    shape::{Band, Dims},
    simd::{COLUMNS, Loops, ROWS},
};

/// Queries that pass by a block of keys before the next block is made ready.
pub(super) const QUERIES: usize = 256;
/// Queries whose scores are in the first-level cache at a time.
const STRIP: usize = 32;
/// Keys of a block, unless the caller asks for others.
pub(super) const KEYS: usize = 128;

/// What the closure knows beside its operands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) scale: f32,
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
    fn widen(from: &[Self], to: &mut [f32]);
    fn narrow(from: f32) -> Self;
}

impl Wide for f32 {
    fn widen(from: &[f32], to: &mut [f32]) {
        to.copy_from_slice(from);
    }
    fn narrow(from: f32) -> f32 {
        from
    }
}

impl Wide for f16 {
    fn widen(from: &[f16], to: &mut [f32]) {
        from.convert_to_f32_slice(to);
    }
    fn narrow(from: f32) -> f16 {
        f16::from_f32(from)
    }
}

impl Wide for bf16 {
    fn widen(from: &[bf16], to: &mut [f32]) {
        from.convert_to_f32_slice(to);
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
                for (i, x) in row.iter_mut().enumerate() {
                    *x += values[from + i * strides[3]];
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
    let dims = Dims::new(&inputs.shape(0), &inputs.shape(1), &inputs.shape(2)).map_err(wrong)?;
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

/// Rows that are being computed. Rows are padded to whole tiles.
struct Block {
    /// Scaled queries, sums of weighted values, largest scores and sums of weights.
    q: Vec<f32>,
    out: Vec<f32>,
    largest: Vec<f32>,
    sum: Vec<f32>,
    /// Keys with axes exchanged, values, and scores of a strip.
    keys: Vec<f32>,
    values: Vec<f32>,
    scores: Vec<f32>,
}

impl<T: Wide> Call<'_, T> {
    /// Computes `count` rows from `start` on, and hands each on with its log-sum-exp.
    fn rows(&self, start: usize, count: usize, give: &mut dyn FnMut(usize, &[f32], f32)) {
        let (mut row, end) = (start, start + count);
        let mut block = None;
        while row < end {
            let query = row % self.dims.queries;
            let many = QUERIES.min(end - row).min(self.dims.queries - query);
            let block = block.get_or_insert_with(|| self.block());
            self.pass(block, row / self.dims.queries, query, many);
            for i in 0..many {
                let (sum, largest) = (block.sum[i], block.largest[i]);
                let values = &mut block.out[i * self.padded()..][..self.dims.head_size];
                // A row that has seen nothing has zeros already.
                let factor = if sum == 0.0 { 0.0 } else { 1.0 / sum };
                values.iter_mut().for_each(|x| *x *= factor);
                let log_sum = if sum == 0.0 { f32::NEG_INFINITY } else { largest + sum.ln() };
                give(row + i, values, log_sum);
            }
            row += many;
        }
    }

    /// Columns of values and of results, padded.
    fn padded(&self) -> usize {
        self.dims.head_size.next_multiple_of(COLUMNS)
    }

    fn block(&self) -> Block {
        let (size, padded, keys) = (self.dims.head_size, self.padded(), self.settings.keys);
        Block {
            q: vec![0.0; QUERIES * size],
            out: vec![0.0; QUERIES * padded],
            largest: vec![0.0; QUERIES],
            sum: vec![0.0; QUERIES],
            keys: vec![0.0; size * keys],
            values: vec![0.0; keys * padded],
            scores: vec![0.0; STRIP * keys],
        }
    }

    /// Lets all blocks of keys pass by queries of a head.
    fn pass(&self, block: &mut Block, both: usize, query: usize, many: usize) {
        let (dims, band) = (&self.dims, &self.settings.band);
        let (batch, head) = (both / dims.heads, both % dims.heads);
        let length = self.lengths.map_or(dims.keys, |all| (all[batch].max(0) as usize).min(dims.keys));
        let size = dims.head_size;
        let from = (both * dims.queries + query) * size;
        T::widen(&self.q[from..from + many * size], &mut block.q[..many * size]);
        block.q[..many * size].iter_mut().for_each(|x| *x *= self.settings.scale);
        block.q[many * size..many.next_multiple_of(ROWS) * size].fill(0.0);
        block.out[..many.next_multiple_of(ROWS) * self.padded()].fill(0.0);
        block.largest[..many].fill(f32::NEG_INFINITY);
        block.sum[..many].fill(0.0);
        let low = band.keys(dims, query, length).start;
        let high = band.keys(dims, query + many - 1, length).end;
        let start = (batch * (dims.heads / dims.group) + head / dims.group) * dims.keys;
        let mut first = low;
        while first < high {
            let count = self.settings.keys.min(high - first);
            self.fetch(block, start + first, count);
            for strip in (0..many).step_by(STRIP) {
                let rows = STRIP.min(many - strip);
                self.strip(block, [batch, head, query], strip..strip + rows, first..first + count, length);
            }
            first += count;
        }
    }

    /// Makes a block of keys and values ready.
    fn fetch(&self, block: &mut Block, row: usize, count: usize) {
        let (size, padded, keys) = (self.dims.head_size, self.padded(), self.settings.keys);
        // Values come first: their room holds the keys before these are turned.
        let room = &mut block.values[..count * size];
        T::widen(&self.k[row * size..(row + count) * size], room);
        // In squares that stay in the first-level cache.
        const SIDE: usize = 16;
        for k in (0..count).step_by(SIDE) {
            for d in (0..size).step_by(SIDE) {
                for d in d..(d + SIDE).min(size) {
                    let to = &mut block.keys[d * keys + k..][..SIDE.min(count - k)];
                    for (i, to) in to.iter_mut().enumerate() {
                        *to = room[(k + i) * size + d];
                    }
                }
            }
        }
        for i in 0..count {
            let from = &self.v[(row + i) * size..(row + i + 1) * size];
            let to = &mut block.values[i * padded..(i + 1) * padded];
            T::widen(from, &mut to[..size]);
            to[size..].fill(0.0);
        }
        // What is beyond the end weighs nothing, but must be a number.
        for d in 0..size {
            block.keys[d * keys + count..(d + 1) * keys].fill(0.0);
        }
        block.values[count * padded..].fill(0.0);
    }

    /// Scores, weights and weighted values of a strip of queries and a block of keys.
    fn strip(
        &self,
        block: &mut Block,
        [batch, head, query]: [usize; 3],
        rows: std::ops::Range<usize>,
        keys: std::ops::Range<usize>,
        length: usize,
    ) {
        let (size, padded, stride) = (self.dims.head_size, self.padded(), self.settings.keys);
        let whole = rows.len().next_multiple_of(ROWS);
        let columns = keys.len().next_multiple_of(COLUMNS);
        let scores = &mut block.scores[..whole * stride];
        scores.fill(0.0);
        let q = &block.q[rows.start * size..];
        self.loops.product((whole, size, columns), (q, size), (&block.keys, stride), (scores, stride));
        for (i, row) in rows.clone().enumerate() {
            let scores = &mut scores[i * stride..][..columns];
            let seen = self.settings.band.keys(&self.dims, query + row, length);
            let low = seen.start.clamp(keys.start, keys.end) - keys.start;
            let high = seen.end.clamp(keys.start, keys.end) - keys.start;
            if low >= high {
                scores.fill(0.0);
                continue;
            }
            scores[..low].fill(f32::NEG_INFINITY);
            scores[high..].fill(f32::NEG_INFINITY);
            self.extra.apply(&mut scores[low..high], [batch, head, query + row, keys.start + low]);
            let before = block.largest[row];
            let largest = before.max(self.loops.largest(scores));
            // A row that sees only what a mask hides weighs nothing, and a NaN stays one.
            let reference = if largest == f32::NEG_INFINITY { 0.0 } else { largest };
            let sum = self.loops.weigh(scores, reference);
            if largest > before {
                let old = (before - largest).exp();
                block.sum[row] *= old;
                block.out[row * padded..][..padded].iter_mut().for_each(|x| *x *= old);
                block.largest[row] = largest;
            }
            block.sum[row] += sum;
        }
        let out = &mut block.out[rows.start * padded..];
        let depth = keys.len();
        self.loops.product((whole, depth, padded), (scores, stride), (&block.values, padded), (out, padded));
    }
}

//! Where values belong in a sorted line, by bisection.
//!
//! A line that is searched often enough is first turned into ranks in a row, and looked over: where they rise, bisection with a
//! length that all lanes share finds the same places with less work per step and more loads under way. A line that does not
//! rise has the one result that plain bisection gives.
#![allow(unsafe_code)]

use std::sync::Arc;

use crossover_core::DType;
use crossover_plan::kernel::Call;
use crossover_runtime::{Error, Executable, Launch, Result};
use num_complex::Complex;

use crate::{
    kernels::{
        scan::{BF16, F16},
        sort::key::Ranked,
    },
    threads::Threads,
    window::View,
};

/// Values that are searched for together: each step waits for memory, and the waits overlap.
const LANES: usize = 8;
/// Values below which one thread does everything.
const ALONE: usize = 4 << 10;
/// Values that are searched for together in a line of ranks.
const WIDE: usize = 16;
/// Elements from which a line is worth turning into ranks.
const LONG: usize = 64;

/// `searchsorted` made ready.
#[derive(Debug)]
pub struct Search {
    /// Offset, stride and length of the line.
    line: (isize, isize, usize),
    values: View,
    offset: isize,
    size: usize,
    count: usize,
    run: RunFn,
    threads: Arc<Threads>,
}

/// Addresses of line, values and results.
type RunFn = unsafe fn(&Search, usize, usize, usize);

impl Search {
    /// Prepares a call.
    pub fn new(call: &Call, right: bool, threads: Arc<Threads>) -> Result<Search> {
        let [line, values] = call.operands.as_slice() else {
            return Err(Error::Internal(format!("searchsorted with {} operands", call.operands.len())));
        };
        Ok(Search {
            line: (line.layout.offset as isize, line.layout.strides[0], line.layout.shape[0]),
            values: View::new(values.layout.shape.dims(), &values.layout.strides),
            offset: values.layout.offset as isize,
            size: values.dtype.size(),
            count: call.layout.shape.size(),
            run: run_of(values.dtype, right),
            threads,
        })
    }
}

impl Executable for Search {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let [line, values, to] =
            [launch.inputs()[0], launch.inputs()[1], launch.outputs()[0]].map(|b| b.address.0 as usize);
        if self.count == 0 {
            return Ok(());
        }
        // SAFETY: `Launch::new` has checked all blocks.
        unsafe { (self.run)(self, line, values, to) };
        Ok(())
    }
}

impl Search {
    /// Calls `work` with parts of the values, on as many threads as pay: start and step of some values, the place of their
    /// results, and their number.
    fn each(&self, values: usize, to: usize, work: impl Fn(*const u8, isize, *mut i64, usize) + Sync) {
        let alone = self.count <= ALONE;
        let grain = if alone { self.count } else { self.count.div_ceil(8 * self.threads.count()) };
        self.threads.each(self.count, grain, |range| {
            let mut done = range.start;
            self.values.runs(range.start, range.len(), |position, step, n| {
                let at = (self.offset + position) * self.size as isize;
                work((values as *const u8).wrapping_offset(at), step, (to as *mut i64).wrapping_add(done), n);
                done += n;
            });
        });
    }
}

/// # Safety
/// The addresses are those of a launch of this call, whose elements are of type M.
unsafe fn whole<M: Ranked<Rank: Sync>, const RIGHT: bool>(
    search: &Search,
    line: usize,
    values: usize,
    to: usize,
) {
    let (start, stride, length) = search.line;
    let line = (line as *const u8).wrapping_offset(start * search.size as isize).cast::<M>();
    if length >= LONG && search.count >= length / 8 {
        // SAFETY: the caller's contract; the line has this many elements.
        let ranks: Vec<M::Rank> =
            (0..length as isize).map(|i| unsafe { *line.offset(i * stride) }.rank(false)).collect();
        if ranks.is_sorted() {
            // SAFETY: the caller's contract; parts of the result are disjoint.
            return search.each(values, to, |values, step, to, n| unsafe {
                rising::<M, RIGHT>(&ranks, (values.cast(), step), to, n);
            });
        }
    }
    let line = line as usize;
    // SAFETY: as above.
    search.each(values, to, |values, step, to, n| unsafe {
        run::<M, RIGHT>((line as *const u8, stride, length), (values, step), to, n);
    });
}

/// Bisection of ranks that rise. All lanes halve the same length, so a step is a load, a comparison and an addition.
///
/// # Safety
/// Values are readable as their number and step say; `to` has room for `n` results. The line is not empty.
unsafe fn rising<M: Ranked, const RIGHT: bool>(
    ranks: &[M::Rank],
    (values, step): (*const M, isize),
    to: *mut i64,
    n: usize,
) {
    let is_before = |rank: M::Rank, wanted: M::Rank| if RIGHT { rank <= wanted } else { rank < wanted };
    let mut first = 0;
    while first < n {
        let lanes = WIDE.min(n - first);
        // SAFETY: the caller's contract; lanes past the last value repeat it.
        let wanted: [M::Rank; WIDE] = std::array::from_fn(|k| unsafe {
            (*values.offset((first + k.min(lanes - 1)) as isize * step)).rank(false)
        });
        let (mut base, mut left) = ([0usize; WIDE], ranks.len());
        while left > 1 {
            let half = left / 2;
            for k in 0..WIDE {
                // SAFETY: base + left never exceeds the length, and half is below left.
                let rank = unsafe { *ranks.get_unchecked(base[k] + half - 1) };
                base[k] += if is_before(rank, wanted[k]) { half } else { 0 };
            }
            left -= half;
        }
        for k in 0..lanes {
            let place = base[k] + usize::from(is_before(ranks[base[k]], wanted[k]));
            // SAFETY: the caller's contract.
            unsafe { *to.add(first + k) = place as i64 };
        }
        first += lanes;
    }
}

/// # Safety
/// Line and values are of type M and readable as their lengths and steps say; `to` has room for `n` results.
unsafe fn run<M: Ranked, const RIGHT: bool>(
    (line, stride, length): (*const u8, isize, usize),
    (values, step): (*const u8, isize),
    to: *mut i64,
    n: usize,
) {
    let (line, values) = (line.cast::<M>(), values.cast::<M>());
    let mut first = 0;
    while first < n {
        let lanes = LANES.min(n - first);
        // SAFETY: the caller's contract; lanes past the last value repeat it.
        let wanted: [M::Rank; LANES] = std::array::from_fn(|k| unsafe {
            (*values.offset((first + k.min(lanes - 1)) as isize * step)).rank(false)
        });
        let (mut low, mut high) = ([0usize; LANES], [length; LANES]);
        // The longest of the two parts that a step leaves is half of it; lanes that are done stand still.
        let mut left = length;
        while left > 0 {
            for k in 0..LANES {
                let middle = low[k] + (high[k] - low[k]) / 2;
                // SAFETY: the line is not empty, and the place is inside it.
                let rank = unsafe { *line.offset(middle.min(length - 1) as isize * stride) }.rank(false);
                let is_before = rank < wanted[k] || (RIGHT && rank == wanted[k]);
                let is_open = low[k] < high[k];
                low[k] = if is_open && is_before { middle + 1 } else { low[k] };
                high[k] = if is_open && !is_before { middle } else { high[k] };
            }
            left /= 2;
        }
        for (k, &place) in low.iter().enumerate().take(lanes) {
            // SAFETY: the caller's contract.
            unsafe { *to.add(first + k) = place as i64 };
        }
        first += lanes;
    }
}

fn run_of(dtype: DType, right: bool) -> RunFn {
    fn pick<M: Ranked<Rank: Sync>>(right: bool) -> RunFn {
        if right { whole::<M, true> } else { whole::<M, false> }
    }
    match dtype {
        // Truth values are 0 and 1, whose order is that of the numbers.
        DType::Bool | DType::U8 => pick::<u8>(right),
        DType::I8 => pick::<i8>(right),
        DType::I16 => pick::<i16>(right),
        DType::I32 => pick::<i32>(right),
        DType::I64 => pick::<i64>(right),
        DType::U16 => pick::<u16>(right),
        DType::U32 => pick::<u32>(right),
        DType::U64 => pick::<u64>(right),
        DType::F16 => pick::<F16>(right),
        DType::BF16 => pick::<BF16>(right),
        DType::F32 => pick::<f32>(right),
        DType::F64 => pick::<f64>(right),
        DType::C64 => pick::<Complex<f32>>(right),
        DType::C128 => pick::<Complex<f64>>(right),
    }
}

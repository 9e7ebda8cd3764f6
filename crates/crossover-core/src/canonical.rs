//! The order in which reductions and scans combine elements: part of the semantics, the same on every device.
//!
//! - **row** (the last axis): chunks of [`CHUNK`]; within a chunk of length m there are L = min([`LANES`], the next
//!   power of two ≥ m) lanes; lane j combines elements j, j + L, … in order; adjacent quads of lanes combine
//!   first, (l0∘l1)∘(l2∘l3), then quads by halving; chunk results form a row again.
//! - **column** (any other axis): rows in order within segments of [`SEGMENT`]; segment results are reduced by
//!   the same rule.
//! - **scan**: runs of [`RUN`] in order; run totals are scanned by the same rule; y = carry ∘ prefix.
//!
//! Lanes without elements are skipped. These functions are the definition; backends are tested against them.

/// Elements of a row that are reduced together.
pub const CHUNK: usize = 1024;
/// Largest number of lanes within a chunk.
pub const LANES: usize = 128;
/// Rows of a column that are combined in order.
pub const SEGMENT: usize = 128;
/// Elements of a scan that are combined in order.
pub const RUN: usize = 32;

/// Number of lanes for a chunk of `length` elements.
pub const fn lanes(length: usize) -> usize {
    let wanted = length.next_power_of_two();
    if wanted < LANES { wanted } else { LANES }
}

/// Reduces a row, or `None` when it is empty.
///
/// ```
/// use crossover_core::canonical::row;
/// assert_eq!(row(&[1.0f32, 2.0, 3.0], |a, b| a + b), Some(6.0));
/// ```
pub fn row<T: Copy>(values: &[T], combine: impl Fn(T, T) -> T + Copy) -> Option<T> {
    let mut level: Vec<T> = values.chunks(CHUNK).map(|c| chunk(c, combine)).collect();
    while level.len() > 1 {
        level = level.chunks(CHUNK).map(|c| chunk(c, combine)).collect();
    }
    level.pop()
}

/// Reduces one chunk, which holds 1 to [`CHUNK`] elements.
fn chunk<T: Copy>(values: &[T], combine: impl Fn(T, T) -> T) -> T {
    let join = |a: Option<T>, b: Option<T>| match (a, b) {
        (Some(a), Some(b)) => Some(combine(a, b)),
        (a, b) => a.or(b),
    };
    let count = lanes(values.len());
    let mut lane: Vec<Option<T>> = vec![None; count];
    for (i, &value) in values.iter().enumerate() {
        lane[i % count] = join(lane[i % count], Some(value));
    }
    if count >= 4 {
        lane = lane.chunks(4).map(|q| join(join(q[0], q[1]), join(q[2], q[3]))).collect();
    }
    while lane.len() > 1 {
        let half = lane.len() / 2;
        lane = (0..half).map(|i| join(lane[i], lane[i + half])).collect();
    }
    lane[0].expect("a chunk has at least one element, and it is in lane 0")
}

/// Reduces a column, or `None` when it is empty.
pub fn column<T: Copy>(values: &[T], combine: impl Fn(T, T) -> T + Copy) -> Option<T> {
    let segment = |s: &[T]| s.iter().copied().reduce(combine);
    let mut level: Vec<T> = values.chunks(SEGMENT).filter_map(segment).collect();
    while level.len() > 1 {
        level = level.chunks(SEGMENT).filter_map(segment).collect();
    }
    level.pop()
}

/// Scans values: element i of the result combines elements 0 to i.
///
/// ```
/// use crossover_core::canonical::scan;
/// assert_eq!(scan(&[1, 2, 3], |a, b| a + b), [1, 3, 6]);
/// ```
pub fn scan<T: Copy>(values: &[T], combine: impl Fn(T, T) -> T + Copy) -> Vec<T> {
    let mut out = Vec::with_capacity(values.len());
    let mut totals = Vec::new();
    for run in values.chunks(RUN) {
        let mut sum: Option<T> = None;
        for &value in run {
            let next = sum.map_or(value, |s| combine(s, value));
            out.push(next);
            sum = Some(next);
        }
        totals.extend(sum);
    }
    if totals.len() > 1 {
        let carries = scan(&totals, combine);
        for (run, &carry) in out.chunks_mut(RUN).skip(1).zip(&carries) {
            for value in run {
                *value = combine(carry, *value);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records the order of combination as text.
    fn shape(n: usize, reduce: impl Fn(&[usize]) -> Option<usize>) -> Option<usize> {
        reduce(&(0..n).collect::<Vec<_>>())
    }

    #[test]
    fn small_rows_combine_quads_then_halves() {
        use std::cell::RefCell;
        let names = RefCell::new((0..6).map(|i| i.to_string()).collect::<Vec<_>>());
        let result = row(&[0usize, 1, 2, 3, 4, 5], |a, b| {
            let text = format!("({}+{})", names.borrow()[a], names.borrow()[b]);
            names.borrow_mut().push(text);
            names.borrow().len() - 1
        });
        assert_eq!(names.borrow()[result.unwrap()], "(((0+1)+(2+3))+(4+5))");
    }

    #[test]
    fn every_element_is_combined_once() {
        for n in [1, 2, 3, 4, 5, 127, 128, 129, 1023, 1024, 1025, 5000] {
            assert_eq!(shape(n, |v| row(v, |a, b| a + b)), Some(n * (n - 1) / 2), "row {n}");
            assert_eq!(shape(n, |v| column(v, |a, b| a + b)), Some(n * (n - 1) / 2), "column {n}");
            let sums = scan(&vec![1u64; n], |a, b| a + b);
            assert!(sums.iter().enumerate().all(|(i, &s)| s == i as u64 + 1), "scan {n}");
        }
        assert_eq!(row::<u8>(&[], |a, _| a), None);
        assert_eq!(column::<u8>(&[], |a, _| a), None);
    }
}

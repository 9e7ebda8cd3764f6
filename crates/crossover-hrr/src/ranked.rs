//! The nearest items of queries, in order.
//!
//! A product in f32 says which items can be among the nearest; those are scored again in f64, as cleanup scores them, so that the first is cleanup's
//! answer. What always holds: a part of the scores at a time is there, however many queries and items there are.

use crossover_array::{Array, DType, s};

use crate::{Match, Result, kernel};

/// Bytes of scores, and of vectors that are scored again, that are there at a time.
const BYTES: usize = 64 << 20;

/// Items that are looked at beyond those that are asked for, at first.
const MORE: usize = 64;

/// The `k` nearest of the items, at least two and at most all, for each query; both are [prepared](crate::Space::prepared).
pub(crate) fn ranked(queries: &Array, items: &Array, k: usize) -> Result<Vec<Vec<Match>>> {
    let (q, n) = (queries.shape().dims()[0], items.shape().dims()[0]);
    let together = (BYTES / 4 / n).clamp(1, q.max(1));
    let mut found = Vec::with_capacity(q);
    for first in (0..q).step_by(together) {
        found.extend(together_ranked(&queries.slice(s![first..(first + together).min(q)]), items, k)?);
    }
    Ok(found)
}

fn together_ranked(queries: &Array, items: &Array, k: usize) -> Result<Vec<Vec<Match>>> {
    let (q, width) = (queries.shape().dims()[0], queries.shape().dims()[1]);
    let candidates = candidates(queries, items, k)?;
    // Numbers of 16 bits are as exact in 32.
    let asked = queries.astype(DType::F32).to_vec::<f32>()?;
    let pairs: Vec<(usize, i64)> = candidates
        .into_iter()
        .enumerate()
        .flat_map(|(row, all)| all.into_iter().map(move |at| (row, at)))
        .collect();
    let mut scored: Vec<Vec<(f64, i64)>> = vec![Vec::new(); q];
    for some in pairs.chunks((BYTES / 4 / width).max(1)) {
        let places: Vec<i64> = some.iter().map(|&(_, at)| at).collect();
        let rows = items.take(&Array::from(places), 0).astype(DType::F32).to_vec::<f32>()?;
        let of: Vec<usize> = some.iter().map(|&(row, _)| row).collect();
        for (&(row, at), score) in some.iter().zip(kernel::scores(&asked, &rows, width, &of)) {
            scored[row].push((score, at));
        }
    }
    let mut close = Vec::new();
    for (row, scored) in scored.iter_mut().enumerate() {
        // No score is NaN, and zeros of either sign are equal.
        scored.sort_by(|a, b| (b.0 + 0.0).total_cmp(&(a.0 + 0.0)).then(a.1.cmp(&b.1)));
        scored.truncate(k);
        // Sums in f64 depend on the order in which they are made.
        if let [first, second, ..] = scored.as_slice()
            && first.0 - second.0 <= width as f64 * f64::EPSILON
        {
            close.push(row as i64);
        }
    }
    as_cleanup(queries, items, &close, &mut scored)?;
    let found = |(score, at): (f64, i64)| Match {
        index: at as usize,
        // As cleanup gives it; rounding may make it larger than it can be.
        similarity: f64::from(score as f32).min(1.0),
    };
    Ok(scored.into_iter().map(|row| row.into_iter().map(found).collect()).collect())
}

/// Lets cleanup say which item is the first for these queries.
fn as_cleanup(queries: &Array, items: &Array, close: &[i64], scored: &mut [Vec<(f64, i64)>]) -> Result<()> {
    if close.is_empty() {
        return Ok(());
    }
    let (winners, _) = kernel::nearest(&queries.take(&Array::from(close.to_vec()), 0), items)?;
    for (&row, winner) in close.iter().zip(winners) {
        let all = &mut scored[row as usize];
        if let Some(at) = all.iter().position(|&(_, item)| item == i64::from(winner)) {
            all[..=at].rotate_right(1);
        }
    }
    Ok(())
}

/// For each query the items that can be among its `k` nearest: those whose score in f32 is within twice its error of the k-th. NaN is none.
fn candidates(queries: &Array, items: &Array, k: usize) -> Result<Vec<Vec<i64>>> {
    let n = items.shape().dims()[0];
    let within = 2.0 * kernel::margin(queries.shape().dims()[1]);
    let scores = product(queries, items)?;
    let mut kept = (k + MORE).min(n);
    loop {
        let (values, places) = scores.top_k(kept, -1);
        crossover_array::eval_all(&[&values, &places])?;
        let (values, places) = (values.to_vec::<f32>()?, places.to_vec::<i64>()?);
        // NaN comes last: where the k-th or the last is one, all numbers are there.
        let is_all = |row: &[f32]| {
            let (last, least) = (row[kept - 1], row[k - 1] - within);
            last.is_nan() || last < least
        };
        if kept < n && !values.chunks(kept).all(is_all) {
            kept = (2 * kept).min(n);
            continue;
        }
        let rows = values.chunks(kept).zip(places.chunks(kept));
        let near = |(values, places): (&[f32], &[i64])| {
            let least = match values[k - 1] {
                nan if nan.is_nan() => f32::NEG_INFINITY,
                score => score - within,
            };
            let near = values.iter().zip(places).filter(|(value, _)| **value >= least);
            near.map(|(_, &place)| place).collect()
        };
        return Ok(rows.map(near).collect());
    }
}

/// All scores in f32. Items of 16 bits are widened some at a time.
fn product(queries: &Array, items: &Array) -> Result<Array> {
    let (n, width) = (items.shape().dims()[0], items.shape().dims()[1]);
    if items.dtype() == DType::F32 {
        let scores = queries.matmul(&items.swap_axes(-1, -2));
        scores.eval()?;
        return Ok(scores);
    }
    let (queries, each) = (queries.astype(DType::F32), (BYTES / 4 / width).max(1));
    let mut parts = Vec::new();
    for first in (0..n).step_by(each) {
        let some = items.slice(s![first..(first + each).min(n)]).astype(DType::F32);
        let scores = queries.matmul(&some.swap_axes(-1, -2));
        scores.eval()?;
        parts.push(scores);
    }
    let scores = Array::concat(&parts.iter().collect::<Vec<_>>(), -1);
    scores.eval()?;
    Ok(scores)
}

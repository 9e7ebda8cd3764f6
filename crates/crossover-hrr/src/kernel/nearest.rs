//! The nearest item of every query, as kernels: scores are never written as a whole.
//!
//! On the CPU a block of items at a time is multiplied and searched while its scores are in the cache. On a GPU tensor cores multiply vectors that
//! were rounded to f16 and keep the best of every 64 items; a second kernel scores those groups again, in f64, that could hold the
//! winner: a rounded score is off by at most [`margin`], so the winner's group is within twice that of the largest.

use std::sync::OnceLock;

use crossover_array::{
    Array, CustomKernel, DType, Device, Grid, KernelInputs, KernelOutput, Padding, Runtime, Shape,
};
use crossover_core::custom::Work;
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
use rayon::prelude::*;

use crate::Result;

pub(super) const NEAREST: &str = include_str!("nearest.cu");
pub(super) const RESCORE: &str = include_str!("rescore.cu");

/// Items of a tile of the kernel, and groups that their scores are kept by.
const TILE: usize = 256;
const GROUPS: usize = 4;
/// Shared memory of the kernel: four stages of 48 KiB, and room to align them.
const SHARED: usize = 4 * 48 * 1024 + 1024;
/// Items whose scores are in the cache at the same time on the CPU.
const BLOCK: usize = 512;

/// How far a score of vectors of length at most 1, rounded to f16, is from the true one: 2⁻¹¹ for each operand and its rounding, and
/// 2⁻²² for each of `k` additions.
fn margin(k: usize) -> f32 {
    (2f64.powi(-10) * 1.01 + k as f64 * 2f64.powi(-22)) as f32
}

/// Indices and similarities of the nearest items.
///
/// Both are [comparable](crate::Space::comparable) and [prepared].
pub(crate) fn nearest(queries: &Array, items: &Array) -> Result<(Vec<u32>, Vec<f32>)> {
    let rows = queries.shape().dims()[0];
    if rows == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let [first, second, alone] = kernels()?;
    let has_gpu = Runtime::current().is_available(Device::Cuda(0));
    let found = if has_gpu {
        let groups = first.call(&[&queries.astype(DType::F16), &items.astype(DType::F16)]);
        second.call(&[&groups, queries, items]).to_vec::<u64>()
    } else {
        alone.call(&[queries, items]).to_vec::<u64>()
    };
    let found = match found {
        Ok(found) => found,
        // A GPU that has no such instructions, or less shared memory than the kernel asks for: the scores are written there after all.
        Err(error) if has_gpu => {
            tracing::warn!(target: "crossover::fallback", %error, "cleanup writes its scores");
            let scores = queries.matmul(&items.t());
            let indices = scores.argmax(-1).to_vec::<i64>()?;
            let best = scores.max(-1).to_vec::<f32>()?;
            return Ok((indices.into_iter().map(|i| i as u32).collect(), best));
        }
        Err(error) => return Err(error.into()),
    };
    Ok(found.into_iter().map(unpacked).unzip())
}

/// As f32, with zeros up to a multiple of 8 numbers, which the kernels want; they change no score.
pub(crate) fn prepared(x: &Array) -> Array {
    let x = if x.dtype() == DType::F32 { x.clone() } else { x.astype(DType::F32) };
    match x.shape().dims()[1] % 8 {
        0 => x.clone(),
        over => x.pad(&[(0, 0), (0, 8 - over)], Padding::Constant(0.0.into())),
    }
}

/// A score and an index as one number that is larger for a larger score, then for a smaller index.
fn packed(score: f32, index: u32) -> u64 {
    let bits = score.to_bits();
    let monotone = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    u64::from(monotone) << 32 | u64::from(!index)
}

fn unpacked(entry: u64) -> (u32, f32) {
    let bits = (entry >> 32) as u32;
    let score = f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits });
    (!(entry as u32), score)
}

/// The kernel that scores rounded vectors, the one that scores again, and the one for machines without a GPU.
fn kernels() -> Result<&'static [CustomKernel; 3]> {
    static MADE: OnceLock<[CustomKernel; 3]> = OnceLock::new();
    if let Some(made) = MADE.get() {
        return Ok(made);
    }
    let first = CustomKernel::builder("hrr_nearest")
        .input("queries", DType::F16)
        .input("items", DType::F16)
        .output("best", DType::U64)
        .shape(|shapes| {
            rows_of(shapes[0], shapes[1])?;
            Ok(Shape::from([shapes[0][0], GROUPS * shapes[1][0].div_ceil(TILE)]))
        })
        .work(|inputs, _| half_of(inputs[0], inputs[1]))
        .cpu(group_scores)
        .cuda(NEAREST, |inputs, _| {
            let (q, n, k) = (inputs[0][0], inputs[1][0], inputs[0][1]);
            let tiles = q.div_ceil(128) * n.div_ceil(TILE);
            Grid::new([tiles, 1, 1], [256, 1, 1]).resident(1).shared(SHARED).size(q).size(n).size(k)
        })
        .build()?;
    let second = CustomKernel::builder("hrr_rescore")
        .input("groups", DType::U64)
        .input("queries", DType::F32)
        .input("items", DType::F32)
        .output("winner", DType::U64)
        .shape(|shapes| {
            rows_of(shapes[1], shapes[2])?;
            Ok(Shape::from([shapes[1][0]]))
        })
        .work(|inputs, _| half_of(inputs[1], inputs[2]))
        .cpu(|inputs, output| winners(inputs, 1, output))
        .cuda(RESCORE, |inputs, _| {
            let (groups, n, k) = (inputs[0][1], inputs[2][0], inputs[1][1]);
            let bits = i64::from(margin(k).to_bits());
            Grid::new([inputs[0][0], 1, 1], [256, 1, 1]).size(groups).size(n).size(k).argument(bits)
        })
        .build()?;
    let alone = CustomKernel::builder("hrr_winners")
        .input("queries", DType::F32)
        .input("items", DType::F32)
        .output("winner", DType::U64)
        .shape(|shapes| {
            rows_of(shapes[0], shapes[1])?;
            Ok(Shape::from([shapes[0][0]]))
        })
        .cpu(|inputs, output| winners(inputs, 0, output))
        .build()?;
    Ok(MADE.get_or_init(|| [first, second, alone]))
}

/// Half of a product's work: on the GPU the first kernel does most of it, on the CPU the second.
fn half_of(queries: &Shape, items: &Shape) -> Work {
    let products = (queries.size() as u64).saturating_mul(items.dims().first().map_or(0, |&n| n as u64));
    Work { products, ..Work::default() }
}

fn rows_of(queries: &Shape, items: &Shape) -> Result<(), String> {
    match (queries.dims(), items.dims()) {
        ([_, k], [n, other]) if k == other && k.is_multiple_of(8) && *n > 0 => Ok(()),
        (q, n) => Err(format!("wants [q, k] and [n, k] with k a multiple of 8, not {q:?} and {n:?}")),
    }
}

/// On the CPU the winners are found from the vectors themselves, so that no group is ruled out here.
fn group_scores(_: &KernelInputs<'_>, output: &mut KernelOutput<'_>) -> crossover_core::Result<()> {
    output.slice::<u64>()?.fill(packed(f32::INFINITY, 0));
    Ok(())
}

/// The winners: blocks of items by all queries, multiplied, searched, forgotten. `at` is the operand that the queries are.
fn winners(
    inputs: &KernelInputs<'_>,
    at: usize,
    output: &mut KernelOutput<'_>,
) -> crossover_core::Result<()> {
    let (queries, items) = (inputs.slice::<f32>(at)?, inputs.slice::<f32>(at + 1)?);
    let (q, k, n) = (inputs.shape(at)[0], inputs.shape(at)[1], inputs.shape(at + 1)[0]);
    let out = output.slice::<u64>()?;
    let queries = MatRef::from_row_major_slice(queries, q, k);
    let search = |block: usize| {
        let (first, end) = (block * BLOCK, ((block + 1) * BLOCK).min(n));
        let part = MatRef::from_row_major_slice(&items[first * k..end * k], end - first, k);
        let mut scores = vec![0.0f32; q * (end - first)];
        let to = MatMut::from_row_major_slice_mut(&mut scores, q, end - first);
        matmul(to, Accum::Replace, queries, part.transpose(), 1.0, Par::Seq);
        scores.chunks(end - first).map(|row| best_of(row, first)).collect::<Vec<u64>>()
    };
    let all: Vec<Vec<u64>> = (0..n.div_ceil(BLOCK)).into_par_iter().map(search).collect();
    out.fill(packed(f32::NEG_INFINITY, u32::MAX));
    for found in all {
        for (out, found) in out.iter_mut().zip(found) {
            *out = (*out).max(found);
        }
    }
    Ok(())
}

/// The best of some scores, the first among equals; NaN never wins.
fn best_of(scores: &[f32], first: usize) -> u64 {
    // The largest first, which is a plain loop over vectors; then where it is.
    let mut lanes = [f32::NEG_INFINITY; 16];
    let mut chunks = scores.chunks_exact(16);
    for chunk in &mut chunks {
        for (lane, &score) in lanes.iter_mut().zip(chunk) {
            *lane = if score > *lane { score } else { *lane };
        }
    }
    let rest = chunks.remainder().iter().chain(&lanes);
    let most = rest.fold(f32::NEG_INFINITY, |most, &score| if score > most { score } else { most });
    match scores.iter().position(|&score| score == most) {
        Some(at) => packed(most, (first + at) as u32),
        None => packed(f32::NEG_INFINITY, u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    #[test]
    fn packed_scores_are_ordered_as_scores_are() {
        let scores = [f32::NEG_INFINITY, -2.0, -0.5, -0.0, 0.0, 1e-30, 0.25, 1.0, f32::INFINITY];
        for pair in scores.windows(2) {
            assert!(packed(pair[0], 0) < packed(pair[1], 9), "{pair:?}");
        }
        assert!(packed(0.5, 3) > packed(0.5, 4));
        assert_eq!(unpacked(packed(-0.75, 12)), (12, -0.75));
    }

    #[test]
    fn nan_never_wins() {
        let mut scores = vec![f32::NAN; 40];
        assert_eq!(unpacked(best_of(&scores, 7)).0, u32::MAX);
        scores[33] = -0.5;
        scores[35] = -0.5;
        assert_eq!(unpacked(best_of(&scores, 7)), (40, -0.5));
    }

    #[test]
    fn the_margin_covers_rounding_to_f16() {
        // Worst directions: every element at the largest relative rounding error, all of one sign.
        let k = 1024;
        let x: Vec<f32> = (0..k)
            .map(|i| (1.0 / 32.0) * (1.0 + 2f32.powi(-11) * 0.999 * (1 + i % 2) as f32 / 2.0))
            .collect();
        let exact: f64 = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        let rounded: f64 = x.iter().map(|&x| f64::from(f16::from_f32(x).to_f32()).powi(2)).sum();
        assert!((exact - rounded).abs() / exact < f64::from(margin(k)), "{exact} {rounded}");
    }
}

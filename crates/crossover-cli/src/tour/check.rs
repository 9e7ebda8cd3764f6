//! Whether a result is right: bit for bit against the reference interpreter, or within a stated bound.
//!
//! The reference computes one element at a time. Where entries of a result depend on few operands (elements, rows,
//! columns) a sample spread over the whole result is compared; what was compared is part of the verdict.

use anyhow::{Context, Result};
use crossover::{Array, DType, Element};
use crossover_core::{
    philox,
    reference::{self, Tensor},
};

use super::workload::{self, Check, Operand, Workload};

/// What was compared and how it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub ok: bool,
    /// How it was judged: `bits`, `count` or `bound`.
    pub method: &'static str,
    /// Elements of the result that were compared, and that it has.
    pub compared: usize,
    pub elements: usize,
    /// The first difference, where there is one.
    pub difference: Option<String>,
}

/// Elements of the result that a sample has at most.
const SAMPLE: usize = 1 << 14;

/// Judges a result.
pub fn check(workload: &Workload, size: &[usize], operands: &[Operand], result: &Array) -> Result<Verdict> {
    match workload.check {
        Check::Sample(axis) => sampled(workload, size, operands, result, Some(axis)),
        Check::Whole => sampled(workload, size, operands, result, None),
        Check::Count => count(size[0], result),
        Check::Bound => bound(operands, result),
    }
}

fn sampled(
    workload: &Workload,
    size: &[usize],
    operands: &[Operand],
    result: &Array,
    axis: Option<usize>,
) -> Result<Verdict> {
    let entries =
        axis.map(|axis| spread(result.shape()[axis], SAMPLE * result.shape()[axis] / result.size().max(1)));
    let pick = |array: &Array, axis: Option<usize>| match (&entries, axis) {
        (Some(entries), Some(axis)) => tensor(array, Some((axis, entries))),
        _ => tensor(array, None),
    };
    let inputs: Vec<Tensor> = operands.iter().map(|o| pick(&o.array, o.axis)).collect::<Result<_>>()?;
    let arrays: Vec<Array> = inputs.iter().map(array).collect::<Result<_>>()?;
    let graph = (workload.build)(size, &arrays).graph()?;
    let expected = reference::evaluate(&graph, &inputs).context("the reference refused the graph")?.remove(0);
    let got = pick(result, axis)?;
    let wrong = got.scalars().zip(expected.scalars()).position(|(a, b)| a != b);
    let difference = match wrong {
        _ if got.ty() != expected.ty() => Some(format!("type {} instead of {}", got.ty(), expected.ty())),
        Some(at) => Some(format!("{:?} instead of {:?}", got.at(at), expected.at(at))),
        None => None,
    };
    Ok(Verdict {
        ok: difference.is_none(),
        method: "bits",
        compared: got.len(),
        elements: result.size(),
        difference,
    })
}

/// About `wanted` positions below `length`, the first and the last among them.
fn spread(length: usize, wanted: usize) -> Vec<usize> {
    let wanted = wanted.clamp(2, length.max(2));
    if length <= wanted {
        return (0..length).collect();
    }
    (0..wanted).map(|i| i * (length - 1) / (wanted - 1)).collect()
}

/// An evaluated array, or some of its entries along an axis, as the reference takes it.
fn tensor(array: &Array, entries: Option<(usize, &Vec<usize>)>) -> Result<Tensor> {
    fn of<T: Element>(array: &Array, entries: Option<(usize, &Vec<usize>)>) -> Result<Tensor> {
        let values = array.to_vec::<T>()?;
        let Some((axis, entries)) = entries else { return Ok(Tensor::from_slice(array.shape(), &values)?) };
        let dims = array.shape().dims();
        let inner: usize = dims[axis + 1..].iter().product();
        let mut picked = Vec::new();
        for block in values.chunks_exact((dims[axis] * inner).max(1)) {
            for &entry in entries {
                picked.extend_from_slice(&block[entry * inner..(entry + 1) * inner]);
            }
        }
        let mut shape = dims.to_vec();
        shape[axis] = entries.len();
        Ok(Tensor::from_slice(shape, &picked)?)
    }
    match array.dtype() {
        DType::F32 => of::<f32>(array, entries),
        DType::F64 => of::<f64>(array, entries),
        DType::I32 => of::<i32>(array, entries),
        DType::I64 => of::<i64>(array, entries),
        DType::U8 => of::<u8>(array, entries),
        other => anyhow::bail!("the tour has no {other} arrays"),
    }
}

/// The same elements as an array.
fn array(tensor: &Tensor) -> Result<Array> {
    let shape = tensor.shape.clone();
    Ok(match tensor.dtype {
        DType::F32 => Array::from_vec(tensor.to_vec::<f32>()?, shape),
        DType::F64 => Array::from_vec(tensor.to_vec::<f64>()?, shape),
        DType::I32 => Array::from_vec(tensor.to_vec::<i32>()?, shape),
        DType::U8 => Array::from_vec(tensor.to_vec::<u8>()?, shape),
        other => anyhow::bail!("the tour has no {other} operands"),
    })
}

/// Counts the points again, one at a time, from the random words themselves.
fn count(samples: usize, result: &Array) -> Result<Verdict> {
    // A key made from a seed below 2^32 is that seed and zero.
    let (first, second) = ([workload::ACROSS as u32, 0], [workload::UP as u32, 0]);
    let uniform =
        |index: u64, key: [u32; 2]| (philox::word(index, 0, key) >> 8) as f32 * (1.0 / 16_777_216.0);
    let inside = (0..samples as u64).filter(|&i| {
        let (x, y) = (uniform(i, first), uniform(i, second));
        x * x + y * y <= 1.0
    });
    let (got, expected) = (result.to_vec::<i64>()?[0], inside.count() as i64);
    let difference = (got != expected).then(|| format!("{got} instead of {expected}"));
    Ok(Verdict {
        ok: difference.is_none(),
        method: "count",
        compared: samples,
        elements: samples,
        difference,
    })
}

/// Rows of a product against float64: |computed − exact| ≤ γ·(|a| @ |b|), γ = k·ε/(1 − k·ε).
fn bound(operands: &[Operand], result: &Array) -> Result<Verdict> {
    let (a, b) = (wide(&operands[0].array)?, wide(&operands[1].array)?);
    let got = wide(result)?;
    let dims = result.shape().dims();
    let (rows, columns) = (dims[0], dims[1]);
    let inner = operands[0].array.shape()[1];
    // Half a unit in the last place. For f64 the sums below are rounded too, by as much.
    let (epsilon, shares) = if result.dtype() == DType::F64 {
        (0.5 * f64::EPSILON, 2.0)
    } else {
        (0.5 * f64::from(f32::EPSILON), 1.0)
    };
    let gamma = shares * inner as f64 * epsilon / (1.0 - inner as f64 * epsilon);
    let chosen = spread(rows, 16);
    let mut difference = None;
    for &row in &chosen {
        let mut exact = vec![(0.0f64, 0.0f64); columns];
        for k in 0..inner {
            let left = a[row * inner + k];
            for (sum, &right) in exact.iter_mut().zip(&b[k * columns..(k + 1) * columns]) {
                let product = left * right;
                *sum = (sum.0 + product, sum.1 + product.abs());
            }
        }
        for (column, &(value, magnitude)) in exact.iter().enumerate() {
            let computed = got[row * columns + column];
            let within = (computed - value).abs() <= gamma * magnitude; // false for NaN
            if !within && difference.is_none() {
                difference = Some(format!(
                    "[{row}, {column}] is {computed}, exactly {value}, bound {:.1e}",
                    gamma * magnitude
                ));
            }
        }
    }
    Ok(Verdict {
        ok: difference.is_none(),
        method: "bound",
        compared: chosen.len() * columns,
        elements: rows * columns,
        difference,
    })
}

/// The values in float64, converted on the host.
fn wide(array: &Array) -> Result<Vec<f64>> {
    Ok(match array.dtype() {
        DType::F64 => array.to_vec::<f64>()?,
        _ => array.to_vec::<f32>()?.into_iter().map(f64::from).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tour::workload::WORKLOADS;

    #[test]
    fn samples_reach_both_ends_and_never_beyond() {
        assert_eq!(spread(10, 4), [0, 3, 6, 9]);
        assert_eq!(spread(3, 100), [0, 1, 2]);
        assert_eq!(spread(1, 2), [0]);
        assert!(spread(0, 5).is_empty());
        assert_eq!(spread(1000, 0), [0, 999]);
    }

    #[test]
    fn a_wrong_element_is_found_by_every_method() {
        for workload in &WORKLOADS {
            let size = workload.sizes[0];
            let operands = workload.prepare(size).unwrap();
            let arrays: Vec<Array> = operands.iter().map(|o| o.array.clone()).collect();
            let right = (workload.build)(size, &arrays);
            assert!(check(workload, size, &operands, &right).unwrap().ok, "{}", workload.name);
            // XOR has no notion of adding a half.
            let wrong = if right.dtype() == DType::U8 { &right ^ 1 } else { &right + 1 };
            let verdict = check(workload, size, &operands, &wrong).unwrap();
            assert!(!verdict.ok && verdict.difference.is_some(), "{}", workload.name);
        }
    }
}

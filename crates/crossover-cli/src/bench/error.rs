//! How wrong a result is.

use anyhow::{Result, bail};
use crossover::{Array, Complex, DType};

/// The largest difference from the reference, as a share of the largest value there; 0 for equal results, infinite where one is a
/// number and the other is not.
pub fn largest(result: &Array, reference: &Array) -> Result<f64> {
    let (found, wanted) = (values(result)?, values(reference)?);
    if found.len() != wanted.len() {
        bail!("the result has {} numbers, the reference {}", found.len(), wanted.len());
    }
    let scale = wanted.iter().map(|value| value.abs()).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let apart = |(found, wanted): (&f64, &f64)| {
        if found == wanted || (found.is_nan() && wanted.is_nan()) {
            return 0.0;
        }
        let distance = (found - wanted).abs();
        if distance.is_finite() { distance } else { f64::INFINITY }
    };
    let worst = found.iter().zip(&wanted).map(apart).fold(0.0, f64::max);
    Ok(if scale > 0.0 { worst / scale } else { worst })
}

/// All numbers in float64, on the host; complex ones as two.
fn values(array: &Array) -> Result<Vec<f64>> {
    Ok(match array.dtype() {
        DType::F64 => array.to_vec::<f64>()?,
        DType::F32 => array.to_vec::<f32>()?.into_iter().map(f64::from).collect(),
        DType::C64 => {
            let parts = |z: Complex<f32>| [f64::from(z.re), f64::from(z.im)];
            array.to_vec::<Complex<f32>>()?.into_iter().flat_map(parts).collect()
        }
        DType::C128 => array.to_vec::<Complex<f64>>()?.into_iter().flat_map(|z| [z.re, z.im]).collect(),
        DType::U8 => array.to_vec::<u8>()?.into_iter().map(f64::from).collect(),
        DType::I64 => array.to_vec::<i64>()?.into_iter().map(|n| n as f64).collect(),
        other => bail!("no workload has a result of {other}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shares_of_the_largest_value() {
        let of = |found: &[f32], wanted: &[f64]| {
            largest(
                &Array::from_vec(found.to_vec(), [found.len()]),
                &Array::from_vec(wanted.to_vec(), [wanted.len()]),
            )
        };
        assert_eq!(of(&[1.0, 4.0], &[1.0, 4.0]).unwrap(), 0.0);
        assert_eq!(of(&[1.5, 4.0], &[1.0, 4.0]).unwrap(), 0.125);
        assert_eq!(of(&[f32::NAN], &[1.0]).unwrap(), f64::INFINITY);
        assert_eq!(of(&[f32::NAN], &[f64::NAN]).unwrap(), 0.0);
        assert!(of(&[1.0], &[1.0, 2.0]).is_err());
    }
}

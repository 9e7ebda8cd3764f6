//! The Walsh–Hadamard transform, and convolution over XOR by it.

use std::ops::{Add, Div, Mul, Sub};

use rayon::prelude::*;

use crate::{Error, Result};

/// Numbers that can be transformed.
///
/// ```
/// use crossover_lattice::{Ring, walsh_hadamard};
/// /// The spectrum of any numbers: floats, and integers that have room for the sums.
/// fn spectrum<T: Ring, const N: usize>(mut line: [T; N]) -> crossover_lattice::Result<[T; N]> {
///     walsh_hadamard(&mut line)?;
///     Ok(line)
/// }
/// assert_eq!(spectrum([1i32, -1, 1, -1])?, [0, 4, 0, 0]);
/// assert_eq!(spectrum([0.5f64, 0.25])?, [0.75, 0.25]);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
pub trait Ring: Copy + Send + Sync + Add<Output = Self> + Sub<Output = Self> {}

impl<T: Copy + Send + Sync + Add<Output = T> + Sub<Output = T>> Ring for T {}

/// Elements that one thread transforms while they are in its cache.
const INNER: usize = 1 << 13;

/// The Walsh–Hadamard transform in natural order, where the data lies; the length is a power of two. Applying it twice multiplies by
/// the length.
///
/// ```
/// use crossover_lattice::walsh_hadamard;
/// let mut x = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0];
/// walsh_hadamard(&mut x)?;
/// assert_eq!(x, [4.0, 2.0, 0.0, -2.0, 0.0, 2.0, 0.0, 2.0]);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
pub fn walsh_hadamard<T: Ring>(data: &mut [T]) -> Result<()> {
    if !data.len().is_power_of_two() {
        let what = format!("the length is {}, and must be a power of two", data.len());
        return Err(Error::Transform { op: "walsh_hadamard", what });
    }
    transform(data);
    Ok(())
}

fn transform<T: Ring>(data: &mut [T]) {
    if data.len() <= INNER {
        let mut half = 1;
        while half < data.len() {
            data.chunks_mut(2 * half).for_each(butterfly);
            half *= 2;
        }
        return;
    }
    // The widest step first: it commutes with the rest, and then the halves are independent.
    let half = data.len() / 2;
    let (low, high) = data.split_at_mut(half);
    low.par_chunks_mut(INNER).zip(high.par_chunks_mut(INNER)).for_each(|(low, high)| cross(low, high));
    rayon::join(|| transform(low), || transform(high));
}

fn butterfly<T: Ring>(data: &mut [T]) {
    let (low, high) = data.split_at_mut(data.len() / 2);
    cross(low, high);
}

#[inline]
fn cross<T: Ring>(low: &mut [T], high: &mut [T]) {
    for (low, high) in low.iter_mut().zip(high) {
        (*low, *high) = (*low + *high, *low - *high);
    }
}

/// `c[k] = Σ a[i]·b[k ^ i]`, by three transforms; lengths are equal and a power of two. Errors are those of the additions.
///
/// ```
/// use crossover_lattice::xor_convolve;
/// assert_eq!(xor_convolve(&[1.0, 2.0], &[3.0, 4.0])?, [11.0, 10.0]);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
pub fn xor_convolve<T>(a: &[T], b: &[T]) -> Result<Vec<T>>
where
    T: Ring + Mul<Output = T> + Div<Output = T> + From<f32>,
{
    let mut out = product(a, b)?;
    // A power of two up to 2^127, so exact.
    let length = T::from(a.len() as f32);
    out.iter_mut().for_each(|value| *value = *value / length);
    Ok(out)
}

/// As [`xor_convolve`], exactly; refused where the sums could exceed 64 bits.
///
/// ```
/// use crossover_lattice::xor_convolve_integers;
/// assert_eq!(xor_convolve_integers(&[1, 2], &[3, 4])?, [11, 10]);
/// assert!(xor_convolve_integers(&[i64::MAX, 2], &[3, 4]).is_err());
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
pub fn xor_convolve_integers(a: &[i64], b: &[i64]) -> Result<Vec<i64>> {
    let total = |x: &[i64]| x.iter().map(|v| u128::from(v.unsigned_abs())).sum::<u128>();
    // No intermediate sum exceeds this: transforms are bounded by the total, products by both, the way back by the length.
    let bound = total(a).checked_mul(total(b)).and_then(|bound| bound.checked_mul(a.len() as u128));
    if bound.is_none_or(|bound| bound > i64::MAX as u128) {
        let what = "the sums could exceed 64 bits; use f64, or smaller numbers".to_string();
        return Err(Error::Transform { op: "xor_convolve_integers", what });
    }
    let mut out = product(a, b)?;
    let shift = a.len().trailing_zeros();
    out.iter_mut().for_each(|value| *value >>= shift);
    Ok(out)
}

/// The transform of the product of two transforms.
fn product<T: Ring + Mul<Output = T>>(a: &[T], b: &[T]) -> Result<Vec<T>> {
    if a.len() != b.len() {
        let what = format!("lengths {} and {} differ", a.len(), b.len());
        return Err(Error::Transform { op: "xor_convolve", what });
    }
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    walsh_hadamard(&mut a)?;
    walsh_hadamard(&mut b)?;
    a.iter_mut().zip(&b).for_each(|(a, &b)| *a = *a * b);
    transform(&mut a);
    Ok(a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_is_the_length_times() {
        for length in [1usize, 2, 64, 1 << 13, 1 << 15] {
            let data: Vec<i64> = (0..length as i64).map(|i| i * 31 % 101 - 50).collect();
            let mut twice = data.clone();
            walsh_hadamard(&mut twice).unwrap();
            if length > 1 {
                assert_eq!(twice[0], data.iter().sum::<i64>());
                let ones = |i: usize| (i & (length - 1)).count_ones().is_multiple_of(2);
                let last: i64 = (0..length).map(|i| if ones(i) { data[i] } else { -data[i] }).sum();
                assert_eq!(twice[length - 1], last);
            }
            walsh_hadamard(&mut twice).unwrap();
            assert!(twice.iter().zip(&data).all(|(twice, one)| *twice == one * length as i64));
        }
    }

    #[test]
    fn convolution_is_the_sum_over_pairs() {
        let a: Vec<i64> = (0..32).map(|i| i * i % 17 - 8).collect();
        let b: Vec<i64> = (0..32).map(|i| 3 * i % 11 - 5).collect();
        let wanted: Vec<i64> = (0..32).map(|k| (0..32).map(|i| a[i] * b[k ^ i]).sum()).collect();
        assert_eq!(xor_convolve_integers(&a, &b).unwrap(), wanted);
        let real = |x: &[i64]| x.iter().map(|&v| v as f64).collect::<Vec<f64>>();
        assert_eq!(xor_convolve(&real(&a), &real(&b)).unwrap(), real(&wanted));
    }

    #[test]
    fn lengths_are_checked() {
        assert!(
            walsh_hadamard(&mut [1.0; 6]).unwrap_err().to_string().contains("6, and must be a power of two")
        );
        assert!(walsh_hadamard::<f32>(&mut []).is_err());
        assert!(xor_convolve(&[1.0, 2.0], &[1.0; 4]).unwrap_err().to_string().contains("2 and 4 differ"));
    }
}

//! The transforms as operations on arrays: lazy, batched over leading axes, on whichever device.

use crossover_array::{Array, DType};

use crate::{Error, Result};

/// [`xor_transform`](crate::xor_transform) of arrays along the last axis, with a key of one axis and the same dtype. Leading axes are a batch
/// that shares the kernel.
///
/// ```
/// use crossover_array::Array;
/// use crossover_lattice::xor_array;
/// let data = Array::from([[1u8, 2, 3], [4, 5, 6]]);
/// let hidden = xor_array(&data, &Array::from([0xffu8, 0]))?;
/// assert_eq!(hidden.to_vec::<u8>()?, [0xfe, 2, 0xfc, 0xfb, 5, 0xf9]);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[track_caller]
pub fn xor_array(data: &Array, key: &Array) -> Result<Array> {
    data.check()?;
    key.check()?;
    let (Some(&length), [period]) = (data.shape().dims().last(), key.shape().dims()) else {
        let what = format!(
            "data of shape {} and a key of shape {}; the data needs an axis, the key has one",
            data.shape(),
            key.shape()
        );
        return Err(Error::Transform { op: "xor_array", what });
    };
    let period = *period;
    if period == 0 {
        return Err(Error::EmptyKey);
    }
    // The key by position, however often it fits.
    let repeated = if length % period == 0 {
        let rounds = length / period;
        key.broadcast_to([rounds, period]).reshape([length])
    } else {
        key.take(&(Array::arange(length as i64) % period as i64), 0)
    };
    let out = data.bitwise_xor(&repeated);
    out.check()?;
    Ok(out)
}

/// [`walsh_hadamard`](crate::walsh_hadamard) of floating-point or integer arrays along the last axis.
///
/// ```
/// use crossover_array::Array;
/// use crossover_lattice::walsh_hadamard_array;
/// let x = Array::from([[1.0f32, 2.0], [5.0, 3.0]]);
/// assert_eq!(walsh_hadamard_array(&x)?.to_vec::<f32>()?, [3.0, -1.0, 8.0, 2.0]);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[track_caller]
pub fn walsh_hadamard_array(data: &Array) -> Result<Array> {
    data.check()?;
    let dims = data.shape().dims().to_vec();
    let length = dims.last().copied().unwrap_or(0);
    if !length.is_power_of_two() || data.dtype() == DType::Bool {
        let what =
            format!("{}{}; a last axis of a power of two numbers is needed", data.dtype(), data.shape());
        return Err(Error::Transform { op: "walsh_hadamard_array", what });
    }
    let lines = data.size() / length;
    let mut now = data.clone();
    // In the order of the transform of slices, so that sums of floats have the same bits.
    let mut halves: Vec<usize> = Vec::new();
    let mut outer = length;
    while outer > 1 << 13 {
        outer /= 2;
        halves.push(outer);
    }
    halves.extend((0..outer.trailing_zeros()).map(|step| 1 << step));
    for half in halves {
        let pairs = now.reshape([lines * length / (2 * half), 2, half]);
        let (low, high) = (pairs.swap_axes(0, 1).index(0), pairs.swap_axes(0, 1).index(1));
        now = Array::stack(&[&(&low + &high), &(&low - &high)], 1);
    }
    let out = now.reshape(dims);
    out.check()?;
    Ok(out)
}

/// [`xor_convolve`](crate::xor_convolve) of arrays along the last axis; shapes are equal. Integers are taken as `f64`: sums of theirs could exceed
/// what they can hold.
///
/// ```
/// use crossover_array::Array;
/// use crossover_lattice::xor_convolve_array;
/// let out = xor_convolve_array(&Array::from([1.0f64, 2.0]), &Array::from([3.0f64, 4.0]))?;
/// assert_eq!(out.to_vec::<f64>()?, [11.0, 10.0]);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[track_caller]
pub fn xor_convolve_array(a: &Array, b: &Array) -> Result<Array> {
    a.check()?;
    b.check()?;
    if a.shape() != b.shape() {
        let what = format!("shapes {} and {} differ", a.shape(), b.shape());
        return Err(Error::Transform { op: "xor_convolve_array", what });
    }
    let wide = |x: &Array| {
        let whole = x.dtype().is_int() || x.dtype() == DType::Bool;
        walsh_hadamard_array(&if whole { x.astype(DType::F64) } else { x.clone() })
    };
    let (left, right) = (wide(a)?, wide(b)?);
    let length = a.shape().dims().last().copied().unwrap_or(1);
    let out = walsh_hadamard_array(&(left * right))? / length as f64;
    out.check()?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{walsh_hadamard, xor_transform};

    #[test]
    fn arrays_give_what_slices_give() {
        let data: Vec<u32> = (0..1000u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        for period in [1, 7, 10] {
            let key: Vec<u32> = (0..period).map(|i| i * 40_503 + 5).collect();
            let array = Array::from_vec(data.clone(), [2, 500]);
            let out = xor_array(&array, &Array::from_vec(key.clone(), [period as usize])).unwrap();
            let rows: Vec<u32> = data.chunks(500).flat_map(|row| xor_transform(row, &key).unwrap()).collect();
            assert_eq!(out.to_vec::<u32>().unwrap(), rows);
        }
        for length in [1usize, 8, 1 << 14] {
            let mut line: Vec<f32> = (0..length).map(|i| (i as f32 * 0.37).sin()).collect();
            let array = walsh_hadamard_array(&Array::from_vec(line.clone(), [length])).unwrap();
            walsh_hadamard(&mut line).unwrap();
            assert_eq!(array.to_vec::<f32>().unwrap(), line);
        }
    }

    #[test]
    fn convolutions_of_integers_do_not_overflow() {
        let x = Array::from([100i8, 100, 100, 100]);
        let found = xor_convolve_array(&x, &x).unwrap();
        assert_eq!((found.dtype(), found.to_vec::<f64>().unwrap()), (DType::F64, vec![40_000.0; 4]));
        let mask = xor_convolve_array(&Array::from([true, true]), &Array::from([true, false])).unwrap();
        assert_eq!(mask.to_vec::<f64>().unwrap(), [1.0, 1.0]);
    }

    #[test]
    fn shapes_that_do_not_fit_are_named() {
        // One element would broadcast, and the result be divided by the wrong length.
        let error = xor_convolve_array(&Array::from([2.0f32]), &Array::zeros::<f32>([4])).unwrap_err();
        assert_eq!(error.to_string(), "xor_convolve_array: shapes [1] and [4] differ");
        let error = xor_array(&Array::scalar(1u8), &Array::from([1u8])).unwrap_err();
        assert!(error.to_string().starts_with("xor_array: data of shape []"), "{error}");
        assert!(walsh_hadamard_array(&Array::zeros::<f32>([3])).unwrap_err().to_string().contains("f32[3]"));
    }
}

//! XOR with a repeating key.

use std::ops::BitXor;

use rayon::prelude::*;

use crate::{Error, Result};

/// Integers that can be combined bit by bit.
pub trait Word: Copy + Send + Sync + BitXor<Output = Self> {}

impl<T: Copy + Send + Sync + BitXor<Output = T>> Word for T {}

/// Elements up to which the key is repeated, so that short keys use whole vectors.
const BLOCK: usize = 1024;
/// Bytes from which threads share the work.
const LARGE: usize = 1 << 20;

/// Each element XOR the key's, which repeats. Applying it twice gives the data back.
///
/// ```
/// use crossover_lattice::xor_transform;
/// let hidden = xor_transform(&[1u8, 2, 3, 4, 5], &[0xff, 0x0f])?;
/// assert_eq!(hidden, [0xfe, 0x0d, 0xfc, 0x0b, 0xfa]);
/// assert_eq!(xor_transform(&hidden, &[0xff, 0x0f])?, [1, 2, 3, 4, 5]);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
pub fn xor_transform<T: Word>(data: &[T], key: &[T]) -> Result<Vec<T>> {
    let mut out = data.to_vec();
    xor_in_place(&mut out, key)?;
    Ok(out)
}

/// As [`xor_transform`], where the data lies.
pub fn xor_in_place<T: Word>(data: &mut [T], key: &[T]) -> Result<()> {
    if key.is_empty() {
        return Err(Error::EmptyKey);
    }
    if data.len() <= 64 || key.len() >= BLOCK {
        data.chunks_mut(key.len()).for_each(|part| combine(part, key));
        return Ok(());
    }
    let block = key.repeat(BLOCK.div_ceil(key.len()));
    if size_of_val(data) < LARGE {
        data.chunks_mut(block.len()).for_each(|part| combine(part, &block));
    } else {
        // Whole blocks, so that every part starts where the key does.
        let part = block.len() * (1usize << 18).div_ceil(size_of_val(block.as_slice()));
        data.par_chunks_mut(part)
            .for_each(|part| part.chunks_mut(block.len()).for_each(|part| combine(part, &block)));
    }
    Ok(())
}

/// [`xor_transform`] of many lists with one key, shared by threads.
///
/// ```
/// use crossover_lattice::xor_transform_batch;
/// let hidden = xor_transform_batch(&[vec![1u32, 2], vec![3]], &[7])?;
/// assert_eq!(hidden, [vec![6, 5], vec![4]]);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
pub fn xor_transform_batch<T: Word>(lists: &[Vec<T>], key: &[T]) -> Result<Vec<Vec<T>>> {
    let bytes: usize = lists.iter().map(|list| size_of_val(list.as_slice())).sum();
    if bytes < LARGE {
        return lists.iter().map(|list| xor_transform(list, key)).collect();
    }
    lists.par_iter().map(|list| xor_transform(list, key)).collect()
}

#[inline]
fn combine<T: Word>(data: &mut [T], key: &[T]) {
    data.iter_mut().zip(key).for_each(|(data, &key)| *data = *data ^ key);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_meets_the_right_part_of_the_key() {
        for (length, key) in [(5, 2), (64, 3), (65, 3), (5_000, 7), (700_001, 5), (300_000, 1_500)] {
            let data: Vec<u32> = (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
            let key: Vec<u32> = (0..key).map(|i| i ^ 0x5bd1_e995).collect();
            let out = xor_transform(&data, &key).unwrap();
            let wanted = |i: usize| data[i] ^ key[i % key.len()];
            assert!(out.iter().enumerate().all(|(i, &x)| x == wanted(i)), "{length}");
            assert_eq!(xor_transform(&out, &key).unwrap(), data);
        }
    }

    #[test]
    fn a_key_without_elements_is_refused() {
        assert!(matches!(xor_transform(&[1u8], &[]), Err(Error::EmptyKey)));
    }
}

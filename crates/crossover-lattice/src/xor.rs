//! XOR with a repeating key.
#![allow(unsafe_code)]

use std::{mem::MaybeUninit, ops::BitXor};

use rayon::prelude::*;

use crate::{Error, Result};

/// Integers that can be combined bit by bit.
///
/// ```
/// use crossover_lattice::{Word, xor_transform};
/// /// Whether a key leaves data as it was: it has no bit set where data is.
/// fn is_neutral<T: Word + PartialEq>(data: &[T], key: &[T]) -> crossover_lattice::Result<bool> {
///     Ok(xor_transform(data, key)? == data)
/// }
/// assert!(is_neutral(&[7u16, 8], &[0])?);
/// assert!(!is_neutral(&[7u64, 8, 9], &[0, 1])?);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
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
    if key.is_empty() {
        return Err(Error::EmptyKey);
    }
    let mut out = Vec::with_capacity(data.len());
    fill(&mut out.spare_capacity_mut()[..data.len()], data, key);
    // SAFETY: `fill` has written each of the first `data.len()` elements, and there is room for them.
    unsafe { out.set_len(data.len()) };
    Ok(out)
}

/// Writes each element of `data` combined with the key's to the place in `out`, which is as long: all of it is written.
fn fill<T: Word>(out: &mut [MaybeUninit<T>], data: &[T], key: &[T]) {
    assert_eq!(out.len(), data.len(), "a place for each element");
    let combined = |out: &mut [MaybeUninit<T>], data: &[T], key: &[T]| {
        let parts = out.chunks_mut(key.len()).zip(data.chunks(key.len()));
        parts.for_each(|(out, data)| {
            out.iter_mut().zip(data).zip(key).for_each(|((out, &data), &key)| _ = out.write(data ^ key));
        });
    };
    let Some(block) = repeated(key, data.len()) else { return combined(out, data, key) };
    match shared(data, &block) {
        None => combined(out, data, &block),
        Some(part) => out
            .par_chunks_mut(part)
            .zip(data.par_chunks(part))
            .for_each(|(out, data)| combined(out, data, &block)),
    }
}

/// The key as often as makes whole vectors of it; `None` where it is used as it is.
fn repeated<T: Word>(key: &[T], length: usize) -> Option<Vec<T>> {
    let as_it_is = length <= 64 || (key.len() >= BLOCK && length * size_of::<T>() < LARGE);
    (!as_it_is).then(|| key.repeat(BLOCK.div_ceil(key.len())))
}

/// Elements of a part if threads share the work: whole blocks, so that every part starts where the key does.
fn shared<T>(data: &[T], block: &[T]) -> Option<usize> {
    let bytes = size_of_val(block).max(1);
    (size_of_val(data) >= LARGE).then(|| block.len() * (1usize << 18).div_ceil(bytes))
}

/// As [`xor_transform`], where the data lies.
///
/// ```
/// use crossover_lattice::xor_in_place;
/// let mut page = *b"plain text";
/// xor_in_place(&mut page, b"key")?;
/// assert_ne!(&page, b"plain text");
/// xor_in_place(&mut page, b"key")?;
/// assert_eq!(&page, b"plain text");
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
pub fn xor_in_place<T: Word>(data: &mut [T], key: &[T]) -> Result<()> {
    if key.is_empty() {
        return Err(Error::EmptyKey);
    }
    let combined = |data: &mut [T], key: &[T]| data.chunks_mut(key.len()).for_each(|part| combine(part, key));
    let Some(block) = repeated(key, data.len()) else {
        combined(data, key);
        return Ok(());
    };
    match shared(data, &block) {
        None => combined(data, &block),
        Some(part) => data.par_chunks_mut(part).for_each(|data| combined(data, &block)),
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
        for (length, key) in [
            (0, 3),
            (5, 2),
            (5, 9),
            (64, 3),
            (65, 3),
            (5_000, 7),
            (700_001, 5),
            (300_000, 1_500),
            (5_000, 6_000),
        ] {
            let data: Vec<u32> = (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
            let key: Vec<u32> = (0..key).map(|i| i ^ 0x5bd1_e995).collect();
            let out = xor_transform(&data, &key).unwrap();
            let wanted = |i: usize| data[i] ^ key[i % key.len()];
            assert!(out.iter().enumerate().all(|(i, &x)| x == wanted(i)), "{length}");
            assert_eq!(xor_transform(&out, &key).unwrap(), data);
            let mut there = data.clone();
            xor_in_place(&mut there, &key).unwrap();
            assert_eq!(there, out, "{length}");
        }
    }

    #[test]
    fn a_key_without_elements_is_refused() {
        assert!(matches!(xor_transform(&[1u8], &[]), Err(Error::EmptyKey)));
    }
}

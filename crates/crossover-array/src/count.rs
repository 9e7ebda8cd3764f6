//! Counting what is not zero, for callers who have the bytes at hand and want no kernel.
#![allow(unsafe_code)]

use crossover_core::{DType, Kind};

/// How many elements of a dtype are not zero: -0 is, NaN is not. `None` for complex numbers.
pub(crate) fn count_nonzero(bytes: &[u8], dtype: DType) -> Option<usize> {
    let is_float = match dtype.kind() {
        Kind::Complex => return None,
        kind => kind == Kind::Float,
    };
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return Some(unsafe { by_wide_vectors(bytes, dtype.size(), is_float) });
    }
    Some(counted(bytes, dtype.size(), is_float))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn by_wide_vectors(bytes: &[u8], size: usize, is_float: bool) -> usize {
    counted(bytes, size, is_float)
}

/// Elements are compared as whole numbers; the sign of a float does not count.
#[inline(always)]
fn counted(bytes: &[u8], size: usize, is_float: bool) -> usize {
    macro_rules! lanes {
        ($lane:ty) => {{
            let mask: $lane = if is_float { <$lane>::MAX >> 1 } else { <$lane>::MAX };
            let (lanes, _) = bytes.as_chunks::<{ size_of::<$lane>() }>();
            // As many as a counter of the lanes' own width can count.
            lanes
                .chunks(<$lane>::MAX as usize)
                .map(|part| {
                    let ones = part.iter().map(|lane| (<$lane>::from_ne_bytes(*lane) & mask != 0) as $lane);
                    ones.fold(0, <$lane>::wrapping_add) as usize
                })
                .sum()
        }};
    }
    match size {
        1 => lanes!(u8),
        2 => lanes!(u16),
        4 => lanes!(u32),
        _ => lanes!(u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_counts_what_is_not_zero() {
        for dtype in DType::ALL.into_iter().filter(|dtype| dtype.kind() != Kind::Complex) {
            for elements in [0, 1, 7, 255, 256, 1000, 70_000] {
                let mut bytes = vec![0; elements * dtype.size()];
                let mut expected = 0;
                for (at, element) in bytes.chunks_exact_mut(dtype.size()).enumerate() {
                    // The lowest bit of one part, the sign of another, which is a number only where there are no negative zeros.
                    match at % 3 {
                        0 => element[0] = 1,
                        1 => element[dtype.size() - 1] |= 0x80,
                        _ => {}
                    }
                    let is_number = at % 3 == 0 || at % 3 == 1 && dtype.kind() != Kind::Float;
                    expected += usize::from(is_number);
                }
                let found = counted(&bytes, dtype.size(), dtype.kind() == Kind::Float);
                assert_eq!(found, expected, "{dtype} {elements}");
                assert_eq!(count_nonzero(&bytes, dtype), Some(expected), "{dtype} {elements}");
            }
        }
    }
}

//! Numbers of bytes, elements and operations: arrays that fit into no memory can be planned all the same, and their counts stay at the
//! most there is instead of wrapping.

use std::num::Saturating;

/// A number of something.
pub(crate) type Count = Saturating<u64>;

pub(crate) fn count(n: usize) -> Count {
    Saturating(n as u64)
}

/// How many there are of a product.
pub(crate) fn product<'a>(lengths: impl IntoIterator<Item = &'a usize>) -> Count {
    lengths.into_iter().fold(Saturating(1), |product, &n| product * count(n))
}

/// How many there are together.
pub(crate) fn total(parts: impl IntoIterator<Item = Count>) -> Count {
    parts.into_iter().fold(Saturating(0), |sum, part| sum + part)
}

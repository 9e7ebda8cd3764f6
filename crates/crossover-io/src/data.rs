//! Elements as bytes: sizes, byte order, and which bytes are values.

use crossover_core::{DType, Shape};

use crate::error::Fault;

/// Bytes of the elements of a shape, where they can be addressed.
pub(crate) fn bytes(shape: &Shape, dtype: DType) -> Option<usize> {
    shape.size().checked_mul(dtype.size())
}

/// A shape and the bytes its elements take, where both can be addressed.
pub(crate) fn sized(dims: &[u64], dtype: DType) -> Result<(Shape, usize), Fault> {
    let wrong =
        || Fault::Corrupt(format!("shape {dims:?} of {dtype} has more elements than can be addressed"));
    let lengths: Option<Vec<usize>> = dims.iter().map(|&n| usize::try_from(n).ok()).collect();
    let shape = Shape::checked("load", lengths.ok_or_else(wrong)?).map_err(|_| wrong())?;
    // `checked` leaves room for the widest element.
    let bytes = shape.size() * dtype.size();
    Ok((shape, bytes))
}

/// Turns the bytes of every number around.
pub(crate) fn swap(bytes: &mut [u8], dtype: DType) {
    // The two parts of a complex number stay in their order.
    match dtype.real().size() {
        2 => reverse::<2>(bytes),
        4 => reverse::<4>(bytes),
        8 => reverse::<8>(bytes),
        _ => {}
    }
}

fn reverse<const SIZE: usize>(bytes: &mut [u8]) {
    for number in bytes.as_chunks_mut::<SIZE>().0 {
        number.reverse();
    }
}

/// Booleans are 0 or 1; any byte is a value of every other dtype.
pub(crate) fn check(bytes: &[u8], dtype: DType) -> Result<(), Fault> {
    if dtype != DType::Bool {
        return Ok(());
    }
    match bytes.iter().position(|&byte| byte > 1) {
        Some(at) => Fault::corrupt(format!("element {at} of a bool array is {}, neither 0 nor 1", bytes[at])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_complex_numbers_stay_in_order() {
        let mut bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        swap(&mut bytes, DType::C64);
        assert_eq!(bytes, [4, 3, 2, 1, 8, 7, 6, 5]);
        swap(&mut bytes, DType::U8);
        assert_eq!(bytes, [4, 3, 2, 1, 8, 7, 6, 5]);
    }

    #[test]
    fn sizes_that_overflow_are_faults() {
        assert!(sized(&[u64::MAX, 2], DType::U8).is_err());
        assert!(sized(&[0, u64::MAX], DType::U8).is_err());
        assert_eq!(sized(&[3, 0], DType::F64).unwrap().1, 0);
        assert_eq!(sized(&[], DType::C128).unwrap().1, 16);
    }
}

//! Between host values and bytes.
#![allow(unsafe_code)]

use crossover_core::{Element, Layout};

/// The elements of a layout in row-major order.
pub(crate) fn read<T: Element>(bytes: &[u8], layout: &Layout) -> Vec<T> {
    let size = layout.shape.size();
    let mut out: Vec<T> = Vec::with_capacity(size);
    let from = bytes.as_ptr().cast::<T>();
    if layout.is_contiguous() {
        debug_assert!((layout.offset + size) * size_of::<T>() <= bytes.len() || size == 0);
        // SAFETY: the layout lies inside the buffer (views are checked when they are made), the buffer holds values
        // of dtype T written by kernels or from T itself, so every bit pattern is valid (booleans are 0 or 1), and
        // `out` has room for `size` elements.
        unsafe {
            std::ptr::copy_nonoverlapping(from.add(layout.offset), out.as_mut_ptr(), size);
            out.set_len(size);
        }
        return out;
    }
    for position in layout.positions() {
        debug_assert!((position + 1) * size_of::<T>() <= bytes.len());
        // SAFETY: as above; every position of the layout is inside the buffer.
        out.push(unsafe { from.add(position).read_unaligned() });
    }
    out
}

/// The bytes of a slice of elements.
pub(crate) fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: elements are plain values without padding; any initialised value may be read as bytes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

//! Between host values, bytes and strided windows onto bytes.
#![allow(unsafe_code)]

use crossover_core::{Element, Layout};
use crossover_runtime::{Buffer, Result};

use crate::runtime::Runtime;

/// An empty vector with room for `count` values, if the host has it.
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut out = Vec::new();
    // Little is there, and quickest asked for without asking first.
    if count.saturating_mul(size_of::<T>()) < LARGE && out.try_reserve_exact(count).is_ok() {
        return Ok(out);
    }
    Runtime::current().machine().room(count)
}

/// `size` elements in row-major order, through a layout where there is one.
pub(crate) fn read<T: Element>(bytes: &[u8], layout: Option<&Layout>, size: usize) -> Result<Vec<T>> {
    let mut out: Vec<T> = room(size)?;
    let from = bytes.as_ptr().cast::<T>();
    let limit = bytes.len() / size_of::<T>();
    let start = match layout {
        None => Some(0),
        Some(layout) if layout.is_contiguous() => Some(layout.offset),
        Some(_) => None,
    };
    if let Some(start) = start {
        assert!(size == 0 || start + size <= limit, "a view lies inside its buffer");
        // SAFETY: the range was checked just now. The buffer holds values of dtype T, written by kernels or from T
        // itself (booleans are 0 or 1), so every bit pattern is valid, and `out` has room for `size` elements.
        unsafe {
            if size > 0 {
                std::ptr::copy_nonoverlapping(from.add(start), out.as_mut_ptr(), size);
            }
            out.set_len(size);
        }
        return Ok(out);
    }
    let layout = layout.expect("only a layout is not contiguous");
    assert!(layout.extent().1 <= limit, "a view lies inside its buffer");
    let (count, stride) = last_axis(layout);
    for row in leading(layout).positions() {
        let mut at = row as isize;
        for _ in 0..count {
            // SAFETY: every position of the layout is below its extent, which was checked above; values as above.
            out.push(unsafe { from.offset(at).read() });
            at = at.wrapping_add(stride);
        }
    }
    Ok(out)
}

/// Bytes from which contents are copied straight from where they are, by several threads.
pub(crate) const LARGE: usize = 1 << 20;

/// All elements of a large buffer, or `None` if it is small or the window shows only a part.
pub(crate) fn read_whole<T: Element>(
    buffer: &Buffer,
    layout: Option<&Layout>,
    size: usize,
) -> Result<Option<Vec<T>>> {
    let is_whole = layout.is_none_or(|layout| layout.offset == 0 && layout.is_contiguous());
    if buffer.bytes() < LARGE || !is_whole || size * size_of::<T>() != buffer.bytes() {
        return Ok(None);
    }
    let mut out = zeros::<T>(size)?;
    buffer.read_into(bytes_of_mut(&mut out))?;
    Ok(Some(out))
}

/// The bytes of elements, to be written with values of theirs.
pub(crate) fn bytes_of_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: elements are plain values without padding; who writes the bytes writes values of dtype T.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), size_of_val(values)) }
}

/// Zeros in memory that is entered when it is written, if the host has it.
pub(crate) fn zeros<T: Element>(size: usize) -> Result<Vec<T>> {
    if size == 0 {
        return Ok(Vec::new());
    }
    let bytes = size.saturating_mul(size_of::<T>());
    let refused = || Runtime::current().machine().no_room(bytes);
    let memory = std::alloc::Layout::array::<T>(size).map_err(|_| refused())?;
    if bytes >= LARGE {
        Runtime::current().machine().admit(bytes)?;
    }
    // SAFETY: the layout is not empty.
    let start = unsafe { std::alloc::alloc_zeroed(memory) };
    if start.is_null() {
        return Err(refused());
    }
    if bytes >= LARGE {
        enter_by_large_pages(start, bytes);
    }
    // SAFETY: the memory is of the layout that a vector of `size` elements has, and zeros are a valid value of every element.
    Ok(unsafe { Vec::from_raw_parts(start.cast(), size, size) })
}

/// Asks the system to back fresh memory with large pages: entering small ones takes longer than filling them.
fn enter_by_large_pages(start: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let skip = start.align_offset(PAGE);
        if let Some(whole) = bytes.checked_sub(skip).map(|left| left / PAGE * PAGE).filter(|&whole| whole > 0)
        {
            // SAFETY: whole pages inside an allocation of this process; the advice changes nothing about its contents.
            // That the system does not follow it is no error.
            unsafe { libc::madvise(start.wrapping_add(skip).cast(), whole, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

/// The bytes of a slice of elements.
pub(crate) fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: elements are plain values without padding; any initialised value may be read as bytes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Copies the elements of one window to another of equal shape; elements are `size` bytes.
pub(crate) fn copy(from: &[u8], source: &Layout, to: &mut [u8], target: &Layout, size: usize) {
    debug_assert_eq!(source.shape, target.shape);
    let elements = target.shape.size();
    if elements == 0 {
        return;
    }
    if source.is_contiguous() && target.is_contiguous() {
        let bytes = elements * size;
        to[target.offset * size..][..bytes].copy_from_slice(&from[source.offset * size..][..bytes]);
        return;
    }
    match size {
        1 => copy_rows::<1>(from, source, to, target),
        2 => copy_rows::<2>(from, source, to, target),
        4 => copy_rows::<4>(from, source, to, target),
        8 => copy_rows::<8>(from, source, to, target),
        _ => copy_rows::<16>(from, source, to, target),
    }
}

fn copy_rows<const SIZE: usize>(from: &[u8], source: &Layout, to: &mut [u8], target: &Layout) {
    let (from, _) = from.as_chunks::<SIZE>();
    let (to, _) = to.as_chunks_mut::<SIZE>();
    let ((count, read), (_, write)) = (last_axis(source), last_axis(target));
    let (rows_from, rows_to) = (leading(source), leading(target));
    for (row_from, row_to) in rows_from.positions().zip(rows_to.positions()) {
        let (mut at, mut put) = (row_from as isize, row_to as isize);
        for _ in 0..count {
            to[put as usize] = from[at as usize];
            at = at.wrapping_add(read);
            put = put.wrapping_add(write);
        }
    }
}

/// Length and stride of the last axis; one element without axes.
fn last_axis(layout: &Layout) -> (usize, isize) {
    match (layout.shape.dims().last(), layout.strides.last()) {
        (Some(&length), Some(&stride)) => (length, stride),
        _ => (1, 0),
    }
}

/// All axes but the last: its positions are where the rows of a layout start.
fn leading(layout: &Layout) -> Layout {
    let lead = layout.shape.rank().saturating_sub(1);
    Layout {
        shape: layout.shape.dims()[..lead].iter().copied().collect(),
        strides: layout.strides[..lead].iter().copied().collect(),
        offset: layout.offset,
    }
}

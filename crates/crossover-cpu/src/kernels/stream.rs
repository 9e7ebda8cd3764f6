//! Copies that write past the caches: for results that are larger than the caches, a plain copy would first read
//! every line that it overwrites.
#![allow(unsafe_code)]

/// Bytes of a result from which on it does not stay in the last-level cache until it is read.
const LARGE: usize = 16 << 20;
/// Shorter runs are not worth leaving the ordinary path for.
const LINE: usize = 64;

/// Whether runs of `run` bytes that make up a result of `total` bytes are written past the caches.
pub fn is_worth(total: usize, run: usize) -> bool {
    cfg!(target_arch = "x86_64") && total >= LARGE && run >= LINE && run.is_multiple_of(LINE)
}

/// Copies `bytes` bytes. [`fence`] comes before anybody else reads them.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes, a multiple of 64; `to` is aligned to 64 bytes.
#[cfg(target_arch = "x86_64")]
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    let (from, to) = (from.cast::<__m128i>(), to.cast::<__m128i>());
    for i in (0..bytes / 16).step_by(4) {
        // SAFETY: the caller's contract; every x86-64 has SSE2.
        unsafe {
            let line = [0, 1, 2, 3].map(|k| _mm_loadu_si128(from.add(i + k)));
            for (k, part) in line.into_iter().enumerate() {
                _mm_stream_si128(to.add(i + k), part);
            }
        }
    }
}

/// Copies `bytes` bytes.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes.
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's contract.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
}

/// Makes what this thread has written visible to whoever it synchronises with next.
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instruction; it orders stores and nothing else.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

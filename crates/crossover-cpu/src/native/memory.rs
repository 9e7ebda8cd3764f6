//! Memory that holds machine code: written once, then executable and no longer writable.
#![allow(unsafe_code)]

use std::ptr::NonNull;

/// Machine code in its own pages.
#[derive(Debug)]
pub struct Code {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the pages are never written after `new`.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Code {
    /// Copies code into fresh pages. `None` where the system refuses them, as hardened ones do.
    #[cfg(unix)]
    pub fn new(code: &[u8]) -> Option<Code> {
        if code.is_empty() {
            return None;
        }
        let bytes = code.len();
        // SAFETY: a fresh anonymous mapping; the copy stays inside it; from then on it is only executed and read.
        unsafe {
            let (protection, flags) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let at = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
            if at == libc::MAP_FAILED {
                return None;
            }
            let start = NonNull::new(at.cast::<u8>())?;
            std::ptr::copy_nonoverlapping(code.as_ptr(), start.as_ptr(), bytes);
            let mapped = Code { start, bytes };
            (libc::mprotect(at, bytes, libc::PROT_READ | libc::PROT_EXEC) == 0).then_some(mapped)
        }
    }

    /// No executable memory on other systems yet.
    #[cfg(not(unix))]
    pub fn new(_: &[u8]) -> Option<Code> {
        None
    }

    /// The address of a byte of the code.
    pub fn at(&self, offset: usize) -> *const u8 {
        self.start.as_ptr().wrapping_add(offset)
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        #[cfg(unix)]
        // SAFETY: the mapping of `new`, which nothing uses once its owner is gone.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), self.bytes)
        };
    }
}

//! Memory of the host in place of that of a device.

/// Bytes aligned as device memory is.
pub struct Aligned {
    cells: Vec<[u64; 8]>,
    start: usize,
}

impl Aligned {
    pub fn new(bytes: &[u8]) -> Aligned {
        let cells = vec![[0; 8]; bytes.len() / 64 + 2];
        let start = cells.as_ptr().addr().wrapping_neg() % 64;
        let mut out = Aligned { cells, start };
        out.slice(bytes.len()).copy_from_slice(bytes);
        out
    }

    pub fn slice(&mut self, bytes: usize) -> &mut [u8] {
        assert!(self.start + bytes <= self.cells.len() * 64);
        // SAFETY: inside the allocation, any bytes are valid.
        unsafe { std::slice::from_raw_parts_mut(self.cells.as_mut_ptr().cast::<u8>().add(self.start), bytes) }
    }

    pub fn address(&mut self) -> u64 {
        self.slice(0).as_ptr().addr() as u64
    }
}

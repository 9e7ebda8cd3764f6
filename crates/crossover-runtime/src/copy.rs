//! Large copies between host memory, by several threads: one thread cannot keep the memory system busy, and fresh
//! pages cost more to enter than to fill.

/// Bytes from which more than one thread pays: starting threads takes about as long as copying 1 MiB.
const LARGE: usize = 4 << 20;
/// Threads at most.
const MOST: usize = 8;

/// Copies all bytes; both sides are equally long.
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    let threads = if from.len() < LARGE {
        1
    } else {
        std::thread::available_parallelism().map_or(1, usize::from).min(MOST)
    };
    if threads == 1 {
        return to.copy_from_slice(from);
    }
    // Whole pages, so that no two threads enter the same one.
    let part = from.len().div_ceil(threads).next_multiple_of(4096);
    std::thread::scope(|scope| {
        let mut parts = from.chunks(part).zip(to.chunks_mut(part));
        let first = parts.next();
        for (from, to) in parts {
            scope.spawn(move || to.copy_from_slice(from));
        }
        if let Some((from, to)) = first {
            to.copy_from_slice(from);
        }
    });
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_byte_arrives_whatever_the_size() {
        for size in [0, 1, 4095, super::LARGE - 1, super::LARGE, super::LARGE + 1, 3 * super::LARGE + 12_345]
        {
            let from: Vec<u8> = (0..size).map(|i| (i * 7 + i / 251) as u8).collect();
            let mut to = vec![0; size];
            super::copy(&from, &mut to);
            assert!(to == from, "{size} bytes");
        }
    }
}

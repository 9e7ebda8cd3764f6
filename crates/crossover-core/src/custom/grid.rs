//! How many threads a CUDA kernel of the user's is launched with.

/// Blocks of a grid, threads of a block, shared memory, and numbers for the kernel.
///
/// ```
/// use crossover_core::custom::Grid;
/// let grid = Grid::covering(1000, 256).shared(4096).argument(1000);
/// assert_eq!((grid.blocks(), grid.threads()), ([4, 1, 1], [256, 1, 1]));
/// assert_eq!(grid.arguments(), [1000]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    blocks: [usize; 3],
    threads: [usize; 3],
    shared: usize,
    arguments: Vec<i64>,
}

/// The most that any device takes of blocks, threads along each axis, and threads per block.
const MOST_BLOCKS: [usize; 3] = [i32::MAX as usize, 65_535, 65_535];
const MOST_THREADS: [usize; 3] = [1024, 1024, 64];
const MOST_TOGETHER: usize = 1024;

impl Grid {
    /// Blocks and threads along x, y and z.
    pub fn new(blocks: [usize; 3], threads: [usize; 3]) -> Grid {
        Grid { blocks, threads, shared: 0, arguments: Vec::new() }
    }

    /// As many blocks of `threads` threads as give every element a thread of its own.
    pub fn covering(elements: usize, threads: usize) -> Grid {
        Grid::new([elements.div_ceil(threads.max(1)), 1, 1], [threads, 1, 1])
    }

    /// Bytes of shared memory per block, beyond what the source declares.
    pub fn shared(mut self, bytes: usize) -> Grid {
        self.shared = bytes;
        self
    }

    /// One more `long long` parameter of the kernel, after the pointers.
    pub fn argument(mut self, value: i64) -> Grid {
        self.arguments.push(value);
        self
    }

    /// As [`argument`](Grid::argument), for a length.
    pub fn size(self, value: usize) -> Grid {
        self.argument(value as i64)
    }

    /// Blocks along x, y and z. None along one of them means that nothing is launched.
    pub fn blocks(&self) -> [usize; 3] {
        self.blocks
    }

    /// Threads of a block along x, y and z.
    pub fn threads(&self) -> [usize; 3] {
        self.threads
    }

    /// Bytes of shared memory per block, beyond what the source declares.
    pub fn shared_bytes(&self) -> usize {
        self.shared
    }

    /// The `long long` parameters.
    pub fn arguments(&self) -> &[i64] {
        &self.arguments
    }

    /// What no device would launch.
    pub(super) fn check(&self) -> Result<(), String> {
        for (axis, name) in ["x", "y", "z"].iter().enumerate() {
            let (blocks, most) = (self.blocks[axis], MOST_BLOCKS[axis]);
            if blocks > most {
                return Err(format!("asks for {blocks} blocks along {name}, and {most} is the most"));
            }
            let (threads, most) = (self.threads[axis], MOST_THREADS[axis]);
            if threads == 0 || threads > most {
                return Err(format!("asks for {threads} threads along {name}; there can be 1 to {most}"));
            }
        }
        let together: usize = self.threads.iter().product();
        if together > MOST_TOGETHER {
            return Err(format!("asks for {together} threads per block, and {MOST_TOGETHER} is the most"));
        }
        Ok(())
    }
}

//! How CUDA kernels of the user's are launched: threads and what they are told, one launch after another.

use super::{TensorMap, build::is_identifier};

/// One parameter of a kernel after its pointers.
///
/// ```
/// use crossover_core::custom::{Argument, Grid};
/// let grid = Grid::covering(100, 32).argument(7).float(1.5);
/// assert_eq!(grid.arguments(), [Argument::Integer(7), Argument::Float(1.5)]);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Argument {
    /// A `long long`.
    Integer(i64),
    /// A `float`.
    Float(f32),
    /// A `const __grid_constant__ xo_tensor_map`, for bulk tensor copies.
    Map(TensorMap),
}

/// Blocks of a grid, threads of a block, shared memory, and numbers for the kernel.
///
/// ```
/// use crossover_core::custom::{Argument, Grid};
/// let grid = Grid::covering(1000, 256).shared(4096).argument(1000).float(0.5);
/// assert_eq!((grid.blocks(), grid.threads()), ([4, 1, 1], [256, 1, 1]));
/// assert_eq!(grid.arguments(), [Argument::Integer(1000), Argument::Float(0.5)]);
/// assert_eq!(grid.shared_bytes(), 4096);
///
/// let pieces = Grid::new([100, 1, 1], [32, 1, 1]).resident(2).entry("second_pass").size(7);
/// assert_eq!((pieces.entry_name(), pieces.blocks_on(8)), (Some("second_pass"), [16, 1, 1]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    entry: Option<String>,
    blocks: [usize; 3],
    threads: [usize; 3],
    resident: Option<usize>,
    shared: usize,
    arguments: Vec<Argument>,
}

/// The most that any device takes of blocks, threads along each axis, and threads per block.
const MOST_BLOCKS: [usize; 3] = [i32::MAX as usize, 65_535, 65_535];
const MOST_THREADS: [usize; 3] = [1024, 1024, 64];
const MOST_TOGETHER: usize = 1024;

impl Grid {
    /// Blocks and threads along x, y and z.
    pub fn new(blocks: [usize; 3], threads: [usize; 3]) -> Grid {
        Grid { entry: None, blocks, threads, resident: None, shared: 0, arguments: Vec::new() }
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

    /// Launches the entry point of this name instead of the one that is named as the kernel is.
    pub fn entry(mut self, name: &str) -> Grid {
        self.entry = Some(name.to_string());
        self
    }

    /// Launches at most so many blocks for each multiprocessor of the device, along x: for kernels whose blocks take one
    /// piece of work after another.
    pub fn resident(mut self, blocks: usize) -> Grid {
        self.resident = Some(blocks);
        self
    }

    /// One more `long long` parameter of the kernel, after the pointers.
    pub fn argument(mut self, value: i64) -> Grid {
        self.arguments.push(Argument::Integer(value));
        self
    }

    /// One more `float` parameter of the kernel, after the pointers.
    pub fn float(mut self, value: f32) -> Grid {
        self.arguments.push(Argument::Float(value));
        self
    }

    /// One more parameter of the kernel, after the pointers: `const __grid_constant__ xo_tensor_map`. Needs a device of
    /// compute capability 9.0, so it belongs to a source that is given by [`cuda_since`](super::Builder::cuda_since).
    ///
    /// ```
    /// use crossover_core::{DType, custom::{Argument, Grid, Part, TensorMap}};
    /// let tiles = TensorMap::new(Part::Operand(0), DType::F32, &[4096, 256], &[64, 32]);
    /// let grid = Grid::new([64, 8, 1], [128, 1, 1]).map(tiles.clone());
    /// assert_eq!(grid.arguments(), [Argument::Map(tiles)]);
    /// ```
    pub fn map(mut self, map: TensorMap) -> Grid {
        self.arguments.push(Argument::Map(map));
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

    /// The parameters after the pointers.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// The entry point, where it is not the one that is named as the kernel is.
    pub fn entry_name(&self) -> Option<&str> {
        self.entry.as_deref()
    }

    /// Blocks along x, y and z on a device of so many multiprocessors.
    pub fn blocks_on(&self, multiprocessors: usize) -> [usize; 3] {
        let [x, y, z] = self.blocks;
        [self.resident.map_or(x, |each| x.min(each.max(1) * multiprocessors.max(1))), y, z]
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
        if let Some(entry) = self.entry.as_ref().filter(|entry| !is_identifier(entry)) {
            return Err(format!("names the entry point `{entry}`, which is no identifier"));
        }
        self.arguments.iter().try_for_each(|argument| match argument {
            Argument::Map(map) => map.check(),
            _ => Ok(()),
        })
    }
}

/// Launches one after another, and memory that they share.
///
/// ```
/// use crossover_core::custom::{Grid, Launches};
/// let parts = Grid::covering(1 << 20, 256).entry("parts");
/// let launches = Launches::from(parts).then(Grid::covering(256, 256).entry("join")).scratch(4 * 4096);
/// assert_eq!((launches.grids().len(), launches.scratch_bytes()), (2, 16384));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Launches {
    grids: Vec<Grid>,
    scratch: usize,
}

impl From<Grid> for Launches {
    fn from(grid: Grid) -> Launches {
        Launches { grids: vec![grid], scratch: 0 }
    }
}

impl Launches {
    /// One more launch, after those before it.
    pub fn then(mut self, grid: Grid) -> Launches {
        self.grids.push(grid);
        self
    }

    /// Bytes of device memory with undefined contents, for as long as the launches run. Every entry point then takes
    /// `unsigned char* scratch`, aligned to 256 bytes, after the pointer to the result.
    pub fn scratch(mut self, bytes: usize) -> Launches {
        self.scratch = bytes;
        self
    }

    /// The launches, in order.
    pub fn grids(&self) -> &[Grid] {
        &self.grids
    }

    /// Bytes of scratch memory.
    pub fn scratch_bytes(&self) -> usize {
        self.scratch
    }

    pub(super) fn check(&self) -> Result<(), String> {
        self.grids.iter().try_for_each(Grid::check)
    }
}

//! Descriptions of arrays for the engine that copies tiles of them between device and shared memory.

use crate::DType;

/// Whose elements a map describes.
///
/// ```
/// use crossover_core::{DType, custom::{Part, TensorMap}};
/// let of = |part| TensorMap::new(part, DType::F32, &[64, 64], &[8, 32]);
/// assert_eq!(of(Part::Operand(1)).part(), Part::Operand(1));
/// assert_ne!(of(Part::Result), of(Part::Scratch(4096)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Those of an operand.
    Operand(usize),
    /// Those of the result.
    Result,
    /// Those behind so many bytes of the scratch memory.
    Scratch(usize),
}

/// How rows of a tile are mixed in shared memory, so that columns of it lie in different banks.
///
/// ```
/// use crossover_core::{DType, custom::{Part, Swizzle, TensorMap}};
/// let map = TensorMap::new(Part::Result, DType::F16, &[64, 64], &[8, 32]).swizzle(Swizzle::Bytes64);
/// assert_eq!(map.swizzling(), Swizzle::Bytes64);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swizzle {
    /// As in device memory.
    None,
    /// Chunks of 16 bytes within 32, 64 or 128 bytes.
    Bytes32,
    /// As above.
    Bytes64,
    /// As above.
    Bytes128,
}

/// A tiled view of an array: its axes, outermost first, and the tile that one copy moves. Elements outside read as zero.
///
/// Kernels get it as `const __grid_constant__ xo_tensor_map` and pass its address to `cp.async.bulk.tensor`, whose coordinates
/// are innermost first.
///
/// ```
/// use crossover_core::{DType, custom::{Grid, Part, Swizzle, TensorMap}};
/// // Tiles of 128 rows and 64 columns of a matrix.
/// let map = TensorMap::new(Part::Operand(0), DType::BF16, &[4096, 256], &[128, 64]).swizzle(Swizzle::Bytes128);
/// assert_eq!((map.stride_bytes(), map.extent()), (vec![512], 4096 * 256));
/// assert_eq!((map.part(), map.dtype(), map.dims()), (Part::Operand(0), DType::BF16, &[4096, 256][..]));
/// assert_eq!((map.tile(), map.swizzling()), (&[128, 64][..], Swizzle::Bytes128));
/// let grid = Grid::new([32, 1, 1], [128, 1, 1]).map(map);
/// # let _ = grid;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorMap {
    part: Part,
    dtype: DType,
    dims: Vec<usize>,
    /// In elements, of all axes but the last.
    strides: Vec<usize>,
    tile: Vec<usize>,
    swizzle: Swizzle,
}

/// Limits of the engine: axes, and elements of a tile along each.
const MOST_AXES: usize = 5;
const MOST_TILE: usize = 256;

impl TensorMap {
    /// Elements that lie row-major without gaps.
    pub fn new(part: Part, dtype: DType, dims: &[usize], tile: &[usize]) -> TensorMap {
        let stride = |axis: usize| dims[axis + 1..].iter().product();
        let strides = (0..dims.len().saturating_sub(1)).map(stride).collect();
        let (dims, tile) = (dims.to_vec(), tile.to_vec());
        TensorMap { part, dtype, dims, strides, tile, swizzle: Swizzle::None }
    }

    /// Elements between neighbours along each axis but the last, instead of those of rows without gaps.
    ///
    /// ```
    /// use crossover_core::{DType, custom::{Part, TensorMap}};
    /// // The left half of a matrix with rows of 128 elements.
    /// let map = TensorMap::new(Part::Operand(0), DType::F32, &[16, 64], &[8, 32]).strides(&[128]);
    /// assert_eq!((map.stride_bytes(), map.extent()), (vec![512], 15 * 128 + 64));
    /// ```
    pub fn strides(mut self, strides: &[usize]) -> TensorMap {
        self.strides = strides.to_vec();
        self
    }

    /// How tiles lie in shared memory.
    pub fn swizzle(mut self, swizzle: Swizzle) -> TensorMap {
        self.swizzle = swizzle;
        self
    }

    /// Whose elements these are.
    pub fn part(&self) -> Part {
        self.part
    }

    /// What they are.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Lengths of the axes, outermost first.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Bytes between neighbours along each axis but the last.
    pub fn stride_bytes(&self) -> Vec<usize> {
        self.strides.iter().map(|stride| stride * self.dtype.size()).collect()
    }

    /// Elements that one copy moves along each axis.
    pub fn tile(&self) -> &[usize] {
        &self.tile
    }

    /// How tiles lie in shared memory.
    pub fn swizzling(&self) -> Swizzle {
        self.swizzle
    }

    /// Elements from the first to behind the last.
    pub fn extent(&self) -> usize {
        if self.dims.contains(&0) {
            return 0;
        }
        let last = |axis: usize| (self.dims[axis] - 1) * self.strides.get(axis).copied().unwrap_or(1);
        (0..self.dims.len()).map(last).sum::<usize>() + 1
    }

    /// What no device could be told.
    pub(super) fn check(&self) -> Result<(), String> {
        let rank = self.dims.len();
        if rank == 0 || rank > MOST_AXES || self.tile.len() != rank || self.strides.len() + 1 != rank {
            let (tile, strides) = (self.tile.len(), self.strides.len());
            return Err(format!(
                "has a tensor map of {rank} axes with {tile} tile lengths and {strides} strides; it takes 1 to {MOST_AXES}"
            ));
        }
        if let Some(length) = self.tile.iter().find(|n| !(1..=MOST_TILE).contains(*n)) {
            return Err(format!(
                "has a tensor map with a tile of {length} elements; it takes 1 to {MOST_TILE}"
            ));
        }
        if let Some(bytes) = self.stride_bytes().into_iter().find(|bytes| !bytes.is_multiple_of(16)) {
            return Err(format!(
                "has a tensor map with a stride of {bytes} bytes, which is no multiple of 16"
            ));
        }
        let row = self.tile[rank - 1] * self.dtype.size();
        let most = match self.swizzle {
            Swizzle::None => usize::MAX,
            Swizzle::Bytes32 => 32,
            Swizzle::Bytes64 => 64,
            Swizzle::Bytes128 => 128,
        };
        if !row.is_multiple_of(16) || row > most {
            return Err(format!(
                "has a tensor map with tile rows of {row} bytes; they are multiples of 16, at most as long as the swizzle"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_that_no_device_takes_are_refused() {
        let map = |dims: &[usize], tile: &[usize]| TensorMap::new(Part::Result, DType::F16, dims, tile);
        assert_eq!(map(&[8, 64, 128], &[1, 64, 64]).swizzle(Swizzle::Bytes128).check(), Ok(()));
        for (map, message) in [
            (map(&[], &[]), "tensor map of 0 axes"),
            (map(&[8, 64], &[64]), "1 tile lengths"),
            (map(&[8, 64], &[8, 512]), "tile of 512 elements"),
            (map(&[8, 60], &[8, 16]), "stride of 120 bytes"),
            (map(&[8, 64], &[8, 4]), "tile rows of 8 bytes"),
            (map(&[8, 128], &[8, 128]).swizzle(Swizzle::Bytes128), "tile rows of 256 bytes"),
        ] {
            let error = map.check().unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn extents_follow_strides() {
        let map = TensorMap::new(Part::Result, DType::F32, &[2, 3, 4], &[1, 1, 4]);
        assert_eq!(map.extent(), 24);
        assert_eq!(map.strides(&[100, 8]).extent(), 100 + 16 + 4);
    }
}

//! A call as text and launches: what our own kernels are, before any device is involved.

use smallvec::SmallVec;

use super::views::Views;

/// Blocks that keep every multiprocessor of a large device busy; kernels stride over what is left.
const MOST_BLOCKS: usize = 1 << 14;
/// Scratch memory is cut at multiples of this.
const ALIGNMENT: usize = 256;

/// One parameter of an entry point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Bytes behind the start of an operand's block.
    Input(usize, u64),
    /// Bytes behind the start of the result's block.
    Output(u64),
    /// Bytes behind the start of the scratch memory.
    Scratch(u64),
    /// The same at every launch, laid out as in memory.
    Value(SmallVec<[u64; 2]>),
}

/// One launch of an entry point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Name of the entry point.
    pub entry: &'static str,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Whether the entry point waits for the launch before by itself, so that it may be set up while that one ends.
    pub early: bool,
    /// Parameters.
    pub cells: Vec<Cell>,
}

impl Step {
    /// The same of an entry point that starts with `xo_wait`.
    pub(super) fn early(mut self) -> Step {
        self.early = true;
        self
    }
}

/// A call made of our own kernels. Pure: needs no GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The text for NVRTC.
    pub text: String,
    /// Bytes of scratch memory, with undefined contents.
    pub scratch: usize,
    /// Launches, in order.
    pub steps: Vec<Step>,
}

/// The parameters of a launch, in order.
#[derive(Debug)]
pub(super) struct Cells {
    wide: bool,
    list: Vec<Cell>,
}

impl Cells {
    /// With numbers of 64 bits, or of 32.
    pub(super) fn new(wide: bool) -> Cells {
        Cells { wide, list: Vec::new() }
    }

    pub(super) fn input(mut self, operand: usize, bytes: usize) -> Cells {
        self.list.push(Cell::Input(operand, bytes as u64));
        self
    }

    /// An address that leads nowhere.
    pub(super) fn nothing(mut self) -> Cells {
        self.list.push(Cell::Value(SmallVec::from_slice(&[0])));
        self
    }

    pub(super) fn output(mut self) -> Cells {
        self.list.push(Cell::Output(0));
        self
    }

    pub(super) fn scratch(mut self, at: usize) -> Cells {
        self.list.push(Cell::Scratch(at as u64));
        self
    }

    /// The last parameter, an address, so many bytes further on.
    pub(super) fn moved(mut self, bytes: usize) -> Cells {
        if let Some(Cell::Input(_, at) | Cell::Output(at) | Cell::Scratch(at)) = self.list.last_mut() {
            *at += bytes as u64;
        }
        self
    }

    /// Values of the type `index_t`, one parameter each.
    pub(super) fn indices(mut self, values: &[isize]) -> Cells {
        for &value in values {
            let bits = if self.wide { value as u64 } else { value as i32 as u32 as u64 };
            self.list.push(Cell::Value(SmallVec::from_slice(&[bits])));
        }
        self
    }

    /// A value of the type `int`.
    pub(super) fn int(mut self, value: i32) -> Cells {
        self.list.push(Cell::Value(SmallVec::from_slice(&[value as u32 as u64])));
        self
    }

    /// A structure of values of the type `index_t`.
    pub(super) fn group(mut self, values: &[isize]) -> Cells {
        self.list.push(Cell::Value(packed(values, self.wide)));
        self
    }

    /// A structure `xo_views`.
    pub(super) fn views<const N: usize>(self, views: &Views<N>) -> Cells {
        let values: Vec<isize> = views.values().collect();
        self.group(&values)
    }

    pub(super) fn step(self, entry: &'static str, blocks: usize, threads: u32) -> Step {
        let blocks = u32::try_from(blocks.max(1)).unwrap_or(i32::MAX as u32).min(i32::MAX as u32);
        Step { entry, blocks, threads, early: false, cells: self.list }
    }
}

/// Numbers one after another in words of 64 bits, as little-endian memory has them.
fn packed(values: &[isize], wide: bool) -> SmallVec<[u64; 2]> {
    if wide {
        return values.iter().map(|&v| v as u64).collect();
    }
    let half = |v: isize| u64::from(v as i32 as u32);
    values.chunks(2).map(|pair| half(pair[0]) | pair.get(1).map_or(0, |&v| half(v)) << 32).collect()
}

/// Blocks of `threads` for elements that a thread takes `each` of, for kernels that stride over the grid.
pub(super) fn blocks(count: usize, threads: usize, each: usize) -> usize {
    count.div_ceil(threads * each).clamp(1, MOST_BLOCKS)
}

/// Parts of the scratch memory, one after another.
#[derive(Debug, Default)]
pub(super) struct Room {
    bytes: usize,
}

impl Room {
    /// Where the next part of so many bytes starts.
    pub(super) fn take(&mut self, bytes: usize) -> usize {
        let at = self.bytes;
        self.bytes += bytes.next_multiple_of(ALIGNMENT);
        at
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_laid_out_as_structures_have_them() {
        assert_eq!(packed(&[1, -1, 2], false).as_slice(), [0xffff_ffff_0000_0001, 2]);
        assert_eq!(packed(&[1, -1], true).as_slice(), [1, u64::MAX]);
    }

    #[test]
    fn parts_of_scratch_are_aligned_and_disjoint() {
        let mut room = Room::default();
        assert_eq!([room.take(1), room.take(300), room.take(0), room.bytes()], [0, 256, 768, 768]);
    }
}

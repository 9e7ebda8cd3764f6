//! Rows that are where they were found: blocks of a store's files, used as memory.

use crossover_array::Array;

/// Blocks of rows, one after another, that are never written to.
#[derive(Debug, Clone, Default)]
pub(super) struct Base {
    blocks: Vec<Array>,
    /// Rows before each block.
    starts: Vec<usize>,
    rows: usize,
}

impl Base {
    /// Rows of all blocks.
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn push(&mut self, block: Array) {
        self.starts.push(self.rows);
        self.rows += block.shape().dims()[0];
        self.blocks.push(block);
    }

    /// One row; `at` is less than [`len`](Base::len).
    pub fn row(&self, at: usize) -> Array {
        let block = self.starts.partition_point(|&start| start <= at) - 1;
        self.blocks[block].index((at - self.starts[block]) as i64)
    }

    /// All rows with others after them.
    pub fn with(&self, after: &Array) -> Array {
        if self.rows == 0 {
            return after.clone();
        }
        let all: Vec<&Array> = self.blocks.iter().chain([after]).collect();
        match all.as_slice() {
            [only, none] if none.size() == 0 => (*only).clone(),
            all => Array::concat(all, 0),
        }
    }
}

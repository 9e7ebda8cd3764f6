//! Which vertices cannot be entered.

use crate::{Error, Lattice, Result};

/// A set of blocked vertices, one bit each.
///
/// ```
/// use crossover_lattice::{Lattice, Obstacles};
/// let grid = Lattice::new([2, 3])?;
/// let mut obstacles = Obstacles::none(&grid);
/// obstacles.block(4)?;
/// assert!(obstacles.is_blocked(4) && !obstacles.is_blocked(3));
/// assert_eq!(obstacles.count(), 1);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacles {
    vertices: usize,
    words: Vec<u64>,
}

impl Obstacles {
    /// Nothing is blocked yet.
    pub fn none(lattice: &Lattice) -> Obstacles {
        Obstacles { vertices: lattice.len(), words: vec![0; lattice.len().div_ceil(64)] }
    }

    /// What a mask of all vertices says: `true` is blocked.
    ///
    /// ```
    /// use crossover_lattice::{Lattice, Obstacles};
    /// let obstacles = Obstacles::from_mask(&Lattice::new([3])?, &[false, true, false])?;
    /// assert!(obstacles.is_blocked(1));
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn from_mask(lattice: &Lattice, blocked: &[bool]) -> Result<Obstacles> {
        if blocked.len() != lattice.len() {
            return Err(Error::Length { what: "the mask", given: blocked.len(), vertices: lattice.len() });
        }
        let word = |bits: &[bool]| bits.iter().rev().fold(0, |word, &bit| word << 1 | u64::from(bit));
        Ok(Obstacles { vertices: lattice.len(), words: blocked.chunks(64).map(word).collect() })
    }

    /// Blocks a vertex.
    pub fn block(&mut self, vertex: usize) -> Result<()> {
        self.set(vertex, true)
    }

    /// Frees a vertex.
    ///
    /// ```
    /// use crossover_lattice::{Lattice, Obstacles};
    /// let line = Lattice::new([5])?;
    /// let mut door = Obstacles::none(&line);
    /// door.block(2)?;
    /// assert!(line.search().obstacles(&door).path(0, 4)?.is_none());
    /// door.unblock(2)?;
    /// assert!(line.search().obstacles(&door).path(0, 4)?.is_some());
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn unblock(&mut self, vertex: usize) -> Result<()> {
        self.set(vertex, false)
    }

    fn set(&mut self, vertex: usize, blocked: bool) -> Result<()> {
        if vertex >= self.vertices {
            return Err(Error::Vertex { vertex, vertices: self.vertices });
        }
        let bit = 1 << (vertex % 64);
        let word = &mut self.words[vertex / 64];
        *word = if blocked { *word | bit } else { *word & !bit };
        Ok(())
    }

    /// Whether a vertex is blocked; one that does not exist is not.
    pub fn is_blocked(&self, vertex: usize) -> bool {
        vertex < self.vertices && self.words[vertex / 64] >> (vertex % 64) & 1 == 1
    }

    /// How many are blocked.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(crate) fn check(&self, lattice: &Lattice) -> Result<()> {
        if self.vertices == lattice.len() {
            return Ok(());
        }
        Err(Error::Length { what: "the set of obstacles", given: self.vertices, vertices: lattice.len() })
    }

    /// The free vertices of a lattice as bits.
    pub(crate) fn free(lattice: &Lattice, obstacles: Option<&Obstacles>) -> Vec<u64> {
        let count = lattice.len().div_ceil(64);
        let mut words = match obstacles {
            Some(obstacles) => obstacles.words.iter().map(|word| !word).collect(),
            None => vec![u64::MAX; count],
        };
        if !lattice.len().is_multiple_of(64) {
            words[count - 1] &= (1 << (lattice.len() % 64)) - 1;
        }
        words
    }
}

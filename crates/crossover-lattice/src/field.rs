//! Distances of all vertices from the nearest of some sources.
//!
//! Where nothing is in the way the distance is a sum over axes, and the field is written as fast as memory takes it. Otherwise a
//! breadth-first search goes level by level; wide levels are shared by threads. A bit per vertex says whether it is still to be reached,
//! so that a step looks at a set of bits that stays in the cache, and writes each distance once.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crossover_array::Array;
use rayon::prelude::*;

use crate::{Error, Lattice, Obstacles, Result, steps::Steps};

/// The distance of a vertex that cannot be reached, or is blocked.
pub const UNREACHED: u32 = u32::MAX;

/// Vertices of a level from which threads share it: below, handing it out takes longer than doing it.
const WIDE: usize = 4096;
/// Vertices of a level that a thread takes at once.
const GRAIN: usize = 1024;
/// Sources up to which a formula for each is faster than a search.
pub(crate) const FEW: usize = 8;

/// The distance of every vertex from the nearest source; made by [`Lattice::distance_field`].
///
/// ```
/// use crossover_lattice::{Lattice, Obstacles, UNREACHED};
/// let hall = Lattice::new([2, 4])?;
/// let wall = Obstacles::from_mask(&hall, &[false, false, true, false, false, false, true, false])?;
/// let field = hall.distance_field(&[0], Some(&wall))?;
/// assert_eq!((field.get(5), field.get(3)), (Some(2), None)); // vertex 3 lies behind the wall
/// assert_eq!((field.reached(), field.farthest()), (4, 2));
/// assert_eq!(field.as_slice()[3], UNREACHED);
/// let array = field.into_array(); // for what arrays are good at
/// assert_eq!(array.shape().dims(), [2, 4]);
/// assert_eq!(array.less(2u32).count_nonzero(()).item::<i64>()?, 3);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    sizes: Vec<usize>,
    distances: Vec<u32>,
}

impl Field {
    /// The distance of a vertex; `None` if it cannot be reached or does not exist.
    pub fn get(&self, vertex: usize) -> Option<u32> {
        self.distances.get(vertex).copied().filter(|&distance| distance != UNREACHED)
    }

    /// All distances, row-major; [`UNREACHED`] where there is none.
    pub fn as_slice(&self) -> &[u32] {
        &self.distances
    }

    /// How many vertices can be reached.
    pub fn reached(&self) -> usize {
        self.distances.iter().filter(|&&distance| distance != UNREACHED).count()
    }

    /// The largest distance.
    pub fn farthest(&self) -> u32 {
        self.distances.iter().copied().filter(|&distance| distance != UNREACHED).max().unwrap_or(0)
    }

    /// The distances as an array of the lattice's shape, `u32`.
    pub fn into_array(self) -> Array {
        Array::from_vec(self.distances, self.sizes.as_slice())
    }
}

impl Lattice {
    /// The distance of every vertex from the nearest source.
    ///
    /// ```
    /// use crossover_lattice::{Lattice, Obstacles};
    /// let grid = Lattice::new([2, 4])?;
    /// assert_eq!(grid.distance_field(&[0], None)?.as_slice(), [0, 1, 2, 3, 1, 2, 3, 4]);
    /// let mut wall = Obstacles::none(&grid);
    /// wall.block(1)?;
    /// let field = grid.distance_field(&[0], Some(&wall))?;
    /// assert_eq!((field.get(2), field.get(1)), (Some(4), None));
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn distance_field(&self, sources: &[usize], obstacles: Option<&Obstacles>) -> Result<Field> {
        self.check_sources(sources, obstacles)?;
        let steps = self.steps("a distance field")?;
        let blocked = obstacles.is_some_and(|obstacles| obstacles.count() > 0);
        let distances = if !blocked && sources.len() <= FEW {
            by_formula(self, sources)
        } else {
            by_levels(&steps, Obstacles::free(self, obstacles), self.len(), sources)
        };
        Ok(Field { sizes: self.sizes().to_vec(), distances })
    }

    pub(crate) fn check_sources(&self, sources: &[usize], obstacles: Option<&Obstacles>) -> Result<()> {
        if sources.is_empty() {
            return Err(Error::NoSource);
        }
        if let Some(obstacles) = obstacles {
            obstacles.check(self)?;
        }
        for &source in sources {
            self.check(source)?;
            if obstacles.is_some_and(|obstacles| obstacles.is_blocked(source)) {
                return Err(Error::Blocked { vertex: source });
            }
        }
        Ok(())
    }
}

/// A row at a time: the distance along all other axes, plus that along the last.
fn by_formula(lattice: &Lattice, sources: &[usize]) -> Vec<u32> {
    let last = lattice.dimensions() - 1;
    let row = lattice.sizes()[last];
    let tables: Vec<Vec<u32>> = sources
        .iter()
        .map(|source| (0..row).map(|at| lattice.apart(last, source % row, at) as u32).collect())
        .collect();
    let mut distances = vec![0; lattice.len()];
    let fill = |(number, out): (usize, &mut [u32])| {
        for (source, table) in sources.iter().zip(&tables) {
            // Both lie in the same column, so only the other axes count.
            let from = source - source % row;
            let beside = lattice.distance(from, number * row).unwrap_or(0) as u32;
            if std::ptr::eq(table, &tables[0]) {
                out.iter_mut().zip(table).for_each(|(out, along)| *out = beside + along);
            } else {
                out.iter_mut().zip(table).for_each(|(out, along)| *out = (*out).min(beside + along));
            }
        }
    };
    if lattice.len() < 1 << 17 {
        distances.chunks_mut(row).enumerate().for_each(fill);
    } else {
        distances.par_chunks_mut(row).enumerate().with_min_len((1 << 14) / row.min(1 << 14)).for_each(fill);
    }
    distances
}

/// Breadth-first, level by level.
fn by_levels(steps: &Steps, free: Vec<u64>, vertices: usize, sources: &[usize]) -> Vec<u32> {
    // Only one thread can take a bit out, so each distance is written once, and all writers of a level write the same number.
    let free: Vec<AtomicU64> = free.into_iter().map(AtomicU64::new).collect();
    let distances: Vec<AtomicU32> = (0..vertices).map(|_| AtomicU32::new(UNREACHED)).collect();
    let mut level: Vec<u32> = Vec::new();
    for &source in sources {
        if take_alone(&free, source as u32) {
            distances[source].store(0, Relaxed);
            level.push(source as u32);
        }
    }
    let (mut distance, mut next) = (0, Vec::new());
    while !level.is_empty() {
        distance += 1;
        if level.len() < WIDE {
            for &vertex in &level {
                steps.each(vertex, |neighbour| {
                    if take_alone(&free, neighbour) {
                        distances[neighbour as usize].store(distance, Relaxed);
                        next.push(neighbour);
                    }
                });
            }
        } else {
            let parts: Vec<Vec<u32>> = level
                .par_chunks(GRAIN)
                .map(|part| spread(steps, part, &free, &distances, distance))
                .collect();
            next.extend(parts.iter().flatten());
        }
        std::mem::swap(&mut level, &mut next);
        next.clear();
    }
    distances.into_iter().map(AtomicU32::into_inner).collect()
}

/// The vertices next to a part of a level that nobody else has reached.
fn spread(
    steps: &Steps,
    part: &[u32],
    free: &[AtomicU64],
    distances: &[AtomicU32],
    distance: u32,
) -> Vec<u32> {
    let mut found = Vec::with_capacity(part.len() * 2);
    for &vertex in part {
        steps.each(vertex, |neighbour| {
            let (word, bit) = (&free[neighbour as usize / 64], 1u64 << (neighbour % 64));
            // Looking first keeps the line shared while there is nothing to take.
            if word.load(Relaxed) & bit != 0 && word.fetch_and(!bit, Relaxed) & bit != 0 {
                distances[neighbour as usize].store(distance, Relaxed);
                found.push(neighbour);
            }
        });
    }
    found
}

/// Takes a bit out while no other thread is at it; whether it was there.
#[inline(always)]
fn take_alone(free: &[AtomicU64], vertex: u32) -> bool {
    let (word, bit) = (&free[vertex as usize / 64], 1u64 << (vertex % 64));
    let now = word.load(Relaxed);
    word.store(now & !bit, Relaxed);
    now & bit != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formula_and_search_agree() {
        for sizes in [&[9][..], &[3, 4], &[70, 70], &[20, 20, 20], &[1, 6, 1]] {
            for lattice in [Lattice::new(sizes).unwrap(), Lattice::new(sizes).unwrap().periodic()] {
                let sources = [0, lattice.len() / 2, lattice.len() - 1];
                let steps = lattice.steps("a field").unwrap();
                let free = Obstacles::free(&lattice, None);
                assert_eq!(by_formula(&lattice, &sources), by_levels(&steps, free, lattice.len(), &sources));
            }
        }
    }

    #[test]
    fn wide_levels_are_shared_and_give_the_same() {
        let lattice = Lattice::cube(3, 90).unwrap();
        let steps = lattice.steps("a field").unwrap();
        // Three opposite walls at once: levels of up to 24,300 vertices.
        let sources: Vec<usize> = (0..lattice.len()).filter(|v| v % 90 == 0 || v / 8100 == 0).collect();
        let wide = by_levels(&steps, Obstacles::free(&lattice, None), lattice.len(), &sources);
        for (vertex, &distance) in wide.iter().enumerate() {
            assert_eq!(distance as usize, (vertex % 90).min(vertex / 8100));
        }
    }

    #[test]
    fn a_field_without_sources_or_from_within_a_wall_is_refused() {
        let grid = Lattice::new([3, 3]).unwrap();
        assert!(matches!(grid.distance_field(&[], None), Err(Error::NoSource)));
        let wall = Obstacles::from_mask(&grid, &[true; 9]).unwrap();
        assert!(matches!(grid.distance_field(&[4], Some(&wall)), Err(Error::Blocked { vertex: 4 })));
    }
}

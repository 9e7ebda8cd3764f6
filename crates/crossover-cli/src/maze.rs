//! A lattice that is hard to walk through, the same in every run.

use anyhow::Result;
use crossover::lattice::{Lattice, Obstacles};

/// About a quarter of the inner vertices is blocked; along the edges there is always a way.
pub fn wall(lattice: &Lattice) -> Result<Obstacles> {
    let mut wall = Obstacles::none(lattice);
    for vertex in 0..lattice.len() {
        let at = lattice.coordinates(vertex)?;
        let inner = at.iter().zip(lattice.sizes()).all(|(&at, &size)| at > 0 && at + 1 < size);
        if inner && (vertex as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0 {
            wall.block(vertex)?;
        }
    }
    Ok(wall)
}

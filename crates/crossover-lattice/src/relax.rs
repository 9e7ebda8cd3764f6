//! Distance fields as array code: rounds of relaxation, one kernel each, which a GPU does at once for all vertices.
//!
//! The search of [`Lattice::distance_field`] does the least work and is what a CPU should run. Here every round looks at every vertex, so
//! there is more of it, but nothing in it waits: on a GPU that is faster for large lattices, and the field stays there.

use std::sync::OnceLock;

use crossover_array::{Array, CustomKernel, DType, Grid};

use crate::{Error, Lattice, Obstacles, Result, steps::Steps};

/// The CUDA source of a round.
pub(crate) const SOURCE: &str = include_str!("kernels/relax.cu");

/// A distance that no path has: one less than half of what fits, so that adding 1 does not overflow.
const FAR: i32 = i32::MAX / 2;
/// Rounds between two looks at whether anything changes; doubles up to the most that one plan should hold.
const ROUNDS: (usize, usize) = (16, 256);

fn kernel() -> Result<&'static CustomKernel> {
    static KERNEL: OnceLock<std::result::Result<CustomKernel, crossover_array::Error>> = OnceLock::new();
    let made = KERNEL.get_or_init(|| {
        let built = CustomKernel::builder("lattice_relax")
            .input("dist", DType::I32)
            .input("layout", DType::I64)
            .output("out", DType::I32)
            .shape(|shapes| Ok(shapes[0].clone()))
            .cpu(|inputs, output| {
                let (distances, layout) = (inputs.slice::<i32>(0)?, inputs.slice::<i64>(1)?);
                let sizes: Vec<usize> = layout[1..].iter().map(|&size| size as usize).collect();
                // Whoever calls has made a lattice of these sizes.
                let Ok(lattice) = Lattice::new(sizes) else { return Ok(()) };
                let lattice = if layout[0] != 0 { lattice.periodic() } else { lattice };
                let steps = Steps::new(&lattice);
                for (vertex, out) in output.slice::<i32>()?.iter_mut().enumerate() {
                    let now = distances[vertex];
                    let mut best = now;
                    steps.each(vertex as u32, |next| {
                        let near = distances[next as usize];
                        if near >= 0 {
                            best = best.min(near + 1);
                        }
                    });
                    *out = if now <= 0 { now } else { best };
                }
                Ok(())
            })
            .cuda(SOURCE, |inputs, output| {
                Grid::covering(output.size(), 256).size(output.size()).size(inputs[1].size())
            })
            .build();
        built.map_err(crossover_array::Error::from)
    });
    made.as_ref().map_err(|error| Error::Array(error.clone()))
}

impl Lattice {
    /// As [`distance_field`](Lattice::distance_field), by rounds of a kernel on the current device: `i32` of the lattice's shape, -1
    /// where there is no way. For large lattices on a GPU; a CPU takes longer than by searching.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// let grid = Lattice::new([2, 4])?;
    /// let field = grid.distance_field_array(&[0], None)?;
    /// assert_eq!(field.to_vec::<i32>()?, [0, 1, 2, 3, 1, 2, 3, 4]);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn distance_field_array(&self, sources: &[usize], obstacles: Option<&Obstacles>) -> Result<Array> {
        self.check_sources(sources, obstacles)?;
        let most = FAR as usize;
        if self.len() > most {
            return Err(Error::TooLarge {
                sizes: self.sizes().to_vec(),
                most,
                what: "a distance field of arrays",
            });
        }
        let mut start = vec![FAR; self.len()];
        if let Some(obstacles) = obstacles {
            let blocked = (0..self.len()).filter(|&vertex| obstacles.is_blocked(vertex));
            blocked.for_each(|vertex| start[vertex] = -1);
        }
        sources.iter().for_each(|&source| start[source] = 0);
        let mut layout = vec![i64::from(self.is_periodic())];
        layout.extend(self.sizes().iter().map(|&size| size as i64));
        let (entries, kernel) = (layout.len(), kernel()?);
        let layout = Array::from_vec(layout, [entries]);
        let mut now = Array::from_vec(start, [self.len()]);
        let mut rounds = ROUNDS.0;
        loop {
            let before = now.clone();
            for _ in 0..rounds {
                now = kernel.call(&[&now, &layout]);
            }
            now.eval()?;
            if now.equal(&before).all(()).item::<bool>()? {
                break;
            }
            rounds = (2 * rounds).min(ROUNDS.1);
        }
        Ok(now.equal(FAR).where_(-1, &now).reshape(self.sizes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_and_search_agree() {
        for sizes in [&[40][..], &[7, 9], &[3, 4, 5], &[2, 2, 2]] {
            for lattice in [Lattice::new(sizes).unwrap(), Lattice::new(sizes).unwrap().periodic()] {
                let mask: Vec<bool> = (0..lattice.len()).map(|v| v % 5 == 3).collect();
                let obstacles = Obstacles::from_mask(&lattice, &mask).unwrap();
                let field = lattice.distance_field(&[0], Some(&obstacles)).unwrap();
                let array = lattice.distance_field_array(&[0], Some(&obstacles)).unwrap();
                let wanted: Vec<i32> =
                    (0..lattice.len()).map(|v| field.get(v).map_or(-1, |d| d as i32)).collect();
                assert_eq!(array.to_vec::<i32>().unwrap(), wanted, "{sizes:?}");
            }
        }
    }
}

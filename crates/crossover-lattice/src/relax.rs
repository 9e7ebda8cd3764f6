//! Distance fields as arrays, on whichever device.
//!
//! Where nothing is in the way, a field is an expression of the coordinates. Around obstacles, a CPU searches as
//! [`Lattice::distance_field`] does, which is the least work. A GPU that is asked for relaxes instead: every round looks at every vertex, tile
//! by tile, and carries distances across whole tiles; the field stays there.

use std::sync::OnceLock;

use crossover_array::{Array, CustomKernel, DType, Device, Grid, current_device, eval_all};

use crate::{Error, Lattice, Obstacles, Result, field::FEW, steps::Steps};

/// The CUDA source of a round.
pub(crate) const SOURCE: &str = include_str!("kernels/relax.cu");

/// A distance that no path has: one less than half of what fits, so that adding 1 does not overflow.
const FAR: i32 = i32::MAX / 2;
/// Rounds between two looks at whether anything changes; doubles up to the most that one plan should hold.
const ROUNDS: (usize, usize) = (16, 128);
/// Side of a tile, and vertices of one; those of `relax.cu`.
const SIDE: usize = 32;
const TILE: usize = SIDE * SIDE;

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
                let tiles = match output.dims() {
                    [] => 1,
                    [length] => length.div_ceil(TILE),
                    [planes @ .., rows, columns] => {
                        planes.iter().product::<usize>() * rows.div_ceil(SIDE) * columns.div_ceil(SIDE)
                    }
                };
                Grid::new([tiles, 1, 1], [TILE, 1, 1]).size(output.size()).size(inputs[1].size())
            })
            .build();
        built.map_err(crossover_array::Error::from)
    });
    made.as_ref().map_err(|error| Error::Array(error.clone()))
}

impl Lattice {
    /// As [`distance_field`](Lattice::distance_field), as an array on the current device: `i32` of the lattice's shape, -1 where there is no
    /// way.
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
        match obstacles.filter(|obstacles| obstacles.count() > 0) {
            None if sources.len() <= FEW => self.by_coordinates(sources),
            // Where the device may be chosen, it is the CPU: on an H200 with 16 cores the search takes less time up to 4000 × 4000 vertices.
            _ if matches!(current_device(), Device::Cuda(_)) => self.by_rounds(sources, obstacles),
            _ => {
                // What is unreached is all ones, and -1 among signed numbers.
                let found = self.distance_field(sources, obstacles)?;
                let signed: Vec<i32> = found.as_slice().iter().map(|&distance| distance as i32).collect();
                Ok(Array::from_vec(signed, self.sizes()))
            }
        }
    }

    /// Sums over axes of how far coordinates are apart, the least over sources.
    fn by_coordinates(&self, sources: &[usize]) -> Result<Array> {
        let rank = self.dimensions();
        let mut field: Option<Array> = None;
        for &source in sources {
            let (mut sum, mut rest): (Option<Array>, usize) = (None, source);
            for (axis, &size) in self.sizes().iter().enumerate().rev() {
                let (at, length) = (rest % size, size as i32);
                rest /= size;
                let apart = (Array::arange(size as i64).astype(DType::I32) - at as i32).abs();
                let apart = if self.is_periodic() { apart.minimum(length - &apart) } else { apart };
                let mut shape = vec![1; rank];
                shape[axis] = size;
                let along = apart.reshape(shape);
                sum = Some(sum.map_or_else(|| along.clone(), |sum| sum + &along));
            }
            let Some(sum) = sum else { continue };
            field = Some(field.map_or_else(|| sum.clone(), |field| field.minimum(&sum)));
        }
        let field = field.ok_or(Error::NoSource)?;
        field.check()?;
        Ok(field)
    }

    /// Rounds of a kernel over all vertices, until one changes nothing.
    fn by_rounds(&self, sources: &[usize], obstacles: Option<&Obstacles>) -> Result<Array> {
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
        let mut now = Array::from_vec(start, self.sizes());
        let mut rounds = ROUNDS.0;
        loop {
            let mut before = now.clone();
            for _ in 0..rounds {
                before = now;
                now = kernel.call(&[&before, &layout]);
            }
            // A round that changes nothing is the last.
            let same = now.equal(&before).all(());
            eval_all(&[&now, &same])?;
            if same.item::<bool>()? {
                break;
            }
            rounds = (2 * rounds).min(ROUNDS.1);
        }
        Ok(now.equal(FAR).where_(-1, &now))
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
                let rounds = lattice.by_rounds(&[0], Some(&obstacles)).unwrap();
                assert_eq!(rounds.to_vec::<i32>().unwrap(), array.to_vec::<i32>().unwrap(), "{sizes:?}");
                let open: Vec<i32> = lattice
                    .distance_field(&[1, 3], None)
                    .unwrap()
                    .as_slice()
                    .iter()
                    .map(|&d| d as i32)
                    .collect();
                let formula = lattice.distance_field_array(&[1, 3], None).unwrap();
                assert_eq!(formula.shape().dims(), sizes);
                assert_eq!(formula.to_vec::<i32>().unwrap(), open, "{sizes:?}");
                assert_eq!(
                    lattice.by_rounds(&[1, 3], None).unwrap().to_vec::<i32>().unwrap(),
                    open,
                    "{sizes:?}"
                );
                let wanted: Vec<i32> =
                    (0..lattice.len()).map(|v| field.get(v).map_or(-1, |d| d as i32)).collect();
                assert_eq!(array.to_vec::<i32>().unwrap(), wanted, "{sizes:?}");
            }
        }
    }
}

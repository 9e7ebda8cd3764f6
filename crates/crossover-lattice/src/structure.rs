//! What a lattice is like, in numbers.

use std::fmt;

use crate::Lattice;

/// The structure of a lattice, all of it exact.
///
/// ```
/// use crossover_lattice::Lattice;
/// let structure = Lattice::new([10, 10])?.analyze_structure();
/// assert_eq!((structure.vertices, structure.edges, structure.diameter), (100, 180, 18));
/// assert_eq!(structure.average_degree, 3.6);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Structure {
    /// Number of vertices.
    pub vertices: usize,
    /// Number of edges.
    pub edges: usize,
    /// Sizes of the axes.
    pub sizes: Vec<usize>,
    /// Number of axes.
    pub dimensions: usize,
    /// Whether the ends of the axes are joined.
    pub periodic: bool,
    /// Whether every vertex can be reached from every other; always.
    pub connected: bool,
    /// Steps between the two vertices that are farthest apart.
    pub diameter: usize,
    /// Edges at a vertex, on average.
    pub average_degree: f64,
    /// Share of pairs of neighbours that are neighbours themselves: 0, unless there are rings of three.
    pub clustering: f64,
    /// Edges as a share of all pairs of vertices.
    pub density: f64,
}

impl Lattice {
    /// Number of edges.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// let grid = Lattice::new([3, 4])?;
    /// assert_eq!(grid.edges(), 3 * 3 + 2 * 4); // along rows, along columns
    /// assert_eq!(grid.periodic().edges(), 2 * 12); // now every vertex has four neighbours
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn edges(&self) -> usize {
        let along = |&size: &usize| {
            let lines = self.len() / size;
            let each = if self.is_periodic() && size > 2 { size } else { size - 1 };
            lines * each
        };
        self.sizes().iter().map(along).sum()
    }

    /// Steps between the two vertices that are farthest apart.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// let grid = Lattice::new([10, 10])?;
    /// assert_eq!(grid.diameter(), grid.distance(0, 99)?);
    /// assert_eq!(grid.periodic().diameter(), 10);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn diameter(&self) -> usize {
        self.sizes().iter().map(|&size| if self.is_periodic() { size / 2 } else { size - 1 }).sum()
    }

    /// The structure, from formulas: it takes no longer for a large lattice.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// // A trillion vertices, none of them stored.
    /// let structure = Lattice::cube(4, 1_000)?.periodic().analyze_structure();
    /// assert_eq!((structure.vertices, structure.diameter), (1_000_000_000_000, 2_000));
    /// assert_eq!(structure.average_degree, 8.0);
    /// assert!(structure.to_string().starts_with("periodic lattice of sizes [1000, 1000, 1000, 1000]"));
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn analyze_structure(&self) -> Structure {
        let (vertices, edges) = (self.len(), self.edges());
        let pairs = vertices as f64 * (vertices as f64 - 1.0) / 2.0;
        Structure {
            vertices,
            edges,
            sizes: self.sizes().to_vec(),
            dimensions: self.dimensions(),
            periodic: self.is_periodic(),
            connected: true,
            diameter: self.diameter(),
            average_degree: 2.0 * edges as f64 / vertices as f64,
            clustering: self.clustering(),
            density: if vertices > 1 { edges as f64 / pairs } else { 0.0 },
        }
    }

    /// Triangles exist only in rings of three: both neighbours along such an axis are neighbours of each other.
    fn clustering(&self) -> f64 {
        if !self.is_periodic() {
            return 0.0;
        }
        let degree: usize = self.sizes().iter().map(|&size| (size - 1).min(2)).sum();
        let triangles = self.sizes().iter().filter(|&&size| size == 3).count();
        if degree < 2 { 0.0 } else { 2.0 * triangles as f64 / (degree * (degree - 1)) as f64 }
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let boundary = if self.periodic { "periodic" } else { "open" };
        writeln!(f, "{boundary} lattice of sizes {:?}", self.sizes)?;
        writeln!(f, "vertices {}, edges {}, diameter {}", self.vertices, self.edges, self.diameter)?;
        let (degree, clustering, density) = (self.average_degree, self.clustering, self.density);
        write!(f, "average degree {degree:.4}, clustering {clustering:.4}, density {density:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted vertex by vertex.
    fn counted(lattice: &Lattice) -> (usize, usize, f64) {
        let neighbours: Vec<Vec<usize>> =
            (0..lattice.len()).map(|v| lattice.neighbours(v).unwrap()).collect();
        let edges = neighbours.iter().map(Vec::len).sum::<usize>() / 2;
        let far = (0..lattice.len()).map(|v| lattice.distance(0, v).unwrap()).max().unwrap();
        let mut clustering = 0.0;
        for around in &neighbours {
            let mut closed = 0;
            for (i, a) in around.iter().enumerate() {
                closed += around[i + 1..].iter().filter(|&&b| neighbours[*a].contains(&b)).count();
            }
            let pairs = around.len() * around.len().saturating_sub(1) / 2;
            clustering += if pairs > 0 { closed as f64 / pairs as f64 } else { 0.0 };
        }
        (edges, far, clustering / lattice.len() as f64)
    }

    #[test]
    fn formulas_agree_with_counting() {
        for sizes in [&[1][..], &[2], &[7], &[3, 4], &[3, 3], &[2, 2, 3], &[5, 1, 4], &[3, 3, 3], &[10, 3]] {
            for lattice in [Lattice::new(sizes).unwrap(), Lattice::new(sizes).unwrap().periodic()] {
                let (edges, far, clustering) = counted(&lattice);
                let structure = lattice.analyze_structure();
                assert_eq!(structure.edges, edges, "{structure}");
                // Distances from a corner reach the diameter.
                assert_eq!(structure.diameter, far, "{structure}");
                assert!((structure.clustering - clustering).abs() < 1e-12, "{structure} {clustering}");
            }
        }
    }
}

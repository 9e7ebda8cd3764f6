//! The lattice: sizes, boundary, and everything that has a closed form.

use crossover_array::{Device, Runtime};
use smallvec::SmallVec;

use crate::{Error, Result, Search, steps::Steps};

/// An n-dimensional lattice: vertices row-major, neighbours at ±1 along each axis.
///
/// ```
/// use crossover_lattice::Lattice;
/// let ring = Lattice::new([10])?.periodic();
/// assert_eq!(ring.shortest_path(1, 9)?, [1, 0, 9]);
/// let cube = Lattice::cube(4, 10)?;
/// assert_eq!((cube.len(), cube.edges(), cube.diameter()), (10_000, 36_000, 36));
/// let torus = Lattice::new([6, 8])?.periodic();
/// assert_eq!((torus.sizes(), torus.dimensions(), torus.is_periodic()), (&[6, 8][..], 2, true));
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lattice {
    sizes: SmallVec<[usize; 4]>,
    /// How far apart neighbours along each axis are numbered.
    strides: SmallVec<[usize; 4]>,
    periodic: bool,
    vertices: usize,
}

impl Lattice {
    /// A lattice with a size per axis and open boundaries.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// assert_eq!(Lattice::new([3, 4])?.len(), 12);
    /// assert!(Lattice::new([3, 0]).is_err());
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn new(sizes: impl AsRef<[usize]>) -> Result<Lattice> {
        let sizes: SmallVec<[usize; 4]> = SmallVec::from_slice(sizes.as_ref());
        if sizes.is_empty() || sizes.contains(&0) {
            return Err(Error::Empty { sizes: sizes.to_vec() });
        }
        let mut strides: SmallVec<[usize; 4]> = SmallVec::from_elem(1, sizes.len());
        let mut vertices = 1usize;
        // So that edges can be counted too: along each axis there are at most as many as vertices.
        let axes = sizes.iter().filter(|&&size| size > 1).count().max(1);
        let most = (usize::MAX / axes).min(isize::MAX as usize);
        for axis in (0..sizes.len()).rev() {
            strides[axis] = vertices;
            let grown = vertices.checked_mul(sizes[axis]).filter(|&n| n <= most);
            vertices = grown.ok_or_else(|| Error::TooLarge {
                sizes: sizes.to_vec(),
                most,
                what: "a lattice of so many axes",
            })?;
        }
        Ok(Lattice { sizes, strides, periodic: false, vertices })
    }

    /// A lattice of one size along each of `dimensions` axes.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// assert_eq!(Lattice::cube(3, 5)?, Lattice::new([5, 5, 5])?);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn cube(dimensions: usize, size: usize) -> Result<Lattice> {
        Lattice::new(vec![size; dimensions])
    }

    /// The same lattice with the ends of each axis joined. An axis of length 2 has one edge between its ends, not two.
    pub fn periodic(mut self) -> Lattice {
        self.periodic = true;
        self
    }

    /// Number of vertices; at least one.
    #[expect(clippy::len_without_is_empty, reason = "no lattice is empty")]
    pub fn len(&self) -> usize {
        self.vertices
    }

    /// Sizes of the axes.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Number of axes.
    pub fn dimensions(&self) -> usize {
        self.sizes.len()
    }

    /// Whether the ends of the axes are joined.
    pub fn is_periodic(&self) -> bool {
        self.periodic
    }

    pub(crate) fn strides(&self) -> &[usize] {
        &self.strides
    }

    pub(crate) fn check(&self, vertex: usize) -> Result<usize> {
        if vertex < self.vertices {
            return Ok(vertex);
        }
        Err(Error::Vertex { vertex, vertices: self.vertices })
    }

    /// How neighbours are reached; `what` is asked for, and numbers vertices with 32 bits.
    pub(crate) fn steps(&self, what: &'static str) -> Result<Steps> {
        let most = u32::MAX as usize - 1;
        if self.vertices > most {
            return Err(Error::TooLarge { sizes: self.sizes.to_vec(), most, what });
        }
        Ok(Steps::new(self))
    }

    /// The number of the vertex with these coordinates.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// let grid = Lattice::new([3, 4])?;
    /// assert_eq!(grid.vertex(&[1, 2])?, 6);
    /// assert!(grid.vertex(&[1, 4]).is_err());
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn vertex(&self, coordinates: &[usize]) -> Result<usize> {
        let inside = coordinates.len() == self.sizes.len()
            && coordinates.iter().zip(&self.sizes).all(|(at, size)| at < size);
        if !inside {
            let (coordinates, sizes) = (coordinates.to_vec(), self.sizes.to_vec());
            return Err(Error::Coordinates { coordinates, sizes });
        }
        Ok(coordinates.iter().zip(&self.strides).map(|(at, stride)| at * stride).sum())
    }

    /// The coordinates of a vertex.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// assert_eq!(Lattice::new([3, 4])?.coordinates(6)?, [1, 2]);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn coordinates(&self, vertex: usize) -> Result<Vec<usize>> {
        self.check(vertex)?;
        Ok(self.at(vertex).collect())
    }

    fn at(&self, vertex: usize) -> impl Iterator<Item = usize> + '_ {
        self.sizes.iter().zip(&self.strides).map(move |(size, stride)| vertex / stride % size)
    }

    /// The neighbours of a vertex: down, then up, along each axis from the last to the first.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// let grid = Lattice::new([3, 4])?;
    /// assert_eq!(grid.neighbours(5)?, [4, 6, 1, 9]);
    /// assert_eq!(grid.neighbours(0)?, [1, 4]);
    /// assert_eq!(grid.periodic().neighbours(0)?, [3, 1, 8, 4]);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn neighbours(&self, vertex: usize) -> Result<Vec<usize>> {
        self.check(vertex)?;
        let mut found = Vec::with_capacity(2 * self.sizes.len());
        for (axis, at) in self.at(vertex).collect::<SmallVec<[usize; 4]>>().into_iter().enumerate().rev() {
            let (size, stride) = (self.sizes[axis], self.strides[axis]);
            let (first, last) = (at == 0, at + 1 == size);
            if !first {
                found.push(vertex - stride);
            } else if self.periodic && size > 2 {
                found.push(vertex + (size - 1) * stride);
            }
            if !last {
                found.push(vertex + stride);
            } else if self.periodic && size > 2 {
                found.push(vertex - (size - 1) * stride);
            }
        }
        Ok(found)
    }

    /// Steps between two coordinates of an axis.
    pub(crate) fn apart(&self, axis: usize, from: usize, to: usize) -> usize {
        let straight = from.abs_diff(to);
        if self.periodic { straight.min(self.sizes[axis] - straight) } else { straight }
    }

    /// The number of steps from one vertex to another when nothing is in the way.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// let grid = Lattice::new([10, 10])?;
    /// assert_eq!(grid.distance(0, 99)?, 18);
    /// assert_eq!(grid.periodic().distance(0, 99)?, 2);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn distance(&self, from: usize, to: usize) -> Result<usize> {
        self.check(from)?;
        self.check(to)?;
        let both = self.at(from).zip(self.at(to)).enumerate();
        Ok(both.map(|(axis, (from, to))| self.apart(axis, from, to)).sum())
    }

    /// The vertices of a shortest path, both ends included, when nothing is in the way: along the first axis first, and
    /// upwards where both ways round a ring are equally long. It takes as many steps as the path has, whatever the size of the lattice; a path
    /// that memory has no room for is an error.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// assert_eq!(Lattice::new([3, 3])?.shortest_path(0, 8)?, [0, 3, 6, 7, 8]);
    /// assert_eq!(Lattice::new([3, 3])?.shortest_path(4, 4)?, [4]);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn shortest_path(&self, from: usize, to: usize) -> Result<Vec<usize>> {
        let mut path = room(self.distance(from, to)? + 1)?;
        path.push(from);
        let mut now = from;
        for (axis, (mut at, goal)) in self.at(from).zip(self.at(to)).enumerate() {
            let (size, stride) = (self.sizes[axis], self.strides[axis]);
            let up = if at <= goal { goal - at } else { goal + size - at };
            // Upwards without a ring only where the goal lies there.
            let rises = if self.periodic { up <= size - up } else { at <= goal };
            while at != goal {
                let (next, moved) = match (rises, at) {
                    (true, at) if at + 1 == size => (0, now - (size - 1) * stride),
                    (true, at) => (at + 1, now + stride),
                    (false, 0) => (size - 1, now + (size - 1) * stride),
                    (false, at) => (at - 1, now - stride),
                };
                (at, now) = (next, moved);
                path.push(now);
            }
        }
        Ok(path)
    }

    /// A search among obstacles or with weights.
    ///
    /// ```
    /// use crossover_lattice::{Lattice, Method};
    /// let grid = Lattice::new([50, 50])?;
    /// let route = grid.search().path(0, 2_499)?.expect("nothing is in the way");
    /// assert_eq!((route.cost, route.visited), (98.0, 99)); // straight to the goal
    /// let wide = grid.search().method(Method::BreadthFirst).path(0, 2_499)?.expect("nothing is in the way");
    /// assert_eq!(wide.cost, route.cost);
    /// assert!(wide.visited > 2_000);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn search(&self) -> Search<'_> {
        Search::new(self)
    }
}

/// Vertices from which memory is asked for a path before it is taken: a list that the system only promises would end the process when it
/// is written to.
const LONG: usize = 1 << 20;

/// An empty list with room for a path.
fn room(vertices: usize) -> Result<Vec<usize>> {
    let bytes = vertices as u128 * size_of::<usize>() as u128;
    let refused = || Error::Path { vertices, bytes };
    if vertices >= LONG {
        let held = u64::try_from(bytes).map_err(|_| refused())?;
        if !Runtime::current().can_allocate(Device::Cpu, held)? {
            return Err(refused());
        }
    }
    let mut path = Vec::new();
    path.try_reserve_exact(vertices).map_err(|_| refused())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_memory_has_no_room_for_are_refused() {
        for length in [1 << 40, 1 << 62, isize::MAX as usize] {
            let line = Lattice::new([length]).unwrap();
            let error = line.shortest_path(0, length - 1).unwrap_err();
            let Error::Path { vertices, bytes } = error else { panic!("{error}") };
            assert_eq!((vertices, bytes), (length, 8 * length as u128));
            assert_eq!(line.shortest_path(length - 3, length - 1).unwrap().len(), 3);
            assert_eq!(line.distance(0, length - 1).unwrap(), length - 1);
        }
        let told = Lattice::new([1 << 40]).unwrap().shortest_path(0, 1 << 39).unwrap_err().to_string();
        assert!(told.contains("549755813889 vertices") && told.contains("4398046511112 bytes"), "{told}");
        // Long, and there is room.
        let line = Lattice::new([3 * LONG]).unwrap();
        assert_eq!(line.shortest_path(0, 2 * LONG).unwrap().len(), 2 * LONG + 1);
    }

    #[test]
    fn sizes_that_have_no_vertices_or_too_many_are_refused() {
        assert!(matches!(Lattice::new([]), Err(Error::Empty { .. })));
        assert!(matches!(Lattice::new([4, 0]), Err(Error::Empty { .. })));
        assert!(matches!(Lattice::cube(64, 10), Err(Error::TooLarge { .. })));
        // Its 2^61 vertices could be counted, and its 61 · 2^60 edges could not.
        assert!(matches!(Lattice::cube(61, 2), Err(Error::TooLarge { .. })));
        assert_eq!(Lattice::cube(58, 2).unwrap().edges(), 29 << 58);
        let large = Lattice::cube(2, 1 << 20).unwrap();
        assert_eq!(large.distance(0, large.len() - 1).unwrap(), 2 * ((1 << 20) - 1));
        assert!(matches!(large.steps("a search"), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn a_vertex_outside_is_named() {
        let grid = Lattice::new([3, 3]).unwrap();
        let error = grid.shortest_path(0, 9).unwrap_err();
        assert_eq!(error.to_string(), "vertex 9 is out of range for a lattice of 9 vertices");
    }

    #[test]
    fn rings_of_two_have_one_edge() {
        let pair = Lattice::new([2]).unwrap().periodic();
        assert_eq!(pair.neighbours(0).unwrap(), [1]);
        assert_eq!(pair.neighbours(1).unwrap(), [0]);
        assert_eq!(pair.shortest_path(0, 1).unwrap(), [0, 1]);
        assert_eq!(Lattice::new([1, 1]).unwrap().periodic().neighbours(0).unwrap(), []);
    }
}

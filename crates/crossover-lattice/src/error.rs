//! What can be wrong with a question about a lattice.

/// An error of a lattice, a search or a transform.
///
/// ```
/// use crossover_lattice::{Error, Lattice, Obstacles};
/// let grid = Lattice::new([4, 4])?;
/// let mut obstacles = Obstacles::none(&grid);
/// obstacles.block(5)?;
/// let search = grid.search().obstacles(&obstacles);
/// match search.path(5, 0) {
///     Err(Error::Blocked { vertex }) => assert_eq!(grid.coordinates(vertex)?, [1, 1]),
///     found => panic!("{found:?}"),
/// }
/// let error = search.path(0, 16).unwrap_err();
/// assert_eq!(error.to_string(), "vertex 16 is out of range for a lattice of 16 vertices");
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A lattice needs at least one axis, and no axis may be empty.
    #[error("a lattice of sizes {sizes:?} has no vertices; give at least one axis, each of at least 1")]
    Empty {
        /// The sizes asked for.
        sizes: Vec<usize>,
    },
    /// More vertices than can be counted, or than a search can number.
    #[error("a lattice of sizes {sizes:?} has more than {most} vertices, the most that {what} can number")]
    TooLarge {
        /// The sizes asked for.
        sizes: Vec<usize>,
        /// The largest number that works.
        most: usize,
        /// What was asked for.
        what: &'static str,
    },
    /// A vertex that does not exist.
    #[error("vertex {vertex} is out of range for a lattice of {vertices} vertices")]
    Vertex {
        /// The vertex as given.
        vertex: usize,
        /// How many there are.
        vertices: usize,
    },
    /// Coordinates that do not fit the axes.
    #[error("coordinates {coordinates:?} do not lie in a lattice of sizes {sizes:?}")]
    Coordinates {
        /// The coordinates as given.
        coordinates: Vec<usize>,
        /// The sizes of the axes.
        sizes: Vec<usize>,
    },
    /// A path of more vertices than there is memory for.
    #[error(
        "a path of {vertices} vertices takes {bytes} bytes of memory, more than there is; `distance` has its length without it"
    )]
    Path {
        /// Vertices of the path, both ends included.
        vertices: usize,
        /// Bytes of their numbers.
        bytes: u128,
    },
    /// A search that starts or ends inside an obstacle.
    #[error("vertex {vertex} is blocked; a search starts and ends at free vertices")]
    Blocked {
        /// The vertex.
        vertex: usize,
    },
    /// A field without sources.
    #[error("a distance field needs at least one source")]
    NoSource,
    /// Obstacles, weights or masks made for another lattice.
    #[error("{what} has {given} entries and the lattice {vertices} vertices")]
    Length {
        /// What does not fit.
        what: &'static str,
        /// Its length.
        given: usize,
        /// How long it had to be.
        vertices: usize,
    },
    /// A weight that no path can have.
    #[error(
        "weight {weight:?} of vertex {vertex} is negative, not finite or too large to be added up; use obstacles for what cannot be entered"
    )]
    Weight {
        /// The weight.
        weight: f64,
        /// Its vertex.
        vertex: usize,
    },
    /// A key without elements.
    #[error("the key of an XOR transform needs at least one element")]
    EmptyKey,
    /// A transform whose length is no power of two, or lengths that differ.
    #[error("{op}: {what}")]
    Transform {
        /// The transform.
        op: &'static str,
        /// The lengths, and what they must be.
        what: String,
    },
    /// A range outside the borrowed memory, or ranges that overlap.
    #[error("{op}: {what}")]
    Scratch {
        /// The operation.
        op: &'static str,
        /// The ranges, and the rule they break.
        what: String,
    },
    /// Borrowed memory that could not be given back as it was: somebody else wrote to it.
    #[error("the borrowed {bytes} bytes hash to {after:032x} and not to {before:032x} as before")]
    NotRestored {
        /// Length of the memory.
        bytes: usize,
        /// Hash when it was borrowed.
        before: u128,
        /// Hash after restoring.
        after: u128,
    },
    /// An error of the arrays underneath.
    #[error(transparent)]
    Array(#[from] crossover_array::Error),
}

/// Result of a question about a lattice.
pub type Result<T, E = Error> = std::result::Result<T, E>;

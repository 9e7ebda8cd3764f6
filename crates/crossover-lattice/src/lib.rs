//! Lattices without stored edges.
//!
//! A [`Lattice`] has a size along each axis and neighbours at ±1, with open or periodic boundaries. Nothing is stored: neighbours,
//! distances, and paths where nothing is in the way are arithmetic. With [`Obstacles`] or weights a [`Search`] is made, and a
//! [`Field`] of distances is found by breadth-first search.
//!
//! ```
//! use crossover_lattice::{Lattice, Obstacles};
//! let grid = Lattice::new([100, 100])?;
//! assert_eq!(grid.distance(0, 9_999)?, 198);
//! assert_eq!(grid.shortest_path(0, 9_999)?.len(), 199);
//!
//! let mut wall = Obstacles::none(&grid);
//! for row in 0..99 {
//!     wall.block(grid.vertex(&[row, 50])?)?;
//! }
//! let route = grid.search().obstacles(&wall).path(0, 99)?.expect("there is a way around");
//! assert_eq!(route.cost, 297.0);
//! # Ok::<(), crossover_lattice::Error>(())
//! ```
//!
//! Beside them stand the transforms that live on lattices of bits: [`xor_transform`] with a repeating key,
//! [`walsh_hadamard`] and [`xor_convolve`]; and [`Scratch`], which borrows memory that is in use and gives it back bit for bit.
//!
//! What always holds: equal questions get equal answers, whatever the number of threads. Vertices are numbered row-major, the
//! last coordinate fastest.

mod arrays;
mod batch;
mod catalytic;
mod error;
mod field;
mod lattice;
mod obstacles;
mod relax;
mod search;
mod steps;
mod structure;
mod walsh;
mod weighted;
mod xor;

pub use arrays::{walsh_hadamard_array, xor_array, xor_convolve_array};
pub use catalytic::{Proof, Scratch};
pub use error::{Error, Result};
pub use field::{Field, UNREACHED};
pub use lattice::Lattice;
pub use obstacles::Obstacles;
pub use search::{Method, Route, Search};
pub use structure::Structure;
pub use walsh::{Ring, walsh_hadamard, xor_convolve, xor_convolve_integers};
pub use xor::{Word, xor_in_place, xor_transform, xor_transform_batch};

//! What can be wrong with files of parameters. What is wrong with operands travels in arrays.

use crossover_array::Shape;

/// Why parameters could not be read or written.
///
/// ```
/// use crossover_array::Key;
/// use crossover_nn::{Error, Linear, Module};
/// let mut layer = Linear::new(&Key::new(1), 4, 3);
/// match layer.load("/nowhere/model.safetensors") {
///     Err(Error::Array(error)) => assert!(error.to_string().contains("/nowhere/model.safetensors")),
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter that the file lacks.
    #[error("the file has no `{name}`; it has {there}")]
    Missing {
        /// The parameter.
        name: String,
        /// Some of the names that are there.
        there: String,
    },
    /// Arrays that no parameter has the name of.
    #[error(
        "the file has `{name}`, which is no parameter here ({count} such names); load with `load_some` to leave them out"
    )]
    Unexpected {
        /// The first of them.
        name: String,
        /// How many there are.
        count: usize,
    },
    /// An array of another shape.
    #[error("`{name}` has the shape {found} in the file, and {want} here")]
    Shape {
        /// The parameter.
        name: String,
        /// As in the file.
        found: Shape,
        /// As the layer has it.
        want: Shape,
    },
    /// The file could not be read or written.
    #[error(transparent)]
    Array(#[from] crossover_array::Error),
}

/// Result of reading or writing parameters.
pub type Result<T, E = Error> = std::result::Result<T, E>;

//! One case: operands, parameters, and what Crossover made of them.

use crossover::{Array, Result};
use serde_json::Value;

use crate::dice::Dice;

/// An operation and how its cases are made.
pub struct Entry {
    /// Its name, as the Python side knows it.
    pub name: &'static str,
    /// One random case.
    pub make: fn(&mut Dice) -> Case,
}

/// Operands, parameters and results.
pub struct Case {
    /// The operands; views are written as the elements they show.
    pub operands: Vec<Array>,
    /// Everything else that the operation was given.
    pub parameters: Value,
    /// What came out, or why nothing did.
    pub results: Result<Vec<Array>>,
}

impl Case {
    /// A case with one result.
    pub fn one(operands: impl IntoIterator<Item = Array>, parameters: Value, result: Array) -> Case {
        Case::many(operands, parameters, Ok(vec![result]))
    }

    /// A case with several results, or none.
    pub fn many(
        operands: impl IntoIterator<Item = Array>,
        parameters: Value,
        results: Result<Vec<Array>>,
    ) -> Case {
        Case { operands: operands.into_iter().collect(), parameters, results }
    }
}

/// Entries from names and closures.
#[macro_export]
macro_rules! entries {
    ($($name:literal => $make:expr;)*) => {
        /// The operations of this family.
        pub const ENTRIES: &[$crate::case::Entry] = &[$($crate::case::Entry { name: $name, make: $make },)*];
    };
}

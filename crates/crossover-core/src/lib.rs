//! What Crossover computes, before anybody decides where: element types, shapes and layouts, the table of
//! operations with one body each, graphs with their text form and verifier, and the reference interpreter that
//! defines every result bit.
//!
//! This crate knows no threads, no devices and no plans.

pub mod canonical;
pub mod compose;
pub mod custom;
mod dtype;
mod error;
pub mod graph;
pub mod lane;
mod layout;
pub mod ops;
pub mod philox;
pub mod reference;
pub mod sample;
mod scalar;
mod shape;
mod type_info;

pub use dtype::{DType, DTypeSet, Kind};
pub use error::{Error, Result};
pub use graph::lexer::printable;
pub use graph::{Graph, NodeId};
pub use layout::{Layout, Positions, Span};
pub use scalar::{Element, Number, Scalar};
pub use shape::Shape;
pub use type_info::{FloatInfo, IntInfo};

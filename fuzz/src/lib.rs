//! Fuzz targets, and what the stable driver changes inputs with.

pub mod mutate;
pub mod targets;

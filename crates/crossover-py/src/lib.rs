//! The native half of the Python package `crossover`: a shell around the facade.
//!
//! [`array`] is the class, [`functions`] the namespace; [`values`], [`numpy`] and [`dlpack`] bring foreign values in, [`device`] says where
//! things are computed, [`errors`] turns errors into exceptions. Everything that may take time lets other Python threads run.

mod arguments;
mod array;
mod device;
mod dlpack;
mod dtype;
mod embed;
mod errors;
mod events;
mod functions;
mod held;
mod hrr;
mod index;
mod kernel;
mod lattice;
mod neighbour;
mod numpy;
mod par;
mod profile;
mod runtime;
mod signals;
#[cfg(feature = "tokenizers")]
mod text;
mod values;

use pyo3::prelude::*;

/// The native half of `crossover`; use that.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    device::release_piled_up_work();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<array::PyArray>()?;
    module.add_class::<dtype::PyDType>()?;
    module.add_class::<device::PyDevice>()?;
    module.add_function(wrap_pyfunction!(array::_rebuild, module)?)?;
    for known in crossover::DType::ALL {
        module.add(dtype::name(known), dtype::object(py, known)?)?;
    }
    embed::register(module)?;
    #[cfg(feature = "tokenizers")]
    text::register(module)?;
    lattice::register(module)?;
    par::register(module)?;
    events::register(module)?;
    held::register(module)?;
    hrr::register(module)?;
    kernel::register(module)?;
    neighbour::register(module)?;
    profile::register(module)?;
    runtime::register(module)?;
    functions::register(module)
}

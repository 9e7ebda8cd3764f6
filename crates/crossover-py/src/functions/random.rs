//! Random numbers by explicit keys, for `crossover.random`.

use crossover::{Array, Key, random};
use pyo3::prelude::*;

use crate::{
    arguments::Lengths,
    array::PyArray,
    device::{building, computing},
    dtype::Dt,
    errors::raise,
    values::{Arg, Arr},
};

/// The place in the stream of random numbers that a draw starts at. The same key and shape give the same numbers on every device.
///
/// >>> key = xo.random.Key(7)
/// >>> xo.random.default_rng(key).random(3).shape
/// (3,)
#[pyclass(frozen, name = "Key", module = "crossover.random")]
pub struct PyKey(Key);

#[pymethods]
impl PyKey {
    #[new]
    fn new(seed: u64) -> PyKey {
        PyKey(Key::new(seed))
    }

    /// Several independent keys.
    ///
    /// >>> len(xo.random.Key(7).split(3))
    /// 3
    #[pyo3(signature = (n=2))]
    fn split(&self, n: usize) -> PyResult<Vec<PyKey>> {
        let keys = self.0.split_n(n).map_err(|error| raise(&error))?;
        Ok(keys.into_iter().map(PyKey).collect())
    }

    /// The key that belongs to a number, such as a step of a loop.
    ///
    /// >>> keys = [xo.random.Key(7).fold(step) for step in range(3)]
    /// >>> len(keys)
    /// 3
    fn fold(&self, number: u64) -> PyKey {
        PyKey(self.0.fold(number))
    }
}

macro_rules! draws {
    ($($name:ident $draw:ident)*) => {
        $(
            #[pyfunction]
            fn $name(key: &Bound<'_, PyKey>, shape: Lengths, dtype: Dt) -> PyResult<PyArray> {
                let shape = shape.known()?;
                PyArray::done(building(|| random::$draw(&key.get().0, shape, dtype.0)))
            }
        )*
        fn register_draws(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

draws! {
    random_uniform uniform_dtype
    random_normal normal_dtype
    random_exponential exponential_dtype
}

#[pyfunction]
fn random_integers(
    key: &Bound<'_, PyKey>,
    shape: Lengths,
    low: i128,
    high: i128,
    dtype: Dt,
) -> PyResult<PyArray> {
    let shape = shape.known()?;
    PyArray::done(building(|| random::integers_dtype(&key.get().0, shape, low, high, dtype.0)))
}

#[pyfunction]
fn random_gamma(key: &Bound<'_, PyKey>, shape: Lengths, alpha: Arg, dtype: Dt) -> PyResult<PyArray> {
    let shape = shape.known()?;
    PyArray::done(building(|| random::gamma_dtype(&key.get().0, shape, alpha.operand(), dtype.0)))
}

#[pyfunction]
fn random_poisson(key: &Bound<'_, PyKey>, shape: Lengths, mean: Arg, dtype: Dt) -> PyResult<PyArray> {
    let shape = shape.known()?;
    PyArray::done(building(|| random::poisson_dtype(&key.get().0, shape, mean.operand(), dtype.0)))
}

#[pyfunction]
fn random_bernoulli(key: &Bound<'_, PyKey>, shape: Lengths, probability: Arg) -> PyResult<PyArray> {
    let shape = shape.known()?;
    PyArray::done(building(|| random::bernoulli(&key.get().0, shape, probability.operand())))
}

#[pyfunction]
fn random_permutation(key: &Bound<'_, PyKey>, n: usize) -> PyResult<PyArray> {
    PyArray::done(building(|| random::permutation(&key.get().0, n)))
}

#[pyfunction]
fn random_shuffle(key: &Bound<'_, PyKey>, x: Arr, axis: i64) -> PyResult<PyArray> {
    let (py, key) = (key.py(), key.get().0);
    let shuffled: Array = computing(py, || random::shuffle(&key, &x.0, axis));
    PyArray::done(shuffled)
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyKey>()?;
    register_draws(module)?;
    module.add_function(wrap_pyfunction!(random_integers, module)?)?;
    module.add_function(wrap_pyfunction!(random_gamma, module)?)?;
    module.add_function(wrap_pyfunction!(random_poisson, module)?)?;
    module.add_function(wrap_pyfunction!(random_bernoulli, module)?)?;
    module.add_function(wrap_pyfunction!(random_permutation, module)?)?;
    module.add_function(wrap_pyfunction!(random_shuffle, module)?)
}

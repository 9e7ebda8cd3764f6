//! A Python function over many arrays in as few plans as possible, for `crossover.par` and `crossover.batch`.

use std::sync::Arc;

use crossover::{
    Array,
    par::{self, Pieces, Policy, Progress},
};
use parking_lot::Mutex;
use pyo3::{
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};

use crate::{
    array::PyArray,
    device::{PyCarried, computing},
    errors::raise,
    numpy,
    values::{Arr, array_from, checked},
};

/// The arrays of an item, and which item it is; unknown while the function is traced.
#[derive(Clone)]
struct Item {
    arrays: Vec<Array>,
    number: Option<usize>,
}

impl Pieces for Item {
    fn pieces(&self) -> Vec<&Array> {
        self.arrays.iter().collect()
    }

    fn from_pieces(arrays: Vec<Array>) -> Option<Item> {
        Some(Item { arrays, number: None })
    }
}

/// Calls a function for items, each a tuple of arrays: results or exceptions in their order, `None` for items that were skipped, and what was
/// done. `progress` is called with the number of items that have ended and that of all, and raises nothing.
#[pyfunction]
#[pyo3(signature = (items, function, max_batch_size=None, to_host=false, fails_fast=false, retries=0, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords of one method of Python's")]
fn gpu_map<'py>(
    py: Python<'py>,
    items: Vec<Vec<Bound<'py, PyAny>>>,
    function: Py<PyAny>,
    max_batch_size: Option<usize>,
    to_host: bool,
    fails_fast: bool,
    retries: u32,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyDict>)> {
    let count = items.len();
    // NumPy's memory is read where it is: all of it is stacked before this returns.
    let mut lent: Vec<Array> = Vec::new();
    let mut array = |object: &Bound<'py, PyAny>| -> PyResult<Array> {
        if object.cast::<PyArray>().is_err()
            && let Some(array) = numpy::borrowed(object)?
        {
            lent.push(array.clone());
            return Ok(array);
        }
        array_from(object, None)
    };
    let items = items
        .iter()
        .enumerate()
        .map(|(number, item)| {
            let arrays = item.iter().map(&mut array).collect::<PyResult<_>>()?;
            Ok(Item { arrays, number: Some(number) })
        })
        .collect::<PyResult<Vec<Item>>>()?;
    let raised: Arc<Mutex<Vec<Option<PyErr>>>> = Arc::new(Mutex::new((0..count).map(|_| None).collect()));
    let call = {
        let raised = raised.clone();
        move |item: Item| {
            let Item { arrays, number } = item;
            let called = Python::attach(|py| -> PyResult<Array> {
                let arguments: Vec<PyArray> = arrays.into_iter().map(PyArray).collect();
                let result = function.bind(py).call1(PyTuple::new(py, arguments)?)?;
                checked(result.extract::<Arr>()?.0)
            });
            called.unwrap_or_else(|error| {
                let what = error.to_string();
                if let Some(number) = number {
                    raised.lock()[number] = Some(error);
                }
                Array::failing("gpu_map", what)
            })
        }
    };
    let (results, report) = computing(py, move || {
        let mut map = par::par_iter(items).gpu_map(call);
        if let Some(most) = max_batch_size {
            map = map.max_batch_size(most);
        }
        if to_host {
            map = map.to_host();
        }
        if fails_fast {
            map = map.policy(Policy::FailFast);
        }
        if let Some(watch) = progress {
            map = map.progress(move |Progress { done, total }| {
                Python::attach(|py| {
                    if let Err(error) = watch.bind(py).call1((done, total)) {
                        error.write_unraisable(py, None);
                    }
                });
            });
        }
        map.retries(retries).run()
    });
    // A function that gives its argument back, or keeps it, would show NumPy's memory from now on.
    computing(py, || lent.iter().try_for_each(Array::detach)).map_err(|error| raise(&error))?;
    let found = PyList::empty(py);
    for (number, result) in results.into_iter().enumerate() {
        match result {
            Ok(array) => found.append(PyArray(array))?,
            Err(_) if report.skipped.binary_search(&number).is_ok() => found.append(py.None())?,
            Err(error) => {
                let told = raised.lock().get_mut(number).and_then(Option::take);
                found.append(told.unwrap_or_else(|| raise(&error)).into_value(py))?;
            }
        }
    }
    let told = PyDict::new(py);
    told.set_item("items", report.telemetry.items)?;
    told.set_item("succeeded", report.telemetry.succeeded)?;
    told.set_item("failed", report.telemetry.failed)?;
    told.set_item("skipped", report.telemetry.skipped)?;
    told.set_item("retries", report.telemetry.retries)?;
    told.set_item("kinds", report.kinds)?;
    told.set_item("groups", report.groups)?;
    told.set_item("largest_group", report.largest_group)?;
    told.set_item("batched", report.batched)?;
    told.set_item("single", report.single)?;
    told.set_item("reasons", report.reasons)?;
    told.set_item("seconds", report.telemetry.wall.as_secs_f64())?;
    told.set_item("throughput", report.telemetry.throughput())?;
    told.set_item("p50", report.telemetry.p50.as_secs_f64())?;
    told.set_item("p95", report.telemetry.p95.as_secs_f64())?;
    told.set_item("p99", report.telemetry.p99.as_secs_f64())?;
    Ok((found, told))
}

/// Adds what is here to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyCarried>()?;
    module.add_function(wrap_pyfunction!(gpu_map, module)?)
}

//! Lattices, for `crossover.lattice`.
#![allow(unsafe_code)]

use std::sync::Arc;

use crossover::{
    Array, DType, Device,
    lattice::{self, Error, Lattice, Method, Obstacles, Search},
};
use pyo3::{
    exceptions::{PyIndexError, PyMemoryError, PyValueError},
    prelude::*,
    types::PyDict,
};

use crate::{
    array::PyArray,
    device::{building, computing, told},
    errors::{raise, value_error},
    numpy,
    values::Arr,
};

fn wrong(error: &Error) -> PyErr {
    match error {
        Error::Array(error) => raise(error),
        Error::Path { .. } => PyMemoryError::new_err(error.to_string()),
        Error::Vertex { .. } => PyIndexError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// The number of a vertex. A negative one is told apart from what is no number.
struct Vertex(usize);

impl<'a, 'py> FromPyObject<'a, 'py> for Vertex {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Vertex> {
        let number: i64 = object.extract()?;
        let wrong = || {
            PyIndexError::new_err(format!("vertex {number} is out of range; vertices are numbered from 0"))
        };
        usize::try_from(number).map(Vertex).map_err(|_| wrong())
    }
}

/// A size or a coordinate.
struct Length(usize);

impl<'a, 'py> FromPyObject<'a, 'py> for Length {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Length> {
        let number: i64 = object.extract()?;
        let wrong =
            || value_error(format!("{number} is negative; sizes and coordinates of lattices are not"));
        usize::try_from(number).map(Length).map_err(|_| wrong())
    }
}

fn lengths(list: Vec<Length>) -> Vec<usize> {
    list.into_iter().map(|length| length.0).collect()
}

fn pairs(list: Vec<(Vertex, Vertex)>) -> Vec<(usize, usize)> {
    list.into_iter().map(|(from, to)| (from.0, to.0)).collect()
}

/// A field as an array: what cannot be reached is the largest u32, which as i32 is -1.
fn signed(field: lattice::Field, sizes: &[usize]) -> Array {
    let signed: Vec<i32> = field.as_slice().iter().map(|&distance| distance as i32).collect();
    Array::from_vec(signed, sizes)
}

/// What is in the way, what entering vertices costs, and how to search.
struct Way {
    obstacles: Option<Obstacles>,
    weights: Option<Vec<f64>>,
    method: Method,
}

impl Way {
    fn search<'a>(&'a self, lattice: &'a Lattice) -> Search<'a> {
        let mut search = lattice.search().method(self.method);
        if let Some(obstacles) = &self.obstacles {
            search = search.obstacles(obstacles);
        }
        if let Some(weights) = &self.weights {
            search = search.weights(weights);
        }
        search
    }
}

/// An n-dimensional lattice without stored edges.
///
/// >>> grid = xo.lattice.Lattice([3, 4])
/// >>> grid.coordinates(7), grid.distance(0, 11), grid.shortest_path(0, 2)
/// ([1, 3], 5, [0, 1, 2])
#[pyclass(frozen, name = "Lattice", module = "crossover.lattice")]
pub struct PyLattice(Lattice);

impl PyLattice {
    fn obstacles(&self, py: Python<'_>, mask: Option<Arr>) -> PyResult<Option<Obstacles>> {
        let Some(Arr(mask)) = mask else { return Ok(None) };
        let mask =
            computing(py, || mask.astype(DType::Bool).to_vec::<bool>()).map_err(|error| raise(&error))?;
        Obstacles::from_mask(&self.0, &mask).map(Some).map_err(|error| wrong(&error))
    }

    fn way(
        &self,
        py: Python<'_>,
        obstacles: Option<Arr>,
        weights: Option<Arr>,
        method: &str,
    ) -> PyResult<Way> {
        let method = match method {
            "a_star" => Method::AStar,
            "breadth_first" => Method::BreadthFirst,
            other => {
                return Err(value_error(format!("method {other:?} is neither 'a_star' nor 'breadth_first'")));
            }
        };
        let weights = match weights {
            Some(Arr(weights)) => Some(
                computing(py, || weights.astype(DType::F64).to_vec::<f64>())
                    .map_err(|error| raise(&error))?,
            ),
            None => None,
        };
        Ok(Way { obstacles: self.obstacles(py, obstacles)?, weights, method })
    }
}

#[pymethods]
impl PyLattice {
    #[new]
    #[pyo3(signature = (sizes, *, periodic=false))]
    fn new(sizes: Vec<Length>, periodic: bool) -> PyResult<PyLattice> {
        let made = Lattice::new(lengths(sizes)).map_err(|error| wrong(&error))?;
        Ok(PyLattice(if periodic { made.periodic() } else { made }))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        let periodic = if self.0.is_periodic() { ", periodic=True" } else { "" };
        format!("Lattice({:?}{periodic})", self.0.sizes())
    }

    /// Sizes of the axes.
    #[getter]
    fn sizes(&self) -> Vec<usize> {
        self.0.sizes().to_vec()
    }

    /// Whether the ends of the axes are joined.
    #[getter]
    fn periodic(&self) -> bool {
        self.0.is_periodic()
    }

    /// The number of the vertex with these coordinates.
    fn vertex(&self, coordinates: Vec<Length>) -> PyResult<usize> {
        self.0.vertex(&lengths(coordinates)).map_err(|error| wrong(&error))
    }

    /// The coordinates of a vertex.
    fn coordinates(&self, vertex: Vertex) -> PyResult<Vec<usize>> {
        self.0.coordinates(vertex.0).map_err(|error| wrong(&error))
    }

    /// The neighbours of a vertex.
    fn neighbours(&self, vertex: Vertex) -> PyResult<Vec<usize>> {
        self.0.neighbours(vertex.0).map_err(|error| wrong(&error))
    }

    /// Steps from one vertex to another when nothing is in the way.
    fn distance(&self, start: Vertex, goal: Vertex) -> PyResult<usize> {
        self.0.distance(start.0, goal.0).map_err(|error| wrong(&error))
    }

    /// The vertices of a shortest path, or `None` where there is no way.
    #[pyo3(signature = (start, goal, *, obstacles=None, weights=None, method="a_star"))]
    fn shortest_path(
        &self,
        py: Python<'_>,
        start: Vertex,
        goal: Vertex,
        obstacles: Option<Arr>,
        weights: Option<Arr>,
        method: &str,
    ) -> PyResult<Option<Vec<usize>>> {
        let way = self.way(py, obstacles, weights, method)?;
        if way.obstacles.is_none() && way.weights.is_none() {
            return self.0.shortest_path(start.0, goal.0).map(Some).map_err(|error| wrong(&error));
        }
        let found =
            computing(py, || way.search(&self.0).path(start.0, goal.0)).map_err(|error| wrong(&error))?;
        Ok(found.map(|route| route.vertices))
    }

    /// The vertices of a shortest path and what it costs: steps, or the sum of the weights of the vertices that are entered; `None` where
    /// there is no way.
    #[pyo3(signature = (start, goal, *, obstacles=None, weights=None, method="a_star"))]
    fn route(
        &self,
        py: Python<'_>,
        start: Vertex,
        goal: Vertex,
        obstacles: Option<Arr>,
        weights: Option<Arr>,
        method: &str,
    ) -> PyResult<Option<(Vec<usize>, f64)>> {
        let way = self.way(py, obstacles, weights, method)?;
        let found =
            computing(py, || way.search(&self.0).path(start.0, goal.0)).map_err(|error| wrong(&error))?;
        Ok(found.map(|route| (route.vertices, route.cost)))
    }

    /// Shortest paths of many pairs, shared by threads; `None` where there is no way.
    #[pyo3(signature = (pairs, *, obstacles=None, weights=None, method="a_star"))]
    fn shortest_paths(
        &self,
        py: Python<'_>,
        pairs: Vec<(Vertex, Vertex)>,
        obstacles: Option<Arr>,
        weights: Option<Arr>,
        method: &str,
    ) -> PyResult<Vec<Option<Vec<usize>>>> {
        let (way, pairs) = (self.way(py, obstacles, weights, method)?, self::pairs(pairs));
        let found = computing(py, || {
            if way.obstacles.is_none() && way.weights.is_none() {
                return Ok(self.0.shortest_paths(&pairs)?.into_iter().map(Some).collect());
            }
            let routes = way.search(&self.0).paths(&pairs)?;
            Ok(routes.into_iter().map(|route| route.map(|route| route.vertices)).collect())
        });
        found.map_err(|error| wrong(&error))
    }

    /// Steps between many pairs when nothing is in the way.
    fn distances(&self, py: Python<'_>, pairs: Vec<(Vertex, Vertex)>) -> PyResult<Vec<usize>> {
        let pairs = self::pairs(pairs);
        computing(py, || self.0.distances(&pairs)).map_err(|error| wrong(&error))
    }

    /// The distance field of each source by itself, shared by threads.
    #[pyo3(signature = (sources, *, obstacles=None))]
    fn distance_fields(
        &self,
        py: Python<'_>,
        sources: Vec<Vertex>,
        obstacles: Option<Arr>,
    ) -> PyResult<Vec<PyArray>> {
        let obstacles = self.obstacles(py, obstacles)?;
        let sources: Vec<usize> = sources.into_iter().map(|source| source.0).collect();
        let fields = computing(py, || -> lattice::Result<Vec<Array>> {
            let fields = self.0.distance_fields(&sources, obstacles.as_ref())?;
            Ok(fields.into_iter().map(|field| signed(field, self.0.sizes())).collect())
        });
        fields.map_err(|error| wrong(&error))?.into_iter().map(PyArray::done).collect()
    }

    /// Distances of all vertices from the nearest source, `int32` of the lattice's shape; -1 where there is no way.
    ///
    /// They are searched by the CPU whatever `with crossover.device(…)` says, which is faster around obstacles. With `relax=True` they are an
    /// array like any other, computed where the block says: a formula where nothing is in the way, and else rounds of a kernel.
    #[pyo3(signature = (sources, *, obstacles=None, relax=false))]
    fn distance_field(
        &self,
        py: Python<'_>,
        sources: Vec<Vertex>,
        obstacles: Option<Arr>,
        relax: bool,
    ) -> PyResult<PyArray> {
        let obstacles = self.obstacles(py, obstacles)?;
        let sources: Vec<usize> = sources.into_iter().map(|source| source.0).collect();
        let field = computing(py, || -> lattice::Result<Array> {
            if relax {
                return self.0.distance_field_array(&sources, obstacles.as_ref());
            }
            Ok(signed(self.0.distance_field(&sources, obstacles.as_ref())?, self.0.sizes()))
        });
        PyArray::done(field.map_err(|error| wrong(&error))?)
    }

    /// Vertices, edges, diameter and so on, all exact.
    fn analyze_structure<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.0.analyze_structure();
        let out = PyDict::new(py);
        out.set_item("vertices", found.vertices)?;
        out.set_item("edges", found.edges)?;
        out.set_item("sizes", found.sizes)?;
        out.set_item("dimensions", found.dimensions)?;
        out.set_item("periodic", found.periodic)?;
        out.set_item("connected", found.connected)?;
        out.set_item("diameter", found.diameter)?;
        out.set_item("average_degree", found.average_degree)?;
        out.set_item("clustering", found.clustering)?;
        out.set_item("density", found.density)?;
        Ok(out)
    }
}

/// Elements XOR a key that repeats along the last axis.
#[pyfunction]
fn lattice_xor(py: Python<'_>, data: Arr, key: Arr) -> PyResult<PyArray> {
    let elsewhere = matches!(told(), Some(Device::Cuda(_)));
    if let Some(found) = computing(py, || (!elsewhere).then(|| at_home(&data.0, &key.0)).flatten()) {
        return PyArray::done(found.map_err(|error| wrong(&error))?);
    }
    let out = building(|| lattice::xor_array(&data.0, &key.0)).map_err(|error| wrong(&error))?;
    PyArray::done(out)
}

/// The same of integers that are in the host's memory, at once and without a repeated key; `None` where they are not, or
/// the lazy form says what is wrong with them.
fn at_home(data: &Array, key: &Array) -> Option<lattice::Result<Array>> {
    let dims = data.shape().dims();
    let (&length, &[period]) = (dims.last()?, key.shape().dims()) else { return None };
    let here = |array: &Array| array.device() == Device::Cpu;
    let is_plain = data.dtype() == key.dtype() && data.dtype().is_int();
    if !is_plain || !here(data) || !here(key) || length == 0 || period == 0 {
        return None;
    }
    let (data, key) = (data.host_view().ok()?, key.host_view().ok()?);
    let (bytes, key) = (data.bytes().ok()??, key.bytes().ok()??);
    let row = length * data.dtype().size();
    let made = if bytes.len() == row {
        lattice::xor_transform(bytes, key)
    } else {
        // Each row begins with the key.
        let mut out = bytes.to_vec();
        out.chunks_mut(row).try_for_each(|row| lattice::xor_in_place(row, key)).map(|()| out)
    };
    let made = match made {
        Ok(made) => Arc::new(made),
        Err(error) => return Some(Err(error)),
    };
    let (dtype, shape) = (data.dtype(), data.shape().dims());
    let whole = Array::borrow_bytes(made.clone(), dtype, shape.to_vec());
    Some(Ok(whole.unwrap_or_else(|| Array::from_bytes(&made, dtype, shape, None, 0))))
}

/// The bytes of a NumPy array XOR those of a key that repeats, where they lie.
#[pyfunction]
fn lattice_xor_in_place(py: Python<'_>, memory: &Bound<'_, PyAny>, key: Vec<u8>) -> PyResult<()> {
    let gaps = || value_error("xor_in_place: the memory has gaps; contiguous memory is needed".to_string());
    let (address, bytes) = numpy::place(memory)?.ok_or_else(gaps)?;
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: `crossover.lattice` gives an array of bytes over memory that may be written and that it holds until this returns. Whoever writes to
    // it meanwhile from another thread does what NumPy forbids too.
    let data = unsafe { std::slice::from_raw_parts_mut(address as *mut u8, bytes) };
    computing(py, || lattice::xor_in_place(data, &key)).map_err(|error| wrong(&error))
}

/// Convolution of integers over XOR, exactly.
#[pyfunction]
fn lattice_convolve_integers(py: Python<'_>, a: Arr, b: Arr) -> PyResult<PyArray> {
    let list = |array: &Array| -> PyResult<Vec<i64>> {
        if !array.dtype().is_int() || array.ndim() != 1 {
            let (dtype, shape) = (array.dtype(), array.shape());
            return Err(value_error(format!(
                "xor_convolve_integers: {dtype}{shape}; integers along one axis are needed"
            )));
        }
        if array.dtype() == DType::U64 {
            let values = computing(py, || array.to_vec::<u64>()).map_err(|error| raise(&error))?;
            let large = |_| value_error("xor_convolve_integers: a number exceeds 63 bits".to_string());
            return values.into_iter().map(|value| i64::try_from(value).map_err(large)).collect();
        }
        computing(py, || array.astype(DType::I64).to_vec::<i64>()).map_err(|error| raise(&error))
    };
    let (a, b) = (list(&a.0)?, list(&b.0)?);
    let out = computing(py, || lattice::xor_convolve_integers(&a, &b)).map_err(|error| wrong(&error))?;
    let length = out.len();
    PyArray::done(Array::from_vec(out, [length]))
}

/// The Walsh-Hadamard transform along the last axis.
#[pyfunction]
fn lattice_walsh(data: Arr) -> PyResult<PyArray> {
    let out = building(|| lattice::walsh_hadamard_array(&data.0)).map_err(|error| wrong(&error))?;
    PyArray::done(out)
}

/// Convolution over XOR along the last axis.
#[pyfunction]
fn lattice_convolve(a: Arr, b: Arr) -> PyResult<PyArray> {
    let out = building(|| lattice::xor_convolve_array(&a.0, &b.0)).map_err(|error| wrong(&error))?;
    PyArray::done(out)
}

/// Adds what is here to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyLattice>()?;
    module.add_function(wrap_pyfunction!(lattice_xor, module)?)?;
    module.add_function(wrap_pyfunction!(lattice_xor_in_place, module)?)?;
    module.add_function(wrap_pyfunction!(lattice_convolve_integers, module)?)?;
    module.add_function(wrap_pyfunction!(lattice_walsh, module)?)?;
    module.add_function(wrap_pyfunction!(lattice_convolve, module)?)
}

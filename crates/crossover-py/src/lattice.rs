//! Lattices, for `crossover.lattice`.

use crossover::{
    Array, DType,
    lattice::{self, Error, Lattice, Method, Obstacles, Search},
};
use pyo3::{
    exceptions::{PyIndexError, PyValueError},
    prelude::*,
    types::PyDict,
};

use crate::{
    array::PyArray,
    device::{building, computing},
    errors::{raise, value_error},
    values::Arr,
};

fn wrong(error: &Error) -> PyErr {
    match error {
        Error::Array(error) => raise(error),
        Error::Vertex { .. } => PyIndexError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// An n-dimensional lattice without stored edges.
#[pyclass(frozen, name = "Lattice", module = "crossover.lattice")]
pub struct PyLattice(Lattice);

impl PyLattice {
    fn obstacles(&self, py: Python<'_>, mask: Option<Arr>) -> PyResult<Option<Obstacles>> {
        let Some(Arr(mask)) = mask else { return Ok(None) };
        let mask =
            computing(py, || mask.astype(DType::Bool).to_vec::<bool>()).map_err(|error| raise(&error))?;
        Obstacles::from_mask(&self.0, &mask).map(Some).map_err(|error| wrong(&error))
    }
}

#[pymethods]
impl PyLattice {
    #[new]
    #[pyo3(signature = (sizes, *, periodic=false))]
    fn new(sizes: Vec<usize>, periodic: bool) -> PyResult<PyLattice> {
        let made = Lattice::new(sizes).map_err(|error| wrong(&error))?;
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
    fn vertex(&self, coordinates: Vec<usize>) -> PyResult<usize> {
        self.0.vertex(&coordinates).map_err(|error| wrong(&error))
    }

    /// The coordinates of a vertex.
    fn coordinates(&self, vertex: usize) -> PyResult<Vec<usize>> {
        self.0.coordinates(vertex).map_err(|error| wrong(&error))
    }

    /// The neighbours of a vertex.
    fn neighbours(&self, vertex: usize) -> PyResult<Vec<usize>> {
        self.0.neighbours(vertex).map_err(|error| wrong(&error))
    }

    /// Steps from one vertex to another when nothing is in the way.
    fn distance(&self, start: usize, goal: usize) -> PyResult<usize> {
        self.0.distance(start, goal).map_err(|error| wrong(&error))
    }

    /// The vertices of a shortest path, or `None` where there is no way.
    #[pyo3(signature = (start, goal, *, obstacles=None, weights=None, method="a_star"))]
    fn shortest_path(
        &self,
        py: Python<'_>,
        start: usize,
        goal: usize,
        obstacles: Option<Arr>,
        weights: Option<Arr>,
        method: &str,
    ) -> PyResult<Option<Vec<usize>>> {
        if obstacles.is_none() && weights.is_none() {
            return self.0.shortest_path(start, goal).map(Some).map_err(|error| wrong(&error));
        }
        let obstacles = self.obstacles(py, obstacles)?;
        let weights = match weights {
            Some(Arr(weights)) => Some(
                computing(py, || weights.astype(DType::F64).to_vec::<f64>())
                    .map_err(|error| raise(&error))?,
            ),
            None => None,
        };
        let method = match method {
            "a_star" => Method::AStar,
            "breadth_first" => Method::BreadthFirst,
            other => {
                return Err(value_error(format!("method {other:?} is neither 'a_star' nor 'breadth_first'")));
            }
        };
        let mut search: Search<'_> = self.0.search().method(method);
        if let Some(obstacles) = &obstacles {
            search = search.obstacles(obstacles);
        }
        if let Some(weights) = &weights {
            search = search.weights(weights);
        }
        let found = computing(py, || search.path(start, goal)).map_err(|error| wrong(&error))?;
        Ok(found.map(|route| route.vertices))
    }

    /// Shortest paths of many pairs, when nothing is in the way.
    fn shortest_paths(&self, py: Python<'_>, pairs: Vec<(usize, usize)>) -> PyResult<Vec<Vec<usize>>> {
        computing(py, || self.0.shortest_paths(&pairs)).map_err(|error| wrong(&error))
    }

    /// Distances of all vertices from the nearest source, `int32` of the lattice's shape; -1 where there is no way.
    #[pyo3(signature = (sources, *, obstacles=None, relax=false))]
    fn distance_field(
        &self,
        py: Python<'_>,
        sources: Vec<usize>,
        obstacles: Option<Arr>,
        relax: bool,
    ) -> PyResult<PyArray> {
        let obstacles = self.obstacles(py, obstacles)?;
        let field = computing(py, || -> lattice::Result<Array> {
            if relax {
                return self.0.distance_field_array(&sources, obstacles.as_ref());
            }
            let found = self.0.distance_field(&sources, obstacles.as_ref())?;
            // What cannot be reached is the largest u32, which as i32 is -1.
            let signed: Vec<i32> = found.as_slice().iter().map(|&distance| distance as i32).collect();
            Ok(Array::from_vec(signed, self.0.sizes()))
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
fn lattice_xor(data: Arr, key: Arr) -> PyResult<PyArray> {
    let out = building(|| lattice::xor_array(&data.0, &key.0)).map_err(|error| wrong(&error))?;
    PyArray::done(out)
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
    module.add_function(wrap_pyfunction!(lattice_walsh, module)?)?;
    module.add_function(wrap_pyfunction!(lattice_convolve, module)?)
}

//! Linear algebra: products here go into the main namespace too, the rest into `crossover.linalg`, which names the results.

use crossover::{DType, MatrixNorm, einsum as contract, linalg};
use pyo3::{
    prelude::*,
    types::{PyString, PyTuple},
};

use crate::{
    arguments::{Arrays, Axis, tuple},
    array::PyArray,
    device::{building, computing},
    dtype::Dt,
    errors::{raise, value_error},
    values::{Arg, Arr},
};

/// Product of matrices; leading axes broadcast, arrays with one axis are vectors.
///
/// >>> xo.matmul(xo.asarray([[1, 2], [3, 4]]), xo.asarray([10, 1]))
/// array([12, 34])
#[pyfunction]
#[pyo3(signature = (x1, x2, /))]
fn matmul(x1: Arr, x2: Arr) -> PyResult<PyArray> {
    PyArray::done(building(|| x1.0.matmul(&x2.0)))
}

/// NumPy's product: sums over the last axis of `x1` and the one before the last of `x2`.
///
/// >>> xo.dot(xo.asarray([1.0, 2.0]), xo.asarray([3.0, 4.0]))
/// array(11.)
#[pyfunction]
#[pyo3(signature = (x1, x2, /))]
fn dot(x1: Arr, x2: Arr) -> PyResult<PyArray> {
    PyArray::done(building(|| {
        if x1.0.ndim() == 0 || x2.0.ndim() == 0 { x1.0.multiply(&x2.0) } else { x1.0.dot(&x2.0) }
    }))
}

/// The last two axes exchanged; a view.
///
/// >>> xo.matrix_transpose(xo.asarray([[1, 2], [3, 4]]))
/// array([[1, 3],
///        [2, 4]])
#[pyfunction]
#[pyo3(signature = (x, /))]
fn matrix_transpose(x: Arr) -> PyResult<PyArray> {
    if x.0.ndim() < 2 {
        return Err(value_error(format!("a matrix has at least two axes; the shape is {}", x.0.shape())));
    }
    PyArray::done(building(|| x.0.swap_axes(-2, -1)))
}

/// Sums of products over axes: the last `axes` of `x1` with the first of `x2`, or pairs of axes.
///
/// >>> xo.tensordot(xo.ones((2, 3)), xo.ones((3, 4)), axes=1).shape
/// (2, 4)
#[pyfunction]
#[pyo3(signature = (x1, x2, /, axes=None), text_signature = "(x1, x2, /, axes=2)")]
fn tensordot(x1: Arr, x2: Arr, axes: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
    let (x1, x2) = (x1.0, x2.0);
    let count = axes.map_or(Ok(2), |axes| axes.extract::<usize>());
    let (left, right): (Vec<i64>, Vec<i64>) = match (count, axes) {
        (Ok(count), _) => {
            let rank = x1.ndim();
            if count > rank || count > x2.ndim() {
                return Err(value_error(format!(
                    "{count} axes are more than {} and {} have",
                    x1.shape(),
                    x2.shape()
                )));
            }
            ((rank - count..rank).map(|axis| axis as i64).collect(), (0..count as i64).collect())
        }
        (Err(error), None) => return Err(error),
        (Err(_), Some(axes)) => {
            let (left, right): (Axis, Axis) = axes.extract()?;
            let listed = |axis: Axis| match axis {
                Axis::All => Vec::new(),
                Axis::Some(axes) => axes,
            };
            (listed(left), listed(right))
        }
    };
    PyArray::done(building(|| {
        if !left.is_empty() {
            return x1.tensordot(&x2, left, right);
        }
        // No axes: every element with every other.
        let shape: Vec<usize> = x1.shape().iter().chain(x2.shape().iter()).copied().collect();
        let (column, row) = (x1.reshape([-1, 1]), x2.reshape([1, -1]));
        column.multiply(&row).reshape(shape)
    }))
}

/// Sum of products of the conjugated `x1` with `x2` along an axis.
///
/// >>> xo.vecdot(xo.asarray([[1, 2], [3, 4]]), xo.asarray([10, 1]))
/// array([12, 34])
#[pyfunction]
#[pyo3(signature = (x1, x2, /, *, axis=-1))]
fn vecdot(x1: Arr, x2: Arr, axis: i64) -> PyResult<PyArray> {
    PyArray::done(building(|| x1.0.vecdot(&x2.0, axis)))
}

/// Einstein's sums.
///
/// >>> xo.einsum("ij,j->i", xo.asarray([[1, 2], [3, 4]]), xo.asarray([10, 1]))
/// array([12, 34])
#[pyfunction]
#[pyo3(signature = (subscripts, /, *operands))]
fn einsum(subscripts: &str, operands: Arrays) -> PyResult<PyArray> {
    PyArray::done(building(|| contract(subscripts, &operands.all())))
}

macro_rules! plain {
    ($($name:ident)*) => {
        $(
            #[pyfunction]
            #[pyo3(signature = (x, /))]
            fn $name(x: Arr) -> PyResult<PyArray> {
                PyArray::done(building(|| linalg::$name(&x.0)))
            }
        )*
        fn register_plain(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

plain! { cholesky cholesky_upper det inv svdvals eigvalsh eigvals }

macro_rules! decompositions {
    ($($name:ident |$x:ident| $body:expr;)*) => {
        $(
            #[pyfunction]
            #[pyo3(signature = (x, /))]
            fn $name<'py>(py: Python<'py>, x: Arr) -> PyResult<Bound<'py, PyTuple>> {
                let $x = x.0;
                tuple(py, building(|| $body))
            }
        )*
        fn register_decompositions(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

decompositions! {
    slogdet |x| { let (sign, log) = linalg::slogdet(&x); vec![sign, log] };
    qr |x| { let (q, r) = linalg::qr(&x); vec![q, r] };
    qr_complete |x| { let (q, r) = linalg::qr_complete(&x); vec![q, r] };
    svd |x| { let (u, s, v) = linalg::svd(&x); vec![u, s, v] };
    svd_full |x| { let (u, s, v) = linalg::svd_full(&x); vec![u, s, v] };
    eigh |x| { let (values, vectors) = linalg::eigh(&x); vec![values, vectors] };
    eig |x| { let (values, vectors) = linalg::eig(&x); vec![values, vectors] };
}

#[pyfunction]
fn solve(x1: Arr, x2: Arr) -> PyResult<PyArray> {
    PyArray::done(building(|| linalg::solve(&x1.0, &x2.0)))
}

#[pyfunction]
fn outer(x1: Arr, x2: Arr) -> PyResult<PyArray> {
    PyArray::done(building(|| linalg::outer(&x1.0, &x2.0)))
}

#[pyfunction]
fn cross(x1: Arr, x2: Arr, axis: i64) -> PyResult<PyArray> {
    PyArray::done(building(|| linalg::cross(&x1.0, &x2.0, axis)))
}

#[pyfunction]
fn diagonal(x: Arr, offset: i64) -> PyResult<PyArray> {
    PyArray::done(building(|| linalg::diagonal(&x.0, offset)))
}

#[pyfunction]
fn trace(x: Arr, offset: i64, dtype: Option<Dt>) -> PyResult<PyArray> {
    PyArray::done(building(|| match dtype {
        Some(Dt(dtype)) => linalg::trace(&x.0.astype(dtype), offset).astype(dtype),
        None => linalg::trace(&x.0, offset),
    }))
}

#[pyfunction]
fn matrix_power(x: Arr, n: i64) -> PyResult<PyArray> {
    PyArray::done(building(|| linalg::matrix_power(&x.0, n)))
}

/// One tolerance for all matrices, from a number or an array with one element.
fn tolerance(py: Python<'_>, given: Option<Arg>) -> PyResult<Option<f64>> {
    let Some(given) = given else { return Ok(None) };
    let array = given.into_array().astype(DType::F64);
    computing(py, || array.item::<f64>()).map(Some).map_err(|error| raise(&error))
}

#[pyfunction]
fn matrix_rank(py: Python<'_>, x: Arr, rtol: Option<Arg>) -> PyResult<PyArray> {
    let rtol = tolerance(py, rtol)?;
    PyArray::done(building(|| linalg::matrix_rank(&x.0, rtol)))
}

#[pyfunction]
fn pinv(py: Python<'_>, x: Arr, rtol: Option<Arg>) -> PyResult<PyArray> {
    let rtol = tolerance(py, rtol)?;
    PyArray::done(building(|| linalg::pinv(&x.0, rtol)))
}

#[pyfunction]
fn lstsq<'py>(py: Python<'py>, a: Arr, b: Arr, rtol: Option<f64>) -> PyResult<Bound<'py, PyTuple>> {
    let found = building(|| linalg::lstsq(&a.0, &b.0, rtol));
    tuple(py, vec![found.solution, found.residuals, found.rank, found.singular_values])
}

#[pyfunction]
fn vector_norm(x: Arr, axis: Axis, keepdims: bool, ord: f64) -> PyResult<PyArray> {
    PyArray::done(building(|| {
        let (x, axes) = axis.reduce(&x.0, keepdims);
        x.vector_norm_with(axes, ord)
    }))
}

#[pyfunction]
fn matrix_norm(x: Arr, keepdims: bool, ord: &Bound<'_, PyAny>) -> PyResult<PyArray> {
    let order = if let Ok(name) = ord.cast::<PyString>() {
        match name.to_cow()?.as_ref() {
            "fro" => MatrixNorm::Frobenius,
            "nuc" => MatrixNorm::Nuclear,
            other => {
                return Err(value_error(format!("ord {other:?} is neither 'fro' nor 'nuc' nor a number")));
            }
        }
    } else {
        match ord.extract::<f64>()? {
            2.0 => MatrixNorm::Spectral,
            -2.0 => MatrixNorm::LeastSingular,
            1.0 => MatrixNorm::One,
            -1.0 => MatrixNorm::LeastOne,
            f64::INFINITY => MatrixNorm::Infinity,
            f64::NEG_INFINITY => MatrixNorm::LeastInfinity,
            other => {
                return Err(value_error(format!(
                    "ord {other} is not one of 1, -1, 2, -2, inf, -inf, 'fro', 'nuc'"
                )));
            }
        }
    };
    PyArray::done(building(|| x.0.matrix_norm(order, keepdims)))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    register_plain(module)?;
    register_decompositions(module)?;
    module.add_function(wrap_pyfunction!(matmul, module)?)?;
    module.add_function(wrap_pyfunction!(dot, module)?)?;
    module.add_function(wrap_pyfunction!(matrix_transpose, module)?)?;
    module.add_function(wrap_pyfunction!(tensordot, module)?)?;
    module.add_function(wrap_pyfunction!(vecdot, module)?)?;
    module.add_function(wrap_pyfunction!(einsum, module)?)?;
    module.add_function(wrap_pyfunction!(solve, module)?)?;
    module.add_function(wrap_pyfunction!(outer, module)?)?;
    module.add_function(wrap_pyfunction!(cross, module)?)?;
    module.add_function(wrap_pyfunction!(diagonal, module)?)?;
    module.add_function(wrap_pyfunction!(trace, module)?)?;
    module.add_function(wrap_pyfunction!(matrix_power, module)?)?;
    module.add_function(wrap_pyfunction!(matrix_rank, module)?)?;
    module.add_function(wrap_pyfunction!(pinv, module)?)?;
    module.add_function(wrap_pyfunction!(lstsq, module)?)?;
    module.add_function(wrap_pyfunction!(vector_norm, module)?)?;
    module.add_function(wrap_pyfunction!(matrix_norm, module)?)
}

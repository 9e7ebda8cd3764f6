//! Embeddings, for `crossover.embed`.

use std::path::PathBuf;

use crossover::{
    Array, Device,
    embed::{self, EmbedConfig, Embedder, Error, Layout, Precision, Rotary, Sinusoid, Table},
};
use pyo3::{
    exceptions::{PyIndexError, PyMemoryError, PyOSError, PyValueError},
    prelude::*,
    types::PyDict,
};

use crate::{
    array::PyArray,
    device::{Dev, building, computing},
    dtype::{Dt, PyDType, object},
    errors::{raise, value_error},
    values::Arr,
};

pub(crate) fn wrong(error: &Error) -> PyErr {
    match error {
        Error::Array(error) => raise(error),
        Error::Token { .. } => PyIndexError::new_err(error.to_string()),
        Error::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        Error::Io { .. } => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub(crate) fn done(result: embed::Result<Array>) -> PyResult<PyArray> {
    PyArray::done(result.map_err(|error| wrong(&error))?)
}

fn layout(name: &str) -> PyResult<Layout> {
    Layout::named(name)
        .ok_or_else(|| value_error(format!("layout {name:?} is none of interleaved, concatenated, flipped")))
}

fn precision(name: &str) -> PyResult<Precision> {
    Precision::named(name)
        .ok_or_else(|| value_error(format!("precision {name:?} is none of f32, mixed_f16, mixed_bf16")))
}

/// A sinusoidal encoding of positions.
///
/// >>> xo.embed.Sinusoid(4).encode(xo.asarray([0]))
/// array([[0., 1., 0., 1.]], dtype=float32)
#[pyclass(frozen, name = "Sinusoid", module = "crossover.embed")]
pub struct PySinusoid(Sinusoid);

#[pymethods]
impl PySinusoid {
    #[new]
    #[pyo3(signature = (dimensions, *, layout="interleaved", base=10000.0, scale=1.0, phase=0.0, offset=0, shift=0.0))]
    fn new(
        dimensions: usize,
        layout: &str,
        base: f64,
        scale: f64,
        phase: f64,
        offset: i64,
        shift: f64,
    ) -> PyResult<PySinusoid> {
        let placed = self::layout(layout)?;
        let made = Sinusoid::new(dimensions).and_then(|made| {
            made.layout(placed).offset(offset).base(base)?.scale(scale)?.phase(phase)?.shift(shift)
        });
        made.map(PySinusoid).map_err(|error| wrong(&error))
    }

    /// The frequencies in radians per position.
    #[getter]
    fn frequencies(&self) -> Vec<f64> {
        self.0.frequencies()
    }

    /// The encoding of positions: one more axis.
    #[pyo3(signature = (positions, *, dtype=None))]
    fn encode(&self, positions: Arr, dtype: Option<Dt>) -> PyResult<PyArray> {
        let dtype = dtype.map_or(crossover::DType::F32, |dtype| dtype.0);
        done(building(|| self.0.encode(&positions.0, dtype)))
    }

    /// The encoding of a grid: that of the row beside that of the column.
    #[pyo3(signature = (rows, columns, *, dtype=None))]
    fn grid(&self, rows: usize, columns: usize, dtype: Option<Dt>) -> PyResult<PyArray> {
        let dtype = dtype.map_or(crossover::DType::F32, |dtype| dtype.0);
        done(building(|| self.0.grid(rows, columns, dtype)))
    }

    /// Turns pairs of elements along the last axis by angles that grow with the position.
    #[pyo3(signature = (x, positions, *, pairs="interleaved"))]
    fn rotate(&self, x: Arr, positions: Arr, pairs: &str) -> PyResult<PyArray> {
        let pairs = match pairs {
            "interleaved" => Rotary::Neighbours,
            "rotate_half" => Rotary::Halves,
            other => {
                return Err(value_error(format!("pairs {other:?} is neither interleaved nor rotate_half")));
            }
        };
        done(building(|| self.0.rotate(&x.0, &positions.0, pairs)))
    }
}

/// Tokens and positions to vectors.
///
/// >>> xo.embed.Embedder(1000, 64)(xo.asarray([[1, 2, 3]])).shape
/// (1, 3, 64)
#[pyclass(frozen, name = "Embedder", module = "crossover.embed")]
pub struct PyEmbedder(pub(crate) Embedder);

impl PyEmbedder {
    fn made(result: embed::Result<Embedder>) -> PyResult<PyEmbedder> {
        result.map(PyEmbedder).map_err(|error| wrong(&error))
    }
}

#[pymethods]
impl PyEmbedder {
    #[new]
    #[pyo3(signature = (
        vocabulary, dimensions, *, table=None, layout="interleaved", base=10000.0, scale=1.0, phase=0.0, shift=0.0, temperature=1.0,
        relative=None, precision="f32", device=None, fusion=true, seed=0
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        vocabulary: usize,
        dimensions: usize,
        table: Option<Arr>,
        layout: &str,
        base: f64,
        scale: f64,
        phase: f64,
        shift: f64,
        temperature: f64,
        relative: Option<usize>,
        precision: &str,
        device: Option<Dev>,
        fusion: bool,
        seed: u64,
    ) -> PyResult<PyEmbedder> {
        let config =
            EmbedConfig::new(vocabulary, dimensions).layout(self::layout(layout)?).temperature(temperature);
        let config = config.precision(self::precision(precision)?).fusion(fusion).seed(seed);
        let mut config = config.device(device.map_or(Device::Auto, |device| device.0));
        (config.base, config.scale, config.phase, config.shift, config.relative) =
            (base, scale, phase, shift, relative);
        PyEmbedder::made(computing(py, || match table {
            Some(table) => Embedder::from_table(config, &table.0),
            None => Embedder::new(config),
        }))
    }

    /// The table.
    #[getter]
    fn table(&self) -> PyArray {
        PyArray(self.0.table().clone())
    }

    /// The embedding of tokens at positions `position`, `position + 1`, … along the last axis.
    #[pyo3(signature = (tokens, position=0))]
    fn embed(&self, py: Python<'_>, tokens: Arr, position: i64) -> PyResult<PyArray> {
        done(computing(py, || self.0.embed_at(&tokens.0, position)))
    }

    #[pyo3(signature = (tokens, position=0))]
    fn __call__(&self, py: Python<'_>, tokens: Arr, position: i64) -> PyResult<PyArray> {
        self.embed(py, tokens, position)
    }

    /// Only the rows of tokens, without positions.
    fn lookup(&self, py: Python<'_>, tokens: Arr) -> PyResult<PyArray> {
        done(computing(py, || self.0.lookup(&tokens.0)))
    }

    /// The embedder with a vocabulary of another size.
    fn with_vocabulary(&self, py: Python<'_>, vocabulary: usize) -> PyResult<PyEmbedder> {
        PyEmbedder::made(computing(py, || self.0.with_vocabulary(vocabulary)))
    }

    /// The embedder with another number of columns.
    fn with_dimensions(&self, py: Python<'_>, dimensions: usize) -> PyResult<PyEmbedder> {
        PyEmbedder::made(computing(py, || self.0.with_dimensions(dimensions)))
    }

    /// The embedder in another precision.
    fn with_precision(&self, py: Python<'_>, precision: &str) -> PyResult<PyEmbedder> {
        let precision = self::precision(precision)?;
        PyEmbedder::made(computing(py, || self.0.with_precision(precision)))
    }

    /// The rows of the relative term, one per distance from -window to window; `None` without one.
    #[getter]
    fn relative(&self) -> Option<PyArray> {
        self.0.relative().cloned().map(PyArray)
    }

    /// The embedder with other rows of the relative term, of which there are 2·window + 1.
    fn with_relative(&self, py: Python<'_>, rows: Arr) -> PyResult<PyEmbedder> {
        let mut made = self.0.clone();
        PyEmbedder::made(computing(py, || made.set_relative(&rows.0).map(|()| made)))
    }

    /// The embedder of a vocabulary that cuts texts elsewhere: row `i` is the mean of the old rows in `parts[i]`.
    fn recut(&self, py: Python<'_>, parts: Vec<Vec<i64>>) -> PyResult<PyEmbedder> {
        PyEmbedder::made(computing(py, || self.0.recut(&parts)))
    }

    /// All settings, by the names that the constructor has for them.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let config = self.0.config();
        let out = PyDict::new(py);
        out.set_item("vocabulary", config.vocabulary)?;
        out.set_item("dimensions", config.dimensions)?;
        out.set_item("layout", config.layout.name())?;
        out.set_item("base", config.base)?;
        out.set_item("scale", config.scale)?;
        out.set_item("phase", config.phase)?;
        out.set_item("shift", config.shift)?;
        out.set_item("temperature", config.temperature)?;
        out.set_item("relative", config.relative)?;
        out.set_item("precision", config.precision.name())?;
        out.set_item("device", config.device.to_string())?;
        out.set_item("fusion", config.fusion)?;
        out.set_item("seed", config.seed)?;
        Ok(out)
    }

    /// What the embedder is, and which devices there are for it.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = computing(py, || self.0.info());
        let out = PyDict::new(py);
        out.set_item("vocabulary", info.vocabulary)?;
        out.set_item("dimensions", info.dimensions)?;
        out.set_item("precision", info.precision.name())?;
        out.set_item("table_bytes", info.table_bytes)?;
        out.set_item("device", info.device.to_string())?;
        out.set_item("gpus", info.gpus)?;
        out.set_item("missing", info.missing)?;
        out.set_item("fusion", info.fusion)?;
        Ok(out)
    }

    /// Times embeddings of random tokens.
    fn benchmark<'py>(
        &self,
        py: Python<'py>,
        batch: usize,
        length: usize,
        iterations: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let timed =
            computing(py, || self.0.benchmark(batch, length, iterations)).map_err(|error| wrong(&error))?;
        let out = PyDict::new(py);
        out.set_item("median", timed.median.as_secs_f64())?;
        out.set_item("fastest", timed.fastest.as_secs_f64())?;
        out.set_item("tokens_per_second", timed.tokens_per_second)?;
        out.set_item("bytes_per_second", timed.bytes_per_second)?;
        Ok(out)
    }

    /// How many sequences a batch may have within so many bytes, which precision is recommended for them, and why.
    fn advise<'py>(&self, py: Python<'py>, memory: u64, length: usize) -> PyResult<Bound<'py, PyDict>> {
        let advice = computing(py, || self.0.advise(memory, length)).map_err(|error| wrong(&error))?;
        let others = PyDict::new(py);
        for (precision, batch) in advice.others {
            others.set_item(precision.name(), batch)?;
        }
        let out = PyDict::new(py);
        out.set_item("batch", advice.batch)?;
        out.set_item("precision", advice.precision.name())?;
        out.set_item("peak", advice.peak)?;
        out.set_item("fixed", advice.fixed)?;
        out.set_item("per_sequence", advice.per_sequence)?;
        out.set_item("others", others)?;
        out.set_item("reason", advice.reason)?;
        out.set_item("recommended", advice.recommended.0.name())?;
        out.set_item("recommended_batch", advice.recommended.1)?;
        out.set_item("why", advice.why)?;
        Ok(out)
    }

    /// Number of tokens.
    #[getter]
    fn vocabulary(&self) -> usize {
        self.0.config().vocabulary
    }

    /// Number of columns.
    #[getter]
    fn dimensions(&self) -> usize {
        self.0.config().dimensions
    }

    /// Saves the embedder to a safetensors file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        computing(py, || self.0.save(path)).map_err(|error| wrong(&error))
    }

    /// Loads what `save` has saved.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<PyEmbedder> {
        PyEmbedder::made(computing(py, || Embedder::load(path)))
    }
}

/// Rows in a file, with checksums and a cache of those in use.
///
/// >>> import os, tempfile
/// >>> path = os.path.join(tempfile.mkdtemp(), "rows")
/// >>> xo.embed.Table.write(path, [xo.reshape(xo.arange(6.0), (3, 2))])
/// >>> xo.embed.Table(path).lookup(xo.asarray([2, 0]))
/// array([[4., 5.],
///        [0., 1.]])
#[pyclass(frozen, name = "Table", module = "crossover.embed")]
pub struct PyTable(Table);

#[pymethods]
impl PyTable {
    #[new]
    #[pyo3(signature = (path, hot_rows=65536))]
    #[allow(unsafe_code)]
    fn new(path: PathBuf, hot_rows: usize) -> PyResult<PyTable> {
        // SAFETY: the documentation of `crossover.embed.Table` asks the caller not to change the file while it is open, as for every file that
        // Python maps.
        let table = unsafe { Table::open(path, hot_rows) };
        table.map(PyTable).map_err(|error| wrong(&error))
    }

    /// Writes a table: arrays of equal width, one after another.
    #[staticmethod]
    fn write(py: Python<'_>, path: PathBuf, parts: Vec<Arr>) -> PyResult<()> {
        computing(py, || Table::write(path, parts.into_iter().map(|part| part.0)))
            .map_err(|error| wrong(&error))
    }

    fn __len__(&self) -> usize {
        self.0.rows()
    }

    /// Dtype of the elements.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        object(py, self.0.dtype())
    }

    /// Length of a row.
    #[getter]
    fn columns(&self) -> usize {
        self.0.columns()
    }

    /// The rows of tokens.
    fn lookup(&self, py: Python<'_>, tokens: Arr) -> PyResult<PyArray> {
        done(computing(py, || self.0.lookup(&tokens.0)))
    }

    /// Verifies all blocks that nobody has touched yet.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        computing(py, || self.0.verify()).map_err(|error| wrong(&error))
    }

    /// What the table has been used for.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.0.stats();
        let out = PyDict::new(py);
        out.set_item("hits", stats.hits)?;
        out.set_item("misses", stats.misses)?;
        out.set_item("evictions", stats.evictions)?;
        out.set_item("verified", stats.verified)?;
        out.set_item("served", stats.served)?;
        out.set_item("hit_rate", stats.hit_rate())?;
        Ok(out)
    }
}

/// Adds what is here to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySinusoid>()?;
    module.add_class::<PyEmbedder>()?;
    module.add_class::<PyTable>()
}

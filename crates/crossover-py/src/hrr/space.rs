//! A space of vectors and its operations.

use crossover::{
    Array, DType,
    hrr::{self, Match, Model, Space},
};
use pyo3::{exceptions::PyValueError, prelude::*};

use super::{
    failed,
    found::{PyExact, PyFactors},
};
use crate::{
    array::PyArray,
    device::{building, computing},
    dtype::{Dt, PyDType, object},
    values::Arr,
};

/// A model, the number of elements of its vectors, their dtype, and a seed for names.
///
/// >>> space = xo.hrr.Space("hrr", d=1024)
/// >>> pair = space.bind(space.named("colour"), space.named("red"))
/// >>> bool(space.similarity(space.unbind(pair, space.named("colour")), space.named("red")) > 0.5)
/// True
#[pyclass(frozen, name = "Space", module = "crossover.hrr")]
pub struct PySpace(pub Space);

impl PySpace {
    /// The result of an operation in this space.
    fn made(&self, body: impl FnOnce(&Space) -> hrr::Result<Array>) -> PyResult<PyArray> {
        PyArray::done(building(|| body(&self.0)).map_err(failed)?)
    }
}

#[pymethods]
impl PySpace {
    #[new]
    #[pyo3(signature = (model="hrr", d=1024, dtype=None, seed=0))]
    fn new(model: &str, d: usize, dtype: Option<Dt>, seed: u64) -> PyResult<PySpace> {
        let model: Model = model.parse().map_err(PyValueError::new_err)?;
        let dtype: DType = dtype.map_or(model.default_dtype(), |dtype| dtype.0);
        let space = Space::new(model, d).and_then(|space| space.with_dtype(dtype)).map_err(failed)?;
        Ok(PySpace(space.with_seed(seed)))
    }

    /// The model's name.
    #[getter]
    fn model(&self) -> &'static str {
        self.0.model().name()
    }

    /// Elements of a vector.
    #[getter]
    fn d(&self) -> usize {
        self.0.d()
    }

    /// Numbers of a vector along the last axis of an array: d, and 2·d for "fhrr" in bfloat16, real parts first.
    #[getter]
    fn width(&self) -> usize {
        self.0.width()
    }

    /// The type of the elements.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        object(py, self.0.dtype())
    }

    /// The seed of names.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    /// The vector of a name, or of each of several names.
    fn named(&self, names: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        match names.extract::<String>() {
            Ok(name) => self.made(|space| space.named(&name)),
            Err(_) => {
                let names: Vec<String> = names.extract()?;
                self.made(|space| space.named_all(&names))
            }
        }
    }

    /// `n` random vectors of a seed, one per row.
    #[pyo3(signature = (n, seed=0))]
    fn random(&self, n: usize, seed: u64) -> PyResult<PyArray> {
        self.made(|space| Ok(space.random(&crossover::Key::new(seed), n)))
    }

    /// The vector that binding with leaves every vector as it is.
    fn identity(&self) -> PyResult<PyArray> {
        self.made(|space| Ok(space.identity()))
    }

    /// Binds two vectors into one that resembles neither.
    fn bind(&self, a: Arr, b: Arr) -> PyResult<PyArray> {
        self.made(|space| space.bind(&a.0, &b.0))
    }

    /// What was bound with `key` to give `bound`, with noise.
    fn unbind(&self, bound: Arr, key: Arr) -> PyResult<PyArray> {
        self.made(|space| space.unbind(&bound.0, &key.0))
    }

    /// `bind`, then `normalise`, in one kernel.
    fn bind_normalised(&self, a: Arr, b: Arr) -> PyResult<PyArray> {
        self.made(|space| space.bind_normalised(&a.0, &b.0))
    }

    /// The vector that undoes a binding exactly, the places where there is none, and by how much noise can grow.
    ///
    /// >>> space = xo.hrr.Space("hrr", d=64)
    /// >>> exact = space.inverse_exact(space.unitary(space.named("key")))
    /// >>> exact.zeros, round(exact.gain, 3)
    /// ([], 1.0)
    /// >>> len(space.inverse_exact(xo.ones(64, dtype=xo.float32)).zeros)
    /// 32
    fn inverse_exact(&self, py: Python<'_>, a: Arr) -> PyResult<PyExact> {
        Ok(PyExact(computing(py, || self.0.inverse_exact(&a.0)).map_err(failed)?))
    }

    /// What was bound with `key`, exactly, the places where that cannot be known, and by how much noise can grow.
    fn unbind_exact(&self, py: Python<'_>, bound: Arr, key: Arr) -> PyResult<PyExact> {
        Ok(PyExact(computing(py, || self.0.unbind_exact(&bound.0, &key.0)).map_err(failed)?))
    }

    /// Binds any number of vectors.
    fn multi_bind(&self, vectors: Vec<Arr>) -> PyResult<PyArray> {
        self.made(|space| space.multi_bind(&vectors.iter().map(|v| &v.0).collect::<Vec<_>>()))
    }

    /// The vector that undoes a binding, approximately.
    fn inverse(&self, a: Arr) -> PyResult<PyArray> {
        self.made(|space| space.inverse(&a.0))
    }

    /// The nearest vector whose inverse is exact.
    fn unitary(&self, a: Arr) -> PyResult<PyArray> {
        self.made(|space| space.unitary(&a.0))
    }

    /// A vector bound with itself so many times; fractions where a root exists.
    fn power(&self, a: Arr, exponent: f64) -> PyResult<PyArray> {
        self.made(|space| space.power(&a.0, exponent))
    }

    /// Moves every element to another place, by a fixed random permutation, so many times.
    #[pyo3(signature = (a, times=1))]
    fn permute(&self, a: Arr, times: i64) -> PyResult<PyArray> {
        self.made(|space| space.permute(&a.0, times))
    }

    /// The superposition of the rows, with weights or without.
    #[pyo3(signature = (vectors, weights=None))]
    fn superpose(&self, vectors: Arr, weights: Option<Arr>) -> PyResult<PyArray> {
        self.made(|space| match &weights {
            Some(weights) => space.superpose_weighted(&vectors.0, &weights.0),
            None => space.superpose(&vectors.0),
        })
    }

    /// Rows bound pairwise and superposed.
    fn bind_superpose(&self, keys: Arr, values: Arr) -> PyResult<PyArray> {
        self.made(|space| space.bind_superpose(&keys.0, &values.0))
    }

    /// A record of pairs of a role and a filler, superposed; ask it with `unbind`.
    ///
    /// >>> space = xo.hrr.Space("hrr", d=1024)
    /// >>> roles, fillers = space.named(["colour", "shape"]), space.named(["red", "round"])
    /// >>> ball = space.record(list(zip(roles, fillers)))
    /// >>> space.cleanup(space.unbind(ball, roles[0]), fillers)[0][0]
    /// 0
    fn record(&self, pairs: Vec<(Arr, Arr)>) -> PyResult<PyArray> {
        let pairs: Vec<(&Array, &Array)> = pairs.iter().map(|(role, filler)| (&role.0, &filler.0)).collect();
        self.made(|space| space.record(&pairs))
    }

    /// Vectors as superpositions should be.
    fn normalise(&self, a: Arr) -> PyResult<PyArray> {
        self.made(|space| space.normalise(&a.0))
    }

    /// How alike vectors are: 1 equal, 0 unrelated, -1 opposite.
    fn similarity(&self, a: Arr, b: Arr) -> PyResult<PyArray> {
        self.made(|space| space.similarity(&a.0, &b.0))
    }

    /// The similarity of every query with every item, as a matrix.
    fn similarities(&self, queries: Arr, items: Arr) -> PyResult<PyArray> {
        self.made(|space| space.similarities(&queries.0, &items.0))
    }

    /// A sequence: rows permuted by their place and superposed. Rows (.., k, d) make (.., d).
    fn sequence(&self, vectors: Arr) -> PyResult<PyArray> {
        self.made(|space| space.sequence(&vectors.0))
    }

    /// What stands at a place of a sequence, with noise.
    fn sequence_item(&self, sequence: Arr, place: usize) -> PyResult<PyArray> {
        self.made(|space| space.sequence_item(&sequence.0, place))
    }

    /// One n-gram: the rows bound together, each permuted by its distance from the end. Rows (.., n, d) make (.., d).
    fn ngram(&self, vectors: Arr) -> PyResult<PyArray> {
        self.made(|space| space.ngram(&vectors.0))
    }

    /// All n-grams of the rows, superposed. Rows (.., count, d) make (.., d).
    fn ngrams(&self, vectors: Arr, n: usize) -> PyResult<PyArray> {
        self.made(|space| space.ngrams(&vectors.0, n))
    }

    /// For each query the row of the nearest item and how alike they are, or None below the threshold.
    #[pyo3(signature = (queries, items, threshold=0.0))]
    fn cleanup(
        &self,
        py: Python<'_>,
        queries: Arr,
        items: Arr,
        threshold: f64,
    ) -> PyResult<Vec<Option<(usize, f64)>>> {
        let found = computing(py, || self.0.cleanup(&queries.0, &items.0, threshold)).map_err(failed)?;
        Ok(found.into_iter().map(|m| m.map(|m| (m.index, m.similarity))).collect())
    }

    /// The rows of the nearest items, one for each query, as an array; -1 where a query is NaN. Lazy, and computed where the vectors are.
    ///
    /// >>> space = xo.hrr.Space("hrr", d=512)
    /// >>> colours = space.named(["red", "green", "blue"])
    /// >>> space.nearest(space.named(["blue", "red"]), colours)
    /// array([2, 0])
    fn nearest(&self, queries: Arr, items: Arr) -> PyResult<PyArray> {
        self.made(|space| space.nearest(&queries.0, &items.0))
    }

    /// For each query the `k` nearest items, nearest first, as (row, similarity); the first is the answer of `cleanup`.
    ///
    /// >>> space = xo.hrr.Space("bsc", d=1000)
    /// >>> letters = space.named(["a", "b", "c", "d"])
    /// >>> mixed = space.superpose(space.named(["b", "d", "x"]))
    /// >>> sorted(row for row, _ in space.top_k(mixed, letters, 2)[0])
    /// [1, 3]
    fn top_k(&self, py: Python<'_>, queries: Arr, items: Arr, k: usize) -> PyResult<Vec<Vec<(usize, f64)>>> {
        let found = computing(py, || self.0.top_k(&queries.0, &items.0, k)).map_err(failed)?;
        let pairs = |found: Vec<Match>| found.into_iter().map(|m| (m.index, m.similarity)).collect();
        Ok(found.into_iter().map(pairs).collect())
    }

    /// Vectors in a quarter to half of the memory, to be kept: numbers rounded to bfloat16, or to float16, those of "fhrr" in rows of 2·d.
    #[pyo3(signature = (vectors, dtype=None))]
    fn compact(&self, vectors: Arr, dtype: Option<Dt>) -> PyResult<PyArray> {
        let dtype = dtype.map_or(DType::BF16, |dtype| dtype.0);
        self.made(|space| space.compact_as(&vectors.0, dtype))
    }

    /// Vectors of the space from compact ones.
    ///
    /// >>> space = xo.hrr.Space("fhrr", d=512)
    /// >>> words = space.named(["one", "two"])
    /// >>> kept = space.compact(words)
    /// >>> kept.dtype, kept.shape
    /// (crossover.bfloat16, (2, 1024))
    /// >>> bool(xo.all(space.similarity(space.expand(kept), words) > 0.9999))
    /// True
    fn expand(&self, compact: Arr) -> PyResult<PyArray> {
        self.made(|space| space.expand(&compact.0))
    }

    /// Which items, one of each codebook, were bound: for each of the vectors what was found, in a list.
    ///
    /// >>> space = xo.hrr.Space("fhrr", d=1000)
    /// >>> books = [space.random(10, seed=i) for i in range(3)]
    /// >>> found = space.factor(space.multi_bind([books[0][4], books[1][9], books[2][0]]), books)
    /// >>> found[0].is_found, found[0].indices
    /// (True, [4, 9, 0])
    #[pyo3(signature = (bound, codebooks, rounds=100))]
    fn factor(
        &self,
        py: Python<'_>,
        bound: Arr,
        codebooks: Vec<Arr>,
        rounds: usize,
    ) -> PyResult<Vec<PyFactors>> {
        let books: Vec<&Array> = codebooks.iter().map(|book| &book.0).collect();
        let found = computing(py, || self.0.factor(&bound.0, &books, rounds)).map_err(failed)?;
        Ok(found.into_iter().map(PyFactors).collect())
    }

    /// The probability that the right one of `items` items is found in a superposition of `pairs` pairs.
    fn retrieval_probability(&self, pairs: usize, items: usize) -> f64 {
        self.0.retrieval_probability(pairs, items)
    }

    /// The most pairs that can be superposed so that retrieval succeeds with this probability.
    #[pyo3(signature = (items, wanted=0.99))]
    fn capacity(&self, items: usize, wanted: f64) -> usize {
        self.0.capacity(items, wanted)
    }

    fn __repr__(&self) -> String {
        format!(
            "Space({:?}, d={}, dtype={}, seed={})",
            self.0.model().name(),
            self.0.d(),
            self.0.dtype(),
            self.0.seed()
        )
    }
}

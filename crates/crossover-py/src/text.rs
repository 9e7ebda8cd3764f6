//! Tokenizers, for `crossover.embed`.

use std::path::PathBuf;

use crossover::embed::{Padding, TextEmbedder, Tokenizer, Tokens};
use pyo3::prelude::*;

use crate::{
    array::PyArray,
    device::computing,
    embed::{PyEmbedder, wrong},
    errors::value_error,
    values::Arr,
};

fn pair(tokens: Tokens) -> (PyArray, PyArray) {
    (PyArray(tokens.tokens), PyArray(tokens.mask))
}

/// Texts to tokens and back, by `tokenizer.json`.
///
/// >>> tokenizer = xo.embed.Tokenizer.train(["one fish", "two fish"], 280)
/// >>> tokenizer.decode(tokenizer.encode("red fish"))
/// 'red fish'
#[pyclass(frozen, name = "Tokenizer", module = "crossover.embed")]
pub struct PyTokenizer(Tokenizer);

impl PyTokenizer {
    fn made(result: crossover::embed::Result<Tokenizer>) -> PyResult<PyTokenizer> {
        result.map(PyTokenizer).map_err(|error| wrong(&error))
    }
}

#[pymethods]
impl PyTokenizer {
    /// The tokenizer of a file, or of the file `tokenizer.json` in a folder.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<PyTokenizer> {
        PyTokenizer::made(computing(py, || Tokenizer::load(path)))
    }

    /// The tokenizer that a text describes.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<PyTokenizer> {
        PyTokenizer::made(computing(py, || Tokenizer::from_json(text)))
    }

    /// A tokenizer of pairs of bytes that occur often in texts.
    #[staticmethod]
    #[pyo3(signature = (texts, vocabulary, special=Vec::new()))]
    fn train(
        py: Python<'_>,
        texts: Vec<String>,
        vocabulary: usize,
        special: Vec<String>,
    ) -> PyResult<PyTokenizer> {
        let special: Vec<&str> = special.iter().map(String::as_str).collect();
        PyTokenizer::made(computing(py, || Tokenizer::train(&texts, vocabulary, &special)))
    }

    /// The same tokenizer, which makes texts of a batch equally long with a token: as long as the longest, or as `to`.
    #[pyo3(signature = (token, to=None))]
    fn with_padding(&self, token: &str, to: Option<usize>) -> PyResult<PyTokenizer> {
        let padding = to.map_or(Padding::Longest, Padding::To);
        PyTokenizer::made(self.0.clone().padding(padding, token))
    }

    /// The same tokenizer, which keeps at most so many tokens of a text.
    fn with_truncation(&self, length: usize) -> PyResult<PyTokenizer> {
        PyTokenizer::made(self.0.clone().truncation(length))
    }

    /// The same tokenizer without padding and truncation.
    fn whole(&self) -> PyTokenizer {
        PyTokenizer(self.0.clone().whole())
    }

    /// Tokens are below this.
    #[getter]
    fn vocabulary(&self) -> usize {
        self.0.vocabulary()
    }

    /// The special tokens and their numbers.
    #[getter]
    fn special(&self) -> Vec<(String, i64)> {
        self.0.special()
    }

    /// The number of a token, or `None`.
    fn id(&self, token: &str) -> Option<i64> {
        self.0.id(token)
    }

    /// The token of a number, or `None`.
    fn token(&self, id: i64) -> Option<String> {
        self.0.token(id)
    }

    /// The tokens of a text, as a list.
    fn encode(&self, py: Python<'_>, text: &str) -> PyResult<Vec<i64>> {
        computing(py, || self.0.encode(text)).map_err(|error| wrong(&error))
    }

    /// The tokens of several texts, and which of them do not pad: arrays of one row per text.
    fn encode_batch(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<(PyArray, PyArray)> {
        computing(py, || self.0.encode_batch(&texts)).map(pair).map_err(|error| wrong(&error))
    }

    /// The text of tokens, a list or an array of one axis; or the texts of its rows, where it has two.
    #[pyo3(signature = (tokens, *, special=false))]
    fn decode<'py>(&self, py: Python<'py>, tokens: Arr, special: bool) -> PyResult<Bound<'py, PyAny>> {
        if tokens.0.ndim() == 2 && !special {
            let texts = computing(py, || self.0.decode_batch(&tokens.0)).map_err(|error| wrong(&error))?;
            return Ok(texts.into_pyobject(py)?.into_any());
        }
        if tokens.0.ndim() != 1 || !tokens.0.dtype().is_int() {
            let (dtype, shape) = (tokens.0.dtype(), tokens.0.shape());
            return Err(value_error(format!("{dtype}{shape}: whole numbers with one axis are needed")));
        }
        let text = computing(py, || {
            let list = tokens.0.astype(crossover::DType::I64).to_vec::<i64>()?;
            if special { self.0.decode_all(&list) } else { self.0.decode(&list) }
        });
        Ok(text.map_err(|error| wrong(&error))?.into_pyobject(py)?.into_any())
    }

    /// The text that describes the tokenizer.
    fn to_json(&self) -> PyResult<String> {
        self.0.to_json().map_err(|error| wrong(&error))
    }

    /// Saves the description to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        computing(py, || self.0.save(path)).map_err(|error| wrong(&error))
    }
}

/// A tokenizer and the embedder of its tokens, saved as one folder.
///
/// >>> tokenizer = xo.embed.Tokenizer.train(["one fish", "two fish"], 280, special=["<pad>"]).with_padding("<pad>")
/// >>> texts = xo.embed.TextEmbedder(tokenizer, xo.embed.Embedder(tokenizer.vocabulary, 64))
/// >>> vectors, mask = texts.embed(["one", "two fish"])
/// >>> vectors.shape[::2], mask.dtype
/// ((2, 64), crossover.bool)
#[pyclass(frozen, name = "TextEmbedder", module = "crossover.embed")]
pub struct PyTextEmbedder(TextEmbedder);

impl PyTextEmbedder {
    fn made(result: crossover::embed::Result<TextEmbedder>) -> PyResult<PyTextEmbedder> {
        result.map(PyTextEmbedder).map_err(|error| wrong(&error))
    }
}

#[pymethods]
impl PyTextEmbedder {
    #[new]
    fn new(tokenizer: &Bound<'_, PyTokenizer>, embedder: &Bound<'_, PyEmbedder>) -> PyResult<PyTextEmbedder> {
        PyTextEmbedder::made(TextEmbedder::new(tokenizer.get().0.clone(), embedder.get().0.clone()))
    }

    /// The tokenizer.
    #[getter]
    fn tokenizer(&self) -> PyTokenizer {
        PyTokenizer(self.0.tokenizer().clone())
    }

    /// The embedder.
    #[getter]
    fn embedder(&self) -> PyEmbedder {
        PyEmbedder(self.0.embedder().clone())
    }

    /// The vectors of texts, and which of them do not pad.
    fn embed(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<(PyArray, PyArray)> {
        let (vectors, tokens) = computing(py, || self.0.embed(&texts)).map_err(|error| wrong(&error))?;
        Ok((PyArray::done(vectors)?, PyArray(tokens.mask)))
    }

    fn __call__(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<(PyArray, PyArray)> {
        self.embed(py, texts)
    }

    /// Saves tokenizer, embedder and configuration into a folder.
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        computing(py, || self.0.save(folder)).map_err(|error| wrong(&error))
    }

    /// Loads what `save` has saved.
    #[staticmethod]
    fn load(py: Python<'_>, folder: PathBuf) -> PyResult<PyTextEmbedder> {
        PyTextEmbedder::made(computing(py, || TextEmbedder::load(folder)))
    }
}

/// Adds what is here to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTokenizer>()?;
    module.add_class::<PyTextEmbedder>()
}

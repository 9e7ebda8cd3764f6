//! Functions and layers of neural networks, for `crossover.nn`.

use std::{collections::BTreeMap, sync::Arc};

use crossover::{
    Array, Key, Precision, io,
    nn::{self, Attention, Module, Norm, Reduction, Rotary, layers::Activation},
};
use parking_lot::Mutex;
use pyo3::{prelude::*, sync::MutexExt, types::PyDict};

use crate::{
    array::PyArray,
    device::{building, computing},
    dtype::Dt,
    errors::{raise, type_error, value_error},
    values::Arr,
};

/// The options of attention, as Python gives them.
#[derive(FromPyObject)]
struct Options {
    #[pyo3(item)]
    scale: Option<f64>,
    #[pyo3(item)]
    causal: bool,
    #[pyo3(item)]
    window: Option<(usize, usize)>,
    #[pyo3(item)]
    bias: Option<Arr>,
    #[pyo3(item)]
    mask: Option<Arr>,
    #[pyo3(item)]
    lengths: Option<Vec<i64>>,
    #[pyo3(item)]
    block_size: Option<usize>,
    #[pyo3(item)]
    precision: Option<String>,
}

impl Options {
    fn build(self) -> PyResult<Attention> {
        let mut out = Attention::new();
        if let Some(scale) = self.scale {
            out = out.scale(scale);
        }
        if self.causal {
            out = out.causal();
        }
        if let Some((before, behind)) = self.window {
            out = out.window(before, behind);
        }
        if let Some(bias) = self.bias {
            out = out.bias(&bias.0);
        }
        if let Some(mask) = self.mask {
            out = out.mask(&mask.0);
        }
        if let Some(lengths) = self.lengths {
            out = out.lengths(&lengths);
        }
        if let Some(size) = self.block_size {
            out = out.block_size(size);
        }
        if let Some(precision) = self.precision {
            out = out.precision(precision.parse::<Precision>().map_err(value_error)?);
        }
        Ok(out)
    }
}

#[pyfunction]
fn nn_attention(q: Arr, k: Arr, v: Arr, options: Options) -> PyResult<PyArray> {
    let options = options.build()?;
    PyArray::done(building(|| options.call(&q.0, &k.0, &v.0)))
}

#[pyfunction]
fn nn_attention_lse(q: Arr, k: Arr, v: Arr, options: Options) -> PyResult<(PyArray, PyArray)> {
    let options = options.build()?;
    let (out, lse) = building(|| options.call_with_lse(&q.0, &k.0, &v.0));
    Ok((PyArray::done(out)?, PyArray::done(lse)?))
}

#[pyfunction]
fn nn_attention_weights(q: Arr, k: Arr, options: Options) -> PyResult<PyArray> {
    let options = options.build()?;
    PyArray::done(building(|| options.weights(&q.0, &k.0)))
}

#[pyfunction]
fn nn_gelu(x: Arr, approximate: &str) -> PyResult<PyArray> {
    match approximate {
        "tanh" => PyArray::done(building(|| nn::gelu(&x.0))),
        "none" => PyArray::done(building(|| nn::gelu_exact(&x.0))),
        other => Err(value_error(format!("approximate is {other:?}; it takes \"tanh\" and \"none\""))),
    }
}

#[pyfunction]
fn nn_silu(x: Arr) -> PyResult<PyArray> {
    PyArray::done(building(|| nn::silu(&x.0)))
}

#[pyfunction]
fn nn_softmax(x: Arr, axis: i64) -> PyResult<PyArray> {
    PyArray::done(building(|| nn::softmax(&x.0, axis)))
}

#[pyfunction]
fn nn_layer_norm(x: Arr, weight: Option<Arr>, bias: Option<Arr>, eps: f64) -> PyResult<PyArray> {
    let (weight, bias) = (weight.as_ref().map(|w| &w.0), bias.as_ref().map(|b| &b.0));
    PyArray::done(building(|| nn::layer_norm(&x.0, weight, bias, eps)))
}

#[pyfunction]
fn nn_rms_norm(x: Arr, weight: Option<Arr>, eps: f64) -> PyResult<PyArray> {
    PyArray::done(building(|| nn::rms_norm(&x.0, weight.as_ref().map(|w| &w.0), eps)))
}

#[pyfunction]
fn nn_linear(x: Arr, weight: Arr, bias: Option<Arr>, gelu: bool) -> PyResult<PyArray> {
    let bias = bias.as_ref().map(|b| &b.0);
    PyArray::done(building(|| match gelu {
        true => nn::linear_gelu(&x.0, &weight.0, bias),
        false => nn::linear(&x.0, &weight.0, bias),
    }))
}

#[pyfunction]
fn nn_swiglu(gate: Arr, up: Option<Arr>) -> PyResult<PyArray> {
    PyArray::done(building(|| nn::swiglu(&gate.0, up.as_ref().map(|u| &u.0))))
}

#[pyfunction]
fn nn_rotary(x: Arr, offset: usize, base: f64, interleaved: bool) -> PyResult<PyArray> {
    let kind = if interleaved { Rotary::Neighbours } else { Rotary::Halves };
    PyArray::done(building(|| nn::rotary(&x.0, offset, base, kind)))
}

#[pyfunction]
fn nn_cross_entropy(logits: Arr, targets: Arr, reduction: &str, ignored: Option<i64>) -> PyResult<PyArray> {
    let reduction = match reduction {
        "mean" => Reduction::Mean,
        "sum" => Reduction::Sum,
        "none" => Reduction::None,
        other => {
            let what = format!("reduction is {other:?}; it takes \"mean\", \"sum\" and \"none\"");
            return Err(value_error(what));
        }
    };
    PyArray::done(building(|| nn::cross_entropy_with(&logits.0, &targets.0, reduction, ignored)))
}

/// A layer, some of which can look at a second sequence.
trait Layer: Module + Send + Sync {
    fn with_context(&self, _x: &Array, _context: &Array) -> Option<Array> {
        None
    }
}

impl Layer for nn::MultiHeadAttention {
    fn with_context(&self, x: &Array, context: &Array) -> Option<Array> {
        Some(self.cross(x, context))
    }
}

impl Layer for nn::Embedding {}
impl Layer for nn::FeedForward {}
impl Layer for nn::LayerNorm {}
impl Layer for nn::Linear {}
impl Layer for nn::Mlp {}
impl Layer for nn::RmsNorm {}
impl Layer for nn::Sequential {}
impl Layer for nn::TransformerLayer {}

/// A layer with named parameters. Called with an array it gives the result.
///
/// >>> layer = xo.nn.Linear(4, 2)
/// >>> layer(xo.zeros((3, 4), dtype=xo.float32)).shape, layer.size
/// ((3, 2), 10)
#[pyclass(frozen, name = "Layer", module = "crossover.nn")]
pub struct PyLayer {
    kind: &'static str,
    module: Arc<Mutex<Box<dyn Layer>>>,
}

impl PyLayer {
    fn new(kind: &'static str, module: impl Layer + 'static) -> PyLayer {
        PyLayer { kind, module: Arc::new(Mutex::new(Box::new(module))) }
    }
}

/// A layer that Python holds too: what is done to one is done to the other. No layer can be inside itself, so no lock waits for itself.
struct Shared(Arc<Mutex<Box<dyn Layer>>>);

impl Module for Shared {
    fn forward(&self, x: &Array) -> Array {
        self.0.lock().forward(x)
    }

    fn each(&self, give: &mut dyn FnMut(&str, &Array)) {
        self.0.lock().each(give);
    }

    fn each_mut(&mut self, give: &mut dyn FnMut(&str, &mut Array)) {
        self.0.lock().each_mut(give);
    }
}

fn told(error: nn::Error) -> PyErr {
    match error {
        nn::Error::Array(error) => raise(&error),
        other => value_error(other.to_string()),
    }
}

#[pymethods]
impl PyLayer {
    /// The result for an array; nothing is computed yet. Attention takes a second one, of keys and values that the first one looks at.
    #[pyo3(signature = (x, context=None))]
    fn __call__(&self, py: Python<'_>, x: Arr, context: Option<Arr>) -> PyResult<PyArray> {
        let module = self.module.lock_py_attached(py);
        let Some(context) = context else { return PyArray::done(building(|| module.forward(&x.0))) };
        match building(|| module.with_context(&x.0, &context.0)) {
            Some(result) => PyArray::done(result),
            None => Err(type_error(format!(
                "{} takes one array; only MultiHeadAttention takes a context",
                self.kind
            ))),
        }
    }

    /// The parameters by name.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for (name, array) in self.module.lock_py_attached(py).parameters() {
            out.set_item(name, PyArray::done(array)?)?;
        }
        Ok(out)
    }

    /// Takes all parameters from arrays by name.
    fn set_parameters(&self, py: Python<'_>, parameters: BTreeMap<String, Arr>) -> PyResult<()> {
        let arrays: BTreeMap<String, Array> = parameters.into_iter().map(|(name, x)| (name, x.0)).collect();
        self.module.lock_py_attached(py).set_parameters(&arrays).map_err(told)
    }

    /// Reads all parameters from a safetensors file; with a prefix, those of names that start with it.
    #[pyo3(signature = (path, prefix=""))]
    fn load(&self, py: Python<'_>, path: std::path::PathBuf, prefix: &str) -> PyResult<()> {
        let arrays = computing(py, || io::load_safetensors(&path)).map_err(|e| raise(&e))?.into_iter();
        let named = arrays.filter_map(|(name, x)| Some((name.strip_prefix(prefix)?.to_string(), x)));
        self.module.lock_py_attached(py).set_parameters(&named.collect()).map_err(told)
    }

    /// Writes all parameters as a safetensors file.
    fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        let all = self.module.lock_py_attached(py).parameters();
        let named: Vec<(&str, &Array)> = all.iter().map(|(name, array)| (name.as_str(), array)).collect();
        computing(py, || io::save_safetensors(&path, &named, &[])).map_err(|e| raise(&e))
    }

    /// Converts all parameters.
    fn to_dtype(&self, py: Python<'_>, dtype: Dt) {
        let mut module = self.module.lock_py_attached(py);
        building(|| module.to_dtype(dtype.0));
    }

    /// Numbers in all parameters.
    #[getter]
    fn size(&self, py: Python<'_>) -> usize {
        self.module.lock_py_attached(py).size()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("{}({} numbers)", self.kind, self.size(py))
    }
}

fn activation(name: &str) -> PyResult<Activation> {
    match name {
        "gelu_tanh" => Ok(Activation::Gelu),
        "gelu" => Ok(Activation::GeluExact),
        "relu" => Ok(Activation::Relu),
        "silu" => Ok(Activation::Silu),
        other => {
            let what =
                format!("activation is {other:?}; it takes \"gelu_tanh\", \"gelu\", \"relu\" and \"silu\"");
            Err(value_error(what))
        }
    }
}

#[pyfunction]
fn nn_linear_layer(inputs: usize, outputs: usize, bias: bool, seed: u64) -> PyLayer {
    let key = Key::new(seed);
    building(|| match bias {
        true => PyLayer::new("Linear", nn::Linear::new(&key, inputs, outputs)),
        false => PyLayer::new("Linear", nn::Linear::without_bias(&key, inputs, outputs)),
    })
}

#[pyfunction]
fn nn_layer_norm_layer(size: usize, eps: f64) -> PyLayer {
    building(|| PyLayer::new("LayerNorm", nn::LayerNorm { epsilon: eps, ..nn::LayerNorm::new(size) }))
}

#[pyfunction]
fn nn_rms_norm_layer(size: usize, eps: f64) -> PyLayer {
    building(|| PyLayer::new("RMSNorm", nn::RmsNorm { epsilon: eps, ..nn::RmsNorm::new(size) }))
}

#[pyfunction]
fn nn_embedding_layer(rows: usize, columns: usize, seed: u64) -> PyLayer {
    building(|| PyLayer::new("Embedding", nn::Embedding::new(&Key::new(seed), rows, columns)))
}

#[pyfunction]
fn nn_attention_layer(size: usize, heads: usize, options: Options, seed: u64) -> PyResult<PyLayer> {
    let options = options.build()?;
    Ok(building(|| {
        let layer = nn::MultiHeadAttention::new(&Key::new(seed), size, heads).with(options);
        PyLayer::new("MultiHeadAttention", layer)
    }))
}

#[pyfunction]
fn nn_feed_forward_layer(size: usize, hidden: usize, activated: &str, seed: u64) -> PyResult<PyLayer> {
    let activation = activation(activated)?;
    Ok(building(|| {
        PyLayer::new("FeedForward", nn::FeedForward::new(&Key::new(seed), size, hidden).with(activation))
    }))
}

#[pyfunction]
fn nn_mlp_layer(size: usize, hidden: usize, seed: u64) -> PyLayer {
    building(|| PyLayer::new("Mlp", nn::Mlp::new(&Key::new(seed), size, hidden)))
}

#[pyfunction]
fn nn_transformer_layer(
    sizes: (usize, usize, usize),
    options: Options,
    norm_first: bool,
    activated: &str,
    seed: u64,
) -> PyResult<PyLayer> {
    let (size, heads, hidden) = sizes;
    let (options, activation) = (options.build()?, activation(activated)?);
    let norm = if norm_first { Norm::Pre } else { Norm::Post };
    Ok(building(|| {
        let layer = nn::TransformerLayer::new(&Key::new(seed), size, heads, hidden);
        PyLayer::new("TransformerLayer", layer.norm(norm).activation(activation).attention(options))
    }))
}

#[pyfunction]
fn nn_sequential_layer(layers: Vec<PyRef<'_, PyLayer>>) -> PyLayer {
    let empty = nn::Sequential::new();
    let all = layers.iter().fold(empty, |all, layer| all.then(Shared(layer.module.clone())));
    PyLayer::new("Sequential", all)
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyLayer>()?;
    module.add_function(wrap_pyfunction!(nn_attention, module)?)?;
    module.add_function(wrap_pyfunction!(nn_attention_lse, module)?)?;
    module.add_function(wrap_pyfunction!(nn_attention_weights, module)?)?;
    module.add_function(wrap_pyfunction!(nn_gelu, module)?)?;
    module.add_function(wrap_pyfunction!(nn_silu, module)?)?;
    module.add_function(wrap_pyfunction!(nn_softmax, module)?)?;
    module.add_function(wrap_pyfunction!(nn_layer_norm, module)?)?;
    module.add_function(wrap_pyfunction!(nn_rms_norm, module)?)?;
    module.add_function(wrap_pyfunction!(nn_linear, module)?)?;
    module.add_function(wrap_pyfunction!(nn_swiglu, module)?)?;
    module.add_function(wrap_pyfunction!(nn_rotary, module)?)?;
    module.add_function(wrap_pyfunction!(nn_cross_entropy, module)?)?;
    module.add_function(wrap_pyfunction!(nn_linear_layer, module)?)?;
    module.add_function(wrap_pyfunction!(nn_layer_norm_layer, module)?)?;
    module.add_function(wrap_pyfunction!(nn_rms_norm_layer, module)?)?;
    module.add_function(wrap_pyfunction!(nn_embedding_layer, module)?)?;
    module.add_function(wrap_pyfunction!(nn_attention_layer, module)?)?;
    module.add_function(wrap_pyfunction!(nn_feed_forward_layer, module)?)?;
    module.add_function(wrap_pyfunction!(nn_mlp_layer, module)?)?;
    module.add_function(wrap_pyfunction!(nn_transformer_layer, module)?)?;
    module.add_function(wrap_pyfunction!(nn_sequential_layer, module)?)
}

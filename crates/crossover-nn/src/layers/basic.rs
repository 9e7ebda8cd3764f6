//! Layers of one function.

use crossover_array::{Array, Key, random};

use super::{Module, parameters, uniform};
use crate::{layer_norm, linear, rms_norm};

/// `x · weightᵀ + bias`.
///
/// ```
/// use crossover_array::{Array, Key};
/// use crossover_nn::{Linear, Module};
/// let layer = Linear::new(&Key::new(1), 4, 3);
/// assert_eq!(layer.forward(&Array::ones::<f32>([2, 4])).shape().dims(), [2, 3]);
/// ```
#[derive(Debug, Clone)]
pub struct Linear {
    /// `[outputs, inputs]`.
    pub weight: Array,
    /// `[outputs]`.
    pub bias: Option<Array>,
}

impl Linear {
    /// Random parameters, uniform as PyTorch's are.
    pub fn new(key: &Key, inputs: usize, outputs: usize) -> Linear {
        let (first, second) = key.split();
        let bias = Some(uniform(&second, &[outputs], inputs));
        Linear { weight: uniform(&first, &[outputs, inputs], inputs), bias }
    }

    /// Without a bias.
    ///
    /// ```
    /// use crossover_array::Key;
    /// use crossover_nn::{Linear, Module};
    /// assert_eq!(Linear::without_bias(&Key::new(1), 4, 3).parameters().len(), 1);
    /// ```
    pub fn without_bias(key: &Key, inputs: usize, outputs: usize) -> Linear {
        Linear { weight: uniform(key, &[outputs, inputs], inputs), bias: None }
    }
}

impl Module for Linear {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        linear(x, &self.weight, self.bias.as_ref())
    }

    parameters!(weight; bias;);
}

/// [`layer_norm`] with its parameters.
///
/// ```
/// use crossover_array::Array;
/// use crossover_nn::{LayerNorm, Module};
/// let y = LayerNorm::new(2).forward(&Array::from([[1.0f32, 3.0]]));
/// assert!((y.to_vec::<f32>()?[0] + 1.0).abs() < 1e-4);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LayerNorm {
    /// By which rows are multiplied.
    pub weight: Array,
    /// What is added.
    pub bias: Option<Array>,
    /// Added to the variance.
    pub epsilon: f64,
}

impl LayerNorm {
    /// Ones and zeros, and 1e-5.
    pub fn new(size: usize) -> LayerNorm {
        LayerNorm {
            weight: Array::ones::<f32>([size]),
            bias: Some(Array::zeros::<f32>([size])),
            epsilon: 1e-5,
        }
    }
}

impl Module for LayerNorm {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        layer_norm(x, Some(&self.weight), self.bias.as_ref(), self.epsilon)
    }

    parameters!(weight; bias;);
}

/// [`rms_norm`] with its parameter.
///
/// ```
/// use crossover_array::Array;
/// use crossover_nn::{Module, RmsNorm};
/// let y = RmsNorm::new(2).forward(&Array::from([[3.0f32, 3.0]]));
/// assert!((y.to_vec::<f32>()?[0] - 1.0).abs() < 1e-4);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RmsNorm {
    /// By which rows are multiplied.
    pub weight: Array,
    /// Added to the mean of squares.
    pub epsilon: f64,
}

impl RmsNorm {
    /// Ones, and 1e-5.
    pub fn new(size: usize) -> RmsNorm {
        RmsNorm { weight: Array::ones::<f32>([size]), epsilon: 1e-5 }
    }
}

impl Module for RmsNorm {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        rms_norm(x, Some(&self.weight), self.epsilon)
    }

    parameters!(weight; ;);
}

/// Rows of a table, by integers.
///
/// ```
/// use crossover_array::{Array, Key};
/// use crossover_nn::{Embedding, Module};
/// let table = Embedding::new(&Key::new(1), 100, 8);
/// assert_eq!(table.forward(&Array::from([[3i64, 5, 3]])).shape().dims(), [1, 3, 8]);
/// ```
#[derive(Debug, Clone)]
pub struct Embedding {
    /// `[rows, columns]`.
    pub weight: Array,
}

impl Embedding {
    /// Normal numbers, as PyTorch's are.
    pub fn new(key: &Key, rows: usize, columns: usize) -> Embedding {
        Embedding { weight: random::normal::<f32>(key, [rows, columns]) }
    }
}

impl Module for Embedding {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        if !x.dtype().is_int() {
            return Array::refused("embedding", format!("x is {}; it takes integers, the rows", x.dtype()));
        }
        self.weight.take(x, 0)
    }

    parameters!(weight; ;);
}

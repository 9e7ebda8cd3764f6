//! Layers of several functions.

use crossover_array::{Array, Key};

use super::{LayerNorm, Linear, Module, MultiHeadAttention, parameters};
use crate::{Attention, swiglu};

/// An activation between two linear maps.
///
/// ```
/// use crossover_array::Key;
/// use crossover_nn::{Activation, FeedForward};
/// let layer = FeedForward::new(&Key::new(1), 8, 32);
/// assert_eq!(layer.activation, Activation::Gelu);
/// assert_eq!(layer.with(Activation::Silu).activation, Activation::Silu);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Activation {
    /// [`gelu`](crate::gelu): one call with the product before it, on a GPU.
    #[default]
    Gelu,
    /// [`gelu_exact`](crate::gelu_exact), PyTorch's `"gelu"`.
    GeluExact,
    /// Negative numbers become 0: PyTorch's default.
    Relu,
    /// [`silu`](crate::silu).
    Silu,
}

impl Activation {
    #[track_caller]
    fn apply(self, x: &Array) -> Array {
        match self {
            Activation::Gelu => x.gelu(),
            Activation::GeluExact => x.gelu_exact(),
            Activation::Relu => x.relu(),
            Activation::Silu => x.silu(),
        }
    }
}

/// Two linear maps with an activation between them.
///
/// ```
/// use crossover_array::{Array, Key};
/// use crossover_nn::{FeedForward, Module};
/// let layer = FeedForward::new(&Key::new(1), 8, 32);
/// assert_eq!(layer.forward(&Array::ones::<f32>([2, 8])).shape().dims(), [2, 8]);
/// ```
#[derive(Debug, Clone)]
pub struct FeedForward {
    /// The first map.
    pub linear1: Linear,
    /// The second.
    pub linear2: Linear,
    /// What is between them.
    pub activation: Activation,
}

impl FeedForward {
    /// Random parameters, `size` to `hidden` to `size`.
    pub fn new(key: &Key, size: usize, hidden: usize) -> FeedForward {
        let (first, second) = key.split();
        FeedForward {
            linear1: Linear::new(&first, size, hidden),
            linear2: Linear::new(&second, hidden, size),
            activation: Activation::default(),
        }
    }

    /// With this activation.
    ///
    /// ```
    /// use crossover_array::{Array, Key};
    /// use crossover_nn::{Activation, FeedForward, Module};
    /// let layer = FeedForward::new(&Key::new(1), 8, 32).with(Activation::Relu);
    /// assert_eq!(layer.forward(&Array::ones::<f32>([8])).shape().dims(), [8]);
    /// ```
    pub fn with(mut self, activation: Activation) -> FeedForward {
        self.activation = activation;
        self
    }
}

impl Module for FeedForward {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        self.linear2.forward(&self.activation.apply(&self.linear1.forward(x)))
    }

    parameters!(; ; linear1 linear2);
}

/// A gated map, `down(silu(gate(x)) * up(x))`, with the names of Llama's.
///
/// ```
/// use crossover_array::{Array, Key};
/// use crossover_nn::{Mlp, Module};
/// let layer = Mlp::new(&Key::new(1), 8, 24);
/// assert_eq!(layer.forward(&Array::ones::<f32>([2, 8])).shape().dims(), [2, 8]);
/// assert_eq!(layer.parameters()[0].0, "gate_proj.weight");
/// ```
#[derive(Debug, Clone)]
pub struct Mlp {
    /// What opens and closes.
    pub gate_proj: Linear,
    /// What passes.
    pub up_proj: Linear,
    /// Back to the size.
    pub down_proj: Linear,
}

impl Mlp {
    /// Random parameters without biases, `size` to `hidden` to `size`.
    pub fn new(key: &Key, size: usize, hidden: usize) -> Mlp {
        let (first, rest) = key.split();
        let (second, third) = rest.split();
        Mlp {
            gate_proj: Linear::without_bias(&first, size, hidden),
            up_proj: Linear::without_bias(&second, size, hidden),
            down_proj: Linear::without_bias(&third, hidden, size),
        }
    }
}

impl Module for Mlp {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        self.down_proj.forward(&swiglu(&self.gate_proj.forward(x), Some(&self.up_proj.forward(x))))
    }

    parameters!(; ; gate_proj up_proj down_proj);
}

/// Where a transformer layer normalises.
///
/// ```
/// use crossover_array::Key;
/// use crossover_nn::{Norm, TransformerLayer};
/// let layer = TransformerLayer::new(&Key::new(1), 32, 4, 64);
/// assert_eq!((layer.norm, Norm::default()), (Norm::Pre, Norm::Pre));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Norm {
    /// What goes into attention and feed-forward: PyTorch's `norm_first=True`.
    #[default]
    Pre,
    /// What comes out of each sum: the paper, and PyTorch's default.
    Post,
}

/// Attention and feed-forward with norms and sums around them: PyTorch's `TransformerEncoderLayer`, without dropout.
///
/// ```
/// use crossover_array::{Key, random};
/// use crossover_nn::{Attention, Module, Norm, TransformerLayer};
/// let layer = TransformerLayer::new(&Key::new(1), 32, 4, 64).norm(Norm::Post).attention(Attention::new().causal());
/// let x = random::normal::<f32>(&Key::new(2), [2, 5, 32]);
/// assert_eq!(layer.forward(&x).shape().dims(), [2, 5, 32]);
/// assert_eq!(layer.parameters()[0].0, "self_attn.in_proj_weight");
/// ```
#[derive(Debug, Clone)]
pub struct TransformerLayer {
    /// Attention.
    pub self_attn: MultiHeadAttention,
    /// The first map of the feed-forward part.
    pub linear1: Linear,
    /// The second.
    pub linear2: Linear,
    /// The norm of attention.
    pub norm1: LayerNorm,
    /// The norm of the feed-forward part.
    pub norm2: LayerNorm,
    /// Where norms are.
    pub norm: Norm,
    /// What is between the two maps.
    pub activation: Activation,
}

impl TransformerLayer {
    /// Random parameters: numbers of a place, heads, numbers between the two maps.
    pub fn new(key: &Key, size: usize, heads: usize, hidden: usize) -> TransformerLayer {
        let (first, second) = key.split();
        let FeedForward { linear1, linear2, activation } = FeedForward::new(&second, size, hidden);
        TransformerLayer {
            self_attn: MultiHeadAttention::new(&first, size, heads),
            linear1,
            linear2,
            norm1: LayerNorm::new(size),
            norm2: LayerNorm::new(size),
            norm: Norm::default(),
            activation,
        }
    }

    /// Norms before or behind.
    pub fn norm(mut self, norm: Norm) -> TransformerLayer {
        self.norm = norm;
        self
    }

    /// With this activation.
    ///
    /// ```
    /// use crossover_array::Key;
    /// use crossover_nn::{Activation, TransformerLayer};
    /// let layer = TransformerLayer::new(&Key::new(1), 32, 4, 64).activation(Activation::Relu);
    /// assert_eq!(layer.activation, Activation::Relu);
    /// ```
    pub fn activation(mut self, activation: Activation) -> TransformerLayer {
        self.activation = activation;
        self
    }

    /// With these options of attention.
    pub fn attention(mut self, options: Attention) -> TransformerLayer {
        self.self_attn.options = options;
        self
    }

    #[track_caller]
    fn feed(&self, x: &Array) -> Array {
        self.linear2.forward(&self.activation.apply(&self.linear1.forward(x)))
    }
}

impl Module for TransformerLayer {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        match self.norm {
            Norm::Pre => {
                let x = x + self.self_attn.forward(&self.norm1.forward(x));
                let fed = self.feed(&self.norm2.forward(&x));
                x + fed
            }
            Norm::Post => {
                let x = self.norm1.forward(&(x + self.self_attn.forward(x)));
                let fed = self.feed(&x);
                self.norm2.forward(&(x + fed))
            }
        }
    }

    parameters!(; ; self_attn linear1 linear2 norm1 norm2);
}

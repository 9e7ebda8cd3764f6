//! Attention and layers of neural networks, for inference, on Crossover's arrays.
//!
//! Functions are lazy as all array code is: a forward pass is one plan. [`attention`] is a kernel of its own, on the CPU and on GPUs; the
//! others are array expressions that fuse with what is around them. [`layers`] hold named parameters and read and write
//! safetensors files with the names that PyTorch's modules use.
//!
//! ```
//! use crossover_array::{Array, Key, random};
//! use crossover_nn::{Module, TransformerLayer};
//! let layer = TransformerLayer::new(&Key::new(1), 64, 4, 256);
//! let x = random::normal::<f32>(&Key::new(2), [2, 10, 64]);
//! assert_eq!(layer.forward(&x).shape().dims(), [2, 10, 64]);
//! # Ok::<(), crossover_array::Error>(())
//! ```

mod attention;
mod error;
mod functions;
pub mod layers;
mod rotary;

pub use attention::{Attention, attention, attention_weights};
pub use crossover_array::Rotary;
pub use error::{Error, Result};
pub use functions::{
    Reduction, cross_entropy, cross_entropy_with, gelu, gelu_exact, layer_norm, linear, linear_gelu,
    rms_norm, silu, softmax, swiglu,
};
pub use layers::{
    Activation, Embedding, FeedForward, LayerNorm, Linear, Mlp, Module, MultiHeadAttention, Norm, RmsNorm,
    Sequential, TransformerLayer,
};
pub use rotary::rotary;

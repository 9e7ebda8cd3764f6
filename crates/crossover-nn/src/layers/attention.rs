//! Attention between the places of a sequence, with its projections.

use crossover_array::{Array, Key};

use super::{Linear, Module, parameters, uniform};
use crate::{Attention, linear};

/// Multi-head attention, with the parameters of PyTorch's `MultiheadAttention`.
///
/// ```
/// use crossover_array::{Key, random};
/// use crossover_nn::{Attention, Module, MultiHeadAttention};
/// let layer = MultiHeadAttention::new(&Key::new(1), 32, 4).with(Attention::new().causal());
/// let x = random::normal::<f32>(&Key::new(2), [2, 10, 32]);
/// assert_eq!(layer.forward(&x).shape().dims(), [2, 10, 32]);
/// assert_eq!(layer.parameters()[0].0, "in_proj_weight");
/// ```
#[derive(Debug, Clone)]
pub struct MultiHeadAttention {
    /// `[3 · size, size]`: of queries, keys and values.
    pub in_proj_weight: Array,
    /// `[3 · size]`.
    pub in_proj_bias: Option<Array>,
    /// What heads become together.
    pub out_proj: Linear,
    /// Heads.
    pub heads: usize,
    /// How queries see keys.
    pub options: Attention,
}

impl MultiHeadAttention {
    /// Random parameters.
    pub fn new(key: &Key, size: usize, heads: usize) -> MultiHeadAttention {
        let (first, second) = key.split();
        MultiHeadAttention {
            in_proj_weight: uniform(&first, &[3 * size, size], size),
            in_proj_bias: Some(Array::zeros::<f32>([3 * size])),
            out_proj: Linear::new(&second, size, size),
            heads,
            options: Attention::new(),
        }
    }

    /// With these options.
    pub fn with(mut self, options: Attention) -> MultiHeadAttention {
        self.options = options;
        self
    }

    /// Numbers of a place, and of a head.
    fn sizes(&self) -> Result<(usize, usize), String> {
        let size = self.out_proj.weight.shape().dims().first().copied().unwrap_or(0);
        if self.heads == 0 || !size.is_multiple_of(self.heads) {
            return Err(format!(
                "{} heads do not divide {size}; the size must be a multiple of them",
                self.heads
            ));
        }
        Ok((size, size / self.heads))
    }

    /// The result for queries of one sequence and keys and values of another.
    ///
    /// ```
    /// use crossover_array::{Key, random};
    /// use crossover_nn::MultiHeadAttention;
    /// let layer = MultiHeadAttention::new(&Key::new(1), 16, 4);
    /// let queries = random::normal::<f32>(&Key::new(2), [2, 3, 16]);
    /// let keys = random::normal::<f32>(&Key::new(3), [2, 7, 16]);
    /// assert_eq!(layer.cross(&queries, &keys).shape().dims(), [2, 3, 16]);
    /// ```
    #[track_caller]
    pub fn cross(&self, queries: &Array, keys: &Array) -> Array {
        let (size, _) = match self.sizes() {
            Ok(sizes) => sizes,
            Err(what) => return Array::refused("multi_head_attention", what),
        };
        let (weight, bias) = (&self.in_proj_weight, self.in_proj_bias.as_ref());
        let size = size as i64;
        let part = |x: &Array, from: i64, to: i64| {
            let bias = bias.map(|bias| bias.slice(from * size..to * size));
            linear(x, &weight.slice(from * size..to * size), bias.as_ref())
        };
        let q = self.split(&part(queries, 0, 1), 1);
        if q.check().is_err() {
            return q;
        }
        let pairs = self.split(&part(keys, 1, 3), 2);
        self.join(&self.options.call_pairs(&q.squeeze(2), &pairs))
    }

    /// `[batch, length, parts · size]` as `[batch, length, parts, heads, head size]`.
    #[track_caller]
    fn split(&self, x: &Array, parts: usize) -> Array {
        match (x.shape().dims(), self.sizes()) {
            (&[batch, length, _], Ok((_, head))) => {
                let dims = [batch, length, parts, self.heads, head].map(|n| n as i64);
                x.reshape(dims)
            }
            (_, Err(what)) => Array::refused("multi_head_attention", what),
            _ => {
                let what = format!("x has the shape {}; it takes [batch, length, size]", x.shape());
                Array::refused("multi_head_attention", what)
            }
        }
    }

    /// Heads side by side, through the last projection.
    #[track_caller]
    fn join(&self, x: &Array) -> Array {
        if x.check().is_err() {
            return x.clone();
        }
        let &[batch, length, heads, head] = x.shape().dims() else { return x.clone() };
        self.out_proj.forward(&x.reshape([batch as i64, length as i64, (heads * head) as i64]))
    }
}

impl Module for MultiHeadAttention {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        if x.check().is_err() {
            return x.clone();
        }
        if x.ndim() != 3 {
            let what = format!("x has the shape {}; it takes [batch, length, size]", x.shape());
            return Array::refused("multi_head_attention", what);
        }
        let all = linear(x, &self.in_proj_weight, self.in_proj_bias.as_ref());
        if all.check().is_err() {
            return all;
        }
        let parts = self.split(&all, 3);
        if parts.check().is_err() {
            return parts;
        }
        self.join(&self.options.call_joined(&parts))
    }

    parameters!(in_proj_weight; in_proj_bias; out_proj);
}

//! Layers one after another.

use crossover_array::Array;

use super::Module;

/// Layers one after another; parameters are named by the number of their layer, as PyTorch's `Sequential` has them.
///
/// ```
/// use crossover_array::{Array, Key};
/// use crossover_nn::{LayerNorm, Linear, Module, Sequential};
/// let model = Sequential::new().then(Linear::new(&Key::new(1), 4, 8)).then(LayerNorm::new(8));
/// let names: Vec<String> = model.parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["0.weight", "0.bias", "1.weight", "1.bias"]);
/// assert_eq!(model.forward(&Array::ones::<f32>([3, 4])).shape().dims(), [3, 8]);
/// ```
#[derive(Default)]
pub struct Sequential {
    layers: Vec<Box<dyn Module + Send + Sync>>,
}

impl Sequential {
    /// None.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// One more.
    pub fn then(mut self, layer: impl Module + Send + Sync + 'static) -> Sequential {
        self.layers.push(Box::new(layer));
        self
    }

    /// How many there are.
    ///
    /// ```
    /// use crossover_nn::{LayerNorm, Sequential};
    /// assert_eq!(Sequential::new().then(LayerNorm::new(4)).len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Whether there are none.
    ///
    /// ```
    /// assert!(crossover_nn::Sequential::new().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }
}

impl std::fmt::Debug for Sequential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sequential({} layers, {} numbers)", self.len(), self.size())
    }
}

impl Module for Sequential {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        let mut out = x.clone();
        for layer in &self.layers {
            out = layer.forward(&out);
        }
        out
    }

    fn each(&self, give: &mut dyn FnMut(&str, &Array)) {
        for (i, layer) in self.layers.iter().enumerate() {
            layer.each(&mut |name, array| give(&format!("{i}.{name}"), array));
        }
    }

    fn each_mut(&mut self, give: &mut dyn FnMut(&str, &mut Array)) {
        for (i, layer) in self.layers.iter_mut().enumerate() {
            layer.each_mut(&mut |name, array| give(&format!("{i}.{name}"), array));
        }
    }
}

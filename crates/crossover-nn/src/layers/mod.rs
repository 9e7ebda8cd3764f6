//! Layers with named parameters, for inference.
//!
//! A layer holds its parameters as arrays, which stay where they are first used. Names and shapes are those of PyTorch's modules of
//! the same kind, so that weights move both ways through safetensors files.

mod attention;
mod basic;
mod block;
mod sequential;

use std::{collections::BTreeMap, path::Path};

use crossover_array::{Array, DType, Key, eval_all, io, random};

pub use attention::MultiHeadAttention;
pub use basic::{Embedding, LayerNorm, Linear, RmsNorm};
pub use block::{Activation, FeedForward, Mlp, Norm, TransformerLayer};
pub use sequential::Sequential;

use crate::{Error, Result};

/// A layer.
///
/// ```
/// use crossover_array::{Array, Key};
/// use crossover_nn::{Linear, Module};
/// let mut layer = Linear::new(&Key::new(1), 4, 3);
/// let names: Vec<String> = layer.parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["weight", "bias"]);
///
/// let path = std::env::temp_dir().join(format!("crossover-linear-{}.safetensors", std::process::id()));
/// layer.save(&path)?;
/// let mut other = Linear::new(&Key::new(2), 4, 3);
/// other.load(&path)?;
/// assert_eq!(other.weight.to_vec::<f32>()?, layer.weight.to_vec::<f32>()?);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Module {
    /// The result for `x`. Nothing is computed yet.
    #[track_caller]
    fn forward(&self, x: &Array) -> Array;

    /// Calls `give` with every parameter and its name.
    fn each(&self, give: &mut dyn FnMut(&str, &Array));

    /// Calls `give` with every parameter and its name, to be changed.
    fn each_mut(&mut self, give: &mut dyn FnMut(&str, &mut Array));

    /// All parameters with their names.
    fn parameters(&self) -> Vec<(String, Array)> {
        let mut out = Vec::new();
        self.each(&mut |name, array| out.push((name.to_string(), array.clone())));
        out
    }

    /// Numbers in all parameters.
    fn size(&self) -> usize {
        let mut total = 0;
        self.each(&mut |_, array| total += array.size());
        total
    }

    /// Converts all parameters.
    fn to_dtype(&mut self, dtype: DType) {
        self.each_mut(&mut |_, array| *array = array.astype(dtype));
    }

    /// Computes parameters that are still expressions, so that they are stored once.
    fn settle(&self) -> Result<()> {
        let all = self.parameters();
        Ok(eval_all(&all.iter().map(|(_, array)| array).collect::<Vec<_>>())?)
    }

    /// Takes parameters from arrays by name; all of them, and there must be no other. Dtypes are the arrays'.
    fn set_parameters(&mut self, arrays: &BTreeMap<String, Array>) -> Result<()> {
        set(self, arrays, true)
    }

    /// Reads all parameters from a safetensors file, which has no other arrays.
    fn load(&mut self, path: impl AsRef<Path>) -> Result<()>
    where
        Self: Sized,
    {
        let arrays = io::load_safetensors(path)?;
        set(self, &arrays.into_iter().collect(), true)
    }

    /// As [`load`](Module::load), of arrays whose names start with `prefix`, which is left out; others are left alone.
    fn load_some(&mut self, path: impl AsRef<Path>, prefix: &str) -> Result<()>
    where
        Self: Sized,
    {
        let arrays = io::load_safetensors(path)?.into_iter();
        let named = arrays.filter_map(|(name, x)| Some((name.strip_prefix(prefix)?.to_string(), x)));
        set(self, &named.collect(), false)
    }

    /// Writes all parameters as a safetensors file.
    fn save(&self, path: impl AsRef<Path>) -> Result<()>
    where
        Self: Sized,
    {
        let all = self.parameters();
        let named: Vec<(&str, &Array)> = all.iter().map(|(name, array)| (name.as_str(), array)).collect();
        Ok(io::save_safetensors(path, &named, &[])?)
    }
}

/// Takes parameters by name, or none of them.
fn set<M: Module + ?Sized>(module: &mut M, arrays: &BTreeMap<String, Array>, all: bool) -> Result<()> {
    let mut wrong = None;
    let mut known = 0;
    module.each(&mut |name, own| match arrays.get(name) {
        Some(found) if found.shape() == own.shape() => known += 1,
        Some(found) => {
            let (name, found, want) = (name.to_string(), found.shape().clone(), own.shape().clone());
            wrong.get_or_insert(Error::Shape { name, found, want });
        }
        None => {
            let some: Vec<&str> = arrays.keys().take(8).map(String::as_str).collect();
            wrong.get_or_insert(Error::Missing { name: name.to_string(), there: format!("{some:?}") });
        }
    });
    if let Some(error) = wrong {
        return Err(error);
    }
    if all && known < arrays.len() {
        let mut names: Vec<&String> = arrays.keys().collect();
        module.each(&mut |name, _| names.retain(|other| *other != name));
        let name = names.first().map_or_else(String::new, |name| name.to_string());
        return Err(Error::Unexpected { name, count: names.len() });
    }
    module.each_mut(&mut |name, own| {
        if let Some(found) = arrays.get(name) {
            *own = found.clone();
        }
    });
    Ok(())
}

/// The methods that list parameters: arrays, arrays that may be missing, and layers, by the names of the fields.
macro_rules! parameters {
    ($($array:ident)* ; $($optional:ident)* ; $($module:ident)*) => {
        fn each(&self, give: &mut dyn FnMut(&str, &Array)) {
            $(give(stringify!($array), &self.$array);)*
            $(if let Some(array) = &self.$optional {
                give(stringify!($optional), array);
            })*
            $(self.$module.each(&mut |name, array| give(&format!(concat!(stringify!($module), ".{}"), name), array));)*
        }

        fn each_mut(&mut self, give: &mut dyn FnMut(&str, &mut Array)) {
            $(give(stringify!($array), &mut self.$array);)*
            $(if let Some(array) = &mut self.$optional {
                give(stringify!($optional), array);
            })*
            $(self.$module.each_mut(&mut |name, array| give(&format!(concat!(stringify!($module), ".{}"), name), array));)*
        }
    };
}
use parameters;

/// Numbers from -1/√inputs to 1/√inputs, as PyTorch starts linear maps with.
fn uniform(key: &Key, shape: &[usize], inputs: usize) -> Array {
    let bound = 1.0 / (inputs.max(1) as f64).sqrt();
    (random::uniform::<f32>(key, shape) * 2.0 - 1.0) * bound
}

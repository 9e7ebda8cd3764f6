//! Layers with parameters that PyTorch exported agree with what PyTorch computed; see `pytorch/export.py`.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, path::Path};

use crossover_array::{Array, DType, Key, io};
use crossover_nn::{
    Activation, Attention, Error, Linear, Module, MultiHeadAttention, Norm, Sequential, TransformerLayer,
};

fn exported() -> BTreeMap<String, Array> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pytorch/layer.safetensors");
    io::load_safetensors(path).unwrap().into_iter().collect()
}

fn layer(name: &str, norm: Norm) -> TransformerLayer {
    let mut layer =
        TransformerLayer::new(&Key::new(0), 24, 3, 40).norm(norm).activation(Activation::GeluExact);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pytorch/layer.safetensors");
    layer.load_some(path, &format!("{name}.layer.")).unwrap();
    layer
}

fn apart(got: &Array, want: &Array) -> f32 {
    assert_eq!(got.shape(), want.shape());
    (got.astype(DType::F32) - want).abs().max(()).item::<f32>().unwrap()
}

#[test]
fn layers_agree_with_pytorch() {
    let all = exported();
    for (name, norm) in [("pre", Norm::Pre), ("post", Norm::Post)] {
        let (x, y) = (&all[&format!("{name}.x")], &all[&format!("{name}.y")]);
        let mut layer = layer(name, norm);
        let error = apart(&layer.forward(x), y);
        assert!(error < 2e-5, "{name}: {error}");
        let causal = layer.clone().attention(Attention::new().causal());
        let error = apart(&causal.forward(x), &all[&format!("{name}.causal")]);
        assert!(error < 2e-5, "{name} causal: {error}");
        layer.to_dtype(DType::BF16);
        let out = layer.forward(&x.astype(DType::BF16));
        assert_eq!(out.dtype(), DType::BF16);
        let scale = y.abs().max(()).item::<f32>().unwrap();
        let error = apart(&out, y) / scale;
        assert!(error < 0.04, "{name} bf16: {error}");
    }
}

#[test]
fn a_forward_pass_is_one_plan() {
    let all = exported();
    let text = layer("pre", Norm::Pre).forward(&all["pre.x"]).explain().unwrap();
    assert!(text.contains("attention"), "{text}");
    assert!(text.starts_with("plan: "), "{text}");
    // Attention reads queries, keys and values where their projection leaves them, and the last projection its results.
    assert!(!text.contains("copy"), "{text}");
    let kernels = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count();
    assert!(kernels <= 11, "{text}");
}

#[test]
fn a_linear_map_is_one_product_of_all_rows() {
    let x = Array::ones::<f32>([2, 3, 7, 4]);
    let layer = Linear::new(&Key::new(1), 4, 5);
    layer.settle().unwrap();
    let y = layer.forward(&x);
    let plan = y.explain().unwrap();
    assert!(plan.contains("matmul  [42, 5]"), "{plan}");
    assert_eq!(y.shape().dims(), [2, 3, 7, 5]);
    let empty = layer.forward(&Array::ones::<f32>([2, 0, 4]));
    assert_eq!(empty.to_vec::<f32>().unwrap(), []);
}

#[test]
fn files_that_do_not_fit_are_told_and_change_nothing() {
    let path = std::env::temp_dir().join(format!("crossover-nn-{}.safetensors", std::process::id()));
    let saved = Linear::new(&Key::new(1), 4, 3);
    saved.save(&path).unwrap();
    let mut other = Linear::new(&Key::new(2), 5, 3);
    let before = other.weight.to_vec::<f32>().unwrap();
    let error = other.load(&path).unwrap_err();
    assert_eq!(error.to_string(), "`weight` has the shape [3, 4] in the file, and [3, 5] here");
    assert_eq!(other.weight.to_vec::<f32>().unwrap(), before);
    let mut attention = MultiHeadAttention::new(&Key::new(3), 4, 2);
    assert!(
        matches!(attention.load(&path).unwrap_err(), Error::Missing { name, .. } if name == "in_proj_weight")
    );
    let mut bare = Linear::without_bias(&Key::new(4), 4, 3);
    assert!(matches!(bare.load(&path).unwrap_err(), Error::Unexpected { name, count: 1 } if name == "bias"));
    bare.load_some(&path, "").unwrap();
    assert_eq!(bare.weight.to_vec::<f32>().unwrap(), saved.weight.to_vec::<f32>().unwrap());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn layers_come_back_from_their_files() {
    let path = std::env::temp_dir().join(format!("crossover-nn-all-{}.safetensors", std::process::id()));
    let make = |seed| {
        let key = Key::new(seed);
        Sequential::new().then(Linear::new(&key, 4, 8)).then(TransformerLayer::new(&key, 8, 2, 16))
    };
    let (first, mut second) = (make(1), make(2));
    let x = Array::linspace(-1.0, 1.0, 24).astype(DType::F32).reshape([2, 3, 4]);
    first.save(&path).unwrap();
    second.load(&path).unwrap();
    assert_eq!(first.forward(&x).to_vec::<f32>().unwrap(), second.forward(&x).to_vec::<f32>().unwrap());
    assert_eq!(first.size(), 4 * 8 + 8 + 4 * 64 + 4 * 8 + 2 * 8 * 16 + 16 + 8 + 4 * 8);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn wrong_operands_name_the_layer() {
    let layer = MultiHeadAttention::new(&Key::new(1), 8, 3);
    let error = layer.forward(&Array::ones::<f32>([1, 2, 8])).check().unwrap_err();
    assert!(error.to_string().starts_with("multi_head_attention: 3 heads do not divide 8"), "{error}");
    let layer = MultiHeadAttention::new(&Key::new(1), 8, 2);
    let error = layer.forward(&Array::ones::<f32>([2, 8])).check().unwrap_err();
    assert!(error.to_string().starts_with("multi_head_attention: x has the shape [2, 8]"), "{error}");
    let error = layer.forward(&Array::ones::<f32>([1, 2, 9])).check().unwrap_err();
    assert!(error.to_string().starts_with("linear: x has the shape [1, 2, 9]"), "{error}");
}

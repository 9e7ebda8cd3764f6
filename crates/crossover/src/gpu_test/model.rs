//! A language model of 1.3 billion parameters: how long a forward pass takes, and what memory it needs.
//!
//! GPT-3 XL's sizes: 24 layers of 2048 with heads of 128, a vocabulary of 50304 that embedding and logits share, learned
//! positions. Parameters are random; `bench/nn_gpu.py` times the same in PyTorch.

use std::time::Instant;

use crossover::{
    Array, DType, Key,
    nn::{self, Attention, Embedding, LayerNorm, Module, TransformerLayer},
    random,
};
use crossover_cuda::Gpu;
use crossover_runtime::Backend;

use crate::{Result, report::Report, setup::Setup};

pub const NAME: &str = "model of 1.3e9 parameters bf16 32x2048";
const BATCH: usize = 32;
const LENGTH: usize = 2048;
const LAYERS: u64 = 24;
const SIZE: usize = 2048;
const HEADS: usize = 16;
/// 50257 tokens, padded to a multiple of 128.
const TOKENS: usize = 50304;
const ROUNDS: usize = 7;

struct Model {
    tokens: Embedding,
    positions: Array,
    layers: Vec<TransformerLayer>,
    norm: LayerNorm,
}

impl Model {
    fn new() -> Result<Model> {
        let small = |key: u64, shape: [usize; 2]| {
            (random::normal::<f32>(&Key::new(key), shape) * 0.02).astype(DType::BF16)
        };
        let (table, positions) = (small(1, [TOKENS, SIZE]), small(2, [LENGTH, SIZE]));
        crossover::eval_all(&[&table, &positions])?;
        let mut layers = Vec::new();
        for layer in 0..LAYERS {
            let mut layer = TransformerLayer::new(&Key::new(100 + layer), SIZE, HEADS, 4 * SIZE)
                .attention(Attention::new().causal());
            layer.to_dtype(DType::BF16);
            // One after another: parameters are made in f32.
            layer.settle()?;
            layers.push(layer);
        }
        let mut norm = LayerNorm::new(SIZE);
        norm.to_dtype(DType::BF16);
        norm.settle()?;
        Ok(Model { tokens: Embedding { weight: table }, positions, layers, norm })
    }

    fn size(&self) -> usize {
        let layers: usize = self.layers.iter().map(Module::size).sum();
        layers + self.tokens.size() + self.positions.size() + self.norm.size()
    }

    /// Logits of every place.
    fn forward(&self, ids: &Array) -> Array {
        let mut x = self.tokens.forward(ids) + &self.positions;
        for layer in &self.layers {
            x = layer.forward(&x);
        }
        nn::linear(&self.norm.forward(&x), &self.tokens.weight, None)
    }
}

/// One layer, and the logits, each by itself: what the whole should take.
fn parts(gpu: &Gpu, model: &Model, report: &mut Report) -> Result<()> {
    let x = random::normal::<f32>(&Key::new(4), [BATCH, LENGTH, SIZE]).astype(DType::BF16);
    x.eval()?;
    let layer = median(gpu, &|| model.layers[0].forward(&x))?;
    report.figure("model: one layer", &[("ms", layer), ("all_ms", layer * LAYERS as f64)]);
    let logits = median(gpu, &|| nn::linear(&x, &model.tokens.weight, None))?;
    report.figure("model: logits", &[("ms", logits)]);
    Ok(())
}

/// The median milliseconds of a few rounds, from the call until the device is done.
fn median(gpu: &Gpu, work: &dyn Fn() -> Array) -> Result<f64> {
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        gpu.synchronise()?;
        let start = Instant::now();
        work().eval()?;
        gpu.synchronise()?;
        // The first compiles kernels and tries algorithms.
        if round > 0 {
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

/// On a backend of its own, whose memory nobody else has used.
pub fn run(report: &mut Report) -> Result<()> {
    let own = Setup::open()?;
    own.runtime(true).scope(|| -> Result<()> {
        let gpu = own.gpu()?;
        let model = Model::new()?;
        let ids = random::integers::<i64>(&Key::new(3), [BATCH, LENGTH], 0..TOKENS as i64);
        ids.eval()?;
        // What making parameters took is no part of it.
        let made = own.cuda.held().map_or(0, |(_, peak)| peak);
        let first = model.forward(&ids);
        let seen = first.slice(crossover::s![0, -1]).astype(DType::F32);
        let finite = seen.isfinite().all(()).item::<bool>()?;
        report.check("logits of the model are numbers", finite, format!("{} parameters", model.size()));
        drop((first, seen));
        let ms = median(gpu, &|| model.forward(&ids))?;
        let places = (BATCH * LENGTH) as f64;
        let peak = own.cuda.held().map_or(0, |(_, peak)| peak);
        report.figure(
            NAME,
            &[
                ("ms", ms),
                ("tokens_per_s", places / ms * 1e3),
                ("parameters", model.size() as f64),
                ("peak_GB", peak as f64 / 1e9),
                ("made_GB", made as f64 / 1e9),
            ],
        );
        // Afterwards: they have memory of their own.
        parts(gpu, &model, report)
    })
}

//! How fast attention and layers are through the runtime, by the device's clock, and what memory they take.

use crossover::{
    Array, DType, Key, Precision,
    nn::{Attention, Module, TransformerLayer},
    random,
};
use crossover_runtime::Backend;

use crate::{Options, Result, bench, model, report::Report, setup::Setup, workloads};

/// A name, the shape of q, k and v, dtype, whether causal, precision.
type Case = (&'static str, [usize; 4], DType, bool, Precision);

const CASES: &[Case] = &[
    ("attention bf16 4x16x4096x128", [4, 16, 4096, 128], DType::BF16, false, Precision::Exact),
    ("attention bf16 4x16x4096x128 causal", [4, 16, 4096, 128], DType::BF16, true, Precision::Exact),
    ("attention bf16 2x16x16384x128 causal", [2, 16, 16384, 128], DType::BF16, true, Precision::Exact),
    ("attention bf16 8x12x2048x64", [8, 12, 2048, 64], DType::BF16, false, Precision::Exact),
    ("attention bf16 32x12x128x64", [32, 12, 128, 64], DType::BF16, false, Precision::Exact),
    ("attention f32 8x12x2048x64", [8, 12, 2048, 64], DType::F32, false, Precision::Exact),
    ("attention tf32 8x12x2048x64", [8, 12, 2048, 64], DType::F32, false, Precision::Tf32),
];

const MEMORY: &str = "memory of attention bf16 2x16x16384x128 causal";
/// Attention at this length takes hardly more than operands and result.
const LONG: [usize; 4] = [2, 16, 16384, 128];

pub fn run(setup: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    let wants = |name: &str| options.wants(name);
    let gpu = setup.gpu()?;
    setup.runtime(true).scope(|| -> Result<()> {
        // Filling it keeps the device busy while the host queues.
        let delay = gpu.allocate(1 << 30)?;
        for &(name, shape, dtype, causal, precision) in CASES.iter().filter(|case| wants(case.0)) {
            let x = operands(shape, dtype)?;
            let options = Attention::new().precision(precision);
            let options = if causal { options.causal() } else { options };
            let times = bench::time(gpu, &delay, &|_| evaluated(&options.call(&x[0], &x[1], &x[2])))?;
            let [b, h, s, d] = shape.map(|n| n as f64);
            let flops = 4.0 * b * h * s * s * d * if causal { 0.5 } else { 1.0 };
            let rate = flops / times.device / 1e9;
            report.figure(name, &[("ms", times.device), ("host_us", times.host), ("TFLOP_s", rate)]);
        }
        // The functions of seed 003.
        let seed = ["gelu 4096x1024 f32", "linear+bias+gelu 1024x512x768 f32", "layer norm 1024x768 f32"];
        for work in
            workloads::all(Some(&seed.map(str::to_owned)))?.into_iter().filter(|work| wants(work.name))
        {
            let times = bench::time(gpu, &delay, &|round| evaluated(&(work.work)(&work.operands, round)))?;
            report.figure(work.name, &[("ms", times.device), ("host_us", times.host)]);
        }
        for (name, shape) in
            [("layer bf16 32x2048x768", [32, 2048, 768]), ("layer bf16 32x128x768", [32, 128, 768])]
        {
            if !wants(name) {
                continue;
            }
            let mut layer = TransformerLayer::new(&Key::new(1), 768, 12, 3072);
            layer.to_dtype(DType::BF16);
            layer.settle()?;
            let x = random::normal::<f32>(&Key::new(2), shape).astype(DType::BF16);
            x.eval()?;
            let times = bench::time(gpu, &delay, &|_| evaluated(&layer.forward(&x)))?;
            let tokens = (shape[0] * shape[1]) as f64;
            let rate = tokens / times.device;
            report.figure(name, &[("ms", times.device), ("host_us", times.host), ("tokens_per_ms", rate)]);
        }
        Ok(())
    })?;
    if wants(MEMORY) {
        memory(report)?;
    }
    if wants(model::NAME) { model::run(report) } else { Ok(()) }
}

fn operands(shape: [usize; 4], dtype: DType) -> Result<[Array; 3]> {
    let x = [1, 2, 3].map(|seed| random::normal::<f32>(&Key::new(seed), shape).astype(dtype));
    crossover::eval_all(&[&x[0], &x[1], &x[2]])?;
    Ok(x)
}

/// The most that attention over long sequences holds, beside its operands and its result. On a backend of its own, whose memory nobody
/// else has used.
fn memory(report: &mut Report) -> Result<()> {
    let own = Setup::open()?;
    own.runtime(true).scope(|| -> Result<()> {
        let x = operands(LONG, DType::BF16)?;
        let attention = Attention::new().causal();
        for _ in 0..3 {
            attention.call(&x[0], &x[1], &x[2]).eval()?;
        }
        own.gpu()?.synchronise()?;
        let least = 4.0 * LONG.iter().product::<usize>() as f64 * 2.0;
        let peak = own.cuda.held().map_or(f64::INFINITY, |(_, peak)| peak as f64);
        let detail = format!("{:.1} MB at most for {:.1} MB of operands and result", peak / 1e6, least / 1e6);
        report.check("memory of attention over 16384 keys", peak <= 1.05 * least, detail);
        let numbers = [("peak_MB", peak / 1e6), ("operands_MB", least / 1e6), ("over", peak / least - 1.0)];
        report.figure(MEMORY, &numbers);
        Ok(())
    })
}

fn evaluated(work: &Array) -> Result<()> {
    Ok(work.eval().map(drop)?)
}

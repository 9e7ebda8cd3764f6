//! Attention and layers on the GPU against float64 on the CPU.

use crossover::{
    Array, DType, Device, Key, Precision,
    nn::{Attention, Module, TransformerLayer},
    random, with_device,
};

use crate::{Options, Result, nn_speed, report::Report, setup::Setup};

/// What a call of attention is made of: a name, shapes of q and k, dtype, options.
type Case = (&'static str, [usize; 4], [usize; 2], DType, fn(Attention) -> Attention);

const CASES: &[Case] = &[
    ("plain", [2, 3, 1000, 128], [3, 1333], DType::BF16, |a| a),
    ("causal", [2, 3, 1000, 64], [3, 1000], DType::BF16, Attention::causal),
    ("window", [1, 3, 1000, 128], [3, 1000], DType::F16, |a| a.causal().window(200, 0)),
    ("shared heads", [2, 8, 600, 96], [2, 700], DType::BF16, |a| a),
    ("many tiles", [4, 16, 2048, 128], [16, 2048], DType::BF16, Attention::causal),
    ("odd head", [1, 2, 600, 41], [2, 600], DType::BF16, |a| a),
    ("few queries", [2, 4, 3, 128], [4, 5000], DType::BF16, |a| a),
    ("short", [4, 3, 120, 64], [3, 120], DType::F16, |a| a),
    ("short, many heads", [16, 12, 128, 64], [12, 128], DType::BF16, |a| a),
    ("short, many heads, causal", [16, 12, 200, 48], [4, 211], DType::BF16, Attention::causal),
    ("short, many wide heads", [16, 12, 100, 128], [12, 140], DType::F16, |a| a),
    ("lengths", [2, 3, 1000, 64], [3, 1000], DType::BF16, |a| a.lengths(&[17, 900])),
    ("bias", [1, 2, 600, 64], [2, 600], DType::BF16, |a| {
        a.bias(&random::normal::<f32>(&Key::new(9), [1, 1, 600, 600]))
    }),
    ("wide", [1, 2, 600, 256], [2, 600], DType::BF16, |a| a),
    ("exact", [2, 3, 500, 64], [3, 700], DType::F32, Attention::causal),
    ("exact 128", [1, 3, 500, 128], [3, 700], DType::F32, |a| a),
    ("exact few", [1, 2, 5, 64], [2, 4000], DType::F32, |a| a),
    ("tf32", [2, 3, 500, 64], [3, 700], DType::F32, |a| a.precision(Precision::Tf32)),
    ("tf32 128", [2, 3, 500, 128], [3, 700], DType::F32, |a| a.precision(Precision::Tf32)),
];

/// The relative error of a call against float64: the weights spelled out. Of the plain call, that with log-sum-exps, and of rows that lie
/// as projections leave them.
fn errors(case: &Case) -> Result<[f64; 3]> {
    let (_, q, [heads, keys], dtype, options) = *case;
    let k = [q[0], heads, keys, q[3]];
    let make = |seed, shape: [usize; 4]| random::normal::<f32>(&Key::new(seed), shape).astype(dtype);
    let (q, k, v) = (make(1, q), make(2, k), make(3, k));
    let options = options(Attention::new());
    let (out, lse) = options.call_with_lse(&q, &k, &v);
    let plain = options.call(&q, &k, &v);
    let rows = |x: &Array| x.swap_axes(1, 2);
    let pairs = Array::concat(&[&rows(&k).expand_dims(2), &rows(&v).expand_dims(2)], 2);
    let beside = rows(&options.call_pairs(&rows(&q), &pairs));
    crossover::eval_all(&[&out, &lse, &plain, &beside])?;
    with_device(Device::Cpu, || {
        let group = q.shape().dims()[1] / heads;
        let wide = |x: &Array| x.astype(DType::F64);
        let want = options.weights(&q, &k).astype(DType::F64).matmul(&wide(&v).repeat(group, Some(1)));
        let size = want.square().sum(()).item::<f64>()?.sqrt();
        let apart = |x: &Array| -> Result<f64> {
            Ok((wide(x) - &want).square().sum(()).item::<f64>()?.sqrt() / size)
        };
        Ok([apart(&plain)?, apart(&out)?, apart(&beside)?])
    })
}

pub fn run(setup: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    let runtime = setup.runtime(true);
    runtime.scope(|| -> Result<()> {
        for case in CASES.iter().filter(|case| options.wants(case.0)) {
            let bound = match (case.0, case.3) {
                (name, DType::F32) if name.starts_with("tf32") => 1e-3,
                (_, DType::F32) => 4e-6,
                (_, DType::F16) => 6e-4,
                _ => 4e-3,
            };
            let before = runtime.executor().counts().fallbacks;
            let errors = errors(case)?;
            let fell = runtime.executor().counts().fallbacks - before;
            let [plain, packed, rows] = errors;
            let detail = format!(
                "error {plain:.2e}, with log-sum-exps {packed:.2e}, of rows {rows:.2e}; on the host: {fell}"
            );
            let fits = errors.iter().all(|&error| error < bound) && fell == 0;
            report.check(&format!("attention: {} {}", case.0, case.3), fits, detail);
        }
        if options.wants("a transformer layer") {
            layer(report)?;
        }
        Ok(())
    })?;
    nn_speed::run(setup, options, report)
}

/// A layer on the GPU against the CPU.
fn layer(report: &mut Report) -> Result<()> {
    let layer = TransformerLayer::new(&Key::new(1), 768, 12, 3072);
    let x = random::normal::<f32>(&Key::new(2), [2, 300, 768]);
    let got = layer.forward(&x);
    got.eval()?;
    let apart = with_device(Device::Cpu, || (layer.forward(&x) - &got).abs().max(()).item::<f32>())?;
    report.check("a transformer layer", apart < 1e-3, format!("largest distance to the CPU's {apart:.2e}"));
    Ok(())
}

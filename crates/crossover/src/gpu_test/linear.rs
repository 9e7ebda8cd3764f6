//! Products with a bias and an activation folded in: one call, within the bound of the product and of the activation.

use crossover::{Array, DType, Device, Key, random, with_device};

use crate::{Options, Result, report::Report, setup::Setup};

/// A product and a row vector to what follows.
type Work = fn(&Array, &Array) -> Array;

/// What follows a product, and the most by which it stretches an error.
const WORK: [(&str, f64, Work); 5] = [
    ("bias", 1.0, |x, b| x + b),
    ("gelu", 1.13, |x, _| x.gelu()),
    ("bias+gelu", 1.13, |x, b| (x + b).gelu()),
    ("relu", 1.0, |x, _| x.relu()),
    ("bias+relu", 1.0, |x, b| (x + b).relu()),
];

pub fn run(setup: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    let runtime = setup.runtime(true);
    runtime.scope(|| -> Result<()> {
        for dtype in [DType::F32, DType::BF16, DType::F16] {
            for (name, stretch, work) in WORK {
                let normal = |seed: u64, shape: &[usize]| {
                    (random::normal::<f64>(&Key::new(seed), shape.to_vec()) * 0.5).astype(dtype)
                };
                let (a, w, b) = (normal(1, &[300, 96]), normal(2, &[96, 128]), normal(3, &[128]));
                for x in [&a, &w, &b] {
                    x.eval()?;
                }
                let before = runtime.executor().counts().launches;
                let got = work(&a.matmul(&w), &b);
                got.eval()?;
                let launches = runtime.executor().counts().launches - before;
                let (result, sums) = match dtype {
                    DType::F32 => (f64::from(f32::EPSILON), f64::from(f32::EPSILON)),
                    DType::F16 => (2f64.powi(-10), f64::from(f32::EPSILON)),
                    _ => (2f64.powi(-7), f64::from(f32::EPSILON)),
                };
                let excess = with_device(Device::Cpu, || -> Result<f64> {
                    let wide = [&a, &w, &b].map(|x| x.astype(DType::F64));
                    let exact = work(&wide[0].matmul(&wide[1]), &wide[2]);
                    let reach = wide[0].abs().matmul(&wide[1].abs()) + wide[2].abs();
                    // The sum of 98 terms, a rounding of the result and of what goes into it, and an activation good to
                    // 4 units in the last place of f32.
                    let bound = &reach * (98.0 * 2.0 * sums * stretch + 4.0 * sums)
                        + exact.abs() * result
                        + (&reach * 0.0 + 2f64.powi(-24));
                    Ok(((got.astype(DType::F64) - exact).abs() / bound).max(()).item::<f64>()?)
                })?;
                let ok = excess <= 1.0 && launches == 1;
                report.check(
                    &format!("linear {name} {dtype}"),
                    ok,
                    format!("error {excess:.3} of its bound, {launches} launches"),
                );
            }
            let holes = Array::full([64, 64], f32::NAN).astype(dtype);
            let relu = holes.matmul(&holes).relu();
            let gelu = holes.matmul(&holes).gelu();
            let kept = |x: &Array| -> Result<bool> {
                Ok(x.astype(DType::F32).to_vec::<f32>()?.iter().all(|v| v.is_nan()))
            };
            let (relu, gelu) = (kept(&relu)?, kept(&gelu)?);
            report.check(
                &format!("linear keeps NaN {dtype}"),
                relu && gelu,
                format!("relu {relu}, gelu {gelu}"),
            );
        }
        Ok(())
    })
}

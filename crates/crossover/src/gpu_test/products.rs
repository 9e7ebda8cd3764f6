//! Matrix products on the GPU against products in f64 on the CPU, within the bound of a sum of as many terms.

use crossover::{Array, DType, Device, Key, random, s, with_device};

use crate::{Options, Result, report::Report, setup::Setup};

/// Largest error over its bound, |left| · |right| · (depth + 2) · epsilon plus one rounding of the result, which below the
/// smallest normal number is absolute.
fn excess(left: &Array, right: &Array, got: &Array) -> Result<f64> {
    let depth = left.shape().dims().last().copied().unwrap_or(0) as f64;
    let (sums, result) = match got.dtype() {
        DType::F64 | DType::C128 => (f64::EPSILON, f64::EPSILON),
        DType::F16 => (f64::from(f32::EPSILON), 2f64.powi(-10)),
        DType::BF16 => (f64::from(f32::EPSILON), 2f64.powi(-7)),
        _ => (f64::from(f32::EPSILON), f64::from(f32::EPSILON)),
    };
    let least = if got.dtype() == DType::F16 { 2f64.powi(-24) } else { 1e-300 };
    let wide = if got.dtype().is_complex() { DType::C128 } else { DType::F64 };
    with_device(Device::Cpu, || {
        let (a, b) = (left.astype(wide), right.astype(wide));
        let exact = a.matmul(&b);
        let bound = a.abs().matmul(&b.abs()) * ((depth + 2.0) * sums * 2.0) + exact.abs() * result + least;
        let error = (got.astype(wide) - exact).abs();
        Ok((error / bound).max(()).item::<f64>()?)
    })
}

pub fn run(setup: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    let runtime = setup.runtime(true);
    runtime.scope(|| -> Result<()> {
        let mut worst = (0.0, String::new());
        let mut count = 0;
        let dtypes = [DType::F32, DType::F64, DType::F16, DType::BF16, DType::C64, DType::C128];
        for (case, &dtype) in dtypes.iter().cycle().take(dtypes.len() * 8).enumerate() {
            let seed = case as u64;
            let normal = |seed: u64, shape: Vec<usize>| {
                let real = random::normal::<f64>(&Key::new(seed), shape);
                real.astype(dtype)
            };
            let (m, k, n) =
                [(64, 64, 64), (1, 300, 7), (129, 65, 33), (200, 1, 50), (33, 500, 1), (256, 128, 96)]
                    [(case / 6 + case) % 6];
            let (a, b) = match case / 6 {
                0 => (normal(seed, vec![m, k]), normal(seed + 99, vec![k, n])),
                1 => (normal(seed, vec![k, m]).t(), normal(seed + 99, vec![k, n])),
                2 => (normal(seed, vec![m, k]), normal(seed + 99, vec![n, k]).t()),
                3 => (normal(seed, vec![k, m]).t(), normal(seed + 99, vec![n, k]).t()),
                4 => (normal(seed, vec![5, m, k]), normal(seed + 99, vec![5, k, n])),
                5 => (normal(seed, vec![2, 3, m, k]), normal(seed + 99, vec![3, k, n])),
                6 => (
                    normal(seed, vec![m + 3, k + 5]).slice(s![1..m as i64 + 1, 3..k as i64 + 3]),
                    normal(seed + 99, vec![k, n]),
                ),
                // Strides along both axes are the host's work.
                _ => (normal(seed, vec![m, 2 * k]).slice(s![.., ..; 2]), normal(seed + 99, vec![k, n])),
            };
            let got = a.matmul(&b);
            got.eval()?;
            let excess = excess(&a, &b, &got)?;
            count += 1;
            if excess.is_nan() || excess > worst.0 {
                worst = (excess, format!("{dtype} {:?} x {:?}", a.shape().dims(), b.shape().dims()));
            }
        }
        let counts = runtime.executor().counts();
        let detail = format!(
            "{count} products, the largest error {:.3} of its bound ({}); {} launches, {} on the host",
            worst.0, worst.1, counts.launches, counts.fallbacks
        );
        report.check("products", worst.0 <= 1.0 && counts.fallbacks < count, detail);
        let empty = Array::zeros::<f32>([3, 0]).matmul(&Array::zeros::<f32>([0, 4])).to_vec::<f32>()?;
        report.check("a product over nothing", empty == [0.0; 12], format!("{empty:?}"));
        Ok(())
    })
}

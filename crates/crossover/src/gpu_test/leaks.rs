//! A thousand rounds of everything leave as much memory in use as they found: in the pool, on the device, on the host.

use crossover::{Array, CustomKernel, DType, Key, Scatter, fft, linalg, random, signal};
use crossover_cuda::proof::custom::elementwise;

use crate::{Options, Result, report::Report, setup::Setup};

const ROUNDS: u64 = 1000;
/// Rounds before the first look: caches and pools have their size after them.
const FIRST: u64 = 50;
/// What the driver may keep for itself, and what allocators of the host may not give back.
const SLACK: u64 = 32 << 20;

/// Fused kernels of every kind, every kind of call, a kernel of a user's, copies both ways.
pub fn round(seed: u64, saxpy: &CustomKernel) -> Result<()> {
    let key = Key::new(seed);
    let x = random::normal::<f32>(&key, [257, 1031]);
    let y = x.softmax(-1).eval()?.clone() + x.standardise(0);
    let z = saxpy.call(&[&y.gelu(), &x, &x.index(0)]);
    let ids = random::integers::<i64>(&key, [400], 0..257);
    let sorted = z.sort(-1).sum(0).cumulative_sum(0);
    let taken = z.take(&ids, 0).astype(DType::BF16).astype(DType::F32);
    let added = Array::zeros::<f32>([257]).scatter(&[&ids], Array::ones::<f32>([400]), Scatter::Add);
    let smooth = signal::convolve(&x, &Array::ones::<f32>([3, 5]));
    let waves = fft::rfft(&x);
    let square = x.matmul(&x.t()) + Array::eye::<f32>(257) * 1000.0;
    let factor = if seed.is_multiple_of(10) { linalg::cholesky(&square) } else { square.clone() };
    crossover::eval_all(&[&sorted, &taken, &added, &smooth, &waves, &factor])?;
    let _ = (sorted.to_vec::<f32>()?, y.max(()).item::<f32>()?, added.to_vec::<f32>()?);
    let host = Array::from(vec![seed as f32; 100_000]);
    let _ = (host * 2.0).to_vec::<f32>()?;
    Ok(())
}

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

pub fn run(setup: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    let saxpy = elementwise().swap_remove(0);
    setup.runtime(true).scope(|| {
        for seed in 0..FIRST {
            round(seed, &saxpy)?;
        }
        setup.cuda.synchronise()?;
        let (before, host_before) = (setup.cuda.memory()?, resident());
        for seed in 0..ROUNDS {
            round(seed, &saxpy)?;
        }
        setup.cuda.synchronise()?;
        let (after, host_after) = (setup.cuda.memory()?, resident());
        let (grown, taken) = (host_after.saturating_sub(host_before), before.free.saturating_sub(after.free));
        let detail = format!(
            "{ROUNDS} rounds: pool {} bytes live before, {} after, {} and {} reserved; the device has {} KiB less free; \
             the host grew by {} KiB",
            before.live,
            after.live,
            before.reserved,
            after.reserved,
            taken >> 10,
            grown >> 10
        );
        let pool = after.live <= before.live && after.reserved <= before.reserved;
        report.check("leaks", pool && taken < SLACK && grown < SLACK, detail);
        Ok(())
    })
}

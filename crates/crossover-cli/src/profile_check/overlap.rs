//! A trace in which copies run beside kernels, where the machine can.

use std::path::Path;

use anyhow::{Context, Result};
use crossover::{
    Array, Runtime,
    profile::{Session, Trace, scope},
};
use serde::Serialize;

/// The JSON of `crossover profile-check overlap`.
#[derive(Debug, Serialize)]
pub struct Hidden {
    devices: Vec<String>,
    copies: usize,
    kernels: usize,
    /// Milliseconds during which something was copied, a kernel ran, and both.
    copies_ms: f64,
    kernels_ms: f64,
    both_ms: f64,
    wall_ms: f64,
    /// By how much the breakdown and the wall time differ, as a share of it.
    residue: f64,
}

/// Computes while copies are under way, and keeps the trace.
pub fn record(output: &Path, megabytes: usize) -> Result<Hidden> {
    let count = megabytes.max(1) << 18;
    let operand = |seed: usize| {
        let values: Vec<f32> = (0..count).map(|i| ((i * 31 + seed) % 1000) as f32 / 250.0 - 2.0).collect();
        let array = Array::from_vec(values, [count]);
        array.eval().cloned()
    };
    let device = Runtime::current()
        .device_count()
        .checked_sub(1)
        .map_or(crossover::Device::Cpu, |_| crossover::Device::Cuda(0));
    // Compilers are over, and memory has been taken once, before anything is recorded.
    crossover::with_device(device, || work(device, &operand(9)?, &[operand(7)?, operand(8)?]))?;
    let (whole, parts) = (operand(0)?, [operand(1)?, operand(2)?, operand(3)?, operand(4)?]);
    let session = Session::begin_timing_everything("copies beside kernels");
    crossover::with_device(device, || work(device, &whole, &parts))?;
    let trace = session.end();
    trace.save(output).with_context(|| format!("could not write {}", output.display()))?;
    Ok(hidden(&trace))
}

/// One large array from the host and back, then several, each on its way while the one before is computed.
fn work(device: crossover::Device, whole: &Array, parts: &[Array]) -> Result<()> {
    {
        let _scope = scope("from the host and back");
        let values = (whole.gelu() * 0.5).to_vec::<f32>()?;
        anyhow::ensure!(values[0].is_finite(), "a result that is no number");
    }
    let _scope = scope("one ahead");
    let mut coming = parts.first().map(|first| first.prefetch(device));
    for at in 0..parts.len() {
        let here = coming.take().map(|coming| coming.wait()).transpose()?.context("nothing is coming")?;
        coming = parts.get(at + 1).map(|next| next.prefetch(device));
        // Long enough for the copy to be seen beside it.
        let mut x = here;
        for _ in 0..20 {
            x = x.gelu().tanh() + 0.25;
            x.eval()?;
        }
        x.sum(()).item::<f32>()?;
    }
    Ok(())
}

/// What a trace says.
pub fn read(path: &Path) -> Result<Hidden> {
    Ok(hidden(&Trace::load(path).with_context(|| format!("{} says nothing", path.display()))?))
}

fn hidden(trace: &Trace) -> Hidden {
    let of = |kind: &str| trace.spans.kind.iter().filter(|k| k.as_str() == kind).count();
    let (overlap, ms) = (trace.overlap(), |ns: u64| ns as f64 / 1e6);
    Hidden {
        devices: trace.machine.devices.iter().map(|device| device.name.clone()).collect(),
        copies: of("t"),
        kernels: of("k"),
        copies_ms: ms(overlap.copies_ns),
        kernels_ms: ms(overlap.kernels_ns),
        both_ms: ms(overlap.both_ns),
        wall_ms: ms(trace.wall_ns),
        residue: (trace.breakdown.total() as f64 - trace.wall_ns as f64).abs() / trace.wall_ns.max(1) as f64,
    }
}

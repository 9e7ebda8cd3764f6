//! A trace in which copies run beside kernels, where the machine can.

use std::{
    path::Path,
    time::{Duration, Instant},
};

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
    /// The same by the program's own clock, from before the session to after its last work; of a file, nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_ms: Option<f64>,
    /// Milliseconds that are in spans of the library by the trace, and that the program's own clock saw pass in calls of it.
    ours_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls_ms: Option<f64>,
    /// By how much the parts of the breakdown and the program's own clock differ, as a share of that: the larger of all of it, and of what is the library's.
    #[serde(skip_serializing_if = "Option::is_none")]
    residue: Option<f64>,
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
    let start = Instant::now();
    // What is not ours: the parts of the breakdown must leave so much to the program.
    std::thread::sleep(PAUSE);
    let begun = Instant::now();
    crossover::with_device(device, || work(device, &whole, &parts))?;
    let (calls, clock) = (begun.elapsed(), start.elapsed());
    let trace = session.end();
    trace.save(output).with_context(|| format!("could not write {}", output.display()))?;
    Ok(hidden(&trace, Some((clock, calls))))
}

/// How long the program does nothing of ours in a session.
const PAUSE: Duration = Duration::from_millis(20);

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
    Ok(hidden(&Trace::load(path).with_context(|| format!("{} says nothing", path.display()))?, None))
}

/// What a trace says, beside what another clock saw: of everything, and of calls of the library.
fn hidden(trace: &Trace, seen: Option<(Duration, Duration)>) -> Hidden {
    let of = |kind: &str| trace.spans.kind.iter().filter(|k| k.as_str() == kind).count();
    let (overlap, ms) = (trace.overlap(), |ns: u64| ns as f64 / 1e6);
    let parts = &trace.breakdown;
    let ours = parts.total() - parts.rest_ns;
    let millis = |time: Duration| 1e3 * time.as_secs_f64();
    let residue = seen.map(|(clock, calls)| {
        let all = millis(clock);
        let whole = (ms(parts.total()) - all).abs();
        // Most of what the program does itself is its pause.
        whole.max((ms(ours) - millis(calls)).abs()) / all
    });
    Hidden {
        devices: trace.machine.devices.iter().map(|device| device.name.clone()).collect(),
        copies: of("t"),
        kernels: of("k"),
        copies_ms: ms(overlap.copies_ns),
        kernels_ms: ms(overlap.kernels_ns),
        both_ms: ms(overlap.both_ns),
        wall_ms: ms(trace.wall_ns),
        clock_ms: seen.map(|(clock, _)| millis(clock)),
        ours_ms: ms(ours),
        calls_ms: seen.map(|(_, calls)| millis(calls)),
        residue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_residue_is_against_another_clock() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trace.json");
        let seen = record(&file, 4).unwrap();
        let (clock, residue) = (seen.clock_ms.unwrap(), seen.residue.unwrap());
        assert!(clock >= 20.0 && seen.wall_ms >= 20.0 && residue < 0.5, "{seen:?}");
        // A clock that saw twice as much is told.
        let trace = Trace::load(&file).unwrap();
        let twice = |part: f64| Duration::from_secs_f64(2e-3 * part);
        let off = hidden(&trace, Some((twice(clock), twice(seen.calls_ms.unwrap()))));
        assert!(off.residue.unwrap() > 0.2, "{off:?}");
        assert!(read(&file).unwrap().residue.is_none());
    }
}

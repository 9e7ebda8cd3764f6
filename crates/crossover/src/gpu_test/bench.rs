//! Speed, by the device's clock: many launches behind one another, medians, and a copy of the same size beside each.

use std::time::Instant;

use crossover::{Array, Key, random};
use crossover_cuda::{Gpu, Memory};

use crate::{
    Options, Result,
    report::Report,
    setup::Setup,
    workloads::{self, Workload},
};

/// Calls between two timestamps, and such stretches per figure.
const CALLS: u64 = 20;
const STRETCHES: usize = 9;

pub fn run(setup: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    let gpu = setup.gpu()?;
    // Filling it keeps the device busy while the host queues, so that calls follow one another without a gap.
    let delay = gpu.allocate(1 << 30)?;
    setup.runtime(true).scope(|| -> Result<()> {
        for workload in workloads::all(options.rows.as_deref())? {
            let times = time(gpu, &delay, &workload)?;
            let mut numbers = vec![("ms", times.device), ("host_us", times.host)];
            if workload.bytes > 0 {
                let copy = copy(gpu, &delay, workload.bytes / 2)?;
                let rate = workload.bytes as f64 / times.device / 1e6;
                numbers.extend([("copy_ms", copy), ("of_copy", copy / times.device), ("GB_s", rate)]);
            }
            report.figure(workload.name, &numbers);
        }
        Ok(())
    })?;
    if options.rows.is_some() {
        return Ok(());
    }
    tiny(setup, report)?;
    round_trip(setup, report)
}

struct Times {
    /// Milliseconds per call by the device's clock.
    device: f64,
    /// Microseconds per call that the host spends.
    host: f64,
}

fn time(gpu: &Gpu, delay: &Memory, workload: &Workload) -> Result<Times> {
    for round in 0..3 {
        (workload.work)(&workload.operands, round).eval()?;
    }
    gpu.synchronise()?;
    let start = Instant::now();
    (workload.work)(&workload.operands, 3).eval()?;
    gpu.synchronise()?;
    // Slow work needs no crowd of calls.
    let calls = if start.elapsed().as_secs_f64() > 2e-3 { 3 } else { CALLS };
    let (mut device, mut host) = (Vec::new(), Vec::new());
    for stretch in 0..STRETCHES as u64 {
        for _ in 0..4 {
            gpu.fill(delay, stretch as u8)?;
        }
        let begin = gpu.record()?;
        let clock = Instant::now();
        for call in 0..calls {
            (workload.work)(&workload.operands, 10 + stretch * CALLS + call).eval()?;
        }
        host.push(clock.elapsed().as_secs_f64() * 1e6 / calls as f64);
        let end = gpu.record()?;
        gpu.synchronise()?;
        device.push(f64::from(begin.until(&end)?) / calls as f64);
    }
    Ok(Times { device: median(device), host: median(host) })
}

/// The driver's copy of so many bytes, timed the same way.
fn copy(gpu: &Gpu, delay: &Memory, bytes: usize) -> Result<f64> {
    let (from, to) = (gpu.allocate(bytes)?, gpu.allocate(bytes)?);
    gpu.fill(&from, 0x3c)?;
    let mut times = Vec::new();
    for _ in 0..STRETCHES {
        gpu.fill(delay, 1)?;
        let begin = gpu.record()?;
        for _ in 0..CALLS {
            gpu.copy(&from, &to, bytes)?;
        }
        let end = gpu.record()?;
        gpu.synchronise()?;
        times.push(f64::from(begin.until(&end)?) / CALLS as f64);
    }
    Ok(median(times))
}

/// Twenty kernels of a thousand elements that wait for one another.
fn tiny(setup: &Setup, report: &mut Report) -> Result<()> {
    setup.runtime(false).scope(|| -> Result<()> {
        let x = random::normal::<f32>(&Key::new(50), [1000]);
        x.eval()?;
        let chain = || -> Result<()> {
            let mut y: Array = x.clone();
            for _ in 0..20 {
                y = y.square();
            }
            y.eval()?;
            Ok(())
        };
        for _ in 0..5 {
            chain()?;
        }
        setup.cuda.synchronise()?;
        let (mut host, mut whole) = (Vec::new(), Vec::new());
        for _ in 0..51 {
            let start = Instant::now();
            chain()?;
            host.push(start.elapsed().as_secs_f64() * 1e6 / 20.0);
            setup.cuda.synchronise()?;
            whole.push(start.elapsed().as_secs_f64() * 1e6 / 20.0);
        }
        report.figure(
            "chain of 20 tiny kernels, each",
            &[("host_us", median(host)), ("with_wait_us", median(whole))],
        );
        Ok(())
    })
}

/// Host memory in, GELU on the device, host memory out.
fn round_trip(setup: &Setup, report: &mut Report) -> Result<()> {
    setup.runtime(true).scope(|| -> Result<()> {
        let values: Vec<f32> = (0..10_000_000).map(|i| (i % 1999) as f32 * 0.004 - 4.0).collect();
        let mut times = Vec::new();
        let mut out = Vec::new();
        for _ in 0..9 {
            let start = Instant::now();
            out = Array::from(values.as_slice()).gelu().to_vec::<f32>()?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        report.check("round trip", out.len() == values.len(), format!("{} values", out.len()));
        report.figure("host, gelu 1e7 f32, host", &[("ms", median(times))]);
        Ok(())
    })
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

//! Speed, by the device's clock: many launches behind one another, medians, and a copy of the same size beside each.

use std::{sync::Arc, time::Instant};

use crossover::{Array, Key, Runtime, keepdims, random};
use crossover_cpu::CpuBackend;
use crossover_cuda::{CudaBackend, Gpu, Memory};
use crossover_plan::Options as PlanOptions;
use crossover_runtime::{Backend, Executor, Machine, Placement};

use crate::{
    Options, Result,
    report::Report,
    setup::{GPU, Setup},
    workloads,
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
            let call = |round| Ok((workload.work)(&workload.operands, round).eval().map(drop)?);
            let times = time(gpu, &delay, &call)?;
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
    if options.wants(CHAIN) {
        tiny(setup, report)?;
    }
    if options.wants(COLD) {
        cold(report)?;
    }
    if options.wants(ROUND_TRIP) {
        round_trip(setup, report)?;
    }
    Ok(())
}

const CHAIN: &str = "chain of 20 tiny kernels, each";
const COLD: &str = "cold compile of a fused kernel";
const ROUND_TRIP: &str = "host, gelu 1e7 f32, host";

/// What compiling takes, one kernel at a time and nothing kept from before.
fn cold(report: &mut Report) -> Result<()> {
    let cuda = Arc::new(CudaBackend::new(0).cache(None));
    let machine = Machine::new(Arc::new(CpuBackend::new()), vec![cuda.clone()])?;
    let executor = Executor::new(machine, PlanOptions::default(), Placement::On(GPU));
    Runtime::from_executor(executor).scope(|| -> Result<()> {
        let x = random::normal::<f32>(&Key::new(51), [64, 1024]);
        x.eval()?;
        let kernels: [fn(&Array) -> Array; 12] = [
            |x| x.gelu(),
            |x| x.exp() * 2.0,
            |x| x.sin() + x.cos(),
            |x| x.softmax(-1),
            |x| (x - x.mean(keepdims(-1))) / x.std(keepdims(-1)),
            |x| x.square().sum(0),
            |x| x.tanh() * x,
            |x| x.abs().sqrt().max(-1),
            |x| (x / 3.0).floor().astype(crossover::DType::I32),
            |x| x.t() + 1.0,
            |x| x.sum(()),
            |x| x.greater(0.0).where_(x, 0.0),
        ];
        for kernel in kernels {
            kernel(&x).eval()?;
        }
        let records = cuda.kernels();
        let asked = records.iter().filter(|kernel| !kernel.source.contains("xo_philox"));
        let times: Vec<f64> = asked.filter_map(|kernel| kernel.compile_ms).collect();
        let most = times.iter().copied().fold(0.0, f64::max);
        let numbers = [("kernels", times.len() as f64), ("median_ms", median(times)), ("most_ms", most)];
        report.figure(COLD, &numbers);
        Ok(())
    })
}

pub struct Times {
    /// Milliseconds per call by the device's clock.
    pub device: f64,
    /// Microseconds per call that the host spends.
    pub host: f64,
}

/// Times a call that queues work; it is told its number. Filling `delay` keeps the device busy while the host queues.
pub fn time(gpu: &Gpu, delay: &Memory, call: &dyn Fn(u64) -> Result<()>) -> Result<Times> {
    for round in 0..3 {
        call(round)?;
    }
    gpu.synchronise()?;
    let start = Instant::now();
    call(3)?;
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
        for number in 0..calls {
            call(10 + stretch * CALLS + number)?;
        }
        host.push(clock.elapsed().as_secs_f64() * 1e6 / calls as f64);
        let end = gpu.record()?;
        gpu.synchronise()?;
        device.push(f64::from(begin.until(&end)?) / calls as f64);
    }
    Ok(Times { device: median(device), host: median(host) })
}

/// The driver's copy of so many bytes, timed the same way.
pub fn copy(gpu: &Gpu, delay: &Memory, bytes: usize) -> Result<f64> {
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

/// Twenty kernels of about a thousand elements that wait for one another: one by one, and replayed as a CUDA graph.
fn tiny(setup: &Setup, report: &mut Report) -> Result<()> {
    setup.runtime(false).scope(|| -> Result<()> {
        let chain = |x: &Array| -> Result<(f64, f64)> {
            let start = Instant::now();
            let mut y: Array = x.clone();
            for _ in 0..20 {
                y = y.square();
            }
            y.eval()?;
            let host = start.elapsed().as_secs_f64() * 1e6 / 20.0;
            setup.cuda.synchronise()?;
            Ok((host, start.elapsed().as_secs_f64() * 1e6 / 20.0))
        };
        let replayed = || crossover::Runtime::current().executor().counts().replayed;
        let (mut host, mut whole) = (Vec::new(), Vec::new());
        // The second run of a plan finds its kernels ready and is not replayed yet; other lengths are other plans of the
        // same kernels.
        for length in 1000..1051 {
            let x = random::normal::<f32>(&Key::new(50), [length]);
            x.eval()?;
            chain(&x)?;
            let times = chain(&x)?;
            host.push(times.0);
            whole.push(times.1);
        }
        let one_by_one = replayed() == 0;
        let x = random::normal::<f32>(&Key::new(50), [1000]);
        x.eval()?;
        for _ in 0..5 {
            chain(&x)?;
        }
        let (mut again, mut again_whole) = (Vec::new(), Vec::new());
        let before = replayed();
        for _ in 0..51 {
            let times = chain(&x)?;
            again.push(times.0);
            again_whole.push(times.1);
        }
        let all = replayed() - before == 51 * 20;
        report.check("chains are replayed", one_by_one && all, format!("{} kernels", replayed() - before));
        report.figure(
            CHAIN,
            &[
                ("host_us", median(host)),
                ("with_wait_us", median(whole)),
                ("replayed_host_us", median(again)),
                ("replayed_with_wait_us", median(again_whole)),
            ],
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
        // Where the time goes: into an array, to the device and through the kernel, and back.
        let (mut into, mut there, mut back) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..9 {
            let start = Instant::now();
            let array = Array::from(values.as_slice());
            into.push(start.elapsed().as_secs_f64() * 1e3);
            let start = Instant::now();
            let result = array.gelu();
            result.eval()?;
            setup.cuda.synchronise()?;
            there.push(start.elapsed().as_secs_f64() * 1e3);
            let start = Instant::now();
            out = result.to_vec::<f32>()?;
            back.push(start.elapsed().as_secs_f64() * 1e3);
        }
        report.check("round trip in parts", out.len() == values.len(), format!("{} values", out.len()));
        let parts = [
            ("large_pages", large_pages(&out)),
            ("ms", median(times)),
            ("into_ms", median(into)),
            ("there_ms", median(there)),
            ("back_ms", median(back)),
        ];
        report.figure(ROUND_TRIP, &parts);
        Ok(())
    })
}

/// The share of a vector's memory that the system has backed with large pages: fresh memory is entered by them much faster. 0 where
/// nobody tells.
fn large_pages(values: &[f32]) -> f64 {
    // Its first page is of the allocator's.
    let address = values.as_ptr() as usize + size_of_val(values) / 2;
    let text = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let mut inside = false;
    for line in text.lines() {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        if let Some((from, to)) = range.and_then(|(from, to)| Some((number(from)?, number(to)?))) {
            inside = (from..to).contains(&address);
        } else if let Some(kilobytes) = line.strip_prefix("AnonHugePages:").filter(|_| inside) {
            let kilobytes: f64 = kilobytes.trim().trim_end_matches(" kB").parse().unwrap_or(0.0);
            return kilobytes * 1024.0 / size_of_val(values) as f64;
        }
    }
    0.0
}

pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

//! First timings of generated kernels: CUDA events, medians, inputs that do not fit the cache.

use super::{Options, Section, generate::reach, random::fill, session::Session};
use crate::{Memory, Result};
use crossover_codegen::samples::{self, Builder};
use crossover_core::{DType, Element, Scalar};
use crossover_plan::kernel::Fused;

/// Bytes that all copies of the operands of one kernel should have together: several times the L2 cache.
const COLD: usize = 400 << 20;

struct Bench {
    name: &'static str,
    kernel: Fused,
    scalars: Vec<Scalar>,
}

/// A plain copy as a generated kernel: the roof that the others are measured against.
fn copy_kernel(count: usize) -> Fused {
    let mut b = Builder::map(&[count]);
    let x = b.input(DType::F32);
    b.output(x);
    b.finish()
}

/// Times everyday kernels.
pub(super) fn run(session: &Session, options: &Options) -> Result<Vec<Section>> {
    let share = |n: usize| vec![(1.0 / n as f32).to_scalar(), 1e-5f32.to_scalar()];
    let bench = |name, kernel, scalars| Bench { name, kernel, scalars };
    let list = [
        bench("copy 8192x8192 f32", copy_kernel(8192 * 8192), vec![]),
        bench("gelu 8192x4096 f32", samples::gelu(8192 * 4096, DType::F32), vec![]),
        bench("gelu 16384x8192 bf16", samples::gelu(16384 * 8192, DType::BF16), vec![]),
        bench("expression 10^7 f64", samples::expression(10_000_000), vec![2f64.to_scalar()]),
        bench("layer norm 16384x4096 bf16", samples::layer_norm(16384, 4096, DType::BF16), share(4096)),
        bench("layer norm 65536x768 f32", samples::layer_norm(65536, 768, DType::F32), share(768)),
        bench("softmax 16384x4096 f32", samples::softmax(16384, 4096, DType::F32), vec![]),
        bench("softmax 65536x1024 f32", samples::softmax(65536, 1024, DType::F32), vec![]),
        bench("softmax 4096x32768 f32", samples::softmax(4096, 32768, DType::F32), vec![]),
        bench("sum 10^7 f32", samples::full_sum(10_000_000), vec![]),
        bench("sum 2^28 f32", samples::full_sum(1 << 28), vec![]),
        bench("column sums 10000x1000 f32", samples::column_sums(10_000, 1000), vec![]),
        bench("standardise 10000x1000 f32", samples::standardise(10_000, 1000), share(10_000)),
        bench(
            "uniform 10^8",
            samples::uniform(100_000_000),
            vec![8u32.to_scalar(), 2f32.powi(-24).to_scalar()],
        ),
        bench("transposed add 8192x8192 f32", samples::strided(8192, 8192), vec![]),
    ];
    let mut roof = 0.0;
    let mut out = Vec::new();
    let driver = driver_copy(session)?;
    out.push(driver);
    for bench in &list {
        let (milliseconds, bytes) = measure(session, bench, if options.quick { 10 } else { 40 })?;
        let rate = bytes as f64 / milliseconds / 1e6;
        if roof == 0.0 {
            roof = rate;
        }
        let figures = vec![
            ("milliseconds", (milliseconds * 1e5).round() / 1e5),
            ("gigabytes_per_second", rate.round()),
            ("of_copy", (rate / roof * 1000.0).round() / 1000.0),
        ];
        let section = Section { name: bench.name.to_string(), figures, ..Section::default() };
        println!("{}", section.line());
        out.push(section);
    }
    Ok(out)
}

/// The driver's own copy of 1 GiB.
fn driver_copy(session: &Session) -> Result<Section> {
    let gpu = &session.gpu;
    let bytes = 1 << 30;
    let (from, to) = (gpu.allocate(bytes)?, gpu.allocate(bytes)?);
    gpu.fill(&from, 0x5a)?;
    let mut times = Vec::new();
    for _ in 0..12 {
        let start = gpu.record()?;
        gpu.copy(&from, &to, bytes)?;
        let end = gpu.record()?;
        gpu.synchronise()?;
        times.push(start.until(&end)? as f64);
    }
    let milliseconds = median(times);
    let rate = (2 * bytes) as f64 / milliseconds / 1e6;
    let figures = vec![("milliseconds", milliseconds), ("gigabytes_per_second", rate.round())];
    let section = Section { name: "driver copy 1 GiB".to_string(), figures, ..Section::default() };
    println!("{}", section.line());
    Ok(section)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Median time in milliseconds, and bytes that must move at least.
fn measure(session: &Session, bench: &Bench, repeats: usize) -> Result<(f64, usize)> {
    let gpu = &session.gpu;
    let kernel = &bench.kernel;
    let ready = session.ready(kernel)?;
    let sizes = |offset: usize| -> Vec<usize> {
        let loads = kernel.loads.iter().map(|l| (reach(&kernel.space, &l.window) + offset) * l.dtype.size());
        loads.collect()
    };
    let ins = sizes(1);
    let outs: Vec<usize> =
        kernel.stores.iter().map(|s| reach(&kernel.space, &s.window) * s.dtype.size()).collect();
    let bytes: usize = sizes(0).iter().chain(&outs).sum();
    let copies = (COLD / bytes.max(1)).clamp(1, 16);
    // Random data, made once on the host (a few MiB) and repeated over the operand.
    let mut sets: Vec<(Vec<Memory>, Vec<Memory>)> = Vec::new();
    for set in 0..copies {
        let mut inputs = Vec::new();
        for (i, &size) in ins.iter().enumerate() {
            let memory = gpu.allocate(size)?;
            let mut host = vec![0; size];
            let part = size.min(4 << 20) / 16 * 16;
            fill(
                &mut host[..part.max(kernel.loads[i].dtype.size())],
                kernel.loads[i].dtype,
                (set * 8 + i) as u64,
                true,
            );
            repeat(&mut host, part);
            gpu.upload(&host, &memory)?;
            inputs.push(memory);
        }
        let outputs = outs.iter().map(|&size| gpu.allocate(size)).collect::<Result<Vec<_>>>()?;
        sets.push((inputs, outputs));
    }
    let launch = |i: usize| {
        let (inputs, outputs) = &sets[i % sets.len()];
        let from: Vec<u64> = inputs.iter().map(Memory::address).collect();
        let to: Vec<u64> = outputs.iter().map(Memory::address).collect();
        session.launch(&ready, &from, &to, &bench.scalars)
    };
    for i in 0..5 {
        launch(i)?;
    }
    gpu.synchronise()?;
    // Keeps the device busy while the host queues everything, so that launches follow one another without a gap.
    let delay = gpu.allocate(1 << 30)?;
    for _ in 0..20 {
        gpu.fill(&delay, 0)?;
    }
    let mut events = Vec::new();
    for i in 0..repeats {
        let start = gpu.record()?;
        launch(i)?;
        events.push((start, gpu.record()?));
    }
    gpu.synchronise()?;
    let times =
        events.iter().map(|(start, end)| start.until(end).map(f64::from)).collect::<Result<Vec<_>>>()?;
    Ok((median(times), bytes))
}

/// Repeats the first `part` bytes over the rest.
fn repeat(bytes: &mut [u8], part: usize) {
    if part == 0 {
        return;
    }
    let (head, tail) = bytes.split_at_mut(part);
    for chunk in tail.chunks_mut(part) {
        chunk.copy_from_slice(&head[..chunk.len()]);
    }
}

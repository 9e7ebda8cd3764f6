//! Measures a machine: latencies, bandwidths, rates and transfers of its devices, through the same backends that run plans.
//!
//! A rate is the best of several trials: what the device can do when nothing disturbs it. Element types that are not measured are as much
//! faster or slower than assumed as `f32` is. The short form leaves most classes at what is assumed, scaled by those it measured.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crossover_core::{
    DType, Graph, NodeId, Number, Result as CoreResult, Shape,
    compose::{self, ConvolveMethod, FftNorm},
    ops::{
        MapOp,
        convolve::{Boundary, ConvolveMode},
    },
};
use crossover_plan::{Class, Options, Plan, Role, Width, Work};

use crate::{
    Backend, Block, Curve, Device, DeviceProfile, Executable, Launch, Link, Links, Machine, Made, Profile,
    Result,
};

/// How thoroughly to measure.
///
/// ```
/// use crossover_runtime::calibrate::Effort;
/// let asked = std::env::args().any(|word| word == "--thorough");
/// let effort = if asked { Effort::Full } else { Effort::Brief };
/// assert_eq!(effort, Effort::Brief);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// As at first use: about a quarter of a second, not counting compilers.
    Brief,
    /// Everything, in seconds.
    Full,
}

/// Measures all devices of a machine whose host computes with this many threads.
///
/// `progress` is told what comes next and which share is done.
pub fn machine(
    machine: &Arc<Machine>,
    threads: usize,
    effort: Effort,
    progress: &mut dyn FnMut(&str, f64),
) -> Result<Profile> {
    let count = machine.devices().count();
    let made = if effort == Effort::Brief { Made::Briefly } else { Made::Calibrated };
    let mut profile = Profile { made, ..Profile::assumed(threads, count - 1) };
    for device in machine.devices() {
        let backend = &**machine.backend(device);
        let mut told = |what: &str, share: f64| {
            progress(&format!("{}: {what}", backend.name()), (device.0 as f64 + share) / count as f64);
        };
        let entry = &mut profile.devices[device.0];
        entry.name = backend.name().to_string();
        measure(backend, entry, device, effort, &mut told)?;
    }
    progress("done", 1.0);
    Ok(profile)
}

/// A kernel and the blocks it reads and writes, by their place among those of the trial.
type Ready = (Box<dyn Executable>, crossover_plan::kernel::Kernel, Vec<usize>, Vec<usize>);

/// A kernel with memory to run it on.
struct Trial<'a> {
    backend: &'a dyn Backend,
    kernels: Vec<Ready>,
    blocks: Vec<Block>,
    scalars: Vec<crossover_core::Scalar>,
    work: Vec<Work>,
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        for &block in &self.blocks {
            self.backend.free(block);
        }
    }
}

impl<'a> Trial<'a> {
    fn new(
        backend: &'a dyn Backend,
        build: impl FnOnce(&mut Graph) -> CoreResult<NodeId>,
    ) -> Result<Trial<'a>> {
        let mut graph = Graph::new();
        let y = build(&mut graph)?;
        graph.output(y);
        let plan = Plan::new(&graph, Options::default())?;
        let mut trial = Trial {
            backend,
            kernels: Vec::new(),
            blocks: Vec::new(),
            scalars: graph.scalars().to_vec(),
            work: plan.work(),
        };
        for buffer in &plan.buffers {
            let block = backend.allocate(buffer.bytes())?;
            trial.blocks.push(block);
            if matches!(buffer.role, Role::Input(_)) {
                backend.upload(&pattern(buffer.dtype, buffer.elements), block)?;
            }
        }
        for launch in plan.launches {
            let made = backend.prepare(&launch.kernel)?;
            let at = |id: crossover_plan::kernel::BufferId| id.0 as usize;
            let (reads, writes) =
                (launch.kernel.reads().map(at).collect(), launch.kernel.writes().map(at).collect());
            trial.kernels.push((made, launch.kernel, reads, writes));
        }
        Ok(trial)
    }

    fn run(&self) -> Result<()> {
        for (made, kernel, reads, writes) in &self.kernels {
            let inputs: Vec<Block> = reads.iter().map(|&at| self.blocks[at]).collect();
            let outputs: Vec<Block> = writes.iter().map(|&at| self.blocks[at]).collect();
            made.run(&Launch::new(kernel, &inputs, &outputs, &self.scalars)?)?;
        }
        Ok(())
    }

    /// Nanoseconds of one run among many, and of one alone with the wait for its end.
    fn time(&self, budget: Duration) -> Result<(f64, f64)> {
        self.run()?;
        let alone = self.backend.measure(&mut || self.run())?.as_nanos().max(1) as f64;
        let many = ((budget.as_nanos() as f64 / 4.0 / alone) as usize).clamp(1, 100);
        let (mut best, mut least) = (f64::INFINITY, alone);
        let end = Instant::now() + budget;
        for _ in 0..16 {
            let took = self.backend.measure(&mut || (0..many).try_for_each(|_| self.run()))?;
            best = best.min(took.as_nanos() as f64 / many as f64);
            least = least.min(self.backend.measure(&mut || self.run())?.as_nanos() as f64);
            if Instant::now() >= end {
                break;
            }
        }
        Ok((best.max(1.0), least.max(1.0)))
    }
}

/// Values that no operation of the trials turns into zeros or infinities, and that are valid indices: a few thousand, again
/// and again.
fn pattern(dtype: DType, elements: usize) -> Vec<u8> {
    const DIFFERENT: usize = 4096;
    let size = dtype.size();
    let mut out = vec![0; elements * size];
    let (first, rest) = out.split_at_mut(elements.min(DIFFERENT) * size);
    let mut state = 0x2545_F491u32;
    for chunk in first.chunks_mut(size) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let unit = f64::from(state) / f64::from(u32::MAX) + 0.5;
        let value = match dtype {
            DType::I64 => Number::Int(i128::from(state) % elements.max(1) as i128),
            d if d.is_int() => Number::Int(1 + i128::from(state % 100)),
            DType::Bool => Number::Bool(state.is_multiple_of(2)),
            _ => Number::Float(unit),
        };
        value.to_scalar(dtype).write_to(chunk);
    }
    if !first.is_empty() {
        rest.chunks_mut(first.len()).for_each(|chunk| chunk.copy_from_slice(&first[..chunk.len()]));
    }
    out
}

fn input(g: &mut Graph, dtype: DType, dims: &[usize]) -> CoreResult<NodeId> {
    g.input(dtype, Shape::from_iter(dims.iter().copied()))
}

/// Operations that are done to each element one after the other, so that computing outweighs moving.
const CHAIN: usize = 8;

/// Kernels that are almost nothing but one class of work.
fn specimen(class: Class, dtype: DType, n: usize) -> impl FnOnce(&mut Graph) -> CoreResult<NodeId> {
    move |g| {
        let side = ((n as f64).sqrt() as usize).max(8);
        let chain = |g: &mut Graph, op: MapOp, operands: usize| {
            let mut x = input(g, dtype, &[n])?;
            let y = input(g, dtype, &[n])?;
            for _ in 0..CHAIN {
                x = if operands == 1 { g.map(op, &[x])? } else { g.map(op, &[x, y])? };
            }
            Ok(x)
        };
        match class {
            Class::Divide => chain(g, MapOp::Divide, 2),
            Class::Function => chain(g, MapOp::Tanh, 1),
            Class::Heavy => chain(g, MapOp::Pow, 2),
            Class::Reduce => {
                let x = input(g, dtype, &[n.div_ceil(1024), 1024])?;
                compose::sum(g, &x, &[-1], false)
            }
            Class::Random => {
                let key = input(g, DType::U32, &[2])?;
                compose::uniform(g, &key, &Shape::from([n]), dtype)
            }
            Class::Lookup => {
                let (x, at) = (input(g, dtype, &[n])?, input(g, DType::I64, &[n])?);
                compose::take(g, &x, &at, 0)
            }
            Class::Product => {
                let (a, b) = (input(g, dtype, &[side, side])?, input(g, dtype, &[side, side])?);
                compose::matmul(g, &a, &b)
            }
            Class::Transform => {
                let x = input(g, dtype.complex(), &[n.div_ceil(1024), 1024])?;
                compose::fftn(g, &x, &[], &[-1], false, FftNorm::Backward)
            }
            Class::Sort => {
                let x = input(g, dtype, &[n])?;
                compose::sort(g, &x, 0, false)
            }
            Class::Decompose => {
                // Far from singular: twos on the diagonal above entries of at most 1.5 over the side.
                let (a, eye) = (input(g, dtype, &[side, side])?, compose::eye(g, side, side, 0, dtype)?);
                let scale = compose::number(g, Number::Float(1.0 / side as f64), dtype)?;
                let small = compose::binary(g, MapOp::Multiply, &a, &scale)?;
                let two = compose::number(g, Number::Float(2.0), dtype)?;
                let wide = compose::binary(g, MapOp::Multiply, &eye, &two)?;
                let sum = compose::binary(g, MapOp::Add, &small, &wide)?;
                let y = input(g, dtype, &[side, 1])?;
                compose::linalg::solve(g, &sum, &y)
            }
            Class::Convolve => {
                let (x, k) = (input(g, dtype, &[n])?, input(g, dtype, &[31])?);
                let (mode, method) = (ConvolveMode::Same, ConvolveMethod::Direct);
                compose::convolve(g, &x, &k, mode, Boundary::Fill, Number::Float(0.0), method)
            }
            Class::Other => {
                let x = input(g, dtype, &[n])?;
                compose::cumulative_sum(g, &x, 0, false)
            }
            Class::Simple if dtype.is_int() => chain(g, MapOp::BitwiseXor, 2),
            Class::Simple => chain(g, MapOp::Maximum, 2),
        }
    }
}

/// What is measured, in which types.
fn specimens(effort: Effort) -> Vec<(Class, DType)> {
    if effort == Effort::Brief {
        return vec![(Class::Function, DType::F32), (Class::Product, DType::F32)];
    }
    use DType::{BF16, F32, F64, I32, I64, U8};
    let mut all =
        vec![(Class::Simple, U8), (Class::Simple, I32), (Class::Simple, I64), (Class::Product, BF16)];
    for class in Class::ALL {
        let single = [F32].into_iter();
        let types = if class == Class::Lookup { single.chain(None) } else { single.chain(Some(F64)) };
        all.extend(types.map(|dtype| (class, dtype)));
    }
    all
}

fn measure(
    backend: &dyn Backend,
    entry: &mut DeviceProfile,
    device: Device,
    effort: Effort,
    progress: &mut dyn FnMut(&str, f64),
) -> Result<()> {
    let is_host = device == Device::HOST;
    let budget = Duration::from_millis(if effort == Effort::Brief { 10 } else { 60 });
    progress("latencies", 0.0);
    let tiny = Trial::new(backend, |g| {
        let x = input(g, DType::F32, &[4])?;
        g.map(MapOp::Add, &[x, x])
    })?;
    let (launch, alone) = tiny.time(budget)?;
    drop(tiny);
    (entry.launch_ns, entry.sync_ns) = (launch, if is_host { 0.0 } else { (alone - launch).max(0.0) });

    progress("bandwidth", 0.1);
    let exponents: &[u32] = match (effort, is_host) {
        // A host's caches are large; beyond them only memory counts.
        (Effort::Brief, true) => &[14, 18, 23],
        (Effort::Brief, false) => &[14, 18, 21],
        (Effort::Full, true) => &[10, 12, 14, 16, 18, 20, 22, 24],
        (Effort::Full, false) => &[14, 16, 18, 20, 22, 24, 26],
    };
    let mut points = Vec::new();
    for &exponent in exponents {
        let n = 1usize << exponent;
        let trial = Trial::new(backend, |g| {
            let (a, b) = (input(g, DType::F32, &[n])?, input(g, DType::F32, &[n])?);
            g.map(MapOp::Add, &[a, b])
        });
        // A device without room for the largest has told enough.
        let Ok(trial) = trial else { break };
        let bytes = trial.work[0].bytes as f64;
        let (took, _) = trial.time(budget)?;
        // What starting it hides cannot be seen: then it is at least this fast.
        let moving = if took < 2.0 * launch && !is_host { took } else { (took - launch).max(took / 10.0) };
        points.push((bytes, bytes / moving));
    }
    if !points.is_empty() {
        entry.bandwidth = Curve::new(points);
    }

    let wanted = specimens(effort);
    for (at, &(class, dtype)) in wanted.iter().enumerate() {
        // Opening a library of products takes longer than all the rest.
        if effort == Effort::Brief && !is_host && class == Class::Product {
            continue;
        }
        progress(class.name(), 0.3 + 0.5 * at as f64 / wanted.len() as f64);
        let n = match (class, is_host, effort) {
            (Class::Product | Class::Decompose, true, _) => 1 << 17,
            (Class::Product | Class::Decompose, false, _) => 1 << 22,
            (_, true, _) => 1 << 18,
            (_, false, _) => 1 << 23,
        };
        // What a device cannot do stays as assumed; it will refuse it anyway.
        let Ok(trial) = Trial::new(backend, specimen(class, dtype, n)) else { continue };
        let Ok((took, _)) = trial.time(budget) else { continue };
        // Random words are words, whatever is made of them.
        let width = if class == Class::Random { Width::Word } else { Width::of(dtype) };
        let count: u64 = trial
            .work
            .iter()
            .flat_map(|w| &w.terms)
            .filter(|t| t.class == class && t.width == width)
            .map(|t| t.count)
            .sum();
        if count == 0 {
            continue;
        }
        let rate = count as f64 / (took - launch).max(took / 10.0);
        let factor = rate / entry.rates.get(class, width);
        if dtype == DType::F32 {
            let others = (effort == Effort::Full || class == Class::Product).then_some(class);
            entry.rates.scale(others, factor);
        }
        entry.rates.set(class, width, rate);
    }
    if !is_host {
        progress("transfers", 0.8);
        entry.links = Some(transfers(backend, effort)?);
    }
    Ok(())
}

fn transfers(backend: &dyn Backend, effort: Effort) -> Result<Links> {
    let sizes: &[usize] = match effort {
        Effort::Brief => &[1 << 12, 1 << 18, 1 << 22, 1 << 26],
        Effort::Full => &[1 << 12, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26],
    };
    let largest = sizes.last().copied().unwrap_or(0);
    let block = backend.allocate(largest)?;
    let mut ordinary = vec![1u8; largest];
    let measured = both_ways(backend, block, &mut ordinary, sizes).and_then(|(up, down)| {
        // Placement asks for ordinary memory; locking pages takes longer than copying them.
        let wanted = effort == Effort::Full;
        let mut pinned = if wanted { backend.pinned(largest).ok().flatten() } else { None };
        let (mut up_pinned, mut down_pinned) = (None, None);
        if let Some(memory) = &mut pinned {
            let (up, down) = both_ways(backend, block, memory.bytes_mut(), sizes)?;
            (up_pinned, down_pinned) = (Some(up), Some(down));
        }
        Ok(Links { up, down, up_pinned, down_pinned })
    });
    backend.free(block);
    measured
}

fn both_ways(backend: &dyn Backend, block: Block, host: &mut [u8], sizes: &[usize]) -> Result<(Link, Link)> {
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for &size in sizes {
        let mut best = (f64::INFINITY, f64::INFINITY);
        let times = if size > 1 << 24 { 2 } else { 4 };
        for _ in 0..times {
            let took = backend.measure(&mut || backend.upload(&host[..size], block))?;
            best.0 = best.0.min(took.as_nanos() as f64);
            let took = backend.measure(&mut || backend.download(block, &mut host[..size]))?;
            best.1 = best.1.min(took.as_nanos() as f64);
        }
        up.push((size as f64, best.0));
        down.push((size as f64, best.1));
    }
    Ok((link(&up), link(&down)))
}

/// Latency from the smallest copy, bandwidth from the others.
fn link(times: &[(f64, f64)]) -> Link {
    let latency_ns = times.first().map_or(0.0, |t| t.1);
    let beyond =
        times.iter().skip(1).map(|&(bytes, took)| (bytes, bytes / (took - latency_ns).max(took / 4.0)));
    Link { latency_ns, bandwidth: Curve::new(beyond) }
}

/// Nanoseconds of a plan on one device alone, with its operands there or on the host, and the results wanted on the host.
pub fn alone(profile: &Profile, plan: &Plan, device: Device, resident: bool) -> f64 {
    let entry = &profile.devices[device.0];
    let kernels: f64 = plan.work().iter().map(|work| entry.time(work)).sum();
    let Some(links) = &entry.links else { return kernels };
    let inputs = plan.buffers.iter().filter(|b| matches!(b.role, Role::Input(_)));
    let up: f64 = if resident { 0.0 } else { inputs.map(|b| links.up.time(b.bytes() as u64)).sum() };
    let outputs = plan.outputs.iter().map(|o| &plan.buffers[o.0 as usize]);
    up + kernels + outputs.map(|b| links.down.time(b.bytes() as u64)).sum::<f64>()
}

/// From how many elements on a device is faster than the host: the first power of two, if there is one up to 2^30.
///
/// Operands are on the device if `resident`, and the host without the device would have to fetch them.
pub fn crossover_size(
    profile: &Profile,
    device: Device,
    resident: bool,
    build: impl Fn(&mut Graph, usize) -> CoreResult<NodeId>,
) -> Option<usize> {
    (0..=30).map(|e| 1usize << e).find(|&n| {
        let mut graph = Graph::new();
        let Ok(y) = build(&mut graph, n) else { return false };
        graph.output(y);
        let Ok(plan) = Plan::new(&graph, Options::default()) else { return false };
        let fetch: f64 = match &profile.devices[device.0].links {
            Some(links) if resident => {
                let inputs = plan.buffers.iter().filter(|b| matches!(b.role, Role::Input(_)));
                inputs.map(|b| links.down.time(b.bytes() as u64)).sum()
            }
            _ => 0.0,
        };
        alone(profile, &plan, device, resident) < alone(profile, &plan, Device::HOST, false) + fetch
    })
}

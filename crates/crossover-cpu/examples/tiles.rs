//! Times the kernels that Crossover's bars are stated for, and a few primitives.
//!
//! `cargo run --release -p crossover-cpu --example tiles [-- name…]`; fresh data from Philox, median and
//! best of many runs. `CROSSOVER_THREADS` sets the number of threads.

use std::time::Instant;

use crossover_core::{
    DType, Layout, Scalar, Shape,
    ops::{MapOp, reduce::ReduceOp},
    philox,
};
use crossover_cpu::CpuBackend;
use crossover_plan::kernel::{
    BufferId, Call, CallOp, Extent, Fused, Kernel, Kind, Load, Operand, Space, Step, StepId, StepOp, Store,
    Window,
};
use crossover_runtime::{Backend, Block, Launch};

/// Builds one kernel.
struct Build {
    fused: Fused,
    scalars: Vec<Scalar>,
}

impl Build {
    fn new(kind: Kind, outer: &[usize], reduce: &[usize], inner: &[usize]) -> Build {
        let space = Space { outer: outer.into(), reduce: reduce.into(), inner: inner.into() };
        Build { fused: Fused { kind, space, loads: vec![], steps: vec![], stores: vec![] }, scalars: vec![] }
    }

    fn strides(&self, varies: impl Fn(usize) -> bool) -> Window {
        let dims = self.fused.space.dims();
        let mut strides: Vec<isize> = vec![0; dims.len()];
        let mut step = 1;
        for axis in (0..dims.len()).rev() {
            if varies(axis) {
                strides[axis] = step;
                step *= dims[axis] as isize;
            }
        }
        Window { offset: 0, strides: strides.into() }
    }

    fn load(&mut self, dtype: DType, varies: impl Fn(usize) -> bool, extent: Extent) -> StepId {
        let window = self.strides(varies);
        self.fused.loads.push(Load { buffer: BufferId(0), dtype, window });
        let op = StepOp::Load((self.fused.loads.len() - 1) as u16);
        self.step_as(op, &[], dtype.compute(), extent)
    }

    fn full(&mut self, dtype: DType) -> StepId {
        self.load(dtype, |_| true, Extent::Full)
    }

    fn scalar(&mut self, value: f64, dtype: DType) -> StepId {
        self.scalars.push(Scalar::from_bits(DType::F64, [value.to_bits(), 0]).cast(dtype));
        self.step_as(StepOp::Scalar((self.scalars.len() - 1) as u16), &[], dtype, Extent::One)
    }

    fn step_as(&mut self, op: StepOp, args: &[StepId], dtype: DType, extent: Extent) -> StepId {
        self.fused.steps.push(Step { op, args: args.into(), dtype, extent });
        (self.fused.steps.len() - 1) as StepId
    }

    fn map(&mut self, op: MapOp, args: &[StepId]) -> StepId {
        let dtype = self.fused.steps[args[0] as usize].dtype;
        let extent = args.iter().map(|&a| self.fused.steps[a as usize].extent).max().unwrap_or(Extent::One);
        self.step_as(StepOp::Map(op), args, op.result(dtype).expect("supported"), extent)
    }

    fn canonical(&mut self, x: StepId) -> StepId {
        let (dtype, extent) = (self.fused.steps[x as usize].dtype, self.fused.steps[x as usize].extent);
        self.step_as(StepOp::Canonical, &[x], dtype, extent)
    }

    fn reduce(&mut self, op: ReduceOp, x: StepId) -> StepId {
        let dtype = op.result(self.fused.steps[x as usize].dtype).expect("supported");
        self.step_as(StepOp::Reduce(op), &[x], dtype, Extent::Reduced)
    }

    fn store(mut self, step: StepId) -> Build {
        let (o, r) = (self.fused.space.outer.len(), self.fused.space.reduce.len());
        let full = self.fused.steps[step as usize].extent == Extent::Full;
        let window = self.strides(|axis| full || !(o..o + r).contains(&axis));
        let dtype = self.fused.steps[step as usize].dtype;
        self.fused.stores.push(Store { step, buffer: BufferId(9), dtype, window });
        self
    }
}

fn random_bytes(cpu: &CpuBackend, dtype: DType, elements: usize, seed: u32) -> Block {
    let block = cpu.allocate(elements * dtype.size()).expect("memory");
    let mut bytes = vec![0u8; elements * dtype.size()];
    for (i, slot) in bytes.chunks_mut(dtype.size()).enumerate() {
        let unit = philox::word(i as u64, 0, [seed, 1]) as f64 / u32::MAX as f64;
        match dtype {
            DType::F32 => slot.copy_from_slice(&((unit * 6.0 - 3.0) as f32).to_le_bytes()),
            DType::F64 => slot.copy_from_slice(&(unit * 6.0 + 0.1).to_le_bytes()),
            _ => slot.fill(philox::word(i as u64, 0, [seed, 2]) as u8),
        }
    }
    cpu.upload(&bytes, block).expect("upload");
    block
}

/// Median and least seconds of one run, outputs from the pool as the executor would take them.
fn time(
    cpu: &CpuBackend,
    kernel: &Kernel,
    inputs: &[Block],
    outputs: &[usize],
    scalars: &[Scalar],
) -> (f64, f64) {
    let ready = cpu.prepare(kernel).expect("prepared");
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.len() < 5 || (begin.elapsed().as_secs_f64() < 1.0 && times.len() < 2000) {
        let out: Vec<Block> = outputs.iter().map(|&b| cpu.allocate(b).expect("memory")).collect();
        let start = Instant::now();
        ready.run(&Launch::new(kernel, inputs, &out, scalars).expect("fits")).expect("ran");
        times.push(start.elapsed().as_secs_f64());
        out.into_iter().for_each(|b| cpu.free(b));
    }
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}

fn fused(cpu: &CpuBackend, name: &str, build: Build, bar: &str) {
    if !wanted(name) {
        return;
    }
    let space = &build.fused.space;
    let reach = |w: &Window, d: DType| {
        let far: isize = space.dims().iter().zip(&w.strides).map(|(&n, &s)| (n as isize - 1) * s).sum();
        (far as usize + 1) * d.size()
    };
    let loads: Vec<usize> = build.fused.loads.iter().map(|l| reach(&l.window, l.dtype)).collect();
    let stores: Vec<usize> = build.fused.stores.iter().map(|s| reach(&s.window, s.dtype)).collect();
    let inputs: Vec<Block> = (build.fused.loads.iter().zip(&loads))
        .enumerate()
        .map(|(i, (l, &b))| random_bytes(cpu, l.dtype, b / l.dtype.size(), i as u32))
        .collect();
    let bytes: usize = loads.iter().chain(&stores).sum();
    let size = space.size();
    let (seconds, best) = time(cpu, &Kernel::Fused(build.fused.clone()), &inputs, &stores, &build.scalars);
    println!(
        "{name:<24} {:>8.3} ms, best {:>8.3} ms {:>7.3} ns/element {:>6.1} GB/s   {bar}",
        seconds * 1e3,
        best * 1e3,
        best * 1e9 / size as f64,
        bytes as f64 / best / 1e9
    );
    inputs.into_iter().for_each(|b| cpu.free(b));
}

fn wanted(name: &str) -> bool {
    let names: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    names.is_empty() || names.iter().any(|n| name.contains(n.as_str()))
}

fn unary(op: MapOp, dtype: DType, dims: &[usize]) -> Build {
    let mut b = Build::new(Kind::Map, dims, &[], &[]);
    let x = b.full(dtype);
    let y = b.map(op, &[x]);
    let y = if dtype.is_float() { b.canonical(y) } else { y };
    b.store(y)
}

fn expression(n: usize) -> Build {
    let mut b = Build::new(Kind::Map, &[n], &[], &[]);
    let (x, y) = (b.full(DType::F64), b.full(DType::F64));
    let two = b.scalar(2.0, DType::F64);
    let product = b.map(MapOp::Multiply, &[x, y]);
    let root = b.map(MapOp::Sqrt, &[x]);
    let sum = b.map(MapOp::Add, &[product, root]);
    let half = b.map(MapOp::Divide, &[y, two]);
    let out = b.map(MapOp::Subtract, &[sum, half]);
    let out = b.canonical(out);
    b.store(out)
}

/// Mean and deviation over the reduced axes, then the normalised value; `affine` adds weight and bias.
fn normalise(mut b: Build, affine: bool) -> Build {
    let n = b.fused.space.reduce_size() as f64;
    let x = b.full(DType::F32);
    let count = b.scalar(n, DType::F32);
    let epsilon = b.scalar(1e-5, DType::F32);
    let sum = b.reduce(ReduceOp::Sum, x);
    let sum = b.canonical(sum);
    let mean = b.map(MapOp::Divide, &[sum, count]);
    let centred = b.map(MapOp::Subtract, &[x, mean]);
    let squares = b.map(MapOp::Square, &[centred]);
    let squares = b.reduce(ReduceOp::Sum, squares);
    let variance = b.map(MapOp::Divide, &[squares, count]);
    let variance = b.map(MapOp::Add, &[variance, epsilon]);
    let deviation = b.map(MapOp::Sqrt, &[variance]);
    let mut out = b.map(MapOp::Divide, &[centred, deviation]);
    if affine {
        let o = b.fused.space.outer.len();
        let weight = b.load(DType::F32, |axis| axis >= o, Extent::Full);
        let bias = b.load(DType::F32, |axis| axis >= o, Extent::Full);
        out = b.map(MapOp::Multiply, &[out, weight]);
        out = b.map(MapOp::Add, &[out, bias]);
    }
    let out = b.canonical(out);
    b.store(out)
}

fn softmax(rows: usize, n: usize) -> Build {
    let mut b = Build::new(Kind::Row, &[rows], &[n], &[]);
    let x = b.full(DType::F32);
    let top = b.reduce(ReduceOp::Max, x);
    let shifted = b.map(MapOp::Subtract, &[x, top]);
    let e = b.map(MapOp::Exp, &[shifted]);
    let sum = b.reduce(ReduceOp::Sum, e);
    let out = b.map(MapOp::Divide, &[e, sum]);
    let out = b.canonical(out);
    b.store(out)
}

fn total(
    kind: Kind,
    outer: &[usize],
    reduce: &[usize],
    inner: &[usize],
    dtype: DType,
    op: ReduceOp,
) -> Build {
    let mut b = Build::new(kind, outer, reduce, inner);
    let x = b.full(dtype);
    let sum = b.reduce(op, x);
    b.store(sum)
}

fn uniform(n: usize) -> Build {
    let mut b = Build::new(Kind::Map, &[n], &[], &[]);
    b.fused.loads.push(Load {
        buffer: BufferId(0),
        dtype: DType::U32,
        window: Window { offset: 0, strides: [0][..].into() },
    });
    let window = b.strides(|_| true);
    let bits = b.step_as(StepOp::Random { key: 0, window, stream: 0 }, &[], DType::U32, Extent::Full);
    let f = b.step_as(
        StepOp::Cast(crossover_core::ops::cast::Step::Plain(DType::U32, DType::F32)),
        &[bits],
        DType::F32,
        Extent::Full,
    );
    let scale = b.scalar(2f64.powi(-32), DType::F32);
    let out = b.map(MapOp::Multiply, &[f, scale]);
    b.store(out)
}

fn transposed(n: usize) -> Build {
    let mut b = Build::new(Kind::Map, &[n, n], &[], &[]);
    let x = b.full(DType::F32);
    b.fused.loads[0].window.strides = [1, n as isize][..].into();
    let y = b.map(MapOp::Negative, &[x]);
    b.store(y)
}

fn copy(n: usize) -> Build {
    let mut b = Build::new(Kind::Map, &[n], &[], &[]);
    let x = b.full(DType::F32);
    b.store(x)
}

fn xor(n: usize) -> Build {
    let mut b = Build::new(Kind::Map, &[n], &[], &[]);
    let (x, y) = (b.full(DType::U8), b.full(DType::U8));
    let out = b.map(MapOp::BitwiseXor, &[x, y]);
    b.store(out)
}

fn matmul(cpu: &CpuBackend, n: usize, dtype: DType) {
    let name = format!("matmul {n} {dtype}");
    if !wanted(&name) {
        return;
    }
    let layout = Layout::contiguous(Shape::from([n, n]));
    let operand = |b| Operand { buffer: BufferId(b), dtype, layout: layout.clone() };
    let call = Call {
        op: CallOp::MatMul,
        operands: vec![operand(0), operand(1)],
        output: BufferId(2),
        layout,
        dtype,
    };
    let inputs = [random_bytes(cpu, dtype, n * n, 1), random_bytes(cpu, dtype, n * n, 2)];
    let (_, seconds) = time(cpu, &Kernel::Call(call), &inputs, &[n * n * dtype.size()], &[]);
    let flops = 2.0 * (n as f64).powi(3);
    println!("{name:<28} {:>9.4} ms {:>8.1} GFLOP/s", seconds * 1e3, flops / seconds / 1e9);
}

/// Time of one run, launch check included and not, for a kernel too small to measure singly.
fn latency(cpu: &CpuBackend, name: &str, build: Build) {
    if !wanted(name) {
        return;
    }
    let n = build.fused.space.size();
    let kernel = Kernel::Fused(build.fused.clone());
    let ready = cpu.prepare(&kernel).expect("prepared");
    let inputs: Vec<Block> = build.fused.loads.iter().map(|l| random_bytes(cpu, l.dtype, n, 3)).collect();
    let out = [cpu.allocate(n * 8).expect("memory")];
    let launch = Launch::new(&kernel, &inputs, &out, &build.scalars).expect("fits");
    let mut best = f64::MAX;
    let times = (2_000_000 / n.max(1000)).max(1);
    for _ in 0..100 {
        let start = Instant::now();
        for _ in 0..times {
            ready.run(std::hint::black_box(&launch)).expect("ran");
        }
        best = best.min(start.elapsed().as_secs_f64() / times as f64);
    }
    println!("{name:<28} {:>9.1} ns", best * 1e9);
}

/// What spreading a kernel over two threads costs, and from which size it pays: the parallel threshold.
fn wake() {
    if !wanted("threshold") {
        return;
    }
    let alone = CpuBackend::builder().threads(1).build().expect("threads");
    let both = CpuBackend::builder().threads(2).parallel_threshold(0.0).build().expect("threads");
    for n in [2048, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10] {
        latency(&alone, &format!("threshold: exp {n}, one"), unary(MapOp::Exp, DType::F32, &[n]));
        latency(&both, &format!("threshold: exp {n}, two"), unary(MapOp::Exp, DType::F32, &[n]));
    }
}

fn pool(cpu: &CpuBackend) {
    if !wanted("allocate") {
        return;
    }
    for bytes in [20usize, 4096, 100_000, 80_000_000] {
        let start = Instant::now();
        for _ in 0..100_000 {
            let block = cpu.allocate(std::hint::black_box(bytes)).expect("memory");
            cpu.free(block);
        }
        println!("allocate + free {bytes:<12} {:>9.1} ns", start.elapsed().as_secs_f64() * 1e9 / 1e5);
    }
}

fn main() {
    let threads = std::env::var("CROSSOVER_THREADS").ok().and_then(|t| t.parse().ok());
    let cpu = match threads {
        Some(threads) => CpuBackend::builder().threads(threads).build().expect("threads"),
        None => CpuBackend::new(),
    };
    println!("{} threads, {}", cpu.threads(), cpu.simd());
    use Kind::{Column, Row};
    fused(&cpu, "gelu 4096x1024", unary(MapOp::Gelu, DType::F32, &[4096, 1024]), "PyTorch 6.96 ms, bar 2.8");
    fused(&cpu, "expression f64 1e7", expression(10_000_000), "numexpr 46 ms, bar 30.7");
    fused(
        &cpu,
        "layer norm 1024x768",
        normalise(Build::new(Row, &[1024], &[768], &[]), true),
        "PyTorch 0.24",
    );
    fused(&cpu, "softmax 4096x1024", softmax(4096, 1024), "PyTorch");
    fused(&cpu, "softmax 1024x4096", softmax(1024, 4096), "");
    fused(&cpu, "softmax 1x4194304", softmax(1, 4 << 20), "");
    fused(&cpu, "softmax 65536x16", softmax(65536, 16), "");
    fused(
        &cpu,
        "standardise 10000x1000",
        normalise(Build::new(Column, &[], &[10000], &[1000]), false),
        "JAX 23 ms, bar 15.5",
    );
    fused(&cpu, "sum 1e7 f32", total(Row, &[], &[10_000_000], &[], DType::F32, ReduceOp::Sum), "");
    fused(&cpu, "sum rows 10000x1000", total(Row, &[10000], &[1000], &[], DType::F32, ReduceOp::Sum), "");
    fused(
        &cpu,
        "sum columns 10000x1000",
        total(Column, &[], &[10000], &[1000], DType::F32, ReduceOp::Sum),
        "",
    );
    fused(&cpu, "sum columns 1e6x3", total(Column, &[], &[1_000_000], &[3], DType::F32, ReduceOp::Sum), "");
    fused(
        &cpu,
        "argmax rows 10000x1000",
        total(Row, &[10000], &[1000], &[], DType::F32, ReduceOp::ArgMax),
        "",
    );
    fused(&cpu, "max 1e7 f32", total(Row, &[], &[10_000_000], &[], DType::F32, ReduceOp::Max), "");
    fused(&cpu, "xor 64 MiB", xor(64 << 20), "NumPy 24 ms, bar 20");
    fused(&cpu, "copy 64 MiB", copy(16 << 20), "");
    fused(&cpu, "transpose 2048x2048", transposed(2048), "");
    for op in [MapOp::Exp, MapOp::Log, MapOp::Sin, MapOp::Tanh, MapOp::Erf, MapOp::Sqrt] {
        fused(&cpu, &format!("map {op} f32 1e6"), unary(op, DType::F32, &[1_000_000]), "");
        fused(&cpu, &format!("map {op} f64 1e6"), unary(op, DType::F64, &[1_000_000]), "");
    }
    philox_uniform(&cpu);
    latency(&cpu, "tiny gelu 5", unary(MapOp::Gelu, DType::F32, &[5]));
    latency(&cpu, "tiny negative 5", unary(MapOp::Negative, DType::F32, &[5]));
    wake();
    pool(&cpu);
    for (n, dtype) in [(64, DType::F32), (256, DType::F32), (1024, DType::F32), (1024, DType::F64)] {
        matmul(&cpu, n, dtype);
    }
}

fn philox_uniform(cpu: &CpuBackend) {
    let name = "philox uniform 1e7";
    if !wanted(name) {
        return;
    }
    let build = uniform(10_000_000);
    let key = random_bytes(cpu, DType::U32, 2, 5);
    let (_, seconds) = time(cpu, &Kernel::Fused(build.fused.clone()), &[key], &[40_000_000], &build.scalars);
    println!("{name:<28} {:>9.3} ms {:>8.3} ns/element", seconds * 1e3, seconds * 1e9 / 1e7);
}

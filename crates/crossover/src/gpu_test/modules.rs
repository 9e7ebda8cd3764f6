//! Embeddings, lattices and maps over many arrays on the GPU: results against the CPU's, and how fast they are.

use std::{sync::Arc, time::Instant};

use crossover::{
    Array, Batch, DType, Device, Key, Runtime,
    embed::{EmbedConfig, Embedder, Layout, Precision, Sinusoid, Table},
    lattice::{Lattice, Obstacles, walsh_hadamard_array, xor_array},
    par_iter, random, with_device,
};
use crossover_cpu::CpuBackend;
use crossover_cuda::CudaBackend;
use crossover_plan::Options as PlanOptions;
use crossover_runtime::{
    Executor, Machine, Placement,
    trace::{Session, Track},
};

use crate::{
    Options, Result,
    report::Report,
    setup::{GPU, Setup},
};

pub fn run(setup: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    setup.runtime(true).scope(|| -> Result<()> {
        type Part = fn(&Setup, &mut Report) -> Result<()>;
        let parts: [(&str, Part); 6] = [
            ("encodings", encodings),
            ("embedders", embedders),
            ("tables", tables),
            ("advice", advice),
            ("lattices", lattices),
            ("maps", maps),
        ];
        for (name, part) in parts {
            if let Err(error) = part(setup, report) {
                report.check(name, false, format!("ended early: {error}"));
            }
        }
        Ok(())
    })
}

fn bits(array: &Array) -> Result<Vec<u32>> {
    Ok(array.astype(DType::F32).to_vec::<f32>()?.into_iter().map(f32::to_bits).collect())
}

/// Whether the GPU and the CPU give the same bits, and how many kernels the host ran instead.
fn same(report: &mut Report, name: &str, make: &dyn Fn() -> Result<Array>) -> Result<()> {
    let runtime = Runtime::current();
    let before = runtime.executor().counts().fallbacks;
    let ours = bits(&make()?)?;
    let fell = runtime.executor().counts().fallbacks - before;
    let want = with_device(Device::Cpu, || bits(&make()?))?;
    let apart = ours.iter().zip(&want).filter(|(a, b)| a != b).count();
    let detail = format!("{apart} of {} bits differ; on the host: {fell}", want.len());
    report.check(name, apart == 0 && ours.len() == want.len() && fell == 0, detail);
    Ok(())
}

/// Median milliseconds of a call that ends when the device has finished.
fn timed(setup: &Setup, rounds: usize, make: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    let gpu = setup.gpu()?;
    for _ in 0..3 {
        make()?;
    }
    let mut times = Vec::new();
    for _ in 0..rounds {
        gpu.synchronise()?;
        let start = Instant::now();
        make()?;
        gpu.synchronise()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[rounds / 2])
}

/// Prints where the time of one call goes, for whoever looks for it: what threads and queues did, in microseconds since its start.
fn laid_out(setup: &Setup, name: &str, make: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    const LINES: usize = 48;
    let gpu = setup.gpu()?;
    make()?;
    gpu.synchronise()?;
    let session = Session::begin_timing_everything();
    make()?;
    gpu.synchronise()?;
    let seen = session.end();
    println!("   {name}, recorded: {:.0} us", seen.wall as f64 / 1e3);
    for span in seen.spans().take(LINES) {
        let track = match &seen.tracks[span.track] {
            Track::Thread(name) => name.clone(),
            Track::Queue(queue) => format!("queue {}", queue.purpose),
        };
        let (start, took) = (span.start as f64 / 1e3, span.duration as f64 / 1e3);
        println!("   {start:>8.1} {took:>8.1}  {track:<16} {} ({} bytes)", span.name, span.bytes);
    }
    Ok(())
}

/// Milliseconds of one of many calls that follow each other.
fn queued(setup: &Setup, make: &dyn Fn() -> Result<Array>) -> Result<f64> {
    const CALLS: usize = 20;
    let ten = timed(setup, 7, &mut || {
        for _ in 0..CALLS {
            make()?.eval()?;
        }
        Ok(())
    })?;
    Ok(ten / CALLS as f64)
}

fn encodings(setup: &Setup, report: &mut Report) -> Result<()> {
    let positions = random::integers::<i64>(&Key::new(1), [500], 0..10_000_000);
    positions.eval()?;
    for layout in Layout::ALL {
        for (width, phase) in [(512, 0.0), (64, 0.7), (33, -2.5)] {
            let encoding = Sinusoid::new(width)?.layout(layout).phase(phase)?;
            let name = format!("sinusoid of {width}, {}, phase {phase}", layout.name());
            same(report, &name, &|| Ok(encoding.encode(&positions, DType::F32)?))?;
        }
    }
    for dtype in [DType::F64, DType::F16, DType::BF16] {
        let encoding = Sinusoid::new(128)?;
        same(report, &format!("sinusoid {dtype}"), &|| Ok(encoding.encode(&positions, dtype)?))?;
    }
    let x = random::normal::<f32>(&Key::new(2), [4, 500, 64]);
    x.eval()?;
    let encoding = Sinusoid::new(64)?;
    same(report, "rotation", &|| Ok(encoding.rotate(&x, &positions, crossover::embed::Rotary::Halves)?))?;
    let places: Array = Array::arange(2048i64).astype(DType::I32) + Array::zeros::<i32>([64, 1]);
    places.eval()?;
    for (name, layout) in [
        ("exact sinusoid 64x2048x512 f32", Layout::Interleaved),
        ("exact sinusoid halves 64x2048x512", Layout::Concatenated),
    ] {
        let encoding = Sinusoid::new(512)?.layout(layout);
        let ms = queued(setup, &|| Ok(encoding.encode(&places, DType::F32)?))?;
        report.figure(name, &[("ms", ms), ("GB_s", 64.0 * 2048.0 * 512.0 * 4.0 / ms / 1e6)]);
    }
    let encoding = Sinusoid::new(512)?;
    let ms = queued(setup, &|| Ok(encoding.encode(&places, DType::BF16)?))?;
    report.figure("exact sinusoid 64x2048x512 bf16", &[("ms", ms)]);
    Ok(())
}

fn embedders(setup: &Setup, report: &mut Report) -> Result<()> {
    let tokens = random::integers::<i64>(&Key::new(3), [8, 300], 0..5000);
    tokens.eval()?;
    for precision in Precision::ALL {
        let config = EmbedConfig::new(5000, 96).temperature(1.5).precision(precision);
        let embedder = Embedder::new(config.clone())?;
        let name = format!("embedder {}", precision.name());
        same(report, &format!("{name}, several sequences"), &|| Ok(embedder.embed(&tokens)?))?;
        let alone = tokens.index(0);
        same(report, &format!("{name}, one sequence"), &|| Ok(embedder.embed_at(&alone, 1_000_000)?))?;
        let apart = Embedder::from_table(config.fusion(false), embedder.table())?;
        let equal = bits(&embedder.embed_at(&alone, 77)?)? == bits(&apart.embed_at(&alone, 77)?)?;
        report.check(&format!("{name}, one kernel or several"), equal, "the same bits");
    }
    // Results so large that threads take rows of several sequences at once.
    for (dtype, sequences, length, width) in [
        (DType::F32, 8, 1100, 516),
        (DType::F32, 9, 1000, 512),
        (DType::BF16, 6, 2050, 1024),
        (DType::F64, 4, 1030, 514),
    ] {
        let tokens = random::integers::<i64>(&Key::new(14), [sequences, length], 0..3000);
        let table = random::normal::<f32>(&Key::new(15), [3000, width]).astype(dtype);
        let places = random::normal::<f32>(&Key::new(16), [length, width]).astype(dtype);
        for array in [&tokens, &table, &places] {
            array.eval()?;
        }
        let name = format!("lookup plus what sequences share, {sequences} x {length} x {width} {dtype}");
        same(report, &name, &|| Ok(table.take(&tokens, 0) + &places))?;
    }
    let tokens = random::integers::<i64>(&Key::new(4), [8, 2048], 0..50_000);
    tokens.eval()?;
    let embedder = Embedder::new(EmbedConfig::new(50_000, 512))?;
    let ms = queued(setup, &|| Ok(embedder.embed(&tokens)?))?;
    report.figure("embedder 50000x512 8x2048 f32", &[("ms", ms)]);
    Ok(())
}

#[allow(unsafe_code)]
fn tables(setup: &Setup, report: &mut Report) -> Result<()> {
    let path = std::env::temp_dir().join(format!("crossover-gpu-table-{}", std::process::id()));
    let rows = random::normal::<f32>(&Key::new(5), [100_000, 256]);
    Table::write(&path, [rows.clone()])?;
    // SAFETY: nobody else knows this file.
    let table = unsafe { Table::open(&path, 20_000) }?;
    let mut apart = 0;
    let runtime = Runtime::current();
    for seed in 0..6 {
        // Most tokens are among few, as in texts.
        let share = random::uniform::<f32>(&Key::new(10 + seed), [4096]);
        let tokens = (share.square().square().square().square() * 99_999.0).astype(DType::I64);
        let tokens = Array::from_vec(tokens.to_vec::<i64>()?, [4096]);
        let found = table.lookup(&tokens)?;
        apart += usize::from(bits(&found)? != bits(&rows.take(&tokens, 0))?);
    }
    let stats = table.stats();
    let detail = format!("{apart} of 6 calls differ; {stats:?}, hit rate {:.2}", stats.hit_rate());
    report.check("table with a cache", apart == 0 && stats.served == 6 && stats.hits > stats.misses, detail);
    let tokens = random::integers::<i64>(&Key::new(6), [16_384], 0..20_000);
    tokens.eval()?;
    table.lookup(&tokens)?;
    let moved = runtime.executor().counts().transferred;
    table.lookup(&tokens)?;
    let moved = runtime.executor().counts().transferred - moved;
    report.check("hot rows stay on the device", moved == 0, format!("{moved} bytes moved"));
    let whole = rows.eval()?.clone();
    let mapped = timed(setup, 15, &mut || {
        drop(table.lookup(&tokens)?);
        Ok(())
    })?;
    let embedder = Embedder::from_table(EmbedConfig::new(100_000, 256), &whole)?;
    let memory = timed(setup, 15, &mut || {
        drop(embedder.lookup(&tokens)?);
        Ok(())
    })?;
    laid_out(setup, "lookup of hot rows", &mut || {
        drop(table.lookup(&tokens)?);
        Ok(())
    })?;
    laid_out(setup, "lookup in memory", &mut || {
        drop(embedder.lookup(&tokens)?);
        Ok(())
    })?;
    let numbers = [("mapped_ms", mapped), ("memory_ms", memory), ("ratio", mapped / memory)];
    report.figure("lookup of 16384 hot rows of 256", &numbers);
    std::fs::remove_file(&path).ok();
    Ok(())
}

/// The advised batch stays inside the memory that it was asked about, and one a tenth larger does not.
fn advice(_: &Setup, report: &mut Report) -> Result<()> {
    const MEMORY: u64 = 1 << 30;
    for precision in [Precision::F32, Precision::MixedBf16] {
        let peak = |batch: Option<usize>| -> Result<(u64, usize)> {
            let cuda = Arc::new(CudaBackend::new(0).cache(None));
            cuda.open()?;
            let machine = Machine::new(Arc::new(CpuBackend::new()), vec![cuda])?;
            let executor = Executor::new(machine.clone(), PlanOptions { fusion: true }, Placement::On(GPU));
            Runtime::from_executor(executor).scope(|| -> Result<(u64, usize)> {
                let config = EmbedConfig::new(20_000, 512).precision(precision).device(Device::Cuda(0));
                let embedder = Embedder::new(config)?;
                let Some(batch) = batch else {
                    return Ok((0, embedder.advise(MEMORY, 512)?.batch));
                };
                let table = embedder.table().clone();
                table.eval()?;
                Runtime::current().trim()?;
                let tokens = Array::from_vec(vec![3i64; batch * 512], [batch, 512]);
                embedder.embed(&tokens)?;
                let memory = machine.memory(GPU).ok_or("the device is closed")?;
                Ok((memory.peak, batch))
            })
        };
        let batch = peak(None)?.1;
        let (inside, outside) = (peak(Some(batch))?.0, peak(Some(batch + batch.div_ceil(10)))?.0);
        let detail = format!("{batch} sequences take {inside} of {MEMORY} bytes, a tenth more {outside}");
        let name = format!("advice, {}", precision.name());
        report.check(&name, inside <= MEMORY && outside > MEMORY, detail);
    }
    Ok(())
}

fn blocked(lattice: &Lattice, share: u64) -> Result<Obstacles> {
    let hidden = |vertex: usize| (vertex as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let mask: Vec<bool> = (0..lattice.len()).map(|v| v > 0 && hidden(v) % 100 < share).collect();
    Ok(Obstacles::from_mask(lattice, &mask)?)
}

fn lattices(setup: &Setup, report: &mut Report) -> Result<()> {
    let shapes: [&[usize]; 6] = [&[5000], &[300, 1000], &[7, 33], &[40, 50, 60], &[3, 4, 5, 6], &[2, 2, 2]];
    for sizes in shapes {
        for lattice in [Lattice::new(sizes)?, Lattice::new(sizes)?.periodic()] {
            for share in [0, 5, 30] {
                let obstacles = blocked(&lattice, if sizes.len() == 1 { share / 30 } else { share })?;
                let field = lattice.distance_field(&[0], Some(&obstacles))?;
                let want: Vec<i32> = field.as_slice().iter().map(|&distance| distance as i32).collect();
                let found = with_device(Device::Cuda(0), || -> Result<Vec<i32>> {
                    Ok(lattice.distance_field_array(&[0], Some(&obstacles))?.to_vec::<i32>()?)
                })?;
                let kind = if lattice.is_periodic() { "periodic" } else { "open" };
                let name = format!("distance field {sizes:?} {kind}, {share} in 100 blocked");
                let apart = want.iter().zip(&found).filter(|(a, b)| a != b).count();
                report.check(&name, want == found, format!("{apart} of {} differ", want.len()));
            }
        }
    }
    let data = random::integers::<i64>(&Key::new(7), [3, 1000], ..);
    data.eval()?;
    let key = Array::arange(7i64);
    same(report, "XOR transform", &|| Ok(xor_array(&data, &key)?))?;
    let data = random::normal::<f32>(&Key::new(8), [4, 1 << 15]);
    data.eval()?;
    same(report, "Walsh-Hadamard transform", &|| Ok(walsh_hadamard_array(&data)?))?;
    for (name, sizes, share) in [
        ("distance field 1000x1000, none blocked", [1000usize, 1000], 0),
        ("distance field 1000x1000, 25 in 100", [1000, 1000], 25),
        ("distance field 4000x4000, 25 in 100", [4000, 4000], 25),
    ] {
        let lattice = Lattice::new(sizes)?;
        let obstacles = blocked(&lattice, share)?;
        let device = timed(setup, 5, &mut || {
            with_device(Device::Cuda(0), || -> Result<()> {
                lattice.distance_field_array(&[0], Some(&obstacles))?.eval()?;
                Ok(())
            })
        })?;
        let host = timed(setup, 5, &mut || {
            drop(lattice.distance_field(&[0], Some(&obstacles))?);
            Ok(())
        })?;
        report.figure(name, &[("gpu_ms", device), ("cpu_ms", host), ("ratio", device / host)]);
    }
    Ok(())
}

fn maps(setup: &Setup, report: &mut Report) -> Result<()> {
    // In the host's memory, as whoever has read them from somewhere has them.
    let on_host = |count: u64, shape: &[usize]| -> Result<Vec<Array>> {
        let one = |seed| {
            let made = random::normal::<f32>(&Key::new(100 + seed), shape.to_vec());
            Ok(Array::from_vec(made.to_vec::<f32>()?, shape.to_vec()))
        };
        (0..count).map(one).collect()
    };
    let standardise = |x: Array| (&x - x.mean(())) / x.std(());
    let vectors = on_host(1000, &[10_000])?;
    for fetched in [false, true] {
        let map = par_iter(vectors.clone()).gpu_map(standardise);
        let (results, done) = if fetched { map.to_host() } else { map }.run();
        let mut apart = 0;
        for (x, result) in vectors.iter().zip(results).step_by(37) {
            let want = with_device(Device::Cpu, || bits(&standardise(x.clone())))?;
            apart += usize::from(bits(&result?)? != want);
        }
        let held = apart == 0 && done.single == 0 && done.groups > 1;
        report.check(&format!("gpu_map, fetched {fetched}"), held, format!("{apart} differ; {done}"));
    }
    let matrices = on_host(100, &[256, 256])?;
    let read = |results: Vec<Array>| -> Result<()> {
        for result in results {
            std::hint::black_box(result.host_view()?.bytes()?);
        }
        Ok(())
    };
    let ms =
        timed(setup, 9, &mut || read(par_iter(vectors.clone()).gpu_map(standardise).to_host().collect()?))?;
    report.figure("gpu_map 1000 vectors of 1e4", &[("ms", ms), ("GB_s", 80e6 / ms / 1e6)]);
    let ms = timed(setup, 9, &mut || read(par_iter(vectors.clone()).gpu_map(standardise).collect()?))?;
    report.figure("gpu_map 1000 vectors of 1e4, later", &[("ms", ms)]);
    let ms = timed(setup, 9, &mut || drop_all(par_iter(vectors.clone()).gpu_map(standardise).collect()?))?;
    report.figure("gpu_map 1000 vectors of 1e4, left", &[("ms", ms)]);
    for count in [100, 10] {
        let mut make =
            || read(par_iter(matrices[..count].to_vec()).gpu_map(|x| x.matmul(&x)).to_host().collect()?);
        let ms = timed(setup, 31, &mut make)?;
        let name = format!("gpu_map {count} products of 256");
        report.figure(&name, &[("ms", ms)]);
        laid_out(setup, &name, &mut make)?;
    }
    products_apart(report, &matrices[..10])?;
    let resident: Vec<Array> =
        matrices[..10].iter().map(|x| x.to_device(Device::Cuda(0))).collect::<std::result::Result<_, _>>()?;
    let others: Vec<Array> = resident.iter().rev().cloned().collect();
    let batch = Batch::new(resident.clone()).max_batch_size(16);
    let mut batched_once = || drop_all(batch.matmul(&others)?);
    let batched = timed(setup, 101, &mut batched_once)?;
    let looped = timed(setup, 101, &mut || {
        let products: Vec<Array> = resident.iter().zip(&others).map(|(x, y)| x.matmul(y)).collect();
        for product in &products {
            product.eval()?;
        }
        drop_all(products)
    })?;
    let numbers = [("batched_ms", batched), ("looped_ms", looped), ("times", looped / batched)];
    report.figure("10 products of 256 on the GPU", &numbers);
    laid_out(setup, "10 products of 256 on the GPU", &mut batched_once)
}

/// Products of matrices that lie apart on the GPU have the bits of those that come from the host as one.
fn products_apart(report: &mut Report, matrices: &[Array]) -> Result<()> {
    let on_gpu = |x: &Array| x.to_device(Device::Cuda(0));
    let resident: Vec<Array> = matrices.iter().map(on_gpu).collect::<std::result::Result<_, _>>()?;
    // One by one the device may choose another kernel: the same call from the host says what it is to be.
    let whole = par_iter(matrices.to_vec()).gpu_map(|x| x.matmul(&x)).to_host().collect()?;
    let launches = || Runtime::current().executor().counts().launches;
    let batch = Batch::new(resident);
    batch.map(|x| x.matmul(&x))?;
    let before = launches();
    let apart = batch.map(|x| x.matmul(&x))?;
    let made = launches() - before;
    let mut differ = 0;
    for (one, other) in whole.iter().zip(&apart) {
        differ += usize::from(bits(one)? != bits(other)?);
    }
    let detail = format!("{differ} of {} differ; {made} launches", apart.len());
    report.check("products of matrices that lie apart", differ == 0 && made == 1, detail);
    Ok(())
}

fn drop_all(results: Vec<Array>) -> Result<()> {
    drop(results);
    Ok(())
}

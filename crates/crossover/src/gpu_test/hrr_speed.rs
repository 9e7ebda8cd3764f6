//! How fast holographic memory is through the runtime, operands and results on the GPU; names of the rows are those of `bench/hrr_gpu.py`.

use std::time::Instant;

use crossover::{
    Array, DType, Device, Key,
    hrr::{ItemMemory, Model, Space},
    random, with_device,
};

use crate::{
    Options, Result,
    bench::{copy, median, time},
    report::Report,
    setup::Setup,
};

const ROWS: usize = 100_000;

/// Two stacks of random vectors, on the device.
fn drawn(space: &Space, rows: usize) -> Result<(Array, Array)> {
    let (a, b) = (space.random(&Key::new(1), rows), space.random(&Key::new(2), rows));
    crossover::eval_all(&[&a, &b])?;
    Ok((a, b))
}

type Step = fn(&Space, &Array, &Array) -> crossover::hrr::Result<Array>;

/// Name, bytes that are moved at least for each element of a vector, and the work.
const STEPS: [(&str, usize, Step); 5] = [
    ("bind", 12, |s, a, b| s.bind(a, b)),
    ("unbind", 12, |s, a, b| s.unbind(a, b)),
    ("bind and normalise", 12, |s, a, b| s.bind_normalised(a, b)),
    ("bind and superpose", 8, |s, a, b| s.bind_superpose(a, b)),
    ("bind, one key", 8, |s, a, b| s.bind(a, &b.index(0))),
];

pub fn run(setup: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    setup.runtime(true).scope(|| -> Result<()> {
        let gpu = setup.gpu()?;
        let delay = gpu.allocate(1 << 30)?;
        let mut timed = |name: String, bytes: usize, work: &dyn Fn() -> Result<Array>| -> Result<()> {
            if options.wants(&name) {
                let times = time(gpu, &delay, &|_| Ok(work()?.eval().map(drop)?))?;
                let copied = copy(gpu, &delay, bytes / 2)?;
                report.figure(&name, &[("ms", times.device), ("host_us", times.host), ("copy_ms", copied)]);
            }
            Ok(())
        };
        for d in [512, 1024] {
            let space = Space::new(Model::Hrr, d)?;
            let (a, b) = drawn(&space, ROWS)?;
            for (name, each, step) in STEPS {
                timed(format!("{name} d={d} rows={ROWS}"), each * d * ROWS, &|| Ok(step(&space, &a, &b)?))?;
            }
        }
        let space = Space::new(Model::Hrr, 512)?;
        for batch in [1, 10, 100, 1000, 10_000] {
            let (a, b) = drawn(&space, batch)?;
            timed(format!("bind d=512 rows={batch}"), 12 * 512 * batch, &|| Ok(space.bind(&a, &b)?))?;
        }
        for (name, sets) in [("1000 sets", [1000].as_slice()), ("one set", &[])] {
            let vectors = random::normal::<f32>(&Key::new(3), [sets, &[1000, 512]].concat());
            let weights = random::uniform::<f32>(&Key::new(4), [1000, 1000]);
            crossover::eval_all(&[&vectors, &weights])?;
            let bytes = 4 * (vectors.size() + weights.size() + 1000 * 512);
            let superposed = || Ok(space.superpose_weighted(&vectors, &weights)?);
            timed(format!("weighted superpose of {name}, 1000x1000x512"), bytes, &superposed)?;
        }
        let (memory, asked) = compact_memory(options)?;
        for asked in asked {
            let queries = asked.shape().dims()[0];
            // Items and queries in 16 bits, and answers; queries come in f32.
            let bytes = 2 * 1024 * (ITEMS + queries) + 8 * queries;
            timed(compact_name(queries), bytes, &|| Ok(memory.nearest(&asked)?))?;
        }
        if options.wants("waited for") {
            pairs(setup, report)?;
        }
        if options.wants("cleanup, exact") {
            let memory = filled(ItemMemory::with_capacity(ITEMS, Space::new(Model::Hrr, 1024)?))?;
            cleanups(setup, report, &memory, "exact")?;
        }
        if options.wants("cleanup, compact") {
            cleanups(setup, report, &memory, "compact f16")?;
        }
        Ok(())
    })?;
    if options.wants("CPU bind d=512 rows=") {
        on_the_host(setup, report)?;
    }
    Ok(())
}

/// Microseconds of a call, and of a call until its result is there.
fn waited(setup: &Setup, work: &dyn Fn() -> Result<()>) -> Result<(f64, f64)> {
    for _ in 0..20 {
        work()?;
    }
    setup.cuda.gpu()?.synchronise()?;
    let (mut calls, mut wholes) = (Vec::new(), Vec::new());
    for _ in 0..201 {
        let start = Instant::now();
        work()?;
        calls.push(start.elapsed().as_secs_f64() * 1e6);
        setup.cuda.gpu()?.synchronise()?;
        wholes.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok((median(calls), median(wholes)))
}

/// Binding and unbinding from the call until the result is there, by batch.
fn pairs(setup: &Setup, report: &mut Report) -> Result<()> {
    let space = Space::new(Model::Hrr, 512)?;
    for batch in [1, 10, 100, 1000] {
        let (a, b) = (space.random(&Key::new(1), batch), space.random(&Key::new(2), batch));
        crossover::eval_all(&[&a, &b])?;
        let (call, whole) = waited(setup, &|| Ok(space.bind(&a, &b)?.eval().map(drop)?))?;
        report.figure(&format!("bind, waited for, d=512 rows={batch}"), &[("host_us", call), ("us", whole)]);
        let (call, whole) =
            waited(setup, &|| Ok(space.unbind(&space.bind(&a, &b)?, &a)?.eval().map(drop)?))?;
        let name = format!("bind and unbind, waited for, d=512 rows={batch}");
        report.figure(&name, &[("host_us", call), ("us", whole)]);
    }
    Ok(())
}

/// Items of the memories that are asked.
const ITEMS: usize = 100_000;
const ASKED: [usize; 3] = [1, 100, 1000];

/// A memory with random items, which is empty before.
fn filled(mut memory: ItemMemory) -> Result<ItemMemory> {
    let names: Vec<String> = (0..ITEMS).map(|i| i.to_string()).collect();
    let items = memory.space().random(&Key::new(1), ITEMS);
    memory.add_vectors(&names, &items)?;
    Ok(memory)
}

fn compact_name(queries: usize) -> String {
    format!("cleanup, compact f16, on the device, {queries} x {ITEMS} d=1024")
}

/// A memory that is kept in f16, and queries for it; empty where nobody asks for their times.
fn compact_memory(options: &Options) -> Result<(ItemMemory, Vec<Array>)> {
    let space = Space::new(Model::Hrr, 1024)?;
    let memory = ItemMemory::compact(0, space.clone(), DType::F16)?;
    if !options.wants("cleanup, compact")
        && !ASKED.iter().any(|&queries| options.wants(&compact_name(queries)))
    {
        return Ok((memory, Vec::new()));
    }
    let asked: Vec<Array> = ASKED.iter().map(|&queries| space.random(&Key::new(2), queries)).collect();
    crossover::eval_all(&asked.iter().collect::<Vec<_>>())?;
    Ok((filled(memory)?, asked))
}

/// Queries against memories on the GPU; answers come back to the host as part of the time.
fn cleanups(setup: &Setup, report: &mut Report, memory: &ItemMemory, kind: &str) -> Result<()> {
    for queries in ASKED {
        let asked = memory.space().random(&Key::new(2), queries);
        asked.eval()?;
        for _ in 0..3 {
            memory.query(&asked, 0.0)?;
        }
        let mut times = Vec::new();
        for _ in 0..21 {
            setup.gpu()?.synchronise()?;
            let start = Instant::now();
            memory.query(&asked, 0.0)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        report
            .figure(&format!("cleanup, {kind}, {queries} x {ITEMS} d=1024"), &[("whole_ms", median(times))]);
    }
    Ok(())
}

/// The same by the host's threads, for the table of batches.
fn on_the_host(setup: &Setup, report: &mut Report) -> Result<()> {
    let space = Space::new(Model::Hrr, 512)?;
    setup.runtime(true).scope(|| {
        with_device(Device::Cpu, || -> Result<()> {
            for batch in [1, 10, 100, 1000, 10_000] {
                let (a, b) = (space.random(&Key::new(1), batch), space.random(&Key::new(2), batch));
                crossover::eval_all(&[&a, &b])?;
                let mut times = Vec::new();
                for round in 0..60 {
                    let start = Instant::now();
                    space.bind(&a, &b)?.eval()?;
                    if round >= 10 {
                        times.push(start.elapsed().as_secs_f64() * 1e6);
                    }
                }
                report.figure(&format!("CPU bind d=512 rows={batch}"), &[("us", median(times))]);
            }
            Ok(())
        })
    })
}

//! Holographic memory through the runtime: every model and operation against float64 on the CPU.
//!
//! Memory that results will lie in is filled with NaN before, so that what a kernel does not write is seen.

use crossover::{
    Array, DType, Device, Key,
    hrr::{ItemMemory, Model, Space},
    random, with_device,
};

use crate::{Options, Result, hrr_speed, report::Report, setup::Setup};

/// Lengths with a kernel of their own (powers of two, other products of small primes), and lengths without: odd, prime, twice a prime, short.
const DIRECT: [usize; 22] = [
    64, 128, 256, 512, 1024, 2048, 4096, 8192, 210, 300, 768, 882, 1000, 1536, 3072, 324, 1500, 2500, 3750,
    6000, 6250, 7290,
];
const OTHERS: [usize; 9] = [1, 2, 7, 63, 127, 514, 1001, 1009, 8191];
/// Lengths that are tried with every operation and dtype.
const ALL_WAYS: [usize; 7] = [64, 210, 512, 1000, 1500, 8192, 1009];

/// What is done to two stacks of vectors.
type Operation = (&'static str, fn(&Space, &Array, &Array) -> crossover::hrr::Result<Array>);

const OPERATIONS: [Operation; 11] = [
    ("bind", |s, a, b| s.bind(a, b)),
    ("unbind", |s, a, b| s.unbind(a, b)),
    ("bind, one key", |s, a, b| s.bind(a, &b.index(0))),
    ("unbind, one key", |s, a, b| s.unbind(a, &b.index(0))),
    ("bind and normalise", |s, a, b| s.bind_normalised(a, b)),
    ("bind and superpose", |s, a, b| s.bind_superpose(a, b)),
    ("superpose", |s, a, _| s.superpose(a)),
    ("superpose, weighted", |s, a, _| {
        let k = a.shape().dims()[0];
        let weights = random::uniform::<f32>(&Key::new(77), [3, k]) + 0.1;
        s.superpose_weighted(a, &weights)
    }),
    ("unitary", |s, a, _| s.unitary(a)),
    ("permute", |s, a, _| s.permute(a, 3)),
    ("bind three", |s, a, b| s.multi_bind(&[a, b, a])),
];

/// The dtype that references are computed in.
fn wide(dtype: DType) -> DType {
    match dtype {
        DType::Bool => DType::Bool,
        DType::C64 | DType::C128 => DType::C128,
        _ => DType::F64,
    }
}

fn bound(dtype: DType) -> f64 {
    match dtype {
        DType::F64 | DType::C128 => 1e-13,
        DType::BF16 => 5e-3,
        _ => 3e-6,
    }
}

/// Fills the device memory that the next results get with NaN.
fn poison(elements: usize) -> Result<()> {
    for _ in 0..2 {
        Array::full([elements.max(1)], f64::NAN).eval()?;
    }
    Ok(())
}

/// How far an array is from what it should be, relative to that.
fn apart(got: &Array, want: &Array) -> Result<f64> {
    with_device(Device::Cpu, || {
        if want.dtype() == DType::Bool {
            let differ = (got ^ want).astype(DType::F64).sum(()).item::<f64>()?;
            return Ok(differ);
        }
        let distance = (got.astype(want.dtype()) - want).abs().square().sum(()).item::<f64>()?;
        let size = want.abs().square().sum(()).item::<f64>()?;
        Ok((distance / size.max(f64::MIN_POSITIVE)).sqrt())
    })
}

/// The error of an operation on stacks of vectors, of which the second is a thousand times smaller where the model allows.
fn error(space: &Space, operation: Operation, rows: usize) -> Result<f64> {
    let scale = if space.model() == Model::Hrr { 1e-3 } else { 1.0 };
    let (a, b) = with_device(Device::Cpu, || -> Result<(Array, Array)> {
        let (a, b) = (space.random(&Key::new(1), rows), space.random(&Key::new(2), rows));
        let b = if scale == 1.0 { b } else { b * scale };
        crossover::eval_all(&[&a, &b])?;
        Ok((a, b))
    })?;
    poison(rows * space.d())?;
    let got = operation.1(space, &a, &b)?;
    got.eval()?;
    let reference = Space::new(space.model(), space.d())?.with_dtype(wide(space.dtype()))?;
    let want = with_device(Device::Cpu, || -> Result<Array> {
        let widened = |x: &Array| x.astype(reference.dtype());
        let want = operation.1(&reference, &widened(&a), &widened(&b))?;
        want.eval()?;
        Ok(want)
    })?;
    apart(&got, &want)
}

pub fn run(setup: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    let runtime = setup.runtime(true);
    runtime.scope(|| -> Result<()> {
        let fallbacks = || runtime.executor().counts().fallbacks;
        for d in DIRECT.into_iter().chain(OTHERS) {
            let name = format!("hrr of {d}");
            if !options.wants(&name) {
                continue;
            }
            let before = fallbacks();
            let mut worst = (0.0, "");
            let space = Space::new(Model::Hrr, d)?;
            let all = if ALL_WAYS.contains(&d) { &OPERATIONS[..] } else { &OPERATIONS[..2] };
            for &operation in all {
                for rows in [1, 7, 301] {
                    let error = error(&space, operation, rows)?;
                    if error > worst.0 || error.is_nan() {
                        worst = (error, operation.0);
                    }
                }
            }
            let detail =
                format!("largest error {:.1e} ({}); on the host: {}", worst.0, worst.1, fallbacks() - before);
            // Transforms without a kernel of ours are the library's, whose errors grow with the length.
            let limit = if DIRECT.contains(&d) { bound(DType::F32) } else { 2e-5 };
            report.check(&name, worst.0 < limit && fallbacks() == before, detail);
        }
        for model in Model::ALL {
            for &dtype in model.dtypes() {
                every_operation(&Space::new(model, 512)?.with_dtype(dtype)?, options, report)?;
            }
        }
        for d in [1000, 8192, 1009] {
            for dtype in [DType::F64, DType::BF16] {
                every_operation(&Space::new(Model::Hrr, d)?.with_dtype(dtype)?, options, report)?;
            }
        }
        cleanups(options, report)?;
        compact_cleanups(options, report)?;
        if options.wants("memory") { memories(report) } else { Ok(()) }
    })?;
    hrr_speed::run(setup, options, report)
}

fn every_operation(space: &Space, options: &Options, report: &mut Report) -> Result<()> {
    let name = format!("{} of {} in {}", space.model(), space.d(), space.dtype());
    if !options.wants(&name) {
        return Ok(());
    }
    let (mut worst, mut wrong) = ((0.0, ""), Vec::new());
    for operation in OPERATIONS {
        let error = error(space, operation, 37)?;
        if error > worst.0 || error.is_nan() {
            worst = (error, operation.0);
        }
        if error >= bound(space.dtype()) || error.is_nan() {
            wrong.push(operation.0);
        }
    }
    report.check(
        &name,
        wrong.is_empty(),
        format!("largest error {:.1e} ({}); wrong: {wrong:?}", worst.0, worst.1),
    );
    Ok(())
}

/// Queries, items, length; model and dtype.
const CLEANUPS: [(usize, usize, usize, Model, DType); 10] = [
    (1, 1000, 64, Model::Hrr, DType::F32),
    (8, 777, 100, Model::Hrr, DType::F32),
    (9, 300, 72, Model::Hrr, DType::F32),
    (200, 3001, 1001, Model::Hrr, DType::F32),
    (1000, 20_000, 1024, Model::Hrr, DType::F32),
    (130, 2000, 512, Model::Hrr, DType::BF16),
    (130, 2000, 512, Model::Hrr, DType::F64),
    (130, 2000, 512, Model::Fhrr, DType::C64),
    (130, 2000, 1000, Model::Bsc, DType::Bool),
    (5, 2000, 1000, Model::Hlb, DType::F32),
];

/// Winners against those of a float64 product on the CPU; half of the queries resemble an item.
fn cleanups(options: &Options, report: &mut Report) -> Result<()> {
    for (q, n, d, model, dtype) in CLEANUPS {
        let name = format!("cleanup {q} x {n}, {model} of {d} in {dtype}");
        if !options.wants(&name) {
            continue;
        }
        let space = Space::new(model, d)?.with_dtype(dtype)?;
        let (queries, items, want) = with_device(Device::Cpu, || -> Result<(Array, Array, Array)> {
            let items = space.random(&Key::new(3), n);
            let noise = space.random(&Key::new(4), q);
            let near = items.take(&(Array::arange(q as i64) * 7 % n as i64), 0);
            let queries = match model {
                Model::Bsc => near ^ &(noise & &space.random(&Key::new(5), q)),
                _ => near + noise * 1.5,
            };
            let wider = Space::new(model, d)?.with_dtype(wide(dtype))?;
            let (queries, items) = (queries.astype(dtype), items.astype(dtype));
            let scores = wider.similarities(&queries.astype(wider.dtype()), &items.astype(wider.dtype()))?;
            crossover::eval_all(&[&queries, &items, &scores])?;
            Ok((queries, items, scores))
        })?;
        poison(q * n / 8)?;
        let found = space.cleanup(&queries, &items, -2.0)?;
        let scores = with_device(Device::Cpu, || want.astype(DType::F64).to_vec::<f64>())?;
        let (mut lost, mut off) = (0.0f64, 0.0f64);
        for (row, found) in scores.chunks(n).zip(&found) {
            let best = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let Some(found) = found else { return Err("a query has no nearest item".into()) };
            lost = lost.max(best - row[found.index]);
            off = off.max((found.similarity - row[found.index]).abs());
        }
        // Vectors are normalised in f32, so that what is lost is its rounding.
        let detail = format!("winners lose at most {lost:.1e}; similarities are off by at most {off:.1e}");
        report.check(&name, lost < 1e-6 && off < 1e-6, detail);
    }
    Ok(())
}

/// Winners of compact memories: those of the CPU, for which its own tests have a definition in float64.
fn compact_cleanups(options: &Options, report: &mut Report) -> Result<()> {
    for (q, n, d, model, dtype) in [
        (1, 1000, 64, Model::Hrr, DType::F16),
        (200, 3001, 1001, Model::Hrr, DType::F16),
        (1000, 20_000, 1024, Model::Hrr, DType::F16),
        (130, 2000, 512, Model::Hrr, DType::BF16),
        (130, 2000, 512, Model::Fhrr, DType::F16),
        (130, 2000, 1000, Model::Bsc, DType::BF16),
    ] {
        let name = format!("compact cleanup {q} x {n}, {model} of {d} in {dtype}");
        if !options.wants(&name) {
            continue;
        }
        let space = Space::new(model, d)?;
        let names: Vec<String> = (0..n).map(|i| i.to_string()).collect();
        let filled = || -> Result<(ItemMemory, Array)> {
            let mut memory = ItemMemory::compact(n, space.clone(), dtype)?;
            let items = space.random(&Key::new(3), n);
            memory.add_vectors(&names, &items)?;
            // Some queries are items, the first of which is there twice; some are nothing that there is.
            memory.add_vector("again", &items.index(0))?;
            let near = items.take(&(Array::arange(q as i64) * 14 % n as i64), 0);
            let queries = Array::concat(&[&near, &space.random(&Key::new(4), q)], 0);
            queries.eval()?;
            Ok((memory, queries))
        };
        let (memory, queries) = with_device(Device::Cpu, filled)?;
        let want = with_device(Device::Cpu, || -> Result<Vec<i64>> {
            Ok(memory.nearest(&queries)?.to_vec::<i64>()?)
        })?;
        let (memory, queries) = filled()?;
        poison(q * n / 8)?;
        let found = memory.nearest(&queries)?.to_vec::<i64>()?;
        let differ = found.iter().zip(&want).filter(|(found, want)| found != want).count();
        report.check(&name, differ == 0 && found[0] == 0, format!("{differ} of {} winners differ", 2 * q));
    }
    Ok(())
}

/// Memories whose rows are on the device.
fn memories(report: &mut Report) -> Result<()> {
    let space = Space::new(Model::Hrr, 512)?;
    let mut memory = ItemMemory::with_capacity(3000, space.clone());
    let names: Vec<String> = (0..2500).map(|i| i.to_string()).collect();
    for some in names.chunks(700) {
        memory.add_all(some)?;
        let last = &some[some.len() - 1];
        let found = memory.query(&memory.get(last)?, 0.9)?;
        let right = found[0].as_ref().is_some_and(|found| found.name == *last);
        report.check("an item that was just added", right, format!("found {:?} for {last}", found[0]));
    }
    memory.remove("17")?;
    let noisy = memory.get("1234")? + space.named("noise")? * 0.5;
    let found = memory.query(&noisy, 0.3)?;
    let right = found[0].as_ref().is_some_and(|found| found.name == "1234");
    let same = memory.get("2499")?.to_vec::<f32>()?
        == with_device(Device::Cpu, || space.named("2499"))?.to_vec::<f32>()?;
    let detail = format!("found {:?}, bits of an item are those of its name: {same}", found[0]);
    report.check("an item memory", right && same && memory.capacity() == 3000, detail);
    let folder = std::env::temp_dir().join(format!("crossover-gpu-test-hrr-{}", std::process::id()));
    memory.save(&folder)?;
    let again = ItemMemory::open(&folder)?;
    let equal = again.vectors().to_vec::<f32>()? == memory.vectors().to_vec::<f32>()?;
    report.check(
        "a saved memory",
        equal && again.names() == memory.names(),
        format!("{} items", again.len()),
    );
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

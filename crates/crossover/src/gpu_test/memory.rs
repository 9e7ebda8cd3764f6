//! Memory of the GPU under a budget: three times as much work as fits, faults at every moment, many threads, several processes.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crossover::{
    Array, Device as ArrayDevice, Runtime,
    memory::{Growth, Limit, Limits},
};
use crossover_cpu::CpuBackend;
use crossover_cuda::{CudaBackend, proof::custom::elementwise};
use crossover_plan::Options as PlanOptions;
use crossover_runtime::{Error, Executor, Machine, Placement, workloads};

use crate::{
    Options, Result,
    faulty::{Faulty, What},
    leaks, regret,
    report::Report,
    setup::{GPU, Setup},
};

/// The share of reserved memory that may be idle: at most a fifth more is reserved than live.
const MOST_IDLE: f64 = 1.0 - 1.0 / 1.2;
const GIB: u64 = 1 << 30;
const BUDGET: u64 = 2 * GIB;
const MIB: u64 = 1 << 20;

/// The GPU with a budget.
struct Tight {
    cuda: Arc<CudaBackend>,
    machine: Arc<Machine>,
    runtime: Runtime,
}

fn tight(budget: u64) -> Result<Tight> {
    limited(Limit::Bytes(budget))
}

fn limited(limit: Limit) -> Result<Tight> {
    let limits = Limits { limit, ..Limits::default() };
    let cuda = Arc::new(CudaBackend::new(0).cache(None).limits(limits));
    cuda.open()?;
    let machine = Machine::new(Arc::new(CpuBackend::new()), vec![cuda.clone()])?;
    let executor = Executor::new(machine.clone(), PlanOptions { fusion: true }, Placement::On(GPU));
    Ok(Tight { cuda, machine, runtime: Runtime::from_executor(executor) })
}

fn host() -> Result<Runtime> {
    Ok(Runtime::builder().device(ArrayDevice::Cpu).build()?)
}

fn made(seed: usize, rows: usize, columns: usize) -> Array {
    let x = Array::arange((rows * columns) as i64).astype(crossover::DType::F32).reshape([rows, columns]);
    (x * (1e-6 + seed as f32 * 1e-8)).sin() + seed as f32
}

/// As many arrays of a size as make up so many bytes, kept, and mixed with one another; the bits of everything.
fn workload(bytes: u64, each: u64) -> Result<Vec<Vec<u8>>> {
    let (count, columns) = ((bytes / each) as usize, 4096);
    let rows = (each / 4) as usize / columns;
    let mut arrays: Vec<Array> = Vec::new();
    for seed in 0..count {
        arrays.push(made(seed, rows, columns).softmax(-1).eval()?.clone());
    }
    let mut out = Vec::new();
    for (i, x) in arrays.iter().enumerate() {
        let other = &arrays[(i * 7 + 3) % count];
        let mixed = (x - other).exp().sum(0);
        out.push(bytes_of(&mixed.to_vec::<f32>()?));
    }
    for x in arrays.iter().step_by(5) {
        out.push(bytes_of(&x.to_vec::<f32>()?));
    }
    Ok(out)
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect()
}

/// Nothing is live on the device any more, and the pool gives everything back.
fn nothing_left(tight: &Tight) -> Result<(bool, String)> {
    tight.runtime.trim()?;
    let memory = tight.machine.memory(GPU).ok_or("the device is closed")?;
    Ok((memory.live == 0, format!("{} bytes live and {} reserved afterwards", memory.live, memory.reserved)))
}

fn three_budgets(report: &mut Report) -> Result<()> {
    let tight = tight(BUDGET)?;
    tight.cuda.gpu()?.reset_peak()?;
    let start = Instant::now();
    let got = tight.runtime.scope(|| workload(3 * BUDGET, 256 * MIB))?;
    let seconds = start.elapsed().as_secs_f64();
    let high = tight.cuda.memory()?.high;
    let want = host()?.scope(|| workload(3 * BUDGET, 256 * MIB))?;
    let counts = tight.runtime.stats().counts;
    let memory = tight.machine.memory(GPU).ok_or("the device is closed")?;
    let same = got == want;
    let detail = format!(
        "6 GiB of arrays in a budget of 2 GiB, {seconds:.1} s: bits {}, the pool had {} MiB at most, {} spills of {} MiB, {} \
         evictions, {} kernels in parts, {} fallbacks",
        if same { "as on the CPU" } else { "DIFFER" },
        high >> 20,
        counts.reclaimed.spills,
        counts.reclaimed.spilled >> 20,
        counts.reclaimed.evictions,
        counts.split,
        counts.fallbacks
    );
    report.check("three budgets", same && high <= BUDGET && counts.reclaimed.spills > 0, detail);
    let fragmentation = memory.peak_fragmentation();
    let detail = format!(
        "at most {} MiB were reserved for {} MiB live: {:.1}% idle",
        memory.peak_reserved >> 20,
        memory.peak >> 20,
        100.0 * fragmentation
    );
    report.check("three budgets, fragmentation", fragmentation < MOST_IDLE, detail);
    let (clean, text) = nothing_left(&tight)?;
    report.check("three budgets, afterwards", clean, text);
    Ok(())
}

/// Something to compute.
type Work = fn(&Array) -> Array;

fn parts(report: &mut Report) -> Result<()> {
    let tight = tight(BUDGET / 2)?;
    let work: [(&str, Work); 3] =
        [("map", |x| (x * 2.0f32).tanh()), ("row", |x| x.softmax(-1)), ("sort", |x| x.sort(-1))];
    let values: Vec<f32> =
        (0..(300 * MIB / 4) as usize).map(|i| ((i * 37) % 1009) as f32 * 0.01 - 5.0).collect();
    tight.cuda.gpu()?.reset_peak()?;
    for (name, work) in work {
        let run = || -> Result<Vec<u8>> {
            let x = Array::from_vec(values.clone(), [values.len() / 4096, 4096]);
            // Three operands of 300 MiB and a result in 1 GiB.
            let (y, z) = ((&x + 1.0f32).eval()?.clone(), (&x * 0.5f32).eval()?.clone());
            Ok(bytes_of(&(work(&x) + y * z).to_vec::<f32>()?))
        };
        let before = tight.runtime.stats().counts;
        let (got, want) = (tight.runtime.scope(run)?, host()?.scope(run)?);
        let after = tight.runtime.stats().counts;
        let detail = format!(
            "bits {}, {} kernels in {} parts, {} spills, {} fallbacks",
            if got == want { "as on the CPU" } else { "DIFFER" },
            after.split - before.split,
            after.parts - before.parts,
            after.reclaimed.spills - before.reclaimed.spills,
            after.fallbacks - before.fallbacks
        );
        report.check(&format!("operands beyond the budget, {name}"), got == want, detail);
    }
    let high = tight.cuda.memory()?.high;
    report.check(
        "operands beyond the budget",
        high <= BUDGET / 2,
        format!("the pool had {} MiB at most", high >> 20),
    );
    Ok(())
}

/// Several kernels with intermediates and a call.
fn small_work() -> Result<Vec<Vec<u8>>> {
    let x = Array::from_vec((0..96 * 96).map(|i| ((i * 37) % 101) as f32 * 0.02 - 1.0).collect(), [96, 96]);
    let mut y = x.clone();
    for _ in 0..2 {
        y = y.softmax(-1).permute([1, 0]) + &x;
    }
    let sorted = y.sort(-1);
    let total = sorted.sum(0);
    crossover::eval_all(&[&sorted, &total])?;
    Ok(vec![bytes_of(&sorted.to_vec::<f32>()?), bytes_of(&total.to_vec::<f32>()?)])
}

fn faults(report: &mut Report) -> Result<()> {
    let want = host()?.scope(small_work)?;
    let (mut tried, mut errors, mut wrong) = (0, 0, Vec::new());
    // One device for all, so that kernels are compiled once.
    let tight = tight(64 * MIB)?;
    for what in [What::Allocation, What::Copy, What::Kernel] {
        for always in [false, true] {
            for k in 0..24 {
                let faulty = Arc::new(Faulty::new(tight.cuda.clone()));
                let machine = Machine::new(Arc::new(CpuBackend::new()), vec![faulty.clone()])?;
                let plan = PlanOptions { fusion: true };
                let executor = Executor::new(machine.clone(), plan, Placement::On(GPU));
                let runtime = Runtime::from_executor(executor);
                let mut run = |which: &str| match runtime.scope(small_work) {
                    Ok(got) if got == want => {}
                    Ok(_) => wrong.push(format!("{what:?} {k}, {which}: other bits")),
                    Err(error) => {
                        match error.downcast_ref::<crossover::Error>().map(crossover::Error::kind) {
                            Some(Error::Device { .. } | Error::OutOfMemory { .. }) if which == "with it" => {
                                errors += 1
                            }
                            _ => wrong.push(format!("{what:?} {k}, {which}: {error}")),
                        }
                    }
                };
                run("before");
                faulty.plan(what, k, always);
                run("with it");
                let came = faulty.heal();
                run("afterwards");
                tried += 1;
                let live = machine.memory(GPU).map_or(0, |memory| memory.live);
                if live > 0 {
                    wrong.push(format!("{what:?} {k}: {live} bytes live"));
                }
                if !came {
                    break;
                }
            }
        }
    }
    let verdict = wrong.first().map_or("the same bits or a typed error".to_string(), |first| {
        format!("{} wrong, the first: {first}", wrong.len())
    });
    let detail = format!("{tried} faults, {errors} typed errors; {verdict}");
    report.check("faults at every moment", wrong.is_empty() && tried > 20, detail);
    Ok(())
}

fn threads(seconds: u64, report: &mut Report) -> Result<()> {
    const THREADS: usize = 16;
    let tight = tight(256 * MIB)?;
    let each = (16 * MIB / 4) as usize;
    let values = |i: usize| -> Vec<f32> {
        (0..each).map(|k| ((k * 37 + i * 101) % 1009) as f32 * 0.01 - 5.0).collect()
    };
    let make = |i: usize| Array::from_vec(values(i), [each / 1024, 1024]);
    let want: Vec<u32> = host()?.scope(|| {
        (0..32)
            .map(|i| make(i).exp().sum(()).item::<f32>().map(f32::to_bits))
            .collect::<crossover::Result<_>>()
    })?;
    let shared: Vec<Array> = tight.runtime.scope(|| (0..32).map(make).collect());
    tight.cuda.gpu()?.reset_peak()?;
    let events = Arc::new(AtomicU64::new(0));
    let (heard, machine) = (events.clone(), Arc::downgrade(&tight.machine));
    let subscription = tight.runtime.on_pressure(move |_, _| {
        heard.fetch_add(1, Ordering::Relaxed);
        let _ = machine.upgrade().map(|machine| machine.memory(GPU));
    });
    let (done, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let first = parking_lot::Mutex::new(String::new());
    let end = Instant::now() + Duration::from_secs(seconds);
    let work = |t: usize| -> Result<()> {
        let mut state = t as u64 * 0x9E37_79B9 + 1;
        let mut random = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as usize % below
        };
        let mut kept: Vec<(usize, Array)> = Vec::new();
        while Instant::now() < end && !failed.load(Ordering::Relaxed) {
            let at = random(32);
            let got = match random(3) {
                0 => {
                    kept.push((at, shared[at].exp().eval()?.clone()));
                    None
                }
                1 if !kept.is_empty() => {
                    let (at, x) = kept.swap_remove(random(kept.len()));
                    Some((at, x.sum(()).item::<f32>()?))
                }
                _ => Some((at, shared[at].exp().sum(()).item::<f32>()?)),
            };
            if let Some((at, got)) = got
                && got.to_bits() != want[at]
            {
                return Err(format!("array {at}: {got} instead of {}", f32::from_bits(want[at])).into());
            }
            if kept.len() > 4 {
                kept.remove(0);
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for t in 0..THREADS {
            let (tight, work, failed, first) = (&tight, &work, &failed, &first);
            scope.spawn(move || {
                if let Err(error) = tight.runtime.scope(|| work(t)) {
                    failed.store(true, Ordering::Relaxed);
                    *first.lock() = error.to_string();
                }
            });
        }
    });
    drop(subscription);
    drop(shared);
    let (high, counts) = (tight.cuda.memory()?.high, tight.runtime.stats().counts);
    let (clean, left) = nothing_left(&tight)?;
    let ok = !failed.load(Ordering::Relaxed) && high <= 256 * MIB && clean;
    let detail = format!(
        "{THREADS} threads, {seconds} s, 512 MiB of shared arrays and their own in 256 MiB: {} operations, {} events, {} spills, {} \
         evictions, {} fallbacks, the pool had {} MiB at most, {left}; {}",
        done.load(Ordering::Relaxed),
        events.load(Ordering::Relaxed),
        counts.reclaimed.spills,
        counts.reclaimed.evictions,
        counts.fallbacks,
        high >> 20,
        if failed.load(Ordering::Relaxed) { first.lock().clone() } else { "no result was wrong".to_string() }
    );
    report.check("threads under pressure", ok, detail);
    Ok(())
}

/// All of the budget at once, when the device is opened.
fn reserved(report: &mut Report) -> Result<()> {
    let limits = Limits { limit: Limit::Bytes(GIB), growth: Growth::Reserved };
    let cuda = Arc::new(CudaBackend::new(0).cache(None).limits(limits));
    cuda.open()?;
    cuda.gpu()?.reset_peak()?;
    let at_once = cuda.memory()?.reserved;
    let machine = Machine::new(Arc::new(CpuBackend::new()), vec![cuda.clone()])?;
    let executor = Executor::new(machine.clone(), PlanOptions { fusion: true }, Placement::On(GPU));
    let runtime = Runtime::from_executor(executor);
    let run = || workload(2 * GIB, 128 * MIB);
    let same = runtime.scope(run)? == host()?.scope(run)?;
    let high = cuda.memory()?.high;
    let detail = format!(
        "{} MiB at once, {} MiB at most, bits {}",
        at_once >> 20,
        high >> 20,
        if same { "agree" } else { "DIFFER" }
    );
    report.check("memory reserved in advance", same && at_once >= GIB / 8 * 7 && high <= GIB, detail);
    runtime.trim()?;
    Ok(())
}

/// What one of several processes does.
pub fn share(_: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    let tight = tight(GIB)?;
    let got = tight.runtime.scope(|| workload(3 * GIB, 128 * MIB))?;
    let want = host()?.scope(|| workload(3 * GIB, 128 * MIB))?;
    let high = tight.cuda.memory()?.high;
    let detail = format!("bits {}, {} MiB at most", if got == want { "agree" } else { "DIFFER" }, high >> 20);
    report.check("a share of the card", got == want && high <= GIB, detail);
    Ok(())
}

fn processes(options: &Options, report: &mut Report) -> Result<()> {
    let program = std::env::current_exe()?;
    let tight = tight(BUDGET)?;
    let before = tight.machine.memory(GPU).ok_or("the device is closed")?.external;
    let mut children = Vec::new();
    for job in 0..2 {
        let folder = options.folder.join(format!("share-{job}"));
        let child = Command::new(&program).arg(&folder).args(["--only", "share"]).spawn()?;
        children.push(child);
    }
    let mut most = before;
    let mut ok = true;
    while !children.is_empty() {
        std::thread::sleep(Duration::from_millis(100));
        most = most.max(tight.machine.memory(GPU).ok_or("the device is closed")?.external);
        let mut left = Vec::new();
        for mut child in children {
            match child.try_wait()? {
                Some(status) => ok &= status.success(),
                None => left.push(child),
            }
        }
        children = left;
    }
    let detail = format!(
        "two processes with 3 GiB of arrays and a budget of 1 GiB each: {}; what others take was seen to grow by {} MiB",
        if ok { "right results inside their budgets" } else { "one FAILED" },
        (most - before) >> 20
    );
    report.check("processes that share the card", ok && most - before > GIB, detail);
    Ok(())
}

/// How often memory is used again, and how much more than is needed is held.
fn reuse(report: &mut Report) -> Result<()> {
    let tight = tight(BUDGET)?;
    let saxpy = elementwise().swap_remove(0);
    tight.runtime.scope(|| -> Result<()> {
        for seed in 0..30 {
            leaks::round(seed, &saxpy)?;
        }
        let before = tight.machine.memory(GPU).ok_or("the device is closed")?;
        for seed in 0..200 {
            leaks::round(seed, &saxpy)?;
        }
        let after = tight.machine.memory(GPU).ok_or("the device is closed")?;
        let (hits, misses) = (after.hits - before.hits, after.misses - before.misses);
        let rate = hits as f64 / (hits + misses).max(1) as f64;
        let detail = format!(
            "{:.1}% of {} allocations used memory again; at most {} MiB were reserved for {} MiB live: {:.1}% idle",
            100.0 * rate,
            hits + misses,
            after.peak_reserved >> 20,
            after.peak >> 20,
            100.0 * after.peak_fragmentation()
        );
        report.figure("memory reuse", &[("rate", rate), ("fragmentation", after.peak_fragmentation())]);
        report.check("memory is used again", rate >= 0.8, detail);
        Ok(())
    })?;
    Ok(tight.runtime.trim()?)
}

/// What users run, from 10^4 to 10^8 elements one after the other, on a tenth of the card: how often memory is used again, how much more
/// than is needed is held, and whether the card stays within its share.
fn seeds(report: &mut Report) -> Result<()> {
    const SHARE: f64 = 0.1;
    let tight = limited(Limit::Share(SHARE))?;
    tight.cuda.gpu()?.reset_peak()?;
    let pass = || -> Result<()> {
        for exponent in 4..=8 {
            for work in &workloads::ALL {
                let graph = work.graph(10usize.pow(exponent))?;
                let inputs = regret::operands(&tight.machine, &graph)?;
                tight.runtime.executor().evaluate(&graph, &inputs)?;
            }
        }
        Ok(())
    };
    pass()?;
    let memory = || tight.machine.memory(GPU).ok_or("the device is closed");
    let before = memory()?;
    pass()?;
    let after = memory()?;
    let (hits, misses) = (after.hits - before.hits, after.misses - before.misses);
    let rate = hits as f64 / (hits + misses).max(1) as f64;
    let seen = tight.cuda.memory()?;
    let within = seen.high as f64 <= SHARE * seen.total as f64;
    let detail = format!(
        "{:.1}% of {} allocations used memory again; at most {} MiB were reserved for {} MiB live: {:.1}% idle; the pool had {} MiB at \
         most of {} allowed",
        100.0 * rate,
        hits + misses,
        after.peak_reserved >> 20,
        after.peak >> 20,
        100.0 * after.peak_fragmentation(),
        seen.high >> 20,
        after.budget >> 20
    );
    report.figure(
        "memory of the seeds' work",
        &[("rate", rate), ("fragmentation", after.peak_fragmentation())],
    );
    report.check(
        "memory of the seeds' work",
        rate >= 0.8 && after.peak_fragmentation() < MOST_IDLE && within,
        detail,
    );
    tight.runtime.trim()?;
    Ok(())
}

pub fn run(_: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    type Row = fn(&Options, &mut Report) -> Result<()>;
    let rows: [(&str, Row); 8] = [
        ("budgets", |_, report| three_budgets(report)),
        ("parts", |_, report| parts(report)),
        ("faults", |_, report| faults(report)),
        ("reuse", |_, report| reuse(report)),
        ("seeds", |_, report| seeds(report)),
        ("reserved", |_, report| reserved(report)),
        ("processes", processes),
        ("threads", |options, report| threads(options.seconds.min(60), report)),
    ];
    let wanted = |name: &str| {
        options.rows.as_ref().is_none_or(|rows| rows.iter().any(|part| name.contains(part.as_str())))
    };
    for (_, row) in rows.into_iter().filter(|(name, _)| wanted(name)) {
        row(options, report)?;
    }
    Ok(())
}

//! How far placement is from the better device: every typical workload, from 1 to 10^8 elements, with its data on the host or on
//! the GPU, on the CPU alone, on the GPU alone, and left to the runtime.
//!
//! A case ends when the result is in memory of the caller's, as `to_vec` has it. Every run begins with operands in one place only. Runs of
//! the three kinds alternate; each is preceded by one of its own kind that does not count, so that caches and threads are as they are for
//! whoever does the same again. A time is the lower quartile of its runs: machines are shared, and a thread that loses its core for a
//! moment holds up all others. So that this hides no wavering, runs that went elsewhere than the settled decision says are counted.
//! The machine's profile is the short one that the first use of a GPU measures.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crossover::{Array, Runtime};
use crossover_core::{DType, Graph, graph::Op};
use crossover_cpu::CpuBackend;
use crossover_plan::Options as PlanOptions;
use crossover_runtime::{
    Buffer, Device, Executor, Machine, Placement, Profile, Router, Wanted,
    calibrate::{self, Effort},
    workloads::{self, Workload},
};
use serde_json::{Value, json};

use crate::{
    Options, Result,
    report::Report,
    setup::{GPU, Setup},
};

/// A case whose CPU takes longer than this is left out, and so are larger ones of its kind.
const MOST: Duration = Duration::from_secs(3);
/// A run that takes longer than this is long enough not to depend on the one before.
const LONG: Duration = Duration::from_millis(30);
/// A device that takes longer than this and several times as long as the better one is timed once.
const HOPELESS: Duration = Duration::from_millis(100);
/// Runs under [`Placement::Auto`] before anything is timed, at least and at most, and how long they may take: trials are over then.
const WARM: (usize, usize, Duration) = (20, 40, Duration::from_millis(150));
/// Rounds of a case, at least and at most, and how long they may take.
const ROUNDS: (usize, usize, Duration) = (5, 101, Duration::from_millis(250));
/// What a case may be slower than the better device, whatever the share: nanoseconds.
const FLOOR: f64 = 20_000.0;

const MODES: [Placement; 3] = [Placement::Host, Placement::On(GPU), Placement::Auto];
/// Orders of a round: none of the three kinds always follows the same other one.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [1, 0, 2]];

struct Grid<'a> {
    setup: &'a Setup,
    executor: Executor,
}

/// A case as it was measured, in nanoseconds.
struct Case {
    work: &'static str,
    exponent: u32,
    on_gpu: bool,
    /// Lower quartiles, in the order of [`MODES`].
    times: [f64; 3],
    /// Medians, in the same order: quartiles flatter whoever wavers, so both are told.
    medians: [f64; 3],
    /// Share of the timed runs left to the runtime that did not run where the decision in the end says.
    strays: f64,
    cold: f64,
    place: &'static str,
}

impl Case {
    fn best(&self) -> f64 {
        self.times[0].min(self.times[1])
    }

    fn over(&self) -> f64 {
        self.times[2] - self.best()
    }

    fn regret(&self) -> f64 {
        self.over().max(0.0) / self.best()
    }

    fn regret_by_medians(&self) -> f64 {
        let [cpu, gpu, auto] = self.medians;
        let best = cpu.min(gpu);
        (auto - best).max(0.0) / best
    }

    fn is_far(&self) -> bool {
        self.over() > FLOOR.max(0.25 * self.best())
    }

    fn is_slower_than_cpu(&self) -> bool {
        self.times[2] - self.times[0] > FLOOR.max(0.05 * self.times[0])
    }

    fn line(&self) -> String {
        let [cpu, gpu, auto] = self.times.map(|t| t / 1e3);
        format!(
            "{:<20} 10^{} {:<4} cpu {cpu:>11.1} gpu {gpu:>11.1} auto {auto:>11.1} cold {:>11.1} us on {:<5} {:>6.1}%{}{}",
            self.work,
            self.exponent,
            if self.on_gpu { "gpu" } else { "host" },
            self.cold / 1e3,
            self.place,
            100.0 * self.regret(),
            if self.is_far() { " FAR" } else { "" },
            if self.is_slower_than_cpu() { " SLOWER" } else { "" },
        )
    }

    fn json(&self) -> Value {
        let micros = |ns: f64| (ns / 10.0).round() / 100.0;
        json!({
            "workload": self.work,
            "elements": 10u64.pow(self.exponent),
            "data": if self.on_gpu { "gpu" } else { "host" },
            "cpu_us": micros(self.times[0]),
            "gpu_us": micros(self.times[1]),
            "auto_us": micros(self.times[2]),
            "cold_us": micros(self.cold),
            "device": self.place,
            "medians_us": self.medians.map(micros),
            "strays": self.strays,
        })
    }
}

pub fn run(setup: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    let start = Instant::now();
    let threads = CpuBackend::new().threads();
    let calibrated = |effort| -> Result<(Profile, f64)> {
        let start = Instant::now();
        let profile = calibrate::machine(&setup.machine, threads, effort, &mut |_, _| {})?;
        Ok((profile, start.elapsed().as_secs_f64() * 1e3))
    };
    // The first compiles its kernels, which a machine that was used before finds on disk.
    let (_, first) = calibrated(Effort::Brief)?;
    let (profile, brief) = calibrated(Effort::Brief)?;
    std::fs::create_dir_all(&options.folder)?;
    std::fs::write(options.folder.join("profile-brief.json"), profile.to_json())?;
    let executor = || {
        let router = Router::new(setup.machine.clone(), profile.clone());
        Executor::with_router(setup.machine.clone(), PlanOptions::default(), Placement::Auto, router)
    };
    let grid = Grid { setup, executor: executor() };
    let deciding = [deciding(&grid, true)?, deciding(&grid, false)?];
    let xor = small_xor(executor())?;
    report.figure("calibration", &[("brief_cold_ms", first), ("brief_ms", brief)]);
    report.figure("deciding", &[("seen_us", deciding[0] / 1e3), ("new_us", deciding[1] / 1e3)]);
    report.figure("xor of 5 elements", &[("us", xor / 1e3)]);
    report.check("short calibration", brief <= 300.0, format!("{brief:.0} ms"));
    report.check("deciding is quick", deciding[0] <= 1e3 && deciding[1] <= 2e4, format!("{deciding:.0?} ns"));
    report.check("a tiny operation is quick", xor <= 2e3, format!("{xor:.0} ns"));
    let write = |cases: &[Case], full: Option<f64>| {
        let document = json!({
            "device": setup.describe(),
            "threads": threads,
            "summary": summary(cases),
            "calibration_ms": { "brief_cold": first, "brief": brief, "full": full },
            "deciding_us": { "seen": deciding[0] / 1e3, "new_of_ten_kernels": deciding[1] / 1e3 },
            "xor_of_5_us": xor / 1e3,
            "seconds": start.elapsed().as_secs_f64(),
            "command": "crossover-gpu-test --only regret",
            "commit": option_env!("CROSSOVER_COMMIT").unwrap_or("unknown"),
            "cases": cases.iter().map(Case::json).collect::<Vec<_>>(),
        });
        std::fs::write(options.folder.join("regret.json"), format!("{document:#}\n"))
    };
    let mut cases = Vec::new();
    for work in &workloads::ALL {
        if start.elapsed().as_secs() > options.seconds {
            println!("the time is up: {} and what follows are left out", work.name);
            break;
        }
        if options.rows.as_ref().is_none_or(|rows| rows.iter().any(|row| work.name.contains(row.as_str()))) {
            grid.workload(work, &mut cases)?;
            // So that a run that is ended early has told something.
            write(&cases, None)?;
        }
    }
    judge(report, &cases);
    let (full_profile, full) = calibrated(Effort::Full)?;
    std::fs::write(options.folder.join("profile-full.json"), full_profile.to_json())?;
    report.figure("full calibration", &[("ms", full)]);
    write(&cases, Some(full))?;
    Ok(())
}

fn mean(cases: &[Case]) -> f64 {
    cases.iter().map(Case::regret).sum::<f64>() / cases.len().max(1) as f64
}

fn summary(cases: &[Case]) -> Value {
    let worst = cases.iter().map(Case::regret).fold(0.0, f64::max);
    // What is beyond 20 µs counts as a share.
    let beyond = cases.iter().filter(|c| c.over() > FLOOR).map(Case::regret).fold(0.0, f64::max);
    json!({
        "cases": cases.len(),
        "mean_regret": mean(cases),
        "worst_regret": worst,
        "worst_regret_beyond_20us": beyond,
        "far": cases.iter().filter(|c| c.is_far()).count(),
        "slower_than_cpu": cases.iter().filter(|c| c.is_slower_than_cpu()).count(),
        "mean_regret_by_medians": cases.iter().map(Case::regret_by_medians).sum::<f64>() / cases.len().max(1) as f64,
        "mean_strays": cases.iter().map(|c| c.strays).sum::<f64>() / cases.len().max(1) as f64,
    })
}

fn judge(report: &mut Report, cases: &[Case]) {
    let count = |test: fn(&Case) -> bool| cases.iter().filter(|case| test(case)).count();
    let all = cases.len();
    report.check("mean regret", mean(cases) <= 0.05, format!("{:.2}% of {all} cases", 100.0 * mean(cases)));
    let far = count(Case::is_far);
    report.check("worst regret", far == 0, format!("{far} of {all} cases beyond 25% and 20 us"));
    let slower = count(Case::is_slower_than_cpu);
    report.check("never slower than the CPU", slower == 0, format!("{slower} of {all} cases"));
}

impl Grid<'_> {
    fn workload(&self, work: &'static Workload, cases: &mut Vec<Case>) -> Result<()> {
        for exponent in 0..=8 {
            let graph = work.graph(10usize.pow(exponent))?;
            let mut inputs = operands(&self.setup.machine, &graph)?;
            for on_gpu in [false, true] {
                let Some(case) = self.case(work, exponent, on_gpu, &graph, &mut inputs)? else {
                    return Ok(());
                };
                println!("{}", case.line());
                cases.push(case);
            }
        }
        Ok(())
    }

    fn case(
        &self,
        work: &'static Workload,
        exponent: u32,
        on_gpu: bool,
        graph: &Graph,
        inputs: &mut [Arc<Buffer>],
    ) -> Result<Option<Case>> {
        let place = if on_gpu { GPU } else { Device::HOST };
        let bytes: usize = {
            let ty = graph.outputs().iter().map(|&id| graph.node(id).ty.clone()).next();
            ty.map_or(0, |ty| ty.shape.size() * ty.dtype.size())
        };
        let mut out = vec![0u8; bytes];
        let mut once = |mode| self.once(mode, graph, inputs, place, &mut out);
        let cold = once(Placement::Auto)?;
        let cpu = once(Placement::Host)?;
        if cpu > MOST {
            return Ok(None);
        }
        let begin = Instant::now();
        for run in 0..WARM.1 {
            once(Placement::Auto)?;
            if run + 1 >= WARM.0 && begin.elapsed() > WARM.2 {
                break;
            }
        }
        let mut gpu = Duration::MAX;
        for _ in 0..3 {
            gpu = gpu.min(once(Placement::On(GPU))?);
        }
        let mut times = [const { Vec::new() }; 3];
        let mut away = Vec::new();
        let sent_away = || self.executor.decisions(GPU).iter().map(|(_, count)| count).sum::<u64>();
        let slow = cpu > HOPELESS && cpu > 4 * gpu;
        if slow {
            times[0].push(cpu.as_nanos() as f64);
        }
        let begin = Instant::now();
        for round in 0..ROUNDS.1 {
            for mode in ORDERS[round % ORDERS.len()] {
                if mode == 0 && slow {
                    continue;
                }
                let mut before = sent_away();
                let mut took = once(MODES[mode])?;
                if took < LONG {
                    before = sent_away();
                    took = once(MODES[mode])?;
                }
                times[mode].push(took.as_nanos() as f64);
                if MODES[mode] == Placement::Auto {
                    away.push(sent_away() > before);
                }
            }
            if round + 1 >= ROUNDS.0 && begin.elapsed() > ROUNDS.2 {
                break;
            }
        }
        place_on(inputs, place)?;
        let prepared = self.executor.prepare(graph)?;
        let decision = self.executor.decision_for(Placement::Auto, &prepared, inputs, Wanted::Copied);
        let place = match (decision.uses(Device::HOST), decision.uses(GPU)) {
            (true, true) => "both",
            (false, true) => "gpu",
            _ => "cpu",
        };
        let strays = away.iter().filter(|&&away| away != decision.uses(GPU)).count();
        Ok(Some(Case {
            work: work.name,
            exponent,
            on_gpu,
            medians: times.clone().map(median),
            times: times.map(|times| quantile(times, 4)),
            strays: strays as f64 / away.len().max(1) as f64,
            cold: cold.as_nanos() as f64,
            place,
        }))
    }

    /// One run from operands in one place to its end.
    fn once(
        &self,
        mode: Placement,
        graph: &Graph,
        inputs: &mut [Arc<Buffer>],
        place: Device,
        out: &mut [u8],
    ) -> Result<Duration> {
        place_on(inputs, place)?;
        self.setup.gpu()?.synchronise()?;
        let start = Instant::now();
        let (outputs, written) = self.executor.evaluate_into(mode, graph, inputs, out)?;
        if !written {
            outputs[0].read_into(out)?;
        }
        let took = start.elapsed();
        drop(outputs);
        Ok(took)
    }
}

/// Random operands on the host.
pub fn operands(machine: &Arc<Machine>, graph: &Graph) -> Result<Vec<Arc<Buffer>>> {
    let types = graph.nodes().iter().filter_map(|node| match &node.op {
        Op::Input { ty, .. } => Some(ty.clone()),
        _ => None,
    });
    let one = |(at, ty): (usize, crossover_core::graph::Type)| {
        let bytes = ty.shape.size() * ty.dtype.size();
        Ok(Buffer::from_fill(machine, bytes, |to: &mut [u8]| fill(ty.dtype, at as u64, to))?)
    };
    types.enumerate().map(one).collect()
}

/// Brings operands to a device, and nowhere else.
fn place_on(inputs: &mut [Arc<Buffer>], device: Device) -> Result<()> {
    for buffer in inputs {
        let alone = Buffer::exclusive(buffer).ok_or("somebody still holds an operand")?;
        alone.keep_on(device)?;
    }
    Ok(())
}

/// Nanoseconds per decision about a plan of ten kernels that was seen before, or never.
fn deciding(grid: &Grid<'_>, seen: bool) -> Result<f64> {
    const COUNT: usize = 200;
    let mut plans = Vec::new();
    for at in 0..=COUNT {
        let side = if seen { 600 } else { 600 + at };
        let graph = workloads::ten_kernels(side)?;
        plans.push((grid.executor.prepare(&graph)?, operands(&grid.setup.machine, &graph)?));
    }
    let mut times = Vec::new();
    for (at, (prepared, inputs)) in plans.iter().enumerate() {
        let start = Instant::now();
        std::hint::black_box(grid.executor.decide(prepared, inputs, Wanted::OnHost));
        if at > 0 {
            times.push(start.elapsed().as_nanos() as f64);
        }
    }
    Ok(median(times))
}

/// Nanoseconds of `a ^ b` of five elements in all, from arrays to a result.
fn small_xor(executor: Executor) -> Result<f64> {
    Runtime::from_executor(executor).scope(|| {
        let (a, b) = (Array::from([1u8, 2, 3, 4, 5]), Array::from([9u8, 8, 7, 6, 5]));
        // Several in a row: reading the clock takes a part of what one of them takes.
        const ROW: usize = 16;
        let mut times = Vec::new();
        for _ in 0..500 {
            let start = Instant::now();
            for _ in 0..ROW {
                (&a ^ &b).eval()?;
            }
            times.push(start.elapsed().as_nanos() as f64 / ROW as f64);
        }
        Ok(median(times))
    })
}

/// Numbers between a half and three halves, small integers, keys: each element by a hash of its place.
fn fill(dtype: DType, salt: u64, to: &mut [u8]) {
    let size = dtype.size();
    let hash = |at: u64| {
        let mixed = (at ^ (salt << 40)).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32
    };
    let unit = |at: u64| hash(at) as f64 / f64::from(u32::MAX) + 0.5;
    let write = |first: u64, part: &mut [u8]| {
        for (at, element) in part.chunks_exact_mut(size).enumerate() {
            let at = first + at as u64;
            match dtype {
                DType::F32 => element.copy_from_slice(&(unit(at) as f32).to_le_bytes()),
                DType::F64 => element.copy_from_slice(&unit(at).to_le_bytes()),
                DType::C64 => {
                    element[..4].copy_from_slice(&(unit(2 * at) as f32).to_le_bytes());
                    element[4..].copy_from_slice(&(unit(2 * at + 1) as f32).to_le_bytes());
                }
                _ => element.copy_from_slice(&hash(at).to_le_bytes()[..size]),
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let part = (to.len() / size).div_ceil(cores).max(1 << 16);
    std::thread::scope(|scope| {
        for (at, part_of) in to.chunks_mut(part * size).enumerate() {
            scope.spawn(move || write((at * part) as u64, part_of));
        }
    });
}

fn median(times: Vec<f64>) -> f64 {
    quantile(times, 2)
}

/// The time that one in so many is below.
fn quantile(mut times: Vec<f64>, parts: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / parts).copied().unwrap_or(0.0)
}

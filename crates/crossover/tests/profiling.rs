//! What a profile says of time, memory and lines is so, on the host and on a device.
#![allow(clippy::unwrap_used)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crossover::{
    Array, Runtime,
    profile::{Trace, profile, scope},
    runtime::{
        Device, Executor, Machine, Placement,
        sim::{SimDevice, SimOptions},
    },
};
use crossover_cpu::CpuBackend;
use crossover_plan::Options;

fn simulated() -> Runtime {
    let cpu = || Arc::new(CpuBackend::builder().threads(1).build().unwrap());
    let sim = SimDevice::new(cpu(), SimOptions::default());
    let machine = Machine::new(cpu(), vec![Arc::new(sim)]).unwrap();
    Runtime::from_executor(Executor::new(machine, Options::default(), Placement::On(Device(1))))
}

fn host() -> Runtime {
    Runtime::builder().threads(1).device(crossover::Device::Cpu).build().unwrap()
}

/// A session sees the whole process, so tests that look at all of its time take turns.
fn alone<T>(body: impl FnOnce() -> T) -> T {
    static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());
    let _turn = TURN.lock();
    body()
}

fn of_kind<'a>(trace: &'a Trace, kind: &'a str) -> impl Iterator<Item = usize> + 'a {
    (0..trace.spans.len()).filter(move |&row| trace.spans.kind[row] == kind)
}

/// Array code and sleep in turn: the trace, and by another clock all of the time and that of the array code.
fn mixed(runtime: &Runtime) -> (Trace, Duration, Duration) {
    let x = Array::linspace(0.0, 1.0, 400_000);
    let ((all, arrays), trace) = runtime.scope(|| {
        x.eval().unwrap();
        profile("mixed", || {
            let (start, mut arrays) = (Instant::now(), Duration::ZERO);
            for _ in 0..5 {
                let begun = Instant::now();
                let mut y = x.clone();
                for _ in 0..4 {
                    y = (y.sin() + y.cos()).exp();
                    y.eval().unwrap();
                }
                y.sort(0).to_vec::<f64>().unwrap();
                arrays += begun.elapsed();
                std::thread::sleep(Duration::from_millis(20));
            }
            (start.elapsed(), arrays)
        })
    });
    (trace, all, arrays)
}

#[test]
fn the_breakdown_is_within_two_percent_of_the_wall_time() {
    alone(|| {
        for (name, runtime) in [("host", host()), ("device", simulated())] {
            let (trace, all, arrays) = mixed(&runtime);
            let (all, arrays) = (all.as_nanos() as f64, arrays.as_nanos() as f64);
            let parts = &trace.breakdown;
            assert_eq!(parts.total(), trace.wall_ns, "{name}");
            let off = (parts.total() as f64 / all - 1.0).abs();
            assert!(off < 0.02, "{name}: {parts:?} against {all} ns by another clock");
            // What is not the program's is ours, to the same precision.
            let ours = (trace.wall_ns - parts.rest_ns) as f64;
            assert!((ours - arrays).abs() < 0.02 * all, "{name}: {ours} of {arrays} ns are ours: {parts:?}");
            let kernels = if name == "host" { parts.cpu_ns } else { parts.gpu_ns };
            assert!(kernels as f64 > 0.5 * arrays, "{name}: {parts:?}");
            assert_eq!(name == "host", parts.gpu_ns == 0 && parts.transfer_ns == 0, "{name}: {parts:?}");
        }
    });
}

#[test]
fn kernels_know_their_memory_their_queue_and_their_device() {
    let runtime = simulated();
    let trace = alone(|| {
        runtime.scope(|| {
            profile("memory", || {
                let x = Array::linspace(0.0, 1.0, 10_000).exp();
                x.eval().unwrap();
                let y = x.sin();
                y.eval().unwrap();
                drop((x, y));
                Array::linspace(0.0, 2.0, 100).cos().eval().map(drop).unwrap();
            })
            .1
        })
    });
    let kernels: Vec<usize> = of_kind(&trace, "k").map(|row| trace.spans.launch[row] as usize).collect();
    assert_eq!(kernels.len(), 3, "{:?}", trace.spans);
    let live: Vec<u64> = kernels.iter().map(|&launch| trace.launches.live[launch]).collect();
    assert_eq!(live, [80_000, 160_000, 800], "arrays on the device, results included");
    let peak: Vec<u64> = kernels.iter().map(|&launch| trace.launches.peak[launch]).collect();
    assert_eq!(peak, [80_000, 160_000, 160_000]);
    for (row, launch) in of_kind(&trace, "k").zip(kernels) {
        assert_eq!(trace.launches.device[launch], 1);
        assert!(trace.launches.queued[launch] <= trace.spans.start[row], "asked for before it ran");
        assert!(trace.spans.duration[row] > 0);
    }
    assert!(trace.summary().contains("live MB"), "{}", trace.summary());
    assert_eq!(Trace::from_json(&trace.to_json()), Ok(trace));
}

#[test]
fn a_session_knows_the_memory_from_its_beginning() {
    let runtime = simulated();
    let trace = alone(|| runtime.scope(|| profile("nothing", || ()).1));
    assert_eq!(trace.memory.device, [0, 1], "before any kernel");
    assert!(trace.memory.time.iter().all(|&time| time <= trace.wall_ns));
}

#[test]
fn spans_name_the_line_that_asked() {
    let runtime = simulated();
    let (first, second) = (line!() + 5, line!() + 8);
    let trace = alone(|| {
        runtime.scope(|| {
            profile("lines", || {
                let x = Array::linspace(0.0, 1.0, 1000).exp();
                let host = x.to_vec::<f64>().unwrap();
                let _scope = scope("line of a scope");
                let there = Array::from(host) * 3.0;
                there.eval().unwrap();
            })
            .1
        })
    });
    let place = |line: u32| format!("{}:{line}", file!());
    let places = |kind: &'static str| -> Vec<&str> {
        of_kind(&trace, kind).filter_map(|row| trace.place_of(row)).collect()
    };
    assert_eq!(places("e"), [place(first), place(second)]);
    assert_eq!(places("k"), [place(first), place(second)]);
    let copies: Vec<(u32, &str)> = (0..trace.transfers.len())
        .map(|at| (trace.transfers.to[at], trace.place_of(trace.transfers.span[at] as usize).unwrap()))
        .collect();
    assert_eq!(copies, [(0, place(first).as_str()), (1, place(second).as_str())]);
    assert_eq!(places("s"), [place(first + 1)], "a scope names its own");
}

#[test]
fn a_round_trip_is_advised_against_with_its_lines() {
    let runtime = simulated();
    let (fetches, sends) = (line!() + 8, line!() + 10);
    let trace = alone(|| {
        runtime.scope(|| {
            profile("round trips", || {
                let mut x = Array::linspace(0.0, 1.0, 500_000);
                for _ in 0..10 {
                    x = &x + 1.0;
                    x.eval().unwrap();
                    let host = x.to_vec::<f64>().unwrap();
                    x = Array::from(host);
                    x = x.negative().eval().unwrap().clone();
                }
            })
            .1
        })
    });
    let advice = trace
        .advice
        .iter()
        .find(|advice| advice.title.starts_with("copies"))
        .unwrap_or_else(|| panic!("{}", trace.summary()));
    let (from, back) = (format!("{}:{fetches}", file!()), format!("{}:{sends}", file!()));
    assert!(
        advice.suggestion.starts_with(&format!("keep it on the GPU until {back}: what {from} fetches")),
        "{advice:?}"
    );
    assert!(advice.evidence.contains(&format!("{from} asked for 10 of 40.0 MB to the host")), "{advice:?}");
    assert!(
        trace.summary().contains(&format!("{:.0}%: copies", 100.0 * advice.share)),
        "{}",
        trace.summary()
    );
}

#[test]
fn kernels_in_parts_and_of_several_sizes_are_told() {
    use crossover::runtime::memory::{Limit, Limits};
    let cpu = || Arc::new(CpuBackend::builder().threads(1).build().unwrap());
    let limits = Limits { limit: Limit::Bytes(1 << 20), ..Limits::default() };
    let sim = SimDevice::new(cpu(), SimOptions { limits, ..SimOptions::default() });
    let machine = Machine::new(cpu(), vec![Arc::new(sim)]).unwrap();
    let runtime =
        Runtime::from_executor(Executor::new(machine, Options::default(), Placement::On(Device(1))));
    let x: Vec<f32> = (0..400_000).map(|i| i as f32).collect();
    let trace = alone(|| {
        runtime.scope(|| {
            profile("parts", || {
                (Array::from(x) * 2.0f32).tanh().to_vec::<f32>().unwrap();
                for size in [100, 200, 300] {
                    (Array::from(vec![1.0f32; size]) * 2.0f32).tanh().to_vec::<f32>().unwrap();
                }
            })
            .1
        })
    });
    let parts = runtime.stats().counts.parts as usize;
    assert!(parts >= 2);
    assert_eq!(of_kind(&trace, "k").count(), parts + 3);
    let lines = trace.summary();
    assert_eq!(lines.lines().filter(|line| line.contains(" on simulated")).count(), 1, "{lines}");
}

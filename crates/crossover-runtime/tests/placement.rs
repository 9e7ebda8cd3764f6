//! Placement on simulated machines in virtual time: a grid of workloads, sizes and places of the data on three machines, a device that
//! slows down and recovers, and the rules that keep decisions still.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crossover_core::{DType, Graph, Shape, ops::MapOp};
use crossover_plan::{Class, Options};
use crossover_runtime::{
    Buffer, Curve, Device, DeviceProfile, Executor, Link, Links, Machine, Placement, Profile, Router, Wanted,
    Why,
    sim::{Clock, SimDevice, SimHost, SimOptions},
    workloads,
};

const GPU: Device = Device(1);

/// The host's and the accelerator's profile.
fn machines() -> [(&'static str, DeviceProfile, DeviceProfile); 3] {
    let host = DeviceProfile::assumed_host(8);
    let linked = |latency_ns: f64, rate: f64| {
        let link = || Link { latency_ns, bandwidth: Curve::new([(65_536.0, rate / 3.0), (1.6e7, rate)]) };
        Some(Links { up: link(), down: link(), up_pinned: None, down_pinned: None })
    };
    let mut slow = DeviceProfile::assumed_gpu();
    slow.rates.scale(None, 0.05);
    slow.bandwidth = Curve::flat(80.0);
    slow.links = linked(15_000.0, 10.0);
    let mut fast = DeviceProfile::assumed_gpu();
    fast.rates.scale(None, 3.0);
    fast.rates.scale(Some(Class::Product), 2.0);
    fast.bandwidth = Curve::flat(3500.0);
    fast.links = linked(9_000.0, 50.0);
    let mut far = fast.clone();
    far.links = linked(40_000.0, 1.5);
    [
        ("a slow GPU", host.clone(), slow),
        ("a fast GPU", host.clone(), fast),
        ("a fast GPU behind a slow bus", host, far),
    ]
}

struct Simulation {
    clock: Clock,
    gpu: SimDevice,
    machine: Arc<Machine>,
    executor: Executor,
}

/// A machine whose kernels take up to twice as long as its profile says, or half.
fn simulation(host: &DeviceProfile, gpu: &DeviceProfile) -> Simulation {
    let clock = Clock::default();
    let options = |profile: &DeviceProfile| SimOptions {
        capacity: 1 << 40,
        profile: profile.clone(),
        spread: 2.0,
        ..SimOptions::default()
    };
    let device = SimDevice::hollow(options(gpu), clock.clone());
    let named = DeviceProfile { name: "host".to_string(), ..host.clone() };
    let machine = Machine::new(
        Arc::new(SimHost::hollow(options(&named), clock.clone())),
        vec![Arc::new(device.clone())],
    )
    .unwrap();
    let mut profile = Profile::assumed(8, 1);
    profile.devices = vec![host.clone(), gpu.clone()];
    let router = Router::new(machine.clone(), profile);
    let executor = Executor::with_router(machine.clone(), Options::default(), Placement::Auto, router);
    Simulation { clock, gpu: device, machine, executor }
}

fn graph(name: &str, n: usize) -> Graph {
    workloads::find(name).unwrap().graph(n).unwrap()
}

impl Simulation {
    /// Fresh operands on the host, or on the GPU alone.
    fn inputs(&self, graph: &Graph, on_gpu: bool) -> Vec<Arc<Buffer>> {
        let inputs = graph.nodes().iter().filter_map(|node| match &node.op {
            crossover_core::graph::Op::Input { ty, .. } => Some(ty.clone()),
            _ => None,
        });
        inputs
            .map(|ty| {
                let bytes = ty.shape.size() * ty.dtype.size();
                let host = Buffer::from_fill(&self.machine, bytes, |_| {}).unwrap();
                if !on_gpu {
                    return host;
                }
                let mut copy = Graph::new();
                let x = copy.input(DType::U8, Shape::from([bytes])).unwrap();
                let y = copy.map(MapOp::BitwiseInvert, &[x]).unwrap();
                copy.output(y);
                self.executor.evaluate_at(Placement::On(GPU), &copy, &[host]).unwrap()[0].clone()
            })
            .collect()
    }

    /// Virtual nanoseconds from operands to results that the host can read.
    fn time(&self, placement: Placement, graph: &Graph, on_gpu: bool) -> f64 {
        let inputs = self.inputs(graph, on_gpu);
        let start = self.clock.nanoseconds();
        let out = self.executor.evaluate_for(placement, Wanted::OnHost, graph, &inputs).unwrap();
        out[0].host_bytes().unwrap();
        (self.clock.nanoseconds() - start) as f64
    }

    fn average(&self, placement: Placement, graph: &Graph, on_gpu: bool, times: usize) -> f64 {
        (0..times).map(|_| self.time(placement, graph, on_gpu)).sum::<f64>() / times as f64
    }
}

#[test]
fn auto_is_never_far_from_the_best_device() {
    const FLOOR: f64 = 20_000.0;
    let (mut sum, mut count, mut worst) = (0.0, 0, (0.0, String::new()));
    for (name, host, gpu) in machines() {
        let simulation = simulation(&host, &gpu);
        // The largest first, so that the device is open.
        for work in workloads::ALL {
            for exponent in (0..=8).rev() {
                let graph = work.graph(10usize.pow(exponent)).unwrap();
                for on_gpu in [false, true] {
                    let cpu = simulation.average(Placement::Host, &graph, on_gpu, 2);
                    let there = simulation.average(Placement::On(GPU), &graph, on_gpu, 2);
                    // Until the trials are over, everything included.
                    simulation.average(Placement::Auto, &graph, on_gpu, 24);
                    let auto = simulation.average(Placement::Auto, &graph, on_gpu, 12);
                    let best = cpu.min(there);
                    let (over, place) = (auto - best, if on_gpu { "GPU" } else { "host" });
                    let what = format!(
                        "{name}: {} of 10^{exponent} on the {place}: auto {auto:.0} ns, CPU {cpu:.0}, GPU {there:.0}",
                        work.name
                    );
                    assert!(over <= FLOOR.max(0.25 * best), "{what}");
                    assert!(auto - cpu <= FLOOR.max(0.05 * cpu), "slower than the CPU: {what}");
                    let regret = over.max(0.0) / best;
                    (sum, count) = (sum + regret, count + 1);
                    if regret > worst.0 {
                        worst = (regret, what);
                    }
                }
            }
        }
    }
    let mean = sum / f64::from(count);
    println!("{count} cases, mean regret {:.2}%, worst {:.1}%: {}", 100.0 * mean, 100.0 * worst.0, worst.1);
    assert!(count >= 14 * 9 * 2 * 3);
    assert!(mean <= 0.05, "mean regret {mean}");
}

/// Worth moving to the GPU for, and not to one that is ten times slower.
fn large() -> Graph {
    graph("power f64", 10_000_000)
}

fn place_of(simulation: &Simulation, graph: &Graph, on_gpu: bool) -> Device {
    let prepared = simulation.executor.prepare(graph).unwrap();
    let inputs = simulation.inputs(graph, on_gpu);
    simulation.executor.decide(&prepared, &inputs, Wanted::OnHost).device(0)
}

#[test]
fn a_device_that_slows_down_is_left_within_ten_evaluations_and_used_again() {
    let [_, (_, host, gpu), _] = machines();
    let simulation = simulation(&host, &gpu);
    let graph = large();
    simulation.average(Placement::Auto, &graph, false, 40);
    assert_eq!(place_of(&simulation, &graph, false), GPU);
    let mut switches = 0;
    let mut last = GPU;
    for round in 0..3 {
        for (factor, want) in [(10.0, Device::HOST), (1.0, GPU)] {
            simulation.gpu.slow_down(factor);
            let mut moved_after = None;
            for evaluation in 1..=30 {
                simulation.time(Placement::Auto, &graph, false);
                let now = place_of(&simulation, &graph, false);
                switches += u32::from(now != last);
                last = now;
                if now == want && moved_after.is_none() {
                    moved_after = Some(evaluation);
                }
            }
            let after = moved_after.unwrap_or_else(|| panic!("round {round}: still not on {want:?}"));
            assert!(after <= 10, "round {round}: {after} evaluations until {want:?}");
            assert_eq!(last, want, "round {round}");
        }
    }
    assert_eq!(switches, 6, "one move for every change of the device, and no other");
}

#[test]
fn noise_moves_nothing() {
    let [_, (_, host, gpu), _] = machines();
    let simulation = simulation(&host, &gpu);
    let graph = large();
    simulation.average(Placement::Auto, &graph, false, 40);
    let settled = place_of(&simulation, &graph, false);
    for i in 0..200 {
        simulation.gpu.slow_down(if i % 3 == 0 { 1.25 } else { 0.9 });
        simulation.time(Placement::Auto, &graph, false);
        assert_eq!(place_of(&simulation, &graph, false), settled, "evaluation {i}");
    }
}

#[test]
fn what_is_small_or_resident_stays_and_says_so() {
    let [_, (_, host, gpu), _] = machines();
    let simulation = simulation(&host, &gpu);
    let decide = |n: usize, on_gpu: bool, wanted: Wanted| {
        let graph = graph("gelu f32", n);
        let prepared = simulation.executor.prepare(&graph).unwrap();
        simulation.executor.decide(&prepared, &simulation.inputs(&graph, on_gpu), wanted)
    };
    let small = decide(2_000, false, Wanted::OnHost);
    assert_eq!(small.device(0), Device::HOST);
    assert!(matches!(small.why(0), Why::Small { .. }), "{}", small.why(0));
    let text = small.why(0).to_string();
    assert!(text.starts_with("too small: ") && text.contains("of round trip"), "{text}");
    let resident = decide(100_000, true, Wanted::Anywhere);
    assert_eq!(resident.device(0), GPU);
    assert!(matches!(resident.why(0), Why::Resident { .. } | Why::Faster { .. }), "{}", resident.why(0));
    let large = decide(100_000_000, false, Wanted::Anywhere);
    assert_eq!((large.device(0), large.why(0).name()), (GPU, "faster"));
    assert!(large.copies_ns(0) > 0.0 && large.times_ns(0)[0] > large.times_ns(0)[1]);
}

#[test]
fn a_lost_device_is_not_chosen_again() {
    let [_, (_, host, gpu), _] = machines();
    let simulation = simulation(&host, &gpu);
    let graph = large();
    let prepared = simulation.executor.prepare(&graph).unwrap();
    simulation.time(Placement::Auto, &graph, false);
    simulation.gpu.lose();
    // The first evaluation finds out and computes on the host; the next does not ask.
    for _ in 0..2 {
        let inputs = simulation.inputs(&graph, false);
        simulation.executor.evaluate(&graph, &inputs).unwrap();
    }
    let fallbacks = simulation.executor.counts().fallbacks;
    let inputs = simulation.inputs(&graph, false);
    assert_eq!(simulation.executor.decide(&prepared, &inputs, Wanted::OnHost).device(0), Device::HOST);
    simulation.executor.evaluate(&graph, &inputs).unwrap();
    assert_eq!(simulation.executor.counts().fallbacks, fallbacks);
}

#[test]
fn work_that_does_not_fit_is_priced_with_its_spill() {
    let [_, (_, host, gpu), _] = machines();
    let simulation = simulation(&host, &gpu);
    let graph = graph("add f32", 10_000_000);
    simulation.average(Placement::Auto, &large(), false, 3);
    let prepared = simulation.executor.prepare(&graph).unwrap();
    let inputs = simulation.inputs(&graph, true);
    let roomy = simulation.executor.decide(&prepared, &inputs, Wanted::Anywhere);
    assert_eq!(roomy.device(0), GPU);
    simulation.gpu.occupy((1 << 40) - (100 << 20));
    let full = Executor::with_router(
        simulation.machine.clone(),
        Options::default(),
        Placement::Auto,
        Router::new(simulation.machine.clone(), (*simulation.executor.router().profile()).clone()),
    );
    (0..3).for_each(|_| drop(full.evaluate(&large(), &simulation.inputs(&large(), false)).unwrap()));
    let prepared = full.prepare(&graph).unwrap();
    let tight = full.decide(&prepared, &inputs, Wanted::Anywhere);
    assert!(tight.total_ns() > roomy.total_ns(), "{} and {}", tight.total_ns(), roomy.total_ns());
}

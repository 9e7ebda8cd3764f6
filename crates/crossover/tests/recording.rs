//! Where plans ran, written by one process and followed by another.
#![allow(clippy::unwrap_used)]

use std::{path::Path, process::Command, sync::Arc};

use crossover::{
    Recording, Runtime,
    runtime::{
        Buffer, Curve, Executor, Link, Machine, Placement, Profile, Router, Wanted,
        sim::{SimDevice, SimOptions},
        workloads,
    },
};
use crossover_core::{Graph, graph::Op};
use crossover_cpu::CpuBackend;
use crossover_plan::Options;

/// A machine with an accelerator that computes, which this process believes to be so fast or slow.
fn executor(speed: f64, recording: Option<Recording>) -> Executor {
    let host = Arc::new(CpuBackend::new());
    let gpu = SimDevice::new(
        Arc::new(CpuBackend::new()),
        SimOptions { capacity: 1 << 30, ..SimOptions::default() },
    );
    let machine = Machine::new(host, vec![Arc::new(gpu)]).unwrap();
    let mut profile = Profile::assumed(2, 1);
    profile.devices[1].rates.scale(None, speed);
    if let Some(links) = &mut profile.devices[1].links {
        let link = Link { latency_ns: 1000.0 / speed, bandwidth: Curve::flat(speed) };
        (links.up, links.down) = (link.clone(), link);
    }
    let mut router = Router::new(machine.clone(), profile);
    if let Some(recording) = recording {
        router = router.replay(recording).unwrap();
    }
    Executor::with_router(machine, Options::default(), Placement::Auto, router)
}

fn graphs() -> Vec<Graph> {
    [("power f64", 300_000), ("linear and gelu f32", 250_000), ("add f32", 100)]
        .map(|(name, n)| workloads::find(name).unwrap().graph(n).unwrap())
        .into()
}

fn inputs(executor: &Executor, graph: &Graph) -> Vec<Arc<Buffer>> {
    let types = graph.nodes().iter().filter_map(|node| match &node.op {
        Op::Input { ty, .. } => Some(ty.clone()),
        _ => None,
    });
    let one = |(seed, ty): (usize, crossover_core::graph::Type)| {
        let values = (0..ty.shape.size()).map(|i| ((i * 7 + seed) % 1000) as f64 / 1000.0 + 0.5);
        let bytes: Vec<u8> = match ty.dtype.size() {
            4 => values.flat_map(|v| (v as f32).to_le_bytes()).collect(),
            _ => values.flat_map(f64::to_le_bytes).collect(),
        };
        Buffer::from_bytes(executor.machine(), &bytes).unwrap()
    };
    types.enumerate().map(one).collect()
}

/// Runs everything; a hash of all results, and where each kernel of each graph is decided to run.
fn everything(executor: &Executor) -> (u64, Vec<Vec<usize>>) {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut places = Vec::new();
    for graph in graphs() {
        let prepared = executor.prepare(&graph).unwrap();
        let operands = inputs(executor, &graph);
        let decision = executor.decide(&prepared, &operands, Wanted::OnHost);
        places.push((0..decision.kernels()).map(|at| decision.device(at).0).collect());
        let outputs = executor.evaluate_for(Placement::Auto, Wanted::OnHost, &graph, &operands).unwrap();
        for &byte in outputs[0].host_bytes().unwrap() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    (hash, places)
}

/// Played in a process of its own by the test below: follows the file that the variable names, on a machine that believes its
/// accelerator to be useless.
#[test]
fn child() {
    let Some(file) = std::env::var_os("RECORDING_TO_FOLLOW") else { return };
    let recording = Recording::load(Path::new(&file)).unwrap();
    let (hash, places) = everything(&executor(1e-6, Some(recording)));
    println!("followed {hash:016x} {places:?}");
}

#[test]
fn another_process_follows_a_recording() {
    let recorder = executor(1000.0, None);
    let (hash, places) = everything(&recorder);
    assert!(
        places.iter().flatten().any(|&device| device == 1),
        "something runs on the accelerator: {places:?}"
    );
    let (_, alone) = everything(&executor(1e-6, None));
    assert!(alone.iter().flatten().all(|&device| device == 0), "unless it is told otherwise: {alone:?}");
    let recording = recorder.recorded();
    assert_eq!(recording.len(), graphs().len());
    let file = std::env::temp_dir().join(format!("crossover-recording-{}.txt", std::process::id()));
    recording.save(&file).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env("RECORDING_TO_FOLLOW", &file)
        .output()
        .unwrap();
    std::fs::remove_file(file).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = format!("followed {hash:016x} {places:?}");
    assert!(said.contains(&expected), "{expected} is not in {said}");
}

#[test]
fn a_recording_of_devices_that_are_not_there_is_refused() {
    let recorder = executor(1000.0, None);
    everything(&recorder);
    let file = std::env::temp_dir().join(format!("crossover-recording-far-{}.txt", std::process::id()));
    recorder.recorded().save(&file).unwrap();
    let refused = Runtime::builder().device(crossover::Device::Cpu).replay(&file).build();
    std::fs::remove_file(file).unwrap();
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("gpu0") && error.contains("has 0"), "{error}");
}

#[test]
fn what_is_explained_of_a_small_plan_is_what_the_recording_says() {
    let small = &graphs()[2];
    let explained = |executor: &Executor| {
        let (prepared, operands) = (executor.prepare(small).unwrap(), inputs(executor, small));
        executor.decision_for(Placement::Auto, &prepared, &operands, Wanted::OnHost).why(0).name()
    };
    let recorder = executor(1000.0, None);
    assert_eq!(explained(&recorder), "trivial");
    everything(&recorder);
    assert_eq!(explained(&executor(1e-6, Some(recorder.recorded()))), "pinned");
}

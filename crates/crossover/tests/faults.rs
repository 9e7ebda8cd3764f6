//! Everything that can go wrong on a device goes wrong at every possible moment, on the simulated accelerator: the result is the
//! same to the bit or a typed error, no memory is lost, and the next evaluation works.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crossover_core::{DType, Graph, Shape, compose, graph::Op, ops::MapOp};
use crossover_cpu::CpuBackend;
use crossover_plan::Options;
use crossover_runtime::{
    Backend, Buffer, Device, Error, Executor, Machine, Placement, Wanted,
    sim::{Fault, SimDevice, SimOptions},
};

const SIM: Device = Device(1);
const SIDE: usize = 96;

struct Setup {
    sim: SimDevice,
    machine: Arc<Machine>,
    executor: Executor,
}

fn setup() -> Setup {
    let host: Arc<dyn Backend> = Arc::new(CpuBackend::builder().threads(1).build().unwrap());
    let sim = SimDevice::new(host.clone(), SimOptions::default());
    let machine = Machine::new(host, vec![Arc::new(sim.clone())]).unwrap();
    let executor = Executor::new(machine.clone(), Options::default(), Placement::Host);
    Setup { sim, machine, executor }
}

/// Several kernels with intermediates: softmaxes of transposes, a sort, a product.
fn graph() -> Graph {
    let mut g = Graph::new();
    let x = g.input(DType::F32, Shape::from([SIDE, SIDE])).unwrap();
    let mut y = x;
    for _ in 0..2 {
        y = compose::softmax(&mut g, &y, -1).unwrap();
        y = g.push(Op::Permute([1usize, 0].into_iter().collect()), &[y]).unwrap();
        y = compose::binary(&mut g, MapOp::Add, &y, &x).unwrap();
    }
    let sorted = compose::sort(&mut g, &y, -1, false).unwrap();
    let product = compose::matmul(&mut g, &sorted, &x).unwrap();
    let total = compose::sum(&mut g, &product, &[0], false).unwrap();
    g.output(product);
    g.output(total);
    g
}

fn input(machine: &Arc<Machine>) -> Arc<Buffer> {
    let values: Vec<u8> =
        (0..SIDE * SIDE).flat_map(|i| ((i * 37 % 101) as f32 * 0.02 - 1.0).to_le_bytes()).collect();
    Buffer::from_bytes(machine, &values).unwrap()
}

/// Results on the host, or why there are none.
fn run(s: &Setup, placement: Placement) -> Result<Vec<Vec<u8>>, Error> {
    let out = s.executor.evaluate_for(placement, Wanted::OnHost, &graph(), &[input(&s.machine)])?;
    out.iter().map(|b| b.host_bytes().map(<[u8]>::to_vec)).collect()
}

/// Runs with a fault, and once more without; the number of typed errors.
fn survives(fault: Fault, always: bool, placement: Placement, want: &[Vec<u8>]) -> usize {
    let s = setup();
    // Decisions are those of a device that is known.
    assert_eq!(run(&s, placement).unwrap(), want);
    if always {
        s.sim.inject_always(fault)
    } else {
        s.sim.inject(fault)
    }
    let what = format!("{fault:?}, always: {always}, {placement:?}");
    let mut errors = 0;
    for _ in 0..2 {
        match run(&s, placement) {
            Ok(got) => assert!(got == want, "{what}: other bits"),
            Err(Error::Device { .. } | Error::OutOfMemory { .. }) => errors += 1,
            Err(other) => panic!("{what}: {other}"),
        }
        assert_eq!(s.sim.used(), 0, "{what}: memory is lost");
    }
    s.sim.heal();
    assert_eq!(run(&s, placement).unwrap(), want, "{what}: afterwards");
    assert_eq!(s.sim.used(), 0, "{what}: memory is lost afterwards");
    errors
}

#[test]
fn every_fault_at_every_moment_leaves_the_bits_or_a_typed_error() {
    let want = run(&setup(), Placement::Host).unwrap();
    let mut tried = 0;
    for placement in [Placement::On(SIM), Placement::RoundRobin, Placement::Auto] {
        for k in 0..16 {
            for always in [false, true] {
                // An allocation or a kernel that fails is replaced by the host's: nothing is lost.
                assert_eq!(survives(Fault::Allocation(k), always, placement, &want), 0, "allocation {k}");
                assert_eq!(survives(Fault::Kernel(k), always, placement, &want), 0, "kernel {k}");
                // A copy that fails may be the one that was to bring back an only copy.
                survives(Fault::Copy(k), always, placement, &want);
                tried += 3;
            }
        }
    }
    assert_eq!(tried, 288);
}

#[test]
fn a_copy_that_fails_once_loses_nothing() {
    // Whoever asks again gets the bytes: a failed copy leaves its source valid.
    let s = setup();
    let out = s.executor.evaluate_at(Placement::On(SIM), &graph(), &[input(&s.machine)]).unwrap();
    s.sim.inject(Fault::Copy(0));
    assert!(matches!(out[0].host_bytes(), Err(Error::Device { .. })));
    let want = run(&setup(), Placement::Host).unwrap();
    assert_eq!(out[0].host_bytes().unwrap(), want[0]);
}

#[test]
fn losing_the_device_at_every_kernel_leaves_the_host_working() {
    let want = run(&setup(), Placement::Host).unwrap();
    for placement in [Placement::On(SIM), Placement::RoundRobin, Placement::Auto] {
        for k in 0..8 {
            let s = setup();
            s.sim.inject(Fault::Loss(k));
            for attempt in 0..2 {
                match run(&s, placement) {
                    Ok(got) => assert!(got == want, "loss at kernel {k}, {placement:?}, attempt {attempt}"),
                    Err(error) => assert!(
                        matches!(error, Error::Device { .. }),
                        "loss at kernel {k}, {placement:?}: {error}"
                    ),
                }
                assert_eq!(s.sim.used(), 0, "loss at kernel {k}, {placement:?}");
            }
            // The moment may not have come in two runs. Once it has, everything can still be computed from host data.
            s.sim.lose();
            assert_eq!(run(&s, Placement::Host).unwrap(), want);
            assert_eq!(run(&s, Placement::Auto).unwrap(), want, "loss at kernel {k}: auto avoids the device");
        }
    }
}

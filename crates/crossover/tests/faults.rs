//! Everything that can go wrong on a device goes wrong at every possible moment, on the simulated accelerator: the result is the
//! same to the bit or a typed error, no memory is lost, and the next evaluation works.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crossover_core::{DType, Graph, Shape, compose, graph::Op, ops::MapOp};
use crossover_cpu::CpuBackend;
use crossover_plan::Options;
use crossover_runtime::{
    Backend, Buffer, Device, Error, Executor, Machine, Placement, Wanted,
    memory::{Limit, Limits},
    sim::{Fault, SimDevice, SimOptions},
};

const SIM: Device = Device(1);
const SIDE: usize = 96;

struct Setup {
    sim: SimDevice,
    machine: Arc<Machine>,
    executor: Executor,
}

/// Room for everything at once, and for hardly more than the operands of one kernel.
const BUDGETS: [u64; 2] = [1 << 30, (SIDE * SIDE * 4) as u64 * 7 / 2];

fn setup() -> Setup {
    setup_with(BUDGETS[0])
}

fn setup_with(budget: u64) -> Setup {
    let host: Arc<dyn Backend> = Arc::new(CpuBackend::builder().threads(1).build().unwrap());
    let limits = Limits { limit: Limit::Bytes(budget), ..Limits::default() };
    let sim = SimDevice::new(host.clone(), SimOptions { limits, lag: 1, ..SimOptions::default() });
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

/// Memory is as if nothing had happened.
fn nothing_left(s: &Setup, what: &str) {
    assert_eq!(s.sim.used(), 0, "{what}: memory is lost");
    assert_eq!(s.machine.memory(SIM).unwrap().live, 0, "{what}: the account says otherwise");
}

/// Runs with a fault, and once more without; the number of typed errors, and whether the moment of the fault came in the first run.
fn survives(
    fault: Fault,
    always: bool,
    placement: Placement,
    budget: u64,
    want: &[Vec<u8>],
) -> (usize, bool) {
    let s = setup_with(budget);
    // Decisions are those of a device that is known.
    assert_eq!(run(&s, placement).unwrap(), want);
    if always {
        s.sim.inject_always(fault)
    } else {
        s.sim.inject(fault)
    }
    let what = format!("{fault:?}, always: {always}, {placement:?}, {budget} bytes");
    let (mut errors, mut came) = (0, true);
    for round in 0..2 {
        match run(&s, placement) {
            Ok(got) => assert!(got == want, "{what}: other bits"),
            Err(Error::Device { .. } | Error::OutOfMemory { .. }) => errors += 1,
            Err(other) => panic!("{what}: {other}"),
        }
        nothing_left(&s, &what);
        came &= round > 0 || always || s.sim.planned_faults() == 0;
    }
    assert!(s.sim.peak() as u64 <= budget, "{what}: {} bytes", s.sim.peak());
    s.sim.heal();
    assert_eq!(run(&s, placement).unwrap(), want, "{what}: afterwards");
    nothing_left(&s, &what);
    s.machine.trim(SIM).unwrap();
    assert_eq!(s.sim.reserved(), 0, "{what}: memory is kept");
    (errors, came)
}

/// Every moment at which a fault can come, once and again and again.
fn every_moment(kind: fn(u64) -> Fault, placement: Placement, budget: u64, want: &[Vec<u8>]) -> (usize, u64) {
    let mut errors = 0;
    for k in 0.. {
        let (once, came) = survives(kind(k), false, placement, budget, want);
        if !came {
            return (errors, k);
        }
        errors += once + survives(kind(k), true, placement, budget, want).0;
    }
    unreachable!("a run has an end");
}

#[test]
fn every_fault_at_every_moment_leaves_the_bits_or_a_typed_error() {
    let want = run(&setup(), Placement::Host).unwrap();
    for budget in BUDGETS {
        let mut moments = 0;
        for placement in [Placement::On(SIM), Placement::RoundRobin, Placement::Auto] {
            // An allocation or a kernel that fails is replaced by the host's: nothing is lost.
            let (errors, allocations) = every_moment(Fault::Allocation, placement, budget, &want);
            assert_eq!(errors, 0, "{allocations} allocations, {placement:?}, {budget} bytes");
            let (errors, kernels) = every_moment(Fault::Kernel, placement, budget, &want);
            assert_eq!(errors, 0, "{kernels} kernels, {placement:?}, {budget} bytes");
            // A copy that fails may be the one that was to bring back an only copy.
            let (_, copies) = every_moment(Fault::Copy, placement, budget, &want);
            moments += allocations + kernels + copies;
        }
        assert!(moments >= 30, "{moments} moments in {budget} bytes");
    }
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
    let cases = BUDGETS.into_iter().flat_map(|budget| {
        [Placement::On(SIM), Placement::RoundRobin, Placement::Auto].map(move |placement| (budget, placement))
    });
    for (budget, placement) in cases {
        for k in 0..8 {
            let s = setup_with(budget);
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

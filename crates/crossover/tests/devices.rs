//! Buffers on several devices, and devices that fail: on the simulated accelerator.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crossover_core::{DType, Graph, Shape, compose, ops::MapOp};
use crossover_cpu::CpuBackend;
use crossover_plan::Options;
use crossover_runtime::{
    Backend, Buffer, Device, Error, Executor, Machine, Placement,
    sim::{Fault, SimDevice, SimOptions},
    trace,
};

const SIM: Device = Device(1);

struct Setup {
    sim: SimDevice,
    machine: Arc<Machine>,
    executor: Executor,
}

fn setup(options: SimOptions, placement: Placement) -> Setup {
    let host: Arc<dyn Backend> = Arc::new(CpuBackend::builder().threads(1).build().unwrap());
    let sim = SimDevice::new(host.clone(), options);
    let machine = Machine::new(host, vec![Arc::new(sim.clone())]).unwrap();
    let executor = Executor::new(machine.clone(), Options::default(), placement);
    Setup { sim, machine, executor }
}

/// exp(x) - softmax(x), as two kernels because of the transposed operand.
fn graph() -> Graph {
    let mut g = Graph::new();
    let x = g.input(DType::F32, Shape::from([8, 8])).unwrap();
    let y = compose::softmax(&mut g, &x, -1).unwrap();
    let turned = g.push(crossover_core::graph::Op::Permute([1usize, 0].into_iter().collect()), &[y]).unwrap();
    let z = compose::binary(&mut g, MapOp::Subtract, &x, &turned).unwrap();
    g.output(z);
    g
}

fn input(machine: &Arc<Machine>) -> Arc<Buffer> {
    let values: Vec<u8> = (0..64).flat_map(|i| (i as f32 * 0.37 - 9.0).to_le_bytes()).collect();
    Buffer::from_bytes(machine, &values).unwrap()
}

fn expected() -> Vec<u8> {
    let s = setup(SimOptions::default(), Placement::Host);
    s.executor.evaluate(&graph(), &[input(&s.machine)]).unwrap()[0].host_bytes().unwrap().to_vec()
}

#[test]
fn a_buffer_moves_once_and_stays_valid_at_its_source() {
    let s = setup(SimOptions::default(), Placement::On(SIM));
    let x = input(&s.machine);
    assert_eq!(x.valid_on().as_slice(), [Device::HOST]);
    let first = s.executor.evaluate(&graph(), std::slice::from_ref(&x)).unwrap();
    assert_eq!(x.valid_on().as_slice(), [Device::HOST, SIM]);
    assert_eq!(s.executor.counts().transfers, 1);
    s.executor.evaluate(&graph(), &[x]).unwrap();
    assert_eq!(s.executor.counts().transfers, 1, "the second run finds the bytes there");
    assert_eq!(first[0].valid_on().as_slice(), [SIM]);
    assert_eq!(first[0].host_bytes().unwrap(), expected());
    assert_eq!(first[0].valid_on().as_slice(), [Device::HOST, SIM]);
}

#[test]
fn every_kernel_on_another_device_gives_the_same_bits() {
    let s = setup(SimOptions::default(), Placement::RoundRobin);
    let out = s.executor.evaluate(&graph(), &[input(&s.machine)]).unwrap();
    assert_eq!(out[0].host_bytes().unwrap(), expected());
    assert!(s.executor.counts().transfers > 0);
}

#[test]
fn faults_fall_back_to_the_host_and_the_next_run_is_correct() {
    for fault in [Fault::Kernel(0), Fault::Kernel(1), Fault::Copy(0)] {
        let s = setup(SimOptions::default(), Placement::On(SIM));
        s.sim.inject(fault);
        let out = s.executor.evaluate(&graph(), &[input(&s.machine)]).unwrap();
        assert_eq!(out[0].host_bytes().unwrap(), expected(), "{fault:?}");
        assert_eq!(s.executor.counts().fallbacks, 1, "{fault:?}");
        let again = s.executor.evaluate(&graph(), &[input(&s.machine)]).unwrap();
        assert_eq!(again[0].host_bytes().unwrap(), expected(), "after {fault:?}");
        assert_eq!(s.executor.counts().fallbacks, 1, "{fault:?} happens once");
    }
}

#[test]
fn an_allocation_that_fails_once_is_made_again() {
    for k in 0..3 {
        let s = setup(SimOptions::default(), Placement::On(SIM));
        s.sim.inject(Fault::Allocation(k));
        let out = s.executor.evaluate(&graph(), &[input(&s.machine)]).unwrap();
        assert_eq!(out[0].host_bytes().unwrap(), expected(), "allocation {k}");
        let counts = s.executor.counts();
        assert_eq!((counts.fallbacks, counts.reclaimed.retries), (0, 1), "allocation {k}");
    }
}

#[test]
fn a_device_without_room_computes_in_parts_or_leaves_it_to_the_host() {
    for (capacity, on_device) in [(300, true), (8, false)] {
        let s = setup(SimOptions { capacity, ..SimOptions::default() }, Placement::On(SIM));
        let out = s.executor.evaluate(&graph(), &[input(&s.machine)]).unwrap();
        assert_eq!(out[0].host_bytes().unwrap(), expected());
        let counts = s.executor.counts();
        assert_eq!(counts.split > 0, on_device, "{counts:?}");
        assert!(on_device || counts.fallbacks > 0, "{counts:?}");
    }
}

#[test]
fn contents_lost_with_their_device_are_a_device_error_and_the_rest_goes_on() {
    let s = setup(SimOptions::default(), Placement::On(SIM));
    let x = input(&s.machine);
    let out = s.executor.evaluate(&graph(), std::slice::from_ref(&x)).unwrap();
    s.sim.lose();
    assert!(matches!(out[0].host_bytes(), Err(Error::Device { .. })));
    let again = s.executor.evaluate(&graph(), &[x]).unwrap();
    assert_eq!(again[0].host_bytes().unwrap(), expected(), "the input was valid on the host too");
}

/// A machine of two simulated devices.
fn pair(options: SimOptions) -> ([SimDevice; 2], Arc<Machine>) {
    let host: Arc<dyn Backend> = Arc::new(CpuBackend::builder().threads(1).build().unwrap());
    let sims = [SimDevice::new(host.clone(), options.clone()), SimDevice::new(host.clone(), options)];
    let machine = Machine::new(host, sims.iter().map(|s| Arc::new(s.clone()) as Arc<dyn Backend>).collect());
    (sims, machine.unwrap())
}

#[test]
fn bytes_go_from_device_to_device_without_the_host_where_they_can() {
    for (rate, straight) in [(Some(200), 1), (None, 0)] {
        let ([first, second], machine) = pair(SimOptions { peer_rate: rate, ..SimOptions::default() });
        let executor = Executor::new(machine.clone(), Options::default(), Placement::On(Device(1)));
        let out = executor.evaluate(&graph(), &[input(&machine)]).unwrap();
        assert_eq!(out[0].valid_on().as_slice(), [Device(1)]);
        let (_, moved) = out[0].on(Device(2)).unwrap();
        assert!(moved && !out[0].on(Device(2)).unwrap().1, "once is enough");
        assert_eq!(out[0].valid_on().as_slice(), [Device(1), Device(2)], "the host has no part in it");
        assert_eq!((first.peer_copies(), second.peer_copies()), (0, straight));
        first.lose();
        assert_eq!(out[0].valid_on().len(), 2);
        let mut bytes = vec![0; out[0].bytes()];
        second.download(out[0].on(Device(2)).unwrap().0, &mut bytes).unwrap();
        assert_eq!(bytes, expected());
    }
}

#[test]
fn a_copy_between_devices_that_fails_leaves_the_source_as_it_was() {
    let ([_, second], machine) = pair(SimOptions::default());
    let executor = Executor::new(machine.clone(), Options::default(), Placement::On(Device(1)));
    let out = executor.evaluate(&graph(), &[input(&machine)]).unwrap();
    second.inject(Fault::Copy(0));
    assert!(matches!(out[0].on(Device(2)), Err(Error::Device { .. })));
    assert_eq!((out[0].valid_on().as_slice(), second.used()), (&[Device(1)][..], 0));
    assert_eq!(out[0].host_bytes().unwrap(), expected());
}

#[test]
fn arrays_move_between_gpus_and_an_absent_one_is_named() {
    let (sims, machine) = pair(SimOptions::default());
    let executor = Executor::new(machine, Options::default(), Placement::Host);
    let runtime = crossover::Runtime::from_executor(executor);
    runtime.scope(|| {
        let x = crossover::Array::arange(100).to_device(crossover::Device::Cuda(0)).unwrap();
        let y = x.exp().to_device(crossover::Device::Cuda(0)).unwrap();
        assert_eq!(y.device(), crossover::Device::Cuda(0));
        let there = y.to_device(crossover::Device::Cuda(1)).unwrap();
        assert_eq!(there.device(), crossover::Device::Cuda(1));
        assert_eq!(sims[1].peer_copies(), 1);
        let error = y.to_device(crossover::Device::Cuda(2)).unwrap_err();
        let want = "there is no device cuda:2: the machine has 2 GPUs, cuda:0 to cuda:1";
        assert!(error.to_string().starts_with(want), "{error}");
    });
}

#[test]
fn memory_of_the_device_is_given_back() {
    let s = setup(SimOptions::default(), Placement::On(SIM));
    for _ in 0..10 {
        s.executor.evaluate(&graph(), &[input(&s.machine)]).unwrap();
    }
    assert_eq!(s.sim.used(), 0);
    assert!(s.sim.clock_ns() > 0);
}

#[test]
fn addresses_of_the_device_are_not_host_addresses() {
    let s = setup(SimOptions::default(), Placement::Host);
    let block = s.sim.allocate(64).unwrap();
    assert!(block.address.0 > i64::MAX as u64);
    s.sim.free(block);
    let foreign = crossover_runtime::Block { address: crossover_runtime::Address(64), bytes: 64 };
    assert!(matches!(s.sim.upload(&[0; 64], foreign), Err(Error::Internal(_))));
}

#[test]
fn a_caller_that_flushes_subnormals_changes_no_bits() {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    fn control(word: Option<u32>) -> u32 {
        let mut now = 0u32;
        // SAFETY: stores the control word, and loads one whose exceptions stay masked.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &mut now, options(nostack));
            if let Some(word) = word {
                std::arch::asm!("ldmxcsr [{}]", in(reg) &word, options(nostack));
            }
        }
        now
    }
    #[cfg(target_arch = "x86_64")]
    {
        let s = setup(SimOptions::default(), Placement::Host);
        let mut g = Graph::new();
        let x = g.input(DType::F32, Shape::from([4])).unwrap();
        let y = g.map(MapOp::Add, &[x, x]).unwrap();
        g.output(y);
        let tiny: Vec<u8> = [1u32, 2, 3, 0x0040_0000].iter().flat_map(|b| b.to_le_bytes()).collect();
        let former = control(None);
        control(Some(former | 0x8040));
        let out = s.executor.evaluate(&g, &[Buffer::from_bytes(&s.machine, &tiny).unwrap()]);
        // The lowest six bits only note what has happened.
        let after = control(Some(former));
        assert_eq!(after | 0x3f, former | 0x8040 | 0x3f, "the caller's setting is given back");
        let doubled: Vec<u8> = [2u32, 4, 6, 0x0080_0000].iter().flat_map(|b| b.to_le_bytes()).collect();
        assert_eq!(out.unwrap()[0].host_bytes().unwrap(), doubled);
    }
}

#[test]
fn spans_are_recorded_only_when_asked_for() {
    let s = setup(SimOptions::default(), Placement::Host);
    let run = || {
        let _mine = trace::scope("spans of this test");
        s.executor.evaluate(&graph(), &[input(&s.machine)]).unwrap();
    };
    run();
    let session = trace::Session::begin();
    run();
    let seen = session.end();
    // Other tests run beside this one, on other threads.
    let scopes: Vec<_> = seen.spans().filter(|span| span.name == "spans of this test").collect();
    assert_eq!(scopes.len(), 1);
    let kernels: Vec<_> =
        seen.spans().filter(|span| span.track == scopes[0].track && span.work.is_some()).collect();
    assert_eq!(kernels.len(), 2);
    let work = kernels[0].work.as_ref().unwrap();
    assert!(kernels[0].name.contains("exp") && work.read() > 0 && work.flops() > 0);
    let parent = seen.span(kernels[0].parent.unwrap());
    assert_eq!(parent.kind, trace::Kind::Evaluation);
}

#[test]
fn sessions_time_short_work_now_and_then_and_all_of_it_when_asked() {
    const RUNS: usize = 300;
    let s = setup(SimOptions::default(), Placement::On(SIM));
    let x = input(&s.machine);
    let recorded = |session: trace::Session, name: &str| {
        {
            let _mine = trace::scope(name.to_string());
            for _ in 0..RUNS {
                s.executor.evaluate(&graph(), std::slice::from_ref(&x)).unwrap();
            }
        }
        session.end()
    };
    fn kernels<'a>(seen: &'a trace::Seen, name: &str) -> (Vec<trace::Span<'a>>, trace::Span<'a>) {
        let scope = seen.spans().find(|span| span.name == name).unwrap();
        let tracks: Vec<_> = (0..seen.tracks.len())
            .filter(|&at| matches!(seen.tracks[at], trace::Track::Queue(queue) if queue.purpose == "compute"))
            .collect();
        // Other tests run beside this one: those of this thread's evaluations.
        let mine = |span: &trace::Span<'_>| {
            let asked = span.parent.map(|at| seen.span(at).track);
            span.work.is_some() && tracks.contains(&span.track) && asked == Some(scope.track)
        };
        (seen.spans().filter(mine).collect(), scope)
    }
    let seen = recorded(trace::Session::begin(), "now and then");
    let (spans, scope) = kernels(&seen, "now and then");
    assert_eq!(spans.len(), 2 * RUNS, "every launch is there");
    let estimated = spans.iter().filter(|span| span.estimated).count();
    // The first run is timed; after that one in hundreds may be.
    assert!((RUNS..=2 * RUNS - 2).contains(&estimated), "{estimated} of {}", spans.len());
    assert!(!spans[0].estimated && !spans[1].estimated);
    assert!(spans.iter().all(|span| span.start >= span.queued && span.start >= scope.start));
    assert!(spans.windows(2).all(|pair| pair[0].name != pair[1].name), "in their order");
    let seen = recorded(trace::Session::begin_timing_everything(), "everything");
    let (spans, _) = kernels(&seen, "everything");
    assert_eq!(spans.len(), 2 * RUNS);
    assert!(spans.iter().all(|span| !span.estimated && span.duration > 0));
}

#[test]
fn the_plan_cache_is_bounded() {
    let s = setup(SimOptions::default(), Placement::Host);
    for n in 0..3000 {
        let mut g = Graph::new();
        let x = g.input(DType::F32, Shape::from([n])).unwrap();
        let y = g.map(MapOp::Exp, &[x]).unwrap();
        g.output(y);
        s.executor.prepare(&g).unwrap();
    }
    assert!(s.executor.cached_plans() <= 1024);
    assert_eq!(s.executor.counts().planned, 3000);
}

//! Memory that runs out: budgets, pressure, eviction, spilling, kernels in parts, leaks; on the simulated accelerator.
#![allow(clippy::unwrap_used)]

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use crossover::{
    Array, Device as ArrayDevice, Runtime,
    core::{DType, Graph, Shape, compose, ops::MapOp},
    memory::{Level, Limit, Limits, Subscription},
    runtime::{
        Buffer, Device, Error, Executor, Machine, Placement, Profile, Router,
        sim::{Clock, Fault, SimDevice, SimOptions},
    },
};
use crossover_cpu::CpuBackend;
use crossover_plan::Options;
use parking_lot::Mutex;

const SIM: Device = Device(1);
const BUDGET: usize = 1 << 20;

struct Setup {
    sim: SimDevice,
    machine: Arc<Machine>,
    runtime: Runtime,
}

fn options(budget: usize, lag: u64) -> SimOptions {
    let limits = Limits { limit: Limit::Bytes(budget as u64), ..Limits::default() };
    SimOptions { limits, lag, ..SimOptions::default() }
}

fn setup_with(options: SimOptions, placement: Placement, host_budget: u64, deterministic: bool) -> Setup {
    let host = CpuBackend::builder().threads(1).memory_budget(host_budget).build().unwrap();
    // The device's memory is not the host's, so it has a pool of its own.
    let inner = CpuBackend::builder().threads(1).build().unwrap();
    let sim = SimDevice::new(Arc::new(inner), options);
    let machine = Machine::new(Arc::new(host), vec![Arc::new(sim.clone())]).unwrap();
    let router = Router::new(machine.clone(), Profile::assumed(1, 1)).deterministic(deterministic);
    let executor = Executor::with_router(machine.clone(), Options::default(), placement, router);
    Setup { sim, machine, runtime: Runtime::from_executor(executor) }
}

fn setup(budget: usize, lag: u64) -> Setup {
    setup_with(options(budget, lag), Placement::On(SIM), 1 << 30, false)
}

/// Something to compute.
type Work = fn(&Array) -> Array;

fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + seed * 101) % 1009) as f32 * 0.013 - 5.0).collect()
}

/// Nothing is left behind on the device.
fn nothing_left(s: &Setup, what: &str) {
    assert_eq!(s.sim.used(), 0, "{what}: memory is lost");
    let memory = s.machine.memory(SIM).unwrap();
    assert_eq!(memory.live, 0, "{what}: the account says otherwise");
    s.machine.trim(SIM).unwrap();
    assert_eq!((s.sim.reserved(), s.machine.memory(SIM).unwrap().reserved), (0, 0), "{what}");
}

/// Many arrays that stay alive, each of an eighth of a budget, and results made of all of them: three budgets in all.
fn large_workload() -> Vec<f32> {
    let count = BUDGET / 8 / 4;
    let side = 32;
    let arrays: Vec<Array> = (0..24)
        .map(|i| {
            let x = Array::from_vec(values(count, i), [side, count / side]);
            let y = (x.clone() * 0.5f32).exp() + x.sum(crossover::keepdims(-1));
            y.eval().unwrap();
            y
        })
        .collect();
    let mut out = Vec::new();
    for (i, x) in arrays.iter().enumerate() {
        let other = &arrays[(i * 7 + 3) % arrays.len()];
        let mixed = (x - other).softmax(-1);
        out.extend(mixed.sum(0).to_vec::<f32>().unwrap());
    }
    for x in &arrays {
        out.extend(x.to_vec::<f32>().unwrap());
    }
    out
}

#[test]
fn three_times_the_budget_gives_the_same_bits_and_never_exceeds_it() {
    let host = Runtime::builder().threads(1).device(ArrayDevice::Cpu).build().unwrap();
    let want = host.scope(large_workload);
    for lag in [0, 3, 50] {
        let s = setup(BUDGET, lag);
        let got = s.runtime.scope(large_workload);
        assert!(
            got.iter().map(|x| x.to_bits()).eq(want.iter().map(|x| x.to_bits())),
            "lag {lag}: other bits"
        );
        assert!(s.sim.peak() <= BUDGET, "lag {lag}: {} of {BUDGET} bytes", s.sim.peak());
        let counts = s.runtime.stats().counts;
        assert!(counts.reclaimed.spills > 0, "{counts:?}");
        assert_eq!(counts.fallbacks, 0, "{counts:?}");
        nothing_left(&s, "after three budgets");
    }
}

#[test]
fn kernels_whose_operands_do_not_fit_together_run_in_parts() {
    let rows = 64;
    let count = 3 * BUDGET / 4;
    let work: [(&str, Work); 6] = [
        ("map", |x| (x * 2.0f32).tanh()),
        ("row", |x| x.softmax(-1)),
        ("flipped", |x| x.flip(0).exp()),
        ("column", |x| x.reshape([8, 8, x.size() / 64]).sum(1)),
        ("sort", |x| x.sort(-1)),
        ("scan", |x| x.cumulative_sum(-1)),
    ];
    for (name, work) in work {
        let x = values(count, 5);
        let host = Runtime::builder().threads(1).device(ArrayDevice::Cpu).build().unwrap();
        let run = || work(&Array::from_vec(x.clone(), [rows, count / rows])).to_vec::<f32>().unwrap();
        let want = host.scope(run);
        let s = setup(BUDGET, 0);
        let got = s.runtime.scope(run);
        assert!(got.iter().map(|x| x.to_bits()).eq(want.iter().map(|x| x.to_bits())), "{name}: other bits");
        let counts = s.runtime.stats().counts;
        assert!(counts.split >= 1 && counts.parts >= 4, "{name}: {counts:?}");
        assert_eq!(counts.fallbacks, 0, "{name}: {counts:?}");
        assert!(s.sim.peak() <= BUDGET, "{name}: {} bytes", s.sim.peak());
        nothing_left(&s, name);
    }
}

#[test]
fn what_cannot_be_cut_runs_on_the_host() {
    let count = 3 * BUDGET / 4;
    let s = setup(BUDGET, 0);
    let x = values(count, 2);
    // A sum of everything, and a part of the transpose that needs nearly all of its operand.
    let work: [Work; 2] = [|x| x.sum(()), |x| x.permute([1, 0]) + 1.0f32];
    for work in work {
        let run = || work(&Array::from_vec(x.clone(), [64, count / 64])).to_vec::<f32>().unwrap();
        let host = Runtime::builder().threads(1).device(ArrayDevice::Cpu).build().unwrap();
        let (got, want) = (s.runtime.scope(run), host.scope(run));
        assert!(got.iter().map(|x| x.to_bits()).eq(want.iter().map(|x| x.to_bits())));
    }
    assert_eq!(s.runtime.stats().counts.fallbacks, 2);
    nothing_left(&s, "the host");
}

#[test]
fn what_fits_nowhere_is_an_error_with_its_sizes() {
    let s = setup_with(options(BUDGET, 0), Placement::On(SIM), 3 << 20, false);
    let kept: Vec<Array> = s.runtime.scope(|| {
        let made = (0..64).map(|i| Array::from_vec(values(BUDGET / 16, i), [BUDGET / 16]).exp());
        made.take_while(|x| x.eval().is_ok()).collect()
    });
    assert!(!kept.is_empty() && kept.len() < 64, "{} arrays in 1 MiB and 3 MiB", kept.len());
    let error = s.runtime.scope(|| Array::zeros::<f32>([BUDGET]).exp().eval().map(drop)).unwrap_err();
    let Error::OutOfMemory { requested, .. } = error.kind() else { panic!("{error}") };
    assert!(*requested >= BUDGET as u64, "{error}");
    assert!(error.to_string().contains("largest block"), "{error}");
    // What exists can still be read, and there is room again once it is gone.
    for (i, x) in kept.iter().enumerate() {
        let got = s.runtime.scope(|| x.index(0).item::<f32>());
        match got {
            Ok(first) => assert!((first - values(1, i)[0].exp()).abs() <= 1e-6 * first),
            Err(error) => assert!(matches!(error.kind(), Error::OutOfMemory { .. }), "{error}"),
        }
    }
    drop(kept);
    s.runtime.scope(|| assert_eq!(Array::ones::<f32>([1000]).sum(()).item::<f32>().unwrap(), 1000.0));
    nothing_left(&s, "afterwards");
}

/// The lines of events so far.
type Told = Arc<Mutex<Vec<(Level, Level)>>>;

fn listen(s: &Setup) -> (Told, Subscription) {
    let told = Told::default();
    let to = told.clone();
    (told, s.machine.subscribe(move |_, event| to.lock().push((event.from, event.to))))
}

#[test]
fn levels_are_told_on_the_way_up_and_down() {
    let s = setup(BUDGET, 0);
    let (told, _subscription) = listen(&s);
    // Made on the device, so nothing can be evicted; a sixteenth of the budget each.
    let make = |i: usize| {
        s.runtime.scope(|| {
            let x = (Array::full([BUDGET / 64], i as f32) * 2.0f32).exp();
            x.eval().unwrap();
            x
        })
    };
    let mut kept: Vec<Array> = (0..11).map(make).collect();
    assert!(told.lock().is_empty(), "{:?}", told.lock());
    kept.push(make(11));
    assert_eq!(*told.lock(), [(Level::Normal, Level::Elevated)], "at 75%");
    kept.push(make(12));
    kept.push(make(13));
    assert_eq!(told.lock().last(), Some(&(Level::Elevated, Level::High)), "at 87.5%");
    kept.push(make(14));
    kept.push(make(15));
    assert_eq!(told.lock().last(), Some(&(Level::High, Level::Critical)), "at 100%");
    assert_eq!(s.machine.memory(SIM).unwrap().level, Level::Critical);
    kept.clear();
    s.machine.trim(SIM).unwrap();
    s.machine.tell(SIM);
    assert_eq!(told.lock().last(), Some(&(Level::Critical, Level::Normal)));
}

#[test]
fn cleaning_up_begins_before_the_allocation_that_crosses_high_returns() {
    let s = setup(BUDGET, 0);
    s.runtime.scope(|| {
        // Copies that the host has too, an eighth of the budget each.
        let kept: Vec<Array> = (0..7)
            .map(|i| {
                let x = Array::from_vec(values(BUDGET / 32, i), [BUDGET / 32]);
                x.to_device(ArrayDevice::Cuda(0)).unwrap()
            })
            .collect();
        let memory = s.machine.memory(SIM).unwrap();
        assert!(memory.usage <= 0.85, "{memory:?}");
        assert!(s.machine.reclaimed().evictions >= 1 && s.machine.reclaimed().spills == 0);
        for (i, x) in kept.iter().enumerate() {
            assert_eq!(x.to_vec::<f32>().unwrap(), values(BUDGET / 32, i));
        }
    });
    nothing_left(&s, "evicted copies");
}

/// Runs work on a thread and fails if it does not end.
fn within<T: Send + 'static>(seconds: u64, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(work()));
    receive.recv_timeout(Duration::from_secs(seconds)).expect("a deadlock, or it panicked")
}

#[test]
fn a_subscriber_may_do_anything() {
    within(60, || {
        let s = Arc::new(setup(BUDGET, 0));
        let calls = Arc::new(AtomicUsize::new(0));
        let own: Arc<Mutex<Option<Subscription>>> = Arc::default();
        let shared = Arc::new(Mutex::new(None::<Array>));
        let inside = (Arc::downgrade(&s), calls.clone(), own.clone(), shared.clone());
        let subscription = s.machine.subscribe(move |device, event| {
            let (s, calls, own, shared) = (inside.0.upgrade().unwrap(), &inside.1, &inside.2, &inside.3);
            assert_eq!(device, SIM);
            // Statistics, room, more arrays than there is room for, the very array that is being made, and the end of it.
            assert!(s.machine.memory(SIM).unwrap().usage <= 1.0);
            s.machine.trim(SIM).unwrap();
            let held = shared.lock().clone();
            s.runtime.scope(|| {
                let more: Vec<Array> = (0..20)
                    .map(|i| {
                        Array::full([BUDGET / 64], i as f32).sqrt().to_device(ArrayDevice::Cuda(0)).unwrap()
                    })
                    .collect();
                assert_eq!(more[9].index(0).item::<f32>().unwrap(), 3.0);
                if let Some(array) = held {
                    array.to_vec::<f32>().unwrap();
                }
            });
            if calls.fetch_add(1, Ordering::Relaxed) == 3 && event.to >= Level::Normal {
                drop(own.lock().take());
            }
        });
        *own.lock() = Some(subscription);
        s.runtime.scope(|| {
            for round in 0..40 {
                let x = Array::from_vec(values(BUDGET / 32, round), [BUDGET / 32]);
                *shared.lock() = Some(x.clone());
                let kept: Vec<Array> = (0..9).map(|i| (x.clone() + i as f32).exp()).collect();
                for y in &kept {
                    y.eval().unwrap();
                }
            }
        });
        *shared.lock() = None;
        assert!(calls.load(Ordering::Relaxed) >= 4);
        assert!(own.lock().is_none());
        nothing_left(&s, "a subscriber");
    });
}

#[test]
fn what_others_take_counts() {
    let limits = Limits { limit: Limit::Share(0.8), ..Limits::default() };
    let s = setup_with(
        SimOptions { limits, capacity: BUDGET, ..SimOptions::default() },
        Placement::On(SIM),
        1 << 30,
        false,
    );
    let budget = (BUDGET as f64 * 0.8) as u64;
    assert!(s.machine.can_allocate(SIM, budget) && !s.machine.can_allocate(SIM, budget + 1));
    s.sim.occupy(BUDGET as u64 / 2);
    let memory = s.machine.memory(SIM).unwrap();
    assert_eq!((memory.external, memory.budget), (BUDGET as u64 / 2, budget));
    assert!(!s.machine.can_allocate(SIM, budget / 2));
    // A workload of what would have fit before is squeezed into what is left.
    s.runtime.scope(|| {
        let kept: Vec<Array> = (0..6).map(|i| Array::full([BUDGET / 32], i as f32).exp()).collect();
        kept.iter().for_each(|x| x.eval().map(drop).unwrap());
        assert!(s.sim.reserved() as u64 + BUDGET as u64 / 2 <= budget);
        for (i, x) in kept.iter().enumerate() {
            assert_eq!(
                x.index(7).item::<f32>().unwrap(),
                Array::full([1], i as f32).exp().item::<f32>().unwrap()
            );
        }
    });
    // Others that take everything leave the host.
    s.sim.occupy(BUDGET as u64);
    s.runtime.scope(|| assert_eq!(Array::full([1000], 4.0f32).sqrt().sum(()).item::<f32>().unwrap(), 2000.0));
    s.sim.occupy(0);
    nothing_left(&s, "others");
}

fn adder() -> Graph {
    let mut g = Graph::new();
    let x = g.input(DType::I32, Shape::from([512])).unwrap();
    let y = g.input(DType::I32, Shape::from([512])).unwrap();
    let sum = compose::binary(&mut g, MapOp::Add, &x, &y).unwrap();
    g.output(sum);
    g
}

fn random(state: &mut u64, below: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % below
}

/// Random operations on buffers of 2 KiB in a budget of a few of them, against the values they should have.
fn against_a_model(operations: usize, seed: u64) {
    let bytes = 2048;
    let budget = 12 * bytes;
    let s = setup_with(options(budget, 2), Placement::On(SIM), 1 << 30, false);
    let executor = s.runtime.executor();
    let graph = adder();
    let mut state = seed | 1;
    // A buffer and the value of all its elements.
    let mut known: Vec<(Arc<Buffer>, i32)> = Vec::new();
    let check = |(buffer, value): &(Arc<Buffer>, i32)| {
        let mut got = vec![0; bytes];
        buffer.read_into(&mut got).unwrap();
        assert!(got.chunks(4).all(|b| b == value.to_le_bytes()), "{value}");
    };
    for operation in 0..operations {
        match random(&mut state, 100) {
            0..15 => {
                let value = random(&mut state, 1000) as i32;
                let host = value.to_le_bytes().repeat(512);
                known.push((Buffer::from_bytes(&s.machine, &host).unwrap(), value));
            }
            15..60 if !known.is_empty() => {
                let pick = |state: &mut u64| known[random(state, known.len() as u64) as usize].clone();
                let (a, b) = (pick(&mut state), pick(&mut state));
                let placement = if random(&mut state, 8) == 0 { Placement::Host } else { Placement::On(SIM) };
                let out = executor.evaluate_at(placement, &graph, &[a.0, b.0]).unwrap();
                known.push((out[0].clone(), a.1.wrapping_add(b.1)));
            }
            60..80 if !known.is_empty() => {
                let at = random(&mut state, known.len() as u64) as usize;
                check(&known[at]);
            }
            80..83 if !known.is_empty() => {
                let at = random(&mut state, known.len() as u64) as usize;
                known[at].0.host_bytes().unwrap();
            }
            83..85 => s.machine.trim(SIM).unwrap(),
            85..87 => s.sim.occupy(random(&mut state, 1 << 30)),
            87..89 => s.sim.inject(Fault::Allocation(random(&mut state, 4))),
            89 => s.sim.heal(),
            _ if !known.is_empty() => {
                let at = random(&mut state, known.len() as u64) as usize;
                known.swap_remove(at);
            }
            _ => {}
        }
        if known.len() > 40 {
            known.swap_remove(random(&mut state, 40) as usize);
        }
        assert!(s.sim.peak() <= budget, "operation {operation}: {} bytes", s.sim.peak());
        let on_device = known.iter().filter(|(buffer, _)| buffer.is_valid_on(SIM)).count();
        assert_eq!(s.sim.used(), on_device * bytes, "operation {operation}: the account of the device");
        assert_eq!(s.machine.backend(SIM).account().unwrap().live(), s.sim.used() as u64);
    }
    known.iter().for_each(check);
    assert!(s.machine.reclaimed().spills > 100, "{:?}", s.machine.reclaimed());
    known.clear();
    s.sim.occupy(0);
    nothing_left(&s, "random operations");
}

#[test]
fn a_hundred_thousand_random_operations_agree_with_a_model() {
    for seed in 1..=4 {
        against_a_model(25_000, seed * 7919);
    }
}

/// Threads use shared arrays that do not fit together, for as long as this.
fn seconds() -> u64 {
    std::env::var("CROSSOVER_SOAK").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

#[test]
fn sixteen_threads_share_arrays_under_pressure() {
    const THREADS: usize = 16;
    let time = seconds();
    let done = within(time * 4 + 120, move || {
        let s = Arc::new(setup(BUDGET, 4));
        let count = BUDGET / 16 / 4;
        let shared: Arc<Vec<Array>> = Arc::new(
            s.runtime
                .scope(|| (0..32).map(|i| Array::from_vec(values(count, i), [16, count / 16])).collect()),
        );
        let want: Arc<Vec<u32>> = Arc::new(
            (0..32)
                .map(|i| {
                    Array::from_vec(values(count, i), [16, count / 16])
                        .exp()
                        .sum(())
                        .item::<f32>()
                        .unwrap()
                        .to_bits()
                })
                .collect(),
        );
        let (events, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let heard = events.clone();
        let weak = Arc::downgrade(&s);
        let _subscription = s.machine.subscribe(move |_, _| {
            heard.fetch_add(1, Ordering::Relaxed);
            if let Some(s) = weak.upgrade() {
                s.machine.memory(SIM).unwrap();
            }
        });
        let (start, end) = (Arc::new(Barrier::new(THREADS)), Instant::now() + Duration::from_secs(time));
        let threads: Vec<_> = (0..THREADS)
            .map(|t| {
                let (s, shared, want, start, done) =
                    (s.clone(), shared.clone(), want.clone(), start.clone(), done.clone());
                std::thread::spawn(move || {
                    start.wait();
                    s.runtime.scope(|| {
                        let mut state = t as u64 * 0x9E37 + 1;
                        let mut kept: Vec<(usize, Array)> = Vec::new();
                        while Instant::now() < end {
                            let at = random(&mut state, 32) as usize;
                            match random(&mut state, 4) {
                                0 => kept.push((at, shared[at].exp().eval().unwrap().clone())),
                                1 if !kept.is_empty() => {
                                    let (at, x) =
                                        kept.swap_remove(random(&mut state, kept.len() as u64) as usize);
                                    assert_eq!(x.sum(()).item::<f32>().unwrap().to_bits(), want[at]);
                                }
                                2 => {
                                    let got = shared[at].exp().sum(()).item::<f32>().unwrap();
                                    assert_eq!(got.to_bits(), want[at], "array {at}");
                                }
                                _ => assert_eq!(
                                    shared[at].index(0).index(5).item::<f32>().unwrap(),
                                    values(6, at)[5]
                                ),
                            }
                            if kept.len() > 6 {
                                kept.remove(0);
                            }
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(s.sim.peak() <= BUDGET, "{} bytes", s.sim.peak());
        assert!(events.load(Ordering::Relaxed) > 0);
        let reclaimed = s.machine.reclaimed();
        assert!(reclaimed.evictions + reclaimed.spills > 0, "{reclaimed:?}");
        drop(shared);
        nothing_left(&s, "sixteen threads");
        done.load(Ordering::Relaxed)
    });
    assert!(done > 16, "{done} operations");
}

#[test]
fn a_planted_leak_is_found_within_five_minutes_and_nothing_else_is() {
    for leaky in [false, true] {
        let clock = Clock::default();
        let s = setup(64 << 20, 0);
        let mut forgotten = Vec::new();
        let mut found = None;
        for second in 0..400u64 {
            s.runtime.scope(|| {
                // Work that comes and goes, and something that stays every seventh second.
                let x = (Array::full([1000 * (1 + second as usize % 5)], 1.5f32) * 2.0f32).exp();
                x.eval().unwrap();
                if leaky && second % 7 == 0 {
                    forgotten.push(x);
                }
            });
            clock.advance(1e9);
            s.machine.watch(SIM, Duration::from_secs(1_000_000) + Duration::from_nanos(clock.nanoseconds()));
            if found.is_none() && s.machine.leak(SIM).is_some() {
                found = Some(second);
            }
        }
        match leaky {
            true => {
                assert!(found.is_some_and(|second| (295..=330).contains(&second)), "{found:?}");
                let report = s.machine.leak(SIM).unwrap();
                let rate = forgotten.iter().map(|x| x.size() * 4).sum::<usize>() as f64 / 400.0;
                assert!((report.rate / rate - 1.0).abs() < 0.3, "{report:?}, {rate} bytes per second");
            }
            false => assert_eq!(found, None),
        }
    }
}

#[test]
fn pressure_never_changes_where_a_pinned_call_runs() {
    let side = 512;
    let product = |s: &Setup| {
        s.runtime.scope(|| {
            let x = Array::from_vec(values(side * side, 1), [side, side]);
            x.matmul(&x).to_vec::<f32>()
        })
    };
    let pinned = |budget: usize| setup_with(options(budget, 0), Placement::Auto, 1 << 30, true);
    let want = product(&pinned(64 << 20)).unwrap();
    // Too little memory, an allocation or a kernel that fails, the loss of the device: an error, never the host's product.
    let full = pinned(BUDGET);
    let error = product(&full).unwrap_err();
    assert!(matches!(error.kind(), Error::OutOfMemory { .. }), "{error}");
    nothing_left(&full, "a pinned product");
    for fault in [Fault::Kernel(0), Fault::Copy(0), Fault::Loss(0)] {
        let s = pinned(64 << 20);
        assert_eq!(product(&s).unwrap(), want);
        s.sim.inject(fault);
        let error = product(&s).unwrap_err();
        assert!(matches!(error.kind(), Error::Device { .. }), "{fault:?}: {error}");
        assert_eq!(s.runtime.stats().counts.fallbacks, 0, "{fault:?}");
        assert_eq!(s.sim.used(), 0, "{fault:?}");
        if fault == Fault::Loss(0) {
            assert!(product(&s).is_err(), "a lost device does not come back as the host");
        } else {
            assert_eq!(product(&s).unwrap(), want, "{fault:?}: afterwards");
        }
    }
    // One failed allocation is made up for on the device itself.
    let s = pinned(64 << 20);
    s.sim.inject(Fault::Allocation(1));
    assert_eq!(product(&s).unwrap(), want);
    assert_eq!(s.runtime.stats().counts.fallbacks, 0);
}

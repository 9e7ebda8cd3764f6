//! Assignment to arrays that are on an accelerator: elements in a row are written there.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crossover::{
    Array, Device, Runtime,
    hrr::{ItemMemory, Model, Space},
    s, with_device,
};
use crossover_cpu::CpuBackend;
use crossover_plan::Options;
use crossover_runtime::{
    Backend, Executor, Machine, Placement,
    sim::{SimDevice, SimOptions},
};

const GPU: Device = Device::Cuda(0);

fn simulated(options: SimOptions) -> (Runtime, SimDevice) {
    let cpu: Arc<dyn Backend> = Arc::new(CpuBackend::new());
    let sim = SimDevice::new(cpu.clone(), SimOptions { capacity: 1 << 30, ..options });
    let machine = Machine::new(cpu, vec![Arc::new(sim.clone())]).unwrap();
    (Runtime::from_executor(Executor::new(machine, Options::default(), Placement::Auto)), sim)
}

fn numbers() -> Array {
    Array::from_vec((0..60).map(|i| i as f32).collect(), [10, 6])
}

/// A target and a value for it, and whether the device writes it.
type Case = (&'static str, fn(&Array) -> Array, fn(&Array) -> Array, bool);

const CASES: [Case; 8] = [
    ("rows", |x| x.slice(s![2..5]), |x| x.slice(s![0..3]) * 2.0, true),
    ("a row that is repeated", |x| x.slice(s![7..10]), |x| x.index(0).copy(), true),
    ("one number", |x| x.slice(s![4, 1..5]), |_| Array::from_vec(vec![-1.0f32], [1]), true),
    (
        "leading axes of length 1",
        |x| x.slice(s![1..2]),
        |x| (x.slice(s![0..1]) + 1.0).reshape([1, 1, 6]),
        true,
    ),
    ("what overlaps", |x| x.slice(s![1..]), |x| x.slice(s![..-1]), true),
    ("another dtype", |x| x.index(3), |_| Array::from([9i64, 8, 7, 6, 5, 4]), true),
    ("nothing", |x| x.slice(s![4..4]), |x| x.slice(s![4..4]), false),
    ("a column", |x| x.slice(s![.., 2]), |_| Array::from_vec(vec![3.0f32; 10], [10]), false),
];

#[test]
fn elements_in_a_row_are_written_where_they_are() {
    for (name, target, value, there) in CASES {
        let wanted = numbers();
        target(&wanted).assign(value(&wanted)).unwrap();
        let wanted = wanted.to_vec::<f32>().unwrap();
        for held in [false, true] {
            let (runtime, sim) = simulated(SimOptions::default());
            runtime.scope(|| {
                let x = with_device(GPU, || (numbers() + 0.0).eval().unwrap().clone());
                assert_eq!(x.device(), GPU);
                let before = held.then(|| &x * 1.0);
                let copies = sim.peer_copies();
                target(&x).assign(value(&x)).unwrap();
                assert_eq!(sim.peer_copies() > copies, there, "{name}, held {held}");
                if there {
                    assert_eq!(x.device(), GPU, "{name}, held {held}");
                }
                assert_eq!(x.to_vec::<f32>().unwrap(), wanted, "{name}, held {held}");
                if let Some(before) = before {
                    assert_eq!(before.to_vec::<f32>().unwrap(), numbers().to_vec::<f32>().unwrap(), "{name}");
                }
            });
        }
    }
}

#[test]
fn many_small_assignments_are_made_on_the_host() {
    let (runtime, sim) = simulated(SimOptions::default());
    runtime.scope(|| {
        let x = with_device(GPU, || (numbers() + 0.0).eval().unwrap().clone());
        let flat = x.reshape([60]);
        for i in 0..60 {
            flat.slice(s![i..i + 1]).fill(i as f32 * 2.0).unwrap();
        }
        assert!(sim.peer_copies() < 10, "{} elements were written on the device", sim.peer_copies());
        let wanted: Vec<f32> = (0..60).map(|i| i as f32 * 2.0).collect();
        assert_eq!(x.to_vec::<f32>().unwrap(), wanted);
        // A kernel that uses it in between says that it belongs there.
        let y = with_device(GPU, || (numbers() + 0.0).eval().unwrap().clone());
        for i in 0..10 {
            y.slice(s![i..i + 1]).fill(-1.0).unwrap();
            with_device(GPU, || (&y * 2.0).eval().map(drop)).unwrap();
            assert_eq!(y.device(), GPU);
        }
    });
}

#[test]
fn a_device_that_cannot_copy_leaves_it_to_the_host() {
    let (runtime, _) = simulated(SimOptions { peer_rate: None, ..SimOptions::default() });
    runtime.scope(|| {
        let x = with_device(GPU, || (numbers() + 0.0).eval().unwrap().clone());
        x.slice(s![2..5]).fill(-1.0).unwrap();
        let wanted: Vec<f32> = (0..60).map(|i| if (12..30).contains(&i) { -1.0 } else { i as f32 }).collect();
        assert_eq!(x.to_vec::<f32>().unwrap(), wanted);
    });
}

#[test]
fn items_go_to_their_place_in_the_room_that_was_reserved() {
    let (runtime, sim) = simulated(SimOptions::default());
    runtime.scope(|| {
        let space = Space::new(Model::Hrr, 128).unwrap();
        let before = sim.used();
        let mut memory = ItemMemory::with_capacity(1000, space.clone());
        assert!(sim.used() >= before + 1000 * 128 * 4, "{} bytes are taken", sim.used() - before);
        for name in ["a", "b", "c"] {
            memory.add(name).unwrap();
            let copies = sim.peer_copies();
            let found = memory.query(&space.named(name).unwrap(), 0.9).unwrap();
            assert_eq!(found[0].as_ref().unwrap().name, name);
            assert_eq!(sim.peer_copies(), copies + 1, "one row is written on the device");
        }
        let used = sim.used();
        let on_the_host = with_device(Device::Cpu, || ItemMemory::with_capacity(1000, space.clone()));
        assert_eq!(
            (sim.used(), on_the_host.capacity()),
            (used, 1000),
            "none is taken where the CPU is asked for"
        );
        memory.remove("a").unwrap();
        assert_eq!(memory.query(&space.named("c").unwrap(), 0.9).unwrap()[0].as_ref().unwrap().name, "c");
        assert!(memory.query(&space.named("a").unwrap(), 0.9).unwrap()[0].is_none());
    });
}

//! Maps over many arrays on the simulated accelerator: groups follow each other, and results come to the host where that is wanted.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crossover::{Array, Device, Runtime, par_iter, with_device};
use crossover_cpu::CpuBackend;
use crossover_plan::Options;
use crossover_runtime::{
    Backend, Executor, Machine, Placement,
    sim::{Fault, SimDevice, SimOptions},
};

fn simulated() -> (Runtime, SimDevice) {
    let cpu: Arc<dyn Backend> = Arc::new(CpuBackend::new());
    let sim = SimDevice::new(cpu.clone(), SimOptions { capacity: 1 << 30, ..SimOptions::default() });
    let machine = Machine::new(cpu, vec![Arc::new(sim.clone())]).unwrap();
    (Runtime::from_executor(Executor::new(machine, Options::default(), Placement::Auto)), sim)
}

fn items() -> Vec<Array> {
    (0..50).map(|i| Array::from_vec((0..300).map(|k| (i * 300 + k) as f32).collect(), [300])).collect()
}

#[test]
fn large_groups_go_to_the_device_without_being_put_together_on_the_host() {
    let item = |i: usize| Array::from_vec((0..10_000).map(|k| (i * 31 + k) as f32).collect(), [100, 100]);
    let double = |x: Array| &x * 2.0 + x.t();
    let wanted: Vec<Vec<f32>> = (0..64).map(|i| double(item(i)).to_vec::<f32>().unwrap()).collect();
    for views in [false, true] {
        // The device's memory is not the host's here, so that what the host takes is seen.
        let inner: Arc<dyn Backend> = Arc::new(CpuBackend::new());
        let sim = SimDevice::new(inner, SimOptions { capacity: 1 << 30, ..SimOptions::default() });
        let machine = Machine::new(Arc::new(CpuBackend::new()), vec![Arc::new(sim)]).unwrap();
        let runtime = Runtime::from_executor(Executor::new(machine, Options::default(), Placement::Auto));
        runtime.scope(|| {
            // Rows of one array are parts of its memory; columns are not in a row and are put together first.
            let items: Vec<Array> =
                (0..64).map(|i| if views { item(i).t().copy().t() } else { item(i) }).collect();
            let all: Vec<&Array> = items.iter().collect();
            with_device(Device::Cpu, || crossover::eval_all(&all)).unwrap();
            let before = runtime.memory_stats()[0].1.live;
            let map = par_iter(items).gpu_map(double).max_batch_size(32);
            let (results, report) = with_device(Device::Cuda(0), || map.run());
            assert_eq!(report.groups, 2, "{report}");
            assert!(runtime.executor().counts().transfers >= 2, "the groups are counted");
            let taken = runtime.memory_stats()[0].1.peak.saturating_sub(before);
            assert_eq!(taken >= 32 * 40_000, views, "{taken} bytes of the host");
            for (result, wanted) in results.into_iter().zip(&wanted) {
                assert_eq!(result.unwrap().to_vec::<f32>().unwrap(), *wanted);
            }
        });
    }
}

#[test]
fn a_device_that_takes_nothing_leaves_groups_to_the_host() {
    let (runtime, sim) = simulated();
    runtime.scope(|| {
        let items: Vec<Array> = (0..4).map(|i| Array::from_vec(vec![i as f32; 1 << 18], [1 << 18])).collect();
        sim.inject_always(Fault::Copy(0));
        let map = par_iter(items).gpu_map(|x| x + 1.0);
        let results = with_device(Device::Cuda(0), || map.collect()).unwrap();
        sim.heal();
        for (i, result) in results.into_iter().enumerate() {
            assert_eq!(result.to_vec::<f32>().unwrap()[77], i as f32 + 1.0);
        }
    });
}

#[test]
fn results_stay_on_the_device_or_come_to_the_host() {
    for fetched in [false, true] {
        for most in [50, 7] {
            let (runtime, sim) = simulated();
            runtime.scope(|| {
                let map = par_iter(items()).gpu_map(|x| (&x - x.mean(())) * 2.0).max_batch_size(most);
                let map = if fetched { map.to_host() } else { map };
                let (results, report) = with_device(Device::Cuda(0), || map.run());
                assert_eq!(report.groups, if most == 50 { 1 } else { 8 }, "{report}");
                // What is on the device alone is gone with it.
                sim.lose();
                for (item, result) in items().into_iter().zip(results) {
                    let result = result.unwrap();
                    assert_eq!(result.device(), Device::Cuda(0));
                    let wanted = with_device(Device::Cpu, || ((&item - item.mean(())) * 2.0).to_vec::<f32>());
                    match result.to_vec::<f32>() {
                        Ok(found) => assert!(fetched && found == wanted.unwrap(), "fetched {fetched}"),
                        Err(error) => assert!(!fetched, "{error}"),
                    }
                }
            });
        }
    }
}

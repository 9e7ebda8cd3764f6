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

/// A host and a device whose memory is told apart.
fn apart(capacity: usize) -> (Runtime, SimDevice) {
    let sim = SimDevice::new(Arc::new(CpuBackend::new()), SimOptions { capacity, ..SimOptions::default() });
    let machine = Machine::new(Arc::new(CpuBackend::new()), vec![Arc::new(sim.clone())]).unwrap();
    (Runtime::from_executor(Executor::new(machine, Options::default(), Placement::Auto)), sim)
}

fn matrices(count: usize, side: usize) -> Vec<Array> {
    let one = |i: usize| (0..side * side).map(|k| ((i * 37 + k * 11) % 29) as f32 - 14.0).collect();
    (0..count).map(|i| Array::from_vec(one(i), [side, side])).collect()
}

#[test]
fn results_land_on_the_host_while_later_groups_are_computed() {
    let (runtime, sim) = apart(1 << 30);
    runtime.scope(|| {
        let items = matrices(12, 200);
        let wanted: Vec<Vec<f32>> = items.iter().map(|x| x.t().to_vec::<f32>().unwrap()).collect();
        let map = par_iter(items.clone()).gpu_map(|x| x.t() * 1.0).max_batch_size(3).to_host();
        let before = runtime.memory_stats()[0].1.live;
        let (results, report) = with_device(Device::Cuda(0), || map.run());
        assert_eq!((report.groups, report.single), (4, 0), "{report}");
        let taken = runtime.memory_stats()[0].1.live.saturating_sub(before);
        assert!(taken < 12 * 160_000, "{taken} bytes of the host's own memory for what has landed");
        sim.lose();
        for (result, wanted) in results.into_iter().zip(&wanted) {
            let result = result.unwrap();
            assert_eq!(result.to_vec::<f32>().unwrap(), *wanted);
            // Memory that belongs to a device is not written: whoever changes the array has a copy.
            with_device(Device::Cpu, || result.fill(7.0)).unwrap();
            assert_eq!(result.to_vec::<f32>().unwrap(), vec![7.0; 40_000]);
        }
    });
}

#[test]
fn a_copy_that_fails_on_its_way_leaves_its_group_to_the_host() {
    // Each of the copies up, and some of those down.
    for at in 0..10 {
        let (runtime, sim) = apart(1 << 30);
        runtime.scope(|| {
            sim.inject(Fault::Copy(at));
            let map = par_iter(matrices(8, 400)).gpu_map(|x| x + 1.0).max_batch_size(4).to_host();
            let results = with_device(Device::Cuda(0), || map.collect()).unwrap();
            for (item, result) in matrices(8, 400).iter().zip(results) {
                let wanted = with_device(Device::Cpu, || (item + 1.0).to_vec::<f32>()).unwrap();
                assert_eq!(result.to_vec::<f32>().unwrap(), wanted, "copy {at}");
            }
        });
        assert_eq!(sim.planned_faults(), 0, "copy {at} was made");
    }
}

#[test]
fn groups_stay_inside_a_small_device() {
    let (runtime, sim) = apart(8 << 20);
    runtime.scope(|| {
        let map = par_iter(matrices(60, 200)).gpu_map(|x| &x * 2.0 + 1.0).to_host();
        let (results, report) = with_device(Device::Cuda(0), || map.run());
        assert!(report.groups > 2, "{report}");
        for (item, result) in matrices(60, 200).iter().zip(results) {
            let wanted = with_device(Device::Cpu, || (item * 2.0 + 1.0).to_vec::<f32>()).unwrap();
            assert_eq!(result.unwrap().to_vec::<f32>().unwrap(), wanted);
        }
    });
    assert!(sim.peak() <= 8 << 20);
    drop(runtime);
    assert_eq!(sim.used(), 0, "nothing is left behind");
}

#[test]
fn matrices_that_lie_apart_on_a_device_are_multiplied_where_they_lie() {
    let (runtime, _) = apart(1 << 30);
    runtime.scope(|| {
        with_device(Device::Cuda(0), || {
            let resident: Vec<Array> =
                matrices(10, 16).iter().map(|x| x.to_device(Device::Cuda(0)).unwrap()).collect();
            let others: Vec<Array> = resident.iter().rev().cloned().collect();
            let batch = crossover::Batch::new(resident.clone()).max_batch_size(16);
            let first = batch.matmul(&others).unwrap();
            let launches = || runtime.executor().counts().launches;
            let before = launches();
            let again = batch.matmul(&others).unwrap();
            assert_eq!(launches() - before, 1, "one kernel, and nothing is put together");
            // Results are parts of one memory, and entries of the next batch where they lie.
            let before = launches();
            let chained = crossover::Batch::new(again.clone()).matmul(&resident).unwrap();
            assert_eq!(launches() - before, 1);
            // Nobody has to say so, where no other device has them.
            let before = launches();
            let same = crossover::Batch::new(again.clone());
            let chosen = with_device(Device::Auto, || same.matmul(&first)).unwrap();
            assert_eq!(launches() - before, 1);
            assert_eq!(chosen[7].device(), Device::Cuda(0));
            let square = again[7].matmul(&again[7]).to_vec::<f32>().unwrap();
            assert_eq!(chosen[7].to_vec::<f32>().unwrap(), square);
            for i in 0..10 {
                let one = resident[i].matmul(&others[i]);
                assert_eq!(first[i].to_vec::<f32>().unwrap(), one.to_vec::<f32>().unwrap());
                assert_eq!(again[i].to_vec::<f32>().unwrap(), one.to_vec::<f32>().unwrap());
                let two = one.matmul(&resident[i]);
                assert_eq!(chained[i].to_vec::<f32>().unwrap(), two.to_vec::<f32>().unwrap());
            }
            // One of them is a column view: such are put together as before.
            let mut turned = resident.clone();
            turned[3] = turned[3].t();
            let products = crossover::Batch::new(turned.clone()).matmul(&others).unwrap();
            let wanted = turned[3].matmul(&others[3]).to_vec::<f32>().unwrap();
            assert_eq!(products[3].to_vec::<f32>().unwrap(), wanted);
            // One of another shape fails alone.
            let mut odd = others.clone();
            odd[4] = Array::zeros::<f32>([5, 5]);
            let pairs: Vec<(Array, Array)> = resident.iter().cloned().zip(odd).collect();
            let (results, _) = par_iter(pairs).gpu_map(|(a, b)| a.matmul(&b)).run();
            assert_eq!(results.iter().filter(|result| result.is_err()).count(), 1);
            assert!(results[4].is_err());
        });
    });
}

#[test]
fn arrays_of_another_runtime_are_multiplied_too() {
    let (runtime, _) = apart(1 << 30);
    let other = Runtime::builder().threads(1).device(Device::Cpu).build().unwrap();
    let items = other.scope(|| matrices(4, 16));
    let wanted = other.scope(|| items[3].matmul(&items[3]).to_vec::<f32>()).unwrap();
    runtime.scope(|| {
        with_device(Device::Cuda(0), || {
            let batch = crossover::Batch::new(items.clone());
            for _ in 0..3 {
                let products = batch.matmul(&items).unwrap();
                assert_eq!(products[3].to_vec::<f32>().unwrap(), wanted);
            }
        });
    });
}

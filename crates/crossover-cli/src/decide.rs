//! How long placement takes to decide, on a simulated machine: `decide seen N` and `decide new N` of the bench worker.

use std::{sync::Arc, time::Instant};

use anyhow::Result;
use crossover::runtime::{
    Buffer, DeviceProfile, Executor, Machine, Placement, Profile, Router, Wanted,
    sim::{Clock, SimDevice, SimHost, SimOptions},
    workloads,
};
use crossover_plan::Options;

/// Seconds per decision about a plan of ten kernels that was seen before, or never.
pub fn seconds(seen: bool, count: usize) -> Result<f64> {
    let clock = Clock::default();
    let options = |profile: DeviceProfile| SimOptions {
        capacity: 1 << 40,
        profile,
        spread: 1.0,
        ..SimOptions::default()
    };
    let host = SimHost::hollow(options(DeviceProfile::assumed_host(8)), clock.clone());
    let gpu = SimDevice::hollow(options(DeviceProfile::assumed_gpu()), clock);
    let machine = Machine::new(Arc::new(host), vec![Arc::new(gpu)])?;
    let router = Router::new(machine.clone(), Profile::assumed(8, 1));
    let executor = Executor::with_router(machine.clone(), Options::default(), Placement::Auto, router);
    // The device is opened by the first plan that wants it.
    let mut plans = Vec::new();
    for at in 0..=count {
        let side = if seen { 600 } else { 600 + at };
        let prepared = executor.prepare(&workloads::ten_kernels(side)?)?;
        plans.push((prepared, [Buffer::from_fill(&machine, side * side * 4, |_| {})?]));
    }
    executor.decide(&plans[0].0, &plans[0].1, Wanted::OnHost);
    let start = Instant::now();
    for (prepared, inputs) in &plans[1..] {
        std::hint::black_box(executor.decide(prepared, inputs, Wanted::OnHost));
    }
    Ok(start.elapsed().as_secs_f64() / count as f64)
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_kinds_of_decisions_are_made() {
        assert!(super::seconds(true, 10).unwrap() > 0.0);
        assert!(super::seconds(false, 10).unwrap() > 0.0);
    }
}

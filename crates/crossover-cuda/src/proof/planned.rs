//! Kernels as the planner makes them, from random graphs.

use crossover_core::{
    Scalar,
    reference::{GraphOptions, random_graph},
};
use crossover_plan::{
    Options, Plan,
    kernel::{Fused, Kernel, StepOp},
};

use super::{
    generate::{Case, reach},
    random::{Random, fill},
};

/// Every fused kernel of the plan of a random graph, each with inputs of its own.
pub fn planned(seed: u64, elements: usize) -> Vec<Case> {
    let mut random = Random::new(seed);
    let options = GraphOptions { moves: 4 + random.below(12), elements, ..GraphOptions::default() };
    let graph = random_graph(seed, &options);
    let fusion = !random.chance(15);
    // A graph that cannot be planned has no kernels to check.
    let Ok(plan) = Plan::new(&graph, Options { fusion }) else { return Vec::new() };
    let fused = plan.launches.into_iter().filter_map(|launch| match launch.kernel {
        Kernel::Fused(kernel) => Some((launch.name, kernel)),
        Kernel::Call(_) => None,
    });
    fused
        .enumerate()
        .map(|(i, (name, kernel))| case(format!("{name} of graph {seed}/{i}"), kernel, &mut random))
        .collect()
}

fn case(name: String, kernel: Fused, random: &mut Random) -> Case {
    let tame = random.chance(60);
    let mut buffer = |bytes: usize, dtype| {
        let mut out = vec![0; bytes];
        fill(&mut out, dtype, random.bits(), tame);
        out
    };
    let mut scalars = Vec::new();
    for step in &kernel.steps {
        if let StepOp::Scalar(slot) = step.op {
            let slot = slot as usize;
            while scalars.len() <= slot {
                scalars.push(Scalar::zero(step.dtype));
            }
            scalars[slot] = Scalar::read_from(step.dtype, &buffer(step.dtype.size(), step.dtype));
        }
    }
    // One element more than the window reaches: keys are two words where the window names one.
    let inputs = (kernel.loads.iter())
        .map(|l| buffer((reach(&kernel.space, &l.window) + 1) * l.dtype.size(), l.dtype))
        .collect();
    let outputs = kernel.stores.iter().map(|s| reach(&kernel.space, &s.window) * s.dtype.size()).collect();
    Case { name, kernel, inputs, scalars, outputs }
}

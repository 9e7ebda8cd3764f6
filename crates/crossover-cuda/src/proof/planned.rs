//! Kernels as the planner makes them, from random graphs.

use crossover_core::{
    Graph, Scalar,
    reference::{GraphOptions, random_graph},
};
use crossover_plan::{
    Launch, Options, Plan,
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
    kernels(plan)
        .into_iter()
        .enumerate()
        .map(|(i, (name, kernel))| case(format!("{name} of graph {seed}/{i}"), kernel, &mut random))
        .collect()
}

/// The fused kernels of a plan, those that do the work of two included.
fn kernels(plan: Plan) -> Vec<(String, Fused)> {
    let folds = |launch: &Launch| launch.fold.as_ref().map(|fold| fold.launch.clone());
    let all: Vec<Launch> = plan.launches.iter().filter_map(folds).chain(plan.launches.clone()).collect();
    let fused = all.into_iter().filter_map(|launch| match launch.kernel {
        Kernel::Fused(kernel) => Some((launch.name, kernel)),
        Kernel::Call(_) => None,
    });
    fused.collect()
}

/// A kernel that looks entries of a table up and adds to them, as the planner makes it.
pub fn lookup(seed: u64) -> Option<Case> {
    let mut random = Random::new(seed ^ 0x100c);
    let dtypes = ["f32", "bf16", "f64", "f16", "i16", "c64", "u8", "i64"];
    let dtype = dtypes[random.below(dtypes.len())];
    let pick = |random: &mut Random, from: &[usize]| from[random.below(from.len())];
    let (length, rows, columns) = (
        pick(&mut random, &[1, 2, 7, 50, 300]),
        pick(&mut random, &[1, 2, 5, 16]),
        pick(&mut random, &[1, 3, 4, 8, 12, 64, 130]),
    );
    let repeats = pick(&mut random, &[1, 2, 3, 8]);
    let count = repeats * rows;
    let graph = format!(
        "graph {{\n%t = input {dtype}[{length}, {columns}]\n%i = input i64[{count}]\n%b = input {dtype}[{rows}, {columns}]\n\
         %r = take %t, %i axis 0\n%c = reshape %r to [{repeats}, {rows}, {columns}]\n\
         %e = expand %b to [{repeats}, {rows}, {columns}]\n%y = add %c, %e\nreturn %y\n}}"
    );
    let plan = Plan::new(&Graph::parse(&graph).ok()?, Options::default()).ok()?;
    let (name, kernel) = kernels(plan).into_iter().next()?;
    let is_lookup = kernel.steps.iter().any(|s| matches!(s.op, StepOp::Take { .. }));
    let name = format!("{name} {dtype} {length} x {columns} at {repeats} x {rows}");
    is_lookup.then(|| case(name, kernel, &mut random))
}

/// Elements that a load needs: what is looked up has all its entries.
fn elements(kernel: &Fused, load: usize) -> usize {
    let entries = kernel.steps.iter().find_map(|s| match s.op {
        StepOp::Take { from, stride, length, .. } if from as usize == load => Some(stride * (length - 1)),
        _ => None,
    });
    reach(&kernel.space, &kernel.loads[load].window) + entries.unwrap_or(0)
}

/// Indices of entries: a few below the first and a few past the last.
fn name_entries(kernel: &Fused, inputs: &mut [Vec<u8>]) {
    for step in &kernel.steps {
        let StepOp::Take { at, length, .. } = step.op else { continue };
        for bytes in inputs[at as usize].chunks_exact_mut(8) {
            let drawn = bytes.iter().fold(0u64, |all, &byte| all << 8 | u64::from(byte));
            let index = (drawn % (length as u64 + 4)) as i64 - 2;
            bytes.copy_from_slice(&index.to_le_bytes());
        }
    }
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
    let bytes = |load: usize| (elements(&kernel, load) + 1) * kernel.loads[load].dtype.size();
    let mut inputs: Vec<Vec<u8>> =
        (0..kernel.loads.len()).map(|load| buffer(bytes(load), kernel.loads[load].dtype)).collect();
    name_entries(&kernel, &mut inputs);
    let outputs = kernel.stores.iter().map(|s| reach(&kernel.space, &s.window) * s.dtype.size()).collect();
    Case { name, kernel, inputs, scalars, outputs }
}

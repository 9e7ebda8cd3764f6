//! Graphs of few kernels over many elements, whose results stay where they are or come to the host.

use std::{hint::black_box, sync::Arc, time::Instant};

use anyhow::Result;
use crossover::{
    Graph, Runtime,
    core::{DType, graph::Op},
    runtime::{Buffer, Executor, Placement, Wanted as For, workloads},
};

use super::costs::{Wanted, Work};

/// Hands over one workload after the other; `to host` where the host gets a copy of each result.
pub fn each(wanted: &Wanted, one: &mut dyn FnMut(Work) -> Result<()>) -> Result<()> {
    let runtime = Runtime::current();
    let is_host_only = runtime.executor().machine().is_host_only();
    let places: &[&str] = if is_host_only { &["resident"] } else { &["resident", "to host"] };
    for &place in places {
        for workload in workloads::ALL.iter().filter(|workload| workload.name.contains(wanted.only)) {
            let graph = workload.graph(wanted.elements)?;
            let inputs = operands(runtime.executor(), &graph)?;
            let (runtime, to_host) = (runtime.clone(), place == "to host");
            let mut to = vec![0u8; output_bytes(&graph)];
            let run = Box::new(move |count| {
                run(runtime.executor(), &graph, &inputs, to_host.then_some(&mut to[..]), count)
            });
            one(Work { name: workload.name.to_owned(), place: place.to_owned(), run })?;
        }
    }
    Ok(())
}

fn run(
    executor: &Executor,
    graph: &Graph,
    inputs: &[Arc<Buffer>],
    mut to: Option<&mut [u8]>,
    count: usize,
) -> Result<f64> {
    let machine = executor.machine();
    let placement = if machine.is_host_only() { Placement::Host } else { Placement::Auto };
    let start = Instant::now();
    for _ in 0..count {
        match &mut to {
            Some(to) => {
                let (outputs, written) = executor.evaluate_into(placement, graph, inputs, to)?;
                if !written {
                    outputs[0].read_into(to)?;
                }
            }
            None => drop(black_box(executor.evaluate_for(placement, For::Anywhere, graph, inputs)?)),
        }
    }
    for device in machine.devices().skip(1) {
        if machine.memory(device).is_some() {
            machine.backend(device).finish()?;
        }
    }
    Ok(start.elapsed().as_secs_f64() / count as f64)
}

fn output_bytes(graph: &Graph) -> usize {
    let node = &graph.nodes()[graph.outputs()[0].0 as usize];
    node.ty.shape.size() * node.ty.dtype.size()
}

/// Operands of a graph, on the host, of values that no workload trips over.
fn operands(executor: &Executor, graph: &Graph) -> Result<Vec<Arc<Buffer>>> {
    let types = graph.nodes().iter().filter_map(|node| match &node.op {
        Op::Input { ty, .. } => Some(ty.clone()),
        _ => None,
    });
    let one = |(seed, ty): (usize, crossover::core::graph::Type)| -> Result<Arc<Buffer>> {
        let count = ty.shape.size();
        let number = |i: usize| (i.wrapping_mul(2_654_435_761) ^ (seed * 97)) % 1009;
        let real = |i: usize| number(i) as f64 / 1009.0 + 0.5;
        let bytes: Vec<u8> = match ty.dtype {
            DType::F32 => (0..count).flat_map(|i| (real(i) as f32).to_le_bytes()).collect(),
            DType::F64 => (0..count).flat_map(|i| real(i).to_le_bytes()).collect(),
            DType::C64 => (0..2 * count).flat_map(|i| (real(i) as f32).to_le_bytes()).collect(),
            // Indices of rows: as many as there are.
            DType::I64 => (0..count).flat_map(|i| ((i * 7919 % count) as i64).to_le_bytes()).collect(),
            _ => (0..count * ty.dtype.size()).map(|i| number(i) as u8).collect(),
        };
        Ok(Buffer::from_bytes(executor.machine(), &bytes)?)
    };
    types.enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_can_be_measured() {
        let runtime = Runtime::builder().threads(1).device(crossover::Device::Cpu).build().unwrap();
        for workload in workloads::ALL {
            let graph = workload.graph(500).unwrap();
            let inputs = operands(runtime.executor(), &graph).unwrap();
            let outputs =
                runtime.executor().evaluate_for(Placement::Host, For::Anywhere, &graph, &inputs).unwrap();
            assert_eq!(outputs[0].bytes(), output_bytes(&graph), "{}", workload.name);
        }
    }
}

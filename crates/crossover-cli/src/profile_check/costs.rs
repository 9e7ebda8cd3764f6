//! What a span costs, and what a session costs typical work.

use std::{hint::black_box, sync::Arc, time::Instant};

use anyhow::{Context, Result};
use crossover::{
    Graph, Runtime,
    core::{DType, graph::Op},
    profile::{Session, scope},
    runtime::{Buffer, Executor, Placement, Wanted, workloads},
};
use serde::Serialize;

/// The JSON of `crossover profile-check costs`.
#[derive(Debug, Serialize)]
pub struct Costs {
    /// Devices of the machine.
    devices: Vec<String>,
    /// Nanoseconds of a scope while nobody records; the bar is 2.
    span_off_ns: f64,
    /// Nanoseconds of a scope while a session records; the bar is 60.
    span_on_ns: f64,
    /// Nanoseconds per span that the end of a session takes to make a trace of them.
    gather_ns: f64,
    /// Time with a session against time without, of all workloads together; the bar is 1.02. Null where none was run.
    suite: Option<f64>,
    /// The same where the host wants every result, if there is another device than the host.
    suite_to_host: Option<f64>,
    workloads: Vec<Cost>,
}

#[derive(Debug, Serialize)]
struct Cost {
    name: &'static str,
    elements: usize,
    /// `resident`: results stay where they are; `to host`: the host gets a copy of each.
    mode: &'static str,
    /// Microseconds of one evaluation, the median of all batches.
    off_us: f64,
    on_us: f64,
    /// The median over pairs of batches, one right after the other.
    ratio: f64,
    /// Half the distance between the quartiles of those.
    spread: f64,
}

/// Spans of one batch: few enough for the recorder to keep.
const SPANS: u32 = 100_000;
/// Batches of spans, of which the fastest counts: what others do only adds time.
const BATCHES: usize = 20;
/// Seconds of a batch of evaluations.
const BATCH: f64 = 0.02;

/// Measures; `only` are the workloads whose name contains it.
pub fn measure(elements: usize, rounds: usize, only: Option<&str>) -> Result<Costs> {
    let runtime = Runtime::current();
    let executor = runtime.executor();
    let machine = executor.machine();
    let mut costs = Costs {
        devices: machine.devices().map(|d| machine.backend(d).describe()).collect(),
        span_off_ns: best(|| spans(10 * SPANS)),
        span_on_ns: 0.0,
        gather_ns: 0.0,
        suite: None,
        suite_to_host: None,
        workloads: Vec::new(),
    };
    let mut gathered = Vec::new();
    costs.span_on_ns = best(|| {
        let session = Session::begin("spans");
        let took = spans(SPANS);
        let start = Instant::now();
        let trace = session.end();
        gathered.push(start.elapsed().as_nanos() as f64 / trace.spans.len().max(1) as f64);
        took
    });
    costs.gather_ns = gathered.into_iter().fold(f64::INFINITY, f64::min);
    let Some(only) = only else { return Ok(costs) };
    let modes: &[&'static str] =
        if machine.is_host_only() { &["resident"] } else { &["resident", "to host"] };
    for &mode in modes {
        let (mut off, mut on) = (0.0, 0.0);
        for workload in workloads::ALL.iter().filter(|workload| workload.name.contains(only)) {
            let graph = workload.graph(elements)?;
            let cost = one(executor, &graph, mode, rounds).with_context(|| workload.name)?;
            (off, on) = (off + cost.0, on + cost.0 * cost.2);
            costs.workloads.push(Cost {
                name: workload.name,
                elements,
                mode,
                off_us: cost.0 * 1e6,
                on_us: cost.1 * 1e6,
                ratio: cost.2,
                spread: cost.3,
            });
        }
        let suite = (off > 0.0).then_some(on / off);
        if mode == "resident" { costs.suite = suite } else { costs.suite_to_host = suite }
    }
    Ok(costs)
}

fn best(mut batch: impl FnMut() -> f64) -> f64 {
    (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

/// Nanoseconds per scope.
fn spans(count: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..count {
        let _span = scope(black_box("span"));
    }
    start.elapsed().as_nanos() as f64 / f64::from(count)
}

/// Seconds of one evaluation without and with a session, their ratio, and its spread.
fn one(executor: &Executor, graph: &Graph, mode: &str, rounds: usize) -> Result<(f64, f64, f64, f64)> {
    let inputs = operands(executor, graph)?;
    let placement = match executor.machine().is_host_only() {
        true => Placement::Host,
        false => Placement::Auto,
    };
    let mut to = vec![0u8; output_bytes(graph)];
    let mut run = |count: usize| -> Result<f64> {
        let start = Instant::now();
        for _ in 0..count {
            if mode == "to host" {
                let (outputs, written) = executor.evaluate_into(placement, graph, &inputs, &mut to)?;
                if !written {
                    outputs[0].read_into(&mut to)?;
                }
            } else {
                black_box(executor.evaluate_for(placement, Wanted::Anywhere, graph, &inputs)?);
            }
        }
        for device in executor.machine().devices().skip(1) {
            if executor.machine().memory(device).is_some() {
                executor.machine().backend(device).finish()?;
            }
        }
        Ok(start.elapsed().as_secs_f64() / count as f64)
    };
    // Compilers, trials and sequences are over before anything counts.
    let warm = Instant::now();
    let mut first = run(1)?;
    while warm.elapsed().as_secs_f64() < 0.3 {
        first = run(1)?;
    }
    let count = ((BATCH / first.max(1e-9)) as usize).clamp(1, 20_000);
    let (mut off, mut on, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let profiled = |run: &mut dyn FnMut(usize) -> Result<f64>| -> Result<f64> {
            let session = Session::begin("cost");
            let took = run(count);
            drop(session);
            took
        };
        // In turn, so that neither is always the second.
        let (a, b) = if round % 2 == 0 {
            let off = run(count)?;
            (off, profiled(&mut run)?)
        } else {
            let on = profiled(&mut run)?;
            (run(count)?, on)
        };
        off.push(a);
        on.push(b);
        ratios.push(b / a);
    }
    let spread = (quantile(&mut ratios, 0.75) - quantile(&mut ratios, 0.25)) / 2.0;
    Ok((quantile(&mut off, 0.5), quantile(&mut on, 0.5), quantile(&mut ratios, 0.5), spread))
}

fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
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
    fn quantiles_are_of_sorted_values() {
        let mut values = [5.0, 1.0, 3.0, 2.0, 4.0];
        assert_eq!(
            (quantile(&mut values, 0.0), quantile(&mut values, 0.5), quantile(&mut values, 1.0)),
            (1.0, 3.0, 5.0)
        );
    }

    #[test]
    fn every_workload_can_be_measured() {
        let runtime = Runtime::builder().threads(1).device(crossover::Device::Cpu).build().unwrap();
        for workload in workloads::ALL {
            let graph = workload.graph(500).unwrap();
            let inputs = operands(runtime.executor(), &graph).unwrap();
            let outputs =
                runtime.executor().evaluate_for(Placement::Host, Wanted::Anywhere, &graph, &inputs).unwrap();
            assert_eq!(outputs[0].bytes(), output_bytes(&graph), "{}", workload.name);
        }
    }
}

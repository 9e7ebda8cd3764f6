//! Placement never changes your bits: the corpus and random graphs on every SIMD level, with 1, 2 and 7 threads, fused and unfused,
//! and on a simulated device, against the reference interpreter.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crossover_core::{
    DType, Graph, Shape,
    graph::Op,
    ops::linalg::LinalgOp,
    reference::{self, GraphOptions, Tensor},
};
use crossover_cpu::{CpuBackend, Simd};
use crossover_plan::Options;
use crossover_runtime::{
    Backend, Buffer, Device, Executor, Machine, Placement, sim::SimDevice, sim::SimOptions,
};

/// Graphs per run; `CROSSOVER_GRAPHS` asks for more.
fn graphs() -> u64 {
    setting("CROSSOVER_GRAPHS").unwrap_or(2000)
}

/// The first seed; `CROSSOVER_SEED` repeats what a failure names.
fn first() -> u64 {
    setting("CROSSOVER_SEED").unwrap_or(0)
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

struct Config {
    name: String,
    executor: Executor,
}

fn cpu(threads: usize, simd: Simd) -> Arc<dyn Backend> {
    // A threshold of zero splits even tiny kernels over the threads; where there is machine code at all, two threads
    // do without it.
    let native = if threads == 2 { f64::INFINITY } else { 0.0 };
    let stream = if threads == 7 { 0 } else { usize::MAX };
    let builder = CpuBackend::builder().threads(threads).simd(simd).parallel_threshold(0.0);
    Arc::new(builder.native_threshold(native).stream_threshold(stream).build().unwrap())
}

fn configs() -> Vec<Config> {
    let mut all = Vec::new();
    let mut add = |name: String, machine: Arc<Machine>, fusion: bool, placement: Placement| {
        all.push(Config { name, executor: Executor::new(machine, Options { fusion }, placement) });
    };
    for simd in Simd::available() {
        for threads in [1, 2, 7] {
            let machine = Machine::new(cpu(threads, simd), Vec::new()).unwrap();
            add(format!("{simd:?}, {threads} threads, fused"), machine.clone(), true, Placement::Host);
            if threads == 2 {
                add(format!("{simd:?}, {threads} threads, unfused"), machine, false, Placement::Host);
            }
        }
    }
    let host = cpu(2, Simd::detect());
    let sim = Arc::new(SimDevice::new(host.clone(), SimOptions::default()));
    let machine = Machine::new(host, vec![sim]).unwrap();
    add("simulated device".to_string(), machine.clone(), true, Placement::On(Device(1)));
    add("devices in turn, unfused".to_string(), machine, false, Placement::RoundRobin);
    all
}

fn run(executor: &Executor, graph: &Graph, inputs: &[Tensor]) -> Vec<Vec<u8>> {
    let buffers: Vec<_> =
        inputs.iter().map(|t| Buffer::from_bytes(executor.machine(), &t.bytes).unwrap()).collect();
    let outputs = executor.evaluate(graph, &buffers).unwrap();
    outputs.iter().map(|b| b.host_bytes().unwrap().to_vec()).collect()
}

fn check(configs: &[Config], graph: &Graph, seed: u64) {
    graph.verify().unwrap();
    let inputs = reference::random_inputs(graph, seed);
    let expected: Vec<Vec<u8>> =
        reference::evaluate(graph, &inputs).unwrap().into_iter().map(|t| t.bytes).collect();
    // A matrix product is bounded, not pinned: with one in the graph, the first configuration stands for the reference.
    let exact = graph.nodes().iter().all(|n| n.op.is_exact());
    let (source, expected) = match exact {
        true => ("the reference", expected),
        false => (configs[0].name.as_str(), run(&configs[0].executor, graph, &inputs)),
    };
    for config in &configs[usize::from(!exact)..] {
        let got = run(&config.executor, graph, &inputs);
        for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
            let first = got.iter().zip(expected).position(|(a, b)| a != b);
            assert!(
                got == expected,
                "{}: output {i} differs from {source} at byte {first:?}, seed {seed}:\n{graph:#}",
                config.name
            );
        }
    }
}

#[test]
fn random_graphs_give_the_same_bits_everywhere() {
    let configs = configs();
    for seed in first()..first() + graphs() {
        check(&configs, &reference::random_graph(seed, &GraphOptions::default()), seed);
    }
}

#[test]
fn larger_graphs_give_the_same_bits_everywhere() {
    let configs = configs();
    let options = GraphOptions { moves: 40, elements: 20_000, ..GraphOptions::default() };
    for seed in first()..first() + graphs().div_ceil(20) {
        check(&configs, &reference::random_graph(seed ^ 0x5eed, &options), seed);
    }
}

#[test]
fn graphs_with_products_give_the_same_bits_everywhere() {
    let configs = configs();
    let options = GraphOptions { matmul: true, ..GraphOptions::default() };
    let mut inexact = 0;
    for seed in first()..first() + graphs().div_ceil(4) {
        let graph = reference::random_graph(seed ^ 0x3a7a, &options);
        inexact += u32::from(graph.nodes().iter().any(|n| !n.op.is_exact()));
        check(&configs, &graph, seed);
    }
    assert!(u64::from(inexact) >= graphs() / 50, "{inexact} graphs had a product of floats");
}

#[test]
fn the_corpus_gives_its_expected_bits_everywhere() {
    let configs = configs();
    let cases = reference::corpus::load(&reference::corpus::folder()).unwrap();
    assert!(cases.len() > 100, "the corpus was found");
    for case in cases {
        // The expected product, transform or decomposition is the centre of an error bound: there the first configuration
        // stands for it.
        let exact = case.graph.nodes().iter().all(|n| n.op.is_exact());
        let expected = match exact {
            true => case.outputs.iter().map(|t| t.bytes.clone()).collect(),
            false => run(&configs[0].executor, &case.graph, &case.inputs),
        };
        for config in &configs {
            let got = run(&config.executor, &case.graph, &case.inputs);
            assert!(got == expected, "{}: {} has other bits", config.name, case.name);
        }
    }
}

#[test]
fn products_do_not_depend_on_threads_or_devices() {
    let configs = configs();
    for (seed, [m, k, n]) in [
        [64, 64, 64],
        [256, 256, 256],
        [300, 200, 100],
        [129, 513, 257],
        [7, 1000, 3],
        [1, 400, 3000],
        [600, 512, 520],
    ]
    .iter()
    .enumerate()
    {
        for dtype in [DType::F32, DType::F64, DType::BF16, DType::C64, DType::I32] {
            let mut graph = Graph::new();
            let a = graph.input(dtype, Shape::from([*m, *k])).unwrap();
            let b = graph.input(dtype, Shape::from([*k, *n])).unwrap();
            let c = graph.push(Op::MatMul, &[a, b]).unwrap();
            graph.output(c);
            let inputs = reference::random_inputs(&graph, seed as u64);
            let expected = run(&configs[0].executor, &graph, &inputs);
            for config in &configs[1..] {
                let got = run(&config.executor, &graph, &inputs);
                assert!(got == expected, "{}: {dtype} product {m}×{k}×{n} has other bits", config.name);
            }
        }
    }
}

#[test]
fn decompositions_do_not_depend_on_threads_or_devices() {
    let configs = configs();
    // Below and above the size from which a matrix is cut, alone and several at once.
    for (seed, (batch, n)) in [(3, 40), (1, 230), (3, 210)].into_iter().enumerate() {
        for op in [LinalgOp::Eigh { upper: false }, LinalgOp::Svd { full: false }, LinalgOp::SvdVals] {
            let mut graph = Graph::new();
            let a = graph.input(DType::F64, Shape::from([batch, n, n])).unwrap();
            let b = graph.push(Op::Linalg(op), &[a]).unwrap();
            graph.output(b);
            // Whole numbers of moderate size: random bit patterns include infinities, which have no decomposition.
            let values: Vec<f64> =
                (0..batch * n * n).map(|i| ((i * (2 * i + 7 + seed)) % 1009) as f64 - 500.0).collect();
            let inputs = [Tensor::from_slice([batch, n, n], &values).unwrap()];
            let expected = run(&configs[0].executor, &graph, &inputs);
            for config in &configs[1..] {
                let got = run(&config.executor, &graph, &inputs);
                assert!(got == expected, "{}: {} of {n}×{n} has other bits", config.name, op.name());
            }
        }
    }
}

#[test]
fn a_result_that_is_an_operand_unchanged_is_read_before_its_place_is_reused() {
    // Ceilings and magnitudes of unsigned integers, and the larger of a value and itself, are no work at all.
    let text = "graph {
  %0 = input u8[9, 4]
  %1 = abs %0
  %2 = bitwise_right_shift %1, %1
  %3 = add %2, %0
  %4 = ceil %1
  %5 = maximum %2, %2
  %6 = argmax %5 axes [0, 1]
  return %3, %4, %6
}";
    check(&configs(), &Graph::parse(text).unwrap(), 1);
}

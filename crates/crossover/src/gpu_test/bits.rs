//! The same bits on the GPU as on the CPU: the corpus, and random graphs through the executor.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crossover_core::{
    Graph,
    reference::{self, GraphOptions, Tensor},
};
use crossover_runtime::{Buffer, Executor, Placement};

use crate::{
    Options, Result,
    report::Report,
    setup::{GPU, Setup},
};

/// The outputs of a graph, fetched to the host.
fn outputs(executor: &Executor, graph: &Graph, inputs: &[Tensor]) -> Result<Vec<Vec<u8>>> {
    let mut buffers = Vec::new();
    for tensor in inputs {
        buffers.push(Buffer::from_bytes(executor.machine(), &tensor.bytes)?);
    }
    let mut out = Vec::new();
    for buffer in executor.evaluate(graph, &buffers)? {
        out.push(buffer.host_bytes()?.to_vec());
    }
    Ok(out)
}

/// Every case of the corpus whose result is exact.
pub fn corpus(setup: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    let beside = std::env::current_exe()?.parent().map(|folder| folder.join("corpus"));
    let folder = options.corpus.clone().or(beside).unwrap_or_else(reference::corpus::folder);
    let cases = reference::corpus::load(&folder)?;
    let on_gpu = setup.executor(Placement::On(GPU), true);
    let next = AtomicU64::new(0);
    let (checked, wrong) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    if case.graph.nodes().iter().any(|n| !n.op.is_exact()) {
                        continue;
                    }
                    checked.fetch_add(1, Ordering::Relaxed);
                    let verdict = match outputs(&on_gpu, &case.graph, &case.inputs) {
                        Ok(got) if got.iter().zip(&case.outputs).all(|(got, want)| *got == want.bytes) => {
                            continue;
                        }
                        Ok(_) => "other bits".to_string(),
                        Err(error) => error.to_string(),
                    };
                    note(&wrong, format!("{}: {verdict}", case.name));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap_or_default();
    let counts = on_gpu.counts();
    let detail = format!(
        "{} cases, {} launches of which {} on the host; {}",
        checked.into_inner(),
        counts.launches,
        counts.fallbacks,
        words(&wrong)
    );
    report.check("corpus", wrong.is_empty() && counts.launches > counts.fallbacks, detail);
    Ok(())
}

/// Random graphs: most fused and all on the GPU, some unfused with every kernel on another device.
pub fn graphs(setup: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    let host = setup.executor(Placement::Host, true);
    let away = setup.executor(Placement::On(GPU), true);
    let turns = setup.executor(Placement::RoundRobin, false);
    let start = Instant::now();
    let limit = Duration::from_secs(options.seconds);
    let next = AtomicU64::new(options.seed);
    let last = options.seed + options.graphs;
    let (checked, elements) = (AtomicU64::new(0), AtomicU64::new(0));
    let wrong = Mutex::new(Vec::new());
    let examine = |seed: u64| -> Result<()> {
        let large = seed % 20 == 7;
        let shape = match large {
            true => GraphOptions { moves: 20, elements: 20_000, ..GraphOptions::default() },
            false => GraphOptions::default(),
        };
        let graph = reference::random_graph(seed, &GraphOptions { matmul: false, ..shape });
        if !graph.nodes().iter().all(|n| n.op.is_exact()) {
            return Ok(());
        }
        let inputs = reference::random_inputs(&graph, seed);
        let expected = outputs(&host, &graph, &inputs)?;
        let executor = if seed.is_multiple_of(4) { &turns } else { &away };
        let got = outputs(executor, &graph, &inputs)?;
        checked.fetch_add(1, Ordering::Relaxed);
        elements.fetch_add(expected.iter().map(|o| o.len() as u64).sum(), Ordering::Relaxed);
        if let Some(i) = (0..got.len()).find(|&i| got[i] != expected[i]) {
            let first = got[i].iter().zip(&expected[i]).position(|(a, b)| a != b);
            return Err(format!("output {i} differs at byte {first:?}:\n{graph:#}").into());
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last || start.elapsed() > limit {
                        break;
                    }
                    if let Err(error) = examine(seed) {
                        note(&wrong, format!("seed {seed}: {error}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap_or_default();
    let compiled = setup.cuda.compiler();
    let (counts, turned) = (away.counts(), turns.counts());
    let (launches, fallbacks) = (counts.launches + turned.launches, counts.fallbacks + turned.fallbacks);
    // As numbers too, for whoever adds up several processes.
    let numbers = [
        ("graphs", checked.load(Ordering::Relaxed) as f64),
        ("bytes", elements.load(Ordering::Relaxed) as f64),
        ("launches", launches as f64),
        ("on_host", fallbacks as f64),
        ("compiled", compiled.compiled as f64),
        ("compile_ms", compiled.milliseconds),
    ];
    report.figure("random graphs", &numbers);
    let detail = format!(
        "{} graphs from seed {} in {:.0} s, {} result bytes, {} launches of which {} on the host, {} sources compiled in \
         {:.0} ms each; {}",
        checked.load(Ordering::Relaxed),
        options.seed,
        start.elapsed().as_secs_f64(),
        elements.into_inner(),
        launches,
        fallbacks,
        compiled.compiled,
        compiled.milliseconds / compiled.compiled.max(1) as f64,
        words(&wrong)
    );
    report.check("random graphs", wrong.is_empty() && checked.into_inner() > 0, detail);
    Ok(())
}

fn note(wrong: &Mutex<Vec<String>>, what: String) {
    if let Ok(mut wrong) = wrong.lock() {
        wrong.push(what);
    }
}

fn words(wrong: &[String]) -> String {
    match wrong {
        [] => "no bit differs".to_string(),
        some => format!("{} WRONG, the first: {}", some.len(), some[..some.len().min(5)].join("\n")),
    }
}

pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

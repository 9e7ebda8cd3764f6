//! Every case of `corpus/` against the reference interpreter. `CROSSOVER_BLESS=1` rewrites expected values.

use std::collections::HashSet;

use crossover_core::{
    Graph,
    graph::{self, Op},
    ops::{MapOp, reduce::ReduceOp},
    reference::{corpus, evaluate},
};

#[test]
fn every_case_gives_the_expected_bits() {
    let folder = corpus::folder();
    let bless = std::env::var_os("CROSSOVER_BLESS").is_some_and(|v| v == "1");
    let mut wrong = Vec::new();
    for case in corpus::load(&folder).unwrap() {
        let outputs = evaluate(&case.graph, &case.inputs).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        if bless {
            let path = folder.join(format!("{}.case", case.name));
            std::fs::write(path, case.blessed(&outputs)).unwrap();
        } else if let Err(what) = case.compare(&outputs) {
            wrong.push(what);
        }
    }
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn blessing_changes_only_the_expected_values() {
    for case in corpus::load(&corpus::folder()).unwrap() {
        let text = std::fs::read_to_string(corpus::folder().join(format!("{}.case", case.name))).unwrap();
        assert_eq!(case.blessed(&case.outputs), text, "{}", case.name);
    }
}

#[test]
fn every_op_has_a_case() {
    let cases = corpus::load(&corpus::folder()).unwrap();
    let used: HashSet<String> =
        cases.iter().flat_map(|c| c.graph.nodes()).map(|n| n.op.name().to_string()).collect();
    let maps = MapOp::ALL.iter().map(|op| op.name());
    let reduces = ReduceOp::ALL.iter().map(|op| op.name());
    let others = [
        "input",
        "scalar",
        "index",
        "random",
        "cast",
        "where",
        "cumulative_sum",
        "cumulative_prod",
        "reshape",
        "permute",
        "expand",
        "flip",
        "slice",
        "strided",
        "concat",
        "take",
        "take_along_axis",
        "scatter_set",
        "scatter_add",
        "scatter_min",
        "scatter_max",
        "sort",
        "argsort",
        "searchsorted",
        "compress",
        "matmul",
        "fft",
        "ifft",
        "rfft",
        "irfft",
        "convolve",
        "det",
        "inv",
        "solve",
        "cholesky",
    ];
    let missing: Vec<_> = maps.chain(reduces).chain(others).filter(|name| !used.contains(*name)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

/// A reader is only fuzzed where some input reaches it.
#[test]
fn every_op_but_kernels_of_users_is_in_the_fuzzers_corpus() {
    let folder = corpus::folder().join("../fuzz/corpus/graph");
    let mut used = HashSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let graph = std::fs::read_to_string(&path).ok().and_then(|text| Graph::parse(&text).ok());
        let seed = path.extension().is_some_and(|extension| extension == "graph");
        assert!(graph.is_some() || !seed, "{} is no graph", path.display());
        used.extend(graph.iter().flat_map(|graph| graph.nodes()).map(|node| node.op.name().to_string()));
    }
    let elementwise = |name: &&str| MapOp::from_name(name).is_none() && *name != "custom";
    let missing: Vec<_> = graph::names().filter(elementwise).filter(|name| !used.contains(*name)).collect();
    assert!(missing.is_empty(), "no input for {missing:?}");
}

#[test]
fn every_elementwise_op_has_a_case_with_every_dtype_it_supports() {
    let cases = corpus::load(&corpus::folder()).unwrap();
    let mut used = HashSet::new();
    for case in &cases {
        for node in case.graph.nodes() {
            if let Op::Map(op) = node.op {
                used.insert((op, case.graph.node(node.args[0]).ty.dtype));
            }
        }
    }
    let all = MapOp::ALL.iter().flat_map(|&op| op.info().dtypes.iter().map(move |dtype| (op, dtype)));
    let missing: Vec<_> =
        all.filter(|pair| !used.contains(pair)).map(|(op, d)| format!("{op} {d}")).collect();
    assert!(missing.is_empty(), "no case for {}", missing.join(", "));
}

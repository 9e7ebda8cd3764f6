//! The text of everyday kernels, as snapshots.

use crossover_codegen::{Argument, Source, fused, samples};
use crossover_core::{DType, Graph, ops::MapOp};
use crossover_plan::{Options, Plan, kernel::Kernel};

/// The text without what has its own file: prelude sections and op bodies are cut down to their first line.
fn outline(text: &str) -> String {
    let mut out = String::new();
    let mut hidden = false;
    for line in text.lines() {
        let opens = !line.starts_with([' ', '}']) && line.contains("__device__") && line.ends_with('{');
        if opens {
            out.push_str(&format!("{} … }}\n", line));
            hidden = true;
        } else if hidden {
            hidden = line != "}";
        } else {
            out.push_str(&format!("{line}\n"));
        }
    }
    out
}

fn describe(source: &Source) -> String {
    let mut out = outline(&source.text);
    out.push_str(&format!("\n// scratch: {} bytes, wide: {}\n", source.scratch, source.wide));
    for launch in &source.launches {
        let arguments: Vec<String> = launch.arguments.iter().map(|a| format!("{a:?}")).collect();
        out.push_str(&format!(
            "// {}<<<{}, {}>>>({})\n",
            launch.entry,
            launch.blocks,
            launch.threads,
            arguments.join(", ")
        ));
    }
    out
}

#[test]
fn texts_are_as_reviewed() {
    for (name, kernel) in samples::golden() {
        insta::assert_snapshot!(name, describe(&fused(&kernel)));
    }
}

#[test]
fn sizes_are_arguments_and_not_text() {
    let texts = |a: crossover_plan::kernel::Fused, b| assert_eq!(fused(&a).text, fused(&b).text);
    texts(samples::gelu(1 << 20, DType::F32), samples::gelu(37, DType::F32));
    texts(samples::softmax(10, 1000, DType::F32), samples::softmax(4096, 900, DType::F32));
    // Rows of whole groups are a class of their own: nobody has to ask where they end.
    texts(samples::softmax(10, 1024, DType::F32), samples::softmax(4096, 1024, DType::F32));
    texts(samples::softmax(10, 4096, DType::F32), samples::softmax(3, 2048, DType::F32));
    texts(samples::full_sum(50_000), samples::full_sum(10_000_000));
    texts(samples::standardise(129, 3), samples::standardise(10_000, 1000));
}

#[test]
fn huge_spaces_count_in_64_bits() {
    assert!(!fused(&samples::gelu(1 << 30, DType::F32)).wide);
    let wide = fused(&samples::gelu(1 << 31, DType::F32));
    assert!(wide.wide && wide.text.contains("typedef long long index_t"));
}

#[test]
fn every_parameter_has_an_argument() {
    for (name, kernel) in samples::golden() {
        let source = fused(&kernel);
        for launch in &source.launches {
            let head = source.text.split(&format!("{}(", launch.entry)).nth(1).unwrap();
            let parameters = head.split(')').next().unwrap().split(',').count();
            assert_eq!(parameters, launch.arguments.len(), "{name} {}", launch.entry);
            assert!(
                launch.arguments.iter().all(|a| !matches!(a, Argument::Scratch(at) if *at >= source.scratch))
            );
        }
    }
}

#[test]
fn random_words_are_shared_by_fours_only_where_threads_take_fours() {
    let text = |dtype: &str| {
        let graph = format!(
            "graph {{\n  %0 = input u32[2]\n  %1 = random %0 to [64] stream 2\n  %2 = cast %1 to {dtype}\n  return %2\n}}"
        );
        let graph = Graph::parse(&graph).expect("the graph is well formed");
        let plan = Plan::new(&graph, Options::default()).expect("the graph can be planned");
        match &plan.launches[0].kernel {
            Kernel::Fused(kernel) => fused(kernel).text,
            Kernel::Call(call) => panic!("a call: {call:?}"),
        }
    };
    assert!(text("f32").contains("k % 4)"));
    // Two f64 are 16 bytes: a pair may start in the middle of a block of four words.
    assert!(!text("f64").contains("k % 4)"));
}

#[test]
fn differences_of_shorts_are_formed_in_32_bits() {
    let text = |dtype| fused(&samples::unary(MapOp::Negative, 100, dtype)).text;
    assert!(text(DType::I16).contains("= xo_trim_i16((unsigned)v1 - (unsigned)v0);"));
    assert!(!text(DType::I32).contains("xo_trim_i16"));
}

//! The text of everyday kernels, as snapshots.

use crossover_codegen::{Argument, Limits, Source, fused, fused_within, samples};
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

/// Rows of a table, looked up eight times `rows` times, with the same addend each of the eight times.
fn lookup(rows: usize) -> crossover_plan::kernel::Fused {
    let graph = format!(
        "graph {{\n  %t = input f32[50000, 512]\n  %i = input i64[{}]\n  %b = input f32[{rows}, 512]\n  \
         %r = take %t, %i axis 0\n  %c = reshape %r to [8, {rows}, 512]\n  %e = expand %b to [8, {rows}, 512]\n  \
         %y = add %c, %e\n  return %y\n}}",
        8 * rows
    );
    let graph = Graph::parse(&graph).expect("the graph is well formed");
    let plan = Plan::new(&graph, Options::default()).expect("the graph can be planned");
    let fold = plan.launches[0].fold.as_ref().expect("the sum is folded into the lookup");
    let Kernel::Fused(kernel) = &fold.launch.kernel else { panic!("a call: {:?}", fold.launch.kernel) };
    kernel.clone()
}

#[test]
fn the_text_of_a_lookup_is_as_reviewed() {
    insta::assert_snapshot!("map_lookup_f32", describe(&fused(&lookup(512))));
}

#[test]
fn lookups_of_large_results_read_what_they_share_once() {
    insta::assert_snapshot!("map_lookup_apart_f32", describe(&fused(&lookup(2048))));
}

#[test]
fn sizes_are_arguments_and_not_text() {
    let texts = |a: crossover_plan::kernel::Fused, b| assert_eq!(fused(&a).text, fused(&b).text);
    // Whole groups of neighbours, and others.
    texts(samples::gelu(1 << 20, DType::F32), samples::gelu(36, DType::F32));
    texts(samples::gelu((1 << 20) + 1, DType::F32), samples::gelu(37, DType::F32));
    texts(samples::softmax(10, 1000, DType::F32), samples::softmax(4096, 900, DType::F32));
    // Rows of whole groups are a class of their own: nobody has to ask where they end.
    texts(samples::softmax(10, 1024, DType::F32), samples::softmax(4096, 1024, DType::F32));
    texts(samples::softmax(10, 4096, DType::F32), samples::softmax(3, 2048, DType::F32));
    texts(samples::full_sum(50_000), samples::full_sum(10_000_000));
    texts(samples::standardise(129, 3), samples::standardise(10_000, 1001));
    texts(samples::standardise(129, 8), samples::standardise(10_000, 1000));
}

#[test]
fn bytes_are_combined_by_words_where_only_their_bits_count() {
    let kernel = |dtype: &str, op: &str, count: usize| {
        let graph = format!(
            "graph {{\n  %0 = input {dtype}[{count}]\n  %1 = input {dtype}[{count}]\n  %2 = {op} %0, %1\n  return %2\n}}"
        );
        let graph = Graph::parse(&graph).expect("the graph is well formed");
        let plan = Plan::new(&graph, Options::default()).expect("the graph can be planned");
        match &plan.launches[0].kernel {
            Kernel::Fused(kernel) => fused(kernel).text,
            Kernel::Call(call) => panic!("a call: {call:?}"),
        }
    };
    assert!(kernel("u8", "bitwise_xor", 64).contains("xo_bitwise_xor_u32"));
    assert!(kernel("i16", "bitwise_and", 64).contains("xo_bitwise_and_u32"));
    // A carry would cross from byte to byte, and three bytes are no word.
    assert!(kernel("u8", "add", 64).contains("xo_add_u8"));
    assert!(kernel("u8", "bitwise_xor", 63).contains("xo_bitwise_xor_u8"));
}

#[test]
fn large_functions_of_16_bits_are_looked_up_where_the_table_fits() {
    let kernel = samples::gelu(1 << 24, DType::BF16);
    let roomy = Limits { shared: 227 << 10, ..Limits::default() };
    let looked_up = fused_within(&kernel, roomy);
    assert_eq!(looked_up.launches.len(), 2);
    assert_eq!((looked_up.launches[1].shared, looked_up.scratch), (1 << 17, 1 << 17));
    assert_eq!(fused_within(&samples::gelu(1 << 20, DType::BF16), roomy).launches.len(), 1);
    assert_eq!(fused_within(&samples::gelu(1 << 24, DType::F32), roomy).launches.len(), 1);
    assert_eq!(fused(&kernel).launches.len(), 1);
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

//! What holds for any shape, any chain of views, any graph and any damage to its text.
//! `PROPTEST_CASES=20000` looks harder.

use std::collections::HashSet;

use crossover_core::{
    DType, Graph, Layout, Scalar, Shape, Span,
    graph::Op,
    ops::{MapOp, reduce::ReduceOp},
    reference::{GraphOptions, Tensor, evaluate, random_graph, random_inputs},
};
use proptest::{collection::vec, prelude::*};

/// A view of an operand of some shape, chosen by arbitrary numbers.
fn view(shape: &Shape, kind: u8, dice: &[u16]) -> Op {
    let roll = |i: usize, below: usize| dice[i % dice.len()] as usize % below.max(1);
    let rank = shape.rank();
    match kind % 6 {
        0 => {
            let mut axes: Vec<usize> = (0..rank).collect();
            for i in (1..rank).rev() {
                axes.swap(i, roll(i, i + 1));
            }
            Op::Permute(axes.into())
        }
        1 => Op::Flip((0..rank).filter(|&i| roll(i, 2) == 1).collect()),
        2 => Op::Slice(
            (0..rank)
                .map(|i| span(shape[i], roll(i, 50), roll(i + 3, 7) as isize - 3, roll(i + 5, 9)))
                .collect(),
        ),
        3 => Op::Expand(
            (roll(0, 2) == 1)
                .then_some(roll(1, 3))
                .into_iter()
                .chain(shape.iter().enumerate().map(|(i, &n)| if n == 1 { 1 + roll(i, 3) } else { n }))
                .collect(),
        ),
        4 => {
            // Move one factor from an axis to its neighbour, or add and remove axes of length 1.
            let mut dims = shape.dims().to_vec();
            if rank >= 2 {
                let at = roll(0, rank - 1);
                let factor =
                    [2, 3, 5].into_iter().find(|f| dims[at] > 0 && dims[at].is_multiple_of(*f)).unwrap_or(1);
                dims[at] /= factor;
                dims[at + 1] *= factor;
            }
            if roll(1, 3) == 0 {
                dims.insert(roll(2, rank + 1), 1);
            }
            if roll(3, 4) == 0 {
                dims = vec![shape.size()];
            }
            Op::Reshape(Shape::from(dims))
        }
        _ => {
            let size = shape.size();
            let n = if size == 0 { 0 } else { 1 + roll(0, size.min(9)) };
            let offset = roll(1, size + 1 - n.min(size));
            Op::Strided(Layout { shape: Shape::from([n]), strides: vec![1].into(), offset })
        }
    }
}

fn span(n: usize, start: usize, step: isize, length: usize) -> Span {
    if n == 0 {
        return Span { start, step, length: 0 };
    }
    let start = start % n;
    let reach = match step {
        0 => 4,
        1.. => (n - 1 - start) / step as usize + 1,
        _ => start / step.unsigned_abs() + 1,
    };
    Span { start, step, length: length.min(reach) }
}

proptest! {
    /// Strides and indices are two ways to say the same thing: the layout of a chain of views visits exactly the
    /// elements that the interpreter, which knows only indices, finds.
    #[test]
    fn layouts_visit_the_elements_that_the_index_model_names(
        dims in vec(0usize..7, 0..4),
        views in vec((any::<u8>(), vec(any::<u16>(), 8)), 1..7),
    ) {
        let shape = Shape::from(dims);
        let size = shape.size();
        let mut graph = Graph::new();
        let mut last = graph.input(DType::I64, shape.clone()).unwrap();
        let mut layout = Some(Layout::contiguous(shape.clone()));
        for (kind, dice) in &views {
            let from = graph.node(last).ty.shape.clone();
            let op = view(&from, *kind, dice);
            let next = op.infer(&[&graph.node(last).ty]).unwrap();
            if next.shape.size() > 5000 {
                continue;
            }
            layout = layout.and_then(|l| op.view(&l));
            last = graph.push(op, &[last]).unwrap();
        }
        graph.output(last);
        let iota: Vec<i64> = (0..size as i64).collect();
        let values = evaluate(&graph, &[Tensor::from_slice(shape, &iota).unwrap()]).unwrap();
        prop_assert_eq!(&values[0].shape, &graph.node(last).ty.shape);
        if let Some(layout) = layout {
            let positions: Vec<i64> = layout.positions().map(|p| p as i64).collect();
            prop_assert_eq!(&layout.shape, &values[0].shape);
            prop_assert_eq!(&positions, &values[0].to_vec::<i64>().unwrap());
            let (low, high) = layout.extent();
            prop_assert!(low <= high && high <= size, "{low}..{high} of {size}");
            prop_assert!(positions.iter().all(|&p| (low as i64..high as i64).contains(&p)));
            if layout.is_contiguous() {
                prop_assert!(positions.windows(2).all(|w| w[1] == w[0] + 1));
            }
        }
    }

    /// `reshape` refuses only what strides cannot say.
    #[test]
    fn reshape_of_contiguous_layouts_never_fails(dims in vec(1usize..6, 0..5), dice in vec(any::<u16>(), 8)) {
        let shape = Shape::from(dims);
        if let Op::Reshape(to) = view(&shape, 4, &dice) {
            let layout = Layout::contiguous(shape).reshape(&to);
            prop_assert_eq!(layout.map(|l| l.positions().collect::<Vec<_>>()), Some((0..to.size()).collect()));
        }
    }

    #[test]
    fn text_of_random_graphs_reads_back(seed in any::<u64>(), moves in 1usize..40) {
        let options = GraphOptions { moves, matmul: true, ..GraphOptions::default() };
        let graph = random_graph(seed, &options);
        for text in [graph.to_string(), format!("{graph:#}")] {
            let back = Graph::parse(&text).unwrap();
            prop_assert_eq!(&back, &graph);
            prop_assert_eq!(back.scalars(), graph.scalars());
        }
    }

    #[test]
    fn text_of_any_scalar_reads_back(which in 0usize..15, bits in any::<[u64; 2]>()) {
        let dtype = DType::ALL[which];
        let value = Scalar::from_bits(dtype, if dtype == DType::Bool { [bits[0] & 1, 0] } else { bits });
        let mut graph = Graph::new();
        let id = graph.scalar(value);
        graph.output(id);
        let back = Graph::parse(&graph.to_string()).unwrap();
        prop_assert_eq!(back.scalars(), &[value]);
    }

    /// Damaged text is an error or a valid graph, never a panic; a valid graph has a stable text form.
    #[test]
    fn damaged_text_never_panics(
        seed in any::<u64>(),
        damage in vec((any::<u8>(), any::<u32>(), any::<u32>()), 1..6),
    ) {
        let mut text = random_graph(seed, &GraphOptions::default()).to_string().into_bytes();
        for (kind, at, what) in damage {
            mutate(&mut text, kind, at as usize, what as usize);
        }
        if let Ok(graph) = Graph::parse(&String::from_utf8_lossy(&text)) {
            prop_assert!(graph.verify().is_ok());
            let text = graph.to_string();
            prop_assert_eq!(Graph::parse(&text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "(graph \\{\n)?([%a-z0-9=:,\\[\\]{} \n.-]{0,60}\n){0,6}\\}?") {
        let _ = Graph::parse(&text);
    }

    #[test]
    fn random_graphs_evaluate_to_their_types(seed in any::<u64>()) {
        let options = GraphOptions { elements: 600, matmul: true, ..GraphOptions::default() };
        let graph = random_graph(seed, &options);
        graph.verify().unwrap();
        let outputs = evaluate(&graph, &random_inputs(&graph, seed)).unwrap();
        for (output, id) in outputs.iter().zip(graph.outputs()) {
            prop_assert_eq!(&output.ty(), &graph.node(*id).ty);
            prop_assert!(output.len() <= 600);
        }
    }

    /// Adding integers and comparing anything does not depend on order.
    #[test]
    fn integer_sums_and_extremes_ignore_order(values in vec(any::<i16>(), 1..3000)) {
        let n = values.len();
        let text = format!("graph {{\n %x = input i16[{n}]\n %s = sum %x axes [0]\n %lo = min %x axes [0]\n %hi = max %x axes [0]\n %r = reshape %x to [{n}, 1]\n %c = sum %r axes [0]\n return %s, %lo, %hi, %c\n}}");
        let x = Tensor::from_slice([n], &values).unwrap();
        let got = evaluate(&Graph::parse(&text).unwrap(), &[x]).unwrap();
        let sum = values.iter().fold(0i16, |a, &b| a.wrapping_add(b));
        let one = |i: usize| got[i].at(0).get::<i16>();
        prop_assert_eq!(one(0), Some(sum));
        prop_assert_eq!(one(1), values.iter().copied().min());
        prop_assert_eq!(one(2), values.iter().copied().max());
        prop_assert_eq!(one(3), Some(sum));
    }
}

fn mutate(text: &mut Vec<u8>, kind: u8, at: usize, what: usize) {
    const TOKENS: [&str; 20] = [
        "%0",
        "%99",
        "[",
        "]",
        "{",
        "}",
        "=",
        ",",
        ":",
        "-1",
        "0",
        "18446744073709551615",
        "99999999999999999999999",
        "nan:0x",
        "f32[0]",
        "axes",
        "keepdims",
        "return",
        "#",
        "\n",
    ];
    let at = at % (text.len() + 1);
    match kind % 6 {
        0 => text.truncate(at),
        1 if at < text.len() => text[at] = what as u8,
        2 if at < text.len() => drop(text.remove(at)),
        3 => drop(text.splice(at..at, TOKENS[what % TOKENS.len()].bytes())),
        4 => {
            let end = (at + what % 30).min(text.len());
            let piece: Vec<u8> = text[at..end].to_vec();
            text.splice(at..at, piece);
        }
        _ => {
            // A number grown or shrunk: the damage that still reads as text.
            if let Some(digit) = text[at..].iter().position(u8::is_ascii_digit) {
                text[at + digit] = b'0' + (what % 10) as u8;
            }
        }
    }
}

#[test]
fn random_graphs_reach_every_op_and_every_dtype() {
    let options = GraphOptions { matmul: true, ..GraphOptions::default() };
    let (mut maps, mut names, mut views) = (HashSet::new(), HashSet::new(), 0);
    for seed in 0..4000 {
        let graph = random_graph(seed, &options);
        for node in graph.nodes() {
            names.insert(node.op.name());
            views += node.op.is_view() as usize;
            if let Op::Map(op) = node.op {
                maps.insert((op, graph.node(node.args[0]).ty.dtype));
            }
        }
    }
    assert!(views > 4000, "{views}");
    let all = MapOp::ALL.iter().flat_map(|&op| op.info().dtypes.iter().map(move |d| (op, d)));
    let missing: Vec<_> = all.filter(|pair| !maps.contains(pair)).collect();
    assert!(missing.is_empty(), "{missing:?}");
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
    ];
    let missing: Vec<_> =
        others.into_iter().chain(ReduceOp::ALL.map(|op| op.name())).filter(|n| !names.contains(n)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn random_graphs_are_the_same_for_the_same_seed_and_keep_their_options() {
    let options = GraphOptions {
        moves: 20,
        elements: 300,
        dtypes: vec![DType::F32],
        views: false,
        reductions: false,
        calls: false,
        matmul: false,
    };
    for seed in 0..200 {
        let graph = random_graph(seed, &options);
        assert_eq!(graph.to_string(), random_graph(seed, &options).to_string());
        for node in graph.nodes() {
            assert!(node.ty.shape.size() <= 300);
            assert!(!matches!(node.op, Op::Reduce { .. } | Op::Concat { .. }) && !node.op.is_call());
            assert!(!node.op.is_view() || matches!(node.op, Op::Expand(_)));
        }
        let inputs = random_inputs(&graph, seed);
        assert_eq!(inputs, random_inputs(&graph, seed));
    }
}

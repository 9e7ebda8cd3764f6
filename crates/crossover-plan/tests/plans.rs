//! Plans of typical array code, as people read them.
#![allow(clippy::unwrap_used)]

use crossover_core::{
    DType, Element, Graph, NodeId, Shape, compose, graph::Op, ops::MapOp, ops::reduce::ReduceOp,
};
use crossover_plan::{Options, Plan};

fn plan(build: impl FnOnce(&mut Graph) -> crossover_core::Result<NodeId>) -> Plan {
    let mut graph = Graph::new();
    let out = build(&mut graph).unwrap();
    graph.output(out);
    graph.verify().unwrap();
    Plan::new(&graph, Options::default()).unwrap()
}

fn matrix(g: &mut Graph, rows: usize, columns: usize) -> NodeId {
    g.input(DType::F32, Shape::from([rows, columns])).unwrap()
}

#[test]
fn an_expression_is_one_map() {
    let plan = plan(|g| {
        let a = g.input(DType::F64, Shape::from([10_000_000]))?;
        let b = g.input(DType::F64, Shape::from([10_000_000]))?;
        let product = compose::binary(g, MapOp::Multiply, &a, &b)?;
        let root = compose::unary(g, MapOp::Sqrt, &a)?;
        let sum = compose::binary(g, MapOp::Add, &product, &root)?;
        let two = compose::number(g, 2.into(), DType::F64)?;
        let half = compose::binary(g, MapOp::Divide, &b, &two)?;
        compose::binary(g, MapOp::Subtract, &sum, &half)
    });
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn softmax_is_one_row_kernel() {
    let plan = plan(|g| {
        let x = matrix(g, 4096, 1024);
        compose::softmax(g, &x, -1)
    });
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn layer_norm_with_scale_and_shift_is_one_row_kernel() {
    let plan = plan(|g| {
        let x = matrix(g, 1024, 768);
        let scale = g.input(DType::F32, Shape::from([768]))?;
        let shift = g.input(DType::F32, Shape::from([768]))?;
        compose::layer_norm(g, &x, Some(&scale), Some(&shift), 1e-5)
    });
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn half_precision_rounds_once_at_the_end_of_a_norm() {
    let plan = plan(|g| {
        let x = g.input(DType::BF16, Shape::from([16, 4096]))?;
        compose::layer_norm(g, &x, None, None, 1e-5)
    });
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn weights_in_16_bits_are_cast_by_the_kernel_that_repeats_them() {
    let norm = |also: bool| {
        plan(|g| {
            let x = g.input(DType::BF16, Shape::from([16, 4096]))?;
            let scale = g.input(DType::BF16, Shape::from([4096]))?;
            let wide = g.push(Op::Cast(DType::F32), &[scale])?;
            if also {
                g.output(wide);
            }
            compose::layer_norm(g, &x, Some(&wide), None, 1e-5)
        })
    };
    assert_eq!(norm(false).launches.len(), 1);
    // What somebody else reads is computed for them all the same.
    assert_eq!(norm(true).launches.len(), 2);
}

#[test]
fn standardised_columns_are_one_column_kernel() {
    let plan = plan(|g| {
        let x = matrix(g, 10000, 1000);
        compose::standardise(g, &x, 0)
    });
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn a_mean_written_twice_is_computed_once() {
    let plan = plan(|g| {
        let x = matrix(g, 64, 32);
        let mean = compose::mean(g, &x, &[1], true)?;
        let again = compose::mean(g, &x, &[1], true)?;
        let centred = compose::binary(g, MapOp::Subtract, &x, &mean)?;
        compose::binary(g, MapOp::Divide, &centred, &again)
    });
    // The two divisors are different host scalars, so only the sums are shared.
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn reductions_over_scattered_axes_are_a_row_and_a_column() {
    let plan = plan(|g| {
        let x = g.input(DType::F32, Shape::from([4, 5, 6, 7]))?;
        compose::sum(g, &x, &[0, 2, 3], false)
    });
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn long_rows_are_read_again_for_a_dependent_use() {
    let plan = plan(|g| {
        let x = g.input(DType::F32, Shape::from([1_000_000]))?;
        let total = compose::sum(g, &x, &[], false)?;
        compose::binary(g, MapOp::Divide, &x, &total)
    });
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn pi_by_sampling_draws_inside_the_reduction() {
    let plan = plan(|g| {
        let key = g.input(DType::U32, Shape::from([2]))?;
        let other = g.input(DType::U32, Shape::from([2]))?;
        let shape = Shape::from([10_000_000]);
        let (x, y) = (
            compose::uniform(g, &key, &shape, DType::F32)?,
            compose::uniform(g, &other, &shape, DType::F32)?,
        );
        let (x, y) = (compose::unary(g, MapOp::Square, &x)?, compose::unary(g, MapOp::Square, &y)?);
        let radius = compose::binary(g, MapOp::Add, &x, &y)?;
        let one = g.scalar(1f32.to_scalar());
        let inside = compose::binary(g, MapOp::LessEqual, &radius, &one)?;
        compose::sum(g, &inside, &[], false)
    });
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn views_are_free_and_a_transposed_operand_is_strided() {
    let plan = plan(|g| {
        let x = matrix(g, 3, 4);
        let turned = g.push(Op::Permute([1usize, 0].into_iter().collect()), &[x])?;
        let flipped = g.push(Op::Flip([0usize].into_iter().collect()), &[turned])?;
        let flat = g.push(Op::Reshape(Shape::from([12])), &[flipped])?;
        compose::unary(g, MapOp::Exp, &flat)
    });
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn joined_arrays_are_copied_into_place() {
    let plan = plan(|g| {
        let (a, b) = (matrix(g, 2, 3), matrix(g, 4, 3));
        let joined = g.push(Op::Concat { axis: 0 }, &[a, b])?;
        compose::unary(g, MapOp::Negative, &joined)
    });
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn what_computes_a_part_writes_it_into_place() {
    let plan = plan(|g| {
        let x = g.input(DType::F32, Shape::from([64, 256, 1]))?;
        let (sine, cosine) = (g.map(MapOp::Sin, &[x])?, g.map(MapOp::Cos, &[x])?);
        g.push(Op::Concat { axis: 2 }, &[sine, cosine])
    });
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn a_matrix_product_is_a_call_and_its_bias_a_map() {
    let plan = plan(|g| {
        let (a, b) = (matrix(g, 8, 16), matrix(g, 16, 4));
        let bias = g.input(DType::F32, Shape::from([4]))?;
        let product = compose::matmul(g, &a, &b)?;
        let shifted = compose::binary(g, MapOp::Add, &product, &bias)?;
        compose::unary(g, MapOp::Gelu, &shifted)
    });
    insta::assert_snapshot!(plan.explain(None));
}

/// The name of the call that the first kernel and the second can be.
fn fold(plan: &Plan) -> Option<&str> {
    plan.launches[0].fold.as_ref().map(|fold| fold.launch.name.as_str())
}

/// A product of this dtype with something done to it.
fn product(
    dtype: DType,
    then: impl FnOnce(&mut Graph, NodeId, NodeId) -> crossover_core::Result<NodeId>,
) -> Plan {
    plan(|g| {
        let a = g.input(dtype, Shape::from([8, 16]))?;
        let b = g.input(dtype, Shape::from([16, 4]))?;
        let bias = g.input(dtype, Shape::from([4]))?;
        let product = compose::matmul(g, &a, &b)?;
        then(g, product, bias)
    })
}

#[test]
fn what_follows_a_product_alone_can_be_folded_in() {
    let gelu = |g: &mut Graph, x: NodeId, _: NodeId| compose::unary(g, MapOp::Gelu, &x);
    let relu = |g: &mut Graph, x: NodeId, bias: NodeId| {
        let sum = compose::binary(g, MapOp::Add, &bias, &x)?;
        let zero = compose::number(g, 0.into(), DType::BF16)?;
        compose::binary(g, MapOp::Maximum, &sum, &zero)
    };
    assert_eq!(fold(&product(DType::F32, gelu)), Some("matmul+gelu"));
    let plan = product(DType::BF16, relu);
    assert_eq!(fold(&plan), Some("matmul+bias+relu"));
    let fold = plan.launches[0].fold.as_ref().unwrap();
    assert_eq!(fold.zero, Some(0));
    assert_eq!(fold.launch.kernel.writes().collect::<Vec<_>>(), plan.outputs);
}

#[test]
fn what_others_see_or_the_library_cannot_do_is_not_folded() {
    let gelu = |g: &mut Graph, x: NodeId, _: NodeId| compose::unary(g, MapOp::Gelu, &x);
    assert_eq!(fold(&product(DType::F64, gelu)), None);
    // A column is added, not a row.
    let column = product(DType::F32, |g, x, _| {
        let bias = g.input(DType::F32, Shape::from([8, 1]))?;
        compose::binary(g, MapOp::Add, &x, &bias)
    });
    assert_eq!(fold(&column), None);
    let exponential = product(DType::F32, |g, x, _| compose::unary(g, MapOp::Exp, &x));
    assert_eq!(fold(&exponential), None);
    // The activation comes first.
    let late = product(DType::F32, |g, x, bias| {
        let x = compose::unary(g, MapOp::Gelu, &x)?;
        compose::binary(g, MapOp::Add, &x, &bias)
    });
    assert_eq!(fold(&late), None);
    let mut graph = Graph::new();
    let a = graph.input(DType::F32, Shape::from([4, 4])).unwrap();
    let x = compose::matmul(&mut graph, &a, &a).unwrap();
    let y = compose::unary(&mut graph, MapOp::Gelu, &x).unwrap();
    graph.output(y);
    graph.output(x);
    assert_eq!(fold(&Plan::new(&graph, Options::default()).unwrap()), None);
}

#[test]
fn an_operand_read_in_two_orders_is_stored_between() {
    let plan = plan(|g| {
        let x = matrix(g, 4, 4);
        let y = compose::unary(g, MapOp::Exp, &x)?;
        let turned = g.push(Op::Permute([1usize, 0].into_iter().collect()), &[y])?;
        compose::binary(g, MapOp::Add, &y, &turned)
    });
    insta::assert_snapshot!(plan.explain(None));
}

#[test]
fn without_fusion_every_node_is_a_kernel() {
    let mut graph = Graph::new();
    let x = graph.input(DType::F32, Shape::from([8, 8])).unwrap();
    let y = compose::softmax(&mut graph, &x, -1).unwrap();
    graph.output(y);
    let plan = Plan::new(&graph, Options { fusion: false }).unwrap();
    let maximum =
        graph.nodes().iter().filter(|n| matches!(n.op, Op::Reduce { op: ReduceOp::Max, .. })).count();
    assert_eq!((plan.launches.len(), maximum), (5, 1));
}

#[test]
fn planning_takes_time_in_proportion_to_the_number_of_calls() {
    let time = |calls: usize, times: usize| {
        let mut graph = Graph::new();
        let mut x = graph.input(DType::F32, Shape::from([8])).unwrap();
        for _ in 0..calls {
            x = graph.push(Op::Scan { op: ReduceOp::Sum, axis: 0 }, &[x]).unwrap();
        }
        graph.output(x);
        let start = processor_time();
        for _ in 0..times {
            assert_eq!(Plan::new(&graph, Options::default()).unwrap().launches.len(), calls);
        }
        processor_time() - start
    };
    let (short, long) = (time(2_000, 20), time(40_000, 1));
    // Looking through all kernels for each of them makes it twenty times as long. The clock ticks every few milliseconds.
    assert!(
        long < 5 * short + 50_000_000,
        "{short} ns for 20 chains of 2000 calls, {long} ns for one of 40000"
    );
}

/// Nanoseconds that this thread has computed, whatever else the machine does; those that have passed where nobody counts.
fn processor_time() -> u64 {
    static BEGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let counted = counted.and_then(|text| text.split_whitespace().next()?.parse().ok());
    counted.unwrap_or_else(|| BEGIN.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64)
}

#[test]
fn costs_of_arrays_that_fit_nowhere_stay_at_the_most_there_is() {
    let side = 1 << 29;
    let plan = plan(|g| {
        let (a, b) = (matrix(g, side, side), matrix(g, side, side));
        let product = g.push(Op::MatMul, &[a, b])?;
        let sum = compose::binary(g, MapOp::Add, &product, &a)?;
        compose::unary(g, MapOp::Exp, &sum)
    });
    let cost = plan.cost();
    assert_eq!((cost.flops, plan.launches[0].cost.flops), (u64::MAX, u64::MAX));
    assert!(cost.moved() >= 5 << 60, "{cost:?}");
    assert!(
        plan.explain(None).contains(" moved, 18446744073.7G arithmetic operations"),
        "{}",
        plan.explain(None)
    );
    assert!(plan.work()[0].terms.iter().all(|term| term.count == u64::MAX));

    let complex = self::plan(|g| {
        let x = g.input(DType::C128, Shape::from([(1 << 59) - 1]))?;
        let y = g.input(DType::C128, Shape::from([(1 << 59) - 1]))?;
        compose::binary(g, MapOp::Pow, &x, &y)
    });
    assert!(complex.cost().flops > 1 << 60 && complex.cost().moved() == u64::MAX);
    assert!(complex.work()[0].terms.iter().all(|term| term.count > 1 << 60));
}

//! When kernels run, how many, and what stays.
#![allow(clippy::unwrap_used)]

use crossover_array::{Array, DType, Key, Result, Runtime, eval_all, keepdims, random};

/// Runs a closure on a runtime of its own and returns what it launched.
fn launches(body: impl FnOnce() -> Result<()>) -> u64 {
    let runtime = Runtime::builder().threads(1).build().unwrap();
    runtime.scope(body).unwrap();
    runtime.executor().counts().launches
}

#[test]
fn nothing_runs_before_somebody_asks() {
    let count = launches(|| {
        let x = Array::linspace(0.0, 1.0, 1000);
        let y = (&x * 2.0 + 1.0).exp().sum(());
        let z = x.reshape([10, 100]).t().softmax(0);
        let noise = random::normal::<f32>(&Key::new(1), [100]);
        assert_eq!((y.ndim(), z.shape().dims()), (0, &[100, 10][..]));
        z.check()?;
        y.explain()?;
        y.graph()?;
        drop(noise);
        Ok(())
    });
    assert_eq!(count, 0);
}

#[test]
fn an_expression_is_one_kernel() {
    let one = |build: fn(&Array) -> Array| {
        launches(|| {
            let x = Array::from_vec((0..6000).map(|i| i as f32).collect(), [20, 300]);
            build(&x).eval()?;
            Ok(())
        })
    };
    assert_eq!(one(|x| (x * 2.0 + 1.0).sqrt() - x / 3.0), 1);
    assert_eq!(one(|x| x.softmax(-1)), 1);
    assert_eq!(one(|x| x.layer_norm(None, None, 1e-5)), 1);
    assert_eq!(one(|x| x.standardise(0)), 1);
    assert_eq!(one(|x| (x - x.mean(keepdims(1))).gelu()), 1);
    assert_eq!(one(|x| x.exp().sum(-1)), 1);
    assert_eq!(one(|x| x.t() + 1.0), 1);
    assert_eq!(one(|x| Array::ones::<f32>([20, 300]) * x), 1);
}

#[test]
fn a_result_is_computed_once() {
    let count = launches(|| {
        let x = Array::linspace(0.0, 1.0, 100).exp();
        for _ in 0..5 {
            x.eval()?;
            x.to_vec::<f64>()?;
            x.slice(3..7).to_vec::<f64>()?;
            let _ = x.to_string();
        }
        Ok(())
    });
    assert_eq!(count, 1);
}

#[test]
fn a_reduction_that_is_held_is_kept_with_what_uses_it() {
    let count = launches(|| {
        let x = Array::from_vec((0..10_000).map(|i| i as f32).collect(), [100, 100]);
        let product = x.matmul(&x);
        let total = product.sum(());
        let scaled = &product / &total;
        scaled.eval()?;
        // Product and sum were stored on the way: reading them runs nothing.
        product.eval()?;
        total.eval()?;
        Ok(())
    });
    assert!(count <= 3, "{count} kernels");
}

#[test]
fn several_arrays_share_what_they_have_in_common() {
    let count = launches(|| {
        let x = Array::from_vec((0..1000).map(|i| i as f32).collect(), [10, 100]).exp();
        let (low, high, total) = (x.min(-1), x.max(-1), x.sum(-1));
        eval_all(&[&low, &high, &total])?;
        low.to_vec::<f32>()?;
        Ok(())
    });
    assert_eq!(count, 1);
    assert!(eval_all(&[&Array::arange(3), &Array::arange(3).reshape([7])]).is_err());
    assert!(eval_all(&[]).is_ok());
}

#[test]
fn plans_are_cached_by_shape_and_bounded() {
    let runtime = Runtime::builder().threads(1).build().unwrap();
    runtime.scope(|| {
        let x = Array::from([1.0f32, 2.0, 3.0]);
        for i in 0..50 {
            // Host numbers are arguments, not part of the plan.
            (&x * (i as f32 * 0.5) + 0.5).eval().unwrap();
        }
        assert_eq!(
            runtime.executor().counts().planned,
            2,
            "0.5 * x + 0.5 shares its number, the others do not"
        );
        for n in 1..3000 {
            Array::from(vec![1.0f32; n % 1500 + 1]).exp().eval().unwrap();
        }
        assert!(runtime.executor().cached_plans() <= 1024);
    });
}

#[test]
fn a_million_dependent_operations_evaluate_on_the_way() {
    let mut x = Array::from([1.0f64, 2.0]);
    for i in 0..1_000_000 {
        x = if i % 2 == 0 { &x + 1.0 } else { &x - 1.0 };
    }
    assert_eq!(x.to_vec::<f64>().unwrap(), [1.0, 2.0]);
}

#[test]
fn a_million_doublings_share_their_operand() {
    let mut x = Array::from([1.0f32, -1.0]);
    for _ in 0..1_000_000 {
        x = (&x + &x) / 2.0;
    }
    assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, -1.0]);
    let mut y = Array::from([1u64]);
    for _ in 0..100_000 {
        y = &y + &y;
    }
    assert_eq!(y.to_vec::<u64>().unwrap(), [0]);
}

#[test]
fn long_pending_chains_are_dropped_without_recursion() {
    // Every step stays pending because its operand is a new array.
    let base = Array::from([1.0f32]);
    let held: Vec<Array> = (0..100_000).map(|i| &base * i as f32).collect();
    drop(held);
    let mut x = base.clone();
    let mut all = Vec::new();
    for _ in 0..50_000 {
        x = x.tanh();
        all.push(x.clone());
    }
    drop(x);
    drop(all);
}

#[test]
fn fused_and_unfused_runtimes_agree_bit_for_bit() {
    let compute = || {
        let x = random::normal::<f32>(&Key::new(3), [7, 129]);
        let y = (x.gelu() * 1.5 - x.mean(keepdims(0))).softmax(-1);
        y.astype(DType::F64).to_vec::<f64>().unwrap()
    };
    let fused = Runtime::builder().threads(1).build().unwrap().scope(compute);
    let apart = Runtime::builder().threads(1).fusion(false).build().unwrap().scope(compute);
    let many = Runtime::builder().threads(3).build().unwrap().scope(compute);
    assert_eq!(fused, apart);
    assert_eq!(fused, many);
}

#[test]
fn arrays_move_between_runtimes() {
    let (one, two) =
        (Runtime::builder().threads(1).build().unwrap(), Runtime::builder().threads(2).build().unwrap());
    let x = one.scope(|| Array::from([1.0f32, 2.0]).exp().eval().unwrap().clone());
    let y = two.scope(|| (&x * 2.0).to_vec::<f32>().unwrap());
    assert_eq!(y, x.to_vec::<f32>().unwrap().iter().map(|v| v * 2.0).collect::<Vec<_>>());
}

#[test]
fn operands_of_products_that_an_array_holds_are_computed_once() {
    let count = launches(|| {
        let weights = random::normal::<f32>(&Key::new(1), [4, 4]);
        let x = Array::from([[1.0f32, 2.0, 3.0, 4.0]]);
        let first = x.matmul(&weights.t()).to_vec::<f32>()?;
        for _ in 0..2 {
            assert_eq!(x.matmul(&weights.t()).to_vec::<f32>()?, first);
        }
        Ok(())
    });
    assert_eq!(count, 4, "the weights once, and three products");
}

#[test]
fn tables_that_an_array_holds_are_computed_once() {
    let (table, ids) = (random::normal::<f32>(&Key::new(2), [9, 4]), Array::from([3, 8]));
    let lookup = table.take(&ids, 0);
    assert!(lookup.graph().unwrap().to_string().contains("random"));
    lookup.eval().unwrap();
    assert!(!table.take(&ids, 0).graph().unwrap().to_string().contains("random"));
}

#[test]
fn operands_of_products_that_nobody_holds_are_not_kept() {
    let x = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
    let product = x.matmul(&x.exp());
    assert_eq!(product.graph().unwrap().outputs().len(), 1);
    let held = x.exp();
    assert_eq!(x.matmul(&held.t()).graph().unwrap().outputs().len(), 2);
}

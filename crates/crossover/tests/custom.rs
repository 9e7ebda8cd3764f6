//! Kernels that users write, as operations of plans.
#![allow(clippy::unwrap_used)]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crossover::{Array, CustomKernel, DType, Graph, Grid, Runtime, Shape, eval_all, runtime::KernelRecord};
use crossover_core::{
    compose,
    reference::{Tensor, evaluate},
};
use crossover_cpu::CpuBackend;
use crossover_plan::{Options, Plan};
use crossover_runtime::{
    Backend, Device, Executor, Machine, Placement,
    sim::{Fault, SimDevice, SimOptions},
};

fn saxpy() -> CustomKernel {
    CustomKernel::builder("saxpy")
        .input("a", DType::F32)
        .input("x", DType::F32)
        .input("y", DType::F32)
        .output("out", DType::F32)
        .elementwise("out = a * x + y", |a: f32, x: f32, y: f32| a * x + y)
        .build()
        .unwrap()
}

/// Sums of rows; counts its calls.
fn row_sums(calls: Arc<AtomicUsize>) -> CustomKernel {
    let shape = |shapes: &[&Shape]| match shapes[0].dims() {
        [rows, _] => Ok(Shape::from([*rows])),
        dims => Err(format!("wants two axes, not {dims:?}")),
    };
    CustomKernel::builder("row_sums")
        .input("x", DType::F64)
        .output("out", DType::F64)
        .shape(shape)
        .cpu(move |inputs, output| {
            calls.fetch_add(1, Ordering::Relaxed);
            let columns = inputs.shape(0)[1];
            let rows = inputs.slice::<f64>(0)?.chunks(columns.max(1));
            output.slice::<f64>()?.fill(0.0);
            for (out, row) in output.slice::<f64>()?.iter_mut().zip(rows) {
                *out = row.iter().sum();
            }
            Ok(())
        })
        .cuda("extern \"C\" __global__ void row_sums(const double* x, double* out) {}", |_, out| {
            Grid::covering(out.size(), 128)
        })
        .build()
        .unwrap()
}

#[test]
fn the_first_rows_of_an_array_are_read_where_they_are() {
    let kernel = row_sums(Arc::default());
    let runtime = Runtime::builder().threads(1).build().unwrap();
    runtime.scope(|| {
        let x = Array::arange(12).astype(DType::F64).reshape([4, 3]).copy();
        x.eval().unwrap();
        for (rows, wanted, copies) in [(0..2, [3.0, 12.0], 0), (1..3, [12.0, 21.0], 1)] {
            let before = runtime.executor().counts().launches;
            let sums = kernel.call(&[&x.slice(rows)]);
            assert_eq!(sums.to_vec::<f64>().unwrap(), wanted);
            // Kernels may rely on how the start of a buffer is aligned.
            assert_eq!(runtime.executor().counts().launches - before, 1 + copies);
        }
    });
}

fn sim(placement: Placement, fusion: bool) -> (SimDevice, Runtime) {
    let host: Arc<dyn Backend> = Arc::new(CpuBackend::builder().threads(2).build().unwrap());
    let sim = SimDevice::new(host.clone(), SimOptions::default());
    let machine = Machine::new(host, vec![Arc::new(sim.clone())]).unwrap();
    (sim, Runtime::from_executor(Executor::new(machine, Options { fusion }, placement)))
}

#[test]
fn operands_broadcast_and_may_be_views() {
    let saxpy = saxpy();
    let x = Array::arange(6000).astype(DType::F32).reshape([60, 100]);
    let scale = Array::arange(60).astype(DType::F32).reshape([60, 1]);
    let turned = Array::arange(6000).astype(DType::F32).reshape([100, 60]).t();
    let got = saxpy.call(&[&scale, &x, &turned]);
    let want = &scale * &x + &turned;
    assert_eq!(got.shape().dims(), [60, 100]);
    assert_eq!(got.to_vec::<f32>().unwrap(), want.to_vec::<f32>().unwrap());
    let flipped = saxpy.call(&[&Array::scalar(2.0f32), &x.flip(1), &Array::scalar(1.0f32)]);
    let want = x.flip(1) * 2.0 + 1.0;
    assert_eq!(flipped.to_vec::<f32>().unwrap(), want.to_vec::<f32>().unwrap());
}

#[test]
fn every_way_of_running_gives_the_closures_bits() {
    let (saxpy, sums) = (saxpy(), row_sums(Arc::default()));
    let make = || {
        let x = Array::linspace_dtype(-3.0, 3.0, 5000, DType::F32).reshape([50, 100]);
        let y = saxpy.call(&[&x.exp(), &x, &Array::scalar(0.5f32)]).sqrt();
        let z = sums.call(&[&y.t().astype(DType::F64)]);
        (&z / z.max(())).to_vec::<f64>().unwrap().iter().map(|v| v.to_bits()).collect::<Vec<u64>>()
    };
    let want = make();
    assert_eq!(want.len(), 100);
    for threads in [1, 3] {
        for fusion in [false, true] {
            let runtime = Runtime::builder().threads(threads).fusion(fusion).build().unwrap();
            assert_eq!(runtime.scope(make), want, "{threads} threads, fusion {fusion}");
        }
    }
    for placement in [Placement::On(Device(1)), Placement::RoundRobin, Placement::Auto] {
        for fusion in [false, true] {
            assert_eq!(sim(placement, fusion).1.scope(make), want, "{placement:?}, fusion {fusion}");
        }
    }
}

#[test]
fn a_device_that_fails_is_replaced_by_the_closure() {
    let sums = row_sums(Arc::default());
    let x = || Array::from([[0.0f64, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]);
    for fault in [Fault::Kernel(0), Fault::Allocation(0), Fault::Copy(0)] {
        let (device, runtime) = sim(Placement::On(Device(1)), true);
        device.inject(fault);
        let got = runtime.scope(|| sums.call(&[&x()]).to_vec::<f64>().unwrap());
        assert_eq!(got, [6.0, 22.0, 38.0], "{fault:?}");
        // An allocation that fails once is asked for again, once room was made for it.
        let fallbacks = u64::from(fault != Fault::Allocation(0));
        assert_eq!(runtime.executor().counts().fallbacks, fallbacks, "{fault:?}");
    }
}

#[test]
fn the_interpreter_and_the_executor_agree_on_graphs() {
    let (saxpy, sums) = (saxpy(), row_sums(Arc::default()));
    let mut graph = Graph::new();
    let x = graph.input(DType::F32, Shape::from([7, 9])).unwrap();
    let a = graph.input(DType::F32, Shape::from([9])).unwrap();
    let y = compose::custom(&mut graph, &saxpy, &[&a, &x, &x]).unwrap();
    let wide = compose::cast(&mut graph, &y, DType::F64).unwrap();
    let z = compose::custom(&mut graph, &sums, &[&wide]).unwrap();
    graph.output(z);
    graph.output(y);
    graph.verify().unwrap();
    let values: Vec<f32> = (0..63).map(|i| (i * i % 17) as f32 * 0.3 - 1.0).collect();
    let inputs =
        [Tensor::from_slice([7, 9], &values).unwrap(), Tensor::from_slice([9], &values[10..19]).unwrap()];
    let want = evaluate(&graph, &inputs).unwrap();
    let runtime = Runtime::builder().threads(1).build().unwrap();
    let machine = runtime.executor().machine();
    let buffers: Vec<_> =
        inputs.iter().map(|t| crossover_runtime::Buffer::from_bytes(machine, &t.bytes).unwrap()).collect();
    let got = runtime.executor().evaluate(&graph, &buffers).unwrap();
    for (got, want) in got.iter().zip(&want) {
        assert_eq!(got.host_bytes().unwrap(), want.bytes);
    }
}

#[test]
fn equal_calls_are_computed_once_and_unused_ones_not_at_all() {
    let calls = Arc::new(AtomicUsize::new(0));
    let sums = row_sums(calls.clone());
    let x = Array::ones::<f64>([4, 5]);
    let (once, again, never) = (sums.call(&[&x]), sums.call(&[&x]), sums.call(&[&x.exp()]));
    let total = &once + &again;
    assert_eq!(total.to_vec::<f64>().unwrap(), [10.0; 4]);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(once.to_vec::<f64>().unwrap(), [5.0; 4]);
    assert_eq!(calls.load(Ordering::Relaxed), 1, "an array that is still held keeps its result");
    drop(never);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[test]
fn buffers_are_given_back_when_the_kernel_was_their_last_reader() {
    let saxpy = saxpy();
    let (device, runtime) = sim(Placement::On(Device(1)), true);
    runtime.scope(|| {
        let one = Array::scalar(1.0f32);
        let mut x = Array::ones::<f32>([1000]);
        for _ in 0..20 {
            x = saxpy.call(&[&one, &x, &x]).sqrt();
        }
        x.eval().unwrap();
        let used = device.used();
        assert!(used <= 3 * 4000, "{used} bytes live for one result and what it was made of");
    });
}

#[test]
fn operands_of_a_whole_kernel_are_copied_only_where_they_have_gaps() {
    let sums = row_sums(Arc::default());
    let x = Array::ones::<f64>([8, 8]);
    x.eval().unwrap();
    let plan = |array: &Array| Plan::new(&array.graph().unwrap(), Options::default()).unwrap();
    assert_eq!(plan(&sums.call(&[&x])).launches.len(), 1);
    assert_eq!(plan(&sums.call(&[&x.t()])).launches.len(), 2);
    let y = Array::ones::<f32>([8, 8]);
    y.eval().unwrap();
    let plan = plan(&saxpy().call(&[&y.t(), &y, &y.index(0)]));
    assert_eq!(plan.launches.len(), 1, "an elementwise kernel reads views where they lie");
    assert_eq!(plan.launches[0].name, "saxpy");
}

#[test]
fn plans_and_graphs_tell_of_the_kernel() {
    let saxpy = saxpy();
    let x = Array::ones::<f32>([3, 4]);
    x.eval().unwrap();
    let y = saxpy.call(&[&x, &x, &x]);
    let text = y.explain().unwrap();
    assert!(text.contains("Call saxpy"), "{text}");
    assert!(text.contains("= saxpy(in0 f32[3, 4], in0 f32[3, 4], in0 f32[3, 4])"), "{text}");
    let graph = y.graph().unwrap();
    let text = graph.to_string();
    assert!(text.contains("= custom %0, %0, %0 kernel saxpy"), "{text}");
    let error = Graph::parse(&text).unwrap_err().to_string();
    assert!(error.contains("`saxpy` is a kernel that a user has written"), "{error}");
    assert!(error.contains("give it to Graph::parse_with"), "{error}");
    assert_eq!(Graph::parse_with(&text, &[saxpy]).unwrap(), graph);
}

#[test]
fn a_graph_seen_before_is_not_planned_again() {
    let saxpy = saxpy();
    let runtime = Runtime::builder().threads(1).build().unwrap();
    runtime.scope(|| {
        for i in 0..5 {
            let x = Array::from(vec![i as f32; 10]);
            saxpy.call(&[&x, &x, &x]).eval().unwrap();
        }
    });
    assert_eq!(runtime.executor().counts().planned, 1);
}

#[test]
fn what_does_not_fit_the_signature_is_an_error_of_the_call() {
    let (saxpy, sums) = (saxpy(), row_sums(Arc::default()));
    let x = Array::ones::<f32>([3]);
    let error = saxpy.call(&[&x, &x]).check().unwrap_err();
    assert!(error.to_string().starts_with("saxpy: takes 3 operands, 2 given (at "), "{error}");
    assert_eq!(error.location().file(), file!());
    let error = saxpy.call(&[&x, &Array::ones::<f64>([3]), &x]).check().unwrap_err();
    let want = "saxpy: f64 is not supported (supported: f32 for `x`); convert with astype first";
    assert!(error.to_string().starts_with(want), "{error}");
    let error = saxpy.call(&[&x, &Array::ones::<f32>([4]), &x]).check().unwrap_err();
    assert!(error.to_string().starts_with("saxpy: shapes [3] and [4] do not fit"), "{error}");
    let error = sums.call(&[&Array::ones::<f64>([3])]).check().unwrap_err();
    assert!(error.to_string().starts_with("row_sums: wants two axes, not [3]"), "{error}");
    let carried = saxpy.call(&[&x, &(&x + Array::ones::<f32>([5])), &x]).check().unwrap_err();
    assert!(carried.to_string().starts_with("add: "), "{carried}");
}

#[test]
fn a_panic_names_the_call_and_everything_else_goes_on() {
    let picky = CustomKernel::builder("picky")
        .input("x", DType::I64)
        .output("out", DType::I64)
        .elementwise("out = x", |x: i64| {
            assert!(x != 77_777, "{x} is unlucky");
            x
        })
        .build()
        .unwrap();
    let x = Array::arange(100_000);
    let (bad, line) = (picky.call(&[&x]), line!());
    let sum = bad.sum(());
    let error = sum.item::<i64>().unwrap_err();
    let want = "picky: the kernel's CPU closure panicked: 77777 is unlucky (at ";
    assert!(error.to_string().starts_with(want), "{error}");
    assert_eq!((error.location().file(), error.location().line()), (file!(), line));
    // The pool and its threads are as they were.
    let good = picky.call(&[&(&x + 100_000)]);
    assert_eq!(good.sum(()).item::<i64>().unwrap(), (100_000..200_000).sum::<i64>());
}

#[test]
fn closures_that_fail_say_why() {
    let refusing = CustomKernel::builder("refusing")
        .input("x", DType::F32)
        .output("out", DType::F32)
        .shape(|shapes| Ok(shapes[0].clone()))
        .cpu(|_, _| Err(crossover_core::Error::Value { op: "refusing", what: "not today".to_string() }))
        .build()
        .unwrap();
    let error = refusing.call(&[&Array::ones::<f32>([2])]).eval().map(drop).unwrap_err();
    let want = "refusing: the kernel's CPU closure failed: refusing: not today";
    assert!(error.to_string().starts_with(want), "{error}");
}

#[test]
fn the_nan_finder_names_the_kernel() {
    let root = CustomKernel::builder("root")
        .input("x", DType::F32)
        .output("out", DType::F32)
        .elementwise("out = sqrtf(x)", |x: f32| x.sqrt())
        .build()
        .unwrap();
    let x = Array::from([4.0f32, -1.0]);
    let origin = (root.call(&[&x]) + 1.0).find_nan().unwrap().unwrap();
    assert_eq!((origin.op(), origin.index()), ("root", &[1][..]));
    let strict = Runtime::builder().refuse_nan(true).build().unwrap();
    let error = strict.scope(|| root.call(&[&x]).check()).unwrap_err();
    assert!(error.to_string().starts_with("root: made a NaN at [1]"), "{error}");
    // A NaN is the one that may be seen, whatever the processor made.
    assert_eq!(root.call(&[&x]).to_vec::<f32>().unwrap()[1].to_bits(), 0x7fc0_0000);
}

#[test]
fn every_dtype_goes_through() {
    macro_rules! check {
        ($($dtype:ident $type:ty, $from:expr;)*) => {$(
            let same = CustomKernel::builder("same")
                .input("x", DType::$dtype)
                .output("out", DType::$dtype)
                .elementwise("out = x", |x: $type| x)
                .build()
                .unwrap();
            let values: Vec<$type> = (0..3000).map($from).collect();
            let x = Array::from(values.clone()).reshape([30, 100]);
            assert_eq!(same.call(&[&x]).to_vec::<$type>().unwrap(), values);
            let turned = same.call(&[&x.t()]);
            assert_eq!(turned.to_vec::<$type>().unwrap(), x.t().to_vec::<$type>().unwrap());
        )*};
    }
    check! {
        Bool bool, |i| i % 3 == 0;
        I8 i8, |i| i as i8;
        I16 i16, |i| i as i16;
        I32 i32, |i| i;
        I64 i64, |i| i64::from(i) << 40;
        U8 u8, |i| i as u8;
        U16 u16, |i| i as u16;
        U32 u32, |i| i as u32;
        U64 u64, |i| i as u64;
        F16 crossover::f16, |i| crossover::f16::from_f32(i as f32);
        BF16 crossover::bf16, |i| crossover::bf16::from_f32(i as f32);
        F32 f32, |i| i as f32;
        F64 f64, f64::from;
        C64 crossover::Complex<f32>, |i| crossover::Complex::new(i as f32, -1.0);
        C128 crossover::Complex<f64>, |i| crossover::Complex::new(1.0, f64::from(i));
    }
}

#[test]
fn empty_arrays_and_zeroed_results() {
    let nothing = saxpy().call(&[&Array::zeros::<f32>([0, 3]); 3]);
    assert!(nothing.shape().dims() == [0, 3] && nothing.to_vec::<f32>().unwrap().is_empty());
    let sums = row_sums(Arc::default());
    assert_eq!(sums.call(&[&Array::zeros::<f64>([3, 0])]).to_vec::<f64>().unwrap(), [0.0; 3]);
    let counts = CustomKernel::builder("counts")
        .input("x", DType::U8)
        .output("out", DType::I64)
        .shape(|_| Ok(Shape::from([256])))
        .zeroed()
        .cpu(|inputs, output| {
            let counts = output.slice::<i64>()?;
            inputs.slice::<u8>(0)?.iter().for_each(|&x| counts[x as usize] += 1);
            Ok(())
        })
        .build()
        .unwrap();
    for _ in 0..3 {
        let x = Array::arange(512).astype(DType::U8) % 7;
        let got = counts.call(&[&x.astype(DType::U8)]).to_vec::<i64>().unwrap();
        assert_eq!((got.iter().sum::<i64>(), got[7]), (512, 0));
    }
}

#[test]
fn several_arrays_share_a_kernel() {
    let calls = Arc::new(AtomicUsize::new(0));
    let sums = row_sums(calls.clone());
    let x = Array::ones::<f64>([4, 5]);
    let (a, b) = (sums.call(&[&x]) + 1.0, sums.call(&[&x]) * 2.0);
    eval_all(&[&a, &b]).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[test]
fn records_carry_the_users_name() {
    let record = KernelRecord {
        entries: Vec::new(),
        source: format!("{}saxpy\nfloat y = xo_find(x);", KernelRecord::CUSTOM),
        architecture: "sm_90a".to_string(),
        compile_ms: None,
        reused: 0,
        launches: 0,
    };
    assert_eq!(record.name(), "saxpy");
}

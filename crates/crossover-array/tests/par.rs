//! Functions over many arrays at once give what they give for each: bit for bit where operations are exact.
#![allow(clippy::unwrap_used)]

use crossover_array::{
    Array, Batch, Complex, DType, Error, Key, Runtime, Scatter, fft, keepdims, linalg,
    par::{GpuReport, Policy},
    par_iter, random, s,
};

/// Runs a function over many and over each, and compares; the report of the many.
fn compared(items: Vec<Array>, tolerance: f64, f: impl Fn(Array) -> Array) -> GpuReport {
    let (many, report) = par_iter(items.clone()).gpu_map(&f).run();
    assert_eq!(many.len(), items.len());
    for (number, (item, found)) in items.into_iter().zip(many).enumerate() {
        let (found, wanted) = (found.unwrap(), f(item));
        assert_eq!((found.dtype(), found.shape()), (wanted.dtype(), wanted.shape()), "item {number}");
        if tolerance == 0.0 {
            assert_eq!(bytes(&found), bytes(&wanted), "item {number}");
        } else {
            let (found, wanted) = (found.astype(DType::C128), wanted.astype(DType::C128));
            let pairs = found
                .to_vec::<Complex<f64>>()
                .unwrap()
                .into_iter()
                .zip(wanted.to_vec::<Complex<f64>>().unwrap());
            for (found, wanted) in pairs {
                assert!(
                    (found - wanted).norm() <= tolerance * (1.0 + wanted.norm()),
                    "item {number}: {found} {wanted}"
                );
            }
        }
    }
    report
}

fn bytes(array: &Array) -> Vec<u8> {
    let whole = Array::concat(&[&array.flatten()], 0);
    whole.host_view().unwrap().bytes().unwrap().unwrap().to_vec()
}

fn items(count: u64, shape: &[usize]) -> Vec<Array> {
    (0..count).map(|seed| random::normal::<f32>(&Key::new(seed), shape)).collect()
}

fn all_batched(report: &GpuReport, count: usize) {
    assert_eq!((report.batched, report.single), (count, 0), "{report}");
}

#[test]
fn exact_operations_have_the_same_bits() {
    let weights = Array::linspace(0.5, 2.0, 20).astype(DType::F32);
    let order = Array::from([19i64, 0, 3, 3]);
    type Function<'a> = &'a dyn Fn(Array) -> Array;
    let functions: [(&str, Function); 22] = [
        ("elementwise", &|x| (x * &weights + 1.0).exp().sqrt()),
        ("where", &|x| x.greater(0.0).where_(&x, 0.0)),
        ("cast", &|x| (x * 100.0).astype(DType::I32) % 7),
        ("sum of all", &|x| x.sum(())),
        ("sum of rows", &|x| x.sum(1)),
        ("sum of columns", &|x| x.sum(keepdims(0))),
        ("standardised", &|x| (&x - x.mean(keepdims(0))) / x.std(keepdims(0))),
        ("softmax", &|x| x.softmax(-1)),
        ("argmax of all", &|x| x.argmax(())),
        ("argmax of rows", &|x| x.argmax(1)),
        ("running sum", &|x| x.cumulative_sum(0)),
        ("transposed", &|x| x.t() + 1.0),
        ("only a view", &|x| x.t()),
        ("reshaped view", &|x| x.t().reshape([-1]).slice(s![3..50; 2])),
        ("flipped", &|x| x.flip(0) - x.flip(1)),
        ("expanded", &|x| x.sum(0).broadcast_to([3, 5, 20])),
        ("joined", &|x| Array::concat(&[&x, &x.slice(s![1..3]), &weights.reshape([1, 20])], 0)),
        ("taken", &|x| x.take(&order, 1)),
        ("taken from what is captured", &|x| weights.take(&(x.abs() * 3.0).astype(DType::I64), 0)),
        ("sorted", &|x| x.sort(1)),
        ("order", &|x| x.argsort(0)),
        ("nothing of the item", &|_| &weights * 2.0),
    ];
    for (name, f) in functions {
        println!("{name}");
        let report = compared(items(9, &[13, 20]), 0.0, f);
        if name != "taken from what is captured" {
            all_batched(&report, 9);
        }
    }
}

#[test]
fn products_transforms_and_decompositions_are_within_their_errors() {
    let matrix = random::normal::<f32>(&Key::new(99), [12, 7]);
    all_batched(&compared(items(8, &[12, 12]), 1e-5, |x| x.matmul(&x)), 8);
    all_batched(&compared(items(8, &[5, 12]), 1e-5, |x| x.matmul(&matrix)), 8);
    all_batched(&compared(items(8, &[7, 4]), 1e-5, |x| matrix.matmul(&x)), 8);
    all_batched(&compared(items(8, &[12]), 1e-5, |x| x.matmul(&matrix)), 8);
    all_batched(&compared(items(8, &[12, 16]), 1e-5, |x| fft::fft(&x)), 8);
    all_batched(&compared(items(8, &[6, 6]), 1e-3, |x| linalg::inv(&(x + Array::eye::<f32>(6) * 8.0))), 8);
}

#[test]
fn what_asks_for_values_is_called_for_each_item() {
    let report = compared(items(6, &[10]), 0.0, |x| {
        let largest = x.max(()).item::<f32>().unwrap_or(f32::NAN);
        x / largest
    });
    // While it is traced there is no value, so the division is by NaN: that trace must not be used.
    assert_eq!((report.batched, report.single), (0, 6), "{report}");
    assert_eq!(report.reasons, ["the function asks for values of its argument"]);
}

#[test]
fn a_function_that_asks_for_values_leaves_other_traces_alone() {
    use std::sync::Barrier;
    // Each step of one thread happens while the other's trace is under way.
    let (begun, asked) = (Barrier::new(2), Barrier::new(2));
    let wait = |barrier: &Barrier| {
        barrier.wait();
    };
    std::thread::scope(|scope| {
        let quiet = scope.spawn(|| {
            let first = std::sync::Once::new();
            let (_, report) = par_iter(items(4, &[5]))
                .gpu_map(|x| {
                    first.call_once(|| {
                        wait(&begun);
                        wait(&asked);
                    });
                    x * 2.0
                })
                .run();
            report
        });
        let first = std::sync::Once::new();
        let (_, report) = par_iter(items(4, &[5]))
            .gpu_map(|x| {
                let mut largest = f32::NAN;
                first.call_once(|| wait(&begun));
                // On a thread of its own: it is still this trace that is told.
                std::thread::scope(|inner| {
                    largest = inner.spawn(|| x.max(()).item::<f32>().unwrap_or(f32::NAN)).join().unwrap();
                });
                x / largest
            })
            .run();
        wait(&asked);
        assert_eq!((report.batched, report.single), (0, 4), "{report}");
        all_batched(&quiet.join().unwrap(), 4);
    });
}

#[test]
fn what_cannot_be_batched_is_called_for_each_item() {
    let report = compared(items(6, &[10]), 0.0, |x| {
        let indices = x.argsort(0);
        x.take(&indices, 0)
    });
    assert_eq!((report.batched, report.single), (0, 6), "{report}");
    assert_eq!(report.reasons.len(), 1);
    let report = compared(items(4, &[10]), 0.0, |x| {
        let zeros = Array::zeros::<f32>([10]);
        zeros.scatter(&[&Array::from([1i64, 2])], x.slice(s![..2]), Scatter::Add)
    });
    assert_eq!(report.single + report.batched, 4);
}

#[test]
fn ragged_items_are_grouped_and_keep_their_order() {
    let ragged: Vec<Array> = (0..50).map(|i| Array::full([1 + i % 4, 3], i as f32)).collect();
    let report = compared(ragged, 0.0, |x| x.sum(0) * 2.0);
    assert_eq!((report.kinds, report.groups, report.batched), (4, 4, 50));
    let mixed = vec![Array::from([1.0f32]), Array::from([2i32]), Array::from([3.0f32])];
    assert_eq!(compared(mixed, 0.0, |x| x + 1).kinds, 2);
}

#[test]
fn groups_are_as_large_as_allowed() {
    let (results, report) = par_iter(items(50, &[100])).gpu_map(|x| x.exp().sum(())).max_batch_size(16).run();
    assert_eq!((report.groups, report.largest_group, results.len()), (4, 13, 50));
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(report.telemetry.items, 50);
    // Memory for two groups of about a quarter of the items.
    let small = Runtime::builder().threads(1).memory_budget(4 << 20).build().unwrap();
    let (results, report) = small.scope(|| {
        let items = (0..24).map(|i| Array::full([32_768], i as f32)).collect::<Vec<_>>();
        par_iter(items).gpu_map(|x| (x + 1.0).sqrt().sum(())).run()
    });
    assert!(report.groups > 1 && report.largest_group < 24, "{report}");
    assert!(results.iter().all(Result::is_ok), "{:?}", results.iter().find(|result| result.is_err()));
}

#[test]
fn one_item_that_fails_does_not_take_the_others_with_it() {
    let mut list = items(5, &[3, 3]);
    list[2] = Array::zeros::<f32>([3, 3]);
    list[4] = Array::from([1.0f32, 2.0]) + Array::from([1.0f32, 2.0, 3.0]);
    let (results, _) = par_iter(list).gpu_map(|x| linalg::inv(&x)).run();
    let told = |result: &Result<Array, Error>| result.as_ref().unwrap_err().to_string();
    assert!(told(&results[2]).contains("singular"), "{}", told(&results[2]));
    assert!(told(&results[4]).starts_with("add: shapes [2] and [3]"), "{}", told(&results[4]));
    for at in [0, 1, 3] {
        assert!(results[at].as_ref().unwrap().to_vec::<f32>().unwrap().iter().all(|x| x.is_finite()));
    }
    let (results, report) = par_iter(items(3, &[2])).gpu_map(|_| panic!("not today")).run();
    assert!(
        told(&results[1]).starts_with("gpu_map: the function panicked: not today"),
        "{}",
        told(&results[1])
    );
    assert_eq!(report.telemetry.failed, 3);
}

#[test]
fn items_are_tried_again_and_others_skipped_as_the_policy_says() {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    let calls = AtomicUsize::new(0);
    let flaky = |x: Array| {
        assert!(calls.fetch_add(1, Relaxed) >= 3, "not yet");
        x.sum(())
    };
    // Once while it is traced, then twice for the first item.
    let (results, report) = par_iter(items(3, &[2])).gpu_map(flaky).policy(Policy::Retry(2)).run();
    assert!(results.iter().all(Result::is_ok), "{report}");
    assert_eq!((report.telemetry.retries, report.telemetry.failed), (2, 0));

    let singular = |at: usize| {
        let mut list = items(5, &[3, 3]);
        list[at] = Array::zeros::<f32>([3, 3]);
        list
    };
    let inverse = |x: Array| linalg::inv(&x);
    let (results, report) = par_iter(singular(2)).gpu_map(inverse).policy(Policy::FailFast).run();
    let told = |at: usize| results[at].as_ref().unwrap_err().to_string();
    assert!(results[0].is_ok() && results[1].is_ok());
    assert!(told(2).contains("singular") && told(3).contains("skipped"), "{}, {}", told(2), told(3));
    let telemetry = &report.telemetry;
    assert_eq!((report.skipped.clone(), telemetry.failed, telemetry.skipped), (vec![3, 4], 1, 2));
    // Groups that have not begun are skipped whole, and the error that is told is the first that is no consequence.
    let mut list = singular(4);
    list.insert(1, Array::zeros::<f32>([2, 2]));
    let map = || par_iter(list.clone()).gpu_map(inverse).policy(Policy::FailFast).max_batch_size(1);
    assert_eq!(map().run().1.skipped, [1]);
    assert!(map().collect().unwrap_err().to_string().contains("singular"));
    // An item that comes with an error has failed already.
    let mut list = items(3, &[2]);
    list[2] = Array::zeros::<f32>([2]) + Array::zeros::<f32>([3]);
    let (_, report) = par_iter(list).gpu_map(|x| x.exp()).policy(Policy::FailFast).run();
    assert_eq!((report.skipped, report.telemetry.failed), (vec![0, 1], 1));
}

#[test]
fn progress_is_told_after_groups_and_items() {
    use std::sync::{Arc, Mutex};
    let seen = Arc::new(Mutex::new(Vec::new()));
    let watched = |f: &dyn Fn(Array) -> Array, most: usize| {
        let notes = seen.clone();
        let map = par_iter(items(5, &[4])).gpu_map(f).max_batch_size(most);
        let (results, report) =
            map.progress(move |now| notes.lock().unwrap().push((now.done, now.total))).run();
        assert!(results.iter().all(Result::is_ok), "{report}");
        std::mem::take(&mut *seen.lock().unwrap())
    };
    assert_eq!(watched(&|x| x + 1.0, 2), [(2, 5), (4, 5), (5, 5)]);
    assert_eq!(watched(&|x| x, 2), [(5, 5)]);
    let asks = |x: Array| &x / x.max(()).item::<f32>().unwrap_or(1.0);
    assert_eq!(watched(&asks, 2), [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]);
    let out = par_iter(items(3, &[4])).gpu_map(|x| x + 1.0).progress(|_| panic!("cannot draw")).collect();
    assert_eq!(out.unwrap().len(), 3);
}

#[test]
fn an_empty_list_has_an_empty_result() {
    let (results, report) = par_iter(Vec::<Array>::new()).gpu_map(|x| x.exp()).run();
    assert!(results.is_empty() && report.kinds == 0);
    assert!(Batch::new(vec![]).matmul(&[]).unwrap().is_empty());
    assert!(Batch::new(vec![]).normalise().unwrap().is_empty());
}

#[test]
fn pairs_and_triples_travel_together() {
    let triples: Vec<(Array, Array, Array)> =
        items(6, &[4]).into_iter().zip(items(6, &[4])).map(|(a, b)| (a, b, Array::scalar(2.0f32))).collect();
    let sums = par_iter(triples.clone()).gpu_map(|(a, b, c)| a + b * c).collect().unwrap();
    for ((a, b, c), sum) in triples.into_iter().zip(sums) {
        assert_eq!(bytes(&sum), bytes(&(a + b * c)));
    }
    let untouched = par_iter(items(3, &[4])).gpu_map(|x| x).collect().unwrap();
    assert_eq!(bytes(&untouched[2]), bytes(&items(3, &[4])[2]));
}

#[test]
fn items_that_are_views_or_pending_are_computed() {
    let whole = random::normal::<f32>(&Key::new(3), [8, 30]);
    let views: Vec<Array> = (0..8).map(|i| whole.slice(s![i, ..; 3])).collect();
    all_batched(&compared(views, 0.0, |x| x.cumulative_sum(0)), 8);
    let pending: Vec<Array> = items(8, &[30]).into_iter().map(|x| x.exp() + 1.0).collect();
    all_batched(&compared(pending, 0.0, |x| x.log()), 8);
}

#[test]
fn batches_count_what_they_do() {
    let matrices = items(10, &[16, 16]);
    let batch = Batch::new(matrices.clone()).max_batch_size(4);
    let products = batch.matmul(&matrices).unwrap();
    for (product, matrix) in products.iter().zip(&matrices) {
        let (found, wanted) =
            (product.to_vec::<f32>().unwrap(), matrix.matmul(matrix).to_vec::<f32>().unwrap());
        assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-4));
    }
    let stats = batch.stats();
    assert_eq!((stats.operations, stats.results, stats.groups, stats.largest_group), (1, 10, 3, 4));
    let call = |number: i32| {
        move |x: &Array| {
            assert!(number != 6, "the sixth fails");
            x.sum(()).item::<f32>().unwrap()
        }
    };
    let calls: Vec<_> = (0..10).map(call).collect();
    let results = batch.execute_parallel(calls).unwrap();
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 9);
    assert_eq!(results[6].as_ref().unwrap_err().message(), "the sixth fails");
    assert_eq!((batch.stats().operations, batch.stats().failed), (2, 1));
    let bits = Batch::new(vec![Array::from([1u8, 2]), Array::from([3u8, 4])]);
    let hidden = bits.xor(&Array::from([255u8, 1])).unwrap();
    assert_eq!(hidden[1].to_vec::<u8>().unwrap(), [252, 5]);
    assert!(batch.matmul(&matrices[..3]).unwrap_err().to_string().contains("10 arrays and the other list 3"));
}

#[test]
fn lengths_are_those_of_numbers_of_any_dtype() {
    let (three, four) = (Complex::new(0.0, 3.0f64), Complex::new(4.0, 0.0));
    let items = vec![
        Array::from([three, four]),
        Array::from([100i8, 0, 0]),
        Array::from([true, false]),
        Array::from([300.0f32, 400.0]).astype(DType::F16),
        Array::from([-2.0f64]),
        Array::from([200u8, 150]),
    ];
    let unit = Batch::new(items).normalise().unwrap();
    let found = unit[0].to_vec::<Complex<f64>>().unwrap();
    assert!((found[0] - three / 5.0).norm() < 1e-15 && (found[1] - four / 5.0).norm() < 1e-15, "{found:?}");
    assert_eq!(unit[1].to_vec::<f64>().unwrap(), [1.0, 0.0, 0.0]);
    assert_eq!(unit[2].to_vec::<f64>().unwrap(), [1.0, 0.0]);
    assert_eq!(unit[3].dtype(), DType::F16);
    let near = |array: &Array, wanted: [f64; 2]| {
        let found = array.astype(DType::F64).to_vec::<f64>().unwrap();
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-3), "{found:?}");
    };
    near(&unit[3], [0.6, 0.8]);
    assert_eq!(unit[4].to_vec::<f64>().unwrap(), [-1.0]);
    near(&unit[5], [0.8, 0.6]);
}

/// Elements of the unit array of one that comes twice.
fn unit<T: crossover_array::Element>(values: &[T]) -> Vec<f64> {
    let item = Array::from_vec(values.to_vec(), [values.len()]);
    let out = Batch::new(vec![item.clone(), item]).normalise().unwrap();
    assert_eq!(out[0].dtype(), if T::DTYPE.is_float() { T::DTYPE } else { DType::F64 });
    out[1].astype(DType::F64).to_vec::<f64>().unwrap()
}

#[test]
fn lengths_do_not_depend_on_size() {
    let half = 0.5f64.sqrt();
    let near = |found: Vec<f64>, unit: f64| found.iter().all(|x| (x - half).abs() < unit);
    for size in [1.4e-45f32, 1e-38, 1e-30, 1e-20, 1.0, 1e15, 1e20, 3e38] {
        assert!(near(unit(&[size, size]), 1e-7), "{size}");
    }
    for size in [5e-324f64, 1e-308, 1e-170, 1.0, 1e154, 1e300, 1.7e308] {
        assert!(near(unit(&[size, size]), 1e-15), "{size}");
    }
    for size in [-30, 0, 20] {
        let size = half::bf16::from_f64(10f64.powi(size));
        assert!(near(unit(&[size, size]), 0.01), "{size}");
    }
    assert!(near(unit(&[i64::MAX, i64::MAX]), 1e-15));
    assert_eq!(unit(&[0f32, -0.0]), [0.0, 0.0]);
    assert_eq!(unit::<f32>(&[]), [0f64; 0]);
    let small = unit(&[3e-30f32, 4e-30]);
    assert!((small[0] - 0.6).abs() < 1e-7 && (small[1] - 0.8).abs() < 1e-7, "{small:?}");
    let lost = unit(&[f64::INFINITY, 1.0]);
    assert!(lost[0].is_nan() && lost[1] == 0.0);
    assert!(unit(&[f32::NAN, 1.0]).iter().all(|x| x.is_nan()));
}

#[test]
fn complex_lengths_do_not_depend_on_size() {
    for size in [1e-40f32, 1e-25, 1.0, 1e25, 1e38] {
        let item = Array::from_vec(vec![Complex::new(0.0, size), Complex::new(size, 0.0)], [2]);
        let out = Batch::new(vec![item]).normalise().unwrap();
        let found = out[0].abs().to_vec::<f32>().unwrap();
        assert!(found.iter().all(|x| (x - 0.5f32.sqrt()).abs() < 1e-6), "{size}: {found:?}");
    }
}

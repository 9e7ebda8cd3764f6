//! Arrays are shared between threads freely.

use std::{sync::Barrier, thread};

use crossover_array::{Array, DType, Key, Runtime, Simd, keepdims, random};

fn assert_shareable<T: Send + Sync + Clone>() {}

#[test]
fn eight_threads_evaluate_the_same_array() {
    assert_shareable::<Array>();
    assert_shareable::<Runtime>();
    for round in 0..20 {
        let x = random::normal::<f32>(&Key::new(round), [64, 500]);
        let total = x.exp().sum(keepdims(-1));
        let y = &x / &total + &total;
        let barrier = Barrier::new(8);
        let results: Vec<Vec<f32>> = thread::scope(|scope| {
            let handles: Vec<_> = (0..8)
                .map(|i| {
                    let (y, total, barrier) = (&y, &total, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        if i % 2 == 0 {
                            total.eval().unwrap();
                        }
                        y.to_vec::<f32>().unwrap()
                    })
                })
                .collect();
            handles.into_iter().map(|h| h.join().unwrap()).collect()
        });
        assert!(results.windows(2).all(|w| w[0] == w[1]));
    }
}

#[test]
fn threads_build_on_and_drop_shared_chains() {
    let mut x = Array::from([1.0f64; 8]);
    for _ in 0..300 {
        x = &x + 1.0;
    }
    thread::scope(|scope| {
        for i in 0..8 {
            let mut y = x.clone();
            scope.spawn(move || {
                for _ in 0..2000 {
                    y = &y + 1.0;
                }
                assert_eq!((y * i as f64).to_vec::<f64>().unwrap(), [2301.0 * i as f64; 8]);
            });
        }
    });
    drop(x);
}

#[test]
fn threads_assign_to_different_parts_of_one_array() {
    let x = Array::zeros::<i64>([8, 100]);
    thread::scope(|scope| {
        for i in 0..8 {
            let row = x.index(i);
            scope.spawn(move || {
                for round in 0..50 {
                    row.fill(i * 1000 + round).unwrap();
                }
            });
        }
    });
    for i in 0..8 {
        assert_eq!(x.index(i).to_vec::<i64>().unwrap(), [i * 1000 + 49; 100]);
    }
}

#[test]
fn reductions_of_several_sizes_share_a_long_row() {
    use crossover_core::canonical;
    // An odd number of chunks, so that what one reduction leaves ends in the middle of a word of the next.
    let n = 1024 * 2929 + 5;
    let values: Vec<f32> = (0..n).map(|i| ((i * 7919) % 100_003) as f32 / 512.0 - 97.0).collect();
    let wide: Vec<f64> = values.iter().map(|&x| x.into()).collect();
    let single = canonical::row(&values, |a, b| a + b).unwrap();
    let double = canonical::row(&wide, |a, b| a + b).unwrap();
    let least = values.iter().copied().fold(f32::INFINITY, f32::min);
    for threads in [1, 2, 7] {
        let runtime = Runtime::builder().threads(threads).build().unwrap();
        let got = runtime.scope(|| {
            let x = Array::from_slice(&values, [n]);
            let parts =
                [x.sum(()).astype(DType::F64), x.astype(DType::F64).sum(()), x.min(()).astype(DType::F64)];
            Array::stack(&[&parts[0], &parts[1], &parts[2]], 0).to_vec::<f64>().unwrap()
        });
        assert_eq!(got, [single.into(), double, least.into()], "{threads} threads");
    }
}

#[test]
fn columns_larger_than_caches_have_the_same_bits_however_they_are_added_up() {
    use crossover_core::canonical;
    // Threads share whole rows; the last segment and the last tile are not full.
    let (rows, columns) = (4321, 1003);
    let values: Vec<f32> =
        (0..rows * columns).map(|i| ((i * 7919) % 100_003) as f32 / 512.0 - 97.0).collect();
    let column = |of: &dyn Fn(f32) -> f32, c: usize| -> Vec<f32> {
        (0..rows).map(|r| of(values[r * columns + c])).collect()
    };
    let sums: Vec<f32> =
        (0..columns).map(|c| canonical::column(&column(&|x| x, c), |a, b| a + b).unwrap()).collect();
    let squares: Vec<f32> =
        (0..columns).map(|c| canonical::column(&column(&|x| x * x, c), |a, b| a + b).unwrap()).collect();
    let most: Vec<f32> =
        (0..columns).map(|c| column(&|x| x, c).into_iter().fold(f32::MIN, f32::max)).collect();
    for threads in [1, 2, 7] {
        let runtime = Runtime::builder().threads(threads).build().unwrap();
        runtime.scope(|| {
            let x = Array::from_slice(&values, [rows, columns]);
            assert_eq!(x.sum(0).to_vec::<f32>().unwrap(), sums, "{threads} threads");
            assert_eq!((&x * &x).sum(0).to_vec::<f32>().unwrap(), squares, "{threads} threads");
            assert_eq!(x.max(0).to_vec::<f32>().unwrap(), most, "{threads} threads");
            let distance = &x - x.mean(keepdims(0));
            let z = &distance / distance.square().mean(keepdims(0)).sqrt();
            let apart = Runtime::builder().threads(1).simd(Simd::Scalar).fusion(false).build();
            let want = apart.unwrap().scope(|| {
                let x = Array::from_slice(&values, [rows, columns]);
                let distance = &x - x.mean(keepdims(0));
                (&distance / distance.square().mean(keepdims(0)).sqrt()).to_vec::<f32>().unwrap()
            });
            assert!(z.to_vec::<f32>().unwrap() == want, "{threads} threads");
        });
    }
}

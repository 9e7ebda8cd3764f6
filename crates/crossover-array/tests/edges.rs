//! Arrays without axes and without elements through everything, and views of views.

use crossover_array::{
    Array, Complex, DType, Element, Index, Key, Result, eval_all, fft, keepdims, random, s,
};

#[test]
fn arrays_without_axes_go_through_everything() -> Result<()> {
    let x = Array::scalar(4.0f64);
    assert_eq!((&x + &x).item::<f64>()?, 8.0);
    assert_eq!(x.sqrt().item::<f64>()?, 2.0);
    for y in [
        x.sum(()),
        x.prod(()),
        x.min(()),
        x.max(()),
        x.mean(()),
        x.flip(()),
        x.t(),
        x.squeeze(()),
        x.reshape(()),
    ] {
        assert_eq!((y.ndim(), y.item::<f64>()?), (0, 4.0));
    }
    assert_eq!(x.argmax(()).item::<i64>()?, 0);
    assert_eq!((x.var(()).item::<f64>()?, x.std(()).item::<f64>()?), (0.0, 0.0));
    assert!(x.any(()).item::<bool>()? && x.all(()).item::<bool>()?);
    assert_eq!(x.sum(keepdims(())).ndim(), 0);
    assert_eq!(x.slice(s![]).item::<f64>()?, 4.0);
    assert_eq!(x.slice(s![Index::NewAxis]).shape().dims(), [1]);
    assert_eq!(x.slice(s![Index::Ellipsis]).ndim(), 0);
    assert_eq!(x.expand_dims(0).to_vec::<f64>()?, [4.0]);
    assert_eq!(x.broadcast_to([2, 2]).to_vec::<f64>()?, [4.0; 4]);
    assert_eq!(Array::stack(&[&x, &x], 0).to_vec::<f64>()?, [4.0, 4.0]);
    assert_eq!(x.reshape([1, 1]).matmul(&x.reshape([1, 1])).item::<f64>()?, 16.0);
    assert_eq!(x.astype(DType::I8).item::<i8>()?, 4);
    assert_eq!(Array::scalar(true).where_(1, 2).item::<i64>()?, 1);
    for wrong in [x.sum(0), x.index(0), x.softmax(-1), x.cumulative_sum(0), x.layer_norm(None, None, 0.0)] {
        assert!(wrong.check().is_err());
    }
    assert!(Array::concat(&[&x], 0).check().is_err());
    assert!(x.matmul(&x).check().is_err());
    Ok(())
}

#[test]
fn arrays_without_elements_go_through_everything() -> Result<()> {
    let x = Array::zeros::<f32>([0, 3]);
    for y in [
        &x + 1.0,
        x.exp(),
        x.flip(()),
        x.softmax(0),
        x.softmax(1),
        x.log_softmax(1),
        x.standardise(1),
        x.copy(),
    ] {
        assert_eq!((y.shape().dims(), y.to_vec::<f32>()?), (&[0, 3][..], vec![]));
    }
    assert_eq!((&x * &Array::ones::<f32>([1, 3])).size(), 0);
    assert_eq!(x.sum(()).item::<f32>()?, 0.0);
    assert_eq!(x.prod(()).item::<f32>()?, 1.0);
    assert_eq!(x.sum(0).to_vec::<f32>()?, [0.0; 3]);
    assert_eq!(x.sum(1).to_vec::<f32>()?, []);
    assert_eq!(x.max(1).to_vec::<f32>()?, []);
    assert!(x.max(0).check().is_err() && x.argmin(()).check().is_err());
    assert!(x.mean(()).item::<f32>()?.is_nan());
    assert!(x.all(()).item::<bool>()? && !x.any(()).item::<bool>()?);
    assert_eq!(x.any(0).to_vec::<bool>()?, [false; 3]);
    assert_eq!(x.cumulative_sum(0).size(), 0);
    assert_eq!(x.t().shape().dims(), [3, 0]);
    assert_eq!(x.reshape([3, 0, 5]).shape().dims(), [3, 0, 5]);
    assert_eq!(x.slice(s![.., 1]).shape().dims(), [0]);
    assert_eq!(x.slice(s![..; -1, ..2]).shape().dims(), [0, 2]);
    assert!(x.index(0).check().is_err() && x.reshape([0, -1]).check().is_err());
    assert_eq!(x.broadcast_to([2, 0, 3]).size(), 0);
    assert_eq!(Array::concat(&[&x, &Array::ones::<f32>([1, 3])], 0).to_vec::<f32>()?, [1.0; 3]);
    assert_eq!(x.t().matmul(&x).to_vec::<f32>()?, [0.0; 9]);
    assert_eq!(x.matmul(&x.t()).size(), 0);
    assert_eq!(x.take(&Array::zeros::<i64>([0]), 1).shape().dims(), [0, 0]);
    assert!(x.take(&Array::from([0]), 0).check().is_err());
    assert_eq!(x.astype(DType::BF16).dtype(), DType::BF16);
    assert_eq!(random::uniform::<f32>(&Key::new(0), [4, 0]).to_vec::<f32>()?, []);
    assert_eq!(Array::arange(0).to_vec::<i64>()?, []);
    assert_eq!(Array::linspace(0.0, 1.0, 0).size(), 0);
    assert_eq!(Array::eye::<f32>(0).shape().dims(), [0, 0]);
    assert_eq!(Array::from(Vec::<u8>::new()).size(), 0);
    Ok(())
}

#[test]
fn calls_read_lazy_constants() -> Result<()> {
    let ones = Array::ones::<i64>([2, 2]);
    let results = [
        ones.index(0).cumulative_sum(0),
        ones.matmul(&Array::from([[1i64, 0], [0, 1]])).index(0).cumulative_sum(0),
        Array::from([1i64, 2]).take(&Array::from([0i64, 1]), 0),
        Array::from([1i64, 2]).take(&Array::zeros::<i64>([2]), 0) * Array::from([1i64, 2]),
        Array::stack(&[&Array::scalar(1i64), &Array::from([1i64, 2]).take(&Array::scalar(1), 0)], 0),
    ];
    let values: Vec<_> = results.iter().map(|x| x.to_vec::<i64>().map_err(|e| e.to_string())).collect();
    assert_eq!(values, vec![Ok(vec![1, 2]); 5]);
    Ok(())
}

/// Values of `np.arange(24).reshape(2, 3, 4)` seen through chains of views.
#[test]
fn views_of_views_follow_numpy() -> Result<()> {
    let x = Array::arange(24).reshape([2, 3, 4]);
    let cases: [(Array, &[usize], &[i64]); 12] = [
        (
            x.t(),
            &[4, 3, 2],
            &[0, 12, 4, 16, 8, 20, 1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23],
        ),
        (x.slice(s![..; -1, 1.., ..; 2]), &[2, 2, 2], &[16, 18, 20, 22, 4, 6, 8, 10]),
        (x.slice(s![1, ..; -2, ..; -1]), &[2, 4], &[23, 22, 21, 20, 15, 14, 13, 12]),
        (x.slice(s![.., .., -1]).t().flip(0), &[3, 2], &[11, 23, 7, 19, 3, 15]),
        (x.permute([2, 0, 1]).slice(s![1..3, ..; -1, 0]), &[2, 2], &[13, 1, 14, 2]),
        (
            x.flip(()).slice(s![0]).slice(s![..; -1]),
            &[3, 4],
            &[15, 14, 13, 12, 19, 18, 17, 16, 23, 22, 21, 20],
        ),
        (x.flip(2).reshape([6, 4]).slice(s![..; 5]), &[2, 4], &[3, 2, 1, 0, 23, 22, 21, 20]),
        (x.t().reshape([8, 3]).slice(s![7..2; -2, 1]), &[3], &[11, 10, 9]),
        (x.slice(s![0, 0]).broadcast_to([2, 4]).slice(s![.., ..; -3]), &[2, 2], &[3, 0, 3, 0]),
        (
            x.slice(s![1, 2]).expand_dims(-1).broadcast_to([4, 2]).t(),
            &[2, 4],
            &[20, 21, 22, 23, 20, 21, 22, 23],
        ),
        (x.slice(s![-1, -2..100, -100..2]).swap_axes(0, 1), &[2, 2], &[16, 20, 17, 21]),
        (x.slice(s![1.., ..0]).squeeze(0), &[0, 4], &[]),
    ];
    for (i, (array, shape, values)) in cases.into_iter().enumerate() {
        assert_eq!(array.shape().dims(), shape, "case {i}");
        assert_eq!(array.to_vec::<i64>()?, values, "case {i}");
        // The same elements through a kernel, and through a copy.
        assert_eq!(
            (&array + 1).to_vec::<i64>()?,
            values.iter().map(|v| v + 1).collect::<Vec<_>>(),
            "case {i}"
        );
        assert_eq!(array.copy().to_vec::<i64>()?, values, "case {i}");
        assert_eq!(array.sum(()).item::<i64>()?, values.iter().sum::<i64>(), "case {i}");
    }
    Ok(())
}

#[test]
fn random_numbers_are_a_function_of_key_and_position() -> Result<()> {
    let key = Key::new(42);
    let long = random::uniform::<f32>(&key, [1000]).to_vec::<f32>()?;
    assert_eq!(random::uniform::<f32>(&key, [10, 50]).to_vec::<f32>()?, long[..500]);
    assert_ne!(random::uniform::<f32>(&Key::new(43), [1000]).to_vec::<f32>()?, long);
    let normal = random::normal::<f64>(&key, [100_000]);
    assert!(normal.mean(()).item::<f64>()?.abs() < 0.02);
    assert!((normal.var(()).item::<f64>()? - 1.0).abs() < 0.02);
    for dtype in [DType::F16, DType::BF16] {
        let x = random::uniform_dtype(&key, [10_000], dtype);
        assert!(x.less(1).all(()).item::<bool>()?, "{dtype} reaches 1");
    }
    Ok(())
}

#[test]
fn the_summary_starts_above_a_thousand_elements() {
    assert!(!Array::arange(1000).to_string().contains("..."));
    assert!(Array::arange(1001).to_string().contains("..."));
}

#[test]
fn frequencies_of_two_real_points_are_positive() -> Result<()> {
    assert_eq!(fft::rfftfreq(2, 1.0).to_vec::<f64>()?, [0.0, 0.5]);
    assert_eq!(fft::fftfreq(2, 1.0).to_vec::<f64>()?, [0.0, -0.5]);
    Ok(())
}

#[test]
fn complex_numbers_are_true_unless_both_parts_are_zero() -> Result<()> {
    let parts = [(0.0, 0.0), (-0.0, 0.0), (1.0, 0.0), (0.0, -2.0), (f64::NAN, 0.0)];
    let x = Array::from(parts.map(|(re, im)| Complex::new(re, im)));
    assert_eq!(x.astype(DType::Bool).to_vec::<bool>()?, [false, false, true, true, true]);
    Ok(())
}

/// Elements of two arrays in turn, each evaluated alone.
fn in_turn<T: Element>(a: &Array, b: &Array) -> Result<Vec<T>> {
    let (a, b): (Vec<T>, Vec<T>) = (a.to_vec()?, b.to_vec()?);
    Ok(a.into_iter().zip(b).flat_map(|(a, b)| [a, b]).collect())
}

#[test]
fn values_written_in_turn_fill_what_lies_between() -> Result<()> {
    fn check<T: Element>(dtype: DType) -> Result<()> {
        for shape in [vec![1], vec![7], vec![3, 16], vec![5, 255], vec![2, 3, 1000], vec![9000], vec![0, 4]] {
            let n: usize = shape.iter().product();
            let x = Array::arange(n as i64).astype(dtype).reshape(shape.clone());
            let one = Array::ones::<i64>([1]).astype(dtype);
            let (more, twice) = (&x + &one, &x + &x);
            let same = x.expand_dims(-1).broadcast_to([shape.clone(), vec![1]].concat()).squeeze(-1);
            let pairs = [
                (more.clone(), twice.clone()),
                // The second is known before the first, and is part of it.
                (&twice + &more, twice.clone()),
                (more.clone(), more.clone()),
                (x.clone(), same),
                // One element for all.
                (one.broadcast_to(shape.clone()), more.clone()),
                (more.flip(-1), twice.flip(-1)),
            ];
            for (i, (a, b)) in pairs.iter().enumerate() {
                let want: Vec<T> = in_turn(a, b)?;
                let got: Vec<T> = Array::stack(&[a, b], -1).to_vec()?;
                assert_eq!(got, want, "pair {i} of {dtype}{shape:?}");
                // With another use of both, and where the first stands behind the second.
                let stacked = Array::stack(&[b, a], -1);
                let sum = a + b;
                eval_all(&[&stacked, &sum])?;
                assert_eq!(stacked.to_vec::<T>()?, in_turn::<T>(b, a)?, "pair {i} of {dtype}{shape:?}");
            }
        }
        Ok(())
    }
    check::<u8>(DType::U8)?;
    check::<i16>(DType::I16)?;
    check::<f32>(DType::F32)?;
    check::<f64>(DType::F64)?;
    check::<Complex<f64>>(DType::C128)
}

//! Sorting, searching, sets and rearrangement at their edges.
#![allow(clippy::unwrap_used)]

use crossover_array::{Array, Complex, DType, Padding, Result, Side, bf16, s};

#[test]
fn sorts_put_nan_last_and_keep_equal_elements_in_order() -> Result<()> {
    let odd = f32::from_bits(0xffc0_0001);
    let x = Array::from([0.0f32, odd, -0.0, 5.0, f32::NAN, f32::NEG_INFINITY, -0.0]);
    let bits =
        |x: Array| -> Result<Vec<u32>> { Ok(x.to_vec::<f32>()?.iter().map(|v| v.to_bits()).collect()) };
    let [zero, minus, five] = [0.0f32, -0.0, 5.0].map(f32::to_bits);
    let (low, nan) = (f32::NEG_INFINITY.to_bits(), f32::NAN.to_bits());
    assert_eq!(bits(x.sort(0))?, [low, zero, minus, minus, five, 0xffc0_0001, nan]);
    assert_eq!(bits(x.sort_descending(0))?, [five, zero, minus, minus, low, 0xffc0_0001, nan]);
    assert_eq!(x.argsort(0).to_vec::<i64>()?, [5, 0, 2, 6, 3, 1, 4]);
    assert_eq!(x.argsort_descending(0).to_vec::<i64>()?, [3, 0, 2, 6, 5, 1, 4]);
    Ok(())
}

#[test]
fn a_sort_is_what_its_indices_take() -> Result<()> {
    for dtype in DType::ALL {
        // Neighbours collide in every dtype, and NaN, infinities and signs occur where there are any.
        let wide = (Array::arange(600) * 7919 % 1000 - 500).astype(DType::F64);
        let x = if dtype.is_float() {
            (1.0f64 / (&wide / 50.0).round()).astype(dtype)
        } else {
            wide.astype(dtype)
        };
        let x = x.reshape([3, 200]).t();
        let sorted = x.sort(0);
        let taken = x.take_along_axis(&x.argsort(0), 0);
        assert_eq!(sorted.to_string(), taken.to_string(), "{dtype}");
        let (values, indices) = x.top_k(5, 0);
        assert_eq!(values.shape().dims(), [5, 3]);
        assert_eq!(values.to_string(), x.take_along_axis(&indices, 0).to_string(), "{dtype}");
    }
    Ok(())
}

#[test]
fn sets_of_nothing_and_of_one() -> Result<()> {
    let nothing = Array::from_vec(Vec::<f32>::new(), [0, 2]).unique_all()?;
    assert_eq!(nothing.values.shape().dims(), [0]);
    assert_eq!(nothing.counts.shape().dims(), [0]);
    assert_eq!(nothing.inverse.shape().dims(), [0, 2]);
    let one = Array::scalar(7u8).unique_all()?;
    assert_eq!(one.values.to_vec::<u8>()?, [7]);
    assert_eq!(one.counts.to_vec::<i64>()?, [1]);
    assert_eq!(one.inverse.shape().dims(), []);
    Ok(())
}

#[test]
fn unique_parts_fit_together() -> Result<()> {
    let x = (Array::arange(5000) * 7919 % 613).astype(DType::I16).reshape([50, 100]).t();
    let unique = x.unique_all()?;
    assert_eq!(unique.values.to_vec::<i16>()?, (0..613).collect::<Vec<i16>>());
    assert_eq!(unique.counts.sum(()).item::<i64>()?, 5000);
    assert_eq!(unique.values.take(&unique.inverse, 0).to_vec::<i16>()?, x.to_vec::<i16>()?);
    assert_eq!(x.flatten().take(&unique.indices, 0).to_vec::<i16>()?, unique.values.to_vec::<i16>()?);
    let flat = x.to_vec::<i16>()?;
    let first: Vec<i64> = (0..613).map(|v| flat.iter().position(|&w| w == v).unwrap() as i64).collect();
    assert_eq!(unique.indices.to_vec::<i64>()?, first);
    let counted: Vec<i64> = (0..613).map(|v| flat.iter().filter(|&&w| w == v).count() as i64).collect();
    assert_eq!(unique.counts.to_vec::<i64>()?, counted);
    let (values, counts) = x.unique_counts()?;
    assert_eq!(values.to_vec::<i16>()?, unique.values.to_vec::<i16>()?);
    assert_eq!(counts.to_vec::<i64>()?, counted);
    let nans = Array::from([f64::NAN, 1.0, f64::NAN]).unique_all()?;
    assert_eq!(nans.counts.to_vec::<i64>()?, [1, 1, 1]);
    Ok(())
}

#[test]
fn searches_promote_and_find_nan_at_the_end() -> Result<()> {
    let sorted = Array::from([1i32, 3, 3, 5]);
    assert_eq!(sorted.searchsorted(Array::from([2.5f32, f32::NAN]), Side::Left).to_vec::<i64>()?, [1, 4]);
    assert_eq!(sorted.searchsorted(3, Side::Right).item::<i64>()?, 3);
    let complex = Array::from([Complex::new(1.0f32, 2.0), Complex::new(1.0, 3.0)]);
    assert_eq!(complex.searchsorted(Complex::new(1.0f32, 2.5), Side::Left).item::<i64>()?, 1);
    assert!(Array::from([[1]]).searchsorted(1, Side::Left).check().is_err());
    Ok(())
}

#[test]
fn isin_knows_zeros_nan_and_nothing() -> Result<()> {
    let x = Array::from([0.0f32, f32::NAN, 3.0]);
    assert_eq!(x.isin(&Array::from([-0.0f32, f32::NAN])).to_vec::<bool>()?, [true, false, false]);
    let nothing = Array::from_vec(Vec::<i64>::new(), [0]);
    assert_eq!(x.isin(&nothing).to_vec::<bool>()?, [false; 3]);
    assert_eq!(nothing.isin(&x).to_vec::<bool>()?, []);
    assert!(Array::scalar(3u8).isin(&Array::from([[1i64, 3]])).item::<bool>()?);
    Ok(())
}

#[test]
fn histograms_include_the_last_edge_and_nothing_outside() -> Result<()> {
    let x = Array::from([0.0, 1.0, 1.0, 2.0, 3.0, f64::NAN, -1.0, 9.0]);
    let counts = x.histogram_edges(&Array::from([0, 1, 2, 3]));
    assert_eq!(counts.to_vec::<i64>()?, [1, 2, 2]);
    let same = Array::from([4, 4, 4]).histogram(2)?;
    assert_eq!(same.0.to_vec::<i64>()?, [0, 3]);
    assert_eq!(same.1.to_vec::<f64>()?, [3.5, 4.0, 4.5]);
    let none = Array::from_vec(Vec::<bf16>::new(), [0]).histogram(3)?;
    assert_eq!(none.0.to_vec::<i64>()?, [0, 0, 0]);
    assert!(x.histogram(3).is_err()); // NaN has no range
    assert!(x.histogram_between(0, 0.0, 1.0).is_err());
    assert!(x.histogram_between(3, 2.0, 1.0).is_err());
    assert!(x.histogram_edges(&Array::from([1.0])).check().is_err());
    assert!(Array::from([Complex::new(1.0f32, 0.0)]).histogram(3).is_err());
    Ok(())
}

#[test]
fn counts_reject_what_is_no_bin() -> Result<()> {
    assert_eq!(Array::from_vec(Vec::<u8>::new(), [0]).bincount(2).to_vec::<i64>()?, [0, 0]);
    assert!(Array::from([u64::MAX]).bincount(0).check().is_err());
    assert!(Array::from([1.0]).bincount(0).check().is_err());
    assert!(Array::from([1, 2]).bincount_weighted(&Array::from([1.0]), 0).check().is_err());
    Ok(())
}

#[test]
fn rolls_wrap_any_shift() -> Result<()> {
    let x = Array::arange(5);
    for shift in -12i64..12 {
        let want: Vec<i64> = (0..5).map(|i| (i - shift).rem_euclid(5)).collect();
        assert_eq!(x.roll(shift, 0).to_vec::<i64>()?, want, "{shift}");
        assert_eq!(x.roll(shift, ()).to_vec::<i64>()?, want, "{shift}");
    }
    assert_eq!(x.roll(i64::MIN, 0).size(), 5);
    let square = Array::arange(6).reshape([2, 3]);
    assert_eq!(square.roll(1, [0, 1]).to_vec::<i64>()?, [5, 3, 4, 2, 0, 1]);
    assert_eq!(Array::zeros::<f32>([0, 2]).roll(1, 0).shape().dims(), [0, 2]);
    assert_eq!(Array::scalar(3).roll(1, ()).item::<i32>()?, 3);
    assert!(x.roll(1, 1).check().is_err());
    assert_eq!(square.roll([1, -1], [0, 1]).to_vec::<i64>()?, [4, 5, 3, 1, 2, 0]);
    assert_eq!(square.roll([1, 1], [1, 1]).to_vec::<i64>()?, [1, 2, 0, 4, 5, 3]);
    assert_eq!(square.roll([2, 3], ()).to_vec::<i64>()?, [1, 2, 3, 4, 5, 0]);
    assert!(square.roll([1, 2, 3], [0, 1]).check().is_err());
    Ok(())
}

#[test]
fn repeats_tiles_and_pads_of_strided_arrays() -> Result<()> {
    let x = Array::from([[1, 2], [3, 4], [5, 6]]).t();
    assert_eq!(x.repeat(2, Some(0)).to_vec::<i32>()?, [1, 3, 5, 1, 3, 5, 2, 4, 6, 2, 4, 6]);
    assert_eq!(x.repeat(0, None).shape().dims(), [0]);
    assert_eq!(x.tile(&[2, 1, 2]).shape().dims(), [2, 2, 6]);
    assert_eq!(x.tile(&[2]).to_vec::<i32>()?, [1, 3, 5, 1, 3, 5, 2, 4, 6, 2, 4, 6]);
    assert_eq!(x.tile(&[]).to_vec::<i32>()?, x.to_vec::<i32>()?);
    let padded = x.pad(&[(1, 0), (0, 2)], Padding::Reflect);
    assert_eq!(padded.to_vec::<i32>()?, [2, 4, 6, 4, 2, 1, 3, 5, 3, 1, 2, 4, 6, 4, 2]);
    assert_eq!(Array::scalar(1).pad(&[(3, 3)], Padding::Edge).ndim(), 0);
    assert!(x.pad(&[(1, 1); 3], Padding::Edge).check().is_err());
    assert!(x.repeat(usize::MAX, Some(0)).check().is_err());
    assert!(x.repeat_each(&Array::from([1, -1]), 0).check().is_err());
    assert_eq!(x.repeat_each(&Array::from([0, 2]), 0).to_vec::<i32>()?, [2, 4, 6, 2, 4, 6]);
    Ok(())
}

#[test]
fn triangles_of_batches_take_any_offset() -> Result<()> {
    let x = Array::ones::<i32>([2, 2, 3]);
    assert_eq!(x.tril(i64::MIN).sum(()).item::<i64>()?, 0);
    assert_eq!(x.tril(i64::MAX).sum(()).item::<i64>()?, 12);
    assert_eq!(x.triu(-1).to_vec::<i32>()?, [1; 12]);
    assert_eq!(x.triu(1).to_vec::<i32>()?, [0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1]);
    assert!(Array::from([1]).tril(0).check().is_err());
    assert_eq!(
        Array::from([[true, true], [true, true]]).tril(0).to_vec::<bool>()?,
        [true, false, true, true]
    );
    Ok(())
}

#[test]
fn views_of_several_arrays_share_their_storage() -> Result<()> {
    let x = Array::arange(6).reshape([2, 3]);
    let columns = x.unstack(-1)?;
    columns[2].fill(9)?;
    assert_eq!(x.to_vec::<i64>()?, [0, 1, 9, 3, 4, 9]);
    assert_eq!(x.move_axis(-1, 0).shape().dims(), [3, 2]);
    assert!(x.move_axis(0, 2).check().is_err());
    let deep = Array::zeros::<f32>([2, 3, 4, 5]);
    assert_eq!(deep.move_axis([0, 1], [-1, -2]).shape().dims(), [4, 5, 3, 2]);
    assert_eq!(deep.move_axis([3, 0], [0, 2]).shape().dims(), [5, 3, 2, 4]);
    assert_eq!(deep.move_axis((), ()).shape().dims(), [2, 3, 4, 5]);
    assert!(deep.move_axis([0, 1], [0]).check().is_err() && deep.move_axis([0, -4], [0, 1]).check().is_err());
    assert!(x.unstack(2).is_err());
    assert!(Array::broadcast_arrays(&[&x, &Array::arange(2)]).is_err());
    assert!(Array::meshgrid(&[&x]).is_err());
    assert_eq!(Array::meshgrid(&[])?.len(), 0);
    let lines = [Array::arange(2), Array::arange(3), Array::arange(4)];
    let grid = Array::meshgrid_xy(&[&lines[0], &lines[1], &lines[2]])?;
    assert!(grid.iter().all(|x| x.shape().dims() == [3, 2, 4]));
    assert_eq!(grid[1].slice(s![.., 0, 0]).to_vec::<i64>()?, [0, 1, 2]);
    assert_eq!(Array::meshgrid_xy(&[&lines[2]])?[0].shape().dims(), [4]);
    Ok(())
}

#[test]
fn searches_in_long_rising_lines_find_what_counting_finds() -> Result<()> {
    // Long enough to be searched by ranks; with ties, infinities and NaN at the end.
    for length in [63usize, 64, 65, 1000, 4097] {
        let mut line: Vec<f32> = (0..length).map(|i| ((i * i) % 997) as f32 - 300.0).collect();
        line[0] = f32::NEG_INFINITY;
        line[length / 2] = f32::INFINITY;
        line[length - 1] = f32::NAN;
        let sorted = Array::from_vec(line, [length]).sort(0);
        let known = sorted.to_vec::<f32>()?;
        let wanted: Vec<f32> = (0..2 * length).map(|i| ((i * 7) % 1500) as f32 / 1.5 - 320.0).collect();
        let values = Array::from_vec(wanted.clone(), [2 * length]);
        let before =
            |v: f32, equal: bool| known.iter().filter(|&&x| x < v || (equal && x == v)).count() as i64;
        let left = sorted.searchsorted(&values, Side::Left).to_vec::<i64>()?;
        let right = sorted.searchsorted(values.flip(0), Side::Right).flip(0).to_vec::<i64>()?;
        for (i, &v) in wanted.iter().enumerate() {
            assert_eq!((left[i], right[i]), (before(v, false), before(v, true)), "{v} in {length}");
        }
        let nan = sorted.searchsorted(f32::NAN, Side::Left).item::<i64>()?;
        assert_eq!(nan, length as i64 - 1);
    }
    Ok(())
}

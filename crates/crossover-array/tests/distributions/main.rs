//! Random numbers have the distributions they say: goodness of fit with fixed keys.
//!
//! A right sampler fails one of these with probability 1e-4 for a new key; the keys here are fixed, so a failure means
//! that numbers changed. Every wrong distribution named at the end is noticed.

mod statistics;

use crossover_array::{Array, DType, Key, Result, Runtime, random};
use statistics::{
    chi_square, chi_square_rounded, counts, independence, kolmogorov, log_gamma, lower_gamma, moments,
};

/// Smaller probabilities than this are no accident.
const LEAST: f64 = 1e-4;
const MANY: usize = 200_000;

fn floats(x: &Array) -> Result<Vec<f64>> {
    x.astype(DType::F64).to_vec::<f64>()
}

fn normal_cumulative(x: f64) -> f64 {
    let half = 0.5 * lower_gamma(0.5, x * x / 2.0);
    if x < 0.0 { 0.5 - half } else { 0.5 + half }
}

fn poisson_probability(k: usize, mean: f64) -> f64 {
    (k as f64 * mean.ln() - mean - log_gamma(k as f64 + 1.0)).exp()
}

#[track_caller]
fn fits(p: f64, what: &str) {
    assert!(p > LEAST, "{what}: {p}");
}

#[test]
fn continuous_numbers_fit_their_distributions() -> Result<()> {
    let key = Key::new(2024);
    for dtype in [DType::F32, DType::F64] {
        let uniform = floats(&random::uniform_dtype(&key, [MANY], dtype))?;
        assert!(uniform.iter().all(|x| (0.0..1.0).contains(x)));
        fits(kolmogorov(uniform, |x| x), "uniform");
        let normal = floats(&random::normal_dtype(&key, [MANY], dtype))?;
        let (mean, variance) = moments(&normal);
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02);
        fits(kolmogorov(normal, normal_cumulative), "normal");
        let exponential = floats(&random::exponential_dtype(&key, [MANY], dtype))?;
        assert!(exponential.iter().all(|x| *x >= 0.0));
        fits(kolmogorov(exponential, |x| 1.0 - (-x).exp()), "exponential");
        for alpha in [0.05f64, 0.5, 1.0, 1.5, 3.0, 30.0, 1000.0] {
            // At 0.05 one number in 175 is below the smallest f32, and rounds to zero.
            if alpha < 0.1 && dtype == DType::F32 {
                continue;
            }
            let gamma = floats(&random::gamma_dtype(&key, [MANY], alpha, dtype))?;
            let (mean, variance) = moments(&gamma);
            let deviation = alpha.sqrt();
            assert!((mean - alpha).abs() < 0.02 * deviation, "gamma {alpha}: mean {mean}");
            assert!((variance / alpha - 1.0).abs() < 0.1, "gamma {alpha}: variance {variance}");
            fits(kolmogorov(gamma, |x| lower_gamma(alpha, x)), &format!("gamma {alpha} {dtype}"));
        }
    }
    Ok(())
}

/// The finite values of a 16-bit dtype in ascending order, zero once.
fn grid(dtype: DType) -> Result<Vec<f64>> {
    let bits: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let mut values = floats(&Array::from_bytes(&bits, dtype, [1 << 16], None, 0))?;
    values.retain(|x| x.is_finite() && x.to_bits() != (-0.0f64).to_bits());
    values.sort_by(f64::total_cmp);
    Ok(values)
}

#[test]
fn numbers_of_16_bits_fit_the_rounded_distributions() -> Result<()> {
    let key = Key::new(2024);
    for (dtype, bits) in [(DType::F16, 11), (DType::BF16, 8)] {
        let grid = grid(dtype)?;
        // As many bits as the dtype holds, every value equally probable.
        let length = 1usize << bits;
        let uniform = floats(&random::uniform_dtype(&key, [MANY], dtype))?;
        let whole: Vec<i64> = uniform.iter().map(|x| (x * length as f64) as i64).collect();
        assert!(uniform.iter().zip(&whole).all(|(x, k)| *x == *k as f64 / length as f64));
        fits_evenly(&whole, length as i64);
        let normal = floats(&random::normal_dtype(&key, [MANY], dtype))?;
        fits(chi_square_rounded(&normal, &grid, normal_cumulative), &format!("normal {dtype}"));
        let exponential = floats(&random::exponential_dtype(&key, [MANY], dtype))?;
        let cumulative = |x: f64| 1.0 - (-x.max(0.0)).exp();
        fits(chi_square_rounded(&exponential, &grid, cumulative), &format!("exponential {dtype}"));
        for alpha in [0.5f64, 1.0, 3.0, 30.0] {
            let gamma = floats(&random::gamma_dtype(&key, [MANY], alpha, dtype))?;
            let p = chi_square_rounded(&gamma, &grid, |x| lower_gamma(alpha, x));
            fits(p, &format!("gamma {alpha} {dtype}"));
        }
        // Numbers of fewer bits are noticed: rounded twice, or made of uniform numbers of the dtype itself.
        let wrong = if dtype == DType::F16 {
            random::normal_dtype(&key, [MANY], DType::BF16)
        } else {
            let [radius, angle] = [key.fold(0), key.fold(1)]
                .map(|key| random::uniform_dtype(&key, [MANY], dtype).astype(DType::F64));
            let radius: Array = ((-radius + 1.0).log() * -2.0).sqrt();
            (radius * (angle * std::f64::consts::TAU).cos()).astype(dtype)
        };
        let wrong = floats(&wrong.astype(dtype))?;
        assert!(chi_square_rounded(&wrong, &grid, normal_cumulative) < 1e-6, "{dtype}");
    }
    Ok(())
}

#[test]
fn keys_that_are_derived_have_independent_streams() -> Result<()> {
    let draw = |key: &Key| floats(&random::uniform::<f64>(key, [MANY]));
    let key = Key::new(2024);
    let (left, right) = key.split();
    let all = [
        ("the key", key),
        ("the next seed", Key::new(2025)),
        ("split().0", left),
        ("split().1", right),
        ("split_n(3)[2]", key.split_n(3)?[2]),
        ("fold(0)", key.fold(0)),
        ("fold(1)", key.fold(1)),
        ("fold(2^40)", key.fold(1 << 40)),
        ("split().0.split().0", left.split().0),
        ("split().0.fold(0)", left.fold(0)),
        ("fold(0).split().0", key.fold(0).split().0),
    ];
    let streams: Vec<Vec<f64>> = all.iter().map(|(_, key)| draw(key)).collect::<Result<_>>()?;
    for (i, first) in streams.iter().enumerate() {
        for (j, second) in streams.iter().enumerate() {
            let what = format!("{} against {}", all[i].0, all[j].0);
            if i < j {
                fits(independence(first, second), &what);
            }
            // One stream moved against the other, and against itself.
            fits(independence(&first[1..], second), &format!("{what}, one further"));
            fits(independence(&first[4..], second), &format!("{what}, a block further"));
        }
    }
    // The first numbers of many derived keys are a sample of their own.
    let firsts = |keys: Vec<Key>| -> Result<Vec<f64>> {
        keys.iter().map(|key| random::uniform::<f64>(key, [1]).item::<f64>()).collect()
    };
    let split = firsts(key.split_n(20_000)?)?;
    let folded = firsts((0..20_000).map(|number| key.fold(number)).collect())?;
    fits(independence(&split, &folded), "split against fold");
    fits(independence(&split[1..], &split), "neighbours of split");
    fits(independence(&folded[1..], &folded), "neighbours of fold");
    fits(kolmogorov(split, |x| x), "split");
    fits(kolmogorov(folded, |x| x), "fold");
    // A stream that depends on another would be noticed.
    assert!(independence(&streams[0], &streams[0]) < 1e-6);
    let echo: Vec<f64> = streams[0].iter().zip(&streams[1]).map(|(a, b)| (0.05 * a + b).fract()).collect();
    assert!(independence(&streams[1], &echo) < 1e-6);
    Ok(())
}

#[test]
fn derived_keys_are_all_different() -> Result<()> {
    let key = Key::new(1);
    let mut keys: std::collections::HashSet<Key> = key.split_n(100_000)?.into_iter().collect();
    keys.extend((0..100_000).map(|number| key.fold(number)));
    keys.insert(key);
    assert_eq!(keys.len(), 200_001);
    Ok(())
}

#[test]
fn poisson_numbers_fit_their_distribution() -> Result<()> {
    let key = Key::new(7);
    for mean in [0.01f64, 0.7, 4.0, 9.99, 10.0, 15.5, 100.0, 5000.0] {
        let drawn = random::poisson::<i64>(&key, [MANY], mean).to_vec::<i64>()?;
        let length = (mean + 12.0 * mean.sqrt() + 12.0) as usize;
        let probabilities: Vec<f64> = (0..length).map(|k| poisson_probability(k, mean)).collect();
        let (average, variance) = moments(&drawn.iter().map(|&k| k as f64).collect::<Vec<_>>());
        assert!((average - mean).abs() < 0.015 * mean.sqrt(), "mean {mean}: {average}");
        assert!((variance / mean - 1.0).abs() < 0.06, "mean {mean}: variance {variance}");
        fits(chi_square(&counts(drawn, length), &probabilities), &format!("poisson {mean}"));
    }
    Ok(())
}

#[test]
fn integers_are_equally_probable_in_any_range() -> Result<()> {
    let key = Key::new(3);
    for n in [1i64, 2, 3, 6, 10, 100, 127] {
        let drawn = random::integers(&key, [MANY], 0..n).to_vec::<i64>()?;
        fits_evenly(&drawn, n);
        let drawn = random::integers_dtype(&key, [MANY], 5, n as i128 + 5, DType::U8);
        let drawn: Vec<i64> = drawn.to_vec::<u8>()?.into_iter().map(|v| v as i64 - 5).collect();
        fits_evenly(&drawn, n);
    }
    // Every dtype over all of its range, and ranges where a remainder of 64 bits would prefer the lower half.
    for dtype in
        [DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64]
    {
        let bits = 8 * dtype.size() as u32;
        let low = if dtype.is_signed_int() { -(1i128 << (bits - 1)) } else { 0 };
        for length in [1i128 << bits, 3 << (bits - 2), (1 << (bits - 1)) + 1] {
            let drawn = floats(&random::integers_dtype(&key, [MANY], low, low + length, dtype))?;
            let unit: Vec<i64> = drawn
                .iter()
                .map(|v| ((v - low as f64) / length as f64 * 64.0).floor().min(63.0) as i64)
                .collect();
            // Cells of an eighth of a byte's range differ by whole values; a coarser count is exact enough.
            if bits > 8 {
                fits_evenly(&unit, 64);
            }
        }
    }
    let all = random::integers::<i8>(&key, [MANY], ..).to_vec::<i8>()?;
    fits_evenly(&all.iter().map(|&v| v as i64 + 128).collect::<Vec<_>>(), 256);
    let extreme = random::integers(&key, [50], u64::MAX..=u64::MAX).to_vec::<u64>()?;
    assert_eq!(extreme, [u64::MAX; 50]);
    Ok(())
}

#[track_caller]
fn fits_evenly(drawn: &[i64], n: i64) {
    if n == 1 {
        return assert!(drawn.iter().all(|&v| v == 0));
    }
    let counts = counts(drawn.iter().copied(), n as usize);
    fits(chi_square(&counts, &vec![1.0 / n as f64; n as usize]), &format!("integers below {n}"));
}

#[test]
fn integers_follow_their_definition() -> Result<()> {
    let (key, words) = (Key::new(9), 4u32);
    let bits =
        |stream: u32| (0..1000u64).map(move |i| crossover_core::philox::word(i, stream, [9, 0]) as u128);
    let streams: Vec<Vec<u128>> = (0..words).map(|s| bits(s).collect()).collect();
    for count in [3u128, 1000, 1 << 32, (1 << 32) + 1, 3 << 62, u64::MAX as u128] {
        let used = if count <= 1 << 32 { 3 } else { 4 };
        let drawn = random::integers(&key, [1000], 0..=(count - 1) as u64).to_vec::<u64>()?;
        for (i, value) in drawn.into_iter().enumerate() {
            // Long multiplication in 128 bits, word by word.
            let mut carry = 0u128;
            for stream in (0..used).rev() {
                carry = (streams[stream][i] * count + carry) >> 32;
            }
            assert_eq!(value as u128, carry, "{count}");
        }
    }
    Ok(())
}

#[test]
fn truths_hold_as_often_as_they_should() -> Result<()> {
    let key = Key::new(11);
    for p in [0.0, 0.001, 0.3, 0.5, 0.9, 1.0] {
        let held = random::bernoulli(&key, [MANY], p).sum(()).item::<i64>()? as f64;
        let (mean, deviation) = (p * MANY as f64, (p * (1.0 - p) * MANY as f64).sqrt());
        assert!((held - mean).abs() <= 4.0 * deviation, "{p}: {held}");
    }
    let p = Array::from([0.0f32, 1.0]);
    let rows = random::bernoulli(&key, [1000, 2], &p).to_vec::<bool>()?;
    assert!(rows.chunks(2).all(|row| row == [false, true]));
    let nan = random::bernoulli(&key, [100], Array::scalar(f64::NAN));
    assert!(!nan.any(()).item::<bool>()?);
    Ok(())
}

#[test]
fn categories_come_in_proportion() -> Result<()> {
    let key = Key::new(5);
    let weights = [0.5, 0.0, 0.2, 0.01, 0.29];
    let logits = Array::from(weights).log() + 3.0;
    for dtype in [DType::F32, DType::F64] {
        let drawn =
            random::categorical(&key, &logits.astype(dtype).broadcast_to([MANY, 5]), 1).to_vec::<i64>()?;
        let counts = counts(drawn, 5);
        assert_eq!(counts[1], 0);
        let kept: Vec<usize> = vec![0, 2, 3, 4];
        let counts: Vec<u64> = kept.iter().map(|&i| counts[i]).collect();
        let weights: Vec<f64> = kept.iter().map(|&i| weights[i]).collect();
        fits(chi_square(&counts, &weights), "categorical");
    }
    let columns = random::categorical(&key, &logits.expand_dims(1).broadcast_to([5, 7]), 0);
    assert_eq!(columns.shape().dims(), [7]);
    assert!(random::categorical(&key, &Array::zeros::<f32>([3, 0]), 1).check().is_err());
    assert!(random::categorical(&key, &Array::scalar(1.0f32), 0).check().is_err());
    Ok(())
}

#[test]
fn choices_come_in_proportion() -> Result<()> {
    let key = Key::new(13);
    for n in [1usize, 2, 5, 31, 32, 33, 100] {
        let weights: Vec<f64> =
            (0..n).map(|i| ((i * 7) % 5) as f64 + if n < 3 { 1.0 } else { 0.0 }).collect();
        let total: f64 = weights.iter().sum();
        let (values, p) = (Array::arange(n as i64), Array::from(weights.clone()));
        let drawn = random::choice(&key, [MANY], &values, true, Some(&p)).to_vec::<i64>()?;
        let counts = counts(drawn, n);
        assert!(weights.iter().zip(&counts).all(|(w, c)| *w > 0.0 || *c == 0), "{n}");
        if n > 1 {
            let shares: Vec<f64> = weights.iter().map(|w| w / total).collect();
            fits(chi_square(&counts, &shares), &format!("choice of {n}"));
        }
    }
    let even = random::choice(&key, [MANY], &Array::arange(9), true, None).to_vec::<i64>()?;
    fits_evenly(&even, 9);
    Ok(())
}

#[test]
fn choices_without_replacement_are_a_race() -> Result<()> {
    let weights = [1.0, 2.0, 3.0, 0.0, 4.0];
    let (values, p) = (Array::arange(5), Array::from(weights));
    let mut pairs = [0u64; 25];
    for seed in 0..20_000 {
        let drawn = random::choice(&Key::new(seed), [2], &values, false, Some(&p)).to_vec::<i64>()?;
        assert_ne!(drawn[0], drawn[1]);
        pairs[(drawn[0] * 5 + drawn[1]) as usize] += 1;
    }
    let total = 10.0;
    let expected = |i: usize, j: usize| {
        if i == j { 0.0 } else { weights[i] / total * weights[j] / (total - weights[i]) }
    };
    let cells: Vec<(u64, f64)> = (0..25).map(|at| (pairs[at], expected(at / 5, at % 5))).collect();
    assert!(cells.iter().all(|(count, p)| *p > 0.0 || *count == 0));
    let cells: Vec<(u64, f64)> = cells.into_iter().filter(|(_, p)| *p > 0.0).collect();
    let (seen, wanted): (Vec<u64>, Vec<f64>) = cells.into_iter().unzip();
    fits(chi_square(&seen, &wanted), "pairs without replacement");
    let key = Key::new(0);
    assert!(random::choice(&key, [5], &values, false, Some(&p)).check().is_err());
    assert_eq!(random::choice(&key, [2, 2], &values, false, Some(&p)).sum(()).item::<i64>()?, 1 + 2 + 4);
    for wrong in [
        Array::from([1.0; 4]),
        Array::from([0.0; 5]),
        Array::from([1.0, -1.0, 1.0, 1.0, 1.0]),
        p.reshape([5, 1]),
    ] {
        assert!(random::choice(&key, [1], &values, true, Some(&wrong)).check().is_err());
    }
    let rows = random::choice(&key, [4], &Array::arange(6).reshape([3, 2]), true, None);
    assert_eq!(rows.shape().dims(), [4, 2]);
    Ok(())
}

#[test]
fn orders_are_equally_probable() -> Result<()> {
    let mut seen = vec![0u64; 24];
    for seed in 0..24_000 {
        let order = random::permutation(&Key::new(seed), 4).to_vec::<i64>()?;
        // The rank of a permutation: how many later entries are smaller, in mixed base.
        let rank: usize = (0..4).fold(0, |rank, i| {
            rank * (4 - i) + order[i + 1..].iter().filter(|&&later| later < order[i]).count()
        });
        seen[rank] += 1;
    }
    fits(chi_square(&seen, &[1.0 / 24.0; 24]), "orders of four");
    for n in [0usize, 1, 1000] {
        let mut order = random::permutation(&Key::new(1), n).to_vec::<i64>()?;
        order.sort_unstable();
        assert!(order.into_iter().eq(0..n as i64));
    }
    let x = Array::arange(12).reshape([3, 4]);
    let turned = random::shuffle(&Key::new(2), &x, 1);
    assert_eq!(turned.sum(1).to_vec::<i64>()?, x.sum(1).to_vec::<i64>()?);
    assert!(random::shuffle(&Key::new(2), &x, 2).check().is_err());
    Ok(())
}

#[test]
fn numbers_depend_on_key_and_position_alone() -> Result<()> {
    let key = Key::new(17);
    let draw = || -> Result<Vec<Vec<f64>>> {
        let mean = Array::linspace(0.5, 40.0, 5000);
        let alpha = Array::linspace(0.1, 9.0, 5000);
        [
            random::gamma::<f32>(&key, [5000], &alpha),
            random::poisson::<i32>(&key, [5000], &mean),
            random::exponential::<f32>(&key, [5000]),
            random::integers(&key, [5000], -1000..1_000_000i64),
            random::choice(&key, [5000], &Array::arange(77), true, Some(&Array::linspace(0.0, 1.0, 77))),
        ]
        .iter()
        .map(floats)
        .collect()
    };
    let here = draw()?;
    for threads in [1, 2, 3] {
        let plain = Runtime::builder().threads(threads).fusion(false).build()?;
        assert_eq!(plain.scope(draw)?, here);
    }
    // A part of an array is drawn as it is in the whole.
    let part = floats(&random::gamma::<f32>(&key, [100], &Array::linspace(0.1, 9.0, 5000).slice(..100)))?;
    assert_eq!(part, here[0][..100]);
    Ok(())
}

#[test]
fn parameters_outside_the_domain_are_errors_or_nan() -> Result<()> {
    let key = Key::new(1);
    for wrong in [
        random::gamma::<f64>(&key, [2], -1.0),
        random::gamma::<f64>(&key, [2], f64::NAN),
        random::gamma::<i32>(&key, [2], 1.0),
        random::poisson::<i64>(&key, [2], -0.5),
        random::poisson::<i64>(&key, [2], f64::INFINITY),
        random::poisson::<bool>(&key, [2], 1.0),
        random::bernoulli(&key, [2], -0.1),
        random::integers(&key, [2], 3..3i32),
        random::integers(&key, [2], 0.0..1.0f32),
        random::integers_dtype(&key, [2], 0, 257, DType::U8),
        random::exponential::<i32>(&key, [2]),
        random::gamma::<f64>(&key, [2], &Array::from([1.0, 2.0, 3.0])),
        random::uniform::<f64>(&key, [usize::MAX, 2]),
    ] {
        assert!(wrong.check().is_err());
    }
    let drawn = random::gamma::<f32>(&key, [3], &Array::from([1.0, -1.0, f64::NAN])).to_vec::<f32>()?;
    assert!(drawn[0] > 0.0 && drawn[1].to_bits() == 0x7fc0_0000 && drawn[2].is_nan());
    assert_eq!(random::poisson::<u8>(&key, [2], 1e9).to_vec::<u8>()?, [255; 2]);
    assert_eq!(random::gamma::<f32>(&key, [0, 3], 1.0).size(), 0);
    assert_eq!(random::poisson::<i64>(&key, (), 0.0).item::<i64>()?, 0);
    Ok(())
}

#[test]
fn wrong_distributions_would_be_noticed() -> Result<()> {
    let key = Key::new(2024);
    let unlikely = |p: f64| assert!(p < 1e-6, "{p}");
    let gamma = floats(&random::gamma::<f64>(&key, [MANY], 3.0))?;
    unlikely(kolmogorov(gamma.clone(), |x| lower_gamma(3.1, x)));
    // Marsaglia and Tsang's proposals without their rejection.
    let normal = floats(&random::normal::<f64>(&key, [MANY]))?;
    let (d, c) = (3.0 - 1.0 / 3.0, 1.0 / (9.0 * (3.0 - 1.0 / 3.0f64)).sqrt());
    let proposals: Vec<f64> = normal.iter().map(|x| d * (1.0 + c * x).max(0.0).powi(3)).collect();
    unlikely(kolmogorov(proposals, |x| lower_gamma(3.0, x)));
    unlikely(kolmogorov(normal.iter().map(|x| x * 1.04).collect(), normal_cumulative));
    let rounded: Vec<i64> =
        normal.iter().map(|x| (15.5 + 15.5f64.sqrt() * x).round().max(0.0) as i64).collect();
    let probabilities: Vec<f64> = (0..80).map(|k| poisson_probability(k, 15.5)).collect();
    unlikely(chi_square(&counts(rounded, 80), &probabilities));
    let biased: Vec<i64> = (0..MANY as i64).map(|i| if i % 100 == 0 { 0 } else { i % 6 }).collect();
    unlikely(chi_square(&counts(biased, 6), &[1.0 / 6.0; 6]));
    Ok(())
}

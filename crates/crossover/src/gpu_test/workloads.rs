//! What is timed: array code as users write it, on operands that are on the device already.
//!
//! Names and shapes are those of `bench/gpu_peers.py`, which times other libraries on the same work.

use crossover::{Array, DType, Key, Result, Scatter, fft, keepdims, random, signal};

/// One piece of work.
pub struct Workload {
    pub name: &'static str,
    /// Bytes that must be read and written at least.
    pub bytes: usize,
    pub operands: Vec<Array>,
    pub work: fn(&[Array], u64) -> Array,
}

fn normal(seed: u64, shape: &[usize], dtype: DType) -> Array {
    random::normal::<f32>(&Key::new(seed), shape.to_vec()).astype(dtype)
}

/// Layer norm from plain array code, in f32 whatever the operand is.
fn layer_norm(x: &[Array], _: u64) -> Array {
    let wide = x[0].astype(DType::F32);
    let distance = &wide - wide.mean(keepdims(-1));
    let variance = distance.square().mean(keepdims(-1));
    let inverse: Array = 1.0 / (variance + 1e-5).sqrt();
    (distance * inverse * &x[1] + &x[2]).astype(x[0].dtype())
}

fn sinusoid(x: &[Array], _: u64) -> Array {
    let angles = x[0].astype(DType::F32).expand_dims(-1) * &x[1];
    Array::stack(&[&angles.sin(), &angles.cos()], -1).reshape([64, 2048, 512])
}

const SAMPLES: usize = 1_000_000_000;

fn pi(dtype: DType, round: u64) -> Array {
    let x = random::uniform_dtype(&Key::new(2 * round), [SAMPLES], dtype);
    let y = random::uniform_dtype(&Key::new(2 * round + 1), [SAMPLES], dtype);
    (x.square() + y.square()).less_equal(1.0).sum(()).astype(DType::F64) * (4.0 / SAMPLES as f64)
}

/// An embedding: rows of a table, and a sinusoid of positions.
fn lookup(x: &[Array], _: u64) -> Array {
    let angles = x[2].astype(DType::F32).expand_dims(-1) * &x[3];
    let encoding = Array::stack(&[&angles.sin(), &angles.cos()], -1).reshape([2048, 512]);
    x[0].take(&x[1], 0) + encoding
}

/// Work that is calls, alone and with what surrounds them.
fn calls(list: &mut Vec<Workload>) {
    let (f32, bf16) = (DType::F32, DType::BF16);
    let mut add = |name, operands, work| list.push(Workload { name, bytes: 0, operands, work });
    let linear: fn(&[Array], u64) -> Array = |x, _| (x[0].matmul(&x[1]) + &x[2]).gelu();
    let layer = |m: usize, k: usize, n: usize, dtype| {
        vec![normal(80, &[m, k], dtype), normal(81, &[k, n], dtype), normal(82, &[n], dtype)]
    };
    add("linear+bias+gelu 8192x4096x16384 bf16", layer(8192, 4096, 16384, bf16), linear);
    add("linear+bias+gelu 1024x512x768 f32", layer(1024, 512, 768, f32), linear);
    add(
        "convolve 2048x2048 15x15 f32",
        vec![normal(83, &[2048, 2048], f32), normal(84, &[15, 15], f32)],
        |x, _| {
            let options = signal::Options::new().method(signal::Method::Direct).mode(signal::Mode::Same);
            signal::convolve_with(&x[0], &x[1], options)
        },
    );
    let frequencies: Vec<f32> =
        (0..256).map(|i| 10_000f64.powf(-2.0 * f64::from(i) / 512.0) as f32).collect();
    let ids = random::integers::<i64>(&Key::new(85), [8, 2048], 0..50_000);
    let table = normal(86, &[50_000, 512], f32);
    let places = Array::arange(2048).astype(DType::I32);
    add("lookup 50000x512 8x2048 f32", vec![table.clone(), ids.clone()], |x, _| x[0].take(&x[1], 0));
    add("lookup+sinusoid 8x2048x512 f32", vec![table, ids, places, Array::from(frequencies)], lookup);
    let long = normal(87, &[10_000_000], f32);
    add("sort 1e7 f32", vec![long.clone()], |x, _| x[0].sort(0));
    add("argsort 1e7 f32", vec![long.clone()], |x, _| x[0].argsort(0));
    add("cumulative sum 1e7 f32", vec![long.clone()], |x, _| x[0].cumulative_sum(0));
    let places = random::integers::<i64>(&Key::new(88), [10_000_000], 0..1_000_000);
    add("scatter add 1e7 to 1e6 f32", vec![Array::zeros::<f32>([1_000_000]), places, long], |x, _| {
        x[0].scatter(&[&x[1]], &x[2], Scatter::Add)
    });
    add("rfft 4096x4096 f32", vec![normal(89, &[4096, 4096], f32)], |x, _| fft::rfft(&x[0]));
    add("fft2 4096x4096 c64", vec![normal(90, &[4096, 4096], DType::C64)], |x, _| fft::fft2(&x[0]));
}

/// Everything that is timed on the device; only names that contain one of `wanted`, if there are any.
pub fn all(wanted: Option<&[String]>) -> Result<Vec<Workload>> {
    let mut list: Vec<Workload> = Vec::new();
    let gelu: fn(&[Array], u64) -> Array = |x, _| x[0].gelu();
    let softmax: fn(&[Array], u64) -> Array = |x, _| x[0].softmax(-1);
    let mut add = |name, bytes, operands, work| {
        list.push(Workload { name, bytes, operands, work });
    };
    let (f32, bf16) = (DType::F32, DType::BF16);
    add("gelu 8192x4096 f32", 2 * 8192 * 4096 * 4, vec![normal(1, &[8192, 4096], f32)], gelu);
    add("gelu 16384x8192 bf16", 2 * 16384 * 8192 * 2, vec![normal(2, &[16384, 8192], bf16)], gelu);
    add("gelu 4096x1024 f32", 2 * 4096 * 1024 * 4, vec![normal(3, &[4096, 1024], f32)], gelu);
    let affine = |n: usize, seed, dtype| vec![normal(seed, &[n], dtype), normal(seed + 1, &[n], dtype)];
    let rows = |m: usize, n: usize, seed, dtype| {
        let mut operands = vec![normal(seed, &[m, n], dtype)];
        operands.extend(affine(n, seed + 1, dtype));
        operands
    };
    add("layer norm 65536x768 f32", 2 * 65536 * 768 * 4, rows(65536, 768, 10, f32), layer_norm);
    add("layer norm 16384x4096 bf16", 2 * 16384 * 4096 * 2, rows(16384, 4096, 20, bf16), layer_norm);
    add("layer norm 1024x768 f32", 2 * 1024 * 768 * 4, rows(1024, 768, 30, f32), layer_norm);
    add("softmax 16384x4096 f32", 2 * 16384 * 4096 * 4, vec![normal(4, &[16384, 4096], f32)], softmax);
    add("softmax 16384x4096 bf16", 2 * 16384 * 4096 * 2, vec![normal(5, &[16384, 4096], bf16)], softmax);
    add(
        "standardise 10000x1000 f32",
        2 * 10_000 * 1000 * 4,
        vec![normal(6, &[10_000, 1000], f32)],
        |x, _| (&x[0] - x[0].mean(0)) / x[0].std(0),
    );
    let positions: Array = Array::arange(2048).astype(DType::I32) + Array::zeros::<i32>([64, 1]);
    let frequencies: Vec<f32> =
        (0..256).map(|i| 10_000f64.powf(-2.0 * f64::from(i) / 512.0) as f32).collect();
    add("sinusoid 64x2048x512 f32", 64 * 2048 * 512 * 4, vec![positions, Array::from(frequencies)], sinusoid);
    add("pi 1e9 f32", 0, vec![], |_, round| pi(DType::F32, round));
    add("pi 1e9 f64", 0, vec![], |_, round| pi(DType::F64, round));
    let bytes = |seed| random::integers::<u8>(&Key::new(seed), [256 << 20], ..);
    add("xor 256 MiB u8", 3 * (256 << 20), vec![bytes(7), bytes(8)], |x, _| &x[0] ^ &x[1]);
    add("sum 1e8 f32", 400_000_000, vec![normal(9, &[100_000_000], f32)], |x, _| x[0].sum(()));
    add(
        "transposed add 8192x8192 f32",
        3 * 8192 * 8192 * 4,
        vec![normal(40, &[8192, 8192], f32), normal(41, &[8192, 8192], f32)],
        |x, _| &x[0] + x[1].t(),
    );
    let product: fn(&[Array], u64) -> Array = |x, _| x[0].matmul(&x[1]);
    let mut multiply = |name, shape: &[usize], dtype| {
        let operands = vec![normal(60, shape, dtype), normal(61, shape, dtype)];
        list.push(Workload { name, bytes: 0, operands, work: product });
    };
    multiply("matmul 1024 f32", &[1024, 1024], f32);
    multiply("matmul 5000 f32", &[5000, 5000], f32);
    multiply("matmul 5000 f64", &[5000, 5000], DType::F64);
    multiply("matmul 8192 bf16", &[8192, 8192], bf16);
    multiply("matmul 10x256 f32", &[10, 256, 256], f32);
    calls(&mut list);
    list.retain(|w| wanted.is_none_or(|parts| parts.iter().any(|part| w.name.contains(part.as_str()))));
    for workload in &list {
        for operand in &workload.operands {
            operand.eval()?;
        }
    }
    Ok(list)
}

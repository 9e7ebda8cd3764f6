//! How long tiny operations take, from the call to the values.
//!
//! `cargo run --release -p crossover-array --example tiny`
//!
//! The bars, plans already known: GELU of 5 elements 1.5 µs, ten dependent operations 6 µs.

use std::{hint::black_box, time::Instant};

use crossover_array::{Array, Result};

fn main() -> Result<()> {
    let x = Array::from([-2.0f32, -1.0, 0.0, 1.0, 2.0]);
    let gelu = || x.gelu().to_vec::<f32>();
    let chain = || (0..10).fold(x.clone(), |y, _| y.tanh()).to_vec::<f32>();
    let mixed =
        || (((&x * 1.5 + 0.5).exp() - &x) / 2.0 + &x * &x).maximum(0.0).sqrt().negative().to_vec::<f32>();
    let stepwise = || -> Result<Vec<f32>> {
        let mut y = x.clone();
        for _ in 0..10 {
            y = y.tanh();
            y.eval()?;
        }
        y.to_vec()
    };
    println!("gelu of 5 elements          {:7.0} ns", time(gelu)?);
    println!("ten tanh, one kernel        {:7.0} ns", time(chain)?);
    println!("ten mixed with host numbers {:7.0} ns", time(mixed)?);
    println!("ten tanh, each evaluated    {:7.0} ns", time(stepwise)?);
    Ok(())
}

/// Median over batches of the nanoseconds of one call.
fn time<T>(call: impl Fn() -> Result<T>) -> Result<f64> {
    const BATCH: u32 = 200;
    for _ in 0..BATCH {
        black_box(call()?);
    }
    let mut batches = Vec::new();
    for _ in 0..101 {
        let start = Instant::now();
        for _ in 0..BATCH {
            black_box(call()?);
        }
        batches.push(start.elapsed().as_nanos() as f64 / BATCH as f64);
    }
    batches.sort_by(f64::total_cmp);
    Ok(batches[batches.len() / 2])
}

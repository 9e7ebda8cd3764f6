//! Lookups from a mapped table beside those from memory, and encodings: `cargo run --release -p crossover-embed --example embed_bars`.

#![allow(unsafe_code)]

use std::{hint::black_box, time::Instant};

use crossover_array::{Array, DType, Key, random};
use crossover_embed::{EmbedConfig, Embedder, Result, Sinusoid, Table};

fn timed(work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64() * 1e6)
}

/// Median times in microseconds of two pieces of work that take turns.
fn pair(mut first: impl FnMut() -> Result<()>, mut second: impl FnMut() -> Result<()>) -> Result<(f64, f64)> {
    const ROUNDS: usize = 41;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + 3 {
        let (one, two) = (timed(&mut first)?, timed(&mut second)?);
        if round >= 3 {
            a.push(one);
            b.push(two);
        }
    }
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    Ok((a[ROUNDS / 2], b[ROUNDS / 2]))
}

fn main() -> Result<()> {
    let path = std::env::temp_dir().join(format!("crossover-embed-bars-{}", std::process::id()));
    for (rows, columns, count) in [(50_000, 512, 16_384), (200_000, 128, 4096), (50_000, 64, 256)] {
        let table = random::normal::<f32>(&Key::new(1), [rows, columns]);
        Table::write(&path, [table.clone()])?;
        // SAFETY: nobody else knows this file.
        let mapped = unsafe { Table::open(&path, 0) }?;
        let tokens = random::integers::<i64>(&Key::new(2), [count], 0..rows as i64);
        tokens.eval()?;
        let memory = Embedder::from_table(EmbedConfig::new(rows, columns), &table)?;
        let (file, array) = pair(
            || mapped.lookup(&tokens).map(|rows| drop(black_box(rows))),
            || memory.lookup(&tokens).map(|rows| drop(black_box(rows))),
        )?;
        println!(
            "{count} of {rows} rows of {columns} f32: mapped {file:.0} µs, in memory {array:.0} µs, ratio {:.2}; {:?}",
            file / array,
            mapped.stats()
        );
    }
    std::fs::remove_file(&path).ok();
    let positions: Array = Array::arange(2048i64) + Array::zeros::<i64>([8, 1]);
    positions.eval()?;
    let encoding = Sinusoid::new(512)?;
    let frequencies: Vec<f32> = encoding.frequencies().iter().map(|&f| f as f32).collect();
    let frequencies = Array::from(frequencies);
    let (exact, plain) = pair(
        || {
            black_box(encoding.encode(&positions, DType::F32)?.eval()?);
            Ok(())
        },
        || {
            let angles = positions.astype(DType::F32).expand_dims(-1) * &frequencies;
            let both = Array::stack(&[&angles.sin(), &angles.cos()], -1);
            black_box(both.eval()?);
            Ok(())
        },
    )?;
    println!("encoding of 8 × 2048 × 512: exact {exact:.0} µs, with f32 angles {plain:.0} µs");
    Ok(())
}

//! Lookups from a mapped table beside those from memory, and encodings: `cargo run --release -p crossover-embed --example embed_bars`.
//!
//! `cargo xtask modules` runs it; the first calls, which touch the file, are not timed: its rows are hot.

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

/// Prints figures in microseconds: as a line, or as JSON with `--json`.
fn row(name: &str, figures: &[(&str, f64)]) {
    if std::env::args().any(|word| word == "--json") {
        let fields: String = figures.iter().map(|(key, us)| format!(", \"{key}\": {us:.4}")).collect();
        println!("{{\"name\": \"{name}\"{fields}}}");
        return;
    }
    let fields: String = figures.iter().map(|(key, us)| format!("  {key} {us:.3}")).collect();
    println!("{name:<60}{fields}");
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
        let name = format!("lookup of {count} of {rows} rows of {columns} f32");
        row(&name, &[("mapped_us", file), ("memory_us", array)]);
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
    row("encoding of 8 × 2048 × 512 f32", &[("exact_us", exact), ("f32_angles_us", plain)]);
    let embedder = Embedder::new(EmbedConfig::new(50_000, 512))?;
    let wide = Embedder::new(EmbedConfig::new(50_000, 512).relative(16))?;
    let tokens = random::integers::<i64>(&Key::new(3), [8, 2048], 0..50_000);
    tokens.eval()?;
    let (plain, relative) = pair(
        || embedder.embed(&tokens).map(|out| drop(black_box(out))),
        || wide.embed(&tokens).map(|out| drop(black_box(out))),
    )?;
    row("embedding of 8 × 2048 tokens, 512 columns f32", &[("ours_us", plain), ("relative_us", relative)]);
    Ok(())
}

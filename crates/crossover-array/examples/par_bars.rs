//! `par_iter` beside Rayon, what a task costs, and `gpu_map` beside a loop: `cargo run --release -p crossover-array --example par_bars`.
//!
//! `cargo xtask modules` runs it.

use std::{hint::black_box, time::Instant};

use crossover_array::{Array, Batch, Error, Key, par, par_iter, random};
use rayon::prelude::*;

fn timed(work: &mut dyn FnMut()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64() * 1e6
}

/// Median times in microseconds of two pieces of work that take turns.
fn pair(rounds: usize, mut first: impl FnMut(), mut second: impl FnMut()) -> (f64, f64) {
    first();
    second();
    let (mut a, mut b): (Vec<f64>, Vec<f64>) =
        (0..rounds).map(|_| (timed(&mut first), timed(&mut second))).unzip();
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    (a[rounds / 2], b[rounds / 2])
}

fn work(n: u64) -> u64 {
    (0..20).fold(n, |x, _| x.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17))
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

/// The median time of a task that is started by `start`, in microseconds, of rounds of so many.
fn task(rounds: usize, tasks: u32, start: impl Fn(u32)) -> f64 {
    let mut times: Vec<f64> = (0..rounds).map(|_| timed(&mut || start(tasks)) / f64::from(tasks)).collect();
    times.sort_by(f64::total_cmp);
    times[rounds / 2]
}

fn main() -> Result<(), Error> {
    for count in [10_000u64, 1_000_000] {
        let items: Vec<u64> = (0..count).collect();
        let (ours, rayons) = pair(
            51,
            || drop(black_box(par_iter(items.clone()).map(work).collect::<Vec<u64>>())),
            || drop(black_box(items.clone().into_par_iter().map(work).collect::<Vec<u64>>())),
        );
        row(&format!("par_iter map of {count} items"), &[("ours_us", ours), ("rayon_us", rayons)]);
    }
    let spawned = task(21, 10_000, |tasks| (0..tasks).for_each(|n| drop(par::spawn(move || black_box(n)))));
    row("par::spawn of a task", &[("ours_us", spawned)]);
    let scoped = task(21, 10_000, |tasks| {
        par::scope(|scope| (0..tasks).for_each(|n| drop(scope.spawn(move || black_box(n)))));
    });
    row("scope.spawn of a task, run and dropped", &[("ours_us", scoped)]);
    let matrices: Vec<Array> = (0..10).map(|i| random::normal::<f32>(&Key::new(i), [256, 256])).collect();
    par_iter(matrices.clone()).for_each(|matrix| drop(matrix.eval()));
    let batch = Batch::new(matrices.clone()).max_batch_size(16);
    let (batched, looped) = pair(
        21,
        || drop(black_box(batch.matmul(&matrices))),
        || matrices.iter().for_each(|x| drop(black_box(x.matmul(x).to_vec::<f32>()))),
    );
    row("10 products of 256 × 256 f32", &[("batched_us", batched), ("loop_us", looped)]);
    let standardised = |x: Array| (&x - x.mean(())) / x.std(());
    let vectors: Vec<Array> = (0..1000).map(|i| random::normal::<f32>(&Key::new(i), [10_000])).collect();
    compared("gpu_map over 1,000 vectors of 10⁴ f32, standardised", &vectors, standardised)?;
    let matrices: Vec<Array> = (0..100).map(|i| random::normal::<f32>(&Key::new(i), [256, 256])).collect();
    compared("gpu_map over 100 products of 256 × 256 f32", &matrices, |x| x.matmul(&x))?;
    let small: Vec<Array> = (0..10_000).map(|i| random::normal::<f32>(&Key::new(i), [16])).collect();
    compared("gpu_map over 10,000 vectors of 16 f32, standardised", &small, standardised)
}

/// `gpu_map` beside a loop over the items.
fn compared(name: &str, items: &[Array], f: impl Fn(Array) -> Array) -> Result<(), Error> {
    items.iter().try_for_each(|item| item.eval().map(drop))?;
    let (mapped, looped) = pair(
        11,
        || drop(black_box(par_iter(items.to_vec()).gpu_map(&f).collect())),
        || items.iter().for_each(|item| drop(black_box(f(item.clone()).eval().map(drop)))),
    );
    row(name, &[("gpu_map_us", mapped), ("loop_us", looped)]);
    Ok(())
}

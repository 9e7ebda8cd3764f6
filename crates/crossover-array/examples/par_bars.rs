//! `par_iter` beside Rayon, and what a task costs: `cargo run --release -p crossover-array --example par_bars`.

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

fn main() -> Result<(), Error> {
    for count in [10_000u64, 1_000_000] {
        let items: Vec<u64> = (0..count).collect();
        let (ours, rayons) = pair(
            51,
            || drop(black_box(par_iter(items.clone()).map(work).collect::<Vec<u64>>())),
            || drop(black_box(items.clone().into_par_iter().map(work).collect::<Vec<u64>>())),
        );
        println!(
            "map of {count} items   ours {ours:9.1} µs, Rayon {rayons:9.1} µs, ratio {:.3}",
            ours / rayons
        );
    }
    let tasks = 10_000;
    let mut times: Vec<f64> = (0..21)
        .map(|_| {
            timed(&mut || {
                par::scope(|scope| {
                    for n in 0..tasks {
                        drop(scope.spawn(move || black_box(n)));
                    }
                });
            }) / f64::from(tasks)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("spawn, run and drop of a task: {:.3} µs", times[10]);
    let matrices: Vec<Array> = (0..10).map(|i| random::normal::<f32>(&Key::new(i), [256, 256])).collect();
    par_iter(matrices.clone()).for_each(|matrix| drop(matrix.eval()));
    let batch = Batch::new(matrices.clone()).max_batch_size(16);
    let (batched, looped) = pair(
        21,
        || drop(black_box(batch.matmul(&matrices))),
        || matrices.iter().for_each(|x| drop(black_box(x.matmul(x).to_vec::<f32>()))),
    );
    println!(
        "10 products of 256 × 256: batched {batched:.0} µs, one by one {looped:.0} µs, {:.2} times",
        looped / batched
    );
    Ok(())
}

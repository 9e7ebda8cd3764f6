//! Times of paths, fields and transforms: `cargo run --release -p crossover-lattice --example bars`.
//!
//! `cargo xtask modules` runs this beside SciPy; `docs/lattice.md` has the figures.

use std::{hint::black_box, time::Instant};

use rayon::prelude::*;

use crossover_lattice::{Error, Lattice, Obstacles, walsh_hadamard, xor_in_place, xor_transform};

/// The median time of a call in microseconds, of `rounds` rounds of `calls`.
fn median(rounds: usize, calls: usize, mut work: impl FnMut()) -> f64 {
    work();
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let began = Instant::now();
            (0..calls).for_each(|_| work());
            began.elapsed().as_secs_f64() * 1e6 / calls as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[rounds / 2]
}

/// A quarter of the vertices, but not the first and the last.
fn noise(lattice: &Lattice) -> Result<Obstacles, Error> {
    let blocked = |v: usize| (v as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0;
    let mut mask: Vec<bool> = (0..lattice.len()).map(blocked).collect();
    let last = lattice.len() - 1;
    // A free border, so that there is a way.
    for (v, blocked) in mask.iter_mut().enumerate() {
        let at = lattice.coordinates(v)?;
        let inside = at.iter().zip(lattice.sizes()).all(|(at, size)| *at > 0 && at + 1 < *size);
        *blocked &= inside;
    }
    (mask[0], mask[last]) = (false, false);
    Obstacles::from_mask(lattice, &mask)
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

/// A copy into fresh memory by all threads: as much is read and written as a transform reads and writes.
fn copied(data: &[u8]) -> Vec<u8> {
    // Zeros that nobody has written: the system gives them when they are first touched, as any fresh memory.
    let mut copy = vec![0; data.len()];
    spread(&mut copy, data);
    copy
}

fn spread(to: &mut [u8], from: &[u8]) {
    let part = 1 << 18;
    to.par_chunks_mut(part).zip(from.par_chunks(part)).for_each(|(to, from)| to.copy_from_slice(from));
}

fn main() -> Result<(), Error> {
    let small = Lattice::new([100, 100])?;
    let blocked = noise(&small)?;
    let path = median(20, 2000, || drop(black_box(small.shortest_path(0, 9_999))));
    row("path of 199 vertices among 10,000, nothing in the way", &[("ours_us", path)]);
    let path = median(20, 20, || drop(black_box(small.search().obstacles(&blocked).path(0, 9_999))));
    row("path of 199 vertices among 10,000, a quarter blocked", &[("ours_us", path)]);
    let cube = Lattice::cube(4, 10)?;
    let path = median(20, 2000, || drop(black_box(cube.shortest_path(0, 9_999))));
    row("path across 10 × 10 × 10 × 10", &[("ours_us", path)]);
    for sizes in [&[1000, 1000][..], &[100, 100, 100]] {
        let large = Lattice::new(sizes)?;
        let blocked = noise(&large)?;
        let sizes = sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" × ");
        let field = median(9, 1, || drop(black_box(large.distance_field(&[0], None))));
        row(&format!("distances in {sizes}, nothing in the way"), &[("ours_us", field)]);
        let field = median(9, 1, || drop(black_box(large.distance_field(&[0], Some(&blocked)))));
        row(&format!("distances in {sizes}, a quarter blocked"), &[("ours_us", field)]);
    }
    let few = [1u64, 2, 3, 4, 5];
    let time = median(20, 10_000, || drop(black_box(xor_transform(&few, &[7, 9]))));
    row("xor_transform of 5 elements", &[("ours_us", time)]);
    let key = [1, 2, 3];
    let mut many: Vec<u8> = (0..256usize << 20).map(|i| ((i * 31) >> 3) as u8).collect();
    let ours = median(7, 1, || drop(black_box(xor_transform(&many, &key))));
    let copy = median(7, 1, || drop(black_box(copied(&many))));
    row("xor_transform of 256 MiB", &[("ours_us", ours), ("copy_us", copy)]);
    let ours = median(7, 1, || drop(black_box(xor_in_place(&mut many, &key))));
    let mut other = vec![0u8; many.len()];
    let copy = median(7, 1, || spread(black_box(&mut other), &many));
    row("xor_in_place of 256 MiB", &[("ours_us", ours), ("copy_us", copy)]);
    let mut line = vec![1.0f32; 1 << 22];
    let time = median(7, 1, || drop(black_box(walsh_hadamard(&mut line))));
    row("walsh_hadamard of 2²² f32", &[("ours_us", time)]);
    Ok(())
}

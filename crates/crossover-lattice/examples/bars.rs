//! Times of paths, fields and transforms: `cargo run --release -p crossover-lattice --example bars`.
//!
//! `docs/lattice.md` has the figures, and the peers measured in the same minutes.

use std::{hint::black_box, time::Instant};

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

fn main() -> Result<(), Error> {
    let small = Lattice::new([100, 100])?;
    let blocked = noise(&small)?;
    let path = median(20, 2000, || drop(black_box(small.shortest_path(0, 9_999))));
    println!("path of 199 vertices among 10,000      {path:10.2} µs");
    let path = median(20, 20, || drop(black_box(small.search().obstacles(&blocked).path(0, 9_999))));
    println!("the same around obstacles              {path:10.2} µs");
    let cube = Lattice::cube(4, 10)?;
    let path = median(20, 2000, || drop(black_box(cube.shortest_path(0, 9_999))));
    println!("path across 10 × 10 × 10 × 10          {path:10.2} µs");
    for sizes in [&[1000, 1000][..], &[100, 100, 100]] {
        let large = Lattice::new(sizes)?;
        let blocked = noise(&large)?;
        let field = median(9, 1, || drop(black_box(large.distance_field(&[0], None))));
        println!("field of {sizes:?}, nothing in the way {field:10.0} µs");
        let field = median(9, 1, || drop(black_box(large.distance_field(&[0], Some(&blocked)))));
        println!("field of {sizes:?} around obstacles    {field:10.0} µs");
    }
    let few = [1u64, 2, 3, 4, 5];
    let time = median(20, 10_000, || drop(black_box(xor_transform(&few, &[7, 9]))));
    println!("xor_transform of 5 elements            {time:10.3} µs");
    let mut many = vec![1u8; 256 << 20];
    let time = median(7, 1, || drop(black_box(xor_in_place(&mut many, &[1, 2, 3]))));
    let gigabytes = 2.0 * many.len() as f64 / 1e3 / time;
    println!("xor_transform of 256 MiB in place      {time:10.0} µs, {gigabytes:.1} GB/s moved");
    let mut line = vec![1.0f32; 1 << 22];
    let time = median(7, 1, || drop(black_box(walsh_hadamard(&mut line))));
    println!("walsh_hadamard of 2^22 f32             {time:10.0} µs");
    Ok(())
}

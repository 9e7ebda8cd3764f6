//! Pi by throwing darts: random numbers from an explicit key, the same on every machine.
//!
//! `cargo run --release -p crossover --example pi`

use crossover::prelude::*;

fn main() -> Result<(), Error> {
    for (round, key) in Key::new(2024).split_n(4)?.iter().enumerate() {
        let darts = 1_000_000;
        let points = random::uniform::<f32>(key, [darts, 2]);
        // Squares, sum, comparison and mean are one kernel; the million points are never all in memory.
        let inside = points.square().sum(1).less_equal(1.0);
        let pi = inside.mean(()).item::<f64>()? * 4.0;
        println!("round {round}: {pi:.5}, off by {:+.5}", pi - std::f64::consts::PI);
        assert!((pi - std::f64::consts::PI).abs() < 0.01);
    }
    Ok(())
}

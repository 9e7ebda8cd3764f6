//! Where the time of a few steps goes: a summary in the terminal, and a trace for `crossover report`.
//!
//! cargo run --release --example profile -- trace.json

use crossover::{prelude::*, profile};

#[profile::profiled]
fn step(x: &Array) -> Result<Array, Error> {
    (x - x.mean(keepdims(0))).gelu().eval().cloned()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let x = random::normal::<f32>(&Key::new(1), [1024, 1024]);
    let (result, trace) = profile::profile("ten steps", || (0..10).try_fold(x, |x, _| step(&x)));
    result?;
    print!("{}", trace.summary());
    assert_eq!(trace.breakdown.total(), trace.wall_ns, "every moment is counted once");
    if let Some(path) = std::env::args().nth(1) {
        trace.save(&path)?;
        println!("\nwrote {path}; `crossover report {path}` makes a page of it");
    }
    Ok(())
}

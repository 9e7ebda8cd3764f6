//! Benchmarks of a program of your own, which `crossover compare` can start: `cargo run --release --example bench -- --quick`.

use std::process::ExitCode;

use crossover::{prelude::*, profile::bench::Suite};

fn main() -> ExitCode {
    let x = random::normal::<f32>(&Key::new(1), [1024, 768]);
    let mut suite = Suite::new("my project");
    suite.add("normalise", || x.layer_norm(None, None, 1e-5).eval().map(drop));
    suite.add("sort", || x.sort(-1).eval().map(drop));
    suite.main()
}

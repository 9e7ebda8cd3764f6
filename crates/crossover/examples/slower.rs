//! Benchmarks of which one can be made slower by a known share: `SLOWER=5` makes `normalise` take 5% longer. `bench/verdicts.py` has
//! `crossover compare` find out.

use std::{process::ExitCode, time::Instant};

use crossover::{prelude::*, profile::bench::Suite};

fn main() -> ExitCode {
    let percent = match std::env::var("SLOWER").map(|text| text.parse::<f64>()) {
        Err(_) => 0.0,
        Ok(Ok(percent)) if percent >= 0.0 => percent,
        Ok(_) => {
            eprintln!("error: SLOWER is a number of percent, such as 5");
            return ExitCode::from(2);
        }
    };
    let x = random::normal::<f32>(&Key::new(1), [256, 768]);
    let mut suite = Suite::new("slower");
    suite.add("normalise", || {
        let start = Instant::now();
        x.layer_norm(None, None, 1e-5).eval()?;
        let end = start.elapsed().mul_f64(1.0 + percent / 100.0);
        while start.elapsed() < end {
            std::hint::spin_loop();
        }
        Ok::<(), Error>(())
    });
    suite.add("softmax", || x.softmax(-1).eval().map(drop));
    suite.add("sum", || x.sum(()).eval().map(drop));
    suite.main()
}

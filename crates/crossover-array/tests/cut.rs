//! Work that piles up and is computed without being asked for.
#![allow(clippy::unwrap_used)]

use crossover_array::{Array, Key, Runtime, random};

#[test]
fn what_is_held_across_a_cut_is_not_computed_again() {
    let runtime = Runtime::builder().gpu(false).build().unwrap();
    let launches = runtime.scope(|| {
        let weight = random::uniform::<f32>(&Key::new(1), [8, 8]) * 0.1;
        let mut x = random::uniform::<f32>(&Key::new(2), [4, 8]);
        weight.eval().unwrap();
        let before = runtime.executor().counts().launches;
        for _ in 0..100 {
            // A residual: x is held while long work on it piles up.
            let mut y = x.matmul(&weight);
            for _ in 0..20 {
                y = (y * 0.9).tanh();
            }
            x = &x + &y;
        }
        x.eval().unwrap();
        runtime.executor().counts().launches - before
    });
    // Three kernels each; all of them twice would be 600.
    assert!(launches < 330, "{launches} launches");
}

#[test]
fn values_are_those_of_single_steps() {
    let run = |stop: bool| {
        let mut x = random::uniform::<f32>(&Key::new(3), [5, 5]);
        for _ in 0..60 {
            let turned = x.t();
            let sums = turned.sum(0);
            let mut y: Array = &x * 0.5;
            for _ in 0..12 {
                y = y.sin() + &sums;
            }
            x = (&turned + &y) * 0.25;
            if stop {
                x.eval().unwrap();
            }
        }
        x.to_vec::<f32>().unwrap()
    };
    assert_eq!(run(false), run(true));
}

//! A layer of a neural network by hand, and what it becomes: one matrix product and one fused kernel.
//!
//! `cargo run --release -p crossover --example gelu`

use crossover::prelude::*;

fn main() -> Result<(), Error> {
    let (weights_key, input_key) = Key::new(1).split();
    let weights = random::normal::<f32>(&weights_key, [64, 32]) * 0.1;
    let bias = Array::linspace_dtype(-1.0, 1.0, 32, DType::F32);
    let x = random::normal::<f32>(&input_key, [1000, 64]);

    // Nothing runs here: this is an expression.
    let hidden = x.matmul(&weights) + &bias;
    let by_hand =
        &hidden * 0.5 * ((&hidden * 0.797_884_56 * (&hidden * &hidden * 0.044_715 + 1.0)).tanh() + 1.0);
    let built_in = hidden.gelu();

    println!("{}", by_hand.explain()?);
    let difference = (by_hand - built_in).abs().max(()).item::<f32>()?;
    println!("by hand and built in differ by at most {difference:e}");
    assert!(difference < 1e-5);
    Ok(())
}

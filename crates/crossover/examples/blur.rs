//! A picture, blurred by convolution, with its edges found on the way; shown as text.
//!
//! `cargo run --release -p crossover --example blur`

use crossover::{
    prelude::*,
    signal::{self, Boundary, Mode, Options},
};

fn main() -> Result<(), Error> {
    // A disc and a bar on a dark ground.
    let lines = [Array::linspace(-1.0, 1.0, 48), Array::linspace(-1.0, 1.0, 24)];
    let grid = Array::meshgrid_xy(&[&lines[0], &lines[1]])?;
    let (x, y) = (&grid[0], &grid[1]);
    let disc = ((x + 0.4).square() + y.square()).less(0.25);
    let bar = (x - 0.6).abs().less(0.1);
    let picture = disc.logical_or(&bar).astype(DType::F32);

    // A bell of 7 by 7, made from one of 7; it adds up to 1.
    let bell = (Array::linspace_dtype(-2.0, 2.0, 7, DType::F32).square() * -0.5).exp();
    let kernel = crossover::linalg::outer(&bell, &bell);
    let kernel = &kernel / kernel.sum(());
    let options = Options::new().mode(Mode::Same).boundary(Boundary::Symm);
    let blurred = signal::convolve_with(&picture, &kernel, options);
    let edges = (&picture - &blurred).abs();

    for (title, image) in [("picture", &picture), ("blurred", &blurred), ("edges", &edges)] {
        println!("{title}");
        show(image)?;
    }
    // Mirrored borders keep the amount of light, but for what the kernel mirrors across them.
    let light = |image: &Array| image.sum(()).item::<f32>();
    assert!((light(&picture)? - light(&blurred)?).abs() < 1.0);
    Ok(())
}

/// One character per element, from dark to light.
fn show(image: &Array) -> Result<(), Error> {
    const SHADES: [char; 6] = [' ', '.', ':', 'o', 'O', '@'];
    for row in image.rows() {
        let shades = (row * 5.0).round().clip(0, 5).astype(DType::I64).to_vec::<i64>()?;
        println!("{}", shades.iter().map(|&shade| SHADES[shade as usize]).collect::<String>());
    }
    Ok(())
}

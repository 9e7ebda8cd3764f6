//! Einstein's notation and linear algebra: a line through points, and what a matrix does to directions.
//!
//! `cargo run --release -p crossover --example algebra`

use crossover::{einsum, linalg, prelude::*};

fn main() -> Result<(), Error> {
    // y = 3x - 2 with noise, fitted by least squares.
    let x = Array::linspace(0.0, 10.0, 50);
    let y = &x * 3.0 - 2.0 + random::normal::<f64>(&Key::new(3), [50]) * 0.1;
    let design = Array::stack(&[&x, &x.ones_like()], 1);
    let fit = linalg::lstsq(&design, &y.expand_dims(1), None).solution.flatten();
    println!("y = {:.3}·x {:+.3}", fit.index(0).item::<f64>()?, fit.index(1).item::<f64>()?);
    assert!((fit.index(0).item::<f64>()? - 3.0).abs() < 0.1);

    // The covariance of points, in one line, and its axes.
    let points =
        random::normal::<f64>(&Key::new(4), [1000, 2]).matmul(&Array::from([[2.0, 0.5], [0.0, 0.3]]));
    let centred = &points - points.mean(keepdims(0));
    let covariance = einsum("ni,nj->ij", &[&centred, &centred]) / 999.0;
    let (variances, axes) = linalg::eigh(&covariance);
    println!("covariance\n{covariance}\nlong axis {}", axes.t().index(-1));
    println!("deviations along the axes {}", variances.sqrt());

    // Axes of a symmetric matrix are orthogonal: QᵀQ = 1.
    let off = (axes.t().matmul(&axes) - Array::eye::<f64>(2)).abs().max(()).item::<f64>()?;
    assert!(off < 1e-14);
    Ok(())
}

//! Prints the CUDA C++ of an everyday kernel: `cargo run -p crossover-codegen --example print_kernel row_softmax_f32`.

use crossover_codegen::{fused, samples};

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let kernels = samples::golden();
    match kernels.iter().find(|(name, _)| *name == wanted) {
        Some((_, kernel)) => print!("{}", fused(kernel).text),
        None => {
            let names: Vec<&str> = kernels.iter().map(|(name, _)| *name).collect();
            println!("give one of: {}", names.join(", "));
        }
    }
}

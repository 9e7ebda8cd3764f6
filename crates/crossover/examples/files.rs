//! Arrays in files that NumPy and PyTorch read, and one that is larger than what is read of it.
//!
//! `cargo run --release -p crossover --example files`

use crossover::{io, prelude::*};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("crossover-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let table = Array::arange(12).reshape([3, 4]).astype(DType::F32);
    let names = ["table.npy", "both.npz", "both.safetensors"].map(|name| folder.join(name));

    table.save(&names[0])?; // numpy.load("table.npy")
    io::save_npz(&names[1], &[("table", &table), ("squares", &table.square())])?;
    io::save_safetensors(&names[2], &[("table", &table)], &[("made by", "an example")])?;

    println!("{}", Array::load(&names[0])?);
    for (name, array) in io::load_npz(&names[1])? {
        println!("{name}: {} {}", array.dtype(), array.shape());
    }
    // The errors say what is wrong with a file, and none of them is a panic.
    std::fs::write(&names[0], b"not an array")?;
    let error = Array::load(&names[0]).expect_err("this is no array");
    println!("{error}");
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

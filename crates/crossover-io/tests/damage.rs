//! The fuzzer's corpus, as it is and damaged at random: readers answer, whatever they are given.
//!
//! `cargo xtask fuzz` does this for minutes; here it takes a second, so that it is part of every test run.
#![allow(clippy::unwrap_used)]

use std::{io::Cursor, path::Path};

use crossover_io::{Npy, Npz, Result, Safetensors};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

/// Bytes of data that were read.
fn npy(bytes: &[u8]) -> Result<usize> {
    let reader = Npy::new(bytes, bytes.len() as u64, "x")?;
    let mut data = vec![0; reader.header().bytes];
    reader.read(&mut data)?;
    Ok(data.len())
}

fn npz(bytes: &[u8]) -> Result<usize> {
    let mut archive = Npz::from_bytes(bytes, "x")?;
    let mut total = 0;
    for index in 0..archive.names().len() {
        let reader = archive.member(index)?;
        let mut data = vec![0; reader.header().bytes];
        reader.read(&mut data)?;
        total += data.len();
    }
    Ok(total)
}

fn safetensors(bytes: &[u8]) -> Result<usize> {
    let mut reader = Safetensors::new(Cursor::new(bytes), bytes.len() as u64, "x")?;
    let mut total = 0;
    for index in 0..reader.tensors().len() {
        let mut data = vec![0; reader.tensors()[index].bytes()];
        reader.read(index, &mut data)?;
        total += data.len();
    }
    Ok(total)
}

#[test]
fn readers_answer_whatever_they_are_given() {
    type Reader = fn(&[u8]) -> Result<usize>;
    let targets: [(&str, Reader, usize); 3] =
        [("npy", npy, 1), ("npz", npz, 1033), ("safetensors", safetensors, 1)];
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, read, most) in targets {
        let mut paths: Vec<_> =
            std::fs::read_dir(corpus.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(paths.len() > 1);
        let (mut good, mut bad) = (0, 0);
        for (seed, path) in paths.iter().enumerate() {
            let whole = std::fs::read(path).unwrap();
            let random = &mut Random(seed as u64);
            for damages in 0..200 {
                let mut bytes = whole.clone();
                for _ in 0..damages.min(6) {
                    let at = random.below(bytes.len());
                    match random.below(3) {
                        0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
                        1 if !bytes.is_empty() => bytes[at] = random.below(256) as u8,
                        _ => drop(bytes.drain(at..(at + random.below(9)).min(bytes.len()))),
                    }
                }
                match read(&bytes) {
                    Ok(data) => {
                        assert!(data <= most * bytes.len(), "{data} bytes from {} of {name}", bytes.len());
                        good += 1;
                    }
                    Err(error) => {
                        assert!(!error.to_string().is_empty());
                        bad += 1;
                    }
                }
            }
        }
        assert!(good > 0 && bad > 0, "{name}: {good} good, {bad} bad");
    }
}

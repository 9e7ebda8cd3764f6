//! Bytes go there and come back unchanged, in any size; and how fast.

use std::time::Instant;

use crossover_runtime::Backend;

use crate::{Options, Result, report::Report, setup::Setup};

/// SplitMix64: enough for sizes and contents.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

pub fn run(setup: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    let cuda = &*setup.cuda;
    let mut source = vec![0u8; 64 << 20];
    let mut dice = Dice(1);
    for word in source.chunks_exact_mut(8) {
        word.copy_from_slice(&dice.next().to_le_bytes());
    }
    let (mut moved, mut wrong) = (0u64, Vec::new());
    let edges = [
        0,
        1,
        63,
        64,
        65_535,
        65_536,
        65_537,
        (1 << 20) - 1,
        1 << 20,
        (1 << 20) + 1,
        (8 << 20) + 5,
        64 << 20,
    ];
    for i in 0..400usize {
        // Small ones are as frequent as large ones.
        let size = match edges.get(i) {
            Some(&edge) => edge,
            None => (dice.next() as usize) % (1 << (1 + dice.next() % 26)),
        };
        let start = if size < source.len() { dice.next() as usize % (source.len() - size) } else { 0 };
        let from = &source[start..start + size];
        // Fresh memory, and memory that kernels have used.
        let block = match i % 2 {
            0 => cuda.receive(from)?,
            _ => {
                let block = cuda.allocate(size)?;
                cuda.upload(from, block)?;
                block
            }
        };
        let mut back = vec![0xa5; size];
        cuda.download(block, &mut back)?;
        cuda.free(block);
        moved += 2 * size as u64;
        if back != from {
            wrong.push(size);
        }
    }
    report.check("transfers", wrong.is_empty(), format!("400 sizes, {moved} bytes; wrong sizes: {wrong:?}"));
    speed(setup, report)
}

/// 256 MiB of ordinary memory, there and back.
fn speed(setup: &Setup, report: &mut Report) -> Result<()> {
    let cuda = &*setup.cuda;
    let size = 256 << 20;
    let from = vec![0x5au8; size];
    let mut back = vec![0u8; size];
    let block = cuda.allocate(size)?;
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        cuda.synchronise()?;
        let start = Instant::now();
        cuda.upload(&from, block)?;
        cuda.synchronise()?;
        up.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        cuda.download(block, &mut back)?;
        down.push(start.elapsed().as_secs_f64());
    }
    cuda.free(block);
    let rate = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        size as f64 / times[times.len() / 2] / 1e9
    };
    report.figure("pageable copies of 256 MiB", &[("up_GB_s", rate(up)), ("down_GB_s", rate(down))]);
    let tiny = [1u8; 4096];
    let mut got = [0u8; 4096];
    let block = cuda.allocate(4096)?;
    let start = Instant::now();
    for _ in 0..200 {
        cuda.upload(&tiny, block)?;
        cuda.download(block, &mut got)?;
    }
    report.figure("round trip of 4 KiB", &[("us", start.elapsed().as_secs_f64() * 1e6 / 200.0)]);
    cuda.free(block);
    Ok(())
}

//! Copies beside computation: 64 chunks, each on its way while the one before is computed.

use std::time::Instant;

use crossover::{Array, Device, Key, random, with_device};

use crate::{Options, Result, report::Report, setup::Setup};

/// Chunks of the pipeline, and elements of one: 16 MiB each.
const CHUNKS: usize = 64;
const ELEMENTS: usize = 1 << 22;
/// Dependent kernels per chunk, and functions in each: computing a chunk takes longer than copying it.
const ROUNDS: usize = 12;
const FUNCTIONS: usize = 6;

fn work(x: &Array) -> Array {
    let mut y = x.clone();
    for _ in 0..ROUNDS {
        for _ in 0..FUNCTIONS {
            y = y.sin().gelu();
        }
        // The largest value is known only at the end of a pass, so rounds do not fuse.
        y = &y / y.abs().max(());
    }
    y.sum(())
}

pub fn run(_: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    let gpu = Device::Cuda(0);
    let values = random::normal::<f32>(&Key::new(5), [ELEMENTS]);
    let values = with_device(Device::Cpu, || values.to_vec::<f32>())?;
    let chunks = || -> Vec<Array> { (0..CHUNKS).map(|_| Array::from(values.as_slice())).collect() };
    with_device(gpu, || -> Result<()> {
        let first = work(&chunks()[0]).item::<f32>()?;
        let (mut alone, mut overlapped) = (f64::INFINITY, f64::INFINITY);
        let mut same = true;
        for _ in 0..5 {
            // Everything is there already: computing alone.
            let there: Vec<Array> =
                chunks().iter().map(|chunk| chunk.to_device(gpu)).collect::<std::result::Result<_, _>>()?;
            let start = Instant::now();
            let sums: Vec<Array> = there.iter().map(work).collect();
            for sum in &sums {
                sum.eval()?;
            }
            same &= sums.iter().all(|sum| sum.item::<f32>().is_ok_and(|value| value == first));
            alone = alone.min(start.elapsed().as_secs_f64());
            // The next chunks are on their way while one is computed.
            let here = chunks();
            let start = Instant::now();
            let mut sums = Vec::new();
            let mut coming = here[0].prefetch(gpu);
            for next in here[1..].iter().map(Some).chain([None]) {
                let ready = coming.wait()?;
                coming = next.unwrap_or(&ready).prefetch(gpu);
                let sum = work(&ready);
                sum.eval()?;
                sums.push(sum);
            }
            coming.wait()?;
            same &= sums.iter().all(|sum| sum.item::<f32>().is_ok_and(|value| value == first));
            overlapped = overlapped.min(start.elapsed().as_secs_f64());
        }
        report.check("pipeline", same, format!("{CHUNKS} chunks, every sum {first}"));
        let numbers = [
            ("compute_ms", alone * 1e3),
            ("with_copies_ms", overlapped * 1e3),
            ("cost", overlapped / alone - 1.0),
        ];
        report.figure("64 chunks of 16 MiB, copied beside computing", &numbers);
        Ok(())
    })
}

//! How long binding and cleanup take: `cargo run --release -p crossover-hrr --example hrr_bench`.
//!
//! Prints bind and bind + unbind of d = 512 for batches of 1, 10, 100, 1000 and 10,000 on the CPU and, where there is one, on a GPU with operands and results
//! there, beside the time that moving the bytes takes at 4 TB/s; then cleanup. `-- CASE` prints the median of one case in microseconds, for `bench/hrr.py`.

use std::time::{Duration, Instant};

use crossover_array::{Array, Device, Key, Runtime, with_device};
use crossover_hrr::{ItemMemory, Model, Result, Space};

const D: usize = 512;

/// The median of many calls, in microseconds.
fn median(mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    for _ in 0..3 {
        call()?;
    }
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.len() < 5 || start.elapsed() < Duration::from_millis(700) {
        let before = Instant::now();
        call()?;
        times.push(before.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Operands of a batch on a device.
fn operands(space: &Space, batch: usize, device: Device) -> Result<(Array, Array)> {
    let make = |seed| -> Result<Array> {
        let all = space.random(&Key::new(seed), batch);
        all.eval()?;
        Ok(if device == Device::Cpu { all } else { all.to_device(device)? })
    };
    Ok((make(1)?, make(2)?))
}

fn bind(batch: usize, device: Device) -> Result<f64> {
    let space = Space::new(Model::Hrr, D)?;
    let (a, b) = operands(&space, batch, device)?;
    with_device(device, || median(|| space.bind(&a, &b)?.eval().map(drop).map_err(Into::into)))
}

fn both(batch: usize, device: Device) -> Result<f64> {
    let space = Space::new(Model::Hrr, D)?;
    let (a, b) = operands(&space, batch, device)?;
    with_device(device, || {
        median(|| space.unbind(&space.bind(&a, &b)?, &a)?.eval().map(drop).map_err(Into::into))
    })
}

fn cleanup(queries: usize, items: usize, d: usize, device: Device) -> Result<f64> {
    let space = Space::new(Model::Hrr, d)?;
    let mut memory = ItemMemory::with_capacity(items, space.clone());
    let names: Vec<String> = (0..items).map(|i| i.to_string()).collect();
    memory.add_vectors(&names, &space.random(&Key::new(1), items))?;
    let (asked, _) = operands(&space, queries, Device::Cpu)?;
    with_device(device, || median(|| memory.query(&asked, 0.0).map(drop)))
}

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("bind10k") => println!("{}", bind(10_000, Device::Cpu)?),
        Some("bind1") => println!("{}", bind(1, Device::Cpu)?),
        Some("cleanup") => println!("{}", cleanup(100, 20_000, 1024, Device::Cpu)?),
        Some(other) => println!("{other} is no case; there are bind10k, bind1 and cleanup"),
        None => table()?,
    }
    Ok(())
}

fn table() -> Result<()> {
    let gpu = Device::Cuda(0);
    let has_gpu = Runtime::current().is_available(gpu);
    println!("d = {D}, f32, microseconds; floor: 12·d bytes per bind at 4 TB/s");
    println!(
        "{:>8} {:>12} {:>14} {:>12} {:>14} {:>8}",
        "batch", "CPU bind", "bind + unbind", "GPU bind", "bind + unbind", "floor"
    );
    for batch in [1, 10, 100, 1000, 10_000] {
        let there = |run: fn(usize, Device) -> Result<f64>| -> Result<String> {
            if has_gpu { Ok(format!("{:.1}", run(batch, gpu)?)) } else { Ok("no GPU".to_string()) }
        };
        println!(
            "{batch:>8} {:>12.1} {:>14.1} {:>12} {:>14} {:>8.2}",
            bind(batch, Device::Cpu)?,
            both(batch, Device::Cpu)?,
            there(bind)?,
            there(both)?,
            (12 * D * batch) as f64 / 4e6,
        );
    }
    println!(
        "cleanup of 100 queries, 20,000 items, d = 1024, CPU: {:.0}",
        cleanup(100, 20_000, 1024, Device::Cpu)?
    );
    if has_gpu {
        println!(
            "cleanup of 1000 queries, 100,000 items, d = 1024, GPU: {:.0}",
            cleanup(1000, 100_000, 1024, gpu)?
        );
    }
    Ok(())
}

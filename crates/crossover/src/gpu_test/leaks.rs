//! A thousand rounds leave as much memory in use as they found, on the device and on the host.

use crossover::{Array, Key, random};

use crate::{Options, Result, report::Report, setup::Setup};

const ROUNDS: u64 = 1000;

fn round(seed: u64) -> Result<()> {
    let key = Key::new(seed);
    let x = random::normal::<f32>(&key, [257, 1031]);
    let y = x.softmax(-1).eval()?.clone() + x.standardise(0);
    // A sort runs on the host, so bytes go there and back.
    let z = y.gelu().sort(-1).sum(0);
    let _ = (z.to_vec::<f32>()?, y.max(()).item::<f32>()?);
    let host = Array::from(vec![seed as f32; 100_000]);
    let _ = (host * 2.0).to_vec::<f32>()?;
    Ok(())
}

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

pub fn run(setup: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    setup.runtime(true).scope(|| {
        for seed in 0..50 {
            round(seed)?;
        }
        setup.cuda.synchronise()?;
        let (before, host_before) = (setup.cuda.memory()?, resident());
        for seed in 0..ROUNDS {
            round(seed)?;
        }
        setup.cuda.synchronise()?;
        let (after, host_after) = (setup.cuda.memory()?, resident());
        let grown = host_after.saturating_sub(host_before);
        let detail = format!(
            "{ROUNDS} rounds: device {} bytes live before, {} after, {} and {} reserved; host grew by {} KiB",
            before.live,
            after.live,
            before.reserved,
            after.reserved,
            grown >> 10
        );
        let ok = after.live <= before.live && after.reserved <= before.reserved && grown < 32 << 20;
        report.check("leaks", ok, detail);
        Ok(())
    })
}

//! The cache of compiled kernels on disk: found by the next process, rebuilt when damaged, not missed when absent.

use std::{path::Path, sync::Arc, time::Instant};

use crossover::{Array, Runtime};
use crossover_cpu::CpuBackend;
use crossover_cuda::{CompilerCounts, CudaBackend};
use crossover_plan::Options as PlanOptions;
use crossover_runtime::{Executor, Machine, Placement};

use crate::{
    Options, Result,
    report::Report,
    setup::{GPU, Setup},
};

/// Two kernels on a device opened anew with this folder; the result and what was compiled.
fn compute(folder: &Path) -> Result<(Vec<f32>, CompilerCounts)> {
    let cuda = Arc::new(CudaBackend::new(0).cache(Some(folder.to_path_buf())));
    let machine = Machine::new(Arc::new(CpuBackend::new()), vec![cuda.clone()])?;
    let executor = Executor::new(machine, PlanOptions::default(), Placement::On(GPU));
    let values = Runtime::from_executor(executor).scope(|| {
        let x = Array::linspace(-3.0, 3.0, 9000).astype(crossover::DType::F32).reshape([90, 100]);
        let rows = x.gelu().softmax(-1).eval()?.clone();
        rows.t().sum(-1).to_vec::<f32>()
    })?;
    Ok((values, cuda.compiler()))
}

pub fn run(_: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    let folder = options.folder.join(format!("kernel-cache-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let (want, first) = compute(&folder)?;
    report.check(
        "the first process compiles and writes",
        first.compiled > 0 && first.disk.written == first.compiled,
        format!("{first:?}"),
    );
    let (got, second) = compute(&folder)?;
    report.check(
        "the second compiles nothing",
        second.compiled == 0 && second.disk.hits == first.compiled && got == want,
        format!("{second:?}"),
    );
    for entry in std::fs::read_dir(&folder)?.flatten() {
        let mut bytes = std::fs::read(entry.path())?;
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(entry.path(), bytes)?;
    }
    let (got, third) = compute(&folder)?;
    report.check(
        "damaged entries are rebuilt",
        third.compiled == first.compiled && third.disk.damaged == first.compiled && got == want,
        format!("{third:?}"),
    );
    let (got, fourth) = compute(&folder)?;
    report.check("and found again", fourth.compiled == 0 && got == want, format!("{fourth:?}"));
    let blocked = options.folder.join("blocked");
    std::fs::write(&blocked, "a file where the folder should be")?;
    let (got, fifth) = compute(&blocked.join("kernels"))?;
    report.check(
        "a folder that cannot be written is tolerated",
        fifth.compiled == first.compiled && fifth.disk.refused == first.compiled && got == want,
        format!("{fifth:?}"),
    );
    let _ = std::fs::remove_file(blocked);
    let program = std::env::current_exe()?;
    let mut times = Vec::new();
    for _ in 0..3 {
        let output = std::process::Command::new(&program)
            .arg("--first")
            .env("CROSSOVER_CACHE", &folder)
            .env("CROSSOVER_DEVICE", "cuda")
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
        times.push(text.parse::<f64>().map_err(|_| format!("the fresh process said {text:?}"))?);
    }
    let _ = std::fs::remove_dir_all(&folder);
    report.figure("first result of a fresh process", &[("cold_ms", times[0]), ("cached_ms", times[2])]);
    Ok(())
}

/// Milliseconds from the start to the first result, through the default runtime.
pub fn first() -> Result<f64> {
    let start = Instant::now();
    let x = Array::linspace(0.0, 1.0, 100_000);
    let _ = x.exp().softmax(-1).to_vec::<f64>()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

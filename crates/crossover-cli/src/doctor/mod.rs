//! `crossover doctor`: what this machine has, what the library makes of it, and whether anything is in the way.

pub mod gpu;
pub mod host;
mod require;
mod text;

use anyhow::Result;
use crossover::{Array, Simd, runtime};
use serde::Serialize;

use crate::report;

/// Show what this machine has and check that the library can rely on it.
///
/// Processor, vector instructions, threads, caches, memory and its limits, the GPU or the reason there is none,
/// the cache directory, version and commit. Two checks are run: that nobody has told the processor to flush
/// denormals to zero, which would change result bits, and that a small computation gives the bits of the reference.
///
/// With --require, what is named must be there too: readiness checks of a deployment. For everything that is missing, a
/// line says so and what to do about it.
///
/// The exit status is 1 if a check fails or something required is missing. Paste the output into bug reports.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// What must be there, separated by commas; may be repeated
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME")]
    require: Vec<require::Requirement>,
}

const EXAMPLES: &str = "\
Examples:
  crossover doctor
  crossover doctor --require gpu,nvrtc
  crossover doctor --json | jq .gpu.reason";

/// The JSON shape; see docs/json.md.
#[derive(Serialize)]
pub struct Diagnosis {
    version: &'static str,
    commit: &'static str,
    os: &'static str,
    cpu: host::Cpu,
    memory: host::Memory,
    gpu: gpu::Gpu,
    cache_directory: Option<String>,
    checks: Vec<Check>,
    requirements: Vec<require::Answer>,
}

/// One thing that must hold.
#[derive(Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
}

/// Runs the command. True when every check holds and everything required is there.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let gpu = gpu::probe();
    let diagnosis = Diagnosis {
        version: env!("CARGO_PKG_VERSION"),
        commit: env!("CROSSOVER_COMMIT"),
        os: std::env::consts::OS,
        cpu: host::cpu(),
        memory: host::memory(),
        requirements: arguments.require.iter().map(|name| name.answer(&gpu)).collect(),
        gpu,
        cache_directory: runtime::cache_folder("kernels").map(|folder| folder.display().to_string()),
        checks: vec![denormals(), arithmetic()],
    };
    let all =
        diagnosis.checks.iter().all(|check| check.ok) && diagnosis.requirements.iter().all(|one| one.ok);
    if arguments.json {
        report::json(&diagnosis)?;
    } else {
        report::text(&text::write(&diagnosis))?;
    }
    Ok(all)
}

/// One line on what computes: for the head of other reports.
pub fn gpu_line() -> String {
    gpu::probe().line()
}

/// The vector instructions in use.
pub fn simd() -> Simd {
    host::simd()
}

/// Denormals must survive as operands and as results, on the caller's thread and on every thread of the pool.
fn denormals() -> Check {
    let name = "denormals are kept";
    let tiny = std::hint::black_box(f32::from_bits(1));
    let small = std::hint::black_box(f32::MIN_POSITIVE);
    let kept_here = tiny * 8388608.0 == f32::MIN_POSITIVE && small * 0.5 != 0.0;
    // Long enough that every thread gets a part.
    let length = 1 << 20;
    let everywhere = Array::full([length], f32::MIN_POSITIVE) * 0.5f32;
    let kept_there = everywhere
        .to_vec::<f32>()
        .map(|values| values.iter().all(|v| v.to_bits() == (f32::MIN_POSITIVE * 0.5).to_bits()));
    let detail = match (kept_here, &kept_there) {
        (true, Ok(true)) => "the floating-point control word is the default one".to_owned(),
        (false, _) => "this thread flushes denormals to zero; some library has set FTZ or DAZ".to_owned(),
        (true, Ok(false)) => "a thread of the pool flushes denormals to zero".to_owned(),
        (true, Err(error)) => format!("nothing could be computed: {error}"),
    };
    Check { name, ok: kept_here && kept_there.is_ok_and(|kept| kept), detail }
}

/// A fused kernel against the reference interpreter, bit for bit.
fn arithmetic() -> Check {
    let name = "results equal the reference";
    let judged = (|| -> Result<usize> {
        let values: Vec<f32> = (0..4096).map(|i| (i as f32 - 2048.0) * 0.01).collect();
        let x = Array::from(values.as_slice());
        let y = x.gelu().exp();
        let input = crossover_core::reference::Tensor::from_slice([values.len()], &values)?;
        let graph = y.graph()?;
        let expected = crossover_core::reference::evaluate(&graph, &[input])?;
        let (got, wanted) = (y.to_vec::<f32>()?, expected[0].to_vec::<f32>()?);
        Ok(got.iter().zip(&wanted).filter(|(a, b)| a.to_bits() != b.to_bits()).count())
    })();
    match judged {
        Ok(0) => Check { name, ok: true, detail: "exp(gelu(x)), 4096 values, bit for bit".to_owned() },
        Ok(wrong) => {
            Check { name, ok: false, detail: format!("{wrong} of 4096 values of exp(gelu(x)) differ") }
        }
        Err(error) => Check { name, ok: false, detail: format!("{error:#}") },
    }
}

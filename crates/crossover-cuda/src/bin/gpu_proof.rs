//! Proves on a GPU that generated kernels give the same bits as the host, and times them.
//!
//! `crossover-gpu-proof [FOLDER] [--quick] [--only NAME] [--seconds N] [--cases N]`. Writes `proof.json` into the folder
//! (default `out`). Exit code 0: every bit agrees; 1: something differs; 2: it could not run, and why.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crossover_cuda::proof::{Options, Report, Section, run};
use serde_json::{Map, Value, json};

const HELP: &str = "\
usage: crossover-gpu-proof [FOLDER] [--quick] [--only NAME] [--seconds N] [--cases N]

  FOLDER       where proof.json goes (default: out)
  --quick      fewer points everywhere
  --only NAME  only parts whose name contains NAME: timing, cases, ops, casts, exhaustive, pairs
  --seconds N  start no new work after N seconds (default: 420)
  --cases N    number of random kernels (default: 600)";

fn parse() -> Result<(Options, PathBuf), String> {
    let mut options = Options::default();
    let mut folder = PathBuf::from("out");
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = |what: &str| arguments.next().ok_or_else(|| format!("{what} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|e| format!("{text:?} is not a number: {e}"));
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--only" => options.only = Some(value("--only")?),
            "--seconds" => options.seconds = number(value("--seconds")?)?,
            "--cases" => options.cases = number(value("--cases")?)?,
            "-h" | "--help" => return Err(String::new()),
            flag if flag.starts_with('-') => return Err(format!("unknown option {flag}")),
            path => folder = path.into(),
        }
    }
    Ok((options, folder))
}

fn section(section: &Section) -> Value {
    let figures: Map<String, Value> =
        section.figures.iter().map(|(name, value)| (name.to_string(), json!(value))).collect();
    json!({
        "name": section.name,
        "checked": section.checked,
        "mismatches": section.mismatches,
        "examples": section.examples,
        "seconds": section.seconds,
        "figures": (!figures.is_empty()).then_some(figures),
        "cut_short": section.cut_short,
    })
}

/// Writes `proof.json`; a folder that cannot be written is reported and not fatal.
fn write(report: &Report, folder: &Path, seconds: f64) {
    let machine = &report.machine;
    let value = json!({
        "machine": {
            "device": machine.device,
            "architecture": machine.architecture,
            "multiprocessors": machine.multiprocessors,
            "driver": machine.driver,
            "nvrtc": machine.nvrtc,
            "host_threads": machine.host_threads,
        },
        "holds": report.holds(),
        "checked": report.checked(),
        "mismatches": report.mismatches(),
        "failures": report.failures,
        "seconds": seconds,
        "sections": report.sections.iter().map(section).collect::<Vec<_>>(),
    });
    let path = folder.join("proof.json");
    if let Err(error) =
        std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, format!("{value:#}\n")))
    {
        println!("could not write {}: {error}", path.display());
    }
}

fn main() -> ExitCode {
    let (options, folder) = match parse() {
        Ok(parsed) => parsed,
        Err(problem) => {
            println!("{problem}\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match run(&options, |report, seconds| write(report, &folder, seconds)) {
        Ok(report) => {
            print!("{}", report.summary());
            if report.holds() { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(error) => {
            println!("could not run: {error}");
            ExitCode::from(2)
        }
    }
}

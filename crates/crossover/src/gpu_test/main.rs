//! Runs arrays on a GPU: bits against the CPU, transfers, leaks, the cache on disk, and speed.
//!
//! `crossover-gpu-test [FOLDER] [options]`. Writes `gpu-test.json` into the folder (default `out`). Exit code 0: all that
//! was checked holds; 1: something does not; 2: it could not run, and why.

mod arrays;
mod bench;
mod bits;
mod calls;
mod columns;
mod custom;
mod disk;
mod faulty;
mod hrr;
mod hrr_speed;
mod jobs;
mod leaks;
mod libraries;
mod linear;
mod memory;
mod model;
mod modules;
mod nn;
mod nn_speed;
mod pipeline;
mod products;
mod regret;
mod replay;
mod report;
mod sanitize;
mod setup;
mod transfers;
mod workloads;

use std::{path::PathBuf, process::ExitCode};

use report::Report;
use setup::Setup;

const HELP: &str = "\
usage: crossover-gpu-test [FOLDER] [options]

  FOLDER         where gpu-test.json goes (default: out)
  --only LIST    only these parts, separated by commas:
                 corpus, transfers, arrays, columns, products, linear, calls, custom, nn, hrr, modules, libraries, disk, replay,
                 bench, pipeline, leaks, memory, graphs;
                 and, only by name, sanitize, share, and regret (placement against both devices; regret.json)
  --graphs N     random graphs (default: 10000); random calls in proportion
  --seed N       the first of them (default: 0)
  --jobs N       processes for random graphs: the compiler works on one kernel at a time per process (default: 1)
  --threads N    threads for corpus and graphs (default: one per core)
  --seconds N    start no new graph after N seconds (default: 240)
  --rows LIST    only time work whose name contains one of these, separated by commas; the same for checks of memory
  --corpus PATH  case files (default: corpus beside the program)
  --plant        with sanitize: also run kernels that are wrong on purpose
  --first        only time the first result of a fresh process";

/// The result of a part.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    folder: PathBuf,
    only: Option<Vec<String>>,
    graphs: u64,
    seed: u64,
    seconds: u64,
    rows: Option<Vec<String>>,
    jobs: u64,
    threads: usize,
    corpus: Option<PathBuf>,
    first: bool,
    plant: bool,
}

impl Options {
    /// Whether a row or check of this name is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.rows.as_ref().is_none_or(|rows| rows.iter().any(|part| name.contains(part.as_str())))
    }
}

fn parse() -> std::result::Result<Options, String> {
    let mut options = Options {
        folder: "out".into(),
        only: None,
        graphs: 10_000,
        seed: 0,
        seconds: 240,
        rows: None,
        jobs: 1,
        threads: bits::cores(),
        corpus: None,
        first: false,
        plant: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = |what: &str| arguments.next().ok_or_else(|| format!("{what} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|e| format!("{text:?} is not a number: {e}"));
        match argument.as_str() {
            "--only" => options.only = Some(value("--only")?.split(',').map(str::to_owned).collect()),
            "--graphs" => options.graphs = number(value("--graphs")?)?,
            "--seed" => options.seed = number(value("--seed")?)?,
            "--seconds" => options.seconds = number(value("--seconds")?)?,
            "--rows" => options.rows = Some(value("--rows")?.split(',').map(str::to_owned).collect()),
            "--jobs" => options.jobs = number(value("--jobs")?)?.max(1),
            "--threads" => options.threads = number(value("--threads")?)?.max(1) as usize,
            "--corpus" => options.corpus = Some(value("--corpus")?.into()),
            "--plant" => options.plant = true,
            "--first" => options.first = true,
            "-h" | "--help" => return Err(String::new()),
            flag if flag.starts_with('-') => return Err(format!("unknown option {flag}")),
            path => options.folder = path.into(),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match parse() {
        Ok(options) => options,
        Err(problem) => {
            println!("{problem}\n{HELP}");
            return ExitCode::from(2);
        }
    };
    if options.first {
        return match disk::first() {
            Ok(milliseconds) => {
                println!("{milliseconds}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                println!("could not run: {error}");
                ExitCode::from(2)
            }
        };
    }
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            println!("could not run: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<bool> {
    let setup = Setup::open()?;
    println!("{}", setup.describe());
    let mut report = Report::new(&options.folder, setup.describe());
    type Part = fn(&Setup, &Options, &mut Report) -> Result<()>;
    let parts: [(&str, Part); 22] = [
        ("corpus", bits::corpus),
        ("transfers", transfers::run),
        ("arrays", arrays::run),
        ("columns", columns::run),
        ("products", products::run),
        ("linear", linear::run),
        ("calls", calls::run),
        ("custom", custom::run),
        ("nn", nn::run),
        ("hrr", hrr::run),
        ("modules", modules::run),
        ("libraries", libraries::run),
        ("disk", disk::run),
        ("replay", replay::run),
        ("bench", bench::run),
        ("pipeline", pipeline::run),
        ("leaks", leaks::run),
        ("memory", memory::run),
        ("share", memory::share),
        ("sanitize", sanitize::run),
        ("regret", regret::run),
        ("graphs", if options.jobs > 1 { jobs::run } else { bits::graphs }),
    ];
    for (name, part) in parts {
        let wanted = match &options.only {
            Some(only) => only.iter().any(|wanted| wanted == name),
            // One exists to be watched by another program, two want the machine for themselves.
            None => !["sanitize", "share", "regret"].contains(&name),
        };
        if !wanted {
            continue;
        }
        println!("== {name}");
        if let Err(error) = part(&setup, options, &mut report) {
            report.check(name, false, format!("ended early: {error}"));
        }
        // After every part, so that a later one that dies loses nothing.
        report.write()?;
    }
    println!("{}", report.summary());
    Ok(report.holds())
}

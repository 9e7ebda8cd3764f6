//! `cargo xtask fuzz`: the stable fuzzer, target by target.

use anyhow::{Context, Result, bail};

use crate::{paint, workspace, workspace::Metadata};

/// Change inputs of a corpus at random and fail where a reader breaks a promise.
///
/// Builds fuzz/ (optimised, with every check) and runs its driver. Crashes, hangs and inputs that
/// take too much memory are written to fuzz/crashes. See fuzz/README.md.
///
/// Examples:
///   cargo xtask fuzz                       every target, one minute each
///   cargo xtask fuzz npz --minutes 10      one target for longer
///   cargo xtask fuzz npy --input FILE      one input, to look at a crash
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The targets; all when none is named
    #[arg(value_parser = TARGETS)]
    targets: Vec<String>,
    /// How long each target runs
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Where the random changes start
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Add inputs with new outcomes to the corpus
    #[arg(long)]
    grow: bool,
    /// Run one input instead
    #[arg(long, value_name = "FILE")]
    input: Option<std::path::PathBuf>,
}

/// Names of the targets; fuzz/src/targets.rs says what they do.
const TARGETS: [&str; 4] = ["npy", "npz", "safetensors", "graph"];

/// Runs the targets one after another. True when none failed.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if !(0.0..=1e6).contains(&arguments.minutes) {
        bail!("--minutes {} is no length of time", arguments.minutes);
    }
    let folder = Metadata::read()?.target_directory.join("fuzz");
    let mut build = workspace::cargo();
    build.args([
        "build",
        "--release",
        "--quiet",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--bin",
        "mutate",
        "--target-dir",
    ]);
    workspace::must_succeed(build.arg(&folder))?;
    let driver = folder.join("release").join(format!("mutate{}", std::env::consts::EXE_SUFFIX));
    let chosen: Vec<&str> = match arguments.targets.as_slice() {
        [] => TARGETS.to_vec(),
        some => some.iter().map(String::as_str).collect(),
    };
    let mut failed = Vec::new();
    for target in chosen {
        let mut command = workspace::command(&driver);
        command.arg(target).args(["--seed", &arguments.seed.to_string()]);
        command.args(["--seconds", &format!("{:.0}", arguments.minutes * 60.0)]);
        if arguments.grow {
            command.arg("--grow");
        }
        if let Some(input) = &arguments.input {
            command.arg("--input").arg(std::path::absolute(input)?);
        }
        let status = command.status().context("could not start the fuzzer")?;
        if status.success() {
            continue;
        }
        failed.push(target);
        // A process that was killed leaves the input that it was working on.
        let crashes = workspace::root().join("fuzz/crashes");
        let present = crashes.join(format!("{target}-present"));
        if present.is_file() {
            let kept = crashes.join(format!("{target}-killed"));
            std::fs::rename(&present, &kept)?;
            println!("{} {target} ended with {status} on {}", paint::red("killed:"), kept.display());
        }
    }
    for target in &failed {
        println!("{} {target}", paint::red("failed:"));
    }
    Ok(failed.is_empty())
}

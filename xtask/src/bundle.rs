//! `cargo xtask gpu`: a folder that tests and times a GPU on a machine that has one and no Rust.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::workspace::{self, Metadata};
use crate::{paint, step};

/// Where the bundle is built; git ignores it.
const FOLDER: &str = "bundle";
/// What goes in when nothing is named. `run.sh` judges by all but the last.
const PROGRAMS: [&str; 3] = ["crossover-gpu-test", "crossover-gpu-proof", "crossover"];
/// Features that programs need.
const FEATURES: [(&str, &str); 2] = [("crossover-gpu-test", "gpu-test"), ("crossover-gpu-proof", "proof")];
/// Files beside the programs: the cases that every backend must pass, and other libraries on the same work.
const BESIDE: [&str; 2] = ["corpus", "bench/gpu_peers.py"];
/// A bundle must stay easy to send around: 60 MiB.
const MOST_BYTES: u64 = 60 << 20;

/// Build a self-contained folder that tests and times a GPU on a machine without Rust.
///
/// Release-builds the programs, strips them into bundle/, adds the corpus and the peers' script and
/// writes bundle/run.sh. On the GPU machine:
///
///   ./run.sh results                           runs everything, leaves logs and JSON in results/, fails
///                                              when a check fails
///   python3 gpu_peers.py results/peers.json    other libraries on the work of crossover-gpu-test
///
/// The programs open the CUDA driver and NVRTC at run time; nothing else is needed there.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Programs to bundle
    #[arg(long = "bin", value_name = "NAME", default_values = PROGRAMS)]
    programs: Vec<String>,
}

/// Builds the bundle.
pub fn run(arguments: &Arguments) -> Result<bool> {
    Ok(step::report("gpu", || {
        let bytes = build(&arguments.programs)?;
        let size = format!("{FOLDER}/ is {:.1} MiB: {}", mebibytes(bytes), arguments.programs.join(", "));
        if bytes > MOST_BYTES {
            let remedy = "leave a program out with --bin, or find what grew: ls -lS bundle".to_owned();
            return Ok(step::Finding::Broken { evidence: size, remedy });
        }
        Ok(step::Finding::holds(size))
    }))
}

fn build(programs: &[String]) -> Result<u64> {
    let metadata = Metadata::read()?;
    let folder = workspace::root().join(FOLDER);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("could not clear {FOLDER}/"))?;
    }
    std::fs::create_dir_all(&folder)?;
    build_all(&metadata, programs)?;
    let mut bytes = 0;
    for program in programs {
        let copy = folder.join(program);
        std::fs::copy(metadata.release_binary(program), &copy)
            .with_context(|| format!("could not copy {program} into {FOLDER}/"))?;
        strip(&copy);
        bytes += std::fs::metadata(&copy)?.len();
    }
    for path in BESIDE {
        bytes += copy_into(&workspace::root().join(path), &folder)?;
    }
    let script = folder.join("run.sh");
    std::fs::write(&script, run_script(programs))?;
    make_executable(&script)?;
    Ok(bytes + std::fs::metadata(&script)?.len())
}

/// Builds all programs by one command: features unify over what is built together, so several commands would build
/// what the programs share several times.
fn build_all(metadata: &Metadata, programs: &[String]) -> Result<()> {
    let mut build = workspace::cargo();
    build.args(["build", "--release", "--quiet"]);
    for program in programs {
        let owner = metadata
            .owner_of_binary(program)
            .with_context(|| format!("no crate defines the program `{program}`"))?;
        build.args(["--package", owner, "--bin", program]);
        if let Some((_, feature)) = FEATURES.iter().find(|(name, _)| name == program) {
            build.args(["--features", &format!("{owner}/{feature}")]);
        }
    }
    let output = build.output().context("could not start cargo")?;
    if !output.status.success() {
        bail!("`{}` failed:\n{}", workspace::spell(&build), String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Copies a file or a folder of files; the bytes copied.
fn copy_into(from: &Path, folder: &Path) -> Result<u64> {
    let name = from.file_name().with_context(|| format!("{} has no name", from.display()))?;
    let to = folder.join(name);
    if !from.is_dir() {
        return std::fs::copy(from, &to).with_context(|| format!("could not copy {}", from.display()));
    }
    std::fs::create_dir_all(&to)?;
    let mut bytes = 0;
    for entry in std::fs::read_dir(from).with_context(|| format!("could not read {}", from.display()))? {
        bytes += copy_into(&entry?.path(), &to)?;
    }
    Ok(bytes)
}

/// Symbols are most of a release program. Without `strip` the bundle still works, only larger.
fn strip(program: &Path) {
    let stripped = workspace::command("strip").arg(program).status().is_ok_and(|status| status.success());
    if !stripped {
        eprintln!("{} could not strip {}", paint::yellow("warning:"), program.display());
    }
}

#[cfg(unix)]
fn make_executable(file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(not(unix))]
fn make_executable(_file: &Path) -> Result<()> {
    Ok(())
}

fn run_script(programs: &[String]) -> String {
    let mut script = String::from(
        "#!/usr/bin/env bash\n\
         # Runs the bundled programs. Usage: ./run.sh [results folder, ./out when not given]\n\
         # Extra arguments go to every program but the doctor, such as: ./run.sh out --seconds 60\n\
         set -uo pipefail\n\
         here=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\n\
         out=${1:-./out}\n\
         shift || true\n\
         mkdir -p \"$out\" || exit 1\n\
         status=0\n",
    );
    for program in programs {
        script.push_str(&match program.as_str() {
            // What the machine is, beside the results, so that a figure can be related to it.
            "crossover" => {
                "\"$here/crossover\" doctor --json > \"$out/doctor.json\" 2> \"$out/doctor.log\" || true\n"
                    .to_owned()
            }
            name => {
                format!("\"$here/{name}\" \"$out\" \"$@\" 2>&1 | tee \"$out/{name}.log\" || status=1\n")
            }
        });
    }
    script.push_str("exit $status\n");
    script
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_fails_when_the_proof_fails_and_not_for_the_doctor() {
        let script = run_script(&PROGRAMS.map(str::to_owned));
        let line = |word: &str| script.lines().find(|line| line.contains(word)).map(str::to_owned);
        assert!(line("crossover-gpu-proof\"").is_some_and(|line| line.ends_with("|| status=1")));
        assert!(line("crossover-gpu-test\"").is_some_and(|line| line.ends_with("|| status=1")));
        assert!(line("doctor --json").is_some_and(|line| line.ends_with("|| true")));
        assert!(script.ends_with("exit $status\n"));
    }
}
